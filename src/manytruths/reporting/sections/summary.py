"""The first section, In short: the main findings, the cases to look at, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...agreement import interpret_alpha, interpret_kappa
from ...analyses.tables import region_of
from ...claims.numbers import TableIndex, has_interval, is_defined
from ...claims.sentences import (
    Cell,
    Sentence,
    capitalise,
    case_cell,
    case_links,
    compose,
    join_parts,
    number_word,
    spell_count,
)
from ...core.tally import Tally
from ...core.undefined import code_of
from ...inference.intervals import MIN_SUBJECTS
from ...io.result_tables import Row
from ..elements import Block, Paragraphs, Section
from ..findings import Findings
from .algorithms import algorithm_summary
from .cases import (
    cases_by_kappa,
    coverage_sentence,
    coverage_table,
    dispute_table,
    has_overlap,
    marked_anything,
    most_disputed,
    raters_per_case,
    why_no_kappa,
    why_no_overlap,
)
from .raters import (
    draws_larger,
    draws_smaller,
    error_dependence,
    outlier_summary,
    outlying_raters,
    possible_copies,
    size_sentences,
    turned_raters,
)
from .standards import most_different
from .vocabulary import note_sentences, rater_cell, rater_names, scale_name, spelled_interval

UNNAMED_PATIENTS = (
    "Every case counts as a patient of its own. If cases share a patient (two eyes, two slices), name the patients "
    "in cases.csv; otherwise confidence intervals are too narrow."
)
MOST_NAMED = 2
"""Most turned masks that are named."""
MANY_LABELS = 6
"""With more labels, only the best and the worst are named."""


def section(findings: Findings) -> Section:
    """What a reader with one minute must know."""
    lead = (
        *_turned_masks(findings),
        *_overlap_sentences(findings),
        *_kappa_sentence(findings),
        *_label_sentence(findings),
        *_rater_sentences(findings),
        *_standard_sentences(findings),
        *algorithm_summary(findings),
    )
    return Section("in-short", "In short", lead, tuple(_blocks(findings)))


def _blocks(findings: Findings) -> Iterator[Block]:
    if (table := dispute_table(findings)) is not None:
        yield table
    if sentences := next_steps(findings):
        yield Paragraphs(sentences, "What to do next", listed=True)
    yield coverage_table(findings) or Paragraphs((coverage_sentence(findings),))
    others = (note for note in findings.agreement.notes if code_of(note) != "turned_mask")
    notes = [UNNAMED_PATIENTS] if len(findings.study) > 1 and findings.subject_word == "case" else []
    notes += note_sentences(findings, others)
    if notes:
        yield Paragraphs(tuple((note,) for note in notes), "Notes", listed=True, kind="note")


def _turned_masks(findings: Findings) -> Iterator[Sentence]:
    """Masks that were probably saved turned or flipped, before everything else."""
    turns = [f"{turn.case}, {turn.words}" for turn in findings.agreement.turns]
    if turns:
        more = f"; and {number_word(len(turns) - MOST_NAMED)} more" if len(turns) > MOST_NAMED else ""
        yield (f"First of all: in case {'; in case '.join(turns[:MOST_NAMED])}{more}. All numbers count it "
               "as it is: correct it and make the report again.",)  # fmt: skip


def _who_marked_what(findings: Findings) -> str:
    study = findings.study
    raters = spell_count(len(study.rater_names), "rater")
    if study.options.exchangeable:
        return f"{raters_per_case(findings)} marked each of {spell_count(len(study), 'case')}"
    whole = all(len({c.name for c in case.masks}) == len(study.rater_names) for case in study)
    cases = spell_count(len(study), "case")
    same = "the same " if whole and len(study) > 1 else ""
    patients = f" of {spell_count(len(study.subjects), 'patient')}" if findings.subject_word == "patient" else ""
    return f"{raters} marked {same}{cases}{patients}"


def _overlap_sentences(findings: Findings) -> Iterator[Sentence]:
    """Who marked what, and the overlap of two raters."""
    table, who = findings.table("agree/agreement"), _who_marked_what(findings)
    dice, same = table.row("dice"), table.row("percent_agreement")
    level = spelled_interval(findings)  # of the first number of the page
    if dice is None and is_defined(same):
        share = table.quote(same, 0, percent=True, level=level)
        text = "{}; two raters give the same label to {} of the {}s."
        yield capitalise(compose(text, who, share, findings.pixel_word))
    elif dice is None:
        yield capitalise((f"{who}.",))
    elif is_defined(dice):
        yield capitalise(compose("{}; {}.", who, _dice_clause(findings, dice, table.quote(dice, level=level))))
    else:
        who = who.replace(" marked ", " looked at ", 1)
        yield capitalise((f"{who}, but {why_no_overlap(findings)}: there is no overlap to measure.",))
    shown = same if dice is None else dice
    if is_defined(shown) and not has_interval(shown):
        yield (_why_no_interval(findings, shown),)


def _dice_clause(findings: Findings, dice: Row, value: Cell) -> Sentence:
    """``any two raters overlap by a mean Dice of 0.62, …, and their relative volume difference is 62%``."""
    two = "they" if len(findings.study.rater_names) == 2 else "any two raters"
    several = ", whatever the label," if len(_label_names(findings)) > 1 else ""
    if dice.n and dice.n < len(findings.study.subjects):
        subjects = f"{findings.subject_word}{'s' if dice.n > 1 else ''}"
        several += f" in the {number_word(dice.n)} {subjects} where this is defined"
    mean = "mean Dice" if len(findings.study) > 1 or two != "they" else "Dice"
    table = findings.table("agree/agreement")
    size: Sentence = ()
    if is_defined(row := table.row("volume_difference")):
        size = (", and their relative volume difference is ", table.quote(row, 0, percent=True))
    return compose("{} overlap{} by a {} of {}, where 1 means identical masks{}", two, several, mean, value, size)


def _why_no_interval(findings: Findings, row: Row) -> str:
    """Why there is no interval: too few subjects, or too few with a value."""
    there, defined = len(findings.study.subjects), row.n or 0
    if there < MIN_SUBJECTS:
        many = f"there {'is' if there == 1 else 'are'} {spell_count(there, findings.subject_word)}"
        return (
            f"Numbers stand without confidence intervals: those are over {findings.subject_word}s and need "
            f"{number_word(MIN_SUBJECTS)} of them, and {many}."
        )
    what = "Dice" if row.statistic == "dice" else "This number"
    subjects = spell_count(there, findings.subject_word)
    return (
        f"{what} stands without a confidence interval: it is defined for {number_word(defined)} of {subjects}, and "
        f"intervals need {number_word(MIN_SUBJECTS)}."
    )


def _kappa_sentence(findings: Findings) -> Iterator[Sentence]:
    """Kappa with its level, and its range over cases."""
    table = findings.table("agree/agreement")
    kappa, dice = table.row("fleiss_kappa"), table.row("dice")
    if not is_defined(kappa):
        if dice is None or is_defined(dice):
            yield (f"Agreement beyond chance cannot be computed: {why_no_kappa(findings)}.",)
        return
    if kappa.value == 1:
        where = " in every case" if len(findings.study) > 1 else ""
        yield compose("All raters marked exactly the same{}: Fleiss' kappa is {}.", where, table.quote(kappa))
        return
    scale = findings.settings.kappa_scale
    name = interpret_kappa(kappa.value, scale)
    low = interpret_kappa(kappa.low, scale) if has_interval(kappa) and kappa.low is not None else name
    sure = f", though its CI reaches down to {low}" if low != name else ""
    mean = f", on average over {findings.subject_word}s" if len(findings.study) > 1 else ""
    text = "Agreement beyond chance is {} by the scale of {}{}: Fleiss' kappa is {}{}{}."
    number, spread = table.quote(kappa), _kappa_range(findings, table)
    yield compose(text, name, scale_name(findings), sure, number, mean, spread)


def _kappa_range(findings: Findings, table: TableIndex) -> Sentence:
    rows = [row for row in cases_by_kappa(findings) if is_defined(row)]
    if len(rows) < 2 or rows[0].value == rows[-1].value:
        return ()
    ends = [cell for row in (rows[0], rows[-1]) for cell in (table.quote(row), case_cell(row.case))]
    return compose("; case by case it ranges from {} ({}) to {} ({})", *ends)


def _label_names(findings: Findings) -> list[str]:
    rows = findings.table("agree/agreement").all("fleiss_kappa", "mean", label=None)
    return list(dict.fromkeys(row.label for row in rows if row.label))


def _label_sentence(findings: Findings) -> Iterator[Sentence]:
    """Kappa label by label."""
    table = findings.table("agree/agreement")
    rows = list(filter(is_defined, (table.row("fleiss_kappa", label=name) for name in _label_names(findings))))
    rows.sort(key=lambda r: -r.value)
    if len(rows) < 2:
        return
    shown = rows if len(rows) <= MANY_LABELS else [rows[0], rows[-1]]
    where = "Label by label, kappa is " if shown is rows else f"Of {spell_count(len(rows), 'label')}, kappa is "
    yield (where, *join_parts([(table.quote(r), f" for {r.label}") for r in shown]), ".")


def _rater_sentences(findings: Findings) -> Iterator[Sentence]:
    """Outliers, and raters who draw larger or smaller."""
    if findings.study.options.exchangeable:
        yield ("Raters are exchangeable, so nothing is reported about single raters.",)
    elif is_defined(findings.table("agree/agreement").row("fleiss_kappa")):
        yield from outlier_summary(findings)
        yield from size_sentences(findings)


def _standard_sentences(findings: Findings) -> Iterator[Sentence]:
    """How far the reference standard depends on the method, and whether raters differ on the same pixels."""
    errors, pair = error_dependence(findings), most_different(findings)
    dice = findings.table("agree/agreement").row("dice")
    if pair and (dice is None or is_defined(dice)):
        much = "little" if pair.row.value >= 0.95 else "somewhat" if pair.row.value >= 0.85 else "much"
        which = ", which differ most," if pair.several else ""
        mean = "mean Dice" if len(findings.study) > 1 else "Dice"
        text = "The reference standard depends {} on how it is made: {}{} overlap by a {} of {}."
        value = findings.table("fuse/differences").quote(pair.row)
        yield compose(text, much, pair.names, which, mean, value)
    if errors is not None and errors.few:
        yield capitalise((*errors.sentence, "."))


# --- what to do next

HIGH_AGREEMENT, FAR_ABOVE_KAPPA, UNEQUAL_PREVALENCE = 0.8, 0.25, 0.5
"""Percent agreement, its distance above kappa and the prevalence index from which on a warning is shown."""

STABLE = 0.8
"""Accuracy of the majority below which more raters do not help."""

RULES = {
    "reliable": "the marks are reliable enough for conclusions",
    "tentative conclusions only": "only tentative conclusions can be drawn",
    "not reliable": "the marks are not reliable enough to draw conclusions",
}


def next_steps(findings: Findings) -> tuple[Sentence, ...]:
    """What to do next, and what to be careful about, the most useful first."""
    parts: tuple[Callable[[Findings], Iterator[Sentence]], ...] = (
        _look_again,
        _partly_empty,
        _no_overlap,
        _talk_to_outliers,
        _agree_on_border,
        _ask_about_copies,
        _second_look,
        _more_raters,
        _no_intervals,
        _percent_agreement_warning,
        _krippendorff_rule,
    )
    return tuple(sentence for part in parts for sentence in part(findings))


def _look_again(findings: Findings) -> Iterator[Sentence]:
    if rows := most_disputed(findings):
        text = "Look again at {}: the raters agree least there. Click a name to see who drew what."
        yield compose(text, case_links([row.case for row in rows]))


def _partly_empty(findings: Findings) -> Iterator[Sentence]:
    """Cases in which some raters marked nothing."""
    cases = [case for case, t in _with_background(findings).items() if len(set(marked_anything(t).values())) > 1]
    if cases:
        where = spell_count(len(cases), "case") if len(findings.study) > 1 else "the case"
        text = (
            "In {} ({}) some raters marked nothing and others something: settle whether there is anything to mark "
            "before you compare outlines."
        )
        yield compose(text, where, case_links(cases))


def _with_background(findings: Findings) -> dict[str, Tally]:
    """The tallies of the cases in which something may be left unmarked."""
    return {case: t for case, t in findings.agreement.tallies.items() if t.labels.background is not None}


def _no_overlap(findings: Findings) -> Iterator[Sentence]:
    """Cases without a pixel that two raters marked: they have no useful reference standard."""
    cases = [case for case, t in _with_background(findings).items() if any(t.marked > 0) and not has_overlap(t)]
    if cases:
        text = (
            "Do not judge anything by {}: no two raters marked a common place there, so that any reference standard is "
            "empty or one rater's alone."
        )
        yield compose(text, case_links(cases))


def _talk_to_outliers(findings: Findings) -> Iterator[Sentence]:
    raters, out = findings.agreement.raters, outlying_raters(findings)
    if raters is None or not out:
        return
    suspects = (*raters.differences.outliers, *turned_raters(findings))
    distances = zip(raters.differences.mean_difference.tolist(), raters.differences.raters, strict=True)
    others = [(apart, rater) for apart, rater in distances if rater not in suspects and apart == apart]
    if others:
        text = (
            "Go through {} with {}, and with rater {}, who is nearest to the others: do they follow the same rules? "
            "This number alone is no reason to exclude a rater."
        )
        which = "some cases" if len(findings.study) > 1 else "the case"
        yield compose(text, which, rater_names(findings, out), rater_cell(findings, min(others)[1]))


def _agree_on_border(findings: Findings) -> Iterator[Sentence]:
    """Raters who draw larger, and raters who draw smaller."""
    if findings.agreement.raters is None:
        return
    rows = list(findings.table("agree/raters").all("relative_area", "pooled"))
    big, small = ([str(r["rater"]) for r in rows if chosen(r)] for chosen in (draws_larger, draws_smaller))
    if big and small and len(rows) > 2:
        draws = [part for side in (big, small) for part in (rater_names(findings, side), "s" if len(side) == 1 else "")]
        yield compose("Agree on where the border runs: {} draw{} larger and {} draw{} smaller than the others.", *draws)


def _ask_about_copies(findings: Findings) -> Iterator[Sentence]:
    """Raters with nearly the same masks; where most are similar, the task may be easy."""
    alike = possible_copies(findings)
    if alike.pairs and alike.easy:
        who = "The two raters" if len(findings.study.rater_names) == 2 else "Most raters"
        yield (f"{who} drew nearly the same (Dice above 0.98): what they marked is so large or so easy to see that "
               "everybody draws alike, or else they did not work alone.",)  # fmt: skip
    elif alike.pairs:
        pairs: list[Sentence] = [
            (rater_cell(findings, c.rater_a), " and ", rater_cell(findings, c.rater_b)) for c in alike.pairs[:3]
        ]
        left = len(alike.pairs) - 3
        pairs += [(f"{spell_count(left, 'pair')} more",)] if left > 0 else []
        text = (
            "Ask whether they worked alone: {} drew nearly the same. Copies and edits make agreement look better than "
            "it is; named under based_on in reads.csv, they are left out."
        )
        yield compose(text, join_parts(pairs, "; ", "; "))


def _second_look(findings: Findings) -> Iterator[Sentence]:
    """Regions that algorithms mark and raters may have missed."""
    rows = findings.table("evaluate/second_look").rows
    if places := {(row.case, row["rank"]) for row in rows}:
        text = "Look at {} that algorithms mark and most raters do not, in {}: raters may have missed something."
        yield compose(
            text, spell_count(len(places), "place"), case_links(list(dict.fromkeys(row.case for row in rows)))
        )


def _more_raters(findings: Findings) -> Iterator[Sentence]:
    """Whether more raters would make the majority more stable; nothing where masks are doubtful."""
    table = findings.table("plan/plan")
    best = next(table.all("best_raters", "pooled"), None)
    if not is_defined(best) or findings.plan is None or turned_raters(findings) or possible_copies(findings).suspected:
        return
    here = max(len({c.name for c in case.masks}) for case in findings.study)
    now = table.row("majority_accuracy", "pooled", "pilot", here, "", "")
    then = table.row("majority_accuracy", "pooled", "pilot", int(best.value), "", "")
    if now is None or then is None:
        return
    yield (*_stability(findings, table, here, now), *_gain_of_more(findings, table, here, best, now, then), " ", CAVEAT)


CAVEAT = (
    "This takes all raters for one kind, and is about how stable the majority is, not about what is right: a mistake "
    "that most share is not seen."
)


def _stability(findings: Findings, table: TableIndex, here: int, now: Row) -> Sentence:
    who = f"The majority of {number_word(here)}" if here > 2 else "Either of two raters"
    large = "that" if here > 2 else "the majority"
    text = (
        "Would more raters help? {} would match {} of a very large panel of similar raters in {} of the {}s that any "
        "rater marked"
    )
    return compose(text, who, large, table.quote(now, 0, percent=True), findings.pixel_word)


def _gain_of_more(findings: Findings, table: TableIndex, here: int, best: Row, now: Row, then: Row) -> Sentence:
    assert findings.plan is not None
    points = 100 * findings.plan.settings.gain
    gain = f"{points:g} percentage point{'' if points == 1 else 's'}"
    if best.value <= here:
        if _is_unsettled(findings, now):
            return (f"; two more would hardly add to that (less than {gain}). {RULES_FIRST}",)
        return (f"; two more would add less than {gain}", *_enough_raters(findings))
    size, reach = table.quote(best, 0), table.quote(then, 0, percent=True)
    most = max(int(str(r["raters"])) for r in table.all("majority_accuracy", "pooled"))
    after = "more might still gain" if best.value + 2 > most else f"from there on two more add less than {gain}"
    rules = f" {RULES_FIRST}" if _is_unsettled(findings, then) else ""
    return compose("; a panel of {} would in {}, and {}.{}", size, reach, after, rules)


RULES_FIRST = "Raters like these disagree too much for a majority to settle it: agree on rules first."


def _is_unsettled(findings: Findings, reached: Row) -> bool:
    """Whether raters disagree too much for a majority to settle it."""
    kappa = findings.table("agree/agreement").row("fleiss_kappa")
    return reached.value < STABLE or (is_defined(kappa) and kappa.value <= 0)


def _enough_raters(findings: Findings) -> Sentence:
    """Whether there are enough raters; not where their errors are correlated."""
    errors = error_dependence(findings)
    if errors is None or not errors.few:
        return (", so that there are enough.",)
    return (". But these ", *errors.weight, f", and more of the same kind would differ on the same {errors.item}s.")


def _no_intervals(findings: Findings) -> Iterator[Sentence]:
    """A warning where there are no intervals."""
    row = findings.table("agree/agreement").row("fleiss_kappa")
    if is_defined(row) and not findings.resampled:
        many = len(findings.study.subjects) > 1
        these = f"these {findings.subject_word}s" if many else f"this {findings.subject_word}"
        yield (f"Take the numbers for {these} only: without confidence intervals, nothing is known about others.",)


def _percent_agreement_warning(findings: Findings) -> Iterator[Sentence]:
    table = findings.table("agree/agreement")
    agreed, kappa = table.row("percent_agreement"), table.row("fleiss_kappa")
    rare = table.row("prevalence_index")
    if agreed is None or kappa is None or rare is None or region_of(findings.agreement.tallies) == "union":
        return
    far_above = agreed.value >= HIGH_AGREEMENT and agreed.value - kappa.value >= FAR_ABOVE_KAPPA
    if not (far_above and rare.value >= UNEQUAL_PREVALENCE):
        return
    why, instead = "are marked by nearly everybody", "Kappa and negative agreement"
    if _marked_share(findings) < 0.5:
        why, instead = "are background that nobody marks", "Kappa, Dice and positive agreement"
    text = "Do not quote percent agreement alone: it is {} because most {}s {}. {} say more."
    yield compose(text, table.quote(agreed, 0, percent=True), findings.pixel_word, why, instead)


def _marked_share(findings: Findings) -> float:
    """The share of pixels that raters marked, which only selects the wording."""
    tables = findings.agreement.tallies.values()
    marks, chances = sum(int(t.marked @ t.counts) for t in tables), sum(int(t.rated @ t.counts) for t in tables)
    return marks / chances if chances else 0.0


def _krippendorff_rule(findings: Findings) -> Iterator[Sentence]:
    """Krippendorff's limits, applied to the mean, or to the pooled number where only that has an interval."""
    table = findings.table("agree/agreement")
    mean, pooled = (table.row("krippendorff_alpha", scope) for scope in ("mean", "pooled"))
    judged = next((row for row in (mean, pooled) if has_interval(row)), None)
    if judged is None or judged.low is None or not is_defined(mean) or not is_defined(pooled):
        return
    which, rule = "mean" if judged is mean else "pooled number", interpret_alpha(judged.low)
    text = RULES[rule]
    if rule == "reliable" and possible_copies(findings).suspected:
        text = "the marks would be reliable enough for conclusions, if nobody has copied"
    sentence = (
        "Krippendorff's alpha is {} on average over {}s and {} with all cases pooled. Krippendorff asks for 0.80, or "
        "for 0.667 where conclusions are tentative; by the lower limit of the CI of the {}, {}."
    )
    yield compose(sentence, table.quote(mean), findings.subject_word, table.quote(pooled), which, text)
