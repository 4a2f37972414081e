//! Patching columns of codes: modified values join the dictionary, codes stay codes.
//!
//! The batches of a segment usually share one dictionary, and operators hash and test its values
//! once. So the modified values of the whole segment are put behind its values, once, when a second
//! batch comes with the same dictionary; a patched batch is a copy of its codes.

use arrow_buffer::BooleanBufferBuilder;
use std::sync::{Arc, Mutex, PoisonError};
use volley_error::Result;
use volley_vector::{CopyRange, Encoding, NullBuffer, Vector};

/// Larger dictionaries are not joined: they are rather a column's values than its distinct ones.
const VALUES_MAX: usize = 1 << 16;

/// The dictionary of a column with the modified values behind its own.
#[derive(Debug, Default)]
pub(crate) struct JoinedDictionary(Mutex<Option<Joined>>);

#[derive(Debug)]
struct Joined {
    dictionary: Arc<Vector>,
    /// Made for the second batch.
    joined: Option<Arc<Vector>>,
}

impl JoinedDictionary {
    /// `base` with rows of `values` over its own, as `ranges` say, if it is a column of codes whose
    /// dictionary came before.
    pub(crate) fn patch(
        &self,
        base: &Vector,
        values: &Vector,
        ranges: &[CopyRange],
    ) -> Result<Option<Vector>> {
        let Encoding::Dictionary { codes, base: dictionary } = base.encoding() else {
            return Ok(None);
        };
        let Some(joined) = self.joined(dictionary, values)? else { return Ok(None) };
        let mut codes = codes.to_vec();
        for range in ranges {
            let first = (dictionary.len() + range.from) as u32;
            let patched = codes.iter_mut().skip(range.to).take(range.rows);
            patched.zip(first..).for_each(|(code, new)| *code = new);
        }
        let nulls = base.null_buffer().map(|it| with_valid(it, ranges));
        Ok(Some(Vector::checked_dictionary(codes.into(), joined, nulls)))
    }

    fn joined(&self, dictionary: &Arc<Vector>, values: &Vector) -> Result<Option<Arc<Vector>>> {
        if dictionary.len() > VALUES_MAX {
            return Ok(None);
        }
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *last {
            Some(last) if Arc::ptr_eq(&last.dictionary, dictionary) => {
                if last.joined.is_none() {
                    let parts = [dictionary.as_ref().clone(), values.clone()];
                    last.joined = Some(Arc::new(Vector::concat(values.data_type(), &parts)?));
                }
                Ok(last.joined.clone())
            }
            _ => {
                *last = Some(Joined { dictionary: Arc::clone(dictionary), joined: None });
                Ok(None)
            }
        }
    }
}

/// The bitmap with the rows that are overwritten valid: their values know whether they are null.
fn with_valid(nulls: &NullBuffer, ranges: &[CopyRange]) -> NullBuffer {
    let mut bits = BooleanBufferBuilder::new(nulls.len());
    bits.append_buffer(nulls.inner());
    for range in ranges {
        (range.to..range.to + range.rows).for_each(|it| bits.set_bit(it, true));
    }
    NullBuffer::new(bits.finish())
}
