"""manytruths: what several experts' annotations of the same images say together."""

__version__ = "0.1.0.dev0"
