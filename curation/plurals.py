"""Numbers with what they count, in words."""


def counted(count: int, name: str) -> str:
    """'1 anchor', '1,369 anchors'; for words whose plural has an s."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"
