//! Estimates of each node.

use super::join::joined;
use super::selectivity::conjuncts_share;
use super::value::{as_number, steps};
use super::{ColumnEstimate, Estimate, Estimator, ROWS_UNKNOWN, Relation};
use crate::expr::{as_column, as_constant};
use crate::lowering::as_key;
use volley_connector::TableStatistics;
use volley_logical::{
    Column, ColumnId, Expr, Generator, GeneratorKind, GroupingSet, JoinKind, Plan, SampleMethod,
    SetOperation, TableRef,
};
use volley_types::Value;

/// Distinct values of numbers and times whose table does not say: this power of the number of rows.
const DISTINCT_POWER: f64 = 0.7;

/// Distinct values of text whose table does not say: this many, and [`TEXT_DISTINCT_POWER`] of the
/// number of rows. Text that is compared with a literal mostly is a code of few values.
const TEXT_DISTINCT_MIN: f64 = 10.0;

/// See [`TEXT_DISTINCT_MIN`].
const TEXT_DISTINCT_POWER: f64 = 0.2;

/// The rows of a recursion that came last, for the choice of build sides.
const WORKING_ROWS: f64 = 1e6;

/// The elements of a list about which nothing is known.
const ELEMENTS: f64 = 5.0;

/// The rows of a series about which nothing is known.
const SERIES_ROWS: f64 = 100.0;

impl Estimator {
    fn scan(&self, table: &TableRef, columns: &[(Column, usize)]) -> Estimate {
        // A table that cannot be read says so when it is read.
        let statistics = self.tables.resolve(table).and_then(|it| it.statistics());
        scan(&statistics.unwrap_or_default(), columns)
    }

    /// What the node makes of inputs of which `inputs` is guessed.
    pub(super) fn node(&mut self, plan: &Plan, inputs: Vec<Estimate>) -> Estimate {
        let mut inputs = inputs.into_iter();
        let mut input = || inputs.next().unwrap_or_default();
        match plan {
            Plan::Scan { table, columns, filters, .. } => {
                let base = self.scan(table, columns);
                let share = conjuncts_share(filters, &base);
                narrowed(base, filters).scaled(share)
            }
            Plan::Values { columns, rows } => values(columns, rows),
            Plan::Project { exprs, .. } => project(input(), exprs),
            Plan::Filter { conjuncts, .. } => {
                let input = input();
                let share = conjuncts_share(conjuncts, &input);
                narrowed(input, conjuncts).scaled(share)
            }
            Plan::Join { .. } => join(plan, input(), input()),
            Plan::AsofJoin { kind, .. } => nearest(*kind, input(), input()),
            Plan::Aggregate { .. } => aggregate(plan, input()),
            Plan::GroupId { .. } => group_id(plan, input()),
            Plan::Sort { .. } => input(),
            Plan::Sample { method, .. } => match method {
                SampleMethod::Rows(share) | SampleMethod::Batches(share) => input().scaled(*share),
                SampleMethod::Count(rows) => input().at_most(Some(*rows)),
            },
            Plan::UniqueId { column, .. } => {
                let mut estimate = input();
                estimate.add_distinct(column);
                estimate
            }
            Plan::Unnest { .. } => unnest(plan, input()),
            Plan::Window { .. } => window(plan, input()),
            Plan::Limit { limit, .. } => input().at_most(*limit),
            Plan::GroupLimit { keys, limit, .. } => group_limit(keys, *limit, input()),
            Plan::SetOperation { operation, all, inputs: feeds, columns } => {
                set_operation((*operation, *all), feeds, inputs.collect(), columns)
            }
            Plan::Recursive { inputs: feeds, columns, .. } => {
                // An iteration is taken to make about as many rows as the anchor, as often.
                let union = (SetOperation::Union, true);
                set_operation(union, feeds, inputs.collect(), columns)
            }
            // How many rows come in an iteration is not known. What does not change is better held
            // in memory by joins, so this is assumed to be large.
            Plan::WorkingTable { .. } => Estimate { rows: WORKING_ROWS, ..Estimate::default() },
            Plan::CteRef { cte, columns } => {
                if !self.ctes.contains_key(&cte.id) {
                    let estimate = self.estimate(&cte.plan);
                    self.ctes.insert(cte.id, estimate);
                }
                let made = self.ctes.get(&cte.id).cloned().unwrap_or_default();
                renamed(&made, &cte.plan.columns(), columns)
            }
            Plan::SingleRow { .. } => Estimate { rows: 1.0, ..input() },
        }
    }
}

fn group_limit(keys: &[ColumnId], limit: Option<u64>, input: Estimate) -> Estimate {
    let groups = groups(&input, keys.iter().copied(), input.rows);
    match limit {
        Some(limit) => input.capped(groups * as_rows(limit)),
        None => input,
    }
}

fn unnest(plan: &Plan, mut estimate: Estimate) -> Estimate {
    let Plan::Unnest { generators, ordinality, outer, .. } = plan else { return estimate };
    let made = generators.iter().map(rows_made).fold(0.0, f64::max);
    estimate.rows *= if *outer { made.max(1.0) } else { made };
    let columns = generators.iter().flat_map(|it| &it.columns).chain(ordinality);
    columns.for_each(|it| estimate.add_distinct(it));
    estimate
}

/// About how many rows a generator makes of one row.
fn rows_made(generator: &Generator) -> f64 {
    let constant = |at: usize| generator.args.get(at).and_then(as_constant);
    let number = |at: usize| constant(at)?.as_i128();
    match (generator.kind, constant(0)) {
        (GeneratorKind::Elements, Some(Value::Array(elements))) => elements.len() as f64,
        (GeneratorKind::Elements, _) => ELEMENTS,
        _ => match (number(0), number(1), number(2)) {
            (Some(start), Some(end), Some(step)) if step != 0 => {
                ((end - start) as f64 / step as f64).max(0.0) + 1.0
            }
            _ => SERIES_ROWS,
        },
    }
}

/// What an ASOF join makes: about one row per left row.
fn nearest(kind: JoinKind, left: Estimate, right: Estimate) -> Estimate {
    let rows = left.rows;
    Estimate { rows, ..joined(kind, left, right, &[], &[]) }
}

fn aggregate(plan: &Plan, input: Estimate) -> Estimate {
    let Plan::Aggregate { keys, aggregates, input: of } = plan else { return input };
    let mut estimate = project(input.clone(), keys);
    estimate.rows = match &**of {
        Plan::GroupId { keys, sets, .. } => groups_of_sets(&input, keys, sets),
        _ => groups(&estimate, keys.iter().map(|it| it.0.id), input.rows),
    };
    for (column, _) in aggregates {
        let all = ColumnEstimate::of_distinct(estimate.rows.max(1.0));
        estimate.columns.insert(column.id, all);
    }
    estimate
}

fn group_id(plan: &Plan, mut estimate: Estimate) -> Estimate {
    let Plan::GroupId { keys, sets, id, present, .. } = plan else { return estimate };
    let copies = project(estimate.clone(), keys).columns;
    estimate.columns.extend(copies);
    let few = ColumnEstimate::of_distinct;
    estimate.columns.insert(id.id, few(as_rows(sets.len() as u64)));
    estimate.columns.extend(present.iter().map(|it| (it.id, few(1.0))));
    estimate.rows *= as_rows(sets.len() as u64);
    estimate
}

fn window(plan: &Plan, mut estimate: Estimate) -> Estimate {
    let Plan::Window { partition_by, calls, limit, .. } = plan else { return estimate };
    if let Some((_, rows)) = limit {
        let keys = partition_by.iter().filter_map(as_column);
        let groups = groups(&estimate, keys, estimate.rows);
        estimate = estimate.capped(groups * as_rows(*rows));
    }
    calls.iter().for_each(|it| estimate.add_distinct(&it.0));
    estimate
}

fn join(plan: &Plan, left: Estimate, right: Estimate) -> Estimate {
    let Plan::Join { kind, conditions, mark, .. } = plan else { return Estimate::default() };
    let mut keys = Vec::new();
    let mut others = Vec::new();
    for condition in conditions {
        match as_key(condition, &left.columns, &right.columns) {
            Some(key) => keys.push((key.left.clone(), key.right.clone())),
            None => others.push(condition.clone()),
        }
    }
    let mut estimate = joined(*kind, left, right, &keys, &others);
    mark.iter().for_each(|it| estimate.add_distinct(it));
    estimate
}

/// `feeds`: for each input, its plan and the columns that feed the output columns.
fn set_operation(
    (operation, all): (SetOperation, bool),
    feeds: &[(Plan, Vec<ColumnId>)],
    made: Vec<Estimate>,
    columns: &[Column],
) -> Estimate {
    let rows = made.iter().map(|it| it.rows);
    let rows = match operation {
        SetOperation::Union => rows.sum(),
        SetOperation::Intersect => rows.fold(f64::INFINITY, f64::min),
        SetOperation::Except => rows.take(1).sum(),
    };
    let mut estimate = Estimate { rows, ..Estimate::default() };
    for (at, column) in columns.iter().enumerate() {
        let feeds = made.iter().zip(feeds);
        let feeds = feeds.filter_map(|(made, (_, feeds))| Some(made.column(*feeds.get(at)?)));
        let merged = feeds.reduce(|a, b| ColumnEstimate {
            distinct: a.distinct.max(b.distinct),
            nulls: a.nulls.max(b.nulls),
            range: a.range.zip(b.range).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))),
            relation: None,
        });
        if let Some(merged) = merged {
            estimate.columns.insert(column.id, merged);
        }
    }
    if operation == SetOperation::Union && !all {
        estimate.rows = groups(&estimate, columns.iter().map(|it| it.id), rows);
    }
    estimate
}

/// The number of groups by columns: the product of their distinct values, for columns of one table
/// not more than it has rows, and not more than there are rows.
fn groups(estimate: &Estimate, keys: impl Iterator<Item = ColumnId>, rows: f64) -> f64 {
    let mut product = 1.0;
    let mut relations: Vec<(Relation, f64)> = Vec::new();
    for column in keys.map(|it| estimate.column(it)) {
        let distinct = column.distinct.max(1.0);
        let Some(own) = column.relation else {
            product *= distinct;
            continue;
        };
        match relations.iter_mut().find(|it| it.0.scan == own.scan) {
            Some((_, combinations)) => *combinations *= distinct,
            None => relations.push((own, distinct)),
        }
    }
    let of_relations = relations.iter().map(|(it, combinations)| combinations.min(it.rows));
    (product * of_relations.product::<f64>()).min(rows).max(1.0)
}

/// The number of groups of all sets, from the estimate of the rows that are repeated for them.
fn groups_of_sets(repeated: &Estimate, keys: &[(Column, Expr)], sets: &[GroupingSet]) -> f64 {
    let rows = repeated.rows / as_rows(sets.len().max(1) as u64);
    let of_set = |set: &GroupingSet| {
        let columns = set.keys.iter().filter_map(|it| keys.get(*it));
        groups(repeated, columns.map(|it| it.0.id), rows)
    };
    sets.iter().map(of_set).sum()
}

fn as_rows(rows: u64) -> f64 {
    rows as f64
}

impl Estimate {
    /// Adds a column about which nothing is known.
    fn add_distinct(&mut self, column: &Column) {
        let unknown = self.column(column.id);
        self.columns.insert(column.id, unknown);
    }

    fn at_most(self, limit: Option<u64>) -> Estimate {
        match limit {
            Some(limit) => self.capped(as_rows(limit)),
            None => self,
        }
    }

    fn capped(self, rows: f64) -> Estimate {
        if self.rows <= rows {
            return self;
        }
        let share = rows / self.rows.max(1.0);
        self.scaled(share)
    }
}

fn scan(statistics: &TableStatistics, columns: &[(Column, usize)]) -> Estimate {
    let rows = statistics.rows.map_or(ROWS_UNKNOWN, as_rows);
    let mut estimate = Estimate { rows, ..Estimate::default() };
    let relation = columns.first().map(|it| Relation { scan: it.0.id, rows: rows.max(1.0) });
    for (column, at) in columns {
        let known = statistics.columns.get(*at).cloned().unwrap_or_default();
        let bound = |it: &Option<_>| as_number(it.as_ref()?, &column.data_type);
        let range = bound(&known.min).zip(bound(&known.max));
        let nulls = known.nulls.map_or(0.0, |it| as_rows(it) / rows.max(1.0));
        let guess = match range.and_then(|(low, high)| steps(low, high, &column.data_type)) {
            Some(steps) => steps.min(rows),
            None if column.data_type.is_string() => {
                TEXT_DISTINCT_MIN + rows.powf(TEXT_DISTINCT_POWER)
            }
            None => rows.powf(DISTINCT_POWER),
        };
        let distinct = known.distinct.map_or(guess, as_rows).clamp(1.0, rows.max(1.0));
        let made = ColumnEstimate { distinct, nulls, range, relation };
        estimate.columns.insert(column.id, made);
    }
    estimate
}

fn values(columns: &[Column], rows: &[Vec<Expr>]) -> Estimate {
    let mut estimate = Estimate { rows: rows.len() as f64, ..Estimate::default() };
    for (at, column) in columns.iter().enumerate() {
        let constants = rows.iter().filter_map(|row| as_constant(row.get(at)?));
        let numbers = constants.filter_map(|it| as_number(it, &column.data_type));
        let range = numbers.fold(None, |range: Option<(f64, f64)>, it| match range {
            Some((low, high)) => Some((low.min(it), high.max(it))),
            None => Some((it, it)),
        });
        let made = ColumnEstimate { range, ..ColumnEstimate::of_distinct(estimate.rows.max(1.0)) };
        estimate.columns.insert(column.id, made);
    }
    estimate
}

fn project(input: Estimate, exprs: &[(Column, Expr)]) -> Estimate {
    let mut estimate = Estimate { rows: input.rows, ..Estimate::default() };
    for (column, expr) in exprs {
        let made = match as_column(expr) {
            Some(id) => input.column(id),
            None => computed(expr, &input),
        };
        estimate.columns.insert(column.id, made);
    }
    estimate
}

/// A computed column has not more values than the combinations of what it is computed from.
fn computed(expr: &Expr, input: &Estimate) -> ColumnEstimate {
    let used = crate::expr::used_columns(expr);
    let combinations: f64 = used.iter().map(|it| input.column(*it).distinct).product();
    let distinct = match &expr.kind {
        volley_logical::ExprKind::Call { name, .. } if name == "year" => combinations / 300.0,
        volley_logical::ExprKind::Call { name, .. } if name == "date_part" => combinations / 300.0,
        _ => combinations,
    };
    let mut relations = used.iter().map(|it| input.column(*it).relation);
    let first = relations.next().flatten();
    let is_one = relations.all(|it| it.map(|it| it.scan) == first.map(|it| it.scan));
    let relation = first.filter(|_| is_one);
    let distinct = distinct.clamp(1.0, input.rows.max(1.0));
    ColumnEstimate { relation, ..ColumnEstimate::of_distinct(distinct) }
}

fn renamed(made: &Estimate, inner: &[Column], columns: &[Column]) -> Estimate {
    let pairs = inner.iter().zip(columns);
    Estimate {
        rows: made.rows,
        columns: pairs.map(|(inner, outer)| (outer.id, made.column(inner.id))).collect(),
    }
}

/// What conjuncts on one column do to its range and number of values.
fn narrowed(mut estimate: Estimate, conjuncts: &[Expr]) -> Estimate {
    for conjunct in conjuncts {
        super::selectivity::narrow(&mut estimate, conjunct);
    }
    estimate
}
