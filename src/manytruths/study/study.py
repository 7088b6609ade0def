"""A study: cases that several raters marked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..core.columns import Column, natural_key
from ..core.errors import CallError, StudyError, raise_error
from ..core.labels import Labels
from ..core.tallies import Tallies
from ..core.tally import Tally
from ..io.tables import read_table
from ..io.template import Complain
from .case import Case
from .case_files import check_excluded_raters, check_void, find_cases, need_two_raters
from .mask_values import refuse_other_values
from .options import Options, merged, read_options
from .processes import Progress, map_in_order

R = TypeVar("R")


class Study:
    """Cases, raters, and what is known about them. Nothing is read before it is asked for.

    Open one with :meth:`open` (files) or :meth:`from_arrays` (memory).
    """

    def __init__(
        self,
        cases: Sequence[Case],
        options: Options,
        properties: Mapping[str, Mapping[str, str]],
        *,
        coded: bool = False,
        left_out: Mapping[str, str] | None = None,
    ) -> None:
        self.options, self.properties, self.coded = options, properties, coded
        self.left_out = left_out or {}
        """Cases of which nothing counts, and why, where a register says so."""
        self._cases = {case.name: case for case in cases}

    @classmethod
    def open(
        cls,
        masks: str | Path,
        *,
        images: str | None = None,
        roi: str | None = None,
        ranks: str | None = None,
        predictions: str | None = None,
        references: str | None = None,
        training: str | None = None,
        cases: str | None = None,
        raters: str | None = None,
        reads: str | None = None,
        labels: Labels | Mapping[int, str] | Iterable[int] | None = None,
        foreground: str | None = None,
        void: int | None = None,
        region: str | None = None,
        overlap: str | None = None,
        edited: str | None = None,
        resample: str | None = None,
        spacing: Sequence[float] | None = None,
        grey: bool | None = None,
        limits: Sequence[float] | None = None,
        exclude: Mapping[str, Sequence[str]] | None = None,
        exclude_rater: Sequence[str] | None = None,
        complain: Complain = raise_error,
    ) -> Study:
        """Find the files of a study.

        Parameters
        ----------
        masks
            A template such as ``"masks/{rater}/{case}.png"`` (also ``{subject}``, ``{label}``, ``{session}``),
            a ``study.toml``, or the folder that has one. What else is given overrides the file.
        images, roi, ranks, predictions
            Templates likewise; ``predictions`` may have ``{algorithm}``.
        references
            Template of truths that are given, beside those made of the raters; may have ``{reference}``.
        training
            Template of masks of what an algorithm was trained on, so that it is not judged by it; may have
            ``{algorithm}``.
        cases
            A CSV with a column ``case``; ``subject`` names the patient, every other column a group.
        raters
            A CSV with a column ``rater`` and what is known about each, or ``"exchangeable"``.
        reads
            A CSV of who read which case, and from what he started: ``case``, ``rater``, and where they are known
            ``session``, ``status`` (``done``, ``empty``, ``unread``, ``unfinished``) and ``based_on`` (a rater, or
            rater/session).
        labels, foreground, void
            As in :func:`manytruths.tally`.
        region
            What is counted: ``"whole"``, ``"union"`` or ``"modified_background"``; ``roi`` files come first.
        overlap
            Where a rater's structures (``{label}``) overlap: ``"smaller"`` is cut out of the larger, or
            ``"union"``, which unites everything into one foreground.
        edited
            Reads that are edits of another (``based_on``): ``"apart"`` from agreement and consensus, or ``"keep"``.
        resample
            ``"nearest"``: masks on another lattice are resampled; otherwise they are refused.
        spacing
            The size of a pixel in mm, for files that do not say.
        grey, limits
            Whether predictions are grey (probabilities, responses) instead of masks, and between which values.
        exclude
            Masks to leave out: ``{rater: [case, …]}``.
        exclude_rater
            Raters to leave out of the whole study; their masks are not read.
        complain
            What to do with a problem that does not keep the other files from being found: raised by default; give
            a list's ``append`` to go on and have them all.
        """
        given = merged(
            _start(masks),
            images=images, roi=roi, ranks=ranks, predictions=predictions, cases=cases, reads=reads,
            references=references, training=training, grey=grey,
            limits=None if limits is None else tuple(limits),
            raters=None if raters == "exchangeable" else raters,
            exchangeable=True if raters == "exchangeable" else None,
            labels=None if labels is None else Labels.of(labels),
            foreground=foreground, void=void, region=region, overlap=overlap,
            edited=edited, resample=resample,
            spacing=None if spacing is None else tuple(spacing),
            exclude=None if exclude is None else {k: tuple(v) for k, v in exclude.items()},
            exclude_rater=None if exclude_rater is None else tuple(exclude_rater),
        )  # fmt: skip
        found = find_cases(given, complain)
        check_void(found.cases, given.void)
        properties = read_table(given.raters, "rater") if given.raters else {}
        properties = {rater: row for rater, row in properties.items() if rater not in given.exclude_rater}
        return cls(found.cases, given, properties, left_out=found.left_out)

    @classmethod
    def from_arrays(
        cls,
        cases: Mapping[str, Mapping[Any, ArrayLike] | Sequence[ArrayLike] | np.ndarray],
        *,
        subjects: Mapping[str, str] | None = None,
        groups: Mapping[str, str | Sequence[str]] | None = None,
        spacing: Mapping[str, Sequence[float]] | Sequence[float] | None = None,
        raters: str | None = None,
        exclude_rater: Sequence[str] = (),
        **options: Any,
    ) -> Study:
        """A study of arrays in memory: ``{case: {rater: mask}}``, or ``{case: stack}`` with raters 1, 2, ….

        A rater's second reading goes under ``(rater, session)``. What else :meth:`open` takes (``labels``,
        ``region``, ``void``, …) it takes too.

        >>> study = Study.from_arrays({"p1": [[[1, 1, 0]], [[1, 0, 0]]], "p2": [[[0, 1, 0]], [[0, 1, 1]]]})
        >>> study.rater_names
        ('1', '2')
        """
        base = Options("", exchangeable=raters == "exchangeable", exclude_rater=tuple(exclude_rater), **options)
        masks = {name: {c: {"": m} for c, m in _named(stack).items()} for name, stack in cases.items()}
        check_excluded_raters({c.name for by_rater in masks.values() for c in by_rater}, base.exclude_rater)
        masks = {
            name: {c: m for c, m in by_rater.items() if c.name not in base.exclude_rater}
            for name, by_rater in masks.items()
        }
        columns = sorted({c for by_rater in masks.values() for c in by_rater}, key=lambda c: c.order)
        need_two_raters(columns)
        found = [
            Case(
                name,
                (subjects or {}).get(name, name),
                _groups(groups, name),
                by_rater,
                tuple(c for c in columns if c not in by_rater),
                merged(base, spacing=_spacing(spacing, name)),
            )
            for name, by_rater in masks.items()
        ]
        return cls(found, base, {})

    # -- what is in it -------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<Study of {len(self)} cases, {len(self.subjects)} subjects, raters {', '.join(self.rater_names)}>"

    def __len__(self) -> int:
        return len(self._cases)

    def __iter__(self) -> Iterator[Case]:
        return iter(self._cases.values())

    def __getitem__(self, name: str) -> Case:
        if name not in self._cases:
            raise CallError(f"no case {name!r}; there are {', '.join(list(self._cases)[:8])}, …")
        return self._cases[name]

    @property
    def columns(self) -> tuple[Column, ...]:
        """Every rater in every session."""
        return tuple(sorted({c for case in self for c in case.masks}, key=lambda c: c.order))

    @property
    def rater_names(self) -> tuple[str, ...]:
        """The raters, in natural order."""
        return tuple(sorted({c.name for c in self.columns}, key=natural_key))

    @property
    def algorithms(self) -> tuple[Column, ...]:
        """Every algorithm that has a prediction of any case."""
        return tuple(sorted({c for case in self for c in case.predictions}, key=lambda c: c.order))

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects, each once."""
        return tuple(dict.fromkeys(case.subject for case in self))

    # -- what is made of it --------------------------------------------------------------------

    def map(
        self, work: Callable[[Case], R], *, jobs: int = 1, progress: Progress | None = None
    ) -> Iterator[tuple[Case, R]]:
        """A function of every case, in order, ``jobs`` processes at a time, one case in memory each."""
        cases = list(self)
        return zip(cases, map_in_order(work, cases, jobs, progress), strict=True)

    def tally(self, *, region: str | None = None, jobs: int = 1, progress: Progress | None = None) -> Tallies:
        """A table per case, all over the same labels."""
        tables = {c.name: t for c, t in self.map(partial(Case.tally, region=region), jobs=jobs, progress=progress)}
        return self.gathered(tables)

    def gathered(self, tables: Mapping[str, Tally]) -> Tallies:
        """Tables by case over the labels of all of them, with subjects and groups; looks for other values."""
        found = self.labelled(tables)
        if not self.knows_labels:
            refuse_other_values(found)
        return found

    @property
    def knows_labels(self) -> bool:
        """Whether labels are declared, or are the names of files, so that values need not be guessed at."""
        return self.options.labels is not None or any(case.structures for case in self)

    def labelled(self, tables: Mapping[str, Tally]) -> Tallies:
        """Tables of some cases over the labels of all of them, with subjects and groups."""
        labels = Labels(())
        for table in tables.values():
            labels = labels.union(table.labels)
        return Tallies(
            {name: table.relabel(labels) for name, table in tables.items()},
            {name: self[name].subject for name in tables},
            {name: self[name].groups for name in tables},
        )


def _start(masks: str | Path) -> Options:
    path = Path(masks)
    if path.suffix == ".toml":
        return read_options(path)
    # os.path says no where pathlib raises: on folders that may not be entered
    if not os.path.isdir(path):
        return Options(str(masks))
    if os.path.lexists(path / "study.toml") or not os.access(path, os.X_OK):
        return read_options(path / "study.toml")
    raise StudyError(
        f"{path} is a folder without a study.toml; say where names stand in it, as in {path}/{{rater}}/{{case}}.png"
    )


def _named(stack: Mapping[Any, ArrayLike] | Sequence[ArrayLike] | np.ndarray) -> dict[Column, np.ndarray]:
    by_rater = stack if isinstance(stack, Mapping) else dict(enumerate(stack, start=1))
    return {_column(key): np.asanyarray(mask) for key, mask in by_rater.items() if mask is not None}


def _column(key: object) -> Column:
    return Column(str(key[0]), "rater", str(key[1])) if isinstance(key, tuple) else Column(str(key))


def _groups(groups: Mapping[str, str | Sequence[str]] | None, name: str) -> tuple[str, ...]:
    own = (groups or {}).get(name, ())
    return (own,) if isinstance(own, str) else tuple(own)


def _spacing(spacing: Mapping[str, Sequence[float]] | Sequence[float] | None, name: str) -> tuple[float, ...] | None:
    own = spacing.get(name) if isinstance(spacing, Mapping) else spacing
    return None if own is None else tuple(own)
