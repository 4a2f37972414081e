//! Arrays of parts of an array: chunks, n-grams, combinations.

use super::doc;
use volley_error::{Error, Result};
use volley_function::{
    Registry,
    simple::{Any, Array, ArrayView, ArrayWriter},
};

/// The most parts that an array is split into.
const CHUNKS_MAX: usize = 10_000;

/// The maximum number of elements of a combination.
const COMBINED_MAX: usize = 5;

/// The maximum number of elements of all combinations of an array.
const COMBINATIONS_ELEMENTS_MAX: u64 = 100_000;

/// The maximum number of elements of all n-grams of an array.
const NGRAMS_ELEMENTS_MAX: usize = 10_000_000;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    registry.simple(
        "presto.array_split_into_chunks",
        doc(
            "array_split_into_chunks(array, size) -> array of arrays",
            "The array cut into arrays of `size` elements; the last one may be shorter.",
            &[("array_split_into_chunks(ARRAY[1, 2, 3], 2)", "[[1, 2], [3]]")],
        ),
        |array: ArrayView<Any<0>>, size: i64, out: &mut ArrayWriter<Array<Any<0>>>| -> Result<()> {
            let size = positive(size).ok_or_else(|| {
                let message = format!("invalid slice size: {size}");
                Error::invalid_value(message).hint("it must be greater than zero")
            })?;
            if array.len() / size > CHUNKS_MAX {
                let message = format!("cannot split array of size: {} into more than", array.len());
                return Err(Error::invalid_value(format!("{message} {CHUNKS_MAX} parts")));
            }
            write_parts(array, (0..array.len()).step_by(size), size, out);
            Ok(())
        },
    );
    registry.simple(
        "presto.ngrams",
        doc(
            "ngrams(array, n) -> array of arrays",
            "All n elements that follow each other; the array itself when it has no more than n.",
            &[("ngrams(ARRAY['a', 'b', 'c'], 2)", "[[a, b], [b, c]]")],
        ),
        |array: ArrayView<Any<0>>, n: i64, out: &mut ArrayWriter<Array<Any<0>>>| -> Result<()> {
            let n = positive(n).ok_or_else(|| {
                Error::invalid_value(format!("n of ngrams must be positive: {n}"))
            })?;
            let count = array.len().saturating_sub(n) + 1;
            let size = n.min(array.len());
            if count.saturating_mul(size) > NGRAMS_ELEMENTS_MAX {
                let message = "the ngrams have more elements than";
                return Err(Error::invalid_value(format!("{message} {NGRAMS_ELEMENTS_MAX}")));
            }
            write_parts(array, 0..count, size, out);
            Ok(())
        },
    );
    registry.simple(
        "presto.combinations",
        doc(
            "combinations(array, n) -> array of arrays",
            "All choices of n places of the array, which are at most 5. Choices are in order of \
             their last place, then of the one before.",
            &[("combinations(ARRAY['a', 'b', 'c'], 2)", "[[a, b], [a, c], [b, c]]")],
        ),
        |array: ArrayView<Any<0>>, n: i64, out: &mut ArrayWriter<Array<Any<0>>>| -> Result<()> {
            let size = combination_size(n, array.len())?;
            write_combinations(array, size, out);
            Ok(())
        },
    );
}

fn positive(size: i64) -> Option<usize> {
    // More than an array can have is as good as that.
    (size > 0).then(|| usize::try_from(size).unwrap_or(usize::MAX))
}

/// The parts of `size` elements, or of all, that begin at `starts`.
fn write_parts(
    array: ArrayView<'_, Any<0>>,
    starts: impl Iterator<Item = usize>,
    size: usize,
    out: &mut ArrayWriter<Array<Any<0>>>,
) {
    for start in starts {
        let end = array.len().min(start.saturating_add(size));
        out.push_with(|part| part.extend((start..end).map(|it| array.get(it))));
    }
}

fn combination_size(n: i64, len: usize) -> Result<usize> {
    if n < 0 {
        let message = format!("combination size must not be negative: {n}");
        return Err(Error::invalid_value(message));
    }
    let size = usize::try_from(n).unwrap_or(usize::MAX);
    if size > COMBINED_MAX {
        let message = format!("combination size must not exceed {COMBINED_MAX}: {n}");
        return Err(Error::invalid_value(message));
    }
    // Each product is a binomial coefficient, and so divisible; five factors of 31 bits fit.
    let mut count = 1u128;
    for it in 0..size.min(len) {
        count = count * (len - it) as u128 / (it as u128 + 1);
    }
    if count * size as u128 > u128::from(COMBINATIONS_ELEMENTS_MAX) {
        return Err(Error::invalid_value("combinations exceed max size")
            .hint(format!("they may have {COMBINATIONS_ELEMENTS_MAX} elements together")));
    }
    Ok(size)
}

fn write_combinations(
    array: ArrayView<'_, Any<0>>,
    size: usize,
    out: &mut ArrayWriter<Array<Any<0>>>,
) {
    if size > array.len() {
        return;
    }
    // One more, beyond the last place.
    let mut places: Vec<usize> = (0..size).chain([array.len()]).collect();
    loop {
        let chosen = places.iter().take(size);
        out.push_with(|part| part.extend(chosen.map(|it| array.get(*it))));
        // The first place that can move on does; those before it begin again.
        let mut neighbors = places.windows(2);
        let Some(moved) = neighbors.position(|it| it[0] + 1 < it[1]) else { return };
        places[moved] += 1;
        places.iter_mut().take(moved).enumerate().for_each(|(at, it)| *it = at);
    }
}
