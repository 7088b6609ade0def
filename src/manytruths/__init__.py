"""manytruths: what several experts' annotations of the same images say together.

Masks become a :class:`Tally` in one pass; every number is read off the tally; a map is a value per pattern,
painted back. Names are imported when they are first used, so that ``import manytruths`` is fast.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
