"""How often claims are made that are false, and how often true ones are: the tables of ``docs/claims.md``.

``python -m tests.simulations.claims [STUDIES]`` simulates studies at the least favourable point of each claim and
writes the page. It fails where the lower 99% Monte Carlo limit of a false-claim rate exceeds 5%.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import groupby, product
from pathlib import Path

from manytruths.claims.catalogue import claim_kinds

from .algorithms import ClaimRate
from .algorithms import claim_rates as algorithm_rates
from .pipeline import NullStudy, false_claims
from .raters import KINDS, RaterScenario, claim_rates, right_and_wrong

STUDIES = 4000
SUBJECTS, RATERS, LABELS = (10, 20, 50), (3, 5, 8), (1, 3)
ALLOWED, ALLOWED_ANY = 0.05, 0.10
PAGE = Path(__file__).parents[2] / "docs" / "claims.md"
NULL_STUDIES = (
    NullStudy(10, 3),
    NullStudy(10, 5),
    NullStudy(20, 5),
    NullStudy(50, 4),
    NullStudy(10, 4, labels=3),
    NullStudy(10, 4, algorithms=2),
)


def rater_rates(studies: int) -> Iterator[ClaimRate]:
    """Claims about raters: among equals, and where one differs."""
    for subjects, raters, labels in product(SUBJECTS, RATERS, LABELS):
        equal = claim_rates(RaterScenario(raters, subjects, labels=labels), studies)
        for kind in KINDS:
            made = round(equal[kind] * studies)
            yield ClaimRate(kind, "equal raters", subjects, raters, labels, studies, made)
    fewer = max(studies // 10, 50)
    different = {
        "raters.larger": (RaterScenario(5, 20, factor=1.4), [0], "one of five draws 1.4 times larger"),
        "raters.outlier": (RaterScenario(5, 20, outlier=2.0), [0], "one of five lies 2 SD off"),
        "raters.clusters": (RaterScenario(6, 20, schools=2.0), [1, 3, 5], "two groups of three, 2 SD apart"),
    }
    for subjects in SUBJECTS:
        for kind, (scenario, right, truth) in different.items():
            there = RaterScenario(**{**vars(scenario), "subjects": subjects})
            found, wrong = right_and_wrong(there, kind, right, fewer)
            where = (subjects, scenario.raters, 1, fewer)
            yield ClaimRate(kind, truth, *where, round(found * fewer), false=False)
            yield ClaimRate(kind, f"of somebody else: {truth}", *where, round(wrong * fewer))


def rates_table(rates: Iterable[ClaimRate]) -> str:
    """One line for each claim and truth: the largest rate over raters and labels, or for power the smallest."""
    lines = ["| claim | in studies where | 10 subjects | 20 subjects | 50 subjects |", "|---|---|---|---|---|"]
    ordered = sorted(rates, key=lambda r: (r.claim, r.truth, r.subjects))
    for (claim, truth), group in groupby(ordered, key=lambda r: (r.claim, r.truth)):
        cells, choose = [], max
        members = list(group)
        for subjects in SUBJECTS:
            at = [r.rate for r in members if r.subjects == subjects]
            choose = max if members[0].false else min
            cells.append(f"{choose(at):.1%}" if at else "")
        lines.append(f"| `{claim}` | {truth} | {' | '.join(cells)} |")
    return "\n".join(lines)


def kinds_table() -> str:
    """Every kind of claim: what it says, when, and where its error rate is measured."""
    lines = ["| claim | kind | says | is made if | error rate measured at |", "|---|---|---|---|---|"]
    for kind in claim_kinds().values():
        lines.append(f"| `{kind.id}` | {kind.kind} | {kind.says} | {kind.guard} | {kind.null} |")
    return "\n".join(lines)


def any_table(studies: int, jobs: int) -> tuple[str, float]:
    """How often reports of equal raters hold any false claim, through the public functions."""
    lines, worst = ["| study of equal raters | any false claim | by claim |", "|---|---|---|"], 0.0
    for study in NULL_STUDIES:
        rates = dict(false_claims(study, studies, jobs=jobs))
        anything = rates.pop("any")
        worst = max(worst, anything)
        parts = ", ".join(f"`{kind}` {rate:.1%}" for kind, rate in rates.items())
        lines.append(f"| {study} | {anything:.1%} | {parts} |")
        print(lines[-1], flush=True)
    return "\n".join(lines), worst


def put(page: str, name: str, text: str) -> str:
    """The page with a text between the marks of a name."""
    start, end = f"<!-- {name}: start -->", f"<!-- {name}: end -->"
    before, _, rest = page.partition(start)
    return f"{before}{start}\n{text}\n{end}{rest.partition(end)[2]}"


def main(studies: int) -> int:
    started = time.perf_counter()
    rates = []
    for rate in (*rater_rates(studies), *algorithm_rates(studies)):
        rates.append(rate)
        print(rate.claim, rate.truth, rate.subjects, rate.raters, rate.labels, f"{rate.rate:.3f}", flush=True)
    false, true = ([r for r in rates if r.false is which] for which in (True, False))
    whole, worst = any_table(max(studies // 4, 50), os.cpu_count() or 1)
    page = put(PAGE.read_text(encoding="utf-8"), "kinds", kinds_table())
    page = put(page, "false", rates_table(false))
    page = put(page, "power", rates_table(true))
    PAGE.write_text(put(page, "any", whole), encoding="utf-8")
    high = [r for r in false if r.lower_limit > ALLOWED]
    for rate in high:
        print("above 5%:", rate)
    print(f"{time.perf_counter() - started:.0f} s; {len(high)} rates above 5%; any false claim at most {worst:.1%}")
    return len(high) + (worst > ALLOWED_ANY)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES))
