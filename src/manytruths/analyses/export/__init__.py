"""The command ``export``: a study as a data set to train on."""
