"""The verb ``import``: what annotation tools export, as a study."""
