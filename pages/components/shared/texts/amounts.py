"""Numbers of things in words."""


def amount(number: int, what: str) -> str:
    """'1 anchor', '2,000 anchors'; for words whose plural has an s."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
