"""The section on algorithms: comparison with the raters, ranking, and how far it depends on the reference standard."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from ...analyses.evaluate.case_scores import NAMES
from ...analyses.evaluate.evaluate import Evaluation
from ...analyses.evaluate.printing import pair_sentence
from ...analyses.rank.rank import RankResult
from ...analyses.rank.tables import charts as rank_charts
from ...claims.algorithms import name_outliers
from ...claims.numbers import is_defined, number_cell
from ...claims.orders import describe_standards
from ...claims.sentences import Cell, Sentence, compose, counted, join_names, join_parts, spell_count, text_cell
from ...evaluation.interchangeability import LEAST_RATERS
from ...evaluation.ranking.by_reference import ReferenceRanking, ReferenceRankings
from ...evaluation.ranking.ranking import Evidence, format_p, format_share
from ...inference.intervals import MIN_SUBJECTS
from ...io import safe_name
from ...io.result_tables import Row
from ..building import ColumnOf, make_table, text_column
from ..elements import Beside, Block, Chart, Column, PageTable, Paragraphs, Section
from ..findings import Findings
from . import algorithm_scores as scores
from .algorithm_forecasts import CLAIMS, forecast_blocks, forecast_sentences
from .algorithm_scores import SCORES
from .standards import given_references, standard_name
from .vocabulary import note_block, plain_note

MOST_SENTENCES = 4
"""Most algorithms that get a sentence each."""
HUMAN_CHARTS = ("dice", "hausdorff_95")
VERDICTS = ("algorithms.interchangeable", "algorithms.worse_within", "algorithms.worse")
"""Claims about algorithms and raters that need a margin."""


def section(findings: Findings) -> Section | None:
    """The section on algorithms; None without predictions."""
    if findings.evaluation is None:
        return None
    blocks = (
        *_rater_blocks(findings),
        *scores.score_tables(findings),
        *scores.curve_blocks(findings),
        *forecast_blocks(findings),
        *rank_blocks(findings),
        *_notes(findings),
    )
    return Section("algorithms", "How good are the algorithms?", tuple(_lead(findings, findings.evaluation)), blocks)


def _lead(findings: Findings, evaluation: Evaluation) -> Iterator[Sentence]:
    if evaluation.mask_scores is not None:
        yield from _copy_sentences(findings, evaluation)
        yield from _dice_sentence(findings, evaluation)
        yield from (_with_colours(findings, said) for said in evaluation.claims.sentences("algorithms.failures"))
        yield from _comparison_sentences(findings, evaluation)
    if evaluation.probability_scores is not None:
        yield from scores.curve_lead(findings, evaluation.probability_scores)
    yield from (_with_colours(findings, sentence) for sentence in forecast_sentences(findings))
    if len(findings.study.algorithms) == 1:
        yield ("There is one algorithm, and so nothing to rank.",)
    if findings.ranking is not None:
        yield winner_sentence(findings, findings.ranking)
    yield from order_sentences(findings)
    yield from _training_sentences(findings, evaluation)


def _training_sentences(findings: Findings, evaluation: Evaluation) -> Iterator[Sentence]:
    """Which algorithms were trained on cases of the study."""
    sentences = evaluation.claims.sentences("algorithms.trained_here")
    yield from (_with_colours(findings, sentence) for sentence in sentences)


def _copy_sentences(findings: Findings, evaluation: Evaluation) -> Iterator[Sentence]:
    """Which algorithms have a rater's masks, unless that is said where they are not judged."""
    judged = evaluation.claims.of("algorithms.interchangeable")
    told = {c.about for c in judged if c.why_not is not None and c.why_not.code in NOT_INDEPENDENT}
    for claim in evaluation.claims.of("algorithms.copy").made:
        if claim.about not in told:
            yield _with_colours(findings, claim.sentence)


def _dice_sentence(findings: Findings, evaluation: Evaluation) -> Iterator[Sentence]:
    """Dice against the first reference standard."""
    rows, label = scores.rows_of(evaluation.table("scores").rows, "mean"), scores.judged_label(findings)
    order = [*given_references(findings.study), *scores.main_standards(findings), *scores.standards_of(findings, rows)]
    standard = next((s for s in order if s in scores.standards_of(findings, rows)), "")
    dice = {a: rows.get((label, a, standard, "dice")) for a in scores.algorithms_of(findings)}
    best = sorted(((a, row) for a, row in dice.items() if is_defined(row)), key=lambda pair: -pair[1].value)
    if not best:
        yield ("No algorithm has a Dice here: nothing was marked, or nothing was predicted.",)
        return
    counts = {row.n for _, row in best}
    parts: list[Sentence] = [
        (number_cell(SCORES, row, level="" if i else findings.interval_name), f" for {name}",
         f" (n = {row.n})" if len(counts) > 1 else "")
        for i, (name, row) in enumerate(best[:MOST_SENTENCES])
    ]  # fmt: skip
    if len(best) > MOST_SENTENCES:
        parts.append((f"less for {len(best) - MOST_SENTENCES} more",))
    mean = "mean Dice" if len(findings.study.subjects) > 1 else "Dice"
    text = "Judged by {}, the {} (overlap; 1 is the same mask){} is {}."
    over = _over_subjects(findings, [row for _, row in best])
    yield compose(text, standard_name(findings, standard), mean, over, join_parts(parts))


def _over_subjects(findings: Findings, rows: Sequence[Row]) -> str:
    """`` over 20 of 21 patients``; nothing of a single one, or where means are over different numbers of them."""
    there, counts = len(findings.study.subjects), {row.n for row in rows}
    if there == 1 or len(counts) > 1:
        return ""
    some = f"{rows[0].n} of " if rows[0].n != there else ""
    return f" over {some}{spell_count(there, findings.subject_word)}"


def _comparison_sentences(findings: Findings, evaluation: Evaluation) -> Iterator[Sentence]:
    """How far each algorithm lies from the raters, and whether it agrees with them as a rater would."""
    few = len(scores.algorithms_of(findings)) <= MOST_SENTENCES
    kinds = ("algorithms.distance", *VERDICTS) if few else VERDICTS
    yield from (_with_colours(findings, sentence) for sentence in evaluation.claims.sentences(*kinds))
    yield from _not_judged(findings, evaluation)
    raters = len(findings.study.rater_names)
    if raters < LEAST_RATERS:
        text = "Whether the algorithms agree with the raters as these do with each other is not judged with {}."
        yield (text.format(spell_count(raters, "rater")),)


NOT_INDEPENDENT = ("copies_of_rater", "copies_of_consensus")


def _not_judged(findings: Findings, evaluation: Evaluation) -> Iterator[Sentence]:
    """Algorithms that were not judged beside the raters, as their masks are the raters' own."""
    for claim in evaluation.claims.of("algorithms.interchangeable"):
        if claim.why_not is not None and claim.why_not.code in NOT_INDEPENDENT:
            text = "Whether {} agrees with a rater as another rater would is not judged: {}."
            yield compose(text, scores.algorithm_cell(findings, claim.about), plain_note(findings, claim.why_not))


def _with_colours(findings: Findings, sentence: Sentence) -> Sentence:
    """The sentence with every algorithm in its colour."""
    names = scores.algorithms_of(findings)
    return tuple(
        scores.algorithm_cell(findings, part.shown)
        if isinstance(part, Cell) and not part.at and part.shown in names
        else part
        for part in sentence
    )


def _rater_blocks(findings: Findings) -> Iterator[Block]:
    """Interchangeability, charts of differences from each rater, then means beside the raters' own."""
    evaluation = findings.evaluation
    if evaluation is None or evaluation.mask_scores is None:
        return
    yield from scores.interchangeability_tables(findings)
    if len(findings.study.rater_names) < LEAST_RATERS:
        return
    svgs = evaluation.charts
    caption = (
        "Each dot is one rater: how much more closely (right) or less closely (left) than this rater the algorithm "
        f"agrees with the other raters, case by case. Whiskers: {findings.interval_name} over "
        f"{findings.subject_word}s, of one comparison alone."
    )
    for i, part in enumerate(evaluation.mask_scores.parts):
        suffix = f"-{safe_name(part.label)}" if part.label else ""
        names = [f"human-{statistic}{suffix}" for statistic in (HUMAN_CHARTS[:1] if i else HUMAN_CHARTS)]
        yield from (Chart(f"evaluate-{name}", svgs[name], caption) for name in names if name in svgs)
    yield from scores.beside_raters_table(findings)


def _notes(findings: Findings) -> Iterator[Block]:
    results = {"Notes on the evaluation": findings.evaluation, "Notes on the ranking": findings.ranking}
    told = _told_of_standards(findings)
    for title, result in results.items():
        if result is not None:
            yield from note_block(findings, (note for note in result.notes if note not in told), title)


def _told_of_standards(findings: Findings) -> set[str]:
    """What the notes on the reference standards say, as it would be said of each method alone."""
    parts = (note.partition(": ") for note in findings.fusion.notes)
    return {f"{method}: {text}" for methods, _, text in parts for method in methods.split(", ")}


# --- the algorithms in two sentences, for the summary

MOST_NAMED = 4
"""Most algorithms that the summary names."""
NOT_JUDGED = "The algorithms cannot be evaluated: there is no reference standard to judge them by."
PBAR = "area under the precision–recall curve averaged over prevalences (P̄-R, 1 is best)"


def algorithm_summary(findings: Findings) -> Iterator[Sentence]:
    """The algorithms in two sentences, for the summary; nothing without predictions."""
    if findings.evaluation is None:
        return
    grey = findings.evaluation.mask_scores is None
    yield from _copy_sentences(findings, findings.evaluation)
    yield from _area_summary(findings) if grey else _comparison_summary(findings) or _dice_summary(findings)
    yield from (_with_colours(findings, sentence) for sentence in forecast_sentences(findings, *CLAIMS))
    yield from _order_summary(findings)
    yield from _training_sentences(findings, findings.evaluation)


def main_orders(findings: Findings) -> ReferenceRankings | None:
    """The orders by Dice, or by area for probabilities; None where no algorithm has a score."""
    assert findings.evaluation is not None
    metric = "dice" if findings.evaluation.mask_scores is not None else "pbar_area"
    orders = findings.evaluation.orders.get((scores.judged_label(findings), metric))
    return orders if orders is not None and orders.rankings else None


def _comparison_summary(findings: Findings) -> list[Sentence]:
    """How much further from the raters each algorithm lies than they from each other, and what that says."""
    assert findings.evaluation is not None
    claims = findings.evaluation.claims
    names = [claim.about for claim in claims.of("algorithms.distance").made]
    if not names:
        return []
    table = findings.table("evaluate/interchangeability")
    parts: list[Sentence] = [
        compose("{} for {}", table.cell("interchangeability", "mean", name, "", "", digits=3),
                scores.algorithm_cell(findings, name))
        for name in names[:MOST_NAMED]
    ]  # fmt: skip
    text = "The mean Dice distance of algorithms to the raters, minus that between raters, is {}{}."
    verdicts = (_with_colours(findings, sentence) for sentence in claims.sentences(*VERDICTS))
    without = _summary_without_outliers(findings, names[:MOST_NAMED])
    refused = _not_judged(findings, findings.evaluation)
    return [compose(text, join_parts(parts), _more_algorithms(len(names))), *without, *verdicts, *refused]


def _summary_without_outliers(findings: Findings, names: Sequence[str]) -> Iterator[Sentence]:
    """The same without raters who are outliers, where there are any."""
    compared = findings.evaluation.interchangeability if findings.evaluation else None
    if compared is None or not compared.outliers:
        return
    table, without = findings.table("evaluate/interchangeability"), "; ".join(compared.outliers)
    rows = {name: table.row("interchangeability", "mean", name, "", without) for name in names}
    parts: list[Sentence] = [
        compose("{} for {}", table.quote(row, 3), scores.algorithm_cell(findings, name))
        for name, row in rows.items()
        if is_defined(row)
    ]
    if parts:
        yield compose("Without {}, it is {}.", name_outliers(compared.outliers), join_parts(parts))


def _more_algorithms(rows: int) -> str:
    return f", and {spell_count(rows - MOST_NAMED, 'algorithm')} more" if rows > MOST_NAMED else ""


def _dice_summary(findings: Findings) -> Iterator[Sentence]:
    """Without a comparison with raters: Dice against the first reference standard that gives the most common order."""
    orders, standards = main_orders(findings), scores.main_standards(findings)
    usual = orders.rankings[0].references if orders else standards
    standard = next((truth for truth in standards if truth in usual), standards[0])
    table = findings.table("evaluate/scores")
    rows = [r for r in table.all("dice", "mean", label=scores.judged_label(findings)) if not r.group and is_defined(r)]
    rows = sorted((r for r in rows if r["against"] == standard), key=lambda r: -r.value)
    if not rows:
        yield (NOT_JUDGED,)
        return
    parts: list[Sentence] = [
        (scores.algorithm_cell(findings, str(r["algorithm"])), " ", table.quote(r)) for r in rows[:MOST_NAMED]
    ]
    judge, more = standard_name(findings, standard), _more_algorithms(len(rows))
    over = _over_subjects(findings, rows)
    yield compose("Against {}, the mean Dice{} is: {}{}.", judge, over, join_parts(parts), more)


def _area_summary(findings: Findings) -> Iterator[Sentence]:
    """Probabilities: the range of areas over the reference standards used, in the most common order."""
    assert findings.evaluation is not None
    assert findings.evaluation.probability_scores is not None
    ends, orders = scores.area_ranges(findings.evaluation.probability_scores), main_orders(findings)
    names = [name for name in (orders.rankings[0].order if orders else ends) if name in ends]
    if not names:
        yield (NOT_JUDGED,)
        return
    parts = []
    for i, name in enumerate(names[:MOST_NAMED]):
        areas = [number_cell(SCORES, row) for row in ends[name]]
        parts.append(
            compose("{} {} to {}" if i else "{} reaches {} to {}", scores.algorithm_cell(findings, name), *areas)
        )
    used = counted(len(findings.evaluation.probability_scores.references), "reference standard")
    text = "By the {}, depending on which of the {} used is taken, {}{}."
    yield compose(text, PBAR, used, join_parts(parts), _more_algorithms(len(names)))


def _order_summary(findings: Findings) -> Iterator[Sentence]:
    """Whether the order is the same under the reference standards used, and whether a winner can be named."""
    orders, subjects = main_orders(findings), len(findings.study.subjects)
    if orders is None or findings.evaluation is None:
        return
    yield from order_sentences(findings)
    if subjects < MIN_SUBJECTS:
        yield (f"No winner can be named from {spell_count(subjects, findings.subject_word)}.",)
    elif len(orders.without(findings.evaluation.copied_raters).rankings) > 1:
        yield ("Do not name a winner without naming the standard and the measure.",)


RANKINGS, PAIRS = "rank/rankings.csv", "rank/pairs.csv"

COMPARED = ("dice", "hausdorff_95", "surface_dice", "pbar_area", "brier", "energy_distance")
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


def listed_orders(findings: Findings) -> Iterator[tuple[str, str, ReferenceRankings]]:
    """Label, metric and rankings, for the metrics that are listed."""
    for (label, metric), orders in findings.evaluation.orders.items() if findings.evaluation else ():
        if metric in COMPARED and orders.rankings:
            yield label, metric, orders


def order_sentences(findings: Findings) -> Iterator[Sentence]:
    """Whether the order depends on the reference standard, by the main metric."""
    sentences = findings.evaluation.claims.sentences("algorithms.order") if findings.evaluation else ()
    yield from (
        tuple(plain_note(findings, part) if isinstance(part, str) else part for part in sentence)
        for sentence in sentences
    )


def _main_orders(findings: Findings) -> Iterator[tuple[str, ReferenceRankings]]:
    """Metric and rankings by the main metric of all labels together."""
    yield from (
        (metric, orders)
        for label, metric, orders in listed_orders(findings)
        if metric in MAIN and label == scores.judged_label(findings)
    )


def winner_sentence(findings: Findings, ranked: RankResult) -> Sentence:
    """Whether there is a winner, with the evidence."""
    ranking = ranked.ranking
    evidence = ranking.evidence()
    first, *others = evidence.order
    rivals = [i for i in others if evidence.p[first, i] >= evidence.alpha]
    better = [i for i in rivals if evidence.p[i, first] < evidence.alpha]
    tied = any(evidence.ranks[i] == evidence.ranks[first] for i in others)
    if won := ranked.claims.sentences("algorithms.winner"):
        return _with_colours(findings, won[0])
    if evidence.refusal or tied or better or not rivals:
        return (plain_note(findings, ranked.verdict.sentence),)
    name, several = ranking.algorithms[first], evidence.several
    pairs = _pair_rows(ranked)
    parts = [_rival_part(findings, evidence, pairs, first, i) for i in rivals[:NAMED]]
    parts += [(f"{len(rivals) - NAMED} more",)] if len(rivals) > NAMED else []
    text = "No winner can be declared: by {}, {} comes first, but is not significantly better{} than {}."
    basis = plain_note(findings, str(evidence.basis))
    return compose(text, basis, name, several.every if several else "", join_parts(parts))


def _rival_part(findings: Findings, evidence: Evidence, pairs: Pairs, first: int, rival: int) -> Sentence:
    """``vnet (significantly better under six of nine, worse under one; ahead in 91% of resamples; …)``."""
    name, other = evidence.algorithms[first], evidence.algorithms[rival]
    where = plain_note(findings, str(evidence.where[first, rival]))
    counts, several = "", evidence.several
    if several and evidence.wins is not None:
        better, worse = evidence.wins[first, rival], evidence.wins[rival, first]
        counts = f"significantly better under {several.part(int(better))}, worse under {worse}; "
    ahead, p = _ahead_cell(pairs, name, other), _p_cell(pairs, name, other, sign=True)
    text = "{} ({}ahead in {} of resamples; largest adjusted p {}, by {})"
    return compose(
        text if where else "{} ({}ahead in {} of resamples; adjusted p {}{})", other, counts, ahead, p, where
    )


def _pair_rows(ranked: RankResult) -> Pairs:
    """Rows over all metrics and standards; where there is one of each, its rows."""
    scheme = {"p_holm": "test", "ahead_share": ranked.ranking.scheme}
    rows = [r for r in ranked.tables["pairs"].rows if scheme.get(r.statistic) == r["scheme"]]
    alone = [r for r in rows if r.scope == "ranking"] if len(ranked.ranking.boards) == 1 else []
    overall = [r for r in rows if r.scope == "overall" and not r["against"] and not r["metric"]]
    return {(r.statistic, r["algorithm_a"], r["algorithm_b"]): r for r in (*alone, *overall)}


def share_of_resamples(file: str, row: Row) -> Cell:
    """A share of the resamples as a percentage; what happened in some of them is neither 0% nor 100%."""
    return replace(number_cell(file, row, 0, percent=True), shown=format_share(float(row.value)))


def _ahead_cell(pairs: Pairs, first: str, second: str) -> Cell:
    return share_of_resamples(PAIRS, pairs["ahead_share", first, second])


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
    svgs = rank_charts(findings.ranking.ranking)
    yield _rank_table(findings, findings.ranking)
    shown = {
        "stability": f"How often each algorithm has each rank when {findings.subject_word}s are drawn again at "
        "random: the larger the disc, the more often.",
        "truths": "Rank under each reference standard: bright is first.",
        "significance-overall": "Who is significantly better than whom under every reference standard (blue).",
    }
    if len(findings.ranking.ranking.algorithms) <= FEW:
        del shown["significance-overall"]
    charts = tuple(Chart(f"rank-{name}", svgs[name], caption) for name, caption in shown.items() if name in svgs)
    yield from (Beside(blocks) for blocks in (charts, tuple(_square_tables(findings, findings.ranking))) if blocks)


def _orders_table(findings: Findings) -> Iterator[Block]:
    orders = list(listed_orders(findings))
    several = len({label for label, _, _ in orders}) > 1
    if not orders:
        return

    def standards(ranking: ReferenceRanking) -> str:
        return ", ".join(standard_name(findings, truth) for truth in ranking.references)

    columns: list[ColumnOf[tuple[str, str, ReferenceRanking]]] = [
        (text_column("Label", "What was marked"), lambda item: text_cell(item[0] or "all")),
        (text_column("Measure", "By what they are ordered"),
         lambda item: text_cell(NAMES[item[1]][0].upper() + NAMES[item[1]][1:])),
        (text_column("Order", "Best first; = where equal"), lambda item: text_cell(item[2])),
        (Column("Standards", "How many reference standards give this order"),
         lambda item: text_cell(len(item[2].references))),
        (text_column("Which", "The reference standards that give it"), lambda item: text_cell(standards(item[2]))),
    ]  # fmt: skip
    note = (
        f"By means over {findings.subject_word}s in which finding nothing where nothing is marked counts as the "
        "best, and no prediction as the worst; so they can differ a little from the means above."
    )
    hard = findings.evaluation is not None and findings.evaluation.mask_scores is not None
    items = [(label, metric, ranking) for label, metric, ranked in orders for ranking in ranked.rankings]
    title = "Order under every reference standard"
    yield make_table("algorithm-orders", title, items, columns if several else columns[1:], note if hard else "")


def _separation_block(findings: Findings) -> Iterator[Block]:
    """For each pair, under how many of the reference standards used one algorithm is ahead."""
    sentences = [
        (line,) for metric, orders in _main_orders(findings) for line in _pair_sentences(findings, metric, orders)
    ]
    if sentences:
        title = "Who is ahead under which reference standards, without a test?"
        yield Paragraphs(tuple(sentences), title, listed=True)


def _pair_sentences(findings: Findings, metric: str, orders: ReferenceRankings) -> Iterator[str]:
    """The standards used, then a sentence for each pair."""
    assert findings.evaluation is not None
    if len(orders.references) > 1:
        used = describe_standards(orders.references, findings.study.rater_names)
        yield f"The {len(orders.references)} standards used are {plain_note(findings, used)}."
    for first, second in combinations(orders.rankings[0].order[:SHORT], 2):
        yield pair_sentence(findings.evaluation, scores.judged_label(findings), metric, first, second)


def _rank_table(findings: Findings, ranked: RankResult) -> PageTable:
    """Ranks and mean ranks; shares of resamples only where there are enough subjects to resample."""
    ranking, rows = ranked.ranking, ranked.tables["rankings"].rows
    overall = [
        r for r in rows if r.scope == "overall" and (r["scheme"], r["against"], r["metric"]) == (ranking.scheme, "", "")
    ]
    by = {(str(r["algorithm"]), r.statistic): r for r in overall}
    drawn = not ranking.overall.refusal

    def value(statistic: str, digits: int = 2, **how: Any) -> Callable[[str], Cell]:
        return lambda name: number_cell(RANKINGS, by[name, statistic], digits, **how)

    sure = f", with its simultaneous {1 - ranking.alpha:.0%} set" if drawn else ""
    resampled = f"Range of the rank in {ranking.level:.0%} of the resamples of the {findings.subject_word}s: no CI"
    first = Column("First in", "Share of the resamples in which it is first; a shared first place in equal parts")
    mean = Column("Mean rank", "Its ranks under the reference standards, averaged: the order goes by this")
    columns: list[ColumnOf[str]] = [
        (text_column("Algorithm", "Best first"), lambda name: scores.algorithm_cell(findings, name)),
        (Column("Rank", f"Over the reference standards used{sure}"), value("rank", 0)),
        *([(Column("In resamples", resampled), _range_cell(by))] if drawn else []),
        *([(first, lambda name: share_of_resamples(RANKINGS, by[name, "first_share"]))] if drawn else []),
        (mean, value("mean_rank")),
    ]
    metrics = join_names([NAMES.get(metric, metric) for metric in ranking.metrics])
    distinct = f" ({ranking.basis().distinct} distinct)" if ranking.same else ""
    title = f"Ranking by {metrics}, over {counted(len(ranking.references), 'reference standard')}{distinct}"
    return make_table("algorithm-ranks", title, ranking.order, columns)


def _range_cell(by: dict[tuple[str, str], Row]) -> Callable[[str], Cell]:
    """A rank with its bootstrap range."""
    return lambda name: number_cell(RANKINGS, by[name, "resampled_rank"], 0)


def _square_tables(findings: Findings, ranked: RankResult) -> Iterator[PageTable]:
    """How often the algorithm of the row is ahead of that of the column, and whether significantly; none untested."""
    if ranked.ranking.overall.refusal:
        return
    names, closed, pairs = ranked.ranking.order, len(ranked.ranking.algorithms) > MANY, _pair_rows(ranked)
    kinds = (
        ("algorithm-ahead", "How often is the row ahead of the column? (share of resamples)", _ahead_cell,
         "Share of resamples in which the algorithm of the line is ahead of {}"),
        ("algorithm-p", "Is the row better? (largest adjusted p over all reference standards)", _p_cell,
         "One-sided p of being no better than {}, adjusted for many tests; the largest over all reference standards "
         "counts (intersection–union test): strict. Not significant does not mean equal"),
    )  # fmt: skip
    for name, title, cell, help in kinds:
        lines = tuple(
            (scores.algorithm_cell(findings, a), *(text_cell("") if a == b else cell(pairs, a, b) for b in names))
            for a in names
        )
        columns = (text_column("", "Who is ahead"), *(Column(b, help.format(b)) for b in names))
        yield PageTable(name, title, columns, lines, closed=closed)
