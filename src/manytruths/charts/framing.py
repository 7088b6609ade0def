"""What stands around a picture: title, colour bar, legend, margins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .colours import colour, steps
from .lettering import INK, PALE_INK, fit, font, pen, printable, sheet, width, wrap

if TYPE_CHECKING:
    from PIL import Image

EDGE = (190, 190, 196)


def letter_size(picture: NDArray[Any]) -> int:
    """Letters grow with the picture, so that they can be read when it is shown smaller."""
    return int(np.clip(max(picture.shape[:2]) / 52, 14, 26))


def frame(
    picture: NDArray[np.uint8], side: Image.Image, title: str | None, subtitle: str | None, edge: bool = True
) -> Image.Image:
    """The picture on white paper, its title above and its colour bar or legend at the right."""
    from PIL import Image

    em = letter_size(picture)
    high, wide = picture.shape[:2]
    lines = [(t, s, ink) for t, s, ink in ((title, round(1.25 * em), INK), (subtitle, em, PALE_INK)) if t]
    room = max([wide + em + side.width] + [min(24 * em, width(text, size)) for text, size, _ in lines])
    top = em + sum(round(1.5 * size) for _, size, _ in lines)
    paper = sheet(room + 2 * em, top + max(high, side.height) + em)
    draw, y = pen(paper), round(0.75 * em)
    for text, size, ink in lines:
        draw.text((em, y), fit(text, size, room), ink, font(size))
        y += round(1.5 * size)
    paper.paste(Image.fromarray(picture), (em, top))
    if edge:
        draw.rectangle((em - 1, top - 1, em + wide, top + high), outline=EDGE)
    paper.paste(side, (2 * em + wide, top))
    return paper


def count_bar(most: int, caption: str, em: int, room: int) -> Image.Image:
    """One block a number, 1 at the bottom."""
    block = int(np.clip((room - 4 * em) / most, 6, 2 * em))
    every = -(-round(1.1 * em) // block)
    labels = {n: str(n) for n in range(1, most + 1) if n in (1, most) or (n % every == 0 and every < n <= most - every)}
    paint = np.repeat(steps(most)[::-1], block, axis=0)
    return _bar(paint, [(block * (most - n) + block // 2, text) for n, text in labels.items()], caption, em)


def value_bar(most: float, caption: str, em: int, room: int) -> Image.Image:
    """A gradient from 0 to the largest value."""
    high = int(np.clip(room - 4 * em, 6 * em, 20 * em))
    paint = colour(np.linspace(1, 0, high))
    return _bar(paint, [(round((1 - s) * (high - 1)), f"{s * most:.3g}") for s in (0, 0.5, 1)], caption, em)


def _bar(paint: NDArray[np.uint8], ticks: Sequence[tuple[int, str]], caption: str, em: int) -> Image.Image:
    from PIL import Image

    lines = wrap(caption, em, 7 * em)
    top, thick = round(1.3 * em) * len(lines) + em, round(1.4 * em)
    wide = max([width(line, em) for line in lines] + [thick + em + width(text, em) for _, text in ticks])
    paper = sheet(wide, top + len(paint) + em)
    draw = pen(paper)
    for number, line in enumerate(lines):
        draw.text((0, round(1.3 * em) * number), line, INK, font(em))
    paper.paste(Image.fromarray(np.repeat(paint[:, None], thick, axis=1)), (0, top))
    for y, text in ticks:
        draw.line((thick, top + y, thick + em // 3, top + y), fill=PALE_INK, width=max(1, em // 13))
        draw.text((thick + em // 2, top + y), text, INK, font(em), anchor="lm")
    return paper


def legend(names: Sequence[str], colours: Sequence[tuple[int, int, int]], em: int, room: int) -> Image.Image:
    """A patch of colour and a name for each, in as many columns as the height asks for."""
    line = round(1.6 * em)
    rows = max(1, min(len(names), max(12, room // line)))
    texts = [fit(name, em, 9 * em) for name in names]
    column = 2 * em + max((width(text, em) for text in texts), default=0) + em
    paper = sheet(column * -(-len(names) // rows), line * rows)
    draw = pen(paper)
    for index, (text, paint) in enumerate(zip(texts, colours, strict=True)):
        x, y = column * (index // rows), line * (index % rows)
        draw.rounded_rectangle((x, y + em // 4, x + round(1.3 * em), y + em), radius=em // 5, fill=paint, outline=EDGE)
        draw.text((x + 2 * em - em // 4, y + round(0.62 * em)), printable(text), INK, font(em), anchor="lm")
    return paper
