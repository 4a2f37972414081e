//! Splits as bytes: from another process, of other files, shared by several drivers.

use super::{open, request, rest_of, splits_of};
use crate::{FileOptions, FileTable};
use std::fs;
use volley_connector::{Split, SplitReader, SplitWriter, Table};
use volley_error::{ErrorKind, Result};
use volley_orc::{OrcWriteOptions, OrcWriter};
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Vector};

const CONNECTOR: u8 = 16;

/// A folder with a CSV file of numbered lines.
fn lines(count: usize) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.csv").to_string_lossy().into_owned();
    let lines: String = (0..count).map(|it| format!("{it},{}\n", "x".repeat(60))).collect();
    fs::write(&path, format!("n,t\n{lines}")).unwrap();
    (folder, path)
}

/// The error of starting a split.
fn refused(table: &FileTable, split: Split) -> volley_error::Error {
    let scan = table.scan(request(&[0], Vec::new(), 10)).unwrap();
    scan.source().unwrap().start(split).unwrap_err()
}

/// A folder with an ORC file of three stripes.
fn stripes() -> Result<(tempfile::TempDir, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stripes.orc").to_string_lossy().into_owned();
    let schema = Schema::new(vec![Field::new("n", Type::BigInt)]);
    let mut writer = OrcWriter::new(Vec::new(), &schema, OrcWriteOptions::default())?;
    for stripe in 0..3 {
        let values: Vec<Value> = (0..70).map(|it| Value::BigInt(stripe * 1000 + it)).collect();
        let column = Vector::from_values(Type::BigInt, &values);
        writer.write(&Batch::new(vec![column], values.len()))?;
        writer.end_stripe()?;
    }
    fs::write(&path, writer.finish()?).unwrap();
    Ok((folder, path))
}

/// Files with row groups, what a row group is called in the format, and how many there are.
fn grouped(stripes: &str) -> [(&str, &str, usize); 3] {
    [
        ("../../tests/data/numbers.parquet", "row group", 4),
        ("../../tests/data/orc/pruning.orc", "stripe", 1),
        (stripes, "stripe", 3),
    ]
}

#[test]
fn splits_listed_by_one_table_are_read_by_another() -> Result<()> {
    let (_folder, stripes) = stripes()?;
    for (path, name, groups) in grouped(&stripes) {
        let Ok(lister) = open(path) else { panic!("no file {path}") };
        let splits = splits_of(&*lister.scan(request(&[0], Vec::new(), 100))?)?;
        assert_eq!(splits.len(), groups, "{path}");
        assert!(splits.iter().all(|it| it.readers_max == 1 && it.size_bytes > 0));
        for (group, split) in splits.iter().enumerate() {
            assert_eq!(split.label, format!("{path}, {name} {group}"));
        }
        let reader = open(path)?;
        let scan = reader.scan(request(&[0], Vec::new(), 100))?;
        let mut source = scan.source()?;
        let mut rows = Vec::new();
        // Any order will do.
        for split in splits.into_iter().rev() {
            let sent = Split::new(split.bytes.to_vec(), "sent");
            source.prepare(&sent)?;
            source.start(sent)?;
            rows.extend(rest_of(&reader, &[0], &mut *source, 100)?);
        }
        let mut expected = super::scan(&reader, &[0], Vec::new(), 100)?.0;
        rows.sort_unstable();
        expected.sort_unstable();
        assert!(!rows.is_empty() && rows == expected, "{path}: {} rows", rows.len());
    }
    Ok(())
}

#[test]
fn missing_row_groups_and_stripes_are_errors() -> Result<()> {
    let (_folder, stripes) = stripes()?;
    for (path, name, groups) in grouped(&stripes) {
        let table = open(path)?;
        let splits = splits_of(&*table.scan(request(&[0], Vec::new(), 10))?)?;
        let registry = super::registry();
        let mut reader = SplitReader::new(&splits[0], CONNECTOR, &registry)?;
        let (path, version) = (reader.text()?, reader.text()?);
        for group in [groups as u64, u64::MAX] {
            let writer = SplitWriter::new(CONNECTOR).text(path).text(version).number(group);
            let error = refused(&table, Split::new(writer.finish(), "s"));
            assert_eq!(error.kind(), ErrorKind::Corruption);
            assert!(error.message().contains(&format!("no {name} {group} in {path}")), "{error}");
        }
        let older = SplitWriter::new(CONNECTOR).text(path).text("older").number(0);
        let changed = refused(&table, Split::new(older.finish(), "s"));
        assert!(changed.message().contains("file was changed"), "{changed}");
    }
    Ok(())
}

#[test]
fn bytes_of_splits_are_not_trusted() -> Result<()> {
    let (_folder, path) = lines(10);
    let table = FileTable::open(&path, &FileOptions::default())?;
    let split = splits_of(&*table.scan(request(&[0], Vec::new(), 10))?)?.remove(0);
    for at in 0..split.bytes.len() {
        for change in [1, 0x80, 0xff] {
            let mut bytes = split.bytes.to_vec();
            bytes[at] ^= change;
            assert_eq!(refused(&table, Split::new(bytes, "s")).kind(), ErrorKind::Corruption);
        }
        let cut = Split::new(split.bytes[..at].to_vec(), "s");
        assert_eq!(refused(&table, cut).kind(), ErrorKind::Corruption);
    }
    let registry = super::registry();
    let mut reader = SplitReader::new(&split, CONNECTOR, &registry)?;
    assert_eq!(reader.text()?, path);
    let version = reader.text()?.to_owned();
    let of = |path: &str, version: &str, group: u64| {
        let writer = SplitWriter::new(CONNECTOR).text(path).text(version);
        refused(&table, Split::new(writer.number(group).finish(), "s"))
    };
    assert_eq!(of(&path, &version, 0).kind(), ErrorKind::Corruption, "a row group of a text file");
    let changed = of(&path, "older", u64::MAX);
    assert!(changed.message().contains("file was changed"), "{changed}");
    let other = of("other.csv", &version, u64::MAX);
    assert!(other.message().contains("the table has no such file: other.csv"), "{other}");
    let several = Split { readers_max: 2, ..split };
    assert!(table.scan(request(&[0], Vec::new(), 10))?.source()?.start(several).is_ok());
    Ok(())
}

#[test]
fn drivers_share_a_text_file_below_its_split() -> Result<()> {
    let (_folder, path) = lines(100_000);
    let table = FileTable::open(&path, &FileOptions::default())?;
    let scan = table.scan(request(&[0], Vec::new(), 1000))?;
    let splits = splits_of(&*scan)?;
    assert_eq!(splits.len(), 1);
    let readers = splits[0].readers_max;
    assert!(readers > 1, "a file of 6 MB is read by {readers}");
    // Twice: what is shared ends with the last reader.
    for _ in 0..2 {
        let mut sources = Vec::new();
        for _ in 0..readers {
            let mut source = scan.source()?;
            source.start(splits[0].clone())?;
            sources.push(source);
        }
        let mut rows = Vec::new();
        for mut source in sources {
            rows.extend(rest_of(&table, &[0], &mut *source, 1000)?);
        }
        let mut rows: Vec<usize> = rows.iter().map(|it| it.parse().unwrap()).collect();
        rows.sort_unstable();
        assert!(rows == (0..100_000).collect::<Vec<_>>(), "{} rows", rows.len());
    }
    Ok(())
}
