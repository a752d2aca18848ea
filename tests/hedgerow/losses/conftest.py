"""The tiny encoder, and families as rows of a data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.hedgerow.losses.support.rows import rows
from tests.training.conftest import tiny_encoder as tiny_encoder

if TYPE_CHECKING:
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer


@pytest.fixture
def model(tiny_encoder: Path) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(tiny_encoder), device="cpu")


@pytest.fixture
def families() -> Dataset:
    """Twelve rows, as in an export."""
    from datasets import Dataset

    return Dataset.from_list(rows())
