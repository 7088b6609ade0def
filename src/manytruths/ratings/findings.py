"""What is known about lesions: who found each, how well those who did agree about its outline, and pools of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..agreement import AgreementCurve, agreement_curve
from ..core.columns import Column, natural_key
from ..core.errors import CallError
from ..core.labels import VOID, Labels
from ..core.tally import Tally
from ..core.undefined import Undefined
from .competence import most_frequent
from .components import Whole
from .ratings import MISSING, Ratings, Values

FOUND = Labels((0, 1), ("missed", "found"))
FLOOR = (
    "every lesion was found by at least one rater, as nobody knows the places that all left out: kappa and alpha come "
    "out too low; read positive agreement"
)


@dataclass(frozen=True)
class MarkedLesion:
    """One component of what any rater marked."""

    name: str
    label: str
    size: int
    """Items of the component."""
    extent: float
    """The same in mm² or mm³ (or whatever spacing is in); nan without spacing."""
    place: tuple[float, ...]
    """The mean position of its items."""
    found_by: tuple[str, ...]
    missed_by: tuple[str, ...]
    dice: float
    """The mean Dice of every two who found it, within the component."""
    blobs: tuple[int, ...]
    """In how many pieces each rater drew it."""
    case: str = ""

    @property
    def bridged(self) -> bool:
        """Whether one rater drew in a single blob what another drew in several."""
        return 1 in self.blobs and max(self.blobs) > 1


@dataclass(frozen=True, eq=False)
class RaterFindings:
    """What each rater found."""

    raters: tuple[str, ...]
    found: Whole
    """Lesions that he found."""
    rated: Whole
    """Lesions of the images that he saw."""
    of_others: Values
    """Of the lesions that most of the others found, the share that he found; nan where there is none."""
    others: Whole
    """How many those are."""
    alone: Whole
    """Lesions that nobody else found, though somebody else saw the image."""

    @property
    def share(self) -> Values:
        """Of all lesions of the images that he saw, the share that he found."""
        nothing = np.full(len(self.found), np.nan)
        return np.asarray(np.divide(self.found, self.rated, out=nothing, where=self.rated > 0))

    def to_frame(self) -> Any:
        """A pandas DataFrame (extra ``tables``), one row a rater."""
        import pandas

        columns = ("found", "rated", "share", "of_others", "others", "alone")
        return pandas.DataFrame({name: getattr(self, name) for name in columns}, self.raters)


@dataclass(frozen=True, eq=False)
class LesionRatings:
    """The lesions of one image, or of many, and who found them."""

    ratings: Ratings
    """One row a lesion, labels "missed" and "found"."""
    lesions: tuple[MarkedLesion, ...]
    specks: int = 0
    """Components that were too small to be a lesion."""

    def __repr__(self) -> str:
        return f"<{len(self.lesions)} lesions by {len(self.ratings.raters)} raters, {self.bridged} bridged>"

    def __len__(self) -> int:
        return len(self.lesions)

    @cached_property
    def tally(self) -> Tally:
        """The table of who found what, for every statistic there is: "missed" is its background."""
        codes = np.where(self.ratings.given, self.ratings.codes, VOID).astype(np.uint8)
        return Tally(tuple(map(Column, self.ratings.raters)), FOUND, codes, self.ratings.items)

    @property
    def bridged(self) -> int:
        """How many components join what somebody drew in several pieces."""
        return sum(lesion.bridged for lesion in self.lesions)

    @property
    def delineation(self) -> float:
        """The mean over the lesions that two or more found of the mean Dice of those who did."""
        known = [lesion.dice for lesion in self.lesions if not np.isnan(lesion.dice)]
        return float(np.mean(known)) if known else Undefined("no_lesion_found_twice")

    @property
    def curve(self) -> AgreementCurve:
        """Of all lesions, the share that at least n raters found."""
        return agreement_curve(self.tally)

    def found_by(self) -> Whole:
        """How many lesions were found by exactly 0, 1, …, all raters."""
        votes = (self.ratings.codes == 1).sum(axis=1)
        return np.bincount(votes, minlength=len(self.ratings.raters) + 1).astype(np.int64)

    def findings(self) -> RaterFindings:
        """What each rater found, and what of it the others confirm."""
        found, given = self.ratings.codes == 1, self.ratings.given
        of_others, others = np.full(found.shape[1], np.nan), np.zeros(found.shape[1], np.int64)
        for i in range(found.shape[1]):
            own = np.stack([given[:, i] & ~found[:, i], found[:, i]], axis=1)
            sure = given[:, i] & (most_frequent(self.ratings.votes - own) == 1)
            others[i] = sure.sum()
            of_others[i] = found[sure, i].mean() if others[i] else np.nan
        alone = found & (found.sum(axis=1) == 1)[:, None] & (given.sum(axis=1) > 1)[:, None]
        return RaterFindings(
            self.ratings.raters, found.sum(axis=0), given.sum(axis=0), of_others, others, alone.sum(axis=0)
        )

    def of_label(self, label: str) -> LesionRatings:
        """The lesions of one label."""
        rows = [i for i, lesion in enumerate(self.lesions) if lesion.label == label]
        chosen = np.array(rows, np.intp)
        return LesionRatings(self.ratings.select(chosen), tuple(self.lesions[i] for i in rows))

    def to_frame(self) -> Any:
        """A pandas DataFrame (extra ``tables``), one row a lesion."""
        import pandas

        columns = ("case", "name", "label", "size", "extent", "place", "found_by", "missed_by", "dice", "bridged")
        return pandas.DataFrame({name: [getattr(lesion, name) for lesion in self.lesions] for name in columns})


def pool_lesions(by_case: Mapping[str, LesionRatings], subjects: Mapping[str, str] | None = None) -> LesionRatings:
    """The lesions of many images as one table, in which the subjects are those of the images.

    A rater who is not among the raters of an image is missing there.
    """
    if not by_case:
        raise CallError("there is no case whose lesions could be pooled")
    raters = tuple(sorted({r for one in by_case.values() for r in one.ratings.raters}, key=natural_key))
    parts, lesions, owners = [], [], []
    for case, one in by_case.items():
        codes = np.full((len(one), len(raters)), MISSING, np.int16)
        codes[:, [raters.index(r) for r in one.ratings.raters]] = one.ratings.codes
        parts.append(codes)
        lesions += [replace(lesion, case=case) for lesion in one.lesions]
        owners += [(subjects or {}).get(case, case)] * len(one)
    table = np.concatenate(parts)
    names = tuple(f"{lesion.case}: {lesion.name}" for lesion in lesions)
    ratings = Ratings(names, raters, FOUND.names, table, np.full(table.shape, np.nan), subjects=tuple(owners))
    return LesionRatings(ratings, tuple(lesions), sum(one.specks for one in by_case.values()))
