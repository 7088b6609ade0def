"""Claims about an adjudication: who settled which disputes, blinded to what, in what order, and how far to trust it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..core.undefined import Note
from .claim import ClaimKind, ClaimLog
from .numbers import TableIndex
from .sentences import (
    Cell,
    Sentence,
    capitalise,
    compose,
    join_names,
    join_parts,
    number_word,
    plain_text,
    spell_count,
)

if TYPE_CHECKING:
    from ..study.disputes import DisputeRule

SETTLED = ClaimKind(
    "adjudication.settled", "description",
    "So many of the disputes were settled by so many adjudicators, who are named; the others are open, wait for a "
    "second adjudicator, or were decided differently by two.",
    "There are decisions.",
)  # fmt: skip
DISPUTES = ClaimKind(
    "adjudication.disputes", "description",
    "What was a dispute, by which thresholds; how many there were, and which rule settled the others.",
    "There are decisions.",
)  # fmt: skip
BLINDING = ClaimKind(
    "adjudication.blinding", "description",
    "Whether raters were blinded, what else was hidden, what of it was asked for, and whether a first look at the bare "
    "image came before the outlines.",
    "The log says how it was opened.",
)  # fmt: skip
ORDER = ClaimKind(
    "adjudication.order", "description",
    "In what order disputes were shown, with the seed of the order, and how many were for practice.",
    "The log says how it was opened.",
)  # fmt: skip
CHOICES = ClaimKind(
    "adjudication.choices", "description",
    "What was chosen: how often a rater's outline, the union, …, no lesion; how often a drawing.",
    "A decision holds.",
)  # fmt: skip
NOT_EVALUABLE = ClaimKind(
    "adjudication.not_evaluable", "description",
    "So many disputed lesions are not evaluable and count nowhere.",
    "A decision that holds says so.",
)  # fmt: skip
STALE = ClaimKind(
    "adjudication.stale", "description",
    "So many decisions do not count, as their lesions are not in the masks as they were when they were decided.",
    "There is one.",
)  # fmt: skip
OWN_MARKS = ClaimKind(
    "adjudication.own_marks", "description",
    "The adjudicated reference standard is made of the raters' own marks, so that it favours raters whose outlines "
    "were taken; whether an adjudicator is a rater, too.",
    "A dispute is settled, or a lesion added.",
)  # fmt: skip
FIRST_LOOK = ClaimKind(
    "adjudication.first_look", "estimate",
    "After the outlines, the adjudicator kept the answer of the first look in so many decisions.",
    "A first look was logged.", "coverage of the interval, which knows whose decisions are about one patient",
)  # fmt: skip
CONTROLS = ClaimKind(
    "adjudication.controls", "estimate",
    "So many of the controls, lesions on which all raters agreed and regions that nobody marked, were overturned; or "
    "none were shown, so that shared misses of the raters remain.",
    "There are decisions.", "coverage of the interval, which knows whose decisions are about one patient",
)  # fmt: skip
INTRA = ClaimKind(
    "adjudication.intra", "estimate",
    "Shown a dispute for a second time, an adjudicator decided alike in so many.",
    "Disputes were shown twice.", "coverage of the interval, which knows whose decisions are about one patient",
)  # fmt: skip
INTER = ClaimKind(
    "adjudication.inter", "estimate",
    "Two adjudicators decided alike about so many of the disputes that both were shown.",
    "Two adjudicators decided about the same disputes.",
    "coverage of the interval, which knows whose decisions are about one patient",
)  # fmt: skip
RECORD = ClaimKind(
    "adjudication.record", "description",
    "The logs that the decisions come from, with their last digests, and by whom they were finished.",
    "There are decisions.",
)  # fmt: skip
METHODS = (SETTLED.id, DISPUTES.id, BLINDING.id, ORDER.id)
QUALITY = (CONTROLS.id, INTRA.id, INTER.id, FIRST_LOOK.id, NOT_EVALUABLE.id, STALE.id, OWN_MARKS.id)
CHOICE_WORDS = {
    "rater": "the outline of a rater", "union": "the union", "intersection": "the intersection",
    "majority": "the majority", "none": "no lesion", "not_evaluable": "not evaluable",
    "drawn": "a drawing of their own",
}  # fmt: skip
SHOWN_WORDS = {"votes": "vote counts", "consensus": "the consensus", "probability": "probability maps",
               "algorithms": "outlines of algorithms", "names": "names of raters"}  # fmt: skip
BELOW_WORDS = {"vote:0.5": "a vote (marked by at least half of the raters)", "lesions:0.5": "a vote on lesions",
               "vote:any": "the union of the markings", "vote:all": "their intersection"}  # fmt: skip


@dataclass(frozen=True)
class Adjudication:
    """What sentences about an adjudication need besides its table."""

    adjudicators: tuple[str, ...]
    also_raters: tuple[str, ...]
    """Those of them who have the name of a rater."""
    own_masks: tuple[str, ...]
    """Those of these who settled disputes of cases that they had rated."""
    rule: DisputeRule
    distances: str
    """Their unit."""
    seeds: tuple[int, ...]
    orders: tuple[str, ...]
    roles: tuple[str, ...]
    names: tuple[bool, ...]
    """Whether raters were named, in each session in which disputes were decided."""
    practice: int
    digests: tuple[tuple[str, str, str], ...]
    """Adjudicator, machine, last digest."""
    finished: tuple[tuple[str, str, str, str], ...]
    """Adjudicator, name, meaning, time."""
    raters: int


def consider_adjudication(log: ClaimLog, facts: Adjudication, table: TableIndex) -> None:
    """Everything that is said of an adjudication, from the table ``adjudication``."""
    _consider_settled(log, facts, table)
    _consider_disputes(log, facts, table)
    _consider_blinding(log, facts, table)
    _consider_order(log, facts, table)
    _consider_choices(log, table)
    _consider_controls(log, table)
    _consider_agreement(log, INTRA, table, "intra")
    _consider_agreement(log, INTER, table, "inter")
    _consider_first_look(log, table)
    thing = "tile" if facts.rule.unit == "tile" else "lesion"
    _consider_count(log, NOT_EVALUABLE, table, "not_evaluable", _not_evaluable_words(thing))
    _consider_count(log, STALE, table, "stale", _stale_words(thing))
    _consider_own_marks(log, facts, table)
    _consider_record(log, facts)


def _value(table: TableIndex, statistic: str, *extra: str) -> int:
    row = table.row(statistic, "pooled", *(*extra, *("",) * (4 - len(extra))))
    return 0 if row is None or math.isnan(row.value) else round(row.value)


def _cell(table: TableIndex, statistic: str, *extra: str, **how: object) -> Cell:
    return table.cell(statistic, "pooled", *(*extra, *("",) * (4 - len(extra))), **how)  # type: ignore[arg-type]


def _whole(table: TableIndex, statistic: str, *extra: str) -> Cell:
    return _cell(table, statistic, *extra, digits=0)


def _both(log: ClaimLog, kind: ClaimKind, now: Sentence, past: Sentence) -> None:
    log.consider(kind, (*capitalise(now), "."), result=(*capitalise(past), "."))


def _consider_settled(log: ClaimLog, facts: Adjudication, table: TableIndex) -> None:
    total, decided = _value(table, "disputes"), _value(table, "decided")
    if not total and not decided:
        log.consider(SETTLED, (SETTLED.says,), why_not=Note("no_dispute", "there is no dispute"))
        return
    who = _who(facts)
    for_all = decided >= total
    states = {"open": "not decided", "second": "left to a second adjudicator", "conflict": "decided differently by two"}
    parts = [
        compose(f"{{}} {'was' if _value(table, name) == 1 else 'were'} {words}", _whole(table, name))
        for name, words in states.items()
        if _value(table, name)
    ]
    below = BELOW_WORDS.get(facts.rule.below, facts.rule.below)
    tail: Sentence = compose("; {}: there, {} stands", join_parts(parts), below) if parts else ()
    if for_all and not parts:
        all_of = "settled the {} dispute that there was" if total == 1 else "settled all {} disputes"
        now = compose(f"{{}} {all_of}", who, _whole(table, "disputes"))
    else:
        now = compose("{} settled {} of {} disputes", who, _whole(table, "decided"), _whole(table, "disputes"))
    if _value(table, "ruled"):
        now = (*now, *compose(", {} of them by a rule for many at once", _whole(table, "ruled")))
    if _value(table, "third"):
        now = (*now, *compose(", {} of them by a third adjudicator, as two had differed", _whole(table, "third")))
    added = _value(table, "added")
    if added:
        some = ("" if added == 1 else "s") + " that no rater had marked"
        now = (*now, *compose(", and added {} lesion{}", _whole(table, "added"), some))
    past = (*now, *tail)
    _both(log, SETTLED, past, past)


def _who(facts: Adjudication) -> str:
    return f"{spell_count(len(facts.adjudicators), 'adjudicator')} ({join_names(facts.adjudicators)})"


def _consider_disputes(log: ClaimLog, facts: Adjudication, table: TableIndex) -> None:
    rule, unit = facts.rule, facts.distances
    thing = "tile" if rule.unit == "tile" else "lesion"
    limits = [f"the Dice coefficient of the two most different outlines was below {rule.min_dice:g}"]
    if rule.min_mm is not None:
        limits.append(f"their surfaces were more than {rule.min_mm:g} {unit} apart")
    if thing == "lesion":
        reasons = ["a rater missed it", "raters gave it different labels", *limits]
        least = f" of {rule.lesion_min_size} pixels or more" if rule.lesion_min_size > 1 else ""
        what = f"a lesion{least} was in dispute if {', '.join(reasons[:-1])} or {reasons[-1]}"
    else:
        what = f"a tile of {rule.tile} pixels along each axis was in dispute if {' or '.join(limits)}"
    below = BELOW_WORDS.get(rule.below, rule.below)
    total, settled = _value(table, "disputes"), _value(table, "settled")
    count = compose(f"{{}} {'was' if total == 1 else 'were'}", _whole(table, "disputes"))
    past: Sentence = (f"{what}; ", *count)
    if settled:
        others = f". {{}} other {thing}{' was' if settled == 1 else 's were'} settled by {below}"
        past = (*past, *compose(others, _whole(table, "settled")))
    _both(log, DISPUTES, past, past)


def _mixed(values: tuple[bool, ...]) -> str:
    """``yes``, ``no`` or ``partly``."""
    return "" if not values else "partly" if len(set(values)) > 1 else "yes" if values[0] else "no"


def _consider_blinding(log: ClaimLog, facts: Adjudication, table: TableIndex) -> None:
    named, row = _mixed(facts.names), table.row("first_look", "pooled", "", "", "", "")
    if not named or row is None:
        why = Note("not_logged", "the logs do not say how outlines were shown")
        log.consider(BLINDING, (BLINDING.says,), why_not=why)
        return
    they = "the adjudicators" if len(facts.adjudicators) > 1 else "the adjudicator"
    blind = {
        "no": "raters stood under letters, in an order that was shuffled by case",
        "yes": f"{they} saw the names of the raters",
        "partly": f"{they} saw the names of the raters in some sessions, and letters in others",
    }[named]
    looked = round(row.value * (row.n or 0))
    if looked == row.n:
        first = f"{they} answered from the bare image whether there was a lesion, before they saw outlines"
    elif looked:
        share = compose("in {} of {} decisions, {} looked at the bare image before the outlines were shown",
                        table.quote(row, 0, percent=True, interval=False), number_word(row.n or 0), they)  # fmt: skip
        first = plain_text(share)
    else:
        first = "the outlines were shown without a first look at the bare image"
    asked = {str(each.extra[3]): each for each in table.rows if each.statistic == "asked" and not each.extra[0]}
    hidden = [words for what, words in SHOWN_WORDS.items() if what not in (*asked, "names")]
    past: Sentence = (f"{first}; {blind}", f". {_capital(join_names(hidden))} were hidden" if hidden else "")
    if asked:
        of_all = spell_count(row.n or 0, "decision")
        parts = [
            compose(f"{SHOWN_WORDS.get(what, what)} in {{}} of {of_all}", table.quote(each, 0, interval=False))
            for what, each in asked.items()
        ]
        past = (*past, *compose(". Shown on request were {}", join_parts(parts)))
    _both(log, BLINDING, past, past)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _consider_order(log: ClaimLog, facts: Adjudication, table: TableIndex) -> None:
    if not _value(table, "decisions"):
        log.consider(ORDER, (ORDER.says,), why_not=Note("no_decision", "nothing but practice was decided in the page"))
        return
    if not facts.orders and not facts.seeds:
        log.consider(ORDER, (ORDER.says,), why_not=Note("not_logged", "the logs do not say in which order"))
        return
    by = {"subject": "subject by subject, subjects in a shuffled order", "doubt": "by falling size and doubt"}
    how = join_names([by.get(order, order) for order in facts.orders]) or "in a shuffled order"
    seeds = f" ({'seed' if len(facts.seeds) == 1 else 'seeds'} {join_names([str(s) for s in facts.seeds])})"
    practice = ""
    if facts.practice:
        does = "does" if facts.practice == 1 else "do"
        practice = f", after {spell_count(facts.practice, 'practice decision')} that {does} not count"
    past = (f"disputes were shown {how}{seeds if facts.seeds else ''}{practice}",)
    _both(log, ORDER, past, past)


def _consider_choices(log: ClaimLog, table: TableIndex) -> None:
    rows = [row for row in table.rows if row.statistic == "chosen" and not row.extra[2] and row.value]
    if not rows:
        log.consider(CHOICES, (CHOICES.says,), why_not=Note("no_decision", "no decision holds"))
        return
    rows.sort(key=lambda row: -row.value)
    parts = [
        compose(f"{CHOICE_WORDS.get(str(row.extra[3]), str(row.extra[3]))} in {{}}", table.quote(row, 0))
        for row in rows
    ]
    _both(log, CHOICES, *(2 * [compose("by the decisions that hold: {}", join_parts(parts))]))


def _consider_count(log: ClaimLog, kind: ClaimKind, table: TableIndex, statistic: str, words: tuple[str, str]) -> None:
    count = _value(table, statistic)
    if not count:
        log.consider(kind, (kind.says,), why_not=Note("none_there", "there is none"))
        return
    sentence = compose(words[count != 1], _whole(table, statistic))
    _both(log, kind, sentence, sentence)


def _not_evaluable_words(thing: str) -> tuple[str, str]:
    """Of one, and of several."""
    return (
        f"{{}} disputed {thing} is not evaluable: its pixels count nowhere",
        f"{{}} disputed {thing}s are not evaluable: their pixels count nowhere",
    )


def _stale_words(thing: str) -> tuple[str, str]:
    return (
        f"{{}} decision does not count, as its {thing} is not in the masks as it was when it was decided",
        f"{{}} decisions do not count, as their {thing}s are not in the masks as they were when they were decided",
    )


def _consider_own_marks(log: ClaimLog, facts: Adjudication, table: TableIndex) -> None:
    if not _value(table, "decided") and not _value(table, "added"):
        log.consider(OWN_MARKS, (OWN_MARKS.says,), why_not=Note("nothing_settled", "nothing is settled"))
        return
    text = (
        "the adjudicated reference standard is made of the raters' own marks: numbers of raters against it favour "
        "those whose outlines were taken"
    )
    others = [name for name in facts.also_raters if name not in facts.own_masks]
    for names, words in (
        (facts.own_masks, "and settled disputes about their own masks"),
        (others, "but rated none of the cases whose disputes they settled"),
    ):
        if names:
            text += f". {join_names(names)} {'is a rater' if len(names) == 1 else 'are raters'}, too, {words}"
    _both(log, OWN_MARKS, (text,), (text,))


def _consider_first_look(log: ClaimLog, table: TableIndex) -> None:
    row = table.row("first_look_kept", "pooled", "", "", "", "")
    if row is None:
        log.consider(FIRST_LOOK, (FIRST_LOOK.says,), why_not=Note("no_first_look", "no first look was logged"))
        return
    now = compose(
        f"in {{}} of {spell_count(row.n or 0, 'decision')} with a first look, its answer was kept after the outlines",
        table.quote(row, 0, percent=True),
    )
    _both(log, FIRST_LOOK, now, now)


def _consider_controls(log: ClaimLog, table: TableIndex) -> None:
    row = table.row("controls_overturned", "pooled", "", "", "", "")
    if row is None:
        text = ("no controls were shown, so that it is not known whether lesions on which all raters agreed would have "
                "been confirmed, and lesions that all raters missed remain unseen")  # fmt: skip
        _both(log, CONTROLS, (text,), (text,))
        return
    parts = list(_control_parts(table))
    now = compose(
        f"of {spell_count(row.n or 0, 'control')} ({{}}), {{}} {'was' if row.n == 1 else 'were'} overturned",
        join_parts(parts),
        table.quote(row, 0, percent=True),
    )  # fmt: skip
    _both(log, CONTROLS, now, now)


def _control_parts(table: TableIndex) -> Iterator[Sentence]:
    words = {"unanimous": ("lesion on which all raters agreed", "lesions on which all raters agreed"),
             "unmarked": ("region that nobody marked", "regions that nobody marked")}  # fmt: skip
    for kind, (one, many) in words.items():
        row = table.row("controls_overturned", "pooled", "", "", kind, "")
        if row is not None and row.n:
            yield (f"{number_word(row.n)} {one if row.n == 1 else many}",)


def _consider_agreement(log: ClaimLog, kind: ClaimKind, table: TableIndex, name: str) -> None:
    row = table.row(f"{name}_agreement", "pooled", "", "", "", "")
    if row is None:
        why = "no dispute was shown twice" if name == "intra" else "no dispute was decided by two adjudicators"
        log.consider(kind, (kind.says,), why_not=Note("no_second_decision", why))
        return
    # of more than two adjudicators, a dispute has several pairs of decisions
    of_pairs = sum(each.statistic == row.statistic and bool(each.extra[0]) for each in table.rows) > 1
    share, was = table.quote(row, 0, percent=True), "was" if row.n == 1 else "were"
    if of_pairs:
        again = "of disputes shown again, {} of {} pairs of decisions were alike" if name == "intra" else (
            "{} of {} pairs of adjudicators' decisions were alike"
        )  # fmt: skip
        now = compose(again, share, number_word(row.n or 0))
    else:
        again = "shown again, {} of {} {} decided alike" if name == "intra" else (
            "{} of {} that two adjudicators decided {} decided alike"
        )  # fmt: skip
        now = compose(again, share, spell_count(row.n or 0, "dispute"), was)
    dice = table.row(f"{name}_dice", "pooled", "", "", "", "")
    if dice is not None:
        now = (*now, *compose(", and outlines of both decisions had a mean Dice of {}", table.quote(dice)))
    _both(log, kind, now, now)


def _consider_record(log: ClaimLog, facts: Adjudication) -> None:
    several = len(facts.digests) > 1
    logs = [f"{who} on {machine}, {digest}" for who, machine, digest in facts.digests]
    text = (
        f"the decisions stand in {number_word(len(logs))} log{'s' if several else ''} chained by SHA-256 digests; the "
    )
    text += f"last digest{'s are' if several else ' is'} {'; '.join(logs)}"
    for who, name, meaning, utc in facts.finished:
        words = f" ({meaning})" if meaning else ""
        text += f". {name or who} finished the log of {who} on {utc[:10]} at {utc[11:16]} UTC{words}"
    text += ". Names are self-declared"
    _both(log, RECORD, (text,), (text,))
