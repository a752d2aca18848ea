"""What the checks say of a text while somebody writes it, and what is asked before it is stored."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import ParamSpec

import streamlit as st
from markupsafe import Markup

from curation.variants.concern import Concern
from curation.variants.cue_choice import CueWanted
from curation.variants.draft_checks import Draft
from curation.variants.own import AlreadyThere
from db.errors import HedgerowError
from pages.components.shared.shell import open_project
from pages.components.shared.shell.open_project import Asked
from pages.components.shared.texts import markup
from pages.components.shared.texts.diff import join
from pages.components.shared.texts.label import plain

_P = ParamSpec("_P")

CUE = "cue"
"""The kind of question that asks for the hedge cue."""


NOT_SAVED = "Not saved yet. Save again to keep the text as it is, or go on writing."


@dataclass(frozen=True)
class Look:
    """What saving would do.

    Attributes:
        refusal: why it would be refused; '' where it would not.
        there: the variant that is in the way, if one is.
        proposed: what the field for the cue can begin with; None where no cue is asked for.
        remark: what saving decides by itself, in a sentence.
        cue: the cue that would be stored.
    """

    concerns: tuple[Concern, ...] = ()
    refusal: str = ""
    there: int | None = None
    proposed: str | None = None
    remark: str = ""
    cue: str | None = None

    @property
    def kinds(self) -> frozenset[str]:
        """What to ask about before saving."""
        asks_cue = frozenset() if self.proposed is None else frozenset({CUE})
        return asks_cue | {concern.kind for concern in self.concerns}


def look(check: Asked[_P, Draft], /, *args: _P.args, **kwargs: _P.kwargs) -> Look:
    """What ``check`` says of a text; nothing is stored."""
    try:
        draft = open_project.ask(check, *args, **kwargs)
        return Look(draft.concerns, remark=draft.remark, cue=draft.cue)
    except CueWanted as wanted:
        return Look(wanted.concerns, str(wanted), proposed=wanted.proposed)
    except AlreadyThere as there:
        return Look(refusal=str(there), there=there.variant_id)
    except HedgerowError as error:
        return Look(refusal=str(error))


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
