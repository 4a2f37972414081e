//! Expressions of built queries.

use super::{literal, writer::Writer};
use std::sync::Arc;
use volley_types::{Type, Value};

/// An expression. Cheap to clone where it is large: parts are shared.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A column by its name, perhaps after the name of its table.
    Column {
        /// The table, if it is named.
        table: Option<String>,
        /// The column.
        name: String,
    },
    /// A value.
    Literal(Value, Type),
    /// A call of a function or an aggregate.
    Call {
        /// The function.
        name: String,
        /// Its arguments.
        arguments: Vec<Expr>,
        /// Whether the aggregate sees each value once.
        is_distinct: bool,
        /// The order in which the aggregate sees its rows.
        order_by: Vec<Order>,
        /// Which rows the aggregate sees.
        filter: Option<Arc<Expr>>,
    },
    /// A call over a window.
    Over {
        /// The call.
        call: Arc<Expr>,
        /// Rows with equal values are a partition.
        partition_by: Vec<Expr>,
        /// The order in a partition.
        order_by: Vec<Order>,
        /// The rows around the current one that the call sees.
        frame: Option<Frame>,
    },
    /// `operator operand`: `-` or `NOT`.
    Unary(&'static str, Arc<Expr>),
    /// `left operator right`.
    Binary(Arc<Expr>, &'static str, Arc<Expr>),
    /// `operand IS NULL` and its like: what follows the operand.
    Is(Arc<Expr>, &'static str),
    /// A cast to a type, by its name in SQL.
    Cast {
        /// What is cast.
        operand: Arc<Expr>,
        /// The type, as SQL writes it.
        data_type: String,
        /// Whether a value that cannot be cast becomes NULL.
        is_try: bool,
    },
    /// The result of the first condition that is true.
    Case {
        /// Conditions and results.
        branches: Vec<(Expr, Expr)>,
        /// The result without a true condition; NULL without it.
        otherwise: Option<Arc<Expr>>,
    },
    /// Whether the operand is one of a list.
    InList(Arc<Expr>, Vec<Expr>),
    /// Whether the operand is between two bounds, which are included.
    Between(Arc<Expr>, Arc<[Expr; 2]>),
    /// A field of a row.
    Field(Arc<Expr>, String),
    /// An element of a list (from 1 on) or of a map.
    Index(Arc<Expr>, Arc<Expr>),
    /// A list of values.
    List(Vec<Expr>),
    /// A row with named fields.
    Row(Vec<(String, Expr)>),
    /// A function of its parameters, for `transform` and its like.
    Lambda(Vec<String>, Arc<Expr>),
    /// All columns, but for these.
    Star(Vec<String>),
    /// An expression written in SQL.
    Text(String),
}

/// A key of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// What rows are ordered by.
    pub expr: Expr,
    /// Whether the greatest comes first.
    pub is_descending: bool,
    /// Whether NULL comes first.
    pub nulls_first: bool,
}

/// Which rows around the current one a call over a window sees.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// What bounds count.
    pub units: FrameUnits,
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
}

/// What the bounds of a frame count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnits {
    /// Rows.
    Rows,
    /// Values of the order's key.
    Range,
}

/// An end of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// The partition's first or last row.
    Unbounded,
    /// Rows or values before the current one.
    Preceding(Arc<Expr>),
    /// The current row.
    Current,
    /// Rows or values after the current one.
    Following(Arc<Expr>),
}

impl Expr {
    /// A column.
    pub fn column(name: impl Into<String>) -> Expr {
        Expr::Column { table: None, name: name.into() }
    }

    /// A call without clauses.
    pub fn call(name: impl Into<String>, arguments: Vec<Expr>) -> Expr {
        let (is_distinct, order_by, filter) = (false, Vec::new(), None);
        Expr::Call { name: name.into(), arguments, is_distinct, order_by, filter }
    }

    /// Whether it is one token, or in parentheses of its own.
    fn is_closed(&self) -> bool {
        !matches!(
            self,
            Expr::Unary(..)
                | Expr::Binary(..)
                | Expr::Is(..)
                | Expr::InList(..)
                | Expr::Between(..)
                | Expr::Lambda(..)
                | Expr::Text(_)
        )
    }

    /// Writes it as an operand: in parentheses, unless it needs none.
    pub(super) fn write_operand(&self, writer: &mut Writer) {
        if self.is_closed() {
            return self.write(writer);
        }
        writer.push("(");
        self.write(writer);
        writer.push(")");
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        match self {
            Expr::Column { table, name } => {
                if let Some(table) = table {
                    writer.short_name(table);
                    writer.push(".");
                }
                writer.short_name(name);
            }
            Expr::Literal(value, data_type) => literal::write(value, data_type, writer),
            Expr::Call { .. } => self.write_call(writer),
            Expr::Over { call, partition_by, order_by, frame } => {
                call.write(writer);
                write_window(writer, partition_by, order_by, frame.as_ref());
            }
            Expr::Unary(operator, operand) => {
                writer.push(operator);
                writer.push(" ");
                operand.write_operand(writer);
            }
            Expr::Binary(left, operator, right) => {
                let is_chain = |it: &Expr| {
                    matches!(it, Expr::Binary(_, inner, _) if inner == operator
                        && ["AND", "OR"].contains(operator))
                };
                let operand = |it: &Expr, writer: &mut Writer| match is_chain(it) {
                    true => it.write(writer),
                    false => it.write_operand(writer),
                };
                operand(left, writer);
                writer.push(&format!(" {operator} "));
                operand(right, writer);
            }
            Expr::Is(operand, what) => {
                operand.write_operand(writer);
                writer.push(&format!(" IS {what}"));
            }
            Expr::Lambda(parameters, body) => {
                writer.push("lambda ");
                writer.list(parameters, |writer, it| writer.short_name(it));
                writer.push(": ");
                body.write(writer);
            }
            Expr::Text(sql) => writer.push(sql),
            _ => self.write_form(writer),
        }
    }

    /// Casts, CASE, lists and what has parts of other kinds.
    fn write_form(&self, writer: &mut Writer) {
        match self {
            Expr::Cast { operand, data_type, is_try } => {
                writer.push(if *is_try { "TRY_CAST(" } else { "CAST(" });
                operand.write(writer);
                writer.push(&format!(" AS {data_type})"));
            }
            Expr::Case { branches, otherwise } => {
                write_case(writer, branches, otherwise.as_deref());
            }
            Expr::InList(operand, list) => {
                operand.write_operand(writer);
                writer.push(" IN (");
                writer.list(list, |writer, it| it.write(writer));
                writer.push(")");
            }
            Expr::Between(operand, bounds) => {
                operand.write_operand(writer);
                writer.push(" BETWEEN ");
                bounds[0].write_operand(writer);
                writer.push(" AND ");
                bounds[1].write_operand(writer);
            }
            Expr::Field(row, name) => {
                // In parentheses: a name before the point could mean a table.
                writer.push("(");
                row.write(writer);
                writer.push(").");
                writer.name(name);
            }
            Expr::Index(list, index) => {
                writer.push("(");
                list.write(writer);
                writer.push(")[");
                index.write(writer);
                writer.push("]");
            }
            Expr::List(items) => {
                writer.push("[");
                writer.list(items, |writer, it| it.write(writer));
                writer.push("]");
            }
            Expr::Row(fields) => {
                writer.push("{");
                writer.list(fields, |writer, (name, it)| {
                    writer.string(name);
                    writer.push(": ");
                    it.write(writer);
                });
                writer.push("}");
            }
            Expr::Star(except) => {
                writer.push("*");
                if !except.is_empty() {
                    writer.push(" EXCLUDE (");
                    writer.list(except, |writer, it| writer.short_name(it));
                    writer.push(")");
                }
            }
            _ => {}
        }
    }

    fn write_call(&self, writer: &mut Writer) {
        let Expr::Call { name, arguments, is_distinct, order_by, filter } = self else { return };
        match name.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_') {
            true => writer.push(name),
            false => writer.name(name),
        }
        writer.push("(");
        if *is_distinct {
            writer.push("DISTINCT ");
        }
        writer.list(arguments, |writer, it| it.write(writer));
        write_order(writer, order_by, " ORDER BY ");
        writer.push(")");
        if let Some(filter) = filter {
            writer.push(" FILTER (WHERE ");
            filter.write(writer);
            writer.push(")");
        }
    }
}

fn write_case(writer: &mut Writer, branches: &[(Expr, Expr)], otherwise: Option<&Expr>) {
    writer.push("CASE");
    for (condition, result) in branches {
        writer.push(" WHEN ");
        condition.write(writer);
        writer.push(" THEN ");
        result.write(writer);
    }
    if let Some(otherwise) = otherwise {
        writer.push(" ELSE ");
        otherwise.write(writer);
    }
    writer.push(" END");
}

fn write_window(
    writer: &mut Writer,
    partition_by: &[Expr],
    order_by: &[Order],
    frame: Option<&Frame>,
) {
    writer.push(" OVER (");
    if !partition_by.is_empty() {
        writer.push("PARTITION BY ");
        writer.list(partition_by, |writer, it| it.write(writer));
    }
    let space = if partition_by.is_empty() { "ORDER BY " } else { " ORDER BY " };
    write_order(writer, order_by, space);
    if let Some(Frame { units, start, end }) = frame {
        let units = match units {
            FrameUnits::Rows => " ROWS BETWEEN ",
            FrameUnits::Range => " RANGE BETWEEN ",
        };
        writer.push(units);
        write_bound(writer, start, "PRECEDING");
        writer.push(" AND ");
        write_bound(writer, end, "FOLLOWING");
    }
    writer.push(")");
}

fn write_bound(writer: &mut Writer, bound: &FrameBound, unbounded: &str) {
    match bound {
        FrameBound::Unbounded => writer.push(&format!("UNBOUNDED {unbounded}")),
        FrameBound::Current => writer.push("CURRENT ROW"),
        FrameBound::Preceding(distance) => {
            distance.write_operand(writer);
            writer.push(" PRECEDING");
        }
        FrameBound::Following(distance) => {
            distance.write_operand(writer);
            writer.push(" FOLLOWING");
        }
    }
}

/// Writes keys of an order after `start`, if there are any.
pub(super) fn write_order(writer: &mut Writer, keys: &[Order], start: &str) {
    if keys.is_empty() {
        return;
    }
    writer.push(start);
    writer.list(keys, |writer, it| {
        it.expr.write_operand(writer);
        writer.push(if it.is_descending { " DESC" } else { " ASC" });
        writer.push(if it.nulls_first { " NULLS FIRST" } else { " NULLS LAST" });
    });
}
