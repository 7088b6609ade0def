"""The command ``audit``: from the raters' masks and somebody's published consensus, what made it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

from ...claims.audit import AuditFacts, consider_audit
from ...claims.claim import ClaimLog, Claims
from ...claims.numbers import TableIndex
from ...claims.sentences import counted, number
from ...core.errors import CallError, StudyError
from ...fusion.candidates import Plan
from ...fusion.prior_ranges import Range, intersect, shortest
from ...io.result_tables import DataTable, PlainTable, Row, Table
from ...raters.broken_masks import pixel_name
from ...study import Progress, Study
from ...study.consensus import has_several_labels
from ..many import reference_notes
from ..printing import grid, print_parts
from ..result import Result, StudySource, Tables, console_or_stdout, open_study, results_folder, summary_of
from .case import CaseAudit, audit_case, present_references
from .neighbours import Search, search_case
from .pictures import draw_differences
from .pooling import Group, ReferenceAudit, contained, uses_all

LISTED, BY_CASE, SHOWN = 100, 10, 8
"""Groups in ``audit.csv``, those of them with rows of cases, and groups that are printed."""
MOST_CHANGED = 60
"""Masks that are dilated, and masks that are eroded, of one reference."""
CANDIDATES = (
    "reference", "rank", "candidate", "family", "without", "pixels_different", "dice", "cases_equal", "cases"
)  # fmt: skip


@dataclass(frozen=True)
class AuditSettings:
    """The arguments of :func:`audit`."""

    level_sets: bool
    pictures: bool


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """What made a published consensus; see :func:`audit`.

    Attributes
    ----------
    study : Study
        The study.
    settings : AuditSettings
        The arguments.
    plan : Plan
        The candidates that decide by pattern.
    references : tuple of ReferenceAudit
        Every reference, with all candidates in groups that make the same masks, the nearest first.
    searches : mapping of str to Search
        By reference, what was tried beyond the plan.
    facts : mapping of str to AuditFacts
        By reference, what sentences are made of.
    tables : Tables
        ``audit`` (the nearest groups, pooled and by case), ``candidates`` (every candidate).
    notes : tuple of str
        What to know about it.
    """

    command: ClassVar[str] = "audit"

    study: Study
    settings: AuditSettings
    plan: Plan
    references: tuple[ReferenceAudit, ...]
    searches: Mapping[str, Search]
    facts: Mapping[str, AuditFacts]
    tables: Tables[DataTable]
    notes: tuple[str, ...]

    @cached_property
    def claims(self) -> Claims:
        """What each reference is, or that nothing tried reproduces it."""
        log, table = ClaimLog(), self.tables["audit"]
        assert isinstance(table, Table)
        index = TableIndex("audit/audit.csv", table)
        for facts in self.facts.values():
            consider_audit(log, index, facts)
        return log.settle()

    def describe(self) -> str:
        """What was compared, in one line."""
        most = max(len(audit.candidates) for audit in self.references)
        cases = {case for audit in self.references for case in audit.cases}
        number_of = f"{len(self.references)} consensus{'' if len(self.references) == 1 else 'es'}"
        return f"{number_of} of {counted(len(cases), 'case')} beside {most:,} candidates"

    def summary(self) -> dict[str, Any]:
        """Arguments, what each reference is, and notes."""
        table = self.tables["audit"]
        assert isinstance(table, Table)
        found = [
            {
                "reference": audit.name, "cases": len(audit.cases), "candidates": len(audit.candidates),
                "groups": len(audit.groups), "best": audit.best.name, "pixels_different": audit.best.different,
                "dice": audit.best.dice, "same": [candidate.name for candidate in audit.best.candidates[1:]],
                "fixed_priors": [list(one) for one in self.facts[audit.name].ranges],
            }
            for audit in self.references
        ]  # fmt: skip
        return summary_of("audit", (table,), settings=self.settings, references=found, notes=list(self.notes))

    def write_maps(self, folder: Path) -> list[Path]:
        """Draw what differs between each reference and the nearest candidate, reading the cases again."""
        return _draw(self, folder)

    def print(self, console: Any = None) -> None:
        """Print what each reference is, the nearest candidates, and the notes."""
        console = console_or_stdout(console)
        console.print(self.describe(), style="bold", markup=False, highlight=False)
        for audit in self.references:
            console.print()
            for claim in self.claims.made:
                if claim.about == audit.name:
                    console.print(claim.text, markup=False, highlight=False, soft_wrap=True)
            console.print()
            console.print(_grid(audit, f"{self.facts[audit.name].item}s"))
        print_parts(console, (), self.notes)


def _grid(audit: ReferenceAudit, items: str) -> Any:
    """The nearest groups, for the terminal."""
    of = len(audit.cases)
    header, rows = ["candidate", f"{items} that differ", "Dice", "others like it"], []
    for group in audit.groups[:SHOWN]:
        others = f"{len(group.candidates) - 1:,}"
        rows.append([group.name, f"{group.different:,}", number(group.dice, 4), others])
        if of > 1:
            rows[-1].insert(3, f"{sum(group.equal)} of {of}")
    if of > 1:
        header.insert(3, "equal cases")
    return grid(f"{audit.name}: the nearest of {len(audit.candidates):,} candidates", header, rows)


def audit(
    study: StudySource,
    *,
    level_sets: bool = True,
    pictures: bool = True,
    out: str | Path | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Audit:
    """Find what made a published consensus, from the raters' masks.

    Candidates that decide by pattern come first: votes at every threshold and with every rule for ties, one rater
    alone, the vote without outliers, SIMPLE, and STAPLE by prior, region and threshold, with all raters, without each
    of them and, for votes, without every two. They are look-ups over the patterns of the masks. Where none of them is
    the consensus in every pixel, masks that lie within it are dilated and filled, masks that hold it are eroded, and
    level sets are fitted. Candidates that make the same masks cannot be told apart, and are said to be the same.

    Parameters
    ----------
    study : Study, str, Path or sequence of these
        A study with given references (``reference=`` of :meth:`Study.open`), or what :meth:`Study.open` takes.
    level_sets : bool
        Whether to fit level sets where nothing else is the consensus; they take longest.
    pictures : bool
        Whether to draw what differs between the consensus and the nearest candidate.
    out : str or Path, optional
        Folder for the results, written to ``out/audit/``; by default nothing is written.
    jobs : int
        Number of worker processes. Results do not depend on it.
    progress : callable, optional
        Called after each case.

    Returns
    -------
    Audit
        Groups of candidates by reference, tables, claims, notes and ``write()``.

    Raises
    ------
    StudyError
        If the study has no reference, or one of its references has another size or other labels.

    Examples
    --------
    >>> import manytruths as mt
    >>> a, b, c = [[1, 1, 1, 0, 0]], [[1, 1, 0, 1, 0]], [[1, 0, 0, 0, 0]]
    >>> published = {"p1": {"truth": [[1, 1, 0, 0, 0]]}}
    >>> study = mt.Study.from_arrays({"p1": {"A": a, "B": b, "C": c}}, references=published)
    >>> found = mt.audit(study)
    >>> found.references[0].best.name, found.references[0].best.different
    ('votes >= 2 of 3', 0)
    """
    opened = open_study(study)
    if opened.options.region not in (None, "whole"):
        raise CallError("audit tries regions itself: leave out region= (--region), or give --roi")
    if not any(case.references for case in opened):
        raise StudyError(
            "no case has a reference to be audited: give the template of the consensus, such as "
            "--reference published/{case}.png"
        )
    with results_folder(out, "audit", jobs=jobs) as folder:
        result = _audit(opened, AuditSettings(level_sets, pictures), jobs, progress)
        if folder is not None:
            maps = _draw(result, folder, jobs, progress) if pictures else []
            result.write_into(folder, maps, pictures=pictures)
    return result


def _audit(study: Study, settings: AuditSettings, jobs: int, progress: Progress | None) -> Audit:
    options = study.options
    plan = Plan(
        study.rater_names, has_several_labels(study), bool(options.exchangeable), boxes=study.tallied is None
    )  # fmt: skip
    work = partial(audit_case, plan=plan)
    found = {case.name: one for case, one in study.map(work, jobs=jobs, progress=progress) if one is not None}
    if plan.boxes and not all(one.pixels for one in found.values()):
        found, plan = _without_boxes(found, plan)
    references = [_gather(name, found, plan) for name in present_references(found.values())]
    searches = {one.name: _search(one, found, plan, settings) for one in references if not one.best.exact}
    searches = {name: search for name, search in searches.items() if search.candidates(plan)}
    if searches:
        more = study.with_cases([case for case in study if case.name in found])
        later = more.map(partial(search_case, plan=plan, searches=searches), jobs=jobs, progress=progress)
        by_case = {case.name: compared for case, compared in later}
        references = [
            one.extended(
                searches[one.name].candidates(plan), {case: by_case[case][one.name] for case in one.cases}
            ) if one.name in searches else one
            for one in references
        ]  # fmt: skip
    facts = {one.name: _facts(one, found, plan, searches.get(one.name)) for one in references}
    tables: Tables[DataTable] = Tables((_table(references, facts), _candidates(references)))
    notes = (*_notes(study, found, plan, settings, references, searches), *_doubts(facts.values()))
    return Audit(study, settings, plan, tuple(references), searches, facts, tables, notes)


def _without_boxes(found: Mapping[str, CaseAudit], plan: Plan) -> tuple[dict[str, CaseAudit], Plan]:
    """Without what asks where marks are, which is not looked up in large images."""
    fewer = replace(plan, boxes=False)
    kept, known = {candidate.name for candidate in fewer.candidates}, plan.candidates
    places = [place for place, candidate in enumerate(known) if candidate.name in kept]
    chosen = {
        case: replace(one, compared={name: compared.chosen(places) for name, compared in one.compared.items()})
        for case, one in found.items()
    }
    return chosen, fewer


def _gather(name: str, found: Mapping[str, CaseAudit], plan: Plan) -> ReferenceAudit:
    own = {case: one for case, one in found.items() if name in one.compared}
    compared = tuple(one.compared[name] for one in own.values())
    return ReferenceAudit(name, tuple(own), tuple(plan.candidates), compared, tuple(one.marks for one in own.values()))


def _search(audit: ReferenceAudit, found: Mapping[str, CaseAudit], plan: Plan, settings: AuditSettings) -> Search:
    """What to try of one reference beyond the plan."""
    cases = [found[case] for case in audit.cases]
    if plan.several:
        return Search()
    used = frozenset[str]().union(*(one.used.get(audit.name, frozenset()) for one in cases))
    unused = tuple(name for name in plan.raters if name not in used)
    ranges = intersect([one.ranges.get(audit.name, []) for one in cases])
    pixels = all(one.pixels for one in cases)
    within, around = (list(contained(audit, within=within)) if pixels else [] for within in (True, False))
    return Search(
        grown=tuple(group.place for group in within[:MOST_CHANGED]),
        shrunk=tuple(group.place for group in around[:MOST_CHANGED]),
        # one or two are left out in the plan
        left_out=unused if 2 < len(unused) < len(plan.raters) else (), prior=shortest(*ranges[0]) if ranges else None,
        level_sets=pixels and settings.level_sets and len(plan.raters) > 1, axes=cases[0].axes,
    )  # fmt: skip


def _facts(audit: ReferenceAudit, found: Mapping[str, CaseAudit], plan: Plan, search: Search | None) -> AuditFacts:
    cases = [found[case] for case in audit.cases]
    ranges: list[Range] = intersect([one.ranges.get(audit.name, []) for one in cases])
    used = frozenset[str]().union(*(one.used.get(audit.name, frozenset()) for one in cases))
    outliers = {one.outliers for one in cases}
    best = audit.best
    everybody = audit.nearest_of_all_raters
    mean_vote = next((g for g in audit.groups if any(c.name == MEAN_VOTE for c in g.candidates)), None)
    return AuditFacts(
        reference=audit.name, best=_key(best), exact=best.exact, same=tuple(c.name for c in best.candidates[1:]),
        families=tuple(c.family for c in best.candidates),
        next=_key(audit.groups[1]) if len(audit.groups) > 1 else None,
        candidates=len(audit.candidates), items=audit.items, cases=len(audit.cases), ranges=tuple(ranges),
        mean_vote=None if mean_vote is None else _key(mean_vote),
        left_out=() if uses_all(best) else _not_used(best),
        everybody=_key(everybody),
        unused=tuple(name for name in plan.raters if used and name not in used),
        outliers=outliers.pop() if len(outliers) == 1 and best.candidates[0].family == "excl" else (),
        agree=all(one.agree for one in cases), marked=audit.marked, raters=len(plan.raters),
        item=pixel_name(max(one.axes for one in cases)),
    )  # fmt: skip


def _not_used(group: Group) -> tuple[str, ...]:
    """Whom every candidate of a group leaves out: where some leave out others, nobody can be named."""
    first, *others = group.candidates
    return tuple(name for name in first.left_out if all(name in other.left_out for other in others))


MEAN_VOTE = "STAPLE, prior the mean vote"


def _key(group: Group) -> tuple[int, str]:
    """How a group is found in the table."""
    return group.rank, group.name


def _table(references: Sequence[ReferenceAudit], facts: Mapping[str, AuditFacts]) -> Table:
    """The nearest groups of every reference, pooled and by case, and the intervals of fixed priors."""
    table = Table("audit", ("reference", "rank", "candidate"))
    for one in references:
        kept = {facts[one.name].best, facts[one.name].everybody, facts[one.name].next, facts[one.name].mean_vote}
        shown = [group for group in one.groups if group.rank <= LISTED or _key(group) in kept]
        for group in shown:
            extra = (one.name, group.rank, group.name)
            values = {
                "pixels_different": group.different, "dice": group.dice, "cases_equal": sum(group.equal),
                "candidates": len(group.candidates),
            }  # fmt: skip
            for name, value in values.items():
                table.append(Row("pooled", name, float(value), region="whole", extra=extra, n=len(one.cases)))
        for group in shown[:BY_CASE]:
            for place, case in enumerate(one.cases):
                different, dice = one.in_case(group, place)
                extra = (one.name, group.rank, group.name)
                items = one.compared[place].items
                table.append(Row("case", "pixels_different", float(different), case, "", "", "whole", extra, n=items))
                table.append(Row("case", "dice", dice, case, "", "", "whole", extra, n=items))
        for place, (low, high) in enumerate(facts[one.name].ranges, start=1):
            extra = (one.name, place, FIXED_PRIOR)
            for name, value in (("smallest_prior", low), ("largest_prior", high)):
                table.append(Row("pooled", name, value, region="whole", extra=extra, n=len(one.cases)))
    return table


FIXED_PRIOR = "STAPLE, fixed prior"


def _candidates(references: Sequence[ReferenceAudit]) -> PlainTable:
    rows = (
        (
            one.name, group.rank, candidate.name, candidate.family, "; ".join(candidate.left_out), group.different,
            group.dice, sum(group.equal), len(one.cases),
        )
        for one in references
        for group in one.groups
        for candidate in group.candidates
    )  # fmt: skip
    return PlainTable("candidates", CANDIDATES, rows)


def _notes(
    study: Study, found: Mapping[str, CaseAudit], plan: Plan, settings: AuditSettings,
    references: Sequence[ReferenceAudit], searches: Mapping[str, Search],
) -> Iterator[str]:  # fmt: skip
    yield from reference_notes(study)
    open_ones = [one for one in references if not one.best.exact]
    if plan.exchangeable:
        yield "raters are exchangeable: none is taken alone or left out"
    elif len({left for left, _ in plan.rules}) == 1 and len(plan.raters) > 2:
        yield f"of {len(plan.raters)} raters none is left out: that is tried of up to 20"
    if not plan.boxes:
        yield "nothing was cropped to a bounding box: masks are read by tile or from tally files"
    if open_ones and plan.several:
        yield "of several labels, neither changed masks nor level sets are tried"
    elif open_ones and not all(one.pixels for one in found.values()):
        yield "masks that are read by tile or from tally files are not changed, and no level sets are fitted to them"
    elif open_ones and not settings.level_sets:
        yield "no level sets were fitted (--no-level-sets)"
    if any(len(getattr(search, side)) == MOST_CHANGED for search in searches.values() for side in ("grown", "shrunk")):
        yield (
            f"of the masks that lie within a consensus, and of those that hold it, the nearest {MOST_CHANGED} were "
            "dilated, filled or eroded"
        )


def _doubts(facts: Iterable[AuditFacts]) -> Iterator[str]:
    """Why nothing is said of a consensus that many candidates equal."""
    for one in facts:
        if one.exact and one.doubt is not None:
            yield f"nothing can be told of {one.called}, since {one.doubt}"


def _draw(result: Audit, folder: Path, jobs: int = 1, progress: Progress | None = None) -> list[Path]:
    """What differs between each reference and the nearest candidate, of cases where anything does."""
    wanted: dict[str, dict[str, tuple[int, str]]] = {}
    for one in result.references:
        best = one.best
        for case, equal in zip(one.cases, best.equal, strict=True):
            if not equal:
                wanted.setdefault(case, {})[one.name] = best.place, best.name
    cases = [case for case in result.study if case.name in wanted and case.counted is None]
    if not cases:
        return []
    work = partial(draw_differences, plan=result.plan, searches=dict(result.searches), wanted=wanted, folder=folder)
    chosen = result.study.with_cases(cases)
    return [path for _, paths in chosen.map(work, jobs=jobs, progress=progress) for path in paths]
