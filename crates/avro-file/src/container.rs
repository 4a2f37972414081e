//! The header of a file, and its blocks.
//!
//! ```text
//! header   "Obj", 1; entries: number (if negative, followed by their bytes), then key and value of
//!          each with their lengths; 0 at the end; marker of 16 bytes
//! block    number of rows, number of bytes, the bytes, marker
//! ```
//!
//! Numbers are zigzag-encoded, 7 bits per byte, the lowest first. Source: Avro specification 1.12,
//! Object Container Files.

use crate::{codec::Codec, corruption};
use volley_error::Result;

/// What stands at the end of the header and of each block.
pub(crate) type Marker = [u8; 16];

/// Bytes of two numbers, at most.
pub(crate) const BLOCK_HEAD_BYTES: usize = 20;

/// What the header says.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    /// The schema as JSON.
    pub schema: String,
    pub codec: Codec,
    pub marker: Marker,
    /// Where the first block begins.
    pub bytes: u64,
}

/// The head of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHead {
    /// Rows in it.
    pub rows: u64,
    /// Bytes of its rows.
    pub bytes: usize,
    /// Bytes of the head itself.
    pub head_bytes: usize,
}

/// Takes numbers and texts from bytes; `None` when they end early.
struct Cursor<'b> {
    bytes: &'b [u8],
    position: usize,
}

impl<'b> Cursor<'b> {
    fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let end = self.position.checked_add(len)?;
        let bytes = self.bytes.get(self.position..end)?;
        self.position = end;
        Some(bytes)
    }

    /// A number; the error is that of one with too many bytes.
    fn number(&mut self) -> Result<Option<i64>> {
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            let Some([byte]) = self.take(1) else { return Ok(None) };
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(Some((value >> 1) as i64 ^ -((value & 1) as i64)));
            }
        }
        Err(corruption("a number of too many bytes"))
    }

    fn text(&mut self) -> Result<Option<&'b [u8]>> {
        let Some(len) = self.number()? else { return Ok(None) };
        let len = usize::try_from(len).map_err(|_| corruption("a negative length"))?;
        Ok(self.take(len))
    }
}

/// The header; `None` when the bytes end before it does.
///
/// # Errors
///
/// Corruption: another kind of file. Unsupported: a codec.
pub(crate) fn read_header(bytes: &[u8]) -> Result<Option<Header>> {
    let mut from = Cursor { bytes, position: 0 };
    match from.take(4) {
        Some(b"Obj\x01") => {}
        _ => return Err(corruption("it does not begin with Obj and the version 1")),
    }
    let (mut schema, mut codec) = (None, Codec::None);
    loop {
        let Some(mut entries) = from.number()? else { return Ok(None) };
        if entries == 0 {
            break;
        }
        if entries < 0 {
            entries = entries.checked_neg().ok_or_else(|| corruption("a number of entries"))?;
            if from.number()?.is_none() {
                return Ok(None);
            }
        }
        for _ in 0..entries {
            let Some(key) = from.text()? else { return Ok(None) };
            let Some(value) = from.text()? else { return Ok(None) };
            match key {
                b"avro.schema" => {
                    let text = std::str::from_utf8(value);
                    schema = Some(text.map_err(|_| corruption("a schema that is not UTF-8"))?);
                }
                b"avro.codec" => codec = Codec::of_name(value)?,
                _ => {}
            }
        }
    }
    let Some(marker) = from.take(16).and_then(|it| it.first_chunk()) else { return Ok(None) };
    let schema = schema.ok_or_else(|| corruption("a header without a schema"))?.to_owned();
    Ok(Some(Header { schema, codec, marker: *marker, bytes: from.position as u64 }))
}

/// The head of a block; `None` when the bytes end before it does.
///
/// # Errors
///
/// Corruption: negative numbers.
pub(crate) fn read_block_head(bytes: &[u8]) -> Result<Option<BlockHead>> {
    let mut from = Cursor { bytes, position: 0 };
    let Some(rows) = from.number()? else { return Ok(None) };
    let Some(len) = from.number()? else { return Ok(None) };
    let wrong = |_| corruption("a negative number of rows or bytes");
    let (rows, bytes) = (u64::try_from(rows).map_err(wrong)?, usize::try_from(len).map_err(wrong)?);
    Ok(Some(BlockHead { rows, bytes, head_bytes: from.position }))
}

/// Where a marker begins first.
pub(crate) fn find_marker(bytes: &[u8], marker: &Marker) -> Option<usize> {
    bytes.windows(marker.len()).position(|it| it == marker)
}

/// Whether the lists and maps of a schema have values with bytes: few bytes state at most as many
/// values.
pub(crate) fn has_bounded_lists(schema: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Object};
    match schema {
        Array(alternatives) => alternatives.iter().all(has_bounded_lists),
        Object(parts) => {
            let items = ["items", "values"].iter().filter_map(|it| parts.get(*it));
            items.clone().all(|it| has_bytes(it) && has_bounded_lists(it))
                && parts.get("type").is_none_or(has_bounded_lists)
                && parts
                    .get("fields")
                    .and_then(|it| it.as_array())
                    .into_iter()
                    .flatten()
                    .all(|field| field.get("type").is_none_or(has_bounded_lists))
        }
        _ => true,
    }
}

/// Whether each value of a type has a byte. Names of other types are not looked up: no.
fn has_bytes(schema: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Object, String};
    let primitives = ["boolean", "int", "long", "float", "double", "bytes", "string"];
    match schema {
        String(name) => primitives.contains(&name.as_str()),
        // The number of the alternative.
        Array(_) => true,
        Object(parts) => match parts.get("type").and_then(|it| it.as_str()) {
            Some("array" | "map" | "enum") => true,
            Some("fixed") => parts.get("size").and_then(|it| it.as_u64()).is_some_and(|it| it > 0),
            Some("record") => {
                let fields = parts.get("fields").and_then(|it| it.as_array());
                let has = |it: &serde_json::Value| it.get("type").is_some_and(has_bytes);
                fields.is_some_and(|it| it.iter().any(has))
            }
            Some(name) => primitives.contains(&name),
            None => parts.get("type").is_some_and(has_bytes),
        },
        _ => false,
    }
}
