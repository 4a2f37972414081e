//! The data buffers of strings that are combined from several vectors.

use crate::{INLINE_BYTES, StringValues, StringView, copy::too_large};
use arrow_buffer::Buffer;
use std::{collections::HashMap, sync::Arc};
use volley_error::Result;

/// Data buffers of several vectors of strings, each buffer once: a page of a dictionary often
/// follows many of them.
#[derive(Debug, Default)]
pub struct BufferList {
    buffers: Vec<Buffer>,
    /// The number of a buffer, by the bytes that it is.
    known: HashMap<(usize, usize), u32>,
}

/// How views must be changed when their buffers have joined a [`BufferList`].
#[derive(Clone, Debug)]
pub enum Renumbered {
    /// Numbers are greater by this.
    By(u32),
    /// The new number of each buffer.
    To(Vec<u32>),
}

impl BufferList {
    /// Adds the buffers of `strings`.
    ///
    /// # Errors
    ///
    /// If there are more than 32 bits can count.
    pub fn add(&mut self, strings: &StringValues) -> Result<Renumbered> {
        let mut numbers = Vec::with_capacity(strings.buffers.len());
        for buffer in &*strings.buffers {
            let next =
                u32::try_from(self.buffers.len()).map_err(|_| too_large("string buffers"))?;
            let bytes = (buffer.as_ptr() as usize, buffer.len());
            let number = *self.known.entry(bytes).or_insert(next);
            if number == next {
                self.buffers.push(buffer.clone());
            }
            numbers.push(number);
        }
        let first = numbers.first().copied().unwrap_or(0);
        let is_shift = numbers.iter().zip(first..).all(|(number, shifted)| *number == shifted);
        Ok(if is_shift { Renumbered::By(first) } else { Renumbered::To(numbers) })
    }

    /// All buffers.
    pub fn finish(self) -> Arc<[Buffer]> {
        self.buffers.into()
    }
}

impl Renumbered {
    /// The view of the same string.
    #[inline]
    pub fn view(&self, view: u128) -> u128 {
        match self {
            Renumbered::By(by) => StringView::with_buffers_moved(view, *by),
            Renumbered::To(_) if StringView::len_of(view) <= INLINE_BYTES => view,
            Renumbered::To(numbers) => {
                let (buffer, _) = StringView::position(view);
                let number = numbers.get(buffer as usize).copied().unwrap_or(buffer);
                view & !(u128::from(u32::MAX) << 64) | u128::from(number) << 64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_buffer_is_kept_once() {
        let [a, b, c] = ["first buffer, long", "second buffer, long", "third buffer, long"]
            .map(|it| Buffer::from(it.as_bytes()));
        let strings = |buffers: &[&Buffer]| {
            let view = |number: usize| StringView::new(&buffers[number][..14], number as u32, 0);
            let mut views: Vec<u128> = (0..buffers.len()).map(view).collect();
            views.push(StringView::inline(b"short"));
            StringValues::new(views.into(), buffers.iter().map(|it| (*it).clone()).collect())
        };
        let lists = [vec![&a], vec![&b, &c], vec![&a, &c], vec![], vec![&c, &a], vec![&b, &c]];
        let mut all = BufferList::default();
        let mut found = Vec::new();
        for list in &lists {
            let strings = strings(list);
            let renumbered = all.add(&strings).unwrap();
            let views: Vec<u128> = strings.views.iter().map(|it| renumbered.view(*it)).collect();
            found.push((strings, views));
        }
        let all = all.finish();
        assert_eq!(all.len(), 3);
        for (strings, views) in found {
            let moved = StringValues::new(views.into(), Arc::clone(&all));
            (0..strings.len()).for_each(|row| assert_eq!(moved.text(row), strings.text(row)));
        }
    }
}
