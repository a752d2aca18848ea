"""Emitted HTML contains no unescaped user text, neither in an element nor in a script."""

import re

import pytest
from markupsafe import Markup

from pages.components.shared.formatting import markup
from tests.support.hostile import TEXTS


@pytest.fixture
def emitted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything that is passed to Streamlit as HTML."""
    found: list[str] = []
    monkeypatch.setattr(markup.st, "html", lambda body, **_: found.append(str(body)))
    return found


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_name_in_a_cookie_cannot_end_its_string_or_script(emitted: list[str], text: str) -> None:
    markup.remember("hedgerow_reviewer", text)
    (script,) = emitted
    value = re.fullmatch(
        r"<script>document\.cookie = 'hedgerow_reviewer=([^;]*); path=/; max-age=31536000; "
        r"SameSite=Strict';</script>",
        script,
    )
    assert value is not None and re.fullmatch(r"[\w.~%-]*", value[1], re.ASCII)


def test_an_unescaped_string_is_refused(emitted: list[str]) -> None:
    with pytest.raises(TypeError, match="expected Markup"):
        markup.show("<b>bold</b>")  # type: ignore[arg-type]
    markup.show(Markup("<p>{}</p>").format("<b>bold</b>"))
    assert emitted == ["<p>&lt;b&gt;bold&lt;/b&gt;</p>"]


def test_elements_outside_the_app_have_its_colour_scheme() -> None:
    """Dialogs are outside the element that Streamlit gives a scheme. Dark ones used to have dark
    text."""
    assert ":root { color-scheme: dark; }" in markup.style_sheet("dark")
    assert "color-scheme" not in markup.style_sheet()
