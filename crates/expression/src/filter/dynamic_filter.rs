//! Filters that operators make for scans while a query runs.
//!
//! ```text
//! a join's build side ── keys ──> KeyFilterBuilder ──┐
//!                                                    ├─> DynamicFilter ──> Conjuncts of a scan
//! the first rows of an order ── the last of them ────┘
//! ```
//!
//! A row whose key is not in the filter of a join matches nothing; one whose key is in it may
//! match. A row behind a bound is not among the first rows of the order. Hence a source may use the
//! filters of a request, or leave them alone.

use super::KeyFilter;
use crate::{Expr, SpecialForm};
use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicU64, Ordering},
};
use volley_types::{Type, Value};

/// What a scan may leave out: values that are not among the keys of a join, once its build side is
/// complete, or those behind a bound, which may get tighter at any time.
#[derive(Debug, Default)]
pub struct DynamicFilter {
    keys: OnceLock<Option<Arc<KeyFilter>>>,
    bound: Option<SharedBound>,
}

#[derive(Debug)]
struct SharedBound {
    order: BoundOrder,
    bound: Mutex<Option<Bound>>,
    /// Changes with the bound; 0 without one.
    version: AtomicU64,
}

/// The order of a key whose first rows are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundOrder {
    /// Largest first.
    pub descending: bool,
    /// Nulls before all values.
    pub nulls_first: bool,
}

/// The first key of the last of the first rows of an order, so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The key; null only where nulls come first.
    pub value: Value,
    /// Its type.
    pub data_type: Type,
    /// Which values come before it.
    pub order: BoundOrder,
    /// Whether rows with the same key may still come before that row.
    pub keeps_equal: bool,
}

/// A column of a table and the filter of its values.
#[derive(Clone, Debug)]
pub struct ColumnFilter {
    /// The column, by position in the table. For keys, of a type that
    /// [`KeyFilter::is_possible_for`].
    pub column: usize,
    /// What its values must be in.
    pub filter: Arc<DynamicFilter>,
}

impl DynamicFilter {
    /// A filter by a bound, which is not known yet.
    pub fn bounded(order: BoundOrder) -> DynamicFilter {
        let bound = SharedBound { order, bound: Mutex::default(), version: AtomicU64::new(0) };
        DynamicFilter { keys: OnceLock::new(), bound: Some(bound) }
    }

    /// The keys of a join, once they are known; `None` also when there will be none.
    pub fn get(&self) -> Option<&Arc<KeyFilter>> {
        self.keys.get().and_then(Option::as_ref)
    }

    /// Makes the keys of a join known, or that there are none. Later calls do nothing.
    pub fn set(&self, filter: Option<Arc<KeyFilter>>) {
        // The first caller decides.
        let _ = self.keys.set(filter);
    }

    /// Whether this is a filter by a bound.
    pub fn is_bounded(&self) -> bool {
        self.bound.is_some()
    }

    /// The order that a bound is of: what comes first in it makes the bound tight early.
    pub fn order(&self) -> Option<BoundOrder> {
        self.bound.as_ref().map(|it| it.order)
    }

    /// A number that changes with the bound; 0 without one.
    pub fn version(&self) -> u64 {
        self.bound.as_ref().map_or(0, |it| it.version.load(Ordering::Acquire))
    }

    /// The bound, once there is one.
    pub fn bound(&self) -> Option<Bound> {
        self.bound.as_ref().filter(|_| self.version() > 0)?.lock().clone()
    }

    /// Makes `bound` the bound if there is none, or one that it `is_tighter` than.
    pub fn tighten(&self, bound: Bound, is_tighter: impl FnOnce(&Bound) -> bool) {
        let Some(shared) = &self.bound else { return };
        let mut current = shared.lock();
        if current.as_ref().is_none_or(is_tighter) {
            *current = Some(bound);
            shared.version.fetch_add(1, Ordering::Release);
        }
    }
}

impl SharedBound {
    fn lock(&self) -> MutexGuard<'_, Option<Bound>> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ColumnFilter {
    /// The condition that its bound is by now.
    pub fn bound_condition(&self) -> Option<Expr> {
        self.filter.bound().map(|it| it.condition(self.column))
    }
}

impl Bound {
    /// Whether values of a type can be bounded: those that expressions compare as orders do.
    pub fn is_possible_for(data_type: &Type) -> bool {
        data_type.is_integer()
            || data_type.unsigned().is_some()
            || data_type.is_float()
            || data_type.is_decimal()
            || matches!(data_type, Type::Date | Type::Time | Type::Timestamp)
            || matches!(data_type, Type::Varchar | Type::Varbinary)
    }

    /// The condition that the bound is for values of `column`.
    pub fn condition(&self, column: usize) -> Expr {
        let column = || Expr::column(column, self.data_type.clone());
        let is_null = || Expr::special(SpecialForm::IsNull, vec![column()], Type::Boolean);
        if self.value.is_null() {
            let none = || Expr::constant(Value::Boolean(false), Type::Boolean);
            return if self.keeps_equal { is_null() } else { none() };
        }
        let name = match (self.order.descending, self.keeps_equal) {
            (false, false) => "lt",
            (false, true) => "lte",
            (true, false) => "gt",
            (true, true) => "gte",
        };
        let value = Expr::constant(self.value.clone(), self.data_type.clone());
        let compared = Expr::call(name, vec![column(), value], Type::Boolean);
        match self.order.nulls_first {
            true => Expr::special(SpecialForm::Or, vec![compared, is_null()], Type::Boolean),
            false => compared,
        }
    }
}
