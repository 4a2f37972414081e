#!/usr/bin/env python3
"""Compares Presto's functions on Volley's worker with those of a Java worker.

    tests/presto/functions.py --volley target/debug/volley [--only REGEX] [--fresh] [--table FILE]

Reads SHOW FUNCTIONS of a coordinator of Presto 0.287, makes at least one statement per signature,
runs it on a Java worker and on Volley's, and compares the values. Answers of the Java worker are
kept in the cache folder by the text of the statement; `--fresh` asks again. Statements of
`statements.py` compare operators, casts, types and time zones in the same way.

A signature is *claimed* if Volley runs its statements: a function that is missing fails when the
fragment is translated, with FUNCTION_NOT_FOUND or NOT_SUPPORTED and its name. Every claimed
signature must be right. `not_claimed.txt` lists the others; the script fails if that list is not
true. Needs what `run.py` needs.
"""

import argparse
import concurrent.futures
import itertools
import json
import math
import os
import pathlib
import re
import time

import run
import signatures
import statements

VERSION = "0.287"
AT_ONCE = 6
KEEP_EVERY = 200
NOT_CLAIMED = run.HERE / "not_claimed.txt"
# What a worker says that does not have a function, type or plan node.
MISSING = {"FUNCTION_NOT_FOUND", "NOT_SUPPORTED"}


def answer_of(statement):
    """The rows of a statement, or the name and message of its error."""
    sql, zone = statement
    try:
        return {"rows": run.run_query(sql, "tiny", "one", zone)}
    except run.QueryFailed as error:
        return {"error": error.name, "message": str(error)}


def answers_of(wanted, keep=lambda answers: None):
    """The answers by statement; `keep` gets them again and again meanwhile."""
    answers = {}
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
        for statement, answer in zip(wanted, threads.map(answer_of, wanted)):
            answers[statement] = answer
            if len(answers) % KEEP_EVERY == 0:
                keep(answers)
                print(f"{len(answers)} of {len(wanted)} statements", flush=True)
    keep(answers)
    return answers


def key_of(statement):
    sql, zone = statement
    return f"{zone}: {sql}"


def java_answers(folder, only, is_fresh):
    """The signatures of SHOW FUNCTIONS, and the answers of a Java worker by statement."""
    kept = folder / f"functions-{VERSION}.json"
    known = json.loads(kept.read_text()) if kept.exists() and not is_fresh else {}
    listed = known.get("functions")
    wanted = statements_of(listed, only) if listed else None
    if wanted is not None and all(key_of(it) in known for it in wanted):
        return listed, known
    process = run.start_java(folder, run.JAVA_CONFIG, False)
    try:
        run.wait_until_ready([process], "one")
        listed = run.run_query("SHOW FUNCTIONS", "tiny", "one")
        wanted = [it for it in statements_of(listed, only) if key_of(it) not in known]
        known["functions"] = listed

        def keep(answers):
            known.update({key_of(it): answer for it, answer in answers.items()})
            kept.write_text(json.dumps(known))

        answers_of(wanted, keep)
    finally:
        run.end(process)
    return listed, known


def statements_of(listed, only):
    """Statements to run: pairs of text and time zone."""
    found = {}
    for row in listed:
        for sql in signatures.statements_of(row):
            if only.search(signatures.name_of(row)):
                found[(sql, "UTC")] = None
    for group, pairs in statements.GROUPS.items():
        if only.search(group):
            found |= dict.fromkeys(pairs)
    return list(found)


def is_equal(found, expected):
    """Whether two values are the same; sums of doubles may differ in the last digits."""
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(is_equal, found, expected))
    if isinstance(found, dict) and isinstance(expected, dict):
        if len(found) != len(expected):
            return False
        if found.keys() == expected.keys():
            return all(is_equal(found[key], expected[key]) for key in found)
        # Keys that are doubles.
        return all(map(is_equal, map(list, sorted(found.items())), map(list, sorted(expected.items()))))
    if isinstance(found, bool) or isinstance(expected, bool):
        return found is expected
    if isinstance(found, (int, float)) and isinstance(expected, (int, float)):
        return found == expected or math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)
    return found == expected


def same_error(found, expected):
    """Whether the errors are the same: Java reports some of the user's as internal or generic ones."""
    return "error" in found and (found["error"] == expected["error"] or expected["error"] in (
        "GENERIC_INTERNAL_ERROR", "GENERIC_USER_ERROR"))


def is_no_answer(expected):
    """Whether Java's answer tells nothing: a statement that it does not plan, or its own defect."""
    if expected.get("error") in ("SYNTAX_ERROR", "FUNCTION_NOT_FOUND", "TYPE_MISMATCH",
                                 "NOT_SUPPORTED"):
        return True
    # A class that does not implement an operation.
    return expected.get("message", "").startswith("GENERIC_INTERNAL_ERROR: com.facebook.presto.")


def outcome_of(pairs, java, volley):
    """What statements tell: right, WRONG, missing, or untested if Java fails in all of them."""
    compared, wrong, missing = 0, [], None
    for statement in pairs:
        expected, found = java[key_of(statement)], volley.get(statement)
        if is_no_answer(expected):
            continue
        if "error" in found and found["error"] in MISSING:
            missing = found["message"]
            continue
        compared += "rows" in expected
        same = is_equal(found["rows"], expected["rows"]) if "rows" in found and "rows" in expected \
            else "error" in expected and same_error(found, expected)
        if not same:
            wrong.append((statement[0], expected, found))
    if wrong:
        return "WRONG", wrong
    if compared:
        return ("partly" if missing else "right"), missing
    return ("missing", missing) if missing else ("untested", None)


def groups_of(listed, only):
    """What is told of: the name of a signature or of a group, and its statements."""
    for row in listed:
        if only.search(signatures.name_of(row)):
            yield signatures.name_of(row), [(it, "UTC") for it in signatures.statements_of(row)]
    for group, pairs in statements.GROUPS.items():
        if only.search(group):
            yield group, pairs


def volley_answers(folder, volley, wanted):
    processes = []
    try:
        processes.append(run.start_coordinator(folder, VERSION, False))
        further = run.catalogs(folder, False)
        command = [volley, "presto-worker", "--etc"]
        processes.append(
            run.start_worker(command, folder / "worker", run.WORKER_PORTS[0], further))
        run.wait_until_ready(processes, "one")
        return answers_of(wanted)
    finally:
        for process in processes:
            run.end(process)


def report(outcomes, is_all):
    """Prints what differs; whether all is as it should be."""
    by_outcome = {}
    for name, (outcome, detail) in sorted(outcomes.items()):
        by_outcome.setdefault(outcome, []).append(name)
        if outcome == "WRONG":
            for sql, expected, found in detail[:2]:
                print(f"WRONG {name}\n  {sql}\n  expected {expected}\n  found    {found}")
    is_good = "WRONG" not in by_outcome
    missing = by_outcome.get("missing", []) + by_outcome.get("partly", [])
    if is_all:
        listed = [it for it in NOT_CLAIMED.read_text().splitlines() if it and it[0] != "#"]
        for name in sorted(set(listed) ^ set(missing)):
            is_good = False
            print(f"{NOT_CLAIMED.name}: {name} is {'claimed' if name in listed else 'not claimed'}")
    counts = {it: len(names) for it, names in by_outcome.items()}
    claimed = counts.get("right", 0) + counts.get("WRONG", 0) + counts.get("partly", 0)
    print(f"{sum(counts.values())} signatures and groups: {claimed} claimed, "
          f"{counts.get('right', 0) + counts.get('partly', 0)} right, {counts.get('WRONG', 0)} "
          f"wrong, {counts.get('missing', 0)} not claimed, {counts.get('untested', 0)} without a "
          "statement that the Java worker runs")
    if untested := by_outcome.get("untested"):
        print(f"without a statement: {', '.join(untested)}")
    return is_good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--volley", default=str(run.ROOT / "target" / "debug" / "volley"),
                        help="the volley command, built with --features presto")
    parser.add_argument("--only", type=re.compile, default=re.compile(""),
                        help="signatures and groups whose name matches, such as '^date_'")
    parser.add_argument("--fresh", action="store_true", help="ask the Java worker again")
    parser.add_argument("--table", type=pathlib.Path, help="where outcomes are written as JSON")
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    parser.add_argument("--cache", type=pathlib.Path, default=cache / "volley" / "presto",
                        help="where the coordinator is kept")
    args = parser.parse_args()
    folder = args.cache.resolve() / VERSION
    folder.mkdir(parents=True, exist_ok=True)
    run.fetch(folder, VERSION, False)
    run.enter_namespace(run.HERE / "functions.py")
    start = time.time()
    listed, java = java_answers(folder, args.only, args.fresh)
    print(f"the Java worker's answers are known after {time.time() - start:.0f} s", flush=True)
    groups = list(groups_of(listed, args.only))
    wanted = list(dict.fromkeys(itertools.chain.from_iterable(it for _, it in groups)))
    volley = volley_answers(folder, args.volley, wanted)
    print(f"{len(wanted)} statements ran after {time.time() - start:.0f} s", flush=True)
    outcomes = {name: outcome_of(pairs, java, volley) for name, pairs in groups}
    if args.table:
        args.table.write_text(json.dumps(outcomes, indent=1))
    if not report(outcomes, not args.only.pattern):
        raise SystemExit("functions differ from those of the Java worker")


if __name__ == "__main__":
    main()
