//! Orders rows whose first key bytes are equal by the bytes after them.
//!
//! ```text
//! group    entries with the same key bits, in the order of their rows
//! chunk    the next bytes of each row's keys go where the equal ones stood (`KeyChunks`)
//! sort     the group's entries, as whole numbers; groups that are equal there go on
//! ```
//!
//! A row's bytes are read once per chunk, instead of in every comparison with another row, each of
//! which waits for memory: after Bentley and Sedgewick, "Fast Algorithms for Sorting and Searching
//! Strings" (SODA 1997). Small groups, keys without chunks, and groups in which chunk after chunk
//! is equal are compared row by row.

use super::{ENTRY_KEY_BYTES, KeyLayout, MERGE_ROWS, RUN_ROWS, RowSorter};
use std::{cmp::Ordering, ops::Range};
use volley_error::Result;
use volley_memory::check_cancelled;
use volley_types::SortKey;
use volley_vector::{StringValues, Values, Vector};

/// The maximum rows of a group that is compared row by row.
const GROUP_ROWS_MIN: usize = 6;

/// After this number of equal chunks, comparing is cheaper.
const EQUAL_CHUNKS_MAX: u32 = 4;

/// The bits of an entry below its key: the row number.
const ROW_BITS: u32 = 32;

/// Bytes of a string in a chunk: besides, it has a byte for nulls and one for the length.
const STRING_CHUNK_BYTES: usize = ENTRY_KEY_BYTES - 2;

/// Where the next bytes of a group are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the encoded keys.
    Encoded(usize),
    /// In the key with this number, from this byte on.
    Key(usize, usize),
    /// All was compared.
    End,
}

/// The chunks of rows.
struct KeyChunks<'a> {
    columns: &'a [Vector],
    keys: &'a [SortKey],
    layout: &'a KeyLayout,
    bytes: &'a [u8],
}

impl RowSorter {
    /// Orders the groups that begin at places `start..` of the order, up to a few milliseconds'
    /// worth; where the next group begins.
    pub(super) fn refine(&mut self, start: usize) -> Result<usize> {
        let stop = (start + RUN_ROWS).min(self.entries.len());
        let mut first = start;
        while first < stop {
            let end = group_end(&self.entries, first);
            if end - first > 1 {
                self.refine_group(first..end)?;
            }
            first = end;
        }
        Ok(first)
    }

    fn refine_group(&mut self, group: Range<usize>) -> Result<()> {
        let mut entries = std::mem::take(&mut self.entries);
        let key = entries[group.start] >> ROW_BITS << ROW_BITS;
        let refined = self.refine_entries(&mut entries[group.clone()]);
        entries[group].iter_mut().for_each(|it| *it = key | u128::from(*it as u32));
        self.entries = entries;
        refined
    }

    /// Orders entries with the same key bits; leaves others in these.
    fn refine_entries(&self, entries: &mut [u128]) -> Result<()> {
        let chunks = KeyChunks {
            columns: &self.columns,
            keys: &self.keys,
            layout: &self.layout,
            bytes: &self.bytes,
        };
        let mut open = vec![(0..entries.len(), chunks.after_entry(), 0)];
        while let Some((range, place, equal)) = open.pop() {
            let group = &mut entries[range.clone()];
            if place == Place::End {
                continue;
            }
            let is_small = group.len() <= GROUP_ROWS_MIN || equal == EQUAL_CHUNKS_MAX;
            if is_small || !chunks.has_chunks(place) {
                sort_long(group, |a, b| self.compare_rest(*a, *b))?;
                continue;
            }
            chunks.fill(place, group);
            if group.len() > RUN_ROWS {
                check_cancelled()?;
            }
            sort_long(group, u128::cmp)?;
            let mut start = 0;
            while start < group.len() {
                let end = group_end(group, start);
                if end - start > 1 {
                    let equal = if end - start == group.len() { equal + 1 } else { 0 };
                    let next = chunks.after(place, group[start]);
                    open.push((range.start + start..range.start + end, next, equal));
                }
                start = end;
            }
        }
        Ok(())
    }
}

/// Where the group of entries with the same key bits as the one at `start` ends.
fn group_end(entries: &[u128], start: usize) -> usize {
    let key = entries[start] >> ROW_BITS;
    let same = entries[start..].iter().take_while(|it| **it >> ROW_BITS == key);
    start + same.count()
}

/// Sorts, and looks up now and then while there is much to sort. No two entries are equal.
fn sort_long(
    entries: &mut [u128],
    compare: impl Fn(&u128, &u128) -> Ordering + Copy,
) -> Result<()> {
    if entries.len() <= RUN_ROWS {
        entries.sort_unstable_by(compare);
        return Ok(());
    }
    for run in entries.chunks_mut(RUN_ROWS) {
        run.sort_unstable_by(compare);
        check_cancelled()?;
    }
    let mut merged = Vec::with_capacity(entries.len());
    let mut run_rows = RUN_ROWS;
    while run_rows < entries.len() {
        merged.clear();
        for pair in entries.chunks(run_rows * 2) {
            let (mut left, mut right) = pair.split_at(run_rows.min(pair.len()));
            while let (Some(a), Some(b)) = (left.first(), right.first()) {
                let from = if compare(b, a).is_lt() { &mut right } else { &mut left };
                merged.extend(from.split_off_first());
                if merged.len().is_multiple_of(MERGE_ROWS) {
                    check_cancelled()?;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        entries.copy_from_slice(&merged);
        run_rows *= 2;
    }
    Ok(())
}

impl KeyChunks<'_> {
    /// What comes behind the bytes in entries.
    fn after_entry(&self) -> Place {
        self.after_encoded(ENTRY_KEY_BYTES)
    }

    fn after_encoded(&self, offset: usize) -> Place {
        if offset < self.layout.width() {
            return Place::Encoded(offset);
        }
        let key = self.layout.ties().start;
        self.key(key, self.layout.encoded_bytes(key))
    }

    /// The bytes of key `key` from `offset` on.
    fn key(&self, key: usize, offset: usize) -> Place {
        if key < self.layout.ties().end { Place::Key(key, offset) } else { Place::End }
    }

    /// The place behind the chunk at `place` of rows whose entry is `entry`.
    fn after(&self, place: Place, entry: u128) -> Place {
        match place {
            Place::Encoded(offset) => self.after_encoded(offset + ENTRY_KEY_BYTES),
            Place::Key(key, offset) => {
                let length = (entry >> ROW_BITS) as u8;
                let length = if self.keys[key].descending { !length } else { length };
                let is_string = matches!(self.columns[key].flat_values(), Some(Values::View(_)));
                if is_string && length == LENGTH_MORE {
                    self.key(key, offset + STRING_CHUNK_BYTES)
                } else {
                    self.key(key + 1, 0)
                }
            }
            Place::End => Place::End,
        }
    }

    /// Whether the keys there can be cut into chunks.
    fn has_chunks(&self, place: Place) -> bool {
        let Place::Key(key, _) = place else { return true };
        matches!(
            self.columns[key].flat_values(),
            Some(
                Values::View(_) | Values::I8(_) | Values::I16(_) | Values::I32(_) | Values::I64(_)
            )
        )
    }

    /// Puts the rows' chunks into their entries.
    fn fill(&self, place: Place, entries: &mut [u128]) {
        match place {
            Place::Encoded(offset) => {
                let width = self.layout.width();
                let taken = (width - offset).min(ENTRY_KEY_BYTES);
                fill(entries, |row| {
                    let start = row * width + offset;
                    let mut chunk = [0; ENTRY_KEY_BYTES];
                    chunk[..taken].copy_from_slice(&self.bytes[start..start + taken]);
                    chunk
                });
            }
            Place::Key(key, offset) => self.fill_key(key, offset, entries),
            Place::End => {}
        }
    }

    fn fill_key(&self, key: usize, offset: usize, entries: &mut [u128]) {
        let (column, key) = (&self.columns[key], self.keys[key]);
        let Some(values) = column.flat_values() else { return };
        let flip = if key.descending { 0xff } else { 0 };
        let null = if key.nulls_first { 0 } else { 2 };
        let nulls = column.null_buffer();
        let with_null = |row: usize, value: [u8; ENTRY_KEY_BYTES]| {
            if nulls.is_some_and(|it| it.is_null(row)) {
                let mut chunk = [flip; ENTRY_KEY_BYTES];
                chunk[0] = null;
                return chunk;
            }
            let mut chunk = value.map(|it| it ^ flip);
            chunk[0] = 1;
            chunk
        };
        match values {
            Values::View(strings) => {
                fill(entries, |row| with_null(row, string_chunk(strings, row, offset)));
            }
            Values::I8(it) => fill(entries, |row| with_null(row, number_chunk(it[row].into()))),
            Values::I16(it) => fill(entries, |row| with_null(row, number_chunk(it[row].into()))),
            Values::I32(it) => fill(entries, |row| with_null(row, number_chunk(it[row].into()))),
            Values::I64(it) => fill(entries, |row| with_null(row, number_chunk(it[row]))),
            _ => {}
        }
    }
}

fn fill(entries: &mut [u128], chunk: impl Fn(usize) -> [u8; ENTRY_KEY_BYTES]) {
    for entry in entries {
        let row = *entry as u32;
        let mut bytes = [0; 16];
        bytes[..ENTRY_KEY_BYTES].copy_from_slice(&chunk(row as usize));
        *entry = u128::from_be_bytes(bytes) | u128::from(row);
    }
}

/// The last byte of a chunk of a string that continues after it.
const LENGTH_MORE: u8 = 0xff;

/// Bytes of a string from `offset` on, padded with zeros, and how many these are; of strings that
/// end before, the length stands for that, so that the shorter one comes first.
fn string_chunk(strings: &StringValues, row: usize, offset: usize) -> [u8; ENTRY_KEY_BYTES] {
    let string = strings.bytes(row);
    let rest = string.get(offset..).unwrap_or(&[]);
    let taken = rest.len().min(STRING_CHUNK_BYTES);
    let mut chunk = [0; ENTRY_KEY_BYTES];
    chunk[1..1 + taken].copy_from_slice(&rest[..taken]);
    chunk[ENTRY_KEY_BYTES - 1] = match string.len() {
        len if len <= offset => len.min(STRING_CHUNK_BYTES * 2) as u8,
        _ if rest.len() > STRING_CHUNK_BYTES => LENGTH_MORE,
        _ => (STRING_CHUNK_BYTES * 2 + taken) as u8,
    };
    chunk
}

fn number_chunk(value: i64) -> [u8; ENTRY_KEY_BYTES] {
    let mut chunk = [0; ENTRY_KEY_BYTES];
    chunk[1..9].copy_from_slice(&(value ^ i64::MIN).to_be_bytes());
    chunk
}
