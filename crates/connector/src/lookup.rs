//! Decides by looking up constants, such as in Bloom filters, that no row can satisfy the
//! conditions of a scan.

use crate::Conditions;
use std::cell::Cell;
use volley_expression::{Expr, ExprKind, SpecialForm};
use volley_types::{Type, Value};

/// The most keys of a join that are looked up.
const JOIN_KEYS_MAX: usize = 64;

/// What is looked up.
#[derive(Clone, Copy)]
pub enum LookupKey<'a> {
    /// A constant of a type.
    Constant(&'a Type, &'a Value),
    /// A key of a join, of the type of its column.
    Integer(i64),
}

/// Whether a column of the table may have a value.
pub type Lookup<'a> = &'a dyn Fn(usize, LookupKey) -> bool;

impl Conditions {
    /// Whether values of a column are looked up.
    pub fn looks_up(&self, column: usize) -> bool {
        let was_asked = Cell::new(false);
        self.may_all_match(&|asked, _| {
            was_asked.set(was_asked.get() || asked == column);
            true
        });
        was_asked.get()
    }

    /// Whether some row may satisfy all conditions, when `lookup` tells what values columns have.
    pub fn may_all_match(&self, lookup: Lookup) -> bool {
        let joins = self.dynamic.iter().filter_map(|it| Some((it.column, it.filter.get()?)));
        let mut keys =
            joins.filter_map(|(column, it)| Some((column, it.few_values(JOIN_KEYS_MAX)?)));
        self.filters.iter().all(|(it, _)| may_match(it, lookup))
            && keys
                .all(|(column, keys)| keys.iter().any(|it| lookup(column, LookupKey::Integer(*it))))
    }
}

/// Whether some row may satisfy `filter`.
fn may_match(filter: &Expr, lookup: Lookup) -> bool {
    match &filter.kind {
        ExprKind::Special { form: SpecialForm::And, args } => {
            args.iter().all(|it| may_match(it, lookup))
        }
        ExprKind::Special { form: SpecialForm::Or, args } => {
            // All columns are asked for in any case: see `looks_up`.
            let may = args.iter().map(|it| may_match(it, lookup));
            may.collect::<Vec<_>>().contains(&true)
        }
        ExprKind::Special { form: SpecialForm::In, args } => match args.split_first() {
            Some((column, list)) => list.iter().any(|it| may_have(column, it, lookup)),
            None => true,
        },
        ExprKind::Call { name, args } => match (name.as_str(), args.as_slice()) {
            ("eq" | "is_not_distinct_from", [left, right]) => {
                may_have(left, right, lookup) && may_have(right, left, lookup)
            }
            _ => true,
        },
        _ => true,
    }
}

/// Whether the column that `operand` is may have the value that `value` is.
fn may_have(operand: &Expr, value: &Expr, lookup: Lookup) -> bool {
    match (&operand.kind, &value.kind) {
        (ExprKind::Column(column), ExprKind::Constant(constant)) if !constant.is_null() => {
            operand.data_type != value.data_type
                || lookup(*column, LookupKey::Constant(&value.data_type, constant))
        }
        _ => true,
    }
}
