"""What a study is opened with, from a call, a command line or a ``study.toml``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..core.errors import CallError, ManytruthsError, StudyError
from ..core.labels import MACRO, Labels
from ..core.tally import REGIONS
from ..io.tables import read_toml
from ..io.tally_files import list_tally_files
from ..lesions.rules import RULES, Rule

TABLES = ("cases", "raters", "reads", "targets", "decisions")
"""Files and folders, not templates."""
PATHS = ("masks", "images", "roi", "ranks", "predictions", "reference", "training", "samples", *TABLES)

CHOICES: dict[str, tuple[str | None, ...]] = {
    "background": (None, "none"),
    "foreground": (None, "any"),
    "region": tuple(REGIONS),
    "overlap": ("smaller", "union"),
    "edited": ("exclude", "keep"),
    "resample": (None, "nearest"),
    "lesion_rule": RULES,
}
"""The words that an option can be."""

LARGEST_VOID = 2**32 - 1
"""The largest value of a mask."""


@dataclass(frozen=True)
class Options:
    """Everything that says how to read a study.

    Templates are paths with placeholders; ``cases`` and ``raters`` are CSV files with a column of that name,
    ``reads`` one of who read what, ``targets`` one of target lesions.
    """

    masks: str
    images: str | None = None
    roi: str | None = None
    ranks: str | None = None
    predictions: str | None = None
    reference: str | None = None
    training: str | None = None
    samples: str | None = None
    cases: str | None = None
    raters: str | None = None
    reads: str | None = None
    targets: str | None = None
    decisions: str | None = None
    """Where logs of decisions are: a folder, a log or a pack."""
    labels: Labels | None = None
    background: str | None = None
    foreground: str | None = None
    void: int | None = None
    region: str = "whole"
    overlap: str = "smaller"
    edited: str = "exclude"
    resample: str | None = None
    spacing: tuple[float, ...] | None = None
    image_size: tuple[int, int] | None = None
    """Width and height."""
    exchangeable: bool = False
    probability: bool = False
    limits: tuple[float, float] | None = None
    margin: float | None = None
    exclude: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exclude_rater: tuple[str, ...] = ()
    session: str = ""
    primary: str = ""
    trained_on: Mapping[str, str] = field(default_factory=dict)
    instances: bool = False
    lesion_rule: str = "iou"
    lesion_threshold: float | None = None
    tallies: tuple[str, ...] = ()
    """Tally files, in place of masks."""
    series: Mapping[str, str] = field(default_factory=dict)
    """Templates of further images by name, to be seen beside the image while disputes are settled."""
    reasons: tuple[str, ...] = ()
    """Reasons that an adjudicator can give for a decision."""

    def __post_init__(self) -> None:
        for name in CHOICES:
            _check_choice(name, getattr(self, name))
        if self.labels is not None:
            object.__setattr__(self, "labels", Labels.of(self.labels))
        self._settle_background()
        _check_void(self)
        if isinstance(self.labels, Labels) and "" in self.labels.names:
            nameless = self.labels.values[self.labels.names.index("")]
            raise StudyError(f"the name of label {nameless} is empty; give it one")
        if isinstance(self.labels, Labels) and MACRO in self.labels.names:
            raise StudyError(f"a label is called {MACRO!r}, as the mean over labels is in the tables; rename it")
        if self.spacing is not None and not (self.spacing and all(0 < s < math.inf for s in self.spacing)):
            raise StudyError(f"spacing is {self.spacing}; it must be positive and finite, in mm")
        if self.limits is not None and not -math.inf < self.limits[0] < self.limits[1] < math.inf:
            raise StudyError(f"limits are {self.limits}; they are two numbers, the smaller first")
        if self.roi is not None and self.region != "whole":
            raise StudyError(f"region {self.region!r} and roi exclude each other; give one of them")
        if self.instances:
            _check_instances(self)
        if self.samples is not None and self.predictions is None:
            # the share of the samples that mark a pixel is then the probability map
            object.__setattr__(self, "probability", True)
        if self.overlap == "union" or self.instances:
            object.__setattr__(self, "foreground", "any")
        self.lesions  # noqa: B018  refuses thresholds that are none

    @property
    def lesions(self) -> Rule:
        """When the lesions of two raters are the same."""
        return Rule.of(self.lesion_rule, self.lesion_threshold, "--lesion-")

    @property
    def has_predictions(self) -> bool:
        """Whether there are predictions, or samples that stand for them."""
        return self.predictions is not None or self.samples is not None

    def _settle_background(self) -> None:
        """Without background every value is a label; which ones there are has to be declared."""
        if self.background is None:
            return
        if self.foreground or self.overlap == "union":
            raise StudyError('background = "none" and foreground = "any" exclude each other; give one of them')
        if self.labels is not None:
            object.__setattr__(self, "labels", Labels.of(self.labels).without_background())


def _check_choice(name: str, value: object) -> None:
    if value not in CHOICES[name]:
        shown = ", ".join(choice for choice in CHOICES[name] if choice)
        raise StudyError(f"{name} must be one of {shown}; got {value!r}")


def _check_instances(options: Options) -> None:
    """Refuse labels where values are numbers of lesions."""
    if options.labels is not None or options.background is not None:
        raise StudyError(
            "instances means that values of the masks number lesions, so that they are no labels; "
            "leave out labels and background"
        )


def _check_void(options: Options) -> None:
    """Refuse a value of "not rated" that no file holds, or that means something else."""
    # arrays in memory may hold anything
    if options.void is None or not options.masks:
        return
    if options.void == 0 and options.background == "none":
        return  # pixels without a label
    if not 1 <= options.void <= LARGEST_VOID:
        raise StudyError(f"void is {options.void}; it must be a value of the masks from 1 to {LARGEST_VOID}, and not 0")
    if options.labels is not None and options.void in options.labels.values:
        name = options.labels.names[options.labels.values.index(options.void)]
        raise StudyError(f"void is {options.void}, which labels calls {name!r}; take it out of one of them")


def read_options(path: Path) -> Options:
    """The options of a ``study.toml``; its paths are relative to its folder."""
    table = read_toml(path)
    known = [f.name for f in fields(Options)]
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"
            raise StudyError(f"{path}: unknown key {key!r}{hint}")
    if "tallies" in table and "masks" in table:
        raise StudyError(f"{path}: masks and tallies exclude each other; write a tally file of the masks, too")
    if "tallies" in table:
        table["masks"] = ""
    if "masks" not in table:
        raise StudyError(f'{path}: has no masks = "…/{{rater}}/{{case}}.png"')
    # said as on the command line
    if table.get("raters") == "exchangeable":
        table["exchangeable"] = bool(table.pop("raters"))
    try:
        typed = {key: _typed(key, value) for key, value in table.items()}
        if "tallies" in typed:
            return Options(**typed | {"tallies": tuple(list_tally_files(typed["tallies"], path.parent) or ())})
        if "series" in typed:
            typed["series"] = {name: _beside(path, "series", where) for name, where in typed["series"].items()}
        return Options(**typed | {key: _beside(path, key, typed[key]) for key in PATHS if key in typed})
    except ManytruthsError as error:
        raise StudyError(f"{path}: {error}") from None


def _beside(path: Path, key: str, value: str) -> str:
    """A path relative to the file; a brace in the name of its folder is no placeholder."""
    folder = str(path.parent)
    if key not in TABLES:
        folder = folder.replace("{", "{{").replace("}", "}}")
    return str(Path(folder) / value)


def _typed(key: str, value: Any) -> Any:
    """A value of the file as an option."""
    if key in CHOICES:
        _check_choice(key, value)
    kind, example, read = _KINDS.get(key, (str, '"text"', str))
    try:
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise TypeError
        return read(value)
    except (TypeError, ValueError):
        raise StudyError(f"{key} is written as {example}; got {value!r}") from None


_KINDS: dict[str, tuple[type | tuple[type, ...], str, Callable[[Any], Any]]] = {
    "labels": (dict, '{ 1 = "gland" }', lambda table: Labels.of({int(v): str(name) for v, name in table.items()})),
    "spacing": (list, "[0.5, 0.5]", lambda numbers: tuple(float(s) for s in numbers)),
    "image_size": (str, '"1024x768"', lambda text: parse_image_size(text)),
    "exclude": (dict, '{ B = ["p07"] }', lambda table: {rater: _names(cases) for rater, cases in table.items()}),
    "exclude_rater": (list, '["B"]', lambda raters: tuple(map(str, raters))),
    "trained_on": (dict, '{ unet = "staple" }', lambda table: {str(k): _text(v) for k, v in table.items()}),
    "void": (int, "255", int),
    "exchangeable": (bool, "true", bool),
    "probability": (bool, "true", bool),
    "margin": (float, "0.05", float),
    "instances": (bool, "true", bool),
    "lesion_threshold": (object, "0.5", lambda value: _number(value)),
    "tallies": ((str, list), '["centre-a.tally", "centre-b.tally"]', lambda files: _paths(files)),
    "limits": (list, "[0.0, 1.0]", lambda numbers: _two(*numbers)),
    "series": (dict, '{ prior = "prior/{case}.png" }', lambda table: {str(k): _text(v) for k, v in table.items()}),
    "reasons": (list, '["artefact", "outside of the protocol"]', lambda texts: tuple(map(_text, texts))),
}
"""What a key holds, how it is written, and how it is read."""


def parse_image_size(text: str | tuple[int, int]) -> tuple[int, int]:
    """Width and height.

    >>> parse_image_size("1024x768")
    (1024, 768)
    """
    match = re.fullmatch(r"(\d{1,9}) ?[x×,] ?(\d{1,9})", text) if isinstance(text, str) else None
    sides = text if match is None else (int(match[1]), int(match[2]))
    if isinstance(sides, str) or len(sides) != 2 or min(sides) < 1:
        raise CallError(f"--image-size must be width and height in pixels, as 1024x768; got {text!r}")
    return int(sides[0]), int(sides[1])


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _paths(files: Any) -> tuple[str, ...]:
    named = [files] if isinstance(files, str) else files
    if not named or not all(isinstance(name, str) for name in named):
        raise TypeError
    return tuple(named)


def _two(low: Any, high: Any) -> tuple[float, float]:
    return float(low), float(high)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise TypeError
    return value


def _names(cases: Any) -> tuple[str, ...]:
    if not isinstance(cases, list):
        raise TypeError
    return tuple(map(str, cases))


def written(options: Options) -> dict[str, Any]:
    """The options that are not as they are by default, but for where masks or tally files are."""
    defaults = Options("")
    names = [option.name for option in fields(options) if option.name not in ("masks", "tallies")]
    return {name: getattr(options, name) for name in names if getattr(options, name) != getattr(defaults, name)}


def merged(options: Options, **given: Any) -> Options:
    """Options with those that were given in their place."""
    return replace(options, **{k: v for k, v in given.items() if v is not None})
