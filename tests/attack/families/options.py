"""Calls that make no sense: absurd numbers, contradictions, words that nobody knows; of every command."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from .. import honest
from ..honest import MASKS, PREDICTIONS, line
from ..model import Attack, Expected

RATINGS = ("reliability", "in/ratings.csv", "--no-pictures", "--out", "out")
PLAN = ("plan", "--rater-accuracy", "0.85", "--wanted", "0.95", "--no-pictures", "--resamples", "50", "--out", "out")

OF_ALL = ["--nosuch", "--jobs=0", "--jobs=-1", "--jobs=x", "--jobs=", "--jobs=1e3", "--void=x", "--spacing=0,0",
"--spacing=nan,1",
          "--spacing=1", "--spacing=1,1,1,1,1", "--spacing=", "--labels=x", "--labels=1=a,1=b",
        "--labels=1=background",
          "--labels=-1=a", "--labels=", "--labels=99=x", "--region=middle", "--overlap=larger", "--resample=cubic",
          "--exclude=A", "--exclude==", "--cases=nowhere.csv", "--raters=nowhere.csv", "--reads=nowhere.csv",
          "--cases=in", "--raters=/dev/null", "--images=", "--images=in/images/p1.png", "--images={nobody}",
          "--roi=in/nowhere/{case}.png", "--predictions=in/nowhere/{algorithm}/{case}.png",
        "--reference={reference}",
          "--limits=1,0", "--limits=nan,nan", "--limits=0", "--foreground=none", "--edited=perhaps"]  # fmt: skip
"""Options of every command that reads masks."""

OWN: dict[str, tuple[list[str], list[str]]] = {
    "agree": (line("agree"), [
        "--seed=-1", f"--seed={2**200}", "--kappa-scale=nobody",
        "--window=0", "--window=-3", "--window=4", "--window=99999", "--agreement-window=0",
        "--rank-base=nan --ranks=in/ranks/{rater}/{case}.png", "--rank-base=-1 --ranks=in/ranks/{rater}/{case}.png",
        "--rank-base=1e308 --ranks=in/ranks/{rater}/{case}.png",
        "--rank-shift=inf --ranks=in/ranks/{rater}/{case}.png",
        "--rank-largest=0 --ranks=in/ranks/{rater}/{case}.png",
        "--rank-largest=1000000000 --ranks=in/ranks/{rater}/{case}.png", "--exclude-group=nobody", "--exclude-group="]),
    "fuse": (line("fuse"), [
        "--consensus=nobody", "--consensus=", "--consensus=,", "--consensus=vote", "--consensus=vote:",
        "--consensus=vote:2",
        "--consensus=vote:nan",
        "--consensus=vote:-1", "--consensus=staple,staple", "--consensus=vote:0.5,vote:0.5", "--consensus=staple:3",
        "--consensus=excl:0",
        "--prior=nan", "--prior=-1", "--prior=2", "--prior=nobody", "--prior=", "--map-prior=1", "--map-prior=-1,-1",
        "--map-prior=nan,1", "--map-prior=x", "--smoothing=-1", "--smoothing=nan", "--smoothing=inf",
        "--simple-alpha=nan --consensus=simple", "--simple-alpha=-1 --consensus=simple",
        "--length-penalty=-1 --consensus=lsml", "--length-penalty=nan --consensus=lsml", "--rates=some",
        "--consensus=" + "staple" * 999]),
    "evaluate": (line("evaluate"), [
        "--consensus=nobody", "--consensus=", "--threshold=nan", "--threshold=2", "--skew=1,0", "--skew=nan,nan",
        "--skew=-1,2",
        "--tolerance=-1", "--tolerance=nan", "--boundary-share=0 --boundaries=outlines",
        "--boundary-share=-1 --boundaries=outlines",
        "--boundary-share=nan --boundaries=outlines", "--boundary-share=99 --boundaries=outlines", "--surfaces=lines",
        "--missing=best", "--second-look-algorithms=0", "--second-look-algorithms=-1",
        "--second-look-raters=nan", "--second-look-raters=2", "--second-look-min-size=-1", "--grades=nowhere.csv",
        "--key=nowhere",
        "--grade-scale=4,1", "--grade-scale=1", "--grade-scale=1,1000000000", "--best=99",
        "--grading-repeats=nan --grading-sheet",
        "--grading-repeats=-1 --grading-sheet", "--grading-per-subject=0 --grading-sheet", "--intensity-curves"]),
    "report": (line("report"), [
        "--consensus=nobody", "--prior=nan", "--threshold=nan", "--tolerance=-1", "--resamples=0",
        "--resamples=-1", "--resamples=x", "--resamples=1e9", "--kappa-scale=nobody",
        "--to=out/report.docx", "--title=\x1b[31m", "--title=" + "x" * 100_000, "--title=</title><script>",
        "--exclude-group=nobody", "--seed=-1"]),
    "reliability": (list(RATINGS), [
        "--kind=nobody", "--labels=x", "--labels=x,x", "--confidence-levels=0", "--confidence-levels=-1",
        "--confidence-levels=one",
        "--confidence-levels=99999999999",
        "--confidence=nowhere.csv", "--select-raters=nobody", "--select-raters=A", "--reference-column=nobody",
        "--reference-rater=nobody",
        "--filter=x",
        "--filter=a=1", "--cut=nan", "--cut=2", "--rating-range=5,1", "--rating-range=nan,nan", "--accuracy=A=2",
        "--accuracy=A=nan",
        "--accuracy=Z=0.5", "--accuracy=A", "--chance=nobody", "--chance=x=2,y=-1", "--chance=x=nan,y=0.5",
        "--chance=x=0.5",
        "--positive=nobody", "--partial=cubic", "--columns=case=nobody", "--columns=x",
        "--columns=case=case,case=rater",
        "--cases=nowhere.csv"]),
    "plan": (list(PLAN), [
        "--n-labels=0", "--n-labels=1", "--n-labels=-1", "--n-labels=100000", "--n-labels=1000000000000",
        "--n-raters=0",
        "--n-raters=-1",
        "--n-raters=1000000", "--max-raters=0", "--max-raters=100000000", "--wanted=2", "--wanted=nan",
        "--rater-accuracy=nan",
        "--rater-accuracy=1.5", "--rater-accuracy=x",
        "--rater-accuracy=" + ",".join(["0.8"] * 5000), "--rater-std=-1",
        "--correlation=2", "--correlation=nan", "--spread=-1", "--spread=1e308", "--agreement=2", "--agreement=nan",
        "--rho=-9",
        "--reported-accuracy=7", "--wanted-actual=nan", "--cost-rater=-1", "--cost-error=nan", "--kappa=2",
        "--kappa=nan",
        "--prevalence=2", "--width=0", "--width=nan", "--n-cases=0", "--n-cases=-1", "--gain=nan", "--gain=-1",
        "--level=1 --kappa=0.6 --prevalence=0.3 --width=0.1",
        "--level=0 --kappa=0.6 --prevalence=0.3 --width=0.1", "--level=nan", "--resamples=0", "--pilot=nowhere.csv",
        "--pilot=", "--cut=2", "--columns=a=b"]),
    "rank": (line("rank"), [
        "--metric=nobody", "--metric=", "--direction=dice=sideways", "--direction=x", "--missing=nan",
        "--missing=nobody",
        "--scheme=nobody", "--aggregate=mode", "--columns=case=nobody", "--columns=x", "--cases=nowhere.csv",
        "--algorithm=nobody",
        "--algorithm=u", "--consensus=nobody", "--label=nobody", "--alpha=0", "--alpha=2", "--alpha=nan",
        "--resamples=0",
        "--resamples=-1", "--seed=-1", "--title=" + "x" * 99_999, "--title=<script>"]),
    "export nnunet": (line("export nnunet"), [
        "--id=0", "--id=-1", "--id=1000", "--id=x", "--name=", "--name=../../x", "--name=a b", "--name=\u202e",
        "--folds=0",
        "--folds=1", "--folds=-1", "--folds=1000", "--consensus=nobody", "--disputed=nobody", "--disputed=soft",
        "--channel=",
        "--channel=a\nb", "--seed=-1"]),
    "export monai": (line("export monai"), ["--folds=0", "--folds=99", "--consensus=", "--disputed=ignore",
    "--seed=-1"]),
    "export coco": (line("export coco"), ["--consensus=nobody", "--consensus=vote:9", "--series=x"]),
    "export dicomseg": (["export", "dicomseg", MASKS, "--to", "out/dicomseg"], ["--series=nowhere", "--series=in",
    "--series="]),
    "import cvat": (line("import cvat"), [
        "--widen=0", "--widen=-1", "--widen=nan", "--widen=1e9", "--rename-label=x", "--rename-label=a=",
        "--rename-label=lesion=background",
        "--rename-label=lesion=vessel", "--rename-label=lesion=a/b", "--rename-rater=anna=ben",
        "--rename-rater=x", "--rename-case=p1=p2",
        "--skip=everything",
        "--rule=nobody", "--overlap=nobody", "--blank=nobody", "--unfinished=nobody", "--images=nowhere/{case}.png",
        "--images=x",
        "--rank-attribute=nobody", "--rater-field=nobody", "--jobs=0"]),
    "demo": (line("demo"), ["--n-cases=0", "--n-cases=-1", "--n-cases=x", "--size=0", "--size=63", "--size=1000000",
    "--seed=-1", "--jobs=0"]),
    "phantom": (line("phantom"), [
        "--n-subjects=0", "--n-subjects=-1", "--n-frames=0", "--size=0", "--size=63", "--size=10000000", "--seed=-1",
        "--jobs=0"]),
}  # fmt: skip

FINE = {
    "--labels=-1=a": "refused", "--raters=/dev/null": "refused",
    # what has an answer, or is only of no use here
    **dict.fromkeys((
        "--window=99999", "--exclude-group=", "--title=\x1b[31m", "--title=" + "x" * 100_000,
        "--title=</title><script>",
        "--title=" + "x" * 99_999, "--title=<script>", "--to=out/report.docx", "--rank-attribute=nobody",
        "--columns=case=case,case=rater",
        "--rename-case=p1=p2", "--rename-rater=anna=ben", "--rename-label=lesion=vessel",
        "--rater-field=nobody", "--skip=everything",
        f"--seed={2**200}", "--resamples=1e9", "--threshold=2", "--missing=nan", "--key=nowhere",
        "--tolerance=-1", "--second-look-min-size=-1", "--spacing=1", "--spacing=1,1,1,1,1", "--labels=99=x",
        "--limits=1,0", "--disputed=soft", "--disputed=ignore", "--filter=a=1", "--images=", "--spread=1e308",
        "--gain=-1",
        "--consensus=vote:2", "--rho=-9", "--folds=1000", "--folds=99", "--channel=", "--channel=a\nb",
        "--algorithm=u", "--raters=A", "--cut=2", "--grade-scale=1,1000000000",
        "--best=99", "--confidence-levels=99999999999", "--confidence-levels=0", "--intensity-curves",
        "--max-raters=100000000", "--rename-label=lesion=a/b",
        "--metric=",
        "--cost-rater=-1", "--name=\u202e", "--chance=x=0.5", "--images=nowhere/{case}.png", "--skew=-1,2",
        "--accuracy=Z=0.5", "--labels=1000000000000", "--raters=1000000", "--prior=2", "--threshold=nan",
        "--wanted-actual=nan", "--cases=in", "--second-look-raters=2", "--grade-scale=1", "--grade-scale=4,1",
        "--confidence-levels=-1",
        "--consensus=" + "staple" * 999, "--images={nobody}", "--images=in/images/p1.png", "--reference=",
        "--foreground=none", "--consensus=vote", "--consensus=vote:", "--consensus=",
        "--rater-accuracy=" + ",".join(["0.8"] * 5000),
        "--boundary-share=99 --boundaries=outlines", "--simple-alpha=-1 --consensus=simple",
        "--rank-largest=1000000000 --ranks=in/ranks/{rater}/{case}.png"), "either"),
}  # fmt: skip
"""Not refused, or not always."""


def _make(folder: Path, chance: random.Random) -> None:
    honest.write_study(folder)
    honest.write_more(folder)
    for name in ("scores", "ratings"):
        (folder / f"in/{name}.csv").write_text(getattr(honest, name)())
    for name, content in honest.exported("cvat").items():
        (folder / "in/cvat").mkdir(exist_ok=True)
        (folder / "in/cvat" / name).write_bytes(content)


def _merged(call: list[str], option: str) -> list[str]:
    """The call with options in the place of earlier ones of their names."""
    first, *rest = option.split(" --")
    if "--ranks" in option:
        call = [word for word in call if word != "--no-pictures"]
    for part in (first, *(f"--{more}" for more in rest)):
        name, sign, value = part.partition("=")
        if name in call and sign:
            at = call.index(name)
            call = [*call[: at + 1], value, *call[at + 2 :]]
        else:
            call = [*call, part]
    return call


def attacks() -> Iterator[Attack]:
    number = 0
    commands = ("agree", "fuse", "evaluate", "report", "export coco", "check")
    for k, option in enumerate(OF_ALL):
        command = commands[k % len(commands)]
        yield Attack(
            f"options/all-{option[2:]}-{command}",
            _make,
            _merged(line(command), option),
            FINE.get(option, "refused"),
            earlier=k % 2 == 0,
        )
    for command, (call, options) in OWN.items():
        for option in options:
            number += 1
            expected: Expected = FINE.get(option, "refused")
            yield Attack(
                f"options/{command}-{ascii(option[2:40])[1:-1]}",
                _make,
                _merged(call, option),
                expected,
                earlier=number % 3 == 0 and command != "export dicomseg",
                limits={"AS_ABOVE": 4 << 30},
            )
    for k, words in enumerate(
        (["nobody"], ["--nobody"], ["agree"], ["rank"], ["import"], ["import", "nobody", "x", "--to", "out"],
        ["export"],
         ["export", "nobody"], ["phantom", "nobody", "--to", "out"], ["predict"], ["predict", "x"], ["plan", "--out",
         "out"],
         ["agree", MASKS, MASKS, "--out", "out"], ["import", "cvat", "--to", "out"], ["import", "cvat", "in/cvat"],
         [""],
         ["agree", MASKS, "--out"], ["reliability", "--out", "out"], ["evaluate", MASKS, "--out", "out"],
         ["evaluate", MASKS, "--predictions", PREDICTIONS, "--probability", "--no-grey", "--out", "out"],
         ["evaluate", MASKS, "--predictions", MASKS, "--out", "out"], ["agree", "\udce9"], ["x" * 5000])
    ):  # fmt: skip
        expected = "either" if words in (["export"], ["evaluate", MASKS, "--out", "out"], [""]) else "refused"
        yield Attack(f"options/words-{k}", _make, words, expected)
