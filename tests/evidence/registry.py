"""A published table: where it was printed, its digits, and the code that computes the same numbers.

A number *comes out* if ours, rounded to the digits that were printed, is what was printed. There is no tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal


def _doi(name: str, at: str = "") -> str:
    return f"[doi:{name}](https://doi.org/{at or name})"


SOURCES = {
    "Lampert 2016": (
        f"Lampert TA, Stumpf A, Gançarski P. IEEE Trans Image Process 2016;25:2557–2572. "
        f"{_doi('10.1109/TIP.2016.2544703')}"
    ),
    "Gordon 2009": (
        f"Gordon S, Lotenberg S, Long R, et al. Comput Med Imaging Graph 2009;33:205–216. "
        f"{_doi('10.1016/j.compmedimag.2008.12.002')}"
    ),
    "Cabitza 2020": f"Cabitza F, Campagner A, Albano D, et al. Appl Sci 2020;10:4014. {_doi('10.3390/app10114014')}",
    "Yang 2023": (
        f"Yang F, Zamzmi G, Angara S, et al. IEEE Access 2023;11:21300–21312. {_doi('10.1109/ACCESS.2023.3249759')}"
    ),
    "Zeng 2021": f"Zeng D, Li M, Ding Y, et al. IPMI 2021, LNCS 12729. {_doi('10.1007/978-3-030-78191-0_37')}",
    "Fleiss 1971": f"Fleiss JL. Psychol Bull 1971;76:378–382. {_doi('10.1037/h0031619')}",
    "Wikipedia, Fleiss' kappa": "the worked example of the article *Fleiss' kappa*.",
    "Krippendorff": (
        f"Krippendorff's own example; see Hayes AF, Krippendorff K. Commun Methods Meas 2007;1:77–89. "
        f"{_doi('10.1080/19312450709336664')}"
    ),
    "Wikipedia, Krippendorff's alpha": "the worked example of the article *Krippendorff's alpha*.",
    "Feinstein 1990": (
        f"Feinstein AR, Cicchetti DV. J Clin Epidemiol 1990;43:543–549. "
        f"{_doi('10.1016/0895-4356(90)90158-L', '10.1016/0895-4356%2890%2990158-L')}"
    ),
    "Landis 1977": f"Landis JR, Koch GG. Biometrics 1977;33:159–174. {_doi('10.2307/2529310')}",
    "Shrout 1979": f"Shrout PE, Fleiss JL. Psychol Bull 1979;86:420–428. {_doi('10.1037/0033-2909.86.2.420')}",
    "DescToolsX": "R's DescToolsX, on `icc`; ICC(1,1) and ICC(1,4) are in the overview of `icc` in Stata, too.",
    "Bland 1986": (
        f"Bland JM, Altman DG. Lancet 1986;327:307–310. "
        f"{_doi('10.1016/S0140-6736(86)90837-8', '10.1016/S0140-6736%2886%2990837-8')}"
    ),
    "Bland 1999": f"Bland JM, Altman DG. Stat Methods Med Res 1999;8:135–160. {_doi('10.1177/096228029900800204')}",
    "Bland 2007": f"Bland JM, Altman DG. J Biopharm Stat 2007;17:571–582. {_doi('10.1080/10543400701329422')}",
    "NCSS": "the chapter on Deming regression in NCSS's manual.",
    "NIST 7.2.6.3": "NIST/SEMATECH e-Handbook of Statistical Methods, 7.2.6.3.",
    "MRMCaov": "Smith BJ, Hillis SL. MRMCaov User Guide, MRMC Analysis: the data of Van Dyke (1993).",
}
"""By the short name: where it was printed."""

Basis = Literal["data", "typed", "images", "reconstruction", "arithmetic"]
BASES: dict[Basis, str] = {
    "data": "the data set, from the data folder",
    "typed": "the example, or a formula",
    "images": "published images, pixel by pixel",
    "reconstruction": "a reconstruction of the example, which was published as a figure",
    "arithmetic": "other numbers that were printed",
}


@dataclass(frozen=True)
class Table:
    """Numbers that were printed in one place."""

    source: str
    """The publication, in short."""
    title: str
    """What was measured, and where it stands."""
    printed: Mapping[str, str]
    """By what it is: the digits as they were printed."""
    compute: Callable[[], Mapping[str, float | str]]
    """The same by this code, unrounded."""
    line: str
    """The command or Python line that shows it."""
    tried: Mapping[str, str] = field(default_factory=dict)
    """Of those that do not come out: what was tried."""
    attempts: Callable[[], Mapping[str, str]] | None = None
    """What else was computed, and what came of it."""
    note: str = ""
    basis: Basis = "data"
    """What ours is computed from."""

    def rows(self) -> list[Row]:
        """Theirs beside ours."""
        ours = self.compute()
        assert set(ours) == set(self.printed), set(ours) ^ set(self.printed)
        return [Row(name, text, ours[name]) for name, text in self.printed.items()]


@dataclass(frozen=True)
class Row:
    """One published number or word beside ours."""

    name: str
    printed: str
    ours: float | str

    @property
    def comes_out(self) -> bool:
        """Whether ours is what was printed, rounded to as many digits."""
        if isinstance(self.ours, str):
            return self.ours == self.printed
        return rounded(self.ours, decimals(self.printed)) == self.printed

    def cells(self) -> list[str]:
        """What it is, theirs, ours with two more digits, and the difference."""
        verdict = "yes" if self.comes_out else "**no**"
        if isinstance(self.ours, str):
            return [self.name, self.printed, self.ours, "", verdict]
        digits = decimals(self.printed) + 2
        difference = rounded(self.ours - float(self.printed), digits)
        signed = difference if difference.startswith("-") or not float(difference) else f"+{difference}"
        return [self.name, minus(self.printed), minus(rounded(self.ours, digits)), minus(signed), verdict]


def decimals(text: str) -> int:
    """How many digits stand behind the point."""
    return len(text.partition(".")[2])


def rounded(value: float, digits: int) -> str:
    """A number with so many digits, halves away from zero; zero has no sign."""
    text = str(Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
    return text.removeprefix("-") if not float(text) else text


def minus(text: str) -> str:
    """A number with the sign that people print; words as they are."""
    return text.replace("-", "−") if is_number(text) else text


def is_number(text: str) -> bool:
    """Whether a number was printed, not a word or an order."""
    try:
        float(text)
    except ValueError:
        return False
    return True
