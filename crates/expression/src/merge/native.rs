//! Merging fixed-width values: those of the part with the most rows, and those of the others over
//! them.

use volley_kernels::cpu::{self, Kernel};
use volley_types::Native;
use volley_vector::{Buffer, Decoded, Indices, Recycler, Rows, native_slice_mut};

/// The values of `len` rows; rows in no part hold anything. There is a part at least.
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
        _ => set_rows(merged, part),
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

#[cfg(test)]
mod tests {
    use super::*;
    use volley_types::{Type, Value};
    use volley_vector::{ScalarBuffer, Vector, random::Generator};

    /// A column of one of the encodings whose values differ from part to part.
    fn column<T: Native>(data_type: &Type, number: usize, len: usize, values: &[T]) -> Vector {
        let flat = || Vector::native::<T>(data_type.clone(), values.to_vec(), None);
        match number % 4 {
            0 => flat(),
            1 => Vector::repeat(flat().slice(0, 1), len),
            2 => {
                let codes: ScalarBuffer<u32> = (0..len as u32).rev().collect();
                Vector::dictionary(codes, flat().into(), None)
            }
            _ => Vector::nulls(data_type.clone(), len),
        }
    }

    fn check<T: Native>(data_type: &Type, value: impl Fn(usize) -> T) {
        let mut random = Generator::new(5);
        let mut recycler = Recycler::default();
        for len in [1, 63, 64, 65, 129, 1000] {
            for sparse in [2, 40] {
                let mut rows: Vec<Vec<usize>> = vec![Vec::new(); 5];
                for row in 0..len {
                    let part = if random.below(sparse) > 0 { 0 } else { 1 + random.below(4) };
                    rows[part].push(row);
                }
                let first = random.below(4);
                let columns: Vec<Vector> = (0..5)
                    .map(|part| {
                        let values: Vec<T> = (0..len).map(|row| value(part * 31 + row)).collect();
                        column(data_type, first + part, len, &values)
                    })
                    .collect();
                let rows: Vec<Rows> =
                    rows.into_iter().map(|it| Rows::from_indices(len, it)).collect();
                // The fifth part has rows that are not selected.
                let parts: Vec<(&Rows, Decoded)> = rows
                    .iter()
                    .zip(&columns)
                    .take(4)
                    .map(|(rows, column)| (rows, Decoded::new(column).unwrap()))
                    .collect();
                let merged = merge_native::<T>(len, &parts, &mut recycler);
                let merged = &merged.typed_data::<T>()[..len];
                let merged = Vector::native::<T>(data_type.clone(), merged.to_vec(), None);
                let merged = merged.to_values().unwrap();
                for (rows, column) in rows.iter().zip(&columns).take(4) {
                    let expected = column.to_values().unwrap();
                    rows.for_each(|row| {
                        if expected[row] != Value::Null {
                            assert_eq!(merged[row], expected[row], "{len} rows, row {row}");
                        }
                    });
                }
            }
        }
    }

    #[test]
    fn each_row_has_the_value_of_its_part() {
        check::<i8>(&Type::TinyInt, |it| it as i8);
        check::<i32>(&Type::Integer, |it| it as i32);
        check::<i64>(&Type::BigInt, |it| it as i64);
        check::<f64>(&Type::Double, |it| it as f64 / 3.0);
        check::<i128>(&Type::HugeInt, |it| it as i128);
    }
}
