"""One door to every estimator, by name.

``vote:0.5`` is an estimator and its main argument. Rooms add estimators with :func:`register`; those that look at
neighbours want masks, all others take a tally too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol, cast, overload

from ..core.counting import tally
from ..core.errors import CallError
from ..core.mask_arrays import Masks
from ..core.tally import Tally
from .excluded import excluded_vote
from .level_set import lsml, lsmlp
from .plurality import plurality
from .result import Consensus
from .simple import simple
from .staple import staple
from .staple_map import staple_map
from .vote import vote

LEVEL_SETS = ("lsml", "lsmlp")
"""Methods that measure lengths, and so want the size of a pixel."""

COUNTING = ("raters", "labels", "void", "foreground", "region", "references", "unit")
"""Options that say how masks become a tally."""


@dataclass(frozen=True)
class Estimator:
    """What a name stands for."""

    name: str
    function: Callable[..., Consensus]
    argument: str = ""
    """The option that may follow the name after a colon."""
    example: str = ""
    spatial: bool = False
    """Whether it wants masks, not a tally."""

    def option(self, text: str) -> dict[str, Any]:
        """What stands after the colon, as the option that it is."""
        if not text:
            return {}
        if not self.argument:
            raise CallError(f"method {self.name!r} takes nothing after a colon; got {self.name}:{text}")
        try:
            return {self.argument: float(text)}
        except ValueError:
            return {self.argument: text}


_REGISTER: dict[str, Estimator] = {}


def register(
    name: str, function: Callable[..., Consensus], *, argument: str = "", example: str = "", spatial: bool = False
) -> None:
    """Give an estimator a name at the door; ``spatial`` ones are called with masks."""
    _REGISTER[name] = Estimator(name, function, argument, example or name, spatial)


def methods() -> tuple[str, ...]:
    """The names at the door, as a user would write them."""
    return tuple(e.example for e in _REGISTER.values())


def estimator(method: str) -> tuple[Estimator, dict[str, Any]]:
    """What a method's name stands for, and the option in it."""
    name, _, rest = method.partition(":")
    if name not in _REGISTER:
        near = get_close_matches(name, _REGISTER, 1, 0.5)
        hint = f"; did you mean {_REGISTER[near[0]].example!r}?" if near else ""
        raise CallError(f"no method {method!r}; there are {', '.join(methods())}{hint}")
    return _REGISTER[name], _REGISTER[name].option(rest)


class Cases(Protocol):
    """What a study is to an estimator: cases, and a table of each."""

    def tally(self) -> Mapping[str, Tally]: ...

    def __iter__(self) -> Iterator[Any]: ...


@overload
def consensus(source: Tally | Masks, method: str = "staple", **options: Any) -> Consensus: ...


@overload
def consensus(source: Cases, method: str = "staple", **options: Any) -> dict[str, Consensus]: ...


def consensus(
    source: Tally | Masks | Cases, method: str = "staple", **options: Any
) -> Consensus | dict[str, Consensus]:
    """What to take as truth, by the method named.

    Parameters
    ----------
    source
        A tally, or masks as :func:`manytruths.tally` takes them; its options (``raters``, ``labels``, ``void``,
        ``foreground``, ``region``) then go along. A study gives one consensus a case, by name.
    method
        ``vote:0.5``, ``vote:any``, ``vote:all``, ``excl:0.5``, ``staple``, ``simple``, ``plurality``, and, from masks
        only, ``staple_map`` and the level sets.
    options
        Of the estimator.

    >>> masks = {"A": [1, 1, 1, 0], "B": [1, 1, 0, 0], "C": [1, 0, 0, 0]}
    >>> consensus(masks, "vote:0.5")
    <Vote vote:0.5 of 3 raters, 4 patterns: done>
    >>> consensus(masks, "vote:all").hard
    array([False, False, False,  True])
    """
    chosen, option = estimator(method)
    options = option | options
    if callable(getattr(source, "tally", None)):
        return _of_cases(cast(Cases, source), chosen, options)
    source = cast("Tally | Masks", source)
    if chosen.spatial:
        if isinstance(source, Tally):
            raise CallError(f"{chosen.name} looks at neighbours, which a tally does not know; give it the masks")
        return chosen.function(source, **options)
    if isinstance(source, Tally):
        return chosen.function(source, **options)
    counting = {name: options.pop(name) for name in COUNTING if name in options}
    return chosen.function(tally(source, **counting), **options)


def _of_cases(study: Cases, chosen: Estimator, options: dict[str, Any]) -> dict[str, Consensus]:
    if chosen.spatial:
        return {case.name: chosen.function(case.read().masks, **options) for case in study}
    return {name: chosen.function(table, **options) for name, table in study.tally().items()}


register("vote", vote, argument="threshold", example="vote:0.5")
register("excl", excluded_vote, argument="threshold", example="excl:0.5")
register("staple", staple)
register("simple", simple, argument="alpha")
register("plurality", plurality)
register("staple_map", staple_map, spatial=True)
register("lsml", lsml, argument="length", spatial=True)
register("lsmlp", lsmlp, argument="length", spatial=True)
