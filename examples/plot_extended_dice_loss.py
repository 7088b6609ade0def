"""
What a loss says to a prediction
================================

Five raters drew the muscle of the same heart, and none of them is wrong. A network that learns from them is told,
pixel by pixel, to mark more or to mark less. What it is told depends on the loss: the example holds the extended Dice
loss (Zeng 2021, `doi:10.1007/978-3-030-78191-0_37 <https://doi.org/10.1007/978-3-030-78191-0_37>`_) against the
average of the cross-entropies, on one frame of a simulated contrast echo. It needs the extra ``torch``: ``pip install
".[torch]"``.
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
# What all raters marked is the inner region I, what any of them did the outer one O. Between the two, raters differ,
# and a prediction may do as it likes.

inner, outer = stack.all(axis=0), stack.any(axis=0)
between = outer & ~inner
votes = heat_overlay(frame.image[WINDOW], stack.sum(axis=0)[WINDOW], most=5, caption="raters who marked it")
print(f"all: {inner.sum():,} pixels, any: {outer.sum():,}; {between.sum() / outer.sum():.0%} of these are disputed")

# %%
# A prediction, and what it is told
# ---------------------------------
# As a network half-way through its training might have it: roughly the muscle, blurred, a little too far to the
# right. The gradient of a loss by the logits is what a step goes by. Orange: mark more here; blue: mark less. Each
# map has a scale of its own, since an optimiser such as Adam takes no notice of a common factor.

blurred = gaussian_filter(shift(frame.truth.astype(np.float32), (0, 14), order=1), 8).clip(0.02, 0.98)
logits = torch.from_numpy(np.log(blurred / (1 - blurred)))[None, None]
annotations = torch.from_numpy(stack)[None]


def told(loss, logits):
    """By how much a step raises each logit, in units of the largest change."""
    free = logits.clone().requires_grad_()
    loss(free, annotations).backward()
    change = -free.grad[0, 0].numpy()
    return change / np.abs(change).max()


def painted(change, title):
    """Orange where it is raised, blue where it is lowered, over the image in grey; outlines of I and O in white."""
    grey = np.repeat(frame.image[WINDOW][..., None] * 0.5, 3, axis=2)
    own = change[WINDOW][..., None]
    colour = np.where(own > 0, (255, 140, 0), (40, 120, 255))
    share = np.sqrt(np.abs(own))
    page = Image.fromarray((grey * (1 - share) + colour * share).astype(np.uint8))
    page.paste((255, 255, 255), mask=Image.fromarray(edges()[WINDOW].astype(np.uint8) * 255))
    return titled(page, title)


def edges():
    """Where inside and outside meet."""
    found = np.zeros(inner.shape, bool)
    for mask in (inner, outer):
        found[1:] |= mask[1:] != mask[:-1]
        found[:, 1:] |= mask[:, 1:] != mask[:, :-1]
    return found


def titled(page, title):
    """A picture under its title, on white."""
    sheet = Image.new("RGB", (page.width + 12, page.height + 30), "white")
    ImageDraw.Draw(sheet).text((2, 6), title, "black", font_size=17)
    sheet.paste(page, (0, 30))
    return sheet


def side_by_side(*pages):
    """In a row."""
    return Image.fromarray(np.hstack([np.asarray(page) for page in pages]))


losses = {"extended Dice loss": ExtendedDiceLoss(), "average cross-entropy": AverageCrossEntropy()}
changes = {name: told(loss, logits) for name, loss in losses.items()}
maps = side_by_side(
    titled(Image.fromarray((blurred[WINDOW] * 255).astype(np.uint8)).convert("RGB"), "the prediction"),
    *(painted(change, name) for name, change in changes.items()),
)

# %%
# White lines are the borders of I and O. Average cross-entropy pulls every disputed pixel towards the share of the
# raters who marked it. The extended Dice loss says least where raters differ. Of all that each of them says, the
# share that is about disputed pixels, and, of that, the share that is "mark it":

for name, change in changes.items():
    here = np.abs(change[between]).sum() / np.abs(change).sum()
    more = change[between].clip(0).sum() / np.abs(change[between]).sum()
    print(f"{name:22} {here:5.1%} about disputed pixels, {more:.0%} of it up")

# %%
# "Least" is not "nothing". With L the loss and D = Σ P + Σ I, the gradient by the probability is −(1 + L)/D inside of
# I, +(1 − L)/D outside of O, and −L/D between: a faint "mark it" that goes as the loss does.
#
# Where each of them ends
# -----------------------
# Steps on the logits themselves, with no network between, from the prediction above: plain steps down the gradient,
# and those of Adam, which gives every number a step of the same size, however faint what it is told.


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
    """Steps so long that the first one changes some logit by 1."""
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
# All three are perfect by extended Dice, which is the point of it, and its limit. Average cross-entropy ends at the
# shares of the votes; cut at one half, these are the majority. The extended Dice loss may end anywhere between I and
# O. Plain steps leave there much of what they found; Adam, which hears a whisper as well as a shout, fills all of O.
#
# A network is not free pixel by pixel: what it is told about one place it says wherever the image looks alike.
# Whether it then fills O can only be tried. In the study of :doc:`/learning` it did not: of all strategies, the
# extended Dice loss had the largest mean Dice with the truth behind the phantom, which no strategy was shown. Take
# average cross-entropy where the spread of opinions is wanted, the extended Dice loss where any acceptable outline
# will do.
