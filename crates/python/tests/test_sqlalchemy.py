"""The dialect of SQLAlchemy."""

import datetime
import decimal
import uuid

import pytest

sqlalchemy = pytest.importorskip("sqlalchemy")

from sqlalchemy import (  # noqa: E402
    JSON, Boolean, CheckConstraint, Column, Date, DateTime, Float, ForeignKey, ForeignKeyConstraint, Index, Integer, LargeBinary,
    MetaData, Numeric, String, Table, Time, UniqueConstraint, Uuid, create_engine, func, insert, inspect, select, text, update,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column  # noqa: E402


@pytest.fixture
def engine():
    return create_engine("volley://?threads=2")


def test_tables_and_rows(engine):
    items = Table(
        "items", MetaData(), Column("id", Integer, primary_key=True),
        Column("name", String(20), nullable=False), Column("price", Numeric(10, 2)),
    )
    items.metadata.create_all(engine)
    with engine.begin() as connection:
        made = connection.execute(insert(items).values(name="bolt", price=decimal.Decimal("1.25")))
        assert made.inserted_primary_key == (1,)
        connection.execute(insert(items), [{"name": "nut", "price": 2}, {"name": "cog", "price": 3}])
        assert connection.execute(update(items).where(items.c.name == "nut").values(price=4)).rowcount == 1
    with engine.connect() as connection:
        rows = connection.execute(select(items).where(items.c.price > 2).order_by(items.c.id)).all()
        assert rows == [(2, "nut", decimal.Decimal("4.00")), (3, "cog", decimal.Decimal("3.00"))]
        total = select(func.count(), func.sum(items.c.price)).select_from(items)
        assert connection.execute(total).one() == (3, decimal.Decimal("8.25"))
        page = select(items.c.name).order_by(items.c.name).limit(1).offset(1)
        assert connection.execute(page).scalar_one() == "cog"
    items.metadata.drop_all(engine)
    assert inspect(engine).get_table_names() == []


def test_a_rollback_takes_changes_back(engine):
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE t (a INTEGER)"))
    with engine.connect() as connection:
        connection.execute(text("INSERT INTO t VALUES (:a)"), {"a": 1})
        connection.rollback()
        assert connection.execute(text("SELECT count(*) FROM t")).scalar_one() == 0


def test_every_type_survives(engine):
    values = {
        "b": True, "i": 7, "f": 1.5, "s": "\u00e9", "y": b"\x00\xff", "d": datetime.date(2024, 2, 29),
        "t": datetime.time(1, 2, 3), "w": datetime.datetime(2024, 1, 2, 3, 4, 5), "n": decimal.Decimal("1.50"),
        "u": uuid.UUID(int=5), "j": {"a": [1, None]},
    }
    kinds = {"b": Boolean, "i": Integer, "f": Float, "s": String, "y": LargeBinary, "d": Date, "t": Time,
             "w": DateTime, "n": Numeric(8, 2), "u": Uuid, "j": JSON}
    table = Table("kinds", MetaData(), *[Column(name, of) for name, of in kinds.items()])
    table.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(table), [values, dict.fromkeys(values)])
        found = connection.execute(select(table).order_by(table.c.i.nulls_last())).mappings().all()
    assert dict(found[0]) == values
    assert all(it is None for name, it in found[1].items() if name != "j")
    back = Table("kinds", MetaData(), autoload_with=engine)
    assert [it.name for it in back.columns] == list(values)


def test_the_object_relational_mapper(engine):
    class Base(DeclarativeBase):
        pass

    class User(Base):
        __tablename__ = "users"
        id: Mapped[int] = mapped_column(primary_key=True)
        name: Mapped[str]

    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add_all([User(name="Ada"), User(name="Bo")])
        session.commit()
        found = session.scalars(select(User).where(User.name.like("A%"))).one()
        assert (found.id, found.name) == (1, "Ada")
        found.name = "Eve"
        session.commit()
    with Session(engine) as session:
        assert session.scalars(select(User.name).order_by(User.id)).all() == ["Eve", "Bo"]


def test_reflection(engine):
    with engine.begin() as connection:
        connection.execute(text("CREATE SCHEMA s"))
        connection.execute(text("CREATE TABLE s.t (a INTEGER PRIMARY KEY, b DECIMAL(6, 2) NOT NULL, c BIGINT[])"))
        connection.execute(text("CREATE VIEW v AS SELECT 1 AS x"))
    found = inspect(engine)
    assert "s" in found.get_schema_names()
    assert found.get_table_names("s") == ["t"]
    assert found.get_view_names() == ["v"]
    assert "SELECT 1 AS x" in found.get_view_definition("v")
    assert found.get_pk_constraint("t", "s")["constrained_columns"] == ["a"]
    columns = found.get_columns("t", "s")
    assert [(it["name"], str(it["type"]), it["nullable"]) for it in columns] == [
        ("a", "INTEGER", False), ("b", "NUMERIC(6, 2)", False), ("c", "ARRAY", True)]
    assert not found.has_table("none")
    with pytest.raises(sqlalchemy.exc.NoSuchTableError):
        found.get_columns("none")


def test_constraints_are_defined_enforced_and_reflected(engine):
    metadata = MetaData()
    Table(
        "parent", metadata, Column("id", Integer, primary_key=True), Column("a b", Integer, comment="the second"),
        UniqueConstraint("id", "a b"), comment="a table",
    )
    Table(
        "child", metadata, Column("x", Integer, ForeignKey("parent.id")), Column("y", Integer, unique=True),
        ForeignKeyConstraint(["x", "y"], ["parent.id", "parent.a b"], name="both"),
        CheckConstraint("x > 0", name="positive"),
    )
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO parent VALUES (1, 2)"))
        connection.execute(text("INSERT INTO child VALUES (1, 2)"))
    for row in ("(7, NULL)", "(1, 3)", "(-1, NULL)"):
        with engine.connect() as connection, pytest.raises(sqlalchemy.exc.DBAPIError):
            connection.execute(text(f"INSERT INTO child VALUES {row}"))
    with engine.connect() as connection, pytest.raises(sqlalchemy.exc.DBAPIError, match="child"):
        connection.execute(text("DELETE FROM parent"))
    found = inspect(engine)
    keys = {tuple(it["constrained_columns"]): it for it in found.get_foreign_keys("child")}
    assert keys["x", "y"]["name"] == "both"
    assert [keys["x", "y"][it] for it in ("referred_schema", "referred_table", "referred_columns")] == [
        None, "parent", ["id", "a b"]]
    assert keys["x",]["referred_columns"] == ["id"]
    assert found.get_foreign_keys("parent") == []
    assert [it["column_names"] for it in found.get_unique_constraints("parent")] == [["id", "a b"]]
    assert [(it["name"], it["sqltext"]) for it in found.get_check_constraints("child")] == [("positive", "x > 0")]
    assert found.get_table_comment("parent") == {"text": "a table"}
    assert [it["comment"] for it in found.get_columns("parent")] == [None, "the second"]
    again = MetaData()
    again.reflect(engine)
    referenced = {it.target_fullname for it in again.tables["child"].foreign_keys}
    assert referenced == {"parent.id", "parent.a b"}
    # The child first.
    metadata.drop_all(engine)
    assert inspect(engine).get_table_names() == []
    with pytest.raises(sqlalchemy.exc.NoSuchTableError):
        inspect(engine).get_foreign_keys("child")


def test_foreign_keys_to_other_schemas(engine):
    with engine.begin() as connection:
        connection.execute(text('CREATE SCHEMA "s x"'))
        connection.execute(text('CREATE TABLE "s x".t (a INTEGER PRIMARY KEY)'))
        connection.execute(text('CREATE TABLE "s x".u (a INTEGER REFERENCES "s x".t (a))'))
        connection.execute(text('CREATE TABLE u (a INTEGER REFERENCES "s x".t (a))'))
    found = inspect(engine)
    for schema in (None, "s x"):
        (key,) = found.get_foreign_keys("u", schema)
        assert (key["referred_schema"], key["referred_table"]) == ("s x", "t")


def test_indexes_are_defined_and_reflected(engine):
    table = Table("t", MetaData(), Column("a", Integer), Column("b c", String))
    Index("both", table.c.a, table.c["b c"])
    Index("single", table.c.a, unique=True)
    Index("lowered", func.lower(table.c["b c"]), table.c.a)
    table.metadata.create_all(engine)
    indexes = {it["name"]: it for it in inspect(engine).get_indexes("t")}
    assert {it: indexes[it]["unique"] for it in indexes} == {"both": False, "single": True, "lowered": False}
    assert indexes["both"]["column_names"] == ["a", "b c"]
    assert indexes["lowered"]["column_names"] == [None, "a"]
    assert indexes["lowered"]["expressions"] == ['(lower("b c"))', "a"]
    with engine.begin() as connection:
        connection.execute(insert(table), [{"a": 1}])
    with engine.connect() as connection, pytest.raises(sqlalchemy.exc.DBAPIError):
        connection.execute(insert(table), [{"a": 1}])
    next(it for it in table.indexes if it.name == "both").drop(engine)
    assert {it["name"] for it in inspect(engine).get_indexes("t")} == {"single", "lowered"}


def test_savepoints(engine):
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE t (a INTEGER)"))
        with pytest.raises(ZeroDivisionError), connection.begin_nested():
            connection.execute(text("INSERT INTO t VALUES (1)"))
            raise ZeroDivisionError
        with connection.begin_nested():
            connection.execute(text("INSERT INTO t VALUES (2)"))
    with engine.connect() as connection:
        assert connection.execute(text("SELECT a FROM t")).scalars().all() == [2]


def test_parts_of_json_and_definitions_of_indexes(engine):
    table = Table("docs", MetaData(), Column("id", Integer, primary_key=True), Column("j", JSON),
                  Column("k", Integer, index=True))
    table.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(table).values(j={"a": {"b": [5, "x"]}}, k=1))
        parts = select(
            table.c.j["a"], table.c.j[("a", "b", 0)].as_integer(), table.c.j[("a", "b", 1)].as_string())
        assert connection.execute(parts).one() == ({"b": [5, "x"]}, 5, "x")
    table.metadata.drop_all(engine)


def test_errors_are_those_of_sqlalchemy(engine):
    with engine.connect() as connection:
        with pytest.raises(sqlalchemy.exc.ProgrammingError, match="no such table"):
            connection.execute(text("SELECT * FROM missing"))
