"""The verb ``rank``: a ranking of algorithms, how far it can be trusted, and a leaderboard.

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

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...evaluation.ranking.gaps import Missing
from ...evaluation.ranking.rank import Ranking
from ...io import write_json
from ...io.results import write_summary
from ..files import SCHEMA, summary_of, write_charts
from ..resampled import mark_all
from ..rows import Table, write_all
from .notes import notes
from .tables import pairs_table, rankings_table, tau_table


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
