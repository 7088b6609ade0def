"""Hypothesis: no deadlines, which fail on a busy machine; in CI the same examples each time, so that a red run can be
repeated, and new ones on every developer's machine."""

import os

from hypothesis import settings

settings.register_profile("here", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")
