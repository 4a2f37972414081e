"""Makes ORC files with pyarrow, each beside a Parquet file with the same rows.

    python tests/tools/orc_files.py make             the files of tests/data/orc
    python tests/tools/orc_files.py compare --files 200 --volley target/debug/volley
                                                     random files: what Volley reads of them and
                                                     pyarrow of what Volley writes
    mvn -q -f tests/tools/orc_java package dependency:copy-dependencies \\
        -DoutputDirectory=$PWD/target/orc-java/lib
    python tests/tools/orc_files.py java --files 50 --volley target/debug/volley
                                                     random files of the Java writer: what Volley and
                                                     pyarrow read of them; `java-make` makes those of
                                                     tests/data/orc

Needs pyarrow. `make` gives the same bytes each time with the same version of pyarrow.
"""

import argparse
import datetime
import decimal
import pathlib
import random
import subprocess
import sys
import tempfile

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "data" / "orc"
WORDS = ["", "a", "the", "longer than twelve bytes", "ä", "日本語", "x" * 40, "fox", "dog"]


def numbers(rng, low, high):
    """A function that gives integers whose runs have all the forms of run-length encoding."""
    form = rng.choice(["any", "small", "up", "down", "same", "outliers", "runs"])
    state = {"value": rng.randint(max(low, -1000), min(high, 1000)), "left": 0}

    def value():
        if form == "any":
            return rng.randint(low, high)
        if form == "small":
            return rng.randint(max(low, -5), min(high, 200))
        if form == "same":
            return state["value"]
        if form == "outliers":
            wide = rng.random() < 0.02
            return rng.randint(low, high) if wide else rng.randint(max(low, 0), min(high, 100))
        if form == "runs":
            if state["left"] == 0:
                state["left"] = rng.randint(1, 20)
                state["value"] = rng.randint(max(low, -1000), min(high, 1000))
            state["left"] -= 1
            return state["value"]
        step = rng.randint(0, 3)
        state["value"] += step if form == "up" else -step
        if not low <= state["value"] <= high:
            state["value"] = 0
        return state["value"]

    return value


def texts(rng):
    few = rng.random() < 0.5
    pool = [rng.choice(WORDS) + str(rng.randint(0, 20)) for _ in range(10)]
    return lambda: rng.choice(pool) if few else rng.choice(WORDS) + str(rng.randint(0, 10**9))


def timestamps(rng):
    def value():
        # Seconds before 1970 with fractions of less than a second are not told apart by the format.
        seconds = rng.choice([rng.randint(-9 * 10**9, -2), rng.randint(0, 4 * 10**9)])
        nanos = rng.choice([0, 1000, 500_000_000, 999_999_000, rng.randint(0, 999_999) * 1000])
        return seconds * 10**6 + nanos // 1000

    return value


def column_type(rng, depth):
    scalars = [
        pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(),
        pa.string(), pa.binary(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"),
        pa.decimal128(7, 2), pa.decimal128(18, 5), pa.decimal128(38, 10),
    ]
    if depth == 0 or rng.random() < 0.6:
        return rng.choice(scalars)
    kind = rng.choice(["list", "map", "struct"])
    inner = lambda: column_type(rng, depth - 1)
    if kind == "list":
        return pa.list_(inner())
    if kind == "map":
        return pa.map_(rng.choice([pa.int32(), pa.string()]), inner())
    return pa.struct([(f"f{place}", inner()) for place in range(rng.randint(1, 3))])


def maker(rng, data_type, nulls):
    """A function that gives values of a type."""
    kinds = pa.types
    if kinds.is_boolean(data_type):
        value = lambda: rng.random() < 0.7
    elif kinds.is_integer(data_type):
        bits = data_type.bit_width
        value = numbers(rng, -(1 << bits - 1), (1 << bits - 1) - 1)
    elif kinds.is_floating(data_type):
        special = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.5]
        value = lambda: rng.choice(special) if rng.random() < 0.1 else float(rng.randint(-1000, 1000)) / 8
    elif kinds.is_string(data_type):
        value = texts(rng)
    elif kinds.is_binary(data_type):
        text = texts(rng)
        value = lambda: text().encode()[::-1]
    elif kinds.is_date(data_type):
        day = numbers(rng, -100_000, 100_000)
        value = lambda: datetime.date(1970, 1, 1) + datetime.timedelta(days=day())
    elif kinds.is_timestamp(data_type):
        value = timestamps(rng)
    elif kinds.is_decimal(data_type):
        most = 10**data_type.precision - 1
        digits = numbers(rng, -most, most)
        with_digits = decimal.Context(prec=40)
        value = lambda: decimal.Decimal(digits()).scaleb(-data_type.scale, with_digits)
    elif kinds.is_map(data_type):
        key, item = maker(rng, data_type.key_type, 0), maker(rng, data_type.item_type, nulls)
        value = lambda: list({key(): item() for _ in range(rng.choice([0, 1, 1, 2, 5]))}.items())
    elif kinds.is_list(data_type):
        element = maker(rng, data_type.value_type, nulls)
        value = lambda: [element() for _ in range(rng.choice([0, 1, 1, 2, 7]))]
    else:
        fields = [(field.name, maker(rng, field.type, nulls)) for field in data_type]
        value = lambda: {name: make() for name, make in fields}
    return lambda: None if nulls and rng.random() < nulls else value()


def random_table(rng, rows, types):
    columns = {}
    for place, data_type in enumerate(types):
        make = maker(rng, data_type, rng.choice([0, 0, 0.1, 0.5, 1.0]))
        columns[f"c{place}"] = pa.array([make() for _ in range(rows)], data_type)
    return pa.table(columns)


def write(table, path, rows=None, **options):
    """Writes the ORC file `path` and, unless `rows` names one that there is, one of Parquet."""
    pa.orc.write_table(table, path, **options)
    if rows is None:
        pa.parquet.write_table(table, path.with_suffix(".parquet"), compression="zstd",
                               coerce_timestamps="us", write_statistics=False)


def make():
    FOLDER.mkdir(exist_ok=True)
    rng = random.Random(4711)
    scalars = [
        pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(),
        pa.string(), pa.binary(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"),
        pa.decimal128(7, 2), pa.decimal128(18, 5), pa.decimal128(38, 10),
    ]
    table = random_table(rng, 220, scalars)
    for name, options in {
        "scalars": {"compression": "uncompressed"},
        "scalars_v1": {"compression": "zlib", "file_version": "0.11"},
        "scalars_snappy": {"compression": "snappy", "dictionary_key_size_threshold": 1.0},
        "scalars_lz4": {"compression": "lz4", "file_version": "0.11",
                        "dictionary_key_size_threshold": 1.0},
        "scalars_zstd": {"compression": "zstd"},
    }.items():
        write(table, FOLDER / f"{name}.orc", rows=None if name == "scalars" else "scalars",
              row_index_stride=60, compression_block_size=65536, **options)
    nested = [
        pa.list_(pa.int32()), pa.map_(pa.string(), pa.int64()),
        pa.struct([("a", pa.int32()), ("b", pa.string()), ("c", pa.list_(pa.float64()))]),
        pa.list_(pa.struct([("x", pa.list_(pa.string())), ("y", pa.timestamp("us"))])),
        pa.list_(pa.list_(pa.bool_())),
    ]
    table = random_table(rng, 200, nested)
    for name, options in {
        "nested": {"compression": "uncompressed", "dictionary_key_size_threshold": 1.0},
        "nested_v1": {"compression": "zlib", "file_version": "0.11"},
        "nested_zstd": {"compression": "zstd"},
    }.items():
        write(table, FOLDER / f"{name}.orc", rows=None if name == "nested" else "nested",
              row_index_stride=60, compression_block_size=65536, **options)
    rows = 2000
    table = pa.table({
        "id": pa.array(range(rows), pa.int64()),
        "name": pa.array([f"name {value // 10}" for value in range(rows)]),
        "price": pa.array([value / 4 for value in range(rows)], pa.float64()),
        "day": pa.array([value // 100 for value in range(rows)], pa.date32()),
        "hash": pa.array([value * 7919 % 2000 for value in range(rows)], pa.int64()),
        "note": pa.array([None if value < 1000 else f"note {value}" for value in range(rows)]),
    })
    write(table, FOLDER / "pruning.orc", row_index_stride=200, compression="zstd",
          bloom_filter_columns=[2, 3, 6], bloom_filter_fpp=0.01)
    write(table.slice(0, 0), FOLDER / "empty.orc")
    write(pa.table({"a": pa.array([None] * 5, pa.int32()), "b": pa.array([None] * 5, pa.string())}),
          FOLDER / "nulls.orc", compression="zlib")


JAVA_TYPES = ["boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary",
              "varchar(20)", "char(12)", "date", "timestamp", "timestamp with local time zone",
              "decimal(7,2)", "decimal(18,5)", "decimal(38,10)"]
JAVA_NESTED = ["array<int>", "map<string,bigint>", "struct<x:int,y:array<string>>",
               "array<struct<a:timestamp,b:decimal(9,1)>>"]


def java(classes, path, types, rows, seed, codec, block_bytes, version, zone, bloom="", stripe_bytes=20_000):
    """Runs the Java writer; the schema has a column per type."""
    schema = ",".join(f"c{place}:{name}" for place, name in enumerate(types))
    command = ["java", f"-Duser.timezone={zone}", f"-Dstripe.bytes={stripe_bytes}", "-cp", f"{classes}/classes:{classes}/lib/*",
               "OrcFiles", str(path), f"struct<{schema}>", str(rows), str(seed), codec,
               str(block_bytes), "1000", version]
    done = subprocess.run(command + ([bloom] if bloom else []), capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{command}\n{done.stderr}")


def as_parquet(path):
    """Writes what pyarrow reads of an ORC file beside it."""
    table = pa.orc.read_table(path)
    pa.parquet.write_table(table, path.with_suffix(".parquet"), compression="zstd",
                           coerce_timestamps="us", allow_truncated_timestamps=True,
                           write_statistics=False)


def java_make(classes):
    types = JAVA_TYPES + JAVA_NESTED
    java(classes, FOLDER / "java.orc", types, 120, 1, "SNAPPY", 1024, "0.12", "America/Los_Angeles")
    as_parquet(FOLDER / "java.orc")
    few = ["smallint", "char(3)", "boolean", "array<boolean>"]
    java(classes, FOLDER / "java_groups.orc", few, 2100, 2, "ZLIB", 1024, "0.11", "Europe/Berlin",
         "c0,c1", 1 << 20)
    as_parquet(FOLDER / "java_groups.orc")
    java(classes, FOLDER / "java_union.orc", ["uniontype<int,string,array<int>>", "int"], 20, 3,
         "NONE", 1024, "0.12", "UTC")


def java_compare(volley, classes, files, seed):
    with tempfile.TemporaryDirectory() as folder:
        for number in range(seed, seed + files):
            rng = random.Random(number)
            types = [rng.choice(JAVA_TYPES + JAVA_NESTED) for _ in range(rng.randint(1, 8))]
            path = pathlib.Path(folder) / "file.orc"
            codec = rng.choice(["NONE", "ZLIB", "SNAPPY", "LZ4", "ZSTD", "BROTLI"])
            zone = rng.choice(["UTC", "America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata"])
            java(classes, path, types, rng.choice([1, 500, 5000]), number, codec,
                 rng.choice([1024, 4096, 262144]), rng.choice(["0.11", "0.12"]), zone)
            table = pa.orc.read_table(path) if codec != "BROTLI" else None
            if table is None:
                query(volley, f"SELECT count(c0) AS n FROM '{path}'")
                continue
            as_parquet(path)
            found = differences(volley, path, path.with_suffix(".parquet"))
            if not is_zero(found):
                sys.exit(f"file {number} differs:\n{found}\n{types} {codec} {zone}")
    print(f"{files} files of the Java writer are the same")


def is_zero(found):
    return "0" in found.replace("│", " ").replace("|", " ").split()


def query(volley, sql):
    done = subprocess.run([volley, "-c", sql], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{sql}\n{done.stdout}{done.stderr}")
    return done.stdout


def differences(volley, left, right):
    """The rows that are in one of two files alone."""
    sql = (f"SELECT count(*) AS n FROM ((SELECT * FROM '{left}' EXCEPT ALL SELECT * FROM '{right}') "
           f"UNION ALL (SELECT * FROM '{right}' EXCEPT ALL SELECT * FROM '{left}'))")
    return query(volley, sql)


def compare(volley, files, seed):
    compressions = ["uncompressed", "zlib", "snappy", "lz4", "zstd"]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(seed, seed + files):
            rng = random.Random(number)
            types = [column_type(rng, 3) for _ in range(rng.randint(1, 6))]
            table = random_table(rng, rng.choice([1, 10, 1000, 20_000]), types)
            path = pathlib.Path(folder) / "file.orc"
            write(table, path, compression=rng.choice(compressions),
                  file_version=rng.choice(["0.11", "0.12"]),
                  compression_block_size=rng.choice([65536, 131072, 262144]),
                  row_index_stride=rng.choice([100, 1000, 10_000]),
                  stripe_size=rng.choice([10_000, 1 << 26]), batch_size=rng.choice([100, 1024]),
                  dictionary_key_size_threshold=rng.choice([0.0, 0.5, 1.0]))
            found = differences(volley, path, path.with_suffix(".parquet"))
            if not is_zero(found):
                sys.exit(f"file {number} differs:\n{found}\n{table.schema}")
            written = pathlib.Path(folder) / "written.orc"
            query(volley, f"COPY (SELECT * FROM '{path}') TO '{written}'")
            back = pa.orc.read_table(written)
            expected = pa.orc.read_table(path)
            if not same(back, expected):
                sys.exit(f"file {number} is written otherwise:\n{back.schema}\n{expected.schema}")
    print(f"{files} files are the same")


def same(left, right):
    """Whether tables have the same rows, NaN equal to itself."""
    text = lambda table: repr(table.to_pylist())
    return left.column_names == right.column_names and text(left) == text(right)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "compare", "java", "java-make"])
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--volley", default="target/debug/volley")
    parser.add_argument("--classes", default="target/orc-java")
    arguments = parser.parse_args()
    if arguments.what == "make":
        make()
    elif arguments.what == "java-make":
        java_make(arguments.classes)
    elif arguments.what == "java":
        java_compare(arguments.volley, arguments.classes, arguments.files, arguments.seed)
    else:
        compare(arguments.volley, arguments.files, arguments.seed)


if __name__ == "__main__":
    main()
