//! Sorted runs: a persistent set that grows.
//!
//! A new run is merged with those before it that are not at least twice as long. So there are
//! O(log n) runs, an element is copied O(log n) times, and older versions keep their runs.

use std::{fmt, sync::Arc};
use volley_error::Result;
use volley_pdt::{Budget, Charge};

/// Elements in ascending runs. A clone shares all runs.
#[derive(Clone, Debug)]
pub struct SortedRuns<T> {
    runs: Vec<Arc<SortedRun<T>>>,
}

#[derive(Debug)]
struct SortedRun<T> {
    elements: Vec<T>,
    _charge: Charge,
}

impl<T> Default for SortedRuns<T> {
    fn default() -> Self {
        SortedRuns { runs: Vec::new() }
    }
}

impl<T: Copy + Ord + fmt::Debug> SortedRuns<T> {
    /// With more elements.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn with(&self, mut added: Vec<T>, budget: &Arc<Budget>) -> Result<SortedRuns<T>> {
        let mut runs = self.runs.clone();
        if added.is_empty() {
            return Ok(SortedRuns { runs });
        }
        added.sort_unstable();
        while let Some(last) = runs.pop_if(|it| it.elements.len() < 2 * added.len()) {
            added = merged(&last.elements, &added);
        }
        let bytes = size_of_val(added.as_slice());
        budget.ensure(bytes)?;
        let charge = Charge::new(budget, bytes);
        runs.push(Arc::new(SortedRun { elements: added, _charge: charge }));
        Ok(SortedRuns { runs })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.runs.iter().map(|it| it.elements.len()).sum()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// All elements, run by run.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.runs.iter().flat_map(|it| &it.elements)
    }

    /// Whether an element is there.
    pub fn contains(&self, element: &T) -> bool {
        self.runs.iter().any(|it| it.elements.binary_search(element).is_ok())
    }

    /// The elements from `first` to `last`, run by run.
    pub fn between(&self, first: T, last: T) -> impl Iterator<Item = &T> {
        self.runs.iter().flat_map(move |run| {
            let start = run.elements.partition_point(|it| *it < first);
            let found = run.elements.get(start..).unwrap_or_default();
            found.iter().take_while(move |it| **it <= last)
        })
    }

    /// How many runs there are.
    #[cfg(test)]
    pub(crate) fn runs(&self) -> usize {
        self.runs.len()
    }
}

fn merged<T: Copy + Ord>(a: &[T], b: &[T]) -> Vec<T> {
    let mut merged = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    loop {
        let next = match (a.peek(), b.peek()) {
            (Some(left), Some(right)) if right < left => b.next(),
            (Some(_), _) => a.next(),
            (None, _) => b.next(),
        };
        match next {
            Some(element) => merged.push(element),
            None => return merged,
        }
    }
}
