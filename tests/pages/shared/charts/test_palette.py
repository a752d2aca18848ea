"""Every colour is readable, distinguishable with every common kind of vision, and defined once."""

import re
import tomllib
from itertools import combinations, pairwise

import pytest

from curation.taxonomy.built_in import TAXONOMY
from pages.components.shared.charts.palette import (
    DARK,
    ERRORS,
    LIGHT,
    Palette,
    palette,
)
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
def test_texts_are_readable_on_every_background(colours: Palette) -> None:
    for ground in (colours.paper, colours.face, colours.add, colours.drop):
        assert contrast(colours.ink, ground) >= AA_TEXT
    for ground in (colours.paper, colours.face):
        for text in (colours.quiet, colours.good, colours.warn):
            assert contrast(text, ground) >= AA_TEXT
    for step in (*colours.sequential, *colours.diverging):
        assert contrast(colours.ink, step) >= AA_TEXT


@both
def test_lines_and_marks_stand_out(colours: Palette) -> None:
    marks = [colours.before, colours.after, *colours.types.values(), *colours.roles.values()]
    for ground in (colours.paper, colours.face):
        for mark in (colours.add_line, colours.drop_line, *marks):
            assert contrast(mark, ground) >= AA_GRAPHICS
    assert contrast(colours.add_line, colours.add) >= AA_GRAPHICS
    assert contrast(colours.drop_line, colours.drop) >= AA_GRAPHICS


@both
@pytest.mark.parametrize("eye", EYES)
def test_all_meaningful_colours_are_distinguishable(colours: Palette, eye: str) -> None:
    for one, other in combinations(dict.fromkeys(colours.types.values()), 2):
        assert distance(one, other, eye=eye) >= DISTINGUISHABLE
    for one, other in combinations(colours.roles.values(), 2):
        assert distance(one, other, eye=eye) >= DISTINGUISHABLE
    for one, other in [
        (colours.before, colours.after),
        (colours.add_line, colours.drop_line),
        (colours.diverging[0], colours.diverging[-1]),
    ]:
        assert distance(one, other, eye=eye) >= DISTINGUISHABLE


@pytest.mark.parametrize("eye", EYES)
def test_kinds_of_errors_can_be_filtered_and_paged(eye: str) -> None:
    outcomes = [*ERRORS, LIGHT.diverging[-1], LIGHT.line, LIGHT.paper]
    assert all(contrast(LIGHT.ink, colour) >= AA_TEXT for colour in outcomes)
    for error in ERRORS:
        assert contrast(error, DARK.paper) >= AA_GRAPHICS
        for other in outcomes:
            assert other == error or distance(error, other, eye=eye) >= LARGE_PARTS


@both
@pytest.mark.parametrize("eye", EYES)
def test_heat_map_steps_differ_in_lightness_for_every_kind_of_vision(
    colours: Palette, eye: str
) -> None:
    steps = [oklab(step, eye=eye)[0] for step in colours.sequential]
    towards_ink = 1 if colours is DARK else -1
    assert all(towards_ink * (after - before) > 0.01 for before, after in pairwise(steps))


def test_every_type_has_a_colour_of_its_role() -> None:
    types = {entry.id for entry in TAXONOMY}
    assert types == set(LIGHT.types) == set(DARK.types)
    assert {entry.role for entry in TAXONOMY} == set(LIGHT.roles) == set(DARK.roles)
    for one, other in combinations(TAXONOMY, 2):
        for colours in (LIGHT, DARK):
            same = colours.types[one.id] == colours.types[other.id]
            assert not same or one.role == other.role


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_streamlits_theme_has_the_same_colours(scheme: str) -> None:
    colours, theme = palette(dark=scheme == "dark"), THEME[scheme]
    assert theme["backgroundColor"] == colours.paper
    assert theme["textColor"] == colours.ink
    assert theme["borderColor"] == colours.line
    assert theme["chartCategoricalColors"] == list(dict.fromkeys(colours.types.values()))
    assert theme["chartSequentialColors"] == list(colours.sequential)
    assert theme["chartDivergingColors"] == list(colours.diverging)


def test_the_style_sheet_has_no_colours_of_its_own() -> None:
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(|light-dark\(", STYLE) == []
    defined = re.findall(r"^ *(--[\w-]+):", str(markup.style_sheet()), re.MULTILINE)
    assert set(re.findall(r"var\((--hg-[\w-]+)\)", STYLE)) <= set(defined)


def test_no_component_contains_a_literal_colour() -> None:
    for path in [*(ROOT / "pages").rglob("*.py"), *(ROOT / "pages").rglob("*.js")]:
        if path.name != "palette.py":
            found = re.findall(r"#[0-9a-fA-F]{6}\b", path.read_text("utf-8"))
            assert found == [], path
