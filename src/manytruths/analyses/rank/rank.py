"""The command ``rank``: a ranking of algorithms, how far it can be trusted, and a leaderboard.

``leaderboard.json`` is small and made to be shown by other programs; it has no date, so that the same scores give the
same file. Its fields:

``schema_version``, ``title``
    1, and what the organiser calls it.
``scheme``, ``aggregate``, ``missing``, ``level``, ``alpha``
    How it was ranked.
``subjects``, ``cases``, ``references``, ``metrics``
    Of what; metrics have a name and which is ``better``, higher or lower.
``winner``, ``verdict``
    A name or null, and a sentence.
``algorithms``
    Best first, each with ``name``, ``rank``, ``low`` and ``high`` (the simultaneous confidence set of the rank),
    ``resampled_low`` and ``resampled_high`` (a bootstrap range of the rank), ``first_share`` (of the resamples; a
    shared first place counts in equal parts; all five null with few subjects), ``missing``, ``undefined`` and
    ``both_empty`` (how many scores), and ``scores`` (metric, truth, value, low, high, rank).
``groups``, ``same_references``, ``distinct_rankings``, ``notes``
    Neighbours of whom none is significantly better than another under every metric and reference standard (none with
    few subjects); reference standards that give the same scores in every case; rankings with the reference standards
    that give each; sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...claims.algorithms import consider_winner, trained_here
from ...claims.claim import ClaimLog, Claims
from ...claims.numbers import TableIndex
from ...claims.sentences import counted, number, there_are
from ...core.errors import CallError, few
from ...core.undefined import Note, reason
from ...evaluation.ranking.missing_scores import Missing
from ...evaluation.ranking.ranking import (
    Ranking,
    Verdict,
    best_first,
    format_share,
    join_names,
    rank_scores,
    ranking_text,
)
from ...evaluation.ranking.score_tables import read_scores
from ...evaluation.ranking.scores import Scores
from ...evaluation.ranking.standings import Aggregate, Scheme
from ...inference.intervals import MIN_SUBJECTS
from ...io import write_json
from ...io.result_tables import Table
from ..evaluate.case_scores import NAMES
from ..paper_tables.formats import parse_formats
from ..printing import grid
from ..result import SCHEMA, Result, Tables, console_or_stdout, results_folder, summary_of
from ..tables import mark_all
from .tables import charts, pairs_table, rankings_table, tau_table

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class RankSettings:
    """Settings of a ranking, as they are written to its summary."""

    title: str = "Ranking"
    missing: Missing = "worst"
    resamples: int = 1000
    seed: int = 0
    level: float = 0.95
    trained_on: Mapping[str, str] = field(default_factory=dict)
    """Algorithms that were trained on the cases, and on which reference standard."""


@dataclass(frozen=True, eq=False, repr=False)
class RankResult(Result):
    """The result of :func:`manytruths.rank`.

    Attributes
    ----------
    ranking : Ranking
        The ranking with its verdict, groups and sets of ranks.
    settings : RankSettings
        Title, treatment of missing scores, and resampling.
    tables : Tables
        ``rankings``, ``pairs`` and ``tau``, as in the files.
    notes : tuple of str
        How the ranking was made, how missing scores counted, and what the order depends on.
    """

    command: ClassVar[str] = "rank"

    ranking: Ranking
    settings: RankSettings
    tables: Tables[Table]
    notes: tuple[str, ...]
    copies: Mapping[str, Note] = field(default_factory=dict)
    """Algorithms whose masks are those of a rater or a consensus: that they win is not said."""

    @property
    def charts(self) -> dict[str, str]:
        """Charts as SVG by name."""
        return charts(self.ranking)

    @cached_property
    def claims(self) -> Claims:
        """Whether there is a winner."""
        log, pairs = ClaimLog(), TableIndex("rank/pairs.csv", self.tables["pairs"])
        consider_winner(log, self.ranking, pairs, NAMES, self._dependent)
        return log.settle(alpha=self.ranking.alpha)

    @property
    def _dependent(self) -> dict[str, Note]:
        return {**self.copies, **{name: trained_here(on) for name, on in self.settings.trained_on.items()}}

    @property
    def verdict(self) -> Verdict:
        """Whether there is a winner; none that was trained on the cases, or has a rater's masks."""
        verdict = self.ranking.verdict
        why = self._dependent.get(verdict.winner or "")
        if why is None:
            return verdict
        by = f"By {self.ranking.basis()}"
        return Verdict(None, f"{by}, {verdict.winner} is first, but no winner is declared: {why}.", why.code)

    @property
    def leaderboard(self) -> dict[str, Any]:
        """What ``leaderboard.json`` holds; see the module for its fields."""
        ranking = self.ranking
        return {
            "schema_version": SCHEMA,
            "title": self.settings.title,
            **_method(ranking),
            "missing": self.settings.missing,
            "level": self.settings.level,
            "winner": self.verdict.winner,
            "verdict": self.verdict.sentence,
            "algorithms": [_leaderboard_entry(ranking, ranking.algorithms.index(name)) for name in ranking.order],
            "groups": [group.algorithms for group in ranking.groups()],
            "same_references": ranking.same,
            "distinct_rankings": ranking.distinct(),
            "notes": self.notes,
        }

    def describe(self) -> str:
        """What was ranked, in one line."""
        ranking = self.ranking
        sizes = [(len(ranking.algorithms), "algorithm"), (ranking.cases, "case"), (ranking.subjects, "subject")]
        sizes += [(len(ranking.metrics), "metric"), (len(ranking.references), "reference standard")]
        return ", ".join(counted(*size) for size in sizes)

    def summary(self) -> dict[str, Any]:
        """The tables' numbers, with versions and settings, as ``summary.json`` has them."""
        ranking = self.ranking
        metrics = ("", *ranking.metrics) if len(ranking.metrics) > 1 else ("",)
        return summary_of(
            "rank",
            self.tables.values(),
            settings=self.settings,
            **_method(ranking),
            winner=self.verdict.winner,
            verdict=self.verdict.sentence,
            order=ranking.order,
            groups=[group.algorithms for group in ranking.groups()],
            same_references=ranking.same,
            distinct_rankings={metric or "all": ranking.distinct(metric) for metric in metrics},
            without_truth=[
                {"truth": without.truth, "changed": without.changed, "first_changed": without.first_changed}
                for without in ranking.without_truth
            ],
            notes=self.notes,
        )

    def paper_rows(self) -> dict[str, object]:
        """Ranks by the scheme of the order."""
        return {"scheme": self.ranking.scheme}

    def write_more(self, folder: Path) -> list[Path]:
        """Write ``leaderboard.json``."""
        path = folder / "leaderboard.json"
        write_json(path, self.leaderboard)
        return [path]

    def print(self, console: Any = None) -> None:
        """Print the order with sets of ranks, distinct rankings, the verdict, groups and notes."""
        print_ranking(self, console_or_stdout(console))


def rank(
    scores: Scores | str | Path,
    *,
    out: str | Path | None = None,
    metric: str | Sequence[str] | None = None,
    direction: Mapping[str, str] | None = None,
    missing: Missing = "worst",
    scheme: Scheme = "mean",
    aggregate: Aggregate = "mean",
    columns: Mapping[str, str] | None = None,
    cases: str | Path | None = None,
    algorithm: str | Sequence[str] | None = None,
    against: str | Sequence[str] | None = None,
    label: str | Sequence[str] | None = None,
    trained_on: Mapping[str, str] | None = None,
    title: str = "Ranking",
    alpha: float = 0.05,
    level: float = 0.95,
    seed: int = 0,
    resamples: int = 1000,
    pictures: bool = True,
    tables: str | Sequence[str] = (),
) -> RankResult:
    """Rank algorithms by their scores, measure how stable the ranking is, and write a leaderboard.

    Parameters
    ----------
    scores : Scores, str or Path
        Scores, or a table of them: ``evaluate/scores.csv``, or any table of scores in long or wide format.
    out : str or Path, optional
        Folder for the results, written to ``out/rank/``; by default nothing is written.
    metric : str or sequence of str, optional
        Metrics to rank by, or ``"all"``; by default all that are known, or Dice alone if there are more than three.
    direction : mapping of str to str, optional
        ``"higher"`` or ``"lower"``, which is better, for metrics that are not known.
    missing : {"worst", "exclude"} or float
        How a missing or undefined score counts: as the worst (of a distance, the image's diagonal where ``cases`` has
        it), as a number, or its case is excluded for all algorithms.
    scheme : {"mean", "rank", "test"}
        Scheme of the overall order: aggregate then rank, rank then aggregate, or test. All three are computed.
    aggregate : {"mean", "median"}
        Over subjects, for the scheme ``mean``.
    columns : mapping of str to str, optional
        Columns of the table under other names: ``{"case": "image", "algorithm": "team"}``.
    cases : str or Path, optional
        CSV with the columns case, subject (cases of one subject are drawn together) and diagonal (of the image).
    algorithm : str or sequence of str, optional
        Algorithms to rank; by default all.
    against : str or sequence of str, optional
        Reference standards to rank under; by default all.
    label : str or sequence of str, optional
        Labels to rank by; by default the macro mean of all labels, or else the scores of all labels together.
    trained_on : mapping of str to str, optional
        Algorithms that were trained on these cases, and on which reference standard, such as ``{"unet": "staple"}``.
        They are ranked, but none of them is declared the winner.
    title : str
        Title of the leaderboard.
    alpha : float
        Significance level of the tests, after Holm's adjustment.
    level : float
        Confidence level of intervals.
    seed, resamples : int
        Seed and number of resamples of the subjects, for the stability of ranks and intervals of medians.
    pictures : bool
        Whether to write charts.
    tables : str or sequence of str
        Formats of tables for a paper, written beside the CSV files: any of ``xlsx``, ``latex``, ``docx`` and ``html``;
        by default none.

    Returns
    -------
    RankResult
        The ranking, tables, charts, notes and :meth:`~RankResult.write`.

    References
    ----------
    Maier-Hein L et al. Why rankings of biomedical image analysis competitions should be interpreted with care. Nat
    Commun 2018;9:5217. doi:10.1038/s41467-018-07619-7. Wiesenfarth M et al. Methods and open-source toolkit for
    analyzing and visualizing challenge results. Sci Rep 2021;11:2369. doi:10.1038/s41598-021-82017-6

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.rank(mt.Scores.of([[0.9, 0.8, 0.9], [0.7, 0.6, 0.8]], ["unet", "vnet"])).ranking
    Ranking(1. unet, 2. vnet; by mean, 1 metric–reference pair, 3 subjects)
    """
    formats = parse_formats(tables, out, "rank")
    if not isinstance(scores, Scores):
        scores = read_scores(scores, columns=columns, cases=cases, labels=_names(label))
    elif columns or cases or label:
        raise CallError("columns=, cases= and label= are for a table in a file; Scores have them already")
    ranking = rank_scores(
        scores.select(algorithms=_names(algorithm)), metrics=_names(metric), references=_names(against),
        directions=direction or {}, missing=missing, scheme=scheme, aggregate=aggregate, resamples=resamples, seed=seed,
        level=level, alpha=alpha,
    )  # fmt: skip
    unknown = [name for name in trained_on or () if name not in ranking.algorithms]
    if unknown:
        known = ", ".join(ranking.algorithms)
        raise CallError(f"trained_on: there is no algorithm {unknown[0]!r}; algorithms are {known}")
    settings = RankSettings(title, missing, resamples, seed, level, dict(trained_on or {}))
    result = tabulate_ranking(ranking, settings, resampled=bool(scores.resampled))
    with results_folder(out, "rank") as folder:
        if folder is not None:
            result.write_into(folder, pictures=pictures, tables=formats)
    return result


def _names(given: str | Sequence[str] | None) -> list[str] | None:
    return None if given is None else [given] if isinstance(given, str) else list(given)


def tabulate_ranking(
    ranking: Ranking, settings: RankSettings | None = None, *, resampled: bool = False,
    copies: Mapping[str, Note] | None = None,
) -> RankResult:  # fmt: skip
    """Tables and notes of a ranking; ``resampled``: masks were, for some of the scores; ``copies``: of raters."""
    tables = [rankings_table(ranking), pairs_table(ranking), tau_table(ranking)]
    if resampled:
        mark_all(tables)
    settings = settings or RankSettings()
    return RankResult(ranking, settings, Tables(tables), tuple(_notes(ranking, settings.missing)), copies or {})


def _method(ranking: Ranking) -> dict[str, Any]:
    ways = {b.metric: "higher" if b.higher else "lower" for b in ranking.boards}
    return {
        "scheme": ranking.scheme,
        "aggregate": ranking.aggregate,
        "alpha": ranking.alpha,
        "subjects": ranking.subjects,
        "cases": ranking.cases,
        "references": ranking.references,
        "metrics": [{"name": name, "better": way} for name, way in ways.items()],
    }


def _leaderboard_entry(ranking: Ranking, i: int) -> dict[str, Any]:
    overall = ranking.overall
    (low, high), (start, end) = ranking.rank_sets(), overall.resampled_range
    kinds = ("missing", "undefined", "both_empty")
    gaps = {kind: int(sum(getattr(b, kind)[i] for b in ranking.boards)) for kind in kinds}
    scores = [
        {"metric": board.metric, "truth": board.truth, "value": mean.value[i], "low": mean.low[i], "high": mean.high[i],
         "rank": ranking.find(board.truth, board.metric).places[i]}
        for board, mean in zip(ranking.boards, ranking.means, strict=True)
    ]  # fmt: skip
    return {
        "name": ranking.algorithms[i],
        "rank": overall.places[i],
        "low": low[i],
        "high": high[i],
        "resampled_low": start[i],
        "resampled_high": end[i],
        "first_share": overall.first_share[i],
        **gaps,
        "scores": scores,
    }


_CHANCE = (
    "{} of single cases: chance keeps it above 0, least for maps that are nearly 0 or 1 everywhere, so that one that "
    "is too sure of itself may come first; the Brier score has no such fault"
)
CAUTIONS = {
    "expected_calibration_error": _CHANCE.format("expected_calibration_error"),
    "expected_calibration_error_union": _CHANCE.format("expected_calibration_error_union"),
    "energy_distance": "energy_distance falls with the number of samples, so that it compares algorithms with equally "
    "many; energy_distance_unbiased_samples does not",
}
"""What to know of a metric before ranking by it."""


def _notes(ranking: Ranking, missing: Missing) -> Iterator[str]:
    """How the ranking was made, how gaps counted, and what the order depends on."""
    yield from ranking.notes
    if len(ranking.boards) > 1:
        yield "overall: the mean of ranks over the references of each metric, then over metrics"
    if ranking.overall.refusal:
        yield Note("not_tested", f"no tests, no sets of ranks, no resamples: {_few_subjects(ranking)}")
    elif len(ranking.boards) > 1:
        yield "one is called better than another only if it is significantly better" + ranking.basis().every
    yield from (Note(f"ranked_by_{name}", text) for name, text in CAUTIONS.items() if name in ranking.metrics)
    yield from _gap_notes(ranking, missing)
    yield from _same_notes(ranking)
    yield from _notes_without_references(ranking)
    yield from _agreement_notes(ranking)


def _few_subjects(ranking: Ranking) -> str:
    """``it takes 10 subjects, and there are 4``."""
    overall = ranking.overall
    count = overall.subjects if overall.subjects < MIN_SUBJECTS else overall.fewest
    under = "" if count == overall.subjects else " under one of the reference standards"
    return f"it takes {MIN_SUBJECTS} subjects, and {there_are(count)}{under}"


def _gap_notes(ranking: Ranking, missing: Missing) -> Iterator[str]:
    yield from dict.fromkeys(note for b in ranking.boards for note in b.notes)
    fills = {metric: _fill(ranking, metric) for metric in ranking.metrics}
    if any(fills.values()):
        text = ", ".join(f"{metric} {fill}" for metric, fill in fills.items() if fill)
        gaps = sum(int((b.missing + b.undefined).sum()) for b in ranking.boards)
        yield f"{counted(gaps, 'score')} missing or undefined, counted as {text}"
    empty = sum(int(b.both_empty.sum()) for b in ranking.boards)
    if empty and missing != "exclude":
        yield f"{counted(empty, 'score')} undefined as both marked nothing (or all), counted as the best"
    unread = {b.truth: b.unread for b in ranking.boards if b.unread}
    yield from (f"{truth} has no mask of {few(cases, 3)}, and does not count there" for truth, cases in unread.items())
    out = {b.title: b.left_out for b in ranking.boards if b.left_out}
    if out:
        why = "not scored for every algorithm" if missing == "exclude" else "undefined for every algorithm"
        shown = ", ".join(f"{count} ({title})" for title, count in list(out.items())[:3])
        yield f"cases left out as {why}: {shown}{', …' if len(out) > 3 else ''}"


def _same_notes(ranking: Ranking) -> Iterator[str]:
    """Reference standards that count twice."""
    if ranking.same:
        groups = "; ".join(join_names(group) for group in ranking.same)
        basis = ranking.basis()
        counts = f"{len(basis.references)} reference standards, of which {basis.distinct_words}"
        yield Note("same_references", f"the same scores in every case: {groups}; so these are {counts}")


def _fill(ranking: Ranking, metric: str) -> str:
    """What a gap of a metric counted; empty where there was none."""
    boards = [b for b in ranking.boards if b.metric == metric]
    value = next((f"{b.fill:g}" for b in boards if not np.isnan(b.fill)), "")
    if not any(b.by_diagonal for b in boards):
        return value
    return "the diagonal of the image" + (f" (where unknown, {value})" if value else "")


def _notes_without_references(ranking: Ranking) -> Iterator[str]:
    """What changes when one reference standard is left out."""
    changed = [without for without in ranking.without_truth if without.changed]
    if changed:
        heads = [without for without in changed if without.first_changed]
        names = join_names([without.truth for without in changed])
        which = f"without {names}" if len(changed) == 1 else f"where any one of {names} is left out"
        yield f"the overall ranking changes {which}{'' if heads else ', but not who is first'}"
        for without in heads[:3]:
            yield f"without {without.truth}: {ranking_text(ranking.algorithms, without.ranks)}"
    elif ranking.without_truth:
        yield "leaving out any one reference standard does not change the overall ranking"


def _agreement_notes(ranking: Ranking) -> Iterator[str]:
    """Agreement of rankings, the least of each kind: of those shown, by the chosen scheme and all metrics together."""
    truth, metric = (names[0] if len(names) == 1 else "" for names in (ranking.references, ranking.metrics))
    shown = {"schemes": ("", "", ""), "truths": (ranking.scheme, "", metric), "metrics": (ranking.scheme, truth, "")}
    for between, words in {"schemes": "schemes", "truths": "reference standards", "metrics": "metrics"}.items():
        alike = [t for t in ranking.taus if (t.between, (t.scheme, t.truth, t.metric)) == (between, shown[between])]
        taus = [t for t in alike if not reason(t.value)]
        if taus:
            least = min(taus, key=lambda t: t.value)
            mean = float(np.mean([t.value for t in taus]))
            text = f"Kendall's tau between {words}: mean {mean:.2f}, least {least.value:.2f}"
            yield Note("kendall_tau", f"{text} ({least.first} and {least.second})")
    tau, _ = ranking.overall.tau
    if not reason(tau) and not ranking.overall.refusal:
        yield Note("kendall_tau", f"Kendall's tau of the resamples with the overall ranking: mean {tau:.2f}")


# -- the terminal ------------------------------------------------------------------------------------

MOST_COLUMNS = 6
MOST_RANKINGS = 8
MOST_GROUPS = 4


def print_ranking(result: RankResult, console: Console) -> None:
    """The order with sets of ranks, ranks under each reference standard, distinct rankings, the verdict and notes."""
    ranking = result.ranking
    console.print(f"[bold]{result.describe()}[/bold]\n")
    for shown in (_order_grid(result), _reference_grid(ranking), _distinct_grid(ranking)):
        if shown is not None:
            console.print(shown)
    console.print(result.verdict.sentence, style="bold", markup=False, highlight=False)
    groups = [str(group) for group in ranking.groups()]
    more = [f"{len(groups) - MOST_GROUPS} more such groups are bars in charts/ranks-overall"]
    for line in (*groups[:MOST_GROUPS], *(more if len(groups) > MOST_GROUPS else ()), *result.notes):
        console.print(f"• {line}", markup=False, highlight=False)


def _order_grid(result: RankResult) -> Any:
    ranking, overall = result.ranking, result.ranking.overall
    (low, high), (start, end) = ranking.rank_sets(), overall.resampled_range
    columns = _score_columns(ranking)
    rows = []
    for i in best_first(overall.ranks, ranking.algorithms):
        place = [str(overall.places[i])]
        if not overall.refusal:
            drawn = f"{start[i]:.0f}–{end[i]:.0f}"
            place = [f"{place[0]} ({low[i]:.0f}–{high[i]:.0f})", drawn, format_share(overall.first_share[i])]
        gaps = sum(int(b.missing[i] + b.undefined[i]) for b in ranking.boards)
        rows.append([ranking.algorithms[i], *place, *(cells[i] for cells in columns.values()), str(gaps)])
    drawn_columns = [] if overall.refusal else ["in resamples", "first in"]
    sets = "" if overall.refusal else f", with simultaneous {1 - ranking.alpha:.0%} sets of ranks"
    return grid(f"By {ranking.basis()}{sets}", ["", "rank", *drawn_columns, *columns, "gaps"], rows)


def _score_columns(ranking: Ranking) -> dict[str, list[str]]:
    """Means with intervals where there is one board, else the mean rank and each metric's means over references."""
    if len(ranking.boards) == 1:
        means, name = ranking.means[0], f"{ranking.aggregate} {ranking.metrics[0]}"
        known = zip(means.value, means.low, means.high, strict=True)
        return {name: [number(v) + ("" if np.isnan(a) else f" ({number(a)}–{number(b)})") for v, a, b in known]}
    columns = {"mean rank": [number(value, 2) for value in ranking.overall.score]}
    for metric in ranking.metrics[:MOST_COLUMNS]:
        values = [m.value for m, b in zip(ranking.means, ranking.boards, strict=True) if b.metric == metric]
        columns[metric] = [number(value) for value in np.mean(values, axis=0)]
    return columns


def _reference_grid(ranking: Ranking) -> Any:
    if not 1 < len(ranking.references) <= MOST_COLUMNS + 2:
        return None
    places = {truth: ranking.find(truth).places for truth in ranking.references}
    order = best_first(ranking.overall.ranks, ranking.algorithms)
    rows = [[ranking.algorithms[i], *(str(ranks[i]) for ranks in places.values())] for i in order]
    return grid("Rank under each reference standard", ["", *places], rows)


def _distinct_grid(ranking: Ranking) -> Any:
    rankings = ranking.distinct()
    if len(ranking.references) < 2 or len(ranking.algorithms) > MOST_COLUMNS:
        return None
    rows = [
        [entry.ranking, str(len(entry.references)), ", ".join(entry.references)] for entry in rankings[:MOST_RANKINGS]
    ]
    count, basis = counted(len(rankings), "distinct ranking"), ranking.basis()
    distinct = f" ({basis.distinct} distinct)" if basis.same else ""
    references = counted(len(basis.references), "reference standard")
    return grid(f"{count} under {references}{distinct}", ["", "references", ""], rows)
