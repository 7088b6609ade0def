"""How often claims are made that are false, and how often true ones are: the tables of ``docs/claims.md``.

``python -m tests.simulations.claims [STUDIES] [PART …]`` simulates studies at the least favourable point of each claim
and writes the page; of some parts (raters, algorithms, probability, groups, agreement, planning, whole), their lines
alone. It fails where the lower 99% Monte Carlo limit of a false-claim rate exceeds 5%.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby, product
from pathlib import Path

import numpy as np

from manytruths.claims.catalogue import claim_kinds

from .agreement import failing_rates, rule_rates
from .algorithms import ClaimRate
from .algorithms import claim_rates as algorithm_rates
from .groups import group_rates
from .pipeline import NullStudy, false_claims
from .pipeline import claim_rates as whole_rates
from .planning import simulated_panels
from .probability import claim_rates as probability_rates
from .raters import RaterScenario, claim_rates, right_and_wrong

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
    NullStudy(20, 10, groups=True),
    NullStudy(20, 10, groups=True, primary="groups.raters"),
    NullStudy(24, 9, groups=True, primary="groups.cases"),
)


def rater_rates(studies: int) -> Iterator[ClaimRate]:
    """Claims about raters: among equals, and where one differs."""
    for subjects, raters, labels in product(SUBJECTS, RATERS, LABELS):
        equal = claim_rates(RaterScenario(raters, subjects, labels=labels), studies)
        for (kind, primary), rate in equal.items():
            truth = "equal raters, as the primary claim" if primary else "equal raters"
            yield ClaimRate(kind, truth, subjects, raters, labels, studies, round(rate * studies))
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


def planning_rates(pilots: int) -> Iterator[ClaimRate]:
    """Enough raters, where two more would add exactly the margin, and where they would add a quarter of it."""
    for found in simulated_panels(pilots):
        where = (found.subjects, found.raters, 1, pilots)
        yield ClaimRate("plan.enough_raters", "two more add the margin", *where, round(found.enough * pilots))
        truth = "two more add a quarter of the margin"
        yield ClaimRate("plan.enough_raters", truth, *where, round(found.power * pilots), false=False)


def rate_lines(rates: Iterable[ClaimRate]) -> Iterator[str]:
    """One line for each claim and truth: the largest rate over raters and labels, or for power the smallest."""
    ordered = sorted(rates, key=lambda r: (r.claim, r.truth, r.subjects))
    for (claim, truth), group in groupby(ordered, key=lambda r: (r.claim, r.truth)):
        members = list(group)
        # the primary claim is tested at 5% exactly: the largest of many points shows chance alone
        choose = np.mean if "primary" in truth else max if members[0].false else min
        by_size = [[r.rate for r in members if r.subjects == subjects] for subjects in SUBJECTS]
        cells = [f"{choose(at):.1%}" if at else "" for at in by_size]
        yield f"| `{claim}` | {truth} | {' | '.join(cells)} |"


def kinds_table() -> str:
    """Every kind of claim: what it says, when, and where its error rate is measured."""
    lines = ["| claim | kind | says | is made if | error rate measured at |", "|---|---|---|---|---|"]
    for kind in claim_kinds().values():
        lines.append(f"| `{kind.id}` | {kind.kind} | {kind.says} | {kind.guard} | {kind.null} |")
    return "\n".join(lines)


def whole_lines(studies: int, jobs: int) -> Iterator[str]:
    """How often reports of equal raters hold any false claim, through the public functions."""
    for study in NULL_STUDIES:
        yield whole_line(study, false_claims(study, studies, jobs=jobs))


def whole_line(study: NullStudy, made: Sequence[Sequence[str]]) -> str:
    """How often any false claim is made, and which; ``made`` has those of every study."""
    rates = dict(whole_rates(made))
    anything = rates.pop("any")
    parts = ", ".join(f"`{kind}` {rate:.1%}" for kind, rate in rates.items())
    return f"| {study} | {len(made):,} | {anything:.1%} | {parts} |"


def put(page: str, name: str, text: str) -> str:
    """The page with a text between the marks of a name."""
    start, end = f"<!-- {name}: start -->", f"<!-- {name}: end -->"
    before, _, rest = page.partition(start)
    return f"{before}{start}\n{text}\n{end}{rest.partition(end)[2]}"


def put_lines(page: str, name: str, head: str, lines: Iterable[str]) -> str:
    """The page with lines of a table in place of those about the same; other lines stay."""
    start, end = f"<!-- {name}: start -->", f"<!-- {name}: end -->"
    there = page.partition(start)[2].partition(end)[0].strip().splitlines()[2:]
    whole = {_about(line): line for line in (*there, *lines)}
    columns = "|---" * (head.count("|") - 1) + "|"
    return put(page, name, "\n".join([head, columns, *(sorted(whole.values()) if head == RATES else whole.values())]))


def _about(line: str) -> tuple[str, ...]:
    cells = line.split("|")
    return tuple(cells[1:3]) if "`" in cells[1] else tuple(cells[1:2])


RATES = "| claim | in studies where | 10 subjects | 20 subjects | 50 subjects |"
WHOLE = "| study of equal raters | studies | any false claim | by claim |"
PARTS: dict[str, Callable[[int], Iterator[ClaimRate]]] = {
    "raters": rater_rates,
    "algorithms": algorithm_rates,
    "probability": probability_rates,
    "groups": group_rates,
    "agreement": lambda studies: chain(rule_rates(studies), failing_rates(studies)),
    "planning": lambda studies: planning_rates(max(studies // 20, 50)),
}


def main(studies: int, parts: Sequence[str]) -> int:
    started, rates = time.perf_counter(), []
    for rate in chain.from_iterable(measure(studies) for part, measure in PARTS.items() if part in parts):
        rates.append(rate)
        print(rate.claim, rate.truth, rate.subjects, rate.raters, rate.labels, f"{rate.rate:.3f}", flush=True)
    failing = [r for r in rates if "one subject in ten fails" in r.truth]
    false, true = ([r for r in rates if r.false is which and r not in failing] for which in (True, False))
    whole = []
    for line in whole_lines(max(studies // 4, 50), os.cpu_count() or 1) if "whole" in parts else ():
        whole.append(line)
        print(line, flush=True)
    page = put(PAGE.read_text(encoding="utf-8"), "kinds", kinds_table())
    for name, of in (("false", false), ("failing", failing), ("power", true)):
        page = put_lines(page, name, RATES, rate_lines(of))
    PAGE.write_text(put_lines(page, "any", WHOLE, whole), encoding="utf-8")
    # as the primary claim a test is made at 5% exactly, which one of a hundred points exceeds by chance
    high = [r for r in false if r.lower_limit > ALLOWED and "primary" not in r.truth]
    for rate in high:
        print("above 5%:", rate)
    worst = max((float(line.split("|")[3].strip(" %")) / 100 for line in whole), default=0.0)
    print(f"{time.perf_counter() - started:.0f} s; {len(high)} rates above 5%; any false claim at most {worst:.1%}")
    return len(high) + (worst > ALLOWED_ANY)


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    named = [argument for argument in sys.argv[1:] if not argument.isdigit()]
    sys.exit(main(numbers[0] if numbers else STUDIES, named or [*PARTS, "whole"]))
