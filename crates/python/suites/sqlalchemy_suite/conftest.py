"""SQLAlchemy's suite for dialects: `run.py sqlalchemy` runs it."""

import pytest
from sqlalchemy.dialects import registry

for name in ("volley", "volley.dbapi"):
    registry.register(name, "volley.sqlalchemy", "VolleyDialect")
pytest.register_assert_rewrite("sqlalchemy.testing.assertions")

from sqlalchemy import text  # noqa: E402
from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403
from sqlalchemy.testing.provision import post_configure_engine  # noqa: E402


@post_configure_engine.for_db("volley")
def make_schema(url, engine, follower_ident):
    """The schema that the suite expects; each engine has tables of its own."""
    with engine.begin() as connection:
        connection.execute(text("CREATE SCHEMA IF NOT EXISTS test_schema"))
