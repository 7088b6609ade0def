"""Claims about groups that are known beforehand: raters of which group agree more, and in which group of cases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..core.undefined import Note, code, code_of, reason
from ..inference.group_tests import FEWEST_ARRANGEMENTS
from ..inference.intervals import MIN_SUBJECTS
from ..inference.rater_tests import FEWEST_RATERS
from ..io.result_tables import Row
from .agreement import unseen_failures
from .claim import ALPHA, Claim, ClaimKind, ClaimLog, Claims
from .numbers import TableIndex, has_interval, is_defined
from .sentences import Cell, Sentence, compose, join_parts, number_word, spell_count

RATERS = ClaimKind(
    "groups.raters",
    "difference",
    "The raters of one group agree more with each other than those of another group.",
    f"groups are given (--by); at least {FEWEST_RATERS} raters in each, {MIN_SUBJECTS} subjects that all of them read, "
    f"and {FEWEST_ARRANGEMENTS} ways to divide them into groups of these sizes; permutation test of whole raters, "
    "adjusted by Holm over all statistics, pairs of groups and columns (as the primary claim, over pairs of groups and "
    "columns), which can be as small as 0.05; no possible copies among them, and no mask of theirs that is probably "
    "broken",
    "Both groups agree equally well: equal raters, raters who differ in care, groups that draw in ways of their own.",
)
CASES = ClaimKind(
    "groups.cases",
    "difference",
    "Agreement is higher in one group of cases than in another.",
    f"groups are given (--by); at least {FEWEST_RATERS} raters, and {MIN_SUBJECTS} subjects in each group, none of "
    "whom is in both; permutation test of whole subjects, and an interval that holds no 0; adjusted by Holm over all "
    "statistics, pairs of groups and columns (as the primary claim, over pairs of groups and columns)",
    "Both groups have the same mean, with equal or with unequal spread.",
)
MEANS = ClaimKind(
    "groups.means",
    "estimate",
    "The mean agreement of each of two groups and its difference; of raters, within each group and between them, with "
    "intervals that hold for these raters and other subjects.",
    "groups are given (--by) and the difference is defined; said where no claim about these groups is made. It has the "
    "adjusted p value, with the smallest that was possible where that is above 0.05, or says why there was no test; "
    f"intervals need {MIN_SUBJECTS} subjects",
    "coverage of the intervals of the means and of the difference, where agreement is not very skewed",
)
MOST_CONSIDERED = 10
"""Most pairs of groups for which a claim is considered, those with the smallest p values."""
WORDS = {"dice": "Dice", "cohen_kappa": "Cohen's kappa"}
"""Statistics that claims are about: the first that the masks allow."""


@dataclass(frozen=True)
class GroupPair:
    """Two groups that were compared.

    Attributes
    ----------
    of : {"raters", "cases"}
        What the groups are of.
    by : str
        The column that names them.
    first, second : str
        The groups, in the order of the table.
    statistic, label : str
        What claims about them rest on.
    p_holm : float
        Adjusted p value; undefined with a reason where it was not tested.
    raters : tuple of str
        The raters of both groups; empty for groups of cases.
    tests : int
        Over how many tests the p value is adjusted.
    smallest : float
        The smallest adjusted p value that was possible.
    """

    of: str
    by: str
    first: str
    second: str
    statistic: str
    label: str
    p_holm: float
    raters: tuple[str, ...] = ()
    tests: int = 1
    smallest: float = 0.0


@dataclass(frozen=True)
class GroupFacts:
    """What claims about groups rest on besides the table.

    Attributes
    ----------
    pairs : tuple of GroupPair
        The pairs of groups.
    raters : int
        How many raters the study has.
    subject : str
        ``case`` or ``patient``.
    copies : frozenset of str
        Raters who may be copies of another.
    broken : frozenset of str
        Raters with a mask that is probably broken.
    """

    pairs: tuple[GroupPair, ...]
    raters: int
    subject: str = "case"
    copies: frozenset[str] = frozenset()
    broken: frozenset[str] = frozenset()


def consider_groups(log: ClaimLog, table: TableIndex, facts: GroupFacts) -> None:
    """Consider a claim about every pair of groups."""
    for kind, of in ((RATERS, "raters"), (CASES, "cases")):
        pairs = sorted((pair for pair in facts.pairs if pair.of == of), key=_order)
        for pair in pairs[:MOST_CONSIDERED]:
            _consider_pair(log, kind, table, pair, facts)
            _consider_means(log, table, pair, facts)


def without_claimed_means(claims: Claims) -> Claims:
    """The claims without the numbers of groups of which a difference is claimed, as that claim has them."""
    told = {claim.about for claim in claims.of(RATERS.id, CASES.id).made}
    return Claims(claim for claim in claims if claim.kind.id != MEANS.id or claim.about not in told)


def unclaimed_means(claims: Claims) -> Claims:
    """The numbers of groups about which no claim of a difference is made."""
    return without_claimed_means(claims).of(MEANS.id).made


def describe_groups(claims: Claims) -> Iterator[Sentence]:
    """What the tests of groups did not show, and what was not tested."""
    left = [claim for claim in claims.of(RATERS.id, CASES.id) if not claim.made]
    unclear = [claim for claim in left if code_of(claim.why_not or "") == "not_significant"]
    if unclear:
        text = "No difference can be told by the {} of {}. This does not show that there is none.{}"
        parts = [compose("{} (adjusted p {}, compared with {})", c.about, _p_of(c), f"{c.alpha:.2g}") for c in unclear]
        shared = f" {ALPHA:g} is shared by Holm's method with the other kinds of claims."
        some = any(claim.alpha < ALPHA for claim in unclear)
        yield compose(text, "test" if len(unclear) == 1 else "tests", join_parts(parts, "; ", "; "), shared * some)
    reasons: dict[str, list[str]] = {}
    for claim in left:
        if claim not in unclear:
            reasons.setdefault(str(claim.why_not), []).append(claim.about)
    for why, groups in reasons.items():
        yield compose("No difference is claimed between the groups {}: {}.", "; ".join(groups), why)


def _p_of(claim: Claim) -> Cell:
    """The adjusted p value, with its address."""
    return next(cell for cell in claim.rests_on if "_p_holm" in cell.at)


def _p_cell(table: TableIndex, pair: GroupPair) -> Cell:
    extra = (pair.by, pair.of, pair.first, pair.second)
    cell = table.cell(f"{pair.statistic}_p_holm", "mean", *extra, label=pair.label, digits=3)
    return replace(cell, shown=SMALL_P) if cell.shown == "0.000" else cell


SMALL_P = "< 0.001"


def _consider_means(log: ClaimLog, table: TableIndex, pair: GroupPair, facts: GroupFacts) -> None:
    extra = (pair.by, pair.of, pair.first, pair.second)
    difference = table.row(f"{pair.statistic}_difference", "mean", *extra, label=pair.label)
    about = f"{pair.first} and {pair.second} ({pair.by})"
    if not is_defined(difference):
        undefined = Note("undefined", "the difference is undefined")
        log.consider(MEANS, (MEANS.says,), about=about, why_not=undefined)
        return
    of_raters = pair.of == "raters"
    untested = math.isnan(pair.p_holm)
    p: Sentence = compose(", adjusted p {}", _p_cell(table, pair)) if not untested else ()
    if not untested and pair.smallest > ALPHA:
        p = (*p, f" (with so few {pair.of} it cannot be below {pair.smallest:.2g})")
    why = f"; not tested: {reason(pair.p_holm)}" if untested else ""
    these = " and for these raters alone" if of_raters and has_interval(difference) else ""
    groups = [(g, g if of_raters else "") for g in (pair.first, pair.second)]
    a, b = (table.cell(pair.statistic, "mean", pair.by, pair.of, *group, label=pair.label) for group in groups)
    between: Sentence = ()
    if of_raters:
        between = compose(", {} between them", table.cell(pair.statistic, "mean", *extra, label=pair.label))
    where = "within" if of_raters else f"in {facts.subject}s of"
    text = (
        "By {by}, the mean {word} of two raters {is_} {a} {where} {one} and {b} {where} {two}{between}; the difference "
        "({one} minus {two}) {is_} {d}, over {n}{these}{p}{why}."
    )
    sentence, result = (
        compose(
            text, by=pair.by, word=f"{'macro mean of ' if pair.label else ''}{WORDS[pair.statistic]}", is_=be, a=a, b=b,
            where=where, one=Cell(pair.first), two=Cell(pair.second), between=between, d=table.quote(difference, 3),
            n=spell_count(difference.n or 0, facts.subject), these=these, p=p, why=why,
        )
        for be in ("is", "was")
    )  # fmt: skip
    log.consider(MEANS, sentence, about=about, result=result)


def _order(pair: GroupPair) -> float:
    return math.inf if math.isnan(pair.p_holm) else pair.p_holm


def _consider_pair(log: ClaimLog, kind: ClaimKind, table: TableIndex, pair: GroupPair, facts: GroupFacts) -> None:
    extra = (pair.by, pair.of, pair.first, pair.second)
    difference = table.row(f"{pair.statistic}_difference", "mean", *extra, label=pair.label)
    about = f"{pair.first} and {pair.second} ({pair.by})"
    why = _too_little(kind, pair, difference, facts)
    if why is not None or not is_defined(difference):
        log.consider(kind, (kind.says,), about=about, why_not=why or Note("undefined", "the difference is undefined"))
        return
    higher = (pair.first, pair.second) if difference.value > 0 else (pair.second, pair.first)
    log.consider(
        kind,
        _sentence(kind, table, pair, higher, difference, facts, past=False),
        about=about,
        result=_sentence(kind, table, pair, higher, difference, facts, past=True),
        rests_on=[_p_cell(table, pair)],
        withheld=_withheld(pair, difference, facts) if kind is RATERS else _no_interval(difference),
        p_value=float(pair.p_holm),
    )


def _too_little(kind: ClaimKind, pair: GroupPair, difference: Row | None, facts: GroupFacts) -> Note | None:
    """Why two groups cannot be compared; None where they can."""
    if kind is CASES and facts.raters < FEWEST_RATERS:
        return Note("too_few_raters", f"there are {facts.raters} raters; it takes {FEWEST_RATERS}")
    if math.isnan(pair.p_holm):
        return Note(code(pair.p_holm), f"not tested: {reason(pair.p_holm)}")
    if pair.smallest > ALPHA:
        return Note(
            "too_few_arrangements_for_tests",
            f"with so few ways to divide these {pair.of} into groups, no p value adjusted over {pair.tests} tests can "
            f"be below {pair.smallest:.2g}",
        )
    if difference is not None and not has_interval(difference):
        end = difference.value if difference.low is None else difference.low
        return Note(code(end), f"the difference has no interval: {reason(end)}")
    return None


def _no_interval(difference: Row) -> Note | None:
    assert difference.low is not None
    assert difference.high is not None
    if difference.low * difference.high <= 0:
        return Note("interval_holds_zero", "the interval of the difference holds 0")
    return None


def _withheld(pair: GroupPair, difference: Row, facts: GroupFacts) -> Note | None:
    if set(pair.raters) & facts.copies:
        return Note("possible_copies", "some of these raters may be copies, who agree for another reason")
    if set(pair.raters) & facts.broken:
        return Note("broken_mask", "a mask of one of these raters is probably broken")
    return _no_interval(difference)


def _sentence(
    kind: ClaimKind, table: TableIndex, pair: GroupPair, higher: Sequence[str], difference: Row, facts: GroupFacts, *,
    past: bool,
) -> Sentence:  # fmt: skip
    one, two = higher
    shown = table.quote(difference, 3)
    word = f"{'macro mean of ' if pair.label else ''}{WORDS[pair.statistic]}"
    count, unseen = difference.n or 0, ""
    if kind is RATERS:
        text = (
            "By {by}, raters of the group {one} {agree} more with each other than those of the group {two}: their mean "
            "{word} {is_} {a} within {one} and {b} within {two}, and over the {n} that all of them read the difference "
            "({first} minus {second}) {is_} {d}."
        )
        a, b = (table.cell(pair.statistic, "mean", pair.by, pair.of, g, g, label=pair.label) for g in higher)
        n = spell_count(count, facts.subject)
    else:
        text = (
            "By {by}, raters {agree} more in {cases} of the group {one} than in those of the group {two}: the mean "
            "{word} {is_} {a} in {one} and {b} in {two}, and the difference ({first} minus {second}) "
            "{is_} {d}{unseen}."
        )
        a, b = (table.cell(pair.statistic, "mean", pair.by, pair.of, g, "", label=pair.label) for g in higher)
        n = number_word(count)
        rows = [table.row(pair.statistic, "mean", pair.by, pair.of, g, "", label=pair.label) for g in higher]
        small = min((row.n or 0 for row in rows if row is not None), default=0)
        unseen = unseen_failures(small, facts.subject, "a group")[past]
    return compose(
        text, by=pair.by, first=pair.first, second=pair.second, one=Cell(one), two=Cell(two), n=n, word=word,
        d=shown, a=a, b=b, unseen=unseen, cases=f"{facts.subject}s", agree="agreed" if past else "agree",
        is_="was" if past else "is",
    )  # fmt: skip
