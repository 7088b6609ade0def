"""Samples: masks that an algorithm drew of a case, where its output is a distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.columns import Column, natural_key
from ..core.errors import CallError, InputError, LabelError, few
from ..core.tiles import is_lazy
from .case import Case
from .mask_values import NO_MASK, about

Array = NDArray[Any]
BySample = Mapping[str, Any]


def with_samples(cases: Sequence[Case], samples: Mapping[str, Mapping[Column, BySample]]) -> list[Case]:
    """The cases with their samples, and with the algorithms that have samples of other cases alone.

    Where nothing else is predicted, the samples are the predictions.
    """
    every = {column for by_column in samples.values() for column in by_column}
    made = []
    for case in cases:
        own = samples.get(case.name, {})
        gone = tuple(sorted(every.difference(own), key=lambda column: column.order))
        case = replace(case, samples=own, missing_samples=gone)
        made.append(replace(case, predictions=own, missing=gone) if averages_samples(case) else case)
    return made


def averages_samples(case: Case) -> bool:
    """Whether the share of the samples that mark a pixel is the probability map, as there is no other prediction."""
    return case.options.samples is not None and case.options.predictions is None


def with_sample_arrays(
    cases: Sequence[Case], samples: Mapping[str, Mapping[str, ArrayLike | Sequence[ArrayLike]]]
) -> list[Case]:
    """The same of samples in memory, numbered from 1 where they have no names."""
    known = {case.name for case in cases}
    for name in samples:
        if name not in known:
            raise CallError(f"samples are given for case {name!r}, which the study does not have")
    judged = {column.name for case in cases for column in (*case.predictions, *case.missing)}
    by_case = {}
    for name, by_name in samples.items():
        other = [who for who in by_name if judged and who not in judged]
        if other:
            raise CallError(
                f"samples are given of {other[0]!r}, which has no prediction; there are {few(sorted(judged))}"
            )
        stacks = {str(who): _numbered(stack) for who, stack in by_name.items()}
        empty = [who for who, stack in stacks.items() if not stack]
        if empty:
            raise CallError(
                f"there is no sample of {empty[0]!r} in case {name!r}; leave the algorithm out of that case"
            )
        by_case[name] = {Column(who, "algorithm"): stack for who, stack in stacks.items()}
    return with_samples(cases, by_case)


def _numbered(stack: Any) -> dict[str, Array]:
    by_name = stack if isinstance(stack, Mapping) else {str(i): mask for i, mask in enumerate(stack, start=1)}
    return {str(name): np.asanyarray(mask) for name, mask in by_name.items()}


def read_samples(case: Case, column: Column, grid: Any) -> dict[str, Array]:
    """The samples of one algorithm in natural order, as masks on a grid."""
    masks, labels = {}, case.labels
    known = None if labels is None or case.options.foreground else {*labels.values, 0}
    for name in sorted(case.samples[column], key=natural_key):
        mask = case.sample(column, name, grid)
        with about(f"case {case.name}, sample {name} of {column}"):
            if is_lazy(mask):
                raise InputError("it is too large to be read at once, as samples are; crop the case")
            masks[name] = mask
            _refuse_values(np.unique(mask), known)
    return masks


def _refuse_values(values: Array, known: set[int] | None) -> None:
    """Refuse what is no mask, or holds other labels than the raters' masks."""
    if known is None and len(values) > NO_MASK + 1:
        raise LabelError(
            f"holds {len(values)} values: it is no mask; a sample is what the algorithm would have drawn, and "
            "probability maps are given with --predictions and --probability"
        )
    other = [] if known is None else sorted(set(values.tolist()) - known)
    if other and not (len(known or ()) == 2 and len(values) <= 2):
        raise LabelError(
            f"holds {few(list(map(str, other)), 4)}, not among the labels; write it with the raters' labels"
        )
