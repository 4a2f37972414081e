//! The streams of a stripe: where they are, which parts of them are needed, and the readers of
//! columns made of them.

use crate::{
    byte_rle::{BitRle, ByteRle},
    column::{ColumnReader, ListReader, ValueReader},
    compression::{BLOCK_BYTES_MAX, HEADER_BYTES},
    decimal::{Decimal64Reader, DecimalReader},
    error::corrupt,
    file::OrcFile,
    integer_rle::{IntegerRle, Sign, Version},
    metadata::{StripeFooter, StripeInformation, encoding, stream},
    row_index::StripeIndexes,
    schema::{Node, NodeKind},
    stream::{ByteStream, PLAIN_BLOCK_BYTES, StoredBytes},
    text::{Dictionary, DictionaryReader, DirectReader},
    timestamp::TimestampReader,
};
use bytes::Bytes;
use std::{collections::BTreeMap, ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_types::{PhysicalType, Zone};

/// Zones that mean UTC, which writers name in many ways.
const UTC_NAMES: [&str; 6] = ["", "UTC", "GMT", "Etc/UTC", "Z", "Etc/GMT"];

/// A stream by its column and kind.
pub(crate) type StreamKey = (usize, u64);

/// The streams of a stripe.
pub(crate) struct Streams {
    file: OrcFile,
    footer: StripeFooter,
    /// Where each is in the file.
    ranges: BTreeMap<StreamKey, Range<u64>>,
    /// What was read of them: places in the stream, ascending.
    parts: BTreeMap<StreamKey, Vec<(u64, Bytes)>>,
    pool: Pool,
}

impl Streams {
    /// The streams that the footer of a stripe names.
    pub fn new(
        file: OrcFile,
        stripe: &StripeInformation,
        footer: StripeFooter,
        pool: Pool,
    ) -> Result<Streams> {
        let (mut ranges, mut start) = (BTreeMap::new(), stripe.offset);
        for it in &footer.streams {
            let end = start.checked_add(it.bytes).filter(|it| *it <= stripe.streams_end());
            let end = end.ok_or_else(|| corrupt("stream beyond its stripe"))?;
            if let Ok(column) = usize::try_from(it.column) {
                ranges.insert((column, it.kind), start..end);
            }
            start = end;
        }
        if footer.encodings.len() < file.types() {
            return Err(corrupt("stripe footer without the encoding of every column"));
        }
        Ok(Streams { file, footer, ranges, parts: BTreeMap::new(), pool })
    }

    /// Where a stream is in the file.
    pub fn range(&self, key: StreamKey) -> Option<Range<u64>> {
        self.ranges.get(&key).cloned()
    }

    /// Keeps what was read of a stream.
    pub fn insert(&mut self, key: StreamKey, start: u64, bytes: Bytes) {
        self.parts.entry(key).or_default().push((start, bytes));
    }

    /// What is needed of the streams of `node`: with each stream, a place in it and where that is
    /// in the file. `groups`: the row groups that are read, ascending, unless all are.
    pub fn needed(
        &self,
        node: &Node,
        groups: Option<&[Range<usize>]>,
        indexes: &StripeIndexes,
    ) -> Vec<(StreamKey, u64, Range<u64>)> {
        let mut needed = Vec::new();
        for node in nodes_of(node) {
            for (place, kind) in self.data_streams(node) {
                let key = (node.column, kind);
                let Some(range) = self.range(key) else { continue };
                let len = range.end - range.start;
                let whole = std::iter::once(0..len).collect();
                let parts = match (groups, place) {
                    (Some(groups), Some(place)) => {
                        self.parts_for(node.column, place, len, groups, indexes).unwrap_or(whole)
                    }
                    _ => whole,
                };
                for part in parts.into_iter().filter(|it| !it.is_empty()) {
                    let (start, end) = (range.start + part.start, range.start + part.end);
                    needed.push((key, part.start, start..end));
                }
            }
        }
        needed
    }

    /// The kinds of streams of a node that hold data, and which number of a position is the place
    /// in the stream; `None`: the stream is needed in any case.
    fn data_streams(&self, node: &Node) -> Vec<(Option<usize>, u64)> {
        let has_present = self.range((node.column, stream::PRESENT)).is_some();
        // Each stream with the numbers of its position that count values, in the order of
        // positions.
        let mut counts: Vec<(u64, usize)> = Vec::new();
        counts.extend(has_present.then_some((stream::PRESENT, 2)));
        let is_dictionary = self.is_dictionary(node.column);
        counts.extend_from_slice(match node.kind {
            NodeKind::Boolean => &[(stream::DATA, 2)],
            NodeKind::Byte | NodeKind::Integer | NodeKind::Union => &[(stream::DATA, 1)],
            NodeKind::Float | NodeKind::Double => &[(stream::DATA, 0)],
            NodeKind::Text | NodeKind::Bytes if is_dictionary => &[(stream::DATA, 1)],
            NodeKind::Text | NodeKind::Bytes => &[(stream::DATA, 0), (stream::LENGTH, 1)],
            NodeKind::Timestamp | NodeKind::Instant => &[(stream::DATA, 1), (stream::SECONDARY, 1)],
            NodeKind::Decimal if self.is_decimal64(node) => &[(stream::DATA, 1)],
            NodeKind::Decimal => &[(stream::DATA, 0), (stream::SECONDARY, 1)],
            NodeKind::List | NodeKind::Map => &[(stream::LENGTH, 1)],
            NodeKind::Struct | NodeKind::Missing => &[],
        });
        let numbers = if self.file.compression().codec.is_some() { 2 } else { 1 };
        let mut streams = Vec::new();
        let mut next = 0;
        for (kind, counts) in counts {
            streams.push((Some(next), kind));
            next += numbers + counts;
        }
        if is_dictionary && matches!(node.kind, NodeKind::Text | NodeKind::Bytes) {
            streams.extend([(None, stream::DICTIONARY_DATA), (None, stream::LENGTH)]);
        }
        streams
    }

    /// The parts of a stream of `len` bytes that hold `groups`, from the positions of the row
    /// index;
    /// `None` if they do not tell.
    fn parts_for(
        &self,
        column: usize,
        place: usize,
        len: u64,
        groups: &[Range<usize>],
        indexes: &StripeIndexes,
    ) -> Option<Vec<Range<u64>>> {
        let compression = self.file.compression();
        let at = |group: usize| indexes.positions(column, group)?.get(place).copied();
        let mut parts: Vec<Range<u64>> = Vec::new();
        for range in groups {
            let (mut start, mut end) = (at(range.start)?.min(len), len);
            if range.end < indexes.groups() {
                // The block that the next row group begins in has values of this one.
                let block = match compression.codec {
                    Some(_) => (HEADER_BYTES + compression.block_bytes.min(BLOCK_BYTES_MAX)) as u64,
                    None => PLAIN_BLOCK_BYTES,
                };
                end = at(range.end)?.saturating_add(block).min(len);
            }
            if compression.codec.is_none() {
                start -= start % PLAIN_BLOCK_BYTES;
                end = end.next_multiple_of(PLAIN_BLOCK_BYTES).min(len);
            }
            match parts.last_mut().filter(|it| it.end >= start) {
                Some(last) => last.end = last.end.max(end),
                None => parts.push(start..end.max(start)),
            }
        }
        Some(parts)
    }

    /// The reader of a column.
    pub fn reader(&self, node: &Node) -> Result<ColumnReader> {
        let present = self.range((node.column, stream::PRESENT)).is_some();
        let present = present.then(|| BitRle::new(self.open(node, stream::PRESENT)));
        let present = present.filter(|_| node.kind != NodeKind::Missing);
        let values = self.values(node)?;
        Ok(ColumnReader { column: node.column, data_type: node.data_type.clone(), present, values })
    }

    fn values(&self, node: &Node) -> Result<ValueReader> {
        let open = |kind| self.open(node, kind);
        let version = self.version(node)?;
        let integers = |kind, sign| IntegerRle::new(open(kind), version, sign);
        let children =
            || node.children.iter().map(|it| self.reader(it)).collect::<Result<Vec<_>>>();
        Ok(match node.kind {
            NodeKind::Boolean => ValueReader::Boolean(BitRle::new(open(stream::DATA))),
            NodeKind::Byte => ValueReader::Byte(ByteRle::new(open(stream::DATA)), Vec::new()),
            NodeKind::Integer => {
                ValueReader::Integer(integers(stream::DATA, Sign::Signed), Vec::new())
            }
            NodeKind::Float => ValueReader::Float(open(stream::DATA)),
            NodeKind::Double => ValueReader::Double(open(stream::DATA)),
            NodeKind::Text | NodeKind::Bytes => self.texts(node, version)?,
            NodeKind::Timestamp | NodeKind::Instant => ValueReader::Timestamp(TimestampReader {
                seconds: integers(stream::DATA, Sign::Signed),
                nanos: integers(stream::SECONDARY, Sign::Unsigned),
                zone: self.zone(node.kind)?,
                seconds_buffer: Vec::new(),
                nanos_buffer: Vec::new(),
            }),
            NodeKind::Decimal if self.is_decimal64(node) => {
                let values = integers(stream::DATA, Sign::Signed);
                ValueReader::Decimal64(Decimal64Reader { values, buffer: Vec::new() })
            }
            NodeKind::Decimal => ValueReader::Decimal(DecimalReader {
                values: open(stream::DATA),
                scales: integers(stream::SECONDARY, Sign::Signed),
                buffer: Vec::new(),
                scales_buffer: Vec::new(),
            }),
            NodeKind::List | NodeKind::Map => ValueReader::List(ListReader {
                lengths: integers(stream::LENGTH, Sign::Unsigned),
                buffer: Vec::new(),
                children: children()?,
                reservation: self.pool.reservation(),
            }),
            NodeKind::Struct => ValueReader::Struct(children()?),
            NodeKind::Union => ValueReader::Union(ByteRle::new(open(stream::DATA)), children()?),
            NodeKind::Missing => ValueReader::Missing,
        })
    }

    fn texts(&self, node: &Node, version: Version) -> Result<ValueReader> {
        let integers = |kind| IntegerRle::new(self.open(node, kind), version, Sign::Unsigned);
        if !self.is_dictionary(node.column) {
            return Ok(ValueReader::Direct(DirectReader {
                lengths: integers(stream::LENGTH),
                bytes: self.open(node, stream::DATA),
                buffer: Vec::new(),
            }));
        }
        let entries = self.footer.encodings.get(node.column).map_or(0, |it| it.dictionary_size);
        let entries = u32::try_from(entries)
            .map_err(|_| corrupt(format!("dictionary of {entries} entries")))?;
        let dictionary = Dictionary::Stored {
            lengths: integers(stream::LENGTH),
            bytes: self.open(node, stream::DICTIONARY_DATA),
            entries: entries as usize,
        };
        Ok(ValueReader::Dictionary(DictionaryReader {
            codes: integers(stream::DATA),
            dictionary,
            buffer: Vec::new(),
            reservation: self.pool.reservation(),
        }))
    }

    /// A stream of a node; an empty one if it is not there, as where all rows are null.
    fn open(&self, node: &Node, kind: u64) -> ByteStream {
        let key = (node.column, kind);
        let range = self.range(key).unwrap_or(0..0);
        let parts = self.parts.get(&key).cloned().unwrap_or_default();
        let stored = StoredBytes::new(Arc::clone(self.file.file()), range, parts);
        ByteStream::new(stored, self.file.compression(), self.pool.reservation())
    }

    fn encoding(&self, column: usize) -> u64 {
        self.footer.encodings.get(column).map_or(encoding::DIRECT, |it| it.kind)
    }

    fn is_dictionary(&self, column: usize) -> bool {
        matches!(self.encoding(column), encoding::DICTIONARY | encoding::DICTIONARY_V2)
    }

    fn is_decimal64(&self, node: &Node) -> bool {
        self.file.has_decimal64() && node.data_type.physical() == PhysicalType::I64
    }

    fn version(&self, node: &Node) -> Result<Version> {
        if self.is_decimal64(node) && node.kind == NodeKind::Decimal {
            return Ok(Version::V2);
        }
        match self.encoding(node.column) {
            encoding::DIRECT | encoding::DICTIONARY => Ok(Version::V1),
            encoding::DIRECT_V2 | encoding::DICTIONARY_V2 => Ok(Version::V2),
            other => Err(Error::unsupported(format!("ORC column encoding {other}"))),
        }
    }

    /// The zone in which clocks showed the timestamps; `None`: UTC.
    fn zone(&self, kind: NodeKind) -> Result<Option<Zone>> {
        let name = self.footer.time_zone.as_str();
        if kind == NodeKind::Instant || UTC_NAMES.contains(&name) {
            return Ok(None);
        }
        let unknown = || Error::unsupported(format!("timestamps of the time zone \"{name}\""));
        Zone::find(name).map(Some).ok_or_else(unknown)
    }
}

/// A node and those below it that are stored.
fn nodes_of(node: &Node) -> Vec<&Node> {
    let (mut nodes, mut rest) = (Vec::new(), vec![node]);
    while let Some(node) = rest.pop() {
        if node.kind != NodeKind::Missing {
            nodes.push(node);
        }
        rest.extend(node.children.iter().rev());
    }
    nodes
}
