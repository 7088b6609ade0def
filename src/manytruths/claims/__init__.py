"""What may be said about a study: claims, with the numbers they rest on."""
