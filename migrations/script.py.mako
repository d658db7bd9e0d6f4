"""${message}.

Old and new workers share the database while this runs: add first, use later, remove last (docs/operating.md).
A statement that waits for a lock makes everybody behind it wait, so lock_timeout stays short.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql
${imports if imports else ""}

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}


def upgrade() -> None:
    """Bring the database up to this revision."""
    op.execute("set lock_timeout = '5s'")
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """Take the database back to the revision before."""
    ${downgrades if downgrades else "pass"}
