"""Consensus methods by name.

``vote:0.5`` is an estimator and its main argument. :func:`register` adds a method. Spatial methods take masks, all
others a tally.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from ..core.counting import tally
from ..core.errors import CallError
from ..core.mask_arrays import Masks
from ..core.tally import Tally
from .lesion_vote import lesion_vote
from .level_set import check_length_penalty, lsml, lsmlp
from .result import Consensus
from .simple import check_alpha, simple
from .staple import Prior, Unanimous, staple
from .staple_itk import check_like
from .staple_map import staple_map
from .vote import check_threshold, plurality, vote, vote_without_outliers

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
    """Whether it takes masks instead of a tally."""
    by_runs: bool = False
    """Of a spatial method, whether it takes runs of masks that are too large for memory."""
    settings: tuple[str, ...] = ()
    """Of a spatial method: which of a case's ``labels``, ``spacing``, ``instances``, ``lesion_rule`` and
    ``lesion_threshold`` it takes, beside what all of them take."""
    check: Callable[[Any], None] | None = None
    """Refuses values of the option that cannot be used, before any case is read."""

    def option(self, text: str) -> dict[str, Any]:
        """What stands after the colon, as the option that it is."""
        if not text:
            return {}
        if not self.argument:
            raise CallError(f"method {self.name!r} takes nothing after a colon; got {self.name}:{text}")
        try:
            value: float | str = float(text)
        except ValueError:
            value = text
        try:
            if self.check is not None:
                self.check(value)
        except CallError as error:
            raise CallError(f"{self.name}:{text}: {error}") from None
        return {self.argument: value}


_REGISTER: dict[str, Estimator] = {}


def register(
    name: str,
    function: Callable[..., Consensus],
    *,
    argument: str = "",
    example: str = "",
    spatial: bool = False,
    by_runs: bool = False,
    settings: tuple[str, ...] = (),
    check: Callable[[Any], None] | None = None,
) -> None:
    """Add a consensus method.

    Parameters
    ----------
    name : str
        The name of the method, without a colon.
    function : callable
        Takes a tally, or masks if ``spatial``, and returns a :class:`Consensus`.
    argument : str
        The option that may follow the name after a colon, as in ``vote:0.5``.
    example : str
        The name as a user would write it; by default ``name``.
    spatial : bool
        Whether it takes masks instead of a tally.
    by_runs : bool
        For a spatial method, whether it takes masks that are read by tile, too.
    settings : tuple of str
        For a spatial method, which of a case's ``labels``, ``spacing``, ``instances``, ``lesion_rule`` and
        ``lesion_threshold`` it takes.
    check : callable, optional
        Raises :class:`CallError` for values of the argument that cannot be used, so that they are refused before any
        case is read.
    """
    _REGISTER[name] = Estimator(name, function, argument, example or name, spatial, by_runs, settings, check)


def consensus_methods() -> tuple[str, ...]:
    """The names of all consensus methods, as :func:`manytruths.consensus` and ``--consensus`` take them.

    Returns
    -------
    tuple of str
        ``vote:0.5``, ``staple``, …
    """
    return tuple(e.example for e in _REGISTER.values())


def estimator(method: str) -> tuple[Estimator, dict[str, Any]]:
    """What a method's name stands for, and the option in it."""
    name, _, rest = method.partition(":")
    if name not in _REGISTER:
        near = get_close_matches(name, _REGISTER, 1, 0.5)
        hint = f"; did you mean {_REGISTER[near[0]].example!r}?" if near else ""
        known = ", ".join(("vote:any", "vote:all", *consensus_methods()))
        raise CallError(f"there is no method {method!r}; methods are {known}{hint}")
    return _REGISTER[name], _REGISTER[name].option(rest)


def parse_methods(consensus: str | Sequence[str], *, smoothing: float = 0.0) -> tuple[str, ...]:
    """Methods given as ``"vote:0.5,staple"`` or as a list; with smoothing, STAPLE is the one of maps."""
    several = consensus.split(",") if isinstance(consensus, str) else consensus
    methods = [method.strip() for method in several if method.strip()]
    if smoothing:
        methods = ["staple_map" if method == "staple" else method for method in methods]
    if not methods or len(set(methods)) < len(methods):
        raise CallError(f"consensus is one or more different methods, as in vote:0.5,staple; got {consensus!r}")
    for method in methods:
        estimator(method)
    return tuple(methods)


def options_by_name(
    *,
    prior: Prior | str = "prevalence",
    unanimous: Unanimous = "keep",
    map_prior: tuple[float, ...] | None = None,
    smoothing: float = 0.0,
    simple_alpha: float = 1.5,
    length_penalty: float = 2.0,
) -> dict[str, dict[str, Any]]:
    """The options of every method, by its name, as commands take them."""
    staple = {"prior": prior, "unanimous": unanimous, "map_prior": map_prior}
    penalty = {"length_penalty": length_penalty}
    return {
        "staple": staple,
        "staple_map": {**staple, "smoothing": smoothing},
        "simple": {"alpha": simple_alpha},
        "lsml": penalty,
        "lsmlp": penalty,
    }


def options_of(method: str, by_name: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What an estimator is called with; what its name says, as in ``simple:2``, overrides the options by name."""
    chosen, by_colon = estimator(method)
    return {**by_name.get(chosen.name, {}), **by_colon}


def estimate(source: Tally | Masks, method: str = "staple", **options: Any) -> Consensus:
    """The consensus of a tally or of masks; the options of :func:`manytruths.tally` go with masks.

    >>> masks = {"A": [1, 1, 1, 0], "B": [1, 1, 0, 0], "C": [1, 0, 0, 0]}
    >>> estimate(masks, "vote:all").hard
    array([False, False, False,  True])
    """
    chosen, option = estimator(method)
    options = option | options
    if chosen.spatial:
        if isinstance(source, Tally):
            raise CallError(f"{chosen.name} looks at neighbours, which a tally does not know; give it the masks")
        return chosen.function(source, **options)
    if isinstance(source, Tally):
        return chosen.function(source, **options)
    counting = {name: options.pop(name) for name in COUNTING if name in options}
    return chosen.function(tally(source, **counting), **options)


def _need_decisions(*_: object, **__: object) -> Consensus:
    raise CallError(
        "adjudicated is what adjudicators decided about cases of a study, and no estimate of masks; give it a study or "
        "one of its cases"
    )


register("vote", vote, argument="threshold", example="vote:0.5", check=check_threshold)
register("excl", vote_without_outliers, argument="threshold", example="excl:0.5", check=check_threshold)
register("staple", staple, argument="like", check=check_like)
register("simple", simple, argument="alpha", check=check_alpha)
register("plurality", plurality)
register(
    "lesions", lesion_vote, argument="threshold", example="lesions:0.5", spatial=True, by_runs=True,
    check=check_threshold, settings=("labels", "spacing", "instances", "lesion_rule", "lesion_threshold"),
)  # fmt: skip
register("staple_map", staple_map, spatial=True, settings=("labels",))
register("lsml", lsml, argument="length_penalty", spatial=True, settings=("spacing",), check=check_length_penalty)
register("lsmlp", lsmlp, argument="length_penalty", spatial=True, settings=("spacing",), check=check_length_penalty)
register("adjudicated", _need_decisions, spatial=True, settings=("labels",))
