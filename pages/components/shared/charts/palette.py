"""All colours, for light and for dark pages.

Blue and orange are distinguishable with every common kind of colour blindness. Where a colour has a
meaning, a shape, a line style or a word repeats it. The contrast of texts on the page and on a card
is that of WCAG AA (4.5 : 1), and that of lines and marks is 3 : 1. Tests check this, and that
``cli/streamlit.toml`` has the same colours. The style sheet gets the colours as custom properties
from ``custom_properties``.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Palette(NamedTuple):
    """The colours of one colour scheme, as ``#rrggbb``."""

    ink: str
    """Text; readable on the page, on a card and on all steps of both scales below."""
    quiet: str
    """Less important text."""
    paper: str
    """Background of the page."""
    face: str
    """Background of a card."""
    line: str
    """Borders without a meaning."""
    add: str
    """Background of added words."""
    add_line: str
    """Lines that mark added words and cues."""
    drop: str
    drop_line: str
    """Lines that mark removed words and negators."""
    good: str
    warn: str
    before: str
    """An encoder before training, or the first of two."""
    after: str
    sequential: tuple[str, ...]
    """Ten steps from low to high, for heat maps; ``ink`` is readable on each."""
    diverging: tuple[str, ...]
    """Ten steps, orange below and blue above the middle; ``ink`` is readable on each."""
    types: Mapping[str, str]
    """Type of the taxonomy → colour of its marks, not for text: negations warm, hedges blue. Eleven
    colours are hard to distinguish, so free-form types share colours with others of their role."""
    roles: Mapping[str, str]
    """Role of a type → colour of its marks."""


LIGHT = Palette(
    ink="#101a0e",
    quiet="#55614f",
    paper="#fbfbf7",
    face="#ffffff",
    line="#c3ccb8",
    add="#dbe9fb",
    add_line="#2f62a8",
    drop="#fbe6d4",
    drop_line="#b5531c",
    good="#2f6b3c",
    warn="#8a4300",
    before="#b5531c",
    after="#2f62a8",
    sequential=(
        "#f1f5fb",
        "#dee9f7",
        "#ccddf2",
        "#b9d0ed",
        "#a7c4e8",
        "#94b8e3",
        "#82acde",
        "#70a0d8",
        "#5d93d3",
        "#4a87cd",
    ),
    diverging=(
        "#cf6f2e",
        "#d98a5a",
        "#e1a580",
        "#e9bfa5",
        "#efd9c9",
        "#d2dee9",
        "#b0c8e3",
        "#8eb3dc",
        "#6d9dd5",
        "#4a87cd",
    ),
    types=MappingProxyType(
        {
            "verbal": "#d96a08",
            "absolute": "#a46871",
            "affixal": "#665b03",
            "lexical": "#811463",
            "word": "#005fb1",
            "phrase": "#338fd6",
            "negated_antonym": "#0b3f0f",
            "affirmation": "#0b3f0f",
            "free_hedge": "#338fd6",
            "unsupported": "#32004b",
            "free_contradiction": "#811463",
        }
    ),
    roles=MappingProxyType(
        {
            "negation": "#b5531c",
            "unsupported": "#32004b",
            "hedge": "#2f62a8",
            "paraphrase": "#0b3f0f",
        }
    ),
)

DARK = Palette(
    ink="#dbe3d6",
    quiet="#a9b3a3",
    paper="#171d18",
    face="#1c241e",
    line="#3d4a40",
    add="#1d3a5f",
    add_line="#86b4ec",
    drop="#4d2f16",
    drop_line="#f0a273",
    good="#7cc48d",
    warn="#f0a273",
    before="#f0a273",
    after="#86b4ec",
    sequential=(
        "#1f2a33",
        "#21303f",
        "#23364c",
        "#243c58",
        "#264365",
        "#274973",
        "#294f80",
        "#2a558e",
        "#2b5c9c",
        "#2c62aa",
    ),
    diverging=(
        "#9b4b1a",
        "#844722",
        "#6d4327",
        "#573e2a",
        "#40382c",
        "#2b3c44",
        "#2c465d",
        "#2c4f76",
        "#2c5990",
        "#2c62aa",
    ),
    types=MappingProxyType(
        {
            "verbal": "#cf5418",
            "absolute": "#e38783",
            "affixal": "#eacf25",
            "lexical": "#8f628a",
            "word": "#6abef4",
            "phrase": "#5b78e6",
            "negated_antonym": "#aff4d2",
            "affirmation": "#aff4d2",
            "free_hedge": "#5b78e6",
            "unsupported": "#f5fe88",
            "free_contradiction": "#8f628a",
        }
    ),
    roles=MappingProxyType(
        {
            "negation": "#f0a273",
            "unsupported": "#f5fe88",
            "hedge": "#86b4ec",
            "paraphrase": "#aff4d2",
        }
    ),
)

ERRORS = ("#ce6123", "#eaa741", "#fce566", "#ab7085")
"""Kinds of wrong answers, in this order, with ``LIGHT.ink`` on them. A dark page uses them, too:
dark colours on which a light text is readable look alike."""


def palette(*, dark: bool) -> Palette:
    """The colours for a light or a dark page."""
    return DARK if dark else LIGHT


def custom_properties() -> str:
    """A CSS rule that defines each single colour: ``--hg-add-line`` is ``add_line``.

    The browser chooses between light and dark, so that the rule is the same for everybody.
    """
    names = (name for name in Palette._fields if isinstance(getattr(LIGHT, name), str))
    lines = (
        f"  --hg-{name.replace('_', '-')}: light-dark({getattr(LIGHT, name)},"
        f" {getattr(DARK, name)});"
        for name in names
    )
    return "\n".join([":root {", *lines, "}"])
