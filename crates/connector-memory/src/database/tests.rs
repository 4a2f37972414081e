use super::*;
use volley_connector::{RowChanges, TableDefinition};
use volley_connector_testkit::database;
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Vector};

#[test]
fn a_database_in_memory_conforms_and_releases_its_memory() {
    let pool = Pool::root("test", None);
    let memory = MemoryDatabase::new(&pool);
    database(&memory);
    assert_eq!(pool.stats().bytes, 0, "memory of dropped tables");
    database(&memory);
}

fn table(transaction: &mut Box<dyn Transaction>, rows: i64) -> Result<TableId> {
    transaction.define(Definition::CreateTable {
        schema: CatalogSnapshot::MAIN.to_owned(),
        name: "t".to_owned(),
        columns: Schema::new(vec![Field::new("a", Type::BigInt)]),
        definition: TableDefinition::default(),
    })?;
    let snapshot = transaction.snapshot();
    let relation = snapshot.catalog().relation(CatalogSnapshot::MAIN, "t").unwrap();
    let id = relation.as_table().unwrap().id;
    let values: Vec<Value> = (0..rows).map(Value::BigInt).collect();
    let column = Vector::from_values(Type::BigInt, &values);
    let inserted = vec![Batch::new(vec![column], values.len())];
    transaction.change(id, RowChanges { inserted, ..RowChanges::default() })?;
    Ok(id)
}

#[test]
fn memory_is_bounded_and_released_with_the_transaction() {
    let pool = Pool::root("test", Some(4 << 20));
    let memory = MemoryDatabase::new(&pool);
    let mut transaction = memory.begin(Access::Any).unwrap();
    let id = table(&mut transaction, 100_000).unwrap();
    let bytes = pool.stats().bytes;
    assert!(bytes >= 800_000);
    // What does not fit is refused, and the transaction goes on.
    let values: Vec<Value> = (0..1_000_000).map(Value::BigInt).collect();
    let column = Vector::from_values(Type::BigInt, &values);
    let inserted = vec![Batch::new(vec![column], values.len())];
    let refused = transaction.change(id, RowChanges { inserted, ..RowChanges::default() });
    assert_eq!(refused.unwrap_err().kind(), volley_error::ErrorKind::OutOfMemory);
    assert_eq!(pool.stats().bytes, bytes);
    drop(transaction);
    assert_eq!(pool.stats().bytes, 0);
    assert!(memory.snapshot().unwrap().table(id).is_err());
}

#[test]
fn a_mark_of_another_database_is_refused() {
    let memory = MemoryDatabase::new(&Pool::root("test", None));
    let mut transaction = memory.begin(Access::Any).unwrap();
    let error = transaction.roll_back_to(&Mark(Arc::new(7))).unwrap_err();
    assert_eq!(error.kind(), volley_error::ErrorKind::Internal);
}
