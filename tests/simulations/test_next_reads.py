"""What ``next`` asks for on real masks is ahead of other orders."""

from __future__ import annotations

import numpy as np
import pytest

from data_folder import HOME

from .next_reads import compare, interval, nodules, orders, tiles

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not HOME.is_dir(), reason="no real data: set MANYTRUTHS_DATA")]


@pytest.mark.parametrize(("panels", "alike"), [(tiles, False), (lambda data: nodules(data, 6), True)])
def test_next_is_ahead_of_other_orders(panels, alike):
    cases = panels(HOME)
    found = compare(cases, orders(cases, alike), 6)
    ahead = {name: interval(found["next"] - values)[0] for name, values in found.items()}
    assert ahead["any open reading"] > 0
    for name in ("fewest readings first", "most disputed first"):
        assert found["next"].mean() > found[name].mean()
    if alike:  # with few tiles it takes more runs to tell
        assert found["next"].mean() > found["means of cases alike are known"].mean() - 0.01
    assert found["oracle"].mean() > found["next"].mean()
    assert not np.isnan(found["next"]).any()
