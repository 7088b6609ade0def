"""A study that is watched for twelve weeks: who changes is named, and nobody is where nothing changes."""

from __future__ import annotations

import pytest

from .progress import CHANGES, is_right, watch_healthy, watch_scenario

QUICK = ("draws 16% larger", "another label from week 5 on", "copies from week 7 on")


@pytest.mark.parametrize("seed", range(4))
def test_healthy_studies_give_no_alarm(seed):
    seen = watch_healthy(seed)
    assert not seen.alarms
    assert not seen.masks


@pytest.mark.slow
def test_of_healthy_studies_few_give_an_alarm():
    seen = [watch_healthy(seed) for seed in range(1000, 1060)]
    # of 60 at 5%, as many or fewer in 98 of 100 sets
    assert sum(bool(one.alarms or one.masks) for one in seen) <= 7


@pytest.mark.parametrize("name", QUICK)
def test_who_changes_is_named(name):
    scenario, kind, who = CHANGES[name]
    seen = watch_scenario(1000, scenario)
    assert (kind, who) in seen.alarms
    assert all(is_right(about, who) for _, about in seen.alarms)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_who_changes_is_named_in_most_studies_and_soon(name):
    scenario, kind, who = CHANGES[name]
    seen = [watch_scenario(seed, scenario).alarms for seed in range(2000, 2012)]
    assert sum((kind, who) in alarms for alarms in seen) >= 11
    began = {"progress.labels": 5, "progress.copies": 7, "progress.drift_size": 4}[kind]
    weeks = [alarms[kind, who] for alarms in seen if (kind, who) in alarms]
    assert min(weeks) >= began
    assert kind == "progress.drift_size" or max(weeks) <= began + 1
