#!/usr/bin/env python3
"""Calls every function that Volley and DuckDB share with random arguments and compares the answers.

    pip install duckdb
    cargo build --release -p volley-cli
    tests/fuzz/function_fuzz.py --volley target/release/volley --calls 20
    tests/fuzz/function_fuzz.py --seconds 3600 --seed 7       until the time is over
    tests/fuzz/function_fuzz.py --only date_trunc,strftime

Functions and the types of their parameters come from DuckDB's `duckdb_functions()`; those that Volley's
lacks are listed at the end, and calls that only one of the two accepts are counted. Arguments are borders of their types, NULL, special numbers, non-ASCII
text, and ordinary values, as literals and as columns of several rows. Besides the functions, each round
tries casts between all types at their borders, arithmetic of dates and intervals, slices, aggregates
and windows with ORDER BY among their arguments, and properties of volatile functions.

Results are compared as text, doubles with a relative tolerance of 1e-9. An error in both is agreement.
The first difference of each function and kind is printed; the exit status is 1 if there was one that
`KNOWN` does not explain.
"""

import argparse
import collections
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import duckdb

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH = 60
# Characters of an answer that are printed.
SHOWN = 1000
# Calls whose text would have gigabytes.
HUGE_TEXT = re.compile(r'"(lpad|rpad|repeat|list_resize|array_resize|range|generate_series)".*(2147483647|9223372036854775807|4294967295|18446744073709551615)')

VALUES = {
    "BOOLEAN": ["true", "false"],
    "TINYINT": ["(-128)::TINYINT", "127::TINYINT", "0::TINYINT", "3::TINYINT"],
    "SMALLINT": ["(-32768)::SMALLINT", "32767::SMALLINT", "7::SMALLINT"],
    "INTEGER": ["(-2147483648)::INTEGER", "2147483647", "0", "1", "-1", "2", "5", "13"],
    "BIGINT": ["(-9223372036854775808)::BIGINT", "9223372036854775807", "0::BIGINT", "1::BIGINT", "(-3)::BIGINT", "10::BIGINT"],
    "HUGEINT": ["170141183460469231731687303715884105727::HUGEINT", "(-170141183460469231731687303715884105727)::HUGEINT", "0::HUGEINT", "12::HUGEINT"],
    "UTINYINT": ["255::UTINYINT", "0::UTINYINT", "4::UTINYINT"],
    "USMALLINT": ["65535::USMALLINT", "0::USMALLINT", "9::USMALLINT"],
    "UINTEGER": ["4294967295::UINTEGER", "0::UINTEGER", "11::UINTEGER"],
    "UBIGINT": ["18446744073709551615::UBIGINT", "0::UBIGINT", "6::UBIGINT"],
    "FLOAT": ["1.5::FLOAT", "(-0.0)::FLOAT", "'nan'::FLOAT", "'inf'::FLOAT", "3.4e38::FLOAT"],
    "DOUBLE": ["0.5::DOUBLE", "(-0.0)::DOUBLE", "'nan'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE", "1e300::DOUBLE", "-2.5::DOUBLE", "3.0::DOUBLE", "42.12345::DOUBLE"],
    "DECIMAL": ["1.25::DECIMAL(5,2)", "(-999.99)::DECIMAL(5,2)", "12345678901234567.8::DECIMAL(18,1)", "0.005::DECIMAL(10,3)"],
    "VARCHAR": ["''", "'a'", "'Hello World'", "'äöü €'", "'日本'", "' x '", "'a,b,c'", "'12'", "'-3.5'", "'2020-01-02'", "'%d'", "'a.b'", "'abcabc'", "'A'"],
    "BLOB": ["''::BLOB", "'\\xAA\\xFF'::BLOB", "'abc'::BLOB"],
    "DATE": ["DATE '1970-01-01'", "DATE '2020-02-29'", "DATE '1582-10-15'", "DATE '9999-12-31'", "DATE '0044-03-15 (BC)'", "'infinity'::DATE"],
    "TIME": ["TIME '00:00:00'", "TIME '23:59:59.999999'", "TIME '12:34:56.7'"],
    "TIMESTAMP": ["TIMESTAMP '1970-01-01'", "TIMESTAMP '2020-02-29 23:59:59.999999'", "TIMESTAMP '1900-01-01 01:02:03'", "TIMESTAMP '9999-12-31 23:59:59'", "'-infinity'::TIMESTAMP"],
    "INTERVAL": ["INTERVAL 1 DAY", "INTERVAL '-1 month 3 days'", "INTERVAL '25 hours'", "INTERVAL '1 year 2 months 3 days 04:05:06.789'", "INTERVAL 0 SECOND"],
    "JSON": ["'{\"a\": 1, \"b\": [2, null, \"x\"]}'::JSON", "'[1, 2.5, {\"c\": true}]'::JSON", "'null'::JSON", "'\"é\"'::JSON"],
    "INTEGER[]": ["[1, 2, 3]", "[]::INTEGER[]", "[NULL, 5, 5, -1]", "[3, 1, 2]"],
    "VARCHAR[]": ["['a', 'b']", "['', NULL, 'ä']", "[]::VARCHAR[]"],
    "DOUBLE[]": ["[1.5, 2.5]::DOUBLE[]", "['nan'::DOUBLE, 0.0]"],
    "BOOLEAN[]": ["[true, false, NULL]"],
    "INTEGER[3]": ["[1, 2, 3]::INTEGER[3]"],
    "DOUBLE[3]": ["[1.0, 2.0, -3.5]::DOUBLE[3]"],
    "FLOAT[3]": ["[1.0, 2.0, -3.5]::FLOAT[3]"],
    "MAP": ["MAP {'a': 1, 'b': NULL}", "MAP {'x': 2}"],
    "STRUCT": ["{'a': 1, 'b': 'x'}", "{'a': NULL}"],
}
# Words that many functions take in place of any text.
WORDS = {
    0: ["'year'", "'month'", "'week'", "'quarter'", "'hour'", "'dow'", "'epoch'", "'decade'", "'%Y-%m-%d'", "'%d.%m.%y %H:%M'"],
    1: ["'%Y-%m-%d %H:%M:%S'", "'a'", "'[a-c]+'", "'$.a'", "'b.*'", "'l'"],
}
# Functions whose answers need not be the same, or that read or stop something, with the reason.
SKIPPED = {
    "random", "setseed", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "now", "current_timestamp", "current_date", "today",
    "current_time", "get_current_time", "get_current_timestamp", "transaction_timestamp", "current_localtime", "current_localtimestamp",
    "version", "pi", "txid_current", "current_setting", "current_schema", "current_schemas", "current_database", "current_query",
    "in_search_path", "getvariable", "getenv", "nextval", "currval", "error", "write_log", "sleep_ms", "hash", "md5_number",
    "approx_count_distinct", "approx_quantile", "approx_top_k", "reservoir_quantile", "stats", "vector_type", "typeof", "alias",
    "json_serialize_sql", "json_deserialize_sql", "json_serialize_plan", "add_parquet_key", "create_sort_key", "parse_duckdb_log_message",
    "pg_typeof", "can_cast_implicitly", "test_all_types", "icu_sort_key", "checkpoint", "which_secret", "finalize", "combine",
    "bar", "any_value", "arbitrary", "first", "last", "histogram_exact", "is_histogram_other_bin", "equi_width_bins",
}
# Differences that the page "Differences from DuckDB" describes: the function, and what the call has.
KNOWN = [
    ("reverse", r".*"), ("regexp_extract_all", r".*"), ("string_split", r"NULL"), ("split", r"NULL"), ("str_split", r"NULL"),
    ("string_to_array", r"NULL"), ("array_to_string", r"NULL"), ("string_agg", r"NULL"), ("listagg", r"NULL"), ("group_concat", r"NULL"),
    ("weighted_avg", r".*"), ("wavg", r".*"), ("mode", r".*"), ("min_by", r".*"), ("max_by", r".*"), ("argmin", r".*"), ("argmax", r".*"), ("arg_min_null", r".*"), ("arg_max_null", r".*"), ("arg_min", r".*"), ("arg_max", r".*"),
    ("string_split_regex", r"NULL"), ("str_split_regex", r"NULL"), ("regexp_split_to_array", r"NULL"), ("parse_path", r"NULL"), ("parse_dirname", r"NULL"),
    ("parse_dirpath", r"NULL"), ("parse_filename", r"NULL"), ("string_to_array", r"''"),
    ("row", r".*"), ("struct_values", r".*"), ("list_zip", r".*"), ("array_zip", r".*"), ("struct_pack", r".*"),
    ("regexp_extract", r"NULL"), ("regexp_extract_all", r"NULL"), ("regexp_matches", r"NULL"), ("regexp_full_match", r"NULL"), ("regexp_replace", r"NULL"),
    ("list_distinct", r".*"), ("array_distinct", r".*"), ("list_intersect", r".*"), ("array_intersect", r".*"), ("array_unique", r".*"),
    *[(name, r"OVER|inf|nan") for name in ("var_pop", "var_samp", "variance", "stddev", "stddev_pop", "stddev_samp", "regr_sxx", "regr_syy", "regr_sxy", "regr_r2", "covar_pop", "covar_samp", "corr", "sem")],
    ("regr_avgx", r"inf"), ("regr_avgy", r"inf"), ("countif", r"OVER"), ("count_if", r"OVER"), ("median", r"INTERVAL.*OVER|OVER.*INTERVAL"),
    ("ordered", r"(quantile|median).* ORDER BY k"), ("avg", r"1900-|BC"), ("mean", r"1900-|BC"),
    # Only one of the two accepts the call, although DuckDB finds out when it runs.
    *[(name, r".*") for name in ("kurtosis", "kurtosis_pop", "skewness")],
    *[(name, r"9223372036854775808|9223372036854775807|4294967295|18446744073709551615") for name in ("left", "right", "left_grapheme", "right_grapheme", "substr", "substring", "substring_grapheme")],
    *[(name, r"JSON") for name in ("element_at", "map_extract", "map_extract_value", "map_contains", "list_contains", "array_contains", "list_has", "list_position", "array_value", "list_value")],
    ("range", r"infinity"), ("generate_series", r"infinity"), ("strftime", r"''"), ("try_strptime", r"''"), ("strptime", r"''"), ("array_value", r"value\"\(\)"), ("map_concat", r"NULL"),
    # Limits of Volley: INTERVAL has 292 years of nanoseconds; n of `min(x, n)` is one for all rows.
    ("to_microseconds", r"9223372036854775807"), ("min", r"c0, c1"), ("max", r"c0, c1"),
]


class Shell:
    """Runs statements in Volley, many in one process."""

    def __init__(self, binary, timeout):
        self.binary, self.timeout = binary, timeout

    def run(self, statements):
        """Per statement: ("rows", rows) or ("error", text)."""
        script = "".join(f".print #{at}\n{sql};\n" for at, sql in enumerate(statements)) + ".print #end\n"
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
            file.write(script)
            file.flush()
            command = [self.binary, "--keep-going", "--format", "ndjson", "-f", file.name]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=self.timeout)
            except subprocess.TimeoutExpired:
                return [("crash", "no answer")] * len(statements)
        answers = [("error", "")] * len(statements)
        at, reached = None, False
        for line in done.stdout.splitlines():
            if line.startswith("#"):
                reached = line == "#end"
                at = None if reached else int(line[1:])
            elif at is not None:
                kind, rows = answers[at] if answers[at][0] == "rows" else ("rows", [])
                answers[at] = (kind, [*rows, json.loads(line)["v"]])
        if not reached:
            answers[-1] = ("crash", done.stderr[-300:])
        messages = [line for line in done.stderr.splitlines() if "panicked" in line or "a bug in" in line]
        if messages:
            answers[-1] = ("crash", messages[0])
        return answers


    def kind_of_error(self, sql):
        """The kind of the error of one statement."""
        done = subprocess.run([self.binary, "--agent", "-c", sql], capture_output=True, text=True, timeout=self.timeout)
        try:
            return json.loads(done.stderr.splitlines()[0])["kind"]
        except (IndexError, ValueError, KeyError):
            return "none"


def run_duckdb(connection, sql):
    try:
        return "rows", [row[0] for row in connection.execute(sql).fetchall()]
    except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException, duckdb.NotImplementedException) as problem:
        return "not bound", str(problem).splitlines()[0]
    except duckdb.InternalException as problem:
        return "bug", str(problem).splitlines()[0]
    except Exception as problem:  # noqa: BLE001
        return "error", str(problem).splitlines()[0]


def same(a, b):
    if a == b or a in ("nan", "-nan") and b in ("nan", "-nan"):
        return True
    if a is None or b is None:
        return False
    number = re.compile(r"-?(?:\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|inf)")
    if number.sub("#", a) != number.sub("#", b):
        return False
    pairs = zip(number.findall(a), number.findall(b))
    return all(math.isclose(float(x), float(y), rel_tol=1e-9, abs_tol=1e-12) for x, y in pairs)


def literal(rng, kind, place):
    """A literal of a type as DuckDB names it."""
    if rng.random() < 0.06:
        return "NULL"
    kind = kind.upper()
    if kind in ("ANY", "T", "K", "V", "\"NULL\"", "NULL", "ANY[]") or kind not in VALUES:
        if kind.startswith("DECIMAL"):
            kind = "DECIMAL"
        elif kind.startswith("MAP"):
            kind = "MAP"
        elif kind.startswith("STRUCT"):
            kind = "STRUCT"
        elif kind.endswith("[]") or kind in ("LIST",):
            kind = kind if kind in VALUES else rng.choice(["INTEGER[]", "VARCHAR[]", "DOUBLE[]"])
        elif kind.endswith("]"):
            kind = kind if kind in VALUES else "DOUBLE[3]"
        else:
            kind = rng.choice(list(VALUES))
    if kind == "VARCHAR" and rng.random() < 0.35 and place in WORDS:
        return rng.choice(WORDS[place])
    return rng.choice(VALUES[kind])


def function_calls(rng, functions, count):
    """(function, SQL) of `count` calls of each function."""
    for name, overloads in functions.items():
        made = 0
        while made < count:
            call = function_call(rng, name, overloads)
            if not HUGE_TEXT.search(call):
                made += 1
                yield name, call


def function_call(rng, name, overloads):
    """The SQL of one call."""
    kind, types, variadic = rng.choice(overloads)
    types = list(types) + ([variadic] * rng.randint(0, 2) if variadic else [])
    quoted = f'"{name}"'
    if kind == "scalar":
        arguments = [literal(rng, it, place) for place, it in enumerate(types)]
        if rng.random() < 0.5 or not arguments:
            return f"SELECT {quoted}({', '.join(arguments)})::VARCHAR AS v"
        columns = [f"c{at}" for at in range(len(types))]
        rows = [arguments, *[[rng.choice([own, literal(rng, it, place)]) for place, (it, own) in enumerate(zip(types, arguments))] for _ in range(2)]]
        # Literals of one column have one type.
        values = ", ".join(f"({', '.join(row)})" for row in rows)
        return f"SELECT {quoted}({', '.join(columns)})::VARCHAR AS v FROM (VALUES {values}) t({', '.join(columns)})"
    else:
        chosen = [rng.choice(list(VALUES)) if it.upper() in ("ANY", "T") else it for it in types]
        rows = [[str(at), *[literal(rng, it, place) for place, it in enumerate(chosen)]] for at in range(5)]
        values = ", ".join(f"({', '.join(row)})" for row in rows)
        columns = [f"c{at}" for at in range(len(types))]
        order = rng.choice(["", "", " ORDER BY o", " ORDER BY o DESC"]) if types else ""
        distinct = "DISTINCT " if types and not order and rng.random() < 0.15 else ""
        constant = [rows[0][at + 1] if at > 0 else name_ for at, name_ in enumerate(columns)]
        call = f"{quoted}({distinct}{', '.join(rng.choice([columns, constant]))}{order})"
        over = rng.choice(["", "", " OVER (ORDER BY o)", " OVER (ORDER BY o ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)"])
        if distinct:
            over = ""
        tail = " ORDER BY o" if over else ""
        return f"SELECT ({call}{over})::VARCHAR AS v FROM (VALUES {values}) t(o{''.join(', ' + it for it in columns)}){tail}"


def other_calls(rng, count):
    """Casts, intervals, slices, ordered aggregates, volatile functions."""
    types = [it for it in VALUES if it not in ("MAP", "STRUCT", "DECIMAL")] + ["DECIMAL(4,1)", "DECIMAL(18,3)", "DECIMAL(38,10)"]
    for _ in range(count * 6):
        value = rng.choice(VALUES[rng.choice(list(VALUES))])
        cast = rng.choice(["CAST", "TRY_CAST"])
        yield "cast", f"SELECT {cast}({value} AS {rng.choice(types)})::VARCHAR AS v"
    points = VALUES["DATE"] + VALUES["TIMESTAMP"] + VALUES["TIME"] + VALUES["INTERVAL"]
    for _ in range(count * 2):
        operator = rng.choice(["+", "-", "<", "=", ">="])
        yield "interval", f"SELECT ({rng.choice(points)} {operator} {rng.choice(points)})::VARCHAR AS v"
    numbers = [it for kind in ("TINYINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "UINTEGER", "UBIGINT", "DOUBLE", "DECIMAL") for it in VALUES[kind]]
    for _ in range(count * 3):
        operator = rng.choice(["+", "-", "*", "/", "//", "%", "<", "=", "<>", "&", "|", "<<", ">>", "^"])
        yield "arithmetic", f"SELECT ({rng.choice(numbers)} {operator} {rng.choice(numbers)})::VARCHAR AS v"
    for _ in range(count * 2):
        bound = lambda: rng.choice(["", "1", "2", "-1", "-2", "0", "9", "NULL"])
        value = rng.choice(["[1, 2, 3, 4, 5]", "'héllo'", "[]::INTEGER[]", "[NULL, 2]"])
        start, stop = bound(), bound()
        if rng.random() < 0.5 and not value.startswith("'"):
            yield "slice", f"SELECT (x[{start}:{stop or '-'}:{rng.choice(['1', '2', '-1', '-2'])}])::VARCHAR AS v FROM (VALUES ({value})) t(x)"
        else:
            yield "slice", f"SELECT (x[{start}:{stop}])::VARCHAR AS v FROM (VALUES ({value})) t(x)"
    ordered = ["list(x ORDER BY {o})", "string_agg(x::VARCHAR, ',' ORDER BY {o})", "first(x ORDER BY {o})", "last(x ORDER BY {o})",
               "quantile_cont(x, 0.3 ORDER BY {o})", "quantile_disc(x, 0.7 ORDER BY {o})", "array_agg(x ORDER BY {o})", "median(x ORDER BY {o})",
               "quantile_disc(x, [0.2, 0.9] ORDER BY {o})", "list(DISTINCT x ORDER BY x {d})", "arg_max(x, k, 2 ORDER BY {o})"]
    for _ in range(count * 2):
        order = rng.choice(["k", "k DESC", "x", "x DESC", "k % 2, x", "x NULLS FIRST", "x DESC NULLS LAST"])
        call = rng.choice(ordered).format(o=order, d=rng.choice(["", "DESC", "NULLS FIRST"]))
        filtered = rng.choice(["", " FILTER (k > 1)", " FILTER (x IS NOT NULL)"])
        values = ", ".join(f"({at}, {rng.choice(['1', '2', '5', 'NULL', '-3'])})" for at in range(6))
        yield "ordered", f"SELECT ({call}{filtered})::VARCHAR AS v FROM (VALUES {values}) t(k, x)"
    volatile = ["SELECT count(*)::VARCHAR AS v FROM range(200) WHERE random() BETWEEN 1.5 AND 2", "SELECT (count(DISTINCT uuid()) = 50)::VARCHAR AS v FROM range(50)",
                "SELECT (min(random()) >= 0 AND max(random()) < 1)::VARCHAR AS v FROM range(100)", "SELECT count(*)::VARCHAR AS v FROM (SELECT random() a, random() b FROM range(100)) WHERE a = b",
                "SELECT count(*)::VARCHAR AS v FROM (SELECT r + 1 AS s, r FROM (SELECT random() AS r FROM range(50))) WHERE s - 1 <> r AND abs(s - 1 - r) > 0.001",
                "SELECT count(DISTINCT x)::VARCHAR AS v FROM (SELECT (SELECT random()) AS x FROM range(10))", "SELECT (count(DISTINCT random()) OVER () )::VARCHAR AS v FROM range(3)",
                "SELECT (now() = now())::VARCHAR AS v FROM range(3)", "SELECT len(list_distinct(list_transform(range(20), lambda x: random())))::VARCHAR AS v"]
    for _ in range(count):
        yield "volatile", rng.choice(volatile)


def shared_functions(arguments):
    """DuckDB's functions by name that Volley has, and the names of the others."""
    own = subprocess.run([arguments.volley, "--format", "csv", "-c", "SELECT DISTINCT function_name FROM duckdb_functions()"], capture_output=True, text=True, check=True)
    own = set(own.stdout.split())
    rows = duckdb.sql("SELECT function_name, function_type, parameter_types, varargs FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate') AND schema_name = 'main'").fetchall()
    shared, missing = collections.defaultdict(list), set()
    for name, kind, types, variadic in rows:
        if name in SKIPPED or not re.fullmatch(r"[a-z_0-9]+", name) or name.startswith("__"):
            continue
        if any("LAMBDA" in (it or "") for it in types):
            continue
        if name in own:
            shared[name].append((kind, [it or "ANY" for it in types], variadic))
        else:
            missing.add(name)
    if arguments.only:
        shared = {name: shared[name] for name in arguments.only.split(",") if name in shared}
    return dict(sorted(shared.items())), missing


def is_known(name, sql):
    return any(name == known and re.search(pattern, sql) for known, pattern in KNOWN)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--volley", default=str(ROOT / "target" / "release" / "volley"), help="Volley's binary")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--calls", type=int, default=20, help="calls of each function in a round")
    parser.add_argument("--seconds", type=float, default=0, help="rounds until the time is over; 0 for one")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for a batch of statements")
    parser.add_argument("--only", help="names of functions, with commas")
    arguments = parser.parse_args()
    functions, missing = shared_functions(arguments)
    shell = Shell(arguments.volley, arguments.timeout)
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    counts, found = collections.Counter(), collections.OrderedDict()
    called = collections.Counter()
    end, seed = time.monotonic() + arguments.seconds, arguments.seed
    while True:
        rng = random.Random(seed)
        calls = list(function_calls(rng, functions, arguments.calls))
        calls += [] if arguments.only else list(other_calls(rng, arguments.calls))
        for start in range(0, len(calls), BATCH):
            batch = calls[start : start + BATCH]
            answers = shell.run([sql for _, sql in batch])
            for (name, sql), actual in zip(batch, answers):
                expected = run_duckdb(connection, sql)
                counts["calls"] += 1
                called[name] += 1
                if actual[0] == "crash":
                    kind = "crash"
                elif expected[0] in ("not bound", "bug"):
                    counts[expected[0]] += 1
                    continue
                elif expected[0] == actual[0] == "error":
                    counts["errors in both"] += 1
                    continue
                elif expected[0] == "error":
                    kind = "DuckDB fails"
                elif actual[0] == "error":
                    # What only DuckDB accepts is no difference.
                    if shell.kind_of_error(sql) in ("InvalidQuery", "Unsupported", "Syntax"):
                        counts["not bound by Volley"] += 1
                        continue
                    kind = "Volley fails"
                elif len(expected[1]) == len(actual[1]) and all(same(a, b) for a, b in zip(expected[1], actual[1])):
                    counts["same"] += 1
                    continue
                else:
                    kind = "other rows"
                if is_known(name, sql):
                    counts["known"] += 1
                    continue
                counts[kind] += 1
                if (name, kind) not in found:
                    found[name, kind] = (sql, expected, actual)
                    print(f"-- {kind}: {name}\n{sql};\n-- DuckDB: {str(expected[1])[:SHOWN]}\n-- Volley: {str(actual[1])[:SHOWN]}\n", flush=True)
        seed += 1
        if time.monotonic() >= end:
            break
    print(f"functions that Volley lacks: {', '.join(sorted(missing))}")
    least = min(called.values(), default=0)
    print(f"{len(called)} functions and groups, each called at least {least} times; {dict(counts)}")
    print(f"seeds {arguments.seed} to {seed - 1}")
    return sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
