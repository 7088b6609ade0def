"""Rankings of algorithms, and how far they can be trusted."""
