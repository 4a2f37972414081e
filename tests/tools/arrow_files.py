"""Compares Arrow IPC files with pyarrow, and makes seeds for fuzzing.

    python tests/tools/arrow_files.py compare --files 200 --volley target/debug/volley
                                                     random files: what Volley reads of them, and
                                                     pyarrow of what Volley writes
    python tests/tools/arrow_files.py seeds          the files of fuzz/corpus/arrow_file

Needs pyarrow. Files have several record batches, dictionaries, and all compressions.
"""

import argparse
import pathlib
import random
import sys
import tempfile

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from orc_files import column_type, differences, is_zero, query, random_table, same

SEEDS = pathlib.Path(__file__).resolve().parents[2] / "fuzz" / "corpus" / "arrow_file"


def encoded(rng, table):
    """Some texts as dictionaries."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) and rng.random() < 0.5:
            table = table.set_column(place, field.name, table.column(place).dictionary_encode())
    return table


def write(table, path, compression, rows):
    options = pa.ipc.IpcWriteOptions(compression=compression, unify_dictionaries=True)
    with pa.ipc.new_file(path, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)


def random_file(number):
    """A table, and how it is written."""
    rng = random.Random(number)
    types = [column_type(rng, 3) for _ in range(rng.randint(1, 6))]
    table = random_table(rng, rng.choice([0, 1, 10, 1000, 20_000]), types)
    return rng, table


def compare(volley, files, seed):
    with tempfile.TemporaryDirectory() as folder:
        for number in range(seed, seed + files):
            rng, table = random_file(number)
            path = pathlib.Path(folder) / "file.arrow"
            compression = rng.choice([None, "lz4", "zstd"])
            write(encoded(rng, table), path, compression, rng.choice([1, 100, 100_000]))
            plain = path.with_suffix(".parquet")
            pa.parquet.write_table(table, plain, coerce_timestamps="us",
                                   allow_truncated_timestamps=True)
            found = differences(volley, path, plain)
            if not is_zero(found):
                sys.exit(f"file {number} differs:\n{found}\n{table.schema}")
            written = pathlib.Path(folder) / "written.arrow"
            option = rng.choice(["none", "lz4", "zstd"])
            query(volley, f"COPY (SELECT * FROM '{plain}') TO '{written}' (FORMAT arrow, COMPRESSION {option})")
            copy = pathlib.Path(folder) / "copy.parquet"
            query(volley, f"COPY (SELECT * FROM '{plain}') TO '{copy}'")
            back = pa.ipc.open_file(written).read_all()
            if not same(back, pa.parquet.read_table(copy)):
                sys.exit(f"file {number} is written otherwise:\n{back.schema}\n{table.schema}")
    print(f"{files} files are the same")


def seeds():
    SEEDS.mkdir(parents=True, exist_ok=True)
    for number in range(40):
        rng, table = random_file(number)
        compression = [None, "lz4", "zstd"][number % 3]
        path = SEEDS / f"{number:02}.arrow"
        write(encoded(rng, table.slice(0, 8)), path, compression, 4)
        if path.stat().st_size > 6000:
            path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["compare", "seeds"])
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--volley", default="target/debug/volley")
    arguments = parser.parse_args()
    if arguments.what == "seeds":
        seeds()
    else:
        compare(arguments.volley, arguments.files, arguments.seed)


if __name__ == "__main__":
    main()
