"""How the reliability of ratings is shown: in the terminal, as notes, and as charts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...agreement import interpret_alpha
from ...charts.pairs import matrix
from ...charts.reliability import confidence_errors, confidence_ridges, roc_space
from ...charts.svg import shorten
from ...claims.sentences import counted, number
from ...core.undefined import code, reason, undefined_like
from ...ratings.accuracy import Majorities, binomial_tail
from ..printing import grid, print_parts, with_interval
from .intervals import LEVELS, TITLES, Source
from .ordered import TITLES as ORDERED
from .ratings_tables import ConfidenceLevels, conspicuous_raters, operating_points

if TYPE_CHECKING:
    from rich.console import Console

    from .reliability import Reliability


STATISTICS = {
    "percent_agreement": "percent agreement",
    "sigma": "sigma: genuine agreement",
    "krippendorff_alpha": "Krippendorff's alpha",
    "fleiss_kappa": "Fleiss' kappa",
    "gwet_ac1": "Gwet's AC1",
}
LONGEST = 18
"""Longest name of a rater that is printed in full."""
SHORT = {"reference": "as the reference", "majority": "as most others", "given": "accuracy given"}
MAX_NAMES = 6
NO_INTERVAL_OF_RHO = ("few_judged_subjects", "few_subjects_by_majority", "no_spread")
"""Reasons that do not hold for sigma, too."""


def print_reliability(result: Reliability, console: Console) -> None:
    """Print the headline numbers, ρ by source, raters, majorities and notes."""
    ratings, missing = result.ratings, int((~result.ratings.given).sum())
    sizes = {"rater": len(ratings.raters), "case": len(ratings)}
    sizes |= {"subject": len(set(ratings.subjects))} if _units(result) == "subjects" else {}
    gaps = f"; {counted(missing, 'rating')} missing" if missing else ""
    shown = ", ".join(ratings.labels[:8]) + (", …" if len(ratings.labels) > 8 else "")
    console.print(f"[bold]{', '.join(counted(n, thing) for thing, n in sizes.items())}[/bold]{gaps}; ", end="")
    console.print(f"{ratings.kind} labels {shown}\n", markup=False, highlight=False)
    parts = (_headline_grid(result), _ordered_grid(result), _sources_grid(result), _raters_grid(result))
    print_parts(console, parts, ())
    console.print(majorities_text(result.majorities), style="bold", markup=False, highlight=False)
    print_parts(console, (), result.notes)


def _headline_grid(result: Reliability) -> Any:
    rows = []
    for name, title in STATISTICS.items():
        value = result.headline[name]
        label = f"{title} ({LEVELS[result.ratings.kind]})" if name == "krippendorff_alpha" else title
        rows.append([label, with_interval(value), reason(value.value)])
    missing = reason(result.headline["sigma"].low)
    intervals = "" if missing else f", with {result.settings.level:.0%} intervals over {_units(result)}"
    return grid(f"Reliability of the data set{intervals}", ["", "value", ""], rows)


def _ordered_grid(result: Reliability) -> Any:
    """What counts how far two ratings are apart."""
    if result.ordered is None:
        return None
    rows = [
        [ORDERED[name], with_interval(value), reason(value.value)] for name, value in result.ordered.overall.items()
    ]
    return grid("Agreement by the distance of ratings", ["", "value", ""], rows)


def _units(result: Reliability) -> str:
    return "subjects" if len(set(result.ratings.subjects)) < len(result.ratings) else "cases"


def _sources_grid(result: Reliability) -> Any:
    rows = []
    for source in result.sources:
        known = source.accuracy[~np.isnan(source.accuracy)]
        spread = f"{number(float(known.min()), 2)}–{number(float(known.max()), 2)}" if len(known) else "–"
        mean = number(float(known.mean()), 2) if len(known) else "–"
        cases = str(source.rho.n) if source.rho is not None else "–"
        rho = with_interval(result.headline[f"rho {source.name}"])
        rows.append([source.title, rho, cases, mean, spread, judged_cases(source)])
    header = ["competence by", "rho", "cases", "mean accuracy", "of raters", "judged on cases"]
    return grid("rho: genuine agreement that is right by this source of the raters' competence", header, rows)


def judged_cases(source: Source) -> str:
    """On how many cases the accuracies rest: ``6``, ``6–12``; a dash where they are given."""
    counts = source.n[~np.isnan(source.accuracy)].astype(int).tolist()
    if source.name == "given" or not counts:
        return "–"
    return "–".join(dict.fromkeys((str(min(counts)), str(max(counts)))))


def _raters_grid(result: Reliability) -> Any:
    ratings, odd = result.ratings, conspicuous_raters(result.ratings)
    warnings = {"one_label": "one label only", "never_agrees": "never agrees"}
    sources = [s for s in result.sources if s.name != "rasch"]
    model = next((s.rasch for s in result.sources if s.rasch is not None), None)
    rows = []
    for i, rater in enumerate(ratings.raters):
        sure = ratings.confidence[:, i]
        mean = number(float(np.nanmean(sure)), 2) if not np.isnan(sure).all() else "–"
        row = [shorten(rater, LONGEST), str(int(ratings.given[:, i].sum())), mean]
        row += [number(float(values[i]), 2) for values in (*(s.accuracy for s in sources), result.sigma.by_rater)]
        if model is not None:
            ability, *rest = (float(x[i]) for x in (model.ability, model.ability_error, model.infit, model.outfit))
            error, infit, outfit = (number(x, 2) for x in rest)
            row += [f"{number(ability, 2)} ± {error}", infit, outfit]
        flags = [words for name, words in warnings.items() if rater in odd[name]]
        rows.append([*row, *([", ".join(flags)] if any(odd.values()) else [])])
    accuracies = [SHORT[s.name] for s in sources]
    rasch = ["ability", "infit", "outfit"] if model is not None else []
    last = [""] if any(odd.values()) else []
    return grid("Raters", ["", "ratings", "confidence", *accuracies, "sigma", *rasch, *last], rows)


# -- notes -----------------------------------------------------------------------------------------


NORMAL_RATINGS = (
    "intervals of ICC take ratings to be normally distributed; where ratings are skewed they, and those of weighted "
    "kappas and interval alpha, cover less than they say"
)


def list_notes(result: Reliability) -> Iterator[str]:
    """Krippendorff's rule, conspicuous raters, and undefined numbers."""
    ratings, headline = result.ratings, result.headline
    if len(ratings.labels) == 1:
        label = repr(ratings.labels[0])
        yield f"every rating is {label}, so chance agreement is complete; list all possible labels with --labels"
    alpha = headline["krippendorff_alpha"]
    if not reason(alpha.low):
        rule = interpret_alpha(alpha.low, alpha.high)
        yield f"Krippendorff's rule, by the interval of alpha ({alpha.low:.3f} to {alpha.high:.3f}): {rule}"
    if result.ordered is not None and not reason(result.ordered.overall["icc_a1"].low):
        yield NORMAL_RATINGS
    few = code(headline["sigma"].low) == "too_few_subjects"
    if reason(headline["sigma"].low):
        yield f"no {'intervals' if few else 'interval of sigma'}: {reason(headline['sigma'].low)}"
    elif any(source.rasch is not None for source in result.sources):
        yield "the interval of rho by a Rasch model treats its abilities and difficulties as known"
    if reason(alpha.low) and not reason(alpha.value) and not few:
        yield f"no interval of alpha and kappas: {reason(alpha.low)}"
    odd = conspicuous_raters(ratings)
    if odd["one_label"] and len(ratings.labels) > 1:
        yield f"warning: only one label from {_first_names(odd['one_label'])}"
    if odd["never_agrees"]:
        yield f"warning: never agrees with anybody: {_first_names(odd['never_agrees'])}"
    yield from _source_notes(result)
    alone = int((ratings.rated < 2).sum())
    if alone:
        yield f"{counted(alone, 'case')} with fewer than two raters left out"


def _first_names(raters: tuple[str, ...]) -> str:
    return ", ".join(raters[:MAX_NAMES]) + (", …" if len(raters) > MAX_NAMES else "")


def _source_notes(result: Reliability) -> Iterator[str]:
    if len(result.ratings.raters) == 2:
        yield (
            "with two raters, the majority of the others is the other rater, so accuracy by majority is their agreement"
        )
    for source in result.sources:
        if source.rho is None:
            yield f"no rho by {source.title}: {undefined_like(source.value).detail or reason(source.value)}"
            continue
        if source.rho.undefined:
            pairs = counted(source.rho.undefined, "pair")
            why = "a rater who is always right agrees with one who never is"
            rests = f"rho rests on {source.rho.n} of {counted(result.majorities.n, 'case')}"
            yield f"by {source.title}: {pairs} of ratings left out, because {why}; {rests}"
        if code(headline_low := result.headline[f"rho {source.name}"].low) in NO_INTERVAL_OF_RHO:
            yield f"no interval of rho by {source.title}: {reason(headline_low)}"
        unknown = [r for r, a in zip(result.ratings.raters, source.accuracy.tolist(), strict=True) if np.isnan(a)]
        if unknown:
            yield f"by {source.title}: no accuracy of {_first_names(tuple(unknown))}, left out of that rho"
        if source.rasch is not None:
            yield from (f"Rasch model: {note}" for note in source.rasch.notes)


def majorities_text(won: Majorities) -> str:
    """One or two sentences about the majorities."""
    if not won.n:
        return ""
    tied = won.count("tied")
    parts = [
        f"{won.overwhelming_share:.1%} overwhelming ({_votes_needed(won)})",
        f"{won.slim_share:.1%} won by one vote",
        f"{counted(tied, 'tie')}" if tied else "no ties",
    ]
    text = f"Majorities of {counted(won.n, 'case')}: {', '.join(parts)}."
    if not won.n_judged:
        return text
    wrong, much = won.count("wrong"), won.count("wrong_overwhelming")
    wrong_text = f" Wrong: {won.wrong_share:.1%} ({wrong} of {won.n_judged})"
    return text + wrong_text + (f", of them {much / wrong:.0%} overwhelming." if wrong else ".")


def _votes_needed(won: Majorities) -> str:
    """Number of votes for an overwhelming majority, if all cases have the same number of raters."""
    rated = np.unique(won.rated[won.counted])
    if len(rated) > 1:
        return f"p < {won.alpha:g}"
    m = int(rated[0])
    enough = [v for v in range(m // 2 + 1, m + 1) if binomial_tail(v, m) < won.alpha]
    if not enough:
        return f"impossible with {m} votes"
    return f"all {m} votes" if enough[0] == m else f"{enough[0]} of {m} votes or more, p < {won.alpha:g}"


# -- charts ----------------------------------------------------------------------------------------


def charts(result: Reliability) -> dict[str, str]:
    """Charts as SVG by name."""
    svg = {"sigma-between-raters": matrix(result.sigma.pairs, result.ratings.raters, "sigma between raters")}
    points = {rater: (1 - p.specificity, p.sensitivity) for rater, p in operating_points(result).items()}
    if points:
        positive = result.settings.positive or result.ratings.labels[-1]
        svg["roc-space"] = roc_space(points, "Raters against the reference", positive=positive)
    if result.confidence is not None:
        svg |= _confidence_charts(result, result.confidence)
    return svg


def _confidence_charts(result: Reliability, levels: ConfidenceLevels) -> dict[str, str]:
    counts = dict(zip(levels.raters, levels.count, strict=True))
    sure = result.ratings.confidence
    means = {rater: float(np.nanmean(sure[:, i])) for i, rater in enumerate(levels.raters) if counts[rater].any()}
    judged, wrong = levels.judged.sum(axis=0), levels.wrong.sum(axis=0)
    return {
        "confidence": confidence_ridges(
            counts, levels.names, "How sure raters were", means=means | {"": float(np.nanmean(sure))}
        ),
        "confidence-errors": confidence_errors(
            levels.names, judged, wrong, "How often raters were wrong, by confidence", truth=TITLES[levels.source]
        ),
    }
