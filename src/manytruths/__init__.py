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
    from .evaluation import (
        Acceptance,
        BoundaryPoint,
        BoundaryScores,
        Curve,
        FrameCurves,
        Grade,
        GradeScale,
        MetricRoc,
        OperatingPoint,
        Overlaps,
        Place,
        PooledBoundaryScores,
        Ranking,
        ResponseCounts,
        Responses,
        Scores,
        SecondLook,
        TruthRanking,
        TruthRankings,
        Truths,
        acceptance,
        boundary_scores,
        cci,
        cco,
        extended_dice,
        frame_intensity,
        grade_counts,
        mean_precision,
        metric_roc,
        overlaps,
        pooled_boundaries,
        rank,
        responses,
        second_look,
        skew_limits,
        truth_rankings,
        truths,
        with_truths,
    )
    from .formats import (
        Grid,
    )
    from .formats.scores import (
        read_scores,
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
        BoundaryMatch,
        Region,
        Surface,
        SurfaceDistances,
        boundary_of,
        hausdorff,
        match_boundaries,
        mean_surface_distance,
        rater_tolerance,
        regions,
        surface,
        surface_dice,
        surface_distances,
        thin,
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
    "evaluation": (
        "Acceptance acceptance boundary_scores BoundaryPoint BoundaryScores cci cco Curve extended_dice "
        "frame_intensity FrameCurves Grade grade_counts GradeScale mean_precision metric_roc MetricRoc "
        "OperatingPoint Overlaps overlaps Place pooled_boundaries PooledBoundaryScores rank Ranking "
        "ResponseCounts Responses responses Scores second_look SecondLook skew_limits truth_rankings TruthRanking "
        "TruthRankings Truths truths with_truths"
    ),
    "formats": ("Grid"),
    "formats.scores": ("read_scores"),
    "formats.tables": ("load save"),
    "labels": ("Labels reason Undefined VOID"),
    "pixels": ("paint tally"),
    "raters": (
        "cluster Clustering Dependence rater_dependence rater_differences rater_performance rater_tendency "
        "RaterDifferences RaterPerformance RaterTendency williams_index WilliamsIndex"
    ),
    "resampling": ("Interval interval"),
    "shape": (
        "boundary_of BoundaryMatch hausdorff match_boundaries mean_surface_distance rater_tolerance Region "
        "regions Surface surface surface_dice surface_distances SurfaceDistances thin"
    ),
    "simulate": ("simulate_study"),
    "study": ("Case Study"),
    "tallies": ("Column PatternValues pool Tallies Tally Unit"),
}
"""Where every public name lives."""

_ROOM = {name: room for room, names in _HOME.items() for name in names.split()}

__all__ = [
    "VOID",
    "Acceptance",
    "AgreementCurve",
    "BoundaryMatch",
    "BoundaryPoint",
    "BoundaryScores",
    "CallError",
    "Case",
    "Clustering",
    "Column",
    "Complexity",
    "Consensus",
    "Correlation",
    "Curve",
    "Dependence",
    "FormatError",
    "FrameCurves",
    "Grade",
    "GradeScale",
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
    "MetricRoc",
    "OperatingPoint",
    "Overlaps",
    "PairMatrix",
    "PairStatistic",
    "PatternValues",
    "Place",
    "Plurality",
    "PooledBoundaryScores",
    "Ranking",
    "RaterDifferences",
    "RaterPerformance",
    "RaterTendency",
    "Region",
    "ResponseCounts",
    "Responses",
    "Scores",
    "SecondLook",
    "Simple",
    "Staple",
    "Study",
    "StudyError",
    "Surface",
    "SurfaceDistances",
    "Tallies",
    "Tally",
    "Task",
    "TaskComparison",
    "ThresholdClassifier",
    "TruthRanking",
    "TruthRankings",
    "Truths",
    "Undefined",
    "Unit",
    "Vote",
    "VoteStatistic",
    "WilliamsIndex",
    "acceptable_region",
    "acceptance",
    "agreement_curve",
    "balanced_accuracy",
    "bias_index",
    "boundary_of",
    "boundary_scores",
    "case_complexity",
    "cci",
    "cco",
    "cluster",
    "cohen_kappa",
    "common_heatmap",
    "compare_tasks",
    "condition",
    "consensus",
    "cooke_weights",
    "dice",
    "excluded_vote",
    "extended_dice",
    "feature_correlation",
    "fit_groups",
    "fit_threshold",
    "fleiss_kappa",
    "frame_intensity",
    "gordon_f",
    "grade_counts",
    "gwet_ac1",
    "hausdorff",
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
    "match_boundaries",
    "mean_pairwise",
    "mean_precision",
    "mean_surface_distance",
    "methods",
    "metric_roc",
    "negative_agreement",
    "npv",
    "outer_region",
    "overlaps",
    "pabak",
    "paint",
    "pairwise",
    "percent_agreement",
    "plurality",
    "pool",
    "pooled_boundaries",
    "positive_agreement",
    "ppv",
    "prevalence",
    "prevalence_index",
    "rank",
    "ranking_heatmap",
    "rater_dependence",
    "rater_differences",
    "rater_performance",
    "rater_tendency",
    "rater_tolerance",
    "read_scores",
    "reason",
    "regions",
    "responses",
    "save",
    "second_look",
    "sensitivity",
    "simple",
    "simulate_study",
    "skew_limits",
    "smyth_bound",
    "soft_accuracy",
    "soft_sensitivity",
    "soft_specificity",
    "specificity",
    "staple",
    "staple_each",
    "staple_map",
    "surface",
    "surface_dice",
    "surface_distances",
    "tally",
    "thin",
    "truth_rankings",
    "truths",
    "unanimous",
    "volume_difference",
    "vote",
    "weighted_kappa",
    "williams_index",
    "with_truths",
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
