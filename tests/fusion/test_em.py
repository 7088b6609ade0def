"""The steps of EM on packed and on dense decisions, and its acceleration, against EM written out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import manytruths as mt
from manytruths.fusion import em
from manytruths.fusion.staple import decide, pseudo_counts

VOID = 255

OPTIONS = {
    "prevalence": {},
    "marked": {"prior": "marked"},
    "estimated": {"prior": "estimated"},
    "map prior": {"map_prior": (5.0, 1.5)},
    "estimated with map prior": {"prior": "estimated", "map_prior": (2.0, 2.0)},
    "unanimous": {"unanimous": "exclude"},
}


@st.composite
def tables(draw: st.DrawFn) -> mt.Tally:
    """Two to seven raters of one hidden truth, some of them absent or not rating everything."""
    raters, labels = draw(st.integers(2, 7)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    truth = rng.integers(0, labels, 300)
    careful = draw(st.floats(0.3, 0.95))
    masks = np.where(rng.random((raters, 300)) < careful, truth, rng.integers(0, labels, (raters, 300)))
    if draw(st.booleans()):
        masks = np.where(rng.random(masks.shape) < 0.1, VOID, masks)
    if draw(st.booleans()) and raters > 2:
        masks[-1] = VOID
    return mt.tally(list(masks), void=VOID, labels=range(labels))


@contextmanager
def settings_of(**values: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setattr(em, name, value)
        yield


PACKED = {"MOST_CHOICES": 0, "MOST_CODES": 9}
"""Packed, however small the table, in several groups."""


def plain_em(table: mt.Tally, options: dict[str, object], steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Confusion matrices, prior and W after so many steps, rater by rater and label by label."""
    labels, rows = len(table.labels), table.patterns
    counts = np.where(table.rated > 0, table.counts, 0).astype(float)
    if options.get("unanimous") == "exclude":
        counts[(table.rated > 1) & (table.votes.max(axis=1) == table.rated)] = 0
    weight = table.votes / np.maximum(table.rated, 1)[:, None]
    prior = counts @ weight / counts.sum()
    if options.get("prior") == "marked":
        share = counts @ (table.marked > 0) / counts.sum()
        prior = np.append(1 - share, share * prior[1:] / prior[1:].sum())
    pseudo = pseudo_counts(options.get("map_prior"), labels)  # type: ignore[arg-type]
    confusion = np.zeros((rows.shape[1], labels, labels))
    gave = [[np.flatnonzero(rows[:, j] == given) for given in range(labels)] for j in range(rows.shape[1])]
    for _ in range(steps):
        for j in range(rows.shape[1]):
            for truth in range(labels):
                true = counts * weight[:, truth]
                mass = [true[gave[j][given]].sum() + pseudo[truth, given] for given in range(labels)]
                confusion[j, truth] = np.array(mass) / sum(mass) if sum(mass) else np.full(labels, np.nan)
        if options.get("prior") == "estimated":
            prior = counts @ weight / counts.sum()
        with np.errstate(divide="ignore"):
            joint = np.tile(np.log(prior), (len(rows), 1))
            for j in range(rows.shape[1]):
                rates = np.log(np.where(np.isnan(confusion[j]), 1 / labels, confusion[j]))
                there = rows[:, j] != VOID
                joint[there] += rates[:, rows[there, j]].T
            joint = np.where(np.isneginf(joint).all(axis=1, keepdims=True), np.log(prior), joint)
        weight = np.exp(joint - joint.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
    return confusion, prior, weight


@pytest.mark.parametrize("kind", ["dense", "packed"])
@pytest.mark.parametrize("name", OPTIONS)
@given(table=tables())
@settings(max_examples=25)
def test_rates_are_those_of_em_written_out(kind: str, name: str, table: mt.Tally) -> None:
    options = OPTIONS[name]
    assume(name != "marked" or (table.marked[table.rated > 0] == 0).any())
    with settings_of(**(PACKED if kind == "packed" else {})):
        found = mt.staple(table, **options)  # type: ignore[arg-type]
    assume(0 < len(found.log_likelihood) <= em.PLAIN)
    confusion, prior, weight = plain_em(table, options, found.iterations)
    assert found.confusion == pytest.approx(confusion, abs=1e-10, nan_ok=True)
    assert np.atleast_1d(found.prior)[-1] == pytest.approx(prior[-1], abs=1e-10)
    known = table.rated > 0
    if name == "unanimous":
        known &= table.votes.max(axis=1) < table.rated
    theirs = weight[:, 1] if len(table.labels) == 2 else weight
    assert np.asarray(found.probability)[known] == pytest.approx(theirs[known], abs=1e-9)


@given(table=tables(), data=st.data())
@settings(max_examples=40)
def test_packed_products_are_those_of_a_matrix(table: mt.Tally, data: st.DataObject) -> None:
    """Also of rates that are 0, or cannot be told."""
    rows, labels = table.patterns, len(table.labels)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    rates = rng.dirichlet(np.ones(labels), (rows.shape[1], labels))
    rates[0, 0], rates[-1, -1] = np.eye(labels)[0], np.nan
    mass = rng.random((len(rows), 3))
    dense = em.Dense(rows, labels)
    with settings_of(MOST_CODES=data.draw(st.sampled_from([1, 9, 1024]))):
        packed = em.Packed(rows, labels)
    assert packed.log_products(rates) == pytest.approx(dense.log_products(rates), rel=1e-13, abs=1e-13)
    assert packed.sums(mass) == pytest.approx(dense.sums(mass), rel=1e-13, abs=1e-13)
    assert (packed.chosen == dense.chosen).all()


def slow_table(seed: int, raters: int = 5, labels: int = 2, known: float = 0.15) -> mt.Tally:
    """Raters who know so little that EM takes hundreds of iterations."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, labels, 4000)
    guess = rng.integers(0, labels, (raters, 4000))
    return mt.tally(list(np.where(rng.random((raters, 4000)) < known, truth, guess)), labels=range(labels))


def plain_fit(table: mt.Tally, options: dict[str, object], tol: float) -> em.Fit:
    decisions = em.Decisions.of(table)
    prior = decisions.mean_share(decisions.counts)
    pseudo = pseudo_counts(options.get("map_prior"), len(table.labels))  # type: ignore[arg-type]
    estimate = options.get("prior") == "estimated"
    return em.fit_em(decisions, decisions.share, prior, estimate, pseudo, tol, 10**6, plain=10**6)


@pytest.mark.parametrize("options", [{}, {"prior": "estimated"}, {"map_prior": (3.0, 2.0)}], ids=str)
@pytest.mark.parametrize("table", [slow_table(6), slow_table(4, 5, 3, 0.2)], ids=["two labels", "three"])
def test_acceleration_ends_where_em_does(table: mt.Tally, options: dict[str, object]) -> None:
    quick = mt.staple(table, tol=1e-12, max_iter=20_000, **options)  # type: ignore[arg-type]
    slow = plain_fit(table, options, 1e-12)
    assert quick.convergence == "converged"
    assert em.PLAIN < quick.iterations < len(slow.history)
    assert quick.confusion == pytest.approx(slow.confusion, abs=1e-8)
    assert quick.log_likelihood[-1] == pytest.approx(slow.history[-1], rel=1e-13)
    assert (np.diff(quick.log_likelihood) >= -em.SLACK * abs(quick.log_likelihood[-1])).all()
    assert (np.asarray(quick.hard) == decide(slow.weight, table.labels, table.rated > 0)).all()


def test_no_acceleration_like_itk() -> None:
    table = slow_table(6)
    found = mt.staple(table, like="itk")
    fit = plain_fit(table, {}, 1e-7)
    assert found.iterations == len(fit.history) - 1 > em.PLAIN
    assert (found.confusion == fit.confusion).all()


@pytest.mark.parametrize("max_iter", [1, 7, 199, 200, 201, 202, 250])
def test_no_more_iterations_than_allowed(max_iter: int) -> None:
    found = mt.staple(slow_table(5, 5, 3, 0.1), max_iter=max_iter)
    assert found.iterations == max_iter
    assert found.convergence == "stopped"


@pytest.mark.parametrize("options", [{}, {"prior": "estimated"}, {"map_prior": (3.0, 2.0)}], ids=str)
def test_tables_side_by_side_are_accelerated_as_alone(options: dict[str, object]) -> None:
    several = {str(seed): slow_table(seed) for seed in (4, 5, 6)}
    each = mt.staple_each(several, **options)  # type: ignore[arg-type]
    alone = {name: mt.staple(table, **options) for name, table in several.items()}  # type: ignore[arg-type]
    assert any(result.iterations > em.PLAIN for result in alone.values())
    for name, result in alone.items():
        assert each[name].iterations == result.iterations
        assert each[name].confusion == pytest.approx(result.confusion, abs=1e-10)


@pytest.mark.parametrize("table", [slow_table(6), slow_table(4, 12, 3)], ids=["two labels", "three"])
@pytest.mark.parametrize("kind", ["dense", "packed"])
def test_order_of_raters_does_not_matter(table: mt.Tally, kind: str) -> None:
    """Also where EM is accelerated."""
    order = np.random.default_rng(1).permutation(len(table.columns))
    moved = table.project([table.columns[i] for i in order])
    with settings_of(**(PACKED if kind == "packed" else {"MOST_CHOICES": 1 << 30})):
        one, other = mt.staple(table), mt.staple(moved)
    assert one.iterations == other.iterations > em.PLAIN
    assert other.confusion == pytest.approx(one.confusion[order], abs=1e-12)


def test_memory_stays_near_that_of_the_table() -> None:
    """Nothing of patterns × raters × labels numbers is made."""
    import tracemalloc

    rng = np.random.default_rng(0)
    table = mt.tally(list(rng.integers(0, 2, (60, 20_000), dtype=np.uint8)))
    tracemalloc.start()
    decisions = em.Decisions.of(replace(table))
    decisions.table.sums(np.ones((len(table.counts), 2)))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 0.5 * table.patterns.size * 2 * 8
