//! Tables whose batches come in a chosen encoding and whose sources behave in a chosen way.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    task::Waker,
    thread,
    time::Duration,
};
use volley_connector::{
    ListedSplits, Scan, ScanMetrics, ScanRequest, Source, SourceStep, Split, SplitReader,
    SplitSource, SplitWriter, Table, TableProvider, TableStatistics,
};
use volley_error::{Error, Result};
use volley_plan::{PlanBuilder, TableHandle};
use volley_testkit::RowValues;
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Loader, ScalarBuffer, Vector};

/// How a source behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputEncoding {
    /// Flat columns.
    Flat,
    /// Every column is a dictionary in reverse order with an unused entry.
    Dictionary,
    /// One row per batch, as constants.
    Constant,
    /// Lazy columns.
    Lazy,
    /// Before every batch it is blocked, and woken from another thread.
    Blocking,
    /// Never ends.
    Endless,
    /// An error after the first batch.
    Failing,
    /// A panic after the first batch.
    Panicking,
    /// Blocked for ever.
    Stuck,
}

impl InputEncoding {
    /// Those that give all rows.
    pub const WHOLE: [InputEncoding; 5] = [
        InputEncoding::Flat,
        InputEncoding::Dictionary,
        InputEncoding::Constant,
        InputEncoding::Lazy,
        InputEncoding::Blocking,
    ];
}

/// Tables by name.
#[derive(Clone, Debug, Default)]
pub struct TestTables(HashMap<String, Arc<TestTable>>);

#[derive(Debug)]
struct TestTable {
    name: String,
    schema: Schema,
    rows: RowValues,
    splits: usize,
    manners: InputEncoding,
}

impl TestTables {
    /// One table `t`; its rows are dealt out to five splits.
    pub fn one(columns: &[(&str, Type)], rows: RowValues, manners: InputEncoding) -> TestTables {
        TestTables::default().with("t", columns, rows, manners)
    }

    /// These tables and another one.
    pub fn with(
        mut self,
        name: &str,
        columns: &[(&str, Type)],
        rows: RowValues,
        manners: InputEncoding,
    ) -> TestTables {
        let schema = columns.iter().map(|it| Field::new(it.0, it.1.clone())).collect();
        let table = TestTable { name: name.into(), schema, rows, splits: 5, manners };
        self.0.insert(name.into(), Arc::new(table));
        self
    }

    /// A plan that scans table `name`.
    pub fn scan(&self, name: &str) -> PlanBuilder {
        let table = &self.0[name];
        let columns: Vec<String> = (0..table.schema.len()).map(|it| format!("#{it}")).collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        super::plan().scan(table.handle(), &table.schema, &columns)
    }
}

impl TableProvider for TestTables {
    fn table(&self, handle: &TableHandle) -> Result<Arc<dyn Table>> {
        match self.0.get(&handle.table) {
            Some(table) => Ok(Arc::clone(table) as Arc<dyn Table>),
            None => Err(Error::invalid_query(format!("no such table: {}", handle.table))),
        }
    }
}

impl Table for TestTable {
    fn handle(&self) -> TableHandle {
        TableHandle { connector: "test".into(), table: self.name.clone() }
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        Ok(Arc::default())
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        let types: Vec<Type> =
            request.columns.iter().map(|it| self.schema.fields[*it].data_type.clone()).collect();
        let project =
            |row: &Vec<Value>| request.columns.iter().map(|it| row[*it].clone()).collect();
        let rows: RowValues = self.rows.iter().map(project).collect();
        Ok(Box::new(TestScan {
            types,
            part_rows: self.rows.len().div_ceil(self.splits).max(1),
            rows: rows.into(),
            manners: self.manners,
            batch_rows: request.batch_rows,
        }))
    }
}

/// The number of test tables in the bytes of splits.
const CONNECTOR: u8 = 255;

/// The split of a test table at `index`.
pub fn test_split(index: usize) -> Split {
    let bytes = SplitWriter::new(CONNECTOR).number(index as u64).finish();
    Split::new(bytes, format!("part {index}"))
}

struct TestScan {
    rows: Arc<[Vec<Value>]>,
    types: Vec<Type>,
    /// Rows of a split.
    part_rows: usize,
    manners: InputEncoding,
    batch_rows: usize,
}

impl Scan for TestScan {
    fn splits(&self) -> Result<Box<dyn SplitSource>> {
        let parts = 0..self.rows.len().div_ceil(self.part_rows);
        Ok(ListedSplits::boxed(parts.map(test_split).collect()))
    }

    fn source(&self) -> Result<Box<dyn Source>> {
        Ok(Box::new(TestSource {
            types: self.types.clone(),
            manners: self.manners,
            batch_rows: if self.manners == InputEncoding::Constant { 1 } else { self.batch_rows },
            all: Arc::clone(&self.rows),
            part_rows: self.part_rows,
            rows: Vec::new(),
            position: 0,
            steps: 0,
            generation: Arc::default(),
        }))
    }
}

struct TestSource {
    types: Vec<Type>,
    manners: InputEncoding,
    batch_rows: usize,
    all: Arc<[Vec<Value>]>,
    part_rows: usize,
    rows: RowValues,
    position: usize,
    steps: usize,
    /// Grows with every batch: a lazy column must be loaded before the next one.
    generation: Arc<Mutex<usize>>,
}

impl Source for TestSource {
    fn start(&mut self, split: Split) -> Result<()> {
        let registry = super::registry();
        let mut reader = SplitReader::new(&split, CONNECTOR, &registry)?;
        let index = reader.position()?;
        reader.finish()?;
        let rows = self.all.chunks(self.part_rows).nth(index);
        let rows = rows.ok_or_else(|| Error::corruption(format!("no part {index}")))?;
        (self.rows, self.position) = (rows.to_vec(), 0);
        Ok(())
    }

    fn step(&mut self, waker: &Waker) -> Result<SourceStep> {
        self.steps += 1;
        match self.manners {
            InputEncoding::Stuck => return Ok(SourceStep::Blocked),
            InputEncoding::Blocking if self.steps % 2 == 1 => {
                let waker = waker.clone();
                thread::spawn(move || {
                    thread::sleep(Duration::from_micros(20));
                    waker.wake();
                });
                return Ok(SourceStep::Blocked);
            }
            InputEncoding::Failing if self.position > 0 => {
                return Err(Error::corruption("a bad page"));
            }
            InputEncoding::Panicking if self.position > 0 => panic!("a bad assumption"),
            InputEncoding::Endless if self.position >= self.rows.len() => self.position = 0,
            _ => {}
        }
        let rows = self.batch_rows.min(self.rows.len() - self.position);
        if rows == 0 {
            return Ok(SourceStep::NeedSplit);
        }
        let batch = self.batch(rows);
        self.position += rows;
        Ok(SourceStep::Batch(batch))
    }

    fn metrics(&self) -> ScanMetrics {
        ScanMetrics { rows_read: self.position as u64, ..ScanMetrics::default() }
    }
}

impl TestSource {
    fn batch(&self, rows: usize) -> Batch {
        *self.generation.lock().unwrap() += 1;
        let rows = &self.rows[self.position..self.position + rows];
        let column = |(index, data_type): (usize, &Type)| {
            let values: Vec<Value> = rows.iter().map(|it| it[index].clone()).collect();
            self.encode(Vector::from_values(data_type.clone(), &values))
        };
        Batch::new(self.types.iter().enumerate().map(column).collect(), rows.len())
    }

    fn encode(&self, flat: Vector) -> Vector {
        match self.manners {
            InputEncoding::Dictionary => {
                let len = flat.len() as u32;
                let backward: Vec<u32> = (0..len).rev().collect();
                let base = flat.gather(&backward).unwrap();
                let unused = flat.slice(0, 1);
                let base = Vector::concat(flat.data_type(), &[base, unused]).unwrap();
                let codes: ScalarBuffer<u32> = backward.into();
                Vector::dictionary(codes, Arc::new(base), None)
            }
            InputEncoding::Constant => Vector::repeat(flat, 1),
            InputEncoding::Lazy => {
                let generation = *self.generation.lock().unwrap();
                let current = Arc::clone(&self.generation);
                let (data_type, len) = (flat.data_type().clone(), flat.len());
                let loader = TestLoader { flat, generation, current };
                Vector::lazy(data_type, len, Box::new(loader))
            }
            _ => flat,
        }
    }
}

struct TestLoader {
    flat: Vector,
    generation: usize,
    current: Arc<Mutex<usize>>,
}

impl Loader for TestLoader {
    fn load(&mut self, rows: Option<&[u32]>) -> Result<Vector> {
        if *self.current.lock().unwrap() != self.generation {
            return Err(Error::internal("loaded after the next batch"));
        }
        match rows {
            Some(rows) => self.flat.gather(rows),
            None => Ok(self.flat.clone()),
        }
    }
}
