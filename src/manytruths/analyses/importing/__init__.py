"""The command ``import``: what annotation tools export, as a study."""
