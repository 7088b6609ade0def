"""How good are the algorithms?"""

from .section import section

__all__ = ["section"]
