"""``python -m manytruths``."""

from .cli import main

main()
