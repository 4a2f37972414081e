use super::*;
use std::{
    sync::{Arc, Mutex},
    task::Waker,
};
use volley_error::ErrorKind;
use volley_memory::Pool;

/// The calls of a sink, in order: rows of a batch, or 0 for a flush.
type Calls = Arc<Mutex<Vec<usize>>>;

/// Holds all bytes that are written until it gives them back.
struct Holding {
    held_bytes: usize,
    bytes_per_row: usize,
    calls: Calls,
}

impl RowSink for Holding {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        self.held_bytes += batch.rows() * self.bytes_per_row;
        self.calls.lock().unwrap().push(batch.rows());
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    fn write_bytes(&self, flat_bytes: usize) -> usize {
        flat_bytes
    }

    fn reclaim(&mut self) -> Result<()> {
        self.held_bytes = 0;
        self.calls.lock().unwrap().push(0);
        Ok(())
    }
}

fn operator(pool: &Pool, bytes_per_row: usize) -> (TableWrite, Calls) {
    let calls = Calls::default();
    let sink = Holding { held_bytes: 0, bytes_per_row, calls: Arc::clone(&calls) };
    (TableWrite::to_sink(Box::new(sink), RowChecks::default(), pool.reservation()), calls)
}

/// Steps until the operator needs input or has returned the number of rows.
fn run(operator: &mut TableWrite) -> Result<Option<i64>> {
    let mut cx = StepContext { waker: Waker::noop() };
    loop {
        match operator.step(&mut cx)? {
            Step::Yield => (),
            Step::NeedInput => return Ok(None),
            Step::Output(batch) => match batch.column(0).value(0)? {
                Value::BigInt(rows) => return Ok(Some(rows)),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
}

fn numbers(rows: usize) -> Batch {
    Batch::new(vec![Vector::constant(Type::BigInt, &Value::BigInt(7), rows)], rows)
}

#[test]
fn constants_of_large_arrays_are_written_in_slices() {
    let pool = Pool::root("test", None);
    let (mut operator, calls) = operator(&pool, 0);
    let array = Value::Array(vec![Value::BigInt(1); 100_000].into());
    let column = Vector::constant(Type::array(Type::BigInt), &array, 100);
    operator.accept(Batch::new(vec![column], 100)).unwrap();
    assert_eq!(run(&mut operator).unwrap(), None);
    let slices = calls.lock().unwrap().clone();
    assert!(slices.iter().all(|it| (1..=5).contains(it)), "{slices:?}");
    operator.accept(numbers(1000)).unwrap();
    operator.finish_input().unwrap();
    assert_eq!(run(&mut operator).unwrap(), Some(1100));
    assert_eq!(calls.lock().unwrap().last(), Some(&1000));
}

#[test]
fn what_a_sink_holds_is_charged_and_bounded() {
    let pool = Pool::root("test", Some(64 << 20));
    let (mut operator, calls) = operator(&pool, 3 << 10);
    for _ in 0..10 {
        operator.accept(numbers(1024)).unwrap();
        assert_eq!(run(&mut operator).unwrap(), None);
        assert!(pool.stats().bytes <= 8 << 20, "{}", pool.stats().bytes);
    }
    // An eighth of the limit is 8 MiB, a batch takes 3.
    let expected = [1024, 1024, 1024, 0, 1024, 1024, 1024, 0, 1024, 1024, 1024, 0, 1024];
    assert_eq!(*calls.lock().unwrap(), expected);
    assert_eq!(pool.stats().bytes, 3 << 20);
    operator.finish_input().unwrap();
    assert_eq!(run(&mut operator).unwrap(), Some(10 * 1024));
    assert_eq!(pool.stats().bytes, 0);
}

#[test]
fn a_sink_gives_back_before_memory_is_refused() {
    let pool = Pool::root("test", Some(64 << 20));
    let mut other = pool.child("other").reservation();
    let (mut operator, calls) = operator(&pool.child("write"), 1 << 10);
    operator.accept(numbers(1024)).unwrap();
    run(&mut operator).unwrap();
    other.resize(60 << 20).unwrap();
    for _ in 0..2 {
        operator.accept(numbers(1024)).unwrap();
        run(&mut operator).unwrap();
    }
    // Of the rest, the last 1 MiB is kept for others.
    other.resize(62 << 20).unwrap_err();
    operator.accept(numbers(1 << 20)).unwrap();
    assert_eq!(run(&mut operator).unwrap_err().kind(), ErrorKind::OutOfMemory);
    assert_eq!(*calls.lock().unwrap(), [1024, 1024, 1024, 0]);
    operator.abort();
    assert_eq!(pool.stats().bytes, 60 << 20);
}

/// Writes batches of a number and a flag that says whether it violates the one constraint.
fn checked(flags: Vector) -> Result<Option<i64>> {
    let rows = flags.len();
    let pool = Pool::root("test", None);
    let sink = Holding { held_bytes: 0, bytes_per_row: 0, calls: Calls::default() };
    let checks = RowChecks::of(1, vec!["too large".to_owned()]);
    let mut operator = TableWrite::to_sink(Box::new(sink), checks, pool.reservation());
    let number = Vector::constant(Type::BigInt, &Value::BigInt(7), rows);
    operator.accept(Batch::new(vec![number, flags], rows))?;
    operator.finish_input()?;
    run(&mut operator)
}

#[test]
fn rows_that_violate_a_constraint_are_refused() {
    let flags = |values: &[Value]| Vector::from_values(Type::Boolean, values);
    let (yes, no) = (Value::Boolean(true), Value::Boolean(false));
    assert_eq!(checked(flags(&[no.clone(), Value::Null, no.clone()])).unwrap(), Some(3));
    let constant = |value: &Value, rows| Vector::constant(Type::Boolean, value, rows);
    assert_eq!(checked(constant(&no, 1024)).unwrap(), Some(1024));
    assert_eq!(checked(constant(&Value::Null, 1)).unwrap(), Some(1));
    assert_eq!(checked(Vector::nulls(Type::Boolean, 3)).unwrap(), Some(3));
    let two = Batch::new(vec![flags(&[no.clone(), yes.clone()])], 2);
    let dictionary = two.wrap(&vec![0, 0, 1].into()).column(0).clone();
    let few = flags(&[Value::Null, no, yes.clone()]);
    for violated in [dictionary, few, constant(&yes, 1), constant(&yes, 1024)] {
        let error = checked(violated).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidValue, "too large"));
    }
}

/// Encodes a BIGINT as a decimal and a blank.
struct Decimals;

impl volley_connector::RowEncoder for Decimals {
    fn encode(&mut self, batch: &Batch) -> Result<Vec<u8>> {
        let values = batch.column(0).to_values()?;
        let texts = values.iter().map(|it| match it {
            Value::BigInt(number) => format!("{number} "),
            _ => "- ".to_owned(),
        });
        Ok(texts.collect::<String>().into_bytes())
    }
}

/// Keeps the bytes that are appended.
struct Appended(Arc<Mutex<Vec<u8>>>);

impl RowSink for Appended {
    fn write(&mut self, _batch: &Batch) -> Result<()> {
        panic!("rows that are not encoded")
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn encoded_rows_are_appended_and_counted() {
    let pool = Pool::root("test", None);
    let mut encode = volley_exec::TransformOperator::new(encode::Encode::new(
        Box::new(Decimals),
        pool.reservation(),
    ));
    let text = Arc::new(Mutex::new(Vec::new()));
    let sink = Box::new(Appended(Arc::clone(&text)));
    let mut write =
        TableWrite::to_sink(sink, RowChecks::default(), pool.reservation()).of_encoded();
    let mut cx = StepContext { waker: Waker::noop() };
    let column = |values: &[Value]| Vector::from_values(Type::BigInt, values);
    let batches = [column(&[Value::BigInt(1)]), column(&[Value::Null, Value::BigInt(-3)])];
    for column in batches {
        let rows = column.len();
        encode.accept(Batch::new(vec![column], rows)).unwrap();
        let Step::Output(encoded) = encode.step(&mut cx).unwrap() else { panic!("no output") };
        assert_eq!(encoded.rows(), 1);
        write.accept(encoded).unwrap();
        assert_eq!(run(&mut write).unwrap(), None);
    }
    encode.finish_input().unwrap();
    assert!(matches!(encode.step(&mut cx), Ok(Step::Finished)));
    write.finish_input().unwrap();
    assert_eq!(run(&mut write).unwrap(), Some(3));
    assert_eq!(*text.lock().unwrap(), b"1 - -3 ");
    assert_eq!(pool.stats().bytes, 0);
}

#[test]
fn large_batches_are_encoded_in_slices() {
    let pool = Pool::root("test", None);
    let mut encode = volley_exec::TransformOperator::new(encode::Encode::new(
        Box::new(Decimals),
        pool.reservation(),
    ));
    let rows = (SLICE_BYTES / 8) * 3;
    encode.accept(numbers(rows)).unwrap();
    let mut cx = StepContext { waker: Waker::noop() };
    let (mut slices, mut encoded_rows) = (0, 0);
    while let Step::Output(batch) = encode.step(&mut cx).unwrap() {
        let Value::BigInt(count) = batch.column(1).value(0).unwrap() else { panic!("no count") };
        (slices, encoded_rows) = (slices + 1, encoded_rows + count);
    }
    assert!(slices >= 3 && encoded_rows == rows as i64, "{slices} {encoded_rows}");
}
