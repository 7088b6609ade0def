"""What there is to know about a ranking, in sentences.

The verb ``rank``: a ranking of algorithms, how far it can be trusted, and a leaderboard.

``leaderboard.json`` is small and made to be shown by other programs; it has no date, so that the same scores give the
same file. Its fields:

``schema_version``, ``title``
    1, and what the organiser calls it.
``scheme``, ``aggregate``, ``missing``, ``level``, ``alpha``
    How it was ranked.
``subjects``, ``cases``, ``truths``, ``metrics``
    Of what; metrics have a name and which is ``better``, higher or lower.
``winner``, ``verdict``
    A name or null, and a sentence.
``algorithms``
    Best first, each with ``name``, ``rank``, ``low`` and ``high`` (an interval of the rank; null where it is refused),
    ``first_share`` (of the resamples; a shared first place counts in equal parts), ``missing``, ``undefined`` and
    ``both_empty`` (how many scores), and ``scores`` (metric, truth, value, low, high, rank).
``groups``, ``distinct_rankings``, ``notes``
    Names that cannot be told apart; rankings with the truths that give each; sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...core.notes import Note
from ...core.undefined import reason
from ...evaluation.ranking.missing_scores import Missing
from ...evaluation.ranking.ranking import Ranking, join_names, ranking_text
from ...io import write_json
from ...io.results import write_summary
from ..files import SCHEMA, summary_of, write_charts
from ..printing import counted
from ..resampled import mark_all
from ..rows import Table, write_all
from .tables import pairs_table, rankings_table, tau_table


def notes(ranking: Ranking, missing: Missing) -> Iterator[str]:
    """How it was put together, what gaps counted, and what the order depends on."""
    yield from ranking.notes
    if len(ranking.boards) > 1:
        yield (
            "overall: the mean of ranks over the truths of each metric, then over metrics; two are told apart only if "
            "one is significantly better under every metric and truth"
        )
    yield from _gaps(ranking, missing)
    if ranking.overall.refusal:
        yield f"no intervals of ranks: {ranking.overall.refusal.reason}"
    yield from _without_truth(ranking)
    yield from _schemes(ranking)


def _gaps(ranking: Ranking, missing: Missing) -> Iterator[str]:
    yield from dict.fromkeys(note for b in ranking.boards for note in b.notes)
    fills = {metric: _fill(ranking, metric) for metric in ranking.metrics}
    if any(fills.values()):
        told = ", ".join(f"{metric} {fill}" for metric, fill in fills.items() if fill)
        gaps = sum(int((b.missing + b.undefined).sum()) for b in ranking.boards)
        yield f"{counted(gaps, 'score')} missing or undefined, counted as {told}"
    empty = sum(int(b.both_empty.sum()) for b in ranking.boards)
    if empty and missing != "exclude":
        yield f"{counted(empty, 'score')} undefined as both marked nothing (or all), counted as the best"
    out = {b.title: b.left_out for b in ranking.boards if b.left_out}
    if out:
        why = "not scored for every algorithm" if missing == "exclude" else "undefined for every algorithm"
        shown = ", ".join(f"{count} ({title})" for title, count in list(out.items())[:3])
        yield f"cases left out as {why}: {shown}{', …' if len(out) > 3 else ''}"


def _fill(ranking: Ranking, metric: str) -> str:
    """What a gap of a metric counted; empty where there was none."""
    own = [b for b in ranking.boards if b.metric == metric]
    number = next((f"{b.fill:g}" for b in own if not np.isnan(b.fill)), "")
    if not any(b.by_diagonal for b in own):
        return number
    return "the diagonal of the image" + (f" (where unknown, {number})" if number else "")


def _without_truth(ranking: Ranking) -> Iterator[str]:
    changed = [one for one in ranking.without_truth if one.changed]
    if not ranking.without_truth:
        return
    if not changed:
        yield "leaving out any one truth does not change the overall ranking"
        return
    heads = [one for one in changed if one.first_changed]
    names = join_names([one.truth for one in changed])
    yield f"the overall ranking changes without {names}{'' if heads else ', but not who is first'}"
    for one in heads[:3]:
        yield f"without {one.truth}: {ranking_text(ranking.algorithms, one.ranks)}"


def _schemes(ranking: Ranking) -> Iterator[str]:
    """Agreement of rankings, the least of each kind."""
    for between in ("schemes", "truths", "metrics"):
        found = [t for t in ranking.taus if t.between == between and not reason(t.value)]
        if found:
            least = min(found, key=lambda t: t.value)
            mean = float(np.mean([t.value for t in found]))
            told = f"Kendall's tau between {between}: mean {mean:.2f}, least {least.value:.2f}"
            yield Note("kendall_tau", f"{told} ({least.first} and {least.second})")
    tau, _ = ranking.overall.tau
    if not reason(tau) and not ranking.overall.refusal:
        yield Note("kendall_tau", f"Kendall's tau of the resamples with the overall ranking: mean {tau:.2f}")


@dataclass(frozen=True)
class RankSettings:
    """What was asked for, as it is written down."""

    title: str = "Ranking"
    missing: Missing = "worst"
    resamples: int = 1000
    seed: int = 0
    level: float = 0.95


@dataclass(frozen=True, eq=False)
class Ranked:
    """What ``rank`` found: the ranking, its tables, and what there is to know."""

    ranking: Ranking
    settings: RankSettings
    tables: list[Table]
    notes: tuple[str, ...]


def ranked(ranking: Ranking, settings: RankSettings | None = None, *, resampled: bool = False) -> Ranked:
    """Tables and notes of a ranking; ``resampled``: masks were, for some of the scores."""
    tables = [rankings_table(ranking), pairs_table(ranking), tau_table(ranking)]
    if resampled:
        mark_all(tables)
    settings = settings or RankSettings()
    return Ranked(ranking, settings, tables, tuple(notes(ranking, settings.missing)))


def write(found: Ranked, folder: Path, *, pictures: bool = True) -> list[Path]:
    """Tables, leaderboard, summary and charts into a folder; what only an earlier run wrote there goes."""
    write_json(folder / "leaderboard.json", leaderboard(found))
    drawn = []
    if pictures:
        from .charts import charts

        drawn = write_charts(charts(found.ranking), folder / "charts")
    paths = [*write_all(found.tables, folder), folder / "leaderboard.json", *drawn]
    return [*paths, write_summary(folder, summary(found), paths)]


def summary(found: Ranked) -> dict[str, Any]:
    """The tables' numbers, with versions and settings."""
    ranking = found.ranking
    return summary_of(
        "rank",
        found.tables,
        settings=found.settings,
        **_how(ranking),
        winner=ranking.verdict.winner,
        verdict=ranking.verdict.sentence,
        order=ranking.order,
        groups=[group.algorithms for group in ranking.groups()],
        distinct_rankings={metric or "all": ranking.distinct(metric) for metric in _kinds(ranking)},
        without_truth=[
            {"truth": one.truth, "changed": one.changed, "first_changed": one.first_changed}
            for one in ranking.without_truth
        ],
        notes=found.notes,
    )


def _kinds(ranking: Ranking) -> tuple[str, ...]:
    return ("", *ranking.metrics) if len(ranking.metrics) > 1 else ("",)


def _how(ranking: Ranking) -> dict[str, Any]:
    ways = {b.metric: "higher" if b.higher else "lower" for b in ranking.boards}
    return {
        "scheme": ranking.scheme,
        "aggregate": ranking.aggregate,
        "alpha": ranking.alpha,
        "subjects": ranking.subjects,
        "cases": ranking.cases,
        "truths": ranking.truths,
        "metrics": [{"name": name, "better": way} for name, way in ways.items()],
    }


def leaderboard(found: Ranked) -> dict[str, Any]:
    """What a challenge can show; see above for its fields."""
    ranking = found.ranking
    return {
        "schema_version": SCHEMA,
        "title": found.settings.title,
        **_how(ranking),
        "missing": found.settings.missing,
        "level": found.settings.level,
        "winner": ranking.verdict.winner,
        "verdict": ranking.verdict.sentence,
        "algorithms": [_entry(ranking, ranking.algorithms.index(name)) for name in ranking.order],
        "groups": [group.algorithms for group in ranking.groups()],
        "distinct_rankings": ranking.distinct(),
        "notes": found.notes,
    }


def _entry(ranking: Ranking, i: int) -> dict[str, Any]:
    overall = ranking.overall
    low, high = overall.interval
    gaps = {
        kind: int(sum(getattr(b, kind)[i] for b in ranking.boards)) for kind in ("missing", "undefined", "both_empty")
    }
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
        "first_share": overall.first_share[i],
        **gaps,
        "scores": scores,
    }
