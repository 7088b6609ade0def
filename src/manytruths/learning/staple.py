"""STAPLE on the device: every image of a batch by itself, equal to :func:`manytruths.staple` of its tally.

Pixels become codes of patterns, codes are counted, EM runs on the small tables, and probabilities are looked up: all
that is done pixel by pixel are a few passes over bytes. EM itself works on some hundreds of numbers. A GPU would spend
its time starting kernels, so it is done in one kernel of its own, or on the CPU, for one small copy each way (``EM``).

Warfield SK, Zou KH, Wells WM. Simultaneous truth and performance level estimation (STAPLE). IEEE Trans Med Imaging
2004;23:903–921. doi:10.1109/TMI.2004.828354
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from ..core.errors import CallError
from ..fusion.staple import TIE
from .annotations import fit_each_other, labels_in_order, spread
from .fused_em import fits, fitted_at_once
from .pattern_codes import Coded, coded
from .table_em import Fitted, Tables, fitted

EM: Literal["cpu", "kernel", "device"] = "kernel"
"""Where tables of pixels on a GPU are worked on: in one kernel where there is one that takes them and on the CPU where
not, always on the CPU, or step by step on the GPU. 16 images of 512² and 5 raters took an H200 2.9, 12 and 21 ms."""

Prior = Literal["prevalence", "marked", "estimated"] | float | Sequence[float]


@dataclass(frozen=True)
class BatchStaple:
    """What STAPLE found, image by image."""

    probability: Tensor
    """(N, *spatial) of two labels, else (N, labels, *spatial), in 32 bits: W, and the prior where nobody rated."""
    hard: Tensor
    """(N, *spatial): whether W > ½, or the most likely label; ties are background or the lower label."""
    confusion: Tensor
    """(N, R, truth, given) in 64 bits; nan where it cannot be told."""
    sensitivity: Tensor
    """(N, R); of more than two labels (N, R, labels)."""
    specificity: Tensor
    """(N, R); of more than two labels (N, R, labels), as :class:`manytruths.Staple` has it."""
    iterations: Tensor
    """(N): how many times both steps were done; 0 where there was nothing to estimate."""
    converged: Tensor
    """(N): whether it ended before the most iterations allowed."""


@torch.no_grad()
def staple(
    annotations: Tensor,
    present: Tensor | None = None,
    labels: int = 2,
    prior: Prior = "prevalence",
    tolerance: float = 1e-7,
    most: int = 1000,
) -> BatchStaple:
    """The hidden truth behind annotations (N, R, *spatial), and the raters' rates, of each image.

    Parameters
    ----------
    present
        Who rated: (N, R), or (N, R, *spatial).
    labels
        How many there are.
    prior, tolerance, most
        As for :func:`manytruths.staple`.

    >>> import torch
    >>> found = staple(torch.tensor([[[[1, 1, 0, 0, 0, 0]], [[1, 1, 0, 0, 0, 0]], [[1, 0, 1, 0, 0, 0]]]]))
    >>> found.hard.int(), found.sensitivity.numpy().round(2)
    (tensor([[[1, 1, 0, 0, 0, 0]]], dtype=torch.int32), array([[1. , 1. , 0.5]]))
    """
    fit_each_other(annotations, present)
    _callable(labels, most)
    labels_in_order(annotations, present, labels)
    table = coded(annotations, present, labels)
    heard = present if present is not None and present.ndim == 2 else None
    how = (prior, tolerance, most)
    if annotations.is_cuda and EM == "kernel" and fits(len(table.rows), annotations.shape[1], labels):
        fit = _fitted(fitted_at_once, Tables.of(table.rows, table.counts, heard, labels), *how)
    else:
        fit = _fitted_of_used(table, heard, labels, *how)
    return _found(annotations, present, table, fit)


def _fitted_of_used(
    table: Coded, heard: Tensor | None, labels: int, prior: Prior, tolerance: float, most: int
) -> Fitted:
    """Of the patterns that occur, on the CPU or step by step."""
    device = table.rows.device if EM == "device" else torch.device("cpu")
    rows, counts = table.rows.to(device), table.counts.to(device)
    used = counts.any(dim=0).nonzero()[:, 0]
    tables = Tables.of(rows[used], counts[:, used], None if heard is None else heard.to(device), labels)
    fit = _fitted(fitted, tables, prior, tolerance, most)
    weight = fit.weight.new_zeros(len(rows), labels, counts.shape[0])
    weight[used] = fit.weight
    return replace(fit, weight=weight)


def _fitted(run: Callable[..., Fitted], tables: Tables, prior: Prior, tolerance: float, most: int) -> Fitted:
    return _settled(tables, run(tables, _start(tables, prior), prior == "estimated", tolerance, most))


def staple_hard(annotations: Tensor, present: Tensor | None = None, labels: int = 2) -> Tensor:
    """(N, *spatial): STAPLE's mask, whether each pixel is true, or its most likely label."""
    return staple(annotations, present, labels).hard


_operator = torch.library.custom_op(
    "manytruths::staple_hard",
    staple_hard,
    mutates_args=(),
    schema="(Tensor annotations, Tensor? present, int labels) -> Tensor",
)


@_operator.register_fake
def _shape_of_mask(annotations: Tensor, present: Tensor | None, labels: int) -> Tensor:
    kind = torch.bool if labels == 2 else torch.uint8
    return annotations.new_empty((annotations.shape[0], *annotations.shape[2:]), dtype=kind)


def staple_mask(annotations: Tensor, present: Tensor | None = None, labels: int = 2) -> Tensor:
    """STAPLE's mask as one operation: a loop that ends when it likes cannot be compiled, and need not be."""
    mask: Tensor = _operator(annotations, present, labels)
    return mask


def _callable(labels: int, most: int) -> None:
    if not 2 <= labels <= 256:
        raise CallError(f"STAPLE takes 2 to 256 labels; got {labels!r}")
    if most < 1:
        raise CallError(f"most is at least one iteration; got {most!r}")


def _start(tables: Tables, prior: Prior) -> Tensor:
    """(labels, N): π at the first step."""
    if not isinstance(prior, str):
        return _given(tables, prior)
    if prior not in ("prevalence", "marked", "estimated"):
        raise CallError(f"prior is 'prevalence', 'marked', 'estimated', a number, or one a label; got {prior!r}")
    mean = tables.given(tables.share) / tables.counts.sum(dim=0)
    return _marked(tables, mean) if prior == "marked" else mean


def _given(tables: Tables, prior: float | Sequence[float]) -> Tensor:
    each = torch.as_tensor(prior, dtype=torch.float64, device=tables.counts.device).reshape(-1)
    if len(each) == 1 and tables.labels == 2:
        each = torch.stack([1 - each[0], each[0]])
    if len(each) != tables.labels or not bool((each > 0).all()) or abs(float(each.sum()) - 1) > 1e-6:
        raise CallError(f"a prior is one number a label ({tables.labels}), each above 0, with the sum 1; got {prior!r}")
    return each[:, None].expand(-1, tables.counts.shape[1])


def _marked(tables: Tables, mean: Tensor) -> Tensor:
    """Background gets what nobody marked; the marks share the rest as they share the votes."""
    anybody = (tables.share[:, 1:] > 0).any(dim=1).double()
    share = (tables.counts * anybody).sum(dim=0) / tables.counts.sum(dim=0)
    if bool((share == 1).any()):
        image = int((share == 1).nonzero()[0])
        raise CallError(
            f"image {image}: every pixel is marked by somebody, so that the prior 'marked' is 1; take another"
        )
    marks = mean[1:]
    return torch.cat([(1 - share)[None], share * marks / marks.sum(dim=0)])


def _settled(tables: Tables, fit: Fitted) -> Fitted:
    """Where one label is all that was given, it is certain, and the rates cannot be told."""
    given = tables.given(tables.share)
    alone = (given > 0).sum(dim=0) < 2
    sure = torch.nn.functional.one_hot(given.argmax(dim=0), tables.labels).double().T
    return Fitted(
        torch.where(alone, sure, fit.weight),
        fit.confusion.masked_fill(alone[:, None, None, None], torch.nan),
        torch.where(alone, sure, fit.prior),
        fit.iterations.masked_fill(alone, 0),
        fit.converged | alone,
    )


def _found(target: Tensor, present: Tensor | None, table: Coded, fit: Fitted) -> BatchStaple:
    """Every pixel looked up."""
    weight, labels, device = fit.weight, fit.weight.shape[1], target.device
    top = weight >= weight.amax(dim=1, keepdim=True) - 2 * TIE
    code = top.to(torch.uint8).argmax(dim=1).to(torch.bool if labels == 2 else torch.uint8)
    hard = _looked_up(code, table, target)
    if present is not None:
        hard = torch.where(spread(present, target).any(dim=1), hard, 0).to(hard.dtype)
    chance = [_looked_up(weight[:, k].float(), table, target) for k in ([1] if labels == 2 else range(labels))]
    own = fit.confusion.diagonal(dim1=2, dim2=3)
    return BatchStaple(
        probability=chance[0] if labels == 2 else torch.stack(chance, dim=1),
        hard=hard,
        confusion=fit.confusion.to(device),
        sensitivity=(own[..., 1] if labels == 2 else own).to(device),
        specificity=_specificity(fit).to(device),
        iterations=fit.iterations.to(device),
        converged=fit.converged.to(device),
    )


def _looked_up(values: Tensor, table: Coded, target: Tensor) -> Tensor:
    """From (patterns, N) to (N, *spatial)."""
    flat = values.T.contiguous().to(target.device).flatten()
    return flat.index_select(0, table.place).view(target.shape[0], *target.shape[2:])


def _specificity(fit: Fitted) -> Tensor:
    """(N, R), or (N, R, labels): how often a rater does not give a label to pixels of the others."""
    labels = len(fit.prior)
    if labels == 2:
        return fit.confusion[..., 0, 0]
    others = fit.prior.T[:, None] * (1 - torch.eye(labels, dtype=torch.float64, device=fit.prior.device))
    given = torch.where(fit.prior.T[:, None, :, None] > 0, fit.confusion, 0.0)
    return 1 - torch.einsum("nlk,nrkl->nrl", others, given) / others.sum(dim=2)[:, None]
