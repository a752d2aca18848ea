"""Files for the next run's recipe: an STS file and retention text."""

from pathlib import Path
from typing import NamedTuple

import streamlit as st

from db.errors import HedgerowError
from pages.components.shared.shell import error_messages, open_project
from pages.components.train.start import recipe_editor
from training.evaluation import sts
from training.recipe.inputs import READERS
from training.recipe.schema import Recipe
from training.recipe.stored_files import keep_file
from training.retention import distillation

_PROBLEM = "train_file_problem"


class FileField(NamedTuple):
    """A recipe key that names a file."""

    field: str
    label: str
    things: str
    megabytes: int


KINDS = (
    FileField("sts_file", "STS file", "sentence pairs", sts.LARGEST_FILE >> 20),
    FileField(
        "retention_file",
        "Retention text",
        "sentences",
        distillation.LARGEST_FILE >> 20,
    ),
)


def draw(recipe: Recipe, current: str, usable: bool) -> None:
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
    st.text(f"{kind.label}: {_description(kind, path)}")
    st.button(
        "Remove the file",
        key=f"train-file-drop-{kind.field}",
        disabled=not usable,
        on_click=recipe_editor.change,
        args=(current, {kind.field: None}),
    )


def _description(kind: FileField, path: str) -> str:
    try:
        modified = Path(path).stat().st_mtime
    except OSError:
        return f"{path} does not exist."
    return _counted(kind.field, path, modified)


@st.cache_data(show_spinner=False, max_entries=20)
def _counted(field: str, path: str, _modified: float) -> str:
    """The contents of a file; reading several megabytes takes a moment."""
    kind = next(kind for kind in KINDS if kind.field == field)
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
