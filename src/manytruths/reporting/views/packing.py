"""Maps and images as text that a page can hold."""

from __future__ import annotations

import io
import zlib
from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...charts.scaling import Scale, as_bytes

Array = NDArray[Any]


def pack_array(array: Array) -> dict[str, str]:
    """Whole numbers, slice by slice: each row XOR the one above, deflated. Masks are mostly like the row above."""
    kind = np.min_scalar_type(int(array.max(initial=0)))
    rows = np.ascontiguousarray(array, kind.newbyteorder("<"))
    apart = rows.copy()
    apart[:, 1:] ^= rows[:, :-1]
    return {"type": f"u{kind.itemsize}", "data": b64encode(zlib.compress(apart.tobytes(), 6)).decode()}


def encode_picture(image: Array, ends: tuple[float, float] | None, longest: int, quality: int) -> bytes:
    """One slice as WebP, in colour where it has any."""
    from PIL import Image

    scale = Scale.of(image.shape[:2], longest, 1)
    small = scale.mean(image[..., :3] if image.ndim == 3 and image.shape[2] >= 3 else _first_channel(image))
    buffer = io.BytesIO()
    Image.fromarray(as_bytes(small, image.dtype, ends)).save(buffer, "WEBP", quality=quality, method=2)
    return buffer.getvalue()


def _first_channel(image: Array) -> Array:
    return image if image.ndim == 2 else image[..., 0]


def data_url(content: bytes) -> str:
    """A picture inside the page."""
    return f"data:image/webp;base64,{b64encode(content).decode()}"
