"""From templates to cases: which files belong together, and what ``cases.csv`` says about each case."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.columns import Column, Role, natural_key
from ..core.errors import FormatError, ManytruthsError, PredictionsError, StudyError, few, find_name_fault, raise_error
from ..io import Location, Template, TemplateMatch
from ..io.images import read_mask
from ..io.tables import check_listed, read_table, subjects_of
from ..io.template import Complain
from .case import Case, Source
from .drawn_cases import place_outlines
from .named_lesions import order_cases, read_lesions
from .options import Options
from .reading_log import Edit, LogEntry, Place, ReadingLog, UnusedReading, masks_by_place, place_of
from .samples import with_samples

NOT_GROUPS = ("subject", "order")
"""Columns of ``cases.csv`` that have a meaning of their own."""

MOST_COLUMNS = 64
"""Columns of groups."""

MOST_GROUPS = 100
"""Groups of one column."""

ByCase = Mapping[str, Mapping[Column, Any]]
"""Files or arrays by case and column."""

EIGHT_BITS = 255

UNNAMED: dict[Role, str] = {"rater": "", "algorithm": "prediction", "reference": "reference"}
"""Who it is where a template does not say."""

BACKGROUND = "background"
"""The name of what nobody marked."""


@dataclass
class Draft:
    """What is known of a case while files are being gathered."""

    fields: dict[str, str]
    masks: Mapping[Column, Mapping[str, Source]] = field(default_factory=dict)
    edits: Mapping[Column, Edit] = field(default_factory=dict)
    statuses: Mapping[Column, str] = field(default_factory=dict)
    reasons: Mapping[Column, str] = field(default_factory=dict)


def find_cases(
    options: Options, complain: Complain = raise_error
) -> tuple[list[Case], dict[str, str], list[UnusedReading]]:
    """Every case of a study, in natural order, why others are none, and the readings that do not count.

    ``complain`` gets what does not keep the rest from being found.
    """
    everything, files, log = _find_masks(options, complain)
    named = [*_drafts(everything, {}), *log.cases()]
    structures = _find_structures(files, options)
    drafts, left_out = _sort_masks(log, _drafts(files, options.exclude), options, complain)
    unused = list(_find_unused(everything, log, drafts, options))
    left_out |= {name: why for name, why in _without_masks(unused).items() if name not in {**drafts, **left_out}}
    columns = {column for draft in drafts.values() for column in draft.masks}
    table = read_case_table(options.cases, {name: d.fields for name, d in drafts.items()}, named, complain)
    _check_subjects(options, drafts)
    subjects = {name: table.get(name, {}).get("subject") or d.fields.get("subject", name) for name, d in drafts.items()}
    order = _order(options.cases, subjects, table, complain)
    lesions = read_lesions(options.targets, subjects, order, complain) if options.targets else {}
    beside = _find_beside(options, drafts, columns, bool(structures), complain)
    judged, given = (_columns(beside[kind]) for kind in ("predictions", "references"))
    cases = []
    for name, draft in sorted(drafts.items(), key=lambda item: natural_key(item[0])):
        row = table.get(name, {})
        own: dict[str, Any] = {kind: by_case.get(name, {}) for kind, by_case in beside.items()}
        own["ranks"] = {column: source for column, source in own["ranks"].items() if column in draft.masks}
        cases.append(Case(
            name, subjects[name], group_names(row), draft.masks,
            _others(columns, draft.masks), options, structures, **own,
            image=_image(options.images, draft.fields), roi=_image(options.roi, draft.fields),
            missing=_others(judged, own["predictions"]), missing_references=_others(given, own["references"]),
            edits=draft.edits, statuses=draft.statuses, reasons=draft.reasons, order=order.get(name),
            lesions=lesions.get(name, ()),
            properties={column: value for column, value in row.items() if column != "subject" and value},
            series={key: place for key, text in options.series.items() if (place := _image(text, draft.fields))},
        ))  # fmt: skip
    if options.samples is not None:
        samples = _find_samples(options, drafts, judged, complain, bool(structures))
        cases = with_samples(cases, samples)
        # samples may be all that an algorithm has
        judged = judged | _columns(samples)
    _check_training(options, beside["training"], judged, complain)
    return place_outlines(cases, options), left_out, unused


def _order(
    path: str | None, subjects: Mapping[str, str], table: Mapping[str, Mapping[str, str]], complain: Complain
) -> dict[str, int]:
    """The place of each case among those of its subject, where ``cases.csv`` says so."""
    try:
        return order_cases(str(path), subjects, {name: table.get(name, {}).get("order", "") for name in subjects})
    except StudyError as error:
        complain(error)
        return {}


def _find_masks(options: Options, complain: Complain) -> tuple[list[TemplateMatch], list[TemplateMatch], ReadingLog]:
    """All masks, those of raters and sessions that are not left out, and the reading log."""
    template = Template(options.masks, require=("rater", "case"))
    everything = template.find(complain)
    check_excluded_raters({match.fields["rater"] for match in everything}, options.exclude_rater, complain)
    files = [match for match in everything if match.fields["rater"] not in options.exclude_rater]
    log = _read_log(options, template, files, complain)
    blanks = log.blanks()
    files, everything = keep_session([*files, *blanks], options.session), [*everything, *blanks]
    _check_exclude(everything, options.exclude, complain)
    return everything, files, log


def _find_unused(
    everything: list[TemplateMatch], log: ReadingLog, drafts: Mapping[str, Draft], options: Options
) -> Iterator[UnusedReading]:
    """Every reading that has a mask, or a row in the reading log, and does not count."""
    masks, names = masks_by_place(everything), {place_of(draft.fields): name for name, draft in drafts.items()}
    shared = len({case for _, case in masks}) < len(masks)
    for place in dict.fromkeys([*masks, *log.reads]):
        name = names.get(place) or ("/".join(place) if shared and place[0] else place[1])
        used, reads = drafts[name].masks if name in drafts else {}, log.reads.get(place, {})
        for column in dict.fromkeys([*masks.get(place, ()), *reads]):
            if column not in used:
                read = reads.get(column)
                why = _why_unused(name, place[1], column, read, options)
                yield UnusedReading(name, column, why, read.reason if read and why == "not_evaluable" else "")


def _why_unused(name: str, case: str, column: Column, read: LogEntry | None, options: Options) -> str:
    if column.name in options.exclude_rater:
        return "rater_excluded"
    if read is not None and read.status in ("not_evaluable", "unread", "unfinished"):
        return read.status
    if {case, name} & set(options.exclude.get(column.name, ())):
        return "excluded"
    return "edit" if read is not None and read.parent is not None else "other_session"


def _without_masks(unused: Iterable[UnusedReading]) -> dict[str, str]:
    """Why cases without any mask that counts are none: nobody could evaluate them."""
    names: dict[str, list[str]] = {}
    for reading in unused:
        if reading.why == "not_evaluable":
            names.setdefault(reading.case, []).append(str(reading.column))
    return {case: f"the read of {' and of '.join(readers)} is not evaluable" for case, readers in names.items()}


def keep_session(files: list[TemplateMatch], session: str) -> list[TemplateMatch]:
    """Of raters who have the session, its files alone; of the others, all."""
    if not session:
        return files
    sessions: dict[str, set[str]] = {}
    for match in files:
        sessions.setdefault(match.fields["rater"], set()).add(match.fields.get("session", ""))
    check_session(session, sessions.values())
    return [f for f in files if session not in sessions[f.fields["rater"]] or f.fields.get("session", "") == session]


def check_session(session: str, known: Iterable[Collection[str]]) -> None:
    """Refuse a session that nobody has."""
    names = sorted({name for each in known for name in each if name}, key=natural_key)
    if session not in names:
        there = f"sessions are {', '.join(names)}" if names else "the template of the masks has no {session}"
        raise StudyError(f"session: there is no session {session!r}; {there}")


def _find_structures(files: list[TemplateMatch], options: Options) -> tuple[str, ...]:
    """The names of the structures that have files of their own."""
    structures = {match.fields["label"] for match in files if "label" in match.fields}
    if BACKGROUND in structures:
        raise StudyError(f"{options.masks}: a structure may not be called {BACKGROUND!r}; rename its files")
    return tuple(sorted(structures, key=natural_key))


def _find_beside(
    options: Options, drafts: Mapping[str, Draft], columns: set[Column], structures: bool, complain: Complain
) -> dict[str, ByCase]:
    """What lies beside the masks, by the field of :class:`Case` that holds it."""
    # probability maps may be one a label where masks are not
    named = options.probability and options.labels is not None
    predictions = _find_predictions(options, drafts, complain, structures or named)
    references = _by_case(options.reference, "reference", drafts, complain, labels=structures)
    training = _by_case(options.training, "algorithm", drafts, complain)
    ranks = _by_case(options.ranks, "rater", drafts, complain)
    _check_ranks(ranks, drafts, _others(columns, {}), complain)
    return {"predictions": predictions, "references": references, "training": training, "ranks": ranks}


def _find_predictions(options: Options, drafts: Mapping[str, Draft], complain: Complain, labels: bool) -> ByCase:
    """Predictions by case; that there is none keeps nothing else from being found."""
    try:
        given = options.predictions if options.probability and not labels else None
        if given is not None and "label" in Template(given).fields:
            raise StudyError(
                f"template {given!r} has {{label}}, and no labels are declared; name them as the files do "
                "(--labels 1=NAME,2=NAME)"
            )
        return _by_case(options.predictions, "algorithm", drafts, complain, labels=labels)
    except StudyError as error:
        complain(PredictionsError(str(error)))
        return {}


def check_void(cases: Iterable[Case], void: int | None) -> None:
    """Refuse a value of "not rated" that no mask of the study can hold: 300 where all have 8 bits."""
    if void is None or void <= EIGHT_BITS:
        return
    largest = 0.0
    for source in (source for case in cases for by_label in case.masks.values() for source in by_label.values()):
        if not isinstance(source, Location) or source.blank:
            continue
        try:
            largest = max(largest, read_mask(source).largest)
        except ManytruthsError:
            continue  # what is wrong with it is said where it is read for its marks
        if void <= largest:
            return
    if largest:
        raise StudyError(f"void is {void}, and no mask can hold more than {largest:.0f}; correct or leave out void")


def _read_log(options: Options, template: Template, files: list[TemplateMatch], complain: Complain) -> ReadingLog:
    """What is known of every read, with an empty mask for those that left nothing."""
    if options.reads is None:
        return ReadingLog()

    def image(place: Place) -> Location | None:
        if "subject" in template.fields and not place[0]:
            raise StudyError(f"case {place[1]!r} is of no subject that is known; write SUBJECT/{place[1]}")
        return _image(options.images, {"case": place[1]} | ({"subject": place[0]} if place[0] else {}))

    return ReadingLog.read(options.reads, files, template.fields, image, options.exclude_rater, complain)


def _sort_masks(
    log: ReadingLog, drafts: Mapping[str, Draft], options: Options, complain: Complain
) -> tuple[dict[str, Draft], dict[str, str]]:
    """Drafts with the masks that count, and cases that have none, with the reason."""
    counted, left_out, aside = dict[str, Draft](), dict[str, str](), Counter[str]()
    for name, draft in drafts.items():
        place = place_of(draft.fields)
        sorted_masks = log.sort(place, draft.masks, keep=options.edited == "keep")
        if sorted_masks.masks:
            statuses, reasons = log.statuses(place), log.reasons(place)
            counted[name] = Draft(draft.fields, sorted_masks.masks, sorted_masks.edits, statuses, reasons)
        else:
            left_out[name] = sorted_masks.why
        aside["edits"] += len(sorted_masks.edits.keys() - sorted_masks.masks.keys())
        aside["unfinished"] += len(sorted_masks.unfinished)
        aside["not_evaluable"] += len(sorted_masks.not_evaluable)
    if not aside.total():
        advice = "; check that {rater} stands where the raters' names differ"
        need_two_raters((c for d in counted.values() for c in d.masks), complain, advice)
    elif not any(len({c.name for c in d.masks}) > 1 for d in counted.values()):
        problem = StudyError(_nobody_left(aside, str(options.reads)))
        complain(problem)
        if not counted:
            raise problem
    return counted, left_out


def _nobody_left(aside: Mapping[str, int], path: str) -> str:
    edits, begun, gone = aside["edits"], aside["unfinished"], aside["not_evaluable"]
    reasons = [
        f"{edits} {'is an edit' if edits == 1 else 'are edits'} of another's, to stay apart" if edits else "",
        f"{begun} {'is' if begun == 1 else 'are'} unfinished" if begun else "",
        f"{gone} {'is' if gone == 1 else 'are'} not evaluable" if gone else "",
    ]
    answer = "; to count edits all the same, give edited='keep' (--edited keep)" if edits else ""
    return f"no case has reads of two raters left: of those in {path}, {' and '.join(filter(None, reasons))}{answer}"


def _columns(by_case: ByCase) -> set[Column]:
    return {column for by_column in by_case.values() for column in by_column}


def _others(columns: set[Column], here: Mapping[Column, Any]) -> tuple[Column, ...]:
    """The columns that a case does not have, in order."""
    return tuple(sorted(columns.difference(here), key=lambda c: c.order))


def _check_subjects(options: Options, drafts: Mapping[str, Draft]) -> None:
    """Where subjects share names of cases, what lies beside the masks must say whose it is."""
    if len({draft.fields["case"] for draft in drafts.values()}) == len(drafts):
        return
    for key in ("images", "roi", "ranks", "predictions", "reference", "training", "samples"):
        template = getattr(options, key)
        fields = Template(template).fields if template else ()
        if "case" in fields and "subject" not in fields:
            raise StudyError(
                f"{key}: template {template!r} has no {{subject}}, but several subjects have cases of one name; "
                "put it where the subject's name stands in the path"
            )


def _check_ranks(ranks: ByCase, drafts: Mapping[str, Draft], columns: Iterable[Column], complain: Complain) -> None:
    """Refuse ranks that are nobody's: other names than the masks', or a session in only one of the templates."""
    if not ranks or any(column in drafts[case].masks for case in ranks for column in ranks[case]):
        return
    whose, there = ", ".join(sorted(map(str, _columns(ranks)))), ", ".join(map(str, columns))
    complain(StudyError(f"ranks are of {whose}, masks of {there}; name the raters alike in both templates"))


def _check_training(options: Options, training: ByCase, judged: Iterable[Column], complain: Complain) -> None:
    """Refuse an area of an algorithm that is not there: what it was trained on would be counted."""
    if options.training is None or "algorithm" not in Template(options.training).fields:
        return
    known = {column.name for column in judged}
    there = ", ".join(sorted(known, key=natural_key)) or "none"
    for name in sorted({column.name for column in _columns(training)} - known):
        problem = f"exclude: there is an area of {name!r} but no prediction of it; predictions are of {there}"
        complain(StudyError(problem))


def _check_exclude(files: list[TemplateMatch], exclude: Mapping[str, tuple[str, ...]], complain: Complain) -> None:
    """Refuse to leave out what is not there: a misspelt name would leave in what should go."""
    cases: dict[str, set[str]] = {}
    for f in (match.fields for match in files):
        cases.setdefault(f["rater"], set()).update((f["case"], f"{f.get('subject', '')}/{f['case']}"))
    for rater, names in exclude.items():
        for name in names:
            if name not in cases.get(rater, ()):
                complain(StudyError(f"exclude: rater {rater!r} has no mask of case {name!r}; correct the name"))


def check_excluded_raters(there: Iterable[str], excluded: Iterable[str], complain: Complain = raise_error) -> None:
    """Refuse to leave out raters who are not there: a misspelt name would leave in whom it should not."""
    names = sorted(set(there), key=natural_key)
    for name in dict.fromkeys(excluded):
        if name not in names:
            complain(StudyError(f"exclude_rater: there is no rater {name!r}; raters are {', '.join(names)}"))


def need_two_raters(columns: Iterable[Column], complain: Complain = raise_error, advice: str = "") -> None:
    """Refuse a study that has nobody to agree with."""
    names = sorted({c.name for c in columns}, key=natural_key)
    if len(names) < 2:
        there = f"there is only one rater ({names[0]})" if names else "there is no rater"
        complain(StudyError(f"{there}: agreement needs two{advice}"))


def _drafts(files: list[TemplateMatch], exclude: Mapping[str, tuple[str, ...]]) -> dict[str, Draft]:
    masks, drafts = masks_by_place(files), dict[str, Draft]()
    shared = len({case for _, case in masks}) < len(masks)
    for (subject, case), here in masks.items():
        name = f"{subject}/{case}" if shared else case
        own = {c: sources for c, sources in here.items() if not {case, name} & set(exclude.get(c.name, ()))}
        if own:
            drafts[name] = Draft({"case": case} | ({"subject": subject} if subject else {}), own)
    if not drafts:
        raise StudyError("every mask is excluded; shorten exclude or exclude_rater")
    return drafts


def _by_case(
    template: str | None, who: Role, drafts: Mapping[str, Draft], complain: Complain, labels: bool = False
) -> dict[str, dict[Column, Any]]:
    """Predictions, references, areas or ranks by case and column; with ``labels``, perhaps a file a structure."""
    if template is None:
        return {}
    parsed = Template(template, require=("case", "rater") if who == "rater" else ("case",))
    _check_fields(parsed, who, *(["session"] if who == "rater" else []), *(["label"] if labels else []))
    by_case: dict[str, dict[Column, Any]] = {}
    for name, f, location in _match_cases(parsed, drafts, complain):
        column = Column(f.get(who, UNNAMED[who]), who, f.get("session", ""))
        _add(by_case.setdefault(name, {}).setdefault(column, {}), f.get("label", ""), location, name, complain)
    if "label" in parsed.fields:
        return by_case
    return {name: {column: own[""] for column, own in by.items()} for name, by in by_case.items()}


def _find_samples(
    options: Options, drafts: Mapping[str, Draft], judged: set[Column], complain: Complain, labels: bool
) -> dict[str, dict[Column, dict[str, Any]]]:
    """Samples by case, algorithm and name; with ``labels``, perhaps a file a structure."""
    parsed = Template(str(options.samples), require=("case", "sample"))
    _check_fields(parsed, "algorithm", "sample", *(["label"] if labels else []))
    by_case: dict[str, dict[Column, dict[str, Any]]] = {}
    for name, f, location in _match_cases(parsed, drafts, complain):
        column = Column(f.get("algorithm", UNNAMED["algorithm"]), "algorithm")
        own = by_case.setdefault(name, {}).setdefault(column, {})
        if "label" in parsed.fields:
            _add(own.setdefault(f["sample"], {}), f["label"], location, name, complain)
        else:
            _add(own, f["sample"], location, name, complain)
    if not by_case:
        raise StudyError(f"{options.samples!r} has no sample of any case of the study; name the cases as the masks do")
    others = sorted({c.name for c in _columns(by_case)} - {c.name for c in judged}, key=natural_key)
    if options.predictions is not None and others:
        there = few(sorted({c.name for c in judged}, key=natural_key)) or "none"
        complain(
            StudyError(f"samples: there are samples of {others[0]!r} but no prediction; predictions are of {there}")
        )
    return by_case


def _match_cases(
    template: Template, drafts: Mapping[str, Draft], complain: Complain
) -> Iterator[tuple[str, dict[str, str], Location]]:
    """The files of cases of the study: the case's name, what the path says, and where it is."""
    names = {place_of(draft.fields): name for name, draft in drafts.items()}
    # whoever's it is said to be, where only one subject has a case of that name
    often = Counter(case for _, case in names)
    alone = {case: name for (_, case), name in names.items() if often[case] == 1}
    for match in template.find(complain):
        f = match.fields
        name = names.get(place_of(f)) or names.get(("", f["case"])) or alone.get(f["case"])
        if name is not None:
            yield name, f, match.location


def _add(files: dict[str, Location], key: str, location: Location, case: str, complain: Complain) -> None:
    first = files.setdefault(key, location)
    if first != location:
        problem = f"{first} and {location} are both of case {case}; remove one, or name the cases apart"
        complain(StudyError(problem))


def _check_fields(template: Template, who: Role, *others: str) -> None:
    """Refuse a placeholder that would make several files one."""
    known = ("case", "subject", who, *others)
    for name in template.fields:
        if name not in known:
            wanted = ", ".join(f"{{{field}}}" for field in known)
            raise StudyError(f"template {template.text!r} has {{{name}}}, not allowed there; it may have {wanted}")


def _image(template: str | None, fields: Mapping[str, str]) -> Location | None:
    if template is None:
        return None
    parsed = Template(template)
    try:
        return parsed.fill(**fields)
    except StudyError:
        if any(name not in fields for name in parsed.fields):
            raise
        # a wildcard that finds nothing for this case, but something for others: told when it is read
        parsed.find()
        return Location(Path(re.sub(r"\{(\w+)\}", lambda name: fields[name[1]], template)))


def read_case_table(
    path: str | None, cases: Mapping[str, Mapping[str, str]], known: Collection[str], complain: Complain
) -> dict[str, dict[str, str]]:
    """The rows of ``cases.csv``: of all cases, here with what their paths say, and of no others that are not known."""
    if path is None:
        return {}
    table = read_table(path, "case")
    _check_groups(path, table)
    unknown = [name for name in table if name not in known]
    if unknown:
        problem = (
            f"{path}: has rows of cases without a mask, {len(unknown)} in all: {', '.join(unknown[:5])}; "
            f"correct or remove them: cases are called {', '.join(list(known)[:5])}"
        )
        complain(StudyError(problem))
    try:
        check_listed(path, table, cases)
        # a template may say whose a case is, too
        subjects_of(path, table, [name for name, fields in cases.items() if "subject" not in fields])
    except FormatError as error:
        complain(StudyError(str(error)))
    return table


def _check_groups(path: str, table: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse more groups than anybody reads: each gets all of the numbers, and their intervals."""
    columns = [column for column in next(iter(table.values()), {}) if column not in NOT_GROUPS]
    if len(columns) > MOST_COLUMNS:
        raise StudyError(
            f"{path}: has {len(columns)} columns of groups ({few(columns, 3)}); at most {MOST_COLUMNS}: keep those "
            "whose values are groups of cases"
        )
    for column in columns:
        values = {row[column] for row in table.values()} - {""}
        for value in values:
            if fault := find_name_fault(value):
                raise StudyError(f'{path}: {column} {value[:40]!r} {fault}; is a quote (") not closed?')
        if len(values) > MOST_GROUPS:
            raise StudyError(
                f"{path}: column {column!r} has {len(values)} different values, and each would be a group; at most "
                f"{MOST_GROUPS}: remove it, or write ranges"
            )


def group_names(row: Mapping[str, str]) -> tuple[str, ...]:
    """What groups a row of ``cases.csv`` puts its case in: the value, or column=value where there are several."""
    columns = {k: v for k, v in row.items() if k not in NOT_GROUPS and v}
    alone = len([k for k in row if k not in NOT_GROUPS]) == 1
    return tuple(v if alone else f"{k}={v}" for k, v in columns.items())
