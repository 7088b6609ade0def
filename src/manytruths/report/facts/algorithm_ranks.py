"""Who is best, and whether that hangs on the choice of the reference standard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from ...analyses.evaluate.printing import NAMES
from ...analyses.evaluate.ranks import Orders
from ...analyses.evaluate.verb import Evaluation
from ...analyses.printing import counted
from ...analyses.rank.charts import charts
from ...analyses.rank.verb import Ranked
from ...analyses.rows import Row
from ...evaluation.ranking.words import p_text
from ..findings import Findings
from ..parts import Beside, Block, Cell, Chart, Column, PageTable, Paragraphs, Sentence, quoted, words
from .algorithm_tables import algorithm_cell
from .wording import joined, listed, unit

RANKINGS, PAIRS = "rank/rankings.csv", "rank/pairs.csv"

COMPARED = ("dice", "hausdorff_95", "surface_dice", "pbar_area")
"""Metrics whose orders are listed; all are in ``evaluate/orders.csv``."""
Pairs = dict[tuple[object, ...], Row]
"""By statistic, first and second algorithm."""
MAIN = ("dice", "pbar_area")
MANY = 10
"""Algorithms from which on a square table is shown only when asked for."""
SHORT = 6
"""Algorithms that are told one after the other."""
NAMED = 3
"""Rivals of the first that are named."""


def orders(found: Findings) -> Iterator[tuple[str, str, Orders]]:
    """Label, metric and rankings, for the metrics that are listed."""
    for (label, metric), own in found.evaluation.orders.items() if found.evaluation else ():
        if metric in COMPARED and own.rankings:
            yield label, metric, own


def dependence(found: Findings) -> Iterator[Sentence]:
    """Whether the order hangs on the reference standard, by the main metric of all labels together."""
    labels = _labels(found.evaluation)
    for label, metric, own in orders(found):
        if metric in MAIN and label == labels[0]:
            yield (_dependence(own, NAMES[metric]),)


def _labels(found: Evaluation | None) -> list[str]:
    return [part.label for part in found.hard.parts] if found and found.hard else [""]


def _dependence(own: Orders, metric: str) -> str:
    count = sum(len(r.truths) for r in own.rankings)
    best = own.rankings[0]
    if len(own.rankings) == 1:
        which = "under the one reference standard" if count == 1 else f"the same under all {count} reference standards"
        told = str(best) if len(best.order) <= SHORT else f"{listed(best.places[0])} first, {best.order[-1]} last"
        return f"By {metric}, the order is {which}: {told}."
    firsts: dict[str, int] = {}
    for ranking in own.rankings:
        leaders = listed(ranking.places[0])
        firsts[leaders] = firsts.get(leaders, 0) + len(ranking.truths)
    told = listed([f"{name} under {n}" for name, n in sorted(firsts.items(), key=lambda one: -one[1])])
    who = f"; first is {told}" if len(firsts) > 1 else f", but {next(iter(firsts))} is first under all of them"
    return (
        f"By {metric}, the order depends on the choice: {count} reference standards give {len(own.rankings)} different "
        f"orders{who}."
    )


def verdict(found: Ranked) -> Iterator[str | Cell]:
    """Whether there is a winner, with what it rests on."""
    ranking = found.ranking
    evidence = ranking.evidence()
    first, *others = evidence.order
    rivals = [i for i in others if evidence.p[first, i] >= evidence.alpha]
    better = [i for i in rivals if evidence.p[i, first] < evidence.alpha]
    tied = any(evidence.ranks[i] == evidence.ranks[first] for i in others)
    if tied or better or not rivals:
        yield ranking.verdict.sentence
        return
    name = ranking.algorithms[first]
    yield f"No winner can be declared: {name} comes first, but cannot be told apart from "
    pairs, told = _pair_rows(found), []
    for i in rivals[:NAMED]:
        told.append((*_rival(found, pairs, name, ranking.algorithms[i], str(evidence.where[first, i])),))
    more: list[Sentence] = [(f"{len(rivals) - NAMED} more",)] if len(rivals) > NAMED else []
    yield from joined([*told, *more])
    yield "."


def _rival(found: Ranked, pairs: Pairs, first: str, rival: str, where: str) -> Iterator[str | Cell]:
    """``vnet (unet is ahead in 91% of resamples, but not beyond chance by Dice against C, p = 0.20)``."""
    yield f"{rival} ("
    if not found.ranking.overall.refusal:
        yield f"{first} is ahead in "
        yield _ahead(pairs, first, rival)
        yield " of resamples, but "
    metric, _, against = where.partition(" ")
    yield f"not beyond chance by {NAMES.get(metric, metric)} {against}, p " if where else "not beyond chance, p "
    yield _p(pairs, first, rival, sign=True)
    yield ")"


def _pair_rows(found: Ranked) -> Pairs:
    """Over all metrics and standards; where there is one of each, that one."""
    scheme = {"p_holm": "test", "ahead_share": found.ranking.scheme}
    rows = [r for r in found.tables[1].rows if scheme.get(r.statistic) == r.extra[0]]
    alone = [r for r in rows if r.scope == "ranking"] if len(found.ranking.boards) == 1 else []
    overall = [r for r in rows if r.scope == "overall" and r.extra[1:3] == ("", "")]
    return {(r.statistic, *r.extra[3:]): r for r in (*alone, *overall)}


def _ahead(pairs: Pairs, first: str, second: str) -> Cell:
    return quoted(PAIRS, pairs["ahead_share", first, second], 0, percent=True)


def _p(pairs: Pairs, first: str, second: str, *, sign: bool = False) -> Cell:
    row = pairs["p_holm", first, second]
    text = p_text(float(row.value))
    return replace(quoted(PAIRS, row, 3), shown=text if sign else text.removeprefix("= "))


def rank_blocks(found: Findings) -> Iterator[Block]:
    """Orders under every standard; ranks, who beats whom, and how stable it is."""
    yield from _orders_table(found)
    yield from _separated(found)
    if found.ranking is None:
        return
    drawn = charts(found.ranking.ranking)
    yield _ranks(found, found.ranking)
    shown = {
        "stability": f"How often each algorithm has each rank when {unit(found)}s are drawn again at random: the "
        "larger the disc, the more often.",
        "truths": "Rank under each reference standard: bright is first.",
        "significance-overall": "Who is better than whom beyond chance, under every reference standard at once (blue).",
    }
    if found.ranking.ranking.overall.refusal:
        del shown["stability"]
    yield Beside(tuple(Chart(f"rank-{name}", drawn[name], told) for name, told in shown.items() if name in drawn))
    yield Beside(tuple(_squares(found, found.ranking)))


def _orders_table(found: Findings) -> Iterator[Block]:
    listed_orders = list(orders(found))
    several = len({label for label, _, _ in listed_orders}) > 1
    lines = tuple(
        (
            *([words(label or "all")] if several else []),
            words(NAMES[metric][0].upper() + NAMES[metric][1:]),
            words(str(ranking)),
            words(len(ranking.truths)),
            words(", ".join(ranking.truths)),
        )
        for label, metric, own in listed_orders
        for ranking in own.rankings
    )
    if not lines:
        return
    columns = (
        *([Column("Label", "What was marked", number=False)] if several else []),
        Column("Measure", "By what they are ordered", number=False),
        Column("Order", "Best first; = where equal", number=False),
        Column("Standards", "How many reference standards give this order"),
        Column("Which", "The reference standards that give it", number=False),
    )
    note = (
        f"By means over {unit(found)}s in which finding nothing where nothing is marked counts as the best, and no "
        "prediction as the worst; so they can differ a little from the means above."
    )
    hard = found.evaluation is not None and found.evaluation.hard is not None
    yield PageTable("algorithm-orders", "Order under every reference standard", columns, lines, note if hard else "")


def _separated(found: Findings) -> Iterator[Block]:
    """Of neighbours, whether one is ahead whatever is taken as the standard."""
    label = _labels(found.evaluation)[0]
    told = tuple((line,) for own, metric, o in orders(found) if metric in MAIN and own == label for line in _pairs(o))
    if told:
        yield Paragraphs(told, "Who is ahead whatever the reference standard, chance aside?", listed=True)


def _pairs(own: Orders) -> Iterator[str]:
    for first, second in pairwise(own.rankings[0].order[:SHORT]):
        pair = own.separate(first, second)
        if pair.whatever:
            yield f"{first} is ahead of {second} whatever is taken, even if each is judged by another standard."
        elif pair.under_each:
            yield f"{first} is ahead of {second} under every standard."
        elif not pair.ahead and not pair.behind:
            yield f"{first} and {second} are equal under every standard."
        else:
            ahead = f"{len(pair.ahead)} of {counted(pair.of, 'standard')}"
            yield f"{first} or {second}: it depends; {first} is ahead under {ahead}."


def _ranks(found: Findings, ranked: Ranked) -> PageTable:
    """Ranks and what they go by; shares of resamples only where there are subjects enough to draw from."""
    ranking, rows = ranked.ranking, ranked.tables[0].rows
    own = [r for r in rows if r.scope == "overall" and r.extra[:3] == (ranking.scheme, "", "")]
    by = {(str(r.extra[4]), r.statistic): r for r in own}
    drawn = not ranking.overall.refusal
    lines = tuple(
        (
            algorithm_cell(found, name),
            quoted(RANKINGS, by[name, "rank"], 0),
            *((quoted(RANKINGS, by[name, "first_share"], 0, percent=True),) if drawn else ()),
            quoted(RANKINGS, by[name, "mean_rank"]),
        )
        for name in ranking.order
    )
    sure = f", with its {ranking.level:.0%} interval over resamples of the {unit(found)}s" if drawn else ""
    columns = (
        Column("Algorithm", "Best first", number=False),
        Column("Rank", f"Over all reference standards{sure}"),
        *((Column("First in", "Share of the resamples in which it is first"),) if drawn else ()),
        Column("Mean rank", "Its ranks under the reference standards, averaged: the order goes by this"),
    )
    metrics = listed([NAMES.get(metric, metric) for metric in ranking.metrics])
    title = f"Ranking by {metrics}, over {counted(len(ranking.truths), 'reference standard')}"
    return PageTable("algorithm-ranks", title, columns, lines)


def _squares(found: Findings, ranked: Ranked) -> Iterator[PageTable]:
    """How often the row is ahead of the column, and how likely such a lead is by chance."""
    names, closed, pairs = ranked.ranking.order, len(ranked.ranking.algorithms) > MANY, _pair_rows(ranked)
    kinds = (
        ("algorithm-ahead", "Probability of superiority: how often is one ahead of the other?", _ahead,
         "Share of resamples in which the algorithm of the line is ahead of {}"),
        ("algorithm-p", "Could the lead be chance? (p)", _p,
         "p of no lead over {}, one-sided, adjusted for many tests; the largest over all reference standards"),
    )  # fmt: skip
    for name, title, cell, told in kinds[1:] if ranked.ranking.overall.refusal else kinds:
        lines = tuple(
            (algorithm_cell(found, a), *(words("") if a == b else cell(pairs, a, b) for b in names)) for a in names
        )
        columns = (Column("", "Who is ahead", number=False), *(Column(b, told.format(b)) for b in names))
        yield PageTable(name, title, columns, lines, closed=closed)
