"""The folders of the language models that were finetuned here."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.orm import Session

from training.llm.request import done, list_language_finetunings


def finetuned_folders(session: Session, data_folder: Path) -> list[str]:
    """The folders of the adapters that still exist, the newest first, with their names in
    results."""
    runs = done(list_language_finetunings(session))
    folders = [(data_folder / run.result["model"]).resolve() for run in runs]
    return [str(folder) for folder in folders if folder.is_dir()]


def finetuned_bases(session: Session, data_folder: Path) -> dict[str, str]:
    """The fingerprint of the base of each adapter and merged model, by the folder of the model."""
    return {
        str((data_folder / run.result[model]).resolve()): str(run.result["base_fingerprint"])
        for run in done(list_language_finetunings(session))
        for model in ("model", "merged")
        if run.result.get(model)
    }
