"""σ and ρ of masks: the table against every pixel by itself, and the tables of a study."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import manytruths as mt
from data_folder import data
from manytruths import RhoStatistic, SigmaStatistic, mask_ratings, rater_accuracy, ratings_from_tally, rho, sigma
from manytruths.analyses.reliability.masks import Assumptions, mask_reliability, mask_table
from manytruths.analyses.tables import Settings
from panels import VOID, panels
from study_folders import disc, write_png, write_study

# -- every pixel by itself -------------------------------------------------------------------------


def naive(masks, sure, labels, *, accuracy=None, inside=lambda seen: True):
    """Mean over pixels of the mean over pairs of raters of ĉ_i ĉ_j [P_ij], from eqs. 1 to 8; sure is {} for none."""
    names = [n for n, m in masks.items() if m is not None]
    shape = next(m.shape for m in masks.values() if m is not None)
    per_pixel = []
    for where in product(*map(range, shape)):
        seen = {n: int(masks[n][where]) for n in names if masks[n][where] != VOID}
        if not inside({**seen, "where": where}):
            continue
        genuine = {n: chosen(sure[n][where], len(labels)) if sure else 1.0 for n in seen}
        pairs = [
            genuine[a] * genuine[b] * (both_right(accuracy[a], accuracy[b], len(labels)) if accuracy else 1)
            if seen[a] == seen[b]
            else 0.0
            for a, b in combinations(seen, 2)
            if genuine[a] is not None and genuine[b] is not None
        ]
        if pairs:
            per_pixel.append(sum(pairs) / len(pairs))
    return sum(per_pixel) / len(per_pixel) if per_pixel else None


def chosen(c, labels):
    return None if np.isnan(c) else c / (c + (1 - c) / labels)


def both_right(a, b, labels):
    return a * b / (a * b + (1 - a) * (1 - b) / (labels - 1))


def same(found, wanted):
    assert np.isnan(found) if wanted is None else found == pytest.approx(wanted, abs=1e-12)


def marked(seen):
    return any(value != 0 for name, value in seen.items() if name != "where")


@given(panels(absent=True))
def test_a_table_says_what_its_pixels_say(panel):
    table = mt.tally(panel.masks, labels=panel.labels, void=VOID)
    ratings = ratings_from_tally(table)
    assert ratings.items.sum() == table.items
    same(sigma(ratings).value, naive(panel.masks, {}, panel.labels))
    same(sigma(ratings).value, None if np.isnan(mt.percent_agreement(table)) else mt.percent_agreement(table))
    by_rater = {name: 0.3 + 0.1 * i for i, name in enumerate(panel.masks)}
    flat = {n: np.full(m.shape, by_rater[n]) for n, m in panel.masks.items() if m is not None}
    same(sigma(ratings_from_tally(table, by_rater)).value, naive(panel.masks, flat, panel.labels))


@given(panels(absent=True), st.data())
def test_rho_of_a_table_is_that_of_its_pixels(panel, draw):
    accuracy = {name: draw.draw(st.floats(0.05, 0.95)) for name in panel.masks}
    table = mt.tally(panel.masks, labels=panel.labels, void=VOID)
    found = rho(ratings_from_tally(table), list(accuracy.values())).value
    same(found, naive(panel.masks, {}, panel.labels, accuracy=accuracy))


@given(panels(absent=True), st.data())
def test_maps_of_confidence_are_counted_exactly(panel, draw):
    shape = next(m.shape for m in panel.masks.values() if m is not None)
    scale = st.sampled_from([0, 1, 2, 3, 4, 5, np.nan])
    maps = {n: draw.draw(arrays(np.float64, shape, elements=scale)) for n, m in panel.masks.items() if m is not None}
    sure = {n: m / 5 for n, m in maps.items()}
    if all(np.isnan(m).all() for m in maps.values()):
        sure = {}  # nobody was asked
    inside = draw.draw(arrays(np.bool_, shape))
    options = {"labels": panel.labels, "void": VOID, "confidence_levels": 5}
    for region, keep in (
        ("whole", lambda seen: True),
        ("union", marked),
        (inside, lambda seen: inside[seen["where"]]),
    ):
        ratings = mask_ratings(panel.masks, maps, region=region, **options)
        if sure and np.isnan(ratings.confidence).all():
            continue  # what was asked lies outside of the region: as if nobody had been
        same(sigma(ratings).value, naive(panel.masks, sure, panel.labels, inside=keep))


@given(panels(missing=False))
def test_a_number_and_a_constant_map_are_the_same(panel):
    shape = next(iter(panel.masks.values())).shape
    numbers = {name: 0.4 + 0.1 * i for i, name in enumerate(panel.masks)}
    maps = {name: np.full(shape, c) for name, c in numbers.items()}
    table = mt.tally(panel.masks, labels=panel.labels)
    one, two = (mask_ratings(panel.masks, c, labels=panel.labels) for c in (numbers, maps))
    for field in ("codes", "confidence", "items"):
        assert np.array_equal(getattr(one, field), getattr(two, field))
    assert sigma(one).value == pytest.approx(sigma(ratings_from_tally(table, numbers)).value, abs=1e-12)


def test_many_levels_are_rounded_and_said_to_be():
    random = np.random.default_rng(0)
    masks = {name: random.integers(0, 2, (40, 40)) for name in "AB"}
    fine = {name: random.random((40, 40)) for name in "AB"}
    fine["A"][0, :2] = 0, 1
    found = mask_ratings(masks, fine)
    assert found.rounded == ("A", "B")
    assert {0.0, 1.0} <= set(found.confidence[:, 0])
    assert np.abs(np.sort(np.repeat(found.confidence[:, 0], found.items)) - np.sort(fine["A"], axis=None)).max() < 0.002
    assert sigma(found).value == pytest.approx(naive(masks, fine, (0, 1)), abs=0.002)
    levels = {"A": np.linspace(0, 1, 255)[random.integers(0, 255, (40, 40))], "B": fine["B"]}
    assert mask_ratings(masks, levels).rounded == ("B",)


def test_labels_go_by_name_and_second_readings_are_left_out():
    masks = {("A", "1"): [0, 1, 2, 2], ("A", "2"): [0, 0, 0, 0], "B": [0, 1, 1, 2]}
    labels = {1: "gland", 2: "tumour"}
    for ratings in (ratings_from_tally(mt.tally(masks, labels=labels)), mask_ratings(masks, 0.5, labels=labels)):
        assert ratings.raters == ("A", "B")
        assert ratings.labels == ("background", "gland", "tumour")
        assert mt.percent_agreement(ratings.tally()) == 0.75
    assert sigma(ratings_from_tally(mt.tally(masks))).value == 0.75


def test_a_reference_column_is_the_truth():
    masks = {"A": [1, 1, 0, 0, 1], "B": [1, 0, 0, 0, 1]}
    table = mt.tally(masks, references={"biopsy": [1, 1, 1, 0, 1]})
    found = rater_accuracy(ratings_from_tally(table, reference="biopsy"), "reference")
    assert found.accuracy.tolist() == [0.8, 0.6]
    wanted = rho(ratings_from_tally(table), [0.8, 0.6]).value
    assert RhoStatistic(reference="biopsy")(table) == pytest.approx(wanted)
    assert wanted == pytest.approx(0.8 * both_right(0.8, 0.6, 2))


def test_sigma_by_pattern_is_a_map():
    masks = {"A": disc(), "B": disc(x=2), "C": disc(radius=4)}
    table = mt.tally(masks)
    votes = sum(m.astype(int) for m in masks.values())
    wanted = np.where((votes == 0) | (votes == 3), 1, 1 / 3)
    assert np.allclose(mt.paint(sigma(ratings_from_tally(table)).by_case, masks, table), wanted)


# -- what confidence changes -----------------------------------------------------------------------


def test_where_raters_are_unsure_matters():
    """Of the same mean confidence: at the border, where they differ, it costs less than everywhere, inside more."""
    masks = {"A": disc(), "B": disc(x=2)}
    differ = masks["A"] != masks["B"]
    inside = (masks["A"] & masks["B"]).astype(bool)
    border, core = np.where(differ, 0.3, 1.0), np.where(inside, 0.3, 1.0)
    union = {}
    for name, sure in (("none", None), ("border", border), ("core", core)):
        union[name] = sigma(mask_ratings(masks, sure if sure is None else {"A": sure, "B": sure}, region="union")).value
    assert union["none"] == union["border"] == pytest.approx(inside.sum() / (inside | differ).sum())
    assert union["core"] == pytest.approx(union["none"] * (0.3 / 0.65) ** 2)
    spread = float(border[inside | differ].mean())
    even = sigma(mask_ratings(masks, spread, region="union")).value
    assert union["core"] < even < union["border"]


@given(panels(missing=False), st.data())
def test_confidence_never_raises_sigma(panel, draw):
    shape = next(iter(panel.masks.values())).shape
    maps = {name: draw.draw(arrays(np.float64, shape, elements=st.floats(0, 1))) for name in panel.masks}
    agreed = sigma(mask_ratings(panel.masks)).value
    assert sigma(mask_ratings(panel.masks, maps)).value <= agreed + 1e-12
    assert sigma(mask_ratings(panel.masks, 1.0)).value == pytest.approx(agreed)
    assert sigma(mask_ratings(panel.masks, 0.0)).value == 0


# -- many tables at once ---------------------------------------------------------------------------


@pytest.mark.slow
@given(panels(raters=(2, 5), absent=True), st.integers(0, 10**6))
def test_many_tables_at_once_are_the_tables_one_by_one(panel, seed):
    masks = {n: m for n, m in panel.masks.items() if m is not None}
    shape = next(iter(masks.values())).shape
    random = np.random.default_rng(seed)
    truth = random.choice(panel.labels, shape)
    table = mt.tally(panel.masks, labels=panel.labels, void=VOID, references={"truth": truth})
    counts = random.integers(0, 3, (8, len(table.counts)))
    given_values = {name: float(c) for name, c in zip(panel.masks, random.choice([0, 0.5, 0.8, 1], 6), strict=False)}
    for statistic in (
        SigmaStatistic(),
        SigmaStatistic(0.7),
        SigmaStatistic(0.7, "empirical"),
        RhoStatistic(),
        RhoStatistic(confidence=0.6),
        RhoStatistic(confidence=0.6, chance="empirical"),
        RhoStatistic(given_values),
        RhoStatistic(reference="truth"),
    ):
        wanted = [statistic(table.recount(row)) for row in counts]
        assert np.allclose(statistic.batch(table, counts), wanted, rtol=1e-12, atol=1e-12, equal_nan=True)


def test_who_contradict_each_other_are_left_out_of_many_tables_too():
    table = mt.tally({"A": [1, 0, 1, 0], "B": [1, 0, 1, 1], "C": [0, 0, 1, 1]})
    statistic = RhoStatistic({"A": 1.0, "B": 0.0, "C": 0.7})
    counts = np.array([[1, 2, 3, 4][: len(table.counts)], [0, 1, 0, 1][: len(table.counts)]])
    found = statistic.batch(table, counts)
    assert found.tolist() == [statistic(table.recount(row)) for row in counts]
    assert (found > 0).all()


# -- what is refused -------------------------------------------------------------------------------

MASKS = {"A": np.array([[1, 0]]), "B": np.array([[1, 1]])}


@pytest.mark.parametrize(
    ("confidence", "options", "says"),
    [
        ({"A": [[0.5, 1]]}, {}, "confidence of B is missing"),
        ({"A": [[5, 1]], "B": 1}, {}, r"confidence of A: got 5; it is from 0 to 1.*levels=5"),
        ({"A": [[5, 6]], "B": 1}, {"confidence_levels": 5}, "confidence of A: got 6; it is one of the levels 0 to 5"),
        ({"A": [[2.5, 1]], "B": 1}, {"confidence_levels": 5}, "got 2.5; it is one of the levels"),
        ({"A": [[1, 1, 1]], "B": 1}, {}, "confidence of A: the map is 1×3 but the masks are 1×2"),
        (None, {"region": "modified_background"}, "ratings_from_tally"),
        (None, {"region": [[1, 1, 1]]}, "the region is 1×3"),
    ],
)
def test_what_cannot_be_used_is_refused(confidence, options, says):
    with pytest.raises(mt.ManytruthsError, match=says):
        mask_ratings(MASKS, confidence, **options)


def test_slots_have_no_confidence_of_their_own():
    table = mt.tally(list(MASKS.values()), raters="exchangeable")
    assert sigma(ratings_from_tally(table, 0.8)).value == sigma(ratings_from_tally(mt.tally(MASKS), 0.8)).value
    with pytest.raises(mt.CallError, match="exchangeable"):
        ratings_from_tally(table, {"1": 0.5, "2": 0.5})


# -- a study ---------------------------------------------------------------------------------------


def simulated(cases=24, size=64, **options):
    made = mt.simulate_study(cases=cases, size=size)
    masks = {c.name: {who: marking.mask for who, marking in c.readings.items()} for c in made}
    return mt.Study.from_arrays(masks, subjects=made.subjects, groups=made.groups, **options)


def test_the_tables_of_a_study(tmp_path):
    study = simulated(region="union")
    sure = {"A": 0.9, "B": 0.9, "C": 0.8, "D": 0.5, "E": 0.8}
    found = mask_reliability(study, assumptions=Assumptions(sure))
    whole = mt.pool(found.tallies)
    mean, pooled = found.masks.find("sigma", "mean"), found.masks.find("sigma")
    wanted = mt.confidence_interval(SigmaStatistic(sure), found.tallies, of="mean")
    assert (mean.value, mean.low, mean.high) == (wanted.value, wanted.low, wanted.high)
    assert pooled.value == SigmaStatistic(sure)(whole)
    assert pooled.cells()[-1] == "few_effective_subjects"
    accuracies = rater_accuracy(ratings_from_tally(whole)).accuracy
    assert found.masks.find("rho").value == pytest.approx(rho(ratings_from_tally(whole, sure), accuracies).value)
    one = found.masks.find("rho", "case", case="p02", group="CIN1")
    assert one.value == pytest.approx(rho(ratings_from_tally(study["p02"].tally(), sure), accuracies).value)
    assert found.masks.find("accuracy", rater="D").value == accuracies[3] == accuracies.min()
    assert found.masks.find("fleiss_kappa").value == mt.fleiss_kappa(whole)
    for path in (table.write(tmp_path) for table in found.tables.values()):
        assert len(path.read_text().splitlines()) > 20


def test_slots_are_not_spoken_of_and_few_subjects_get_no_interval():
    masks = {f"c{i}": [disc(), disc(x=i)] for i in range(4)}
    found = mask_reliability(mt.Study.from_arrays(masks, raters="exchangeable"))
    assert {row.extra[0] for table in (found.masks, found.detection) for row in table.rows} == {""}
    pooled = found.masks.find("sigma")
    assert pooled.value == pytest.approx(mt.percent_agreement(mt.pool(found.tallies)))
    assert "at least 10" in pooled.cells()[-2]
    assert any("percent agreement" in note for note in found.notes)
    assert any("nobody marked" in note for note in found.notes)


def test_lesions_of_a_study():
    study = simulated(size=96)
    found = mask_reliability(study, min_size=3)
    lesions = found.lesions
    assert set(lesions.ratings.subjects) <= set(study.subjects)
    assert sum(len(case.found_by) > 0 for case in lesions.lesions) == len(lesions)
    table = found.detection
    assert table.find("positive_agreement").value == mt.positive_agreement(lesions.tally)
    assert table.find("lesions").value == len(lesions) == sum(r.value for r in table.all("found_by", "pooled"))
    curve = [row.value for row in table.all("found_by_at_least", "pooled")]
    assert curve[0] == 1
    assert curve == sorted(curve, reverse=True)
    assert table.find("dice").value == pytest.approx(np.nanmean([one.dice for one in lesions.lesions]))
    assert len(found.tables["lesions"].all("size", "lesion")) == len(lesions)
    assert any("found by at least one rater" in note for note in found.notes)
    mean = table.find("positive_agreement", "mean")
    assert mean.low < mean.value < mean.high


@pytest.mark.parametrize(("spacing", "unit", "extent"), [(None, "", None), ((5, 2, 2), "ml", 0.24)])
def test_the_extent_of_a_lesion_has_its_unit(spacing, unit, extent):
    mask = np.zeros((3, 8, 8), bool)
    mask[1, 1:4, 1:5] = True
    study = mt.Study.from_arrays({"p1": {"A": mask, "B": mask, "C": mask}}, spacing=spacing)
    [row] = mask_reliability(study).tables["lesions"].all("size", "lesion")
    assert (row["unit"], row["extent"], row.value) == (unit, pytest.approx(extent), 12)


def test_labels_of_a_study_have_lesions_of_their_own():
    one, two = disc(radius=4, x=-6), 2 * disc(radius=4, x=6)
    masks = {f"c{i}": {"A": one + two, "B": one, "C": two} for i in range(12)}
    found = mask_reliability(mt.Study.from_arrays(masks, labels={1: "cyst", 2: "tumour"})).detection
    assert found.find("lesions").value == 24
    assert found.find("lesions", label="cyst").value == 12
    assert found.find("found", label="cyst", rater="B").value == 1
    assert found.find("found", label="cyst", rater="C").value == 0
    assert found.find("positive_agreement", label="cyst").value == 0.5


def test_thirteen_raters_of_the_fissure():
    path = data("fissure")
    study = mt.Study.open(str(path / "raters/{rater}/{case}.png"))
    table = mt.pool(study.tally())
    union = table.restrict("union")
    assert sigma(ratings_from_tally(table)).value == pytest.approx(mt.percent_agreement(table), abs=1e-12)
    assert sigma(ratings_from_tally(union)).value == pytest.approx(mt.percent_agreement(union), abs=1e-12)
    found = mask_table(mt.Tallies({"fissure": union}), Settings(), Assumptions(0.8))
    assert found.find("sigma").value == pytest.approx(mt.percent_agreement(union) * (0.8 / 0.9) ** 2, abs=1e-12)


# -- what is printed -------------------------------------------------------------------------------


def printed(study, capsys, **options):
    from rich.console import Console

    mt.reliability(study, **options).print(Console(width=200))
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("cases", "shape", "item"), [(4, (12, 12), "Pixel"), (10, (6, 8, 8), "Voxel")])
def test_printed_words_follow_from_the_masks(cases, shape, item, capsys):
    random = np.random.default_rng(0)
    masks = {f"c{i}": {r: (random.random(shape) < 0.3).astype(np.uint8) for r in "ABC"} for i in range(cases)}
    said = printed(mt.Study.from_arrays(masks), capsys)
    assert f"{item} by {item.lower()} (region: whole)" in said
    assert ("with 95% intervals over cases" in said) == (cases >= 10)
    assert ("no intervals: an interval over subjects needs at least 10" in said) == (cases < 10)
    assert f"as most others, {item.lower()}s" in said
    assert "right means as the majority of the other raters" in said
    assert f"mean over {cases} cases" in said
    assert "lesions of a case" in said
    assert "lesions in all" in said


def test_given_accuracies_are_not_called_the_others(capsys):
    masks = {"p": {r: np.eye(6, dtype=np.uint8) for r in "ABC"}}
    said = printed(mt.Study.from_arrays(masks), capsys, accuracy=dict.fromkeys("ABC", 0.9))
    assert "ρ, genuine and right by the accuracies given" in said
    assert "accuracy given" in said
    assert "right means as the majority" not in said


def notes(masks, **options):
    return "\n".join(mt.reliability(mt.Study.from_arrays(masks), **options).notes)


def test_the_rule_of_lesions_is_said():
    """One lesion, drawn at two places that hardly overlap: one in the union of the marks, two by IoU."""
    masks = {f"c{i}": {"A": disc(30), "B": disc(30, x=7), "C": disc(30)} for i in range(3)}
    assert len(mt.reliability(mt.Study.from_arrays(masks)).lesions) == 3
    assert len(mt.reliability(mt.Study.from_arrays(masks), lesion_items="matched").lesions) == 6
    assert "a lesion is what is connected in the marks of all raters together: agree, which matches" in notes(masks)
    assert "connected in the marks of all" not in notes(masks, lesion_items="matched")
    assert "lesions are matched (" in notes(masks, lesion_items="matched")


def test_one_bridged_lesion_is_one():
    two = disc(40, x=-8, radius=5) | disc(40, x=8, radius=5)
    whole = two.copy()
    whole[19:21, 12:28] = 1
    masks = {"c1": {"A": two, "B": whole, "C": two}, "c2": {r: disc(40) for r in "ABC"}}
    assert "1 of 2 lesions is bridged: " in notes(masks)
    masks["c2"] = masks["c1"]
    assert "2 of 2 lesions are bridged: " in notes(masks)


def test_kappa_of_lesions_that_everybody_found_is_not_said_to_be_low():
    result = mt.reliability(mt.Study.from_arrays({f"c{i}": {r: disc(30) for r in "ABC"} for i in range(3)}))
    assert np.isnan(result.tables["detection"].find("fleiss_kappa", "pooled").value)
    assert "kappa and alpha, if they are defined, are too low" in "\n".join(result.notes)


def test_who_could_not_evaluate_a_case_is_not_said_to_lack_it(tmp_path):
    """There is a mask, which does not count: in the notes of reliability, of evaluate and of fuse."""
    template = write_study(tmp_path, cases=("p1", "p2", "p3"))
    for case in ("p1", "p2", "p3"):
        write_png(tmp_path / "net" / f"{case}.png", disc())
    (tmp_path / "reads.csv").write_text("case,rater,status\np2,B,not_evaluable\np2,A,done\np2,C,done\n")
    study = mt.Study.open(template, reads=tmp_path / "reads.csv", predictions=f"{tmp_path}/net/{{case}}.png")
    told = "rater B has no mask of 1 of 3 cases (p2: not evaluable)"
    assert told in mt.reliability(study).notes
    assert told in mt.evaluate(study).notes
    assert any(n.startswith("rater B has no mask of p2 (not evaluable): they have") for n in mt.fuse(study).notes)


def test_who_did_not_read_a_case_is_named():
    masks = {f"c{i}": {r: disc(30, radius=5 + i) for r in "ABC"} for i in range(5)}
    assert "has no mask of" not in notes(masks)
    del masks["c1"]["B"], masks["c3"]["B"]
    found = notes(masks)
    assert "rater B has no mask of 2 of 5 cases (c1, c3)" in found
    assert "numbers of a rater are over that rater's own cases, so that they give no order" in found
    assert "has no mask" not in "\n".join(mt.reliability(mt.Study.from_arrays(masks, raters="exchangeable")).notes)
