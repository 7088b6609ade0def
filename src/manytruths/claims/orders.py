"""Words about orders of algorithms under several reference standards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from ..evaluation.ranking.by_reference import ReferenceRankings, Separation
from ..inference.intervals import MIN_SUBJECTS
from .sentences import join_names, number_word, spell_count

MOST_GROUPS = 2
"""Most groups of equal reference standards that are named."""
STANDARD = "reference standard"


def not_tested(subjects: int, each: str) -> str:
    """``not tested: four cases; it takes ten``; empty where there are enough.

    >>> not_tested(4, "case"), not_tested(10, "case")
    ('not tested: four cases; it takes ten', '')
    """
    if subjects >= MIN_SUBJECTS:
        return ""
    return f"not tested: {spell_count(subjects, each)}; it takes {number_word(MIN_SUBJECTS)}"


def all_standards(count: int, every: str = "all {}") -> str:
    """``both reference standards``, ``all nine reference standards``; ``every`` is what stands for three and more.

    >>> all_standards(2), all_standards(9, "each of {}")
    ('both reference standards', 'each of nine reference standards')
    """
    words = {1: "the one", 2: "both"}.get(count) or every.format(number_word(count))
    return f"{words} {STANDARD}{'' if count == 1 else 's'}"


def same_scores(same: Sequence[Sequence[str]], count: int, *, past: bool = False) -> str:
    """``, of which A and expert give the same scores,``; empty where all of them differ.

    >>> same_scores([("A", "expert")], 9)
    ', of which A and expert give the same scores,'
    """
    if not same:
        return ""
    if len(same) > MOST_GROUPS:
        distinct = number_word(count - sum(len(group) - 1 for group in same))
        return f", of which {distinct} {'were' if past else 'are'} distinct,"
    groups = ", and ".join(join_names(group) for group in same)
    return f", of which {groups}{',' if len(same) > 1 else ''} {'gave' if past else 'give'} the same scores,"


def first_places(orders: ReferenceRankings, *, past: bool = False) -> str:
    """``net is first under eight and filter under one``."""
    firsts: Counter[tuple[str, ...]] = Counter()
    for ranking in orders.rankings:
        firsts[ranking.places[0]] += len(ranking.references)
    (leaders, most), *rest = firsts.most_common()
    verb = ("were" if past else "are") if len(leaders) > 1 else ("was" if past else "is")
    head = f"{join_names(leaders)} {verb} first under"
    if not rest:
        return f"{head} all of them"
    others = [f"{join_names(names)} under {number_word(count)}" for names, count in rest]
    return join_names([f"{head} {number_word(most)}", *others])


def describe_standards(references: Sequence[str], raters: Collection[str]) -> str:
    """``13 raters, three votes and staple``."""
    votes = [name for name in references if name.partition(":")[0] == "vote"]
    count = sum(name in raters for name in references)
    parts = [spell_count(count, "rater")] if count else []
    parts += [spell_count(len(votes), "vote")] if len(votes) > 1 else votes
    return join_names([*parts, *(name for name in references if name not in raters and name not in votes)])


def compare_pair(pair: Separation, metric: str, others: Mapping[str, Separation]) -> str:
    """Under how many reference standards one of two algorithms is ahead, and by which other measures it is not.

    ``others`` are the same two algorithms by other measures.
    """
    used = {1: "the one standard used", 2: "both standards used"}.get(pair.of, f"each of the {pair.of} standards used")
    if not pair.ahead and not pair.behind:
        return f"By {metric}, {pair.first} and {pair.second} are equal under {used}."
    if not pair.under_each:
        level = pair.of - len(pair.ahead) - len(pair.behind)
        behind = f"{pair.second} under {len(pair.behind)}" + (f", and they are equal under {level}" if level else "")
        return (
            f"By {metric}, it depends: of {pair.of} standards used, {pair.first} is ahead under {len(pair.ahead)}, "
            f"{behind}."
        )
    text = f"By {metric}, {pair.first} is ahead of {pair.second} under {used}"
    if pair.whatever and pair.of > 1:
        text += ": its lowest score exceeds the other's highest"
    against = [f"by {name}, {pair.second} is ahead under {len(other.behind)} of {other.of}"
               for name, other in others.items() if other.behind]  # fmt: skip
    return "; ".join([text, *([f"but {join_names(against)}"] if against else [])]) + "."
