"""Every colour of ours, once for light and once for dark pages.

Blue and orange stay apart for every common kind of colour blindness; where a colour means
something, a shape, a line style or a word says the same once more. Texts reach the contrast of
WCAG AA on the page and on a card (4.5 : 1), lines and marks 3 : 1 (tested, as is that
``cli/streamlit.toml`` has the same colours). The style sheet gets them as custom properties
from ``custom_properties``.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

SHAPES: Mapping[str, str] = MappingProxyType(
    {
        "verbal": "circle",
        "absolute": "square",
        "affixal": "diamond",
        "lexical": "cross",
        "word": "triangle-up",
        "phrase": "triangle-down",
        "negated_antonym": "triangle-right",
        "affirmation": "M-1,-1L1,-1L1,0L0,1L-1,0Z",
        "free_hedge": "M-1,0L0,-1L1,0L.5,0L.5,1L-.5,1L-.5,0Z",
        "unsupported": "M-1,-1L-1,1L1,1L1,-1ZM-.5,-.5L.5,-.5L.5,.5L-.5,.5Z",
        "free_contradiction": "M0,-1L.3,-.3L1,0L.3,.3L0,1L-.3,.3L-1,0L-.3,-.3Z",
    }
)
"""Type → the Vega symbol that says the same as its colour; a shield, an arrow, a frame and a star
are paths in the square from -1 to 1."""

OWN_SHAPES = (
    "triangle-left",
    "M-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0L-1,-.6Z",
    "M-1,-1L1,-1L-1,1L1,1Z",
    "M-1,-.4L1,-.4L1,.4L-1,.4Z",
    "M-1,-1L-1,1L1,-1L1,1Z",
    "M-.4,-1L.4,-1L.4,1L-.4,1Z",
)
"""For types that somebody added, in turn: a triangle, and a saltire, an hourglass, a bar, a bow tie
and an upright bar as paths in the square from -1 to 1. All have an area to fill: Vega's own
'stroke' has none, so that it cannot be seen."""


class TypeMark(NamedTuple):
    """How a type is shown in a chart: a Vega symbol and a colour."""

    shape: str
    colour: str


class Palette(NamedTuple):
    """The colours of one colour scheme, as ``#rrggbb``."""

    ink: str
    """Text; readable on the page, on a card and on every step of both schemes below."""
    quiet: str
    """Text of lesser weight."""
    paper: str
    """Behind the page."""
    face: str
    """Behind a card."""
    line: str
    """Borders that mean nothing."""
    add: str
    """Behind added words."""
    add_line: str
    """Lines that mark what was added, and cues."""
    drop: str
    drop_line: str
    """Lines that mark what was dropped, and negators."""
    good: str
    warn: str
    before: str
    """Of an encoder before training, or the first of two."""
    after: str
    sequential: tuple[str, ...]
    """Ten steps from low to high, for heat maps; ``ink`` is readable on each."""
    diverging: tuple[str, ...]
    """Ten steps, orange below and blue above the middle; ``ink`` is readable on each."""
    types: Mapping[str, str]
    """Type of the taxonomy → colour of its marks, not for text: negations warm, hedges blue. Eyes
    tell no eleven colours apart; a type in free words has the colour of another one of its role."""
    own: tuple[str, ...]
    """Colours of the types that somebody added, in turn. Five, so that with six shapes the first
    thirty differ."""
    roles: Mapping[str, str]
    """Role of a type → colour of its marks."""

    def marks_of(self, ids: Iterable[str], own: Sequence[str]) -> list[TypeMark]:
        """The marks of these types, in their order.

        Args:
            own: all types that somebody added, in an order that stays, so that a type keeps its
                mark whatever else is shown.
        """
        places = {type_id: place for place, type_id in enumerate(own)}
        return [
            TypeMark(SHAPES[type_id], self.types[type_id])
            if type_id in SHAPES
            else self._own_mark(places.get(type_id, 0))
            for type_id in ids
        ]

    def _own_mark(self, place: int) -> TypeMark:
        return TypeMark(OWN_SHAPES[place % len(OWN_SHAPES)], self.own[place % len(self.own)])


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
    own=("#7a3fd0", "#00807a", "#c0185a", "#5f6a00", "#101a0e"),
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
    own=("#b592ff", "#35c9c0", "#ff7fb0", "#c3cf4a", "#dbe3d6"),
    roles=MappingProxyType(
        {
            "negation": "#f0a273",
            "unsupported": "#f5fe88",
            "hedge": "#86b4ec",
            "paraphrase": "#aff4d2",
        }
    ),
)


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
