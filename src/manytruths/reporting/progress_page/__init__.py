"""The page about a study that runs, for who runs it and for each rater."""

from .page import ProgressPage, progress_page

__all__ = ["ProgressPage", "progress_page"]
