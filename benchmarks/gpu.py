"""The fused kernels on a GPU beside PyTorch's own operations: whether they are right, and how long both take.

``PYTHONPATH=src python benchmarks/gpu.py --json FILE``, in the root of the repository on a machine with a GPU, needs
PyTorch with Triton, a C compiler and what this package needs; without them it says so in one line and ends with 1. It
is not among the jobs of ``python -m benchmarks``, which a CPU can do.

Kernels are on by default (``manytruths.learning.kernels.use_fused_kernels``); here both ways run. First both are
compared with each other, with float64, the CPU and loops: whatever is wrong ends the program with 1. Times follow,
and at the end one line for each of the three says whether the kernels are right and quicker.

A job is timed in three ways, over inputs that take turns and together exceed the cache: *alone*, one call at a time, as
a training step without anything else to do would see it; *queued*, many calls, which hides what the CPU needs for a
call behind the calls before; and *replayed* from a CUDA graph, which is the time of the device alone.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor

if not __package__:
    sys.path.insert(0, str(Path(__file__).parents[1]))

import manytruths.learning.batch_staple as staple_module
import manytruths.learning.energy as energy_module
from benchmarks.learning import IMAGES, RATERS, SIZE, WrittenDice, copied, most_memory, one_by_one, ragged
from manytruths.learning import BatchStaple, ExtendedDiceLoss, energy_distance, staple
from manytruths.learning.fused import dice as fused_dice
from manytruths.learning.fused import energy as fused_energy
from manytruths.learning.fused import staple as fused_staple
from manytruths.learning.kernels import can_build, use_fused_kernels

SAMPLES = 16
OLD, NEW = "old", "new"
"""What runs with the switch off, and the fused kernels."""
SETS = 6
"""Inputs that take turns."""
Work = Callable[[int], object]
"""Does a job with one of the inputs."""
Row = dict[str, Any]


# -- whether it is right ---------------------------------------------------------------------------


@contextmanager
def swapped(module: Any, **values: Any) -> Iterator[None]:
    """A module with other values."""
    usual = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in usual.items():
            setattr(module, name, value)


def fused(work: Callable[..., Any]) -> Callable[..., Any]:
    """The same in the new kernels."""

    def run(*given: Any, **options: Any) -> Any:
        with use_fused_kernels():
            return work(*given, **options)

    return run


def drawn(shape: tuple[int, ...], raters: int, labels: int) -> Tensor:
    """Raters (N, R, *spatial) who err by themselves about one truth."""
    truth = torch.randint(0, labels, (shape[0], 1, *shape[1:]))
    wrong = torch.rand(shape[0], raters, *shape[1:]) < 0.2
    return torch.where(wrong, torch.randint(0, labels, wrong.shape), truth).to(torch.uint8)


def presence(kind: str | None, target: Tensor) -> Tensor | None:
    """One image without raters."""
    if kind is None:
        return None
    there = torch.rand(target.shape if kind == "pixel" else target.shape[:2], device=target.device) < 0.6
    there[0, 0], there[1] = True, False
    return there


def loss_and_slope(loss: ExtendedDiceLoss, logits: Tensor, *rest: Tensor | None) -> tuple[Tensor, Tensor]:
    own = logits.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    value = loss(own, *rest)
    (value * torch.arange(1, value.numel() + 1, device=own.device).view(value.shape)).sum().backward()
    assert own.grad is not None
    return value.detach(), own.grad


def check_losses() -> str:
    """New and old against PyTorch's own operations in float64."""
    worst = {"loss, new": 0.0, "slope, new": 0.0, "loss, old": 0.0, "slope, old": 0.0}
    ways = itertools.product(
        (1, 2, 3, 5), ((3, 37, 19), (2, 256, 256), (2, 17, 16, 15)), (False, True), ("mean", "sum", "none"),
        (None, "image", "pixel"), (False, True), (0.0, 0.5),
        (torch.bool, torch.uint8, torch.int64, torch.float32), (torch.float32, torch.bfloat16),
    )  # fmt: skip
    tried = 0
    for number, (channels, shape, batch, how, who, background, smooth, kind, given) in enumerate(ways):
        if number % 97 or (kind == torch.bool and channels > 2):
            continue
        target = drawn(shape, 4, max(2, channels)).to(kind).cuda()
        logits = (3 * torch.randn(shape[0], channels, *shape[1:])).to("cuda", given)
        if number % 3 == 0:
            logits = logits.movedim(1, -1).contiguous().movedim(-1, 1)
        there = presence(who, target)
        loss = ExtendedDiceLoss(background, batch, smooth, how)
        assert fused(fused_dice.fits)(logits, target, there)
        assert not fused_dice.fits(logits, target, there), "on though switched off"
        value, slope = fused(loss_and_slope)(loss, logits, target, there)
        again, same = fused(loss_and_slope)(loss, logits, target, there)
        assert torch.equal(value, again), "another run has another loss"
        assert torch.equal(slope, same), "another run has another gradient"
        exact, right = loss_and_slope(loss, logits.double(), target, there)
        other, steep = loss_and_slope(loss, logits, target, there)
        assert (value.shape, value.dtype, slope.dtype) == (other.shape, other.dtype, steep.dtype)
        size = max(float(right.abs().max()), 1e-30)
        off = float((value - exact).abs().max()), float((slope - right).abs().max()) / size
        assert off[0] <= 1e-6 * max(1, exact.numel() if how == "sum" else 1), (number, off)
        assert off[1] <= (5e-3 if given == torch.bfloat16 else 3e-6), (number, off)
        if given == torch.float32:
            errors = (*off, float((other - exact).abs().max()), float((steep - right).abs().max()) / size)
            worst = {name: max(each, error) for (name, each), error in zip(worst.items(), errors, strict=True)}
        tried += 1
    return f"{tried} ways; largest differences from float64: " + ", ".join(f"{k} {v:.1e}" for k, v in worst.items())


def check_staple() -> str:
    """New and old against the CPU, and against the library."""
    tried, worst, iterations = 0, 0.0, 0
    ways = itertools.product(
        (2, 3), (2, 3, 5), ((3, 20, 23), (4, 64, 64), (3, 6, 5, 7)), (None, "image", "pixel"),
        ("prevalence", "estimated", "marked", "given"), (torch.uint8, torch.int64),
    )  # fmt: skip
    for labels, raters, shape, who, prior, kind in itertools.islice(ways, 0, None, 11):
        target = drawn(shape, raters, labels).to(kind)
        target[:, :, 0] = 0
        target[-1] = int(prior != "marked")
        there = presence(who, target)
        here = target.cuda(), None if there is None else there.cuda()
        if not fused(fused_staple.fits)(*here, labels):
            continue
        first = [1 / labels] * labels if prior == "given" else prior
        options = {"prior": first, "labels": labels, "tol": 1e-5, "max_iter": 60}
        wanted = staple(target, there, **options)
        for run in (fused(staple), staple):
            found = run(*here, **options)
            off = furthest(found, wanted)
            assert off <= 1e-6, (labels, raters, shape, who, prior, off)
            steps = int((found.iterations.cpu() - wanted.iterations).abs().max())
            worst, iterations = max(worst, off), max(iterations, steps)
        tried += 1
    assert iterations <= 1
    marks = ragged(4, RATERS, SIZE)
    alone = one_by_one(marks.numpy().view(np.uint8))
    for run in (fused(staple), staple):
        found, again = run(marks.cuda()), run(marks.cuda())
        apart = float(np.abs(found.probability.cpu().numpy() - alone).max())
        assert apart <= 1e-6
        assert torch.equal(found.probability, again.probability), "another run has another result"
        assert torch.equal(found.confusion, again.confusion), "another run has another result"
    return f"{tried} ways; largest difference {worst:.1e}, of iterations {iterations}; {apart:.1e} from mt.staple"


def furthest(found: BatchStaple, wanted: BatchStaple) -> float:
    """The largest difference; what must be equal is."""
    worst = 0.0
    for name in ("probability", "confusion", "sensitivity", "specificity"):
        ours, theirs = getattr(found, name).cpu(), getattr(wanted, name)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), name
        assert torch.equal(ours.isnan(), theirs.isnan()), name
        worst = max(worst, float((ours - theirs).abs().nan_to_num().max()))
    assert torch.equal(found.hard.cpu(), wanted.hard)
    assert torch.equal(found.converged.cpu(), wanted.converged)
    return worst


def by_loops(samples: np.ndarray, masks: np.ndarray, unbiased: object) -> float:
    def distance(a: np.ndarray, b: np.ndarray) -> float:
        union = (a | b).sum()
        return 0.0 if union == 0 else float(1 - (a & b).sum() / union)

    def mean(some: np.ndarray, others: np.ndarray, pairs: int) -> float:
        return sum(distance(a, b) for a in some for b in others) / pairs

    s, r = len(samples), len(masks)
    among = mean(samples, samples, s * (s - bool(unbiased)))
    return 2 * mean(samples, masks, s * r) - among - mean(masks, masks, r * (r - (unbiased == "both")))


def check_energy() -> str:
    tried, worst = 0, 0.0
    for count, shape, unbiased, some in itertools.product(
        (2, 16, 100), ((2, 33, 17), (2, 96, 96)), (False, "samples", "both"), (False, True)
    ):
        samples, masks = (torch.rand(shape[0], n, *shape[1:], device="cuda") < 0.3 for n in (count, 5))
        samples[0, 0] = masks[0, 0] = False
        there = torch.rand(shape[0], 5, device="cuda") < 0.6 if some else None
        if there is not None:
            there[:, :2] = True
        with torch.autocast("cuda", dtype=torch.bfloat16):
            found = fused(energy_distance)(samples, masks, there, unbiased=unbiased)
            floats = energy_distance(samples, masks, there, unbiased=unbiased)
        for n in range(shape[0]):
            own = masks[n] if there is None else masks[n][there[n]]
            wanted = by_loops(samples[n].cpu().numpy(), own.cpu().numpy(), unbiased)
            worst = max(worst, abs(float(found[n]) - wanted), abs(float(floats[n]) - wanted))
        tried += 1
    assert worst <= 1e-12
    full = torch.ones(1, 1, 4099, 4097, dtype=torch.bool, device="cuda")  # more than 2²⁴, and odd
    for run in (fused(energy_module.intersections), energy_module.intersections):
        for precision in ("highest", "medium"):
            torch.set_float32_matmul_precision(precision)
            assert (run(full.view(torch.uint8), full.view(torch.uint8)) == full.numel()).all(), precision
    torch.set_float32_matmul_precision("highest")
    return f"{tried} ways; largest difference from loops {worst:.1e}"


# -- how long it takes -----------------------------------------------------------------------------


def warm_up(seconds: float = 1.0) -> None:
    """Clocks rise with work. A graph that could not be recorded leaves PyTorch's generator of the device unusable."""
    some = torch.randn(4096, 4096).to("cuda", torch.bfloat16)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for _ in range(20):
            some @ some
        torch.cuda.synchronize()


def between(work: Callable[[], object]) -> float:
    """Milliseconds between two events."""
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    before.record()
    work()
    after.record()
    after.synchronize()
    return float(before.elapsed_time(after))


def spread(times: Sequence[float]) -> Row:
    cuts = statistics.quantiles(times, n=10)
    return {"median": statistics.median(times), "p10": cuts[0], "p90": cuts[-1], "times": len(times)}


def replays(work: Work) -> Callable[[], object]:
    """All inputs in one graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            for n in range(SETS):
                work(n)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for n in range(SETS):
            work(n)
    return graph.replay


def clocked(works: dict[str, Work], times: int = 100, graphs: bool = True) -> dict[str, Row]:
    """Milliseconds of each, in turn, so that a slow spell hits all."""
    found: dict[str, Row] = {name: {} for name in works}
    for work in works.values():
        for n in range(3 * SETS):
            work(n % SETS)
    warm_up()
    alone: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(times):
        for name, work in works.items():
            alone[name].append(between(lambda work=work, turn=turn: work(turn % SETS)))  # type: ignore[misc]
    for name, each in alone.items():
        found[name]["alone"] = spread(each)
    for name, work in works.items():
        queue = [between(lambda work=work: [work(n % SETS) for n in range(5 * SETS)]) for _ in range(20)]  # type: ignore[misc]
        found[name]["queued"] = spread([each / (5 * SETS) for each in queue])
        if not graphs:
            continue
        try:
            replay = replays(work)
        except Exception as error:  # what waits for the device cannot be recorded
            torch.cuda.synchronize()
            found[name]["replayed"] = {"refused": str(error).splitlines()[0][:200]}
            continue
        warm_up(0.3)
        found[name]["replayed"] = spread([between(replay) / SETS for _ in range(times)])
    return found


def kernels(work: Work) -> Row:
    """Microseconds of each kernel of a call."""
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    warm_up(0.3)
    with torch.profiler.profile(activities=kinds) as profile:
        for n in range(5 * SETS):
            work(n % SETS)
        torch.cuda.synchronize()
    found = {}
    for event in profile.key_averages():
        if event.device_type == torch.autograd.DeviceType.CUDA:  # type: ignore[attr-defined]
            found[event.key[:80]] = {
                "us": event.self_device_time_total / (5 * SETS),
                "launches": event.count / (5 * SETS),
            }
    return dict(sorted(found.items(), key=lambda item: -item[1]["us"])[:12])


def stepping(loss: torch.nn.Module, logits: list[Tensor], targets: list[Tensor]) -> Work:
    def work(n: int) -> None:
        logits[n].grad = None
        loss(logits[n], targets[n]).backward()

    return work


def time_losses() -> Row:
    marks = [ragged(IMAGES, RATERS, SIZE, seed).cuda() for seed in range(SETS)]
    logits = [torch.randn(IMAGES, 1, SIZE, SIZE, device="cuda").requires_grad_() for _ in range(SETS)]
    ones = [each[:, :1].float() for each in marks]
    whole = [each.to(torch.uint8) for each in marks]
    loss = ExtendedDiceLoss(check=False)
    works = {
        "Dice of one target, eager": stepping(WrittenDice(), logits, ones),
        "Dice of one target, compiled": stepping(torch.compile(WrittenDice()), logits, ones),  # type: ignore[arg-type]
        "extended Dice, compiled": stepping(torch.compile(ExtendedDiceLoss(check=False)), logits, marks),  # type: ignore[arg-type]
        OLD: stepping(loss, logits, marks),
        NEW: fused(stepping(loss, logits, marks)),
        "new, uint8": fused(stepping(loss, logits, whole)),
        "new, checked": fused(stepping(ExtendedDiceLoss(), logits, marks)),
    }
    found: Row = clocked(works)
    for name, work in works.items():
        found[name]["MB"] = most_memory(lambda work=work: work(0), "cuda", logits[0]) / 1e6  # type: ignore[misc]
        found[name]["kernels"] = kernels(work)
    pixels = logits[0].numel()
    found["bytes"] = pixels * (4 * 3 + RATERS + 2)  # logits twice, gradients; annotations, bits there and back
    return found


def time_labels() -> Row:
    """Four labels, and two labels of which some raters are absent in some pixels."""
    images, channels = 8, 4
    given = [drawn((images, SIZE, SIZE), RATERS, channels).cuda() for _ in range(SETS)]
    logits = [torch.randn(images, channels, SIZE, SIZE, device="cuda").requires_grad_() for _ in range(SETS)]
    loss = ExtendedDiceLoss(check=False)
    marks = [ragged(IMAGES, RATERS, SIZE, seed).cuda() for seed in range(SETS)]
    there = [torch.rand(each.shape, device="cuda") < 0.9 for each in marks]
    single = [torch.randn(IMAGES, 1, SIZE, SIZE, device="cuda").requires_grad_() for _ in range(SETS)]

    def partly(loss: torch.nn.Module) -> Work:
        def work(n: int) -> None:
            single[n].grad = None
            loss(single[n], marks[n], there[n]).backward()

        return work

    return clocked(
        {
            "4 labels, old": stepping(loss, logits, given),
            "4 labels, new": fused(stepping(loss, logits, given)),
            "presence by pixel, old": partly(loss),
            "presence by pixel, new": fused(partly(loss)),
        },
        50,
    )


def sweep_losses() -> Row:
    marks = [ragged(IMAGES, RATERS, SIZE, seed).cuda() for seed in range(SETS)]
    logits = [torch.randn(IMAGES, 1, SIZE, SIZE, device="cuda").requires_grad_() for _ in range(SETS)]
    work, found = fused(stepping(ExtendedDiceLoss(check=False), logits, marks)), {}
    sizes = [(512, 4), (1024, 4), (1024, 8), (2048, 4), (2048, 8), (4096, 8)]
    for (pixels, warps), parts in itertools.product(sizes, (512, 1024, 2048, 4096)):
        with swapped(fused_dice, PIXELS=pixels, WARPS=warps, PARTS=parts):
            replay = replays(work)
            warm_up(0.1)
            row = spread([between(replay) / SETS for _ in range(40)])
            row["kernels"] = {k: v["us"] for k, v in kernels(work).items()} if parts == 1024 else None
            found[f"{pixels} pixels, {warps} warps, {parts} parts"] = row
    return found


def on_cpu(work: Callable[[], object], times: int = 10) -> float:
    """The shortest of several, in milliseconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(1e3 * (time.perf_counter() - start))
    return min(found)


def time_staple() -> Row:
    marks = [ragged(IMAGES, RATERS, SIZE, seed) for seed in range(SETS)]
    there = [each.cuda() for each in marks]
    whole = [each.to(torch.uint8) for each in there]

    def elsewhere(where: str) -> Work:
        def run(n: int) -> object:
            with swapped(staple_module, EM=where):
                return staple(there[n])

        return run

    old: Work = lambda n: staple(there[n])  # noqa: E731
    works = {OLD: old, NEW: fused(old), "new, uint8": fused(lambda n: staple(whole[n]))}
    found: Row = clocked(works)
    found |= clocked({f"EM: {where}": elsewhere(where) for where in ("cpu", "device")}, 20, graphs=False)
    for name in (OLD, NEW):
        found[name]["kernels"] = kernels(works[name])
    steps = [staple(each).iterations for each in there]
    found["iterations"] = {"median": float(torch.cat(steps).median()), "most": [int(each.max()) for each in steps]}
    found["CPU, batch"] = {"ms": on_cpu(lambda: staple(marks[0])), "threads": torch.get_num_threads()}
    torch.set_num_threads(2)
    found["CPU, batch, 2 threads"] = {"ms": on_cpu(lambda: staple(marks[0])), "threads": 2}
    torch.set_num_threads(found["CPU, batch"]["threads"])
    alone = marks[0].numpy().view(np.uint8)
    found["CPU, mt.staple one by one"] = {"ms": on_cpu(lambda: one_by_one(alone), 3)}
    found["bytes"] = there[0].numel() + there[0][:, 0].numel() * (1 + 1 + 4 + 1)  # codes there and back, results
    for cells, pixels, parts in itertools.product((256, 512, 1024), (1024, 2048, 4096), (512, 1024, 2048)):
        if cells != 1024 and (pixels, parts) != (2048, 1024):
            continue
        with swapped(fused_staple, CELLS_PER_WARP=cells, PIXELS=pixels, PARTS=parts):
            each = kernels(works[NEW])
        found[f"sweep: {cells} cells a warp, {pixels} pixels, {parts} parts"] = {k: v["us"] for k, v in each.items()}
    return found


def time_energy() -> Row:
    masks = [ragged(IMAGES, RATERS, SIZE, seed) for seed in range(SETS)]
    samples = [ragged(IMAGES, SAMPLES, SIZE, 100 + seed) for seed in range(SETS)]
    here, there = [each.cuda() for each in masks], [each.cuda() for each in samples]

    def halves(n: int) -> Tensor:
        each = torch.cat([there[n], here[n]], dim=1).flatten(2).half()
        return torch.bmm(each, each.transpose(1, 2), out_dtype=torch.float32)  # type: ignore[call-overload,no-any-return]

    def floats(n: int) -> Tensor:
        each = torch.cat([there[n], here[n]], dim=1).flatten(2).float()
        return each @ each.transpose(1, 2)

    def old(n: int) -> Tensor:
        return energy_distance(there[n], here[n])

    def counts(n: int) -> Tensor:
        return energy_module.intersections(there[n].view(torch.uint8), here[n].view(torch.uint8))

    works: dict[str, Work] = {
        OLD: old,
        NEW: fused(old),
        "counts, old": counts,
        "counts, new": fused(counts),
        "counts, one product of 32-bit floats": floats,
        "counts, one product of 16-bit floats": halves,
    }
    exact = counts(0)
    same = {"32 bits": torch.equal(floats(0).double(), exact)}
    try:
        same["16 bits"] = torch.equal(halves(0).double(), exact)
    except Exception as error:
        same["16 bits"] = str(error)[:200]  # type: ignore[assignment]
        del works["counts, one product of 16-bit floats"]
    found: Row = {"equal": same, **clocked(works, 50)}
    for name in (OLD, NEW):
        found[name]["kernels"] = kernels(works[name])
    for block, programs in itertools.product((128, 256, 512), (264, 528, 1056, 2112)):
        with swapped(fused_energy, BLOCK=block, PROGRAMS=programs):
            replay = replays(works["counts, new"])
            found[f"sweep: {block} pixels, {programs} programs"] = spread([between(replay) / SETS for _ in range(40)])
    found["CPU"] = {"ms": on_cpu(lambda: energy_distance(samples[0], masks[0]), 3)}
    own, raters = samples[0][0].numpy(), masks[0][0].numpy()
    found["CPU, loops in NumPy, one image"] = {"ms": on_cpu(lambda: by_loops(own, raters, False), 2)}
    found["bytes"] = there[0].numel() + here[0].numel()
    return found


def clocks() -> str:
    ask = "clocks.sm,clocks.mem,temperature.gpu,power.draw"
    done = subprocess.run(["nvidia-smi", f"--query-gpu={ask}", "--format=csv,noheader"], capture_output=True, text=True)
    return done.stdout.strip()


def device_facts() -> Row:
    before = clocks()
    warm_up(2)
    own = torch.cuda.get_device_properties(0)
    facts = {"name": own.name, "multiprocessors": own.multi_processor_count, "L2": own.L2_cache_size}
    versions = {"torch": torch.__version__, "python": sys.version.split()[0]}
    return {**facts, **versions, "clocks before": before, "clocks warm": clocks(), "GB/s": copied("cuda") / 1e9}


JOBS: dict[str, Callable[[], Row | str]] = {
    "device": device_facts,
    "losses are right": check_losses,
    "STAPLE is right": check_staple,
    "energy is right": check_energy,
    "losses": time_losses,
    "STAPLE": time_staple,
    "energy": time_energy,
    "labels": time_labels,
    "sweep of losses": sweep_losses,
}


CHECKED = {"losses": "losses are right", "STAPLE": "STAPLE is right", "energy": "energy is right"}
"""Of what is timed, what must be right."""


def decide(found: Row, failed: set[str]) -> Iterator[str]:
    """Of each, whether the new way is right, and how it compares."""
    for name, check in CHECKED.items():
        rows = found.get(name)
        if not isinstance(rows, dict) or check not in found:
            yield f"{name}: not measured or not checked"
            continue
        ratios = {way: rows[NEW][way]["median"] / rows[OLD][way]["median"] for way in ("alone", "queued")}
        times = ", ".join(f"{ratio:.2f} × the time of the old, {way}" for way, ratio in ratios.items())
        right = check not in failed
        use = "stays on" if right and max(ratios.values()) < 1 else "should be off"
        yield f"{name}: {'right' if right else 'WRONG'}, {times}: {use}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--json", type=Path)
    options.add_argument("--alone", choices=list(JOBS), help=argparse.SUPPRESS)
    options.add_argument("--jobs", nargs="*", default=list(JOBS), choices=list(JOBS))
    chosen = options.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no device: PyTorch finds no GPU here; the kernels are checked and timed on one")
    if not can_build():
        sys.exit("no kernels: Triton, or a C compiler for it, is not installed here")
    if chosen.alone:
        torch.manual_seed(0)
        try:
            with use_fused_kernels(False):
                result, wrong = JOBS[chosen.alone](), False
        except Exception:
            result, wrong = traceback.format_exc(), True
        chosen.json.write_text(json.dumps(result, default=str))
        sys.exit(int(wrong))
    found: Row = {}
    failed: set[str] = set()
    alone = [sys.executable, __file__]  # a graph that cannot be recorded spoils what follows in its process
    for name in chosen.jobs:
        start = time.perf_counter()
        with TemporaryDirectory() as folder:
            told = Path(folder) / "found.json"
            failed |= {name} if subprocess.run([*alone, "--alone", name, "--json", told]).returncode else set()
            found[name] = json.loads(told.read_text()) if told.exists() else "ended without a result"
        print(f"== {name}: {time.perf_counter() - start:.0f} s", flush=True)
        print(json.dumps(found[name], indent=1)[:2500], flush=True)
        if chosen.json:
            chosen.json.write_text(json.dumps(found, indent=1) + "\n")
    print(*decide(found, failed), sep="\n")
    sys.exit(int(bool(failed)))


if __name__ == "__main__":
    main()
