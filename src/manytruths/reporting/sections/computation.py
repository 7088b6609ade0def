"""The section on how everything was computed: texts for a paper, settings, versions, undefined values, files."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Sequence
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import manytruths

from ...analyses.evaluate.evaluate import Evaluation
from ...analyses.tables import region_of
from ...claims.agreement import COUNTED_REGIONS, size_difference
from ...claims.sentences import Cell, counted, join_names, text_cell
from ...core.errors import few
from ...core.labels import Labels
from ...core.undefined import REASONS, code, reason
from ...evaluation.ranking.ranking import Ranking
from ...inference.intervals import MIN_SUBJECTS
from ...io import write_csv, write_text
from ...io.result_tables import Row
from ...study.options import PATHS
from ..building import text_column, text_table
from ..elements import Block, Column, PageTable, Paragraphs, Section, Text
from ..findings import FileRead, Findings
from .algorithm_scores import tolerances
from .checklist import checklist_table
from .formulas import bibliography, cited_in, formula_table
from .paper_texts import allowance, few_to_rank, methods_text, results_text
from .standards import method_options
from .vocabulary import rater_tolerances, scale_name

NAME, TITLE = "how-it-was-computed", "How it was computed"
LEAD = "What was done, with which settings, from which files: to write a methods section, or to do it all again."
NO_CHECKSUMS = (
    "Names were replaced by codes. So paths and checksums are left out: a path often names a patient or a rater, and "
    "whoever has the files could identify a case by its checksum."
)


def section(findings: Findings) -> Section:
    """Methods and results text, references, checklist, settings, formulas, undefined values, files."""
    return Section(NAME, TITLE, ((LEAD,),), tuple(_blocks(findings)))


def _blocks(findings: Findings) -> Iterator[Block]:
    text = methods_text(findings)
    yield Text("methods", "Methods text", text, "Copy methods text")
    yield Text("results", "Results text", results_text(findings), "Copy results text")
    yield claims_table(findings)
    yield Text(
        "bibtex", "References (BibTeX)", bibliography(cited_in(text)), "Copy BibTeX", "manytruths.bib",
        exact=True, closed=True,
    )  # fmt: skip
    yield checklist_table(findings)
    yield settings_table(findings)
    yield versions_table(findings)
    yield formula_table(findings)
    yield conventions_table(findings)
    yield undefined_block(findings)
    yield from _file_blocks(findings)


def _file_blocks(findings: Findings) -> Iterator[Block]:
    if findings.coded or not findings.files:
        text = NO_CHECKSUMS if findings.coded else "No file was read: the masks were in memory."
        yield Paragraphs(((text,),), "Files")
        return
    if len(findings.files) > MOST_FILES:
        where = f"{FILE_LIST} and {SUMS}, in the folder of tables beside the page, list them"
        yield Paragraphs(((f"{len(findings.files):,} files were read; {where}.",),), "Files")
        return
    heads = (text_column(head) for head in ("Path", "Kind", "Case"))
    columns = (*heads, Column("Bytes"), text_column("SHA-256"))
    rows = tuple(
        (text_cell(f.path), text_cell(f.kind), text_cell(f.case, case=f.case), text_cell(f"{f.bytes:,}"),
         text_cell(f.sha256))
        for f in findings.files
    )  # fmt: skip
    title = f"{len(rows):,} file{'' if len(rows) == 1 else 's'} read"
    yield PageTable("files", title, columns, rows, filter=True, closed=True)
    sums = "".join(map(_checksum_line, findings.files))
    yield Text("sha256sums", f"Checksums (sha256sum -c {SUMS})", sums, "Copy", SUMS, True, closed=True)


MOST_FILES = 2000
"""More files are listed beside the page: a line of each would be most of it."""
FILE_LIST = "files.csv"
SUMS = "SHA256SUMS.txt"
"""Browsers add this ending to a text that has none."""


def write_file_list(findings: Findings, folder: Path) -> list[Path]:
    """Write the files that were read, and their checksums, where they are too many for the page."""
    if findings.coded or len(findings.files) <= MOST_FILES:
        return []
    rows = ((f.path, f.kind, f.case, f.bytes, f.sha256) for f in findings.files)
    write_csv(folder / FILE_LIST, rows, ("path", "kind", "case", "bytes", "sha256"))
    write_text(folder / SUMS, "".join(map(_checksum_line, findings.files)))
    return [folder / FILE_LIST, folder / SUMS]


def _checksum_line(file: FileRead) -> str:
    """A line as ``sha256sum`` writes it; the line of a name with a line break starts with a backslash."""
    escaped = file.path.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{'' if escaped == file.path else chr(92)}{file.sha256}  {escaped}\n"


def claims_table(findings: Findings) -> PageTable:
    """Every claim that was made, and those that were considered and not made."""
    claims = findings.claims
    heads = ("Claim", "About", "Said", "Sentence", "Why not", "p", "Compared with")
    rows = (
        (
            c.kind.id,
            c.about,
            "yes" if c.made else "no",
            c.text,
            str(c.why_not or ""),
            *map(_shown, (c.p_value, c.alpha)),
        )
        for c in (*claims.made, *(claim for claim in claims if not claim.made))
    )
    title = f"Claims: {len(claims.made)} made, {len(claims) - len(claims.made)} considered and not made"
    note = (
        "Tests of one command share an error rate of 5%: p values are adjusted within a kind of claim, and kinds by "
        "Holm's method. claims.csv beside the page also has the numbers that each claim rests on."
    )
    return text_table("claims", title, heads, rows, note, filter=True, closed=True)


def _shown(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2g}"


# --- settings and versions

Line = tuple[str, str, str]
"""Part, setting, value."""

MISSING = {
    "worst": "missing predictions get the worst score",
    "exclude": "cases with a missing prediction are left out for all algorithms",
}


def versions_table(findings: Findings) -> PageTable:
    """Versions of the software."""
    rows = [("manytruths", manytruths.__version__), ("Python", platform.python_version())]
    rows += [(title, version(name)) for title, name in (("NumPy", "numpy"), ("SciPy", "scipy"), ("Pillow", "pillow"))]
    rows += [("Platform", f"{platform.system()}, {platform.machine()}")]
    same = "data, options, key of codes and versions" if findings.coded else "data, options and versions"
    note = f"The same {same} give the same page; the date and duration of the run are in run.json."
    return text_table("versions", "Versions", ("Software", "Version"), rows, note)


def settings_table(findings: Findings) -> PageTable:
    """Everything that the numbers depend on."""
    rows = [*_study_settings(findings), *_interval_settings(findings), *_consensus_settings(findings)]
    if findings.evaluation is not None:
        rows += _evaluation_settings(findings, findings.evaluation)
    rows += [*_ranking_settings(findings), *_plan_settings(findings)]
    note = "What is not listed was left at its default."
    if findings.coded:
        note += " Names were replaced by codes, so that paths are not shown."
    return text_table("settings", "Settings", ("Part", "Setting", "Value"), rows, note)


def _study_settings(findings: Findings) -> Iterator[Line]:
    options, part = findings.study.options, "study"
    region = region_of(findings.agreement.tallies)
    yield part, "what is counted", COUNTED_REGIONS.get(region, region).format(item=findings.pixel_word)
    tables = findings.agreement.tallies.values()
    yield part, "labels", ", ".join(next(iter(tables)).labels.describe())
    for setting in fields(options):
        value = getattr(options, setting.name)
        if setting.name in ("region", "labels") or not value or value == setting.default:
            continue
        yield part, setting.name, _value_text(findings, setting.name, value)
    if not options.masks:
        tallied = findings.study.tallied
        files = "" if tallied is None else counted(len(tallied.paths), "tally file")
        yield part, "masks", f"counted, in {files}" if files else "arrays in memory"


def _value_text(findings: Findings, name: str, value: Any) -> str:
    if name in PATHS:
        return "given" if findings.coded else str(value)
    if name == "exclude":
        masks = sum(map(len, value.values()))
        named = "; ".join(f"{rater}: {', '.join(cases)}" for rater, cases in value.items())
        return f"{masks} mask{'' if masks == 1 else 's'}" if findings.coded else named
    if isinstance(value, Labels):
        return ", ".join(value.describe())
    if isinstance(value, bool):
        return "yes"
    return ", ".join(f"{v:g}" for v in value) if isinstance(value, tuple) else str(value)


def _interval_settings(findings: Findings) -> Iterator[Line]:
    settings, part = findings.settings, "intervals"
    made = "Student's t on the logit, Fisher's z or logarithm of the mean; of pooled numbers, jackknife"
    none = f"none: fewer than {MIN_SUBJECTS} {findings.subject_word}s have a value"
    yield part, f"over {findings.subject_word}s", made if findings.resampled else none
    yield part, "level", f"{settings.level:.0%}"
    yield "random numbers", "seed", str(settings.seed)
    yield "words", "scale for kappa", scale_name(findings)
    if settings.exclude_group:
        yield "means", "also without groups", ", ".join(settings.exclude_group)
    measured = ", ".join(findings.agreement.maps.measure) or "none"
    if findings.study.tallied is not None:
        measured = "areas or volumes" if "sizes" in findings.agreement.maps.measure else "none"
    yield "measures", "measured of each case", measured
    if within := rater_tolerances(findings):
        whose = "given" if findings.agreement.maps.tolerance is not None else "from the raters' own distances"
        yield "measures", "tolerance of surface Dice", f"{join_names(within)}, {whose}"
    if settings.by:
        yield "groups", "compared by", ", ".join(settings.by)


def _consensus_settings(findings: Findings) -> Iterator[Line]:
    for method in findings.fusion.methods:
        given = {k: v for k, v in method_options(findings, method).items() if method.partition(":")[2] != str(v)}
        text = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in given.items())
        yield "reference standard", method, text or "default options"


def _evaluation_settings(findings: Findings, judged: Evaluation) -> Iterator[Line]:
    part = "evaluation"
    yield part, "algorithms", str(len(findings.study.algorithms))
    yield part, "reference standards", ", ".join(judged.plan.consensus)
    yield part, "missing predictions", MISSING[judged.missing]
    if judged.plan.threshold is not None:
        yield part, "threshold of probabilities", f"{judged.plan.threshold:g}"
    if judged.mask_scores is not None and judged.plan.distances:
        between = f"faces between {findings.pixel_word}s, weighted by their size"
        surfaces = {"elements": between, "pixels": f"border {findings.pixel_word}s"}
        yield part, "surfaces are", surfaces.get(judged.plan.definition, judged.plan.definition)
        yield part, "tolerance of surface Dice", join_names(tolerances(findings)) or "none"
    if judged.probability_scores is not None:
        low, high = judged.probability_scores.skew
        whose = "" if judged.plan.skew is not None else ", the raters' mean ± 3 SD"
        yield part, "prevalences of P̄", f"{low:.3g} to {high:.3g}{whose}"
    if judged.plan.boundaries:
        yield part, "boundaries", f"{judged.plan.boundaries}, within {judged.plan.share:g} of the diagonal"


def _ranking_settings(findings: Findings) -> Iterator[Line]:
    if findings.ranking is None:
        return
    ranking, part = findings.ranking.ranking, "ranking"
    yield part, "scheme", _scheme(ranking, findings.subject_word)
    yield part, "metrics", ", ".join(ranking.metrics)
    yield part, "under", _standards_counted(findings, ranking)
    drawn = f"{ranking.resamples:,}, {ranking.seed}"
    few = few_to_rank(findings, ranking) if ranking.overall.refusal else ""
    yield part, "resamples and seed", f"none: {few}" if few else drawn
    yield part, "missing scores", str(findings.ranking.settings.missing)
    yield part, "level of tests", f"not tested: {few}" if few else f"{ranking.alpha:g}, after Holm"


def _scheme(ranking: Ranking, each: str) -> str:
    """How the algorithms are ordered under one reference standard."""
    return {
        "mean": f"{ranking.aggregate} over {each}s, then ranks",
        "rank": "ranks in every case, then their mean",
        "test": "number of significant wins",
    }[ranking.scheme]


def _standards_counted(findings: Findings, ranking: Ranking) -> str:
    """``5 raters and 4 other reference standards, of which 8 are distinct``."""
    raters = sum(name in findings.study.rater_names for name in ranking.references)
    rest = len(ranking.references) - raters
    parts = [counted(raters, "rater")] if raters else []
    parts += [counted(rest, f"{'other ' if raters else ''}reference standard")] if rest else []
    return " and ".join(parts) + (f", of which {ranking.basis().distinct_words}" if ranking.same else "")


def _plan_settings(findings: Findings) -> Iterator[Line]:
    if findings.plan is not None:
        wish = findings.plan.settings
        yield "more raters", "panels up to", f"{wish.max_raters} raters"
        yield "more raters", "confidence set", f"{wish.level:.0%}{allowance(findings)}"
        yield "more raters", "resamples of raters and seed", f"at most {wish.resamples:,}, {wish.seed}"


# --- undefined values

CONVENTIONS = (
    ("agree", "Dice, IoU, positive agreement of raters", "undefined, left out", "0"),
    ("agree", "Kappas and alpha of raters", "undefined (one label), left out", "0, or a little below"),
    ("agree", "Relative {size} difference of raters", "undefined, left out", "200%; where both marked, left out"),
    ("raters", "Distances and surface Dice of two raters", "undefined, left out", "undefined, left out"),
    ("masks", "Dice, IoU of an algorithm", "undefined, left out", "0"),
    (
        "masks",
        "Sensitivity of an algorithm",
        "undefined, left out",
        "0; undefined, left out, if the reference is empty",
    ),
    ("masks", "PPV of an algorithm", "undefined, left out", "0; undefined, left out, if the prediction is empty"),
    ("distances", "Distances of an algorithm", "undefined, left out", "the image's diagonal"),
    ("distances", "Surface Dice of an algorithm", "undefined, left out", "0"),
    (
        "masks",
        "A score against several raters together",
        "the best value, unless all are empty: then undefined, left out",
        "the worst value; of distances the image's diagonal",
    ),
    ("gamma", "Dice distance in γ and in tests of raters", "0", "1"),
    ("ranks", "Ranks of algorithms", "the best value", "the value, or the worst where that is undefined"),
)
"""What a value counts as in means: for which analyses, of which quantity, with two empty masks, and with one."""


def conventions_table(findings: Findings) -> PageTable:
    """What values count as where masks are empty or missing."""
    judged, size = findings.evaluation, size_difference(findings.pixel_word).split()[1]
    masks = judged is not None and judged.mask_scores is not None
    here = {
        "agree": True,
        "raters": bool(rater_tolerances(findings)),
        "masks": masks,
        "distances": masks and judged is not None and judged.plan.distances,
        "gamma": findings.agreement.raters is not None or masks,
        "ranks": findings.ranking is not None,
    }
    rows = [(what.format(size=size), both, one) for part, what, both, one in CONVENTIONS if here[part]]
    note = "Values that are left out are counted in the columns n and n_undefined of the tables."
    if judged is not None:
        note += f" {MISSING[judged.missing].capitalize()}."
    heads = ("Number", "Both masks empty", "One mask empty")
    return text_table("conventions", "Empty masks: what counts as what", heads, rows, note)


MOST_CASES, MOST_STATISTICS = 3, 8
"""Most cases and most statistics that are named."""
MANY_ROWS = 12
"""With more rows the table is collapsed, and can be filtered."""

Key = tuple[str, str, str]
"""File, what is missing, why."""

WHERE = {
    "pooled": "all cases together",
    "mean": "mean over {}s",
    "std": "standard deviation",
    "group": "all cases together",
    "subject": "a patient",
    "ranking": "a ranking",
    "overall": "the overall ranking",
}


def undefined_block(findings: Findings) -> Block:
    """A row for every file and reason, with the statistics and cases that it applies to."""
    gaps = _gaps(findings)
    if not gaps:
        return Paragraphs((("Every value and every interval is defined.",),), "Undefined values")
    columns = (
        text_column("Numbers", "By their names in the file."), text_column("Missing"),
        text_column("Why"), Column("How many"), text_column("Where"), text_column("File"),
    )  # fmt: skip
    rows = tuple(_gap_row(findings, *key, missing) for key, missing in gaps.items())
    note = "What an undefined value counts as in means and ranks is in the table before this one."
    many = len(rows) > MANY_ROWS
    return PageTable("undefined", "Undefined values and why", columns, rows, note, filter=many, closed=many)


def _gaps(findings: Findings) -> dict[Key, list[Row]]:
    """Rows without a value, then rows without an interval, by file and reason."""
    gaps: dict[Key, list[Row]] = {}
    for index in findings.tables.values():
        for row in index.rows:
            for missing, why in _missing_parts(row):
                gaps.setdefault((index.file, missing, why), []).append(row)
    return dict(sorted(gaps.items(), key=lambda item: item[0][1] != "value"))


def _missing_parts(row: Row) -> Iterator[tuple[str, str]]:
    if code(row.value) and row.scope != "subject":  # subjects follow from their cases
        yield "value", reason(row.value)
    elif not code(row.value) and row.low is not None and code(row.low):
        yield "interval", REASONS[code(row.low)]


def _gap_row(findings: Findings, file: str, missing: str, why: str, rows: Sequence[Row]) -> tuple[Cell, ...]:
    titles = list(dict.fromkeys(row.statistic for row in rows))
    cases = list(dict.fromkeys(row.case for row in rows if row.scope == "case"))
    scopes = dict.fromkeys(
        WHERE.get(row.scope, row.scope).format(findings.subject_word) + (", by group" if row.group else "")
        for row in rows
        if row.scope != "case"
    )
    where = "; ".join([*([few(cases, MOST_CASES)] if cases else []), *scopes])
    every = ", ".join(titles) if len(titles) > MOST_STATISTICS else ""
    named = text_cell(few(titles, MOST_STATISTICS), why=every)
    return (named, *map(text_cell, (missing, why, f"{len(rows):,}", where, file)))
