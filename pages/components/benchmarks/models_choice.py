"""Choosing the models to benchmark, and the prompts for language models."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import streamlit as st

from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.formatting import counted
from curation.generation.prompts import MEASURING, MeasuringName, PromptName, prompt_ids
from curation.generation.request import Budget, Price
from db.errors import HedgerowError
from db.models import PromptVersion
from pages.components.shared import formatting, model_choice, prompt_editor, run_cost
from pages.components.shared.shell import error_messages, open_project
from training.benchmarks.results.queries import NEGATION, newest
from training.benchmarks.runs.measured_models import (
    BASELINES,
    CHAT,
    MAX_PROMPT,
    chosen_model,
    usable_model,
)
from training.benchmarks.scorers.architecture import SCORERS, installed_plug_ins
from training.benchmarks.scorers.interface import Prompts
from training.benchmarks.scorers.prompted.wording import filled
from training.models.display_names import choice_names
from training.models.finetuned import finetuned_folders
from training.models.known import model_choice as known_models

_KEY = "bench"


class ChosenModels(NamedTuple):
    """The values of a `ModelChoice` for each model, and the spending limits of a chat model."""

    models: list[dict[str, Any]]
    budget: Budget


def choose_models() -> ChosenModels:
    """Draw the boxes."""
    choice = open_project.ask(known_models)
    language = open_project.ask(finetuned_folders, open_project.settings().data_folder)
    names = [*choice.names, *language]
    labels = choice_names(names)
    chosen = st.multiselect(
        "Models",
        names,
        format_func=lambda name: labels.get(name, name),
        default=[choice.after, DEFAULT_ENCODER],
        key=f"{_KEY}-models",
        accept_new_options=True,
        help="Choose models of this project. For any other, type the folder of a "
        "sentence-transformers model or its name on the model hub and press Enter. The folder of "
        "a language model or its LoRA adapter works, too. For DPR, type "
        "QUESTION_MODEL+CONTEXT_MODEL.",
        persist_state="session",
        placeholder="Choose models, or type a folder or a name on the model hub",
    )
    plug_ins = installed_plug_ins()
    for number, problem in enumerate(plug_ins.problems):
        error_messages.show(problem, key=f"{_KEY}-plug-in-{number}")
    scorers = SCORERS | plug_ins.classes
    found = _with_details(chosen, [key for key, kind in scorers.items() if kind.takes != "nothing"])
    with st.container(horizontal=True, vertical_alignment="bottom", key="bench-others"):
        baselines = st.pills(
            "Baselines",
            [key for key, kind in scorers.items() if kind.takes == "nothing"],
            format_func=lambda key: formatting.plain(BASELINES.get(key, key)),
            selection_mode="multi",
            key=f"{_KEY}-baselines",
            persist_state="session",
        )
        with_chat = st.toggle(
            "Chat model",
            key=f"{_KEY}-chat",
            persist_state="session",
            help="Uses the prompts in the Prompts section. Chat models can't run mteb tasks.",
        )
    found = _usable(found) + [{"architecture": name} for name in baselines]
    if not with_chat:
        return ChosenModels(found, Budget())
    asked, budget = _chat()
    return ChosenModels(found + asked, budget)


def _usable(models: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The models that can be measured, and a sentence for each of the others."""
    found = []
    for values in models:
        try:
            open_project.ask(usable_model, open_project.settings(), chosen_model(values))
        except HedgerowError as error:
            error_messages.show(str(error), key=f"{_KEY}-model-{values['name']}")
        else:
            found.append(values)
    return found


def _with_details(names: Sequence[str], architectures: Sequence[str]) -> list[dict[str, Any]]:
    """The models, each with its architecture and prompts if they differ from its files."""
    if not names:
        return []
    with st.expander("Architectures and prompts", icon=":material/account_tree:"):
        st.text(
            "You need these only to use a plain transformer as SPLADE, to use an architecture "
            "from a plug-in, or to try prompts other than the model's own."
        )
        return [_with_detail(name, architectures) for name in names]


def _with_detail(name: str, architectures: Sequence[str]) -> dict[str, Any]:
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(name, width="stretch")
            chosen = st.selectbox(
                "Architecture",
                [model_choice.AS_ITS_FILES_SAY, *(key for key in architectures if key != CHAT)],
                key=f"{_KEY}-kind-{name}",
                label_visibility="collapsed",
                width=230,
                persist_state="session",
            )
        with st.container(horizontal=True):
            prompts = {
                side: st.text_area(
                    f"{side.capitalize()} prompt",
                    key=f"{_KEY}-{side}-prompt-{name}",
                    height=68,
                    max_chars=MAX_PROMPT,
                    placeholder="the model's own",
                    help=f"Text before each {side} of NevIR and ExcluIR. Leave it empty to use the "
                    "model's own prompt.",
                    persist_state="session",
                )
                for side in Prompts._fields
            }
    return {
        "name": name,
        "architecture": "" if chosen == model_choice.AS_ITS_FILES_SAY else chosen,
        **{f"{side}_prompt": prompt or None for side, prompt in prompts.items()},
    }


def _chat() -> ChosenModels:
    with st.container(border=True, key="bench-chat-model"):
        values = model_choice.model()
        tokens = st.number_input(
            "Maximum answer length (tokens)",
            16,
            32_000,
            500,
            100,
            key=f"{_KEY}-tokens",
            persist_state="session",
            help="A reasoning model needs thousands.",
        )
        model_choice.key_field(values["base_url"], place="-bench")
        price = run_cost.price(values["model"]) if values["model"] else Price()
        budget = run_cost.budget()
    if not values["model"]:
        st.text("Enter the name of the chat model, or turn off “Chat model”.")
        return ChosenModels([], budget)
    if model_choice.lacks_key(values["base_url"]):
        st.text("OpenAI needs a key. Enter one, or enter another address.")
        return ChosenModels([], budget)
    model = {
        "name": values["model"],
        "architecture": CHAT,
        "base_url": values["base_url"],
        "max_tokens": int(tokens),
        "price": price.model_dump(),
    }
    return ChosenModels([model], budget)


# -- Choosing prompt versions for language models -------------------------------------------------


def choose_prompts() -> dict[str, int]:
    """Draw the boxes; returns the versions other than the newest, by prompt."""
    with st.expander("Prompts for language models", icon=":material/chat:"):
        st.text(
            "These are for chat models, and for language models on this machine. You can read and "
            "edit the prompts in the Prompts section."
        )
        chosen = {}
        for place, name in zip(st.columns(len(MEASURING)), MEASURING, strict=True):
            version = place.selectbox(
                PROMPT_LABELS[name],
                [model_choice.NEWEST, *open_project.ask(prompt_ids, name)],
                format_func=lambda v: "Newest" if v == model_choice.NEWEST else f"Version {v}",
                key=f"bench-version-of-{name}",
                persist_state="session",
            )
            if version != model_choice.NEWEST:
                chosen[str(name)] = int(version)
    return chosen


# -- The prompts for language models: read them, see an example, edit a copy ----------------------


PROMPT_LABELS: dict[PromptName, str] = {
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


def prompts_section() -> None:
    """Choose a version, read it, see an example, edit a copy."""
    st.text(
        "Chat models and local language models get these prompts. Results with different "
        "prompts are in separate rows."
    )
    chosen_name, chosen = prompt_editor.choose(PROMPT_LABELS, place=_PLACE)
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
