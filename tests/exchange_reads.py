"""Reads made in memory."""

from __future__ import annotations

import numpy as np

from manytruths import Grid
from manytruths.exchange.outlines import Bitmap, Polygon
from manytruths.exchange.readings import Mark, Reading


def square(x, y, side, label="lesion", **more):
    ring = [(x, y), (x + side, y), (x + side, y + side), (x, y + side)]
    return Mark(label, Polygon.of([ring]), **more)


def bits(mask, label="lesion", top=0, left=0, **more):
    return Mark(label, Bitmap(top, left, np.asarray(mask, bool)), **more)


def read(image="p01.png", rater="anna", marks=(), shape=(20, 30), **more):
    status = more.pop("status", "done" if marks else "empty")
    return Reading(image, rater, Grid(shape), tuple(marks), status=status, source=f"{rater}.xml", **more)
