"""The last word on a trained encoder: data that neither the training nor its developers saw.

    python -m bench.judged MODEL [MODEL …] [--base NAME] [--data FOLDER]

Prints figures of the base encoder and of each model, in points, on what lies in `bench/judged`
(its README says who wrote it) and on further folders (`bench.judging` says what they may hold).
Only this module reads `bench/judged`, and it is for one use: once a recipe has been changed because
of what it says, it judges nothing any more.
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
from hedgerow.losses.families import LEVELS, Family, Member, Role
from training.evaluation.held_out import HeldOut
from training.evaluation.similarity import FIGURE_1, probe_similarities

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

JUDGED = Path(__file__).with_name("judged")

_ROLES = {entry.id: Role[entry.role.upper()] for entry in TAXONOMY}
_GRADES = {role: -place for place, role in enumerate(LEVELS)}


def families() -> list[Family]:
    """The families of the judged part, with a variant of every type each."""
    lines = (JUDGED / "families.jsonl").read_text(encoding="utf-8").splitlines()
    return [list(_members(json.loads(line))) for line in lines]


def _members(row: dict[str, Any]) -> Iterator[Member]:
    yield Member(canonical(row["anchor"]), Role.ANCHOR)
    for type_id, role in _ROLES.items():
        entry = row[type_id]
        text = entry["text"] if isinstance(entry, dict) else entry
        yield Member(canonical(text), role, type_id)


def on_families(found: list[Family], model: SentenceTransformer, base: Any) -> dict[str, float]:
    """Shares that are right, the correlation of cosines with the four and with the three lower
    levels, and the mean cosine of each level."""
    figures = HeldOut(base, found).figures(model)
    wanted = {name: value for name, value in figures.items() if ":" not in name}
    members = [(family[0].text, member) for family in found for member in family[1:]]
    cosines = np.array(pair_cosines(model, [(anchor, member.text) for anchor, member in members]))
    grades = np.array([_GRADES[member.role] for _, member in members])
    lower = np.array([member.role != Role.PARAPHRASE for _, member in members])
    wanted["four levels"] = float(spearmanr(cosines, grades).statistic)
    wanted["three levels"] = float(spearmanr(cosines[lower], grades[lower]).statistic)
    for role in LEVELS:
        wanted[f"cosine {role.name.lower()}"] = float(cosines[grades == _GRADES[role]].mean())
    return {name: round(100 * value, 1) for name, value in wanted.items()}


def _figures(model: SentenceTransformer, base: Any, folders: list[Path]) -> dict[str, float]:
    found = on_families(families(), model, base)
    judged = on_folders([JUDGED], model)
    found |= {f"judged {name}": value for name, value in judged.items() if name != "retrieval"}
    found |= on_folders(folders, model)
    figure_1 = zip(FIGURE_1, probe_similarities(model, FIGURE_1), strict=True)
    return found | {f"Figure 1 {probe.label}": round(100 * cosine, 1) for probe, cosine in figure_1}


def main() -> None:
    """Measure all models and print every figure side by side."""
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
