"""What to do next: look again, talk, ask more raters, and what not to trust."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...agreement import interpret_alpha
from ...analyses.printing import number_word
from ...analyses.rows import Row
from ...analyses.summaries import region_of
from ..findings import Findings
from ..parts import Sentence
from .computed.counts import Counts
from .dependence import copies, dependence
from .disputed import disputed, meet, who_marked
from .habits import larger, smaller, standing_out, turned
from .numbers import Numbers, bounded, known, numbers
from .wording import count, item, joined, linked, rater_cell, unit

HIGH, PARADOX, RARE = 0.8, 0.25, 0.5
"""So high a percent agreement, so far above kappa, is worth a warning where one label is so much more common."""

STABLE = 0.8
"""A majority that decides less than this as most would is no help, however many raters there are."""

RULES = {
    "reliable": "the marks are reliable enough for conclusions",
    "tentative conclusions only": "only tentative conclusions can be drawn",
    "not reliable": "the marks are not reliable enough to draw conclusions",
}


def steps(found: Findings) -> tuple[Sentence, ...]:
    """Everything there is to do or to heed, the most useful first."""
    parts: tuple[Callable[[Findings], Iterator[Sentence]], ...] = (
        _look, _empty, _apart, _talk, _border, _copies, _places, _more_raters, _few, _paradox, _rule,
    )  # fmt: skip
    return tuple(sentence for part in parts for sentence in part(found))


def _look(found: Findings) -> Iterator[Sentence]:
    rows = disputed(found)
    if rows:
        names = linked([row.case for row in rows])
        yield ("Look again at ", *names, ": the raters agree least there. Click a name to see who drew what.")


def _empty(found: Findings) -> Iterator[Sentence]:
    """Cases in which some raters marked nothing."""
    tables = found.agreement.tallies
    cases = [c for c, t in tables.items() if t.labels.background is not None and len(set(who_marked(t).values())) > 1]
    if cases:
        where = f"In {count(len(cases), 'case')} (" if len(found.study) > 1 else "In the case ("
        settle = "settle whether there is anything to mark before you compare outlines."
        yield (where, *linked(cases), ") some raters marked nothing and others something: ", settle)


def _apart(found: Findings) -> Iterator[Sentence]:
    """Cases without a place that two raters marked: no reference standard can be made of them."""
    tables = found.agreement.tallies
    cases = [c for c, t in tables.items() if t.labels.background is not None and any(t.marked > 0) and not meet(t)]
    if cases:
        yield ("Do not judge anything by ", *linked(cases), ": no two raters marked a common place there, so that any ",
               "reference standard is empty or one rater's alone.")  # fmt: skip


def _talk(found: Findings) -> Iterator[Sentence]:
    raters, out = found.agreement.raters, standing_out(found)
    if raters is None or not out:
        return
    others = [
        (apart, rater)
        for rater, apart in zip(raters.differences.raters, raters.differences.mean_difference.tolist(), strict=True)
        if rater not in (*raters.differences.outliers, *turned(found)) and apart == apart
    ]
    names: Sentence = joined([("rater ", rater_cell(found, rater)) for rater in out])
    if others:
        which = "some cases" if len(found.study) > 1 else "the case"
        yield (f"Go through {which} with ", *names, ", and with rater ", rater_cell(found, min(others)[1]),
               ", who is nearest to the others: do they follow the same rules? A number is no reason to leave anybody "
               "out.")  # fmt: skip


def _border(found: Findings) -> Iterator[Sentence]:
    """Who draws larger, who smaller."""
    if found.agreement.raters is None:
        return
    rows = list(numbers(found, "agree", "raters").all("relative_area", "pooled"))
    big, small = ([str(r["rater"]) for r in rows if chosen(r)] for chosen in (larger, smaller))
    if big and small and len(rows) > 2:
        ends = (joined([("rater ", rater_cell(found, r)) for r in side]) for side in (big, small))
        yield ("Agree on where the border runs: ", *next(ends), f" draw{'s' if len(big) == 1 else ''} larger and ",
               *next(ends), f" draw{'s' if len(small) == 1 else ''} smaller than the others.")  # fmt: skip


def _copies(found: Findings) -> Iterator[Sentence]:
    """Who may have copied; where most are alike, what is drawn may be the reason."""
    alike = copies(found)
    if alike.pairs and alike.easy:
        who = "The two raters" if len(found.study.rater_names) == 2 else "Most raters"
        yield (f"{who} drew nearly the same (Dice above 0.98): what they marked is so large or so easy to see that "
               "everybody draws alike, or else they did not work alone.",)  # fmt: skip
    elif alike.pairs:
        two: list[Sentence] = [
            (rater_cell(found, c.rater_a), " and ", rater_cell(found, c.rater_b)) for c in alike.pairs[:3]
        ]
        left = len(alike.pairs) - 3
        more: list[Sentence] = [(f"{count(left, 'pair')} more",)] if left > 0 else []
        yield ("Ask whether they worked alone: ", *joined(two + more, "; ", "; "), " drew nearly the same. Copies and "
               "edits make agreement look better than it is; named under based_on in reads.csv, they are left "
               "out.")  # fmt: skip


def _places(found: Findings) -> Iterator[Sentence]:
    """What algorithms mark and raters may have missed."""
    rows = list(numbers(found, "evaluate", "second_look").table.rows)
    places = list(dict.fromkeys((row.case, row["rank"]) for row in rows))
    if places:
        cases = list(dict.fromkeys(case for case, _ in places))
        yield (f"Look at {count(len(places), 'place')} that algorithms mark and most raters do not, in ",
               *linked(cases), ": somebody may have missed something.")  # fmt: skip


def _more_raters(found: Findings) -> Iterator[Sentence]:
    """Whether the majority would be more stable with more raters; not where masks are doubtful."""
    table = numbers(found, "plan", "plan")
    best = next(table.all("best_raters", "pooled"), None)
    if not known(best) or found.plan is None or turned(found) or copies(found).suspected:
        return
    here = max(len({c.name for c in case.masks}) for case in found.study)
    now = table.row("majority_accuracy", "pooled", "pilot", here, "", "")
    then = table.row("majority_accuracy", "pooled", "pilot", int(best.value), "", "")
    if now is None or then is None:
        return
    yield (*_stability(found, table, here, now), *_worth(found, table, here, best, now, then), " ", CAVEAT)


CAVEAT = (
    "This takes all raters for one kind, and is about how stable the majority is, not about what is right: a mistake "
    "that most share is not seen."
)


def _stability(found: Findings, table: Numbers, here: int, now: Row) -> Sentence:
    who = f"The majority of {number_word(here)}" if here > 2 else "Either of two raters"
    large = "that" if here > 2 else "the majority"
    return (f"Would more raters help? {who} would match {large} of a very large panel of similar raters in ",
            table.quote(now, 0, percent=True), f" of the {item(found)}s that anybody marked")  # fmt: skip


def _worth(found: Findings, table: Numbers, here: int, best: Row, now: Row, then: Row) -> Sentence:
    assert found.plan is not None
    points = 100 * found.plan.settings.gain
    gain = f"{points:g} percentage point{'' if points == 1 else 's'}"
    if best.value <= here:
        if _unsettled(found, now):
            return (f"; two more would hardly add to that (less than {gain}). {RULES_FIRST}",)
        return (f"; two more would add less than {gain}", *_enough(found))
    size, reach = table.quote(best, 0), table.quote(then, 0, percent=True)
    most = max(int(str(r["raters"])) for r in table.all("majority_accuracy", "pooled"))
    after = "more might still gain" if best.value + 2 > most else f"from there on two more add less than {gain}"
    rules = f" {RULES_FIRST}" if _unsettled(found, then) else ""
    return ("; a panel of ", size, " would in ", reach, f", and {after}.{rules}")


RULES_FIRST = "Raters like these disagree too much for a majority to settle it: agree on rules first."


def _unsettled(found: Findings, reached: Row) -> bool:
    """Whether numbers of raters are not what lacks."""
    kappa = numbers(found, "agree", "agreement").row("fleiss_kappa")
    return reached.value < STABLE or (known(kappa) and kappa.value <= 0)


def _enough(found: Findings) -> Sentence:
    """Not where disagreements fall together, as those of more raters of the same kind would."""
    errors = dependence(found)
    if errors is None or not errors.few:
        return (", so that there are enough.",)
    return (". But these ", *errors.weighed, f", and more of the same kind would differ on the same {errors.item}s.")


def _few(found: Findings) -> Iterator[Sentence]:
    """No interval, no conclusion about other patients."""
    row = numbers(found, "agree", "agreement").row("fleiss_kappa")
    if known(row) and not Counts(found).resampled:
        many = len(found.study.subjects) > 1
        these = f"these {unit(found)}s" if many else f"this {unit(found)}"
        yield (f"Take the numbers for {these} only: without confidence intervals, nothing is known about others.",)


def _paradox(found: Findings) -> Iterator[Sentence]:
    table = numbers(found, "agree", "agreement")
    agreed, kappa = table.row("percent_agreement"), table.row("fleiss_kappa")
    rare = table.row("prevalence_index")
    if agreed is None or kappa is None or rare is None or region_of(found.agreement.tallies) == "union":
        return
    if not (agreed.value >= HIGH and agreed.value - kappa.value >= PARADOX and rare.value >= RARE):
        return
    share = table.quote(agreed, 0, percent=True)
    little = _share(found) < 0.5
    why = "are background that nobody marks" if little else "are marked by nearly everybody"
    instead = "Kappa, Dice and positive agreement say more" if little else "Kappa and negative agreement say more"
    yield ("Do not quote percent agreement alone: it is ", share, f" because most {item(found)}s {why}. {instead}.")


def _share(found: Findings) -> float:
    """Of all that raters could mark, how much they did: only to choose the words."""
    tables = found.agreement.tallies.values()
    marks, chances = sum(int(t.marked @ t.counts) for t in tables), sum(int(t.rated @ t.counts) for t in tables)
    return marks / chances if chances else 0.0


def _rule(found: Findings) -> Iterator[Sentence]:
    """Krippendorff's limits, by the mean as kappa is told, or by the pooled number where only that has an interval."""
    table = numbers(found, "agree", "agreement")
    mean, pooled = (table.row("krippendorff_alpha", scope) for scope in ("mean", "pooled"))
    judged = next((row for row in (mean, pooled) if bounded(row)), None)
    if judged is None or judged.low is None or not known(mean) or not known(pooled):
        return
    which, rule = "mean" if judged is mean else "pooled number", interpret_alpha(judged.low)
    told = RULES[rule]
    if rule == "reliable" and copies(found).suspected:
        told = "the marks would be reliable enough for conclusions, if nobody has copied"
    yield ("Krippendorff's alpha is ", table.quote(mean), f" on average over {unit(found)}s and ", table.quote(pooled),
           " with all cases pooled. Krippendorff asks for 0.80, or for 0.667 where conclusions are tentative; by the "
           f"lower limit of the CI of the {which}, {told}.")  # fmt: skip
