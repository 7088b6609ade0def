"""Losses and soft labels on a CPU or GPU: against MONAI's Dice loss, the CPU, and what the memory can move.

``python benchmarks/learning.py --device cuda --json FILE`` runs it by itself, with PyTorch and this package alone.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

if not __package__:
    sys.path.insert(0, str(Path(__file__).parents[1]))

import manytruths as mt
from benchmarks.measuring import Result, at_least, at_most
from manytruths.learning import BatchStaple, ExtendedDiceLoss
from manytruths.learning import staple as batch_staple

IMAGES, RATERS, SIZE = 16, 5, 512
SHAPE = f"({IMAGES}, {RATERS}, {SIZE}, {SIZE})"
LIMIT = 1.3
Work = Callable[[], object]


class WrittenDice(torch.nn.Module):
    """MONAI's formula for one target and a sigmoid, where MONAI is not there."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        chance, axes = torch.sigmoid(input), list(range(2, input.ndim))
        both = (chance * target).sum(axes)
        above, below = 2 * both + 1e-5, chance.sum(axes) + target.sum(axes) + 1e-5
        return (1 - above / below).mean()


def peer() -> tuple[torch.nn.Module, str]:
    try:
        from monai.losses.dice import DiceLoss
    except ImportError:
        return WrittenDice(), "Dice of one target, MONAI's formula"
    return DiceLoss(sigmoid=True), "MONAI's DiceLoss, one target"


def ragged(images: int, raters: int, size: int, seed: int = 0) -> Tensor:
    """(N, R, size, size): discs, marked by raters who err in patches of their own."""
    generator = torch.Generator().manual_seed(seed)
    line = torch.linspace(-1, 1, size)
    radius = (line[:, None] ** 2 + line**2).sqrt()
    noise = torch.randn(images, raters, size // 16, size // 16, generator=generator)
    noise = torch.nn.functional.interpolate(noise, size=(size, size), mode="bilinear", align_corners=True)
    bias = torch.randn(images, raters, 1, 1, generator=generator)
    return radius + 0.08 * noise + 0.03 * bias < 0.5


class Clock:
    """Times of work on a device, in seconds."""

    def __init__(self, device: str) -> None:
        self.cuda = device == "cuda"

    def once(self, work: Work) -> float:
        if not self.cuda:
            start = time.perf_counter()
            work()
            return time.perf_counter() - start
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        work()
        after.record()
        after.synchronize()
        return float(before.elapsed_time(after)) / 1e3

    def times(self, *works: Work, times: int = 30, warm: int = 5) -> list[float]:
        """All in turn, so that a slow spell hits all: medians on a GPU, the shortest on a CPU, which others use too."""
        for work in works * warm:
            work()
        rounds = [[self.once(work) for work in works] for _ in range(times)]
        return [(statistics.median if self.cuda else min)(each) for each in zip(*rounds, strict=True)]


def most_memory(work: Work, device: str, logits: Tensor) -> float:
    """Bytes that work held at once beyond what was there, the gradient of the logits among them."""
    logits.grad = None
    gc.collect()
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        return float(torch.cuda.max_memory_allocated() - before)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        work()
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]  # type: ignore[union-attr]
    held = np.cumsum([e.nbytes() for e in sorted(events, key=lambda e: e.start_ns())])
    return float(max(held.max(initial=0), 0))


def copied(device: str) -> float:
    """Bytes a second that a copy reads and writes."""
    source = torch.ones(1 << (30 if device == "cuda" else 27), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    (seconds,) = Clock(device).times(lambda: target.copy_(source), times=20)
    return 2 * source.numel() / seconds


def losses(device: str = "cpu") -> Iterator[Result]:
    """Extended Dice of five raters beside Dice of one."""
    speed, clock = copied(device), Clock(device)
    marks = ragged(IMAGES, RATERS, SIZE).to(device)
    logits = torch.randn(IMAGES, 1, SIZE, SIZE, device=device).requires_grad_()
    dice, name = peer()
    one = marks[:, :1].float()

    def descend(loss: torch.nn.Module, target: Tensor) -> Work:
        def work() -> None:
            logits.grad = None
            loss(logits, target).backward()

        return work

    agreed = one.bool().expand(-1, RATERS, -1, -1)
    assert abs(ExtendedDiceLoss()(logits, agreed) - dice(logits, one)).item() < 1e-5, "the losses differ"
    for kind in (torch.bool, torch.uint8):
        target = marks.to(kind)
        ours, theirs = descend(ExtendedDiceLoss(check=False), target), descend(dice, one)
        quick, slow = clock.times(ours, theirs, times=60)
        must = logits.numel() * 4 * 3 + 2 * marks.numel()  # logits twice, their gradient; annotations there and back
        least = f"{must / 1e6:.0f} MB over {speed / 1e9:.0f} GB/s = {must / speed * 1e3:.3f} ms"
        times = f"{quick * 1e3:.3f} ms, peer {slow * 1e3:.3f} ms; {least}"
        job = f"{device}: extended Dice {SHAPE} {str(kind)[6:]}"
        yield at_most(f"{job}, time", name, quick / slow, LIMIT, times)
        held, peers = (most_memory(work, device, logits) for work in (ours, theirs))
        yield at_most(f"{job}, memory", name, held / peers, LIMIT, f"{held / 1e6:.1f} MB, peer {peers / 1e6:.1f} MB")


def one_by_one(marks: np.ndarray) -> np.ndarray:
    """What the library makes of each image."""
    found = []
    for own in marks:
        masks = list(own)
        found.append(mt.paint(mt.staple(mt.tally(masks)).probability, masks))
    return np.stack(found)


def staples(device: str = "cpu") -> Iterator[Result]:
    """STAPLE of a batch, with EM here and there."""
    import manytruths.learning.batch_staple as module

    speed, marks = copied(device), ragged(IMAGES, RATERS, SIZE)
    there, bytes_there = marks.to(device), marks.numpy().view(np.uint8)
    wanted = one_by_one(bytes_there)

    def run(values: Tensor, where: str = "cpu") -> BatchStaple:
        usual, module.EM = module.EM, where
        try:
            return batch_staple(values)
        finally:
            module.EM = usual

    found = run(there)
    assert np.abs(found.probability.cpu().numpy() - wanted).max() <= 1e-6, "the maps differ"
    steps = found.iterations
    words = f"{int(steps.float().median())} iterations (median), {int(steps.max())} at most"
    (alone,) = Clock("cpu").times(lambda: one_by_one(bytes_there), times=3, warm=1)
    (cpu,) = Clock("cpu").times(lambda: run(marks), times=10)
    job = f"batched STAPLE {SHAPE}"
    times = f"{cpu * 1e3:.1f} ms, {alone * 1e3:.1f} ms; {words}"
    yield at_least(f"cpu: {job}", "manytruths.staple one by one", alone / cpu, 1, times)
    if device == "cpu":
        return
    must = 2 * marks.numel() + 3 * marks[:, 0].numel() * 4  # annotations, codes there and back, probabilities
    least = f"{must / 1e6:.0f} MB over {speed / 1e9:.0f} GB/s = {must / speed * 1e3:.3f} ms"
    for where in ("cpu", "device", "kernel"):
        other = run(there, where).probability
        assert np.abs(other.cpu().numpy() - wanted).max() <= 1e-6, "the maps differ"
        (seconds,) = Clock(device).times(lambda where=where: run(there, where), times=20)
        times = f"{seconds * 1e3:.2f} ms, CPU {cpu * 1e3:.1f} ms; {least}; {words}"
        yield at_least(f"{device}: {job}, EM: {where}", "the same on the CPU", cpu / seconds, 20, times)


def device_here() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


JOBS: dict[str, Callable[[], Iterator[Result]]] = {
    "losses": lambda: losses(device_here()),
    "batch_staples": lambda: staples(device_here()),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--device", default=device_here(), choices=("cpu", "cuda"))
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    what = torch.cuda.get_device_name() if chosen.device == "cuda" else f"{torch.get_num_threads()} threads"
    results = []
    for result in chain(losses(chosen.device), staples(chosen.device)):
        print(result, flush=True)
        results.append(asdict(result))
        if chosen.json:  # after each, so that a later one that fails takes nothing along
            whole = {"torch": torch.__version__, "device": what, "results": results}
            chosen.json.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
