//! Rounds of `kill -9` on a process that changes a database, while another one reads it.
//!
//! Each round starts a writer, sends transactions ahead of its answers, and kills it after some
//! answer. The next writer must find the state after a whole number of transactions: all that were
//! acknowledged, and no part of one. When the kill happens decides only how many there are.
//!
//! `VOLLEY_KILL_ROUNDS=200 VOLLEY_KILL_SEED=7 cargo test -p volley-cli --test kill`, or
//! `tests/kill.sh 200 7`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
};

/// Rounds without `VOLLEY_KILL_ROUNDS`.
const ROUNDS: u64 = 6;

/// Transactions that are sent in a round; the kill comes before their end.
const SENT: u64 = 24;

/// Sums that tell states apart: rows, ids, values, products of both.
type Sums = [i128; 4];

/// A sequence of numbers that a seed determines (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// What transaction `number` does.
struct Step {
    number: u64,
    inserted: u64,
    /// Divisor and remainder of the ids whose values grow by 1.
    updated: (i64, i64),
    /// Those of the ids that are deleted.
    deleted: (i64, i64),
    /// What follows the transaction.
    then: &'static str,
}

impl Step {
    fn new(seed: u64, number: u64) -> Step {
        let mut numbers = Numbers(seed ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        let inserted = match numbers.below(8) {
            // Enough rows for a segment of their own.
            0 => 70_000,
            _ => 1 + numbers.below(50),
        };
        let mut class = |least: u64| {
            let divisor = least + numbers.below(20);
            (divisor as i64, numbers.below(divisor) as i64)
        };
        let (updated, mut deleted) = (class(2), class(5));
        if number.is_multiple_of(10) {
            deleted = (1, 0);
        }
        let then = match numbers.below(8) {
            0 => "CHECKPOINT;",
            1 => "VACUUM;",
            2 => "VACUUM items;",
            _ => "",
        };
        Step { number, inserted, updated, deleted, then }
    }

    fn first_id(&self) -> i64 {
        self.number as i64 * 100_000
    }

    fn statements(&self) -> String {
        let Step { number, inserted, updated, deleted, then } = self;
        let first = self.first_id();
        format!(
            "BEGIN; DELETE FROM items WHERE id % {} = {}; \
             INSERT INTO items SELECT {first} + range, range FROM range({inserted}); \
             UPDATE items SET value = value + 1 WHERE id % {} = {}; \
             INSERT INTO done VALUES ({number}); COMMIT; SELECT {number} AS n; {then}\n",
            deleted.0, deleted.1, updated.0, updated.1
        )
    }

    fn apply(&self, rows: &mut BTreeMap<i64, i64>) {
        rows.retain(|id, _| id % self.deleted.0 != self.deleted.1);
        let first = self.first_id();
        rows.extend((0..self.inserted as i64).map(|it| (first + it, it)));
        for (id, value) in rows {
            *value += i64::from(id % self.updated.0 == self.updated.1);
        }
    }
}

fn sums(rows: &BTreeMap<i64, i64>) -> Sums {
    let mut sums = [rows.len() as i128, 0, 0, 0];
    for (id, value) in rows {
        sums[1] += i128::from(*id);
        sums[2] += i128::from(*value);
        sums[3] += i128::from(*id) * i128::from(*value);
    }
    sums
}

const STATE: &str = "SELECT (SELECT count(*) FROM done) || ' ' || (SELECT coalesce(max(k), 0) \
    FROM done) || ' ' || count(*) || ' ' || coalesce(sum(id), 0) || ' ' || \
    coalesce(sum(value), 0) || ' ' || coalesce(sum(id::HUGEINT * value), 0) AS s FROM items;";

/// A process that reads statements from a pipe.
struct Shell {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Shell {
    fn start(args: &[&str]) -> Shell {
        let mut command = Command::new(env!("CARGO_BIN_EXE_volley"));
        command.args(args).args(["--format", "csv"]);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Shell { process, input, output }
    }

    /// The single value of the next result; `None` at the end of output.
    fn next_value(&mut self) -> Option<String> {
        let mut line = String::new();
        for _ in 0..2 {
            line.clear();
            if self.output.read_line(&mut line).unwrap_or(0) == 0 || !line.ends_with('\n') {
                return None;
            }
        }
        Some(line.trim_end().to_owned())
    }

    fn value(&mut self, query: &str) -> String {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{query}").unwrap();
        input.flush().unwrap();
        self.next_value().expect("the process has ended")
    }

    /// How many transactions are committed, and the sums.
    fn state(&mut self) -> (u64, Sums) {
        let text = self.value(STATE);
        let numbers: Vec<i128> = text.split(' ').map(|it| it.parse().unwrap()).collect();
        assert_eq!(numbers.len(), 6, "{text}");
        assert_eq!(numbers[0], numbers[1], "each transaction is committed once, in order");
        (numbers[0] as u64, numbers[2..].try_into().unwrap())
    }
}

/// The states after each transaction, from none on.
struct Model {
    seed: u64,
    rows: BTreeMap<i64, i64>,
    states: Vec<Sums>,
}

impl Model {
    /// Checks that a state is that after `count` transactions.
    fn check(&mut self, (count, state): (u64, Sums), what: &str) {
        while (self.states.len() as u64) <= count {
            Step::new(self.seed, self.states.len() as u64).apply(&mut self.rows);
            self.states.push(sums(&self.rows));
        }
        assert_eq!(state, self.states[count as usize], "{what}: after {count} transactions");
    }
}

#[test]
fn killed_writers_lose_nothing_and_leave_nothing_half_done() {
    let number = |name: &str| std::env::var(name).ok().map(|it| it.parse::<u64>().unwrap());
    let rounds = number("VOLLEY_KILL_ROUNDS").unwrap_or(ROUNDS);
    let seed = number("VOLLEY_KILL_SEED").unwrap_or(1);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let path = path.to_str().unwrap();
    let mut model = Model { seed, rows: BTreeMap::new(), states: vec![[0; 4]] };
    let mut numbers = Numbers(seed);
    let mut committed = 0;
    let mut writer = Shell::start(&[path]);
    let made = "CREATE TABLE items (id BIGINT NOT NULL, value BIGINT); \
                CREATE TABLE done (k INTEGER); SELECT 0 AS n;";
    assert_eq!(writer.value(made), "0");
    for round in 0..rounds {
        let what = format!("seed {seed}, round {round}");
        let mut reader = Shell::start(&[path, "--read-only"]);
        let acknowledged =
            kill_amidst(&mut writer, &mut reader, &mut model, &mut numbers, committed);
        let mut seen = reader.state();
        model.check(seen, &what);
        assert!(seen.0 >= acknowledged, "{what}: {seen:?} after {acknowledged} were acknowledged");
        // The next writer, and the reader once that has recovered.
        writer = Shell::start(&[path]);
        let state = writer.state();
        assert!(state.0 >= seen.0, "{what}: a reader saw {seen:?}, which was lost: {state:?}");
        assert!(state.0 <= committed + SENT, "{what}: {state:?}");
        model.check(state, &what);
        seen = reader.state();
        assert_eq!(seen, state, "{what}");
        committed = state.0;
        drop(reader.input.take());
        reader.process.wait().unwrap();
    }
    drop(writer.input.take());
    assert!(writer.process.wait().unwrap().success());
    eprintln!("{rounds} rounds, {committed} transactions, seed {seed}");
    let check = Command::new(env!("CARGO_BIN_EXE_volley")).args(["check", path]).output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
}

/// Sends transactions after the first `committed` ones and kills the writer after an answer that
/// the seed chooses. The number of the last transaction that was acknowledged.
fn kill_amidst(
    writer: &mut Shell,
    reader: &mut Shell,
    model: &mut Model,
    numbers: &mut Numbers,
    committed: u64,
) -> u64 {
    let mut input = writer.input.take().unwrap();
    let seed = model.seed;
    let steps = (committed + 1..=committed + SENT).map(move |it| Step::new(seed, it));
    // The pipe may be full, and it breaks when the writer is killed.
    let ends_input = numbers.below(4) == 0;
    let sender = thread::spawn(move || {
        for step in steps {
            if input.write_all(step.statements().as_bytes()).is_err() {
                break;
            }
        }
        // Without the end of input, the writer waits to be killed.
        if ends_input { None } else { Some(input) }
    });
    let kill_after = numbers.below(SENT);
    let mut acknowledged = committed;
    let mut last_seen = 0;
    for answer in 0..kill_after {
        let value = writer.next_value().expect("an answer");
        acknowledged += 1;
        assert_eq!(value, acknowledged.to_string());
        if answer % 5 == 2 {
            let seen = reader.state();
            model.check(seen, "a reader");
            assert!(seen.0 >= acknowledged && seen.0 >= last_seen, "{seen:?}");
            last_seen = seen.0;
        }
    }
    writer.process.kill().unwrap();
    writer.process.wait().unwrap();
    // Answers that were on their way.
    while let Some(value) = writer.next_value() {
        acknowledged += 1;
        assert_eq!(value, acknowledged.to_string());
    }
    drop(sender.join().unwrap());
    acknowledged
}
