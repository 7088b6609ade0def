"""Lesions: which ones raters have in common, who found them, and how alike they were drawn."""
