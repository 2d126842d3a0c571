"""First tables: owners and keys, cohorts, searches with what they learn, models.

Revision ID: 0001
Revises:
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    _create_owner()
    _create_api_key()
    _create_idempotency_key()
    _create_cohort()
    _create_search()
    _create_proposal()
    _create_evaluation()
    _create_search_event()
    _create_model()


def downgrade() -> None:
    op.drop_table("model")
    op.drop_table("search_event")
    op.drop_table("evaluation")
    op.drop_table("proposal")
    op.drop_table("search")
    op.drop_table("cohort")
    op.drop_table("idempotency_key")
    op.drop_table("api_key")
    op.drop_table("owner")


def _create_owner() -> None:
    op.create_table(
        "owner",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_owner")),
        sa.UniqueConstraint("name", name=op.f("uq_owner_name")),
    )


def _create_api_key() -> None:
    op.create_table(
        "api_key",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("owner_id", sa.String(length=32), nullable=False),
        sa.Column("secret_sha256", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("revoked_at", _TIME, nullable=True),
        sa.ForeignKeyConstraint(["owner_id"], ["owner.id"], name=op.f("fk_api_key_owner_id_owner"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_key")),
    )
    op.create_index(op.f("ix_api_key_owner_id"), "api_key", ["owner_id"])


def _create_idempotency_key() -> None:
    op.create_table(
        "idempotency_key",
        sa.Column("owner_id", sa.String(length=32), nullable=False),
        sa.Column("route", sa.String(length=200), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("body_sha256", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("headers", sa.JSON(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["owner.id"], name=op.f("fk_idempotency_key_owner_id_owner"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("owner_id", "route", "key", name=op.f("pk_idempotency_key")),
    )
    op.create_index(op.f("ix_idempotency_key_created_at"), "idempotency_key", ["created_at"])


def _create_cohort() -> None:
    op.create_table(
        "cohort",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("owner_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("n_patients", sa.Integer(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["owner.id"], name=op.f("fk_cohort_owner_id_owner"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cohort")),
    )
    op.create_index(op.f("ix_cohort_owner_id_created_at_id"), "cohort", ["owner_id", "created_at", "id"])
    op.create_index(op.f("ix_cohort_sha256"), "cohort", ["sha256"])


def _create_search() -> None:
    op.create_table(
        "search",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("owner_id", sa.String(length=32), nullable=False),
        sa.Column("cohort_id", sa.String(length=32), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("phase", sa.String(length=16), nullable=True),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("runner_id", sa.String(length=200), nullable=True),
        sa.Column("lease_until", _TIME, nullable=True),
        sa.Column("losses", sa.Integer(), nullable=False),
        sa.Column("cancel_requested_at", _TIME, nullable=True),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("error", sa.JSON(), nullable=True),
        sa.Column("ensemble", sa.JSON(), nullable=True),
        sa.Column("rules", sa.JSON(), nullable=True),
        sa.Column("decomposition", sa.JSON(), nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("started_at", _TIME, nullable=True),
        sa.Column("finished_at", _TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["cohort_id"], ["cohort.id"], name=op.f("fk_search_cohort_id_cohort"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["owner.id"], name=op.f("fk_search_owner_id_owner"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_search")),
    )
    op.create_index(op.f("ix_search_cohort_id"), "search", ["cohort_id"])
    op.create_index(op.f("ix_search_owner_id_created_at_id"), "search", ["owner_id", "created_at", "id"])
    op.create_index(op.f("ix_search_status_created_at"), "search", ["status", "created_at"])


def _create_proposal() -> None:
    op.create_table(
        "proposal",
        sa.Column("search_id", sa.String(length=32), nullable=False),
        sa.Column("batch", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["search_id"], ["search.id"], name=op.f("fk_proposal_search_id_search"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("search_id", "batch", name=op.f("pk_proposal")),
    )


def _create_evaluation() -> None:
    op.create_table(
        "evaluation",
        sa.Column("search_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("configuration", sa.JSON(), nullable=False),
        sa.Column("config_key", sa.String(length=16), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("score", sa.Double(), nullable=True),
        sa.Column("fold_scores", sa.JSON(), nullable=False),
        sa.Column("duration_s", sa.Double(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("risks", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["search_id"], ["search.id"], name=op.f("fk_evaluation_search_id_search"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("search_id", "number", name=op.f("pk_evaluation")),
    )


def _create_search_event() -> None:
    op.create_table(
        "search_event",
        sa.Column("search_id", sa.String(length=32), nullable=False),
        sa.Column("sequence", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["search_id"], ["search.id"], name=op.f("fk_search_event_search_id_search"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("search_id", "sequence", name=op.f("pk_search_event")),
    )


def _create_model() -> None:
    op.create_table(
        "model",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("owner_id", sa.String(length=32), nullable=False),
        sa.Column("search_id", sa.String(length=32), nullable=True),
        sa.Column("cohort_id", sa.String(length=32), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("parent_id", sa.String(length=32), nullable=True),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["cohort_id"], ["cohort.id"], name=op.f("fk_model_cohort_id_cohort"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["owner.id"], name=op.f("fk_model_owner_id_owner"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["parent_id"], ["model.id"], name=op.f("fk_model_parent_id_model"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["search_id"], ["search.id"], name=op.f("fk_model_search_id_search"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model")),
    )
    op.create_index(op.f("ix_model_cohort_id"), "model", ["cohort_id"])
    op.create_index(op.f("ix_model_owner_id_created_at_id"), "model", ["owner_id", "created_at", "id"])
    op.create_index(op.f("ix_model_parent_id"), "model", ["parent_id"])
    op.create_index(op.f("ix_model_search_id"), "model", ["search_id"])
    op.create_index(op.f("ix_model_sha256"), "model", ["sha256"])
