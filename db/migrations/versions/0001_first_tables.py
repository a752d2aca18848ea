"""The first tables: everything from anchors to releases, runs and similarities.

Decisions and release items are append-only; triggers enforce this for every program.
"""

import sqlalchemy as sa
from alembic import op

from db.columns import JsonColumn, UtcDateTime
from db.migrations.triggers import refuse_changes

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "reviewer",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("counts", sa.Boolean(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_reviewer"),
        sa.UniqueConstraint("name", name="uq_reviewer_name"),
    )
    op.create_table(
        "setting",
        sa.Column("key", sa.String(80), nullable=False),
        sa.Column("value", JsonColumn, nullable=True),
        sa.PrimaryKeyConstraint("key", name="pk_setting"),
    )
    op.create_table(
        "source",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("licence", sa.String(200), nullable=False),
        sa.Column("url", sa.String(2000), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_source"),
        sa.UniqueConstraint("name", name="uq_source_name"),
    )
    op.create_table(
        "variant_type",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("polarity", sa.String(32), nullable=False),
        sa.Column("group", sa.String(40), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("origin", sa.String(40), nullable=False),
        sa.Column("retired_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_variant_type"),
    )
    op.create_table(
        "anchor",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uid", sa.String(32), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("source_id", sa.Integer(), nullable=False),
        sa.Column("genre", sa.String(80), nullable=False),
        sa.Column("language", sa.String(35), nullable=False),
        sa.Column("split", sa.String(32), nullable=False),
        sa.Column("retired_at", UtcDateTime(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], name="fk_anchor_source_id"),
        sa.PrimaryKeyConstraint("id", name="pk_anchor"),
        sa.UniqueConstraint("uid", name="uq_anchor_uid"),
    )
    op.create_index("ix_anchor_source_id_id", "anchor", ["source_id", "id"])
    op.create_index("ix_anchor_split_id", "anchor", ["split", "id"])

    op.create_table(
        "probe_set",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("author_id", sa.Integer(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["reviewer.id"], name="fk_probe_set_author_id"),
        sa.PrimaryKeyConstraint("id", name="pk_probe_set"),
        sa.UniqueConstraint("name", name="uq_probe_set_name"),
    )
    op.create_table(
        "prompt_version",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("template", sa.Text(), nullable=False),
        sa.Column("parent_id", sa.Integer(), nullable=True),
        sa.Column("author_id", sa.Integer(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["reviewer.id"], name="fk_prompt_version_author_id"),
        sa.ForeignKeyConstraint(
            ["parent_id"], ["prompt_version.id"], name="fk_prompt_version_parent_id"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_prompt_version"),
        sa.UniqueConstraint("name", "version", name="uq_prompt_version_name_version"),
    )
    op.create_table(
        "release",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("taxonomy", JsonColumn, nullable=False),
        sa.Column("summary", JsonColumn, nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("author_id", sa.Integer(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["reviewer.id"], name="fk_release_author_id"),
        sa.PrimaryKeyConstraint("id", name="pk_release"),
        sa.UniqueConstraint("number", name="uq_release_number"),
    )
    op.create_table(
        "run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("group", sa.String(80), nullable=False),
        sa.Column("parameters", JsonColumn, nullable=False),
        sa.Column("inputs", JsonColumn, nullable=False),
        sa.Column("versions", JsonColumn, nullable=False),
        sa.Column("result", JsonColumn, nullable=False),
        sa.Column("state", sa.String(32), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=True),
        sa.Column("folder", sa.String(500), nullable=False),
        sa.Column("requested_by", sa.Integer(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=True),
        sa.Column("heartbeat_at", UtcDateTime(), nullable=True),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["requested_by"], ["reviewer.id"], name="fk_run_requested_by"),
        sa.PrimaryKeyConstraint("id", name="pk_run"),
    )
    op.create_index("ix_run_kind_id", "run", ["kind", "id"])
    op.create_index("ix_run_state", "run", ["state"])

    op.create_table(
        "variant_type_version",
        sa.Column("type_id", sa.String(40), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("label", sa.String(80), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("example_anchor", sa.Text(), nullable=False),
        sa.Column("example", sa.Text(), nullable=False),
        sa.Column("prompt_line", sa.Text(), nullable=False),
        sa.Column("surface_check", JsonColumn, nullable=False),
        sa.Column("guideline", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["type_id"], ["variant_type.id"], name="fk_variant_type_version_type_id"
        ),
        sa.PrimaryKeyConstraint("type_id", "version", name="pk_variant_type_version"),
    )
    op.create_table(
        "anchor_revision",
        sa.Column("anchor_id", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("text_uid", sa.String(32), nullable=False),
        sa.Column("author_id", sa.Integer(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["anchor_id"], ["anchor.id"], name="fk_anchor_revision_anchor_id"),
        sa.ForeignKeyConstraint(
            ["author_id"], ["reviewer.id"], name="fk_anchor_revision_author_id"
        ),
        sa.PrimaryKeyConstraint("anchor_id", "revision", name="pk_anchor_revision"),
    )
    op.create_index("ix_anchor_revision_text_uid", "anchor_revision", ["text_uid"])

    op.create_table(
        "encoder",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(300), nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("path", sa.String(500), nullable=False),
        sa.Column("base_id", sa.Integer(), nullable=True),
        sa.Column("run_id", sa.Integer(), nullable=True),
        sa.Column("release_id", sa.Integer(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["base_id"], ["encoder.id"], name="fk_encoder_base_id"),
        sa.ForeignKeyConstraint(["release_id"], ["release.id"], name="fk_encoder_release_id"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_encoder_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_encoder"),
        sa.UniqueConstraint("fingerprint", name="uq_encoder_fingerprint"),
    )
    op.create_table(
        "probe",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("set_id", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("anchor", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("label", sa.String(80), nullable=False),
        sa.ForeignKeyConstraint(["set_id"], ["probe_set.id"], name="fk_probe_set_id"),
        sa.PrimaryKeyConstraint("id", name="pk_probe"),
        sa.UniqueConstraint("set_id", "ordinal", name="uq_probe_set_id_ordinal"),
    )
    op.create_table(
        "release_item",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("release_id", sa.Integer(), nullable=False),
        sa.Column("anchor_uid", sa.String(32), nullable=False),
        sa.Column("variant_uid", sa.String(32), nullable=False),
        sa.Column("anchor", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("type_id", sa.String(40), nullable=False),
        sa.Column("polarity", sa.String(32), nullable=False),
        sa.Column("cue", sa.String(200), nullable=True),
        sa.Column("split", sa.String(32), nullable=False),
        sa.Column("genre", sa.String(80), nullable=False),
        sa.Column("language", sa.String(35), nullable=False),
        sa.Column("source", sa.String(200), nullable=False),
        sa.Column("licence", sa.String(200), nullable=False),
        sa.Column("provenance", JsonColumn, nullable=False),
        sa.ForeignKeyConstraint(["release_id"], ["release.id"], name="fk_release_item_release_id"),
        sa.PrimaryKeyConstraint("id", name="pk_release_item"),
    )
    op.create_index("ix_release_item_release_id_split", "release_item", ["release_id", "split"])
    op.create_index("ix_release_item_variant_uid", "release_item", ["variant_uid"])

    op.create_table(
        "run_metric",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_run_metric_run_id"),
        sa.PrimaryKeyConstraint("run_id", "name", "step", name="pk_run_metric"),
    )
    op.create_table(
        "answer",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("anchor_id", sa.Integer(), nullable=False),
        sa.Column("anchor_revision", sa.Integer(), nullable=False),
        sa.Column("prompt_version_id", sa.Integer(), nullable=False),
        sa.Column("cues", JsonColumn, nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("raw", sa.Text(), nullable=False),
        sa.Column("finish_reason", sa.String(80), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("cost", sa.Float(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["anchor_id", "anchor_revision"],
            ["anchor_revision.anchor_id", "anchor_revision.revision"],
            name="fk_answer_anchor_id_anchor_revision",
        ),
        sa.ForeignKeyConstraint(
            ["prompt_version_id"], ["prompt_version.id"], name="fk_answer_prompt_version_id"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_answer_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_answer"),
    )
    op.create_index("ix_answer_anchor_id", "answer", ["anchor_id"])
    op.create_index("ix_answer_run_id_anchor_id", "answer", ["run_id", "anchor_id"])

    op.create_table(
        "probe_cosine",
        sa.Column("encoder_id", sa.Integer(), nullable=False),
        sa.Column("probe_id", sa.Integer(), nullable=False),
        sa.Column("cosine", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["encoder_id"], ["encoder.id"], name="fk_probe_cosine_encoder_id"),
        sa.ForeignKeyConstraint(["probe_id"], ["probe.id"], name="fk_probe_cosine_probe_id"),
        sa.PrimaryKeyConstraint("encoder_id", "probe_id", name="pk_probe_cosine"),
    )
    op.create_table(
        "variant",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uid", sa.String(32), nullable=False),
        sa.Column("anchor_id", sa.Integer(), nullable=False),
        sa.Column("anchor_revision", sa.Integer(), nullable=False),
        sa.Column("type_id", sa.String(40), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("cue", sa.String(200), nullable=True),
        sa.Column("run_id", sa.Integer(), nullable=True),
        sa.Column("answer_id", sa.Integer(), nullable=True),
        sa.Column("prompt_version_id", sa.Integer(), nullable=True),
        sa.Column("provider", sa.String(80), nullable=False),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("parent_id", sa.Integer(), nullable=True),
        sa.Column("author_id", sa.Integer(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("retired", sa.Boolean(), nullable=False),
        sa.Column("hardness", sa.Float(), nullable=False),
        sa.Column("suspicion", sa.Float(), nullable=False),
        sa.Column("random_key", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["anchor_id", "anchor_revision"],
            ["anchor_revision.anchor_id", "anchor_revision.revision"],
            name="fk_variant_anchor_id_anchor_revision",
        ),
        sa.ForeignKeyConstraint(["answer_id"], ["answer.id"], name="fk_variant_answer_id"),
        sa.ForeignKeyConstraint(["author_id"], ["reviewer.id"], name="fk_variant_author_id"),
        sa.ForeignKeyConstraint(["parent_id"], ["variant.id"], name="fk_variant_parent_id"),
        sa.ForeignKeyConstraint(
            ["prompt_version_id"], ["prompt_version.id"], name="fk_variant_prompt_version_id"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_variant_run_id"),
        sa.ForeignKeyConstraint(["type_id"], ["variant_type.id"], name="fk_variant_type_id"),
        sa.PrimaryKeyConstraint("id", name="pk_variant"),
        sa.UniqueConstraint("uid", name="uq_variant_uid"),
    )
    op.create_index("ix_variant_anchor_id_type_id", "variant", ["anchor_id", "type_id"])
    op.create_index("ix_variant_parent_id", "variant", ["parent_id"])
    op.create_index("ix_variant_status", "variant", ["status", "retired", "type_id", "id"])
    for order in ("suspicion", "hardness", "random_key"):
        op.create_index(
            f"ix_variant_queue_{order}",
            "variant",
            ["type_id", order, "id"],
            sqlite_where=sa.text("status = 'pending' AND retired IS 0"),
            postgresql_where=sa.text("status = 'pending' AND retired IS false"),
        )
    op.create_index("ix_variant_run_id", "variant", ["run_id"])

    op.create_table(
        "decision",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("variant_id", sa.Integer(), nullable=False),
        sa.Column("variant_version", sa.Integer(), nullable=False),
        sa.Column("reviewer_id", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(32), nullable=False),
        sa.Column("reason", sa.String(40), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("action_id", sa.String(36), nullable=False),
        sa.Column("child_id", sa.Integer(), nullable=True),
        sa.Column("retracts_id", sa.Integer(), nullable=True),
        sa.Column("adjudicates", sa.Boolean(), nullable=False),
        sa.Column("guideline_version", sa.Integer(), nullable=False),
        sa.Column("shown_at", UtcDateTime(), nullable=True),
        sa.Column("decided_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["child_id"], ["variant.id"], name="fk_decision_child_id"),
        sa.ForeignKeyConstraint(["retracts_id"], ["decision.id"], name="fk_decision_retracts_id"),
        sa.ForeignKeyConstraint(["reviewer_id"], ["reviewer.id"], name="fk_decision_reviewer_id"),
        sa.ForeignKeyConstraint(["variant_id"], ["variant.id"], name="fk_decision_variant_id"),
        sa.PrimaryKeyConstraint("id", name="pk_decision"),
        sa.UniqueConstraint("action_id", "variant_id", name="uq_decision_action_id_variant_id"),
    )
    for column in ("child_id", "retracts_id"):
        where = sa.text(f"{column} IS NOT NULL")
        op.create_index(
            f"ix_decision_{column}",
            "decision",
            [column],
            sqlite_where=where,
            postgresql_where=where,
        )
    op.create_index("ix_decision_reviewer_id_id", "decision", ["reviewer_id", "id"])
    op.create_index("ix_decision_variant_id_id", "decision", ["variant_id", "id"])

    op.create_table(
        "diagnostic",
        sa.Column("variant_id", sa.Integer(), nullable=False),
        sa.Column("levenshtein", sa.Integer(), nullable=False),
        sa.Column("length_ratio", sa.Float(), nullable=False),
        sa.Column("content_kept", sa.Float(), nullable=False),
        sa.Column("flags", sa.Integer(), nullable=False),
        sa.Column("check_version", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["variant_id"], ["variant.id"], name="fk_diagnostic_variant_id"),
        sa.PrimaryKeyConstraint("variant_id", name="pk_diagnostic"),
    )
    op.create_table(
        "variant_cosine",
        sa.Column("encoder_id", sa.Integer(), nullable=False),
        sa.Column("variant_id", sa.Integer(), nullable=False),
        sa.Column("cosine", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["encoder_id"], ["encoder.id"], name="fk_variant_cosine_encoder_id"
        ),
        sa.ForeignKeyConstraint(
            ["variant_id"], ["variant.id"], name="fk_variant_cosine_variant_id"
        ),
        sa.PrimaryKeyConstraint("encoder_id", "variant_id", name="pk_variant_cosine"),
    )
    op.create_index("ix_variant_cosine_variant_id", "variant_cosine", ["variant_id"])

    for table in ("decision", "release_item"):
        refuse_changes(table)
