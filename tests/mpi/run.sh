#!/usr/bin/env bash
# Queries in an MPI job, against one process: tests/mpi/run.sh VOLLEY [SEEDS]
#
# VOLLEY is the command, built with `cargo build -p volley-cli --features mpi`. The conformance suite
# of transports runs with SEEDS seeds (20) if it was built:
# `cargo build -p volley-platform-mpi --features mpi --example conformance`.
set -euo pipefail

volley=$(realpath "${1:?usage: tests/mpi/run.sh VOLLEY [SEEDS]}")
seeds=${2:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
launch() {
    local ranks=$1
    shift
    timeout 300 mpirun --allow-run-as-root --oversubscribe -n "$ranks" \
        --mca btl_vader_single_copy_mechanism none "$@"
}
fail() {
    echo "FAILED: $1" >&2
    exit 1
}
# Runs a command that must fail, and prints what it writes.
failing() { if "$@" 2>&1; then fail "no failure: $*"; fi; }

conformance=$(dirname "$volley")/examples/conformance
if [ -x "$conformance" ]; then
    # Windows of Open MPI need single copies between processes.
    timeout 300 mpirun --allow-run-as-root --oversubscribe -n 3 "$conformance" "$seeds"
else
    echo "skipped: $conformance was not built"
fi

echo "TPC-H at scale 0.01 on 4 ranks"
data=$work/tpch
"$volley" tpch generate --scale 0.01 --out "$data" --no-progress
"$volley" tpch run --data "$data" --no-progress --json "$work/one.json" >/dev/null
launch 4 "$volley" tpch run --data "$data" --no-progress --platform mpi --json "$work/four.json" \
    >/dev/null
python3 - "$work/one.json" "$work/four.json" <<'PYTHON'
import json, sys

def results(path):
    with open(path) as file:
        found = json.load(file)
    queries = found["queries"] if isinstance(found, dict) else found
    return {it["query"]: (it["rows"], it["checksum"]) for it in queries}

one, four = map(results, sys.argv[1:])
wrong = [query for query in one if one[query] != four.get(query)]
print(f"{len(one) - len(wrong)} of {len(one)} right")
sys.exit(bool(wrong) or len(one) != 22)
PYTHON

echo "rows are printed once"
rows=$(launch 4 "$volley" --platform mpi --data "$data" --format csv \
    -c "SELECT n_name FROM nation ORDER BY 1")
[ "$(wc -l <<<"$rows")" = 26 ] || fail "26 lines expected: $rows"
count=$(echo "SELECT count(*) AS n FROM lineitem" |
    launch 3 "$volley" --platform mpi --data "$data" --format csv)
[ "$count" = "$(printf 'n\n60175')" ] || fail "lineitem has 60175 rows: $count"

echo "outside of mpirun"
text=$(failing "$volley" --platform mpi -c "SELECT 1")
grep -q "mpirun -n 4 volley --platform mpi" <<<"$text" || fail "no explanation: $text"

echo "an error of any rank is the error of the query, once"
sql="SELECT sum(CAST(CASE WHEN l_orderkey = 40000 THEN 'x' ELSE '1' END AS INTEGER)) FROM lineitem"
text=$(failing launch 4 "$volley" --platform mpi --data "$data" -c "$sql")
[ "$(grep -c "^error:" <<<"$text")" = 1 ] || fail "one error expected: $text"
grep -q "'x'" <<<"$text" || fail "no cause: $text"

echo "an unknown setting is reported once"
text=$(failing launch 3 "$volley" --platform mpi --set no_such=1 -c "SELECT 1")
[ "$(grep -c "^error:" <<<"$text")" = 1 ] || fail "one error expected: $text"

echo "a rank that dies ends the job"
long="SELECT count(*) FROM lineitem a, lineitem b, lineitem c WHERE a.l_tax + b.l_tax < c.l_tax"
launch 4 "$volley" --platform mpi --data "$data" -c "$long" >"$work/out" 2>&1 &
job=$!
for _ in $(seq 100); do
    sleep 0.2
    # Of this job alone: the folder's name is in the command line.
    mapfile -t ranks < <(pgrep -f -- "^$volley --platform mpi --data $data" || true)
    [ "${#ranks[@]}" -lt 4 ] || break
done
sleep 1
kill -9 "${ranks[3]}"
status=0
wait "$job" || status=$?
[ "$status" != 0 ] && [ "$status" != 124 ] || fail "the job has ended with $status"
grep -qi "signal 9" "$work/out" || fail "no cause: $(cat "$work/out")"
if pgrep -f -- "^$volley --platform mpi --data $data" >/dev/null; then fail "a rank is left"; fi

echo "all passed"
