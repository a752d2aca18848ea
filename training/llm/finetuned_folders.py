"""Where the language models are that were finetuned here."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.orm import Session

from training.llm.request import done, list_language_finetunings


def finetuned_folders(session: Session, data_folder: Path) -> list[str]:
    """The folders of their adapters as results name them, the newest first; none that is gone."""
    runs = done(list_language_finetunings(session))
    folders = [(data_folder / run.result["model"]).resolve() for run in runs]
    return [str(folder) for folder in folders if folder.is_dir()]
