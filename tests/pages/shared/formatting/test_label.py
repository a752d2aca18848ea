"""User texts as labels: Markdown shows exactly the text."""

import html
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from curation.markdown import one_line
from curation.taxonomy.built_in import TAXONOMY
from pages.components.shared.formatting.label import plain
from tests.support.hostile import TEXTS

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def shown(label: str) -> str:
    """The text that a browser shows for a label, if it is a single plain paragraph."""
    found = re.fullmatch(r"<p>([^<]*)</p>\n", MARKDOWN.render(label))
    assert found, MARKDOWN.render(label)
    return html.unescape(found[1]).replace("\N{WORD JOINER}", "")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_hostile_texts_are_shown_as_they_are(text: str) -> None:
    assert shown(plain(text)) == one_line(text).replace("\N{WORD JOINER}", "").strip()


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab1 -+*_#:.)>[]()`~|$\\&<!^=@/", min_size=1, max_size=12))
def test_no_text_is_markup(text: str) -> None:
    label = plain(text)
    if one_line(text):
        assert shown(label) == one_line(text)


def test_icon_and_emoji_codes_stay_text() -> None:
    for text in (":material/delete:", ":smile:", ":streamlit:", ":+1:", ":red[x]"):
        assert not re.search(r":(material/\w+|streamlit|[+\w-]+):|:red\[", plain(text))


def test_the_names_of_the_built_in_types_stay_as_they_are() -> None:
    # They are part of URLs that people have saved.
    assert [plain(entry.label) for entry in TAXONOMY] == [entry.label for entry in TAXONOMY]
