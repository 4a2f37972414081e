"""Compares Avro files with fastavro, and makes seeds for fuzzing.

    python tests/tools/avro_files.py compare --files 200 --volley target/debug/volley
                                                     random files: what Volley reads of them, and
                                                     fastavro of what Volley writes
    python tests/tools/avro_files.py seeds           the files of fuzz/corpus/avro_file
    python tests/tools/avro_files.py make            the files of tests/data/avro

Needs fastavro and pyarrow; with cramjam also files in Snappy, with backports.zstd in Zstandard.
"""

import argparse
import datetime
import decimal
import importlib.util
import pathlib
import random
import sys
import tempfile
import uuid

import fastavro
import pyarrow as pa
import pyarrow.parquet

from orc_files import column_type, differences, is_zero, query, random_table

SEEDS = pathlib.Path(__file__).resolve().parents[2] / "fuzz" / "corpus" / "avro_file"
FOLDER = pathlib.Path(__file__).resolve().parent.parent / "data" / "avro"
CODECS = ["null", "deflate"]
if importlib.util.find_spec("cramjam"):
    CODECS.append("snappy")
if importlib.util.find_spec("backports"):
    CODECS.append("zstandard")


def avro_type(rng, data_type, names):
    """The Avro type of an Arrow type, as a union with null."""
    kinds = pa.types
    if kinds.is_boolean(data_type):
        avro = "boolean"
    elif kinds.is_integer(data_type):
        avro = "long" if data_type.bit_width == 64 else "int"
    elif kinds.is_floating(data_type):
        avro = "double" if data_type.bit_width == 64 else "float"
    elif kinds.is_string(data_type):
        avro = "string"
    elif kinds.is_binary(data_type):
        avro = "bytes"
    elif kinds.is_date(data_type):
        avro = {"type": "int", "logicalType": "date"}
    elif kinds.is_timestamp(data_type):
        logical = "timestamp-micros" if data_type.tz else "local-timestamp-micros"
        avro = {"type": "long", "logicalType": logical}
    elif kinds.is_decimal(data_type):
        avro = {"type": "bytes", "logicalType": "decimal",
                "precision": data_type.precision, "scale": data_type.scale}
    elif kinds.is_map(data_type):
        avro = {"type": "map", "values": avro_type(rng, data_type.item_type, names)}
    elif kinds.is_list(data_type):
        avro = {"type": "array", "items": avro_type(rng, data_type.value_type, names)}
    else:
        fields = [{"name": field.name, "type": avro_type(rng, field.type, names)} for field in data_type]
        avro = {"type": "record", "name": f"r{len(names)}", "fields": fields}
        names.append(avro["name"])
    return rng.choice([["null", avro], [avro, "null"]])


def has_other_keys(data_type):
    """Whether there are maps whose keys are no texts, which Avro has not."""
    if pa.types.is_map(data_type):
        return not pa.types.is_string(data_type.key_type) or has_other_keys(data_type.item_type)
    parts = [data_type.field(it).type for it in range(data_type.num_fields)]
    return any(has_other_keys(it) for it in parts)


def rows_of(value, data_type):
    """A value of pyarrow as fastavro takes it: maps are dictionaries."""
    if value is None:
        return None
    if pa.types.is_map(data_type):
        return {key: rows_of(item, data_type.item_type) for key, item in value}
    if pa.types.is_list(data_type):
        return [rows_of(it, data_type.value_type) for it in value]
    if pa.types.is_struct(data_type):
        return {field.name: rows_of(value[field.name], field.type) for field in data_type}
    return value


def write(rng, table, path, codec):
    names = []
    fields = [{"name": field.name, "type": avro_type(rng, field.type, names)} for field in table.schema]
    schema = fastavro.parse_schema({"type": "record", "name": "table", "fields": fields})
    columns = [[rows_of(it, field.type) for it in table.column(field.name).to_pylist()]
               for field in table.schema]
    rows = [dict(zip(table.column_names, row)) for row in zip(*columns)]
    with open(path, "wb") as out:
        fastavro.writer(out, schema, rows, codec=codec, sync_interval=rng.choice([1, 1000, 64_000]))


def random_file(number):
    """A table, and how it is written."""
    rng = random.Random(number)
    types = []
    while len(types) < 1 + number % 5:
        data_type = column_type(rng, 3)
        if not has_other_keys(data_type):
            types.append(data_type)
    table = random_table(rng, rng.choice([0, 1, 10, 1000, 5000]), types)
    return rng, table


def compare(volley, files, seed):
    with tempfile.TemporaryDirectory() as folder:
        for number in range(seed, seed + files):
            rng, table = random_file(number)
            path = pathlib.Path(folder) / "file.avro"
            write(rng, table, path, rng.choice(CODECS))
            plain = path.with_suffix(".parquet")
            pa.parquet.write_table(table, plain, coerce_timestamps="us")
            found = differences(volley, path, plain)
            if not is_zero(found):
                sys.exit(f"file {number} differs:\n{found}\n{table.schema}")
            written = pathlib.Path(folder) / "written.avro"
            option = rng.choice(["none", "zstd"] if "zstandard" in CODECS else ["none"])
            query(volley, f"COPY (SELECT * FROM '{plain}') TO '{written}' (FORMAT avro, COMPRESSION {option})")
            with open(written, "rb") as source:
                back = list(fastavro.reader(source))
            expected = [{field.name: rows_of(row[field.name], field.type) for field in table.schema}
                        for row in table.to_pylist()]
            if not same_rows(back, expected):
                sys.exit(f"file {number} is written otherwise:\n{table.schema}")
    print(f"{files} files are the same")


def same_rows(left, right):
    """Whether values are the same; NaN is NaN."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_rows, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_rows(left[it], right[it]) for it in left)
    return left == right or (left != left and right != right)


def seeds():
    SEEDS.mkdir(parents=True, exist_ok=True)
    for number in range(40):
        rng, table = random_file(number)
        path = SEEDS / f"{number:02}.avro"
        write(rng, table.slice(0, 8), path, CODECS[number % len(CODECS)])
        if path.stat().st_size > 6000:
            path.unlink()


def make():
    """Types that random tables lack, and schemas that are refused."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    utc = datetime.timezone.utc
    columns = {
        "symbol": ({"type": "enum", "name": "e", "symbols": ["X", "Y"]}, "Y"),
        "fixed": ({"type": "fixed", "name": "f", "size": 3}, b"a\0b"),
        "id": ({"type": "string", "logicalType": "uuid"}, uuid.UUID(int=2**127 + 5)),
        "millis": ({"type": "int", "logicalType": "time-millis"}, datetime.time(1, 2, 3, 4000)),
        "micros": ({"type": "long", "logicalType": "time-micros"}, datetime.time(1, 2, 3, 4)),
        "at": ({"type": "long", "logicalType": "timestamp-millis"}, datetime.datetime(1969, 1, 1, tzinfo=utc)),
        "local": ({"type": "long", "logicalType": "local-timestamp-millis"}, datetime.datetime(2020, 1, 1)),
        "digits": ({"type": "fixed", "name": "d", "size": 8, "logicalType": "decimal", "precision": 10,
                    "scale": 2}, decimal.Decimal("-1.25")),
    }
    node = {"type": "record", "name": "n", "fields": [{"name": "next", "type": ["null", "n"]}]}
    files = {
        "types": columns,
        "union": {"a": (["int", "string"], 1)},
        "recursive": {"a": (node, {"next": None})},
    }
    for name, columns in files.items():
        fields = [{"name": column, "type": it[0]} for column, it in columns.items()]
        schema = fastavro.parse_schema({"type": "record", "name": "t", "fields": fields})
        with open(FOLDER / f"{name}.avro", "wb") as out:
            fastavro.writer(out, schema, [{column: it[1] for column, it in columns.items()}],
                            codec="deflate", sync_marker=bytes(range(16)))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["compare", "seeds", "make"])
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--volley", default="target/debug/volley")
    arguments = parser.parse_args()
    if arguments.what == "seeds":
        seeds()
    elif arguments.what == "make":
        make()
    else:
        compare(arguments.volley, arguments.files, arguments.seed)


if __name__ == "__main__":
    main()
