"""The command ``reliability``: how much of the agreement in rated data is genuine, and how much of it is correct."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from ...claims.sentences import counted
from ...core.errors import CallError, InputError
from ...core.undefined import REASONS, undefined_like
from ...inference.intervals import Interval
from ...io.result_tables import Table
from ...io.tally_files import is_tally_file
from ...ratings.accuracy import Majorities, majorities
from ...ratings.concordance import ALONE, Chance, Concordance, Partial, sigma
from ...ratings.ratings import Kind, Ratings, Values
from ...ratings.tables import RatingsOptions, open_ratings
from ...study import Progress, Study
from ..paper_tables.formats import parse_formats
from ..result import Result, StudySource, Tables, console_or_stdout, open_raters, results_folder, summary_of
from ..tables import Settings
from .intervals import Source, beyond_chance, case_means, competence_sources, rho_interval
from .masks import Assumptions, LesionItems, MaskReliability, mask_reliability
from .ordered import OrderedAgreement, ordered_agreement
from .ratings_tables import (
    KINDS,
    ConfidenceLevels,
    agreement_by_case,
    confidence_levels,
    confidence_table,
    majorities_table,
    raters_table,
    reliability_table,
)


@dataclass(frozen=True)
class ReliabilitySettings(Settings):
    """Settings of :func:`reliability`, as ``summary.json`` has them."""

    chance: Chance = "uniform"
    partial: Partial = "none"
    accuracy: Mapping[str, float] | None = None
    """Known accuracies, by rater."""
    positive: str | None = None
    """Of two labels, the one that sensitivity refers to; by default the last."""
    majority_level: float = 0.05
    """Significance level below which a majority is overwhelming."""


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(Result):
    """The result of :func:`manytruths.reliability` for a table of ratings.

    Attributes
    ----------
    ratings : Ratings
        The ratings that were analysed.
    settings : ReliabilitySettings
        Resampling of intervals, chance distribution, partial agreement and given accuracies.
    sigma : Concordance
        σ of the data set, and by case, rater, pair and label.
    sources : list of Source
        ρ for each source of the raters' accuracies: the reference standard, the majority of the others, given
        accuracies, a Rasch model.
    majorities : Majorities
        Which label won each case.
    confidence : ConfidenceLevels or None
        Ratings and errors by confidence.
    headline : dict of str to Interval
        ``sigma``, ``rho`` by source (``rho reference``), kappas, alpha, and shares of majorities (``slim_majority``).
    notes : tuple of str
        What a reader should know about the numbers.
    tables : Tables
        ``reliability``, ``raters``, ``majorities`` and ``confidence``, as in the files.
    """

    command: ClassVar[str] = "reliability"

    ratings: Ratings
    settings: ReliabilitySettings
    sigma: Concordance
    sources: list[Source]
    majorities: Majorities
    confidence: ConfidenceLevels | None
    headline: dict[str, Interval]
    ordered: OrderedAgreement | None = None
    """Weighted kappas, alphas and ICC; None where labels are nominal."""
    notes: tuple[str, ...] = ()
    tables: Tables[Table] = field(default_factory=lambda: Tables(()))

    @property
    def charts(self) -> dict[str, str]:
        """Charts as SVG by name."""
        from .presentation import charts

        return charts(self)

    def summary(self) -> dict[str, Any]:
        """Versions, settings and the numbers of all tables, as ``summary.json`` has them."""
        ratings = self.ratings
        return summary_of(
            "reliability",
            self.tables.values(),
            cases=len(ratings),
            subjects=len(set(ratings.subjects)),
            raters=ratings.raters,
            labels=ratings.labels,
            kind=ratings.kind,
            ratings=int(ratings.rated.sum()),
            missing=int((~ratings.given).sum()),
            settings=self.settings,
            notes=self.notes,
        )

    def describe(self) -> str:
        """What was analysed, in one line."""
        return f"{counted(len(self.ratings.raters), 'rater')}, {counted(len(self.ratings), 'case')}"

    def print(self, console: Any = None) -> None:
        """Print the headline numbers, ρ by source, raters, majorities and notes."""
        from .presentation import print_reliability

        print_reliability(self, console_or_stdout(console))


def reliability(
    data: Ratings | StudySource,
    *,
    out: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    kind: Kind | None = None,
    labels: Sequence[str] | None = None,
    confidence: str | Path | Mapping[str, float] | float | None = None,
    confidence_levels: int | Sequence[str] | None = None,
    confidence_rule: Literal["share", "span"] | None = None,
    select_raters: Sequence[str] | None = None,
    reference_column: str | None = None,
    reference_rater: str | None = None,
    cases: str | Path | None = None,
    filter: Mapping[str, str] | None = None,
    cut: float | None = None,
    rating_range: tuple[float, float] | None = None,
    accuracy: Mapping[str, float] | None = None,
    chance: Chance = "uniform",
    partial: Partial = "none",
    positive: str | None = None,
    lesion_min_size: int | None = None,
    lesion_overlap: float | None = None,
    lesion_items: LesionItems | None = None,
    level: float = 0.95,
    pictures: bool = True,
    tables: str | Sequence[str] = (),
    jobs: int = 1,
    progress: Progress | None = None,
) -> Reliability | MaskReliability:
    """Measure genuine agreement (σ), weight it by the raters' accuracies (ρ), and examine majorities and lesions.

    Parameters
    ----------
    data : Ratings, Study, str, Path or sequence of these
        Ratings; a table of ratings (CSV, Parquet or Excel), long or wide; or masks: a study, a template with
        ``{rater}`` and ``{case}``, a ``study.toml`` or its folder. In masks every pixel is a rating, and so is every
        lesion: found or missed.
    out : str or Path, optional
        Folder for the results, written to ``out/reliability/``; by default nothing is written.
    columns : mapping, optional
        For tables: columns of other names, as ``{"case": "image", "rater": "reader", "label": "dx"}``.
    kind : {"nominal", "ordinal", "numeric"}, optional
        For tables: level of measurement of the labels; nominal by default.
    labels : sequence of str, optional
        For tables: all labels, in their order.
    confidence : str, Path, mapping or float, optional
        For tables, a second table of the same layout with confidences; for masks, one number for each rater or for all.
    confidence_levels : int or sequence of str, optional
        For tables: number of confidence levels (1 is the least sure), or their names in order.
    confidence_rule : {"share", "span"}, optional
        For tables: how a level becomes a number; level / levels by default, or (level − 1) / (levels − 1).
    select_raters : sequence of str, optional
        For tables: raters to analyse; in a wide table, which columns are raters.
    reference_column : str, optional
        For tables: column of the reference standard; ``reference`` or ``truth`` by default.
    reference_rater : str, optional
        For tables: a rater whose labels are the reference standard.
    cases : str or Path, optional
        For tables: CSV with the columns ``case`` and ``subject``.
    filter : mapping, optional
        For tables: keep only lines with these values, as ``{"treatment": "1"}``.
    cut : float, optional
        For tables: ratings on a scale from here on are label 1, those below label 0; confidence is the distance from
        the cut.
    rating_range : tuple of float, optional
        For tables: ends of the scale that is cut; by default the lowest and highest rating.
    accuracy : mapping, optional
        Known accuracies of the raters.
    chance : {"uniform", "empirical"} or mapping
        How a rater who does not know chooses: all labels alike, in proportion to all ratings, or with the given shares.
    partial : {"none", "linear", "quadratic"}
        Partial agreement of different ordinal or numeric labels.
    positive : str, optional
        Of two labels, the one that sensitivity refers to; by default the last.
    lesion_min_size : int, optional
        For masks: number of pixels of the smallest lesion; 1 by default.
    lesion_overlap : float, optional
        For masks: share of a lesion that a rater must mark to have found it; by default one pixel.
    lesion_items : {"union", "matched"}, optional
        For masks, what a lesion is: a connected component of the union of all raters' marks (default), or what raters
        have in common by the study's ``lesion_rule``, ``lesion_threshold`` and ``instances``.
    level : float
        Confidence level of intervals.
    pictures : bool
        Whether to write charts.
    tables : str or sequence of str
        Formats of tables for a paper, written beside the CSV files: any of ``xlsx``, ``latex``, ``docx``, ``html`` and
        ``redcap``; by default none.
    jobs : int
        Number of worker processes for masks. Results do not depend on it.
    progress : callable, optional
        Called with the number of finished cases and of all cases of masks.

    Returns
    -------
    Reliability or MaskReliability
        Tables, charts, notes and ``write()``; MaskReliability for masks.

    References
    ----------
    Cabitza F, Campagner A, Albano D et al. The elephant in the machine: proposing a new metric of data reliability and
    its application to a medical case to assess classification reliability. Appl Sci 2020;10:4014.
    doi:10.3390/app10114014

    Examples
    --------
    >>> import manytruths as mt
    >>> ratings = mt.Ratings.of({"A": [1, 0, 1, 1], "B": [1, 0, 1, 0], "C": [1, 1, 1, 0]}, confidence=0.8)
    >>> result = mt.reliability(ratings)
    >>> print(f"{result.tables['reliability'].find('sigma', source='', rater_a='', rater_b='').value:.3f}")
    0.527
    """
    formats = parse_formats(tables, out, "reliability")
    reading = {
        "columns": columns, "kind": kind, "labels": labels, "confidence_levels": confidence_levels,
        "confidence_rule": confidence_rule, "select_raters": select_raters, "reference_column": reference_column,
        "reference_rater": reference_rater, "cases": cases, "filter": filter, "cut": cut, "rating_range": rating_range,
    }  # fmt: skip
    of_masks = {"lesion_min_size": lesion_min_size, "lesion_overlap": lesion_overlap, "lesion_items": lesion_items}
    if isinstance(data, Study) or (not isinstance(data, Ratings) and names_masks(data)):
        check_options_of_masks({**reading, "partial": partial, "positive": positive}, data)
        if isinstance(confidence, str | Path):
            raise CallError(f"for masks, confidence must be one number for all raters or for each; got {confidence}")
        settings = Settings(level=level, jobs=jobs)
        assumptions = Assumptions(confidence, chance, accuracy or "majority")
        min_size = 1 if lesion_min_size is None else lesion_min_size
        study = open_raters(data)
        with results_folder(out, "reliability", jobs=jobs, keeps=True) as folder:
            masks = mask_reliability(
                study, settings=settings, assumptions=assumptions, min_size=min_size, overlap=lesion_overlap,
                items=lesion_items or "union", progress=progress,
            )  # fmt: skip
            if folder is not None:
                masks.write_into(folder, pictures=pictures, tables=formats)
        return masks
    _check_unused(of_masks, f"masks; {_describe(data)} ratings")
    rating_settings = ReliabilitySettings(
        level=level, chance=chance, partial=partial, accuracy=accuracy or None,
        positive=positive,
    )  # fmt: skip
    ratings, notes = _read_ratings(data, confidence, reading)
    with results_folder(out, "reliability") as folder:
        result = compute_reliability(ratings, rating_settings, notes)
        if folder is not None:
            result.write_into(folder, pictures=pictures, tables=formats)
    return result


def names_masks(path: str | Path | Sequence[str | Path]) -> bool:
    """Whether a path names masks: a template, a study file or a folder, or tally files.

    Otherwise it is a table of ratings.
    """
    if is_tally_file(path) or not isinstance(path, str | os.PathLike):
        return True
    text = os.fspath(path)
    return (not os.path.isfile(text) and "{" in text) or text.endswith(".toml") or os.path.isdir(text)


def check_options_of_masks(options: Mapping[str, object], data: object) -> None:
    """Reject options that are for tables of ratings only."""
    given = {name: None if value == "none" else value for name, value in options.items()}
    _check_unused(given, f"a table of ratings; {_describe(data)} masks")


def _describe(data: object) -> str:
    return f"{data} has" if isinstance(data, str | Path) else f"this {type(data).__name__} has"


def _check_unused(options: Mapping[str, object], what: str) -> None:
    """Reject options that do not apply."""
    for name, value in options.items():
        if value is not None:
            raise CallError(f"--{name.replace('_', '-')} is for {what}")


def _read_ratings(
    data: Ratings | StudySource, confidence: Any, reading: Mapping[str, Any]
) -> tuple[Ratings, tuple[str, ...]]:
    """The ratings, and notes of how they were read."""
    if isinstance(data, Ratings):
        _check_unused({**reading, "confidence": confidence}, "files, but data is a Ratings object")
        return data, ()
    if confidence is not None and not isinstance(confidence, str | Path):
        raise CallError(f"for a table of ratings, confidence must be the path of a second table; got {confidence!r}")
    given = {name: value for name, value in reading.items() if value is not None}
    assert isinstance(data, str | Path)
    file = open_ratings(Path(data), RatingsOptions(confidence=confidence, **given))
    return file.ratings, file.notes


def compute_reliability(
    ratings: Ratings, settings: ReliabilitySettings | None = None, notes: Sequence[str] = ()
) -> Reliability:
    """Analyse ratings; ``notes`` are those of the reading."""
    from .presentation import list_notes

    settings = settings or ReliabilitySettings()
    _check_ratings(ratings, settings)
    plain = sigma(ratings, settings.chance, settings.partial)
    sources = competence_sources(ratings, settings.accuracy, settings.chance, settings.partial)
    won = majorities(ratings, settings.majority_level)
    result = Reliability(
        ratings, settings, plain, sources, won, confidence_levels(ratings),
        _headline(ratings, plain, sources, won, settings), ordered_agreement(ratings, settings),
    )  # fmt: skip
    tables = [reliability_table(result), raters_table(result), majorities_table(result)]
    tables += [confidence_table(result.confidence)] if result.confidence else []
    return replace(result, notes=(*notes, *list_notes(result)), tables=Tables(tables))


def _check_ratings(ratings: Ratings, settings: ReliabilitySettings) -> None:
    if ratings.weights is not None:
        raise CallError("these ratings are patterns of masks, not cases; give the study of masks instead")
    if len(ratings.raters) < 2:
        raise InputError(f"agreement needs at least two raters; there is {', '.join(ratings.raters) or 'none'}")
    if not (ratings.rated > 1).any():
        raise InputError(f"{REASONS[ALONE]}, so nothing can be compared; let some cases be rated twice")
    if settings.positive is not None and settings.positive not in ratings.labels:
        raise CallError(f"--positive {settings.positive!r} is not a label; labels are {', '.join(ratings.labels)}")


def _headline(
    ratings: Ratings, plain: Concordance, sources: list[Source], won: Majorities, settings: ReliabilitySettings
) -> dict[str, Interval]:
    """All numbers of the data set, with intervals."""
    values: dict[str, Values] = {"sigma": plain.by_case, "percent_agreement": agreement_by_case(ratings)}
    values |= {f"rho {source.name}": source.rho.by_case for source in sources if source.rho is not None}
    for kind, name in KINDS.items():
        base = won.judged if kind.startswith("wrong") else won.counted
        values[name] = np.where(base, getattr(won, kind), np.nan)
    headline = dict(zip(values, case_means(list(values.values()), ratings, settings), strict=True))
    for source in sources:
        if source.rho is None:
            nothing = undefined_like(source.value)
            headline[f"rho {source.name}"] = Interval(nothing, nothing, nothing, settings.level, "jackknife", 0)
        elif source.name in ("reference", "majority"):
            headline[f"rho {source.name}"] = rho_interval(
                ratings, source.name, source.rho, settings.chance, settings.partial, settings
            )
    return headline | beyond_chance(ratings, settings)
