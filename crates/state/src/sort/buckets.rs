//! Distributes entries by the first bits in which they differ: each bucket fits the cache and needs
//! no merging.

/// The most bits of a bucket's number: as many places are written to in turn.
const BITS_MAX: u32 = 11;

/// Buckets shall have about this many entries: 64 KiB.
const BUCKET_ROWS: usize = 4096;

/// One bucket is not sorted in one step when it has more entries than this.
const BUCKET_ROWS_MAX: usize = 128 << 10;

/// The bits of an entry below its key: the row number.
const ROW_BITS: u32 = 32;

/// Buckets of entries, in the order of their keys.
pub(super) struct Buckets {
    shift: u32,
    mask: u128,
    /// While entries are counted: how many each bucket has. Then: where the next one goes.
    places: Vec<u32>,
    /// Whether the bucket's number tells all that keys' bits do.
    is_complete: bool,
}

impl Buckets {
    /// Buckets for `rows` entries, of which any two differ in bits of `differing` at most; `None`
    /// when their keys are all the same.
    pub(super) fn new(rows: usize, differing: u128) -> Option<Buckets> {
        let differing = differing >> ROW_BITS;
        if differing == 0 {
            return None;
        }
        let wanted = (rows / BUCKET_ROWS).max(2).ilog2().clamp(1, BITS_MAX);
        let used = u128::BITS - differing.leading_zeros();
        let bits = wanted.min(used);
        let below = used - bits;
        Some(Buckets {
            shift: below + ROW_BITS,
            mask: (1 << bits) - 1,
            places: vec![0; 1 << bits],
            is_complete: differing & ((1 << below) - 1) == 0,
        })
    }

    /// Whether entries of one bucket have the same key bits.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    pub(super) fn count(&mut self, entries: &[u128]) {
        for entry in entries {
            self.places[(entry >> self.shift & self.mask) as usize] += 1;
        }
    }

    /// After the last entry was counted: whether no bucket is too large to be sorted in one step.
    pub(super) fn start(&mut self) -> bool {
        let largest = self.places.iter().copied().max().unwrap_or(0);
        let mut start = 0;
        for place in &mut self.places {
            start += std::mem::replace(place, start);
        }
        largest as usize <= BUCKET_ROWS_MAX
    }

    /// Puts entries into their buckets, in the order in which they come.
    pub(super) fn scatter(&mut self, entries: &[u128], target: &mut [u128]) {
        for entry in entries {
            let place = &mut self.places[(entry >> self.shift & self.mask) as usize];
            target[*place as usize] = *entry;
            *place += 1;
        }
    }

    /// After the last entry was put into its bucket: the number of buckets.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Where a bucket's entries stand.
    pub(super) fn range(&self, bucket: usize) -> std::ops::Range<usize> {
        let start = if bucket == 0 { 0 } else { self.places[bucket - 1] };
        start as usize..self.places[bucket] as usize
    }
}
