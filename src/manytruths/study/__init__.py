"""Studies, cases and subjects: the only loops over cases."""

from .case import Case
from .options import Options
from .processes import Progress
from .study import Study

__all__ = ["Case", "Options", "Progress", "Study"]
