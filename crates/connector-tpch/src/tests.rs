use crate::{TpchSplit, TpchTable};
use std::{sync::Arc, task::Waker};
use volley_connector::{Scan, ScanRequest, SourceStep, Split, SplitStep, Table};
use volley_error::{ErrorKind, Result};
use volley_expression::{Expr, SpecialForm};
use volley_function::{QueryConstants, Registry};
use volley_memory::Pool;
use volley_types::{Type, Value};

const SCALE: f64 = 0.001;

fn request(columns: Vec<usize>, filters: Vec<Expr>, batch_rows: usize) -> ScanRequest {
    ScanRequest {
        columns,
        filters,
        dynamic_filters: Vec::new(),
        batch_rows,
        registry: Arc::new(Registry::new()),
        query: Arc::new(QueryConstants::default()),
        pool: Pool::root("test", None),
    }
}

fn splits(scan: &dyn Scan) -> Vec<Split> {
    match scan.splits().unwrap().next(1000, Waker::noop()).unwrap() {
        SplitStep::Splits(splits) => splits,
        other => panic!("{other:?}"),
    }
}

fn read(table: &TpchTable, request: ScanRequest) -> Result<Vec<Vec<Value>>> {
    let (scan, batch_rows) = (table.scan(request.clone())?, request.batch_rows);
    let mut source = scan.source()?;
    let mut rows = Vec::new();
    for split in splits(&*scan) {
        source.start(split)?;
        loop {
            match source.step(Waker::noop())? {
                SourceStep::Batch(batch) => {
                    assert!(batch.rows() > 0 && batch.rows() <= batch_rows);
                    let columns: Result<Vec<_>> =
                        batch.columns().iter().map(|it| it.to_values()).collect();
                    let columns = columns?;
                    let row = |row: usize| -> Vec<Value> {
                        columns.iter().map(|it| it[row].clone()).collect()
                    };
                    rows.extend((0..batch.rows()).map(row));
                }
                SourceStep::NeedSplit => break,
                SourceStep::Progress => {}
                SourceStep::Blocked => panic!("nothing to wait for"),
            }
        }
    }
    Ok(rows)
}

#[test]
fn all_parts_are_the_whole_table() {
    for (name, _) in volley_tpch::TABLES {
        let whole = TpchTable::new(name, SCALE, 1).unwrap();
        let columns: Vec<usize> = (0..whole.schema().len()).collect();
        let expected = read(&whole, request(columns.clone(), vec![], 8192)).unwrap();
        assert!(!expected.is_empty());
        for (parts, batch_rows) in [(3, 1024), (4, 3)] {
            let table = TpchTable::new(name, SCALE, parts).unwrap();
            let rows = read(&table, request(columns.clone(), vec![], batch_rows)).unwrap();
            assert_eq!(rows, expected, "{name} in {parts} parts");
        }
    }
}

#[test]
fn columns_have_the_types_of_the_schema() {
    for (name, _) in volley_tpch::TABLES {
        let table = TpchTable::new(name, SCALE, 1).unwrap();
        let columns = (0..table.schema().len()).collect();
        let scan = table.scan(request(columns, vec![], 10)).unwrap();
        let mut source = scan.source().unwrap();
        source.start(splits(&*scan).remove(0)).unwrap();
        let SourceStep::Batch(batch) = source.step(Waker::noop()).unwrap() else {
            panic!("no batch");
        };
        let types = batch.columns().iter().map(|it| it.data_type());
        assert!(types.eq(table.schema().types()), "{name}");
    }
}

#[test]
fn filters_read_columns_that_are_not_returned() {
    let table = TpchTable::new("orders", SCALE, 2).unwrap();
    let (key, status) = (table.position("o_orderkey"), table.position("orderstatus"));
    let (key, status) = (key.unwrap(), status.unwrap());
    let all = read(&table, request(vec![key, status], vec![], 100)).unwrap();
    let expected: Vec<_> =
        all.iter().filter(|it| it[1] == Value::text("F")).map(|it| vec![it[0].clone()]).collect();
    let args =
        vec![Expr::column(status, Type::Varchar), Expr::constant(Value::text("F"), Type::Varchar)];
    let filter = Expr::special(SpecialForm::In, args, Type::Boolean);
    for batch_rows in [1, 3, 1024] {
        let rows = read(&table, request(vec![key], vec![filter.clone()], batch_rows)).unwrap();
        assert_eq!(rows, expected);
    }
    assert!(expected.len() > 100 && expected.len() < all.len());
}

#[test]
fn splits_are_checked() {
    let table = TpchTable::new("orders", SCALE, 1).unwrap();
    let scan = table.scan(request(vec![0], vec![], 10)).unwrap();
    let refused = |split: Split| scan.source().unwrap().start(split).unwrap_err().kind();
    let split = |table: &str, scale, part, parts| {
        TpchSplit { table: table.to_owned(), scale, part, parts }.to_split()
    };
    assert_eq!(refused(split("part", SCALE, 0, 1)), ErrorKind::InvalidQuery);
    assert_eq!(refused(split("orders", 1.0, 0, 1)), ErrorKind::InvalidQuery);
    assert_eq!(refused(split("orders", SCALE, 1, 1)), ErrorKind::Corruption);
    assert_eq!(refused(split("orders", SCALE, 0, u32::MAX)), ErrorKind::Corruption);
    assert_eq!(refused(Split::new(vec![1, 2, 3], "cut")), ErrorKind::Corruption);
    assert!(scan.source().unwrap().start(split("orders", SCALE, 5, 6)).is_ok());
}

#[test]
fn unknown_tables_and_scales_are_errors() {
    let kind = |name, scale, parts| TpchTable::new(name, scale, parts).unwrap_err().kind();
    assert_eq!(kind("order", 1.0, 1), ErrorKind::InvalidQuery);
    assert_eq!(kind("orders", f64::NAN, 1), ErrorKind::InvalidValue);
    assert_eq!(kind("orders", 1.0, 0), ErrorKind::InvalidValue);
    assert_eq!(TpchTable::new("orders", 1.0, 1).unwrap().position("row_number"), None);
}
