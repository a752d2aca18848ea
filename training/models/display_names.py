"""Short names of models, for charts, tables and menus."""

import re
from collections import Counter
from collections.abc import Iterable

JOINED_BY = "+"
"""The separator between the names of a DPR model's two encoders."""

_TRAINED = re.compile(r"(run \d+(?: at [\d.e-]+)?): (.+)")
"""The name of a trained model: the number of its run, its base and its data. A point of a trade-off
also has its share: ``run 9 at 0.25: …``."""

_RUN_FOLDER = re.compile(r"/runs/0*(\d+)-[^/]+/(model|merged)")
"""The end of the path of a model that a run saved, such as a language model's adapter."""


def short_name(name: str) -> str:
    """The short name of a model: its run, or the last part of its folder or hub repository.

    Examples: ``run 9: …`` becomes ``run 9``, ``…/runs/00009-finetune-llm/merged`` becomes
    ``run 9, merged``, and ``sentence-transformers/all-mpnet-base-v2`` becomes
    ``all-mpnet-base-v2``. A name without a slash stays as it is.
    """
    if found := _TRAINED.fullmatch(name):
        return found[1]
    if found := _RUN_FOLDER.search(name.rstrip("/")):
        return f"run {found[1]}, merged" if found[2] == "merged" else f"run {found[1]}"
    parts = name.split(JOINED_BY)
    if len(parts) == 2 and all("/" in part for part in parts):
        return JOINED_BY.join(map(_last_part, parts))
    return _last_part(name)


def short_names(names: Iterable[str]) -> dict[str, str]:
    """The short name of each model. Models that would have the same one keep their full names."""
    short = {name: short_name(name) for name in names}
    count = Counter(short.values())
    return {name: label if count[label] == 1 else name for name, label in short.items()}


def choice_names(names: Iterable[str]) -> dict[str, str]:
    """The same for menus: a trained model also shows its base and its data.

    Example: ``run 9: /models/small, release 1`` becomes ``run 9: small, release 1``.
    """
    names = list(names)
    return {name: _with_base(name, label) for name, label in short_names(names).items()}


def _with_base(name: str, label: str) -> str:
    found = _TRAINED.fullmatch(name)
    if found is None or label == name:
        return label
    base, comma, data = found[2].rpartition(", ")
    return f"{label}: {_last_part(base)}{comma}{data}"


def _last_part(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2] or name
