"""Numbers that are undefined, and why; and notes: sentences about a result.

A program decides by the code; the text is for people and may be reworded. The same circumstance has the same code
everywhere. Every code of a number stands in :data:`REASONS`, and no other can be given.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import CallError
from .labels import VOID

REASONS: dict[str, str] = {
    "undefined": "undefined",
    # who marked what
    "both_empty": "both marked nothing",
    "one_empty": "one of the two marked nothing",
    "pairs_of_slots": (
        "raters are exchangeable: pooled over cases, pairs would depend on the order in which the raters were stored"
    ),
    "first_empty": "the first marked nothing",
    "second_empty": "the second marked nothing",
    "first_full": "the first marked everything",
    "second_full": "the second marked everything",
    "nobody_marked": "nobody marked anything",
    "everybody_marked_everything": "everybody marked everything",
    "nothing_marked": "nothing is marked",
    "nothing_detected": "nothing is detected",
    "nothing_predicted_nor_agreed": "nothing was predicted, and no item was marked by all",
    "no_item_marked_by_all": "no item was marked by all raters",
    "no_item_marked_twice": "no item was marked by two raters",
    "nobody_marked_two_items": "nobody marked two items",
    "no_two_raters_marked": "no two raters marked anything",
    "rater_marked_nothing": "marked nothing",
    "others_empty": "the others marked nothing",
    "others_agree_on_nothing": "the others marked nothing together",
    "basis_empty": "what it started from marks nothing",
    # sizes
    "image_of_two_axes": "an image of two axes has no diameter in space",
    "too_many_components": "more than 100,000 connected components, which are not measured one by one",
    "not_read": "the rater has no mask of the case",
    "no_earlier_reading": "the rater has no mask of a case before it",
    "no_baseline": "the rater has no mask of the first case",
    "target_not_evaluated": "a target lesion was not evaluated",
    "targets_in_one_lesion": "two target lesions lie in one lesion of the rater, which cannot be measured for both",
    "reference_size_zero": "what it is compared with is 0",
    # who rated what
    "not_rated": "no item was rated",
    "no_item_rated_twice": "no item was rated by two raters",
    "no_item_rated_by_both": "no item was rated by both",
    "no_item_decided_by_both": "no item was decided by both",
    "no_case_rated_twice": "no case was rated by two raters",
    "no_case_rated_by_both": "no case was rated by both",
    "no_case_rated_by_another": "no case was rated by another",
    "no_case_rated_by_so_many": "no case was rated by so many",
    "no_case_with_label_rated": "no case with the label was rated",
    "no_case_without_label_rated": "no case without the label was rated",
    "fewer_than_two_items": "fewer than two items were rated",
    "fewer_than_two_raters": "fewer than two raters",
    "fewer_than_two_samples": "fewer than two samples",
    "fewer_than_two_finders": "fewer than two raters found it",
    "rater_not_comparable": "the rater cannot be compared with any other",
    "no_two_raters_comparable": "no two raters can be compared",
    "fewer_than_two_raters_comparable": "fewer than two raters can be compared",
    "no_two_others_comparable": "there are no two others who can be compared",
    "others_do_not_agree": "the others do not agree at all",
    "disconnected_raters": "some raters share no case with the others, not even through others",
    "no_common_case": "no case was read by all raters",
    "raters_own_marks": "the reference is a mask or a vote of these raters, and hides their errors",
    "no_reference_for_dependence": "errors that raters share can be seen only against a given reference",
    "too_few_raters_for_dependence": "fewer than 4 raters: STAPLE explains any 3 by independence",
    "label_not_given": "nobody gave the label",
    "label_not_given_where_another_rated": "nobody gave the label to a case that another rated",
    "tied": "no majority: labels are tied",
    "contradiction": "a rater who is always right agrees with one who never is, or an accuracy is unknown",
    "no_confidence": "no confidence was given",
    "no_rating_of_confidence_judged": "no rating of that confidence can be judged",
    # labels
    "one_label": "every rater gave one and the same label to every item, so that chance agreement is complete",
    "one_label_by_both": "both gave one and the same label to every item, so that chance agreement is complete",
    "only_one_label": "there is only one label",
    "no_background": "no label is background",
    "several_labels": "there are several labels: each has its own",
    "too_many_labels": f"kappa and alpha need fewer than {VOID} labels; group them, or cut the scale with --cut",
    "counted_for_two_labels": "counted for two labels only",
    # absent
    "no_prediction": "no prediction",
    "rater_absent": "the rater is absent",
    "reference_absent": "the reference is not there",
    "one_absent": "one of the two is not there",
    "absent": "absent",
    "absent_or_no_probability": "the rater has no mask of the case, or the method no probability here",
    "not_in_case": "not there in this case",
    "no_mask": "there is no mask",
    "basis_not_kept": "what it started from was not kept",
    "no_lesion": "there is no lesion",
    "no_lesion_found_twice": "no lesion was found by two raters",
    "no_mask_of_several_lesions": "no mask has more than one lesion",
    "no_lesion_matched": "no lesion of the one matches one of the other",
    "too_many_lesions": "there are more lesions than can be matched in one image",
    "no_tolerance": "no tolerance: no two raters marked anything; give one with --tolerance",
    "no_costs": "no costs were given",
    "not_reported": "no reported accuracy was given",
    "open_with_two_raters": "two raters leave it open: there is a range and no point estimate",
    "no_margin": "no margin was given (--gain)",
    "next_panel_not_computed": "the next panel was not computed",
    "other_region": "not compared: another region was counted",
    "pixel_size_unknown": "the size of an item is not known; give the spacing",
    "mixed_units": "in some cases it has another unit, or none",
    # means, spreads and intervals
    "too_few_subjects": "an interval over subjects needs at least 10 of them",
    "too_few_raters_for_margin": "a margin needs at least 3 raters",
    "too_few_shared_subjects": "a test of raters needs at least 10 subjects that they share",
    "too_few_subjects_to_test": "a test or resamples of subjects need at least 10 of them",
    "too_few_raters_to_test": "a test of raters needs at least 3 of them",
    "too_few_arrangements": "a permutation test needs at least 40 ways to divide these into groups of the same sizes",
    "too_few_raters_in_group": "a test of groups of raters needs at least 3 raters in each",
    "one_rater_in_group": "a group has one rater: agreement within it needs two",
    "subject_in_two_groups": "some subjects have cases in both groups, so that they cannot be exchanged",
    "groups_of_cases": "these are groups of cases, not of raters",
    "few_subjects_with_the_rarer_label": (
        "pooled: an interval of kappa or alpha needs an effective number of subjects, (Σs)² / Σs² with s the items of "
        "the rarer label in each, of at least 30 and at least half of those that have it"
    ),
    "few_effective_subjects": (
        "pooled: an interval needs an effective number of subjects, (Σs)² / Σs² with s what anybody marked in each, of "
        "at least 30 and at least half of the subjects"
    ),
    "few_effective_cases": (
        "an interval needs an effective number of subjects, (Σs)² / Σs² with s the cases of each that two raters "
        "rated, of at least 30 and at least half of the subjects"
    ),
    "few_judged_subjects": (
        "with accuracies by the reference, an interval of rho needs 10 subjects with a reference for every rater"
    ),
    "few_subjects_by_majority": "with accuracies by the majority of the others, an interval of rho needs 30 subjects",
    "no_spread": "every subject has the same value, so that their spread tells nothing about others",
    "fewer_than_two_subjects": "fewer than two subjects",
    "fewer_than_two_images": "fewer than two images",
    "patterns_not_cases": "rows are patterns of many items, not cases that could be drawn again",
    "single_item": "a single item has no spread",
    "single_case": "a single case has no spread",
    "too_few_cases_to_correlate": "a correlation needs at least ten cases that differ",
    "mean_zero": "the mean is 0",
    "spread_zero": "the spread is 0, the end of its range",
    "undefined_for_every_case": "undefined for every case",
    "undefined_for_every_case_of_subject": "undefined for every case of the subject",
    "undefined_for_every_subject": "undefined for every subject",
    "undefined_for_every_rater": "undefined for every rater",
    "undefined_for_every_pair": "undefined for every pair",
    "undefined_for_every_label": "undefined for every label",
    "label_of_few_subjects": "an interval over subjects needs at least 10 who have the label",
    "undefined_against_all": "undefined against every one of them",
    "undefined_in_every_resample": "undefined in every resample",
    "undefined_without_a_subject": "undefined when one of the subjects is left out",
    "undefined_without_a_rater": "undefined when one of the raters is left out",
    "no_case_with_value": "no case of the task has a value",
    # sizes and their agreement
    "constant_sizes": "every size is the same",
    "infinite_size": "a size is infinite",
    "sizes_out_of_range": "powers of sizes this large or this close are beyond the range of numbers: use another unit",
    "no_size_given_twice": "no subject has sizes from two raters",
    "errors_not_separable": "too few subjects have sizes from two raters to tell errors from other differences",
    "raters_identical": "raters differ by constants at most, so that their errors tell nothing about others",
    "subjects_do_not_differ": "the means of the subjects do not differ",
    "subjects_differ_too_little": "subjects differ so little that no interval holds the estimate",
    "raters_not_told_apart": "in a one-way model, differences between raters are part of the error",
    "no_size_above_zero": "no pair of sizes is above 0, as ratios need",
    "measured_once": "no rater measured a subject twice",
    "one_rater": "there is one rater only",
    "constant_method": "one of the two methods has the same value for every subject",
    "no_line": "the two methods do not vary together: no line fits",
    "interval_open": "too few pairs for an interval at this level",
    "cases_share_subjects": "subjects have several cases, and the interval takes each case for another subject",
    "too_many_points": "more than 2,000 cases, whose pairs are not compared; with a ratio of errors there is a line",
    # correlations, curves and surfaces
    "constant_map": "one of the maps is constant",
    "constant_response": "the response is constant",
    "constant_share": "the same share of raters marked every item",
    "two_items": "two items always correlate fully",
    "no_positives": "the truth has no positive item",
    "no_negatives": "the truth has no negative item",
    "nothing_true_or_false": "nothing is true, or nothing false, of what was decided",
    "no_boundary_found": "no boundary was found",
    "no_boundary_in_truth": "the truth has no boundary",
    "no_boundary_at_all": "no boundary was found and no truth has one",
    "fewer_than_two_recalls": "fewer than two recalls were reached: no curve",
    "own_threshold": "each image has its own",
    "no_two_surfaces": "no two of the raters have surfaces to compare",
    "not_finite": "the image is not finite anywhere inside",
    "no_common_frame": "there is no frame in which both are defined",
    "intensity_not_positive": "the mean intensity of the raters is not positive",
    # rankings and grades
    "all_tied": "one of the two rankings has everybody at the same place",
    "no_truth_with_score": "no truth gives a score",
    "truth_without_score": "the truth gives no score",
    "no_truth_with_both_scores": "no truth gives both a score",
    "no_truth_named": "no truth was named as this bound",
    "none_graded": "nothing of it was graded",
    "none_graded_twice": "nothing was graded twice",
    "no_common_grades": "the two graded nothing in common",
    "no_grade_with_value": "nothing has both a grade and a value",
    "no_grade_high_enough": "nothing is graded high enough",
    "every_grade_high_enough": "everything is graded high enough",
    "no_algorithm_with_both_classes": ("no algorithm has both predictions that need correction and others that do not"),
    "none_of_class": "there is none of this class",
    # models
    "rates_unknown": "the rates cannot be estimated: nothing is true, or nothing false, of what the rater rated",
    "no_two_rates_known": "no two raters have rates that can be estimated",
    "staple_without_truth": (
        "the raters overlap no more than by chance: to STAPLE every item is equally likely to be true"
    ),
    "staple_no_true_item": "STAPLE found no true item",
    "staple_no_other_item": "STAPLE found no other item",
    "rasch_not_fitted": "the Rasch model cannot be fitted",
    "not_compared_on_any_case": "could not be compared on any case",
    "no_reference_for_cases": "the reference of no case that two raters rated is known",
    "no_reference": "without a reference nobody knows which majorities are right",
    "agreement_below_half": "two raters of equal accuracy, independent, agree on two labels at least half of the time",
    "right_half_of_the_time": "what is right half of the time tells nothing about the other",
    "not_reached_without_error": "even a truth without error would not make it so",
    "not_reached_on_such_a_truth": "on such a truth no algorithm can be known to reach it",
    "no_panel_large_enough": "no panel is large enough",
}
"""The wording of every code."""


class Undefined(float):
    """A ``nan`` with the reason why a number is undefined.

    Parameters
    ----------
    code : str
        A key of :data:`REASONS`, which programs compare.
    detail : str
        What is particular to this number, such as a count; it is shown behind the text of the code.

    Examples
    --------
    >>> kappa = Undefined("both_empty")
    >>> math.isnan(kappa), kappa.code, kappa.reason
    (True, 'both_empty', 'both marked nothing')
    """

    code: str
    detail: str

    def __new__(cls, code: str, detail: str = "") -> Undefined:
        if code not in REASONS:
            raise CallError(f"no code {code!r} of an undefined number; core/undefined.py lists them")
        self = super().__new__(cls, math.nan)
        self.code, self.detail = code, detail
        return self

    @property
    def reason(self) -> str:
        """The reason in words: the text of the code, and the detail."""
        return f"{REASONS[self.code]}; {self.detail}" if self.detail else REASONS[self.code]

    def __repr__(self) -> str:
        return f"Undefined({self.code!r}, {self.detail!r})" if self.detail else f"Undefined({self.code!r})"

    def __reduce__(self) -> tuple[type[Undefined], tuple[str, str]]:
        return Undefined, (self.code, self.detail)

    def __copy__(self) -> Undefined:
        return self

    def __deepcopy__(self, memo: object) -> Undefined:
        return self


def reason(value: float) -> str:
    """Why a value is undefined, in words.

    Parameters
    ----------
    value : float
        A number, perhaps :class:`Undefined`.

    Returns
    -------
    str
        The reason; empty where the value is defined.

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.reason(mt.dice(mt.tally({"A": [0, 0], "B": [0, 0]})))
    'both marked nothing'
    """
    if isinstance(value, Undefined):
        return value.reason
    return REASONS["undefined"] if math.isnan(value) else ""


def code(value: float) -> str:
    """Why a value is undefined, for programs; empty where it is defined, ``undefined`` for a plain ``nan``."""
    if isinstance(value, Undefined):
        return value.code
    return "undefined" if math.isnan(value) else ""


def ratio(numerator: float, denominator: float, code: str) -> float:
    """``numerator / denominator``, or :class:`Undefined` by the code given where the denominator is 0."""
    return float(numerator / denominator) if denominator else Undefined(code)


def undefined_like(value: float, code: str = "undefined", detail: str = "") -> Undefined:
    """An undefined number for the reason that the value has; where the value is defined, by the code given."""
    if isinstance(value, Undefined):
        return value
    return Undefined("undefined") if math.isnan(value) else Undefined(code, detail)


def or_undefined(value: float, code: str) -> float:
    """A number, or why it is undefined where it is NaN."""
    return Undefined(code) if math.isnan(value) else float(value)


def divide(part: ArrayLike, whole: ArrayLike) -> NDArray[np.float64]:
    """``part / whole`` element by element; NaN where ``whole`` is not positive."""
    out = np.full(np.broadcast(part, whole).shape, np.nan)
    return np.asarray(np.divide(part, whole, out=out, where=np.asarray(whole) > 0))


class Note(str):
    """A sentence for people, with a code by which programs select it.

    Where a program passes notes on or leaves some out, it looks at the code and never at the words.

    >>> note = Note("nothing_marked", "B marked nothing")
    >>> print(note, note.code)
    B marked nothing nothing_marked
    """

    __slots__ = ("code",)

    code: str

    def __new__(cls, code: str, text: str) -> Note:
        self = super().__new__(cls, text)
        self.code = code
        return self

    def __reduce__(self) -> tuple[type[Note], tuple[str, str]]:
        return Note, (self.code, str(self))


def code_of(note: str) -> str:
    """The code of a note; empty where it is a plain sentence."""
    return note.code if isinstance(note, Note) else ""
