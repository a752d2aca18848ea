"""The prompts for language models: read them, see an example, edit a copy."""

import streamlit as st

from curation.formatting import counted
from curation.generation.prompts import MEASURING, MeasuringName, PromptName
from db.models import PromptVersion
from pages.components.shared.chat_models import prompt_editor
from pages.components.shared.shell import open_project
from training.benchmarks.results.queries import NEGATION, newest
from training.benchmarks.scorers.prompted.wording import filled

LABELS: dict[PromptName, str] = {
    "relevance": "Two documents",
    "similarity": "Similarity",
    "paraphrase_choice": "Three sentences",
}
ASKED: dict[MeasuringName, str] = {
    "relevance": "NevIR and ExcluIR: the model chooses a document. Both orders are tried.",
    "similarity": "CANNOT, M3-Counterfactual and Hedgerow: the model gives a number.",
    "paraphrase_choice": "SemAntoNeg: the model chooses a sentence. Three orders are tried.",
}
_SHOWN: dict[MeasuringName, tuple[str, tuple[str, ...]]] = {
    "relevance": (
        "Which museum never opens on Monday?",
        ("The museum opens on Monday.", "The museum never opens on Monday."),
    ),
    "similarity": ("The museum opens on Monday.", ("The museum never opens on Monday.",)),
    "paraphrase_choice": (
        "The soup is not hot.",
        ("The soup is not cold.", "The soup is hot.", "The soup is cold."),
    ),
}
_PLACE = "bench"


def draw() -> None:
    """Choose a version, read it, see an example, edit a copy."""
    st.text(
        "Chat models and local language models get these prompts. Results with different "
        "prompts are in separate rows."
    )
    chosen_name, chosen = prompt_editor.choose(LABELS, place=_PLACE)
    name = next(one for one in MEASURING if one == chosen_name)
    st.text(" ".join(filter(None, [ASKED[name], prompt_editor.author_of(chosen), _used(chosen)])))
    prompt_editor.show_message(place=_PLACE)
    left, right = st.columns(2)
    with left:
        template = prompt_editor.editor(chosen, name, place=_PLACE)
    with right:
        if (checked := prompt_editor.usable(template, name, place=_PLACE)) is not None:
            prompt_editor.as_sent(filled(name, checked, *_SHOWN[name]))


def _used(chosen: PromptVersion) -> str:
    """How many of the newest results used this version."""
    own = (chosen.name, chosen.version)
    asked = [row.asked for row in open_project.ask(newest, kind=NEGATION)]
    number = sum((one.get("prompt"), one.get("version")) == own for one in asked)
    if not number:
        return "No results use this version yet."
    return f"{counted(number, 'result')} {'uses' if number == 1 else 'use'} this version."
