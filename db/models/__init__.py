"""The tables. docs/data_model.md defines what their rows mean.

Decisions, opinions, notes, note retractions, marks for discussion, cue corrections and release
items are append-only: triggers from the migrations refuse to change or delete them. Texts are
stored once, and derived columns are documented as such.
"""

from db.models.anchor_tables import Anchor, AnchorRevision, Source, Split
from db.models.decision_tables import (
    CueCorrection,
    Decision,
    DiscussMark,
    Lease,
    MarkKind,
    Note,
    NoteRetraction,
    Opinion,
    OpinionLook,
    Verdict,
)
from db.models.encoder_tables import (
    BenchmarkResult,
    Encoder,
    Probe,
    ProbeCosine,
    ProbeSet,
    VariantCosine,
)
from db.models.gold_tables import GoldItem, GoldUse, PracticeAnswer
from db.models.release_tables import Release, ReleaseItem
from db.models.reviewer_tables import Quota, Reviewer, ReviewerKind, Setting, TeamRole
from db.models.run_tables import Answer, CallState, ModelCall, Run, RunMetric, RunState
from db.models.taxonomy_tables import Polarity, PromptVersion, TypeRow, TypeVersion
from db.models.variant_tables import Diagnostic, Status, Variant
from db.models.window_tables import Draft, ReviewPosition

__all__ = [
    "Anchor",
    "AnchorRevision",
    "Answer",
    "BenchmarkResult",
    "CallState",
    "CueCorrection",
    "Decision",
    "Diagnostic",
    "DiscussMark",
    "Draft",
    "Encoder",
    "GoldItem",
    "GoldUse",
    "Lease",
    "MarkKind",
    "ModelCall",
    "Note",
    "NoteRetraction",
    "Opinion",
    "OpinionLook",
    "Polarity",
    "PracticeAnswer",
    "Probe",
    "ProbeCosine",
    "ProbeSet",
    "PromptVersion",
    "Quota",
    "Release",
    "ReleaseItem",
    "ReviewPosition",
    "Reviewer",
    "ReviewerKind",
    "Run",
    "RunMetric",
    "RunState",
    "Setting",
    "Source",
    "Split",
    "Status",
    "TeamRole",
    "TypeRow",
    "TypeVersion",
    "Variant",
    "VariantCosine",
    "Verdict",
]
