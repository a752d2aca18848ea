"""What the checks say of a text while somebody writes it, and what is asked before it is stored."""

from collections.abc import Callable, Collection

import streamlit as st
from markupsafe import Markup

from curation.variants.before_saving import Look
from pages.components.shared.formatting import markup
from pages.components.shared.formatting.diff import join
from pages.components.shared.formatting.label import plain

NOT_SAVED = "Not saved yet. Save again to keep the text as it is, or go on writing."


def show(
    seen: Look,
    asked: Collection[str],
    *,
    key: str,
    said: str = "",
    open_card: Callable[[int], None] | None = None,
) -> None:
    """Draw what was found, below the buttons: it must not move them while somebody presses one.

    Args:
        asked: the kinds that a first try to save has asked about.
        said: what is said elsewhere already.
        open_card: shows the card of another variant, where a page can do that.
    """
    sentences = [concern.sentence for concern in seen.concerns]
    if seen.refusal and seen.refusal not in said:
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
