"""Markup of the row of menus, and of how much is left."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from pages.components.shared.formatting.diff import join


def progress(rows: Sequence[tuple[str, int, int | None, bool]]) -> Markup:
    """How much is left of each type.

    Args:
        rows: label, number left, total (None if unknown) and whether the type is under review. If
            the total is known, a thin bar shows the share that is done.
    """
    parts = [
        Markup('<div class="{}"><div>{}</div><div>{:,}{} left</div>{}</div>').format(
            "hg-current" if current else "",
            label,
            left,
            "" if total is None else f" of {total:,}",
            Markup("") if total is None else _bar((total - left) / max(total, 1)),
        )
        for label, left, total, current in rows
    ]
    return Markup('<div class="hg-progress">{}</div>').format(join(parts))


def _bar(share: float) -> Markup:
    width = 100 * max(0.0, share)
    return Markup('<div class="hg-bar"><i style="width:{:.1f}%"></i></div>').format(width)


def quietly(text: str) -> Markup:
    """A line in small grey type."""
    return Markup('<div class="hg-head"><span>{}</span></div>').format(text)


def opener(label: str) -> Markup:
    """A button that opens the list next to it (see menus.js)."""
    return _opener(Markup(""), Markup("<span>{}</span>").format(label))


def choice_opener(label: str, *, chosen: str, short: str, letter: str) -> Markup:
    """The button of a menu, with the current choice, space for its number, and its key.

    Args:
        short: the choice in a word or two; screen readers and the tooltip get the full name.
    """
    return _opener(
        Markup(' aria-label="{0}: {1}" title="{0}: {1} ({2})"').format(label, chosen, letter),
        Markup("<span>{}</span><i></i><kbd>{}</kbd>").format(short, letter),
    )


def _opener(attributes: Markup, content: Markup) -> Markup:
    return Markup(
        '<button type="button" class="hg-open" aria-expanded="false"{}>{}</button>'
    ).format(attributes, content)


def left(numbers: Mapping[str, Sequence[int]], chosen: Mapping[str, int]) -> Markup:
    """Style rules that write the number left after each label of the menus.

    The numbers are drawn with every card; the menus themselves are not.

    Args:
        numbers: key of a menu → the number left for each of its entries, in their order.
        chosen: key of a menu → the position of the current choice, whose number the button shows.
    """
    rules = [
        Markup('.st-key-{} [role="radio"]:nth-of-type({})::after{{content:"{:,}"}}').format(
            key, place, number
        )
        for key, entries in numbers.items()
        for place, number in enumerate(entries, start=1)
    ]
    rules += [
        Markup('.st-key-menu-{} .hg-open i::after{{content:"{:,}"}}').format(
            key, numbers[key][place]
        )
        for key, place in chosen.items()
    ]
    return Markup("<style>{}</style>").format(join(rules))
