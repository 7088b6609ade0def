"""The command lines whose numbers are frozen: what is renamed on the command line is renamed here.

``@data`` is the folder of real data. A line runs in a folder of its study, and writes to ``out/NAME``, NAME being its
key here; later lines may read what earlier ones wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from . import inputs

QUICK = "--resamples 100"
METHODS = "vote:any,vote:0.5,vote:all,excl:0.5,staple,simple,plurality,staple_map,lsml,lsmlp"
UNLABELLED = METHODS.replace("excl:0.5,", "")
"""Methods that do not tell raters apart."""


class Study(NamedTuple):
    """Data, and commands that are run on it."""

    commands: dict[str, str]
    needs: tuple[str, ...] = ()
    """Folders of the real data."""
    prepare: Callable[[Path, Path], None] | None = None
    """Makes inputs out of the data, before all commands."""
    between: Callable[[str, Path], None] | None = None
    """The same after a command."""


def written_to(line: str, folder: str) -> list[str]:
    """The options that say where results go."""
    verb = line.split()[0]
    if verb in {"export", "import", "phantom"}:
        return ["--to", folder, "--quiet"]
    if verb == "report":
        return ["--to", f"{folder}/report.html", "--quiet"]
    return ["--out", folder] if verb == "python" else ["--out", folder, "--quiet"]


DEMO = "out/demo/study"
PREDICTED = f'--predictions "{DEMO}/predictions/{{algorithm}}/{{case}}.png"'
TRUTH = '--reference "out/demo/known/{reference}/{case}.png"'
RANKED = f'"{DEMO}/ranks/{{rater}}/{{session}}/{{case}}.png" --images "{DEMO}/images/{{case}}.png"'

demo = Study(
    {
        "demo": "demo --n-cases 10 --size 96",
        "check": f"check {DEMO} {PREDICTED}",
        "agree-union": f"agree {DEMO} --region union --no-pictures --exclude-group CIN2",
        "agree-modified": f'agree "{DEMO}/masks/{{rater}}/1/{{case}}.png" --region modified_background --no-pictures',
        "fuse": f"fuse {DEMO} --consensus {METHODS}",
        "fuse-pooled": f"fuse {DEMO} --consensus staple,simple:2 --rates pooled --prior marked --no-pictures",
        "fuse-options": f"fuse {DEMO} --consensus staple,lsml:4 --prior estimated --smoothing 0.3 --map-prior 5,1.5 "
        f"--no-pictures",
        "fuse-left-out": f"fuse {DEMO} --consensus staple --unanimous exclude --no-pictures",
        "evaluate": f"evaluate {DEMO} {PREDICTED} {TRUTH} --consensus vote:0.5,simple --boundaries outlines "
        f"--intensity-curves "
        f"--missing exclude --surfaces pixels --tolerance 2",
        "evaluate-grey": f'evaluate {DEMO} --predictions "grey/{{algorithm}}/{{case}}.png" --probability '
        f"--limits 0,255 "
        f"--threshold 128 --no-distances --no-pictures",
        "evaluate-sheet": f"evaluate {DEMO} {PREDICTED} --consensus vote:0.5 --grading-sheet --no-distances "
        f"--no-second-look",
        "evaluate-grades": f"evaluate {DEMO} {PREDICTED} --consensus vote:0.5 --grades grades.csv --grade-scale 1,4 "
        f"--best 3 --no-distances --no-second-look --no-pictures",
        "rank": f"rank out/demo/evaluate/scores.csv --metric dice,hausdorff_95 --scheme test {QUICK}",
        "rank-median": "rank out/demo/evaluate/scores.csv --metric iou --aggregate median --missing exclude "
        f"--against vote:0.5,staple --no-pictures {QUICK}",
        "reliability": f"reliability {DEMO} --region union --lesion-min-size 3",
        "plan": f"plan --pilot {DEMO} --cost-rater 5 --cost-error 200 {QUICK}",
        "report": f"report {DEMO} {PREDICTED} --consensus vote:any,staple --no-viewer {QUICK}",
        "export-nnunet": f"export nnunet {DEMO} --disputed ignore",
        "export-nnunet-replicate": f"export nnunet {DEMO} --disputed replicate --folds 3 --seed 1",
        "export-monai": f"export monai {DEMO} --disputed soft --consensus staple",
        "export-coco": f"export coco {DEMO} --consensus vote:0.5",
        "export-cvat": f"export cvat {DEMO}",
        "export-labelstudio": f"export labelstudio {DEMO} --consensus simple --no-mark-disputed",
        "import-coco": "import coco out/export-coco/annotations.json",
        "import-cvat": "import cvat out/export-cvat/annotations.xml",
        "import-labelstudio": "import labelstudio out/export-labelstudio/predictions.json",
        "python": f"python consensus_calls.py {METHODS} out/fuse/fuse {DEMO}",
    },
    between=inputs.demo_inputs,
)

labels = Study(
    {
        "demo": "demo --n-cases 6 --size 64 --seed 3",
        "check": f"check {RANKED}",
        "agree": f"agree {RANKED}",
        "fuse": f"fuse {RANKED} --consensus plurality,staple,vote:0.5,simple --no-pictures",
        "fuse-united": f"fuse {RANKED} --foreground any --consensus {METHODS} --no-pictures",
        "evaluate": f'evaluate {RANKED} --predictions "{DEMO}/ranks/{{algorithm}}/1/{{case}}.png" --consensus staple '
        f"--no-pictures",
        "reliability": f"reliability {RANKED.split(' --')[0]}",
        "export-nnunet": f"export nnunet {RANKED} --consensus plurality",
        "export-monai": f"export monai {RANKED} --disputed soft --consensus staple",
        "export-coco": f"export coco {RANKED} --consensus staple",
        "import-coco": "import coco out/export-coco/annotations.json",
        "python": f"python consensus_calls.py {METHODS} out/fuse/fuse {RANKED.split(' --')[0]}",
        "python-united": f"python consensus_calls.py {METHODS} out/fuse-united/fuse {RANKED.split(' --')[0]} "
        "foreground=any",
    },
)

echo = Study(
    {
        "phantom": "phantom echo --n-subjects 4 --n-frames 3 --size 64 --seed 3",
        "agree": "agree out/phantom",
        "evaluate": 'evaluate out/phantom --predictions "out/phantom/references/{algorithm}/{case}.png" '
        "--intensity-curves --consensus vote:0.5 --no-pictures",
        "report": f"report out/phantom {QUICK}",
    },
)

FISSURE = '"@data/fissure/raters/{rater}/{case}.png"'
DETECTED = '--predictions "@data/fissure/predictions/{algorithm}/{case}.png" --probability --limits 0,255'

fissure = Study(
    {
        "check": f"check {FISSURE} {DETECTED}",
        "agree": f'agree {FISSURE} --images "@data/fissure/images/{{case}}.png"',
        "fuse": f"fuse {FISSURE} --consensus {METHODS} --prior marked",
        "evaluate-grey": f"evaluate {FISSURE} {DETECTED} --skew 0.1,0.5 --prior marked "
        "--consensus vote:any,vote:0.5,vote:0.75,excl:0.5,staple "
        '--training "@data/fissure/training/{algorithm}/{case}.png" --reference "given/{reference}/{case}.png" '
        f"--no-pictures",
        "evaluate-masks": f'evaluate {FISSURE} --predictions "cut/{{algorithm}}/{{case}}.png" --consensus '
        f"vote:0.5,staple "
        f"--no-distances",
        "rank": f"rank out/evaluate-grey/evaluate/scores.csv {QUICK}",
        "reliability": f"reliability {FISSURE} --lesion-min-size 20",
        "plan": f"plan --pilot {FISSURE} {QUICK}",
        "report": f"report {FISSURE} {DETECTED} --no-distances {QUICK}",
        "export-coco": f"export coco {FISSURE} --consensus vote:0.5",
        "import-coco": "import coco out/export-coco/annotations.json",
        "python": f"python consensus_calls.py {METHODS} out/fuse/fuse {FISSURE}",
    },
    ("fissure",),
    inputs.fissure,
)

CHASE = (
    '"@data/chasedb1/raters/{rater}/{case}.png" --roi "@data/chasedb1/roi/{case}.png" --cases patients.csv '
    '--images "@data/chasedb1/images/{case}.jpg"'
)
SOME = '"some/{rater}/{case}.png" --roi "@data/chasedb1/roi/{case}.png"'

chase = Study(
    {
        "check": f"check {CHASE}",
        "agree": f"agree {CHASE} --no-pictures",
        "agree-some": f'agree {SOME} --images "@data/chasedb1/images/{{case}}.jpg"',
        "fuse": f"fuse {SOME} --consensus {METHODS} --no-pictures",
        "evaluate": f'evaluate {SOME} --predictions "predictions/{{algorithm}}/{{case}}.png" --boundaries lines '
        f"--no-pictures",
        "evaluate-grey": f'evaluate {SOME} --predictions "grey/{{algorithm}}/{{case}}.png" --probability '
        f"--threshold 128 "
        f"--no-distances --no-pictures",
        "evaluate-rater": f'evaluate {CHASE} --predictions "@data/chasedb1/raters/2ndHO/{{case}}.png" --no-distances '
        f"--no-pictures",
        "rank": f"rank out/evaluate/evaluate/scores.csv --metric dice,surface_dice --no-pictures {QUICK}",
        "reliability": f"reliability {SOME}",
        "export-monai": f'export monai {SOME} --images "@data/chasedb1/images/{{case}}.jpg" --disputed ignore',
        "python": f"python consensus_calls.py {METHODS} out/fuse/fuse "
        '"some/{rater}/{case}.png" "roi=@data/chasedb1/roi/{case}.png"',
    },
    ("chasedb1",),
    inputs.chase,
)

NODULES = '"lidc.npz/{case}[{rater}]" --cases cases.csv'
SLOTS = f"{NODULES} --raters exchangeable"

lidc = Study(
    {
        "check": f"check {SLOTS}",
        "agree": f"agree {SLOTS}",
        "agree-named": f"agree {NODULES} --region modified_background --no-pictures",
        "fuse": f"fuse {SLOTS} --consensus {UNLABELLED} --no-pictures",
        "fuse-named": f"fuse {NODULES} --consensus excl:0.5,staple --region union --no-pictures",
        "evaluate": f'evaluate {SLOTS} --predictions "predictions/{{algorithm}}/{{case}}.npy" --no-pictures',
        "evaluate-grey": f'evaluate {SLOTS} --predictions "grey/{{algorithm}}/{{case}}.npy" --probability --limits 0,1 '
        f"--no-pictures",
        "rank": f"rank out/evaluate/evaluate/scores.csv --no-pictures {QUICK}",
        "reliability": f"reliability {SLOTS}",
        "plan": f"plan --pilot {NODULES.split(' --')[0]} {QUICK}",
        "report": f"report {SLOTS} --no-viewer {QUICK}",
        "python": f"python consensus_calls.py {METHODS} out/fuse/fuse {NODULES.split(' --')[0]} raters=exchangeable",
    },
    ("lidc",),
    inputs.lidc,
)

FEWER = "vote:any,vote:0.5,vote:all,excl:0.5,staple,simple,plurality,lsml"
"""Without what takes long in a volume."""
VOLUME = '"masks/{rater}/{case}.nii.gz"'

volume = Study(
    {
        "check": f"check {VOLUME}",
        "agree": f"agree {VOLUME}",
        "fuse": f"fuse {VOLUME} --consensus {FEWER} --no-pictures",
        "evaluate": f'evaluate {VOLUME} --predictions "predictions/{{algorithm}}/{{case}}.nii.gz" --no-pictures',
        "reliability": f"reliability {VOLUME}",
        "report": f"report {VOLUME} {QUICK}",
        "export-slicer": f"export slicer {VOLUME}",
        "export-bids": f"export bids {VOLUME}",
        "import-slicer": "import slicer out/export-slicer",
        "import-bids": "import bids out/export-bids",
        "python": f"python consensus_calls.py {FEWER} out/fuse/fuse {VOLUME}",
    },
    ("volume",),
    inputs.volume,
)

VANDYKE = "@data/ratings/VanDyke.csv --columns rater=reader,label=rating,reference=truth --filter treatment=1"

ratings = Study(
    {
        "vandyke": f"reliability {VANDYKE} --cut 3 --rating-range 1,5",
        "vandyke-given": f"reliability {VANDYKE} --cut 3 --rating-range 1,5 --accuracy 1=0.9,2=0.8,3=0.85,4=0.8,5=0.9 "
        f"--chance empirical --no-pictures",
        "malignancy": "reliability malignancy.csv --kind ordinal --partial quadratic",
        "fleiss": "reliability fleiss1971_psychiatric.csv",
        "krippendorff": "reliability krippendorff_canonical.csv --kind ordinal --partial linear",
        "krippendorff-numeric": "reliability krippendorff_wikipedia.csv --kind numeric",
        "plan-majority": "plan --rater-accuracy 0.85 --wanted 0.95 --correlation 0.2",
        "plan-differing": "plan --rater-accuracy 0.8,0.9,0.85 --wanted 0.95 --spread 0.5",
        "plan-labels": "plan --rater-accuracy 0.7 --wanted 0.9 --n-labels 4",
        "plan-nomogram": "plan --agreement 0.8 --reported-accuracy 0.9 --wanted-actual 0.9 --n-raters 5",
        "plan-rho": "plan --rho 0.7 --reported-accuracy 0.9 --n-raters 3",
        "plan-kappa": "plan --kappa 0.6 --prevalence 0.3 --kappa-width 0.2 --n-raters 4",
        "plan-cases": "plan --kappa 0.6 --prevalence 0.3 --n-cases 100 --n-raters 4",
        "plan-pilot": f"plan --pilot {VANDYKE} --cut 3 --wanted 0.95 {QUICK}",
        "plan-pilot-costs": f"plan --pilot malignancy.csv --cut 3 --cost-rater 5 --cost-error 200 {QUICK}",
    },
    ("ratings", "worked", "lidc"),
    inputs.ratings,
)

STUDIES = {
    "demo": demo,
    "labels": labels,
    "echo": echo,
    "ratings": ratings,
    "fissure": fissure,
    "chase": chase,
    "lidc": lidc,
    "volume": volume,
}
