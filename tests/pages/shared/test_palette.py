"""Every colour is readable, distinguishable with every common kind of vision, and defined once."""

import re
import tomllib
from itertools import combinations, pairwise

import pytest

from curation.taxonomy.built_in import TAXONOMY
from pages.components.shared.charts.palette import DARK, ERRORS, LIGHT, Palette
from pages.components.shared.formatting import markup
from tests.support.checkout import ROOT
from tests.support.colours import AA_GRAPHICS, AA_TEXT, EYES, contrast, distance, oklab

THEME = tomllib.loads((ROOT / "cli" / "streamlit.toml").read_text("utf-8"))["theme"]
STYLE = "".join(path.read_text("utf-8") for path in (ROOT / "pages").rglob("*.css"))

DISTINGUISHABLE = 0.1
"""Minimum OKLab distance at which small marks of two colours can be distinguished."""

LARGE_PARTS = 0.09
"""OKLab distance at which large parts of a bar with a border are distinguished."""

both = pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])


@both
def test_texts_are_readable_and_marks_stand_out_on_every_background(colours: Palette) -> None:
    grounds = (colours.paper, colours.face)
    quiet = (colours.quiet, colours.good, colours.warn)
    readable = [(colours.ink, ground) for ground in (*grounds, colours.add, colours.drop)]
    readable += [(text, ground) for ground in grounds for text in quiet]
    readable += [(colours.ink, step) for step in (*colours.sequential, *colours.diverging)]
    assert [pair for pair in readable if contrast(*pair) < AA_TEXT] == []
    marks = [colours.before, colours.after, *colours.types.values(), *colours.roles.values()]
    marks += [colours.add_line, colours.drop_line]
    seen = [(mark, ground) for ground in grounds for mark in marks]
    seen += [(colours.add_line, colours.add), (colours.drop_line, colours.drop)]
    assert [pair for pair in seen if contrast(*pair) < AA_GRAPHICS] == []


@both
@pytest.mark.parametrize("eye", EYES)
def test_all_meaningful_colours_are_distinguishable(colours: Palette, eye: str) -> None:
    pairs = [
        *combinations(dict.fromkeys(colours.types.values()), 2),
        *combinations(colours.roles.values(), 2),
        (colours.before, colours.after),
        (colours.add_line, colours.drop_line),
        (colours.diverging[0], colours.diverging[-1]),
    ]
    assert [pair for pair in pairs if distance(*pair, eye=eye) < DISTINGUISHABLE] == []
    steps = [oklab(step, eye=eye)[0] for step in colours.sequential]
    towards_ink = 1 if colours is DARK else -1
    assert all(towards_ink * (after - before) > 0.01 for before, after in pairwise(steps))


@pytest.mark.parametrize("eye", EYES)
def test_kinds_of_errors_are_distinguishable(eye: str) -> None:
    outcomes = [*ERRORS, LIGHT.diverging[-1], LIGHT.line, LIGHT.paper]
    assert all(contrast(LIGHT.ink, colour) >= AA_TEXT for colour in outcomes)
    for error in ERRORS:
        assert contrast(error, DARK.paper) >= AA_GRAPHICS
        others = [other for other in outcomes if other != error]
        assert all(distance(error, other, eye=eye) >= LARGE_PARTS for other in others)


def test_every_type_has_a_colour_of_its_role() -> None:
    assert {entry.id for entry in TAXONOMY} == set(LIGHT.types) == set(DARK.types)
    assert {entry.role for entry in TAXONOMY} == set(LIGHT.roles) == set(DARK.roles)
    for one, other in combinations(TAXONOMY, 2):
        for colours in (LIGHT, DARK):
            assert colours.types[one.id] != colours.types[other.id] or one.role == other.role


@both
def test_streamlits_theme_has_the_same_colours(colours: Palette) -> None:
    theme = THEME["dark" if colours is DARK else "light"]
    assert theme["backgroundColor"] == colours.paper and theme["textColor"] == colours.ink
    assert theme["borderColor"] == colours.line
    assert theme["chartCategoricalColors"] == list(dict.fromkeys(colours.types.values()))
    assert theme["chartSequentialColors"] == list(colours.sequential)
    assert theme["chartDivergingColors"] == list(colours.diverging)


def test_neither_style_sheets_nor_components_have_colours_of_their_own() -> None:
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(|light-dark\(", STYLE) == []
    defined = re.findall(r"^ *(--[\w-]+):", str(markup.style_sheet()), re.MULTILINE)
    assert set(re.findall(r"var\((--hg-[\w-]+)\)", STYLE)) <= set(defined)
    for path in [*(ROOT / "pages").rglob("*.py"), *(ROOT / "pages").rglob("*.js")]:
        if path.name != "palette.py":
            assert re.findall(r"#[0-9a-fA-F]{6}\b", path.read_text("utf-8")) == [], path
