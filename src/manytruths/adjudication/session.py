"""One adjudicator at work: what is shown next, what was answered, and the log in which all of it is kept.

The state is made from the log alone: every answer is appended first, durably, and then taken in the same way as the
entries of an earlier start.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import threading
import uuid as uuids
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..core.boxed_runs import runs_from_pairs, runs_to_list, runs_to_pairs
from ..core.errors import CallError, InputError, ManytruthsError, one_line
from ..core.runs import LabelRuns, read_runs
from ..io import Location
from ..io.decision_log import Entry, LogContent
from ..io.images import probe
from ..io.writing import atomic
from ..shape.display import Display
from ..shape.grid import Grid
from ..study import Case, Study
from ..study.adjudicated import Standing, add_payload, decide_payload, settle, standings
from ..study.adjudicated_masks import base_runs
from ..study.disputes import SECONDS_EACH, CaseDisputes, Dispute, apply_rule, choose_runs, count_votes
from ..study.logged import check_entries, check_payload
from .blocks import (
    FLAT_SIDE,
    LAYOUT,
    SIDE,
    TILE,
    VOLUME_SIDE,
    Images,
    Source,
    View,
    choose_view,
    pack_block,
    place_series,
    slices_of,
)
from .index import Index, read_bounded
from .plan import (
    Item,
    Settings,
    choose_practice,
    item_id,
    letter,
    make_queue,
    order_subjects,
    shuffle_raters,
)
from .runs import clip_runs, crop_drawing, paint_drawing

ANSWERS = ("lesion", "no_lesion", "not_evaluable")
CHOICES = ("union", "intersection", "majority", "none", "not_evaluable", "drawn")
RULES = ("majority", "union", "intersection", "none")
"""What many disputes can be settled by at once."""
REASONS = ("clear on the image", "boundary unclear", "artefact", "anatomy", "one rater mistaken", "guideline")
"""Reasons to choose from, where the study names none."""
PACE = 50
"""The last so many decisions say how long one takes."""
LONGEST_TEXT = 2000
"""Characters of a comment or reason."""
LONGEST_SECONDS = 3600.0
FIELD, FIELD_SHARE = 3.0, 0.9
"""A first look shows so many times the size that this share of the lesions does not exceed."""
GENERIC = ("masks", "labels", "segmentations", "raters", "readers", "annotations")
"""Folders that do not tell what a study is called."""
SEEN_VALUES = 40
"""Disputes whose values are looked at where no labels are declared."""


class Log(Protocol):
    """What a session needs of a log."""

    path: Path
    study: str
    adjudicator: str

    def entries(self) -> Iterator[Entry]:
        """All entries, in order."""
        ...

    def append(
        self, action: str, *, uuid: str, item: str = "", case: str = "", payload: Mapping[str, Any] | None = None
    ) -> Entry:
        """Append an entry, durably."""
        ...


class Unkept:
    """What stands for a log where a page is written for somebody else: nothing is kept."""

    def __init__(self, folder: Path, study: str, adjudicator: str) -> None:
        self.path, self.study, self.adjudicator = folder / "none", study, adjudicator

    def entries(self) -> Iterator[Entry]:
        """None."""
        return iter(())

    def append(
        self, action: str, *, uuid: str, item: str = "", case: str = "", payload: Mapping[str, Any] | None = None
    ) -> Entry:
        """Nothing can be decided here."""
        raise NotImplementedError


class Refused(Exception):
    """A request that cannot be met: an HTTP status, a word for programs and a sentence."""

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(text)
        self.status, self.code = status, code


@dataclass(frozen=True)
class Shown:
    """What belongs to an item besides its dispute."""

    case: Case
    found: CaseDisputes
    view: View
    sources: tuple[tuple[str, Source], ...]


class Session:
    """An adjudicator's work on a study.

    Parameters
    ----------
    study : Study
        The study.
    index : Index
        Its disputes.
    log : Log
        Where answers are kept.
    settings : Settings
        How it is done, where the log does not know.
    given : mapping
        Settings that were asked for, which hold instead of those of the log.
    others : sequence of LogContent
        Logs of other adjudicators.
    scratch : Path
        A folder for unpacked images.
    order_for : str
        For whom the order was made, where that is somebody else: a page of one file is written before it is known who
        opens it.
    """

    def __init__(
        self,
        study: Study,
        index: Index,
        log: Log,
        settings: Settings,
        *,
        scratch: Path,
        others: Sequence[LogContent] = (),
        order_for: str = "",
    ) -> None:
        self.study, self.index, self.log, self.settings = study, index, log, settings
        self.images = Images(scratch)
        self._others = tuple(others)
        self._place_path = log.path.with_suffix(".place.json")
        self._entries: list[Entry] = []
        self._by_uuid: dict[str, Entry] = {}
        self._undone: set[str] = set()
        self._order_for = order_for or log.adjudicator
        self._seed = f"{settings.seed}|{self._order_for}"
        self.compact = isinstance(log, Unkept)
        """Whether blocks are those of a file that holds all of them."""
        self.made = ""
        """When a request was made that comes from a file."""
        self.practice: tuple[str, ...] = ()
        self._base: tuple[str, LabelRuns] | None = None
        self._base_lock = threading.Lock()
        entries = list(log.entries())
        check_entries(entries, str(log.path))
        for entry in entries:
            self._take(entry)
        self._found: dict[str, CaseDisputes] = {}
        self._items: list[Item] = []
        self._by_id: dict[str, Item] = {}
        self.rebuild()

    # -- the log ---------------------------------------------------------------------------------------

    def begin(self, practice: tuple[str, ...] | None = None, *, once: bool = False) -> None:
        """Say in the log how this start is done, unless it is said already and is wanted ``once``.

        ``practice`` are the disputes to practise on, where that is settled.
        """
        opened = [entry for entry in self._entries if entry.action == "open"]
        for entry in opened:
            self.practice = tuple(entry.payload.get("practice", ())) or self.practice
        if not opened:
            found = list(self._ordered_cases())
            self.practice = choose_practice(found, self.settings, self._order_for) if practice is None else practice
        payload = {
            "settings": self.settings.as_payload(), "seed": self.settings.seed, "practice": list(self.practice),
            "rule": self.settings.as_payload()["rule"], "cases": len(self.study), "order_for": self._order_for,
            "blinding": {"raters": not self.settings.names, "first_look": self.settings.first_look},
            "is_rater": self.is_rater,
        }  # fmt: skip
        again = (
            bool(opened) and once and opened[-1].payload.get("settings") == json.loads(json.dumps(payload["settings"]))
        )
        if not isinstance(self.log, Unkept) and not again:
            self._append("open", str(uuids.uuid4()), payload=payload)
        self.rebuild()

    def _append(
        self, action: str, uuid: str, item: Item | None = None, payload: Mapping[str, Any] | None = None, case: str = ""
    ) -> Entry:
        own = {} if item is None else {"key": item.dispute.key, "purpose": item.purpose}
        own |= {"made": self.made} if self.made else {}
        known = uuid in self._by_uuid
        name = case or ("" if item is None else item.dispute.case)
        entry = self._write(action, uuid, "" if item is None else item.id, name, {**own, **(payload or {})})
        if not known:
            self._take(entry)
        return entry

    def _write(self, action: str, uuid: str, item: str, case: str, payload: Mapping[str, Any]) -> Entry:
        """Append an entry; nothing is written that would be refused when the log is read again."""
        try:
            check_payload(action, payload)
        except ValueError as error:
            raise Refused(422, "meaning", one_line(str(error))) from None
        return self.log.append(action, uuid=uuid, item=item, case=case, payload=payload)

    def _take(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._by_uuid[entry.uuid] = entry
        if entry.action == "undo":
            self._undone.add(str(entry.payload.get("of", "")))
        self.__dict__.pop("_slots", None)
        self.__dict__.pop("_stale", None)

    def repeated(self, uuid: str, action: str) -> Entry | None:
        """The entry that a request made already; the same answer is given again."""
        there = self._by_uuid.get(uuid)
        if there is not None and there.action != action:
            raise Refused(409, "uuid_used", "this uuid belongs to another action")
        return there

    @cached_property
    def _slots(self) -> _Slots:
        """What holds for each showing; made again after each entry."""
        return _Slots.of(entry for entry in self._entries if entry.uuid not in self._undone)

    @property
    def finished(self) -> Entry | None:
        """The entry that finished the work, unless it was opened again."""
        last = next((e for e in reversed(self._entries) if e.action in ("finish", "reopen")), None)
        return last if last is not None and last.action == "finish" else None

    @property
    def is_rater(self) -> bool:
        """Whether the adjudicator marked cases of the study, too."""
        own = self.log.adjudicator.casefold()
        return any(name.casefold() == own for name in self.study.rater_names)

    @property
    def page(self) -> str:
        """What tells the page of this study and adjudicator from others; of a file, with all that it was made with."""
        own = hashlib.sha256(f"{self.log.study}\n{self.log.adjudicator}".encode()).hexdigest()[:16]
        if not isinstance(self.log, Unkept):
            return own
        about = {
            "study": self.log.study, "for": self._order_for, "practice": list(self.practice),
            "settings": self.settings.as_payload(), "layout": LAYOUT,
        }  # fmt: skip
        return f"{own}:{base64.urlsafe_b64encode(json.dumps(about, sort_keys=True).encode()).decode()}"

    # -- the queue -------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Take what was indexed meanwhile."""
        if self.index.refresh():
            self.rebuild()

    def rebuild(self) -> None:
        """Make the queue again, from all cases that are indexed."""
        for name, indexed in self.index.ready.items():
            if name not in self._found:
                self._found[name] = apply_rule(indexed.bare, self.settings.rule)
        by_subject: dict[str, list[CaseDisputes]] = {}
        for case in self.study:
            by_subject.setdefault(case.subject, [])
            if case.name in self._found:
                by_subject[case.subject].append(self._found[case.name])
        order = order_subjects(by_subject, self._seed)
        items = make_queue(
            [(subject, by_subject[subject]) for subject in order], self.settings, self._order_for,
            practice=self.practice, wanted=self._wanted(), names=self.label_names,
            imageless=frozenset(case.name for case in self.study if case.image is None),
        )  # fmt: skip
        # nobody is their own second or third
        own = {key for purpose, key in self._slots.decisions if purpose == "dispute"}
        self._items = [item for item in items if item.purpose != "double" or item.dispute.key not in own]
        self._by_id = {item.id: item for item in self._items}
        self._numbers = {item.id: number for number, item in enumerate(self._items, start=1)}
        self.__dict__.pop("_stale", None)

    def _wanted(self) -> frozenset[str]:
        if self.settings.role == "first" or not self._others:
            return frozenset()
        if self.settings.role == "second":
            undone = {str(e.payload.get("of")) for log in self._others for e in log.entries if e.action == "undo"}
            flagged = (e for log in self._others for e in log.entries if e.action == "second" and e.uuid not in undone)
            return frozenset(str(entry.payload.get("key")) for entry in flagged)
        differ = [stand for stand in standings(self._others).values() if stand.status == "conflict"]
        return frozenset(stand.key for stand in differ if not self._is_settled(stand))

    def _is_settled(self, stand: Standing) -> bool:
        """Whether decisions agree that are known to differ in words alone: what a rule gives is seen in the pixels."""
        indexed = self.index.ready.get(stand.case)
        if indexed is None or stand.key not in indexed.entries or all(e.action != "rule" for e in stand.decisions):
            return False
        return settle(stand.decisions, indexed.read_key(stand.key), self.settings.rule) is not None

    def _ordered_cases(self) -> Iterator[CaseDisputes]:
        order = {s: n for n, s in enumerate(order_subjects((c.subject for c in self.study), self._seed))}
        return iter(sorted(self._found.values(), key=lambda found: order[found.subject]))

    @cached_property
    def _stale(self) -> dict[str, list[Entry]]:
        """Decisions whose dispute is not there any more, by case: pixels of it were changed."""
        stale: dict[str, list[Entry]] = {}
        for (purpose, key), entry in self._slots.decisions.items():
            found = self._found.get(entry.case)
            if found is None or purpose in ("practice", "control") or entry.action == "add":
                continue
            if key not in self.index.ready[entry.case].entries:
                stale.setdefault(entry.case, []).append(entry)
        return stale

    def status(self, item: Item) -> str:
        """``open``, ``done``, ``skipped``, ``second`` or ``stale``."""
        slots = self._slots
        if item.slot in slots.decisions or (item.purpose in ("dispute", "double") and item.dispute.key in slots.ruled):
            return "done"
        if item.slot in slots.seconds:
            return "second"
        if any(
            _overlap(entry.payload.get("box"), item.dispute.box) for entry in self._stale.get(item.dispute.case, ())
        ):
            return "stale"
        return "skipped" if item.slot in slots.skipped else "open"

    def find(self, id: str) -> Item:
        """An item by its id."""
        item = self._by_id.get(id)
        if item is None:
            raise Refused(404, "no_item", "there is no such item; load the queue again")
        return item

    def next_after(self, item: Item | None) -> str | None:
        """The next item that is open, else the next one that was skipped."""
        start = 0 if item is None else self._numbers.get(item.id, 0)
        around = self._items[start:] + self._items[:start]
        for wanted in (("open", "stale"), ("skipped",)):
            for each in around:
                if each is not item and self.status(each) in wanted:
                    return each.id
        return None

    # -- what the page reads ---------------------------------------------------------------------------

    @cached_property
    def label_names(self) -> dict[int, str]:
        """Labels that the study declares by value, without background."""
        return label_names(self.study)

    def values(self, dispute: Dispute | None = None) -> list[int]:
        """The values that a drawing may have."""
        found = set(self.label_names)
        if dispute is not None:
            found |= {int(value) for runs in dispute.drawn.values() for value in np.unique(runs.values)}
        if not found:
            for indexed in self.index.ready.values():
                for entry in indexed.head.disputes[:SEEN_VALUES]:
                    found |= {int(v) for runs in indexed.read(entry).drawn.values() for v in np.unique(runs.values)}
                if found:
                    break
        return sorted(found - {0}) or [1]

    def state(self) -> dict[str, Any]:
        """All that the page needs to start."""
        settings, finished = self.settings, self.finished
        return {
            "version": _version(), "page": self.page,
            "study": {"title": study_title(self.study), "cases": len(self.study), "rater_word": "rater"},
            "adjudicator": self.log.adjudicator,
            "settings": {
                "first_look": settings.first_look, "names": settings.names, "shows": list(settings.show),
                "reasons": list(getattr(self.study.options, "reasons", ()) or REASONS),
                "labels": self._labels(), "field": self._field(), "role": settings.role, "rules": list(RULES),
                "finished": None if finished is None else {"utc": finished.utc, **finished.payload},
            },
            "progress": self.progress(), "place": self._read_place(),
            "filters": {"groups": settings.groups, "labels": settings.labels, "kinds": settings.kinds},
            "warnings": list(self._warnings()), "next": self.next_after(None),
        }  # fmt: skip

    def _field(self) -> float:
        """How much is to be seen at a first look, in the shortest side of a pixel: several times what most lesions
        take, and the same for all of them, so that it does not tell how large one is."""
        sides = []
        for found in self._found.values():
            spacing = np.array(found.spacing or (1.0,) * len(found.shape))
            sides += [max(np.diff(each.box).ravel() * spacing) / spacing.min() for each in found.disputes]
        return round(FIELD * float(np.quantile(sides, FIELD_SHARE)), 1) if sides else 0.0

    def _labels(self) -> list[dict[str, Any]]:
        from ..charts import rater_colours

        values = self.values()
        colours = rater_colours(len(values))
        return [
            {"value": v, "name": self.label_names.get(v, str(v)), "colour": "#{:02x}{:02x}{:02x}".format(*c)}
            for v, c in zip(values, colours, strict=True)
        ]

    def _warnings(self) -> Iterator[str]:
        if self.is_rater:
            yield f"the adjudicator {self.log.adjudicator} is also a rater of this study; the report says so"
        if all(case.image is None for case in self.study):
            yield "the study has no images, so that outlines alone are shown; give --images"
        if "algorithms" in self.settings.show and self.study.algorithms:
            yield "once outlines of algorithms were shown, evaluate does not judge algorithms by these decisions"
        for name, why in self.index.failed.items():
            place = name if self.settings.names else "a case"
            yield f"{place} is left out: {one_line(why)}"
        gone = sum(map(len, self._stale.values()))
        if gone:
            what, they = ("decision is stale", "it is") if gone == 1 else ("decisions are stale", "they are")
            yield f"{gone} {what}, as what raters drew there is not in the masks any more: {they} shown again"
            if gone == sum(slot[0] in ("dispute", "double", "repeat") for slot in self._slots.decisions):
                yield "these are all decisions of the log; if it is of another study, choose another with --log"

    def progress(self) -> dict[str, Any]:
        """How much is done and left, and how long that takes by the pace so far."""
        statuses = [self.status(item) for item in self._items if item.purpose != "practice"]
        practice = [self.status(item) for item in self._items if item.purpose == "practice"]
        done = sum(status in ("done", "second") for status in statuses)
        left = len(statuses) - done
        each = self._slots.seconds_each()
        return {
            "total": len(statuses), "done": done, "skipped": statuses.count("skipped"), "left": left,
            "indexed_cases": len(self.index.ready) + len(self.index.failed), "cases": len(self.index.cases),
            "seconds_each": each, "minutes_left": math.ceil(left * (each or SECONDS_EACH) / 60),
            "practice_left": sum(status in ("open", "skipped") for status in practice),
        }  # fmt: skip

    def queue(self) -> list[dict[str, Any]]:
        """All items in order; controls and second showings cannot be told."""
        return [
            {
                "id": item.id, "number": number, "subject": str(item.subject), "status": self.status(item),
                "practice": item.purpose == "practice",
            }
            for number, item in enumerate(self._items, start=1)
        ]  # fmt: skip

    def stage(self, item: Item) -> str:
        """Whether the bare image is to be looked at, or the outlines."""
        looked = not self.settings.first_look or item.slot in self._slots.looks
        return "outlines" if looked else "look"

    def item(self, id: str) -> dict[str, Any]:
        """What is known of an item before its image and outlines are asked for."""
        item = self.find(id)
        decision = self._slots.decisions.get(item.slot)
        return {
            "id": id, "number": self._numbers[id], "of": len(self._items), "subject": str(item.subject),
            "case_name": item.dispute.case if self.settings.names else "", "unit": self.settings.rule.unit,
            "practice": item.purpose == "practice",
            "status": self.status(item), "stage": self.stage(item), "decision": self._given(item, decision),
            "answer": self._slots.looks.get(item.slot, ""),
        }  # fmt: skip

    def _given(self, item: Item, entry: Entry | None) -> dict[str, Any] | None:
        """A decision as the page made it, with what was drawn in pixels of the block."""
        if entry is None:
            return None
        payload = entry.payload
        runs = None
        if payload.get("choice") == "drawn":
            view, box = self.shown(item.id).view, tuple((int(low), int(high)) for low, high in payload["box"])
            runs = runs_to_pairs(clip_runs(runs_from_pairs(payload["pixels"], box), box, view.box))
        return {
            "choice": payload.get("seen", {}).get("given") or payload.get("choice"), "label": payload.get("label"),
            "reason": payload.get("reason", ""), "comment": payload.get("comment", ""), "uuid": entry.uuid,
            "runs": runs,
        }  # fmt: skip

    def place_of(self, id: str) -> dict[str, Any]:
        """Where an item lies: sizes, box and block; the image is opened for it."""
        item, shown = self.find(id), self.shown(id)
        view = shown.view
        return {
            "shape": list(shown.found.shape), "spacing": shown.found.spacing, "axes": len(shown.found.shape),
            "axis": view.axis, "box": item.dispute.box, "centre": item.dispute.centre,
            "view": {
                "start": [s for s, _ in view.box], "stop": [s for _, s in view.box], "step": 1,
                "clipped": view.clipped,
            },
            "series": [name for name, _ in shown.sources], "tiles": self._tiles(shown),
            **({"display": self._display(shown.case, shown.found)} if view.axis is not None else {}),
        }  # fmt: skip

    def _tiles(self, shown: Shown) -> dict[str, int] | None:
        """How tiles of an image are asked for, of which a block is a small part; a file has none."""
        source = shown.sources[0][1] if shown.sources else None
        if self.compact or source is None or source.tile is None or source.shape != tuple(shown.found.shape):
            return None
        return {"side": TILE, "zooms": source.zooms}

    def tile(self, id: str, zoom: int, row: int, column: int) -> bytes | None:
        """A tile of the image of an item, which may lie far from its block; None where there is none."""
        shown = self.shown(id)
        tiles = self._tiles(shown)
        source = shown.sources[0][1] if tiles else None
        if source is None or source.tile is None or zoom > source.zooms:
            return None
        if any(at * TILE << zoom >= size for at, size in zip((row, column), source.shape, strict=True)):
            return None
        low, high = next(((w[1], w[2]) for w in source.windows), (0.0, 255.0))
        return pack_block(source.tile(zoom, row, column), 2, {"low": low, "high": high, "spacing": None})

    def _display(self, case: Case, found: CaseDisputes) -> dict[str, Any]:
        """Which axes of a volume are slices, rows and columns, as in the report's viewer."""
        display = Display.of(self._grid(case, found))
        return {"axes": display.axes, "flipped": display.flipped, "letters": display.letters}

    def _grid(self, case: Case, found: CaseDisputes) -> Grid:
        """Where a case lies, as its image or its first mask tells it."""
        source = case.image or next(iter(next(iter(case.masks.values()), {}).values()), None)
        if isinstance(source, Location):
            with suppress(ManytruthsError, OSError):
                read = probe(source)
                # the axis across which slices lie must be that of the block
                if read.shape == tuple(found.shape):
                    return replace(read, spacing=found.spacing)
        return Grid(found.shape, found.spacing)

    def shown(self, id: str) -> Shown:
        """The case, block and images of an item."""
        item = self.find(id)
        case, found = self.study[item.dispute.case], self._found[item.dispute.case]
        sources = tuple(self._sources(case, found))
        bytes_each = 2
        if sources and sources[0][1].shape == tuple(found.shape):
            source = sources[0][1]
            one = source.crop(tuple(slice(0, 1) for _ in found.shape))
            bytes_each = min(4, one.dtype.itemsize) * (3 if one.ndim > len(found.shape) else 1)
        side = (FLAT_SIDE if len(found.shape) == 2 else VOLUME_SIDE) if self.compact else SIDE
        view = choose_view(found.shape, item.dispute.box, item.dispute.centre, found.spacing, bytes_each, side)
        return Shown(case, found, view, sources)

    def _sources(self, case: Case, found: CaseDisputes) -> Iterator[tuple[str, Source]]:
        series = getattr(case, "series", {})
        given = {**({} if case.image is None else {"image": case.image}), **series}
        for name, location in given.items():
            with suppress(ManytruthsError, OSError):
                source = self.images.open(location, found.spacing)
                if name != "image" or source.shape == tuple(found.shape):
                    yield name, source

    def image(self, id: str, series: int = 0) -> bytes | None:
        """The block of an image; None where there is none."""
        shown = self.shown(id)
        if not 0 <= series < len(shown.sources):
            return None
        name, source = shown.sources[series]
        box, head = shown.view.box, dict[str, Any]()
        if name != "image":
            if len(source.shape) != len(shown.found.shape):
                return None
            placed = place_series(self._grid(shown.case, shown.found), source, box, self.find(id).dispute.centre)
            source, box = placed.source, placed.view(box)
            head = {"scales": placed.scales, "shifts": placed.shifts, "view": box}
        head |= {
            "spacing": source.spacing,
            "windows": [{"name": n, "low": low, "high": high} for n, low, high in source.windows],
        }
        low, high = next(((w[1], w[2]) for w in source.windows), (0.0, 255.0))
        return pack_block(source.crop(slices_of(box)), len(source.shape), {**head, "low": low, "high": high})

    def overview(self, id: str) -> bytes | None:
        """The whole slice of an item, made smaller, with the frame of its block in pixels of it."""
        item, shown = self.find(id), self.shown(id)
        if not shown.sources or shown.sources[0][1].shape != tuple(shown.found.shape):
            return None
        source, axis = shown.sources[0][1], shown.view.axis
        plane = source.overview(None if axis is None else item.dispute.centre[axis], 320)
        kept = [a for a in range(len(source.shape)) if a != axis]
        scale = [size / source.shape[a] for size, a in zip(plane.shape, kept, strict=False)]
        frame = [[round(e * s, 2) for e in shown.view.box[a]] for a, s in zip(kept, scale, strict=True)]
        low, high = next(((w[1], w[2]) for w in source.windows), (0.0, 255.0))
        if plane.dtype != np.uint8:
            plane = np.clip((plane.astype(np.float64) - low) * (255 / (high - low)), 0, 255).astype(np.uint8)
        return pack_block(plane, 2, {"frame": frame, "low": 0, "high": 255, "spacing": None, "axes": kept})

    def outlines(self, id: str, *, whole: bool = False) -> dict[str, Any]:
        """What raters drew, under letters; refused before the first look, but for a page that holds the ``whole``."""
        item = self.find(id)
        if self.stage(item) == "look" and not whole:
            raise Refused(409, "look_first", "the first look comes before the outlines")
        dispute, view = self.read(item), self.shown(id).view
        raters = self.raters(item)
        letters = []
        for number, rater in enumerate(raters):
            drawn = dispute.drawn.get(rater)
            letters.append({
                "letter": letter(number), "name": rater if self.settings.names else None, "found": drawn is not None,
                "rated": rater not in dispute.not_rated_by,
                "runs": [] if drawn is None else runs_to_pairs(clip_runs(drawn, dispute.box, view.box)),
            })  # fmt: skip
        choices = {name: self._choice(dispute, name, view) for name in ("majority", "union", "intersection")}
        kind = "" if item.dispute.kind in ("unanimous", "unmarked") else item.dispute.kind
        return {"kind": kind, "letters": letters, "choices": choices}

    def _choice(self, dispute: Dispute, name: str, view: View) -> dict[str, Any]:
        try:
            runs = choose_runs(dispute, name)
        except CallError:
            return {"runs": None, "tie": True}
        return {"runs": runs_to_pairs(clip_runs(runs, dispute.box, view.box))}

    def raters(self, item: Item) -> list[str]:
        """Raters of the case in the order of their letters; other letters where a dispute is shown again."""
        dispute = item.dispute
        names = {*dispute.found_by, *dispute.missed_by, *dispute.not_rated_by}
        return shuffle_raters(names, self._seed, dispute.case, again=item.purpose == "repeat")

    def read(self, item: Item) -> Dispute:
        """The dispute with what was drawn, of the kind that the rule gives it."""
        return self.index.ready[item.dispute.case].read_key(item.dispute.key)

    def extra(self, id: str, what: str, *, whole: bool = False) -> dict[str, Any]:
        """Votes, consensus or algorithms, after it was logged that they were asked for."""
        item = self.find(id)
        if what not in self.settings.show:
            raise Refused(403, "hidden", f"{what or 'this'} stays hidden; start with --show to allow it")
        if self.stage(item) == "look" and not whole:
            raise Refused(409, "look_first", "the first look comes before everything else")
        if not whole and what not in self._slots.shows.get(item.slot, ()):
            raise Refused(409, "show_first", "say first that it is shown, so that the log knows")
        dispute, shown = self.read(item), self.shown(id)
        box, view = dispute.box, shown.view.box
        if what == "votes":
            most = len(dispute.found_by) + len(dispute.missed_by)
            return {"what": what, "most": most, "runs": runs_to_pairs(clip_runs(count_votes(dispute), box, view))}
        if what == "consensus":
            return {"what": what, "method": self.settings.rule.below, "runs": self._consensus(shown.case, view)}
        letters, grey = self._algorithms(shown.case, view)
        return {"what": what, "letters": letters, "grey": grey}

    def _consensus(self, case: Case, view: Any) -> list[list[Any]]:
        with self._base_lock:
            if self._base is None or self._base[0] != case.name:
                # as runs where the masks together are large
                self._base = case.name, base_runs(read_bounded(case, self.index.folder), self.settings.rule.below)
            _, runs = self._base
        return runs_to_pairs(clip_runs(runs, tuple((0, size) for size in runs.shape), view))

    def _algorithms(self, case: Case, view: Any) -> tuple[list[dict[str, Any]], list[str]]:
        """Masks of algorithms, and the names of those that give grey values, which have no outline."""
        shown, grey = [], []
        for column in case.predictions:
            array = np.asarray(case.prediction(column, None))
            if np.count_nonzero(np.unique(array)) > max(1, len(self.values())):
                grey.append(str(column))
                continue
            shown.append({"name": str(column), "runs": runs_to_pairs(read_runs(array[slices_of(view)]))})
        return shown, grey

    # -- what the page says ----------------------------------------------------------------------------

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """What a request to write does, by its path behind ``/api/``: of the page, and of a file that it has saved."""
        whole: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "undo": self.undo, "add": self.add, "rule": self.settle, "place": self.save_place, "finish": self.finish,
            "reopen": lambda body: self.finish(body, "reopen"),
        }  # fmt: skip
        if path in whole:
            return whole[path](body)
        of_item: dict[str, Callable[[str, Mapping[str, Any]], dict[str, Any]]] = {
            "look": self.look, "show": self.show, "decide": self.decide, "skip": self.skip,
            "second": lambda id, body: self.skip(id, body, "second"),
        }  # fmt: skip
        parts = path.split("/")
        if len(parts) != 3 or parts[0] != "items" or parts[2] not in of_item:
            raise Refused(404, "path", "there is no such request")
        return of_item[parts[2]](parts[1], body)

    def look(self, id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to the bare image."""
        uuid, item = self._uuid(body), self.find(id)
        if self.repeated(uuid, "look") is None:
            self._writable()
            if item.slot in self._slots.looks:
                raise Refused(409, "looked", "the first look was answered already")
        answer = _one_of(body, "answer", ANSWERS)
        entry = self._append("look", uuid, item, {"answer": answer, "seconds": _seconds(body)})
        return {"saved": True, "entry": entry.number, "stage": "outlines"}

    def show(self, id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """That something hidden is asked for."""
        uuid, item = self._uuid(body), self.find(id)
        what = _one_of(body, "what", (*self.settings.show,))
        if self.repeated(uuid, "show") is None:
            self._writable()
        return {"saved": True, "entry": self._append("show", uuid, item, {"what": what}).number}

    def decide(self, id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A decision."""
        uuid, item = self._uuid(body), self.find(id)
        entry = self.repeated(uuid, "decide")
        if entry is None:
            self._writable()
            if self.stage(item) == "look":
                raise Refused(409, "look_first", "the first look comes before the decision")
            entry = self._append("decide", uuid, item, self._decision(item, body))
        return self._saved(entry, item)

    def _decision(self, item: Item, body: Mapping[str, Any]) -> dict[str, Any]:
        dispute, given = self.read(item), str(body.get("choice", ""))
        raters = self.raters(item)
        by_letter = {f"letter:{letter(number)}": rater for number, rater in enumerate(raters)}
        if given not in by_letter and given not in CHOICES:
            raise Refused(422, "choice", f"choice must be a letter or one of {', '.join(CHOICES)}")
        choice = f"rater:{by_letter[given]}" if given in by_letter else given
        rater = by_letter.get(given)
        if rater is not None and rater in dispute.not_rated_by:
            raise Refused(422, "choice", f"{given.removeprefix('letter:')} did not rate this case")
        if rater is not None and rater not in dispute.drawn:
            choice = "none"
        more: dict[str, Any] = {}
        if choice == "drawn":
            view = self.shown(item.id).view
            painted = self._painted(body, dispute, view)
            box, runs = crop_drawing(painted, view.box, dispute.box)
            more = {"drawn": runs_to_pairs(runs), "box": box}
        label = body.get("label")
        if label is not None and label not in self.values(dispute):
            raise Refused(422, "label", f"label {label!r} is none of the study")
        seen = {
            "answer": self._slots.looks.get(item.slot, ""), "first_look": self.settings.first_look,
            "names": self.settings.names, "shown": sorted(self._slots.shows.get(item.slot, ())), "letters": raters,
            "given": given, "role": self.settings.role,
        }  # fmt: skip
        try:
            return decide_payload(
                dispute, choice, rule=self.settings.rule, label=label, reason=_text(body, "reason"),
                comment=_text(body, "comment"), seconds=_seconds(body) or 0.0, seen=seen, purpose=item.purpose, **more,
            )  # fmt: skip
        except CallError as error:
            raise Refused(422, "choice", str(error)) from None

    def _painted(self, body: Mapping[str, Any], dispute: Dispute | None, view: View) -> LabelRuns:
        try:
            return paint_drawing(body.get("runs"), view.shape, self.values(dispute))
        except CallError as error:
            raise Refused(422, "runs", str(error)) from None

    def skip(self, id: str, body: Mapping[str, Any], action: str = "skip") -> dict[str, Any]:
        """Leave an item for later, or for a second adjudicator."""
        uuid, item = self._uuid(body), self.find(id)
        if self.repeated(uuid, action) is None:
            self._writable()
        return self._saved(self._append(action, uuid, item, {"reason": _text(body, "reason")}), item)

    def undo(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Take back the last decision, or a named one."""
        uuid = self._uuid(body)
        entry = self.repeated(uuid, "undo")
        if entry is None:
            self._writable()
            undoable = [e for e in self._entries if e.action in _UNDOABLE and e.uuid not in self._undone]
            of = body.get("of") or (undoable[-1].uuid if undoable else None)
            target = self._by_uuid.get(str(of))
            if target is None or target not in undoable:
                raise Refused(409, "nothing_to_undo", "there is nothing to undo")
            payload = {"of": target.uuid, "reason": _text(body, "reason"), "key": target.payload.get("key", "")}
            entry = self._write("undo", uuid, target.item, target.case, payload)
            self._take(entry)
        target = self._by_uuid[str(entry.payload["of"])]
        back = target.item if target.item in self._by_id else None
        return {"saved": True, "entry": entry.number, "progress": self.progress(), "next": back, "item": back}

    def add(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A lesion that nobody marked."""
        uuid = self._uuid(body)
        item = self.find(str(body.get("item") or body.get("id") or body.get("case") or ""))
        entry = self.repeated(uuid, "add")
        if entry is None:
            self._writable()
            if self.stage(item) == "look":
                raise Refused(409, "look_first", "the first look comes before drawing")
            view = self.shown(item.id).view
            painted = self._painted(body, None, view)
            if not len(painted):
                raise Refused(422, "runs", "nothing was drawn")
            box, runs = crop_drawing(painted, view.box)
            label = body.get("label")
            if label is not None and label not in self.values():
                raise Refused(422, "label", f"label {label!r} is none of the study")
            drawn: list[Any] = runs_to_pairs(runs) if label is None else [[label, runs_to_list(runs.marks())]]
            payload = add_payload(
                item_id("added", uuid, item.dispute.case), box, drawn, comment=_text(body, "comment"),
                seconds=_seconds(body) or 0.0, seen={"beside": item.id},
            )  # fmt: skip
            payload |= {"made": self.made} if self.made else {}
            entry = self._write("add", uuid, item.id, item.dispute.case, payload)
            self._take(entry)
        return self._saved(entry, item)

    def settle(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Settle all open disputes of a kind by a rule."""
        uuid = self._uuid(body)
        entry = self.repeated(uuid, "rule")
        if entry is None:
            self._writable()
            kind, rule = str(body.get("kind", "")), _one_of(body, "rule", RULES)
            most = body.get("max_mm")
            number = isinstance(most, int | float) and not isinstance(most, bool)
            if most is not None and not (number and 0 < most < math.inf):
                raise Refused(422, "max_mm", "max_mm must be a number above 0")
            keys, ties = self._settled(kind, rule, None if most is None else float(most))
            case_of = {item.dispute.key: item.dispute.case for item in self._items}
            payload = {"kind": kind, "rule": rule, "max_mm": most, "keys": keys, "ties": ties,
                       "cases": {key: case_of[key] for key in keys}, "seen": {"role": self.settings.role}}  # fmt: skip
            entry = self._append("rule", uuid, payload=payload)
        settled = len(entry.payload["keys"])
        answer = {"saved": True, "entry": entry.number, "settled": settled, "ties": entry.payload.get("ties", 0)}
        return {**answer, "progress": self.progress(), "next": self.next_after(None)}

    def _settled(self, kind: str, rule: str, most: float | None) -> tuple[list[str], int]:
        keys, ties = [], 0
        for item in self._items:
            dispute = item.dispute
            if item.purpose not in ("dispute", "double") or dispute.kind != kind or self.status(item) != "open":
                continue
            if most is not None and not dispute.worst_mm <= most:
                continue
            try:
                if rule != "none":
                    choose_runs(self.read(item), rule)
                keys.append(dispute.key)
            except CallError:
                ties += 1
        return keys, ties

    def finish(self, body: Mapping[str, Any], action: str = "finish") -> dict[str, Any]:
        """Lock the log with a name and what that means, or open it again."""
        uuid = self._uuid(body)
        entry = self.repeated(uuid, action)
        if entry is None:
            if action == "finish":
                self._writable()
                if not _text(body, "name"):
                    raise Refused(422, "name", "finishing needs a name")
            payload = {name: _text(body, name) for name in ("name", "meaning", "reason") if body.get(name)}
            entry = self._append(action, uuid, payload={**payload, "progress": self.progress()})
        return {"saved": True, "entry": entry.number, "digest": entry.digest, "progress": self.progress()}

    def save_place(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Where the page is: item, zoom and window; no part of the record."""
        text = json.dumps(dict(body))
        if len(text) > 4 * LONGEST_TEXT:
            raise Refused(413, "too_large", "a place is a few numbers")
        with atomic(self._place_path) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return {"saved": True}

    def _read_place(self) -> dict[str, Any]:
        try:
            place = json.loads(self._place_path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return place if isinstance(place, dict) else {}

    def _saved(self, entry: Entry, item: Item) -> dict[str, Any]:
        return {"saved": True, "entry": entry.number, "progress": self.progress(), "next": self.next_after(item)}

    def _writable(self) -> None:
        if self.finished is not None:
            raise Refused(409, "finished", "the adjudication is finished; open it again to change it")

    @staticmethod
    def _uuid(body: Mapping[str, Any]) -> str:
        try:
            return str(uuids.UUID(str(body.get("uuid"))))
        except ValueError:
            raise Refused(422, "uuid", "uuid must be a UUID") from None


_UNDOABLE = ("decide", "add", "rule", "skip", "second")


class _Slots:
    """What holds after all entries, by purpose and key."""

    def __init__(self) -> None:
        self.looks: dict[tuple[str, str], str] = {}
        self.decisions: dict[tuple[str, str], Entry] = {}
        self.skipped: set[tuple[str, str]] = set()
        self.seconds: set[tuple[str, str]] = set()
        self.shows: dict[tuple[str, str], set[str]] = {}
        self.ruled: set[str] = set()
        self.times: list[float] = []

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> _Slots:
        """From entries that were not undone, in order."""
        slots, looked = cls(), dict[tuple[str, str], float]()
        for entry in entries:
            payload = entry.payload
            slot = (str(payload.get("purpose", "")), str(payload.get("key", "")))
            if entry.action == "look":
                slots.looks[slot], looked[slot] = str(payload.get("answer", "")), float(payload.get("seconds") or 0)
            elif entry.action == "show":
                slots.shows.setdefault(slot, set()).add(str(payload.get("what")))
            elif entry.action == "decide":
                slots.decisions[slot] = entry
                slots.skipped.discard(slot)
                slots.seconds.discard(slot)
                if slot[0] != "practice" and payload.get("seconds"):
                    slots.times.append(float(payload["seconds"]) + looked.pop(slot, 0.0))
            elif entry.action == "skip":
                slots.skipped.add(slot)
            elif entry.action == "second":
                slots.seconds.add(slot)
            elif entry.action == "rule":
                slots.ruled |= {str(key) for key in payload.get("keys", ())}
        return slots

    def seconds_each(self) -> float | None:
        """Mean seconds of the last decisions; None where there are fewer than three."""
        last = self.times[-PACE:]
        return round(sum(last) / len(last), 1) if len(last) >= 3 else None


def _overlap(box: Any, other: Sequence[Sequence[int]]) -> bool:
    if not box or len(box) != len(other):
        return False
    return all(a[0] < b[1] and b[0] < a[1] for a, b in zip(box, other, strict=True))


def _one_of(body: Mapping[str, Any], name: str, known: Sequence[str]) -> str:
    value = body.get(name)
    if value not in known:
        raise Refused(
            422, name, f"{name} must be one of {', '.join(known)}" if known else f"{name} is not allowed here"
        )
    return str(value)


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name) or ""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise Refused(422, name, f"{name} must be text of at most {LONGEST_TEXT} characters")
    # a browser may send half a character, which cannot be stored
    return value.encode("utf-8", "replace").decode()


def _seconds(body: Mapping[str, Any]) -> float | None:
    value = body.get("seconds")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise Refused(422, "seconds", "seconds must be a number that is not negative")
    return min(float(value), LONGEST_SECONDS)


def _version() -> str:
    from .. import __version__

    return __version__


def label_names(study: Study) -> dict[int, str]:
    """Labels that a study declares by value, without background."""
    options = study.options
    known = next((case.labels for case in study if case.labels is not None), None)
    if options.foreground or options.instances:
        return {1: "lesion"}
    if known is not None:
        background = () if options.background == "none" else (0,)
        pairs = zip(known.values, known.names, strict=True)
        return {int(value): name for value, name in pairs if value not in background}
    return {}


def study_title(study: Study) -> str:
    """What a study is called: the folder in which its masks lie."""
    fixed = Path(study.options.masks.partition("{")[0] or ".")
    folder = fixed if study.options.masks.partition("{")[0].endswith(("/", "\\")) else fixed.parent
    name = folder.resolve().name
    return folder.resolve().parent.name if name in GENERIC else name or "study"


__all__ = ["InputError", "Refused", "Session"]
