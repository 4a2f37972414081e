"""The dialect of SQLAlchemy: `create_engine("volley://")`.

The options of the address are settings: `volley://?threads=2&memory_limit=1GB`. A path is that of a
database file: `volley:////tmp/shop.volley`. All connections of an engine have the same tables.
"""

from __future__ import annotations

import decimal
import re

from sqlalchemy import Sequence, exc, pool, types
from sqlalchemy.engine import default, reflection
from sqlalchemy.sql import compiler

from . import _connection, dbapi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_TYPES: dict[str, Any] = {
    "BOOLEAN": types.BOOLEAN,
    "TINYINT": types.SMALLINT,
    "SMALLINT": types.SMALLINT,
    "INTEGER": types.INTEGER,
    "BIGINT": types.BIGINT,
    "HUGEINT": types.NUMERIC,
    "REAL": types.REAL,
    "DOUBLE": types.DOUBLE,
    "VARCHAR": types.VARCHAR,
    "VARBINARY": types.LargeBinary,
    "DATE": types.DATE,
    "TIME": types.TIME,
    "TIMESTAMP": types.TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": types.TIMESTAMP,
    "INTERVAL": types.Interval,
    "UUID": types.UUID,
    "JSON": types.JSON,
}


class VolleyTypeCompiler(compiler.GenericTypeCompiler):
    """Types as the engine calls them."""

    def visit_DATETIME(self, type_: Any, **kw: Any) -> str:
        return self.visit_TIMESTAMP(type_, **kw)

    def visit_TIMESTAMP(self, type_: Any, **kw: Any) -> str:
        return "TIMESTAMP WITH TIME ZONE" if getattr(type_, "timezone", False) else "TIMESTAMP"

    def visit_TEXT(self, type_: Any, **kw: Any) -> str:
        return "VARCHAR"

    def visit_CLOB(self, type_: Any, **kw: Any) -> str:
        return "VARCHAR"

    def visit_large_binary(self, type_: Any, **kw: Any) -> str:
        return "VARBINARY"

    def visit_BLOB(self, type_: Any, **kw: Any) -> str:
        return "VARBINARY"

    def visit_BINARY(self, type_: Any, **kw: Any) -> str:
        return "VARBINARY"

    def visit_VARBINARY(self, type_: Any, **kw: Any) -> str:
        return "VARBINARY"

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:
        return "REAL" if type_.precision is not None and type_.precision <= 24 else "DOUBLE"

    def visit_DOUBLE_PRECISION(self, type_: Any, **kw: Any) -> str:
        return "DOUBLE"

    def visit_NUMERIC(self, type_: Any, **kw: Any) -> str:
        if type_.precision is None:
            return "DECIMAL(38, 10)"
        return f"DECIMAL({type_.precision}, {type_.scale or 0})"

    def visit_DECIMAL(self, type_: Any, **kw: Any) -> str:
        return self.visit_NUMERIC(type_, **kw)

    def visit_JSON(self, type_: Any, **kw: Any) -> str:
        return "JSON"

    def visit_uuid(self, type_: Any, **kw: Any) -> str:
        return "UUID" if type_.native_uuid else "VARCHAR"

    def visit_ARRAY(self, type_: Any, **kw: Any) -> str:
        item = self.process(type_.item_type, **kw)
        return item + "[]" * (type_.dimensions or 1)


class VolleyCompiler(compiler.SQLCompiler):
    """Statements."""

    def limit_clause(self, select: Any, **kw: Any) -> str:
        text = ""
        if select._limit_clause is not None:
            text += "\n LIMIT " + self.process(select._limit_clause, **kw)
        if select._offset_clause is not None:
            text += "\n OFFSET " + self.process(select._offset_clause, **kw)
        return text

    def visit_is_distinct_from_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        left, right = self.process(binary.left, **kw), self.process(binary.right, **kw)
        return f"{left} IS DISTINCT FROM {right}"

    def visit_is_not_distinct_from_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        left, right = self.process(binary.left, **kw), self.process(binary.right, **kw)
        return f"{left} IS NOT DISTINCT FROM {right}"

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        left, right = self.process(binary.left, **kw), self.process(binary.right, **kw)
        return f"regexp_matches({left}, {right})"

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return "NOT " + self.visit_regexp_match_op_binary(binary, operator, **kw)

    def visit_regexp_replace_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        left, right = self.process(binary.left, **kw), self.process(binary.right, **kw)
        return f"regexp_replace({left}, {right}, 'g')"

    def visit_json_getitem_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        is_json = binary.type._type_affinity is types.JSON
        left, right = self.process(binary.left, **kw), self.process(binary.right, **kw)
        if is_json:
            return f"({left} -> {right})"
        target = self.dialect.type_compiler_instance.process(binary.type)
        return f"CAST({left} ->> {right} AS {target})"

    def visit_json_path_getitem_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self.visit_json_getitem_op_binary(binary, operator, **kw)

    def visit_empty_set_expr(self, element_types: Any, **kw: Any) -> str:
        columns = ", ".join("1" for _ in element_types or [types.INTEGER()])
        return f"SELECT {columns} WHERE 1 != 1"

    def visit_sequence(self, sequence: Any, **kw: Any) -> str:
        return f"nextval({_text(self.preparer, sequence)})"

    def visit_next_value_func(self, next_value: Any, **kw: Any) -> str:
        return self.visit_sequence(next_value.sequence, **kw)

    def for_update_clause(self, select: Any, **kw: Any) -> str:
        # Transactions see a snapshot: there are no locks of rows.
        return ""


class VolleyExecutionContext(default.DefaultExecutionContext):
    """What runs around a statement."""

    def fire_sequence(self, seq: Any, type_: Any) -> Any:
        name = _text(self.identifier_preparer, seq)
        return self._execute_scalar(f"SELECT nextval({name})", type_)


class VolleyDDLCompiler(compiler.DDLCompiler):
    """Definitions. A key that numbers itself has a sequence."""

    def get_column_specification(self, column: Any, **kw: Any) -> str:
        words = [
            self.preparer.format_column(column),
            self.dialect.type_compiler_instance.process(column.type, type_expression=column),
        ]
        default = self.get_column_default_string(column)
        sequence = _sequence(column)
        if default is None and sequence is not None:
            named = Sequence(sequence, schema=column.table.schema)
            default = f"nextval({_text(self.preparer, named)})"
        if column.computed is not None:
            words.append(self.process(column.computed))
        elif default is not None:
            words.append("DEFAULT " + default)
        if not column.nullable:
            words.append("NOT NULL")
        return " ".join(words)

    def visit_create_table(self, create: Any, **kw: Any) -> str:
        sequences = [it for it in map(_sequence, create.element.columns) if it is not None]
        names = [self._in_schema(it, create.element) for it in sequences]
        made = [f"CREATE SEQUENCE IF NOT EXISTS {it};\n" for it in names]
        return "".join(made) + super().visit_create_table(create, **kw)

    def visit_drop_table(self, drop: Any, **kw: Any) -> str:
        sequences = [it for it in map(_sequence, drop.element.columns) if it is not None]
        names = [self._in_schema(it, drop.element) for it in sequences]
        dropped = [f";\nDROP SEQUENCE IF EXISTS {it}" for it in names]
        return super().visit_drop_table(drop, **kw) + "".join(dropped)

    def _in_schema(self, sequence: str, table: Any) -> str:
        """The sequence, in the schema of the table."""
        return self.preparer.format_sequence(Sequence(sequence, schema=table.schema))

    def visit_drop_constraint(self, drop: Any, **kw: Any) -> str:
        raise exc.CompileError(
            "constraints cannot be dropped; DROP TABLE removes those of the table"
        )


def _text(preparer: Any, sequence: Any) -> str:
    """The text that `nextval` takes for a sequence: names as they are, without quotes. A schema
    that is translated later stays as the preparer writes it."""
    full = preparer.format_sequence(sequence)
    if '"' in full and "__[SCHEMA" not in full:
        full = ".".join(it for it in (sequence.schema, sequence.name) if it)
    return "'" + full.replace("'", "''") + "'"


def _sequence(column: Any) -> str | None:
    """The name of the sequence of a key that numbers itself."""
    table = column.table
    is_own = table is not None and column is table._autoincrement_column
    given = column.default
    # An optional sequence is for databases that do not number keys by themselves.
    is_optional = given is not None and given.is_sequence and given.optional
    has_default = column.server_default is not None or (given is not None and not is_optional)
    if column.identity is None and (not is_own or has_default):
        return None
    return f"{table.name}_{column.name}_seq"


class _Numeric(types.Numeric):  # type: ignore[type-arg, unused-ignore]
    """Decimals. A quotient of decimals is a DOUBLE."""

    def result_processor(self, dialect: Any, coltype: Any) -> Any:
        if not self.asdecimal:
            return super().result_processor(dialect, coltype)

        def exact(value: Any) -> Any:
            return decimal.Decimal(repr(value)) if isinstance(value, float) else value

        return exact


class _JSONPath(types.JSON.JSONPathType):
    """A path into JSON, from the keys and positions of SQLAlchemy."""

    def bind_processor(self, dialect: Any) -> Any:
        def path(keys: Any) -> str:
            return "$" + "".join(
                f"[{it}]" if isinstance(it, int) else f'."{it}"' for it in keys
            )

        return path


class VolleyDialect(default.DefaultDialect):
    """What SQLAlchemy knows of the engine."""

    name = "volley"
    driver = "dbapi"
    default_paramstyle = "qmark"
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_native_uuid = True
    supports_sane_rowcount = True
    supports_sane_multi_rowcount = True
    supports_multivalues_insert = True
    supports_default_values = True
    supports_empty_insert = False
    supports_sequences = True
    sequences_optional = True
    supports_comments = True
    supports_alter = True
    postfetch_lastrowid = False
    insert_returning = True
    update_returning = True
    delete_returning = True
    use_insertmanyvalues = True
    max_identifier_length = 1000
    execution_ctx_cls = VolleyExecutionContext
    statement_compiler = VolleyCompiler
    ddl_compiler = VolleyDDLCompiler
    type_compiler_cls = VolleyTypeCompiler
    default_schema_name = "main"
    # 15 / 10 is 1.5.
    div_is_floordiv = False
    colspecs = {types.JSON.JSONPathType: _JSONPath, types.Numeric: _Numeric}

    def __init__(
        self, json_serializer: Any = None, json_deserializer: Any = None, **kw: Any
    ) -> None:
        super().__init__(**kw)
        self._json_serializer = json_serializer
        self._json_deserializer = json_deserializer
        self._root: _connection.Connection | None = None

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        return dbapi

    @classmethod
    def get_pool_class(cls, url: Any) -> type[pool.Pool]:
        return pool.QueuePool

    def create_connect_args(self, url: Any) -> tuple[list[Any], dict[str, Any]]:
        if self._root is None:
            self._root = _connection.connect(**dict(url.query))
            if url.database:
                path = url.database.replace("'", "''")
                self._root.sql(f"ATTACH '{path}' AS opened")
        return [self._root], {}

    def connect(self, *cargs: Any, **cparams: Any) -> Any:
        connection = dbapi.connect(*cargs, **cparams)
        databases = connection._open().sql("SELECT current_database()").item()
        if databases != "opened" and self._has_opened():
            connection._open().sql("USE opened")
        return connection

    def _has_opened(self) -> bool:
        assert self._root is not None
        found = self._root.sql(
            "SELECT count(*) FROM information_schema.schemata WHERE catalog_name = 'opened'"
        )
        return bool(found.item())

    def _get_server_version_info(self, connection: Any) -> tuple[int, ...]:
        from . import _volley

        return tuple(int(it) for it in re.findall(r"\d+", _volley.__version__))

    def _get_default_schema_name(self, connection: Any) -> str:
        return "main"

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        if level not in ("SNAPSHOT", "SERIALIZABLE"):
            raise exc.ArgumentError(f"no such isolation level: {level}; there is SNAPSHOT")

    def get_isolation_level(self, dbapi_connection: Any) -> str:
        return "SNAPSHOT"

    def get_isolation_level_values(self, dbapi_connection: Any) -> list[str]:
        return ["SNAPSHOT", "SERIALIZABLE"]

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        return False

    # Reflection

    def _rows(self, connection: Any, query: str, *values: Any) -> list[Any]:
        rows: list[Any] = connection.exec_driver_sql(query, tuple(values)).fetchall()
        return rows

    @reflection.cache  # type: ignore[untyped-decorator, unused-ignore]
    def get_schema_names(self, connection: Any, **kw: Any) -> list[str]:
        rows = self._rows(
            connection,
            "SELECT schema_name FROM information_schema.schemata "
            "WHERE catalog_name = current_database() ORDER BY 1",
        )
        return [name for (name,) in rows]

    def _names(self, connection: Any, schema: str | None, kind: str) -> list[str]:
        rows = self._rows(
            connection,
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_catalog = current_database() AND table_schema = ? AND table_type = ? "
            "ORDER BY 1",
            schema or "main", kind,
        )
        return [name for (name,) in rows]

    @reflection.cache  # type: ignore[untyped-decorator, unused-ignore]
    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        return self._names(connection, schema, "BASE TABLE")

    @reflection.cache  # type: ignore[untyped-decorator, unused-ignore]
    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        return self._names(connection, schema, "VIEW")

    @reflection.cache  # type: ignore[untyped-decorator, unused-ignore]
    def get_temp_table_names(self, connection: Any, **kw: Any) -> list[str]:
        return self._names(connection, None, "LOCAL TEMPORARY")

    @reflection.cache  # type: ignore[untyped-decorator, unused-ignore]
    def get_view_definition(
        self, connection: Any, view_name: str, schema: str | None = None, **kw: Any
    ) -> str:
        rows = self._rows(
            connection,
            "SELECT sql FROM duckdb_views() WHERE view_name = ? AND schema_name = ?",
            view_name, schema or "main",
        )
        if not rows:
            raise exc.NoSuchTableError(view_name)
        return str(rows[0][0])

    @reflection.cache  # type: ignore[untyped-decorator, unused-ignore]
    def has_table(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        self._ensure_has_table_connection(connection)
        rows = self._rows(
            connection,
            "SELECT 1 FROM information_schema.tables "
            "WHERE table_catalog = current_database() AND table_schema = ? AND table_name = ?",
            schema or "main", table_name,
        )
        return bool(rows)

    @reflection.cache  # type: ignore[untyped-decorator, unused-ignore]
    def has_sequence(
        self, connection: Any, sequence_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        rows = self._rows(
            connection,
            "SELECT 1 FROM duckdb_sequences() WHERE sequence_name = ? AND schema_name = ?",
            sequence_name, schema or "main",
        )
        return bool(rows)

    @reflection.cache  # type: ignore[untyped-decorator, unused-ignore]
    def get_sequence_names(
        self, connection: Any, schema: str | None = None, **kw: Any
    ) -> list[str]:
        rows = self._rows(
            connection,
            "SELECT sequence_name FROM duckdb_sequences() "
            "WHERE database_name = current_database() AND schema_name = ? ORDER BY 1",
            schema or "main",
        )
        return [name for (name,) in rows]

    @reflection.cache  # type: ignore[untyped-decorator, unused-ignore]
    def get_columns(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        rows = self._rows(
            connection,
            "SELECT column_name, data_type, is_nullable, column_default "
            "FROM information_schema.columns WHERE table_catalog = current_database() "
            "AND table_schema = ? AND table_name = ? ORDER BY ordinal_position",
            schema or "main", table_name,
        )
        if not rows:
            raise exc.NoSuchTableError(table_name)
        comments = self._rows(
            connection,
            "SELECT column_name, comment FROM duckdb_columns() WHERE comment IS NOT NULL AND "
            "database_name = current_database() AND schema_name = ? AND table_name = ?",
            schema or "main", table_name,
        )
        comment_of = {name: comment for name, comment in comments}
        return [
            {
                "name": name,
                "comment": comment_of.get(name),
                "type": _sqlalchemy_type(of),
                "nullable": nullable == "YES",
                "default": default,
                "autoincrement": bool(default and default.startswith("nextval(")),
            }
            for name, of, nullable, default in rows
        ]

    @reflection.cache  # type: ignore[untyped-decorator, unused-ignore]
    def get_pk_constraint(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> Any:
        if not self.has_table(connection, table_name, schema):
            raise exc.NoSuchTableError(table_name)
        rows = self._rows(
            connection,
            "SELECT constraint_column_names FROM duckdb_constraints() WHERE constraint_type = "
            "'PRIMARY KEY' AND database_name = current_database() AND schema_name = ? AND table_name = ?",
            schema or "main", table_name,
        )
        return {"constrained_columns": rows[0][0] if rows else [], "name": None}

    @reflection.cache  # type: ignore[untyped-decorator, unused-ignore]
    def get_foreign_keys(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        rows = self._constraints(
            connection, table_name, schema, "FOREIGN KEY",
            "constraint_name, constraint_column_names, referenced_table, "
            "referenced_column_names, constraint_text",
        )
        return [
            {
                "name": name,
                "constrained_columns": own,
                "referred_schema": _referenced_schema(text) or schema,
                "referred_table": referenced,
                "referred_columns": others,
                "options": {},
            }
            for name, own, referenced, others, text in rows
        ]

    @reflection.cache  # type: ignore[untyped-decorator, unused-ignore]
    def get_indexes(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        self._check_table(connection, table_name, schema)
        # Indexes of keys have no text.
        rows = self._rows(
            connection,
            "SELECT index_name, is_unique, expressions FROM duckdb_indexes() WHERE sql IS NOT NULL "
            "AND database_name = current_database() AND schema_name = ? AND table_name = ? "
            "ORDER BY index_name",
            schema or "main", table_name,
        )
        return [
            {"name": name, "unique": unique, "dialect_options": {}, **_index_columns(expressions)}
            for name, unique, expressions in rows
        ]

    @reflection.cache  # type: ignore[untyped-decorator, unused-ignore]
    def get_unique_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        rows = self._constraints(
            connection, table_name, schema, "UNIQUE", "constraint_name, constraint_column_names"
        )
        return [{"name": name, "column_names": columns} for name, columns in rows]

    @reflection.cache  # type: ignore[untyped-decorator, unused-ignore]
    def get_check_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        rows = self._constraints(
            connection, table_name, schema, "CHECK", "constraint_name, expression"
        )
        return [{"name": name, "sqltext": text} for name, text in rows]

    @reflection.cache  # type: ignore[untyped-decorator, unused-ignore]
    def get_table_comment(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> Any:
        self._check_table(connection, table_name, schema)
        rows = self._rows(
            connection,
            "SELECT comment FROM duckdb_tables() WHERE database_name = current_database() "
            "AND schema_name = ? AND table_name = ?",
            schema or "main", table_name,
        )
        return {"text": rows[0][0] if rows else None}

    def _constraints(
        self, connection: Any, table_name: str, schema: str | None, kind: str, what: str
    ) -> list[Any]:
        """Columns of the constraints of a table that are of a kind, by name."""
        self._check_table(connection, table_name, schema)
        return self._rows(
            connection,
            f"SELECT {what} FROM duckdb_constraints() WHERE constraint_type = ? "
            "AND database_name = current_database() AND schema_name = ? AND table_name = ? "
            "ORDER BY constraint_name, constraint_index",
            kind, schema or "main", table_name,
        )

    def _check_table(self, connection: Any, table_name: str, schema: str | None) -> None:
        if not self.has_table(connection, table_name, schema):
            raise exc.NoSuchTableError(table_name)


#: A name as the engine writes it, with quotes where it needs them.
_NAME = r'"(?:[^"]|"")*"|[^\s".,(]+'


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _referenced_schema(text: str) -> str | None:
    """The schema that the text of a foreign key names."""
    found = re.search(rf'\) REFERENCES ({_NAME})\.(?:{_NAME})\(', text)
    return _unquoted(found[1]) if found else None


def _index_columns(expressions: str) -> dict[str, Any]:
    """The columns of an index, from a list such as `[a, "b c", '(a + 1)']`: quoted as a text is an
    expression, which has no name."""
    parts = re.findall(rf"'(?:[^']|'')*'|{_NAME}", expressions[1:-1])
    names = [None if it.startswith("'") else _unquoted(it) for it in parts]
    found: dict[str, Any] = {"column_names": names}
    if None in names:
        found["expressions"] = [
            it[1:-1].replace("''", "'") if name is None else name
            for it, name in zip(parts, names, strict=True)
        ]
    return found


def _sqlalchemy_type(name: str) -> Any:
    """The type for one that the engine names."""
    decimal = re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", name)
    if decimal:
        return types.NUMERIC(int(decimal[1]), int(decimal[2]))
    if name == "TIMESTAMP WITH TIME ZONE":
        return types.TIMESTAMP(timezone=True)
    array = re.fullmatch(r"ARRAY\((.*)\)", name)
    if array:
        return types.ARRAY(_sqlalchemy_type(array[1]))
    return _TYPES.get(name, types.NullType)()
