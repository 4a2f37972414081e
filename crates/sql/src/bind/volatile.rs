//! Which call of a volatile function in the text an expression is. What an alias stands for is
//! bound again at each use; the calls in it stay the same occurrence, so that the optimizer
//! computes it once.

use super::Binder;
use sqlparser::ast::{self, Function};
use std::collections::HashMap;
use volley_logical::{Expr, ExprKind, Occurrence};

/// The occurrences by the address of the call in the syntax tree, which lives as long as its
/// binder, and by the column of COLUMNS that it is bound for.
#[derive(Default)]
pub(super) struct Occurrences<'a> {
    calls: HashMap<(usize, usize), Occurrence>,
    /// What the calls of macros, by their addresses, stand for.
    expansions: HashMap<usize, &'a ast::Expr>,
}

impl<'a> Occurrences<'a> {
    /// What the call of a macro stood for when it was bound before.
    pub(super) fn expansion(&self, call: &Function) -> Option<&'a ast::Expr> {
        self.expansions.get(&std::ptr::from_ref(call).addr()).copied()
    }

    pub(super) fn keep_expansion(&mut self, call: &Function, body: &'a ast::Expr) {
        self.expansions.insert(std::ptr::from_ref(call).addr(), body);
    }
}

impl Binder<'_> {
    /// The bound `call` as the occurrence that `written` was when it was bound before.
    pub(super) fn as_occurrence(&mut self, mut call: Expr, written: &Function) -> Expr {
        let choice = self.choices.as_ref().map_or(0, |it| it.choice());
        let mut inner = &mut call;
        loop {
            if let Some(occurrence) = &mut inner.occurrence {
                let key = (std::ptr::from_ref(written).addr(), choice);
                *occurrence = *self.occurrences.calls.entry(key).or_insert(*occurrence);
                return call;
            }
            match &mut inner.kind {
                ExprKind::Cast { input, .. } => inner = input,
                _ => return call,
            }
        }
    }
}
