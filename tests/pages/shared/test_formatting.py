"""Texts and numbers in our HTML, Markdown and tables: exactly what is stored, never markup. Every
colour is readable, distinguishable with every common kind of vision, and defined once."""

import html
import re
import tomllib
from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise

import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markupsafe import Markup

from curation.diagnostics.surface import marks
from curation.formatting import one_line
from curation.taxonomy.built_in import TAXONOMY
from db.models import Run
from pages.components.shared import formatting, overlap_found, page_runs
from pages.components.shared.charts.palette import DARK, ERRORS, LIGHT, Palette
from pages.components.shared.formatting import MAX_WORDS, diff, plain
from pages.components.shared.tables import decimals, percentages
from tests.support.checkout import ROOT
from tests.support.colours import AA_GRAPHICS, AA_TEXT, EYES, contrast, distance, oklab
from tests.support.hostile import TEXTS, stored

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = "<img src=x onerror=alert(1)> & **bold**"
SAFE = "The bridge is safe."
LIGHTHOUSE = "The lighthouse no longer has a keeper."
PASSAGE = (
    "It was built in 1871 and stands on a bare rock. The lamp has been run from the mainland "
    "since the last man retired. Boats land in calm weather only."
)


def read(markup: str) -> str:
    """The text that a reader sees of the markup."""
    return Markup(re.sub(r"<[^>]*>", "", markup)).unescape()


def shown(label: str) -> str:
    """The text that a browser shows for a label, if it is a single plain paragraph."""
    found = re.fullmatch(r"<p>([^<]*)</p>\n", MARKDOWN.render(label))
    assert found, MARKDOWN.render(label)
    return html.unescape(found[1]).replace("\N{WORD JOINER}", "")


@pytest.fixture
def emitted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything that is passed to Streamlit as HTML."""
    found: list[str] = []
    monkeypatch.setattr(formatting.st, "html", lambda body, **_: found.append(str(body)))
    return found


@pytest.mark.parametrize(
    ("anchor", "text", "dropped", "added"),
    [
        (SAFE, "The bridge is quite unsafe.", ["safe"], ["quite unsafe"]),
        (SAFE, "Maybe the bridge is safe.", [], ["Maybe"]),  # case alone is no change
        (LIGHTHOUSE, PASSAGE, [], []),  # a passage is no edit of its anchor
        (
            "The bank earned eight billion and closed all of its branches.",
            "The bank failed.",
            ["earned eight billion and closed all of its branches"],
            ["failed"],
        ),
        ("word " * (MAX_WORDS + 1), "word " * (MAX_WORDS + 1) + "more", [], []),
    ],
    ids=["edit", "case", "passage", "short", "long"],
)
def test_dropped_and_added_words_are_marked(
    anchor: str, text: str, dropped: list[str], added: list[str]
) -> None:
    old, new = diff(anchor, text)
    assert [read(part) for part in re.findall("<del>(.*?)</del>", old)] == dropped
    assert [read(part) for part in re.findall("<ins>(.*?)</ins>", new)] == added


def test_negator_cue_and_affix_are_marked() -> None:
    for text, cue, expected in (
        ("The bridge is not safe.", None, '<mark class="hg-negator" title="negator">not</mark>'),
        ("The bridge is unsafe.", None, '<mark class="hg-affix" title="negative affix">un</mark>'),
        ("Maybe the bridge is safe.", "maybe", '<mark class="hg-cue" title="cue">Maybe</mark>'),
    ):
        _, new = diff(SAFE, text, marks(anchor=SAFE, text=text, cue=cue))
        assert expected in new


def test_hostile_texts_stay_text_in_a_diff() -> None:
    for text in stored().values():
        old, new = diff(text, f"not {text}")
        assert (read(old), read(new)) == (text, f"not {text}")
        assert {tag.split()[0].strip("/") for tag in re.findall(r"<([^>]*)>", old + new)} <= {
            "span",
            "del",
            "ins",
            "mark",
        }, text


@given(st.text(max_size=80), st.text(max_size=80))
def test_a_diff_keeps_every_text_unchanged(anchor: str, text: str) -> None:
    old, new = diff(anchor, text)
    assert (read(old), read(new)) == (anchor, text)


def test_hostile_labels_are_shown_as_they_are() -> None:
    for text in TEXTS.values():
        assert shown(plain(text)) == one_line(text).replace("\N{WORD JOINER}", "").strip()
    for text in (":material/delete:", ":smile:", ":streamlit:", ":+1:", ":red[x]"):
        assert not re.search(r":(material/\w+|streamlit|[+\w-]+):|:red\[", plain(text))
    # They are part of URLs that people have saved.
    assert [plain(entry.label) for entry in TAXONOMY] == [entry.label for entry in TAXONOMY]


@given(st.text(alphabet="ab1 -+*_#:.)>[]()`~|$\\&<!^=@/", min_size=1, max_size=12))
def test_no_label_is_markup(text: str) -> None:
    label = plain(text)
    if one_line(text):
        assert shown(label) == one_line(text)


def test_a_name_in_a_cookie_cannot_end_its_string_or_script(emitted: list[str]) -> None:
    for text in TEXTS.values():
        formatting.remember("hedgerow_reviewer", text)
        value = re.fullmatch(
            r"<script>document\.cookie = 'hedgerow_reviewer=([^;]*); path=/; max-age=31536000; "
            r"SameSite=Strict';</script>",
            emitted.pop(),
        )
        assert value is not None and re.fullmatch(r"[\w.~%-]*", value[1], re.ASCII), text


def test_an_unescaped_string_is_refused(emitted: list[str]) -> None:
    with pytest.raises(TypeError):
        formatting.emit("<b>bold</b>")  # type: ignore[arg-type]
    formatting.emit(Markup("<p>{}</p>").format("<b>bold</b>"))
    assert emitted == ["<p>&lt;b&gt;bold&lt;/b&gt;</p>"]


def test_elements_outside_the_app_have_its_colour_scheme() -> None:
    """Dialogs are outside the element that Streamlit gives a scheme. Dark ones used to have dark
    text."""
    assert ":root { color-scheme: dark; }" in formatting.style_sheet("dark")
    assert "color-scheme" not in formatting.style_sheet()


def test_numbers_in_tables_have_minus_signs_and_stay_numbers() -> None:
    table = decimals(
        [{"Anchor": "well-known", "A": -0.25, "B − A": 0.125, "Correct": True}], signed=["B − A"]
    )
    assert table.to_string(delimiter="|").splitlines()[1] == "0|well-known|−0.250|+0.125|True"
    assert table.data["A"].tolist() == [-0.25]
    rows = [{"Share": 1.0, "Items": 3}, {"Share": -0.0126, "Items": 4}, {"Share": None, "Items": 5}]
    table = percentages(rows, "Share")
    assert table.to_string(delimiter="|").splitlines()[1:] == ["0|100.0%|3", "1|−1.3%|4", "2|–|5"]
    assert table.data["Share"].tolist()[0] == 1.0


def test_overlapping_texts_are_escaped_and_linked_to_their_card() -> None:
    texts = dict.fromkeys(("Its text", "In the release", "Shared", "Benchmark"), HOSTILE)
    row = {"Card": "/review?variant=abc", "Item": 1234} | texts
    several = overlap_found.text_table([row], with_benchmark=True)
    assert "<img" not in several and several.count("&lt;img") == 4
    assert 'href="/review?variant=abc"' in several and "1,234" in several
    single = overlap_found.text_table([row | {"Card": None}], with_benchmark=False)
    assert "<a " not in single and "<td>–</td>" in single
    assert single.count("&lt;img") == 3 and ">Benchmark<" not in single


def test_times_are_no_more_exact_than_they_are_known() -> None:
    words = [page_runs.duration(seconds) for seconds in (3, 44, 46, 80, 900, 5_399, 5_401, 9_000)]
    assert words == [
        *["less than a minute"] * 2,
        *(f"about {minutes} min" for minutes in (1, 1, 15, 90)),
        *(f"about {hours} hours" for hours in (1.5, 2.5)),
    ]


@pytest.mark.parametrize(
    ("total", "moments", "minutes"),
    [
        # The first answers come at once, after a minute of loading; then one comes each second.
        (
            1_000,
            [(0, 0), (60, 1), (62, 9), (64, 11), (70, 17), (80, 27), (90, 37), (200, 147)],
            [None, None, None, None, None, 12, 13, 14],
        ),
        (1_000, [(1_000, 500), (1_002, 501)], [17, 17]),  # it has run for long
        (4, [(30, 0), (600, 1)], [None, 30]),  # one of a few long steps is enough
    ],
    ids=["new", "long", "few steps"],
)
def test_the_time_left_waits_for_enough_steps_and_then_does_not_jump(
    monkeypatch: pytest.MonkeyPatch,
    total: int,
    moments: list[tuple[int, int]],
    minutes: list[int | None],
) -> None:
    """The moments are (seconds since the start, steps done), all seen by one session."""
    monkeypatch.setattr(streamlit, "session_state", {})
    began = datetime(2026, 1, 1, tzinfo=UTC)
    run = Run(id=1, attempt=1, kind="generate", total=total, started_at=began)
    for (seconds, run.step), expected in zip(moments, minutes, strict=True):
        run.heartbeat_at = began + timedelta(seconds=seconds)
        wanted = "" if expected is None else f"about {expected} min left"
        assert page_runs.time_left(run) == wanted


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
    defined = re.findall(r"^ *(--[\w-]+):", str(formatting.style_sheet()), re.MULTILINE)
    assert set(re.findall(r"var\((--hg-[\w-]+)\)", STYLE)) <= set(defined)
    for path in [*(ROOT / "pages").rglob("*.py"), *(ROOT / "pages").rglob("*.js")]:
        if path.name != "palette.py":
            assert re.findall(r"#[0-9a-fA-F]{6}\b", path.read_text("utf-8")) == [], path
