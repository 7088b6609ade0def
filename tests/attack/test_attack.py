"""The attacks under pytest: a test a share of a family, so that several processes can work on them."""

from __future__ import annotations

import sys

import pytest

from . import checks, honest
from .families.pixel_files import FORMATS, volume_of
from .inputs import catalogue, families
from .oracles import allowed
from .runner import Runner, repeat
from .signals import interruptions

SEED, SHARE = 0, 40
"""Attacks a test: few enough that processes share them evenly."""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="forks, limits and /proc of Linux")]


def shares() -> dict[str, list]:
    found = {}
    for family in (*families(), "signals"):
        every = [one for one in (*catalogue(), *interruptions(SEED)) if one.family == family]
        parts = -(-len(every) // SHARE)
        found |= {f"{family}-{part}": every[part::parts] for part in range(parts)}
    return found


SHARES = shares()


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    made = Runner(tmp_path_factory.mktemp("attack"), SEED)
    yield made
    made.close()


def test_there_are_enough_of_them_over_all_commands():
    assert len(catalogue()) >= 500
    assert len(list(interruptions(SEED))) >= 60
    met = {attack.command.split(" ")[0] for attack in catalogue()}
    assert met >= {*honest.OF_VOLUMES[:7], "rank", "import", "export", "train", "predict", "phantom", "demo"}
    assert {attack.command for attack in catalogue()} >= {f"import {tool}" for tool in honest.TOOLS}


def test_the_harness_sees_what_it_is_for(runner, tmp_path):
    """Reference readers read honest files, and the checks find what a bad run would leave."""
    for name, form in FORMATS.items():
        path = tmp_path / f"{name}{form.suffix}"
        path.write_bytes(form.bytes(1, 1))
        (array, *_) = allowed(path)
        wanted = volume_of(honest.mask(1, 1)) if form.volume else honest.mask(1, 1)
        if name not in ("jpeg", "tiff-stack"):
            assert ((array != 0) == (wanted != 0)).all(), name
    honest.write_study(tmp_path / "a")
    before = checks.snapshot(tmp_path / "a")
    (tmp_path / "a/in/masks/A/p1.png").write_bytes(b"x")
    (tmp_path / "a/out").mkdir()
    (tmp_path / "a/out/x.csv").write_text("a,b\n=1+1,2,3\n")
    assert checks._outside(before, checks.snapshot(tmp_path / "a"))
    assert checks.whole(tmp_path / "a/out")
    done = runner.server.run(["agree", "nowhere/{rater}/{case}.png"], tmp_path, tmp_path / "log")
    assert (done.status, done.hung, done.left) == (1, False, 0)


@pytest.mark.parametrize("share", SHARES)
def test_attacks(share, runner):
    failures = [failure for attack in SHARES[share] for failure in runner.attack(attack)]
    told = [f"{f.kind}: {f.attack} ({f.command}): {f.said}\n    {repeat(f.attack, SEED)}" for f in failures]
    assert not failures, "\n" + "\n".join(told)
