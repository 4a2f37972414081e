//! Where the rows of several batches go: lane by lane, one after the other.

use std::ops::Range;
use volley_kernels::scatter::{count_lanes, place_rows};

/// Bits of a lane begin at a multiple of this number of bits.
const LANE_BITS: usize = 8;

/// Rows of all batches, placed by lane.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The lane of each row.
    pub(super) lanes: Vec<u32>,
    /// The place of each row among all.
    pub(super) places: Vec<u32>,
    /// Where the rows of each lane begin; at last, the number of rows.
    starts: Vec<u32>,
    /// Where the bits of each lane begin, if every row has one; at last, the number of bits.
    bit_starts: Vec<usize>,
}

impl Layout {
    /// Forgets all rows; the memory is kept.
    pub(super) fn clear(&mut self) {
        self.lanes.clear();
        self.places.clear();
        self.starts.clear();
        self.bit_starts.clear();
    }

    /// Places the rows by their lanes. `lanes` is the number of lanes.
    pub(super) fn place(&mut self, lanes: usize) {
        let mut counts = vec![0; lanes];
        count_lanes(&self.lanes, &mut counts);
        self.starts.push(0);
        self.bit_starts.push(0);
        let (mut end, mut bit_end) = (0, 0usize);
        for count in counts {
            end += count;
            bit_end += (count as usize).next_multiple_of(LANE_BITS);
            self.starts.push(end);
            self.bit_starts.push(bit_end);
        }
        let mut next = self.starts.clone();
        self.places.resize(self.lanes.len(), 0);
        place_rows(&self.lanes, &mut next, &mut self.places);
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.places.len()
    }

    /// The number of lanes.
    pub(super) fn lane_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The first place of a lane, and the one after its last.
    pub(super) fn range(&self, lane: usize) -> (usize, usize) {
        (self.starts[lane] as usize, self.starts[lane + 1] as usize)
    }

    /// The bits of a lane.
    pub(super) fn bits(&self, lane: usize) -> Range<usize> {
        self.bit_starts[lane]..self.bit_starts[lane + 1]
    }

    /// The bits of all lanes.
    pub(super) fn all_bits(&self) -> usize {
        self.bit_starts.last().copied().unwrap_or(0)
    }
}
