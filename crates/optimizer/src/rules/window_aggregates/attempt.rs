//! Whether an aggregation may become a window over certain relations, and the plan that it makes.

use super::matching::{Assignment, Group};
use crate::OptimizerContext;
use crate::columns::output_set;
use crate::expr::{ColumnSet, as_column, is_not_null, same_expr, substitute, used_columns};
use crate::rules::block::{Block, joined};
use crate::rules::distinct::is_unique;
use crate::rules::inner_joins::{EqualColumns, equal_pair, equality};
use std::collections::HashMap;
use volley_logical::{AggregateCall, Column, ColumnId, Expr, Frame, FrameBound, Plan, WindowCall};
use volley_types::Type;

/// Sums of up to this many digits fit 128 bits however often values repeat.
const EXACT_DIGITS_MAX: u8 = 19;

/// Columns that are equal, with their types.
type Class = Vec<(ColumnId, Type)>;

/// The relations next to an aggregation, and what is said of them.
pub(super) struct Attempt<'a> {
    block: &'a Block,
    group: &'a Group<'a>,
    /// All relations of the block but the aggregation.
    pub(super) relations: Vec<&'a Plan>,
    /// The columns of each.
    made: Vec<ColumnSet>,
    /// The equal columns among these and the aggregation's keys.
    equal: EqualColumns,
    /// Other conjuncts on the relations.
    own: Vec<Expr>,
    /// Conjuncts that use output columns of the aggregation, except equalities of columns.
    of_group: Vec<Expr>,
}

/// A window in place of an aggregation.
pub(super) struct Windowed {
    /// What the window reads.
    pub(super) input: Plan,
    partition_by: Vec<Expr>,
    calls: Vec<(Column, WindowCall)>,
    /// Relations that are joined to the window.
    outside: Vec<Plan>,
    /// Conjuncts above the window.
    late: Vec<Expr>,
    /// What represents the aggregation's keys.
    keys: HashMap<ColumnId, Expr>,
}

/// What an assignment says.
struct Shared<'a> {
    assignment: &'a Assignment,
    /// Columns of the shared relations.
    columns: ColumnSet,
    /// What the aggregation's input equates, in shared columns.
    equal: EqualColumns,
    /// Shared columns with one value per partition.
    determined: ColumnSet,
    /// For each of the attempt's own conjuncts, whether the aggregation's input has it.
    matched: Vec<bool>,
}

impl<'a> Attempt<'a> {
    /// The relations of `block` but the one at `at`, which is `group`.
    pub(super) fn new(block: &'a Block, at: usize, group: &'a Group<'a>) -> Attempt<'a> {
        let others = block.relations.iter().enumerate().filter(|it| it.0 != at);
        let relations: Vec<&Plan> = others.map(|it| it.1).collect();
        let made = relations.iter().map(|it| output_set(it)).collect();
        let of_group = group.columns();
        let is_call = |id: &ColumnId| group.calls.iter().any(|it| it.0.id == *id);
        let (mut equal, mut own, mut late) = (Vec::new(), Vec::new(), Vec::new());
        for conjunct in &block.conjuncts {
            let list = match equal_pair(conjunct) {
                Some((a, b)) if !is_call(&a.0) && !is_call(&b.0) => &mut equal,
                _ if used_columns(conjunct).is_disjoint(&of_group) => &mut own,
                _ => &mut late,
            };
            list.push(conjunct.clone());
        }
        let equal = EqualColumns::of(&equal);
        Attempt { block, group, relations, made, equal, own, of_group: late }
    }

    /// The window over the relations that may be below it, if it sees what the aggregation sees.
    pub(super) fn windowed(
        &self,
        assignment: &Assignment,
        ctx: &OptimizerContext<'_>,
    ) -> Option<Windowed> {
        let shared = self.shared(assignment)?;
        let inside = self.inside(&shared);
        let is_once = self.is_once(&shared, &inside, ctx);
        if !self.group.calls.iter().all(|it| tolerates(&it.1, is_once)) {
            return None;
        }
        let (mut below, mut late) = self.equalities(&shared, &inside);
        let uniform = self.uniform(&shared, &inside);
        for (conjunct, is_matched) in self.own.iter().zip(&shared.matched) {
            let used = used_columns(conjunct);
            let is_below = *is_matched || (!used.is_empty() && used.is_subset(&uniform));
            if is_below { &mut below } else { &mut late }.push(conjunct.clone());
        }
        late.extend(self.of_group.iter().cloned());
        let of = |is_wanted: bool| {
            let some = self.relations.iter().zip(&inside).filter(move |it| *it.1 == is_wanted);
            some.map(|it| (*it.0).clone()).collect::<Vec<Plan>>()
        };
        let keys = self.keys(&shared);
        Some(Windowed {
            input: joined(of(true), below, ctx),
            partition_by: keys.iter().map(|it| it.1.clone()).collect(),
            calls: self.group.calls.iter().map(|it| window_call(it, &shared)).collect(),
            outside: of(false),
            late,
            keys: keys.into_iter().collect(),
        })
    }

    /// The plan with the window, with the output columns `columns`.
    pub(super) fn built(
        &self,
        windowed: Windowed,
        columns: &[Column],
        ctx: &OptimizerContext<'_>,
    ) -> Plan {
        let Windowed { input, partition_by, calls, outside, mut late, keys } = windowed;
        late.iter_mut().for_each(|it| substitute(it, &keys));
        let (input, order_by) = (Box::new(input), Vec::new());
        let window = Plan::Window { input, partition_by, order_by, calls, limit: None };
        let relations = [window].into_iter().chain(outside).collect();
        self.block.restored(joined(relations, late, ctx), columns, &keys)
    }

    /// What the assignment says, if keys and conjuncts are found again.
    fn shared<'b>(&self, assignment: &'b Assignment) -> Option<Shared<'b>> {
        let (mut equal, mut matched) = (Vec::new(), vec![false; self.own.len()]);
        for conjunct in &self.group.block.conjuncts {
            let mut conjunct = conjunct.clone();
            substitute(&mut conjunct, &assignment.renaming);
            if let Some((a, b)) = equal_pair(&conjunct) {
                if !self.are_equal(a.0, b.0) {
                    return None;
                }
                equal.push(conjunct);
                continue;
            }
            let at = self.own.iter().position(|it| same_expr(it, &conjunct))?;
            self.own.iter().zip(&mut matched).for_each(|(own, is_matched)| {
                *is_matched |= same_expr(own, &self.own[at]);
            });
        }
        let equal = EqualColumns::of(&equal);
        let mut determined = ColumnSet::new();
        for (output, key) in &self.group.keys {
            let twin = as_column(assignment.renaming.get(key)?)?;
            if !self.are_equal(*output, twin) {
                return None;
            }
            determined.insert(twin);
            determined.extend(equal.equal_to(twin).into_iter().map(|it| it.0));
        }
        let columns = assignment.relations.iter().flat_map(|it| &self.made[*it]).copied();
        Some(Shared { assignment, columns: columns.collect(), equal, determined, matched })
    }

    fn are_equal(&self, a: ColumnId, b: ColumnId) -> bool {
        a == b || self.equal.equal_to(a).iter().any(|it| it.0 == b)
    }

    /// What represents the aggregation's keys: shared columns.
    fn keys(&self, shared: &Shared<'_>) -> Vec<(ColumnId, Expr)> {
        let twin = |(output, key): &(ColumnId, ColumnId)| {
            Some((*output, shared.assignment.renaming.get(key)?.clone()))
        };
        self.group.keys.iter().filter_map(twin).collect()
    }

    /// The classes of equal columns of the relations.
    fn classes(&self) -> impl Iterator<Item = Class> {
        let keys: ColumnSet = self.group.keys.iter().map(|it| it.0).collect();
        self.equal
            .classes()
            .map(move |class| class.iter().filter(|it| !keys.contains(&it.0)).cloned().collect())
    }

    /// Which relations may be below the window: shared ones, and what conjuncts connect with them
    /// that treat all rows of a partition alike.
    fn inside(&self, shared: &Shared<'_>) -> Vec<bool> {
        let mut inside: Vec<bool> =
            (0..self.relations.len()).map(|it| shared.assignment.relations.contains(&it)).collect();
        let classes: Vec<Class> = self.classes().collect();
        let is_barred = |at: usize| {
            let mut joining = classes.iter().filter(|it| has_column_of(it, &self.made[at]));
            joining.any(|it| !shared.is_uniform(it))
        };
        let connects = |at: usize, inside: &[bool]| {
            let others = self.uniform(shared, inside);
            let by_class = classes.iter().any(|it| {
                has_column_of(it, &self.made[at]) && it.iter().any(|it| others.contains(&it.0))
            });
            let by_conjunct = |it: &Expr| {
                let used = used_columns(it);
                !used.is_disjoint(&self.made[at])
                    && !used.is_disjoint(&others)
                    && used.iter().all(|it| others.contains(it) || self.made[at].contains(it))
            };
            by_class || self.own.iter().any(by_conjunct)
        };
        let next = |inside: &[bool]| {
            (0..inside.len()).find(|it| !inside[*it] && !is_barred(*it) && connects(*it, inside))
        };
        while let Some(at) = next(&inside) {
            inside[at] = true;
        }
        inside
    }

    /// The columns with one value for all rows of `S` in a partition: determined ones, and those of
    /// other relations below the window.
    fn uniform(&self, shared: &Shared<'_>, inside: &[bool]) -> ColumnSet {
        let more = (0..inside.len()).filter(|it| inside[*it] && !shared.has_relation(*it));
        let columns = more.flat_map(|it| &self.made[it]).chain(&shared.determined);
        columns.copied().collect()
    }

    /// Whether a row of the shared relations has one partner at most.
    fn is_once(&self, shared: &Shared<'_>, inside: &[bool], ctx: &OptimizerContext<'_>) -> bool {
        let mut bound = shared.determined.clone();
        let mut rest: Vec<usize> =
            (0..inside.len()).filter(|it| inside[*it] && !shared.has_relation(*it)).collect();
        let classes: Vec<Class> = self.classes().collect();
        loop {
            let is_found = |at: &usize| {
                let made = &self.made[*at];
                let known = classes.iter().filter(|it| it.iter().any(|it| bound.contains(&it.0)));
                let known = known.flatten().map(|it| it.0).filter(|it| made.contains(it));
                is_unique(self.relations[*at], &known.collect(), ctx)
            };
            let Some(found) = rest.iter().position(is_found) else { return rest.is_empty() };
            bound.extend(&self.made[rest.remove(found)]);
        }
    }

    /// The equalities below the window, with keys that are not null, and those above.
    fn equalities(&self, shared: &Shared<'_>, inside: &[bool]) -> (Vec<Expr>, Vec<Expr>) {
        let columns: ColumnSet = (0..inside.len())
            .filter(|it| inside[*it])
            .flat_map(|it| &self.made[it])
            .copied()
            .collect();
        let (mut below, mut above) = (Vec::new(), Vec::new());
        for class in self.classes() {
            let (here, outside): (Class, Class) =
                class.iter().cloned().partition(|it| columns.contains(&it.0));
            let parts = match shared.is_uniform(&class) {
                true => vec![here],
                false => shared.parts(here),
            };
            for part in &parts {
                below.extend(part.windows(2).map(|it| equality(&it[0], &it[1])));
            }
            let firsts = parts.iter().filter_map(|it| it.first()).chain(&outside);
            let firsts: Vec<_> = firsts.collect();
            above.extend(firsts.windows(2).map(|it| equality(it[0], it[1])));
        }
        let is_tested = |key: &Expr, below: &[Expr]| {
            let id = as_column(key);
            below.iter().any(|it| used_columns(it).iter().any(|it| Some(*it) == id))
        };
        for (_, key) in self.keys(shared) {
            if !is_tested(&key, &below) {
                below.push(is_not_null(key));
            }
        }
        (below, above)
    }
}

impl Shared<'_> {
    fn has_relation(&self, at: usize) -> bool {
        self.assignment.relations.contains(&at)
    }

    /// Whether that the columns are equal is said by the aggregation's input, or decides alike for
    /// all its rows in a partition.
    fn is_uniform(&self, class: &Class) -> bool {
        let here: Class = class.iter().filter(|it| self.columns.contains(&it.0)).cloned().collect();
        let is_own = here.len() == class.len() && self.parts(here.clone()).len() <= 1;
        is_own || here.iter().all(|it| self.determined.contains(&it.0))
    }

    /// Equal columns, apart where the aggregation's input does not equate them.
    fn parts(&self, class: Class) -> Vec<Class> {
        let mut parts: Vec<Class> = Vec::new();
        for column in class {
            let equal = self.equal.equal_to(column.0);
            match parts.iter_mut().find(|it| equal.iter().any(|equal| equal.0 == it[0].0)) {
                Some(part) => part.push(column),
                None => parts.push(vec![column]),
            }
        }
        parts
    }
}

fn has_column_of(class: &Class, columns: &ColumnSet) -> bool {
    class.iter().any(|it| columns.contains(&it.0))
}

/// Whether a call's value is the same when it sees every row several times, or once (`is_once`).
fn tolerates(call: &AggregateCall, is_once: bool) -> bool {
    let is_exact = |it: &Expr| {
        it.data_type.decimal_shape().is_some_and(|(digits, _)| digits <= EXACT_DIGITS_MAX)
    };
    match (call.function.as_str(), call.args.as_slice()) {
        ("min" | "max" | "bool_and" | "bool_or" | "every", [_]) => true,
        ("avg" | "mean", [arg]) => is_once || is_exact(arg),
        ("sum" | "count" | "count_if", [] | [_]) => is_once,
        _ => false,
    }
}

/// The call over the whole partition.
fn window_call(
    (column, call): &(Column, AggregateCall),
    shared: &Shared<'_>,
) -> (Column, WindowCall) {
    let renamed = |it: &Expr| {
        let mut expr = it.clone();
        substitute(&mut expr, &shared.assignment.renaming);
        expr
    };
    let call = WindowCall {
        function: call.function.clone(),
        args: call.args.iter().map(renamed).collect(),
        distinct: false,
        filter: call.filter.as_ref().map(renamed),
        order_by: Vec::new(),
        ignore_nulls: false,
        order_keys: 0,
        frame: Frame { end: FrameBound::UnboundedFollowing, ..Frame::up_to_peers() },
        data_type: call.data_type.clone(),
        span: call.span,
    };
    (column.clone(), call)
}
