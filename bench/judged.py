"""The last word on a trained encoder: data that neither the training nor the search for it saw.

    python -m bench.judged MODEL [--base NAME] [--sts FOLDER]

Prints, before and after: on the pending fifth of the starter corpus with its review applied, the
share of questions in SemAntoNeg's manner answered right and of anchors to which every positive is
nearer than every negative (expected: at least 94% and 85%); the sixty probe groups (the
contradicted sentence farthest in at least 95%, affirmed nearer than weakened in at least 85%);
Figure 1; and with a folder of STS files (tab-separated score and two sentences) Spearman's
correlation (at most 0.5 points below before).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.judging import PENDING, on_families, on_sts, starter_families
from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER
from training.evaluation.probe_groups import bundled_probes, find_groups, score
from training.evaluation.similarity import AFFIRMED, FIGURE_1, WEAKENED, probe_similarities

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


def _groups(model: SentenceTransformer) -> dict[str, float]:
    probes = bundled_probes()
    cosines = probe_similarities(model, probes)
    groups = find_groups(probes)
    found = score(groups, cosines)
    near, far = (np.array([cosines[g.rows[role]] for g in groups]) for role in (AFFIRMED, WEAKENED))
    return {
        "contradicted farthest": found.ranked,
        "affirmed above weakened": float((near > far).mean()),
        **{f"mean cosine {role}": value for role, value in found.means.items()},
    }


def main() -> None:
    """Measure both models and print every figure of the one beside the other's."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--base", default=DEFAULT_ENCODER)
    parser.add_argument("--sts", type=Path)
    options = parser.parse_args()
    families = starter_families()[PENDING]
    base, model = load_encoder(options.base), load_encoder(options.model)
    columns = []
    for encoder in (base, model):
        figures = on_families(families, encoder, base) | _groups(encoder)
        figures |= {
            f"Figure 1 {probe.label}": cosine
            for probe, cosine in zip(FIGURE_1, probe_similarities(encoder, FIGURE_1), strict=True)
        }
        if options.sts:
            figures |= {f"STS {name}": v for name, v in on_sts(options.sts, encoder).items()}
        columns.append(figures)
    print(f"{len(families)} families of the pending fifth, 60 probe groups")
    for name, before in columns[0].items():
        print(f"{name:45} {before:8.4f} {columns[1][name]:8.4f}")


if __name__ == "__main__":
    main()
