"""The command ``adjudicate``: find the disputes of a study, and serve, write or merge the pages that settle them."""

from __future__ import annotations

import asyncio
import getpass
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..core.errors import CallError, InputError, StudyError, find_name_fault
from ..io.decision_log import FOLDER, DecisionLog, LogContent, log_name, pack, read_logs, same_study
from ..io.writing import write_errors
from ..study import Progress, Study
from ..study.adjudicated import study_digest
from ..study.case import NO_PIXELS
from ..study.disputes import SECONDS_EACH, CaseDisputes, DisputeCount, DisputeRule, apply_rule, count_disputes
from ..study.logged import check_logs
from .index import Index
from .plan import Order, Role, Settings, change, is_selected, order_subjects
from .session import Session, Unkept, label_names

if TYPE_CHECKING:
    from rich.console import Console

THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)
"""Of the table that is shown before anything starts."""
FIRST_WAIT = 20.0
"""Seconds to index before the page opens, where a dispute is known already."""
SPECK, SPECKS = 5, 0.1
"""Disputes of fewer pixels are pointed out, where they are such a share."""
INDEX = "index"
NOTHING = {
    "first": "there is nothing to settle: no dispute is of the groups, labels and kinds that were chosen",
    "second": "there is nothing to settle: no dispute of somebody else was left to a second adjudicator, by --double "
    "or by the first",
    "third": "there is nothing to settle: no two others differ on a dispute",
}
"""What is said where disputes are there, and none of them is for this adjudicator."""
LONGEST_NAME = 80


@dataclass(frozen=True)
class AdjudicationRun:
    """What :func:`adjudicate` did.

    Attributes
    ----------
    counts : tuple of DisputeCount
        How many disputes each threshold leaves, and the minutes.
    disputes, decided, left : int
        Disputes by the rule; of those of this adjudicator, how many are decided and left.
    written : tuple of Path
        Files that were written, the log among them.
    notes : tuple of str
        What should be known.
    """

    counts: tuple[DisputeCount, ...] = ()
    disputes: int = 0
    decided: int = 0
    left: int = 0
    written: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()

    def print(self, console: Console) -> None:
        """Notes, and what was written."""
        for note in self.notes:
            console.print(note, markup=False, highlight=False, soft_wrap=True)
        for path in self.written:
            console.print(f"written: {path}", markup=False, highlight=False, soft_wrap=True)


def adjudicate(
    study: Study | str | Path,
    *,
    adjudicator: str = "",
    log: str | Path = FOLDER,
    dry_run: bool = False,
    html: str | Path | None = None,
    xlsx: str | Path | None = None,
    merge: Sequence[str | Path] = (),
    pack: str | Path | None = None,
    min_dice: float | None = None,
    min_mm: float | None = None,
    below: str | None = None,
    unit: Literal["lesion", "tile"] | None = None,
    tile: int | None = None,
    lesion_min_size: int | None = None,
    order: Order | None = None,
    only_group: Sequence[str] = (),
    only_label: Sequence[str] = (),
    only_kind: Sequence[str] = (),
    first_look: bool | None = None,
    names: bool | None = None,
    show: Sequence[str] | None = None,
    practice: int | None = None,
    controls: float | None = None,
    repeats: float | None = None,
    double: float | None = None,
    role: Role | None = None,
    seed: int | None = None,
    port: int | None = None,
    open: bool = True,
    quiet: bool = False,
    progress: Progress | None = None,
) -> AdjudicationRun:
    """Settle the disputes of a study in a page, and keep every decision in a log.

    A dispute is a lesion that a rater missed, that got several labels, or whose most different outlines are less alike
    than a threshold. The page is served on this machine alone until Ctrl-C; the next start goes on where the last one
    ended. What is not given is taken from the log of the last start, but for the filters ``only_…``, and by default as
    described.

    Parameters
    ----------
    study : Study, str or Path
        A study, or what :meth:`Study.open` takes.
    adjudicator : str
        Who settles the disputes; by default the name of the login.
    log : str or Path
        Folder of the logs, on a local disk.
    dry_run : bool
        Only show how many disputes each threshold leaves.
    html, xlsx : str or Path, optional
        Write one page that needs no Python, or a workbook with a row for each dispute, instead of serving.
    merge : sequence of str or Path
        Files to take into the logs: decisions that such a page saved, a workbook that was filled in, packs, and logs of
        other machines.
    pack : str or Path, optional
        Write all logs of the folder to this file, to be merged on another machine.
    min_dice : float, optional
        Lesions whose worst pair of outlines has a Dice below this are disputes; 0.7.
    min_mm : float, optional
        So are those whose worst pair lies further apart, in mm (or pixels).
    below : str, optional
        Method of consensus that settles all other lesions; ``"vote:0.5"``.
    unit : {"lesion", "tile"}, optional
        What is settled at once: a lesion, or a tile of a structure without lesions, such as vessels.
    tile : int, optional
        Pixels of a tile along each axis; 128.
    lesion_min_size : int, optional
        Lesions of fewer pixels, on average of those who drew them, are no disputes; 1.
    order : {"subject", "doubt"}, optional
        Subject by subject in an order shuffled by ``seed``, or by size times doubt.
    only_group, only_label, only_kind : sequence of str
        Only disputes of these groups, labels and kinds (missed, label, border, tile).
    first_look : bool, optional
        Whether the bare image comes before the outlines.
    names : bool, optional
        Show the names of raters and cases instead of letters and numbers.
    show : sequence of str, optional
        What the page may show when it is asked for, which is logged: votes, consensus, algorithms.
    practice : int, optional
        Disputes to practise on, which do not count; 5.
    controls, repeats : float, optional
        Shares of agreed lesions and unmarked regions, and of second showings, that are mixed in; 0.05.
    double : float, optional
        Share of the disputes that a second adjudicator settles, too; 0.2.
    role : {"first", "second", "third"}, optional
        All disputes, those for a second adjudicator, or those on which two adjudicators differ.
    seed : int, optional
        Seed of everything random; 0.
    port : int, optional
        Port of the page; by default one for each study.
    open : bool
        Open the page in a browser.
    quiet : bool
        Print nothing but the address.
    progress : callable, optional
        Called with the number of cases that are indexed and of all cases.

    Returns
    -------
    AdjudicationRun
        What was found and done, once the server was stopped.

    Raises
    ------
    InputError
        Where the log belongs to another study or is in use, a port is in use, or an extra is not installed.
    """
    study = study if isinstance(study, Study) else Study.open(study)
    if any(case.counted is not None for case in study):
        raise StudyError(f"adjudicate {NO_PIXELS}")
    who = _name(adjudicator)
    given = {
        "order": order, "first_look": first_look, "names": names, "show": None if show is None else tuple(show),
        "practice": practice, "controls": controls, "repeats": repeats, "double": double, "role": role, "seed": seed,
    }  # fmt: skip
    rules = {"min_dice": min_dice, "min_mm": min_mm, "below": below, "unit": unit, "tile": tile}
    rules["lesion_min_size"] = lesion_min_size
    filters = {"groups": tuple(only_group), "labels": tuple(only_label), "kinds": tuple(only_kind)}
    folder, digest = Path(log), study_digest(study)
    others = _read_others(folder, digest, who)
    last = _last_settings(folder, digest, who)
    settings = _settle(last or _first_settings(others), given, rules, filters, begun=last is not None)
    _check_filters(study, settings)
    if all(case.image is None for case in study):
        # an answer from the image alone needs one
        settings = replace(settings, first_look=False)
    if merge:
        from .merging import merge_files

        return merge_files(study, digest, folder, merge, progress)
    if pack is not None:
        return _write_pack(folder, digest, Path(pack))
    index = Index(folder / INDEX, _ordered(study, settings, who), settings.rule)
    written: list[Path] = []
    serves = not (html or xlsx or dry_run)
    if serves:
        from .server import check_port, need_app

        need_app()
        check_port(port)
    index.load()
    try:
        index.start()
        _wait(index, settings, everything=not serves, progress=progress)
        run = _summarise(study, index, settings)
        _show_counts(run, index, settings, quiet)
        if index.failed and not serves:
            raise InputError(_left_out(index))
        if dry_run or (not index.left and not _known(index, settings)):
            return run
        if html or xlsx:
            session = Session(study, index, Unkept(folder, digest, who), settings, scratch=index.folder, others=others)
            session.begin()
            if html:
                from .page import write_page

                write_page(Path(html), session, progress)
                written.append(Path(html))
            if xlsx:
                from .sheets import write_sheet

                write_sheet(Path(xlsx), session, adjudicator.strip())
                written.append(Path(xlsx))
            return AdjudicationRun(run.counts, run.disputes, written=tuple(written), notes=run.notes)
        return _serve(study, index, folder, digest, who, settings, others, port, open, quiet, run)
    finally:
        index.stop()


# -- what is asked for --------------------------------------------------------------------------------


def _name(adjudicator: str) -> str:
    name = adjudicator.strip()
    if not name:
        with suppress(OSError, KeyError, ImportError):
            name = getpass.getuser()
    fault = find_name_fault(name) or ("" if name else "is empty") or ("is too long" if len(name) > LONGEST_NAME else "")
    if fault:
        raise CallError(f"adjudicator: the name {name[:LONGEST_NAME]!r} {fault}; give one with --adjudicator")
    return name


def _settle(
    last: Settings | None,
    given: Mapping[str, Any],
    rules: Mapping[str, Any],
    filters: Mapping[str, tuple[str, ...]],
    *,
    begun: bool,
) -> Settings:
    """The settings of the last start, or those by default, with those that are given in their place."""
    base = last or Settings()
    seed = given["seed"]
    if last is not None and begun and seed is not None and seed != last.seed:
        raise CallError(
            f"seed is {seed}, but this log was begun with {last.seed}; leave it out, or choose another --log"
        )
    wanted = {name: value for name, value in rules.items() if value is not None}
    if last is not None and not set(wanted) <= {"min_dice", "min_mm", "below", "lesion_min_size"}:
        for name in ("unit", "tile"):
            if name in wanted and wanted[name] != getattr(last.rule, name):
                whose = "this log was" if begun else "the logs of other adjudicators were"
                raise CallError(f"{name}: {whose} begun with {getattr(last.rule, name)}; choose another --log")
    rule = DisputeRule(**{**vars(base.rule), **wanted})
    return change(change(base, given), {"rule": rule, **filters})


def _check_filters(study: Study, settings: Settings) -> None:
    """Refuse groups and labels that the study does not have, which would let nothing through."""
    groups = sorted({group for case in study for group in case.groups})
    for name in settings.groups:
        if name not in groups:
            known = f"groups are {', '.join(groups)}" if groups else "it has no groups"
            raise CallError(f"only_group is {name!r}, which the study does not have; {known}")
    names = label_names(study)
    for name in settings.labels:
        if names and name not in {*map(str, names), *names.values()}:
            raise CallError(f"only_label is {name!r}; labels are {', '.join(f'{n} ({v})' for v, n in names.items())}")


def _last_settings(folder: Path, digest: str, who: str) -> Settings | None:
    """The settings of the last start of an adjudicator on this machine."""
    path = folder / log_name(who)
    if not path.is_file():
        return None
    for content in check_logs(read_logs([path])):
        for entry in reversed(content.entries):
            if entry.action == "open" and same_study(content.study, digest):
                return Settings.from_payload(entry.payload.get("settings", {}))
    return None


def _read_others(folder: Path, digest: str, who: str) -> tuple[LogContent, ...]:
    """The logs of other adjudicators of the study."""
    if not folder.is_dir():
        return ()
    paths = [path for path in sorted(folder.glob("*.sqlite")) if path.name != log_name(who)]
    logs = read_logs(paths) if paths else ()
    return check_logs(content for content in logs if same_study(content.study, digest) and content.adjudicator != who)


def _first_settings(others: Sequence[LogContent]) -> Settings | None:
    """How others adjudicate the study, for who begins: what is a dispute, and what is shown, is the same for all."""
    opened = [
        entry
        for content in others
        for entry in content.entries
        if entry.action == "open" and entry.payload.get("settings")
    ]
    if not opened:
        return None
    last = max(opened, key=lambda entry: entry.utc)
    return replace(Settings.from_payload(last.payload["settings"]), role="first")


def _ordered(study: Study, settings: Settings, who: str) -> list[Any]:
    """Cases in the order in which they will be shown."""
    places = {s: n for n, s in enumerate(order_subjects((c.subject for c in study), f"{settings.seed}|{who}"))}
    return sorted(study, key=lambda case: places[case.subject])


# -- indexing -----------------------------------------------------------------------------------------


def _known(index: Index, settings: Settings) -> int:
    return sum(len(found.disputes) for found in _found(index, settings))


def _found(index: Index, settings: Settings) -> Iterator[CaseDisputes]:
    return (apply_rule(indexed.bare, settings.rule) for indexed in index.ready.values())


def _wait(index: Index, settings: Settings, *, everything: bool, progress: Progress | None) -> None:
    """Until all cases are indexed; or, after a while, until there is a dispute."""
    total, start = len(index.cases), time.monotonic()
    if index.ready and not everything and _known(index, settings):
        return
    if progress is not None:
        progress(total - index.left, total)
    while index.left:
        index.refresh(wait=0.2)
        if progress is not None:
            progress(total - index.left, total)
        if not everything and time.monotonic() - start > FIRST_WAIT and _known(index, settings):
            return


def _summarise(study: Study, index: Index, settings: Settings) -> AdjudicationRun:
    thresholds = sorted({*THRESHOLDS, settings.rule.min_dice})
    bare = [indexed.bare for indexed in index.ready.values()]
    names = label_names(study)
    counts = count_disputes(
        bare, thresholds, min_mm=settings.rule.min_mm, lesion_min_size=settings.rule.lesion_min_size,
        keep=lambda found, each: is_selected(found, each, settings, names),
    )  # fmt: skip
    disputes = _known(index, settings)
    notes = []
    if index.failed:
        if len(index.failed) == len(index.cases):
            raise InputError(_left_out(index))
        notes.append(_left_out(index))
    specks = sum(each.size < SPECK for found in _found(index, settings) for each in found.disputes)
    if settings.rule.unit == "lesion" and specks >= SPECKS * disputes > 0:
        notes.append(
            f"{specks} of {disputes} disputes have fewer than {SPECK} pixels, as fragments of marks do; "
            f"--lesion-min-size {SPECK} leaves them to {settings.rule.below}"
        )
    if index.left:
        notes.append(f"{index.left} of {len(index.cases)} cases are not indexed yet; that goes on in the background")
    if not disputes and not index.left:
        alike = (
            f"all lesions have a Dice of at least {settings.rule.min_dice:g} between any two raters, and nobody missed "
        )
        lesions = any(each.kind != "unmarked" for found in bare for each in found)
        notes.append(f"there are no disputes: {alike + 'one' if lesions else 'nobody marked anything'}")
    return AdjudicationRun(tuple(counts), disputes, notes=tuple(notes))


def _left_out(index: Index) -> str:
    """The first of the cases whose disputes cannot be found, and how many more there are."""
    name, why = next(iter(index.failed.items()))
    more = len(index.failed) - 1
    rest = f"; neither can those of {more} more" if more else ""
    return f"disputes of case {name} cannot be found: {why.removeprefix(f'case {name}, ')}{rest}"


def _show_counts(run: AdjudicationRun, index: Index, settings: Settings, quiet: bool) -> None:
    """Print the table of thresholds."""
    from rich.console import Console

    from ..analyses.printing import grid

    console = Console(quiet=quiet, width=None if sys.stdout.isatty() else 110)
    header = ["threshold of Dice", "missed", "other label", "border", "tile", "settled", "disputes", "minutes"]
    rows = [
        [f"{c.min_dice:g}{' (chosen)' if c.min_dice == settings.rule.min_dice else ''}",
         *(str(n) for n in (c.missed, c.label, c.border, c.tile, c.settled, c.disputes)), f"{c.minutes:.0f}"]
        for c in run.counts
    ]  # fmt: skip
    console.print(
        grid(f"Disputes of {len(index.ready)} of {len(index.cases)} cases, at {SECONDS_EACH:g} s each", header, rows)
    )


# -- serving ------------------------------------------------------------------------------------------


def _serve(
    study: Study,
    index: Index,
    folder: Path,
    digest: str,
    who: str,
    settings: Settings,
    others: Sequence[LogContent],
    port: int | None,
    open: bool,
    quiet: bool,
    run: AdjudicationRun,
) -> AdjudicationRun:
    from .security import HOST, make_token
    from .server import bind, make_app, port_of, serve

    _refuse_running_loop()
    for note in run.notes:
        print(note, file=sys.stderr)
    wanted = port_of(digest) if port is None else port
    path, token = folder / log_name(who), make_token()
    opening = partial(DecisionLog.open, path, study=digest, adjudicator=who)
    try:
        bound = bind(wanted)
    except InputError:
        if path.is_file():
            opening().close()  # says where another server of this log runs
        raise
    here = f"http://{HOST}:{bound.getsockname()[1]}"
    with closing(bound), opening(address=here) as log:
        session = Session(study, index, log, settings, scratch=index.folder, others=others)
        session.begin()
        if not index.left and not session.queue():
            return AdjudicationRun(run.counts, run.disputes, written=(path,), notes=(NOTHING[settings.role],))
        address = f"{here}/#token={token}"
        with _browser_file(folder, address) as file:

            def ready() -> None:
                print(f"Open {address}  (Ctrl-C stops; decisions are kept in {path})", flush=True)
                if open:
                    import webbrowser

                    # some browsers run in the terminal until they are closed
                    page = file.resolve().as_uri()
                    threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()

            serve(make_app(session, token, bound.getsockname()[1]), bound, ready)
        state = session.progress()
    note = f"{state['done']} of {state['total']} are decided, {state['left']} are left"
    note += "; run it again to go on" if state["left"] else ""
    return AdjudicationRun(run.counts, run.disputes, state["done"], state["left"], (path,), (note,))


@contextmanager
def _browser_file(folder: Path, address: str) -> Iterator[Path]:
    """A file that only its owner can read and that opens the page: other users see what a browser is called with."""
    with write_errors(folder):
        descriptor, name = tempfile.mkstemp(".html", ".open-", folder)
    path = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}"><title>Opening</title>')
        yield path
    finally:
        path.unlink(missing_ok=True)


def _refuse_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise CallError("adjudicate serves until it is stopped, which a notebook cannot wait for; run it in a terminal")


def _write_pack(folder: Path, digest: str, path: Path) -> AdjudicationRun:
    logs = sorted(folder.glob("*.sqlite")) if folder.is_dir() else []
    if not logs:
        raise InputError(f"{folder}: holds no logs to pack; choose the folder with --log")
    from ..io.writing import atomic

    content = pack(logs)
    with atomic(path) as temporary:
        temporary.write_bytes(content)
    return AdjudicationRun(written=(path,))
