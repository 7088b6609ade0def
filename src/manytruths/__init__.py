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
    from .complexity import (
        Complexity,
        GroupClassifier,
        Task,
        TaskComparison,
        ThresholdClassifier,
        case_complexity,
        compare_tasks,
        fit_groups,
        fit_threshold,
    )
    from .consensus import (
        Consensus,
        LevelSet,
        Plurality,
        Simple,
        Staple,
        Vote,
        acceptable_region,
        balanced_accuracy,
        consensus,
        cooke_weights,
        excluded_vote,
        gordon_f,
        inner_outer_ratio,
        inner_region,
        lsml,
        lsmlp,
        methods,
        outer_region,
        plurality,
        simple,
        soft_accuracy,
        soft_sensitivity,
        soft_specificity,
        staple,
        staple_each,
        staple_map,
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
    "complexity": (
        "case_complexity compare_tasks Complexity fit_groups fit_threshold GroupClassifier Task TaskComparison "
        "ThresholdClassifier"
    ),
    "consensus": (
        "acceptable_region balanced_accuracy Consensus consensus cooke_weights excluded_vote gordon_f "
        "inner_outer_ratio inner_region LevelSet lsml lsmlp methods outer_region Plurality plurality Simple "
        "simple soft_accuracy soft_sensitivity soft_specificity Staple staple staple_each staple_map Vote vote"
    ),
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
    "Complexity",
    "Consensus",
    "Correlation",
    "Dependence",
    "FormatError",
    "Grid",
    "GridError",
    "GroupClassifier",
    "InputError",
    "Interval",
    "LabelError",
    "Labels",
    "LevelSet",
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
    "Simple",
    "Staple",
    "Study",
    "StudyError",
    "Tallies",
    "Tally",
    "Task",
    "TaskComparison",
    "ThresholdClassifier",
    "Undefined",
    "Unit",
    "Vote",
    "VoteStatistic",
    "WilliamsIndex",
    "acceptable_region",
    "agreement_curve",
    "balanced_accuracy",
    "bias_index",
    "case_complexity",
    "cluster",
    "cohen_kappa",
    "common_heatmap",
    "compare_tasks",
    "condition",
    "consensus",
    "cooke_weights",
    "dice",
    "excluded_vote",
    "feature_correlation",
    "fit_groups",
    "fit_threshold",
    "fleiss_kappa",
    "gordon_f",
    "gwet_ac1",
    "heatmap_score",
    "image_features",
    "inner_outer_ratio",
    "inner_region",
    "interval",
    "iou",
    "krippendorff_alpha",
    "krippendorff_rule",
    "level",
    "load",
    "lsml",
    "lsmlp",
    "mean_pairwise",
    "methods",
    "negative_agreement",
    "npv",
    "outer_region",
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
    "simple",
    "simulate_study",
    "smyth_bound",
    "soft_accuracy",
    "soft_sensitivity",
    "soft_specificity",
    "specificity",
    "staple",
    "staple_each",
    "staple_map",
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
