"""BIDS derivatives."""
