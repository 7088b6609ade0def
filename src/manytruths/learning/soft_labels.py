"""Votes on the device: what shares of the raters gave each label, and the truths made of them, for whole batches.

With m the raters who rated a pixel and A those who gave it a label, the share is A / m, and 0 where nobody rated. The
hard truths are those of :mod:`manytruths.fusion`; what nobody rated is background.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .annotations import fit_each_other, given, in_bytes, inner_and_outer, spread


def vote_share(annotations: Tensor, present: Tensor | None = None, labels: int = 2) -> Tensor:
    """(N, *spatial): the share of the raters who marked a pixel; of each of more than two labels (N, labels, *spatial).

    >>> import torch
    >>> vote_share(torch.tensor([[[[1, 1, 0]], [[1, 0, 0]]]]))
    tensor([[[1.0000, 0.5000, 0.0000]]])
    """
    fit_each_other(annotations, present)
    there = raters_there(annotations, present).clamp(min=1).float()
    if labels == 2:
        return votes(annotations, present, 1) / there
    return torch.stack([votes(annotations, present, k, labels) / there for k in range(labels)], dim=1)


def majority(annotations: Tensor, present: Tensor | None = None, labels: int = 2) -> Tensor:
    """(N, *spatial): what at least half of the raters marked, as ``vote:0.5``: a tie is marked.

    Of more than two labels the one that most gave, and the lower one of those given equally often, as
    :func:`manytruths.plurality` has it.
    """
    fit_each_other(annotations, present)
    if labels > 2:
        return _most_frequent(annotations, present, labels, 0)
    marked = votes(annotations, present, 1)
    return (2 * marked >= raters_there(annotations, present)) & (marked > 0)


def inner(annotations: Tensor, present: Tensor | None = None, labels: int = 2) -> Tensor:
    """(N, *spatial): what all raters marked; of more than two labels the one that all gave, or else background."""
    fit_each_other(annotations, present)
    if labels == 2:
        return inner_and_outer(annotations, present, 1)[0].bool()
    marks = [inner_and_outer(annotations, present, k, labels)[0].to(_code(labels)) * k for k in range(1, labels)]
    return torch.stack(marks).sum(dim=0, dtype=_code(labels))


def outer(annotations: Tensor, present: Tensor | None = None, labels: int = 2) -> Tensor:
    """(N, *spatial): what any rater marked; of more than two labels the mark that most gave, the lower one if tied."""
    fit_each_other(annotations, present)
    if labels == 2:
        return inner_and_outer(annotations, present, 1)[1].bool()
    return _most_frequent(annotations, present, labels, 1)


def _most_frequent(target: Tensor, present: Tensor | None, labels: int, first: int) -> Tensor:
    """Of the labels from the first on; background where none of them was given."""
    most = votes(target, present, first, labels)
    code = (most > 0).to(_code(labels)) * first
    for label in range(first + 1, labels):
        here = votes(target, present, label, labels)
        code = torch.where(here > most, label, code)
        most = torch.maximum(most, here)
    return code


def votes(target: Tensor, present: Tensor | None, label: int, labels: int = 2) -> Tensor:
    """(N, *spatial): how many raters gave the label."""
    chosen = given(target, label, labels)
    if present is not None:
        chosen = chosen & in_bytes(spread(present, target))
    return chosen.sum(dim=1, dtype=_number(target))


def raters_there(target: Tensor, present: Tensor | None) -> Tensor:
    """(N, *spatial) or (N, 1, …): how many raters rated."""
    if present is None:
        return torch.full((1,) * (target.ndim - 1), target.shape[1], dtype=_number(target), device=target.device)
    return spread(present, target).sum(dim=1, dtype=_number(target))


def _number(target: Tensor) -> torch.dtype:
    """Of raters, twice which must fit: bytes are quickest."""
    return torch.uint8 if target.shape[1] < 128 else torch.int32


def _code(labels: int) -> torch.dtype:
    return torch.uint8 if labels <= 256 else torch.int32
