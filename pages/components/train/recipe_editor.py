"""The recipe of the next run: fields for what users change most, and the whole recipe as YAML.

The YAML text is the single source of truth. Fields show its values and write to it. While the text
is not a valid recipe, the fields have no effect. Edits outlive the widgets, which forget their
values when they are not drawn.

To show another value, a widget gets a new key. A browser that has not received the update yet still
sends the value of the old widget, for instance with a click, although nobody typed it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, get_args

import streamlit as st

from curation.release.triples import Portion
from db.errors import HedgerowError
from pages.components.shared.formatting import plain
from pages.components.shared.shell import error_messages
from training.recipe.schema import Loss, Recipe, Watched, parse_recipe
from training.recipe.values import LARGEST

_TEXT, _SHOWN, _PROBLEM = "train_recipe", "train_shown", "train_recipe_problem"
_CHOSEN, _OWN_TEXT = "train_preset", "train_own_recipe"
_BOX, _UPLOAD, _FIELD = "train-yaml", "train-upload", "train-field-"
PRESET = "train-preset"
"""Name of the widget that shows the recipe's preset."""

OWN = "own"
"""Its value for a recipe that is not a preset."""

_SHARE = "source:"
"""Prefix of the fields that show a source's share."""


class _Shown(NamedTuple):
    """Key of the widget that currently shows a field or the text, and its initial value."""

    key: str
    value: object
    number: int


LABELS = {
    "symmetric": "symmetric: negations as anchors, too",
    "family": "family: all variants of an anchor",
    "triples": "triples: as in the paper",
    "paper": "paper: four negations, two hedges",
    "negation": "only negation",
    "hedging": "only hedging",
    "ranked": "triples ranked correctly",
    "families": "anchors ranked correctly",
    "questions": "questions answered correctly",
    "sts": "general ability (STS)",
}
"""Labels of values whose names are not clear enough."""


def text(default: str) -> str:
    """The edited text of the recipe, or that of the chosen preset."""
    return st.session_state.get(_TEXT) or default


def use(edited: str) -> None:
    """Use another recipe; an empty text means the chosen preset."""
    st.session_state[_TEXT] = edited


def chosen_preset() -> str:
    """The id of the chosen preset; "" for none."""
    return st.session_state.get(_CHOSEN, "")


def own_text() -> str:
    """The edited text that a preset replaced, if any."""
    return st.session_state.get(_OWN_TEXT, "")


def choose(preset: str) -> None:
    """Use a preset's recipe; the edited text stays available as the user's own."""
    state = st.session_state
    if preset == OWN:
        use(own_text())
        return
    state[_OWN_TEXT] = state.get(_TEXT) or own_text()
    state[_CHOSEN] = preset
    use("")


def take_up() -> None:
    """Write changes in the box, a field or the preset choice into the recipe.

    This is idempotent, so that each widget's callback and the start button may call it in any
    order.
    """
    state = st.session_state
    typed = {
        name: state[shown.key]
        for name, shown in _shown().items()
        if shown.key in state and state[shown.key] != shown.value
    }
    preset = typed.pop(PRESET, None)
    if _BOX in typed:
        use(typed.pop(_BOX))
    box = _shown().get(_BOX)
    current = str(state.get(_TEXT) or (box.value if box else ""))
    if changes := {name.removeprefix(_FIELD): value for name, value in typed.items()}:
        change(current, changes)
    if preset is not None:
        choose(str(preset))


def _shown() -> dict[str, _Shown]:
    found: dict[str, _Shown] = st.session_state.setdefault(_SHOWN, {})
    return found


def change(current: str, changes: Mapping[str, Any]) -> None:
    """Write other values into a recipe's text; invalid values change nothing.

    The boxes have no limits, because a browser does not submit a value beyond them. The estimate
    would then be for a recipe other than the one on the screen.
    """
    with error_messages.kept_for(_PROBLEM):
        values = parse_recipe(current).model_dump()
        for name, value in changes.items():
            if name.startswith(_SHARE):
                values["sources"] |= {name.removeprefix(_SHARE): value}
            else:
                values[name] = value
        use(Recipe(**values).to_yaml())


def draw(
    default: str, sources: Collection[str], files: Callable[[Recipe, str, bool], None]
) -> None:
    """The fields, the text box, and the buttons to load and save a recipe.

    Args:
        sources: names of the data's sources.
        files: draws the upload boxes for a recipe's files; receives the recipe, its text, and
            whether the text is valid.
    """
    shown = text(default)
    recipe, wrong = _parsed(shown, default)
    _fields(recipe, disabled=bool(wrong))
    if len(sources) > 1:
        _shares(recipe, sources, disabled=bool(wrong))
    files(recipe, shown, not wrong)
    error_messages.show_kept(_PROBLEM)
    if wrong:
        st.text(f"The fields above have no effect until the text below is a valid recipe. {wrong}")
    st.text_area(
        "Recipe (YAML)",
        height=340,
        max_chars=LARGEST,
        key=widget_key(_BOX, shown),
        on_change=take_up,
        help="The whole recipe. The fields above change it. Missing keys have their defaults.",
    )
    if absent := [source for source in recipe.sources if source not in sources]:
        st.caption(
            "The data has no triples from these sources, so their shares have no effect: "
            f"{', '.join(map(plain, absent))}."
        )
    _in_and_out(shown, default)
    _meanings(recipe)


def _parsed(shown: str, default: str) -> tuple[Recipe, str]:
    """The recipe, and what is wrong with the text; if something is, the preset's recipe."""
    try:
        return parse_recipe(shown), ""
    except HedgerowError as error:
        return parse_recipe(default), str(error)


def widget_key(name: str, value: object) -> str:
    """Key of a widget that shows a value; kept if it does, because the user may be typing in it."""
    state = st.session_state
    number = 0
    if shown := _shown().get(name):
        if shown.key in state and state[shown.key] == value:
            _shown()[name] = shown._replace(value=value)
            return shown.key
        number = shown.number + (shown.key in state)
    key = f"{name}-{number}" if number else name
    state[key] = value
    _shown()[name] = _Shown(key, value, number)
    return key


def _label(value: str) -> str:
    return LABELS.get(value, value)


def meaning(name: str) -> str:
    """The meaning of a recipe key."""
    return (Recipe.model_fields[name].description or "").replace("\n", " ")


def _fields(recipe: Recipe, *, disabled: bool) -> None:
    def shared(name: str) -> dict[str, Any]:
        key = widget_key(f"{_FIELD}{name}", getattr(recipe, name))
        return {"key": key, "on_change": take_up, "disabled": disabled, "help": meaning(name)}

    with st.container(horizontal=True, key="train-fields-what"):
        st.text_input("Base encoder", **shared("base_encoder"))
        st.selectbox("Loss", get_args(Loss), format_func=_label, **shared("loss"))
        st.selectbox("Data", get_args(Portion), format_func=_label, **shared("data"))
    with st.container(horizontal=True, key="train-fields-how"):
        st.number_input("Epochs", step=1.0, format="%g", **shared("epochs"))
        st.number_input(
            "Maximum steps",
            value=None,
            step=10,
            placeholder="no maximum",
            **shared("max_steps"),
        )
        st.number_input("Batch size", step=2, **shared("batch_size"))
        st.number_input("Learning rate", step=1e-5, format="%g", **shared("learning_rate"))
        st.selectbox(
            "Early stopping metric",
            get_args(Watched),
            index=None,
            format_func=_label,
            placeholder="none: keep the final weights",
            **shared("early_stopping"),
        )
    with st.container(horizontal=True, key="train-fields-keep"):
        st.number_input("Retention", step=0.5, format="%g", **shared("retention"))
        st.number_input("Interpolation", step=0.05, format="%g", **shared("interpolation"))
        st.number_input(
            "LoRA rank",
            value=None,
            step=8,
            placeholder="all weights",
            **shared("lora_rank"),
        )


def _shares(recipe: Recipe, sources: Collection[str], *, disabled: bool) -> None:
    """How much of each source an epoch uses."""
    st.text(
        "Share of each source's families per epoch (0 excludes a source)",
        help=meaning("sources"),
    )
    for number, source in enumerate(sources, start=1):
        share = recipe.sources.get(source, 1.0)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.number_input(
                f"Share of source {number}",  # a label is Markdown
                step=0.01,
                format="%g",
                key=widget_key(f"{_FIELD}{_SHARE}{source}", share),
                on_change=take_up,
                disabled=disabled,
                label_visibility="collapsed",
                width=140,
            )
            st.text(source)


def _in_and_out(shown: str, default: str) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.download_button("Download", shown, "recipe.yaml", "text/yaml", on_click="ignore")
        st.button("Reset to the preset", on_click=use, args=("",), disabled=shown == default)
    st.file_uploader(
        "Upload a recipe file",
        type=["yaml", "yml"],
        key=_UPLOAD,
        on_change=_upload,
        max_upload_size=1,
    )


def _upload() -> None:
    file = st.session_state.get(_UPLOAD)
    if file is None:
        return
    if file.size > LARGEST:
        error_messages.keep(_PROBLEM, f"{file.name} is too large for a recipe file.")
        return
    try:
        use(file.getvalue().decode("utf-8-sig"))
    except UnicodeDecodeError:
        error_messages.keep(_PROBLEM, f"Expected UTF-8 text in {file.name}; save it as UTF-8.")


def _meanings(recipe: Recipe) -> None:
    """All keys, with their current values."""
    with st.expander("What each key means", icon=":material/help:"):
        st.text(
            "\n\n".join(
                f"{name}: {getattr(recipe, name)}\n{meaning(name)}" for name in Recipe.model_fields
            )
        )
