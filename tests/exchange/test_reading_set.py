"""Reads of several files must fit together."""

import pytest

from exchange_reads import read, square
from manytruths import FormatError, GridError, InputError, LabelError, StudyError
from manytruths.exchange.readings import case_names, combine_readings

A, B = square(2, 2, 5), square(3, 3, 5)


@pytest.mark.parametrize(
    ("images", "names"),
    [
        (["p01.png", "p02.png"], ["p01", "p02"]),
        (["left/p01.png", "right/p01.png", "p02.png"], ["left_p01", "right_p01", "p02"]),
        (["C:\\data\\p01.tif"], ["p01"]),
        (["/data/upload/3/ab-p01.jpg?d=1"], ["ab-p01"]),
        (["s3://bucket/p01.png"], ["p01"]),
        (["scan.nii.gz", "scan2.seg.nrrd"], ["scan", "scan2"]),
        (["zwölf Äpfel.png", ".hidden"], ["zwölf Äpfel", ".hidden"]),
        (["p01"], ["p01"]),
        (["a/p01.png", "a/p01.jpg"], ["p01", "p01"]),
    ],
)
def test_cases_are_called_as_their_images(images, names):
    assert list(case_names(images).values()) == names


@pytest.mark.parametrize("image", ["../p01.png", "a/../../etc/passwd", "..", "", "/", "a\0b.png", "..\\x.png"])
def test_names_that_lead_out_of_the_folder(image):
    with pytest.raises(FormatError, match="an image is called"):
        case_names([image])


def test_what_fits_together():
    found = combine_readings([read(marks=[A]), read(rater="ben", marks=[B]), read("p02.png")])
    assert (found.cases, found.raters, found.structures) == (("p01", "p02"), ("anna", "ben"), ("lesion",))


def test_a_rater_who_reads_a_case_twice():
    twice = [read(marks=[A], started="2024-02-01"), read(marks=[B], started="2024-01-01"), read(rater="ben", marks=[A])]
    with pytest.raises(StudyError, match=r"rater anna read case p01 twice in anna\.xml; name the raters apart"):
        combine_readings(twice)
    found = combine_readings(twice, sessions=True)
    by = {(one.rater, one.session): one.started for one in found.reads}
    assert by == {("anna", "1"): "2024-01-01", ("anna", "2"): "2024-02-01", ("ben", "1"): ""}


def test_sizes_that_differ():
    with pytest.raises(GridError, match=r"case p01: its image has 31 × 20 pixels in ben.xml and 30 × 20 in anna.xml"):
        combine_readings([read(), read(rater="ben", shape=(20, 31))])


def test_a_name_that_one_rater_alone_uses():
    other = square(1, 1, 4, "Lesoin")
    reads = [read(marks=[A]), read(rater="ben", marks=[B, other]), read(rater="eva", marks=[A])]
    with pytest.raises(LabelError, match=r"alone uses: 'Lesoin' \(ben; 'lesion'\?\); .*--rename-label Lesoin=lesion"):
        combine_readings(reads)
    assert combine_readings(reads, rename_label={"Lesoin": "lesion"}).structures == ("lesion",)
    assert combine_readings(reads, rename_label={"Lesoin": "Lesoin"}).structures == ("Lesoin", "lesion")


def test_every_lonely_name_is_listed_with_whose_it_is():
    reads = [
        read(marks=[square(1, 1, 3, "Tumor"), square(1, 1, 3, "gland")]),
        read(rater="ben", marks=[square(1, 1, 3, "tumour")]),
    ]
    with pytest.raises(
        LabelError, match=r"'Tumor' \(anna; 'tumour'\?\), 'gland' \(anna\), 'tumour' \(ben; 'Tumor'\?\)"
    ):
        combine_readings(reads)


def test_one_rater_may_use_any_name():
    assert combine_readings([read(marks=[A]), read(rater="ben")]).structures == ("lesion",)


def test_names_that_are_not_there():
    with pytest.raises(LabelError, match="there is no structure 'leison' to rename; did you mean 'lesion'"):
        combine_readings([read(marks=[A])], rename_label={"leison": "lesion"})
    with pytest.raises(StudyError, match="there is no rater 'ana' to rename; did you mean 'anna'"):
        combine_readings([read(marks=[A])], rename_rater={"ana": "Anna"})


def test_raters_are_renamed_and_so_are_parents():
    found = combine_readings(
        [read(marks=[A]), read(rater="ben", marks=[A], based_on="anna")], rename_rater={"anna": "Dr. A"}
    )
    assert [(one.rater, one.based_on) for one in found.reads] == [("Dr. A", ""), ("ben", "Dr. A")]


@pytest.mark.parametrize("name", ["", "a/b", "a\\b", "a\0"])
def test_raters_who_cannot_be_folders(name):
    with pytest.raises(StudyError, match="cannot be a folder"):
        combine_readings([read(rater=name, marks=[A])])


def test_parents_that_are_not_there():
    with pytest.raises(StudyError, match="case p01: the read of ben is based on 'model', of which there is no read"):
        combine_readings([read(marks=[A]), read(rater="ben", marks=[A], based_on="model")])


def test_reads_that_are_based_on_each_other():
    reads = [read(rater=who, marks=[A], based_on=on) for who, on in (("anna", "ben"), ("ben", "eva"), ("eva", "anna"))]
    with pytest.raises(StudyError, match=r"based on each other \(anna → ben → eva → anna\)"):
        combine_readings(reads)


def test_a_parent_who_read_it_twice():
    reads = [read(marks=[A], started="1"), read(marks=[A], started="2"), read(rater="ben", marks=[A], based_on="anna")]
    with pytest.raises(StudyError, match="based on 'anna', who read it more than once"):
        combine_readings(reads, sessions=True)
    reads[2] = read(rater="ben", marks=[A], based_on="anna/2")
    assert [one.session for one in combine_readings(reads, sessions=True).reads].count("1") == 2


def test_names_are_the_same_where_they_look_the_same():
    """Some files come from a Mac, where ü is u and two dots; some names end in a space."""
    composed, apart = "gr\u00f6\u00dfe", "gro\u0308\u00dfe"
    reads = [read(f"{composed}.png", "anna", [square(2, 2, 5, composed)])]
    reads += [read(f"{apart} .png", "ben", [square(2, 2, 5, f"{apart} ")], based_on=f"bj{apart}")]
    reads += [read(f"{apart}.png", f"bj{composed}", [square(2, 2, 5, apart)])]
    found = combine_readings(reads, rename_label={apart: "size"})
    assert (found.cases, found.structures) == ((composed,), ("size",))


def test_shapes_that_are_no_areas_are_counted_and_named():
    reads = [read(marks=[A], left_out={"points": 3, "polyline": 1}), read("p02.png", left_out={"points": 1})]
    told = r"case p01, rater anna: 3 points; case p01, rater anna: 1 polyline; .*--skip points,polyline or .*--widen"
    with pytest.raises(InputError, match=told):
        combine_readings(reads)
    with pytest.raises(InputError, match=r"1 polyline; leave"):
        combine_readings(reads, skip=["points"])
    found = combine_readings(reads, skip=["points", "polyline"])
    assert found.left_out == {
        ("p01", "anna", "points"): 3,
        ("p01", "anna", "polyline"): 1,
        ("p02", "anna", "points"): 1,
    }


def test_nothing_at_all():
    with pytest.raises(StudyError, match="no image at all"):
        combine_readings([])


def test_a_long_line_of_edits_takes_no_time():
    names = [f"r{k}" for k in range(2000)]
    reads = [read(rater=name, marks=[A], based_on=before) for name, before in zip(names, ["", *names], strict=False)]
    assert len(combine_readings(reads).reads) == 2000
    reads[0] = read(rater="r0", marks=[A], based_on="r1999")
    with pytest.raises(StudyError, match="based on each other"):
        combine_readings(reads)
