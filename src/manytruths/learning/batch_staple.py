"""STAPLE on the device for batches: every image separately, with the result of :func:`manytruths.staple` of its tally.

Pixels become codes of patterns, codes are counted, EM runs on the small tables, and probabilities are looked up by
code: only a few passes over bytes are done per pixel. A pixel's code has one digit for each rater: the label they gave,
or one more for pixels they did not rate. Raters who are absent from whole images need no digit of their own. If there
are few possible codes, all are counted; otherwise only those that occur. EM itself works on some hundreds of numbers,
for which a GPU would spend its time launching kernels; so it runs in one kernel of its own, or on the CPU, with one
small copy each way (``EM``).

Warfield SK, Zou KH, Wells WM. Simultaneous truth and performance level estimation (STAPLE). IEEE Trans Med Imaging
2004;23:903–921. doi:10.1109/TMI.2004.828354
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor

from ..core.errors import CallError
from ..fusion.staple import TIE
from .annotations import check_annotations, check_labels, expand_presence
from .staple_em import TableFit, Tables, fit_in_kernel, fit_step_by_step, kernel_fits

EM: Literal["cpu", "kernel", "device"] = "kernel"
"""Where EM runs for pixels on a GPU: in one kernel if the tables fit, otherwise on the CPU; always on the CPU; or step
by step on the GPU. 16 images of 512² and 5 raters took 2.9, 12 and 21 ms on an H200."""

Prior = Literal["prevalence", "marked", "estimated"] | float | Sequence[float]


@dataclass(frozen=True)
class BatchStaple:
    """Result of :func:`staple`, for each image of a batch."""

    probability: Tensor
    """(N, *spatial) of two labels, else (N, labels, *spatial), in float32: W, and the prior where nobody rated."""
    hard: Tensor
    """(N, *spatial): W > ½, or the most probable label; ties go to background or the lower label."""
    confusion: Tensor
    """(N, R, true label, given label) in float64; nan where it cannot be estimated."""
    sensitivity: Tensor
    """(N, R); of more than two labels (N, R, labels)."""
    specificity: Tensor
    """(N, R); of more than two labels (N, R, labels), as :class:`manytruths.Staple` has it."""
    iterations: Tensor
    """(N): number of EM iterations; 0 where there was nothing to estimate."""
    converged: Tensor
    """(N): whether EM converged within ``max_iter`` iterations."""


@torch.no_grad()
def staple(
    annotations: Tensor,
    present: Tensor | None = None,
    labels: int = 2,
    prior: Prior = "prevalence",
    tol: float = 1e-7,
    max_iter: int = 1000,
) -> BatchStaple:
    """Estimate the hidden reference standard and each rater's performance by STAPLE, for each image separately.

    Parameters
    ----------
    annotations : Tensor
        Labels or booleans (N, R, *spatial) of R raters.
    present : Tensor, optional
        Booleans (N, R) or (N, R, *spatial): who rated each image or pixel. By default everybody rated everything.
    labels : int
        Number of labels, background included.
    prior : {"prevalence", "marked", "estimated"} or float or sequence of float
        Prior probability of the labels, as for :func:`manytruths.staple`.
    tol : float
        EM stops when no rate changes by more than this.
    max_iter : int
        Maximum number of EM iterations.

    Returns
    -------
    BatchStaple

    References
    ----------
    Warfield SK, Zou KH, Wells WM. Simultaneous truth and performance level estimation (STAPLE). IEEE Trans Med Imaging
    2004;23:903–921. doi:10.1109/TMI.2004.828354

    Examples
    --------
    >>> import torch
    >>> result = staple(torch.tensor([[[[1, 1, 0, 0, 0, 0]], [[1, 1, 0, 0, 0, 0]], [[1, 0, 1, 0, 0, 0]]]]))
    >>> result.hard.int(), result.sensitivity.numpy().round(2)
    (tensor([[[1, 1, 0, 0, 0, 0]]], dtype=torch.int32), array([[1. , 1. , 0.5]]))
    """
    check_annotations(annotations, present)
    if not 2 <= labels <= 256:
        raise CallError(f"labels must be from 2 to 256; got {labels!r}")
    if max_iter < 1:
        raise CallError(f"max_iter must be 1 or more; got {max_iter!r}")
    check_labels(annotations, present, labels)
    table = code_pixels(annotations, present, labels)
    heard = present if present is not None and present.ndim == 2 else None
    how = (prior, tol, max_iter)
    if annotations.is_cuda and EM == "kernel" and kernel_fits(len(table.rows), annotations.shape[1], labels):
        fit = _fit(fit_in_kernel, Tables.of(table.rows, table.counts, heard, labels), *how)
    else:
        fit = _fit_occurring(table, heard, labels, *how)
    return _result(annotations, present, table, fit)


def _fit_occurring(
    table: Patterns, heard: Tensor | None, labels: int, prior: Prior, tol: float, max_iter: int
) -> TableFit:
    """EM over the patterns that occur, on the CPU or step by step on the device."""
    device = table.rows.device if EM == "device" else torch.device("cpu")
    rows, counts = table.rows.to(device), table.counts.to(device)
    used = counts.any(dim=0).nonzero()[:, 0]
    tables = Tables.of(rows[used], counts[:, used], None if heard is None else heard.to(device), labels)
    fit = _fit(fit_step_by_step, tables, prior, tol, max_iter)
    weight = fit.weight.new_zeros(len(rows), labels, counts.shape[0])
    weight[used] = fit.weight
    return replace(fit, weight=weight)


def _fit(run: Callable[..., TableFit], tables: Tables, prior: Prior, tol: float, max_iter: int) -> TableFit:
    return _settle(tables, run(tables, _first_prior(tables, prior), prior == "estimated", tol, max_iter))


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
    """STAPLE's mask as one operation, since a loop of unknown length cannot be compiled."""
    mask: Tensor = _operator(annotations, present, labels)
    return mask


def _first_prior(tables: Tables, prior: Prior) -> Tensor:
    """(labels, N): the prior of the first step."""
    if not isinstance(prior, str):
        return _given_prior(tables, prior)
    if prior not in ("prevalence", "marked", "estimated"):
        raise CallError(
            f"prior must be 'prevalence', 'marked', 'estimated', a number, or one number for each label; got {prior!r}"
        )
    mean = tables.given(tables.share) / tables.counts.sum(dim=0)
    return _marked_prior(tables, mean) if prior == "marked" else mean


def _given_prior(tables: Tables, prior: float | Sequence[float]) -> Tensor:
    each = torch.as_tensor(prior, dtype=torch.float64, device=tables.counts.device).reshape(-1)
    if len(each) == 1 and tables.labels == 2:
        each = torch.stack([1 - each[0], each[0]])
    if len(each) != tables.labels or not bool((each > 0).all()) or abs(float(each.sum()) - 1) > 1e-6:
        raise CallError(
            f"prior must have one number for each of {tables.labels} labels, all above 0, with the sum 1; got {prior!r}"
        )
    return each[:, None].expand(-1, tables.counts.shape[1])


def _marked_prior(tables: Tables, mean: Tensor) -> Tensor:
    """Background gets the share of unmarked pixels; the other labels share the rest in proportion to their votes."""
    anybody = (tables.share[:, 1:] > 0).any(dim=1).double()
    share = (tables.counts * anybody).sum(dim=0) / tables.counts.sum(dim=0)
    if bool((share == 1).any()):
        image = int((share == 1).nonzero()[0])
        raise CallError(
            f"image {image}: every pixel is marked by at least one rater, so the prior 'marked' would be 1; use another"
        )
    marks = mean[1:]
    return torch.cat([(1 - share)[None], share * marks / marks.sum(dim=0)])


def _settle(tables: Tables, fit: TableFit) -> TableFit:
    """Where only one label was given, it is certain, and the rates cannot be estimated."""
    given = tables.given(tables.share)
    alone = (given > 0).sum(dim=0) < 2
    sure = torch.nn.functional.one_hot(given.argmax(dim=0), tables.labels).double().T
    return TableFit(
        torch.where(alone, sure, fit.weight),
        fit.confusion.masked_fill(alone[:, None, None, None], torch.nan),
        torch.where(alone, sure, fit.prior),
        fit.iterations.masked_fill(alone, 0),
        fit.converged | alone,
    )


def _result(target: Tensor, present: Tensor | None, table: Patterns, fit: TableFit) -> BatchStaple:
    """Look up the result of every pixel."""
    weight, labels, device = fit.weight, fit.weight.shape[1], target.device
    top = weight >= weight.amax(dim=1, keepdim=True) - 2 * TIE
    code = top.to(torch.uint8).argmax(dim=1).to(torch.bool if labels == 2 else torch.uint8)
    hard = _look_up(code, table, target)
    if present is not None:
        hard = torch.where(expand_presence(present, target).any(dim=1), hard, 0).to(hard.dtype)
    probability = [_look_up(weight[:, k].float(), table, target) for k in ([1] if labels == 2 else range(labels))]
    own = fit.confusion.diagonal(dim1=2, dim2=3)
    return BatchStaple(
        probability=probability[0] if labels == 2 else torch.stack(probability, dim=1),
        hard=hard,
        confusion=fit.confusion.to(device),
        sensitivity=(own[..., 1] if labels == 2 else own).to(device),
        specificity=_specificity(fit).to(device),
        iterations=fit.iterations.to(device),
        converged=fit.converged.to(device),
    )


def _look_up(values: Tensor, table: Patterns, target: Tensor) -> Tensor:
    """From (patterns, N) to (N, *spatial)."""
    flat = values.T.contiguous().to(target.device).flatten()
    return flat.index_select(0, table.place).view(target.shape[0], *target.shape[2:])


def _specificity(fit: TableFit) -> Tensor:
    """(N, R), or (N, R, labels): the rate at which a rater does not give a label to pixels of other labels."""
    labels = len(fit.prior)
    if labels == 2:
        return fit.confusion[..., 0, 0]
    others = fit.prior.T[:, None] * (1 - torch.eye(labels, dtype=torch.float64, device=fit.prior.device))
    given = torch.where(fit.prior.T[:, None, :, None] > 0, fit.confusion, 0.0)
    return 1 - torch.einsum("nlk,nrkl->nrl", others, given) / others.sum(dim=2)[:, None]


# -- patterns of decisions -------------------------------------------------------------------------

MAX_CODES = 1 << 16
"""With more possible codes than this, only those that occur are counted."""
MAX_CODE = 1 << 62
"""Codes stay below this."""


@dataclass(frozen=True)
class Patterns:
    """The patterns of decisions of a batch, and where they are."""

    place: Tensor
    """(N × pixels): position of a pixel's image and pattern in a table (N, patterns)."""
    rows: Tensor
    """(patterns, R): the label that each rater gave, or the number of labels where they did not rate."""
    counts: Tensor
    """(N, patterns): number of pixels."""


def code_pixels(target: Tensor, present: Tensor | None, labels: int) -> Patterns:
    """The patterns of annotations (N, R, *spatial); a rater who is absent from an image counts as having given 0."""
    by_pixel = present is not None and present.ndim > 2
    base = labels + by_pixel
    if base ** target.shape[1] <= MAX_CODES:
        code = _codes(target, present, labels, base)
        rows = _rows_of_codes(base, target.shape[1], target.device)
    else:
        code, rows = _codes_in_use(target, present, labels, base)
    place = _table_places(code, len(rows))
    counts = torch.bincount(place, minlength=len(code) * len(rows))
    return Patterns(place, rows, counts.view(len(code), len(rows)))


def _digit(target: Tensor, present: Tensor | None, rater: int, labels: int, kind: torch.dtype) -> Tensor:
    """(N, pixels): the decisions of one rater."""
    own = target[:, rater].flatten(1)
    if own.dtype == torch.bool:
        own = own.view(torch.uint8)
    if present is not None:
        own = torch.where(expand_presence(present, target)[:, rater].flatten(1), own, labels if present.ndim > 2 else 0)
    return own.to(kind)


def _codes(target: Tensor, present: Tensor | None, labels: int, base: int) -> Tensor:
    """Codes in the smallest type that holds them."""
    size = base ** target.shape[1]
    kind = torch.uint8 if size <= 256 else torch.int32
    code = _digit(target, present, 0, labels, kind)
    for rater in range(1, target.shape[1]):
        code = torch.add(_digit(target, present, rater, labels, kind), code, alpha=base)
    return code


@lru_cache(maxsize=16)
def _rows_of_codes(base: int, raters: int, device: torch.device) -> Tensor:
    """(base ** raters, R): the digits of every code."""
    places = torch.tensor([base**r for r in reversed(range(raters))], device=device)
    return torch.arange(base**raters, device=device)[:, None] // places % base


def _codes_in_use(target: Tensor, present: Tensor | None, labels: int, base: int) -> tuple[Tensor, Tensor]:
    """The codes that occur, numbered in order, and one row for each, taken from any of its pixels."""
    raters = range(target.shape[1])
    code, size = _digit(target, present, 0, labels, torch.int64), base
    for rater in raters[1:]:
        if size > MAX_CODE // base:  # few codes occur
            code = torch.unique(code, return_inverse=True)[1]
            size = int(code.max()) + 1
        code = torch.add(_digit(target, present, rater, labels, torch.int64), code, alpha=base)
        size *= base
    kinds, code = torch.unique(code, return_inverse=True)
    pixel = torch.empty(len(kinds), dtype=torch.int64, device=code.device)
    pixel.scatter_(0, code.flatten(), torch.arange(code.numel(), device=code.device))
    digits = [_digit(target, present, r, labels, torch.int64).flatten()[pixel] for r in raters]
    return code, torch.stack(digits, dim=1)


def _table_places(code: Tensor, size: int) -> Tensor:
    """Codes as positions in a table (N, patterns)."""
    kind = torch.int32 if len(code) * size < 1 << 31 else torch.int64
    first = torch.arange(len(code), dtype=kind, device=code.device)[:, None] * size
    return (code + first).flatten()
