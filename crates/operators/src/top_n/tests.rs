use super::TopN;
use crate::test_kit::{A, Harness, InputEncoding, SETUPS, TestTables, run};
use std::sync::{Arc, Mutex};
use volley_error::Result;
use volley_plan::SortKey;
use volley_testkit::{Random, RowValues, integers};
use volley_types::{Type, Value};
use volley_vector::{Batch, Loader, Vector};

const COLUMNS: [(&str, Type); 2] = [("a", Type::Varchar), ("b", Type::BigInt)];

fn random_rows(count: usize) -> RowValues {
    let mut random = Random(6);
    let row = |it: usize| {
        let text = match random.below(4) {
            0 => Value::Null,
            other => Value::text(format!("a long common beginning {other}")),
        };
        vec![text, Value::BigInt(it as i64)]
    };
    (0..count).map(row).collect()
}

/// The rows of a full sort by `a desc nulls first, b desc`.
fn naive(mut rows: RowValues, offset: usize, limit: usize) -> RowValues {
    rows.sort_by_key(|it| (it[0].as_str().map(str::to_owned), it[1].as_i128()));
    rows.reverse();
    let nulls = rows.iter().position(|it| it[0].is_null()).unwrap_or(0);
    rows.rotate_left(nulls);
    rows.into_iter().skip(offset).take(limit).collect()
}

#[test]
fn the_first_rows_are_those_of_a_full_sort() {
    for manners in InputEncoding::WHOLE {
        let tables = TestTables::one(&COLUMNS, random_rows(300), manners);
        for (offset, limit) in [(0, 1), (0, 10), (5, 7), (290, 50), (400, 1), (0, 0), (0, 1000)] {
            let keys = ["a desc nulls first", "b desc"];
            let plan = tables.scan("t").top_n(&keys, offset as u64, limit as u64);
            let expected = naive(random_rows(300), offset, limit);
            for setup in SETUPS {
                let rows = run(plan.clone(), &tables, setup).unwrap();
                assert_eq!(rows, expected, "{manners:?} {offset} {limit} {setup:?}");
            }
        }
    }
}

#[test]
fn a_huge_limit_falls_back_to_a_sort() {
    let tables = TestTables::one(&A, integers((0..50).rev()), InputEncoding::Flat);
    let plan = tables.scan("t").top_n(&["a"], 3, u64::MAX);
    let executed = run(plan, &tables, SETUPS[2]).unwrap();
    assert_eq!(executed, integers(3..50));
}

#[test]
fn rows_behind_the_threshold_are_not_held() {
    let cx = Harness::context(1024);
    let key = SortKey { column: 0, descending: false, nulls_first: false };
    let operator = TopN::new(vec![Type::BigInt], vec![key], 0, 10, &cx);
    let batch = |first: i64| {
        let values: Vec<i64> = (first..first + 1000).collect();
        Batch::new(vec![Vector::native::<i64>(Type::BigInt, values, None)], 1000)
    };
    let rows = Harness::new(operator).feed((0..200).map(|it| batch(it * 1000)).collect());
    assert_eq!(rows.unwrap(), integers(0..10));
    // 200 batches of 8 KB came; with a threshold from the first cut on, few are held at a time.
    assert!(cx.pool.stats().peak_bytes < 256 << 10, "{:?}", cx.pool.stats());
}

#[test]
fn a_batch_with_more_rows_than_wanted_sets_the_threshold_before_other_columns_are_loaded() {
    let cx = Harness::context(1024);
    let keys = [(0, true), (1, false)];
    let keys = keys.map(|(column, descending)| SortKey { column, descending, nulls_first: false });
    let types = vec![Type::Varchar, Type::BigInt, Type::BigInt];
    let loaded = Arc::new(Mutex::new(Vec::new()));
    // Texts that are equal in their first eight bytes.
    let batch = |first: i64| {
        let rows = first..first + 500;
        let texts = rows.clone().map(|it| match it % 5 {
            0 => Value::Null,
            other => Value::text(format!("the same ä {other}")),
        });
        let texts = Vector::from_values(Type::Varchar, &texts.collect::<Vec<_>>());
        let numbers = Vector::native::<i64>(Type::BigInt, rows.rev().collect::<Vec<_>>(), None);
        let loader = Recording { first, loaded: Arc::clone(&loaded) };
        let payload = Vector::lazy(Type::BigInt, 500, Box::new(loader));
        Batch::new(vec![texts, numbers, payload], 500)
    };
    for (limit, batches, expected_loads) in [(1, 3, 1), (7, 3, 7), (150, 3, 350)] {
        loaded.lock().unwrap().clear();
        let operator = TopN::new(types.clone(), keys.to_vec(), 0, limit, &cx);
        let found = Harness::new(operator).feed((0..batches).map(|it| batch(it * 500)).collect());
        // Rows with 4 in their text, of which the last of a batch has the least number.
        let mut expected: Vec<(i64, i64)> = (0..batches * 500)
            .filter(|it| it % 5 == 4)
            .map(|row| (row / 500 * 500 + 499 - row % 500, row))
            .collect();
        expected.sort_unstable();
        let rows = found.unwrap().into_iter();
        let rows: Vec<_> = rows.map(|it| (it[1].as_i128(), it[2].as_i128())).collect();
        let expected = expected.into_iter().take(limit as usize);
        let expected: Vec<_> = expected.map(|it| (Some(it.0.into()), Some(it.1.into()))).collect();
        assert_eq!(rows, expected, "{limit}");
        assert_eq!(loaded.lock().unwrap().len(), expected_loads, "{limit}");
    }
}

/// Loads the numbers of rows, and notes which.
struct Recording {
    first: i64,
    loaded: Arc<Mutex<Vec<i64>>>,
}

impl Loader for Recording {
    fn load(&mut self, rows: Option<&[u32]>) -> Result<Vector> {
        let all: Vec<u32> = (0..500).collect();
        let rows = rows.unwrap_or(&all).iter().map(|it| self.first + i64::from(*it));
        let rows: Vec<i64> = rows.collect();
        self.loaded.lock().unwrap().extend(&rows);
        Ok(Vector::native::<i64>(Type::BigInt, rows, None))
    }
}
