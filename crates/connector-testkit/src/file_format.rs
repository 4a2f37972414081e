//! Checks of file formats.

use bytes::Bytes;
use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
    task::Waker,
};
use volley_connector::{FormatExtension, FormatFile, FormatRequest, SourceStep};
use volley_error::{ErrorKind, Result};
use volley_io::RandomAccessFile;
use volley_memory::Pool;
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, random::Generator};

/// A file in memory.
#[derive(Debug)]
struct MemoryFile(Bytes);

impl RandomAccessFile for MemoryFile {
    fn path(&self) -> &str {
        "test file"
    }

    fn size_bytes(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        let end = start + out.len() as u64;
        self.check_range(&(start..end))?;
        out.copy_from_slice(&self.0[start as usize..end as usize]);
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The bytes of a file with these rows, with the option `compression`.
///
/// # Errors
///
/// Those of the writer.
pub fn write_file(
    format: &dyn FormatExtension,
    schema: &Schema,
    batches: &[Batch],
    compression: &str,
) -> Result<Bytes> {
    let output = Output::default();
    let options = [("compression".to_owned(), compression.to_owned())];
    let mut writer = format.write(Box::new(output.clone()), schema, &options)?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()?;
    let bytes = output.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(bytes.into())
}

/// Opens bytes as a file of a format.
///
/// # Errors
///
/// Those of the format.
pub fn open_file(
    format: &dyn FormatExtension,
    bytes: &Bytes,
    pool: &Pool,
) -> Result<Arc<dyn FormatFile>> {
    format.open(Arc::new(MemoryFile(bytes.clone())), pool)
}

/// All rows of columns of a file, split by split, in batches of at most `batch_rows`.
///
/// # Errors
///
/// Those of the reader.
///
/// # Panics
///
/// If a batch is empty or too large.
pub fn read_file(
    format: &dyn FormatExtension,
    bytes: &Bytes,
    columns: &[usize],
    batch_rows: usize,
    pool: &Pool,
) -> Result<Vec<Batch>> {
    let file = open_file(format, bytes, pool)?;
    let mut batches = Vec::new();
    for split in 0..file.splits() {
        let request = FormatRequest { batch_rows, pool: pool.clone() };
        let mut reader = file.read(split, columns, &request)?;
        loop {
            match reader.step(Waker::noop())? {
                SourceStep::Batch(batch) => {
                    assert!(batch.rows() > 0 && batch.rows() <= batch_rows);
                    batches.push(batch);
                }
                SourceStep::NeedSplit => break,
                SourceStep::Blocked | SourceStep::Progress => {}
            }
        }
    }
    Ok(batches)
}

/// The rows as text: NaN is NaN, and integers have 32 bits at least.
fn texts(batches: &[Batch], columns: &[usize]) -> Result<Vec<String>> {
    let wider = |it: Value| match it {
        Value::TinyInt(it) => Value::Integer(it.into()),
        other => other,
    };
    let mut texts = Vec::new();
    for batch in batches {
        let values = |it: &usize| batch.column(*it).to_values();
        let columns = columns.iter().map(values).collect::<Result<Vec<_>>>()?;
        let row = |row: usize| columns.iter().map(|it| wider(it[row].clone())).collect::<Vec<_>>();
        texts.extend((0..batch.rows()).map(|it| format!("{:?}", row(it))));
    }
    Ok(texts)
}

/// Names the first row that differs.
#[track_caller]
fn assert_same(found: &[String], expected: &[String]) {
    assert_eq!(found.len(), expected.len());
    let differs = found.iter().zip(expected).find(|(found, expected)| found != expected);
    assert_eq!(differs, None);
}

fn types() -> Vec<Type> {
    vec![
        Type::Boolean,
        Type::TinyInt,
        Type::Integer,
        Type::BigInt,
        Type::Real,
        Type::Double,
        Type::Varchar,
        Type::Varbinary,
        Type::Date,
        Type::Timestamp,
        Type::array(Type::Varchar),
        Type::map(Type::Varchar, Type::BigInt),
        Type::row([Field::new("a", Type::Integer), Field::new("b", Type::Varchar)]),
    ]
}

/// Rows of all types, and batches of them.
fn random_batches(seed: u64, count: usize) -> (Schema, Vec<Batch>) {
    let mut generator = Generator::new(seed);
    let types = types();
    let fields =
        types.iter().enumerate().map(|(index, it)| Field::new(format!("c{index}"), it.clone()));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let batches = (0..count).map(|index| {
        let rows = [1, 3, 1024][index % 3];
        let columns = types.iter().map(|it| generator.vector(it, rows));
        Batch::new(columns.collect(), rows)
    });
    (schema, batches.collect())
}

/// Files of all types, with each of `compressions`, are read as they were written, in any columns
/// and batches; types as `read_as` says.
///
/// # Errors
///
/// Those of the format.
///
/// # Panics
///
/// If rows or types differ.
pub fn files_are_read_as_written(
    format: &dyn FormatExtension,
    compressions: &[&str],
    read_as: impl Fn(&Type) -> Type,
) -> Result<()> {
    for (seed, compression) in (0..).zip(compressions) {
        let (schema, batches) = random_batches(seed, 6);
        let bytes = write_file(format, &schema, &batches, compression)?;
        let pool = Pool::root("test", Some(64 << 20));
        let file = open_file(format, &bytes, &pool)?;
        assert!(file.schema().types().cloned().eq(schema.types().map(&read_as)));
        let all: Vec<usize> = (0..schema.len()).collect();
        let expected = texts(&batches, &all)?;
        for batch_rows in [1, 3, 1024] {
            let found = read_file(format, &bytes, &all, batch_rows, &pool)?;
            assert_same(&texts(&found, &all)?, &expected);
        }
        // Some columns, in another order, and none.
        let found = read_file(format, &bytes, &[6, 2], 1000, &pool)?;
        assert_same(&texts(&found, &[0, 1])?, &texts(&batches, &[6, 2])?);
        let found = read_file(format, &bytes, &[], 1000, &pool)?;
        assert_eq!(found.iter().map(Batch::rows).sum::<usize>(), expected.len());
    }
    Ok(())
}

/// Bytes that are changed give an error or rows, and take no more memory than the pool has. `place`
/// chooses where a file of some length is changed. How many files were refused.
///
/// # Errors
///
/// Those of the writer.
///
/// # Panics
///
/// If the error is of another kind.
pub fn damaged_files_are_errors(
    format: &dyn FormatExtension,
    compressions: &[&str],
    place: impl Fn(&mut fastrand::Rng, usize) -> usize,
) -> Result<usize> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut refused = 0;
    let (schema, batches) = random_batches(3, 3);
    let files = compressions.iter().map(|it| write_file(format, &schema, &batches, it));
    let files = files.collect::<Result<Vec<_>>>()?;
    let all: Vec<usize> = (0..schema.len()).collect();
    for _ in 0..3000 {
        let mut bytes = files[random.usize(..files.len())].to_vec();
        for _ in 0..random.usize(1..4) {
            let at = place(&mut random, bytes.len());
            bytes[at] = if random.bool() { random.u8(..) } else { 0xff };
        }
        if random.u8(..8) == 0 {
            bytes.truncate(random.usize(..bytes.len()));
        }
        let pool = Pool::root("test", Some(16 << 20));
        if let Err(error) = read_file(format, &bytes.into(), &all, 1024, &pool) {
            let kinds = [ErrorKind::Corruption, ErrorKind::Unsupported, ErrorKind::OutOfMemory];
            assert!(kinds.contains(&error.kind()), "{error}");
            refused += 1;
        }
    }
    Ok(refused)
}
