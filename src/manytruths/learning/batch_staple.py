"""STAPLE on the device for batches: every image separately, with the result of :func:`manytruths.staple` of its tally.

Pixels become codes of patterns, codes are counted, EM runs on the small tables, and probabilities are looked up by
code: only a few passes over bytes are done per pixel. A pixel's code has one digit for each rater: the label they gave,
or one more for pixels they did not rate. Raters who are absent from whole images need no digit of their own. If there
are few possible codes, all are counted; otherwise only those that occur. EM itself works on some hundreds of numbers,
for which a GPU would spend its time launching kernels; so it runs in one kernel of its own, or on the CPU, with one
small copy each way (``EM``). Its steps are those of :mod:`manytruths.fusion.em`, for many small tables at once.

**Step by step.** Tables are columns over the patterns that they share, so that each step is one small matrix product.
The rates of several iterations are stored before convergence is checked: each table ends at its own iteration, as if it
were alone, but the device is synchronised only once in a while.

**In one kernel**, on a GPU: one program for each image, which ends when its own rates converge. Step by step, every
iteration is several kernel launches, each of which takes longer than its computation; here there is one launch. Needs
Triton, which comes with PyTorch for GPUs. :mod:`.fused.staple` also counts and looks up in kernels, where that is asked
for.

Warfield SK, Zou KH, Wells WM. Simultaneous truth and performance level estimation (STAPLE). IEEE Trans Med Imaging
2004;23:903–921. doi:10.1109/TMI.2004.828354
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import torch
from torch import Tensor

from ..core.errors import CallError
from ..fusion.staple import TIE
from .annotations import check_annotations, check_labels, expand_presence
from .fused import staple as fused
from .kernels import can_build, compiled, next_power, tl

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
    first = _check_prior(prior, labels)
    if EM == "kernel" and fused.fits(annotations, present, labels):
        return _fused_result(fused.fit_in_kernels(annotations, present, labels, first, float(tol), max_iter), prior)
    table = code_pixels(annotations, present, labels)
    heard = present if present is not None and present.ndim == 2 else None
    how = (first, tol, max_iter)
    if annotations.is_cuda and EM == "kernel" and kernel_fits(len(table.rows), annotations.shape[1], labels):
        fit = _fit(fit_in_kernel, Tables.of(table.rows, table.counts, heard, labels), *how)
    else:
        fit = _fit_occurring(table, heard, labels, *how)
    return _result(annotations, present, table, fit)


def _fit_occurring(
    table: Patterns, heard: Tensor | None, labels: int, prior: str | Tensor, tol: float, max_iter: int
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


def _fit(run: Callable[..., TableFit], tables: Tables, prior: str | Tensor, tol: float, max_iter: int) -> TableFit:
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


def _check_prior(prior: Prior, labels: int) -> str | Tensor:
    """A known name, or a number for each label, on the CPU."""
    if isinstance(prior, str):
        if prior not in fused.PRIORS:
            raise CallError(
                "prior must be 'prevalence', 'marked', 'estimated', a number, or one number for each label; "
                f"got {prior!r}"
            )
        return prior
    each = torch.as_tensor(prior, dtype=torch.float64).cpu().reshape(-1)
    if len(each) == 1 and labels == 2:
        each = torch.stack([1 - each[0], each[0]])
    if len(each) != labels or not bool((each > 0).all()) or abs(float(each.sum()) - 1) > 1e-6:
        raise CallError(
            f"prior must have one number for each of {labels} labels, all above 0, with the sum 1; got {prior!r}"
        )
    return each


def _first_prior(tables: Tables, prior: str | Tensor) -> Tensor:
    """(labels, N): the prior of the first step."""
    if isinstance(prior, Tensor):
        return prior.to(tables.counts.device)[:, None].expand(-1, tables.counts.shape[1])
    mean = tables.given(tables.share) / tables.counts.sum(dim=0)
    return _marked_prior(tables, mean) if prior == "marked" else mean


def _marked_prior(tables: Tables, mean: Tensor) -> Tensor:
    """Background gets the share of unmarked pixels; the other labels share the rest in proportion to their votes."""
    anybody = (tables.share[:, 1:] > 0).any(dim=1).double()
    share = (tables.counts * anybody).sum(dim=0) / tables.counts.sum(dim=0)
    _check_marked(share == 1)
    marks = mean[1:]
    return torch.cat([(1 - share)[None], share * marks / marks.sum(dim=0)])


def _check_marked(everywhere: Tensor) -> None:
    """Raise where every pixel of an image (N) is marked."""
    if bool(everywhere.any()):
        image = int(everywhere.nonzero()[0])
        raise CallError(
            f"image {image}: every pixel is marked by at least one rater, so the prior 'marked' would be 1; use another"
        )


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
    return BatchStaple(
        probability=probability[0] if labels == 2 else torch.stack(probability, dim=1),
        hard=hard,
        confusion=fit.confusion.to(device),
        sensitivity=_sensitivity(fit).to(device),
        specificity=_specificity(fit).to(device),
        iterations=fit.iterations.to(device),
        converged=fit.converged.to(device),
    )


def _fused_result(fit: fused.KernelFit, prior: Prior) -> BatchStaple:
    if prior == "marked":
        _check_marked(fit.marked)
    rates = _sensitivity(fit), _specificity(fit)
    return BatchStaple(fit.probability, fit.hard, fit.confusion, *rates, fit.iterations, fit.converged)


def _look_up(values: Tensor, table: Patterns, target: Tensor) -> Tensor:
    """From (patterns, N) to (N, *spatial)."""
    flat = values.T.contiguous().to(target.device).flatten()
    return flat.index_select(0, table.place).view(target.shape[0], *target.shape[2:])


def _sensitivity(fit: TableFit | fused.KernelFit) -> Tensor:
    """(N, R), or (N, R, labels): the rate at which a rater gives a label to pixels of that label."""
    diagonal = fit.confusion.diagonal(dim1=2, dim2=3)
    return diagonal[..., 1] if len(fit.prior) == 2 else diagonal


def _specificity(fit: TableFit | fused.KernelFit) -> Tensor:
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
    labels_given = target[:, rater].flatten(1)
    if labels_given.dtype == torch.bool:
        labels_given = labels_given.view(torch.uint8)
    if present is not None:
        rated = expand_presence(present, target)[:, rater].flatten(1)
        labels_given = torch.where(rated, labels_given, labels if present.ndim > 2 else 0)
    return labels_given.to(kind)


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


# -- EM, step by step ------------------------------------------------------------------------------

STEPS_PER_CHECK = 16
"""Iterations between two checks of convergence."""
NEVER = -1e5
"""In place of the logarithm of 0, which a matrix product cannot handle."""


@dataclass(frozen=True)
class Tables:
    """The decisions of the raters, in float64."""

    chosen: Tensor
    """(patterns, R × labels): 1 where the rater gave the label."""
    counts: Tensor
    """(patterns, N): number of pixels; 0 where nobody rated."""
    heard: Tensor
    """(R, 1, 1, N): 1 where the rater rated the image at all."""
    share: Tensor
    """(patterns, labels, N): share of the raters who rated that gave the label; 0 where nobody rated."""

    @property
    def labels(self) -> int:
        return self.share.shape[1]

    @property
    def raters(self) -> int:
        return self.heard.shape[0]

    @classmethod
    def of(cls, rows: Tensor, counts: Tensor, present: Tensor | None, labels: int) -> Tables:
        """From patterns (patterns, R), numbers of pixels (N, patterns), and who rated which image."""
        each = (rows[..., None] == torch.arange(labels, device=rows.device)).double()
        heard = torch.ones(len(counts), rows.shape[1], dtype=torch.float64, device=rows.device)
        heard = heard if present is None else present.double()
        votes = torch.einsum("nr,prk->pkn", heard, each)
        rated = votes.sum(dim=1)
        items = torch.where(rated > 0, counts.T.double(), 0)
        share = votes / rated.clamp(min=1)[:, None]
        return cls(each.flatten(1), items, heard.T[:, None, None], share)

    def given(self, weight: Tensor) -> Tensor:
        """(labels, N): expected number of pixels of each label, given weights (patterns, labels, N)."""
        return (weight * self.counts[:, None]).sum(dim=0)


@dataclass(frozen=True)
class TableFit:
    """The estimates of each table."""

    weight: Tensor
    """(patterns, labels, N)."""
    confusion: Tensor
    """(N, R, true label, given label); nan where it cannot be estimated."""
    prior: Tensor
    """(labels, N)."""
    iterations: Tensor
    """(N)."""
    converged: Tensor
    """(N)."""


@torch.no_grad()
def fit_step_by_step(tables: Tables, prior: Tensor, estimate: bool, tol: float, max_iter: int) -> TableFit:
    """Alternate both steps, starting from the votes, until no rate of a table changes by more than ``tol``."""
    run = _Run.start(tables, prior, estimate)
    while run.iterations < max_iter and not bool(run.ended.all()):
        run.check(*run.iterate(min(STEPS_PER_CHECK, max_iter - run.iterations)), tol)
    return run.result()


@dataclass
class _Run:
    """The state of all tables."""

    tables: Tables
    estimate: bool
    """Whether the prior follows the weights."""
    weight: Tensor
    last: Tensor
    """(R, given, truth, N): the rates of the last iteration."""
    prior: Tensor
    """(truth, N), of the last iteration."""
    rates: Tensor
    """Those of the iteration at which each table converged, or of the last one."""
    priors: Tensor
    ended: Tensor
    """(N): the iteration of convergence, from 1; 0 if not converged yet."""
    iterations: int = 0

    @classmethod
    def start(cls, tables: Tables, prior: Tensor, estimate: bool) -> _Run:
        """Start with infinite rates, so that the first change is infinite."""
        far = prior.new_full((tables.raters, tables.labels, *prior.shape), torch.inf)
        never = torch.zeros(prior.shape[1], dtype=torch.int64, device=prior.device)
        return cls(tables, estimate, tables.share, far, prior, far, prior, never)

    def iterate(self, steps: int) -> tuple[Tensor, Tensor]:
        """The rates and priors of the last iteration and of so many more."""
        rates = torch.cat([self.last[None], self.last.new_empty(steps, *self.last.shape)])
        priors = self.prior.repeat(steps + 1, 1, 1)
        for step in range(1, steps + 1):
            m_step(self.tables, self.weight, rates[step])
            if self.estimate:
                priors[step] = self.tables.given(self.weight) / self.tables.counts.sum(dim=0)
            self.weight = e_step(self.tables, rates[step], priors[step])
        return rates, priors

    def check(self, rates: Tensor, priors: Tensor, tol: float) -> None:
        """Store for each table the first iteration at which it converged."""
        settled = torch.maximum(_largest_change(rates, (1, 2, 3)), _largest_change(priors, (1,))) <= tol
        here, going = settled.any(dim=0), self.ended == 0
        step = torch.where(here, settled.int().argmax(dim=0) + 1, len(settled))
        self.rates = torch.where(going, _pick(rates, step), self.rates)
        self.priors = torch.where(going, _pick(priors, step), self.priors)
        self.ended = torch.where(going & here, self.iterations + step, self.ended)
        self.last, self.prior, self.iterations = rates[-1], priors[-1], self.iterations + len(settled)

    def result(self) -> TableFit:
        """The estimates, with the weights that follow from the rates."""
        converged = self.ended > 0
        weight = e_step(self.tables, self.rates, self.priors)
        iterations = torch.where(converged, self.ended, self.iterations)
        return TableFit(weight, self.rates.permute(3, 0, 2, 1), self.priors, iterations, converged)


def m_step(tables: Tables, weight: Tensor, out: Tensor) -> None:
    """(R, given, truth, N) rates that maximise the likelihood, given the weights."""
    mass = weight * tables.counts[:, None]
    cells = (tables.chosen.T @ mass.flatten(1)).view_as(out) * tables.heard
    torch.div(cells, cells.sum(dim=1, keepdim=True), out=out)


def e_step(tables: Tables, rates: Tensor, prior: Tensor) -> Tensor:
    """(patterns, labels, N): probability of each label; a rate that cannot be estimated counts as guessing."""
    logs = torch.nan_to_num(rates.log(), nan=-math.log(tables.labels), neginf=NEVER)
    joint = torch.addmm(prior.log().flatten(), tables.chosen, logs.flatten(2).flatten(0, 1))
    return joint.view(tables.share.shape).softmax(dim=1)


def _largest_change(values: Tensor, others: tuple[int, ...]) -> Tensor:
    """(steps, N): the largest change of a rate that can be estimated."""
    return torch.nan_to_num(values.diff(dim=0).abs(), posinf=torch.inf).amax(dim=others)


def _pick(values: Tensor, step: Tensor) -> Tensor:
    """One step of each table; tables are along the last axis."""
    return values.gather(0, step.expand(1, *values.shape[1:]))[0]


# -- in one kernel ----------------------------------------------------------------------------------

MAX_CELLS = 1 << 13
"""Largest patterns × decisions × labels of one program."""


def kernel_fits(patterns: int, raters: int, labels: int) -> bool:
    """Whether the kernel can be built and takes tables of this size."""
    return can_build() and _cells(*_powers_of_two(patterns, raters, labels)) <= MAX_CELLS


def _powers_of_two(*sizes: int) -> tuple[int, ...]:
    """The next powers of two, as Triton requires."""
    return tuple(next_power(size) for size in sizes)


def _cells(patterns: int, raters: int, labels: int) -> int:
    return patterns * raters * labels**2


def fit_in_kernel(tables: Tables, prior: Tensor, estimate: bool, tol: float, max_iter: int) -> TableFit:
    """As :func:`fit_step_by_step`."""
    images = prior.shape[1]
    patterns, raters, labels = _powers_of_two(len(tables.chosen), tables.raters, tables.labels)
    given = (
        _pad(tables.chosen.view(-1, tables.raters, tables.labels), (patterns, raters, labels)),
        _pad(tables.heard.view(tables.raters, -1).T, (images, raters)),
        _pad(tables.counts.T, (images, patterns)),
        _pad(tables.share.permute(2, 0, 1), (images, patterns, labels)),
        _pad(prior.T, (images, labels)),
        prior.new_tensor([tol, -math.log(tables.labels)]),
    )
    rates, last = prior.new_empty(images, raters, labels, labels), prior.new_empty(images, labels)
    moved, steps = prior.new_empty(images), prior.new_empty(images, dtype=torch.int32)
    warps = max(1, min(8, _cells(patterns, raters, labels) // 1024))
    sizes = {"ESTIMATE": estimate, "NEVER": NEVER, "P": patterns, "R": raters, "L": labels, "num_warps": warps}
    _kernel[(images,)](*given, rates, last, moved, steps, max_iter, **sizes)
    estimated = rates[:, : tables.raters, : tables.labels, : tables.labels].permute(1, 2, 3, 0).contiguous()
    at = last[:, : tables.labels].T.contiguous()
    return TableFit(e_step(tables, estimated, at), estimated.permute(3, 0, 2, 1), at, steps.long(), moved <= tol)


def _pad(values: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Pad with zeros at the end of each axis."""
    if values.shape == sizes:
        return values.contiguous()
    room = values.new_zeros(sizes)
    room[tuple(slice(size) for size in values.shape)] = values
    return room


def _em(  # type: ignore[no-untyped-def]
    chosen_at, heard_at, counts_at, share_at, first_at, limits_at, rates_at, last_at, moved_at, steps_at, max_iter,
    ESTIMATE: tl.constexpr, NEVER: tl.constexpr, P: tl.constexpr, R: tl.constexpr, L: tl.constexpr,
):  # fmt: skip
    """One image; rates are [rater and given label, true label]."""
    image = tl.program_id(0)
    p, d, k = tl.arange(0, P), tl.arange(0, R * L), tl.arange(0, L)
    chosen = tl.load(chosen_at + p[:, None] * (R * L) + d[None, :])
    heard = tl.load(heard_at + image * R + d // L)
    counts = tl.load(counts_at + image * P + p)
    weight = tl.load(share_at + (image * P + p[:, None]) * L + k[None, :])
    prior = tl.load(first_at + image * L + k)
    limit, guess = tl.load(limits_at), tl.load(limits_at + 1)
    items = tl.sum(counts, axis=0)
    rates = tl.full([R * L, L], float("inf"), tl.float64)
    known = rates > 0
    moved = tl.max(tl.max(rates, axis=1), axis=0)
    step = 0
    while (step < max_iter) & (moved > limit):
        mass = weight * counts[:, None]
        cells = tl.sum(chosen[:, :, None] * mass[:, None, :], axis=0) * heard[:, None]
        total = tl.sum(tl.reshape(cells, [R, L, L]), axis=1)
        total = tl.reshape(tl.broadcast_to(total[:, None, :], [R, L, L]), [R * L, L])
        known_now = total > 0
        now = cells / tl.where(known_now, total, 1.0)
        moved = tl.max(tl.max(tl.where(known_now & known, tl.abs(now - rates), 0.0), axis=1), axis=0)
        rates, known = now, known_now
        if ESTIMATE:
            then = prior
            prior = tl.sum(mass, axis=0) / items
            moved = tl.where(step == 0, float("inf"), tl.maximum(moved, tl.max(tl.abs(prior - then), axis=0)))
        logs = tl.where(known_now, tl.where(now > 0, tl.log(tl.where(now > 0, now, 1.0)), NEVER), guess)
        joint = tl.sum(chosen[:, :, None] * logs[None, :, :], axis=1) + tl.log(prior)[None, :]
        weight = tl.exp(joint - tl.max(joint, axis=1)[:, None])
        weight = weight / tl.sum(weight, axis=1)[:, None]
        step += 1
    place = (image * R * L + d[:, None]) * L + k[None, :]
    tl.store(rates_at + place, tl.where(known, rates, float("nan")))
    tl.store(last_at + image * L + k, prior)
    tl.store(moved_at + image, moved)
    tl.store(steps_at + image, step)


_kernel: Any = compiled(_em)
