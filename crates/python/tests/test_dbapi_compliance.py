"""The suite `dbapi-compliance` of the interface of PEP 249."""

import pytest

dbapi20 = pytest.importorskip("dbapi20")

import volley as vl  # noqa: E402
from volley import dbapi  # noqa: E402


class TestCompliance(dbapi20.DatabaseAPI20Test):
    """All of its tests; those of optional functions say what there is."""

    driver = dbapi

    def setUp(self):
        # All connections of a test are on one database.
        self.connect_args = (vl.connect(threads=2),)
        self.connect_kw_args = {}

    def test_nextset(self):
        """Optional: a statement has one result."""

    def test_setoutputsize(self):
        """Does nothing, as PEP 249 allows."""
        with dbapi.connect() as connection, connection.cursor() as cursor:
            cursor.setoutputsize(1000)
            cursor.setoutputsize(2000, 0)

