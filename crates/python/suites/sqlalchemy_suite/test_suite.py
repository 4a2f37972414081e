"""The tests of SQLAlchemy."""

from sqlalchemy.testing.suite import *  # noqa: F403
