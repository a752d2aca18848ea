"""The final evaluation of a trained encoder, on data that nobody used to develop a recipe.

    python -m bench.judged MODEL [MODEL …] [--base NAME] [--data FOLDER]

The bench prints the figures of the base encoder and of each model, in points, on the data in
`bench/judged` (see its README) and in other folders (`bench.judging` describes their contents).
Only this module reads `bench/judged`, and only once, when a recipe is final: if you change a recipe
because of these figures, the data no longer give an independent evaluation.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import spearmanr

from bench.judging import on_folders
from curation.content_uids import canonical
from curation.encoders.embeddings import pair_cosines
from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.taxonomy.built_in import TAXONOMY
from training.evaluation.held_out import HeldOut
from training.evaluation.similarity import FIGURE_1, probe_similarities
from training.losses.families import LEVELS, Family, Member, Role

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

JUDGED = Path(__file__).with_name("judged")

_ROLES = {entry.id: Role[entry.role.upper()] for entry in TAXONOMY}
_GRADES = {role: -place for place, role in enumerate(LEVELS)}


def families() -> list[Family]:
    """The families in `bench/judged`, each with a variant of every type."""
    lines = (JUDGED / "families.jsonl").read_text(encoding="utf-8").splitlines()
    return [list(_members(json.loads(line))) for line in lines]


def _members(row: dict[str, Any]) -> Iterator[Member]:
    yield Member(canonical(row["anchor"]), Role.ANCHOR)
    for type_id, role in _ROLES.items():
        entry = row[type_id]
        text = entry["text"] if isinstance(entry, dict) else entry
        yield Member(canonical(text), role, type_id)


def on_families(found: list[Family], model: SentenceTransformer, base: Any) -> dict[str, float]:
    """The figures of a model on families, in points.

    These are the shares of correct answers (`training.evaluation.held_out`), the correlation of
    cosines with all four levels and with the three lower levels, and the mean cosine of each level.
    """
    held_out = HeldOut(base, found).figures(model)
    figures = {name: value for name, value in held_out.items() if ":" not in name}
    members = [(family[0].text, member) for family in found for member in family[1:]]
    cosines = np.array(pair_cosines(model, [(anchor, member.text) for anchor, member in members]))
    grades = np.array([_GRADES[member.role] for _, member in members])
    lower = np.array([member.role != Role.PARAPHRASE for _, member in members])
    figures["four levels"] = float(spearmanr(cosines, grades).statistic)
    figures["three levels"] = float(spearmanr(cosines[lower], grades[lower]).statistic)
    for role in LEVELS:
        figures[f"cosine {role.name.lower()}"] = float(cosines[grades == _GRADES[role]].mean())
    return {name: round(100 * value, 1) for name, value in figures.items()}


def _figures(model: SentenceTransformer, base: Any, folders: list[Path]) -> dict[str, float]:
    found = on_families(families(), model, base)
    judged = on_folders([JUDGED], model)
    found |= {f"judged {name}": value for name, value in judged.items() if name != "retrieval"}
    found |= on_folders(folders, model)
    figure_1 = zip(FIGURE_1, probe_similarities(model, FIGURE_1), strict=True)
    return found | {f"Figure 1 {probe.label}": round(100 * cosine, 1) for probe, cosine in figure_1}


def main() -> None:
    """Measure all models, and print their figures side by side."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--base", default=DEFAULT_ENCODER)
    parser.add_argument("--data", type=Path, action="append", default=[])
    options = parser.parse_args()
    base = load_encoder(options.base)
    columns = [_figures(base, base, options.data)]
    columns += [_figures(load_encoder(name), base, options.data) for name in options.models]
    for name in columns[0]:
        print(f"{name:45}" + "".join(f"{column[name]:8.1f}" for column in columns))


if __name__ == "__main__":
    main()
