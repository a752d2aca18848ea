"""Numbers with a noun in the singular or plural."""


def counted(count: int, name: str) -> str:
    """Return '1 anchor', '1,369 anchors'; for nouns with a plural in -s."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"
