"""What a recipe is made from: a preset, files of the user, and the bundled retention texts."""

from pathlib import Path
from typing import NamedTuple

import pandas as pd
import streamlit as st

from db.errors import HedgerowError
from pages.components.shared import tables
from pages.components.shared.shell import error_messages, open_project
from pages.components.train import recipe_editor
from training.evaluation import general_ability
from training.finetune.inputs import READERS, keep_file
from training.recipe.presets import PRESETS, Preset, fitting, preset_of, reason, recipe_for
from training.recipe.schema import Recipe, parse_recipe
from training.recipe.training_data import TrainingPlan
from training.retention.texts import LARGEST_FILE, BundledText, bundled_texts, documents, topics


def default_preset(wanted: TrainingPlan) -> Preset:
    """The preset that was chosen, or the one that fits."""
    return PRESETS.get(recipe_editor.chosen_preset()) or fitting(wanted)


def default_text(wanted: TrainingPlan) -> str:
    """Its recipe for this release, as YAML."""
    return recipe_for(default_preset(wanted), wanted).to_yaml()


def choose_preset(wanted: TrainingPlan, text: str) -> None:
    """The choice of a preset, and why this one is selected.

    Args:
        text: the current YAML text of the recipe.
    """
    current = _preset_of(text, wanted)
    own = recipe_editor.own_text() if current else text
    options = [*PRESETS, *([recipe_editor.OWN] if own and not _preset_of(own, wanted) else [])]
    with st.container(horizontal=True, vertical_alignment="center", key="train-preset-row"):
        st.segmented_control(
            "Preset",
            options,
            format_func=lambda key: PRESETS[key].label if key in PRESETS else "Your own",
            key=recipe_editor.widget_key(
                recipe_editor.PRESET, current.id if current else recipe_editor.OWN
            ),
            on_change=recipe_editor.take_up,
            required=True,
            width="content",
            label_visibility="collapsed",
        )
        st.text(_description(current, wanted), width="stretch")


def _preset_of(text: str, wanted: TrainingPlan) -> Preset | None:
    """The preset that equals the text; None for any other text."""
    try:
        return preset_of(parse_recipe(text), wanted)
    except HedgerowError:
        return None


def _description(current: Preset | None, wanted: TrainingPlan) -> str:
    if current is None:
        return "Your own recipe. It differs from every preset."
    if current == fitting(wanted):
        return f"Preset: {current.id}, because {reason(wanted)} to train on. {current.purpose}"
    return f"Preset: {current.id}. {current.purpose}"


# -- Files for the next run's recipe: an STS file and retention text ------------------------------


_PROBLEM = "train_file_problem"


class FileField(NamedTuple):
    """A recipe key that names a file."""

    field: str
    label: str
    things: str
    megabytes: int


KINDS = (
    FileField("sts_file", "STS file", "sentence pairs", general_ability.LARGEST_STS_FILE >> 20),
    FileField(
        "retention_file",
        "Retention text",
        "sentences",
        LARGEST_FILE >> 20,
    ),
)


def recipe_files(recipe: Recipe, current: str, usable: bool) -> None:
    """For each kind: the current file, and a box to upload another."""
    with st.container(horizontal=True, key="train-fields-files"):
        for kind in KINDS:
            with st.container():
                _one(kind, recipe, current, usable)
    error_messages.show_kept(_PROBLEM)


def _one(kind: FileField, recipe: Recipe, current: str, usable: bool) -> None:
    path = getattr(recipe, kind.field)
    if not path:
        key = f"train-file-{kind.field}"
        st.file_uploader(
            kind.label,
            key=key,
            type=["txt", "tsv", "csv"],
            on_change=_store,
            args=(kind, key, current),
            disabled=not usable,
            max_upload_size=kind.megabytes,
            help=recipe_editor.meaning(kind.field),
        )
        return
    st.text(f"{kind.label}: {_file_description(kind, path)}")
    st.button(
        "Remove the file",
        key=f"train-file-drop-{kind.field}",
        disabled=not usable,
        on_click=recipe_editor.change,
        args=(current, {kind.field: None}),
    )


def _file_description(kind: FileField, path: str) -> str:
    try:
        return _counted(kind, path, Path(path).stat().st_mtime)
    except OSError:
        return f"{path} does not exist."


@st.cache_data(show_spinner=False, max_entries=20)
def _counted(kind: FileField, path: str, _modified: float) -> str:
    """The contents of a file; reading several megabytes takes a moment."""
    try:
        return f"{len(READERS[kind.field](Path(path))):,} {kind.things} ({Path(path).name})"
    except HedgerowError as error:
        return str(error)


def _store(kind: FileField, key: str, current: str) -> None:
    file = st.session_state.get(key)
    if file is None:
        return
    try:
        path = keep_file(
            open_project.settings().data_folder, file.getvalue(), read=READERS[kind.field]
        )
    except HedgerowError as error:
        error_messages.keep(_PROBLEM, f"{file.name}: {error}")
        return
    recipe_editor.change(current, {kind.field: str(path)})


# -- The bundled retention texts, as a searchable table -------------------------------------------


HEIGHT, ROW_HEIGHT = 478, 88
"""Height in pixels of the table, which draws only visible rows, and of a row with four lines: the
longest text has as many."""


def draw_bundled_texts() -> None:
    """The expander; the texts are sent to the browser when it is opened."""
    box = st.expander(
        "Retention texts",
        icon=":material/anchor:",
        key="train-bundled-texts",
        on_change="rerun",
    )
    if not box.open:
        return
    with box:
        _texts()


def _texts() -> None:
    st.text(
        "An encoder that is trained on negation alone forgets other things. To prevent that, "
        "training keeps the embeddings of unrelated texts, and their similarities, close to "
        "the base encoder's. These texts teach nothing about negation: they have no negated "
        "variants, and nothing pushes them apart."
    )
    st.text(
        f"Hedgerow comes with {len(bundled_texts()):,} English texts, written by a language "
        f"model: sentences on {len(topics()):,} topics, and {len(documents()):,} documents, "
        "each with a title, a passage, two questions, a query and a description of what a "
        "reader is looking for. The anchors of the release are used in the same way."
    )
    st.dataframe(
        pd.DataFrame(bundled_texts(), columns=["Group", "Kind", "Text"]),
        hide_index=True,
        key="train-bundled-table",
        height=HEIGHT,
        row_height=ROW_HEIGHT,
        column_config={
            "Group": st.column_config.TextColumn(width=110),
            "Kind": st.column_config.TextColumn(width=120),
            "Text": st.column_config.TextColumn(width=820),
        },
    )
    st.caption("To search, use the magnifying glass above the table.")
    tables.csv_button(
        lambda: (BundledText._fields, bundled_texts()),
        "hedgerow-bundled-texts",
        key="train-bundled-csv",
        help="Download all texts.",
    )
