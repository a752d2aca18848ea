"""The calls and answers that could have produced the variants of a synthetic project."""

from typing import Any

from sqlalchemy import case, insert, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from bench.projects.synthetic import RUNS
from curation.generation.prompts import prompt_versions, sample_cues, seed_prompts, types_of
from curation.taxonomy.project_types import list_types
from curation.taxonomy.surface_check import ROLES
from db.columns import now
from db.models import Anchor, Answer, CallState, ModelCall, Variant

BLOCK = 5000
PROBLEMS = 20
"""One call in this many has failed permanently. The project has its variants all the same."""


def add_calls(session: Session) -> None:
    """Add one call for every anchor and role. Each was answered at the first attempt."""
    seed_prompts(session)
    types = list_types(session)
    prompts = {role: prompt_versions(session, role)[0].id for role in ROLES}
    asked = {role: types_of(role, types) for role in ROLES}
    anchors = session.execute(select(col(Anchor.id), col(Anchor.uid))).all()
    number = 0
    for role in ROLES:
        for start in range(0, len(anchors), BLOCK):
            calls: list[dict[str, Any]] = []
            for anchor_id, uid in anchors[start : start + BLOCK]:
                number += 1
                failed = number % PROBLEMS == 0
                calls.append(
                    {
                        "id": number,
                        "run_id": 1 + (anchor_id - 1) % RUNS,
                        "key": f"{uid}-{role}",
                        "role": role,
                        "anchor_id": anchor_id,
                        "anchor_revision": 1,
                        "prompt_version_id": prompts[role],
                        "type_ids": [entry.id for entry in asked[role]],
                        "cues": sample_cues(asked[role], seed=0, anchor_uid=uid),
                        "attempts": 1,
                        "state": CallState.FAILED if failed else CallState.DONE,
                        "problem": "unreadable" if failed else "",
                    }
                )
            session.execute(insert(ModelCall), calls)
            session.execute(insert(Answer), [_answer(call) for call in calls])
    prompt = case(
        *(
            (col(Variant.type_id).in_([entry.id for entry in asked[role]]), prompts[role])
            for role in ROLES
        )
    )
    session.execute(update(Variant).values(prompt_version_id=prompt))


def _answer(call: dict[str, Any]) -> dict[str, Any]:
    kept = ("run_id", "anchor_id", "anchor_revision", "prompt_version_id", "cues")
    return {name: call[name] for name in kept} | {
        "call_id": call["id"],
        "attempt": 1,
        "raw": '{"verbal": "…"} ' * 20,
        "finish_reason": "stop",
        "error": call["problem"],
        "prompt_tokens": 200,
        "completion_tokens": 90,
        "cost": 0.0001,
        "seconds": 1.0,
        "created_at": now(),
    }
