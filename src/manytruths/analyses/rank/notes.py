"""What there is to know about a ranking, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...core.notes import Note
from ...core.undefined import reason
from ...evaluation.ranking.gaps import Missing
from ...evaluation.ranking.rank import Ranking
from ...evaluation.ranking.words import listed, ranking_text
from ..printing import counted


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
    names = listed([one.truth for one in changed])
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
