"""manytruths: what several experts' annotations of the same images say together.

Masks become a :class:`Tally` in one pass; every number is read off the tally; a map is a value per pattern,
painted back. Names are imported when they are first used, so that ``import manytruths`` is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from .agreement import (
        AgreementCurve,
        Correlation,
        MeanOfPairs,
        PairMatrix,
        PairStatistic,
        VoteStatistic,
        agreement_curve,
        bias_index,
        cohen_kappa,
        common_heatmap,
        condition,
        dice,
        feature_correlation,
        fleiss_kappa,
        gwet_ac1,
        heatmap_score,
        image_features,
        iou,
        krippendorff_alpha,
        krippendorff_rule,
        level,
        mean_pairwise,
        negative_agreement,
        npv,
        pabak,
        pairwise,
        percent_agreement,
        positive_agreement,
        ppv,
        prevalence,
        prevalence_index,
        ranking_heatmap,
        sensitivity,
        smyth_bound,
        specificity,
        unanimous,
        volume_difference,
        weighted_kappa,
    )
    from .consensus import (
        Plurality,
        Staple,
        Vote,
        plurality,
        staple,
        vote,
    )
    from .errors import (
        CallError,
        FormatError,
        GridError,
        InputError,
        LabelError,
        ManytruthsError,
        StudyError,
    )
    from .formats import (
        Grid,
    )
    from .formats.tables import (
        load,
        save,
    )
    from .labels import (
        VOID,
        Labels,
        Undefined,
        reason,
    )
    from .pixels import (
        paint,
        tally,
    )
    from .raters import (
        Clustering,
        Dependence,
        RaterDifferences,
        RaterPerformance,
        RaterTendency,
        WilliamsIndex,
        cluster,
        rater_dependence,
        rater_differences,
        rater_performance,
        rater_tendency,
        williams_index,
    )
    from .resampling import (
        Interval,
        interval,
    )
    from .shape import (
        Region,
        regions,
    )
    from .simulate import (
        simulate_study,
    )
    from .study import (
        Case,
        Study,
    )
    from .tallies import (
        Column,
        PatternValues,
        Tallies,
        Tally,
        Unit,
        pool,
    )

_HOME = {
    "agreement": (
        "agreement_curve AgreementCurve bias_index cohen_kappa common_heatmap condition Correlation dice "
        "feature_correlation fleiss_kappa gwet_ac1 heatmap_score image_features iou krippendorff_alpha "
        "krippendorff_rule level mean_pairwise MeanOfPairs negative_agreement npv pabak PairMatrix PairStatistic "
        "pairwise percent_agreement positive_agreement ppv prevalence prevalence_index ranking_heatmap "
        "sensitivity smyth_bound specificity unanimous volume_difference VoteStatistic weighted_kappa"
    ),
    "consensus": ("Plurality plurality Staple staple Vote vote"),
    "errors": ("CallError FormatError GridError InputError LabelError ManytruthsError StudyError"),
    "formats": ("Grid"),
    "formats.tables": ("load save"),
    "labels": ("Labels reason Undefined VOID"),
    "pixels": ("paint tally"),
    "raters": (
        "cluster Clustering Dependence rater_dependence rater_differences rater_performance rater_tendency "
        "RaterDifferences RaterPerformance RaterTendency williams_index WilliamsIndex"
    ),
    "resampling": ("Interval interval"),
    "shape": ("Region regions"),
    "simulate": ("simulate_study"),
    "study": ("Case Study"),
    "tallies": ("Column PatternValues pool Tallies Tally Unit"),
}
"""Where every public name lives."""

_ROOM = {name: room for room, names in _HOME.items() for name in names.split()}

__all__ = [
    "VOID",
    "AgreementCurve",
    "CallError",
    "Case",
    "Clustering",
    "Column",
    "Correlation",
    "Dependence",
    "FormatError",
    "Grid",
    "GridError",
    "InputError",
    "Interval",
    "LabelError",
    "Labels",
    "ManytruthsError",
    "MeanOfPairs",
    "PairMatrix",
    "PairStatistic",
    "PatternValues",
    "Plurality",
    "RaterDifferences",
    "RaterPerformance",
    "RaterTendency",
    "Region",
    "Staple",
    "Study",
    "StudyError",
    "Tallies",
    "Tally",
    "Undefined",
    "Unit",
    "Vote",
    "VoteStatistic",
    "WilliamsIndex",
    "agreement_curve",
    "bias_index",
    "cluster",
    "cohen_kappa",
    "common_heatmap",
    "condition",
    "dice",
    "feature_correlation",
    "fleiss_kappa",
    "gwet_ac1",
    "heatmap_score",
    "image_features",
    "interval",
    "iou",
    "krippendorff_alpha",
    "krippendorff_rule",
    "level",
    "load",
    "mean_pairwise",
    "negative_agreement",
    "npv",
    "pabak",
    "paint",
    "pairwise",
    "percent_agreement",
    "plurality",
    "pool",
    "positive_agreement",
    "ppv",
    "prevalence",
    "prevalence_index",
    "ranking_heatmap",
    "rater_dependence",
    "rater_differences",
    "rater_performance",
    "rater_tendency",
    "reason",
    "regions",
    "save",
    "sensitivity",
    "simulate_study",
    "smyth_bound",
    "specificity",
    "staple",
    "tally",
    "unanimous",
    "volume_difference",
    "vote",
    "weighted_kappa",
    "williams_index",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOM:
        raise AttributeError(f"module 'manytruths' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"manytruths.{_ROOM[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
