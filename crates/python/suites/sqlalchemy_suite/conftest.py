"""SQLAlchemy's suite for dialects: `run.py sqlalchemy` runs it."""

import pytest
from sqlalchemy.dialects import registry

for name in ("volley", "volley.dbapi"):
    registry.register(name, "volley.sqlalchemy", "VolleyDialect")
pytest.register_assert_rewrite("sqlalchemy.testing.assertions")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403
