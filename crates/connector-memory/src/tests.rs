use crate::MemoryTable;
use volley_connector::Table;
use volley_memory::Pool;
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Vector};

fn batch(values: &[Option<i64>]) -> Batch {
    let values: Vec<_> = values.iter().map(|it| it.map_or(Value::Null, Value::BigInt)).collect();
    let column = Vector::from_values(Type::BigInt, &values);
    Batch::new(vec![column], values.len())
}

#[test]
fn an_appended_version_leaves_the_old_one_as_it_was() {
    let pool = Pool::root("test", None);
    let schema = Schema::new(vec![Field::new("a", Type::BigInt)]);
    let old = MemoryTable::new("t", schema, vec![batch(&[Some(1), None])], &pool).unwrap();
    let new = old.append(vec![batch(&[Some(-5)])], &pool).unwrap();
    assert_eq!((old.rows(), new.rows()), (2, 3));
    let statistics = new.statistics().unwrap();
    assert_eq!(statistics.columns[0].min, Some(Value::BigInt(-5)));
    assert_eq!(statistics.columns[0].max, Some(Value::BigInt(1)));
    assert_eq!(statistics.columns[0].nulls, Some(1));
    assert!(pool.stats().bytes > 0);
    drop((old, new));
    assert_eq!(pool.stats().bytes, 0);
}
