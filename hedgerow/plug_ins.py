"""Base classes for plug-ins; docs/plug_ins.md shows how to write one.

A plug-in is a package with a subclass of `Provider`, `EncoderLoader`, `Benchmark`, `Scorer` or
`ExportFormat`. It registers the subclass as an entry point in the group that the base class
documents.
"""

from curation.encoders.model_folders import EncoderLoader
from curation.generation.providers.interface import PassedOver, Provider, WritingTask, Written
from curation.release.export.export_formats import ExportFormat, ReleaseTables
from db.errors import HedgerowError
from training.benchmarks.definition import Benchmark, ItemResult, Question
from training.benchmarks.file_reading import FileRecord
from training.benchmarks.scorers.interface import Scorer
from training.benchmarks.tasks.common_forms import FirstRight, PairColumns, ScoredPairs

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
