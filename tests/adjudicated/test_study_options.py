"""What a study.toml says for adjudication: logs, further series, reasons."""

import numpy as np
import pytest

import manytruths as mt
from decision_logs import adjudicate, three_readers, write_study
from manytruths import StudyError
from manytruths.io import write_map


def write(folder, more):
    write_study(folder / "m", three_readers())
    for case in ("p1", "p2"):
        (folder / "prior").mkdir(exist_ok=True)
        write_map(folder / "prior" / f"{case}.png", np.zeros((64, 80), np.uint8))
    (folder / "study.toml").write_text(f'masks = "m/{{rater}}/{{case}}.png"\n{more}')
    return folder / "study.toml"


def test_paths_are_relative_to_the_file(tmp_path, monkeypatch):
    path = write(
        tmp_path, 'decisions = "log"\nseries = { prior = "prior/{case}.png" }\nreasons = ["artefact", "other"]\n'
    )
    monkeypatch.chdir("/")
    study = mt.Study.open(path)
    assert study.options.decisions == str(tmp_path / "log")
    assert study.options.reasons == ("artefact", "other")
    assert study["p2"].series["prior"].path == tmp_path / "prior" / "p2.png"
    adjudicate(tmp_path / "log", study, lambda d: "union")
    assert mt.adjudicated(study).describe() == "1 adjudicator, 3 of 3 disputes decided"
    assert mt.consensus(mt.Study.open(path), "adjudicated")["p1"].values[44:54, 50:60].all()


@pytest.mark.parametrize("wrong", ["series = 3", 'series = { t2 = "" }', "reasons = [1]", 'reasons = "artefact"'])
def test_what_is_written_otherwise_is_refused(tmp_path, wrong):
    with pytest.raises(StudyError, match="is written as"):
        mt.Study.open(write(tmp_path, wrong))
