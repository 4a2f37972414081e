//! Expressions of frames: handles to trees of `volley_sql::build`.

use crate::{aggregate, error::exception, value::typed};
use pyo3::{prelude::*, types::PyTuple};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, OnceLock},
};
use volley::{Error, Registry, Type, Value};
use volley_function::FunctionKind;
use volley_sql::build::{Expr as Tree, Frame, FrameBound, FrameUnits, Order};

/// Operators by the names that Python code uses.
const BINARY: [&str; 21] = [
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "^",
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "AND",
    "OR",
    "||",
    "LIKE",
    "ILIKE",
    "IS DISTINCT FROM",
    "IS NOT DISTINCT FROM",
    "&",
];
const UNARY: [&str; 2] = ["-", "NOT"];
const TESTS: [&str; 6] = ["NULL", "NOT NULL", "TRUE", "NOT TRUE", "FALSE", "NOT FALSE"];

/// An expression, which does not change.
#[pyclass(frozen, module = "volley._volley", name = "Expr")]
#[derive(Clone)]
pub(crate) struct Expr(pub(crate) Tree);

/// A key of an order: the expression, whether it descends, whether NULL comes first.
pub(crate) type Key = (Py<Expr>, bool, bool);

pub(crate) fn order(keys: Vec<Key>) -> Vec<Order> {
    let key = |(expr, is_descending, nulls_first): Key| Order {
        expr: expr.get().0.clone(),
        is_descending,
        nulls_first,
    };
    keys.into_iter().map(key).collect()
}

pub(crate) fn trees(exprs: Vec<Py<Expr>>) -> Vec<Tree> {
    exprs.iter().map(|it| it.get().0.clone()).collect()
}

/// The word of a list that equals `name`.
fn word(py: Python<'_>, name: &str, words: &'static [&'static str]) -> PyResult<&'static str> {
    words.iter().find(|it| **it == name).copied().ok_or_else(|| {
        exception(py, &Error::invalid_query(format!("no such operator: {name}")), None)
    })
}

impl Expr {
    fn tree(&self) -> Arc<Tree> {
        Arc::new(self.0.clone())
    }
}

#[pymethods]
impl Expr {
    #[staticmethod]
    #[pyo3(signature = (name, table = None))]
    fn column(name: String, table: Option<String>) -> Expr {
        Expr(Tree::Column { table, name })
    }

    #[staticmethod]
    fn literal(value: &Bound<'_, PyAny>) -> PyResult<Expr> {
        let (value, data_type) = typed(value)?;
        Ok(Expr(Tree::Literal(value, data_type)))
    }

    #[staticmethod]
    fn call(name: String, arguments: Vec<Py<Expr>>) -> Expr {
        Expr(Tree::call(name, trees(arguments)))
    }

    #[staticmethod]
    fn binary(py: Python<'_>, left: &Expr, operator: &str, right: &Expr) -> PyResult<Expr> {
        Ok(Expr(Tree::Binary(left.tree(), word(py, operator, &BINARY)?, right.tree())))
    }

    #[staticmethod]
    fn unary(py: Python<'_>, operator: &str, operand: &Expr) -> PyResult<Expr> {
        Ok(Expr(Tree::Unary(word(py, operator, &UNARY)?, operand.tree())))
    }

    #[staticmethod]
    fn case(branches: Vec<(Py<Expr>, Py<Expr>)>, otherwise: Option<Py<Expr>>) -> Expr {
        let tree = |it: &Py<Expr>| it.get().0.clone();
        let branches = branches.iter().map(|(when, then)| (tree(when), tree(then)));
        let otherwise = otherwise.map(|it| it.get().tree());
        Expr(Tree::Case { branches: branches.collect(), otherwise })
    }

    #[staticmethod]
    fn array(items: Vec<Py<Expr>>) -> Expr {
        Expr(Tree::List(trees(items)))
    }

    #[staticmethod]
    fn row(fields: Vec<(String, Py<Expr>)>) -> Expr {
        let fields = fields.into_iter().map(|(name, it)| (name, it.get().0.clone()));
        Expr(Tree::Row(fields.collect()))
    }

    #[staticmethod]
    fn function(parameters: Vec<String>, body: &Expr) -> Expr {
        Expr(Tree::Lambda(parameters, body.tree()))
    }

    #[staticmethod]
    fn star(except: Vec<String>) -> Expr {
        Expr(Tree::Star(except))
    }

    #[staticmethod]
    fn sql(text: String) -> Expr {
        Expr(Tree::Text(text))
    }

    fn test(&self, py: Python<'_>, what: &str) -> PyResult<Expr> {
        Ok(Expr(Tree::Is(self.tree(), word(py, what, &TESTS)?)))
    }

    fn cast(&self, data_type: String, is_try: bool) -> Expr {
        Expr(Tree::Cast { operand: self.tree(), data_type, is_try })
    }

    fn in_list(&self, items: Vec<Py<Expr>>) -> Expr {
        Expr(Tree::InList(self.tree(), trees(items)))
    }

    fn between(&self, low: &Expr, high: &Expr) -> Expr {
        Expr(Tree::Between(self.tree(), Arc::new([low.0.clone(), high.0.clone()])))
    }

    fn field(&self, name: String) -> Expr {
        Expr(Tree::Field(self.tree(), name))
    }

    fn index(&self, index: &Expr) -> Expr {
        Expr(Tree::Index(self.tree(), index.tree()))
    }

    /// The same call with clauses of an aggregate.
    #[pyo3(signature = (is_distinct, order_by, filter = None))]
    fn with_clauses(
        &self,
        py: Python<'_>,
        is_distinct: bool,
        order_by: Vec<Key>,
        filter: Option<Py<Expr>>,
    ) -> PyResult<Expr> {
        let Tree::Call { name, arguments, .. } = &self.0 else {
            let error = Error::invalid_query(format!("no call of an aggregate: {}", self.to_sql()));
            return Err(exception(py, &error, None));
        };
        let (name, arguments) = (name.clone(), arguments.clone());
        let filter = filter.map(|it| it.get().tree());
        Ok(Expr(Tree::Call { name, arguments, is_distinct, order_by: order(order_by), filter }))
    }

    /// The call over a window. A bound of the frame is `None` (unbounded) or a distance, negative
    /// before the current row.
    #[pyo3(signature = (partition_by, order_by, frame = None))]
    fn over(
        &self,
        partition_by: Vec<Py<Expr>>,
        order_by: Vec<Key>,
        frame: Option<(String, Option<i64>, Option<i64>)>,
    ) -> Expr {
        let frame = frame.map(|(units, start, end)| Frame {
            units: if units == "range" { FrameUnits::Range } else { FrameUnits::Rows },
            start: bound(start),
            end: bound(end),
        });
        Expr(over(&self.0, &trees(partition_by), &order(order_by), frame.as_ref()))
    }

    /// Its text in SQL.
    fn to_sql(&self) -> String {
        self.0.to_sql()
    }

    /// The name of the column that it is; `None` if it is none.
    fn column_name(&self) -> Option<String> {
        match &self.0 {
            Tree::Column { name, .. } => Some(name.clone()),
            _ => None,
        }
    }

    /// The names of the columns in it, in the order of their first use.
    fn columns(&self) -> Vec<String> {
        let mut names = Vec::new();
        visit(&self.0, &mut |it| {
            if let Tree::Column { name, .. } = it
                && !names.contains(name)
            {
                names.push(name.clone());
            }
        });
        names
    }

    /// Whether it calls an aggregate outside of windows.
    fn is_aggregate(&self) -> bool {
        let mut found = false;
        visit(&self.0, &mut |it| {
            found |= matches!(it, Tree::Call { name, .. } if grouped().contains(name));
        });
        found
    }

    /// The same with another column in place of each column called `old`.
    fn renamed(&self, old: &str, new: &str) -> Expr {
        Expr(map(&self.0, &mut |it| match it {
            Tree::Column { name, table } if name == old => {
                Some(Tree::Column { table: table.clone(), name: new.to_owned() })
            }
            _ => None,
        }))
    }

    /// The same with each column as one of a table.
    fn of_table(&self, table: &str) -> Expr {
        Expr(map(&self.0, &mut |it| match it {
            Tree::Column { name, table: None } => {
                Some(Tree::Column { table: Some(table.to_owned()), name: name.clone() })
            }
            _ => None,
        }))
    }

    /// The same with each column as one of a table. `columns`: the table and the name there, by the
    /// name here; others stay what they are.
    fn placed(&self, columns: HashMap<String, (String, String)>) -> Expr {
        Expr(map(&self.0, &mut |it| match it {
            Tree::Column { name, table: None } => {
                let (table, name) = columns.get(name)?;
                Some(Tree::Column { table: Some(table.clone()), name: name.clone() })
            }
            _ => None,
        }))
    }

    /// What identifies it, for pickling.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let sql = py.get_type::<Expr>().getattr("sql")?;
        Ok((sql, PyTuple::new(py, [self.0.to_sql()])?))
    }
}

fn bound(distance: Option<i64>) -> FrameBound {
    let literal = |it: u64| {
        let (value, data_type) = match i32::try_from(it) {
            Ok(it) => (Value::Integer(it), Type::Integer),
            Err(_) => (Value::BigInt(i64::try_from(it).unwrap_or(i64::MAX)), Type::BigInt),
        };
        Arc::new(Tree::Literal(value, data_type))
    };
    match distance {
        None => FrameBound::Unbounded,
        Some(0) => FrameBound::Current,
        Some(it) if it < 0 => FrameBound::Preceding(literal(it.unsigned_abs())),
        Some(it) => FrameBound::Following(literal(it.unsigned_abs())),
    }
}

/// The names of aggregates and window functions.
fn grouped() -> &'static HashSet<String> {
    static NAMES: OnceLock<HashSet<String>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut registry = Registry::new();
        volley_functions::register(&mut registry);
        let docs = registry.package_docs();
        let grouped = docs.iter().filter(|it| it.kind != FunctionKind::Scalar);
        let own = std::iter::once(aggregate::NAME.to_owned());
        grouped.map(|it| it.name.to_owned()).chain(own).collect()
    })
}

/// The expression with its aggregates over a window: `(a - a.mean()).over(...)` has one in it.
fn over(tree: &Tree, partition_by: &[Tree], order_by: &[Order], frame: Option<&Frame>) -> Tree {
    map(tree, &mut |it| match it {
        Tree::Call { name, .. } if grouped().contains(name) => Some(Tree::Over {
            call: Arc::new(it.clone()),
            partition_by: partition_by.to_vec(),
            order_by: order_by.to_vec(),
            frame: frame.cloned(),
        }),
        Tree::Over { .. } => Some(it.clone()),
        _ => None,
    })
}

/// The expression with other parts in place of those for which `replace` has one.
fn map(tree: &Tree, replace: &mut dyn FnMut(&Tree) -> Option<Tree>) -> Tree {
    if let Some(other) = replace(tree) {
        return other;
    }
    match tree {
        Tree::Call { name, arguments, is_distinct, order_by, filter } => Tree::Call {
            name: name.clone(),
            arguments: map_all(arguments, replace),
            is_distinct: *is_distinct,
            order_by: map_order(order_by, replace),
            filter: filter.as_ref().map(|it| map_arc(it, replace)),
        },
        Tree::Over { call, partition_by, order_by, frame } => Tree::Over {
            call: map_arc(call, replace),
            partition_by: map_all(partition_by, replace),
            order_by: map_order(order_by, replace),
            frame: frame.clone(),
        },
        Tree::Unary(operator, it) => Tree::Unary(operator, map_arc(it, replace)),
        Tree::Binary(left, operator, right) => {
            Tree::Binary(map_arc(left, replace), operator, map_arc(right, replace))
        }
        Tree::Is(it, what) => Tree::Is(map_arc(it, replace), what),
        Tree::Cast { operand, data_type, is_try } => {
            let operand = map_arc(operand, replace);
            Tree::Cast { operand, data_type: data_type.clone(), is_try: *is_try }
        }
        Tree::Case { branches, otherwise } => {
            let branches = branches.iter();
            Tree::Case {
                branches: branches
                    .map(|(when, then)| (map(when, replace), map(then, replace)))
                    .collect(),
                otherwise: otherwise.as_ref().map(|it| map_arc(it, replace)),
            }
        }
        Tree::InList(it, list) => Tree::InList(map_arc(it, replace), map_all(list, replace)),
        Tree::Between(it, bounds) => {
            let [low, high] = &**bounds;
            let bounds = Arc::new([map(low, replace), map(high, replace)]);
            Tree::Between(map_arc(it, replace), bounds)
        }
        Tree::Field(it, name) => Tree::Field(map_arc(it, replace), name.clone()),
        Tree::Index(it, index) => Tree::Index(map_arc(it, replace), map_arc(index, replace)),
        Tree::List(items) => Tree::List(map_all(items, replace)),
        Tree::Row(fields) => {
            let fields = fields.iter().map(|(name, it)| (name.clone(), map(it, replace)));
            Tree::Row(fields.collect())
        }
        Tree::Lambda(names, body) => Tree::Lambda(names.clone(), map_arc(body, replace)),
        Tree::Column { .. } | Tree::Literal(..) | Tree::Star(_) | Tree::Text(_) => tree.clone(),
    }
}

fn map_arc(tree: &Arc<Tree>, replace: &mut dyn FnMut(&Tree) -> Option<Tree>) -> Arc<Tree> {
    Arc::new(map(tree, replace))
}

fn map_all(trees: &[Tree], replace: &mut dyn FnMut(&Tree) -> Option<Tree>) -> Vec<Tree> {
    trees.iter().map(|it| map(it, replace)).collect()
}

fn map_order(keys: &[Order], replace: &mut dyn FnMut(&Tree) -> Option<Tree>) -> Vec<Order> {
    keys.iter().map(|it| Order { expr: map(&it.expr, replace), ..it.clone() }).collect()
}

/// Visits the parts of an expression, but not what is over a window.
fn visit(tree: &Tree, f: &mut impl FnMut(&Tree)) {
    f(tree);
    match tree {
        Tree::Call { arguments, filter, order_by, .. } => {
            arguments.iter().for_each(|it| visit(it, f));
            order_by.iter().for_each(|it| visit(&it.expr, f));
            filter.iter().for_each(|it| visit(it, f));
        }
        Tree::Unary(_, it)
        | Tree::Is(it, _)
        | Tree::Cast { operand: it, .. }
        | Tree::Field(it, _)
        | Tree::Lambda(_, it) => visit(it, f),
        Tree::Binary(left, _, right) | Tree::Index(left, right) => {
            visit(left, f);
            visit(right, f);
        }
        Tree::Case { branches, otherwise } => {
            for (when, then) in branches {
                visit(when, f);
                visit(then, f);
            }
            otherwise.iter().for_each(|it| visit(it, f));
        }
        Tree::InList(operand, list) => {
            visit(operand, f);
            list.iter().for_each(|it| visit(it, f));
        }
        Tree::Between(operand, bounds) => {
            visit(operand, f);
            bounds.iter().for_each(|it| visit(it, f));
        }
        Tree::List(items) => items.iter().for_each(|it| visit(it, f)),
        Tree::Row(fields) => fields.iter().for_each(|it| visit(&it.1, f)),
        _ => {}
    }
}
