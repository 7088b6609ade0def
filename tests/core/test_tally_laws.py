"""Laws of the table: sums, projections, permutations, labels."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manytruths as mt
import naive
from manytruths import CallError, Column, LabelError, Labels, Tallies, Tally, Unit
from manytruths.agreement import contingency
from manytruths.core.columns import natural_key
from manytruths.core.tally import align_counts, find_rows
from panels import VOID, panels


def counted(panel, **options):
    return mt.tally(panel.masks, labels=panel.labels, void=VOID, **options)


def tables(number):
    """Tables with different raters and label sets."""
    return st.lists(panels(raters=(1, 5), absent=True).map(counted), min_size=number, max_size=number)


@settings(max_examples=80)
@given(parts=tables(3), data=st.data())
def test_pooling_commutes_and_associates(parts, data):
    a, b, c = parts
    whole = mt.pool(parts)
    assert mt.pool(data.draw(st.permutations(parts))) == whole
    assert (a + b) + c == a + (b + c) == sum(parts) == mt.pool({"x": a, "y": b, "z": c}) == whole
    assert whole.items == a.items + b.items + c.items


@settings(max_examples=60)
@given(parts=tables(3))
def test_pooling_adds_patterns_and_leaves_void_where_a_column_is_not(parts):
    whole = mt.pool(parts)
    expected = naive.Counter()
    for part in parts:
        place = {c: i for i, c in enumerate(part.columns)}
        for row, count in naive.of_tally(part).items():
            expected[tuple(row[place[c]] if c in place else None for c in whole.columns)] += count
    assert naive.of_tally(whole) == expected
    assert set(whole.columns) == {c for part in parts for c in part.columns}
    assert set(whole.labels.values) == {v for part in parts for v in part.labels.values}


@settings(max_examples=60)
@given(parts=tables(4))
def test_aligned_tables_are_the_tables(parts):
    whole, counts = align_counts(parts)
    assert whole == mt.pool(parts)
    np.testing.assert_array_equal(counts.sum(axis=0), whole.counts)
    for row, part in zip(counts, parts, strict=True):
        again = whole.recount(row).restrict(row > 0, region="whole").project(part.columns)
        assert again == part.relabel(whole.labels)


@settings(max_examples=60)
@given(panel=panels(absent=True))
def test_rows_are_distinct_in_order_and_counted(panel):
    table = counted(panel)
    rows = [tuple(r) for r in table.patterns.tolist()]
    assert rows == sorted(set(rows))
    assert (table.counts > 0).all()
    assert table.counts.dtype == np.int64
    assert find_rows(table, table.patterns).tolist() == list(range(len(rows)))


@settings(max_examples=60)
@given(panel=panels(raters=(3, 6)), data=st.data())
def test_projecting_equals_counting_those_raters(panel, data):
    some = data.draw(st.lists(st.sampled_from(list(panel.masks)), min_size=1, unique=True))
    alone = mt.tally({rater: panel.masks[rater] for rater in some}, labels=panel.labels, void=VOID)
    table = counted(panel)
    assert table.project(some) == alone
    assert table.without(*[r for r in panel.masks if r not in some]).project(some) == alone
    if len(some) > 1:
        a, b = some[:2]
        assert table.pair(a, b) == alone.project((a, b))
        np.testing.assert_equal(mt.dice(table.pair(a, b)), mt.pairwise(mt.dice, table)[a, b])
        np.testing.assert_equal(mt.cohen_kappa(table.pair(a, b)), mt.pairwise(mt.cohen_kappa, table)[a, b])


@settings(max_examples=40)
@given(panel=panels(raters=(3, 5)), data=st.data())
def test_permuting_raters_permutes_results(panel, data):
    order = data.draw(st.permutations(range(len(panel.masks))))
    names = list(panel.masks)
    table = counted(panel)
    turned = table.project([names[i] for i in order])
    np.testing.assert_array_equal(contingency(turned), contingency(table)[np.ix_(order, order)])
    for statistic in (mt.dice, mt.sensitivity, mt.cohen_kappa):
        before, after = mt.pairwise(statistic, table), mt.pairwise(statistic, turned)
        np.testing.assert_array_equal(after.values, before.values[np.ix_(order, order)])
    assert turned.project(names) == table


@settings(max_examples=60)
@given(panel=panels(labels=(2, 2)))
def test_swapping_two_labels_swaps_what_is_said_of_them(panel):
    zero, one = panel.labels
    swapped = {r: np.where(m == VOID, VOID, np.where(m == zero, one, zero)) for r, m in panel.masks.items()}
    table, other = counted(panel), mt.tally(swapped, labels=panel.labels, void=VOID)
    for a, b in ((mt.sensitivity, mt.specificity), (mt.ppv, mt.npv)):
        np.testing.assert_array_equal(mt.pairwise(a, table).values, mt.pairwise(b, other).values)
        np.testing.assert_array_equal(mt.pairwise(b, table).values, mt.pairwise(a, other).values)
    assert mt.positive_agreement(table) == pytest.approx(mt.negative_agreement(other), nan_ok=True, abs=1e-14)
    assert mt.negative_agreement(table) == pytest.approx(mt.positive_agreement(other), nan_ok=True, abs=1e-14)


@settings(max_examples=40)
@given(panel=panels(labels=(3, 5)), data=st.data())
def test_one_label_against_the_rest(panel, data):
    label = data.draw(st.sampled_from(panel.labels))
    binary = {r: np.where(m == VOID, VOID, m == label) for r, m in panel.masks.items()}
    only = counted(panel).only(label)
    assert len(set(only.labels.names)) == 2
    assert naive.of_tally(only) == naive.count(naive.items(list(binary.values()), VOID))
    name = panel.labels.index(label)
    assert counted(panel).only(counted(panel).labels.names[name]) == only


@settings(max_examples=40)
@given(panel=panels(absent=True))
def test_votes_rated_marked(panel):
    table = counted(panel)
    for row, votes, rated, marked in zip(naive.of_tally(table), table.votes, table.rated, table.marked, strict=True):
        assert votes.tolist() == [row.count(v) for v in panel.labels]
        assert rated == len(naive.rated(row))
        assert marked == naive.marked(row)


@settings(max_examples=30)
@given(panel=panels(absent=True))
def test_copies_are_equal_and_differ_where_they_differ(panel):
    table = counted(panel, unit=(0.5, "mm"))
    assert pickle.loads(pickle.dumps(table)) == copy.deepcopy(table) == table
    assert table != counted(panel)
    assert table != counted(panel, unit=(0.5, "mm"), region="union")
    assert table + table != table
    assert table != "table"
    with pytest.raises(TypeError):
        hash(table)


def test_only_the_first_session_of_a_rater_votes():
    table = mt.tally({("A", "2"): [1, 1], ("A", "1"): [1, 0], ("A", "10"): [0, 0], "B": [1, 0]})
    assert table.rater_names == ("A", "B")
    assert mt.percent_agreement(table) == 1.0
    assert (table.position("A"), table.position("A@2")) == (1, 0)


def test_a_pair_of_any_two_columns():
    table = mt.tally({"x": [1, 0, 0], "y": [1, 1, 0]}, predictions={"x": [1, 1, 1]})
    rater, algorithm = Column("x"), Column("x", "algorithm")
    assert mt.dice(table.pair(rater, algorithm)) == pytest.approx(0.5)
    assert mt.dice(table.pair(rater, rater)) == 1.0
    assert mt.dice(table.pair("y", algorithm)) == pytest.approx(0.8)


def test_one_more_column():
    table = mt.tally([[1, 0, 0], [1, 1, 0]])
    more = table.append(Column("any", "reference"), table.marked > 0)
    assert mt.sensitivity(more.pair("1", "any")) == pytest.approx(0.5)
    assert more.role("reference") == (Column("any", "reference"),)
    assert more.without("any") == table


def test_no_columns_at_all_can_still_be_counted():
    table = mt.tally([[1, 0, 0]]).project([])
    assert table.items == 3
    assert "no item was rated" in mt.reason(mt.fleiss_kappa(table))


def test_many_columns_of_many_labels_keep_their_order():
    rows = np.random.default_rng(0).integers(0, 200, (500, 60)).astype(np.uint8)
    rows[::7, ::3] = 255
    columns = tuple(Column(str(i)) for i in range(60))
    table = Tally(columns, Labels(tuple(range(200))), rows, np.ones(500, int))
    assert [tuple(r) for r in table.patterns.tolist()] == sorted({tuple(r) for r in rows.tolist()})
    missing = np.full((1, 60), 3, np.uint8)
    assert find_rows(table, np.vstack([table.patterns[::-1], missing])).tolist() == [*range(499, -1, -1), -1]


# -- what does not add ----------------------------------------------------------------------------


def test_regions_and_units_add_only_when_asked_to():
    whole = mt.tally([[1, 0], [1, 1]])
    union = whole.restrict("union")
    with pytest.raises(CallError, match=r"regions union, whole.*mixed=True"):
        mt.pool([whole, union])
    with pytest.raises(CallError, match="regions"):
        whole + union
    assert mt.pool([whole, union], mixed=True).region == "mixed"
    fine, coarse = (mt.tally([[1, 0], [1, 1]], unit=(size, "mm³")) for size in (0.5, 2.0))
    with pytest.raises(CallError, match=r"item size: 1 × 0.5 mm³, 1 × 2 mm³.*mixed=True"):
        mt.pool([fine, coarse])
    with pytest.raises(CallError, match="item size"):
        mt.pool([fine, whole])
    assert mt.pool([fine, coarse], mixed=True).unit is None
    assert mt.pool([fine, fine]).unit == Unit(0.5, "mm³")


def test_people_and_slots_do_not_add():
    people, slots = mt.tally([[1, 0], [1, 1]]), mt.tally([[1, 0], [1, 1]], raters="exchangeable")
    with pytest.raises(CallError, match="exchangeable"):
        mt.pool([people, slots])
    assert (slots + slots).exchangeable


def test_one_value_under_two_names_does_not_add():
    a = mt.tally([[1, 0], [1, 1]], labels={1: "gland"})
    b = mt.tally([[1, 0], [1, 1]], labels={1: "tumour"})
    with pytest.raises(LabelError, match=r"1 is 'gland'.*'tumour'"):
        a + b


def test_refusals():
    table = mt.tally({"A": [1, 0], "B": [1, 1]})
    with pytest.raises(CallError, match="no tally"):
        mt.pool([])
    with pytest.raises(CallError, match="no column 'C'; there are A, B"):
        table.project(["A", "C"])
    with pytest.raises(CallError, match="the same: A, A"):
        table.project(["A", "A"])
    with pytest.raises(CallError, match="no label 'gland'; there are 0=background, 1"):
        table.only("gland")
    with pytest.raises(CallError, match=r"2; got shape \(1,\)"):
        table.restrict(np.array([True]))
    with pytest.raises(CallError, match="'union' to 'whole'"):
        table.restrict("union").restrict("whole")
    with pytest.raises(CallError, match="'union' to 'modified_background'"):
        table.restrict("union").restrict("modified_background")
    with pytest.raises(CallError, match="'middle'"):
        table.restrict("middle")
    with pytest.raises(CallError, match="algorithms or second sessions"):
        mt.tally({"A": [1, 0, 0], "B": [1, 0, 0]}, predictions={"u": [1, 0, 1]}).restrict("modified_background")
    with pytest.raises(CallError, match="'judge'"):
        Column("A", "judge")
    with pytest.raises(TypeError):
        table + 1
    with pytest.raises(TypeError):
        sum([table], start=1)


# -- tables by case -------------------------------------------------------------------------------


def test_tables_by_case():
    one, two = mt.tally([[1, 0], [1, 1]]), mt.tally([[0, 0], [1, 1]])
    cases = Tallies({"a": one, "b": two, "c": one}, {"a": "p1", "c": "p1"}, {"b": ["left", "old"]})
    assert cases.by_subject() == {"p1": ["a", "c"], "b": ["b"]}
    assert cases.groups == {"a": (), "b": ("left", "old"), "c": ()}
    assert cases.select(["c", "b"]).by_subject() == {"p1": ["c"], "b": ["b"]}
    assert cases.map(lambda t: t + t)["b"] == two + two
    assert cases.map(lambda t: t).subjects == cases.subjects
    assert Tallies.of(cases) is cases
    assert list(Tallies.of([one, two])) == ["0", "1"]
    with pytest.raises(CallError, match="function of a tally"):
        cases.map(3)


def test_natural_order():
    names = ["A10", "a2", "A2", "A02", "A1b10", "A1b9", "", "7", "٣"]
    ordered = sorted(names, key=natural_key)
    assert ordered.index("A2") < ordered.index("A10")
    assert ordered.index("A1b9") < ordered.index("A1b10")
    assert len({natural_key(n) for n in names}) == len(names)
