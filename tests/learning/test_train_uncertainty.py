"""Probabilities and samples of trained networks: what is written, what it says, and how it is judged."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import manytruths as mt
from manytruths import CallError, InputError
from manytruths.cli import status
from manytruths.learning import (
    AverageCrossEntropy,
    EnergyLoss,
    SoftCrossEntropy,
    TrainedNetwork,
    UNet,
    predict,
    staple,
    train,
    vote_share,
)
from manytruths.learning.results import compare, write
from manytruths.learning.sampling import latent_noise
from manytruths.learning.strategies import KNOWN
from manytruths.learning.uncertainty import UNCERTAINTY
from study_folders import pixels, table, write_png
from training_folders import small_plan, write_training

WAYS = ("majority", "individuals", "soft_staple", "latent", "extended_dice")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A study with everything written, and what was found."""
    folder = write_training(tmp_path_factory.mktemp("unsure"), subjects=12, frames=1)
    plan = small_plan(strategies=WAYS, seeds=(0, 3), epochs=6, folds=2, draws=5)
    home = folder.path / "out"
    found = train(folder.open(), plan, home)
    write(compare(found), home)
    return folder, home, found


# -- what is written -------------------------------------------------------------------------------


def test_every_run_writes_probabilities_and_those_that_draw_write_samples(done):
    folder, home, _ = done
    cases = {path.stem for path in (folder.path / "images").iterdir()}
    for way in WAYS:
        run = f"unet-{way}-0"
        maps = {path.stem: pixels(path) for path in (home / "probability" / run).iterdir()}
        assert maps.keys() == cases
        for case, values in maps.items():
            assert (values.dtype, values.min() >= 0, values.max() <= 1) == (np.float32, True, True)
            assert ((values > 0.5) == pixels(home / "predictions" / run / f"{case}.png")).all()
        names = {case: {p.stem for p in (home / "samples" / run / case).glob("*.png")} for case in cases}
        expected = {"individuals": {"A", "B", "C"}, "latent": {f"00{k}" for k in range(1, 6)}}.get(way, set())
        assert names == dict.fromkeys(cases, expected)


def test_a_loaded_network_draws_what_train_wrote(done):
    folder, home, _ = done
    for way in ("individuals", "latent"):
        trained = TrainedNetwork.load(home / "runs" / "unet" / way / "seed-3" / "fold-1" / "network.pt")
        case = next(row["case"] for row in table(home / "split.csv") if (row["fold"], row["part"]) == ("1", "test"))
        image, run = pixels(folder.path / "images" / f"{case}.png"), f"unet-{way}-3"
        for name, mask in trained.samples(image, 5).items():
            assert (mask == pixels(home / "samples" / run / case / f"{name}.png")).all()
        # sums of a batch are of another order than those of one image
        assert np.allclose(
            trained.probabilities(image)[1], pixels(home / "probability" / run / f"{case}.tif"), atol=1e-5
        )


def test_fewer_samples_are_the_first_of_more_and_other_images_get_others(done):
    folder, home, _ = done
    trained = TrainedNetwork.load(home / "runs" / "unet" / "latent" / "seed-0" / "fold-0" / "network.pt")
    image = pixels(folder.path / "images" / "s01-f1.png")
    few, many = trained.samples(image, 2), trained.samples(image, 12)
    assert [*few] == ["001", "002"] == [*many][:2]
    assert all((few[name] == many[name]).all() for name in few)
    assert len({mask.tobytes() for mask in many.values()}) > 1
    other = trained.apply_to_image(np.full_like(image, 7))
    assert other.key != trained.apply_to_image(image).key
    assert not torch.equal(latent_noise(2, 8, "0 a"), latent_noise(2, 8, "0 b"))


def test_without_maps_nothing_is_written_and_they_can_be_added_without_training(tmp_path):
    folder = write_training(tmp_path, subjects=4, frames=1)
    plan = {"strategies": ("latent",), "epochs": 2}
    train(folder.open(), small_plan(**plan, write_probability=False), tmp_path / "o")
    assert not (tmp_path / "o" / "probability").exists()
    assert not (tmp_path / "o" / "samples").exists()
    (network,) = (tmp_path / "o").rglob("network.pt")
    stamp = network.stat().st_mtime_ns
    for samples in (3, 4):
        train(folder.open(), small_plan(**plan, draws=samples), tmp_path / "o")
        cases = list((tmp_path / "o" / "samples" / "unet-latent-0").iterdir())
        assert {len(list(case.iterdir())) for case in cases} == {samples}
        assert network.stat().st_mtime_ns == stamp
    assert list((tmp_path / "o" / "probability").rglob("*.tif"))


def test_predict_writes_samples_that_evaluate_reads(done, tmp_path):
    folder, home, _ = done
    network = home / "runs" / "unet" / "latent" / "seed-0" / "fold-0" / "network.pt"
    images = str(folder.path / "images" / "{case}.png")
    paths = predict(network, images, tmp_path / "one", write_probability=True, draws=3)
    assert len(paths) == 12 * (1 + 1 + 3)
    assert sorted(p.name for p in (tmp_path / "one" / "samples" / "s05-f1").iterdir()) == [
        f"00{k}.png" for k in (1, 2, 3)
    ]
    predict(network, images, tmp_path / "two", write_probability=True, draws=3)
    assert all(
        path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes() for path in paths
    )


def test_networks_that_draw_nothing_are_not_asked_to(done, tmp_path, capsys):
    folder, home, _ = done
    network = home / "runs" / "unet" / "majority" / "seed-0" / "fold-0" / "network.pt"
    images = str(folder.path / "images" / "{case}.png")
    with pytest.raises(InputError, match="a network of the strategy majority makes one mask and draws no samples"):
        predict(network, images, tmp_path, draws=4)
    with pytest.raises(CallError, match="draws must be 0 or more; got -1"):
        predict(network, images, tmp_path, draws=-1)
    with pytest.raises(CallError, match="draws must be 2 or more, as one says nothing of their spread; got 1"):
        small_plan(draws=1)
    assert status(["predict", str(network), images, "--draws", "2", "--out", str(tmp_path), "-q"]) == 1
    assert "draws no samples; train one of the strategy latent or individuals" in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.png"))


# -- how it is judged ------------------------------------------------------------------------------


def of_run(done, run, case):
    """Raters' masks, samples and probability, from the files."""
    folder, home, _ = done
    masks = [pixels(folder.path / "masks" / r / f"{case}.png") > 0 for r in "ABC"]
    drawn = sorted((home / "samples" / run / case).glob("*.png")) or [home / "predictions" / run / f"{case}.png"]
    return masks, [pixels(path) > 0 for path in drawn], pixels(home / "probability" / run / f"{case}.tif").astype(float)


def apart(one, other):
    either = (one | other).sum()
    return 1 - (one & other).sum() / either if either else 0.0


def naive(done, run, case, unbiased):
    """Energy distance, diversity of the samples and of the raters, and Brier score, by plain loops."""
    masks, drawn, chance = of_run(done, run, case)
    cross = np.mean([apart(a, b) for a in drawn for b in masks])
    among = [np.sum([apart(a, b) for a in own for b in own]) for own in (drawn, masks)]
    s, r = len(drawn), len(masks)
    energy = 2 * cross - among[0] / (s * (s - 1) if unbiased else s * s) - among[1] / r**2
    spread = [among[0] / (s * (s - 1)) if s > 1 else 0.0, among[1] / (r * (r - 1))]
    return energy, spread[0], spread[0] - spread[1], np.mean([(chance - mask) ** 2 for mask in masks])


@pytest.mark.parametrize("way", WAYS)
def test_numbers_of_a_case_are_those_of_plain_loops(done, way):
    *_, found = done
    cases = found.bench.test_cases
    by_name = {scores.statistic: scores for scores in found.scores}
    run = next(run for run in found.runs if (run.strategy, run.seed) == (way, 3))
    for k, case in enumerate(cases):
        told = [by_name[name].by_run[run][k] for name in UNCERTAINTY[:4]]
        # maps are counted in steps of 1e-5 or less
        assert told == pytest.approx(naive(done, run.name, case, way == "latent"), abs=2e-5)


def test_the_calibration_error_is_that_of_all_cases_by_the_jackknife(done):
    *_, found = done
    scores = next(s for s in found.scores if s.statistic == "pooled_calibration_error")
    run = next(run for run in found.runs if (run.strategy, run.seed) == ("latent", 0))
    own = [of_run(done, run.name, case) for case in found.bench.test_cases]

    def error(parts):
        chances = np.concatenate([np.tile(chance.ravel(), 3) for _, _, chance in parts])
        marks = np.concatenate([np.ravel(masks) for masks, _, _ in parts])
        bins = np.clip(np.ceil(chances * 15).astype(int) - 1, 0, 14)
        return sum(abs((chances - marks)[bins == b].sum()) for b in range(15)) / len(marks)

    n = len(own)
    pseudo = [n * error(own) - (n - 1) * error(own[:k] + own[k + 1 :]) for k in range(n)]
    assert scores.by_subject[run] == pytest.approx(pseudo, abs=1e-3)
    assert np.mean(scores.by_subject[run]) < 1


def test_tables_have_the_numbers_of_probabilities_and_samples(done):
    _, home, _ = done
    rows = [row for row in table(home / "strategies.csv") if row["statistic"] in UNCERTAINTY and row["scope"] == "mean"]
    assert len(rows) == len(WAYS) * len(UNCERTAINTY)
    assert {(row["against"], row["n"], row["seeds"]) for row in rows} == {("all raters", "12", "2")}
    apart = [row for row in table(home / "differences.csv") if row["statistic"] in UNCERTAINTY]
    assert {(row["strategy"], row["minus"]) for row in apart} == {("latent", way) for way in WAYS if way != "latent"}
    printed = table(home / "uncertainty.csv")
    assert [row["strategy"] for row in printed] == [
        KNOWN[way].title for way in ("majority", "individuals", "soft_staple", "latent", "extended_dice")
    ]
    none = next(row for row in printed if row["strategy"] == "majority vote")
    assert none["all raters: sample_diversity"].startswith("0.000")


# -- losses ----------------------------------------------------------------------------------------


def masks_of(shape=(2, 3, 6, 5), labels=2, seed=0):
    return torch.randint(0, labels, shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("labels", [2, 3])
def test_soft_cross_entropy_of_shares_is_the_average_over_raters(labels):
    """So training on vote shares needs no strategy of its own."""
    target = masks_of(labels=labels)
    logits = torch.randn(2, 1 if labels == 2 else labels, 6, 5, requires_grad=True)
    share = vote_share(target, labels=labels)
    soft = SoftCrossEntropy()(logits, share[:, None] if labels == 2 else share[:, 1:])
    assert torch.allclose(soft, AverageCrossEntropy()(logits, target), atol=1e-6)


def test_soft_cross_entropy_sees_only_what_was_rated():
    logits, share = torch.randn(2, 1, 6, 5), torch.rand(2, 1, 6, 5)
    present = torch.rand(2, 1, 6, 5) < 0.5
    expected = torch.nn.functional.binary_cross_entropy_with_logits(logits[present], share[present])
    assert SoftCrossEntropy()(logits, torch.where(present, share, 255), present) == pytest.approx(expected.item())
    for wrong in (share + 1, share - 0.1):
        with pytest.raises(CallError, match="from 0 to 1 and add up to 1 at most"):
            SoftCrossEntropy()(logits, wrong)
    with pytest.raises(CallError, match="probabilities of 2, all but background; got 1 in float32"):
        SoftCrossEntropy()(torch.randn(2, 3, 6, 5), share)


@pytest.mark.parametrize("labels", [2, 3])
def test_targets_of_soft_staple_are_its_probabilities(labels):
    codes = masks_of((3, 4, 8, 8), labels).to(torch.uint8)
    codes[1, 2] = 255
    codes[2, :, 0, 0] = 255
    targets = KNOWN["soft_staple"].targets(codes, labels)
    rated = codes != 255
    expected = staple(torch.where(rated, codes, 0), rated, labels).probability
    expected = expected[:, None] if labels == 2 else expected[:, 1:]
    assert targets.shape == (3, labels - 1, 8, 8)
    assert (targets[2, :, 0, 0] == 255).all()
    nobody = (~rated.any(dim=1, keepdim=True)).expand_as(targets)
    assert torch.allclose(targets[~nobody], expected[~nobody])
    assert ((targets > 0.01) & (targets < 0.99)).any()


def scored(outputs, target, noise, present=None, labels=2):
    """The energy score plus cross-entropy, by loops over images, draws and raters."""
    losses, entropies = [], []
    for n in range(len(outputs)):
        rank = noise.shape[2]
        channels = outputs.shape[1] // (1 + rank)
        parts = outputs[n].reshape(1 + rank, channels, *outputs.shape[2:])
        draws = [parts[0] + sum(e * f for e, f in zip(one, parts[1:], strict=True)) / rank**0.5 for one in noise[n]]
        chances = [torch.cat([-d / 2, d / 2]).softmax(0) if channels == 1 else d.softmax(0) for d in draws]
        raters = [r for r in range(target.shape[1]) if present is None or present[n, r].any()]

        def distance(a, b, inside):
            a, b = a[inside], b[inside]
            return 1 - torch.minimum(a, b).sum() / torch.maximum(a, b).sum()

        there = [torch.ones_like(target[n, 0], dtype=torch.bool) if present is None else present[n, r] for r in raters]
        anyone = torch.stack(there).any(0)
        by_label = []
        for k in range(1, labels):
            near = [
                distance(c[k], (target[n, r] == k).float(), t)
                for c in chances
                for r, t in zip(raters, there, strict=True)
            ]
            far = [distance(a[k], b[k], anyone) for i, a in enumerate(chances) for j, b in enumerate(chances) if i != j]
            by_label.append(2 * sum(near) / len(near) - sum(far) / len(far))
        losses.append(sum(by_label) / len(by_label))
        mean = torch.stack(chances).mean(0)
        for y, x in torch.nonzero(anyone).tolist():
            given = [int(target[n, r, y, x]) for r, t in zip(raters, there, strict=True) if t[y, x]]
            entropies.append(-sum(mean[g, y, x].log() for g in given) / len(given))
    return sum(losses) / len(losses) + sum(entropies) / len(entropies)


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("presence", [None, "pixel"])
def test_the_energy_loss_is_that_of_loops(labels, presence):
    torch.manual_seed(4)
    target, noise = masks_of(labels=labels), torch.randn(2, 4, 3)
    outputs = torch.randn(2, 4 * (1 if labels == 2 else labels), 6, 5)
    present = None if presence is None else torch.rand(2, 3, 6, 5) < 0.7
    found = EnergyLoss(labels, rank=3)(outputs, target, present, noise)
    assert found.item() == pytest.approx(scored(outputs, target, noise, present, labels).item(), abs=1e-5)


def test_absent_raters_do_not_count_for_the_energy_loss():
    torch.manual_seed(4)
    outputs, target, noise = torch.randn(3, 4, 6, 5), masks_of((3, 3, 6, 5)), torch.randn(3, 4, 3)
    present = torch.tensor([[True, True, False], [False] * 3, [True] * 3])
    loss = EnergyLoss(rank=3)
    found = loss(outputs, target, present, noise)
    other = torch.where(present[..., None, None], target, 255)
    assert torch.equal(found, loss(outputs, other, present, noise))
    nobody = EnergyLoss(rank=3, check=False)(outputs, target, torch.zeros_like(present), noise)
    assert nobody.item() == 0


def test_the_energy_loss_has_gradients_and_stays_finite():
    torch.manual_seed(4)
    target, noise = masks_of(), torch.randn(2, 4, 3)
    outputs = torch.randn(2, 4, 6, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: EnergyLoss(rank=3).double()(x, target, None, noise), outputs)
    for scale in (0.0, 1e4):
        for marks in (target, torch.zeros_like(target)):
            extreme = (scale * outputs.detach()).requires_grad_()
            loss = EnergyLoss(rank=3)(extreme, marks, None, noise)
            loss.backward()
            assert loss.isfinite()
            assert extreme.grad.isfinite().all()
            assert extreme.grad.any()
    with pytest.raises(
        CallError, match=r"3 latent variables and 2 labels need outputs of 4 channels; got \(2, 5, 6, 5\)"
    ):
        EnergyLoss(rank=3)(torch.zeros(2, 5, 6, 5), target)
    with pytest.raises(CallError, match="draws must be 2 or more"):
        EnergyLoss(draws=1)


def test_the_energy_loss_is_least_for_draws_like_the_raters():
    """Two raters who mark all or nothing: a variable that moves all pixels, and not too little of it."""
    target = torch.stack([torch.ones(6, 6), torch.zeros(6, 6)])[None].long()
    noise = torch.randn(1, 400, 1, generator=torch.Generator().manual_seed(0))
    slope = [torch.cat([torch.zeros(1, 1, 6, 6), torch.full((1, 1, 6, 6), s)], dim=1) for s in (0.0, 1.0, 40.0)]
    losses = [EnergyLoss(rank=1)(own, target, None, noise).item() for own in slope]
    assert losses[0] > losses[1] > losses[2]


# -- what networks learn ---------------------------------------------------------------------------


def seen_twice(images=16, size=24, shares=(0.25, 1.0)):
    """Bright discs of which four raters mark the inner part alone, or all of it: a half of the raters each."""
    line = torch.arange(size) - (size - 1) / 2
    radius = (line[:, None] ** 2 + line**2).sqrt()
    outer, inner = radius < 9, radius < 9 * shares[0] ** 0.5
    generator = torch.Generator().manual_seed(1)
    shown = torch.stack([outer.float() + 0.1 * torch.randn(size, size, generator=generator) for _ in range(images)])
    return shown[:, None], torch.stack([inner, inner, outer, outer])[None].expand(images, -1, -1, -1).long()


@pytest.mark.slow
def test_draws_spread_as_the_raters_do():
    """Their distance is that of the raters, and half of them are of each kind."""
    images, target = seen_twice()
    torch.manual_seed(0)
    net, loss = UNet(1, 1 + 8, width=6, depth=2), EnergyLoss()
    optimizer = torch.optim.Adam(net.parameters(), 3e-3)
    for _ in range(60):
        for rows in torch.randperm(len(images)).split(4):
            optimizer.zero_grad()
            loss(net(images[rows]), target[rows]).backward()
            optimizer.step()
    net.eval()
    with torch.no_grad():
        drawn = EnergyLoss.draw(net(images[:1]), latent_noise(200, 8, "x"))[0, :, 0] > 0
    spread = mt.sample_diversity(list(drawn.numpy().astype(np.uint8)))
    wanted = mt.sample_diversity(list(target[0].numpy().astype(np.uint8)))
    assert wanted == pytest.approx(0.75 * 4 / 6, abs=0.03)
    assert spread == pytest.approx(wanted * 3 / 4, abs=0.12)  # of two draws, not of two different raters
    sizes = drawn.flatten(1).sum(1) / target[0, 2].sum()
    assert 0.3 < (sizes > 0.6).float().mean() < 0.7


def test_a_mask_of_zeros_and_255_is_drawn_in_those_values(tmp_path):
    folder = write_training(tmp_path, subjects=4, frames=1)
    for path in (tmp_path / "masks").rglob("*.png"):
        write_png(path, pixels(path) * 255)
    train(folder.open(), small_plan(strategies=("latent",), epochs=4, draws=2), tmp_path / "o")
    drawn = [pixels(path) for path in (tmp_path / "o" / "samples").rglob("*.png")]
    assert {int(v) for own in drawn for v in np.unique(own)} <= {0, 255}
