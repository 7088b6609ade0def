"""The adjudicated reference standard of a study: every decision, how far to trust them, and the masks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from ...claims.adjudication import Adjudication, consider_adjudication
from ...claims.claim import ClaimLog, Claims
from ...claims.numbers import TableIndex
from ...claims.sentences import counted, join_names
from ...io.decision_log import Entry, LogContent, canonical
from ...io.result_tables import DataTable, PlainTable
from ...study import Progress, Study
from ...study.adjudicated import METHOD, find_logs, rule_of, with_decisions
from ...study.adjudicated import effective as effective_entries
from ..result import (
    Result,
    StudySource,
    Tables,
    console_or_stdout,
    need_pixels,
    open_raters,
    results_folder,
    summary_of,
)
from ..tables import Settings
from .decisions import HEADER, CaseOutcome, Record, list_decisions, settle_case
from .statistics import adjudication_table


@dataclass(frozen=True, eq=False, repr=False)
class Adjudicated(Result):
    """The result of :func:`manytruths.adjudicated`.

    Attributes
    ----------
    study : Study
        The study, with its decisions.
    settings : Settings
        Level of intervals.
    record : Record
        Every decision, and the logs that they come from.
    cases : Mapping[str, CaseOutcome]
        What became of the disputes of each case.
    tables : Tables
        ``decisions``, one row for each, and ``adjudication``.
    notes : tuple of str
        What a reader should know about the numbers.
    """

    command: ClassVar[str] = METHOD

    study: Study
    settings: Settings
    record: Record
    cases: Mapping[str, CaseOutcome]
    tables: Tables[DataTable]
    notes: tuple[str, ...] = ()

    @cached_property
    def masks(self) -> Mapping[str, NDArray[Any]]:
        """The adjudicated mask of every case, read when it is asked for; masked where it is not evaluable."""
        return _Masks(self.study)

    @cached_property
    def logs(self) -> tuple[LogContent, ...]:
        """The logs of the decisions."""
        return self.record.logs

    @cached_property
    def facts(self) -> Adjudication:
        """What sentences are about."""
        return adjudication_facts(self)

    @cached_property
    def claims(self) -> Claims:
        """What is said about the adjudication, and what was considered and not said."""
        log = ClaimLog()
        consider_adjudication(log, self.facts, TableIndex("adjudicated/adjudication.csv", self.tables["adjudication"]))  # type: ignore[arg-type]
        return log.settle()

    def summary(self) -> dict[str, Any]:
        """What ``summary.json`` holds."""
        return summary_of(
            METHOD, [self.tables["adjudication"]],  # type: ignore[list-item]
            cases=len(self.study), subjects=len(self.study.subjects), raters=list(self.study.rater_names),
            adjudicators=list(self.record.adjudicators), settings=self.settings,
            logs=[_log_facts(log) for log in self.logs], notes=list(self.notes),
        )  # fmt: skip

    def describe(self) -> str:
        """What was decided, in one line."""
        total = sum(outcome.counts["disputes"] for outcome in self.cases.values())
        done = sum(outcome.counts["decided"] for outcome in self.cases.values())
        who = counted(len(self.record.adjudicators), "adjudicator")
        return f"{who}, {done} of {counted(total, 'dispute')} decided"

    def print(self, console: Any = None) -> None:
        """Print the sentences and the notes."""
        screen = console_or_stdout(console)
        for line in (*map(str, str(self.claims).splitlines()), *self.notes):
            screen.print(line, markup=False, highlight=False)


def _log_facts(log: LogContent) -> dict[str, Any]:
    return {
        "adjudicator": log.adjudicator, "machine": log.machine, "entries": len(log.entries), "digest": log.digest
    }  # fmt: skip


class _Masks(Mapping[str, NDArray[Any]]):
    """The masks of a study by case, each read when it is asked for."""

    def __init__(self, study: Study) -> None:
        self._study = study

    def __getitem__(self, name: str) -> NDArray[Any]:
        mask: NDArray[Any] = self._study[name].read(by_tile=True).adjudicated.mask
        return mask

    def __iter__(self) -> Iterator[str]:
        return (case.name for case in self._study)

    def __len__(self) -> int:
        return len(self._study)


def adjudicated(
    study: StudySource,
    *,
    out: str | Path | None = None,
    decisions: str | Path | None = None,
    level: float = 0.95,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Adjudicated:
    """Put the decisions of adjudicators together: the adjudicated reference standard, and how far to trust it.

    The mask of a case is the consensus that the rule of the adjudication names, with the pixels that were chosen or
    drawn in place of each dispute that was decided. Disputes that two adjudicators decided differently stay as the rule
    has them until a third agrees with one of them. Controls and second showings measure the adjudicators.

    Parameters
    ----------
    study : Study, str, Path or sequence of these
        A study, or what :meth:`Study.open` takes: a template with ``{rater}`` and ``{case}``, or a ``study.toml``.
    out : str or Path, optional
        Folder for the results, written to ``out/adjudicated/``; by default nothing is written.
    decisions : str or Path, optional
        Where the logs are: a folder, a log or a pack; by default those that the study names, or the folder
        ``manytruths-adjudication``.
    level : float
        Confidence level of intervals.
    jobs : int
        Number of worker processes. Results do not depend on it.
    progress : callable, optional
        Called with the number of cases that are done and of all cases.

    Returns
    -------
    Adjudicated
        ``tables["decisions"]``, ``tables["adjudication"]``, claims, notes and ``masks`` by case.

    Raises
    ------
    InputError
        Where there are no decisions about the study, or a log is of another study, damaged or of a newer version.

    Examples
    --------
    >>> import manytruths as mt
    >>> result = mt.adjudicated("masks/{rater}/{case}.png")  # doctest: +SKIP
    >>> result.masks["p01"], result.tables["decisions"].to_frame()  # doctest: +SKIP
    """
    settings = Settings(level=level, jobs=jobs)
    opened = open_raters(study)
    need_pixels(opened, METHOD)
    if decisions is not None:
        options = replace(opened.options, decisions=str(decisions))
        opened = Study(
            [replace(case, decisions=None) for case in opened], options, opened.properties, coded=opened.coded,
            left_out=opened.left_out, unused=opened.unused, executor=opened.executor, tallied=opened.tallied,
        )  # fmt: skip
    with results_folder(out, METHOD, jobs=jobs) as folder:
        result = compute_adjudicated(opened, settings, progress)
        if folder is not None:
            result.write_into(folder)
    return result


def compute_adjudicated(study: Study, settings: Settings, progress: Progress | None = None) -> Adjudicated:
    """The same of a study that was opened."""
    logs = find_logs(study)
    study = with_decisions(study, logs)
    cases = {case.name: outcome for case, outcome in study.map(settle_case, jobs=settings.jobs, progress=progress)}
    return tabulate_adjudicated(study, logs, cases, settings)


def tabulate_adjudicated(
    study: Study, logs: tuple[LogContent, ...], cases: Mapping[str, CaseOutcome], settings: Settings
) -> Adjudicated:
    """The tables of cases that were settled one by one."""
    record = list_decisions(logs, cases)
    rule = rule_of(effective_entries(logs))
    tables: list[DataTable] = [
        PlainTable("decisions", HEADER, (decision.record() for decision in record.decisions)),
        adjudication_table(record, cases, rule, settings.level, {case.name: case.subject for case in study}),
    ]
    return Adjudicated(study, settings, record, cases, Tables(tables), tuple(_notes(logs, cases)))


def _notes(logs: tuple[LogContent, ...], cases: Mapping[str, CaseOutcome]) -> Iterator[str]:
    voids: dict[int, list[str]] = {}
    for name, outcome in cases.items():
        yield from (f"case {name}: decision {text}" for text in outcome.invalid)
        if outcome.counts["not_evaluable"]:
            voids.setdefault(outcome.void, []).append(name)
    for void, names in voids.items():
        yield f"what is not evaluable has the value {void} in the masks of {join_names(names)}"
    versions = sorted({entry.version for log in logs for entry in log.entries})
    if len(versions) > 1:
        yield f"the logs were written by several versions of manytruths: {', '.join(versions)}"
    opened = [entry.payload.get("rule") for log in logs for entry in log.entries if entry.action == "open"]
    if len({canonical(rule) for rule in opened if rule}) > 1:
        yield "the logs were opened with different rules; the last one holds"


def adjudication_facts(result: Adjudicated) -> Adjudication:
    """What sentences are about, from the logs."""
    entries = effective_entries(result.logs)
    opened = list(_sessions(result))
    settings: list[Mapping[str, Any]] = [payload.get("settings") or {} for payload in opened]
    raters = {name.casefold() for name in result.study.rater_names}
    deciders = result.record.who(result.record.counted)
    own = {d.adjudicator for d in result.record.counted if _rated(result.study, d.case, d.adjudicator)}
    last = {log.id: log for log in result.logs}
    in_mm = [outcome.in_mm for outcome in result.cases.values()]
    decided_by = {d.adjudicator for d in result.record.decisions}
    return Adjudication(
        adjudicators=deciders or result.record.adjudicators,
        also_raters=tuple(name for name in deciders if name.casefold() in raters),
        own_masks=tuple(name for name in deciders if name in own),
        rule=rule_of(entries),
        distances="mm" if all(in_mm) else "mm (pixels where the spacing is not known)" if any(in_mm) else "pixels",
        seeds=tuple(dict.fromkeys(int(p["seed"]) for p in opened if isinstance(p.get("seed"), int))),
        orders=tuple(dict.fromkeys(str(s["order"]) for s in settings if s.get("order"))),
        roles=tuple(dict.fromkeys(str(s["role"]) for s in settings if s.get("role"))),
        names=tuple(bool(s["names"]) for s in settings if "names" in s),
        practice=sum(
            d.purpose == "practice" and d.status != "undone" and d.adjudicator in deciders
            for d in result.record.decisions
        ),
        digests=tuple((g.adjudicator, g.machine, g.digest) for g in last.values() if g.adjudicator in decided_by),
        finished=tuple(
            (e.adjudicator, str(e.payload.get("name", "")), str(e.payload.get("meaning", "")), e.utc)
            for log in result.logs if (e := _last_finish(log)) is not None
        ),
        raters=len(result.study.rater_names),
    )  # fmt: skip


def _sessions(result: Adjudicated) -> Iterator[Mapping[str, Any]]:
    """How each session was opened in which disputes were decided, in order of time."""
    counted = {d.entry.uuid for d in result.record.counted if d.purpose != "rule"}
    used: list[Entry] = []
    for log in result.logs:
        opened: Entry | None = None
        for entry in log.entries:
            if entry.action == "open":
                opened = entry
            elif entry.uuid in counted and opened is not None and opened not in used:
                used.append(opened)
    return (entry.payload for entry in sorted(used, key=lambda entry: entry.utc))


def _rated(study: Study, case: str, who: str) -> bool:
    """Whether somebody marked a case."""
    if case not in {each.name for each in study}:
        return False
    return any(column.name.casefold() == who.casefold() for column in study[case].masks)


def _last_finish(log: LogContent) -> Any:
    last = next((e for e in reversed(log.entries) if e.action in ("finish", "reopen")), None)
    return last if last is not None and last.action == "finish" else None
