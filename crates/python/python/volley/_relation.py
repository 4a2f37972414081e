"""Frames with the relational interface that Narwhals' backend for DuckDB calls.

Narwhals has a backend for DuckDB's Python package: expressions that become SQL, and relations. The
engine's SQL has the same functions, so `volley.narwhals` runs that backend over this module, in the
place of the package. Only what the backend uses is here.
"""

from __future__ import annotations

import datetime
import decimal
import re
import sys
import types
from itertools import count

from ._errors import Error, InvalidQuery
from ._frame import Frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_NAMES = count(1)

#: Of DuckDB: the version whose interface this is.
__version__ = "2.0.0"

BinderException = InvalidQuery
DuckDBError = Error


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class DataType:
    """A type of SQL: its name, kind and parts."""

    def __init__(self, name: str) -> None:
        self._sql = _SYNONYMS.get(name, name)

    def __str__(self) -> str:
        return self._sql

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DataType) and other._sql == self._sql

    def __hash__(self) -> int:
        return hash(self._sql)

    @property
    def id(self) -> str:
        """The kind, as DuckDB names it."""
        name = self._sql
        is_sized = name.startswith("ARRAY(") and len(_split(name[len("ARRAY(") : -1])) == 2
        if is_sized or re.search(r"\[\d+\]$", name):
            return "array"
        if name.endswith("[]") or name.startswith("ARRAY("):
            return "list"
        kind = name.split("(")[0].strip()
        return _KINDS.get(kind, kind.lower())

    @property
    def child(self) -> DataType:
        """The type of the elements of a list."""
        if self._sql.startswith("ARRAY("):
            return DataType(_split(self._sql[len("ARRAY(") : -1])[0])
        return DataType(self._sql[: self._sql.rindex("[")])

    @property
    def children(self) -> list[tuple[str, Any]]:
        """Names and types of the parts."""
        name, kind = self._sql, self.id
        if kind == "array":
            if name.startswith("ARRAY("):
                size = int(_split(name[len("ARRAY(") : -1])[1])
            else:
                size = int(name[name.rindex("[") + 1 : -1])
            return [("child", self.child), ("size", size)]
        inside = name[name.index("(") + 1 : -1]
        parts = _split(inside)
        if kind == "decimal":
            return [("precision", int(parts[0])), ("scale", int(parts[1]))]
        if kind == "enum":
            return [("values", [it.strip("'").replace("''", "'") for it in parts])]
        if kind == "map":
            return [("key", DataType(parts[0])), ("value", DataType(parts[1]))]
        return [_field(it) for it in parts]


def _field(text: str) -> tuple[str, DataType]:
    if text.startswith('"'):
        end = 1
        while text[end] != '"' or text[end + 1 : end + 2] == '"':
            end += 2 if text[end] == '"' else 1
        return text[1:end].replace('""', '"'), DataType(text[end + 1 :].strip())
    name, _, of = text.partition(" ")
    return name, DataType(of)


def _split(text: str) -> list[str]:
    """The parts between commas outside of parentheses and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for at, it in enumerate(text):
        if quote:
            quote = "" if it == quote else quote
        elif it in "\"'":
            quote = it
        elif it in "([":
            depth += 1
        elif it in ")]":
            depth -= 1
        elif it == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return parts


_SYNONYMS = {
    "FLOAT": "REAL", "BLOB": "VARBINARY", "int": "INTEGER", "date": "DATE", "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
}
_KINDS = {"REAL": "float", "VARBINARY": "blob", "ROW": "struct", "STRUCT": "struct"}

sqltypes = types.ModuleType("sqltypes")
for _each in (
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
    "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "VARCHAR", "BLOB", "DATE", "TIME",
    "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "INTERVAL",
):
    setattr(sqltypes, _each, DataType(_each))
sqltypes.TIMESTAMP_TZ = DataType("TIMESTAMP WITH TIME ZONE")  # type: ignore[attr-defined]
sqltypes.DuckDBPyType = DataType  # type: ignore[attr-defined]
typing = sqltypes


def list_type(element: DataType) -> DataType:
    return DataType(f"{element}[]")


def map_type(key: DataType, value: DataType) -> DataType:
    return DataType(f"MAP({key}, {value})")


def struct_type(fields: dict[str, DataType]) -> DataType:
    return DataType(f"ROW({', '.join(f'{_name(name)} {of}' for name, of in fields.items())})")


class Expression:
    """An expression: its text in SQL."""

    def __init__(self, text: str, alias: str | None = None, is_atom: bool = False) -> None:
        self._text = text
        self._alias = alias
        self._is_atom = is_atom

    def __str__(self) -> str:
        return self._text if self._is_atom else f"({self._text})"

    def item(self) -> str:
        """The text of a column of a result."""
        return str(self) if self._alias is None else f"{self} AS {_name(self._alias)}"

    def alias(self, name: str) -> Expression:
        return Expression(self._text, name, self._is_atom)

    def cast(self, to: DataType | str) -> Expression:
        return Expression(f"CAST({self} AS {DataType(str(to))})", None, True)

    def isnull(self) -> Expression:
        return Expression(f"{self} IS NULL")

    def isnotnull(self) -> Expression:
        return Expression(f"{self} IS NOT NULL")

    def isin(self, *items: Any) -> Expression:
        return Expression(f"{self} IN ({', '.join(str(_expression(it)) for it in items)})")

    def asc(self) -> Expression:
        return Expression(f"{self} ASC", None, True)

    def desc(self) -> Expression:
        return Expression(f"{self} DESC", None, True)

    def nulls_first(self) -> Expression:
        return Expression(f"{self} NULLS FIRST", None, True)

    def nulls_last(self) -> Expression:
        return Expression(f"{self} NULLS LAST", None, True)

    def otherwise(self, value: Any) -> Expression:
        text = self._text.removesuffix(" END")
        return Expression(f"{text} ELSE {_expression(value)} END", None, True)

    def _binary(self, operator: str, other: Any, swapped: bool = False) -> Expression:
        left, right = self, _expression(other)
        if swapped:
            left, right = right, left
        return Expression(f"{left} {operator} {right}")

    def __invert__(self) -> Expression:
        return Expression(f"NOT {self}")

    def __neg__(self) -> Expression:
        return Expression(f"-{self}")

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return self._binary("=", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self._binary("<>", other)

    def __pow__(self, other: Any) -> Expression:
        return FunctionExpression("pow", self, _expression(other))

    def __rpow__(self, other: Any) -> Expression:
        return FunctionExpression("pow", _expression(other), self)

    __hash__ = None  # type: ignore[assignment]


def _operator(symbol: str, swapped: bool) -> Any:
    def apply(self: Expression, other: Any) -> Expression:
        return self._binary(symbol, other, swapped)

    return apply


for _method, _symbol in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "and": "AND",
    "or": "OR",
}.items():
    setattr(Expression, f"__{_method}__", _operator(_symbol, False))
    setattr(Expression, f"__r{_method}__", _operator(_symbol, True))
for _method, _symbol in {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(Expression, f"__{_method}__", _operator(_symbol, False))


def _expression(value: Any) -> Expression:
    return value if isinstance(value, Expression) else ConstantExpression(value)


def ColumnExpression(*parts: str) -> Expression:
    return Expression(".".join(map(_name, parts)), None, True)


def ConstantExpression(value: Any) -> Expression:
    return Expression(_literal(value), None, True)


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value) if value >= 0 else f"({value})"
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            return f"CAST('{value}' AS DOUBLE)"
        return f"CAST({value!r} AS DOUBLE)"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bytes):
        return f"from_hex('{value.hex()}')"
    if isinstance(value, decimal.Decimal):
        return f"CAST('{value}' AS DECIMAL(38, {max(0, -int(value.as_tuple().exponent))}))"
    if isinstance(value, datetime.datetime):
        kind = "TIMESTAMP" if value.tzinfo is None else "TIMESTAMP WITH TIME ZONE"
        return f"CAST('{value.isoformat(' ')}' AS {kind})"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, datetime.time):
        return f"TIME '{value.isoformat()}'"
    if isinstance(value, datetime.timedelta):
        micros = value // datetime.timedelta(microseconds=1)
        return f"to_microseconds({micros})"
    if isinstance(value, dict):
        fields = ", ".join(f"{_name(str(name))} := {_literal(it)}" for name, it in value.items())
        return f"struct_pack({fields})"
    if isinstance(value, (list, tuple, set, frozenset)):
        return f"[{', '.join(map(_literal, value))}]"
    if hasattr(value, "item"):
        return _literal(value.item())
    raise InvalidQuery(f"no literal of SQL for {type(value).__name__}")


def FunctionExpression(function: str, *arguments: Any) -> Expression:
    texts = [str(_expression(it)) for it in arguments]
    if function == "count" and not texts:
        texts = ["*"]
    text = f"{function}({', '.join(texts)})"
    if function == "array_extract":
        # Of a text, the character at a position.
        text = f"substring({texts[0]}, {texts[1]}, 1)"
    elif function == "array_position" and texts[1] == "NULL":
        text = f"CASE WHEN len({texts[0]}) > list_count({texts[0]}) THEN 1 END"
    elif function == "nanosecond":
        text = f"(microsecond({texts[0]}) * 1000)"
    return Expression(text, None, True)


def CaseExpression(condition: Expression, value: Any) -> Expression:
    return Expression(f"CASE WHEN {condition} THEN {_expression(value)} END", None, True)


def CoalesceOperator(*values: Any) -> Expression:
    return FunctionExpression("coalesce", *values)


def SQLExpression(text: str) -> Expression:
    # The backend writes calls, with OVER or without.
    return Expression(text, None, True)


def StarExpression(*, exclude: Iterable[str] = ()) -> Expression:
    return Expression("*", None, True)


def LambdaExpression(parameters: tuple[Any, ...], body: Expression) -> Expression:
    names = ", ".join(str(it) if isinstance(it, Expression) else _name(it) for it in parameters)
    return Expression(f"({names}) -> {body}", None, True)


def duration_micros(duration: Expression) -> Expression:
    """The microseconds of an interval."""
    return Expression(f"epoch_us(TIMESTAMP '1970-01-01 00:00:00' + {duration})", None, True)


def _items(columns: Iterable[Any]) -> str:
    texts = []
    for it in columns:
        if isinstance(it, Expression):
            texts.append(it.item())
        else:
            texts.append(it if it.endswith("*") else _name(it))
    return ", ".join(texts)


class Relation(Frame):
    """A frame, whose methods also take expressions of this module."""

    __slots__ = ("alias",)

    #: What joins call the relation.
    alias: str

    @staticmethod
    def of(frame: Frame) -> Relation:
        """The frame as a relation."""
        if isinstance(frame, Relation):
            return frame
        made = Relation(frame._connection, frame._query, frame._tables, frame._mark, frame._parents)
        made._direct, made._parameters = frame._direct, frame._parameters
        made._table, made._known_schema = frame._table, frame._known_schema
        made.alias = f"relation_{next(_NAMES)}"
        return made

    def set_alias(self, alias: str) -> Relation:
        made = Relation.of(self._on(self._connection))
        made._known_schema = self._known_schema
        made.alias = alias
        return made

    def query(self, text: str, **others: Frame) -> Relation:
        """A query over this frame, called `{self}`, and others by their names in braces."""
        frames = {"self": self, **others}
        names = {name: f"rel${next(_NAMES)}" for name in frames}
        tables = {names[name]: it for name, it in frames.items()}
        for name, it in names.items():
            text = text.replace("{" + name + "}", _name(it))
        made = Relation.of(self._connection.sql(text, _tables=tables))
        # Errors belong to the step that makes them.
        _ = made.schema
        return made

    def select(self, *exprs: Any, **named: Any) -> Frame:
        if named or not all(isinstance(it, (Expression, str)) for it in exprs):
            return super().select(*exprs, **named)
        return self.query(f"SELECT {_items(exprs)} FROM {{self}}")

    def filter(self, *predicates: Any, **equal: Any) -> Frame:
        if equal or not all(isinstance(it, Expression) for it in predicates):
            return super().filter(*predicates, **equal)
        condition = " AND ".join(map(str, predicates))
        return self.query(f"SELECT * FROM {{self}} WHERE {condition}")

    def aggregate(self, exprs: Any, group: str = "") -> Relation:
        tail = f" GROUP BY {group}" if group else ""
        return self.query(f"SELECT {_items(exprs)} FROM {{self}}{tail}")

    def sort(self, *by: Any, **options: Any) -> Frame:
        if not all(isinstance(it, Expression) for it in by):
            return super().sort(*by, **options)
        return self.query(f"SELECT * FROM {{self}} ORDER BY {', '.join(map(str, by))}")

    def limit(self, n: int, offset: int = 0) -> Frame:
        return Relation.of(super().limit(n, offset))

    def union(self, *others: Frame, **options: Any) -> Frame:
        return Relation.of(super().union(*others, **options))

    def join(self, other: Frame, on: Any = None, how: str = "inner", **options: Any) -> Any:
        if "condition" not in options:
            return super().join(other, on, how, **options)
        return Joined(self, Relation.of(other), f"{how} JOIN", f" ON {options['condition']}")

    def cross(self, other: Relation) -> Joined:
        return Joined(self, other, "CROSS JOIN", "")

    @property
    def types(self) -> list[DataType]:
        return [DataType(it) for it in self.schema.values()]

    def to_arrow_table(self) -> Any:
        """The rows, with texts as Arrow's `string`."""
        import pyarrow

        table = self.to_arrow()
        fields = [it.with_type(_plain(it.type)) for it in table.schema]
        return table.cast(pyarrow.schema(fields))

    def df(self) -> Any:
        return self.to_pandas()

    def pl(self) -> Any:
        return self.to_polars()


def _plain(of: Any) -> Any:
    import pyarrow
    from pyarrow import types as kinds

    if of == pyarrow.string_view():
        return pyarrow.string()
    if of == pyarrow.binary_view():
        return pyarrow.binary()
    if kinds.is_list(of):
        return pyarrow.list_(_plain(of.value_type))
    if kinds.is_struct(of):
        return pyarrow.struct([it.with_type(_plain(it.type)) for it in of])
    if kinds.is_interval(of):
        return pyarrow.duration("us")
    return of


class Joined:
    """A join; only its columns are used."""

    def __init__(self, left: Relation, right: Relation, kind: str, condition: str) -> None:
        self._left, self._right = left, right
        self._kind = {"outer JOIN": "FULL JOIN"}.get(kind, kind)
        self._condition = condition

    def select(self, *columns: Any) -> Relation:
        left, right = _name(self._left.alias), _name(self._right.alias)
        return self._left.query(
            f"SELECT {_items(columns)} FROM {{self}} AS {left} {self._kind} {{other}} AS {right}"
            f"{self._condition}",
            other=self._right,
        )


DuckDBPyRelation = Relation


def sql(text: str) -> Relation:
    """A query that names relations of the caller's variables."""
    variables = sys._getframe(1).f_locals
    relations = {name: it for name, it in variables.items() if isinstance(it, Relation)}
    used = {}
    for name, it in relations.items():
        named, found = re.subn(rf"\b(FROM|JOIN|unpivot)(\s+){name}\b", rf"\1\2{{{name}}} AS {name}", text)
        if found:
            text, used[name] = named.replace(f"unpivot {{{name}}} AS {name}", f"unpivot {{{name}}}"), it
    if not used:
        raise InvalidQuery("a query without a relation")
    first = next(iter(used.values()))
    return first.query(text, **used)


def read_csv(source: Any, delimiter: str = ",", **options: Any) -> Relation:
    from . import default_connection

    return Relation.of(default_connection().scan_csv(str(source), delim=delimiter, **options))


def read_parquet(source: Any, **options: Any) -> Relation:
    from . import default_connection

    return Relation.of(default_connection().scan_parquet(str(source), **options))
