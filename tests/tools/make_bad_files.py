#!/usr/bin/env python3
"""Writes the broken files in tests/data/bad that the corpus of errors reads.

    pip install pyarrow
    tests/tools/make_bad_files.py

Each is a small valid file with one thing wrong, so that each check of a reader is reached. The
files are checked in.
"""

import pathlib
import struct

import pyarrow as pa
import pyarrow.parquet as pq

BAD = pathlib.Path(__file__).resolve().parents[1] / "data" / "bad"


def parquet_bytes(numbers=range(100), **options):
    """A file with the columns `i` (the numbers) and `s`; one row group, one page per column."""
    table = pa.table({"i": pa.array(numbers, pa.int64()), "s": [f"text {i}" for i in range(100)]})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **{"compression": "NONE", "use_dictionary": False, "write_statistics": False} | options)
    return bytearray(sink.getvalue().to_pybytes())


def footer_start(data):
    return len(data) - 8 - struct.unpack("<I", data[-8:-4])[0]


def page_starts(data):
    """Where each column's first page begins."""
    metadata = pq.read_metadata(pa.BufferReader(bytes(data)))
    group = metadata.row_group(0)
    columns = [group.column(index) for index in range(group.num_columns)]
    return [column.dictionary_page_offset or column.data_page_offset for column in columns]


def with_bytes(data, position, replacement):
    changed = bytearray(data)
    changed[position : position + len(replacement)] = replacement
    return changed


def footers():
    """Files whose end is wrong."""
    good = parquet_bytes()
    size = len(good)
    (BAD / "empty.parquet").write_bytes(b"")
    (BAD / "short.parquet").write_bytes(b"PAR1")
    (BAD / "magic_only.parquet").write_bytes(b"PAR1PAR1")
    (BAD / "text.parquet").write_bytes(b"id,name\n1,this is a CSV file with another name\n")
    (BAD / "truncated.parquet").write_bytes(good[: size // 2])
    (BAD / "truncated_tail.parquet").write_bytes(good[:-3])
    (BAD / "truncated_head.parquet").write_bytes(good[40:])
    (BAD / "footer_too_long.parquet").write_bytes(with_bytes(good, size - 8, struct.pack("<I", 0x7FFFFFFF)))
    (BAD / "footer_zero.parquet").write_bytes(with_bytes(good, size - 8, struct.pack("<I", 0)))
    (BAD / "footer_garbage.parquet").write_bytes(with_bytes(good, footer_start(good), b"\xff" * 40))
    (BAD / "footer_cut.parquet").write_bytes(with_bytes(good, size - 8, struct.pack("<I", 20)))
    (BAD / "encrypted.parquet").write_bytes(with_bytes(good, size - 4, b"PARE"))


def pages():
    """Files whose footer is right and whose pages are not."""
    good = parquet_bytes()
    first, second = page_starts(good)
    (BAD / "page_header.parquet").write_bytes(with_bytes(good, first, b"\xff" * 16))
    (BAD / "page_zero.parquet").write_bytes(with_bytes(good, first, b"\x00" * 60))
    # Definition levels: 4 bytes of length, then one run of 100 ones.
    levels = good.index(b"\x03\x00\x00\x00\xc8\x01\x01", first)
    (BAD / "page_levels.parquet").write_bytes(with_bytes(good, levels, b"\xff\xff\xff\x7f"))
    (BAD / "page_levels_run.parquet").write_bytes(with_bytes(good, levels + 4, b"\xff\xff\x7f"))
    (BAD / "string_length.parquet").write_bytes(with_bytes(good, second + 60, b"\xff\xff\xff\x7f" * 4))
    (BAD / "not_utf8.parquet").write_bytes(bytes(good).replace(b"text 50", b"\xff\xfe\xfd\xfc 50"))
    missing = good[: first + 20] + good[second:]
    (BAD / "pages_missing.parquet").write_bytes(missing)
    for codec in ["SNAPPY", "ZSTD", "GZIP", "LZ4", "BROTLI"]:
        data = parquet_bytes(compression=codec)
        first = page_starts(data)[0]
        (BAD / f"{codec.lower()}.parquet").write_bytes(with_bytes(data, first + 40, b"\xa5" * 60))
    data = parquet_bytes(use_dictionary=True)
    second = page_starts(data)[1]
    dictionary_end = data.index(b"text 99", second) + len(b"text 99")
    (BAD / "dictionary_index.parquet").write_bytes(with_bytes(data, dictionary_end + 40, b"\xff" * 30))
    (BAD / "dictionary_page.parquet").write_bytes(with_bytes(data, second, b"\xff" * 20))
    # The encoding's header: blocks of 256 values, 4 miniblocks, 100 values.
    data = parquet_bytes([i * i for i in range(100)], column_encoding={"i": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY"})
    first, second = page_starts(data)
    delta = data.index(b"\x80\x02\x04\x64", first)
    (BAD / "delta_integers.parquet").write_bytes(with_bytes(data, delta + 4, b"\xff" * 12))
    (BAD / "delta_header.parquet").write_bytes(with_bytes(data, delta, b"\xff" * 4))
    (BAD / "delta_miniblocks.parquet").write_bytes(with_bytes(data, delta + 2, b"\x00"))
    (BAD / "delta_bytes.parquet").write_bytes(with_bytes(data, second + 40, b"\xff" * 24))


def texts():
    """CSV and JSON files with a wrong line, and files that are no tables."""
    (BAD / "ragged.csv").write_text("a,b\n1,2\n3,4,5\n6\n")
    (BAD / "quote.csv").write_text('a,b\n1,"no end\n2,x\n')
    (BAD / "not_utf8.csv").write_bytes(b"a,b\n1,caf\xe9\n")
    # Types are inferred from the first 20,480 lines.
    (BAD / "not_a_number.csv").write_text("a\n" + "1\n" * 20480 + "x\n")
    (BAD / "empty.csv").write_text("")
    (BAD / "not_json.json").write_text('{"a": 1}\n{"a": \n')
    (BAD / "no_object.json").write_text("[1, 2, 3]\n4\n")
    (BAD / "empty.json").write_text("")
    (BAD / "unknown.xyz").write_text("a,b\n1,2\n")
    (BAD / "folder.parquet").mkdir(exist_ok=True)
    (BAD / "folder.parquet" / "notes.txt").write_text("This is a folder with the name of a file.\n")
    (BAD / "mixed").mkdir(exist_ok=True)
    pq.write_table(pa.table({"a": [1, 2]}), BAD / "mixed" / "one.parquet")
    pq.write_table(pa.table({"a": ["x", "y"]}), BAD / "mixed" / "two.parquet")


def main():
    BAD.mkdir(parents=True, exist_ok=True)
    for make in [footers, pages, texts]:
        make()


if __name__ == "__main__":
    main()
