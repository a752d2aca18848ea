"""The run that computes the embeddings for finding similar variants."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlmodel import col

from curation.encoders.embeddings import encode_distinct
from curation.encoders.loading import check_encoder, fingerprint, load_encoder
from curation.encoders.registered import encoder_source, register_encoder
from curation.project.opening import ACTIVE_ENCODER, get_setting
from curation.similar.stored_embeddings import StoredEmbeddings
from db.engine import reading, writing
from db.execution import RunContext
from db.models import Variant

KIND = "embed"

BLOCK = 5_000
"""Number of variants encoded between two writes. A run that is stopped loses at most these."""


def work(context: RunContext) -> dict[str, Any]:
    """Store the embeddings of all variants that have none for the project's active encoder."""
    with reading(context.engine) as session:
        name = get_setting(session, ACTIVE_ENCODER)
        source = encoder_source(session, context.settings, name)
    context.update(0, 0, f"Loading the encoder {name}.")
    check_encoder(source)
    hash_ = fingerprint(source)
    model = load_encoder(source)
    with writing(context.engine) as session:
        register_encoder(session, name=name, hash_=hash_)
    stored = StoredEmbeddings(context.settings.data_folder, hash_)
    missing = _missing(context, stored)
    for start in range(0, len(missing), BLOCK):
        block = missing[start : start + BLOCK]

        def report(done: int, total: int, before: int = start) -> None:
            context.update(before + done, len(missing), "Computing embeddings.")

        embeddings = encode_distinct(model, [text for _, text in block], on_progress=report)
        stored.append([uid for uid, _ in block], embeddings)
    return {"encoder": name, "embeddings": len(missing)}


def _missing(context: RunContext, stored: StoredEmbeddings) -> Sequence[tuple[str, str]]:
    """(uid, text) of the variants whose embeddings are not stored."""
    known = stored.uids()
    with reading(context.engine) as session:
        query = select(col(Variant.uid), col(Variant.text)).order_by(col(Variant.id))
        return [(uid, text) for uid, text in session.execute(query) if uid not in known]
