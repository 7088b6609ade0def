"""Masks put onto other grids: exactly on one lattice, refused elsewhere, resampled only where that is wished."""

import itertools
import tracemalloc

import nibabel
import numpy as np
import pytest
import SimpleITK as sitk
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from scipy.spatial.transform import Rotation

import manytruths as mt
from manytruths import CallError, Grid, GridError
from manytruths.shape import alignment
from manytruths.shape.alignment import align, bounding_grid, lattice_steps, obstacle, plan_alignment

OBLIQUE = Rotation.from_euler("xyz", [12, -25, 7], degrees=True).as_matrix()
SPACING = (0.7, 1.1, 3.0)


def matrix(spacing=SPACING, origin=(4.0, -30.0, 11.0), rotation=OBLIQUE):
    affine = np.eye(4)
    affine[:3, :3] = rotation @ np.diag(spacing)
    affine[:3, 3] = origin
    return affine


def grid_of(shape, affine, **options):
    return Grid(tuple(shape), affine=affine.tolist(), **options)


def blob(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 4, shape).astype(np.uint8)


def moved(array, affine, axes=(0, 1, 2), back=(False,) * 3):
    """The same voxels with axes in another order, some of them running backwards; and the affine that says so."""
    turned = array.transpose(axes)[tuple(slice(None, None, -1) if b else slice(None) for b in back)]
    change = np.zeros((4, 4))
    change[3, 3] = 1
    for new, (old, b) in enumerate(zip(axes, back, strict=True)):
        change[old, new] = -1 if b else 1
        change[old, 3] = array.shape[old] - 1 if b else 0
    return np.ascontiguousarray(turned), affine @ change


def padded(array, affine, before, after):
    shift = np.eye(4)
    shift[:3, 3] = [-b for b in before]
    return np.pad(array, list(zip(before, after, strict=True))), affine @ shift


WAYS = list(itertools.product(itertools.permutations(range(3)), itertools.product((False, True), repeat=3)))


@pytest.mark.parametrize(("axes", "back"), WAYS)
def test_every_order_and_direction_of_axes_comes_back(axes, back):
    array, affine = blob((4, 2, 7)), matrix()
    other, its = moved(array, affine, axes, back)
    found = align(other, grid_of(other.shape, its), grid_of(array.shape, affine))
    np.testing.assert_array_equal(found.array, array)
    unchanged = axes == (0, 1, 2) and not any(back)
    assert found.done.how == ("" if unchanged else "reoriented")


@settings(deadline=None, max_examples=60)
@given(
    way=st.sampled_from(WAYS),
    shape=st.tuples(*[st.integers(1, 6)] * 3),
    before=st.tuples(*[st.integers(0, 3)] * 3),
    after=st.tuples(*[st.integers(0, 3)] * 3),
    seed=st.integers(0, 99),
)
def test_there_and_back_gives_the_same_voxels_and_the_same_table(way, shape, before, after, seed):
    array, affine = blob(shape, seed), matrix()
    mine = grid_of(shape, affine)
    other, its = moved(*padded(array, affine, before, after), *way)
    theirs = grid_of(other.shape, its)
    back = align(other, theirs, mine).array
    np.testing.assert_array_equal(back, array)
    np.testing.assert_array_equal(align(array, mine, theirs).array, other)
    assert mt.tally([array, back]) == mt.tally([array, array])
    assert mt.tally([align(array, mine, theirs).array, other]) == mt.tally([other, other])


@pytest.mark.parametrize("letters", ["RAS", "LPS", "ASR", "PIR", "SLA"])
def test_orientation_as_nibabel_does_it(letters):
    array, affine = blob((5, 4, 3)), matrix(rotation=np.eye(3))
    way = nibabel.orientations.axcodes2ornt(tuple(letters))
    image = nibabel.Nifti1Image(array, affine).as_reoriented(way)
    other = np.asarray(image.dataobj)
    oracle = nibabel.as_closest_canonical(image)
    onto = grid_of(oracle.shape, oracle.affine)
    found = align(other, grid_of(other.shape, image.affine), onto)
    np.testing.assert_array_equal(found.array, np.asarray(oracle.dataobj))


def itk(array, affine):
    """A SimpleITK image (left-posterior-superior) of an array by index x, y, z."""
    image = sitk.GetImageFromArray(np.ascontiguousarray(array.transpose(2, 1, 0)))
    lps = np.diag([-1.0, -1, 1, 1]) @ affine
    sides = np.linalg.norm(lps[:3, :3], axis=0)
    image.SetSpacing(sides.tolist())
    image.SetDirection((lps[:3, :3] / sides).ravel().tolist())
    image.SetOrigin(lps[:3, 3].tolist())
    return image


def from_itk(image):
    array = sitk.GetArrayFromImage(image).transpose(2, 1, 0)
    lps = np.eye(4)
    lps[:3, :3] = np.array(image.GetDirection()).reshape(3, 3) @ np.diag(image.GetSpacing())
    lps[:3, 3] = image.GetOrigin()
    return array, np.diag([-1.0, -1, 1, 1]) @ lps


@pytest.mark.parametrize("letters", ["LPS", "RAI", "SPL", "AIR"])
def test_orientation_as_simpleitk_does_it(letters):
    array, affine = blob((5, 4, 3)), matrix()
    wanted, its = from_itk(sitk.DICOMOrient(itk(array, affine), letters))
    found = align(array, grid_of(array.shape, affine), grid_of(wanted.shape, its))
    np.testing.assert_array_equal(found.array, wanted)


@pytest.mark.parametrize("rotation", [np.eye(3), OBLIQUE])
@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (0.35, 0.9, 4.0)])
def test_nearest_as_simpleitk_away_from_ties(rotation, spacing):
    array, affine = blob((14, 12, 6)), matrix(SPACING, rotation=np.eye(3))
    other = matrix(spacing, origin=(5.13, -29.17, 12.41), rotation=rotation)
    onto = grid_of((17, 13, 11), other)
    found = align(array, grid_of(array.shape, affine), onto, "nearest")
    assert found.done.how == "resampled"
    oracle = sitk.Resample(
        itk(array, affine), itk(np.zeros(onto.shape, np.uint8), other), sitk.Transform(), sitk.sitkNearestNeighbor, 0
    )
    np.testing.assert_array_equal(found.array, from_itk(oracle)[0])
    places = np.linalg.solve(affine, other)[:3] @ np.vstack([np.indices(onto.shape).reshape(3, -1), np.ones(17 * 143)])
    looked_up = ndimage.map_coordinates(array, places, order=0, mode="constant").reshape(onto.shape)
    inside = ((places >= 0) & (places <= np.array(array.shape)[:, None] - 1)).all(axis=0).reshape(onto.shape)
    np.testing.assert_array_equal(found.array[inside], looked_up[inside])
    assert found.array.any()


def test_half_way_is_the_later_voxel():
    array = np.arange(1, 5).reshape(4, 1, 1)
    onto = matrix((1, 1, 1), (0.5, 0, 0), np.eye(3))
    found = align(
        array, grid_of((4, 1, 1), matrix((1, 1, 1), (0, 0, 0), np.eye(3))), grid_of((4, 1, 1), onto), "nearest"
    )
    assert found.array.ravel().tolist() == [2, 3, 4, 0]


def test_marks_that_resampling_loses_are_counted():
    array, still = np.arange(1, 5).reshape(4, 1, 1), matrix((1, 1, 1), (0, 0, 0), np.eye(3))
    onto = grid_of((4, 1, 1), matrix((1, 1, 1), (0.6, 0, 0), np.eye(3)))
    found = align(array, grid_of((4, 1, 1), still), onto, "nearest")
    assert found.array.ravel().tolist() == [2, 3, 4, 0]
    assert found.done.detail.endswith("; 1 of 4 voxels that are not 0 lie outside and are lost")


@pytest.mark.slow
def test_resampling_holds_little_at_a_time():
    array, affine = np.ones((60, 300, 300), np.uint8), matrix((1, 1, 1), (0, 0, 0), np.eye(3))
    onto = grid_of(array.shape, matrix((1, 1, 1), (0.2, 0.1, 0.3), OBLIQUE))
    tracemalloc.start()
    try:
        align(array, grid_of(array.shape, affine), onto, "nearest")
        assert tracemalloc.get_traced_memory()[1] < 200 * 2**20  # of the coordinates alone there are 130 MB
    finally:
        tracemalloc.stop()


def test_resampling_in_parts_is_resampling_at_once(monkeypatch):
    array, onto = blob((9, 8, 7)), grid_of((8, 9, 5), matrix((0.8, 0.9, 2.0), (4.1, -29.0, 12.0), np.eye(3)))
    mine = grid_of(array.shape, matrix())
    whole = align(array, mine, onto, "nearest").array
    monkeypatch.setattr(alignment, "_AT_ONCE", 13)
    np.testing.assert_array_equal(align(array, mine, onto, "nearest").array, whole)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize(("share", "accepted"), [(0.0005, True), (0.002, False)])
def test_jitter(axis, share, accepted):
    array, affine = blob((6, 5, 4)), matrix()
    other = affine.copy()
    other[:3, 3] += OBLIQUE[:, axis] * share * min(SPACING)
    mine, onto = grid_of(array.shape, other), grid_of(array.shape, affine)
    if accepted:
        found = align(array, mine, onto)
        assert found.array is array
        assert found.done.how == "jitter"
        assert found.done.detail == "corners 0.0005 voxels apart"
        return
    with pytest.raises(
        GridError, match=r"the origin is 0\.0014 mm away, no whole number of voxels; resample it, or give"
    ):
        align(array, mine, onto)
    assert align(array, mine, onto, "nearest").done.how == "resampled"


def test_jitter_that_adds_up_along_the_volume():
    shape, affine = (400, 4, 4), matrix()
    stretched = affine.copy()
    stretched[:3, 0] *= 1 + 1e-5  # a thousandth of a voxel after a hundred, four after four hundred
    assert not grid_of((90, 4, 4), stretched).difference(grid_of((90, 4, 4), affine))
    assert lattice_steps(grid_of((90, 4, 4), stretched), grid_of(shape, affine)) is not None
    assert "spacing" in obstacle(grid_of(shape, stretched), grid_of((401, 4, 4), affine))


def test_jitter_of_a_padded_mask_is_told():
    array, affine = blob((4, 4, 4)), matrix()
    other, its = padded(array, affine, (1, 0, 0), (0, 0, 2))
    its[:3, 3] += OBLIQUE[:, 1] * 0.0003 * min(SPACING)
    done = align(array, grid_of(array.shape, affine), grid_of(other.shape, its)).done
    assert (done.how, done.detail) == ("padded", "padded by 1+0 × 0+0 × 0+2, corners 0.0003 voxels apart")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"spacing": (0.7, 1.1, 2.5)}, "spacing 0.7×1.1×2.5 mm instead of 0.7×1.1×3 mm"),
        ({"rotation": OBLIQUE @ Rotation.from_euler("z", 3, degrees=True).as_matrix()}, "axes turned by 3°"),
        ({"origin": (4.35, -30.0, 11.0)}, "the origin is 0.35 mm away, no whole number of voxels"),
    ],
)
def test_other_lattices_are_refused(change, said):
    array = blob((6, 5, 4))
    mine, onto = grid_of(array.shape, matrix(**change)), grid_of(array.shape, matrix())
    assert obstacle(mine, onto).endswith(said)
    with pytest.raises(GridError, match="--resample nearest"):
        align(array, mine, onto)
    assert plan_alignment(mine, onto, "nearest").how == "resampled"


def test_empty_margins_are_cropped_and_marks_are_not():
    inner, affine = blob((4, 4, 4)), matrix()
    outer, its = padded(inner, affine, (2, 0, 1), (0, 3, 0))
    onto = grid_of(inner.shape, affine)
    found = align(outer, grid_of(outer.shape, its), onto)
    np.testing.assert_array_equal(found.array, inner)
    assert (found.done.how, found.done.detail) == ("cropped", "cropped by 2+0 × 0+3 × 1+0")
    outer[0, :2, 0] = 1
    marked = np.count_nonzero(outer)
    with pytest.raises(GridError, match=f"2 of {marked} voxels that are not 0 outside of the wanted grid"):
        align(outer, grid_of(outer.shape, its), onto)


def test_a_mask_that_lies_wholly_elsewhere():
    array, affine = blob((3, 3, 3)), matrix()
    far = affine @ np.array([[1, 0, 0, 50], [0, 1, 0, 0], [0, 0, 1, -70], [0, 0, 0, 1.0]])
    mine, onto = grid_of(array.shape, far), grid_of(array.shape, affine)
    with pytest.raises(GridError, match="outside of the wanted grid"):
        align(array, mine, onto)
    assert not align(array * 0, mine, onto).array.any()


def test_what_only_guesses_is_not_turned():
    array, affine = blob((4, 3, 2)), matrix()
    other, its = moved(array, affine, back=(True, False, False))
    for guesses in ({"mine": False}, {"onto": False}):
        mine = grid_of(other.shape, its, oriented=guesses.get("mine", True))
        onto = grid_of(array.shape, affine, oriented=guesses.get("onto", True))
        assert obstacle(mine, onto) == "affine: axis 1 flipped"
        for resample in (None, "nearest"):
            with pytest.raises(GridError, match=r"axis 1 flipped; resample it$"):
                align(other, mine, onto, resample)


@pytest.mark.parametrize(
    ("mine", "onto"),
    [
        (Grid((4, 5)), Grid((4, 6))),
        (Grid((4, 5), (1, 1)), Grid((4, 5), (1, 2))),
        (Grid((4, 5, 6), (1, 1, 1)), Grid((4, 5, 7), (1, 1, 1))),
        (Grid((4, 5, 6)), grid_of((4, 5, 6), matrix())),
        (Grid((4, 5), affine=np.eye(3).tolist()), Grid((4, 6), affine=np.eye(3).tolist())),
        (grid_of((4, 5), matrix()), grid_of((5, 5), matrix())),
    ],
)
def test_nothing_to_align_by(mine, onto):
    assert obstacle(mine, onto) == mine.difference(onto) != ""
    for resample in (None, "nearest"):
        with pytest.raises(GridError, match=r"resample it$"):
            align(np.zeros(mine.shape), mine, onto, resample)


def test_axes_in_a_plane_are_no_lattice():
    flat = matrix()
    flat[:3, 2] = flat[:3, 0]
    assert lattice_steps(grid_of((3, 3, 3), matrix()), grid_of((4, 3, 3), flat)) is None
    assert lattice_steps(grid_of((4, 3, 3), flat), grid_of((3, 3, 3), matrix())) is None
    with pytest.raises(GridError):
        align(blob((4, 3, 3)), grid_of((4, 3, 3), flat), grid_of((3, 3, 3), matrix()), "nearest")


def test_a_single_slice_has_a_thickness():
    thick = matrix((0.7, 1.1, 4.0))
    assert lattice_steps(grid_of((3, 3, 1), thick), grid_of((3, 3, 5), matrix())) is None
    assert lattice_steps(grid_of((3, 3, 1), matrix()), grid_of((3, 3, 5), matrix())).start == (0, 0, 0)


def test_no_other_way_of_resampling():
    with pytest.raises(CallError, match="'linear'"):
        align(blob((2, 2, 2)), grid_of((2, 2, 2), matrix()), grid_of((2, 2, 2), matrix()), "linear")


@settings(deadline=None, max_examples=40)
@given(
    boxes=st.lists(
        st.tuples(st.tuples(*[st.integers(-4, 4)] * 3), st.tuples(*[st.integers(1, 4)] * 3), st.sampled_from(WAYS)),
        min_size=1, max_size=4,
    )
)  # fmt: skip
def test_a_box_holds_all_and_nothing_more(boxes):
    affine, grids, lows, highs = matrix(), [], [], []
    for start, shape, way in boxes:
        shift = np.eye(4)
        shift[:3, 3] = start
        array, its = moved(np.zeros(shape), affine @ shift, *way)
        grids.append(grid_of(array.shape, its))
        lows.append(start)
        highs.append(np.add(start, shape))
    found = bounding_grid(grids[0], grids[1:])
    size = np.max(highs, axis=0) - np.min(lows, axis=0)
    assert sorted(found.shape) == sorted(size.tolist())
    for grid in grids:
        assert np.count_nonzero(align(np.ones(grid.shape), grid, found).array) == np.prod(grid.shape)


def test_a_box_leaves_other_lattices_out_and_is_not_boundless():
    first = grid_of((4, 4, 4), matrix())
    assert bounding_grid(first, [grid_of((9, 9, 9), matrix((1, 1, 1)))]) is first
    far = matrix() @ np.array([[1, 0, 0, 10**7], [0, 1, 0, 10**7], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    with pytest.raises(GridError, match="more than 1073741824 voxels; correct the affines"):
        bounding_grid(first, [grid_of((4, 4, 4), far)])
    beyond = matrix(origin=(1e300, 0, 0))
    assert lattice_steps(grid_of((4, 4, 4), beyond), first) is None
    assert not align(blob((4, 4, 4)), grid_of((4, 4, 4), beyond), first, "nearest").array.any()


@pytest.mark.parametrize("order", ["C", "F"])
def test_what_is_moved_keeps_its_order_and_type(order):
    array, affine = np.asarray(blob((4, 3, 2)).astype(np.uint16), order=order), matrix()
    other, its = padded(array, affine, (1, 1, 1), (0, 0, 0))
    found = align(array, grid_of(array.shape, affine), grid_of(other.shape, its)).array
    assert found.dtype == np.uint16
    assert found.flags.f_contiguous == (order == "F")
