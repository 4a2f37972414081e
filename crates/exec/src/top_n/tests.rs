use super::TopN;
use crate::test_kit::{A, Harness, Manners, Random, RowValues, SETUPS, TestTables, integers, run};
use volley_plan::SortKey;
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

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
    for manners in Manners::WHOLE {
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
    let tables = TestTables::one(&A, integers((0..50).rev()), Manners::Flat);
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
