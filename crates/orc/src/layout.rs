//! Which stored values the rows of a vector have: null rows store none, and not all rows are
//! wanted.

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer};
use std::borrow::Cow;

/// The place of null rows: beyond all stored values.
pub(crate) const NO_PLACE: u32 = u32::MAX;

/// The rows of a result among those that are read.
pub(crate) struct Layout<'a> {
    /// Rows of the result.
    pub len: usize,
    /// Values that are stored for the rows that are read.
    pub stored: usize,
    /// For each row of the result, which stored value it has; `None`: all, in order.
    pub places: Option<Cow<'a, [u32]>>,
    pub nulls: Option<NullBuffer>,
}

impl<'a> Layout<'a> {
    /// The layout of those at `selection` (ascending; `None`: all) of `rows` rows that are stored
    /// where `valid` is set (`None`: everywhere).
    pub fn new(
        rows: usize,
        valid: Option<&BooleanBuffer>,
        selection: Option<&'a [u32]>,
    ) -> Layout<'a> {
        let len = selection.map_or(rows, <[u32]>::len);
        match (valid, selection) {
            (None, None) => Layout { len, stored: rows, places: None, nulls: None },
            (None, Some(selection)) => {
                Layout { len, stored: rows, places: Some(Cow::Borrowed(selection)), nulls: None }
            }
            (Some(valid), None) => {
                let (mut places, mut stored) = (Vec::with_capacity(rows), 0);
                for is_valid in valid {
                    places.push(if is_valid { stored } else { NO_PLACE });
                    stored += u32::from(is_valid);
                }
                let nulls = NullBuffer::new(valid.clone());
                Layout::with_nulls(places, stored as usize, nulls)
            }
            (Some(valid), Some(selection)) => Layout::of_selection(valid, selection),
        }
    }

    fn of_selection(valid: &BooleanBuffer, selection: &[u32]) -> Layout<'a> {
        let mut places = Vec::with_capacity(selection.len());
        let mut bits = BooleanBufferBuilder::new(selection.len());
        let (mut stored, mut passed) = (0, 0);
        for row in selection {
            let row = *row as usize;
            stored += valid.slice(passed, row - passed).count_set_bits() as u32;
            let is_valid = valid.value(row);
            places.push(if is_valid { stored } else { NO_PLACE });
            bits.append(is_valid);
            stored += u32::from(is_valid);
            passed = row + 1;
        }
        stored += valid.slice(passed, valid.len() - passed).count_set_bits() as u32;
        Layout::with_nulls(places, stored as usize, NullBuffer::new(bits.finish()))
    }

    fn with_nulls(places: Vec<u32>, stored: usize, nulls: NullBuffer) -> Layout<'a> {
        let nulls = Some(nulls).filter(|it| it.null_count() > 0);
        Layout { len: places.len(), stored, places: Some(places.into()), nulls }
    }

    /// One value per row of the result, from the stored values; the default in null rows.
    pub fn gather<T: Copy, U: Copy + Default>(
        &self,
        stored: &[T],
        convert: impl Fn(T) -> U,
    ) -> Vec<U> {
        match &self.places {
            None => stored.iter().map(|it| convert(*it)).collect(),
            Some(places) => {
                let value = |place: &u32| stored.get(*place as usize).map(|it| convert(*it));
                places.iter().map(|it| value(it).unwrap_or_default()).collect()
            }
        }
    }

    /// As [`Layout::gather`], of values that may not fit: `None` then.
    pub fn gather_checked<T: Copy, U: Copy + Default>(
        &self,
        stored: &[T],
        convert: impl Fn(T) -> Option<U>,
    ) -> Option<Vec<U>> {
        let mut fits = true;
        let mut value = |it: &T| {
            let value = convert(*it);
            fits &= value.is_some();
            value.unwrap_or_default()
        };
        let values = match &self.places {
            None => stored.iter().map(value).collect(),
            Some(places) => {
                let mut at = |place: &u32| stored.get(*place as usize).map(&mut value);
                places.iter().map(|it| at(it).unwrap_or_default()).collect()
            }
        };
        fits.then_some(values)
    }

    /// Calls `take` with each row of the result that is not null and its stored value's place.
    pub fn for_each(&self, mut take: impl FnMut(usize, usize)) {
        match &self.places {
            None => (0..self.len).for_each(|it| take(it, it)),
            Some(places) => {
                for (row, place) in places.iter().enumerate() {
                    if *place != NO_PLACE {
                        take(row, *place as usize);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(layout: &Layout) -> Vec<Option<usize>> {
        let mut places = vec![None; layout.len];
        layout.for_each(|row, place| places[row] = Some(place));
        places
    }

    #[test]
    fn rows_find_their_stored_values() {
        let valid = BooleanBuffer::from(vec![true, false, true, true, false, true]);
        let layout = Layout::new(6, Some(&valid), None);
        assert_eq!(places(&layout), [Some(0), None, Some(1), Some(2), None, Some(3)]);
        assert_eq!((layout.stored, layout.nulls.as_ref().unwrap().null_count()), (4, 2));
        let layout = Layout::new(6, Some(&valid), Some(&[1, 3]));
        assert_eq!((places(&layout), layout.stored), (vec![None, Some(2)], 4));
        assert_eq!(layout.gather(&[10, 20, 30, 40], |it| it + 1), [0, 31]);
        assert!(layout.gather_checked(&[1, 2, -1, 4], |it| u8::try_from(it).ok()).is_none());
        let layout = Layout::new(6, Some(&valid), Some(&[0, 5]));
        assert!(layout.nulls.is_none());
        assert_eq!(places(&layout), [Some(0), Some(3)]);
        let layout = Layout::new(6, None, Some(&[4]));
        assert_eq!((places(&layout), layout.stored), (vec![Some(4)], 6));
        assert_eq!(places(&Layout::new(2, None, None)), [Some(0), Some(1)]);
        assert_eq!(Layout::new(0, None, Some(&[])).len, 0);
    }
}
