"""The results of the checks while somebody writes a text, and the question before it is saved."""

from collections.abc import Callable, Collection

import streamlit as st
from markupsafe import Markup

from curation.review.before_saving import SavePreview
from pages.components.shared.formatting import markup
from pages.components.shared.formatting.diff import join
from pages.components.shared.formatting.label import plain

NOT_SAVED = "Not saved yet. Save again to keep the text as it is, or change it."


def show(
    seen: SavePreview,
    asked: Collection[str],
    *,
    key: str,
    shown: str = "",
    open_card: Callable[[int], None] | None = None,
) -> None:
    """Draw the results below the buttons, so that they do not move a button during a click.

    Args:
        asked: the kinds of concern that a first attempt to save has asked about.
        shown: a message that the page shows already; a refusal in it is not repeated.
        open_card: opens the card of another variant, on a page that can do that.
    """
    sentences = [concern.sentence for concern in seen.concerns]
    if seen.refusal and seen.refusal not in shown:
        sentences.append(seen.refusal)
    is_asked = not seen.refusal and bool(seen.kinds.intersection(asked))
    if is_asked:
        sentences.insert(0, NOT_SAVED)
    others = [seen.there, *(concern.variant_id for concern in seen.concerns)]
    if not (sentences or seen.remark or any(others)):
        return
    with st.container(key=f"checks-{key}"):
        if seen.remark:
            st.caption(plain(seen.remark))
        if sentences:
            markup.show(
                Markup('<div class="hg-checks{}" role="status">{}</div>').format(
                    " hg-asked" if is_asked else "",
                    join(Markup("<div>{}</div>").format(sentence) for sentence in sentences),
                )
            )
        for number in dict.fromkeys(other for other in others if other is not None):
            if open_card is not None:
                st.button(
                    "Show that card",
                    key=f"that-{number}-{key}",
                    type="tertiary",
                    on_click=open_card,
                    args=(number,),
                )
