//! Merging fixed-width values: those of the part with the most rows, and those of the others over
//! them.

use volley_kernels::cpu::{self, Kernel};
use volley_types::Native;
use volley_vector::{Buffer, Decoded, Indices, Recycler, Rows, native_slice_mut};

/// The values of `len` rows; rows in no part hold anything.
pub(super) fn merge_native<T: Native>(
    len: usize,
    parts: &[(&Rows, Decoded)],
    recycler: &mut Recycler,
) -> Buffer {
    let mut bytes = recycler.take(len * size_of::<T>());
    let merged = native_slice_mut::<T>(&mut bytes);
    let largest = (0..parts.len()).max_by_key(|part| parts[*part].0.count());
    if let Some(largest) = largest {
        set_all(merged, &parts[largest]);
        let others = parts.iter().enumerate().filter(|(part, _)| *part != largest);
        others.for_each(|(_, part)| set_rows(merged, part));
    }
    let merged = bytes.into();
    recycler.keep(&merged);
    merged
}

/// Sets the rows of a part, and others to anything.
fn set_all<T: Native>(merged: &mut [T], part: &(&Rows, Decoded)) {
    let values = part.1.native::<T>();
    match part.1.indices() {
        Indices::Identity if values.len() >= merged.len() => {
            merged.copy_from_slice(&values[..merged.len()]);
        }
        Indices::Constant(index) if !values.is_empty() => merged.fill(values[*index as usize]),
        _ => {
            merged.fill(T::default());
            set_rows(merged, part);
        }
    }
}

/// Sets the rows of a part.
fn set_rows<T: Native>(merged: &mut [T], (rows, part): &(&Rows, Decoded)) {
    let (values, words) = (part.native::<T>(), rows.words());
    match part.indices() {
        // All are null.
        _ if values.is_empty() => {}
        Indices::Identity => {
            cpu::dispatch(SetRows { merged, words, source: Source::Column(values) });
        }
        Indices::Constant(index) => {
            let source = Source::Repeated([values[*index as usize]; LANES]);
            cpu::dispatch(SetRows { merged, words, source });
        }
        Indices::Codes(codes) => {
            rows.for_each(|row| merged[row] = values[codes[row] as usize]);
        }
    }
}

/// Rows of a word of [`Rows`].
const LANES: usize = 64;

/// With fewer rows in a word, they are set one by one.
const SELECTED_MIN: u32 = 6;

/// Where values come from, by row.
enum Source<'a, T> {
    Column(&'a [T]),
    Repeated([T; LANES]),
}

struct SetRows<'a, T> {
    merged: &'a mut [T],
    words: &'a [u64],
    source: Source<'a, T>,
}

impl<T: Native> Kernel for SetRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let chunks = self.merged.chunks_mut(LANES).zip(self.words).enumerate();
        for (chunk, (merged, &word)) in chunks.filter(|(_, (_, word))| **word != 0) {
            let values = match &self.source {
                Source::Column(values) => &values[chunk * LANES..],
                Source::Repeated(values) => values,
            };
            match (merged.as_mut_array(), values.first_chunk()) {
                (Some(merged), Some(values)) if word.count_ones() >= SELECTED_MIN => {
                    select::<T>(merged, values, word);
                }
                _ => set_each(merged, values, word),
            }
        }
    }
}

#[inline(always)]
fn select<T: Native>(merged: &mut [T; LANES], values: &[T; LANES], word: u64) {
    for lane in 0..LANES {
        let is_set = word >> lane & 1 != 0;
        merged[lane] = if is_set { values[lane] } else { merged[lane] };
    }
}

#[inline(always)]
fn set_each<T: Native>(merged: &mut [T], values: &[T], mut word: u64) {
    while word != 0 {
        let lane = word.trailing_zeros() as usize;
        merged[lane] = values[lane];
        word &= word - 1;
    }
}
