"""Words for a kappa or an alpha, by the scale of a named author."""

from __future__ import annotations

import math

from ..core.errors import CallError

KAPPA_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "landis_koch": (
        (math.nextafter(0, -1), "poor"),
        (0.2, "slight"),
        (0.4, "fair"),
        (0.6, "moderate"),
        (0.8, "substantial"),
        (1.0, "almost perfect"),
    ),
    "fleiss": ((math.nextafter(0.4, 0), "poor"), (0.75, "fair to good"), (1.0, "excellent")),
    "altman": ((0.2, "poor"), (0.4, "fair"), (0.6, "moderate"), (0.8, "good"), (1.0, "very good")),
    "shrout": ((0.1, "virtually none"), (0.4, "slight"), (0.6, "fair"), (0.8, "moderate"), (1.0, "substantial")),
}
"""By author: the upper ends of the ranges (included) and their words."""  # fmt: skip


def interpret_kappa(value: float, scale: str = "landis_koch") -> str:
    """Put a kappa into words, by the scale of a named author.

    Parameters
    ----------
    value : float
        A kappa, or a similar coefficient of agreement.
    scale : {"landis_koch", "fleiss", "altman", "shrout"}
        Whose words to use. The ranges are conventions: say which one was used.

    Returns
    -------
    str
        The word for the range, or ``"undefined"`` for NaN.

    References
    ----------
    Landis JR, Koch GG. The measurement of observer agreement for categorical data. Biometrics 1977;33:159–174.
    doi:10.2307/2529310
    Fleiss JL. Statistical Methods for Rates and Proportions, 2nd ed. 1981.
    Altman DG. Practical Statistics for Medical Research. 1991.
    Shrout PE. Measurement reliability and agreement in psychiatry. Stat Methods Med Res 1998;7:301–317.
    doi:10.1177/096228029800700306

    Examples
    --------
    >>> interpret_kappa(0.374), interpret_kappa(0.4122), interpret_kappa(0.4, "fleiss")
    ('fair', 'moderate', 'fair to good')
    >>> interpret_kappa(-0.003), interpret_kappa(0.0)
    ('poor', 'slight')
    """
    if scale not in KAPPA_SCALES:
        raise CallError(f"scale is one of {', '.join(KAPPA_SCALES)}; got {scale!r}")
    if math.isnan(value):
        return "undefined"
    return next((name for top, name in KAPPA_SCALES[scale] if value <= top), KAPPA_SCALES[scale][-1][1])


def interpret_alpha(low: float) -> str:
    """Say what Krippendorff's alpha allows, by Krippendorff's rule: 0.8 for conclusions, 0.667 for tentative ones.

    Parameters
    ----------
    low : float
        Lower end of alpha's confidence interval.

    Returns
    -------
    str
        ``"reliable"``, ``"tentative conclusions only"``, ``"not reliable"``, or ``"undefined"`` for NaN.

    References
    ----------
    Krippendorff K. Content Analysis, 3rd ed. 2013.

    Examples
    --------
    >>> interpret_alpha(0.7)
    'tentative conclusions only'
    """
    if math.isnan(low):
        return "undefined"
    if low >= 0.8:
        return "reliable"
    return "tentative conclusions only" if low >= 0.667 else "not reliable"
