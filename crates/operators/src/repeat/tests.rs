use crate::test_kit::{InputEncoding, SETUPS, TestTables, run};
use volley_testkit::sorted;
use volley_types::{Type, Value};

#[test]
fn rows_repeat_as_often_as_they_say() {
    let columns = [("a", Type::Varchar), ("n", Type::BigInt)];
    let counts = [3, 0, -1, 1, 2000];
    let row = |it: usize| vec![Value::text(format!("row {it}")), Value::BigInt(counts[it])];
    let mut expected = Vec::new();
    for (index, count) in counts.iter().enumerate() {
        expected.extend((0..*count).map(|_| vec![Value::text(format!("row {index}"))]));
    }
    for manners in InputEncoding::WHOLE {
        let tables = TestTables::one(&columns, (0..5).map(row).collect(), manners);
        for setup in SETUPS {
            let rows = run(tables.scan("t").repeat(), &tables, setup).unwrap();
            assert!(sorted(rows) == sorted(expected.clone()), "{manners:?} {setup:?}");
        }
    }
}
