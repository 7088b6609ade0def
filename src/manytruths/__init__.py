"""manytruths: what several experts' annotations of the same images say together."""

__version__ = "0.1.0.dev0"
from .pixels import paint as paint
from .pixels import tally as tally
from .tallies import pool as pool
from .agreement import *  # noqa: F403
