//! Searching a constant in the texts of a column.
//!
//! Setting up a search costs more than searching the few bytes of a text. Long texts that are
//! contiguous are therefore searched at once, and a match counts if it lies within a text:
//!
//! ```text
//! bytes   the quick fox....jumps over the....lazy dog, the end
//! texts   └────────────┘   └────────────┘   └────────────────┘
//! "the"   ↑ row 0                     ↑ row 1          ↑ row 2
//! ```

use memchr::memmem::Finder;
use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    Argument, BindScalar, BoundScalar, EvalContext, ScalarFunction, simple::vectorized,
};
use volley_types::{Type, Value};
use volley_vector::{
    BooleanBuffer, Buffer, ContiguousStrings, INLINE_BYTES, Rows, StringValues, StringView, Values,
    Vector,
};

/// A text that is searched in others; not empty.
pub(crate) struct Part {
    finder: Finder<'static>,
}

impl Part {
    /// `None` for the empty text, which occurs everywhere.
    pub(crate) fn new(part: &str) -> Option<Part> {
        let finder = Finder::new(part.as_bytes()).into_owned();
        (!part.is_empty()).then_some(Part { finder })
    }

    /// Where it first occurs in a text, in bytes.
    pub(crate) fn find(&self, text: &[u8]) -> Option<usize> {
        self.finder.find(text)
    }

    /// Calls `found` with the row and the byte of the first occurrence in each text that has one,
    /// inactive rows included.
    pub(crate) fn find_each(&self, texts: &StringValues, mut found: impl FnMut(usize, usize)) {
        texts.contiguous_strings().for_each(|it| self.find_in_contiguous(&it, &mut found));
        if self.len() <= INLINE_BYTES {
            self.find_in_short(&texts.views, found);
        }
    }

    /// Whether each text has an occurrence for which `is_match`, of its row and byte, is true; only
    /// the first one of a text is asked for.
    pub(crate) fn select(
        &self,
        texts: &StringValues,
        is_match: impl Fn(usize, usize) -> bool,
    ) -> Vector {
        let mut words = vec![0u64; texts.len().div_ceil(64)];
        self.find_each(texts, |row, at| {
            words[row / 64] |= u64::from(is_match(row, at)) << (row % 64);
        });
        let bits = BooleanBuffer::new(Buffer::from_vec(words), 0, texts.len());
        Vector::boolean(bits, None)
    }

    pub(crate) fn len(&self) -> usize {
        self.finder.needle().len()
    }

    fn find_in_contiguous(
        &self,
        strings: &ContiguousStrings<'_>,
        found: &mut impl FnMut(usize, usize),
    ) {
        let mut texts = strings.strings();
        let mut current = texts.next();
        let mut from = 0;
        while let Some(at) = self.find(&strings.bytes[from..]).map(|it| from + it) {
            let end = at + self.len();
            while current.as_ref().is_some_and(|it| it.1.end < end) {
                current = texts.next();
            }
            let Some((row, place)) = &current else { return };
            if at >= place.start {
                found(*row, at - place.start);
                current = texts.next();
            }
            // A match that begins before a text is none.
            let Some((_, place)) = &current else { return };
            from = place.start;
        }
    }

    /// Texts inside their views are shifted past the part.
    fn find_in_short(&self, views: &[u128], mut found: impl FnMut(usize, usize)) {
        let part = StringView::inline(self.finder.needle()) >> 32;
        let mask = (1 << (8 * self.len())) - 1;
        for (row, view) in views.iter().enumerate() {
            let (len, text) = (StringView::len_of(*view), view >> 32);
            if !(self.len()..=INLINE_BYTES).contains(&len) {
                continue;
            }
            let at = (0..=len - self.len()).find(|at| text >> (8 * at) & mask == part);
            at.into_iter().for_each(|at| found(row, at));
        }
    }
}

/// A function of the first argument alone: `together`, if it has an answer, for flat texts most of
/// whose rows are wanted, and else `by_row`.
pub(crate) fn of_texts(
    by_row: Arc<dyn ScalarFunction>,
    together: impl Fn(&StringValues, &Type, &EvalContext) -> Option<Vector> + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction> {
    vectorized(move |rows, args, to, ctx| {
        let texts = match args[0].flat_values() {
            Some(Values::View(texts)) if rows.count() * 2 >= rows.len() => Some(texts),
            _ => None,
        };
        match texts.and_then(|it| together(it, to, ctx)) {
            Some(found) => Ok(found),
            None => by_row.evaluate(rows, &args[..1], to, ctx),
        }
    })
}

/// A function of a text and what is searched in it, and maybe more; `prepared` makes the function
/// of the others for a constant that is searched.
pub(super) fn searching(
    bind: BindScalar,
    prepared: impl Fn(Part) -> Arc<dyn ScalarFunction> + Send + Sync + 'static,
) -> BindScalar {
    let prepared = Arc::new(prepared);
    Arc::new(move |types: &[Type]| {
        let bound = bind(types)?;
        let (general, prepared) = (Arc::clone(&bound.function), Arc::clone(&prepared));
        Some(BoundScalar { function: Arc::new(Searching { general, prepared }), ..bound })
    })
}

struct Searching<F> {
    general: Arc<dyn ScalarFunction>,
    prepared: Arc<F>,
}

impl<F: Fn(Part) -> Arc<dyn ScalarFunction> + Send + Sync> ScalarFunction for Searching<F> {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        self.general.evaluate(rows, args, result_type, ctx)
    }

    fn specialize(&self, args: &[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> {
        let constant = args.get(1).and_then(|it| it.constant.as_ref()).and_then(Value::as_str);
        let Some(part) = constant.and_then(Part::new) else { return Ok(None) };
        let function = (self.prepared)(part);
        Ok(Some(vectorized(move |rows, args, to, ctx| {
            let others: Vec<Vector> = [&args[..1], &args[2..]].concat();
            function.evaluate(rows, &others, to, ctx)
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Short and long texts of few characters, so that matches are frequent, and end next to each
    /// other, too.
    fn texts(random: &mut fastrand::Rng) -> Vec<String> {
        let characters = ['a', 'b', 'a', 'é'];
        let text = |random: &mut fastrand::Rng| -> String {
            (0..random.usize(0..30)).map(|_| characters[random.usize(0..4)]).collect()
        };
        (0..random.usize(0..200)).map(|_| text(random)).collect()
    }

    #[test]
    fn texts_searched_together_have_what_each_has() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut matches = 0;
        for part in ["a", "é", "ab", "bab", "aéba", "babababababaé", "abaabbabé", "x"] {
            for gap in ["", "ab", "\0\0\0\0", "aaaaaaaa"] {
                let all = texts(&mut random);
                let bytes = all.join(gap);
                let mut start = 0;
                let views = all.iter().map(|it| {
                    let view = StringView::new(it.as_bytes(), 0, start as u32);
                    start += it.len() + gap.len();
                    view
                });
                let views: Vec<u128> = views.collect();
                let buffers = [Buffer::from(bytes.as_bytes())];
                let strings = StringValues::new(views.into(), buffers.into());
                let searched = Part::new(part).unwrap();
                let mut found = vec![None; all.len()];
                searched.find_each(&strings, |row, at| assert!(found[row].replace(at).is_none()));
                let expected: Vec<Option<usize>> = all.iter().map(|it| it.find(part)).collect();
                assert_eq!(found, expected, "{part} in {all:?}");
                matches += found.iter().flatten().count();
                let odd = searched.select(&strings, |_, at| at % 2 == 1).to_values().unwrap();
                let expected = expected.iter().map(|it| it.is_some_and(|at| at % 2 == 1));
                assert_eq!(odd, expected.map(Value::Boolean).collect::<Vec<_>>());
            }
        }
        assert!(matches > 500, "{matches}");
        assert!(Part::new("").is_none());
    }
}
