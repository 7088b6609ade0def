"""What there is to know about a rated data set, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...agreement import interpret_alpha
from ...core.undefined import reason, undefined_like
from ...ratings.majorities import Majorities, tail
from ..printing import counted
from .raters import strange
from .verb import Reliability

MOST_NAMED = 6


def notes_of(found: Reliability) -> Iterator[str]:
    """The rule on alpha, what is strange about raters, and what numbers could not be had."""
    ratings, headline = found.ratings, found.headline
    if len(ratings.labels) == 1:
        yield (
            f"every rating is {ratings.labels[0]!r}, so that chance agreement looks certain; name the labels that "
            "could have been given: --labels"
        )
    alpha = headline["krippendorff_alpha"]
    if not reason(alpha.low):
        rule = interpret_alpha(alpha.low)
        yield f"Krippendorff's rule, by the lower end of alpha ({alpha.low:.3f}): {rule}"
    if reason(headline["sigma"].low):
        yield f"no intervals: {reason(headline['sigma'].low)}"
    elif any(source.rasch is not None for source in found.sources):
        yield "the interval of rho by a Rasch model takes its abilities and difficulties as they are"
    yield from _warnings(found)
    yield from _sources(found)
    alone = int((ratings.rated < 2).sum())
    if alone:
        yield f"{counted(alone, 'case')} rated by fewer than two raters, left out"


def _warnings(found: Reliability) -> Iterator[str]:
    odd = strange(found.ratings)
    if odd["one_label"] and len(found.ratings.labels) > 1:
        yield f"warning: one label only from {_named(odd['one_label'])}"
    if odd["never_agrees"]:
        yield f"warning: never agrees with anybody: {_named(odd['never_agrees'])}"


def _named(raters: tuple[str, ...]) -> str:
    return ", ".join(raters[:MOST_NAMED]) + (", …" if len(raters) > MOST_NAMED else "")


def _sources(found: Reliability) -> Iterator[str]:
    if len(found.ratings.raters) == 2:
        yield "with two raters the majority of the others is the other one: an accuracy by it is their agreement"
    for source in found.sources:
        if source.rho is None:
            yield f"no rho by {source.title}: {undefined_like(source.value).detail or reason(source.value)}"
            continue
        if source.rho.undefined:
            pairs = counted(source.rho.undefined, "pair")
            why = "one who is always right agrees with one who never is"
            yield f"by {source.title}: {pairs} of ratings left out, as {why}"
        unknown = [r for r, a in zip(found.ratings.raters, source.accuracy.tolist(), strict=True) if np.isnan(a)]
        if unknown:
            yield f"by {source.title}: no accuracy of {_named(tuple(unknown))}, who takes no part in that rho"
        if source.rasch is not None:
            yield from (f"Rasch model: {note}" for note in source.rasch.notes)


def majorities_text(won: Majorities) -> str:
    """One or two sentences: how the cases were won."""
    if not won.n:
        return ""
    tied = won.count("tied")
    parts = [
        f"{won.overwhelming_share:.1%} overwhelming ({_least(won)})",
        f"{won.slim_share:.1%} won by one vote",
        f"{counted(tied, 'tie')}" if tied else "no ties",
    ]
    said = f"Majorities of {counted(won.n, 'case')}: {', '.join(parts)}."
    if not won.n_judged:
        return said
    wrong, much = won.count("wrong"), won.count("wrong_overwhelming")
    told = f" Wrong: {won.wrong_share:.1%} ({wrong} of {won.n_judged})"
    return said + told + (f", of them {much / wrong:.0%} overwhelming." if wrong else ".")


def _least(won: Majorities) -> str:
    """How many votes it takes, where all cases have the same number of raters."""
    rated = np.unique(won.rated[won.counted])
    if len(rated) == 1:
        m = int(rated[0])
        enough = [v for v in range(m // 2 + 1, m + 1) if tail(v, m) < won.level]
        if not enough:
            return f"impossible with {m} votes"
        return f"all {m} votes" if enough[0] == m else f"{enough[0]} of {m} votes or more, p < {won.level:g}"
    return f"p < {won.level:g}"
