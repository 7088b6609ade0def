"""Label Studio's brush masks against a decoder that takes one bit after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manytruths import FormatError
from manytruths.exchange.run_lengths import SIZES, decode_brush, encode_brush, fill_runs


class Bits:
    def __init__(self, data):
        self.text = "".join(f"{byte:08b}" for byte in data)
        self.at = 0

    def take(self, count):
        found = self.text[self.at : self.at + count]
        self.at += count
        return int(found, 2)


def values_of(data):
    """Every value of the pixels' colours."""
    bits = Bits(data)
    number, word = bits.take(32), bits.take(5) + 1
    sizes = [bits.take(4) + 1 for _ in range(4)]
    found = []
    while len(found) < number:
        repeated = bits.take(1)
        length = bits.take(sizes[bits.take(2)]) + 1
        found += [bits.take(word)] * length if repeated else [bits.take(word) for _ in range(length)]
    return found


def packed(values, word=8, sizes=SIZES, chance=None):
    """Values as runs, and as many as chance wants one by one."""
    text, at = f"{len(values):032b}{word - 1:05b}" + "".join(f"{size - 1:04b}" for size in sizes), 0
    while at < len(values):
        chosen = chance.integers(4)
        most = 1 << sizes[chosen]
        same = next((k for k in range(at, min(len(values), at + most)) if values[k] != values[at]), None)
        same = (min(len(values), at + most) if same is None else same) - at
        if same > 1 or chance.random() < 0.3:
            text += f"1{chosen:02b}{same - 1:0{sizes[chosen]}b}{values[at]:0{word}b}"
            at += same
        else:
            length = int(chance.integers(1, min(most, len(values) - at) + 1))
            text += f"0{chosen:02b}{length - 1:0{sizes[chosen]}b}"
            text += "".join(f"{value:0{word}b}" for value in values[at : at + length])
            at += length
    text += "0" * (-len(text) % 8)
    return int(text, 2).to_bytes(len(text) // 8)


@settings(deadline=None)
@given(
    st.integers(0, 2**32), st.sampled_from([1, 7, 8, 9, 16, 32]), st.sampled_from([SIZES, (1, 2, 5, 16), (16, 1, 9, 3)])
)
def test_as_bit_by_bit(seed, word, sizes):
    chance = np.random.default_rng(seed)
    height, width = chance.integers(1, 9, 2)
    values = chance.integers(0, 1 << word, (height, width, 4))
    values[chance.random((height, width)) < chance.random()] = 0
    values[:, :, 3] *= chance.random((height, width)) < 0.7
    data = packed(values.ravel().tolist(), word, sizes, chance)
    assert values_of(data) == values.ravel().tolist()
    found = fill_runs(decode_brush(data, height * width), height * width).reshape(height, width)
    assert (found == (values[:, :, 3] > 0)).all()


@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.02, 0.5, 0.99, 1.0]))
def test_there_and_back(seed, share):
    chance = np.random.default_rng(seed)
    mask = chance.random(chance.integers(1, 30, 2)) < share
    data = encode_brush(mask)
    assert (np.array(values_of(data)).reshape(*mask.shape, 4) == 255 * mask[:, :, None]).all()
    assert (fill_runs(decode_brush(data, mask.size), mask.size).reshape(mask.shape) == mask).all()


def test_long_runs_are_several():
    mask = np.zeros((400, 300), bool)
    mask[100:] = True
    data = encode_brush(mask)
    assert len(data) < 40
    assert decode_brush(data, mask.size).tolist() == [30_000, 90_000, 0]


def test_too_much_and_too_little():
    data = encode_brush(np.eye(5, dtype=bool))
    for wrong, size, said in (
        (data, 24, "25 pixels, and the image has 24"),
        (data[:-6], 25, "end too early"),
        (data[:5], 25, "end too early"),
        (b"", 25, "end too early"),
        (packed([1] * 100, 8, (16, 16, 16, 16), np.random.default_rng(0))[:7] + b"\x9f\xff" * 20, 25, "longer than"),
    ):
        with pytest.raises(FormatError, match=said):
            decode_brush(wrong, size)
