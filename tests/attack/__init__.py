"""Attacks on every command: malformed inputs, hostile places to write to, and signals at any moment.

``python -m tests.attack --seed 0`` runs all of them and prints a table; ``test_attack.py`` does the same under pytest.
"""

import sys
from pathlib import Path

# the honest parts of attacks are those of the other tests
if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))
