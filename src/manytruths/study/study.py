"""A study: cases that several raters marked."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..core.columns import Column, Role, natural_key
from ..core.errors import CallError, InputError, StudyError, raise_error
from ..core.labels import Labels
from ..core.tally import Tallies, Tally
from ..core.tiles import is_lazy
from ..io.tables import read_table
from ..io.tally_files import list_tally_files
from ..io.template import Complain
from .case import Case
from .case_files import check_excluded_raters, check_session, check_void, find_cases, need_two_raters
from .crew import choose_spread, spread_case
from .engine import Executor, map_on
from .keeping import open_ledger, work_or_load
from .mask_values import find_other_values, raise_first
from .named_lesions import order_cases
from .options import Options, merged, parse_image_size, read_options, written
from .processes import Progress, map_in_order
from .reading_log import UnusedReading
from .samples import with_sample_arrays
from .tallied import TalliedStudy, read_tallied

R = TypeVar("R")


class Study:
    """Cases that several raters marked, and what is known about them; masks are read only when they are needed.

    Open one with :meth:`open` (files) or :meth:`from_arrays` (memory). ``study["p01"]`` is a :class:`Case`; iterating
    gives all cases.

    Parameters
    ----------
    cases : sequence of Case
        The cases, in order.
    options : Options
        How the study was opened.
    properties : mapping of str to mapping
        What ``raters.csv`` says about each rater.
    coded : bool
        Whether names were replaced by codes.
    left_out : mapping of str to str, optional
        Cases of which no reading counts, with the reason, where the reading log says so.
    unused : sequence of UnusedReading
        Readings that do not count, and why.
    executor : Executor, optional
        Where cases are worked on instead of processes of our own; see :meth:`open`.
    tallied : TalliedStudy, optional
        What tally files say about themselves, where the cases come from them: there are no pixels then.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        options: Options,
        properties: Mapping[str, Mapping[str, str]],
        *,
        coded: bool = False,
        left_out: Mapping[str, str] | None = None,
        unused: Sequence[UnusedReading] = (),
        executor: Executor | None = None,
        tallied: TalliedStudy | None = None,
    ) -> None:
        self.options, self.properties, self.coded, self.executor = options, properties, coded, executor
        self.left_out, self.unused = left_out or {}, tuple(unused)
        self.tallied = tallied
        self._cases = {case.name: case for case in cases}

    @classmethod
    def open(
        cls,
        masks: str | Path | Sequence[str | Path],
        *,
        images: str | None = None,
        roi: str | None = None,
        ranks: str | None = None,
        predictions: str | None = None,
        reference: str | None = None,
        training: str | None = None,
        samples: str | None = None,
        cases: str | None = None,
        raters: str | None = None,
        reads: str | None = None,
        targets: str | None = None,
        decisions: str | None = None,
        labels: Labels | Mapping[int, str] | Iterable[int] | None = None,
        background: str | None = None,
        foreground: str | None = None,
        void: int | None = None,
        region: str | None = None,
        overlap: str | None = None,
        edited: str | None = None,
        resample: str | None = None,
        spacing: Sequence[float] | None = None,
        image_size: str | tuple[int, int] | None = None,
        probability: bool | None = None,
        limits: Sequence[float] | None = None,
        margin: float | None = None,
        exclude: Mapping[str, Sequence[str]] | None = None,
        exclude_rater: Sequence[str] | None = None,
        session: str | None = None,
        primary: str | None = None,
        trained_on: Mapping[str, str] | None = None,
        instances: bool | None = None,
        lesion_rule: str | None = None,
        lesion_threshold: float | None = None,
        executor: Executor | None = None,
        complain: Complain = raise_error,
    ) -> Study:
        """Find the files of a study.

        Parameters
        ----------
        masks : str, Path or sequence of these
            A template such as ``"masks/{rater}/{case}.png"`` (also ``{subject}``, ``{label}``, ``{session}``), a
            ``study.toml``, or the folder that has one. All other arguments override the file. Or one or several tally
            files (:func:`manytruths.share_tallies`), which take ``region``, ``foreground``, ``exclude_rater``,
            ``exclude``, ``session``, ``primary``, ``margin`` and ``trained_on`` alone.
        images, roi, ranks, predictions : str, optional
            Templates of images, regions to count, rank maps, and predictions; ``predictions`` may have ``{algorithm}``
            and, of probability maps of several labels, ``{label}``.
        reference : str, optional
            Template of given reference standards; may have ``{reference}``.
        training : str, optional
            Template of masks of the areas that an algorithm was trained on, by which it is not judged; may have
            ``{algorithm}``.
        samples : str, optional
            Template of samples, masks that an algorithm drew of each case, such as
            ``"{algorithm}/{case}/{sample}.png"``. Without ``predictions``, the share of the samples that mark a pixel
            is the probability map.
        cases : str, optional
            A CSV file with a column ``case``; ``subject`` names the patient, ``order`` (a number or date) gives the
            order of the cases of a subject, every other column is a group.
        raters : str, optional
            A CSV file with a column ``rater`` and what is known about each rater, or ``"exchangeable"``.
        reads : str, optional
            A CSV file, the reading log: ``case``, ``rater`` and, where known, ``session``, ``status`` (``done``,
            ``empty``, ``unread``, ``unfinished``, ``not_evaluable``), ``reason`` (why it is not evaluable) and
            ``based_on`` (a rater, or rater/session).
        targets : str, optional
            A CSV file of target lesions for RECIST 1.1: ``subject`` or ``case``, ``lesion``, ``target`` (``yes``,
            ``no``, ``new``), ``organ``, ``node``, and ``label`` or ``position``.
        labels : Labels, mapping of int to str, or iterable of int, optional
            As in :func:`manytruths.tally`.
        background : {"none"}, optional
            No label is background: 0 is a label like the others (a tissue map), or is not rated with ``void=0``. The
            labels must be declared, or be the names of files.
        foreground : {"any"}, optional
            Unite all labels but background.
        void : int, optional
            The value that means "not rated".
        region : {"whole", "union", "modified_background"}, optional
            What is counted; excludes ``roi``.
        overlap : {"smaller", "union"}, optional
            Where a rater's structures (``{label}``) overlap: cut the smaller one out of the larger, or unite everything
            into one foreground.
        edited : {"exclude", "keep"}, optional
            Masks that were edited from another one (``based_on``): exclude them from agreement and consensus, or keep
            them.
        resample : {"nearest"}, optional
            Resample masks that lie on a different voxel grid, instead of rejecting them.
        spacing : sequence of float, optional
            The size of a pixel in mm, for files that do not say.
        image_size : str or (int, int), optional
            Width and height of all images in pixels, as ``"1024x768"``, for masks that are files of outlines (GeoJSON,
            ASAP's XML); by default that of the image of each case.
        probability : bool, optional
            Whether predictions are probability maps or responses instead of masks.
        limits : sequence of float, optional
            The smallest and largest value of such predictions.
        margin : float, optional
            Largest difference of Dice that does not matter when algorithms are compared with raters, such as 0.05.
        exclude : mapping of str to sequence of str, optional
            Masks to leave out: ``{rater: [case, …]}``.
        exclude_rater : sequence of str, optional
            Raters to leave out of the whole study; their masks are not read.
        session : str, optional
            Of raters who have this session and others, it alone is read. By default, the first session in natural
            order enters agreement and consensus, and the others are compared with it.
        primary : str, optional
            The one claim that is tested without adjustment for the others, such as ``"raters.larger"``.
        trained_on : mapping of str to str, optional
            Algorithms that were trained on cases of this study, and on which reference standard, such as
            ``{"unet": "staple"}``. They are scored, but it is not concluded that they do well.
        instances : bool, optional
            Whether values of the masks number lesions: each value is one. For everything but lesions, what is not 0 is
            marked.
        lesion_rule : {"iou", "overlap", "distance"}, optional
            When two raters' lesions are the same, as in :func:`manytruths.match_lesions`; by default ``"iou"``.
        lesion_threshold : float, optional
            Threshold of this rule, by default 0.5; of ``"distance"`` in mm (or pixels), and without a default.
        executor : Executor, optional
            Where cases are worked on: anything that has ``submit`` and gives futures, such as
            ``distributed.Client("tcp://host:8786").get_executor()``. Workers need this version of manytruths, and must
            see the files under the same paths. Without it, commands start ``jobs`` processes of their own.
        complain : callable
            Called with each problem that does not keep the other files from being found; raises it by default. Give a
            list's ``append`` to collect them.

        Returns
        -------
        Study
            The study; no mask was read yet.

        Raises
        ------
        StudyError
            Where files or names do not fit together.
        """
        tallies = list_tally_files(masks)
        given = merged(
            _start(masks) if tallies is None else Options(""),  # type: ignore[arg-type]
            images=images, roi=roi, ranks=ranks, predictions=predictions, cases=cases, reads=reads, targets=targets,
            decisions=decisions,
            reference=reference, training=training, samples=samples, probability=probability, margin=margin,
            limits=None if limits is None else tuple(limits),
            raters=None if raters == "exchangeable" else raters,
            exchangeable=True if raters == "exchangeable" else None,
            labels=None if labels is None else Labels.of(labels),
            background=background, foreground=foreground, void=void, region=region, overlap=overlap,
            edited=edited, resample=resample,
            spacing=None if spacing is None else tuple(spacing),
            image_size=None if image_size is None else parse_image_size(image_size),
            exclude=None if exclude is None else {k: tuple(v) for k, v in exclude.items()},
            exclude_rater=None if exclude_rater is None else tuple(exclude_rater),
            session=session,
            primary=primary,
            trained_on=None if trained_on is None else dict(trained_on),
            instances=instances, lesion_rule=lesion_rule, lesion_threshold=lesion_threshold,
        )  # fmt: skip
        if given.samples is not None and (tallies or given.tallies):
            raise CallError("samples need the masks of the raters, which tally files do not hold")
        if tallies or given.tallies:
            return cls._of_tallies(tallies or given.tallies, written(given) | ({"region": region} if region else {}))
        found_cases, left_out, unused = find_cases(given, complain)
        given = found_cases[0].options if found_cases else given
        _need_labels(given, found_cases)
        check_void(found_cases, given.void)
        properties = read_table(given.raters, "rater") if given.raters else {}
        properties = {rater: row for rater, row in properties.items() if rater not in given.exclude_rater}
        return cls(found_cases, given, properties, left_out=left_out, unused=unused, executor=executor)

    @classmethod
    def _of_tallies(cls, paths: Sequence[str], given: Mapping[str, Any]) -> Study:
        found = read_tallied(paths, given)
        return cls(found.cases, found.options, found.properties, unused=found.unused, tallied=found)

    @classmethod
    def from_arrays(
        cls,
        cases: Mapping[str, Mapping[Any, ArrayLike] | Sequence[ArrayLike] | np.ndarray],
        *,
        subjects: Mapping[str, str] | None = None,
        groups: Mapping[str, str | Sequence[str]] | None = None,
        order: Mapping[str, float] | None = None,
        spacing: Mapping[str, Sequence[float]] | Sequence[float] | None = None,
        raters: str | None = None,
        exclude_rater: Sequence[str] = (),
        predictions: Mapping[str, Mapping[str, ArrayLike]] | None = None,
        references: Mapping[str, Mapping[str, ArrayLike]] | None = None,
        samples: Mapping[str, Mapping[str, ArrayLike | Sequence[ArrayLike]]] | None = None,
        properties: Mapping[str, Mapping[str, str]] | None = None,
        **options: Any,
    ) -> Study:
        """Make a study of arrays in memory.

        Parameters
        ----------
        cases : mapping
            ``{case: {rater: mask}}``, or ``{case: stack}`` with raters 1, 2, …. A rater's second reading goes under
            ``(rater, session)``.
        subjects : mapping of str to str, optional
            The patient of each case; by default each case is its own.
        groups : mapping of str to str or sequence of str, optional
            The groups of each case: names, or ``column=name`` as in ``"scanner=A"``.
        order : mapping of str to float, optional
            The order of the cases of each subject, to measure how sizes change.
        spacing : sequence of float, or mapping of str to it, optional
            The size of a pixel in mm, of all cases or of each.
        raters : {"exchangeable"}, optional
            Where raters are not the same people in every case.
        exclude_rater : sequence of str
            Raters to leave out.
        predictions : mapping, optional
            ``{case: {algorithm: mask}}``; probability maps with ``probability=True``, of several labels an array with
            one more axis, first or last. A case without a prediction of an algorithm that has others counts as missing.
        references : mapping, optional
            Given reference standards: ``{case: {name: mask}}``.
        samples : mapping, optional
            Masks that an algorithm drew: ``{case: {algorithm: [mask, …]}}``. Without ``predictions``, the share of the
            samples that mark a pixel is the probability map.
        properties : mapping, optional
            What is known about raters: ``{rater: {"expertise": "senior"}}``.
        **options
            Other arguments of :meth:`open` that are not paths: ``labels``, ``region``, ``void``, …

        Returns
        -------
        Study
            The study.

        Examples
        --------
        >>> import manytruths as mt
        >>> study = mt.Study.from_arrays({"p1": [[[1, 1, 0]], [[1, 0, 0]]], "p2": [[[0, 1, 0]], [[0, 1, 1]]]})
        >>> study.rater_names
        ('1', '2')
        """
        base = Options(
            "", exchangeable=raters == "exchangeable", exclude_rater=tuple(exclude_rater),
            predictions="" if predictions else None, reference="" if references else None,
            samples="" if samples else None, **options,
        )  # fmt: skip
        named = {name: _name_masks(stack) for name, stack in cases.items()}
        check_excluded_raters({c.name for by_rater in named.values() for c in by_rater}, base.exclude_rater)
        named = {n: {c: m for c, m in by.items() if c.name not in base.exclude_rater} for n, by in named.items()}
        masks = {name: {c: {"": m} for c, m in by.items()} for name, by in _of_session(named, base.session).items()}
        columns = sorted({c for by_rater in masks.values() for c in by_rater}, key=lambda c: c.order)
        need_two_raters(columns)
        patients = {name: (subjects or {}).get(name, name) for name in masks}
        places = order_cases("order", patients, {name: str(place) for name, place in (order or {}).items()})
        made = []
        for name, by_rater in masks.items():
            own, size = (groups or {}).get(name, ()), spacing.get(name) if isinstance(spacing, Mapping) else spacing
            absent = tuple(c for c in columns if c not in by_rater)
            settings = merged(base, spacing=None if size is None else tuple(size))
            in_groups = (own,) if isinstance(own, str) else tuple(own)
            parts = [group.partition("=") for group in in_groups]
            known = {column if equal else "group": value if equal else column for column, equal, value in parts}
            case = Case(
                name, patients[name], in_groups, by_rater, absent, settings, order=places.get(name), properties=known
            )
            made.append(case)
        _need_labels(base, made)
        judged, judges = _name_beside(cases, predictions, "algorithm"), _name_beside(cases, references, "reference")
        made = [_with_arrays(case, judged, judges) for case in made]
        return cls(with_sample_arrays(made, samples) if samples else made, base, properties or {})

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

    def with_cases(self, cases: Sequence[Case]) -> Study:
        """The same study with other knowledge about its cases."""
        return Study(
            cases, self.options, self.properties, coded=self.coded, left_out=self.left_out, unused=self.unused,
            executor=self.executor, tallied=self.tallied,
        )  # fmt: skip

    @property
    def exact(self) -> bool:
        """Whether patterns are those of the masks; tally files may have rare ones merged."""
        return self.tallied is None or not self.tallied.merged

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every rater in every session."""
        return tuple(sorted({c for case in self for c in case.masks}, key=lambda c: c.order))

    @cached_property
    def rater_names(self) -> tuple[str, ...]:
        """The raters, in natural order."""
        return tuple(sorted({c.name for c in self.columns}, key=natural_key))

    @property
    def sessions(self) -> dict[str, tuple[Column, ...]]:
        """The columns of raters who have several sessions, the first one first: it enters agreement and consensus."""
        by_name: dict[str, list[Column]] = {name: [] for name in self.rater_names}
        for column in self.columns:
            by_name[column.name].append(column)
        return {name: tuple(columns) for name, columns in by_name.items() if len(columns) > 1}

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
        self,
        work: Callable[[Case], R],
        *,
        jobs: int = 1,
        progress: Progress | None = None,
        keep: bool | Callable[[Case], bool] = False,
    ) -> Iterator[tuple[Case, R]]:
        """Apply a function to every case, in order.

        Parameters
        ----------
        work : callable
            Called with each case; must be picklable where ``jobs`` is above 1.
        jobs : int
            Number of worker processes, each with one case in memory. Results do not depend on it. Not used where the
            study has an executor.
        progress : callable, optional
            Called with the number of cases that are done and of all cases.
        keep : bool or callable
            Whether to keep what is found out about a case in the hidden folder of the results that are being written,
            so that a run that is stopped goes on where it was; or for which cases.

        Yields
        ------
        tuple of Case and result
            In the order of the cases.
        """
        cases = list(self)
        done = 0
        ledger = open_ledger(work) if keep else None
        if ledger is None:
            results = self._results(work, cases, jobs, progress)
        else:
            kept = partial(work_or_load, work=work, ledger=ledger, wanted=keep if callable(keep) else None)
            results = (packed.open() for packed in self._results(kept, cases, jobs, progress))
        try:
            for case, result in zip(cases, results, strict=True):
                done += 1
                yield case, result
        except InputError as error:
            error.case = cases[done].name
            raise

    def _results(
        self, work: Callable[[Case], R], cases: Sequence[Case], jobs: int, progress: Progress | None
    ) -> Iterator[R]:
        # arrays of the caller stay where they are: processes forked from this one see them
        executor = None if any(case.in_memory for case in cases) else self.executor
        apart = choose_spread(cases, executor, jobs)
        if apart:
            return _mixed_results(work, cases, apart, executor, jobs, progress)
        if executor is None:
            return map_in_order(work, cases, jobs, progress)
        return map_on(executor, work, cases, progress)

    def tally(self, *, region: str | None = None, jobs: int = 1, progress: Progress | None = None) -> Tallies:
        """Count the patterns of every case.

        Parameters
        ----------
        region : str, optional
            Overrides the study's region.
        jobs : int
            Number of worker processes. Results do not depend on it.
        progress : callable, optional
            Called with the number of cases that are done and of all cases.

        Returns
        -------
        Tallies
            A table per case, all over the same labels.
        """
        tables = {c.name: t for c, t in self.map(partial(Case.tally, region=region), jobs=jobs, progress=progress)}
        return self.gathered(tables)

    def gathered(self, tables: Mapping[str, Tally]) -> Tallies:
        """Tables by case over the labels of all of them, with subjects and groups; refuses files with other values."""
        tallies = self.labelled(tables)
        if not self.knows_labels:
            raise_first(find_other_values(tallies))
        return tallies

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


def _mixed_results(
    work: Callable[[Case], R],
    cases: Sequence[Case],
    apart: Container[str],
    executor: Executor | None,
    jobs: int,
    progress: Progress | None,
) -> Iterator[R]:
    """Cases in order: those ``apart`` are worked on here, with workers for their tiles, the others by workers."""
    others = [case for case in cases if case.name not in apart]
    elsewhere = map_in_order(work, others, jobs, None) if executor is None else map_on(executor, work, others, None)
    if progress:
        progress(0, len(cases))
    for done, case in enumerate(cases, start=1):
        if case.name in apart:
            with spread_case(case, executor, jobs) as spread:
                result = work(spread)
        else:
            result = next(elsewhere)
        if progress:
            progress(done, len(cases))
        yield result


def _of_session(named: Mapping[str, Mapping[Column, Any]], session: str) -> Mapping[str, Mapping[Column, Any]]:
    """Of raters who have the session, it alone."""
    if not session:
        return named
    have = {c.name for by_rater in named.values() for c in by_rater if c.session == session}
    check_session(session, [{c.session for c in by_rater} for by_rater in named.values()])
    return {
        name: {c: mask for c, mask in by_rater.items() if c.name not in have or c.session == session}
        for name, by_rater in named.items()
    }


def _start(masks: str | Path) -> Options:
    if not isinstance(masks, str | os.PathLike):
        raise CallError(
            f"masks must be a template such as 'masks/{{rater}}/{{case}}.png' or a study.toml; got "
            f"{type(masks).__name__}; Study.from_arrays takes arrays"
        )
    path = Path(masks)
    if path.suffix == ".toml":
        return read_options(path)
    # os.path says no where pathlib raises: on folders that may not be entered
    if not os.path.isdir(path):
        return Options(str(masks))
    if os.path.lexists(path / "study.toml") or not os.access(path, os.X_OK):
        return read_options(path / "study.toml")
    raise StudyError(f"{path} is a folder without a study.toml; give a template, such as {path}/{{rater}}/{{case}}.png")


def _need_labels(options: Options, cases: Sequence[Case]) -> None:
    """Refuse a study without background whose labels are not known before the masks are read."""
    if options.background == "none" and options.labels is None and not any(case.structures for case in cases):
        raise StudyError('background = "none" needs the labels; declare them: labels = { 1 = "grey", 2 = "white" }')


def _name_masks(stack: Mapping[Any, ArrayLike] | Sequence[ArrayLike] | np.ndarray) -> dict[Column, np.ndarray]:
    by_rater = stack if isinstance(stack, Mapping) else dict(enumerate(stack, start=1))
    given = {key if isinstance(key, tuple) else (key, ""): mask for key, mask in by_rater.items() if mask is not None}
    return {Column(str(name), "rater", str(session)): _as_array(mask) for (name, session), mask in given.items()}


def _as_array(mask: Any) -> Any:
    """In memory, or as it is where it can be read in pieces."""
    return mask if is_lazy(mask) else np.asanyarray(mask)


def _name_beside(
    cases: Iterable[str], arrays: Mapping[str, Mapping[str, ArrayLike]] | None, role: Role
) -> dict[str, dict[Column, np.ndarray]]:
    """Predictions or references of a study in memory, by case and column."""
    names = set(cases)
    for name in arrays or ():
        if name not in names:
            raise CallError(f"{role}s are given for case {name!r}, which the study does not have")
    return {
        case: {Column(str(name), role): _as_array(mask) for name, mask in by_name.items() if mask is not None}
        for case, by_name in (arrays or {}).items()
    }


def _with_arrays(
    case: Case, predictions: dict[str, dict[Column, np.ndarray]], references: dict[str, dict[Column, np.ndarray]]
) -> Case:
    """The case with its predictions and references, and with what is missing."""
    own, given = predictions.get(case.name, {}), references.get(case.name, {})

    def missing(arrays: dict[str, dict[Column, np.ndarray]], there: dict[Column, np.ndarray]) -> tuple[Column, ...]:
        every = {column for by_column in arrays.values() for column in by_column}
        return tuple(sorted(every - set(there), key=lambda column: column.order))

    return replace(
        case, predictions=own, references=given,
        missing=missing(predictions, own), missing_references=missing(references, given),
    )  # fmt: skip
