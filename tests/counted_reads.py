"""How often files of images and masks are read."""

from __future__ import annotations

from collections import Counter

from manytruths.study import case, probabilities


def count_reads(monkeypatch):
    """A counter of how often each file is read from now on, by its path."""
    counts = Counter()

    def counting(read):
        def count(location):
            counts[str(location)] += 1
            return read(location)

        return count

    for module in (case, probabilities):
        for name, read in list(vars(module).items()):
            if name.startswith("read_") and read.__module__.startswith("manytruths.io"):
                monkeypatch.setattr(module, name, counting(read))
    return counts
