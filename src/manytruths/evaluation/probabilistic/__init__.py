"""Probabilistic predictions against several raters: samples, probability maps, volumes, recalibration and margins."""
