"""How far raters agree on areas or volumes: intraclass correlation, limits of agreement, detectable change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..core.undefined import Note, code, reason
from ..inference.intervals import MIN_SUBJECTS
from ..io.result_tables import Row
from .agreement import MANY_LABELS, AgreementFacts
from .claim import ClaimKind, ClaimLog
from .numbers import TableIndex, has_interval, is_defined, telling_digits
from .sentences import Cell, Sentence, case_links, compose, counted, join_parts, label_words, number_word, spell_count

ICC = ClaimKind(
    "sizes.icc", "estimate",
    "The intraclass correlation of areas or volumes, named in full, is so much, and on a log scale so much; of several "
    "labels, label by label.",
    "The sizes were measured and it is defined; two-way random, absolute agreement, single rater, and one-way where "
    "raters are exchangeable; the interval needs ten subjects. The log scale leaves out cases in which a rater "
    "marked nothing, and is not mentioned where it has no number. Raters with fewer than ten cases, where others have "
    "more, are named.",
    "coverage of the intervals, which is below 93% with three raters and many subjects, and lower with skewed sizes "
    "unless on a log scale",
)  # fmt: skip
LIMITS = ClaimKind(
    "sizes.limits", "estimate",
    "Of two raters, the limits of agreement of areas or volumes, as ratios; of more, the limits of agreement with the "
    "mean, as a factor, which are said to be none between two raters.",
    "They are defined: two subjects or more in which every rater marked something, and sizes that differ; the interval "
    "needs ten subjects. The sentence says that the limits take log ratios to be normally distributed. Raters with "
    "fewer than ten cases, where others have more, are named.",
    "coverage of the intervals, where log ratios are normal",
)  # fmt: skip
CHANGE = ClaimKind(
    "sizes.detectable_change", "estimate",
    "The smallest detectable change of areas or volumes is a factor: two sizes of one case by different raters differ "
    "by less in 95% of cases.",
    "It is defined: two subjects or more in which every rater marked something, and sizes that differ; the interval "
    "needs ten subjects. The sentence says that it takes log ratios to be normally distributed. Raters with fewer than "
    "ten cases, where others have more, are named.",
    "coverage of the interval, where log ratios are normal",
)  # fmt: skip
REPEATABILITY = ClaimKind(
    "sizes.repeatability", "estimate",
    "Two areas or volumes that one rater draws in the same case differ by less than a factor in 95% of cases.",
    "A rater has several sessions, and it is defined; the interval needs ten subjects. The sentence says that it takes "
    "log ratios to be normally distributed.",
    "coverage of the interval",
)  # fmt: skip
CUT = ClaimKind(
    "sizes.cut_by_border", "description",
    "In so many cases a mark touches the border of the image or of the region of interest, so that its size is a "
    "lower limit.",
    "There is such a case.",
)  # fmt: skip
NO_SPACING = ClaimKind(
    "sizes.no_spacing", "description",
    "Sizes are in pixels or voxels, since their size is unknown.",
    "The spacing of a case is unknown.",
)  # fmt: skip
REFERENCE_SIZES = ClaimKind(
    "reference.sizes", "estimate",
    "A rater's or algorithm's areas or volumes are so many times those of a given reference standard, with the limits "
    "of agreement; of several labels, label by label.",
    f"The ratio has an interval, and so at least {MIN_SUBJECTS} subjects in which both marked something. The reference "
    "is not the rater's own mask in any case and no vote of the raters; the algorithm was not trained on the study, "
    "and the reference is not its own mask in any case. The sentence says that the limits take log ratios to be "
    "normally distributed.",
    "coverage of the interval",
)  # fmt: skip
KINDS = (ICC, LIMITS, CHANGE, REPEATABILITY, CUT, NO_SPACING)

RATIOS = ("area", "volume")
"""Sizes that sentences are about."""
CORRELATIONS = {
    "icc_a1": "two-way random, absolute agreement, single rater",
    "icc_1": "one-way random, single rater",
}
NORMAL = "log ratios are normally distributed"
SPREADS = ("smallest_detectable_change", "limits_with_mean", "upper_limit", "repeatability")
"""Statistics that tell nothing where sizes do not differ: 0, or a factor of 1."""
MOST_RARE = 3
"""Raters with few cases who are named."""
COUNTED = ("pixels", "voxels")
"""Units of sizes where the spacing is not known."""


@dataclass(frozen=True)
class SizeFacts:
    """What the sentences on sizes need to know beside the tables."""

    about: AgreementFacts
    cut: tuple[str, ...] = ()
    """Cases in which a mark touches the border."""
    roi: bool = False
    """Whether only what lies in a region of interest is measured."""


@dataclass(frozen=True)
class _Size:
    """One kind of size in one unit."""

    name: str
    unit: str
    facts: AgreementFacts
    one_unit: bool
    rare: Sentence = ()
    """Which raters measured few cases only, so that their errors are hardly known."""

    @property
    def words(self) -> str:
        """``areas``, with their unit where others have another."""
        return f"{self.name}s" if self.one_unit else f"{self.name}s in {self.unit}"

    def rows(self, table: TableIndex, statistic: str, scale: str, relation: str, *raters: str) -> list[Row]:
        """The rows of a statistic, one for each label, undefined ones last."""
        extra = self.name, self.unit, scale, relation, *(raters or ("", ""))
        found = (table.row(statistic, "pooled", *extra, label=label) for label in self.facts.labels or ("",))
        return sorted((row for row in found if row is not None), key=lambda row: (not _is_sayable(row), -row.value))

    def over(self, row: Row, empty: str = "") -> str:
        """Over how many subjects, where not all, and how many cases have no ratio, as ``empty`` marked nothing."""
        parts = []
        if row.n is not None and row.n < self.facts.subjects:
            parts.append(f"over {number_word(row.n)} of {spell_count(self.facts.subjects, self.facts.subject_word)}")
        if empty and row.n_undefined:
            # sizes of 0 have no ratio
            parts.append(f"without {spell_count(row.n_undefined, 'case')} in which {empty} marked nothing")
        if not parts:
            return ""
        return f" ({', '.join(parts)})" if row.label else f", {', '.join(parts)}"


def consider_sizes(log: ClaimLog, table: TableIndex, sizes: TableIndex, facts: SizeFacts) -> None:
    """Consider every claim about sizes, from the tables ``size_agreement`` and ``sizes``."""
    for size in _sizes(table, sizes, facts.about):
        _consider_correlation(log, table, size)
        _consider_limits(log, table, size)
        _consider_change(log, table, size)
        _consider_repeatability(log, table, size)
    _consider_cut(log, sizes, facts)
    _consider_spacing(log, sizes)


def _sizes(table: TableIndex, sizes: TableIndex, facts: AgreementFacts) -> Iterator[_Size]:
    found = list(dict.fromkeys((r["size"], r["unit"]) for r in table.rows if r["size"] in RATIOS))
    for name, unit in found:
        one_unit = sum(other == name for other, _ in found) == 1
        yield _Size(name, unit, facts, one_unit, () if facts.exchangeable else _rare_raters(sizes, name, unit))


def _rare_raters(sizes: TableIndex, name: str, unit: str) -> Sentence:
    """A sentence on raters with fewer than ten cases, where others have more."""
    cases: dict[str, set[str]] = {}
    for row in sizes.rows:
        if (row.scope, row.statistic, row["unit"]) == ("case", name, unit) and is_defined(row):
            cases.setdefault(row["rater"], set()).add(row.case)
    numbers, whole = {rater: len(of) for rater, of in cases.items()}, len(set().union(*cases.values()))
    most = max(numbers.values(), default=0)
    rare = [rater for rater, count in numbers.items() if count < min(MIN_SUBJECTS, most)]
    of = f"of {spell_count(whole, 'case')}"
    if not rare:
        return ()
    if len(rare) > MOST_RARE:
        few = number_word(min(MIN_SUBJECTS, most))
        return (f" Of {spell_count(len(numbers), 'rater')}, {number_word(len(rare))} measured fewer than {few} {of}.",)
    parts = [compose(f"{{}} measured {number_word(numbers[rater])}", Cell(rater)) for rater in rare]
    return compose(" Rater {} {}.", join_parts(parts, " and rater ", ", rater "), of)


def _is_sayable(row: Row) -> bool:
    """Whether a row has a number that tells something: no interval for want of subjects only, and some spread."""
    return is_defined(row) and _why_silent(row) is None


def _why_silent(row: Row) -> Note | None:
    """Why a number is not said, though it is defined."""
    nothing = 1.0 if row["scale"] == "log" else 0.0
    if row.statistic in SPREADS and row.value == nothing:
        return Note("no_spread", "the sizes that are compared do not differ")
    gap = code(row.low) if row.low is not None else ""
    return Note(gap, reason(row.low)) if gap and gap != "too_few_subjects" and row.low is not None else None


def _why_undefined(rows: Sequence[Row]) -> Note:
    """Why none of some rows has a number that is said."""
    for row in rows:
        if code(row.value):
            return Note(code(row.value), reason(row.value))
        if (why := _why_silent(row)) is not None:
            return why
    return Note("undefined", "it was not computed")


Part = Callable[[Row], Sentence]


def _by_label(rows: Sequence[Row], part: Part, between: str = ", ") -> tuple[Sentence, tuple[Row, ...]]:
    """The numbers of all labels that have one, or of the first and last of many; and the rows that are not shown."""
    known = [row for row in rows if _is_sayable(row)]
    shown = known if len(known) <= MANY_LABELS else [known[0], known[-1]]
    parts = [(*part(row), f" for {label_words(row.label)}") if row.label else part(row) for row in shown]
    said = join_parts(parts, " and " if between == ", " else between, between)
    if shown is not known:
        said = (*said, f", the largest and the smallest of {number_word(len(known))} labels")
    return said, tuple(row for row in known if row not in shown)


def _consider_correlation(log: ClaimLog, table: TableIndex, size: _Size) -> None:
    name = "icc_1" if size.facts.exchangeable else "icc_a1"
    rows = size.rows(table, name, "linear", "all")
    text = f"The intraclass correlation of {size.words} ({CORRELATIONS[name]}) {{}} {{}}{{}}."
    if not any(map(_is_sayable, rows)):
        log.consider(ICC, (text.format("is", "known", ""),), about=_about(size), why_not=_why_undefined(rows))
        return
    said, left = _by_label(rows, lambda row: (table.quote(row, telling_digits(row.value)), size.over(row)))
    empty = len(size.facts.nothing_marked)
    zeros = f"; {spell_count(empty, 'case')} in which nobody marked anything count as 0" if empty else ""
    zeros = zeros.replace("count as", "counts as") if empty == 1 else zeros
    tenses = ("is", zeros), ("was", zeros.replace(" count", " counted").replace("counteds", "counted"))
    logs = size.rows(table, name, "log", "all")
    also, more = _by_label(logs, lambda row: (table.quote(row, telling_digits(row.value)), size.over(row, "a rater")))
    sentence, result = (
        (
            *compose(text, verb, said, rest),
            *(compose(" On a log scale it {} {}.", verb, also) if also else ()),
            *size.rare,
        )
        for verb, rest in tenses
    )
    log.consider(ICC, sentence, about=_about(size), result=result, rests_on=tuple(map(table.quote, (*left, *more))))


def _about(size: _Size) -> str:
    return "" if size.one_unit else size.words


def _factor(table: TableIndex, row: Row) -> Cell:
    """A ratio, with so many digits that it is not shown as 1 unless it is."""
    return table.quote(row, _factor_digits(row))


def _consider_limits(log: ClaimLog, table: TableIndex, size: _Size) -> None:
    two = size.facts.raters == 2 and not size.facts.exchangeable
    (_pair_limits if two else _mean_limits)(log, table, size)


def _pair_limits(log: ClaimLog, table: TableIndex, size: _Size) -> None:
    between = [row for row in table.rows if (row["size"], row["relation"]) == (size.name, "between")]
    names = (between[0]["rater_a"], between[0]["rater_b"]) if between else ("", "")
    rows = size.rows(table, "upper_limit", "log", "between", *names)
    if not any(map(_is_sayable, rows)):
        text = f"The limits of agreement of {size.words} are known."
        log.consider(LIMITS, (text,), about=_about(size), why_not=_why_undefined(rows))
        return

    def part(row: Row) -> Sentence:
        lower, bias = (table.row(name, "pooled", *row.extra, label=row.label) for name in ("lower_limit", "bias"))
        assert lower is not None
        assert bias is not None
        numbers = (_factor(table, each) for each in (lower, row, bias))
        return compose("{} and {}, with a mean ratio of {}{}", *numbers, size.over(row, "one of them"))

    said, left = _by_label(rows, part, "; ")
    text = f"The limits of agreement of {size.words}, as ratios of {{}} to {{}}, {{}} {{}}. "
    last = f"95% of the ratios lie between them, if {NORMAL}.", f"95% of the ratios lay between them, if {NORMAL}."
    raters = tuple(Cell(name) for name in names)
    sentence, result = (
        (*compose(text, *raters, verb, said), rest, *size.rare)
        for verb, rest in zip(("are", "were"), last, strict=True)
    )
    log.consider(LIMITS, sentence, about=_about(size), result=result, rests_on=tuple(map(table.quote, left)))


def _mean_limits(log: ClaimLog, table: TableIndex, size: _Size) -> None:
    rows = size.rows(table, "limits_with_mean", "log", "all")
    if not any(map(_is_sayable, rows)):
        text = f"The limits of agreement of {size.words} with the mean are known."
        log.consider(LIMITS, (text,), about=_about(size), why_not=_why_undefined(rows))
        return
    said, left = _by_label(rows, lambda row: (_factor(table, row), size.over(row, "a rater")))
    text = (
        f"The limits of agreement with the mean {{}} a factor of {{}}: 95% of {size.words} {{}} within that factor of "
        f"the geometric mean of all raters, if {NORMAL}. These {{}} no limits between two raters."
    )
    verbs = ("are", "lie", "are"), ("were", "lay", "were")
    sentence, result = ((*compose(text, first, said, *more), *size.rare) for first, *more in verbs)
    log.consider(LIMITS, sentence, about=_about(size), result=result, rests_on=tuple(map(table.quote, left)))


def _consider_change(log: ClaimLog, table: TableIndex, size: _Size) -> None:
    rows = size.rows(table, "smallest_detectable_change", "log", "all")
    if not any(map(_is_sayable, rows)):
        text = f"The smallest detectable change of {size.words} is known."
        log.consider(CHANGE, (text,), about=_about(size), why_not=_why_undefined(rows))
        return
    said, left = _by_label(rows, lambda row: (_factor(table, row), size.over(row, "a rater")))
    text = (
        f"The smallest detectable change of {size.words} {{}} a factor of {{}}: two {size.words} of one case by "
        f"different raters {{}} by less in 95% of cases, if {NORMAL}."
    )
    verbs = ("is", "differ"), ("was", "differed")
    sentence, result = ((*compose(text, be, said, verb), *size.rare) for be, verb in verbs)
    log.consider(CHANGE, sentence, about=_about(size), result=result, rests_on=tuple(map(table.quote, left)))


def _consider_repeatability(log: ClaimLog, table: TableIndex, size: _Size) -> None:
    of = [
        r for r in table.all("repeatability", "pooled", label=None) if (r["size"], r["unit"]) == (size.name, size.unit)
    ]
    if not of:
        return
    raters = list(dict.fromkeys(row["rater_a"] for row in of if row["rater_a"]))
    one = raters[0] if len(raters) == 1 else ""
    rows = size.rows(table, "repeatability", "log", "within", one, "")
    who: Sentence = ("rater ", Cell(one)) if one else ("the same rater",)
    if not any(map(_is_sayable, rows)):
        said = compose(f"The repeatability of {size.words} by {{}} is known.", who)
        log.consider(REPEATABILITY, said, about=_about(size), why_not=_why_undefined(rows))
        return
    values, left = _by_label(rows, lambda row: (_factor(table, row), size.over(row, "a session")))
    text = (
        f"The repeatability coefficient of {size.words} {{}} a factor of {{}}: two {size.words} of one case by {{}} "
        f"{{}} by less in 95% of cases, if {NORMAL}."
    )
    sentence, result = (compose(text, be, values, who, verb) for be, verb in (("is", "differ"), ("was", "differed")))
    log.consider(REPEATABILITY, sentence, about=_about(size), result=result, rests_on=tuple(map(table.quote, left)))


def _consider_cut(log: ClaimLog, sizes: TableIndex, facts: SizeFacts) -> None:
    row = sizes.row("cut_by_border", "pooled", "", "", "")
    border = "the border of the image" + " or of the region of interest" * facts.roi
    if not facts.cut or row is None:
        why = Note("nothing_cut", f"no mark touches {border}")
        if row is None:
            why = Note("no_pixels", f"without pixels it is not known whether marks touch {border}")
        log.consider(CUT, (f"Some marks touch {border}.",), why_not=why)
        return

    def sentence(verb: str, be: str) -> Sentence:
        text = f"In {{}} of {counted(row.n or 0, 'case')} ({{}}) a mark {verb} {border}: its size {be} a lower limit."
        return compose(text, sizes.quote(row, 0), case_links(facts.cut))

    log.consider(CUT, sentence("touches", "is"), result=sentence("touched", "was"))


def _consider_spacing(log: ClaimLog, sizes: TableIndex) -> None:
    units = {row["unit"] for row in sizes.rows if row.statistic in RATIOS and row.scope == "case"}
    unknown = [unit for unit in COUNTED if unit in units]
    if not unknown:
        log.consider(
            NO_SPACING, (NO_SPACING.says,), why_not=Note("spacing_known", "the spacing of every case is known")
        )
        return
    for unit in unknown:
        some = "" if len(units) == 1 else " in some cases"
        text = f"Sizes {{}} in {unit}{some}, since the size of a {unit.removesuffix('s')} {{}} unknown there."
        text = text if some else text.replace(" there.", ".")
        log.consider(NO_SPACING, (text.format("are", "is"),), result=(text.format("were", "was"),))


# -- given reference standards -----------------------------------------------------------------------

MOST_NAMED = 6
"""Raters or algorithms in sentences on one reference."""


@dataclass(frozen=True)
class ReferenceSizeFacts:
    """What the sentences on sizes against given references need to know beside the table."""

    subjects: int
    subject_word: str
    labels: tuple[str, ...] = ()
    """Where there are several."""
    rater: bool = True
    """Whether raters are compared, or algorithms."""
    silent: Mapping[tuple[str, str], Note] = field(default_factory=dict)
    """Why nothing is said about some, by who is compared and the reference."""


def consider_reference_sizes(log: ClaimLog, table: TableIndex, facts: ReferenceSizeFacts) -> None:
    """How many times the areas or volumes of a given reference those of each rater or algorithm are."""
    biases = [
        row for row in table.all("bias", "pooled", label=None) if row.extra[3] == "reference" and row["size"] in RATIOS
    ]
    by_pair: dict[tuple[str, ...], list[Row]] = {}
    for row in biases:
        rows = by_pair.setdefault((row["size"], row["unit"], *map(str, row.extra[4:])), [])
        rows += [row] if row.label in (facts.labels or ("",)) else []
    units, named = {unit for _, unit, *_ in by_pair}, dict[str, int]()
    for (size, unit, who, reference), rows in by_pair.items():
        words = f"{size}s" if len(units) == 1 else f"{size}s in {unit}"
        why = facts.silent.get((who, reference)) or _why_no_ratio(rows)
        if why is None and named.get(reference, 0) >= MOST_NAMED:
            why = Note("in_the_table", f"{number_word(MOST_NAMED)} others are named; the table has all")
        named[reference] = named.get(reference, 0) + (why is None)
        _consider_ratio(log, table, facts, words, (who, reference), rows, why)


def _why_no_ratio(rows: Sequence[Row]) -> Note | None:
    """Why no label has a ratio that is said: it needs its interval."""
    if any(map(has_interval, rows)):
        return None
    low = next((row.low for row in rows if is_defined(row) and row.low is not None), None)
    return _why_undefined(rows) if low is None else Note(code(low), reason(low))


def _consider_ratio(
    log: ClaimLog, table: TableIndex, facts: ReferenceSizeFacts, words: str, names: tuple[str, str],
    rows: Sequence[Row], why: Note | None,
) -> None:  # fmt: skip
    who, reference = map(Cell, names)
    about = " against ".join(names)
    start = f"The {words} of {'rater ' * facts.rater}{{}} "
    if why is not None:
        text = start + "are so many times those of the given reference {}."
        log.consider(REFERENCE_SIZES, compose(text, who, reference), about=about, why_not=why)
        return
    known = sorted(filter(has_interval, rows), key=lambda row: -row.value)
    shown = known if len(known) <= MANY_LABELS else [known[0], known[-1]]
    parts: list[Sentence] = []
    for row in shown:
        ends = (table.row(name, "pooled", *row.extra, label=row.label) for name in ("lower_limit", "upper_limit"))
        limits = [table.quote(end, _factor_digits(end), interval=False) for end in ends if end is not None]
        those: Sentence = () if parts else (" times those of the given reference ", reference)
        label = f" for {label_words(row.label)}" if row.label else ""
        text = "{}{}{} (95% limits of agreement {} to {}" + ("{})" if parts else f", if {NORMAL}{{}})")
        over = _reference_over(row, facts)
        over = "" if parts and over == _reference_over(shown[0], facts) else over
        parts.append(compose(text, _factor(table, row), those, label, *limits, over))
    said = join_parts(parts)
    if shown is not known:
        said = (*said, f", the largest and the smallest of {number_word(len(known))} labels")
    sentence, result = (compose(start + "{} on average {}.", who, be, said) for be in ("are", "were"))
    left = [row for row in known if row not in shown]
    log.consider(REFERENCE_SIZES, sentence, about=about, result=result, rests_on=tuple(map(table.quote, left)))


def _factor_digits(row: Row) -> int:
    return 2 if abs(row.value - 1) >= 0.005 or row.value == 1 else 3


def _reference_over(row: Row, facts: ReferenceSizeFacts) -> str:
    """Over how many subjects, where not all, and how many cases have no ratio."""
    parts = []
    if row.n is not None and row.n < facts.subjects:
        parts.append(f"over {number_word(row.n)} of {spell_count(facts.subjects, facts.subject_word)}")
    if row.n_undefined:
        parts.append(f"without {spell_count(row.n_undefined, 'case')} in which one of the two marked nothing")
    return "".join(f"; {part}" for part in parts)
