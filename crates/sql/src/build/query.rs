//! Queries, and the steps that make one of another.
//!
//! A step is merged into the query before it where SQL evaluates its clauses in the same order;
//! otherwise that query becomes a subquery. A sort is kept as long as SQL can say it.

use super::{
    Mark,
    expr::{Expr, Order, write_order},
    writer::Writer,
};
use std::sync::Arc;

/// A query.
#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    /// A table or view, by the parts of its name.
    Table(Vec<String>),
    /// A file, glob or folder.
    Files(String),
    /// A call of a function in FROM, with arguments by position and by name.
    Function(String, Vec<Expr>, Vec<(String, Expr)>),
    /// SELECT.
    Select(Box<Select>),
    /// A join.
    Join(Box<Join>),
    /// UNION, EXCEPT or INTERSECT.
    Set(SetOperator, Arc<Query>, Arc<Query>),
}

/// SELECT, with clauses in the order in which they are evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// FROM.
    pub input: Arc<Query>,
    /// A sample of the input.
    pub sample: Option<Sample>,
    /// WHERE: conditions that all hold, and which call made each.
    pub filters: Vec<(Expr, Option<Mark>)>,
    /// GROUP BY.
    pub grouping: Option<Grouping>,
    /// QUALIFY.
    pub qualify: Option<Expr>,
    /// The columns; all of the input's when there are none.
    pub items: Vec<Item>,
    /// Whether each row is kept once.
    pub is_distinct: bool,
    /// One row of those with equal values of these.
    pub distinct_on: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<Order>,
    /// LIMIT.
    pub limit: Option<u64>,
    /// OFFSET.
    pub offset: u64,
    /// Which call made the columns.
    pub items_mark: Option<Mark>,
    /// Which call made the order.
    pub order_mark: Option<Mark>,
    /// Which call made it.
    pub mark: Option<Mark>,
}

/// What rows are grouped by.
#[derive(Clone, Debug, PartialEq)]
pub struct Grouping {
    /// The keys; one group of all rows when there are none.
    pub keys: Vec<Expr>,
    /// Which groups are kept.
    pub having: Option<Expr>,
}

/// A column of the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its value.
    pub expr: Expr,
    /// Its name; that which SQL gives the expression when there is none.
    pub name: Option<String>,
}

/// A sample of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// How many rows or percent.
    pub size: String,
    /// Equal seeds draw equal samples.
    pub seed: Option<u64>,
}

/// A join of two queries, which are called `l` and `r`.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// Left input.
    pub left: Arc<Query>,
    /// Right input.
    pub right: Arc<Query>,
    /// Which rows are kept.
    pub kind: JoinKind,
    /// The condition; a product without one.
    pub condition: Option<Expr>,
    /// The columns.
    pub items: Vec<Item>,
    /// Which call made it.
    pub mark: Option<Mark>,
}

/// Which rows of a join are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// Pairs that satisfy the condition.
    Inner,
    /// Those, and left rows without a match.
    Left,
    /// Those, and right rows without a match.
    Right,
    /// Those, and rows of either input without a match.
    Full,
    /// Left rows with a match.
    Semi,
    /// Left rows without a match.
    Anti,
    /// All pairs.
    Cross,
    /// For each left row, the nearest right row by an inequality.
    AsOf,
    /// The same, and left rows without one.
    AsOfLeft,
}

/// An operation on the rows of two queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperator {
    /// Rows of both.
    UnionAll,
    /// Rows of both, columns matched by name.
    UnionAllByName,
    /// Rows of either, once.
    Union,
    /// Rows of the first that are not in the second.
    Except,
    /// Rows of both that are in both.
    Intersect,
}

impl Select {
    /// All rows and columns of a query.
    pub fn of(input: Arc<Query>) -> Select {
        Select {
            input,
            sample: None,
            filters: Vec::new(),
            grouping: None,
            qualify: None,
            items: Vec::new(),
            is_distinct: false,
            distinct_on: Vec::new(),
            order_by: Vec::new(),
            limit: None,
            offset: 0,
            items_mark: None,
            order_mark: None,
            mark: None,
        }
    }

    /// Whether it has the input's columns, and clauses up to WHERE and ORDER BY alone.
    fn is_rows_of_input(&self) -> bool {
        self.grouping.is_none()
            && self.qualify.is_none()
            && self.items.is_empty()
            && !self.is_distinct
            && self.distinct_on.is_empty()
            && self.limit.is_none()
            && self.offset == 0
    }

    fn boxed(self) -> Query {
        Query::Select(Box::new(self))
    }
}

impl Query {
    /// The query as a SELECT that can take a clause, if `fits`; otherwise a SELECT of its rows.
    fn open(self: &Arc<Query>, mark: Option<Mark>, fits: impl Fn(&Select) -> bool) -> Select {
        match &**self {
            Query::Select(select) if fits(select) => Select { mark, ..(**select).clone() },
            _ => Select { mark, ..Select::of(Arc::clone(self)) },
        }
    }

    /// The rows that satisfy a predicate.
    pub fn filter(self: &Arc<Query>, predicate: Expr, mark: Option<Mark>) -> Query {
        let mut select = self.open(mark, Select::is_rows_of_input);
        select.filters.push((predicate, mark));
        select.boxed()
    }

    /// Columns made of the query's columns.
    pub fn select(self: &Arc<Query>, items: Vec<Item>, mark: Option<Mark>) -> Query {
        // A key of ORDER BY means an output of its name before a column of the input.
        let keeps_order = |it: &Select| it.order_by.is_empty() || !renames(&items);
        let mut select = self.open(mark, |it| it.is_rows_of_input() && keeps_order(it));
        select.items = items;
        select.items_mark = mark;
        select.boxed()
    }

    /// One row for each group.
    pub fn aggregate(
        self: &Arc<Query>,
        grouping: Grouping,
        items: Vec<Item>,
        mark: Option<Mark>,
    ) -> Query {
        let mut select = self.open(mark, |it| it.is_rows_of_input() && it.order_by.is_empty());
        select.grouping = Some(grouping);
        select.items = items;
        select.boxed()
    }

    /// The rows in an order.
    pub fn sort(self: &Arc<Query>, keys: Vec<Order>, mark: Option<Mark>) -> Query {
        let mut select = self.open(mark, Select::is_rows_of_input);
        select.order_by = keys;
        select.order_mark = mark;
        select.boxed()
    }

    /// At most `limit` rows after `offset`.
    pub fn limit(self: &Arc<Query>, limit: Option<u64>, offset: u64, mark: Option<Mark>) -> Query {
        let mut select = self.open(mark, |it| it.limit.is_none() && it.offset == 0);
        select.limit = limit;
        select.offset = offset;
        select.boxed()
    }

    /// Each row once, or one row for equal values of `on`.
    pub fn distinct(self: &Arc<Query>, on: Vec<Expr>, mark: Option<Mark>) -> Query {
        let mut select = self
            .open(mark, |it| it.is_rows_of_input() && (on.is_empty() || !it.order_by.is_empty()));
        select.is_distinct = on.is_empty();
        select.distinct_on = on;
        select.boxed()
    }

    /// A sample of the rows.
    pub fn sample(self: &Arc<Query>, sample: Sample, mark: Option<Mark>) -> Query {
        let sample = Some(sample);
        Select { sample, mark, ..Select::of(Arc::clone(self)) }.boxed()
    }

    /// Writes it as a statement.
    pub(super) fn write_query(&self, writer: &mut Writer) {
        match self {
            Query::Select(select) => writer.marked(select.mark, |it| write_select(select, it)),
            Query::Join(join) => writer.marked(join.mark, |it| write_join(join, it)),
            Query::Set(operator, left, right) => {
                write_operand(left, writer);
                writer.line();
                writer.push(match operator {
                    SetOperator::UnionAll => "UNION ALL",
                    SetOperator::UnionAllByName => "UNION ALL BY NAME",
                    SetOperator::Union => "UNION",
                    SetOperator::Except => "EXCEPT",
                    SetOperator::Intersect => "INTERSECT",
                });
                writer.line();
                write_operand(right, writer);
            }
            Query::Table(_) | Query::Files(_) | Query::Function(..) => {
                writer.push("SELECT * FROM ");
                self.write_from(writer);
            }
        }
    }

    /// Writes it as an item of FROM.
    fn write_from(&self, writer: &mut Writer) {
        match self {
            Query::Table(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    if index > 0 {
                        writer.push(".");
                    }
                    writer.short_name(part);
                }
            }
            Query::Files(path) => writer.string(path),
            Query::Function(name, arguments, named) => {
                writer.push(name);
                writer.push("(");
                writer.list(arguments, |writer, it| it.write(writer));
                for (index, (name, it)) in named.iter().enumerate() {
                    if index > 0 || !arguments.is_empty() {
                        writer.push(", ");
                    }
                    writer.push(name);
                    writer.push(" = ");
                    it.write(writer);
                }
                writer.push(")");
            }
            _ => write_operand(self, writer),
        }
    }
}

/// Whether an item has another name than the column that it is.
fn renames(items: &[Item]) -> bool {
    items.iter().any(|it| match (&it.expr, &it.name) {
        (Expr::Column { name, .. }, Some(given)) => name != given,
        (Expr::Column { .. } | Expr::Star(_), None) => false,
        _ => true,
    })
}

/// Writes a query in parentheses.
fn write_operand(query: &Query, writer: &mut Writer) {
    writer.push("(");
    writer.indented(|writer| {
        writer.line();
        query.write_query(writer);
    });
    writer.line();
    writer.push(")");
}

fn write_items(items: &[Item], writer: &mut Writer) {
    if items.is_empty() {
        return writer.push("*");
    }
    writer.list(items, |writer, it| {
        it.expr.write(writer);
        let is_its_name = match (&it.expr, &it.name) {
            (_, None) => true,
            (Expr::Column { name, .. }, Some(given)) => name == given,
            _ => false,
        };
        if let Some(name) = it.name.as_ref().filter(|_| !is_its_name) {
            writer.push(" AS ");
            writer.short_name(name);
        }
    });
}

fn write_select(select: &Select, writer: &mut Writer) {
    writer.push("SELECT ");
    if select.is_distinct {
        writer.push("DISTINCT ");
    }
    if !select.distinct_on.is_empty() {
        writer.push("DISTINCT ON (");
        writer.list(&select.distinct_on, |writer, it| it.write(writer));
        writer.push(") ");
    }
    writer.marked(select.items_mark, |writer| write_items(&select.items, writer));
    writer.line();
    writer.push("FROM ");
    select.input.write_from(writer);
    write_filters(&select.filters, writer);
    if let Some(Grouping { keys, having }) = &select.grouping {
        if !keys.is_empty() {
            writer.line();
            writer.push("GROUP BY ");
            writer.list(keys, |writer, it| it.write(writer));
        }
        if let Some(having) = having {
            writer.line();
            writer.push("HAVING ");
            having.write(writer);
        }
    }
    if let Some(qualify) = &select.qualify {
        writer.line();
        writer.push("QUALIFY ");
        qualify.write(writer);
    }
    if let Some(Sample { size, seed }) = &select.sample {
        writer.line();
        writer.push(&format!("USING SAMPLE {size}"));
        if let Some(seed) = seed {
            writer.push(&format!(" REPEATABLE ({seed})"));
        }
    }
    if !select.order_by.is_empty() {
        writer.line();
        writer.marked(select.order_mark, |writer| {
            write_order(writer, &select.order_by, "ORDER BY ");
        });
    }
    if let Some(limit) = select.limit {
        writer.line();
        writer.push(&format!("LIMIT {limit}"));
    }
    if select.offset > 0 {
        writer.line();
        writer.push(&format!("OFFSET {}", select.offset));
    }
}

fn write_filters(filters: &[(Expr, Option<Mark>)], writer: &mut Writer) {
    for (index, (filter, mark)) in filters.iter().enumerate() {
        match index {
            0 => {
                writer.line();
                writer.push("WHERE ");
            }
            _ => writer.push(" AND "),
        }
        writer.marked(*mark, |writer| match filters.len() {
            1 => filter.write(writer),
            _ => filter.write_operand(writer),
        });
    }
}

fn write_join(join: &Join, writer: &mut Writer) {
    writer.push("SELECT ");
    write_items(&join.items, writer);
    writer.line();
    writer.push("FROM ");
    join.left.write_from(writer);
    writer.push(" AS l");
    writer.line();
    writer.push(match join.kind {
        JoinKind::Inner => "JOIN ",
        JoinKind::Left => "LEFT JOIN ",
        JoinKind::Right => "RIGHT JOIN ",
        JoinKind::Full => "FULL JOIN ",
        JoinKind::Semi => "SEMI JOIN ",
        JoinKind::Anti => "ANTI JOIN ",
        JoinKind::Cross => "CROSS JOIN ",
        JoinKind::AsOf => "ASOF JOIN ",
        JoinKind::AsOfLeft => "ASOF LEFT JOIN ",
    });
    join.right.write_from(writer);
    writer.push(" AS r");
    if let Some(condition) = &join.condition {
        writer.push(" ON ");
        condition.write(writer);
    }
}
