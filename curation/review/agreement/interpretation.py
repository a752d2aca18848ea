"""What figures of agreement mean, in sentences."""

from curation.markdown import percent
from curation.review.agreement.estimates import Estimate
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
"""Above which kappa agreement is called what (Landis and Koch, 1977)."""

EXTREME = 0.9
"""A share of verdicts, accepting or not, from which on alpha and kappa are unstable."""


def sentences(found: Figures) -> list[str]:
    """What the figures mean, with the share of verdicts that accept; empty without figures."""
    if found.accepted is None:
        return []
    said = []
    if found.alpha.value is None:
        said.append(
            "Everybody has given the same verdict every time, so alpha and kappa are not defined."
        )
    else:
        said.append(_alpha(found.alpha.value, found.alpha))
    if found.kappa.value is not None:
        scale = next(
            (name for above, name in LANDIS_KOCH.items() if found.kappa.value > above), "poor"
        )
        said.append(f"Landis and Koch call a kappa of {number(found.kappa.value)} {scale}.")
    said.append(_base_rate(found.accepted, found.by_chance))
    return said


def _alpha(value: float, estimate: Estimate) -> str:
    if value >= RELIABLE:
        meaning = f"is at least {RELIABLE:.3f}, which Krippendorff calls reliable"
    elif value >= TENTATIVE:
        meaning = (
            f"is between {TENTATIVE:.3f} and {RELIABLE:.3f}: enough for tentative conclusions only "
            "(Krippendorff)"
        )
    else:
        meaning = (
            f"is below {TENTATIVE:.3f}, the least that Krippendorff accepts even for tentative "
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
            f" The interval includes {' and '.join(f'{limit:.3f}' for limit in crossed)}: more "
            "variants decided on by several people would narrow this down."
        )
    return f"An alpha of {number(value)} {meaning}.{unsure}"


def _base_rate(accepted: float, by_chance: float | None) -> str:
    said = f"{percent(accepted)} of the verdicts accept"
    if EXTREME > accepted > 1 - EXTREME or by_chance is None:
        return f"{said}."
    return (
        f"{said}: chance alone would give {percent(by_chance)} agreement, and a few disagreements "
        "move alpha and kappa far. Read them together with the raw agreement."
    )


def as_text(estimate: Estimate, *, as_percent: bool = False) -> str:
    """The figure with its interval: '0.54 (0.51 to 0.57)'; '–' where it is not defined."""
    if estimate.value is None:
        return "–"
    value = number(estimate.value, as_percent=as_percent)
    limits = interval_text(estimate, as_percent=as_percent)
    return f"{value} ({limits})" if limits else value


def interval_text(estimate: Estimate, *, as_percent: bool = False) -> str:
    """Its 95% interval: '0.51 to 0.57'; '' where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    low, high = (number(limit, as_percent=as_percent) for limit in (estimate.low, estimate.high))
    return f"{low} to {high}"


def number(value: float, *, as_percent: bool = False) -> str:
    """A figure with two places, or as a percentage."""
    return percent(value) if as_percent else f"{value:.2f}".replace("-", "−")
