"""
From CVAT to a report in two lines
==================================

Each rater has outlined lesions in CVAT, with a severity rank for each, and exported their job. Two commands convert the
exports to a report::

    manytruths import cvat exports/A.xml exports/B.xml exports/C.xml --to study
    manytruths report study/study.toml

In this example, the exports are created from a simulated study.
"""
# sphinx_gallery_thumbnail_number = 1

import csv
import shlex
import tempfile
from contextlib import chdir
from pathlib import Path

from PIL import Image
from scipy import ndimage

import manytruths as mt
from manytruths.charts import contour_overlay, heat_overlay
from manytruths.cli import status
from manytruths.exchange import Bitmap, Mark, Reading, read_cvat, write_cvat


def marks(drawn):
    """Yield every region that a rater drew, with its rank."""
    numbers, _ = ndimage.label(drawn.mask)
    for number, (rows, columns) in enumerate(ndimage.find_objects(numbers), start=1):
        inside = numbers[rows, columns] == number
        rank = int(drawn.ranks[rows, columns][inside].max())
        yield Mark("lesion", Bitmap(rows.start, columns.start, inside), rank=rank)


folder = Path(tempfile.mkdtemp())
(folder / "exports" / "images").mkdir(parents=True)
simulated = mt.simulate_study(cases=8)
for case in simulated:
    Image.fromarray(case.image).save(folder / f"exports/images/{case.name}.png")
for rater in "ABC":
    reads = []
    for case in simulated:
        if (rater, "1") in case.readings:
            found = tuple(marks(case.readings[rater, "1"]))
            reads.append(Reading(f"{case.name}.png", rater, mt.Grid(case.image.shape[:2]), found))
    write_cvat(folder / f"exports/{rater}.xml", reads)

# %%
# The two lines
# -------------
# The images are in the folder of the exports and are therefore imported, too.


def manytruths(line):
    """Run a command in the folder."""
    with chdir(folder):
        assert status(shlex.split(line)) == 0


manytruths("import cvat exports/A.xml exports/B.xml exports/C.xml --to study")

# %%
manytruths("report study/study.toml")

# %%
# The reading log
# ---------------
# C did not open every image. The reading log records this, so that these images are not treated as empty masks.

with open(folder / "study/reads.csv", newline="") as file:
    for row in csv.DictReader(file):
        if row["rater"] == "C":
            print(row["case"], row["status"])

# %%
# The result is an ordinary study, with the ranks that the raters gave in CVAT.

study = mt.Study.open(folder / "study")
case = study["p02"]
table = case.tally()
image = case.picture()
masks = {column.name: mask for column, mask in case.read().masks.items()}
outlines = contour_overlay(image, masks, title="p02", subtitle="what each rater drew")
counts = case.paint(mt.common_heatmap(table))
heat = heat_overlay(image, counts, most=3, title="p02", caption="raters who marked it")

# %%
# Export to CVAT: the consensus and the disputed pixels, as annotations that can be corrected in CVAT.

manytruths("export cvat study --to for-cvat")
for read in read_cvat(folder / "for-cvat/annotations.xml")[:3]:
    print(read.image, {name: int(mask.sum()) for name, mask in read.structures().items()})
