"""Words for a kappa, by the scale of a named author.

Landis JR, Koch GG. Biometrics 1977;33:159–174. doi:10.2307/2529310. Fleiss JL. Statistical Methods for Rates
and Proportions, 2nd ed. 1981. Altman DG. Practical Statistics for Medical Research. 1991. Shrout PE. Stat
Methods Med Res 1998;7:301–317. doi:10.1177/096228029800700306. Krippendorff K. Content Analysis. 2013.
"""

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
"""Upper ends (included) and what a value up to there is called."""  # fmt: skip


def interpret_kappa(value: float, scale: str = "landis_koch") -> str:
    """What a kappa is called.

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
    """What alpha allows, judged by the lower end of its interval: 0.8 for conclusions, 0.667 for tentative ones.

    >>> interpret_alpha(0.7)
    'tentative conclusions only'
    """
    if math.isnan(low):
        return "undefined"
    if low >= 0.8:
        return "reliable"
    return "tentative conclusions only" if low >= 0.667 else "not reliable"
