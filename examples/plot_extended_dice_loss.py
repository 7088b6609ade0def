"""
Gradients of two losses
=======================

Five raters outlined the muscle of the same heart, and none of them is wrong. When a network is trained on their
masks, the gradient of the loss determines, pixel by pixel, whether the probability should increase or decrease. The
example compares the extended Dice loss (Zeng 2021, `doi:10.1007/978-3-030-78191-0_37
<https://doi.org/10.1007/978-3-030-78191-0_37>`_) with the average cross-entropy, on one frame of a simulated contrast
echo. It needs the extra ``torch``: ``pip install ".[torch]"``.
"""
# sphinx_gallery_thumbnail_number = 3

import numpy as np
import torch
from PIL import Image, ImageDraw
from scipy.ndimage import gaussian_filter, shift

import manytruths as mt
from manytruths.charts import contour_overlay, heat_overlay
from manytruths.learning import AverageCrossEntropy, ExtendedDiceLoss

WINDOW = slice(40, 460), slice(95, 445)
frame = mt.simulate_echo(size=512)["s003-f02"]
stack = np.stack(list(frame.markings.values()))
print(frame, "marked by", ", ".join(frame.markings))

outlines = contour_overlay(frame.image[WINDOW], {name: mask[WINDOW] for name, mask in frame.markings.items()})

# %%
# The acceptable region
# ---------------------
# The inner region I contains the pixels that all raters marked, the outer region O those that any rater marked. Between
# the two, raters differ, and a prediction may be either.

inner, outer = stack.all(axis=0), stack.any(axis=0)
between = outer & ~inner
votes = heat_overlay(frame.image[WINDOW], stack.sum(axis=0)[WINDOW], most=5, caption="raters who marked it")
print(f"all: {inner.sum():,} pixels, any: {outer.sum():,}; {between.sum() / outer.sum():.0%} of these are disputed")

# %%
# A prediction and the gradients
# ------------------------------
# The prediction resembles that of a network half-way through its training: roughly the muscle, blurred, slightly too
# far to the right. The gradient of the loss with respect to the logits determines a training step. Orange: the step
# raises the logit; blue: it lowers the logit. Each map has its own scale, because an optimiser such as Adam is
# invariant to a common factor.

blurred = gaussian_filter(shift(frame.truth.astype(np.float32), (0, 14), order=1), 8).clip(0.02, 0.98)
logits = torch.from_numpy(np.log(blurred / (1 - blurred)))[None, None]
annotations = torch.from_numpy(stack)[None]


def compute_change(loss, logits):
    """The change of each logit in a step, in units of the largest change."""
    free = logits.clone().requires_grad_()
    loss(free, annotations).backward()
    change = -free.grad[0, 0].numpy()
    return change / np.abs(change).max()


def painted(change, title):
    """Orange for an increase, blue for a decrease, over the image in grey; outlines of I and O in white."""
    grey = np.repeat(frame.image[WINDOW][..., None] * 0.5, 3, axis=2)
    own = change[WINDOW][..., None]
    colour = np.where(own > 0, (255, 140, 0), (40, 120, 255))
    share = np.sqrt(np.abs(own))
    page = Image.fromarray((grey * (1 - share) + colour * share).astype(np.uint8))
    page.paste((255, 255, 255), mask=Image.fromarray(edges()[WINDOW].astype(np.uint8) * 255))
    return titled(page, title)


def edges():
    """The borders of I and O."""
    found = np.zeros(inner.shape, bool)
    for mask in (inner, outer):
        found[1:] |= mask[1:] != mask[:-1]
        found[:, 1:] |= mask[:, 1:] != mask[:, :-1]
    return found


def titled(page, title):
    """A picture below its title, on a white background."""
    sheet = Image.new("RGB", (page.width + 12, page.height + 30), "white")
    ImageDraw.Draw(sheet).text((2, 6), title, "black", font_size=17)
    sheet.paste(page, (0, 30))
    return sheet


def side_by_side(*pages):
    """Pictures in a row."""
    return Image.fromarray(np.hstack([np.asarray(page) for page in pages]))


losses = {"extended Dice loss": ExtendedDiceLoss(), "average cross-entropy": AverageCrossEntropy()}
changes = {name: compute_change(loss, logits) for name, loss in losses.items()}
maps = side_by_side(
    titled(Image.fromarray((blurred[WINDOW] * 255).astype(np.uint8)).convert("RGB"), "the prediction"),
    *(painted(change, name) for name, change in changes.items()),
)

# %%
# White lines are the borders of I and O. Average cross-entropy moves every disputed pixel towards the share of the
# raters who marked it. The gradient of the extended Dice loss is smallest where raters differ. The output shows the
# share of each gradient that is in disputed pixels, and, of that, the share that raises the logits:

for name, change in changes.items():
    here = np.abs(change[between]).sum() / np.abs(change).sum()
    more = change[between].clip(0).sum() / np.abs(change[between]).sum()
    print(f"{name:22} {here:5.1%} about disputed pixels, {more:.0%} of it up")

# %%
# The smallest gradient is not zero. With L the loss and D = Σ P + Σ I, the gradient with respect to the probability is
# −(1 + L)/D inside of I, +(1 − L)/D outside of O, and −L/D between: a weak gradient towards marking the pixel, which
# vanishes with the loss.
#
# Convergence of each loss
# ------------------------
# The logits themselves are optimised, without a network, from the prediction above: by plain gradient descent,
# and by Adam, which changes all logits by steps of about the same size, however small their gradient is.


def descended(loss, optimiser):
    """Probabilities after 100 steps."""
    free = logits.clone().requires_grad_()
    steps = optimiser([free])
    for _ in range(100):
        steps.zero_grad()
        loss(free, annotations).backward()
        steps.step()
    return torch.sigmoid(free.detach())[0, 0].numpy()


def plain(loss):
    """Gradient descent whose first step changes the logits by at most 1."""
    free = logits.clone().requires_grad_()
    loss(free, annotations).backward()
    return lambda own: torch.optim.SGD(own, 1 / free.grad.abs().max().item())


def adam(own):
    """Steps of about 0.1."""
    return torch.optim.Adam(own, 0.1)


dice, entropy = losses.values()
ends = {
    "extended Dice loss, plain": descended(dice, plain(dice)),
    "extended Dice loss, Adam": descended(dice, adam),
    "average cross-entropy, Adam": descended(entropy, adam),
}
ended = side_by_side(
    *(titled(Image.fromarray((end[WINDOW] * 255).astype(np.uint8)).convert("RGB"), name) for name, end in ends.items())
)

# %%
table = mt.tally(frame.markings, predictions={name: end > 0.5 for name, end in ends.items()})
table = mt.with_consensus(table, ["vote:0.5"])
overlaps, extended = mt.overlaps(table), mt.extended_dice(table)
for name, end in ends.items():
    with_most = overlaps.value(name, "vote:0.5", mt.dice)
    print(f"{name:28} extended Dice {extended[name]:.3f}, Dice with the majority {with_most:.3f}; ", end="")
    print(f"marks {np.mean(end[between] > 0.5):.0%} of what is disputed")

# %%
# All three results have a perfect extended Dice, which is the purpose of this metric, and its limitation. Average
# cross-entropy converges to the shares of the votes; cut at one half, these are the majority. The extended Dice loss
# can converge to any mask between I and O. Plain gradient descent leaves many pixels between them as they were in the
# prediction; Adam, which is insensitive to the size of the gradient, fills all of O.
#
# A network cannot change pixels independently: a change in one place affects all places where the image looks
# similar. Whether it fills O must be determined by experiment. In the study of :doc:`/learning` it did not: of all
# strategies, the extended Dice loss had the largest mean Dice with the truth of the phantom, which was not used by
# any strategy. Use average cross-entropy if the spread of opinions is wanted, and the extended Dice loss if any
# acceptable outline is sufficient.
