use super::*;
use volley_error::ErrorKind;

const CONNECTOR: u8 = 200;

fn split() -> Split {
    let bytes = SplitWriter::new(CONNECTOR).text("päth").number(7).number(u64::MAX).finish();
    Split::new(bytes, "päth, row group 7")
}

/// What the bytes say.
fn read(split: &Split) -> Result<(String, usize, u64)> {
    let registry = Registry::new();
    let mut reader = SplitReader::new(split, CONNECTOR, &registry)?;
    let read = (reader.text()?.to_owned(), reader.position()?, reader.number()?);
    reader.finish()?;
    Ok(read)
}

#[test]
fn what_was_written_is_read() {
    assert_eq!(read(&split()).unwrap(), ("päth".to_owned(), 7, u64::MAX));
}

#[test]
fn changed_bytes_are_errors() {
    let bytes = split().bytes;
    let refused = |bytes: &[u8]| read(&Split::new(bytes.to_vec(), "changed")).unwrap_err().kind();
    for len in 0..bytes.len() {
        assert_eq!(refused(&bytes[..len]), ErrorKind::Corruption, "cut at {len}");
    }
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(refused(&changed), ErrorKind::Corruption, "bit {bit}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert_eq!(refused(&longer), ErrorKind::Corruption);
}

#[test]
fn another_connectors_split_and_other_fields_are_errors() {
    let of = |bytes| read(&Split::new(bytes, "other")).unwrap_err().kind();
    assert_eq!(of(SplitWriter::new(CONNECTOR + 1).finish()), ErrorKind::Corruption);
    assert_eq!(of(SplitWriter::new(CONNECTOR).finish()), ErrorKind::Corruption);
    let more = SplitWriter::new(CONNECTOR).text("a").number(1).number(2).number(3).finish();
    assert_eq!(of(more), ErrorKind::Corruption);
    let no_text = SplitWriter::new(CONNECTOR).number(1 << 40).number(1).finish();
    assert_eq!(of(no_text), ErrorKind::Corruption);
}

#[test]
fn listed_splits_come_in_their_order() {
    let splits: Vec<Split> = (0..5).map(|it| Split::new(vec![it], it.to_string())).collect();
    let mut source = ListedSplits::boxed(splits.clone());
    let mut found = Vec::new();
    let mut lengths = Vec::new();
    while let SplitStep::Splits(some) = source.next(2, Waker::noop()).unwrap() {
        lengths.push(some.len());
        found.extend(some);
    }
    assert_eq!(found, splits);
    assert_eq!(lengths, [2, 2, 1]);
    assert!(matches!(source.next(2, Waker::noop()).unwrap(), SplitStep::End));
    assert!(matches!(ListedSplits::boxed(vec![]).next(9, Waker::noop()), Ok(SplitStep::End)));
}
