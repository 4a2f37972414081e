"""DB-API 2.0."""

import pytest

import volley as vl
from volley import dbapi


def test_the_module_says_what_it_is():
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "qmark")
    assert issubclass(dbapi.ProgrammingError, dbapi.DatabaseError)
    assert issubclass(dbapi.DatabaseError, dbapi.Error)


def test_statements_and_rows():
    connection = dbapi.connect()
    cursor = connection.cursor()
    assert cursor.description is None
    cursor.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
    cursor.executemany("INSERT INTO t VALUES (?, ?)", [(1, "x"), (2, None), (3, "z")])
    assert cursor.rowcount == 3
    cursor.execute("SELECT a, b FROM t WHERE a > ? ORDER BY a", [1])
    assert [it[:2] for it in cursor.description] == [("a", "INTEGER"), ("b", "VARCHAR")]
    assert cursor.description[0][1] == dbapi.NUMBER
    assert cursor.description[1][1] == dbapi.STRING
    assert cursor.rowcount == 2
    assert cursor.fetchone() == (2, None)
    assert cursor.fetchmany(5) == [(3, "z")]
    assert cursor.fetchone() is None
    assert cursor.fetchall() == []
    assert list(cursor.execute("FROM t ORDER BY a DESC LIMIT $n", {"n": 1})) == [(3, "z")]
    with pytest.raises(dbapi.ProgrammingError):
        cursor.execute("INSERT INTO t VALUES (4, 'w')").fetchall()


def test_changes_are_seen_after_commit():
    import volley as vl

    db = vl.connect()
    db.sql("CREATE TABLE t (a INTEGER)")
    first, second = dbapi.connect(db), dbapi.connect(db)
    first.cursor().execute("INSERT INTO t VALUES (1)")
    assert db.table("t").count() == 0
    first.rollback()
    first.cursor().execute("INSERT INTO t VALUES (2)")
    first.commit()
    assert second.cursor().execute("FROM t").fetchall() == [(2,)]


def test_what_is_closed_says_so():
    connection = dbapi.connect()
    cursor = connection.cursor()
    cursor.close()
    with pytest.raises(dbapi.ProgrammingError, match="closed"):
        cursor.execute("SELECT 1")
    connection.close()
    with pytest.raises(dbapi.ProgrammingError, match="closed"):
        connection.cursor()
    with pytest.raises(dbapi.ProgrammingError), dbapi.connect() as other:
        other.cursor().execute("SELEC 1")


def test_columns_may_have_the_same_name():
    with dbapi.connect() as connection:
        cursor = connection.cursor().execute("SELECT 1 AS a, 'x' AS a")
        assert [it[:2] for it in cursor.description] == [("a", "INTEGER"), ("a", "VARCHAR")]
        assert cursor.fetchall() == [(1, "x")]


@pytest.mark.parametrize(("sql", "message"), [
    ("INSERT INTO p VALUES (1)", "duplicate key of PRIMARY KEY"),
    ("INSERT INTO p VALUES (NULL)", "null in a column that is NOT NULL"),
    ("INSERT INTO t VALUES (1, 'abc')", "CHECK constraint is not satisfied"),
    ("INSERT INTO t VALUES (7, 'a')", "foreign key of table t"),
])
def test_broken_constraints_are_errors_of_integrity(sql, message):
    connection = dbapi.connect()
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE p (x INTEGER PRIMARY KEY)")
    cursor.execute("CREATE TABLE t (b INTEGER REFERENCES p(x), c VARCHAR CHECK (length(c) < 3))")
    cursor.execute("INSERT INTO p VALUES (1)")
    with pytest.raises(dbapi.IntegrityError, match=message) as caught:
        cursor.execute(sql)
    assert isinstance(caught.value, vl.ConstraintViolation) and isinstance(caught.value, vl.InvalidValue)
