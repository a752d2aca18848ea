"""What another package builds on to add something to Hedgerow; docs/plug_ins.md shows how.

A package subclasses one of `Provider`, `EncoderLoader`, `Benchmark`, `Scorer` and `ExportFormat`,
and names its class as an entry point of the group that the class says.
"""

from curation.encoders.plugged_in import EncoderLoader
from curation.generation.providers.interface import PassedOver, Provider, WritingTask, Written
from curation.release.export.export_formats import ExportFormat, ReleaseTables
from db.errors import HedgerowError
from training.benchmarks.data.file_reading import FileRecord
from training.benchmarks.definition import Benchmark, ItemResult, Question
from training.benchmarks.scorers.interface import Scorer
from training.benchmarks.tasks.first_right import FirstRight
from training.benchmarks.tasks.scored_pairs import PairColumns, ScoredPairs

__all__ = [
    "Benchmark",
    "EncoderLoader",
    "ExportFormat",
    "FileRecord",
    "FirstRight",
    "HedgerowError",
    "ItemResult",
    "PairColumns",
    "PassedOver",
    "Provider",
    "Question",
    "ReleaseTables",
    "ScoredPairs",
    "Scorer",
    "WritingTask",
    "Written",
]
