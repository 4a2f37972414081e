#!/usr/bin/env python3
"""Makes the files that fuzzing starts from: fuzz/corpus (but for spill and plan) and fuzz/sql.dict;
and tests/data/checksum: Parquet files whose pages have checksums, which mutations do not get past.

    python fuzz/seeds.py            needs pyarrow
    cargo run -p volley-fuzz-targets --example seeds      makes fuzz/corpus/spill and plan

Seeds are small, since small inputs are mutated more often: one Parquet file for each kind of page,
encoding, codec and index; texts of the SQL corpus; the CSV and JSON files of the tests.
"""

import datetime
import decimal
import gzip
import itertools
import pathlib
import re
import shutil

import pyarrow as pa
import pyarrow.parquet as pq

FUZZ = pathlib.Path(__file__).resolve().parent
TESTS = FUZZ.parent / "tests"
CORPUS = FUZZ / "corpus"

# The largest seed of a text, and how many bytes of queries there are.
TEXT_BYTES_MAX = 2000
QUERY_BYTES = 60_000


def folder(name):
    return emptied(CORPUS / name)


def emptied(path):
    path.mkdir(parents=True, exist_ok=True)
    for old in path.iterdir():
        old.unlink()
    return path


def with_nulls(values, every=5):
    return [None if row % every == 3 else value for row, value in enumerate(values)]


def tables(rows=60):
    """Tables by name: all types in a few columns each."""
    day = datetime.date(1970, 1, 1)
    moment = datetime.datetime(2000, 1, 1)
    numbers = range(rows)
    words = ["", "a", "exactly 12 ch", "long enough to be behind a pointer", "\u65e5\u672c"]
    text = [words[it % len(words)] for it in numbers]
    return {
        "numbers": pa.table({
            "i": pa.array(with_nulls([it * 7 - 100 for it in numbers]), pa.int32()),
            "l": pa.array([it << 33 for it in numbers], pa.int64()),
            "t": pa.array(with_nulls([it % 3 for it in numbers], 7), pa.int8()),
            "u": pa.array(list(numbers), pa.uint64()),
            "f": pa.array(with_nulls([it / 3 for it in numbers]), pa.float32()),
            "d": pa.array([it / 7 for it in numbers], pa.float64()),
            "b": pa.array(with_nulls([it % 4 == 1 for it in numbers]), pa.bool_()),
        }),
        "texts": pa.table({
            "s": pa.array(with_nulls(text)),
            "v": pa.array([it.encode() for it in text], pa.binary()),
            "w": pa.array([f"{it:08}".encode() for it in numbers], pa.binary(8)),
        }),
        "times": pa.table({
            "d": pa.array(with_nulls([day + datetime.timedelta(it * 99) for it in numbers])),
            "t": pa.array([moment + datetime.timedelta(0, it) for it in numbers], pa.timestamp("us")),
            "n": pa.array(with_nulls([it * 10**9 for it in numbers]), pa.timestamp("ns")),
            "z": pa.array([it * 10**6 for it in numbers], pa.timestamp("us", "UTC")),
            "c": pa.array([it * 1000 for it in numbers], pa.time64("us")),
            "m": pa.array([decimal.Decimal(it) / 4 for it in numbers], pa.decimal128(9, 2)),
            "h": pa.array(with_nulls([decimal.Decimal(it) for it in numbers]),
                          pa.decimal128(30, 4)),
        }),
        "nested": pa.table({
            "l": pa.array(with_nulls([[it, None] * (it % 3) for it in numbers]),
                          pa.list_(pa.int32())),
            "m": pa.array([[(words[it % 5] + str(it), it)] * (it % 2) for it in numbers],
                          pa.map_(pa.string(), pa.int64())),
            "r": pa.array(with_nulls([{"a": it, "b": text[it]} for it in numbers])),
            "d": pa.array([[[{"x": it}], None, []][: it % 4] for it in numbers],
                          pa.list_(pa.list_(pa.struct([("x", pa.int16())])))),
        }),
    }


def parquet_options():
    """Ways to write, by name."""
    plain = {"use_dictionary": False, "compression": "none"}
    for version, page in itertools.product(["1.0", "2.0"], [1 << 20, 64]):
        name = f"v{version[0]}" + ("_pages" if page == 64 else "")
        yield name, {
            "data_page_version": version,
            "data_page_size": page,
            "write_batch_size": 8 if page == 64 else 1024,
            "write_page_index": True,
            "compression": "snappy",
        }
    for codec in ["snappy", "gzip", "brotli", "zstd", "lz4"]:
        yield codec, {"compression": codec, "use_dictionary": False}
    yield "plain", plain


ENCODINGS = {
    "numbers": [
        {"i": "DELTA_BINARY_PACKED", "l": "DELTA_BINARY_PACKED", "f": "BYTE_STREAM_SPLIT",
         "d": "BYTE_STREAM_SPLIT", "b": "RLE"},
        {"i": "BYTE_STREAM_SPLIT"},
    ],
    "texts": [{"s": "DELTA_BYTE_ARRAY", "v": "DELTA_LENGTH_BYTE_ARRAY", "w": "DELTA_BYTE_ARRAY"}],
    "times": [{"t": "DELTA_BINARY_PACKED", "d": "DELTA_BINARY_PACKED"}],
}


def write_tables(path, checksums):
    def write(table, name, **how):
        pq.write_table(table, path / f"{name}.parquet", store_schema=False,
                       write_page_checksum=checksums, **how)

    for table_name, table in tables().items():
        options = dict(parquet_options())
        if table_name != "texts":
            for codec in ["gzip", "brotli", "zstd", "lz4"]:
                del options[codec]
        for name, how in options.items():
            write(table, f"{table_name}_{name}", row_group_size=40, **how)
        for number, encodings in enumerate(ENCODINGS.get(table_name, [])):
            write(table, f"{table_name}_encoding{number}", use_dictionary=False,
                  column_encoding=encodings, compression="none")
    write(tables()["numbers"].select(["i"]).slice(0, 3), "one")
    write(tables()["times"].select(["t"]), "int96", use_deprecated_int96_timestamps=True)
    blooms = {"i": {"ndv": 20}, "l": {"ndv": 20}}
    write(tables()["numbers"].select(["i", "l"]), "bloom", bloom_filter_options=blooms)


def write_texts():
    csv, json = folder("csv"), folder("json")
    for file in sorted(TESTS.rglob("*")):
        target = {".csv": csv, ".json": json}.get(file.suffix)
        if target and file.is_file() and 0 < file.stat().st_size <= TEXT_BYTES_MAX:
            shutil.copyfile(file, target / file.name)
    (csv / "quotes.csv").write_text('a;"b;c"\n1;"x""y"\n2;"two\nlines"\n;\n')
    (csv / "dates.csv").write_bytes(b"\xef\xbb\xbfd\tt\tn\n2020-01-02\t01:02:03\t-1e5\n\t\t\n")
    (csv / "types.csv").write_text("a,b,c\ntrue,1.50,2020-01-01 00:00:00\nfalse,-2,1999-12-31T23:59:59Z\n")
    (json / "nested.json").write_text(
        '{"a": [1, null, [2]], "b": {"c": "2020-01-01", "d": [{}]}}\n{"a": null, "e": 1e300}\n')
    (json / "escapes.json").write_text('{"\\u00e4\\ud83d\\ude00": "\\n\\"", "n": -0.0, "t": true}\n')
    (json / "mixed.json").write_text('{"a": 1}\n{"a": "x"}\n{"a": 1.5}\n{"b": false}\n')
    (csv / "wrong.csv").write_text('# c\na;b\n1;"x\\"y"z\n2\n3;4;5\n;"open\n')
    for file in (csv / "quotes.csv", json / "mixed.json"):
        data = file.read_bytes()
        file.with_suffix(f"{file.suffix}.gz").write_bytes(gzip.compress(data, mtime=0))
        zstd = pa.Codec("zstd").compress(data, asbytes=True)
        file.with_suffix(f"{file.suffix}.zst").write_bytes(zstd)


def queries():
    """Statements of the SQL corpus, the shortest of each file."""
    record = re.compile(r"^(?:query|statement) .*?\n(.*?)(?:\n----|\n\n|\Z)", re.S | re.M)
    for file in sorted(TESTS.joinpath("slt").rglob("*.slt")):
        found = [it.strip() for it in record.findall(file.read_text())]
        found = [it for it in found if 40 <= len(it) <= 600 and "$" not in it]
        yield file, sorted(found, key=len)[-3:]


def write_queries():
    path, size = folder("sql"), 0
    for file, texts in queries():
        for number, text in enumerate(texts):
            size += len(text)
            if size > QUERY_BYTES:
                return
            (path / f"{file.parent.name}_{file.stem}_{number}.sql").write_text(text)


def write_dictionary():
    words = """SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET UNION ALL EXCEPT INTERSECT WITH
        RECURSIVE AS MATERIALIZED JOIN LEFT RIGHT FULL OUTER INNER CROSS NATURAL USING ON LATERAL
        VALUES CASE WHEN THEN ELSE END CAST TRY_CAST AND OR NOT IN EXISTS BETWEEN LIKE ESCAPE IS
        NULL TRUE FALSE DISTINCT FILTER OVER PARTITION ROWS RANGE GROUPS PRECEDING FOLLOWING
        UNBOUNDED CURRENT ROW EXCLUDE WINDOW QUALIFY ROLLUP CUBE GROUPING SETS INTERVAL DATE
        TIMESTAMP TIME ARRAY MAP DECIMAL VARCHAR BIGINT DOUBLE BOOLEAN UNNEST ORDINALITY EXTRACT
        ASC DESC NULLS FIRST LAST EXPLAIN DESCRIBE ANY SOME SIMILAR TO AT ZONE""".split()
    calls = set()
    for file in FUZZ.parent.joinpath("docs/functions").glob("*.md"):
        calls.update(re.findall(r"\b([a-z_0-9]+)\(", file.read_text()))
    signs = ["::", "||", "->", "<>", "<=", ">=", "!=", "[", "]", "{", "}", "--", "/*", "*/", "''"]
    tables = ["t.a", "u.b", "v.n", " t ", " u ", " v "]
    lines = [f'" {it} "' for it in words] + [f'"{it}("' for it in sorted(calls)]
    lines += [f'"{it}"' for it in signs + tables]
    FUZZ.joinpath("sql.dict").write_text("\n".join(lines) + "\n")


CASTS = """true
-128
170141183460469231731687303715884105727
-0.0001e-5
1e400
NaN
-Infinity
2020-02-30
-0044-03-15
+12345-01-01
23:59:59.999999
24:00:00
2024-02-29 12:34:56.789 Europe/Berlin
2020-01-01T00:00:00+14:00
1 year 2 months -3 days 04:05:06.789
P1Y2M3DT4H5M6.7S
\\\\xDEADBEEF
{"a": [1, null, {"b": "\\u00e9"}], "c": 1e10}
123e4567-e89b-12d3-a456-426614174000
[a, "b \\"c\\"", null, []]
[[1 day], [], null]
{a: [(2020-01-01, b)], "c d": []}
{"a": 2020-01-01, b: x}
(2020-01-01, 'it''s')
[1.5, -2]""".splitlines()


def write_casts():
    path = folder("cast")
    for number, text in enumerate(CASTS):
        (path / f"{number:02}").write_text(text)


def copy_orc():
    """The ORC files of the tests that are small; tests/tools/orc_files.py makes them."""
    target = folder("orc")
    for path in sorted((TESTS / "data" / "orc").glob("*.orc")):
        if path.stat().st_size < 13_000:
            shutil.copy(path, target / path.name)


if __name__ == "__main__":
    copy_orc()
    write_tables(folder("parquet"), checksums=False)
    write_tables(emptied(TESTS / "data" / "checksum"), checksums=True)
    write_texts()
    write_queries()
    write_dictionary()
    write_casts()
