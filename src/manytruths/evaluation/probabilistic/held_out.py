"""What raters reach themselves: a model, the other raters and another rater against the same held-out rater.

A score says little without what the raters score. Every rater is held out in turn, and against that rater alone are
measured:

- the model's forecast, or samples;
- the other raters together: their vote share as a forecast, their masks as samples, their volumes;
- another rater alone: their mask as a forecast of 0 and 1, as a single sample, as a volume; in the mean over the
  others.

Forecasts are measured on the pixels that the held-out rater and any other rated, distances of each two masks where both
are rated. Volumes are of all that each marked: where raters left out different parts, give masks of what all rated. The
others are R − 1 raters, and models have other numbers of samples; energy distances and scores of volumes therefore
count pairs of different samples alone (``unbiased="samples"``, ``unbiased=True``), unless it is asked for otherwise. A
single rater is a forecast without spread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.counting import tally as count_masks
from ...core.errors import CallError
from ...core.labels import VOID
from ...core.mask_arrays import Masks
from ...core.tally import Tally
from ...core.undefined import Undefined, divide
from .calibration import brier, expected_calibration_error
from .forecasts import as_responses, count_forecasts, marked_codes, with_label
from .samples import SampleDistances, energy_distance, matched_iou, sample_distances
from .volumes import Volumes, crps_volume, volumes_of

Values = NDArray[np.float64]
Three = tuple[float, float, float]
"""The model's value, that of the others together, and the mean of another rater's."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A metric of a model, of the other raters together and of another rater, each against the same held-out rater."""

    metric: str
    """Name of the metric."""
    raters: tuple[str, ...]
    """Who was held out."""
    model: Values
    """The model's value against each; NaN where undefined."""
    others: Values
    """That of the other raters together."""
    another: Values
    """That of another rater, in the mean over the others."""

    def __repr__(self) -> str:
        means = f"model {self.mean_model:.4g}, others {self.mean_others:.4g}, another {self.mean_another:.4g}"
        return f"<HeldOut {self.metric} of {len(self.raters)} raters: {means}>"

    @property
    def mean_model(self) -> float:
        """The mean of the model's values over raters."""
        return _mean(self.model)

    @property
    def mean_others(self) -> float:
        """The mean over raters of what the others together reach."""
        return _mean(self.others)

    @property
    def mean_another(self) -> float:
        """The mean over raters of what another rater reaches."""
        return _mean(self.another)

    def to_frame(self) -> Any:
        """A pandas DataFrame (extra ``tables``): one row per rater."""
        import pandas

        values = {"model": self.model, "others": self.others, "another": self.another}
        return pandas.DataFrame(values, pandas.Index(self.raters, name="rater"))


def compare_held_out(
    metric: Callable[..., float], forecast: Any, masks: Masks | Tally | None = None, **options: Any
) -> HeldOut:
    """Compare a model with what raters reach, each against the same held-out rater.

    Parameters
    ----------
    metric : callable
        :func:`brier`, :func:`expected_calibration_error`, :func:`energy_distance`, :func:`matched_iou` or
        :func:`crps_volume`.
    forecast : array_like, Responses, SampleDistances, Volumes or masks
        What the metric takes first.
    masks : dict, sequence or numpy.ndarray of masks, or Tally, optional
        The raters' masks, unless they are in ``forecast`` already.
    **options : object
        What else the metric takes: ``region``, ``label``, ``bins``, ``unbiased``, ``item``.

    Returns
    -------
    HeldOut
        The values against each rater, and their means.

    Examples
    --------
    >>> import manytruths as mt
    >>> masks = {"A": [1, 1, 0, 0], "B": [1, 0, 0, 0], "C": [1, 1, 1, 0]}
    >>> compare_held_out(mt.brier, [0.9, 0.6, 0.4, 0.1], masks)
    <HeldOut brier of 3 raters: model 0.1183, others 0.25, another 0.3333>
    """
    known: dict[str, Callable[..., tuple[tuple[str, ...], Iterator[Three]]]] = {
        brier.__name__: _forecasts,
        expected_calibration_error.__name__: _forecasts,
        energy_distance.__name__: _samples,
        matched_iou.__name__: _samples,
        crps_volume.__name__: _volumes,
    }
    name = getattr(metric, "__name__", str(metric))
    if name not in known:
        raise CallError(f"metric is one of {', '.join(known)}; got {name}")
    raters, values = known[name](metric, forecast, masks, options)
    if len(raters) < 2:
        raise CallError("to hold one rater out, there must be at least two")
    return HeldOut(name, raters, *np.array(list(values), np.float64).T)


def _forecasts(
    metric: Callable[..., float], forecast: Any, masks: Any, options: dict[str, Any]
) -> tuple[tuple[str, ...], Iterator[Three]]:
    responses = as_responses(forecast, masks, options.get("label"))
    tally = responses.tally
    counting = {key: options.pop(key) for key in ("region", "label") if key in options}
    rated = tally.patterns[:, list(tally.raters)] != VOID
    flags = np.isin(tally.patterns[:, list(tally.raters)], marked_codes(tally, counting.get("label")))
    there = np.flatnonzero(rated.any(axis=0)).tolist()

    def score(what: Any, mine: Any, by: int, among: NDArray[np.bool_]) -> float:
        target = np.where(rated[:, by] & among, flags[:, by], np.nan)
        return metric(count_forecasts(what, mine, reference=target, **counting), **options)

    def values() -> Iterator[Three]:
        for i in there:
            others = [j for j in there if j != i]
            number = rated[:, others].sum(axis=1)
            share = divide((flags & rated)[:, others].sum(axis=1), number)
            alone = [score(np.where(rated[:, j], flags[:, j], np.nan), tally, i, rated[:, j]) for j in others]
            yield score(responses, None, i, number > 0), score(share, tally, i, number > 0), _mean(np.array(alone))

    return tuple(tally.columns[tally.raters[i]].name for i in there), values()


def _samples(
    metric: Callable[..., float], forecast: Any, masks: Any, options: dict[str, Any]
) -> tuple[tuple[str, ...], Iterator[Three]]:
    known = forecast if isinstance(forecast, SampleDistances) else sample_distances(forecast, masks)
    drawn, number = len(known.samples), len(known.raters)
    paired = {"unbiased": "samples"} | options if metric.__name__ == energy_distance.__name__ else options
    single = {key: value for key, value in options.items() if key != "unbiased"}

    def against(rater: int, places: Sequence[int], settings: dict[str, Any]) -> float:
        """The masks at some places as samples, against one rater."""
        where = [*places, drawn + rater]
        names = tuple(map(str, places))
        iou = known.iou[:, where][:, :, where]
        return metric(SampleDistances(names, (known.raters[rater],), known.labels, iou), **settings)

    def values() -> Iterator[Three]:
        for i in range(number):
            others = [drawn + j for j in range(number) if j != i]
            alone = np.array([against(i, [j], single) for j in others])
            yield against(i, range(drawn), paired), against(i, others, paired), _mean(alone)

    return known.raters, values()


def _volumes(
    metric: Callable[..., float], forecast: Any, masks: Any, options: dict[str, Any]
) -> tuple[tuple[str, ...], Iterator[Three]]:
    if masks is None:
        raise CallError("give the raters' masks, or their tally, as the second argument")
    table = masks if isinstance(masks, Tally) else count_masks(masks)
    label, item = options.pop("label", None), options.pop("item", 1.0)
    if label is not None and not isinstance(masks, Tally):
        table = with_label(table, label)
    settings = {"unbiased": True} | options
    there = [i for i in table.raters if (table.patterns[:, i] != VOID).any()]
    volumes = Volumes.of_masks(table, [table.columns[i] for i in there], label=label, item=item).values
    model = volumes_of(forecast, masks, label, item)

    def values() -> Iterator[Three]:
        for i, volume in enumerate(volumes):
            own, others = Volumes(np.array([volume])), np.delete(volumes, i)
            yield (
                metric(model, own, **settings),
                metric(Volumes(others), own, **settings),
                float(np.abs(others - volume).mean()),
            )

    return tuple(table.columns[i].name for i in there), values()


def _mean(values: Values) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else Undefined("undefined_for_every_rater")
