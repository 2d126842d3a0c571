"""Jobs beside the searches; models of a diagnosis, the sessions on them, and what learns them.

Revision ID: 0003
Revises: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    _create_job()
    _create_diagnosis_model()
    _create_diagnosis_session()
    _create_diagnosis_learner()


def downgrade() -> None:
    op.drop_table("diagnosis_learner")
    op.drop_table("diagnosis_session")
    op.drop_table("diagnosis_model")
    op.drop_table("job")


def _create_job() -> None:
    op.create_table(
        "job",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("owner_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("subject_id", sa.String(length=32), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("runner_id", sa.String(length=200), nullable=True),
        sa.Column("lease_until", _TIME, nullable=True),
        sa.Column("losses", sa.Integer(), nullable=False),
        sa.Column("error", sa.JSON(), nullable=True),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("started_at", _TIME, nullable=True),
        sa.Column("finished_at", _TIME, nullable=True),
        sa.ForeignKeyConstraint(["owner_id"], ["owner.id"], name=op.f("fk_job_owner_id_owner"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
    )
    op.create_index(op.f("ix_job_owner_id_created_at_id"), "job", ["owner_id", "created_at", "id"])
    op.create_index(op.f("ix_job_status_created_at"), "job", ["status", "created_at"])
    op.create_index(op.f("ix_job_subject_id"), "job", ["subject_id"])


def _create_diagnosis_model() -> None:
    op.create_table(
        "diagnosis_model",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("owner_id", sa.String(length=32), nullable=False),
        sa.Column("cohort_id", sa.String(length=32), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("tree_sha256", sa.String(length=64), nullable=True),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("tree", sa.JSON(), nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["cohort_id"], ["cohort.id"], name=op.f("fk_diagnosis_model_cohort_id_cohort"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["owner.id"], name=op.f("fk_diagnosis_model_owner_id_owner"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_diagnosis_model")),
    )
    op.create_index(op.f("ix_diagnosis_model_cohort_id"), "diagnosis_model", ["cohort_id"])
    op.create_index(
        op.f("ix_diagnosis_model_owner_id_created_at_id"), "diagnosis_model", ["owner_id", "created_at", "id"]
    )
    op.create_index(op.f("ix_diagnosis_model_sha256"), "diagnosis_model", ["sha256"])
    op.create_index(op.f("ix_diagnosis_model_tree_sha256"), "diagnosis_model", ["tree_sha256"])


def _create_diagnosis_session() -> None:
    op.create_table(
        "diagnosis_session",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("owner_id", sa.String(length=32), nullable=False),
        sa.Column("model_id", sa.String(length=32), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("changed_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["model_id"],
            ["diagnosis_model.id"],
            name=op.f("fk_diagnosis_session_model_id_diagnosis_model"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["owner.id"], name=op.f("fk_diagnosis_session_owner_id_owner"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_diagnosis_session")),
    )
    op.create_index(op.f("ix_diagnosis_session_model_id"), "diagnosis_session", ["model_id"])
    op.create_index(
        op.f("ix_diagnosis_session_owner_id_created_at_id"), "diagnosis_session", ["owner_id", "created_at", "id"]
    )


def _create_diagnosis_learner() -> None:
    op.create_table(
        "diagnosis_learner",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("owner_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("n_cases", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("changed_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["owner.id"], name=op.f("fk_diagnosis_learner_owner_id_owner"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_diagnosis_learner")),
    )
    op.create_index(
        op.f("ix_diagnosis_learner_owner_id_created_at_id"), "diagnosis_learner", ["owner_id", "created_at", "id"]
    )
