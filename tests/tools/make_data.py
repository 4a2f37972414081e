#!/usr/bin/env python3
"""Writes the small data files in tests/data that the SQL corpus reads.

    pip install pyarrow duckdb
    tests/tools/make_data.py

The files are checked in, since other versions of the writer make other bytes; run this only to
add a file, and look at `git diff --stat` afterwards.
"""

import datetime
import decimal
import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


def write(name, table, **options):
    """Writes DATA/name; makes its folder."""
    path = DATA / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **options)


def numbers():
    """10,000 integers in order, in four row groups."""
    table = pa.table({"r": pa.array(range(10_000), pa.int64())})
    write("numbers.parquet", table, row_group_size=2500, use_dictionary=False, column_encoding="DELTA_BINARY_PACKED")


def types():
    """Each primitive type: a usual value, the limits, and a null."""
    d, dt = datetime.date, datetime.datetime
    columns = {
        "id": pa.array([1, 2, 3, 4], pa.int32()),
        "b": pa.array([True, False, True, None], pa.bool_()),
        "i8": pa.array([1, -128, 127, None], pa.int8()),
        "i16": pa.array([1, -32768, 32767, None], pa.int16()),
        "i32": pa.array([1, -(2**31), 2**31 - 1, None], pa.int32()),
        "i64": pa.array([1, -(2**63), 2**63 - 1, None], pa.int64()),
        "f32": pa.array([1.5, float("-inf"), float("nan"), None], pa.float32()),
        "f64": pa.array([1.5, -0.0, float("nan"), None], pa.float64()),
        "d9": pa.array([decimal.Decimal(x) if x else None for x in ["1.50", "-9999999.99", "9999999.99", None]], pa.decimal128(9, 2)),
        "d18": pa.array([decimal.Decimal(x) if x else None for x in ["1.500", "-999999999999999.999", "999999999999999.999", None]], pa.decimal128(18, 3)),
        "d38": pa.array([decimal.Decimal(x) if x else None for x in ["1.5000000000", "-9999999999999999999999999999.9999999999", "9999999999999999999999999999.9999999999", None]], pa.decimal128(38, 10)),
        "s": pa.array(["a", "", "ñandú 日本 🦆 longer than twelve bytes", None], pa.string()),
        "x": pa.array([b"a", b"", b"\x00\xff", None], pa.binary()),
        "d": pa.array([d(2020, 2, 29), d(1, 1, 1), d(9999, 12, 31), None], pa.date32()),
        "t": pa.array([dt(2020, 2, 29, 12, 0, 0, 500000), dt(1, 1, 1), dt(9999, 12, 31, 23, 59, 59, 999999), None], pa.timestamp("us")),
    }
    table = pa.table(columns)
    write("types.parquet", table)
    write("types_decimal_int.parquet", table.select(["id", "d9", "d18"]), store_decimal_as_integer=True)
    moments = table.select(["id", "t"]).slice(0, 1)
    more = pa.table({"id": pa.array([1, 2], pa.int32()), "ms": pa.array([1582979400500, None], pa.timestamp("ms")), "us": pa.array([1582979400500000, None], pa.timestamp("us"))})
    write("timestamps.parquet", more, coerce_timestamps=None)
    write("timestamp_int96.parquet", moments, use_deprecated_int96_timestamps=True)
    unsigned = pa.table({
        "u8": pa.array([0, 255, None], pa.uint8()),
        "u16": pa.array([0, 65535, None], pa.uint16()),
        "u32": pa.array([0, 2**32 - 1, None], pa.uint32()),
        "u64": pa.array([0, 2**64 - 1, None], pa.uint64()),
    })
    write("unsigned.parquet", unsigned)


def nested():
    """Lists, structs and maps, with nulls and empties on each level."""
    point = pa.struct([("x", pa.int32()), ("y", pa.string())])
    table = pa.table({
        "id": pa.array([1, 2, 3, 4, 5], pa.int32()),
        "l": pa.array([[1, 2, 3], [], None, [4, None], [None]], pa.list_(pa.int64())),
        "ls": pa.array([["a", "b"], ["ä"], [], None, ["", None]], pa.list_(pa.string())),
        "ll": pa.array([[[1], [2, 3]], [[]], [None], None, []], pa.list_(pa.list_(pa.int32()))),
        "st": pa.array([{"x": 1, "y": "a"}, {"x": None, "y": "b"}, None, {"x": 4, "y": None}, {"x": None, "y": None}], point),
        "m": pa.array([[("k", 1), ("j", 2)], [], None, [("a", None)], [("z", 26)]], pa.map_(pa.string(), pa.int32())),
        "lst": pa.array([[{"x": 1, "y": "a"}, {"x": 2, "y": "b"}], [], None, [None], [{"x": None, "y": "c"}]], pa.list_(point)),
        "stl": pa.array([{"a": [1, 2], "n": {"b": True}}, {"a": [], "n": None}, None, {"a": None, "n": {"b": None}}, {"a": [None], "n": {"b": False}}], pa.struct([("a", pa.list_(pa.int32())), ("n", pa.struct([("b", pa.bool_())]))])),
    })
    write("nested.parquet", table)
    many = pa.table({
        "id": pa.array(range(1000), pa.int32()),
        "l": pa.array([None if i % 7 == 0 else list(range(i % 5)) for i in range(1000)], pa.list_(pa.int32())),
        "st": pa.array([None if i % 11 == 0 else {"x": i, "y": None if i % 3 == 0 else f"v{i % 10}"} for i in range(1000)], point),
    })
    write("nested_many.parquet", many, row_group_size=300, data_page_size=256)


def sample(rows):
    """Columns with few and with many values, sorted and not, with runs of nulls."""
    return pa.table({
        "id": pa.array(range(rows), pa.int32()),
        "big": pa.array([(i * 7919) ** 3 % 1_000_003 - 500_000 if i % 10 else None for i in range(rows)], pa.int64()),
        "few": pa.array([None if 40 <= i < 80 else ["red", "green", "blue", "a color with a long name"][i * i % 4] for i in range(rows)], pa.string()),
        "many": pa.array([f"prefix-{i:06}" if i % 13 else None for i in range(rows)], pa.string()),
        "f": pa.array([i / 8 if i % 9 else None for i in range(rows)], pa.float64()),
        "f4": pa.array([i / 4 for i in range(rows)], pa.float32()),
        "b": pa.array([None if i % 17 == 0 else i % 3 == 0 for i in range(rows)], pa.bool_()),
        "d": pa.array([datetime.date(2020, 1, 1) + datetime.timedelta(days=i % 400) for i in range(rows)], pa.date32()),
        "m": pa.array([decimal.Decimal(i * 37 % 1000) / 100 for i in range(rows)], pa.decimal128(12, 2)),
    })


def encodings():
    """The same 500 rows in each encoding, page version and codec."""
    table = sample(500)
    write("encoding/plain.parquet", table, use_dictionary=False, compression="NONE", data_page_size=1024)
    write("encoding/dictionary.parquet", table, compression="NONE", data_page_size=512)
    write("encoding/dictionary_v2.parquet", table, compression="NONE", data_page_version="2.0", data_page_size=512)
    write("encoding/fallback.parquet", table, compression="NONE", dictionary_pagesize_limit=400, data_page_size=400, write_batch_size=20)
    by_type = {"id": "DELTA_BINARY_PACKED", "big": "DELTA_BINARY_PACKED", "few": "DELTA_LENGTH_BYTE_ARRAY", "many": "DELTA_BYTE_ARRAY", "f": "BYTE_STREAM_SPLIT", "f4": "BYTE_STREAM_SPLIT", "b": "RLE", "d": "DELTA_BINARY_PACKED", "m": "BYTE_STREAM_SPLIT"}
    write("encoding/delta.parquet", table, use_dictionary=False, compression="NONE", data_page_version="2.0", column_encoding=by_type, data_page_size=1024)
    by_type = {"id": "BYTE_STREAM_SPLIT", "big": "BYTE_STREAM_SPLIT", "few": "DELTA_BYTE_ARRAY", "many": "DELTA_LENGTH_BYTE_ARRAY", "m": "DELTA_BYTE_ARRAY"}
    write("encoding/split.parquet", table, use_dictionary=False, compression="SNAPPY", column_encoding=by_type)
    for codec in ["snappy", "zstd", "lz4", "gzip", "brotli"]:
        write(f"encoding/{codec}.parquet", table, compression=codec, data_page_size=2048)
        write(f"encoding/{codec}_v2.parquet", table, compression=codec, data_page_version="2.0", data_page_size=2048)
    write("encoding/groups.parquet", table, row_group_size=37, write_page_index=True)
    write("encoding/no_statistics.parquet", table, write_statistics=False, row_group_size=200)


def shapes():
    """Files with no rows, one row, only nulls; parts for globs."""
    table = sample(20)
    write("empty.parquet", table.slice(0, 0))
    write("one.parquet", table.slice(1, 1))
    write("all_null.parquet", pa.table({"i": pa.nulls(5, pa.int32()), "s": pa.nulls(5, pa.string()), "f": pa.nulls(5, pa.float64())}))
    for part in range(3):
        write(f"parts/part-{part}.parquet", pa.table({"part": pa.array([part] * 4, pa.int32()), "v": pa.array([f"v{part}-{i}" for i in range(4)])}))
    write("odd_names.parquet", pa.table({"A b": [1, 2], "select": ["x", "y"], "Ünïcode": [1.5, None], "UPPER": [True, False]}))


def texts():
    """CSV and JSON lines."""
    (DATA / "people.csv").write_text(
        "id,name,born,height,member\n"
        "1,Ada,1815-12-10,1.65,true\n"
        '2,"Grace ""Amazing"" Hopper",1906-12-09,,true\n'
        '3,"Doe, Jane",,1.7,false\n'
        "4,Žofie,1990-02-28,1.75,\n"
        ",,,,\n"
    )
    (DATA / "numbers.csv").write_text("a,b,c\n" + "".join(f"{i},{i * 0.5},row {i}\n" for i in range(100)))
    (DATA / "header_only.csv").write_text("a,b\n")
    (DATA / "crlf.csv").write_bytes(b"a,b\r\n1,x\r\n2,y\r\n")
    (DATA / "characters").mkdir(exist_ok=True)
    characters = "name,n\nöl,1\nß,2\n\xe9t\xe9,3\n"
    (DATA / "characters" / "latin1.csv").write_bytes(characters.encode("latin-1"))
    (DATA / "characters" / "utf16.csv").write_bytes((characters + "😀,4\n").encode("utf-16-le"))
    rows = [
        {"id": 1, "name": "Ada", "height": 1.65, "member": True},
        {"id": 2, "name": "Grace \"Amazing\" Hopper", "height": None, "member": True},
        {"id": 3, "name": "Doe, Jane", "member": False},
        {"id": 4, "name": "Žofie", "height": 1.75, "member": None},
    ]
    (DATA / "people.json").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    rows = [{"id": 1, "tags": ["a", "b"], "at": {"x": 1, "y": 2.5}}, {"id": 2, "tags": [], "at": None}]
    (DATA / "nested.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def copied():
    """CSV files for COPY FROM, some of which do not fit a table (id INTEGER, name VARCHAR, born DATE)."""
    folder = DATA / "copy"
    folder.mkdir(exist_ok=True)
    good = "1,one,2001-01-01\n2,\"two, \"\"quoted\"\"\",\n3,,2003-03-03\n4,\"\",\n"
    (folder / "plain.csv").write_text(good)
    (folder / "header.csv").write_text("id,name,born\n" + good)
    (folder / "semicolon.csv").write_text("id;name;born\n5;'fünf; it''s';-\n-;NULL;2005-05-05\n")
    (folder / "wrong_type.csv").write_text("id,name,born\n1,a,2001-01-01\n2,b,2001-02-30\nx,c,\n")
    (folder / "wrong_width.csv").write_text("1,a,2001-01-01\n2,b\n")
    (folder / "open_quote.csv").write_text('1,a,2001-01-01\n2,"b,2001-01-01\n')
    (folder / "rows.json").write_text('{"name": "json", "id": 9}\n{"id": 10, "name": null}\n')
    (folder / "text.dat").write_text("7|seven|2007-07-07\n")


def duckdb_types():
    """UUID, JSON and TIMESTAMP WITH TIME ZONE, also within others, as DuckDB writes them."""
    import duckdb

    uuid = "'5c3ef2a6-6c9b-4d2a-8b0e-1d2f3a4b5c6d'::UUID"
    duckdb.sql(f"""
        COPY (
            SELECT {uuid} AS u, '{{"a": [1, null]}}'::JSON AS j,
                TIMESTAMPTZ '2024-05-01 12:34:56.789012+02' AS z, [{uuid}, NULL] AS us,
                ['{{"b": 1}}'::JSON] AS js,
                {{'z': TIMESTAMPTZ '1969-12-31 23:00:00+00',
                 'u': '00000000-0000-0000-0000-000000000000'::UUID}} AS r,
                MAP(['k'], ['[1]'::JSON]) AS m
            UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL
        ) TO '{DATA / "duckdb_types.parquet"}' (FORMAT parquet)
    """)


def main():
    for make in [numbers, types, nested, encodings, shapes, texts, copied, duckdb_types]:
        make()


if __name__ == "__main__":
    main()
