//! Filters on the way from a join's build side to scans on its probe side.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};
use volley_expression::filter::{DynamicFilter, KeyFilter};
use volley_state::OnceValue;

/// The filter of one key of a join, for the scans that produce the key on the probe side.
#[derive(Debug, Default)]
pub(crate) struct JoinFilter {
    pub(crate) filter: Arc<DynamicFilter>,
    /// There once the filter is set.
    pub(crate) known: OnceValue<()>,
}

impl JoinFilter {
    /// Makes the filter known. Later calls do nothing.
    pub(crate) fn set(&self, keys: Option<Arc<KeyFilter>>) {
        self.filter.set(keys);
        // A second driver finds the same.
        let _ = self.known.set(());
    }
}

/// Sets a filter, in any case: when it is dropped before, there is none.
#[derive(Debug)]
pub(crate) struct JoinFilterSetter {
    /// Which key of the join.
    pub(crate) key: usize,
    target: Target,
}

/// Takes the keys of a task.
type Publish = Box<dyn FnOnce(Option<Arc<KeyFilter>>) + Send>;

/// Where the keys are needed.
enum Target {
    /// In the join's task.
    Own(Arc<JoinFilter>),
    /// In other tasks; `None` once they are published.
    Others(Mutex<Option<Publish>>),
}

impl JoinFilterSetter {
    pub(crate) fn new(key: usize, filter: Arc<JoinFilter>) -> JoinFilterSetter {
        JoinFilterSetter { key, target: Target::Own(filter) }
    }

    /// A setter that calls `publish` once.
    pub(crate) fn publishing(key: usize, publish: Publish) -> JoinFilterSetter {
        JoinFilterSetter { key, target: Target::Others(Mutex::new(Some(publish))) }
    }

    /// Makes the filter known. Later calls do nothing.
    pub(crate) fn set(&self, filter: Option<Arc<KeyFilter>>) {
        match &self.target {
            Target::Own(own) => own.set(filter),
            Target::Others(publish) => {
                let publish = publish.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(publish) = publish {
                    publish(filter);
                }
            }
        }
    }
}

impl Drop for JoinFilterSetter {
    fn drop(&mut self) {
        self.set(None);
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Own(filter) => f.debug_tuple("Own").field(filter).finish(),
            Target::Others(_) => f.write_str("Others"),
        }
    }
}
