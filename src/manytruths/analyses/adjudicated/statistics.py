"""How adjudicators agree with themselves and each other, what they overturned, and how long they took."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from statistics import median

import numpy as np

from ...core.boxed_runs import place_runs, runs_from_pairs
from ...core.runs import divide_runs
from ...inference.quantiles import clustered_proportion_interval
from ...io.result_tables import Row, Table
from ...study.adjudicated import is_third, same_decision
from ...study.disputes import KINDS, SMALL, DisputeRule
from .decisions import CaseOutcome, Decision, Record

EXTRA = ("adjudicator", "other", "kind", "choice")
ALL = ("", "", "", "")
STATES = ("disputes", "decided", "open", "second", "conflict", "stale", "not_evaluable", "added", "ruled", "third")


Subjects = Mapping[str, str]
"""The subject of each case: decisions about one patient are not independent."""


def adjudication_table(
    record: Record, cases: Mapping[str, CaseOutcome], rule: DisputeRule, level: float, subjects: Subjects
) -> Table:
    """The table ``adjudication``."""
    share = partial(share_of, subjects=subjects, level=level)
    table = Table("adjudication", EXTRA)
    table.add(_states(cases))
    table.add(_kinds(cases))
    table.add(_choices(record))
    table.add(_pace(record))
    table.add(_controls(record, share))
    table.add(_first_looks(record, share))
    for name, pairs in (("intra", _repeats(record)), ("inter", _doubles(record))):
        table.add(_agreement(name, pairs, rule, share))
    return table


def _count(statistic: str, value: float, *extra: str, n: int | None = None, case: str = "") -> Row:
    scope = "case" if case else "pooled"
    return Row(scope, statistic, float(value), case, extra=(*extra, *ALL[len(extra) :]), n=n)


def share_of(
    statistic: str, answers: Sequence[tuple[Decision, bool]], *extra: str, subjects: Subjects, level: float
) -> Row:
    """The share of decisions with the answer yes, with an interval that knows whose decisions are about one subject."""
    by_subject: dict[str, list[bool]] = {}
    for decision, answer in answers:
        by_subject.setdefault(subjects.get(decision.case, decision.case), []).append(answer)
    counts, sizes = list(map(sum, by_subject.values())), list(map(len, by_subject.values()))
    low, high = clustered_proportion_interval(counts, sizes, level)
    n = sum(sizes)
    return Row("pooled", statistic, sum(counts) / n, extra=(*extra, *ALL[len(extra) :]), low=low, high=high, n=n)


Share = Callable[..., Row]


def _states(cases: Mapping[str, CaseOutcome]) -> Iterator[Row]:
    """How many disputes there are, and what became of them."""
    for name in STATES:
        yield _count(name, sum(outcome.counts[name] for outcome in cases.values()))
    yield _count("settled", sum(fact.kind in ("unanimous", SMALL) for each in cases.values() for fact in each.settled))
    yield _count("changed", sum(outcome.changed for outcome in cases.values()))
    for case, outcome in cases.items():
        for name in STATES:
            yield _count(name, outcome.counts[name], case=case)
        yield _count("changed", outcome.changed, case=case)


def _kinds(cases: Mapping[str, CaseOutcome]) -> Iterator[Row]:
    counts = Counter(fact.kind for outcome in cases.values() for fact in outcome.disputes)
    for kind in KINDS:
        if counts[kind]:
            yield _count("disputes", counts[kind], "", "", kind)


def _choices(record: Record) -> Iterator[Row]:
    """What was chosen, by kind; whose outline does not matter here."""
    held = [d for d in record.decisions if d.status == "holds"]
    for (kind, choice), count in sorted(Counter((d.kind, choice_word(d)) for d in held).items()):
        yield _count("chosen", count, "", "", kind, choice)
    for choice, count in sorted(Counter(choice_word(d) for d in held).items()):
        yield _count("chosen", count, "", "", "", choice)


def choice_word(decision: Decision) -> str:
    """``rater`` for the outline of any rater."""
    return decision.choice.partition(":")[0]


def _pace(record: Record) -> Iterator[Row]:
    """Decisions of each adjudicator, and their median seconds."""
    for who in ("", *record.adjudicators):
        own = [d for d in record.decisions if who in ("", d.adjudicator) and d.purpose not in ("practice", "rule")]
        kept = [d for d in own if d.status != "undone"]
        yield _count("decisions", len(kept), who)
        known = [d.seconds for d in kept if not math.isnan(d.seconds) and d.seconds > 0]
        if known:
            yield _count("median_seconds", median(known), who, n=len(known))
        rules = {d.entry.uuid for d in record.decisions if d.purpose == "rule" and who in ("", d.adjudicator)}
        if rules:
            yield _count("rules", len(rules), who)


def overturned(decision: Decision, record: Record) -> bool:
    """Whether a control was decided otherwise than by all raters: a lesion that all drew, and none was left; or pixels
    where nobody drew any."""
    fact = record.facts.get(decision.key)
    unmarked = decision.kind == "unmarked" or (fact is not None and fact.kind == "unmarked")
    return decision.marks if unmarked else not decision.marks


def _controls(record: Record, share: Share) -> Iterator[Row]:
    for who in ("", *record.adjudicators):
        own = [d for d in record.of_purpose("control") if who in ("", d.adjudicator)]
        for kind in ("", "unanimous", "unmarked"):
            some = [d for d in own if kind in ("", d.kind)]
            if some:
                yield share("controls_overturned", [(d, overturned(d, record)) for d in some], who, "", kind)


def _first_looks(record: Record, share: Share) -> Iterator[Row]:
    """How often the first look came first, and how often it was kept."""
    for who in ("", *record.adjudicators):
        own = [d for d in record.counted if d.purpose != "rule" and d.kind != "added" and who in ("", d.adjudicator)]
        looked = [d for d in own if d.looked]
        if own:
            yield share("first_look", [(d, d.looked) for d in own], who)
            asked = Counter(what for d in own for what in d.seen if what != "names")
            yield from (_count("asked", asked[what], who, "", "", what) for what in sorted(asked))
        if looked:
            yield share("first_look_kept", [(d, d.first_look == d.presence) for d in looked], who)


Pairs = Sequence[tuple[str, str, Decision, Decision]]


def _repeats(record: Record) -> Pairs:
    """First and second decision of one adjudicator about a lesion."""
    first = {(d.adjudicator, d.key): d for d in record.decisions if d.purpose in ("dispute", "double") and _stays(d)}
    return [
        (d.adjudicator, d.adjudicator, first[d.adjudicator, d.key], d)
        for d in record.of_purpose("repeat")
        if (d.adjudicator, d.key) in first
    ]


def _stays(decision: Decision) -> bool:
    return decision.status not in ("undone", "replaced")


def _doubles(record: Record) -> Pairs:
    """Decisions of two adjudicators about a lesion; who was asked only where two differ says nothing of how often."""
    by_key: dict[str, list[Decision]] = {}
    for decision in record.decisions:
        if (
            decision.purpose in ("dispute", "double")
            and _stays(decision)
            and decision.kind != "added"
            and not (is_third(decision.entry))
        ):
            by_key.setdefault(decision.key, []).append(decision)
    return [
        (*sorted((a.adjudicator, b.adjudicator)), a, b)  # type: ignore[misc]
        for own in by_key.values()
        for a, b in combinations(own, 2)
        if a.adjudicator != b.adjudicator
    ]


def _agreement(name: str, pairs: Pairs, rule: DisputeRule, share: Share) -> Iterator[Row]:
    """Same decision, lesion or none alike, and the Dice of what both left."""
    whom = dict.fromkeys((a, b) for a, b, *_ in pairs)
    for a, b in (("", ""), *whom):
        own = [pair for pair in pairs if (a, b) in (("", ""), pair[:2])]
        if not own:
            continue
        extra = (a, b)
        same = [(one, same_decision(one.entry, two.entry, None, rule)) for *_, one, two in own]
        yield share(f"{name}_agreement", same, *extra)
        yield share(f"{name}_presence", [(one, one.presence == two.presence) for *_, one, two in own], *extra)
        dices = [pair_dice(one, two) for *_, one, two in own if one.marks and two.marks]
        if dices:
            yield Row("pooled", f"{name}_dice", float(np.mean(dices)), extra=(*extra, "", ""), n=len(dices))


def pair_dice(one: Decision, other: Decision) -> float:
    """Dice of the pixels of two decisions."""
    boxes = [tuple((int(a), int(b)) for a, b in each.entry.payload["box"]) for each in (one, other)]
    around = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(*boxes, strict=True))
    painted = [
        place_runs(runs_from_pairs(each.entry.payload["pixels"], box), box, around)
        for each, box in zip((one, other), boxes, strict=True)
    ]
    starts, stops, (x, y) = divide_runs(painted)
    lengths = stops - starts
    shared = int(lengths[(x == y) & (x != 0)].sum())
    return 2 * shared / int(lengths[x != 0].sum() + lengths[y != 0].sum())
