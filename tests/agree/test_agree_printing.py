"""What ``agree`` says of few subjects and of masks without marks."""

import io

import numpy as np
from rich.console import Console

import manytruths as mt
from manytruths.analyses.agree.agree import Agreement


def printed(result: Agreement) -> str:
    text = io.StringIO()
    result.print(Console(file=text, width=200))
    return text.getvalue()


def agreed(subjects: int, **options: int) -> Agreement:
    rng = np.random.default_rng(3)
    cases = {f"p{i:02}": {r: 255 * (rng.random((6, 6)) < 0.4) for r in "ABC"} for i in range(subjects)}
    return mt.agree(mt.Study.from_arrays(cases, **options), pictures=False, resamples=50)


def test_few_subjects_have_no_intervals_and_the_reason_is_given():
    text = printed(agreed(4))
    assert "Agreement\n" in text
    assert "intervals over subjects" not in text
    assert "• no intervals: they need at least 10 subjects, and there are 4" in text


def test_enough_subjects_have_intervals():
    text = printed(agreed(10))
    assert "Agreement, with 95% intervals over subjects" in text
    assert "no intervals" not in text


def test_void_that_takes_away_every_mark_is_noticed():
    notes = agreed(3, void=255).notes
    assert "no rater marked anything in any case; is void=255 the value of the marks?" in notes
    assert not any("marked anything" in note for note in agreed(3).notes)


def test_the_scale_of_the_words_is_named():
    assert "(Landis and Koch's scale, mean kappa)" in printed(agreed(4))
