//! Splits in messages.
//!
//! ```text
//! u32 splits, then for each: u32 bytes, the bytes; u64 size; u32 readers; u32 bytes of the label,
//! the label; u32 hosts, then for each: u32 bytes, the name
//! ```

use crate::message::Input;
use std::sync::Arc;
use volley_connector::Split;

pub(crate) fn write(splits: &[Split], out: &mut Vec<u8>) {
    out.extend_from_slice(&(splits.len() as u32).to_le_bytes());
    for split in splits {
        push(&split.bytes, out);
        out.extend_from_slice(&split.size_bytes.to_le_bytes());
        out.extend_from_slice(&split.readers_max.to_le_bytes());
        push(split.label.as_bytes(), out);
        out.extend_from_slice(&(split.hosts.len() as u32).to_le_bytes());
        split.hosts.iter().for_each(|it| push(it.as_bytes(), out));
    }
}

fn push(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

pub(crate) fn read(from: &mut Input<'_>) -> Option<Vec<Split>> {
    let count = from.u32()?;
    (0..count).map(|_| split(from)).collect()
}

fn split(from: &mut Input<'_>) -> Option<Split> {
    let bytes = pull(from)?.into();
    let size_bytes = from.u64()?;
    let readers_max = from.u32()?.max(1);
    let label = text(from)?;
    let count = from.u32()?;
    let hosts: Arc<[String]> = (0..count).map(|_| text(from)).collect::<Option<_>>()?;
    Some(Split { bytes, hosts, size_bytes, readers_max, label })
}

fn pull<'a>(from: &mut Input<'a>) -> Option<&'a [u8]> {
    let len = from.u32()?;
    from.take(len as usize)
}

fn text(from: &mut Input<'_>) -> Option<String> {
    String::from_utf8(pull(from)?.to_vec()).ok()
}
