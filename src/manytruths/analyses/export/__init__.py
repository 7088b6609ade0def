"""The verb ``export``: a study as a data set to train on."""
