"""Tiny models of each architecture."""

from tests.training.benchmarks.conftest import tiny_colbert as tiny_colbert
from tests.training.benchmarks.conftest import tiny_cross as tiny_cross
from tests.training.benchmarks.conftest import tiny_nli as tiny_nli
from tests.training.benchmarks.conftest import tokenizer as tokenizer
