"""Steps that a GPU repeats by itself.

A step on a small network is some hundreds of small kernels, and telling the GPU to start them takes longer than they
do. So the first steps are done as usual, one is recorded (a CUDA graph), and the rest are replays of the record: the
same kernels on the same memory, into which only the rows of the batch and what was drawn for them are copied.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Step = Callable[[Tensor, Tensor], Tensor]
"""The rows of a batch, and what was drawn for each, to its loss."""

FIRST = 3
"""Steps before the record: libraries choose their kernels in them, and the optimiser makes its memory."""


class Recorded:
    """A step that is recorded once it has warmed up; batches of another size are done as usual."""

    def __init__(self, step: Step, batch: int, device: torch.device) -> None:
        self.step, self.batch = step, batch
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.rows = torch.zeros(batch, dtype=torch.long, device=device)
        self.drawn = torch.zeros(batch, 5, device=device)
        self.done = 0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.loss = torch.zeros((), device=device)

    def __call__(self, rows: Tensor, drawn: Tensor) -> Tensor:
        """Do the step."""
        if len(rows) != self.batch:
            return self.step(rows, drawn)
        if self.done < FIRST:
            return self._aside(rows, drawn)
        if self.graph is None:
            self._record()
        assert self.graph is not None
        self.rows.copy_(rows)
        self.drawn.copy_(drawn)
        self.graph.replay()
        return self.loss.clone()

    def _aside(self, rows: Tensor, drawn: Tensor) -> Tensor:
        """As usual, but on another stream, as recording wants it."""
        self.done += 1
        here = torch.cuda.current_stream()
        self.stream.wait_stream(here)
        with torch.cuda.stream(self.stream):
            loss = self.step(rows, drawn)
        here.wait_stream(self.stream)
        return loss

    def _record(self) -> None:
        """Nothing is computed yet."""
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.step(self.rows, self.drawn)
