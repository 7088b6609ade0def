"""Every kind of claim, found in the modules of this package."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import manytruths.claims

from ..core.errors import CallError
from .claim import ClaimKind


@cache
def claim_kinds() -> dict[str, ClaimKind]:
    """Every kind of claim by its identifier."""
    package = manytruths.claims
    modules = [import_module(f"{package.__name__}.{module.name}") for module in iter_modules(package.__path__)]
    kinds = [kind for module in modules for kind in vars(module).values() if isinstance(kind, ClaimKind)]
    return {kind.id: kind for kind in sorted(kinds, key=lambda kind: kind.id)}


def check_primary(primary: str) -> str:
    """The identifier of the primary claim; CallError where there is no such claim, or it is not tested."""
    if not primary:
        return primary
    tested = [kind.id for kind in claim_kinds().values() if kind.kind in ("difference", "equivalence")]
    if primary not in tested:
        raise CallError(f"primary is one of {', '.join(tested)}; got {primary!r}")
    return primary
