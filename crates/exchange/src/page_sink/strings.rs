//! A column of strings of all lanes: views by place, and the long strings of each lane next to each
//! other.

use super::{
    lane_column::{for_each, other_layout},
    layout::Layout,
};
use std::sync::Arc;
use volley_error::{Error, ErrorKind, Result};
use volley_kernels::scatter::{COPY_SLACK, copy_string};
use volley_vector::{
    Buffer, Decoded, INLINE_BYTES, Indices, ScalarBuffer, StringValues, StringView, Values,
};

/// The bit of a view at which the number of its buffer begins; its offset follows.
const POSITION_SHIFT: u32 = 64;

/// Strings in the order of places.
pub(super) struct LaneStrings {
    views: ScalarBuffer<u128>,
    /// The long strings of each lane, in the order of its rows.
    long: Vec<Arc<[Buffer]>>,
    all_ascii: bool,
}

impl LaneStrings {
    pub(super) fn new(columns: &[Decoded<'_>], layout: &Layout) -> Result<LaneStrings> {
        let bytes = long_bytes(columns, layout)?;
        // The exact size of each lane is known: its strings begin after those of the lane before.
        let mut all = 0usize;
        let mut starts = Vec::with_capacity(bytes.len());
        for bytes in &bytes {
            u32::try_from(*bytes).map_err(|_| too_large())?;
            starts.push(all);
            all += *bytes + COPY_SLACK;
        }
        let mut long = vec![0u8; all];
        let mut views = vec![0u128; layout.rows()];
        copy_strings(columns, layout, &starts, &mut long, &mut views)?;
        let long = Buffer::from_vec(long);
        let long_of = |(start, bytes): (&usize, &usize)| -> Arc<[Buffer]> {
            match bytes {
                0 => [].into(),
                _ => [long.slice_with_length(*start, *bytes)].into(),
            }
        };
        let long = starts.iter().zip(&bytes).map(long_of).collect();
        let all_ascii = columns.iter().all(|it| match it.values() {
            Values::View(strings) => strings.knows_ascii() == Some(true),
            _ => true,
        });
        Ok(LaneStrings { views: views.into(), long, all_ascii })
    }

    /// The strings of `lane` from place `first` on.
    pub(super) fn slice(&self, lane: usize, first: usize, rows: usize) -> StringValues {
        let strings =
            StringValues::new(self.views.slice(first, rows), Arc::clone(&self.long[lane]));
        if self.all_ascii { strings.known_ascii() } else { strings }
    }
}

/// Writes the view of each row to its place, and its bytes, if it is long, to its lane's, which
/// begin at `starts` in `long`. A copy may overwrite what follows it: the strings of a lane are
/// written in order, and lanes have slack between them.
fn copy_strings(
    columns: &[Decoded<'_>],
    layout: &Layout,
    starts: &[usize],
    long: &mut [u8],
    views: &mut [u128],
) -> Result<()> {
    let mut next = starts.to_vec();
    for_each(columns, layout, |column, places, first| {
        if !has_long(column) {
            return for_each_view(column, |row, view, _| views[places[row] as usize] = view);
        }
        let lanes = &layout.lanes[first..first + places.len()];
        for_each_view(column, |row, view, buffers| {
            let mut view = view;
            let len = StringView::len_of(view);
            if len > INLINE_BYTES {
                let lane = lanes[row] as usize;
                let offset = next[lane];
                let (buffer, from) = StringView::position(view);
                copy_string(&buffers[buffer as usize], from as usize, len, long, offset);
                next[lane] = offset + len;
                let position = ((offset - starts[lane]) as u64) << 32;
                view = view & u128::from(u64::MAX) | u128::from(position) << POSITION_SHIFT;
            }
            views[places[row] as usize] = view;
        })
    })
}

/// Bytes of the long strings of each lane.
fn long_bytes(columns: &[Decoded<'_>], layout: &Layout) -> Result<Vec<usize>> {
    let mut bytes = vec![0usize; layout.lane_count()];
    for_each(columns, layout, |column, places, first| {
        if !has_long(column) {
            return Ok(());
        }
        let lanes = &layout.lanes[first..first + places.len()];
        for_each_view(column, |row, view, _| {
            let len = StringView::len_of(view);
            bytes[lanes[row] as usize] += if len > INLINE_BYTES { len } else { 0 };
        })
    })?;
    Ok(bytes)
}

/// Whether a string may be stored outside of its view.
fn has_long(column: &Decoded<'_>) -> bool {
    matches!(column.values(), Values::View(strings) if !strings.buffers.is_empty())
}

/// Calls `f` with the view of each row, an empty one for null rows, and the buffers.
#[inline(always)]
fn for_each_view(column: &Decoded<'_>, mut f: impl FnMut(usize, u128, &[Buffer])) -> Result<()> {
    let strings = match column.values() {
        Values::View(strings) => strings,
        Values::Null(_) => return Ok(()),
        _ => return Err(other_layout()),
    };
    let (views, buffers) = (&*strings.views, &*strings.buffers);
    let nulls = column.nulls();
    if let (None, Indices::Identity) = (&nulls, column.indices()) {
        views.iter().enumerate().for_each(|(row, view)| f(row, *view, buffers));
        return Ok(());
    }
    // All ones for valid rows, so that no branch depends on a null.
    let mask = |row: usize| match &nulls {
        Some(nulls) => u128::from(nulls.is_valid(row)).wrapping_neg(),
        None => u128::MAX,
    };
    match column.indices() {
        Indices::Identity => {
            for (row, view) in views.iter().enumerate() {
                f(row, view & mask(row), buffers);
            }
        }
        Indices::Codes(codes) => {
            for (row, code) in codes.iter().enumerate() {
                f(row, views[*code as usize] & mask(row), buffers);
            }
        }
        Indices::Constant(index) => {
            for row in 0..column.len() {
                f(row, views[*index as usize] & mask(row), buffers);
            }
        }
    }
    Ok(())
}

#[cold]
fn too_large() -> Error {
    Error::new(ErrorKind::OutOfMemory, "4 GiB of strings in one page")
        .hint("use a smaller batch_rows")
}
