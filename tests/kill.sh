#!/usr/bin/env bash
# Kills a process that changes a database, again and again, and checks what the next one finds.
#
#   tests/kill.sh [ROUNDS [SEED]]
#
# Equal seeds send equal transactions. The crate's test crates/cli/tests/kill.rs says what is checked.
set -euo pipefail
cd "$(dirname "$0")/.."
export VOLLEY_KILL_ROUNDS="${1:-200}" VOLLEY_KILL_SEED="${2:-1}"
exec cargo test -p volley-cli --test kill -- --nocapture
