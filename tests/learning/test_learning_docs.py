"""The page on learning says what is true: code runs, commands can be called, numbers are those of the runs."""

import csv
import re
import runpy
import shlex
from pathlib import Path
from statistics import median

import pytest

from manytruths.cli import status
from manytruths.cli.app import app

ROOT = Path(__file__).parents[2]
HOME = ROOT / "docs" / "learning"
PAGES = {name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("learning.md", "command-line.md")}
PAGE = PAGES["learning.md"]
FLAT = " ".join(PAGE.split())
NETWORKS = "unet", "deeplab"
OURS, CONTROL = "extended_dice", "majority_dice"
BLOCKS = re.findall(r"```python\n(.*?)```\n(?:(?!```).)*```text\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"^\$ manytruths ((?:train|predict|phantom) .*)$", PAGE, re.MULTILINE)


@pytest.mark.slow
def test_the_python_of_the_page_runs_and_prints_what_it_says(tmp_path, monkeypatch, capsys):
    pytest.importorskip("monai.data", exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    assert status(shlex.split("phantom echo --to echo --n-subjects 4 --n-frames 2 --size 64 --jobs 1 --quiet")) == 0
    assert len(BLOCKS) == 5
    for code, printed in BLOCKS:
        exec(compile(code, "learning.md", "exec"), {})
        assert capsys.readouterr().out == printed


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_page_can_be_called(command):
    app.parse_args(shlex.split(command), exit_on_error=False, print_error=False)


def test_there_are_commands():
    assert {command.split()[0] for command in COMMANDS} == {"train", "predict", "phantom"}


@pytest.fixture(scope="module")
def pages():
    return runpy.run_path(str(ROOT / "docs" / "learning_pages.py"))


@pytest.mark.parametrize("study", ["echo", "chase"])
def test_tables_of_the_page_are_those_of_the_runs(pages, study):
    made = pages["page_tables"](study)
    assert set(re.findall(rf"learning/{study}/page-([\w-]+)\.csv", PAGE)) == set(made)
    for name, lines in made.items():
        with (HOME / study / f"page-{name}.csv").open(encoding="utf-8", newline="") as file:
            assert list(csv.reader(file)) == lines


@pytest.mark.parametrize("study", ["echo", "chase"])
def test_charts_of_the_page_are_those_of_the_runs(pages, study):
    drawn = (ROOT / "docs" / "images" / f"extended-dice-{study}.svg").read_text(encoding="utf-8")
    told = re.findall(r"<title>[^<]*, (?:U-Net|DeepLabv3\+): ([\d.]+)</title>", drawn)
    shown = [row["all raters: extended_dice"].split()[0] for row in pages["rows_of"](study, "table3")]
    assert sorted(told) == sorted(shown)


def rows_of(study: str, table: str) -> list[dict[str, str]]:
    with (HOME / study / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def apart(study: str, network: str, statistic: str, control: bool = False) -> list[dict[str, str]]:
    """The extended Dice loss minus each other strategy of the paper's, or minus the control."""
    rows = [r for r in rows_of(study, "differences") if (r["network"], r["statistic"]) == (network, statistic)]
    return [r for r in rows if (r["minus"] == CONTROL) == control]


def uncertain(rows: list[dict[str, str]]) -> list[str]:
    return [r["minus"] for r in rows if float(r["low"]) <= 0 <= float(r["high"])]


def places(study: str, network: str, statistic: str) -> dict[str, tuple[int, str]]:
    """By truth: the place of the extended Dice loss among the paper's nine (one single rater), and who is first."""
    shown = rows_of(study, "table3")
    single = next(f"rater-{r['strategy'].split()[1]}" for r in shown if r["network"] == network)
    best: dict[str, dict[str, float]] = {}
    for row in rows_of(study, "strategies"):
        name, of = row["strategy"], (row["network"], row["statistic"], row["scope"])
        if of == (network, statistic, "mean") and (not name.startswith("rater-") or name == single) and name != CONTROL:
            best.setdefault(row["against"], {})[name] = float(row["value"]) * (-1 if statistic == "hausdorff" else 1)
    orders = {against: sorted(own, key=own.__getitem__, reverse=True) for against, own in best.items()}
    assert {len(order) for order in orders.values()} == {9}
    return {against: (order.index(OURS) + 1, order[0]) for against, order in orders.items()}


def over_majority(study: str, network: str) -> tuple[float, float]:
    """What a Dice loss on the majority gains in extended Dice over cross-entropy on it, and the extended Dice loss."""
    whole = next(float(r["value"]) for r in apart(study, network, OURS) if r["minus"] == "majority")
    return whole - float(apart(study, network, OURS, control=True)[0]["value"]), whole


def between(values: list[float], digits: int = 3) -> str:
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def values(rows: list[dict[str, str]], sign: int = 1) -> list[float]:
    return [sign * float(r["value"]) for r in rows]


@pytest.mark.parametrize("study", ["echo", "chase"])
@pytest.mark.parametrize("network", NETWORKS)
def test_the_extended_dice_loss_is_first_in_extended_dice_in_all_four_comparisons(study, network):
    assert all(value > 0 for value in values(apart(study, network, OURS)))
    assert all(value > 0 for value in values(apart(study, network, OURS, control=True)))
    earlier = {r["strategy"]: float(r["value"]) for r in rows_of(study, "earlier") if r["network"] == network}
    assert max(earlier, key=earlier.__getitem__) == OURS


def test_what_the_page_says_of_extended_dice():
    assert uncertain(apart("echo", "unet", OURS)) == ["average", "confusion", "individuals", "staple"]
    assert uncertain(apart("echo", "deeplab", OURS)) == []
    assert uncertain(apart("chase", "unet", OURS)) == ["outer", "majority"]
    assert uncertain(apart("chase", "deeplab", OURS) + apart("chase", "deeplab", "dice")) == []


def test_what_the_page_says_of_places_on_the_phantom():
    for statistic in ("dice", "iou"):
        unet, deeplab = (places("echo", network, statistic) for network in NETWORKS)
        assert {truth: first for truth, (place, first) in unet.items() if place > 1} == {"c3": "staple", "c5": "outer"}
        assert {truth: first for truth, (place, first) in deeplab.items() if place > 1} == {"c5": "outer"}
    for network in NETWORKS:
        assert {truth for truth, (place, _) in places("echo", network, "hausdorff").items() if place > 1} == {"c5"}
    behind = {r["minus"]: float(r["high"]) for r in apart("echo", "unet", "dice") if r["against"] == "c5"}
    assert {name for name, high in behind.items() if high < 0} == {"outer", "staple"}
    hair = [r for r in apart("echo", "unet", "dice") if (r["minus"], r["against"]) == ("staple", "c3")]
    assert -0.0005 < float(hair[0]["value"]) < 0


def test_what_the_page_says_of_differences_in_dice():
    rows = [apart("echo", network, "dice") for network in NETWORKS]
    assert {len(own) for own in rows} == {84}
    ahead = [sum(value > 0 for value in values(own)) for own in rows]
    sure = [sum(float(r["low"]) > 0 for r in own) for own in rows]
    assert f"{ahead[0]} are in its favour with U-Net and {ahead[1]} with DeepLabv3+" in FLAT
    assert f"the intervals of {sure[0]} and {sure[1]} of these exclude 0" in FLAT
    every = [r for s in ("echo", "chase") for network in NETWORKS for r in apart(s, network, "dice")]
    worst = min(every, key=lambda r: float(r["value"]))
    assert (worst["network"], worst["minus"], worst["against"]) == ("unet", "outer", "c5")
    assert f"behind by {-float(worst['value']):.3f} of Dice at worst (`outer`, U-Net, against c5)" in FLAT


@pytest.mark.parametrize("statistic", ["dice", "iou", "hausdorff"])
def test_what_the_page_says_of_the_truth(statistic):
    assert [places("echo", network, statistic)["truth"][0] for network in NETWORKS] == [1, 1]
    rows = [r for r in apart("echo", "unet", statistic) if r["against"] == "truth"]
    assert uncertain(rows) == ["average", "confusion", "individuals"]


@pytest.mark.parametrize("network", NETWORKS)
def test_what_the_page_says_of_spread(network):
    spread: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows_of("echo", "strategies"):
        if (row["network"], row["scope"]) == (network, "std") and row["statistic"] in (OURS, "dice"):
            spread.setdefault((row["statistic"], row["against"]), {})[row["strategy"]] = float(row["value"])
    least = {of: min(own, key=own.__getitem__) for of, own in spread.items()}
    assert least.pop((OURS, "all raters")) == OURS
    assert len(least) == 7
    assert set(least.values()) == {"outer"}


def test_what_the_page_says_of_the_control_on_the_phantom():
    gained = [over_majority("echo", network) for network in NETWORKS]
    dice = f"a Dice loss gains {gained[0][0]:.3f} (U-Net) and {gained[1][0]:.3f} (DeepLabv3+) of extended Dice"
    assert dice in FLAT
    assert f"the extended Dice loss gains {gained[0][1]:.3f} and {gained[1][1]:.3f}" in FLAT
    assert all(0.5 < plain / whole < 0.65 for plain, whole in gained)
    for network in NETWORKS:
        assert uncertain(apart("echo", network, OURS, control=True)) == []
    unet, deeplab = (apart("echo", network, "dice", control=True) for network in NETWORKS)
    assert f"by {between(values(unet))} (U-Net; four intervals exclude 0)" in FLAT
    assert f"and {between(values(deeplab))} (DeepLabv3+; all do)" in FLAT
    assert (len(unet) - len(uncertain(unet)), len(deeplab) - len(uncertain(deeplab))) == (4, 7)


def test_what_the_page_says_of_the_control_on_chase():
    unet, deeplab = (apart("chase", network, OURS, control=True)[0] for network in NETWORKS)
    shown = [
        [f"{float(r[column]):.3f}".replace("-", "−") for column in ("value", "low", "high")] for r in (unet, deeplab)
    ]
    assert "behind by {} ({} to {}) in extended Dice".format(*shown[0]) in FLAT
    assert "(behind by {}, {} to {})".format(*shown[1]) in FLAT
    by = {r["against"]: r for r in apart("chase", "deeplab", "dice", control=True)}
    first, second, majority = (f"{-float(by[truth]['value']):.3f}" for truth in ("1stHO", "2ndHO", "vote:0.5"))
    assert f"by {first} and {second} against the raters, with intervals that contain 0, and by {majority}" in FLAT
    assert [truth for truth in by if float(by[truth]["high"]) < 0] == ["vote:0.5"]
    assert f"by {between(values(apart('chase', 'unet', 'dice', control=True)))} in Dice" in FLAT
    far, near = (apart("chase", network, "hausdorff", control=True) for network in ("deeplab", "unet"))
    assert uncertain(far) == []
    for rows in (far, near):
        assert f"Its Hausdorff distances are {between(values(rows), 0)} pixels smaller".lower() in FLAT.lower()
    gained = {network: over_majority("chase", network) for network in NETWORKS}
    assert gained["unet"][0] < 0
    assert 0.9 < gained["deeplab"][0] / gained["deeplab"][1] < 1


def test_what_the_page_says_of_places_on_chase():
    for network in NETWORKS:
        for statistic in ("dice", "iou"):
            assert {place for place, _ in places("chase", network, statistic).values()} == {1}
        by = places("chase", network, "hausdorff")
        assert sorted(first for _, first in by.values()) == [OURS, "outer", "outer"]


def test_strategies_that_are_the_same_for_two_raters_differ_by_noise():
    largest, leads = [], []
    for network in NETWORKS:
        by = {row["minus"]: float(row["value"]) for row in apart("chase", network, OURS)}
        largest.append(max(abs(by["outer"] - by["majority"]), abs(by["inner"] - by["staple"])))
        leads.append(by["outer"])
    assert f"up to {largest[0]:.3f} with U-Net and {largest[1]:.3f} with DeepLabv3+" in FLAT
    assert f"So the {leads[0]:.3f} by which the extended Dice loss leads `outer` with U-Net" in FLAT
    assert f"the {leads[1]:.3f} with DeepLabv3+ is more than noise" in FLAT


def moved(study: str, network: str) -> list[float]:
    """How far means of extended Dice moved between two runs of the study; the matrices' pace was changed."""
    now = {r["strategy"]: r for r in rows_of(study, "strategies")
           if (r["network"], r["statistic"], r["scope"]) == (network, OURS, "mean")}  # fmt: skip
    before = [r for r in rows_of(study, "earlier") if r["network"] == network and r["strategy"] != "confusion"]
    assert len(before) == len(now) - 2
    return [abs(float(now[r["strategy"]]["value"]) - float(r["value"])) for r in before]


def test_what_the_page_says_of_two_runs_of_the_study():
    echo, chase = ([moved(study, network) for network in NETWORKS] for study in ("echo", "chase"))
    assert f"by up to {max(echo[0]):.3f} (U-Net) and {max(echo[1]):.3f} (DeepLabv3+) on the phantom" in FLAT
    assert f"on CHASE_DB1 by up to {max(chase[0]):.3f} and {max(chase[1]):.3f}" in FLAT
    assert {f"with a median of {median(own):.3f};" in FLAT for own in echo} == {True}
    assert f"with medians of {median(chase[0]):.3f} and {median(chase[1]):.3f}." in FLAT


@pytest.mark.parametrize(
    ("study", "ways", "folds", "words"), [("echo", 14, 1, "{} minutes in all"), ("chase", 11, 2, "took {} minutes")]
)
def test_what_the_page_says_of_runs(study, ways, folds, words):
    rows = rows_of(study, "runs")
    assert len({row["strategy"] for row in rows}) == ways
    assert len(rows) == ways * len(NETWORKS) * 3 * folds
    assert f"{len(rows)} runs" in FLAT
    assert words.format(round(sum(float(row["seconds"]) for row in rows) / 60)) in FLAT


def learned(study: str, network: str, background: bool) -> list[float]:
    """The diagonals of the matrices."""
    rows = [r for r in rows_of(study, "confusion") if r["network"] == network and r["truth"] == r["given"]]
    return [float(r["rate"]) for r in rows if (r["truth"] == "background") == background]


def test_what_the_page_says_of_confusion_matrices():
    echo, chase = ([between(learned(s, network, False), 2) for network in NETWORKS] for s in ("echo", "chase"))
    true = {
        label: [float(r["rate"]) for r in rows_of("echo", "rates") if r["truth"] == label]
        for label in ("background", "1")
    }
    assert (
        f"mark {echo[0]} of the muscle (true values {between(true['1'], 2)}); with DeepLabv3+ {echo[1]}, which" in FLAT
    )
    known = {r["rater"]: float(r["rate"]) for r in rows_of("echo", "rates") if r["truth"] == "1"}
    rows = [r for r in rows_of("echo", "confusion") if (r["network"], r["truth"], r["given"]) == ("deeplab", "1", "1")]
    assert all(float(r["rate"]) > known[r["rater"]] + 0.04 for r in rows)
    told = {f"{rate:.3f}" for network in NETWORKS for rate in learned("echo", network, True)}
    assert f"they estimate {told.pop()} for all raters (true values {between(true['background'])})" in FLAT
    assert told == set()
    assert f"they estimate {chase[0]} of the vessels and, still near their initial value of 0.95, {chase[1]}." in FLAT


def test_what_the_page_says_of_the_pace():
    pytest.importorskip("torch")
    from manytruths.learning import ConfusionMatrixLoss
    from manytruths.learning.strategies import KNOWN

    assert (KNOWN["confusion"].pace, KNOWN["confusion"].warm_up) == (10, 0.25)
    assert "ten times the network's rate, after a quarter of the epochs" in FLAT
    assert ConfusionMatrixLoss(1).matrices[0, 0, 0].item() == pytest.approx(0.95)


def test_what_the_page_says_first():
    """The lead over the next best is within the interval with U-Net; the control's share of the lead."""
    for study, rival in (("echo", "confusion"), ("chase", "outer")):
        nearest = min(apart(study, "unet", OURS), key=lambda r: float(r["value"]))
        assert (nearest["minus"], uncertain([nearest])) == (rival, [rival])
    page = " ".join((ROOT / "docs/learning.md").read_text(encoding="utf-8").split())
    assert "with the U-Net its lead over the next best is within the interval" in page
    assert "on the phantom more than half of that over the majority vote, on CHASE_DB1 nearly all of it" in page


# -- probabilities and samples ---------------------------------------------------------------------

DRAWS, CHASE_DRAWS = "echo-draws", "chase-draws"


def of_population(strategy: str, statistic: str) -> dict[str, str]:
    rows = [r for r in rows_of(DRAWS, "population") if (r["strategy"], r["statistic"]) == (strategy, statistic)]
    return rows[0]


def told(row: dict[str, str], sign: int = 1) -> list[str]:
    """The value and the ends of its interval, as they are written."""
    return [f"{sign * float(row[name]):.3f}" for name in ("value", "low", "high")]


def test_tables_of_draws_are_those_of_the_runs(pages):
    made = {
        (DRAWS, "draws"): pages["draws_table"](DRAWS),
        (DRAWS, "population"): pages["population_table"](),
        (CHASE_DRAWS, "draws"): pages["draws_table"](CHASE_DRAWS),
    }
    assert set(re.findall(r"learning/(\w+-draws)/page-([\w-]+)\.csv", PAGE)) == set(made)
    for (study, name), lines in made.items():
        with (HOME / study / f"page-{name}.csv").open(encoding="utf-8", newline="") as file:
            assert list(csv.reader(file)) == lines


def test_what_the_page_says_of_the_runs_of_draws():
    rows = rows_of(DRAWS, "runs")
    assert f"{len(rows)} runs of {rows[0]['epochs']} epochs" in FLAT
    assert {row["epochs"] for row in rows} == {"40"}
    assert "480 steps" in FLAT
    assert 40 * 60 // 5 == 480
    wide = next(
        r for r in rows_of(DRAWS, "strategies")
        if (r["strategy"], r["statistic"], r["scope"]) == ("average", "extended_dice", "mean")
    )  # fmt: skip
    assert wide["n"] == "60"
    assert "was {} ({} to {}) over three seeds".format(*told(wide)) in FLAT


def test_what_the_page_says_of_the_population(pages):
    assert len(pages["population"]().raters) == 100
    latent, raters = (of_population(way, "model_energy_distance") for way in ("latent", "raters"))
    assert "is {} ({} to {}), that of the raters of the study".format(*told(latent)) in FLAT
    assert f"that of the raters of the study {told(raters)[0]}." in FLAT
    every = {
        r["strategy"]: float(r["value"])
        for r in rows_of(DRAWS, "population")
        if r["statistic"] == "model_energy_distance"
    }
    ways = [way for way in every if " minus " not in way and way != "raters"]
    assert min(ways, key=every.__getitem__) == "latent"
    differing = {way: of_population(f"latent minus {way}", "model_energy_distance") for way in ways if way != "latent"}
    assert {way for way, row in differing.items() if float(row["high"]) < 0} == {"individuals", "soft_staple"}
    assert set(differing) - {"individuals", "soft_staple"} == {"average", "majority", "extended_dice"}


def test_what_the_page_says_of_spread_and_probabilities():
    wide, heads = (of_population(way, "diversity_difference") for way in ("latent", "individuals"))
    assert "lie further apart, by {} ({} to {})".format(*told(wide)) in FLAT
    value, low, high = told(heads)
    assert float(low) < 0 < float(high)
    assert f"by {value[1:]}, with an interval from {low[1:]} nearer to {high} further" in FLAT
    true = float(of_population("latent", "sample_diversity")["value"]) - float(wide["value"])
    assert f"have a mean distance of {true:.3f}" in FLAT
    others = [r for r in rows_of(DRAWS, "population") if r["statistic"] == "sample_diversity"]
    still = {r["strategy"] for r in others if float(r["value"]) == 0}
    assert still == {"average", "majority", "soft_staple", "extended_dice"}
    errors = [r for r in rows_of(DRAWS, "population") if r["statistic"] == "squared_error"]
    apart = [r for r in errors if " minus " in r["strategy"] and r["strategy"] != "latent minus raters"]
    assert len(apart) == 5
    assert all(float(r["low"]) < 0 < float(r["high"]) for r in apart)
    means = [float(r["value"]) for r in errors if " minus " not in r["strategy"] and r["strategy"] != "raters"]
    votes = told(of_population("raters", "squared_error"))[0]
    assert f"The means are {between(means)}; that of the votes of the five raters is {votes}." in FLAT


def of_chase_draws(statistic: str, table: str = "strategies") -> dict[str, dict[str, str]]:
    """By strategy; of ``differences`` the latent variables minus it."""
    column = "minus" if table == "differences" else "strategy"
    rows = [
        r for r in rows_of(CHASE_DRAWS, table) if (r["statistic"], r["scope"], r["group"]) == (statistic, "mean", "")
    ]
    return {r[column]: r for r in rows if r["against"] == "all raters"}


def test_what_the_page_says_of_draws_on_chase():
    runs = rows_of(CHASE_DRAWS, "runs")
    assert f"{len(runs)} runs of {runs[0]['epochs']} epochs, of 14 photographs each" in FLAT
    assert ({r["epochs"] for r in runs}, {r["seed"] for r in runs}) == ({"80"}, {"0", "1", "2"})
    near = of_chase_draws("model_energy_distance")
    assert "its energy distance is {} ({} to {}), and the intervals".format(*told(near["latent"])) in FLAT
    assert min(near, key=lambda way: float(near[way]["value"])) == "latent"
    apart = of_chase_draws("model_energy_distance", "differences")
    assert len(apart) == 5
    assert all(float(r["high"]) < 0 for r in apart.values())
    wide = of_chase_draws("diversity_difference")
    raters = -float(wide["average"]["value"])
    assert f"has half their distance from each other, {raters / 2:.3f}" in FLAT
    assert float(near["latent"]["value"]) > raters / 2
    assert f"Their masks have a mean distance of {raters:.3f}" in FLAT
    assert "lie further apart, by {} ({} to {}); the heads".format(*told(wide["latent"])) in FLAT
    value, low, high = told(wide["individuals"], -1)
    assert f"by {value} ({high} to {low}); the others draw nothing" in FLAT
    drawn = of_chase_draws("sample_diversity")
    still = {way for way, r in drawn.items() if float(r["value"]) == 0}
    assert still == {"majority", "average", "soft_staple", "extended_dice"}


def test_what_the_page_says_of_masks_and_probabilities_on_chase():
    masks = of_chase_draws("extended_dice")
    assert max(masks, key=lambda way: float(masks[way]["value"])) == "latent"
    assert f"Extended Dice is {between([float(r['value']) for r in masks.values()])} and highest with `latent`" in FLAT
    rows = [r for r in rows_of(CHASE_DRAWS, "differences") if (r["statistic"], r["scope"]) == ("extended_dice", "mean")]
    lead = {r["minus"]: r for r in rows if r["group"] == ""}  # of the extended Dice loss
    value, low, high = told(lead["latent"], -1)
    assert f"{value} ({high.replace('-', '−')} to {low}), contains 0" in FLAT
    for statistic in ("brier", "pooled_calibration_error"):
        apart = of_chase_draws(statistic, "differences")
        assert len(apart) == 5
        assert all(float(r["low"]) < 0 < float(r["high"]) for r in apart.values())
    assert all(r["n"] == "14" for r in (*rows, *apart.values()))


# -- times on a GPU --------------------------------------------------------------------------------


def times() -> dict[tuple[str, str], dict[str, float]]:
    rows = rows_of("gpu", "times")
    return {
        (r["group"], r["job"]): {k: float(v) for k, v in r.items() if v and k not in ("group", "job")} for r in rows
    }


def test_the_table_of_times_is_that_of_the_run(pages):
    with (HOME / "gpu" / "page-times.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == pages["times_table"]()


def test_what_the_page_says_of_times():
    found, device = times(), {r["what"]: r["value"] for r in rows_of("gpu", "device")}
    assert f"one {device['name']} with PyTorch {device['torch'][:4]}" in FLAT
    one, ours = found["losses", "Dice of one target, eager"], found["losses", "new"]
    alone, queued, replayed = (f"{ours[way] / one[way]:.2f}" for way in ("alone", "queued", "replayed"))
    assert f"takes {replayed} of the time of a Dice loss with one target on the device" in FLAT
    assert f"but {alone} of it as a single call and {queued} in a queue" in FLAT
    moved = ours["bytes"]
    assert f"move {moved / 1e6:.0f} MB, for which" in FLAT
    assert f"needs {moved / 1e6 / float(device['GB/s']):.3f} ms" in FLAT
    staple, energy = found["STAPLE", "new"]["alone"], found["energy", "new"]["alone"]
    assert f"{found['STAPLE', 'CPU, batch']['alone'] / staple:.0f} times as fast as on 16 threads" in FLAT
    assert f"{found['energy', 'CPU']['alone'] / energy:.0f} times as fast as on the CPU" in FLAT
    assert f"and {found['energy', 'old']['alone'] / energy:.0f} times as fast as PyTorch's operations" in FLAT
