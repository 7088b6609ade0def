"""How far raters agree on areas or volumes: intraclass correlation, limits of agreement, detectable change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..core.undefined import Note, code, reason
from ..inference.intervals import MIN_SUBJECTS
from ..io.result_tables import Row
from .agreement import MANY_LABELS, AgreementFacts
from .claim import ClaimKind, ClaimLog
from .numbers import TableIndex, has_interval, is_defined, significant_digits, telling_digits
from .sentences import (
    Cell,
    Sentence,
    case_links,
    compose,
    counted,
    join_names,
    join_parts,
    label_words,
    number_word,
    spell_count,
)

ICC = ClaimKind(
    "sizes.icc", "estimate",
    "The intraclass correlation of logarithms of areas or volumes, named in full, is so much, and that of the areas or "
    "volumes themselves so much; of several labels, label by label.",
    "The sizes were measured and it is defined; two-way random, absolute agreement, single rater, and one-way where "
    "raters are exchangeable. That of logarithms has an interval, which needs ten subjects, and leaves out cases in "
    "which a rater marked nothing; where it is undefined the other one is given alone, which has no interval. Where "
    "patients have several cases, the sentence says that the interval is about these raters. Raters with fewer than "
    "ten cases, where others have more, are named.",
    "coverage of the interval, where logarithms are normal",
)  # fmt: skip
LIMITS = ClaimKind(
    "sizes.limits", "estimate",
    "Of two raters, the limits of agreement of areas or volumes, as ratios; of more, the limits of agreement with the "
    "mean, as a factor, which are said to be none between two raters.",
    "They are defined: two subjects or more in which every rater marked something, and sizes that differ; the interval "
    "needs ten subjects, and without one the sentence says that the number may be far off. It says that the limits "
    "take log ratios to be normally distributed. Raters with fewer than ten cases, where others have more, are named "
    "in one of the sentences on sizes.",
    "coverage of the intervals, where log ratios are normal",
)  # fmt: skip
CHANGE = ClaimKind(
    "sizes.detectable_change", "estimate",
    "The smallest detectable change of areas or volumes is a factor: two sizes of one case by different raters differ "
    "by less in 95% of cases.",
    "It is defined: two subjects or more in which every rater marked something, and sizes that differ; the interval "
    "needs ten subjects, and without one the sentence says that the number may be far off; where its upper end is more "
    "than ten times the factor, as of few raters, that is said instead. The sentence says that it takes log ratios to "
    "be normally distributed. Raters with fewer than ten cases, where others have more, are named in one of the "
    "sentences on sizes.",
    "coverage of the interval, where log ratios are normal",
)  # fmt: skip
REPEATABILITY = ClaimKind(
    "sizes.repeatability", "estimate",
    "Two areas or volumes that one rater draws in the same case differ by less than a factor in 95% of cases.",
    "A rater has several sessions, and it is defined; the interval needs ten subjects, and without one the sentence "
    "says that the number may be far off. It says that it takes log ratios to be normally distributed.",
    "coverage of the interval",
)  # fmt: skip
RANGE = ClaimKind(
    "sizes.range", "description",
    "The smallest and the largest area or volume that a rater drew; of several labels, label by label.",
    "Two sizes above 0 differ; of more labels than are named one by one, nothing is said.",
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
    "of agreement; of several labels, label by label, and of one label in one sentence for each reference.",
    f"The ratio has an interval, and so at least {MIN_SUBJECTS} subjects in which both marked something. The reference "
    "is not the rater's own mask in any case, no vote of the raters, and not made of their masks by adjudicators; the "
    "algorithm was not trained on the study, and the reference is not its own mask in any case. The sentence says that "
    "the limits take log ratios to be normally distributed.",
    "coverage of the interval, where log ratios are not skewed",
)  # fmt: skip
KINDS = (ICC, RANGE, LIMITS, CHANGE, REPEATABILITY, CUT, NO_SPACING)

RATIOS = ("area", "volume")
"""Sizes that sentences are about."""
CORRELATIONS = {
    "icc_a1": "two-way random, absolute agreement, single rater",
    "icc_1": "one-way random, single rater",
}
NORMAL = "log ratios are normally distributed"
SPREADS = ("smallest_detectable_change", "limits_with_mean", "upper_limit", "repeatability")
"""Statistics that tell nothing where sizes do not differ: 0, or a factor of 1."""
NEAR_ONE = 0.005
"""Ratios that are nearer to 1 are shown with three digits."""
FAR_END = 10.0
"""Upper ends that are more times the factor itself tell nothing."""
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
    cases: Mapping[str, int] = field(default_factory=dict)
    """How many were measured, by label. Where subjects are fewer, intervals come from the jackknife over subjects."""
    empty: Mapping[str, int] = field(default_factory=dict)
    """In how many of them nobody marked the label."""

    @property
    def words(self) -> str:
        """``areas``, with their unit where others have another."""
        return f"{self.name}s" if self.one_unit else f"{self.name}s in {self.unit}"

    def rows(self, table: TableIndex, statistic: str, scale: str, relation: str, *raters: str) -> list[Row]:
        """The rows of a statistic, one for each label, undefined ones last."""
        extra = self.name, self.unit, scale, relation, *(raters or ("", ""))
        found = (table.row(statistic, "pooled", *extra, label=label) for label in self.facts.labels or ("",))
        return sorted((row for row in found if row is not None), key=lambda row: (not _is_sayable(row), -row.value))

    def uncertain(self, rows: Sequence[Row], start: str) -> str:
        """A warning where no number that is said has an interval, for want of subjects."""
        if any(_is_sayable(row) and has_interval(row) for row in rows):
            return ""
        few = f"{number_word(MIN_SUBJECTS)} {self.facts.subject_word}s"
        return f" With fewer than {few}, {start} no interval and may be far off."

    def over(self, row: Row, empty: str = "", *, zeros: bool = False) -> str:
        """Over how many subjects, where not all, and how many cases have no ratio, as ``empty`` marked nothing.

        With ``zeros``, what ratios leave out counts, so that all subjects are named.
        """
        parts, all_of = [], spell_count(self.facts.subjects, self.facts.subject_word)
        if row.n is not None and row.n < self.facts.subjects:
            parts.append(f"over {number_word(row.n)} of {all_of}")
        elif zeros:
            parts.append(f"over all {all_of}")
        if empty and row.n_undefined:
            # sizes of 0 have no ratio
            nothing = f"nobody marked {'it' if row.label else 'anything'}"
            where = nothing if row.n_undefined == self.empty.get(row.label) else f"{empty} marked nothing"
            parts.append(f"without {spell_count(row.n_undefined, 'case')} in which {where}")
        parts += ["with empty masks as 0"] * zeros
        if not parts:
            return ""
        return f" ({', '.join(parts)})" if row.label else f", {', '.join(parts)}"


def consider_sizes(log: ClaimLog, table: TableIndex, sizes: TableIndex, facts: SizeFacts) -> None:
    """Consider every claim about sizes, from the tables ``size_agreement`` and ``sizes``."""
    for size in _sizes(table, sizes, facts.about):
        for consider in (_consider_correlation, _consider_limits, _consider_change):
            consider(log, table, size)
            if log.claims[-1].made:
                size = replace(size, rare=())  # named once
            if consider is _consider_correlation:
                _consider_range(log, sizes, size)
        _consider_repeatability(log, table, size)
    _consider_cut(log, sizes, facts)
    _consider_spacing(log, sizes)


def _sizes(table: TableIndex, sizes: TableIndex, facts: AgreementFacts) -> Iterator[_Size]:
    found = list(dict.fromkeys((r["size"], r["unit"]) for r in table.rows if r["size"] in RATIOS))
    for name, unit in found:
        one_unit = sum(other == name for other, _ in found) == 1
        rare = () if facts.exchangeable else _rare_raters(sizes, name, unit)
        yield _Size(name, unit, facts, one_unit, rare, *_count_cases(sizes, name, unit))


def _count_cases(sizes: TableIndex, name: str, unit: str) -> tuple[dict[str, int], dict[str, int]]:
    """Number of cases that were measured, by label, and of those in which nobody marked it."""
    largest: dict[str, dict[str, float]] = {}
    for row in sizes.all(name, "case", label=None):
        if row["unit"] == unit and is_defined(row):
            of = largest.setdefault(row.label, {})
            of[row.case] = max(row.value, of.get(row.case, 0.0))
    empty = {label: sum(not size for size in of.values()) for label, of in largest.items()}
    return {label: len(of) for label, of in largest.items()}, empty


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
    """Of logarithms, with the interval; of the sizes themselves without, as they are skewed and no interval covers."""
    name = "icc_1" if size.facts.exchangeable else "icc_a1"
    logs, rows = (size.rows(table, name, scale, "all") for scale in ("log", "linear"))
    kind = f"({CORRELATIONS[name]})"
    if not any(map(_is_sayable, (*logs, *rows))):
        text = f"The intraclass correlation of {size.words} {kind} is known."
        log.consider(ICC, (text,), about=_about(size), why_not=_why_undefined((*logs, *rows)))
        return

    def number(row: Row, **how: bool) -> Cell:
        return _correlation(table, row, **how)

    of_logs, more = _by_label(logs, lambda row: (number(row), size.over(row, "a rater")))
    # masks of some raters alone are empty in these
    zeros = {row.label for row in logs if (row.n_undefined or 0) > size.empty.get(row.label, 0)} if of_logs else set()
    said, left = _by_label(rows, lambda row: (number(row, interval=False), size.over(row, zeros=row.label in zeros)))
    limited = any(map(has_interval, logs)) and any(size.cases.get(row.label, 0) > (row.n or 0) for row in rows)
    sentence, result = (
        _say_correlation(size, kind, be, (of_logs, said), _empty_cases(size, past, said="" in zeros), limited)
        for be, past in (("is", False), ("was", True))
    )
    others = *(table.quote(row, interval=False) for row in left), *map(table.quote, more)
    log.consider(ICC, sentence, about=_about(size), result=result, rests_on=others)


def _say_correlation(
    size: _Size, kind: str, be: str, said: tuple[Sentence, Sentence], empty: str, limited: bool
) -> Sentence:
    of_logs, of_sizes = said
    text = "The intraclass correlation of {} {} {} {}{}."
    if not of_logs:
        return (*compose(text, size.words, kind, be, of_sizes, empty), *size.rare)
    first = compose(text, f"logarithms of {size.words}", kind, be, of_logs, "")
    these = (" The interval is about other patients with these raters.",) if limited else ()
    second = compose(f" That of the {size.words} themselves {{}} {{}}{empty}.", be, of_sizes) if of_sizes else ()
    return (*first, *these, *second, *size.rare)


def _correlation(table: TableIndex, row: Row, *, interval: bool = True) -> Cell:
    """A correlation; one that three digits do not tell from 1 is ``> 0.999``, with an interval that does."""
    if not NEARLY_ONE <= row.value < 1:
        return table.quote(row, telling_digits(row.value), interval=interval)
    known = interval and has_interval(row) and row.low is not None and row.low < NEARLY_ONE
    cell = table.quote(row, 3, interval=known)
    return replace(cell, shown=cell.shown.replace("1.000", "> 0.999", 1))


NEARLY_ONE = 0.9995
"""Shown as 1.000 with three digits."""


def _empty_cases(size: _Size, past: bool, *, said: bool) -> str:
    """How cases without any mark count among the sizes themselves, if not ``said``; of several labels, for each."""
    empty = {label: size.empty[label] for label in size.facts.labels or ("",) if size.empty.get(label)}
    if not empty:
        return ""
    if size.facts.labels:
        parts = [f"{spell_count(count, 'case')} for {label_words(label)}" for label, count in empty.items()]
        count = "counted" if past else "count"
        return f"; cases in which nobody marked the label {count} as 0, on which raters agree ({join_names(parts)})"
    if said:
        return f"; in {spell_count(empty[''], 'case')} nobody marked anything"
    count = "counted" if past else "counts" if empty[""] == 1 else "count"
    return f"; {spell_count(empty[''], 'case')} in which nobody marked anything {count} as 0"


def _consider_range(log: ClaimLog, sizes: TableIndex, size: _Size) -> None:
    """On which a correlation depends."""
    parts: list[Sentence] = []
    labels = size.facts.labels or ("",)
    for label in labels if len(labels) <= MANY_LABELS else ():
        rows = [row for row in sizes.all(size.name, "case", label=label) if row["unit"] == size.unit and row.value > 0]
        rows = sorted((row for row in rows if row.label == label), key=lambda row: row.value)
        if rows and rows[0].value < rows[-1].value:
            digits = [0 if size.unit in COUNTED else significant_digits(row.value) for row in (rows[0], rows[-1])]
            ends = map(sizes.quote, (rows[0], rows[-1]), digits)
            parts.append(compose("from {} to {} {}{}", *ends, size.unit, f" for {label_words(label)}" if label else ""))
    if not parts:
        why = Note("no_range", "no two sizes above 0 differ, or there are many labels")
        log.consider(RANGE, (f"The {size.words} range from so much to so much.",), about=_about(size), why_not=why)
        return
    text = "{}{} {} {} (empty masks apart)."
    empty = any(size.empty.values()) or any(row.value == 0 for row in sizes.all(size.name, "case", label=None))
    text = text if empty else text.replace(" (empty masks apart)", "")
    start, readings = f"{size.name.capitalize()}s", {(row["rater"], row["session"]) for row in sizes.rows}
    every = " in all readings" if len(readings) > len({rater for rater, _ in readings}) else ""
    sentence, result = (compose(text, start, every, verb, join_parts(parts)) for verb in ("range", "ranged"))
    log.consider(RANGE, sentence, about=_about(size), result=result)


def _about(size: _Size) -> str:
    return "" if size.one_unit else size.words


def _factor(table: TableIndex, row: Row) -> Cell:
    """A ratio, with so many digits that it is not shown as 1 unless it is."""
    return table.quote(row, _factor_digits(row))


def _has_bound(row: Row) -> bool:
    """Whether a factor's interval has an upper end that tells anything; none at all counts, too."""
    return row.high is None or not row.high > FAR_END * row.value


def _bounded(table: TableIndex, row: Row) -> Cell:
    """A factor, without its interval where that has no useful upper end."""
    return table.quote(row, _factor_digits(row), interval=_has_bound(row))


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
        digits = _factor_digits(lower, row, bias)
        numbers = (table.quote(each, digits) for each in (lower, row, bias))
        return compose("{} and {}, with a mean ratio of {}{}", *numbers, size.over(row, "one or both of them"))

    said, left = _by_label(rows, part, "; ")
    text = f"The limits of agreement of {size.words}, as ratios of {{}} to {{}}, {{}} {{}}. "
    last = f"95% of ratios are expected between them, if {NORMAL}.{size.uncertain(rows, 'they have')}"
    raters = tuple(Cell(name) for name in names)
    sentence, result = ((*compose(text, *raters, verb, said), last, *size.rare) for verb in ("are", "were"))
    log.consider(LIMITS, sentence, about=_about(size), result=result, rests_on=tuple(map(table.quote, left)))


def _mean_limits(log: ClaimLog, table: TableIndex, size: _Size) -> None:
    rows = size.rows(table, "limits_with_mean", "log", "all")
    if not any(map(_is_sayable, rows)):
        text = f"The limits of agreement of {size.words} with the mean are known."
        log.consider(LIMITS, (text,), about=_about(size), why_not=_why_undefined(rows))
        return
    said, left = _by_label(rows, lambda row: (_factor(table, row), size.over(row, "a rater")))
    text = (
        f"The limits of agreement with the mean {{}} a factor of {{}}: 95% of {size.words} are expected within that "
        f"factor of the geometric mean of all raters, if {NORMAL}. They are not limits between two raters."
        f"{size.uncertain(rows, 'they have')}"
    )
    sentence, result = ((*compose(text, verb, said), *size.rare) for verb in ("are", "were"))
    log.consider(LIMITS, sentence, about=_about(size), result=result, rests_on=tuple(map(table.quote, left)))


def _consider_change(log: ClaimLog, table: TableIndex, size: _Size) -> None:
    rows = size.rows(table, "smallest_detectable_change", "log", "all")
    if not any(map(_is_sayable, rows)):
        text = f"The smallest detectable change of {size.words} is known."
        log.consider(CHANGE, (text,), about=_about(size), why_not=_why_undefined(rows))
        return
    said, left = _by_label(rows, lambda row: (_bounded(table, row), size.over(row, "a rater")))
    text = (
        f"The smallest detectable change of {size.words} {{}} a factor of {{}}: two {size.words} of one case by "
        f"different raters are expected to differ by less in 95% of cases, if {NORMAL}."
    )
    text += _unbounded(rows, size)
    text += size.uncertain(rows, "it has")
    sentence, result = ((*compose(text, be, said), *size.rare) for be in ("is", "was"))
    log.consider(CHANGE, sentence, about=_about(size), result=result, rests_on=tuple(map(table.quote, left)))


def _unbounded(rows: Sequence[Row], size: _Size) -> str:
    """Whose intervals are not quoted, and why; of several labels by name, where others are."""
    known = [row for row in rows if _is_sayable(row)]
    without = [row for row in known if not _has_bound(row)]
    if not without:
        return ""
    has = "interval has" if len(without) == 1 else "intervals have"
    whose = f"Its {has}"
    if len(known) > 1:
        named = join_names([label_words(row.label) for row in without]) if len(without) <= MANY_LABELS else ""
        of = f" for {named}" if named else f" for {number_word(len(without))} labels"
        whose = f"The {has.replace(' ', f'{of} ')}"
    few = spell_count(size.facts.raters, "rater")
    return f" {whose} no useful upper end: {few} tell too little about how far others differ."


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
        f"are expected to differ by less in 95% of cases, if {NORMAL}.{size.uncertain(rows, 'it has')}"
    )
    sentence, result = (compose(text, be, values, who) for be in ("is", "was"))
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
    cases: dict[str, list[str]] = {}
    for row in sizes.rows:
        if row.statistic in RATIOS and row.scope == "case" and row.case not in cases.setdefault(row["unit"], []):
            cases[row["unit"]].append(row.case)
    unknown, every = [unit for unit in COUNTED if unit in cases], len(set().union(*cases.values()))
    if not unknown:
        log.consider(
            NO_SPACING, (NO_SPACING.says,), why_not=Note("spacing_known", "the spacing of every case is known")
        )
        return
    for unit in unknown:
        text = f"{{}} {{}} in {unit}, since the size of a {unit.removesuffix('s')} {{}} unknown{{}}."
        few = len(cases[unit]) < every
        start: Sentence = ("Sizes",)
        if few:
            many = f"In {len(cases[unit])} of {counted(every, 'case')} ({{}}) sizes"
            start = compose(many, case_links(cases[unit]))
        there = " there" if few else ""
        sentence, result = (compose(text, start, *be, there) for be in (("are", "is"), ("were", "was")))
        log.consider(NO_SPACING, sentence, result=result)


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
    together: dict[tuple[str, str], dict[str, Row]] = {}
    for (size, unit, who, reference), rows in by_pair.items():
        words = f"{size}s" if len(units) == 1 else f"{size}s in {unit}"
        why = facts.silent.get((who, reference)) or _why_no_ratio(rows)
        if why is None and named.get(reference, 0) >= MOST_NAMED:
            why = Note("in_the_table", f"{number_word(MOST_NAMED)} others are named; the table has all")
        named[reference] = named.get(reference, 0) + (why is None)
        if why is None and not facts.labels:
            together.setdefault((words, reference), {})[who] = rows[0]
        else:
            _consider_ratio(log, table, facts, words, (who, reference), rows, why)
    for (words, reference), of in together.items():
        if len(of) == 1:
            [(who, row)] = of.items()
            _consider_ratio(log, table, facts, words, (who, reference), [row], None)
        else:
            _consider_ratios(log, table, facts, words, reference, of)


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
        found = (table.row(name, "pooled", *row.extra, label=row.label) for name in ("lower_limit", "upper_limit"))
        ends = [end for end in found if end is not None]
        digits = _factor_digits(row, *ends)
        limits = [table.quote(end, digits, interval=False) for end in ends]
        those: Sentence = () if parts else (" times those of the given reference ", reference)
        label = f" for {label_words(row.label)}" if row.label else ""
        text = "{}{}{} (95% limits of agreement {} to {}" + ("{})" if parts else f", if {NORMAL}{{}})")
        over = _reference_over(row, facts)
        over = "" if parts and over == _reference_over(shown[0], facts) else over
        parts.append(compose(text, table.quote(row, digits), those, label, *limits, over))
    said = join_parts(parts)
    if shown is not known:
        said = (*said, f", the largest and the smallest of {number_word(len(known))} labels")
    sentence, result = (compose(start + "{} on average {}.", who, be, said) for be in ("are", "were"))
    left = [row for row in known if row not in shown]
    log.consider(REFERENCE_SIZES, sentence, about=about, result=result, rests_on=tuple(map(table.quote, left)))


def _consider_ratios(
    log: ClaimLog, table: TableIndex, facts: ReferenceSizeFacts, words: str, reference: str, of: Mapping[str, Row]
) -> None:
    """The ratios of several raters or algorithms to one reference, in one sentence; there is one label."""
    names = ("lower_limit", "upper_limit")
    limits = {
        who: [table.row(name, "pooled", *row.extra, label=row.label) for name in names] for who, row in of.items()
    }
    known = {who: [end for end in ends if end is not None] for who, ends in limits.items()}
    digits = _factor_digits(*of.values(), *(end for ends in known.values() for end in ends))
    parts: list[Sentence] = []
    for who, row in of.items():
        named = "" if parts else "95% limits of agreement "
        ends = [table.quote(end, digits, interval=False) for end in known[who]]
        text = f"{{}} for {{}} ({named}{{}} to {{}}{{}})"
        parts.append(compose(text, table.quote(row, digits), Cell(who), *ends, _reference_over(row, facts)))
    whose = "raters" if facts.rater else "algorithms"
    text = (
        f"As multiples of those of the given reference {{}}, the {words} of {whose} {{}} on average {{}}; the limits "
        "take log ratios to be normally distributed."
    )
    sentence, result = (compose(text, Cell(reference), be, join_parts(parts)) for be in ("are", "were"))
    log.consider(REFERENCE_SIZES, sentence, about=reference, result=result)


def _factor_digits(*rows: Row) -> int:
    """So many digits that ratios which are compared with each other are not shown as 1 unless they are."""
    return max(2 if abs(row.value - 1) >= NEAR_ONE or row.value == 1 else 3 for row in rows)


def _reference_over(row: Row, facts: ReferenceSizeFacts) -> str:
    """Over how many subjects, where not all, and how many cases have no ratio."""
    parts = []
    if row.n is not None and row.n < facts.subjects:
        parts.append(f"over {number_word(row.n)} of {spell_count(facts.subjects, facts.subject_word)}")
    if row.n_undefined:
        parts.append(f"without {spell_count(row.n_undefined, 'case')} in which one or both marked nothing")
    return "".join(f"; {part}" for part in parts)
