"""
From CVAT to a report in two lines
==================================

Each rater has outlined lesions in CVAT, with a severity rank for each, and exported his job. Two commands make a
report of the exports::

    manytruths import cvat exports/A.zip exports/B.zip exports/C.zip --to study
    manytruths report study/study.toml

Here the exports are made from a simulated study, so that there is something to import.
"""
# sphinx_gallery_thumbnail_number = 1

import csv
import os
import tempfile
from pathlib import Path

from PIL import Image
from scipy import ndimage

import manytruths as mt
from manytruths.cli import status
from manytruths.exchange import Bitmap, Mark, Read, write_cvat
from manytruths.pictures import contour_overlay, heat_overlay


def marks(drawn):
    """Every region that a rater drew, with its rank."""
    numbers, _ = ndimage.label(drawn.mask)
    for number, (rows, columns) in enumerate(ndimage.find_objects(numbers), start=1):
        inside = numbers[rows, columns] == number
        rank = int(drawn.ranks[rows, columns][inside].max())
        yield Mark("lesion", Bitmap(rows.start, columns.start, inside), rank=rank)


os.chdir(tempfile.mkdtemp())
Path("exports/images").mkdir(parents=True)
simulated = mt.simulate_study(cases=8)
for case in simulated:
    Image.fromarray(case.image).save(f"exports/images/{case.name}.png")
for rater in "ABC":
    reads = []
    for case in simulated:
        if (rater, "1") in case.readings:
            found = tuple(marks(case.readings[rater, "1"]))
            reads.append(Read(f"{case.name}.png", rater, mt.Grid(case.image.shape[:2]), found))
    write_cvat(f"exports/{rater}.xml", reads)

# %%
# The two lines
# -------------
# As typed in a terminal; ``status`` runs a command and gives its exit status. The images lie beside the exports, so
# they come along.

status(["import", "cvat", "exports/A.xml", "exports/B.xml", "exports/C.xml", "--to", "study", "--jobs", "1"])

# %%
status(["report", "study/study.toml", "--out", "report.html", "--jobs", "1"])
print(f"{Path('report.html').stat().st_size / 1e6:.1f} MB")

# %%
# Who read what
# -------------
# C did not open every image. The register says so, and nobody takes that for an empty mask.

with open("study/reads.csv", newline="") as file:
    for row in csv.DictReader(file):
        if row["rater"] == "C":
            print(row["case"], row["status"])

# %%
# It is a study like any other, with the ranks that the raters gave in CVAT.

study = mt.Study.open("study")
case = study["p02"]
table = case.tally()
image = case.picture()
masks = {column.name: mask for column, mask in case.read().masks.items()}
outlines = contour_overlay(image, masks, title="p02", subtitle="what each rater drew")
heat = heat_overlay(image, case.paint(mt.common_heatmap(table)), most=3, title="p02", caption="raters who marked it")

# %%
# And back: the consensus, with what is disputed, as annotations to correct in CVAT.

status(["export", "cvat", "study", "--to", "for-cvat", "--jobs", "1"])
print(Path("for-cvat/annotations.xml").read_text()[-420:])
