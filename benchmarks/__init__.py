"""Benchmarks at real sizes: they assert the answers and print ratios to a peer measured in the same run."""
