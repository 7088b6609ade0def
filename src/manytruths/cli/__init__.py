"""The command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cyclopts import CycloptsError

from .verbs import app

__all__ = ["app", "main", "status"]

STOPPING = ("agree", "fuse", "evaluate", "reliability", "plan", "report", "train")
"""Verbs that stop at the first problem."""
ALL_PROBLEMS = " (manytruths check lists all problems)"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a verb and exit with its status."""
    sys.exit(status(arguments))


def status(arguments: Sequence[str] | None = None) -> int:
    """Run a verb; errors become one line and a status."""
    from ..errors import CallError, ManytruthsError

    try:
        return int(app(arguments, exit_on_error=False, print_error=True, result_action="return_value") or 0)
    except CycloptsError:
        return 2
    except CallError as error:
        return _failed(error, 2)
    except ManytruthsError as error:
        verb = (sys.argv[1:] if arguments is None else [*arguments])[:1]
        return _failed(f"{error}{ALL_PROBLEMS if _more(verb[0], error) else ''}", 1)
    except KeyboardInterrupt:
        return _failed("stopped; files that were written are whole", 130)
    except BrokenPipeError:
        return 0
    except OSError as error:
        return _failed(f"{error.filename}: {error.strerror}; check the path, its rights and the space left", 1)


def _more(verb: str, error: Exception) -> bool:
    """Whether ``check`` would say this and more: it looks at cases, but not at grades or at what is asked for."""
    from ..errors import StudyError

    own = verb in ("agree", "fuse") or str(error).startswith("case ")
    return verb in STOPPING and own and not isinstance(error, StudyError)


def _failed(error: object, code: int) -> int:
    from ..errors import one_line

    # several problems are told beneath each other
    told = "\n  ".join(map(one_line, str(error).split("\n  ")))
    print(f"manytruths: {told}", file=sys.stderr)
    return code
