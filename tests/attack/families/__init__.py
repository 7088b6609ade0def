"""Attacks by what is wrong with the input; each module gives a list of them."""
