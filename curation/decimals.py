"""Decimal numbers as text."""


def decimal(value: float, digits: int, *, sign: bool = False) -> str:
    """Return '0.51' or '−0.51', with a minus sign (U+2212) instead of a hyphen, and never '−0.00'.

    Args:
        digits: number of decimal places.
        sign: whether to write '+0.51'.
    """
    return f"{value:{'+' if sign else ''}z.{digits}f}".replace("-", "−")
