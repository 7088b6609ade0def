"""Whatever an import writes can be opened, and has the same raters, cases, sessions and structures."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import manytruths as mt
from exchange_reads import read, square
from manytruths import InputError
from manytruths.analyses.importing.layout import on_disk
from manytruths.core.columns import compose_name
from manytruths.exchange import write_cvat
from manytruths.exchange.readings import combine_readings
from rights import obedient
from study_folders import run, volume, write_nifti

TRICKY = [
    "background", "Background", "any", "0", "1", "void", "union", "prediction", "reference", "exchangeable",
    "{case}", "{{x}}", "{", "a[0]", "[0]", "a*", "*", "a.npz", "a.npz.b", ".a", "a.", "..", " a", "con", "nul.png",
    "a" * 300, "é", "e\u0301", "ß", "SS", "a\u202eb", "a\u200fb", "a\nb", "a\x85b", "a,b", 'a"b', "a;b", "=1", "#a",
    "a/b", "a\\b", "p1", "P1", "p01", "-", "a'b", "a\u00a0", "\u3000a", "a%b", "~", "$HOME", "a=b", "\ufeff", "a\u2028",
]  # fmt: skip
names = st.one_of(st.sampled_from(TRICKY), st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8))


@pytest.mark.slow
@example("background", "b", "p", "q", "x", "y", True)
@example("background", "b", "p", "q", "x", "background", False)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(names, names, names, names, names, names, st.booleans())
def test_what_is_written_can_be_opened(rater, other, case, second, structure, another, several):
    """Or is refused before anything is written."""
    marks = [square(3, 4, 9, structure), *([square(12, 4, 5, another)] if several else [])]
    reads = [read(f"{c}.png", r, marks, case=c) for c in (case, second) for r in (rater, other)]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "s"
        try:
            found = combine_readings(reads)
            mt.import_study(found, to=home)
        except InputError:
            assert not home.exists()
            return
        study = mt.Study.open(home)
        assert set(study.rater_names) == {on_disk(name) for name in found.raters}
        assert {one.name for one in study} == {on_disk(name) for name in found.cases}
        labels = next(iter(study)).tally().labels
        structures = found.structures if len(found.structures) == 1 else map(on_disk, found.structures)
        assert set(labels.names) == {"background", *structures}
        assert {compose_name(name) for name in labels.names} == set(labels.names)


def test_files_that_are_no_text_or_no_files(tmp_path, capsys):
    paths = write_cvat(tmp_path, [read("p1.png", rater, [square(3, 4, 9)]) for rater in ("anna", "ben")])
    bad = Path(os.fsdecode(os.fsencode(tmp_path) + b"/eva\xff.xml"))
    bad.write_bytes(paths[0].read_bytes())
    for chosen in ([paths[0], bad], [tmp_path]):
        done = run(capsys, "import", "cvat", *chosen, "--to", tmp_path / "s")
        assert (done.status, done.line) == (
            1,
            f"manytruths: {tmp_path}/eva\\udcff.xml: its name is not UTF-8; rename it",
        )
    assert not (tmp_path / "s").exists()


def test_pipes_among_the_exports(tmp_path, capsys):
    """Also where a template finds them, and beside what is read."""
    os.mkfifo(tmp_path / "anna.json")
    write_nifti(tmp_path / "sub-1/anat/sub-1_rater-anna_dseg.nii.gz", volume())
    for ending in ("json", "tsv"):
        place = tmp_path / "sub-1/anat" / f"sub-1_rater-anna_dseg.{ending}"
        os.mkfifo(place)
        done = run(capsys, "import", "bids", tmp_path / "sub-1", "--to", tmp_path / "s")
        assert (done.status, f"{place}: is not a regular file" in done.line) == (1, True)
        place.unlink()
    done = run(capsys, "import", "coco", f"{tmp_path}/{{rater}}.json", "--to", tmp_path / "s")
    assert (done.status, f"{tmp_path}/anna.json: is not a regular file" in done.line) == (1, True)


@pytest.mark.slow
def test_a_closed_folder_among_those_to_read(tmp_path):
    (tmp_path / "in/ben").mkdir(parents=True)
    for rater in ("anna", "ben"):
        write_cvat(tmp_path / "in" / rater, [read("p1.png", rater, [square(3, 4, 9)])])
    (tmp_path / "in/ben").chmod(0o000)
    done = obedient("import", "cvat", tmp_path / "in", "--to", tmp_path / "s")
    (tmp_path / "in/ben").chmod(0o755)
    told = f"manytruths: {tmp_path}/in/ben: cannot be listed: Permission denied; check its rights"
    assert (done.status, done.line) == (1, told)


@pytest.mark.parametrize("name", ["background", "Background", "BACKGROUND "])
def test_a_structure_called_background(tmp_path, capsys, name):
    reads = [read(f"{c}.png", r, [square(3, 4, 9, name)]) for c in ("p1", "p2") for r in ("anna", "ben")]
    (tmp_path / "cvat").mkdir()
    paths = write_cvat(tmp_path / "cvat", reads)
    done = run(capsys, "import", "cvat", *paths, "--to", tmp_path / "s")
    assert done.status == 1
    assert f"a structure is called {name.strip()!r}" in done.line
    assert f"--rename-label {name.strip()}=OTHER" in done.line
    assert not (tmp_path / "s").exists()
    done = run(capsys, "import", "cvat", *paths, "--to", tmp_path / "s", "--rename-label", f"{name.strip()}=tissue")
    assert done.status == 0
    assert mt.Study.open(tmp_path / "s")["p1"].tally().labels.names == ("background", "tissue")
