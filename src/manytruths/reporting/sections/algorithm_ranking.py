"""The ranking of the algorithms, and whether it depends on the reference standard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from ...analyses.evaluate.printing import NAMES
from ...analyses.evaluate.rankings import Orders
from ...analyses.printing import counted
from ...analyses.rank.charts import charts
from ...analyses.rank.rank import RankResult
from ...analyses.rows import Row
from ...evaluation.ranking.ranking import format_p
from ..elements import (
    Beside,
    Block,
    Cell,
    Chart,
    Column,
    PageTable,
    Paragraphs,
    Sentence,
    number_cell,
    text_cell,
    text_column,
)
from ..findings import Findings
from .algorithm_scores import algorithm_cell, judged_label
from .vocabulary import join_names, join_parts, plain_note, standard_name

RANKINGS, PAIRS = "rank/rankings.csv", "rank/pairs.csv"

COMPARED = ("dice", "hausdorff_95", "surface_dice", "pbar_area")
"""Metrics whose orders are listed."""
Pairs = dict[tuple[object, ...], Row]
"""Rows by statistic, first and second algorithm."""
MAIN = ("dice", "pbar_area")
FEW = 4
"""With so few algorithms, the table of p values replaces the chart of significance."""
MANY = 10
"""With more algorithms, square tables are collapsed."""
SHORT = 6
"""Longest order that is spelled out."""
NAMED = 3
"""Largest number of rivals of the first that are named."""


def listed_orders(findings: Findings) -> Iterator[tuple[str, str, Orders]]:
    """Label, metric and rankings, for the metrics that are listed."""
    for (label, metric), own in findings.evaluation.orders.items() if findings.evaluation else ():
        if metric in COMPARED and own.rankings:
            yield label, metric, own


def order_sentences(findings: Findings) -> Iterator[Sentence]:
    """Whether the order depends on the reference standard, by the main metric of all labels together."""
    for metric, own in _main_orders(findings):
        yield (_order_sentence(own, NAMES[metric]),)


def _main_orders(findings: Findings) -> Iterator[tuple[str, Orders]]:
    """Metric and rankings by the main metric of all labels together."""
    yield from (
        (metric, own)
        for label, metric, own in listed_orders(findings)
        if metric in MAIN and label == judged_label(findings)
    )


def _order_sentence(own: Orders, metric: str) -> str:
    count = sum(len(r.truths) for r in own.rankings)
    best = own.rankings[0]
    if len(own.rankings) == 1:
        which = "under the one reference standard" if count == 1 else f"the same under all {count} reference standards"
        text = str(best) if len(best.order) <= SHORT else f"{join_names(best.places[0])} first, {best.order[-1]} last"
        return f"By {metric}, the order is {which}: {text}."
    firsts: dict[str, int] = {}
    for ranking in own.rankings:
        leaders = join_names(ranking.places[0])
        firsts[leaders] = firsts.get(leaders, 0) + len(ranking.truths)
    text = join_names([f"{name} under {n}" for name, n in sorted(firsts.items(), key=lambda pair: -pair[1])])
    who = f"; first is {text}" if len(firsts) > 1 else f", but {next(iter(firsts))} is first under all of them"
    return (
        f"By {metric}, the order depends on the choice: {count} reference standards give {len(own.rankings)} different "
        f"orders{who}."
    )


def winner_sentence(findings: Findings, ranked: RankResult) -> Iterator[str | Cell]:
    """Whether there is a winner, with the evidence."""
    ranking = ranked.ranking
    evidence = ranking.evidence()
    first, *others = evidence.order
    rivals = [i for i in others if evidence.p[first, i] >= evidence.alpha]
    better = [i for i in rivals if evidence.p[i, first] < evidence.alpha]
    tied = any(evidence.ranks[i] == evidence.ranks[first] for i in others)
    if tied or better or not rivals:
        yield plain_note(findings, ranking.verdict.sentence)
        return
    name = ranking.algorithms[first]
    every = " under every reference standard" if len(ranking.boards) > 1 else ""
    yield f"No winner can be declared: {name} comes first, but is not significantly better{every} than "
    pairs, parts = _pair_rows(ranked), []
    for i in rivals[:NAMED]:
        where = plain_note(findings, str(evidence.where[first, i]))
        parts.append((*_rival_parts(ranked, pairs, name, ranking.algorithms[i], where),))
    more: list[Sentence] = [(f"{len(rivals) - NAMED} more",)] if len(rivals) > NAMED else []
    yield from join_parts([*parts, *more])
    yield "."


def _rival_parts(ranked: RankResult, pairs: Pairs, first: str, rival: str, where: str) -> Iterator[str | Cell]:
    """``vnet (ahead in 91% of resamples; largest adjusted p = 0.20, by Dice against C)``."""
    yield f"{rival} ("
    if not ranked.ranking.overall.refusal:
        yield "ahead in "
        yield _ahead_cell(pairs, first, rival)
        yield " of resamples; "
    yield "largest adjusted p " if where else "adjusted p "
    yield _p_cell(pairs, first, rival, sign=True)
    yield f", by {where})" if where else ")"


def _pair_rows(ranked: RankResult) -> Pairs:
    """Rows over all metrics and standards; where there is one of each, its rows."""
    scheme = {"p_holm": "test", "ahead_share": ranked.ranking.scheme}
    rows = [r for r in ranked.tables["pairs"].rows if scheme.get(r.statistic) == r["scheme"]]
    alone = [r for r in rows if r.scope == "ranking"] if len(ranked.ranking.boards) == 1 else []
    overall = [r for r in rows if r.scope == "overall" and not r["against"] and not r["metric"]]
    return {(r.statistic, r["algorithm_a"], r["algorithm_b"]): r for r in (*alone, *overall)}


def _ahead_cell(pairs: Pairs, first: str, second: str) -> Cell:
    return number_cell(PAIRS, pairs["ahead_share", first, second], 0, percent=True)


def _p_cell(pairs: Pairs, first: str, second: str, *, sign: bool = False) -> Cell:
    row = pairs["p_holm", first, second]
    text = format_p(float(row.value))
    return replace(number_cell(PAIRS, row, 3), shown=text if sign else text.removeprefix("= "))


def rank_blocks(findings: Findings) -> Iterator[Block]:
    """Orders under every reference standard, ranks, pairwise tests and stability."""
    yield from _orders_table(findings)
    yield from _separation_block(findings)
    if findings.ranking is None:
        return
    svgs = charts(findings.ranking.ranking)
    yield _rank_table(findings, findings.ranking)
    shown = {
        "stability": f"How often each algorithm has each rank when {findings.subject_word}s are drawn again at "
        "random: the "
        "larger the disc, the more often.",
        "truths": "Rank under each reference standard: bright is first.",
        "significance-overall": "Who is significantly better than whom under every reference standard (blue).",
    }
    if findings.ranking.ranking.overall.refusal:
        del shown["stability"]
    if len(findings.ranking.ranking.algorithms) <= FEW:
        del shown["significance-overall"]
    yield Beside(tuple(Chart(f"rank-{name}", svgs[name], caption) for name, caption in shown.items() if name in svgs))
    yield Beside(tuple(_square_tables(findings, findings.ranking)))


def _orders_table(findings: Findings) -> Iterator[Block]:
    orders = list(listed_orders(findings))
    several = len({label for label, _, _ in orders}) > 1
    lines = tuple(
        (
            *([text_cell(label or "all")] if several else []),
            text_cell(NAMES[metric][0].upper() + NAMES[metric][1:]),
            text_cell(str(ranking)),
            text_cell(len(ranking.truths)),
            text_cell(", ".join(standard_name(findings, truth) for truth in ranking.truths)),
        )
        for label, metric, own in orders
        for ranking in own.rankings
    )
    if not lines:
        return
    columns = (
        *([text_column("Label", "What was marked")] if several else []),
        text_column("Measure", "By what they are ordered"),
        text_column("Order", "Best first; = where equal"),
        Column("Standards", "How many reference standards give this order"),
        text_column("Which", "The reference standards that give it"),
    )
    note = (
        f"By means over {findings.subject_word}s in which finding nothing where nothing is marked counts as the "
        "best, and no "
        "prediction as the worst; so they can differ a little from the means above."
    )
    hard = findings.evaluation is not None and findings.evaluation.mask_scores is not None
    yield PageTable("algorithm-orders", "Order under every reference standard", columns, lines, note if hard else "")


def _separation_block(findings: Findings) -> Iterator[Block]:
    """For each pair, whether one algorithm is ahead under every reference standard."""
    sentences = tuple((line,) for _, own in _main_orders(findings) for line in _pair_sentences(own))
    if sentences:
        title = "Who is ahead whatever the reference standard, ignoring statistical uncertainty?"
        yield Paragraphs(sentences, title, listed=True)


def _pair_sentences(own: Orders) -> Iterator[str]:
    for first, second in combinations(own.rankings[0].order[:SHORT], 2):
        pair = own.separate(first, second)
        standards = f"all {pair.of} standards" if pair.of > 1 else "the one standard"
        if pair.whatever and pair.of > 1:
            yield f"{first} is ahead of {second} under {standards}, even if each is judged by another one."
        elif pair.under_each:
            yield f"{first} is ahead of {second} under {standards}."
        elif not pair.ahead and not pair.behind:
            yield f"{first} and {second} are equal under {standards}."
        else:
            ahead = f"{len(pair.ahead)} of {counted(pair.of, 'standard')}"
            yield f"{first} or {second}: it depends; {first} is ahead under {ahead}."


def _rank_table(findings: Findings, ranked: RankResult) -> PageTable:
    """Ranks and mean ranks; shares of resamples only where there are enough subjects to resample."""
    ranking, rows = ranked.ranking, ranked.tables["rankings"].rows
    own = [
        r for r in rows if r.scope == "overall" and (r["scheme"], r["against"], r["metric"]) == (ranking.scheme, "", "")
    ]
    by = {(str(r["algorithm"]), r.statistic): r for r in own}
    drawn = not ranking.overall.refusal
    lines = tuple(
        (
            algorithm_cell(findings, name),
            number_cell(RANKINGS, by[name, "rank"], 0),
            *((number_cell(RANKINGS, by[name, "first_share"], 0, percent=True),) if drawn else ()),
            number_cell(RANKINGS, by[name, "mean_rank"]),
        )
        for name in ranking.order
    )
    sure = f", with its {ranking.level:.0%} CI over resamples of the {findings.subject_word}s" if drawn else ""
    columns = (
        text_column("Algorithm", "Best first"),
        Column("Rank", f"Over all reference standards{sure}"),
        *((Column("First in", "Share of the resamples in which it is first"),) if drawn else ()),
        Column("Mean rank", "Its ranks under the reference standards, averaged: the order goes by this"),
    )
    metrics = join_names([NAMES.get(metric, metric) for metric in ranking.metrics])
    title = f"Ranking by {metrics}, over {counted(len(ranking.truths), 'reference standard')}"
    return PageTable("algorithm-ranks", title, columns, lines)


def _square_tables(findings: Findings, ranked: RankResult) -> Iterator[PageTable]:
    """How often the algorithm of the row is ahead of that of the column, and whether significantly."""
    names, closed, pairs = ranked.ranking.order, len(ranked.ranking.algorithms) > MANY, _pair_rows(ranked)
    kinds = (
        ("algorithm-ahead", "How often is the row ahead of the column? (share of resamples)", _ahead_cell,
         "Share of resamples in which the algorithm of the line is ahead of {} (probability of superiority)"),
        ("algorithm-p", "Is the row better? (largest adjusted p over all reference standards)", _p_cell,
         "One-sided p of being no better than {}, adjusted for many tests; the largest over all reference standards "
         "counts (intersection–union test): strict. Not significant does not mean equal"),
    )  # fmt: skip
    for name, title, cell, help in kinds[1:] if ranked.ranking.overall.refusal else kinds:
        lines = tuple(
            (algorithm_cell(findings, a), *(text_cell("") if a == b else cell(pairs, a, b) for b in names))
            for a in names
        )
        columns = (text_column("", "Who is ahead"), *(Column(b, help.format(b)) for b in names))
        yield PageTable(name, title, columns, lines, closed=closed)
