//! Random queries in several tasks under random subsets of the rules: the answers of one task.
//!
//! `VOLLEY_FUZZ_SEEDS=0..1000` runs those seeds; a seed is a query, a number of tasks, a subset of
//! rules and the way in which pages cross.

use crate::tasks::{session, values};
use std::{fmt::Write, ops::Range};

/// The rules of distribution, and some that change what is distributed.
const RULES: [&str; 5] = [
    "local_joins",
    "broadcast_joins",
    "groups_below_exchanges",
    "sort_below_exchanges",
    "limit_below_exchanges",
];

const JOINS: [&str; 6] = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"];

fn seeds() -> Range<u64> {
    let seeds = std::env::var("VOLLEY_FUZZ_SEEDS").ok();
    let range = seeds.as_deref().and_then(|it| it.split_once(".."));
    let range = range.and_then(|(start, end)| Some(start.parse().ok()?..end.parse().ok()?));
    range.unwrap_or(0..40)
}

/// A small generator of the same numbers for a seed: xorshift.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    fn is_one_of(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// Rows with the columns `k` and `v`, both numbers.
fn relation(random: &mut Random, depth: usize) -> String {
    let kind = random.below(if depth == 0 { 2 } else { 9 });
    let mut inner = || relation(random, depth - 1);
    match kind {
        0 => "(SELECT k, n AS v FROM t)".to_owned(),
        1 => "(SELECT k, w AS v FROM u)".to_owned(),
        2 => {
            let (left, right) = (inner(), inner());
            let join = random.pick(&JOINS);
            let columns = match join {
                "SEMI JOIN" | "ANTI JOIN" => "a.k AS k, a.v AS v",
                "RIGHT JOIN" => "b.k AS k, coalesce(a.v, -1) AS v",
                _ => "coalesce(a.k, b.k) AS k, a.v AS v",
            };
            let on = random.pick(&["a.k = b.k", "a.v = b.v", "a.k = b.k AND a.v > b.v"]);
            // Few rows, or joins of joins would have too many.
            let few = random.pick(&["< 40", "% 11 = 3", "BETWEEN 50 AND 90"]);
            format!(
                "(SELECT {columns} FROM (SELECT * FROM {left} WHERE v % 17 < 5) a {join} \
                 (SELECT * FROM {right} WHERE v {few}) b ON {on})"
            )
        }
        3 => {
            let input = inner();
            let value = random.pick(&["sum(v)", "count(*)", "max(v)", "count(DISTINCT v)"]);
            format!("(SELECT k, {value} AS v FROM {input} GROUP BY k)")
        }
        4 => {
            let input = inner();
            let filter = random.pick(&["v > 100", "k IS NOT NULL AND k % 3 = 1", "v IS NULL"]);
            format!("(SELECT k, v FROM {input} WHERE {filter})")
        }
        5 => {
            let (left, right) = (inner(), inner());
            let set = random.pick(&["UNION ALL", "UNION", "INTERSECT", "EXCEPT"]);
            format!("(SELECT k, v FROM {left} {set} SELECT k, v FROM {right})")
        }
        6 => {
            let (input, limit) = (inner(), 1 + random.below(300));
            format!("(SELECT k, v FROM {input} ORDER BY v, k LIMIT {limit})")
        }
        7 => {
            let input = inner();
            let window = random.pick(&[
                "row_number() OVER (PARTITION BY k ORDER BY v)",
                "sum(v) OVER (PARTITION BY k)",
                "rank() OVER (ORDER BY v)",
            ]);
            format!("(SELECT k, {window} AS v FROM {input})")
        }
        _ => {
            let (input, other) = (inner(), inner());
            let test = random.pick(&["IN", "NOT IN"]);
            format!(
                "(SELECT k, v FROM {input} WHERE k {test} (SELECT v FROM {other} WHERE v < 60))"
            )
        }
    }
}

fn query(random: &mut Random) -> String {
    let input = relation(random, 3);
    match random.below(3) {
        0 => format!("SELECT count(*), count(v), sum(v), min(k), max(v) FROM {input}"),
        1 => format!("SELECT k, count(*), sum(v) FROM {input} GROUP BY k ORDER BY 1 LIMIT 60"),
        _ => format!("SELECT k, v FROM {input} ORDER BY 1, 2 LIMIT 60"),
    }
}

#[test]
fn answers_hold_under_random_rules() {
    let (one, several) = (session("1"), session("2"));
    let mut rows = 0;
    for seed in seeds() {
        let mut random = Random::new(seed);
        let sql = query(&mut random);
        let mut disabled = String::new();
        for rule in RULES {
            if random.is_one_of(3) {
                let _ = write!(disabled, "{}{rule}", if disabled.is_empty() { "" } else { "," });
            }
        }
        let tasks = (2 + random.below(4)).to_string();
        let settings = [
            ("disabled_rules", disabled.as_str()),
            ("tasks", &tasks),
            ("exchange_pages", random.pick(&["batches", "bytes", "arrow"])),
            ("exchange_page_size", random.pick(&["100B", "4KiB", "1MiB"])),
        ];
        for (name, value) in settings {
            several.set(name, value).unwrap();
        }
        let expected = values(&one, &sql);
        rows += expected.len();
        assert_eq!(values(&several, &sql), expected, "seed {seed}, {settings:?}: {sql}");
    }
    assert!(rows > 0, "no query has rows");
}
