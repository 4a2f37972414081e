"""Small random tables: as Parquet files and as VALUES."""

import datetime
import decimal
import pathlib
import random

import pyarrow as pa
import pyarrow.parquet as pq

# Kind of column: (SQL type, Arrow type, usual values, rare values). Values stay small, and doubles
# multiples of a quarter, so that arithmetic is exact and does not overflow; `edge` columns have
# the limits of BIGINT and are only compared and aggregated.
D = decimal.Decimal
KINDS = {
    "int": ("INTEGER", pa.int32(), [0, 1, 2, 3, 4, 5, -1], [7, -5, 20]),
    "tiny": ("TINYINT", pa.int8(), [0, 1, 2, 3], [-3, 9]),
    "big": ("BIGINT", pa.int64(), [0, 1, 2, 3, 10], [-100, 1000]),
    "edge": ("BIGINT", pa.int64(), [0, 1, -1], [2**63 - 1, -(2**63), 2**31, -(2**31)]),
    "double": ("DOUBLE", pa.float64(), [0.0, 1.0, 1.5, -2.25, 3.0], [-0.0, float("nan"), float("inf"), float("-inf"), 1000.5]),
    "real": ("REAL", pa.float32(), [0.0, 1.0, 0.5, -1.5], [-0.0, float("nan"), 100.25]),
    "decimal": ("DECIMAL(9,2)", pa.decimal128(9, 2), [D("0.00"), D("1.00"), D("1.50"), D("-2.25")], [D("99.99"), D("-0.01"), D("1000.10")]),
    "text": ("VARCHAR", pa.string(), ["a", "b", "ab", "B", ""], ["äöü", "日本", "a longer text than twelve bytes", "a longer text than twelve bytes!", "a%", " x "]),
    "bool": ("BOOLEAN", pa.bool_(), [True, False], [True]),
    "date": ("DATE", pa.date32(), [datetime.date(2020, 1, 1), datetime.date(2020, 1, 31), datetime.date(2020, 2, 29)], [datetime.date(1969, 12, 31), datetime.date(1, 1, 1)]),
    "time": ("TIMESTAMP", pa.timestamp("us"), [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 31, 12, 30)], [datetime.datetime(1969, 12, 31, 23, 59, 59, 500000)]),
}


class Table:
    """Columns are (name, kind); rows are lists of Python values."""

    def __init__(self, name, columns, rows):
        self.name, self.columns, self.rows = name, columns, rows

    def write(self, folder, row_group):
        arrays = [pa.array([row[at] for row in self.rows], KINDS[kind][1]) for at, (_, kind) in enumerate(self.columns)]
        table = pa.table(arrays, names=[name for name, _ in self.columns])
        pq.write_table(table, pathlib.Path(folder) / f"{self.name}.parquet", row_group_size=row_group)

    def values(self):
        """The table as `name(columns) AS (SELECT ... VALUES ...)`, for WITH."""
        names = ", ".join(name for name, _ in self.columns)
        casts = ", ".join(f"{name}::{KINDS[kind][0]}" for name, kind in self.columns)
        rows = ", ".join("(" + ", ".join(literal(value) for value in row) + ")" for row in self.rows)
        where = ""
        if not self.rows:
            rows, where = "(" + ", ".join(["NULL"] * len(self.columns)) + ")", " WHERE FALSE"
        return f"{self.name}({names}) AS (SELECT {casts} FROM (VALUES {rows}) v({names}){where})"


def literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float):
        return f"'{value!r}'::DOUBLE"
    if isinstance(value, (datetime.date, datetime.datetime)):
        return f"'{value}'"
    return str(value).upper() if isinstance(value, bool) else str(value)


def random_table(rng: random.Random, name):
    kinds = ["int"] + rng.choices(list(KINDS), k=rng.randint(2, 6))
    columns = [("k" if at == 0 else f"{kind[0]}{at}", kind) for at, kind in enumerate(kinds)]
    count = rng.choice([0, 1, 2, 3, 5, 8, 8, 12, 20])
    nulls = rng.choice([0, 0.1, 0.4])
    rows = [[random_value(rng, kind, nulls) for _, kind in columns] for _ in range(count)]
    return Table(name, columns, rows)


def random_value(rng, kind, nulls):
    if rng.random() < nulls:
        return None
    _, _, usual, rare = KINDS[kind]
    return rng.choice(rare if rng.random() < 0.2 else usual)
