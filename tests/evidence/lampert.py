"""Lampert 2016: thirteen raters and four detectors of fissures, and the arithmetic of other tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product

import numpy as np
from PIL import Image

import manytruths as mt
from data_folder import data
from manytruths.evaluation.responses import IndexedMasks, count_indexed_responses, index_masks

from .registry import Table

RATERS = tuple(f"A{i}" for i in range(1, 14))
DETECTORS = ("2D-GWLC", "Gauss", "C-S", "Top-Hat")
RATES = ("sensitivity", "specificity", "ppv", "npv", "cohen_kappa")
WORDS = ("sensitivity", "specificity", "PPV", "NPV", "kappa")
ORDERS = {
    1: "2D-GWLC > Gauss > C-S > Top-Hat",
    2: "2D-GWLC > C-S > Gauss > Top-Hat",
    3: "C-S > 2D-GWLC > Gauss > Top-Hat",
}
TABLE_6 = {
    "A1": "0.5595 0.9847 0.2893 0.9950 0.3722", "A2": "0.7518 0.9911 0.4860 0.9972 0.5848",
    "A3": "0.7526 0.9945 0.6018 0.9972 0.6647", "A4": "0.5705 0.9906 0.4032 0.9952 0.4656",
    "A5": "0.6429 0.9938 0.5362 0.9960 0.5797", "A6": "0.6244 0.9926 0.4834 0.9958 0.5392",
    "A7": "0.9380 0.9866 0.4377 0.9993 0.5907", "A8": "0.7897 0.9906 0.4828 0.9976 0.5937",
    "A9": "0.6894 0.9926 0.5106 0.9965 0.5814", "A10": "0.6659 0.9925 0.4969 0.9963 0.5636",
    "A11": "0.5799 0.9899 0.3905 0.9953 0.4596", "A12": "0.7461 0.9937 0.5672 0.9972 0.6399",
    "A13": "0.8738 0.9836 0.3719 0.9986 0.5143",
}  # fmt: skip
TABLE_7 = {
    "2D-GWLC": "0.5563 0.5166 -0.0397", "Gauss": "0.5293 0.4711 -0.0582", "C-S": "0.6387 0.5259 -0.1128",
    "Top-Hat": "0.5187 0.2780 -0.2407",
}  # fmt: skip
TRUTHS_OF_1 = ("A2", "A4", "A6", "A11", "Any-GT", "LSML-GT", "STAPLE-GT", "Excl-0.5-GT")
TRUTHS_OF_2 = ("A1", "A3", "A5", "A7", "A8", "A9", "A10", "A12", "A13", "0.5-GT", "SIMPLE-GT")
TRUTHS_OF_3 = ("0.75-GT",)


def picture(*parts: str) -> np.ndarray:
    """An image file of the study."""
    return np.asarray(Image.open(data("fissure", *parts)))


@cache
def masks() -> dict[str, np.ndarray]:
    """What each rater marked."""
    return {name: picture("raters", name, "fissure.png") > 0 for name in RATERS}


@cache
def tally() -> mt.Tally:
    """The table of their patterns."""
    return mt.tally(masks())


def extent() -> dict[str, float]:
    """The size of the image, and of the part on which a detector was trained."""
    trained = picture("training", "2D-GWLC", "fissure.png") > 0
    rows, columns = np.flatnonzero(trained.any(axis=1)), np.flatnonzero(trained.any(axis=0))
    sides = sorted((int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1))
    height, width = trained.shape
    return {
        "X, pixels": width, "Y, pixels": height, "training area, longer side": sides[1],
        "training area, shorter side": sides[0], "training area, % of the image": 100 * float(trained.mean()),
    }  # fmt: skip


def agreement() -> dict[str, float]:
    """Smyth's bound, and what all thirteen marked."""
    return {
        "Smyth's lower bound of the error, %": 100 * mt.smyth_bound(tally()),
        "agreed upon by all, % of the marked pixels": 100 * mt.unanimous(tally()),
    }


def differences() -> dict[str, float | str]:
    """Mean differences to the others, and who lies outside."""
    found = mt.rater_differences(tally())
    each = dict(zip(found.raters, map(float, found.mean_difference), strict=True))
    heights = mt.cluster_raters(tally()).linkage[:, 2]
    return {
        "mean": found.mean, "standard deviation": found.std, "outliers": ", ".join(found.outliers),
        **{f"mean difference of {name}": each[name] for name in ("A1", "A4", "A11")},
        "lower end of the range, about": float(heights.min()), "upper end of the range, about": float(heights.max()),
    }  # fmt: skip


def pairs() -> dict[str, str]:
    """What the range would be if it were that of pairs."""
    apart = (1 - mt.pairwise(mt.dice, tally()).values)[np.triu_indices(13, 1)]
    return {"1 − F1 of pairs of raters": f"{apart.min():.3f} to {apart.max():.3f}"}


def features() -> dict[str, float]:
    """Agreement and what the image shows."""
    heat = np.sum(list(masks().values()), axis=0)
    found = mt.image_feature_correlations(heat, picture("images", "fissure.png"))
    values = {name: found[name] for name in ("intensity", "contrast")}
    return {f"r of {n}": c.r for n, c in values.items()} | {f"p of {n}": c.p for n, c in values.items()}


def windows() -> dict[str, str]:
    """Contrast and agreement in windows of other sizes."""
    heat, image = np.sum(list(masks().values()), axis=0), picture("images", "fissure.png")
    sizes = (3, 5, 7, 9)

    def r(window: int, around: int) -> float:
        return mt.image_feature_correlations(heat, image, window=window, agreement_window=around)["contrast"].r

    return {
        f"contrast in {w} × {w} pixels, largest agreement in {', '.join(f'{a} × {a}' for a in (1, *sizes))}": ", ".join(
            f"{r(w, a):.4f}" for a in (1, *sizes)
        )
        for w in sizes
    }


def performance() -> dict[str, float]:
    """Each rater against the majority of all."""
    found = mt.rater_performance(tally())
    return {
        f"{name}, {word}": float(getattr(found, rate)[i])
        for i, name in enumerate(found.raters)
        for word, rate in zip(WORDS, RATES, strict=True)
    }


@cache
def indexed() -> IndexedMasks:
    """The patterns of raters and the authors' own maps, by pixel."""
    maps = {f"the authors' {n}": picture("published", f"gt_{n}.png") > 0 for n in ("staple", "lsml")}
    return index_masks(masks(), references={**maps, "our LSML": mt.lsml(masks()).hard})


@cache
def truths() -> mt.ReferenceStandards:
    """Every ground truth of Table 8."""
    table = indexed().tally
    votes = {"Any-GT": mt.vote(table, 1 / 13), "0.5-GT": mt.vote(table, 0.5), "0.75-GT": mt.vote(table, 0.75)}
    estimated = {"STAPLE-GT": mt.staple(table, "marked"), "SIMPLE-GT": mt.simple(table)}
    return mt.reference_standards(table, {**votes, **estimated, "Excl-0.5-GT": mt.vote_without_outliers(table, 0.5)})


def responses(detector: str, *, whole: bool) -> mt.ResponseCounts:
    """How a detector responds, without the part on which it was trained or with it."""
    trained = picture("training", detector, "fissure.png") > 0 if detector == "2D-GWLC" and not whole else None
    response = picture("predictions", detector, "fissure.png")
    return count_indexed_responses(response, indexed().index, indexed().tally, exclude=trained).against(truths())


def correlations() -> dict[str, float]:
    """Response and agreement: within what anybody marked, and in the image."""
    values = {}
    for name in DETECTORS:
        counts = responses(name, whole=True)
        within, everywhere = mt.correlation_in_object(counts).r, mt.correlation_in_image(counts).r
        values |= {f"{name}, CCO": within, f"{name}, CCI": everywhere, f"{name}, CCI − CCO": everywhere - within}
    return values


@cache
def rankings() -> mt.ReferenceRankings:
    """The detectors under every ground truth, by the area under P̄-R between skews of 0.1 and 0.5."""
    areas = [responses(name, whole=False).pbar_areas(0.1, 0.5) for name in DETECTORS]
    return mt.rank_by_reference(areas, DETECTORS, truths().names)


def orders() -> dict[str, float | str]:
    """The order under each ground truth of the paper; LSML is the authors' own map."""
    names = dict.fromkeys((*TRUTHS_OF_1, *TRUTHS_OF_2, *TRUTHS_OF_3))
    mine = {name: name for name in names} | {"LSML-GT": "the authors' lsml"}
    found: dict[str, float | str] = {name: " > ".join(rankings().of(mine[name]).order) for name in names}
    first = sum(str(order).startswith("2D-GWLC") for order in found.values())
    return found | {"distinct rankings": len(set(found.values())), "ground truths that put 2D-GWLC first": first}


def exclusions() -> dict[str, str]:
    """The order under other votes of the raters who are no outliers, and with the training area counted."""
    votes = np.sum([mask for name, mask in masks().items() if name not in ("A1", "A4", "A11")], axis=0)
    others = {f"votes ≥ {k} of the ten": votes >= k for k in range(1, 8)}
    found = index_masks(masks(), references={"the authors' own map": theirs("gt_excl_05"), **others})
    standards = mt.reference_standards(found.tally, raters=False)
    orders = {}
    for whole in (False, True):
        areas = []
        for name in DETECTORS:
            trained = picture("training", name, "fissure.png") > 0 if name == "2D-GWLC" and not whole else None
            counted = count_indexed_responses(
                picture("predictions", name, "fissure.png"), found.index, found.tally, exclude=trained
            )
            areas.append(counted.against(standards).pbar_areas(0.1, 0.5))
        ranked = mt.rank_by_reference(areas, DETECTORS, standards.names)
        where = ", with the training area" if whole else ""
        orders |= {f"{name}{where}": " > ".join(ranked.of(name).order) for name in standards.names}
    return orders


def maps() -> dict[str, float]:
    """Ground truths that the authors published as images, against ours."""
    table = tally()
    ours = {
        "gt_any": mt.vote(table, "any"), "gt_05": mt.vote(table, 0.5), "gt_075": mt.vote(table, 0.75),
        "gt_excl_05": mt.vote_without_outliers(table, 0.5), "gt_staple": mt.staple(table, "marked"),
    }  # fmt: skip
    found = {
        f"{name}.png, pixels that differ": float((mt.paint(truth.hard, masks()) != theirs(name)).sum())
        for name, truth in ours.items()
    }
    own = indexed().tally
    lsml = own.counts[flags(own, "our LSML") != flags(own, "the authors' lsml")].sum()
    same = mt.paint(mt.simple(table).hard, masks()) == theirs("gt_excl_05")
    return found | {
        "gt_lsml.png, pixels that differ": float(lsml),
        "SIMPLE and Excl-0.5, % of equal pixels": 100 * float(same.mean()),
    }


def beside_lsml() -> dict[str, str]:
    """The authors' level set, which started from half of the votes, beside votes and ours."""
    table = indexed().tally
    their, ours = flags(table, "the authors' lsml"), flags(table, "our LSML")

    def dice(one: np.ndarray, other: np.ndarray) -> float:
        return float(2 * table.counts[one & other].sum() / (table.counts[one].sum() + table.counts[other].sum()))

    staple = theirs("gt_staple") != (np.sum(list(masks().values()), axis=0) >= 2)
    return {
        "pixels in which gt_staple.png differs from votes ≥ 2": f"{staple.sum():,}",
        "pixels of gt_lsml.png that nobody marked": f"{table.counts[their & (table.marked == 0)].sum():,}",
        "Dice with gt_lsml.png": (
            f"votes ≥ 2 {dice(table.marked >= 2, their):.3f}, votes ≥ 7 "
            f"{dice(table.marked >= 7, their):.3f}, our LSML {dice(ours, their):.3f}"
        ),
    }


def theirs(name: str) -> np.ndarray:
    """A ground truth of the authors."""
    return picture("published", f"{name}.png") > 0


def flags(table: mt.Tally, name: str) -> np.ndarray:
    """By pattern, what a column says."""
    at = next(i for i, column in enumerate(table.columns) if column.name == name)
    return np.asarray(table.patterns[:, at] == 1)


# -- the other three case studies, from what was printed beside ------------------------------------

TABLE_2 = (
    "0.7694 0.9845 0.5634 0.9939 0.6399", "0.6373 0.9886 0.5921 0.9905 0.6034", "0.7853 0.9785 0.4882 0.9943 0.5892",
    "0.7309 0.9822 0.5166 0.9929 0.5933", "0.7275 0.9649 0.3509 0.9927 0.4548",
)  # fmt: skip
TABLE_10 = (
    "0.9280 0.9942 0.8837 0.9966 0.9007", "0.7499 0.9972 0.9276 0.9883 0.8222", "0.8797 0.9978 0.9502 0.9943 0.9097",
    "0.9713 0.9837 0.7380 0.9986 0.8300", "0.9419 0.9945 0.8893 0.9972 0.9107",
)  # fmt: skip
TABLE_13 = {"A1": "0.6536 1.0000 1.0000 0.9417 0.4956", "A2": "0.9358 1.0000 1.0000 0.9887 0.5702"}


def vessel_table() -> mt.Tally:
    """Two raters and their union, as four patterns: A1, A2 and both in 10,000 of the union.

    Background is what makes the printed NPV of A1; with two raters, all follows from that.
    """
    one, other = 6536, 9358
    both = one + other - 10_000
    missed = 10_000 - one
    ground = round(0.9417 / (1 - 0.9417) * missed)
    patterns = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    counts = np.array([one - both, other - both, both, ground])
    return mt.Tally((mt.Column("A1"), mt.Column("A2")), mt.Labels((0, 1)), patterns, counts)


def vessels() -> dict[str, float]:
    """NPV and kappa of each, and how far they differ."""
    table = vessel_table()
    found = mt.rater_performance(table)
    rows = {
        f"{name}, {word}": float(getattr(found, rate)[i])
        for i, name in enumerate(found.raters)
        for word, rate in zip(WORDS[3:], RATES[3:], strict=True)
    }
    return rows | {"1 − F1 of the two": 1 - mt.dice(table)}


def _kappas() -> dict[str, str]:
    """Of the two raters with each other."""
    table = vessel_table()
    return {"kappa of the two raters": f"Cohen {mt.cohen_kappa(table):.4f}, Fleiss {mt.fleiss_kappa(table):.4f}"}


def consistent() -> dict[str, str]:
    """How many NPV and kappas of the other tables are possible beside the rates that were printed with them."""
    found = _kappas()
    for name, texts in (("Table 2", TABLE_2), ("Table 6", tuple(TABLE_6.values())), ("Table 10", TABLE_10)):
        possible = [_possible(*map(float, text.split())) for text in texts]
        found[f"{name}: NPV and kappa that sensitivity, specificity and PPV allow, each within its rounding"] = (
            f"{sum(possible)} of {2 * len(possible)}"
        )
    return found


def _possible(sensitivity: float, specificity: float, ppv: float, npv: float, kappa: float) -> int:
    """How many of NPV and kappa lie in the range that the others leave open."""
    half, npvs, kappas = 5e-5, [], []
    for moved in product((-half, half), repeat=3):
        p, q, v = (min(value + by, 1.0) for value, by in zip((sensitivity, specificity, ppv), moved, strict=True))
        share = v * (1 - q) / (v * (1 - q) + (1 - v) * p)
        marked = share * p + (1 - share) * (1 - q)
        chance = share * marked + (1 - share) * (1 - marked)
        npvs.append((1 - share) * q / ((1 - share) * q + share * (1 - p)))
        kappas.append((share * p + (1 - share) * q - chance) / (1 - chance))
    pairs = ((npvs, npv), (kappas, kappa))
    return sum(min(values) - half <= printed <= max(values) + half for values, printed in pairs)


def vessels_printed() -> dict[str, str]:
    """NPV and kappa of Table 13, and the difference that the text states."""
    cells = {name: text.split() for name, text in TABLE_13.items()}
    rows = {f"{n}, {word}": c[i] for n, c in cells.items() for i, word in ((3, "NPV"), (4, "kappa"))}
    return rows | {"1 − F1 of the two": "0.2583"}


def _spread(texts: Mapping[str, str], words: tuple[str, ...]) -> dict[str, str]:
    return {f"{n}, {w}": v for n, text in texts.items() for w, v in zip(words, text.split(), strict=True)}


def _orders_printed() -> dict[str, str]:
    by_number = {1: TRUTHS_OF_1, 2: TRUTHS_OF_2, 3: TRUTHS_OF_3}
    rows = {name: ORDERS[number] for number, names in by_number.items() for name in names}
    return rows | {"distinct rankings": "3", "ground truths that put 2D-GWLC first": "19"}


def tables() -> Iterator[Table]:
    """What was printed."""
    source = "Lampert 2016"
    yield Table(
        source,
        "The image (4.2.1), and the training area (4.2.4)",
        {
            "X, pixels": "1425",
            "Y, pixels": "906",
            "training area, longer side": "569",
            "training area, shorter side": "362",
            "training area, % of the image": "16",
        },
        extent,
        'np.asarray(Image.open("training/2D-GWLC/fissure.png")).shape',
        {
            "X, pixels": ("The files have 1426 columns: indices that start at 0 end at 1425."),
            "Y, pixels": "The files have 907 rows: indices end at 906.",
            "training area, longer side": "570 columns are marked: as above, one less was printed.",
            "training area, shorter side": "363 rows are marked: as above.",
        },
    )
    yield Table(
        source,
        "Agreement (4.2.2)",
        {"Smyth's lower bound of the error, %": "1.26", "agreed upon by all, % of the marked pixels": "0.6979"},
        agreement,
        "mt.smyth_bound(table), mt.unanimous(table)",
    )
    yield Table(
        source,
        "Differences between raters, 1 − F1 (4.2.3; the range of pairs: 4.3.3)",
        {
            "mean": "0.5765",
            "standard deviation": "0.0459",
            "outliers": "A1, A4, A11",
            "mean difference of A1": "0.6716",
            "mean difference of A4": "0.6321",
            "mean difference of A11": "0.6287",
            "lower end of the range, about": "0.4",
            "upper end of the range, about": "0.75",
        },
        differences,
        "mt.rater_differences(table)",
        attempts=pairs,
        note=(
            "The standard deviation is that of a sample, and a rater's mean difference is to the other twelve. "
            "The range is that of the heights "
            "of the dendrogram (Ward); the text calls it the range of the differences between raters."
        ),
    )
    yield Table(
        source,
        "Correlation of agreement with image features (Table 5)",
        {"r of intensity": "-0.2245", "r of contrast": "0.4027", "p of intensity": "0.0000", "p of contrast": "0.0000"},
        features,
        "mt.image_feature_correlations(agreement, image)",
        {
            "r of contrast": (
                "The text says a window of 3 × 3 pixels on L\\*. Of Michelson's contrast in windows "
                "of 3 to 9 pixels against the largest agreement in "
                "1 to 9 pixels (below), 7 × 7 against 3 × 3 comes closest. The authors' L\\* came from a colour "
                "profile of MATLAB, in whole numbers."
            )
        },
        windows,
    )
    yield Table(
        source,
        "Raters against the majority of all (Table 6)",
        _spread(TABLE_6, WORDS),
        performance,
        'manytruths agree "raters/{rater}/{case}.png"',
        note="The majority is votes ≥ 7 of 13, the rater's own among them.",
    )
    yield Table(
        source,
        "Detectors and agreement (Table 7)",
        _spread(TABLE_7, ("CCO", "CCI", "CCI − CCO")),
        correlations,
        'manytruths evaluate "raters/{rater}/{case}.png" --predictions "predictions/{algorithm}/{case}.png" '
        "--probability",
        {
            f"{name}, CCI − CCO": f"The difference of the two rounded numbers, {texts}."
            for name, texts in (("Gauss", "0.4711 − 0.5293"), ("Top-Hat", "0.2780 − 0.5187"))
        },
        note="Over all pixels for every detector: here the training area of 2D-GWLC is not left out.",
    )
    yield Table(
        source,
        "Rankings of detectors under every ground truth (Table 8)",
        _orders_printed(),
        orders,
        'manytruths evaluate "raters/{rater}/{case}.png" --predictions "predictions/{algorithm}/{case}.png" '
        "--probability "
        '--skew 0.1,0.5 --training "training/{algorithm}/{case}.png" --consensus '
        "vote:any,vote:0.5,vote:0.75,excl:0.5,staple,simple --prior marked",
        {
            "Excl-0.5-GT": (
                "Ranking 2, also under the authors' own map (`gt_excl_05.png`), which equals ours in every pixel. Of "
                "votes ≥ 1 to ≥ 7 of the ten raters who remain (below), the union alone gives the printed ranking. "
                "The text calls Excl-0.5 essentially the same as SIMPLE, which is printed under ranking 2."
            )
        },
        exclusions,
        note=(
            "Ranked by the area under P̄-R with π from 0.1 to 0.5, linear in (TP, FP) between thresholds, "
            "without the training area of 2D-GWLC. LSML-GT is "
            "the authors' own map; STAPLE has the share of pixels marked by anybody as its prior."
        ),
    )
    yield Table(
        source,
        "Ground truths that the authors published as images, and the equality of two of them (4.2.5)",
        {
            **{f"gt_{n}.png, pixels that differ": "0" for n in ("any", "05", "075", "excl_05", "staple", "lsml")},
            "SIMPLE and Excl-0.5, % of equal pixels": "99.84",
        },
        maps,
        'manytruths fuse "raters/{rater}/{case}.png" --consensus '
        "vote:any,vote:0.5,vote:0.75,excl:0.5,staple,simple,lsml --prior marked",
        {
            "gt_lsml.png, pixels that differ": (
                "Neither the authors' settings of the level set nor its program were published. Their map holds pixels "
                "that nobody marked. Of 40 settings of `lsml` (length penalty 0.5 to 8, prior 0.5, 0.7, 0.9 or the "
                "mean vote, all raters or without A1, A4 and A11; `python -m tests.simulations.level_sets`), the "
                "nearest (0.5, 0.7, all raters) differs in 6,752 pixels."
            )
        },
        beside_lsml,
        basis="images",
        note="`gt_staple.png` equals votes ≥ 2 in every pixel, too, so that it proves little about STAPLE.",
    )
    yield Table(
        source,
        "Two raters of retinal vessels against their union (Table 13, and 4.4.3)",
        vessels_printed(),
        vessels,
        "mt.rater_performance(table), with the table of four patterns that the printed sensitivities and the NPV "
        "of A1 make",
        {
            f"{name}, kappa": (
                "No table of two raters with the printed sensitivity, specificity, PPV and NPV has this kappa."
            )
            for name in ("A1", "A2")
        },
        consistent,
        basis="arithmetic",
        note=(
            "The images are not at hand. Against a union specificity and PPV are 1, and the printed "
            "sensitivities and one NPV leave nothing open."
        ),
    )
