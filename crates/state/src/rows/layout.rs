//! The layout of a row.
//!
//! ```text
//! 0        word: hash or normalized key (u64)
//! 8        next row with the same word (u64)     only with `RowLinks::Chained`
//! ..       columns, widest first
//! ..       one null bit per column (set: null)
//! ..       matched flag (1 byte)                 only with `RowLinks::Chained`
//! ..       aggregate states, aligned
//! ```

use volley_function::StateLayout;
use volley_types::{PhysicalType, Type};

/// Where the word stands.
pub(super) const WORD: usize = 0;

/// Where the address of the next row stands.
pub(super) const NEXT: usize = 8;

/// Whether rows form chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLinks {
    /// One row per key.
    Single,
    /// Rows of the same word are linked, and carry a flag that says whether they found a match.
    Chained,
}

/// The shape of the rows of one container.
#[derive(Debug)]
pub struct RowLayout {
    pub(super) columns: Vec<ColumnLayout>,
    pub(super) states: Vec<StateSlot>,
    /// Where the matched flag stands.
    pub(super) flag: Option<usize>,
    /// Bytes per row, a multiple of 8 (of 16 where a state needs it).
    pub(super) row_bytes: usize,
}

/// One column of a row.
#[derive(Debug)]
pub(super) struct ColumnLayout {
    pub(super) data_type: Type,
    pub(super) offset: usize,
    pub(super) null_byte: usize,
    pub(super) null_mask: u8,
}

/// One aggregate's state in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct StateSlot {
    pub(super) offset: usize,
    pub(super) layout: StateLayout,
}

impl RowLayout {
    /// Lays out rows of columns of `types` and aggregate `states`.
    pub fn new(types: &[Type], states: &[StateLayout], links: RowLinks) -> RowLayout {
        let mut end = if links == RowLinks::Chained { NEXT + 8 } else { WORD + 8 };
        let mut offsets = vec![0; types.len()];
        let mut order: Vec<usize> = (0..types.len()).collect();
        order.sort_by_key(|it| std::cmp::Reverse(width_of(types[*it].physical())));
        for column in order {
            offsets[column] = end;
            end += width_of(types[column].physical());
        }
        let nulls = end;
        end += types.len().div_ceil(8);
        let flag = (links == RowLinks::Chained).then_some(end);
        end += usize::from(flag.is_some());
        let mut row_align = 8;
        let states = states.iter().map(|layout| {
            let offset = end.next_multiple_of(layout.align);
            end = offset + layout.bytes;
            row_align = row_align.max(layout.align);
            StateSlot { offset, layout: *layout }
        });
        let states = states.collect();
        let columns = types.iter().enumerate().map(|(column, data_type)| ColumnLayout {
            data_type: data_type.clone(),
            offset: offsets[column],
            null_byte: nulls + column / 8,
            null_mask: 1 << (column % 8),
        });
        let columns = columns.collect();
        RowLayout { columns, states, flag, row_bytes: end.next_multiple_of(row_align) }
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }
}

/// Bytes that a column takes in a row.
fn width_of(physical: PhysicalType) -> usize {
    match physical {
        PhysicalType::Null => 0,
        PhysicalType::Boolean | PhysicalType::I8 => 1,
        PhysicalType::I16 => 2,
        PhysicalType::I32 | PhysicalType::F32 => 4,
        PhysicalType::I64 | PhysicalType::F64 => 8,
        PhysicalType::I128 | PhysicalType::Interval | PhysicalType::View => 16,
        // Position in the side vector.
        PhysicalType::Array
        | PhysicalType::FixedArray
        | PhysicalType::Map
        | PhysicalType::Row
        | PhysicalType::Opaque => 4,
    }
}
