"""The command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cyclopts import CycloptsError

from .verbs import app

__all__ = ["app", "main", "status"]

STOPPING = ("agree", "fuse")
"""Verbs that stop at the first problem."""
ALL_PROBLEMS = " (manytruths check lists all problems)"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a verb and exit with its status."""
    sys.exit(status(arguments))


def status(arguments: Sequence[str] | None = None) -> int:
    """Run a verb; errors become one line and a status."""
    from ..errors import CallError, ManytruthsError, StudyError

    try:
        return int(app(arguments, exit_on_error=False, print_error=True, result_action="return_value") or 0)
    except CycloptsError:
        return 2
    except CallError as error:
        return _failed(error, 2)
    except ManytruthsError as error:
        verb = (sys.argv[1:] if arguments is None else [*arguments])[:1]
        more = verb[0] in STOPPING and not isinstance(error, StudyError)
        return _failed(f"{error}{ALL_PROBLEMS if more else ''}", 1)
    except KeyboardInterrupt:
        return _failed("stopped; files that were written are whole", 130)
    except BrokenPipeError:
        return 0
    except OSError as error:
        return _failed(f"{error.filename}: {error.strerror}; check the path, its rights and the space left", 1)


def _failed(error: object, code: int) -> int:
    print(f"manytruths: {error}", file=sys.stderr)
    return code
