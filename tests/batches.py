"""Batches of annotations for the tests of learning: tensors, and the same images as tallies."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import manytruths as mt

VOID = 255
DEVICES = ("cpu", *(("cuda",) if torch.cuda.is_available() else ()))


@st.composite
def batches(draw, labels=(2, 3), raters=(1, 5), images=(1, 3), presence=(None, "image", "pixel")):
    """Annotations (N, R, *spatial), who rated what, and the number of labels."""
    many = draw(st.sampled_from(labels))
    shape = (
        draw(st.integers(*images)),
        draw(st.integers(*raters)),
        *draw(array_shapes(min_dims=1, max_dims=3, max_side=5)),
    )
    target = torch.from_numpy(draw(arrays(np.uint8, shape, elements=st.integers(0, many - 1))))
    kind = draw(st.sampled_from(presence))
    if kind is None:
        return target, None, many
    there = draw(arrays(np.bool_, shape[:2] if kind == "image" else shape))
    return target, torch.from_numpy(there), many


def everywhere(target, present):
    """(N, R, *spatial): who rated which pixel."""
    if present is None:
        return torch.ones_like(target, dtype=torch.bool)
    return present.reshape(*present.shape, *[1] * (target.ndim - present.ndim)).expand(target.shape)


def masks(target, present, image):
    """One image's masks, VOID where somebody did not rate."""
    own = torch.where(everywhere(target, present)[image], target[image].to(torch.uint8), VOID)
    return list(own.cpu().numpy())


def tally(target, present, labels, image):
    """One image's tally, over all labels."""
    return mt.tally(masks(target, present, image), labels=range(labels), void=VOID)


def painted(values, target, present, image):
    """A value per pattern of one image's tally as a map; of several values a pattern, a map with them last."""
    own = masks(target, present, image)
    if values.ndim == 1:
        return mt.paint(values, own, void=VOID)
    return np.stack([mt.paint(np.asarray(column), own, values.tally, void=VOID) for column in values.T], axis=-1)


def drawn(shape, raters, labels=2, seed=0):
    """Raters (N, R, *spatial) who err by themselves about one truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, labels, (shape[0], 1, *shape[1:]))
    wrong = rng.random((shape[0], raters, *shape[1:])) < rng.uniform(0.05, 0.4, (1, raters, *[1] * (len(shape) - 1)))
    other = (truth + rng.integers(1, labels, wrong.shape)) % labels
    return torch.from_numpy(np.where(wrong, other, truth).astype(np.uint8))
