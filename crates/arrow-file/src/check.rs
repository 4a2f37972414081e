//! Checks a message before it is decoded: lengths are within its bytes, and what compressed buffers
//! will have is known.

use crate::corruption;
use arrow_ipc::{Block, CompressionType, Message, MessageHeader, RecordBatch, root_as_message};
use std::ops::Range;
use volley_error::{Error, Result};

/// What stands before the length of a message, except in old files.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// An LZ4 frame of `n` bytes has at most this many times as many decompressed.
const LZ4_RATIO_MAX: u64 = 256;

/// A block of Zstandard takes at least 3 bytes, and has at most 128 KiB.
const ZSTD_RATIO_MAX: u64 = (128 << 10) / 3 + 1;

/// More rows than this in one message are not believed.
const ROWS_MAX: i64 = u32::MAX as i64;

/// The bytes of a message in the file.
///
/// # Errors
///
/// Corruption: they are not between the first bytes of the file and its footer.
pub(crate) fn block_range(block: &Block, footer_start: u64) -> Result<Range<u64>> {
    let part = |it: i64| u64::try_from(it).ok();
    let range = part(block.offset()).and_then(|start| {
        let metadata = part(i64::from(block.metaDataLength()))?;
        let end = start.checked_add(metadata)?.checked_add(part(block.bodyLength())?)?;
        (metadata >= 8 && start >= 8 && end <= footer_start).then_some(start..end)
    });
    range.ok_or_else(|| corruption("a message outside of the file"))
}

/// Checks a message of a block with its body. The bytes that its compressed buffers will take.
///
/// # Errors
///
/// Corruption.
pub(crate) fn check_message(block: &Block, bytes: &[u8]) -> Result<u64> {
    let wrong = || corruption("a message with other lengths than its block");
    let (metadata, body) =
        bytes.split_at_checked(block.metaDataLength() as usize).ok_or_else(wrong)?;
    let message = parse(metadata)?;
    match message.header_type() {
        MessageHeader::RecordBatch => {
            let batch = message.header_as_record_batch().ok_or_else(wrong)?;
            check_batch(&batch, body)
        }
        MessageHeader::DictionaryBatch => {
            let dictionary = message.header_as_dictionary_batch().ok_or_else(wrong)?;
            check_batch(&dictionary.data().ok_or_else(wrong)?, body)
        }
        _ => Err(corruption("a message of another kind")),
    }
}

fn parse(metadata: &[u8]) -> Result<Message<'_>> {
    let short = || corruption("a message that ends early");
    let rest = metadata.strip_prefix(&CONTINUATION).unwrap_or(metadata);
    let (length, rest) = rest.split_first_chunk().ok_or_else(short)?;
    let length = usize::try_from(i32::from_le_bytes(*length)).map_err(|_| short())?;
    if length > rest.len() {
        return Err(short());
    }
    // The reader takes all that follows the length.
    root_as_message(rest).map_err(|it| corruption("a message").at("flatbuffer", it))
}

fn check_batch(batch: &RecordBatch<'_>, body: &[u8]) -> Result<u64> {
    let is_count = |it: i64| (0..=ROWS_MAX).contains(&it);
    let are_counts = |it: &arrow_ipc::FieldNode| {
        is_count(it.length()) && (0..=it.length()).contains(&it.null_count())
    };
    if !is_count(batch.length()) || !batch.nodes().into_iter().flatten().all(are_counts) {
        return Err(corruption("a number of rows"));
    }
    let codec = batch.compression().map(|it| it.codec());
    let mut decompressed = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok();
        let end = start.and_then(|it| it.checked_add(usize::try_from(buffer.length()).ok()?));
        let bytes = start.zip(end).and_then(|(start, end)| body.get(start..end));
        let bytes = bytes.ok_or_else(|| corruption("a buffer outside of its message"))?;
        if let Some(codec) = codec.filter(|_| !bytes.is_empty()) {
            decompressed = decompressed.saturating_add(decompressed_bytes(codec, bytes)?);
        }
    }
    Ok(decompressed)
}

/// The bytes that a compressed buffer says that it has.
fn decompressed_bytes(codec: CompressionType, bytes: &[u8]) -> Result<u64> {
    let ratio = match codec {
        CompressionType::LZ4_FRAME => LZ4_RATIO_MAX,
        CompressionType::ZSTD => ZSTD_RATIO_MAX,
        other => return Err(Error::unsupported(format!("compression {other:?} in Arrow files"))),
    };
    let wrong = || corruption("the length of a compressed buffer");
    let (length, compressed) = bytes.split_first_chunk().ok_or_else(wrong)?;
    match i64::from_le_bytes(*length) {
        // Not compressed: it would be longer.
        -1 => Ok(0),
        length => {
            let length = u64::try_from(length).map_err(|_| wrong())?;
            let most = (compressed.len() as u64).saturating_mul(ratio);
            if length > most { Err(wrong()) } else { Ok(length) }
        }
    }
}
