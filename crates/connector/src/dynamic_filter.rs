//! Filters that joins make for scans while a query runs.
//!
//! ```text
//! build side ── keys ──> KeyFilterBuilder ──> DynamicFilter ──> Conjuncts of a probe side's scan
//! ```
//!
//! A row whose key is not in the filter matches nothing; one whose key is in it may match. Hence a
//! source may use the filters of a request, or leave them alone.

use crate::KeyFilter;
use std::sync::{Arc, OnceLock};

/// A filter that is known once the build side of a join is complete.
#[derive(Debug, Default)]
pub struct DynamicFilter(OnceLock<Option<Arc<KeyFilter>>>);

/// A column of a table and the filter of its values.
#[derive(Clone, Debug)]
pub struct ColumnFilter {
    /// The column, by position in the table; of a type that [`KeyFilter::is_possible_for`].
    pub column: usize,
    /// What its values must be in.
    pub filter: Arc<DynamicFilter>,
}

impl DynamicFilter {
    /// The filter, once it is known; `None` also when there will be none.
    pub fn get(&self) -> Option<&Arc<KeyFilter>> {
        self.0.get().and_then(Option::as_ref)
    }

    /// Makes the filter known, or that there is none. Later calls do nothing.
    pub fn set(&self, filter: Option<Arc<KeyFilter>>) {
        // Whoever comes first decides.
        let _ = self.0.set(filter);
    }
}
