//! Inner joins flattened to a set of inputs and a set of conjuncts.

use super::filters::{as_or, filtered, push, split_by, uses_some_of};
use crate::OptimizerContext;
use crate::columns::output_set;
use crate::expr::{
    ColumnSet, and, as_column, as_constant, behavior, binary_call, eq, or, split, substitute,
    used_columns, without_duplicates,
};
use crate::stack::deep;
use std::collections::{BTreeMap, HashMap};
use volley_logical::{ColumnId, Expr, ExprKind, JoinKind, Plan, SpecialForm};
use volley_types::Type;

/// An OR with more terms is not looked into for what it says of single inputs.
const OR_TERMS_MAX: usize = 64;

/// Takes inner joins and the filters between them apart.
pub(super) fn flatten_inner(plan: Plan, inputs: &mut Vec<Plan>, conjuncts: &mut Vec<Expr>) {
    deep(|| match plan {
        Plan::Join { left, right, kind: JoinKind::Inner, conditions, lateral: false, .. } => {
            flatten_inner(*left, inputs, conjuncts);
            flatten_inner(*right, inputs, conjuncts);
            conjuncts.extend(conditions);
        }
        Plan::Filter { input, conjuncts: own }
            if matches!(*input, Plan::Join { kind: JoinKind::Inner, lateral: false, .. }) =>
        {
            flatten_inner(*input, inputs, conjuncts);
            conjuncts.extend(own);
        }
        other => inputs.push(other),
    });
}

/// Pushes the conjuncts of a set of inner joins into its inputs, as far as they go, and joins in
/// the order of the text.
pub(super) fn push_into_inner(
    plan: Plan,
    mut conjuncts: Vec<Expr>,
    ctx: &OptimizerContext<'_>,
) -> Plan {
    let mut inputs = Vec::new();
    flatten_inner(plan, &mut inputs, &mut conjuncts);
    let (mut stable, unstable) =
        split_by(without_duplicates(conjuncts), |it| behavior(it, &ctx.registry).deterministic);
    let made: Vec<ColumnSet> = inputs.iter().map(output_set).collect();
    if ctx.is_enabled("infer_predicates") {
        stable.extend(inferred(&stable));
    }
    if ctx.is_enabled("derive_from_or") {
        stable.extend(derived_from_ors(&stable, &made));
    }
    let mut stable = without_duplicates(stable);
    let mut pushed = Vec::with_capacity(inputs.len());
    for (input, made) in inputs.into_iter().zip(&made) {
        let (own, rest) = split_by(stable, |it| uses_some_of(it, made));
        stable = rest;
        pushed.push(push(input, own, ctx));
    }
    filtered(join_in_order(pushed, stable), unstable, ctx)
}

/// A left-deep tree; every conjunct at the first join that has its columns.
pub(super) fn join_in_order(inputs: Vec<Plan>, mut conjuncts: Vec<Expr>) -> Plan {
    let mut inputs = inputs.into_iter();
    let Some(mut plan) = inputs.next() else { return Plan::one_row() };
    let mut made = output_set(&plan);
    for input in inputs {
        made.extend(output_set(&input));
        let (conditions, rest) = split_by(conjuncts, |it| used_columns(it).is_subset(&made));
        conjuncts = rest;
        plan = inner_join(plan, input, conditions);
    }
    match conjuncts.is_empty() {
        true => plan,
        false => Plan::Filter { input: Box::new(plan), conjuncts },
    }
}

/// An inner join.
pub(super) fn inner_join(left: Plan, right: Plan, conditions: Vec<Expr>) -> Plan {
    Plan::Join {
        left: Box::new(left),
        right: Box::new(right),
        kind: JoinKind::Inner,
        conditions,
        null_aware: false,
        mark: None,
        lateral: false,
    }
}

/// What equalities between columns and conditions on one column say of the equal columns.
pub(super) fn inferred(conjuncts: &[Expr]) -> Vec<Expr> {
    let classes = EqualColumns::of(conjuncts);
    let mut more = Vec::new();
    for conjunct in conjuncts {
        let used = used_columns(conjunct);
        let (Some(id), 1) = (used.first().copied(), used.len()) else { continue };
        if !is_simple_test(conjunct) {
            continue;
        }
        for (other, data_type) in classes.equal_to(id) {
            let by = HashMap::from([(id, Expr::column(other, data_type))]);
            let mut copy = conjunct.clone();
            substitute(&mut copy, &by);
            more.push(copy);
        }
    }
    more
}

/// A comparison of a column with a constant, or a list of them.
fn is_simple_test(expr: &Expr) -> bool {
    let is_leaf = |it: &Expr| as_column(it).is_some() || as_constant(it).is_some();
    match &expr.kind {
        ExprKind::Special { form: SpecialForm::In, args } => args.iter().all(is_leaf),
        _ => ["eq", "lt", "lte", "gt", "gte"]
            .iter()
            .any(|name| binary_call(expr, name).is_some_and(|(a, b)| is_leaf(a) && is_leaf(b))),
    }
}

/// The columns that the conjunct equates, if each may represent the other.
pub(super) fn equal_pair(conjunct: &Expr) -> Option<((ColumnId, Type), (ColumnId, Type))> {
    let (a, b) = binary_call(conjunct, "eq")?;
    let (left, right) = (as_column(a)?, as_column(b)?);
    let may_stand = a.data_type == b.data_type && !a.data_type.is_float();
    may_stand.then(|| ((left, a.data_type.clone()), (right, b.data_type.clone())))
}

/// `a = b`.
pub(super) fn equality(a: &(ColumnId, Type), b: &(ColumnId, Type)) -> Expr {
    eq(Expr::column(a.0, a.1.clone()), Expr::column(b.0, b.1.clone()))
}

/// Classes of columns that are equal in every row.
pub(super) struct EqualColumns {
    class_of: BTreeMap<ColumnId, usize>,
    classes: Vec<Vec<(ColumnId, Type)>>,
}

impl EqualColumns {
    /// The classes that `column = column` conjuncts make.
    pub(super) fn of(conjuncts: &[Expr]) -> EqualColumns {
        let mut equal = EqualColumns { class_of: BTreeMap::new(), classes: Vec::new() };
        for conjunct in conjuncts {
            if let Some((a, b)) = equal_pair(conjunct) {
                equal.merge(a, b);
            }
        }
        equal
    }

    fn merge(&mut self, a: (ColumnId, Type), b: (ColumnId, Type)) {
        let (a, b) = (self.class(a), self.class(b));
        if a == b {
            return;
        }
        for (id, data_type) in std::mem::take(&mut self.classes[b]) {
            self.class_of.insert(id, a);
            self.classes[a].push((id, data_type));
        }
    }

    fn class(&mut self, (id, data_type): (ColumnId, Type)) -> usize {
        if let Some(class) = self.class_of.get(&id) {
            return *class;
        }
        self.class_of.insert(id, self.classes.len());
        self.classes.push(vec![(id, data_type)]);
        self.classes.len() - 1
    }

    /// The columns equal to one, without itself.
    pub(super) fn equal_to(&self, id: ColumnId) -> Vec<(ColumnId, Type)> {
        let Some(class) = self.class_of.get(&id) else { return Vec::new() };
        self.classes[*class].iter().filter(|it| it.0 != id).cloned().collect()
    }

    /// The classes with at least two columns.
    pub(super) fn classes(&self) -> impl Iterator<Item = &[(ColumnId, Type)]> {
        self.classes.iter().filter(|it| it.len() > 1).map(Vec::as_slice)
    }
}

/// `(a AND b) OR (c AND d)` with `a` and `c` on one input says `a OR c` of that input.
pub(super) fn derived_from_ors(conjuncts: &[Expr], made: &[ColumnSet]) -> Vec<Expr> {
    let mut more = Vec::new();
    for conjunct in conjuncts {
        let Some(terms) = as_or(conjunct).filter(|it| it.len() <= OR_TERMS_MAX) else { continue };
        let used = used_columns(conjunct);
        for columns in made.iter().filter(|it| !it.is_disjoint(&used)) {
            if used.is_subset(columns) {
                continue;
            }
            let parts: Option<Vec<Expr>> =
                terms.iter().map(|term| part_on(term, columns)).collect();
            more.extend(parts.map(|it| or(without_duplicates(it))));
        }
    }
    more
}

/// The conjuncts of `term` that use these columns only.
fn part_on(term: &Expr, columns: &ColumnSet) -> Option<Expr> {
    let mut conjuncts = Vec::new();
    split(term.clone(), SpecialForm::And, &mut conjuncts);
    conjuncts.retain(|it| uses_some_of(it, columns));
    (!conjuncts.is_empty()).then(|| and(conjuncts))
}
