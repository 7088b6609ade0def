"""What ``report`` promises: statuses, files, names that stay at home, sizes, the same page every time, odd studies."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_numbers import held_against
from PIL import Image
from report_studies import CASES, ODD, write_simulated

import manytruths as mt
from study_folders import MANYTRUTHS, command, disc, files, run, table, untidy, write_png, write_study

pytestmark = pytest.mark.slow

FEW = ("--resamples", 40, "--quiet")


def views(page: Path) -> list[dict[str, Any]]:
    """The cases inside a page."""
    found = re.findall(r'<script type="application/json" id="case-\d+">(.*?)</script>', page.read_text(), re.DOTALL)
    return [json.loads(text) for text in found]


# --- statuses


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["nowhere/{rater}/{case}.png"], 1, "nowhere"),
        (["STUDY", "--to", "taken/report.html"], 1, "taken"),
        (["STUDY", "--to", "folder.html"], 1, "folder.html"),
        (["STUDY", "--to", "report.pdf"], 2, ".html"),
        (["STUDY", "--consensus", "nonsense"], 2, "methods are vote:any"),
        (["STUDY", "--consensus", "vote:7"], 2, "share above 0"),
        (["STUDY", "--exclude-group", "Nobody"], 2, "Nobody"),
        (["STUDY", "--resamples", "0"], 2, "from 1 to 100,000"),
        (["STUDY", "--jobs", "0"], 2, "at least 1"),
        (["STUDY", "--predictions", "nowhere/{algorithm}/{case}.png"], 1, "nowhere"),
    ],
)
def test_mistakes_are_one_line(arguments, status, said, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    template = write_study(tmp_path)
    (tmp_path / "taken").write_text("a file")
    (tmp_path / "folder.html").mkdir()
    done = run(capsys, "report", *(template if one == "STUDY" else one for one in arguments), "--quiet")
    assert done.status == status
    assert said in done.line
    assert done.out == ""
    assert not list(tmp_path.glob("**/report.html"))
    assert not untidy(tmp_path)


def test_a_mask_that_cannot_be_read_is_named(tmp_path, capsys):
    template = write_study(tmp_path)
    (tmp_path / "masks/B/p2.png").write_bytes(b"nothing")
    done = run(capsys, "report", template, "--to", tmp_path / "report.html")
    assert done.status == 1
    assert "p2" in done.line
    assert not (tmp_path / "report.html").exists()
    assert not (tmp_path / "report_files").exists()


def test_a_page_is_an_html_file(tmp_path):
    study = mt.Study.open(write_study(tmp_path))
    with pytest.raises(mt.ManytruthsError, match=r"ending \.html"):
        mt.report(study, to=tmp_path / "report.pdf")
    assert not list(tmp_path.glob("report*"))


@pytest.mark.parametrize("consensus", ["", "staple,staple", ["vote:0.5", "vote:0.5"], []])
def test_consensus_methods_are_different_ones(consensus, tmp_path):
    with pytest.raises(mt.ManytruthsError, match="different methods"):
        mt.report(write_study(tmp_path), to=tmp_path / "r.html", consensus=consensus)


def test_a_folder_gets_a_report(tmp_path, capsys):
    done = run(capsys, "report", write_study(tmp_path), "--to", tmp_path / "out", *FEW)
    assert (done.status, done.out, done.err) == (0, "", "")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"report.html", "report_files"}
    assert {path.name for path in (tmp_path / "out/report_files").iterdir()} == {
        "agree",
        "fuse",
        "plan",
        "run.json",
        "claims.csv",
        "summary.json",
    }
    steps = json.loads((tmp_path / "out/report_files/run.json").read_text())["seconds_by_step"]
    assert "planning" in steps


def test_what_is_printed_is_what_the_page_says_first(tmp_path, capsys):
    done = run(capsys, "report", write_study(tmp_path), "--to", tmp_path / "r.html", "--resamples", 40)
    short = re.search(r'<div class="lead">(.*?)</div>', (tmp_path / "r.html").read_text(), re.DOTALL)[1]
    said = [unescape(re.sub("<[^>]+>", "", part)) for part in re.findall(r"<p>(.*?)</p>", short, re.DOTALL)]
    assert done.out.splitlines()[: len(said)] == said
    assert str(tmp_path / "r.html") in done.out.replace("\n", "")


# --- what stays at home


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A study whose names, folders, patients and images must not leave the house."""
    folder = tmp_path_factory.mktemp("Krankenhaus-Quokka")
    rows = []
    for y in range(12):
        case = f"Zebra-{y:02}"
        rows.append(f"{case},Patient-Okapi-{y // 2},{'ab'[y % 2]}")
        for x, rater in enumerate(("Dr-Weiss", "Dr-Schwarz", "Dr-Grau")):
            write_png(folder / f"masks/{rater}/{case}.png", disc(32, x, y % 5 - 2, 8))
        write_png(folder / f"predictions/net/{case}.png", disc(32, 1, y % 4 - 2, 8))
        write_png(folder / f"images/{case}.png", np.full((32, 32), 20 * y, np.uint8))
    (folder / "images/Zebra-03.png").write_bytes(b"broken")
    (folder / "images/Zebra-04.png").unlink()
    (folder / "masks/Dr-Grau/Zebra-05.png").unlink()
    write_png(folder / "masks/Dr-Weiss/Zebra-06.png", disc(32) * 0)
    (folder / "cases.csv").write_text("\n".join(["case,subject,kind", *rows, ""]))
    (folder / "raters.csv").write_text("rater,expertise\nDr-Weiss,expert\nDr-Schwarz,novice\nDr-Grau,novice\n")
    (folder / "study.toml").write_text(
        'masks = "masks/{rater}/{case}.png"\nimages = "images/{case}.png"\ncases = "cases.csv"\nraters = "raters.csv"\n'
        'predictions = "predictions/{algorithm}/{case}.png"\n'
    )
    return folder


NAMES = ("Zebra", "Okapi", "Weiss", "Schwarz", "Grau", "Quokka", "Krankenhaus")


@pytest.mark.parametrize("most", [30, 5], ids=["inside", "beside"])
def test_codes_hide_every_name_and_folder(most, house, tmp_path, monkeypatch):
    from manytruths.reporting import findings

    monkeypatch.setattr(findings, "MOST_INSIDE", most)
    page, key = tmp_path / "report.html", tmp_path / "report_key.csv"
    made = mt.report(mt.Study.open(house), to=page, codes=True, resamples=40)
    assert made.key == key
    for path in files(tmp_path):
        if path != key:
            assert not [n for n in NAMES if n.lower() in path.read_text().lower()], path
            assert not [n for n in NAMES if n.lower() in str(path.relative_to(tmp_path)).lower()]
    assert not [line for line in made.lead for name in NAMES if name in line]
    held_against(page, made.folder)
    rows = table(key)
    assert {row["name"] for row in rows if row["kind"] == "rater"} == {"Dr-Weiss", "Dr-Schwarz", "Dr-Grau"}
    assert {row["name"] for row in rows if row["kind"] == "case"} == {f"Zebra-{y:02}" for y in range(12)}
    assert len({row["code"] for row in rows}) == len(rows)


def test_codes_are_the_same_the_next_time(house, tmp_path, capsys):
    line = ["report", house, "--to", tmp_path / "r.html", "--codes", "--exclude", "Dr-Grau=Zebra-01", *FEW]
    assert run(capsys, *line).status == 0
    before = (tmp_path / "r_key.csv").read_text()
    numbers = (tmp_path / "r_files/agree/agreement.csv").read_text()
    assert run(capsys, *line).status == 0
    assert (tmp_path / "r_key.csv").read_text() == before
    assert (tmp_path / "r_files/agree/agreement.csv").read_text() == numbers
    assert not [name for name in NAMES if name in (tmp_path / "r.html").read_text()]


def test_without_codes_there_is_no_key(house, tmp_path):
    made = mt.report(mt.Study.open(house), to=tmp_path / "r.html", resamples=40)
    assert made.key is None
    assert not (tmp_path / "r_key.csv").exists()
    assert "Zebra-03" in made.path.read_text()


def test_images_stay_at_home(house, tmp_path, capsys):
    assert run(capsys, "report", house, "--to", tmp_path / "r.html", "--no-show-images", *FEW).status == 0
    shown = views(tmp_path / "r.html")
    assert len(shown) == 12
    assert all(view["image"] is None for view in shown)
    # the images are grey and the same all over: each small picture would be of its own lightness
    pictures = re.findall(r'<img src="data:image/webp;base64,([^"]+)"', (tmp_path / "r.html").read_text())
    corners = [float(np.asarray(Image.open(as_file(each)).convert("L"))[0, 0]) for each in pictures]
    assert len(pictures) == 12
    assert np.ptp(corners) < 10


def as_file(text: str) -> Any:
    import io

    return io.BytesIO(base64.b64decode(text))


def test_images_are_shown_where_they_may_be(house, tmp_path):
    made = mt.report(mt.Study.open(house), to=tmp_path / "r.html", resamples=40)
    by_name = {view["name"]: view for view in views(made.path)}
    for name, view in by_name.items():
        missing = name in ("Zebra-03", "Zebra-04")
        assert (view["image"] is None) == missing
        assert view["note"].startswith("without its image") == missing


def test_nothing_is_looked_at_without_the_viewer(house, tmp_path, capsys):
    assert run(capsys, "report", house, "--to", tmp_path / "r.html", "--no-viewer", *FEW).status == 0
    text = (tmp_path / "r.html").read_text()
    assert views(tmp_path / "r.html") == []
    assert not re.search(r"data:image/(?:webp|png|jpeg)", text)  # the script that saves charts makes SVG of its own
    assert 'data-case="Zebra' not in re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)
    assert len(text) < 900_000
    held_against(tmp_path / "r.html", tmp_path / "r_files")


# --- sizes


@pytest.mark.slow
@pytest.mark.parametrize("noisy", [False, True], ids=["smooth", "noise"])
def test_thirty_large_cases_fit_into_a_mail(noisy, tmp_path):
    rng, size = np.random.default_rng(0), 1024
    ramp = np.add.outer(np.arange(size), np.arange(size)) // 8
    for number in range(30):
        image = rng.integers(0, 256, (size, size)) if noisy else ramp
        write_png(tmp_path / f"images/p{number:02}.png", image.astype(np.uint8))
        for x, rater in enumerate("ABC"):
            edge = rng.normal(0, 3, (size, size)) if noisy else 0
            rows, columns = np.mgrid[:size, :size] - size / 2
            mask = np.hypot(rows, columns - 9 * x) + edge < 200 + 5 * (number % 7)
            write_png(tmp_path / f"masks/{rater}/p{number:02}.png", mask.astype(np.uint8))
    study = mt.Study.open(f"{tmp_path}/masks/{{rater}}/{{case}}.png", images=f"{tmp_path}/images/{{case}}.png")
    made = mt.report(study, to=tmp_path / "r.html", resamples=40, jobs=2)
    assert made.path.stat().st_size < 3_000_000
    shown = views(made.path)
    assert len(shown) == 30
    assert all(view["image"] for view in shown)
    assert not list(made.folder.glob("cases/*"))


# --- again, at the same time, and half-way


@pytest.mark.slow
def test_jobs_and_the_order_of_sets_change_nothing(tmp_path):
    write_simulated(tmp_path / "study", 8, 64)
    pages, tables = set(), set()
    for seed, jobs in ((0, 1), (1, 2)):
        out = tmp_path / f"out{seed}"
        line = [MANYTRUTHS, "report", "study", "--predictions", "study/predictions/{algorithm}/{case}.png"]
        line += ["--jobs", jobs, "--to", out / "report.html", "--resamples", 40, "--quiet"]
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        subprocess.run(list(map(str, line)), env=environment, cwd=tmp_path, check=True)
        pages.add((out / "report.html").read_bytes())
        tables.add("".join(path.read_text() for path in sorted((out / "report_files").glob("*/*.csv"))))
    assert len(tables) == 1
    assert len(pages) == 1


def test_fewer_cases_leave_no_old_files(tmp_path):
    cases = {f"p{number:02}": {r: disc(16, x, 0, 4) for x, r in enumerate("ABC")} for number in range(34)}

    def made(count: int) -> set[str]:
        few = dict(list(cases.items())[:count])
        done = mt.report(mt.Study.from_arrays(few), to=tmp_path / "r.html", resamples=40)
        return {path.stem for path in (done.folder / "cases").glob("*")}

    assert made(34) == {str(number) for number in range(34)}
    (tmp_path / "r_files/cases/mine.txt").write_text("not ours")
    assert made(32) == {str(number) for number in range(32)} | {"mine"}
    assert made(8) == {"mine"}


@pytest.mark.slow
def test_a_killed_run_leaves_the_old_page_whole(tmp_path):
    template = write_study(tmp_path, raters="ABC", cases=[f"p{number:03}" for number in range(60)])
    page = tmp_path / "r.html"
    assert command("report", template, "--to", page, *FEW).status == 0
    before = {path: path.read_bytes() for path in files(tmp_path)}
    process = subprocess.Popen([MANYTRUTHS, "report", template, "--to", page, "--jobs", "2", "--title", "new", "-q"])
    for _ in range(400):
        if len(list((tmp_path / ".part-r_files/r_files/cases").glob("*.js"))) >= 5 or process.poll() is not None:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "it was too quick to be killed"
    time.sleep(0.5)
    assert {path: path.read_bytes() for path in before} == before
    assert command("report", template, "--to", page, "--title", "new", *FEW).status == 0
    assert "<title>new</title>" in page.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["masks", "r.html", "r_files"]
    assert not untidy(tmp_path)


# --- from Python, and studies of every kind


@pytest.mark.slow
@pytest.mark.parametrize("name", list(ODD))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_odd_studies_have_a_report(name, tmp_path):
    made = mt.report(mt.Study.from_arrays(ODD[name]()), to=tmp_path / "r.html", resamples=40)
    held_against(made.path, made.folder)
    text = made.path.read_text()
    shown = re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]+>", " ", text, flags=re.DOTALL)
    assert not re.search(r"\b(nan|None|inf|undefined\))\b", shown) or "mean_something" in name, shown
    assert len(views(made.path)) == len(made.findings.study)
    assert "No file was read: the masks were in memory." in unescape(text)


def test_labels_want_no_background(tmp_path):
    cases = {case: {r: disc(x=x) + 1 for x, r in enumerate("ABC")} for case in CASES}
    made = mt.report(mt.Study.from_arrays(cases), to=tmp_path / "r.html", resamples=40)
    assert made.findings.table("agree/agreement").row("dice").label == "macro mean"
    held_against(made.path, made.folder)


def test_exchangeable_raters_from_memory(tmp_path):
    cases = {case: [disc(x=x, y=y % 4) for x in range(3)] for y, case in enumerate(CASES)}
    made = mt.report(mt.Study.from_arrays(cases, raters="exchangeable"), to=tmp_path / "r.html", resamples=40)
    held_against(made.path, made.folder)


IMAGES: dict[str, Callable[[], np.ndarray]] = {
    "another size": lambda: np.zeros((50, 61), np.uint8),
    "colour": lambda: np.random.default_rng(0).integers(0, 255, (24, 24, 3)).astype(np.uint8),
    "colour and opacity": lambda: np.full((24, 24, 4), 128, np.uint8),
    "16 bits": lambda: (np.arange(24 * 24).reshape(24, 24) * 100).astype(np.uint16),
    "one value": lambda: np.zeros((24, 24), np.uint8),
}


@pytest.mark.parametrize("kind", list(IMAGES))
def test_images_of_every_kind(kind, tmp_path):
    template = write_study(tmp_path)
    for case in ("p1", "p2"):
        write_png(tmp_path / f"images/{case}.png", IMAGES[kind]())
    made = mt.report(
        mt.Study.open(template, images=f"{tmp_path}/images/{{case}}.png"), to=tmp_path / "r.html", resamples=40
    )
    for view in views(made.path):
        if kind == "another size":
            assert view["image"] is None
            assert view["note"].startswith("without its image")
            continue
        assert view["note"] == ""
        with Image.open(as_file(view["image"]["slices"][0])) as picture:
            pixels = np.asarray(picture.convert("RGB"), float)
        assert (np.ptp(pixels) > 60) == (kind in ("colour", "16 bits"))
        coloured = np.ptp(pixels, axis=-1).max() > 30
        assert coloured == (kind == "colour")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", ["float", "with holes", "infinite", "signed"])
def test_images_of_numbers(kind, tmp_path):
    image = np.linspace(-3, 5, 24 * 24).reshape(24, 24).astype(np.int16 if kind == "signed" else np.float32)
    if kind in ("with holes", "infinite"):
        image[3, 3] = np.nan if kind == "with holes" else np.inf
    for case in ("p1", "p2"):
        for x, rater in enumerate("AB"):
            folder = tmp_path / "masks" / rater
            folder.mkdir(parents=True, exist_ok=True)
            np.save(folder / f"{case}.npy", disc(x=x))
        (tmp_path / "images").mkdir(exist_ok=True)
        np.save(tmp_path / f"images/{case}.npy", image)
    study = mt.Study.open(f"{tmp_path}/masks/{{rater}}/{{case}}.npy", images=f"{tmp_path}/images/{{case}}.npy")
    made = mt.report(study, to=tmp_path / "r.html", resamples=40)
    for view in views(made.path):
        with Image.open(as_file(view["image"]["slices"][0])) as picture:
            assert np.ptp(np.asarray(picture.convert("L"), float)) > 100


def test_the_report_says_what_was_made(tmp_path):
    study = mt.Study.from_arrays(ODD["one_case_two_raters"]())
    made = mt.report(study, to=tmp_path / "r.html", title="Ours", resamples=40)
    assert isinstance(made, mt.Report)
    assert (made.path, made.folder, made.key) == (tmp_path / "r.html", tmp_path / "r_files", None)
    assert repr(made).startswith(f"<Report: 2 raters, 1 case, 1 subject; {tmp_path / 'r.html'} (")
    assert str(made.path) in made._repr_html_()
    assert made.lead[0] in made._repr_html_()
    assert set(made.tables) >= {"agree/agreement", "agree/pairs", "fuse/performance", "plan/plan"}
    for name, rows in made.tables.items():
        assert (made.folder / f"{name}.csv").is_file()
        assert len(rows.to_frame()) == len(rows)
    assert "<h1>Ours</h1>" in made.path.read_text()
    assert all(path.is_file() for path in made.files)
    summary = json.loads((made.folder / "summary.json").read_text())
    assert (summary["command"], summary["cases"], summary["raters"]) == ("report", 1, ["A", "B"])
    assert summary["files"] == sorted(path.relative_to(made.folder).as_posix() for path in made.files)


def test_who_is_absent_is_said(tmp_path, capsys):
    template = write_study(tmp_path)
    (tmp_path / "masks/B/p2.png").unlink()
    done = run(capsys, "report", template, "--to", tmp_path / "report.html")
    assert done.status == 0
    assert "B is absent from one case" in done.out
