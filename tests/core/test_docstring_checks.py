"""What ``python -m tests.docstrings`` notices."""

from docstrings import _headings, _names_of_others

BROKEN = "Compute something.\n\nReferences\n---------- After Lampert 2016.\n"


def test_a_heading_that_runs_on_into_text_is_noticed():
    assert list(_headings(BROKEN)) == ["References has no line of dashes of its own beneath it"]
    assert not list(_headings(BROKEN.replace("- After", "-\nAfter")))


def test_a_pointer_to_a_name_that_is_not_public_is_noticed():
    assert list(_names_of_others("See :func:`rasterise`.")) == ["points to rasterise, which is not public"]
    assert not list(_names_of_others("See :func:`rasterise_polygon` and :func:`~manytruths.study.x`."))
