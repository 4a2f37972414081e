//! Filters on the way from a join's build side to scans on its probe side.

use std::sync::Arc;
use volley_expression::filter::{DynamicFilter, KeyFilter};
use volley_state::OnceValue;

/// The filter of one key of a join, for the scans that produce the key on the probe side.
#[derive(Debug, Default)]
pub(crate) struct JoinFilter {
    pub(crate) filter: Arc<DynamicFilter>,
    /// There once the filter is set.
    pub(crate) known: OnceValue<()>,
}

/// Sets a filter, in any case: when it is dropped before, there is none.
#[derive(Debug)]
pub(crate) struct JoinFilterSetter {
    /// Which key of the join.
    pub(crate) key: usize,
    filter: Arc<JoinFilter>,
}

impl JoinFilterSetter {
    pub(crate) fn new(key: usize, filter: Arc<JoinFilter>) -> JoinFilterSetter {
        JoinFilterSetter { key, filter }
    }

    /// Makes the filter known. Later calls do nothing.
    pub(crate) fn set(&self, filter: Option<Arc<KeyFilter>>) {
        self.filter.filter.set(filter);
        // A second driver finds the same.
        let _ = self.filter.known.set(());
    }
}

impl Drop for JoinFilterSetter {
    fn drop(&mut self) {
        self.set(None);
    }
}
