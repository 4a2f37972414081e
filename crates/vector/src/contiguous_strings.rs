//! Long strings that are contiguous in memory, for searching them at once.

use crate::{Buffer, INLINE_BYTES, StringValues, StringView};
use std::ops::Range;

/// Bytes between strings at most, such as a length in front of each.
const GAP_MAX: usize = 4;

/// Long strings one after the other in a buffer. Short ones among them are stored elsewhere.
#[derive(Clone, Debug)]
pub struct ContiguousStrings<'a> {
    /// The bytes of all of them, and the bytes between them.
    pub bytes: &'a [u8],
    /// Where `bytes` starts in its buffer.
    start: usize,
    views: &'a [u128],
    /// The rows from the first one to the last one.
    rows: Range<usize>,
}

impl<'a> ContiguousStrings<'a> {
    /// The row of each one, and its position in `bytes`.
    pub fn strings(&self) -> impl Iterator<Item = (usize, Range<usize>)> + use<'a> {
        let (views, start) = (self.views, self.start);
        self.rows.clone().filter(|row| is_long(views[*row])).map(move |row| {
            let (_, place) = place_of(views[row]);
            (row, place.start - start..place.end - start)
        })
    }
}

impl StringValues {
    /// All long strings, contiguous ones together, in the order of their rows.
    pub fn contiguous_strings(&self) -> impl Iterator<Item = ContiguousStrings<'_>> {
        contiguous_strings(&self.views, &self.buffers)
    }
}

/// The long strings among `views`, contiguous ones together.
pub(crate) fn contiguous_strings<'a>(
    views: &'a [u128],
    buffers: &'a [Buffer],
) -> impl Iterator<Item = ContiguousStrings<'a>> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let first = next;
        let mut together: Option<(u32, Range<usize>)> = None;
        while let Some(&view) = views.get(next) {
            if is_long(view) {
                let (buffer, place) = place_of(view);
                match &mut together {
                    None => together = Some((buffer, place)),
                    Some((of, all)) if *of == buffer && follows(all, &place) => all.end = place.end,
                    Some(_) => break,
                }
            }
            next += 1;
        }
        let (buffer, place) = together?;
        let bytes = buffers.get(buffer as usize).map_or(&[][..], |it| &it[place.clone()]);
        Some(ContiguousStrings { bytes, start: place.start, views, rows: first..next })
    })
}

fn follows(before: &Range<usize>, place: &Range<usize>) -> bool {
    (before.end..=before.end + GAP_MAX).contains(&place.start)
}

fn is_long(view: u128) -> bool {
    StringView::len_of(view) > INLINE_BYTES
}

/// The number of a long string's buffer, and the place in it.
fn place_of(view: u128) -> (u32, Range<usize>) {
    let (buffer, start) = StringView::position(view);
    (buffer, start as usize..start as usize + StringView::len_of(view))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_next_to_each_other_are_found_together() {
        let text = "0123456789abcdef".repeat(8);
        let buffers = [Buffer::from(text.as_bytes()), Buffer::from(text.as_bytes())];
        let view = |buffer: u32, place: Range<usize>| {
            StringView::new(&text.as_bytes()[place.clone()], buffer, place.start as u32)
        };
        let short = StringView::inline(b"short");
        let views = [
            short,
            view(0, 3..20),
            short,
            view(0, 24..40),
            // Too far after.
            view(0, 45..60),
            // Another buffer.
            view(1, 60..80),
            // Before the one above, and then the same again.
            view(1, 10..30),
            view(1, 10..30),
            short,
        ];
        let found: Vec<(usize, Vec<(usize, Range<usize>)>)> = contiguous_strings(&views, &buffers)
            .map(|it| (it.bytes.len(), it.strings().collect()))
            .collect();
        let expected = [
            (37, vec![(1, 0..17), (3, 21..37)]),
            (15, vec![(4, 0..15)]),
            (20, vec![(5, 0..20)]),
            (20, vec![(6, 0..20)]),
            (20, vec![(7, 0..20)]),
        ];
        assert_eq!(found, expected);
        assert_eq!(contiguous_strings(&[short; 3], &buffers).count(), 0);
        assert_eq!(contiguous_strings(&[], &buffers).count(), 0);
    }
}
