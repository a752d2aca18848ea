"""The interpretation of figures of agreement, in sentences."""

from curation.decimals import decimal
from curation.markdown import percent
from curation.review.agreement.estimates import FEWEST, Estimate
from curation.review.agreement.figures import Figures

RELIABLE, TENTATIVE = 0.8, 0.667
"""Krippendorff's thresholds for alpha (Content Analysis, 2004, section 11.4.2)."""

LANDIS_KOCH = {
    0.8: "almost perfect",
    0.6: "substantial",
    0.4: "moderate",
    0.2: "fair",
    0.0: "slight",
}
"""Names for kappa above these values (Landis and Koch, 1977)."""

EXTREME = 0.9
"""If this share of verdicts is the same, alpha and kappa are unstable."""


def sentences(found: Figures) -> list[str]:
    """The interpretation, with the share of acceptances; empty without figures."""
    if found.accepted is None:
        return []
    lines = []
    if found.variants < FEWEST:
        lines.append(f"There are too few variants for an interval, which needs at least {FEWEST}.")
    if found.alpha.value is None:
        lines.append("All verdicts are the same, so alpha and kappa are not defined.")
    else:
        lines.append(_alpha(found.alpha.value, found.alpha))
    if found.kappa.value is not None:
        scale = next(
            (name for above, name in LANDIS_KOCH.items() if found.kappa.value > above), "poor"
        )
        lines.append(f"Landis and Koch call a kappa of {number(found.kappa.value)} {scale}.")
    lines.append(_base_rate(found.accepted, found.by_chance))
    return lines


def _alpha(value: float, estimate: Estimate) -> str:
    if value >= RELIABLE:
        meaning = f"is at least {RELIABLE:.3f}, which Krippendorff calls reliable"
    elif value >= TENTATIVE:
        meaning = (
            f"is between {TENTATIVE:.3f} and {RELIABLE:.3f}, which is enough for tentative "
            "conclusions only (Krippendorff)"
        )
    else:
        meaning = (
            f"is below {TENTATIVE:.3f}, the minimum that Krippendorff requires even for tentative "
            "conclusions"
        )
    crossed = [
        limit
        for limit in (TENTATIVE, RELIABLE)
        if estimate.low is not None
        and estimate.high is not None
        and estimate.low < limit <= estimate.high
    ]
    unsure = ""
    if crossed:
        unsure = (
            f" The interval includes {' and '.join(f'{limit:.3f}' for limit in crossed)}. More "
            "variants with verdicts from several people would narrow it."
        )
    return f"An alpha of {number(value)} {meaning}.{unsure}"


def _base_rate(accepted: float, by_chance: float | None) -> str:
    share = f"{percent(accepted)} of the verdicts are acceptances"
    if EXTREME > accepted > 1 - EXTREME or by_chance is None:
        return f"{share}."
    return (
        f"{share}, so chance alone gives {percent(by_chance)} agreement, and a few disagreements "
        "change alpha and kappa a lot. Read them together with the raw agreement."
    )


def as_text(estimate: Estimate, *, as_percent: bool = False) -> str:
    """The figure with its interval, such as '0.54 (0.51 to 0.57)'; '–' if it is undefined."""
    if estimate.value is None:
        return "–"
    value = number(estimate.value, as_percent=as_percent)
    limits = interval_text(estimate, as_percent=as_percent)
    return f"{value} ({limits})" if limits else value


def interval_text(estimate: Estimate, *, as_percent: bool = False) -> str:
    """The 95% interval, such as '0.51 to 0.57'; '' if there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    low, high = (number(limit, as_percent=as_percent) for limit in (estimate.low, estimate.high))
    return f"{low} to {high}"


def number(value: float, *, as_percent: bool = False) -> str:
    """A figure with two decimal places, or as a percentage."""
    return percent(value) if as_percent else decimal(value, 2)
