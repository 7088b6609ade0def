"""Label Studio's JSON."""
