//! Queries of frames: handles to trees of `volley_sql::build`.

use crate::{
    connection::Connection,
    error::exception,
    expression::{Expr, Key, order, trees},
    statement::Statement,
};
use pyo3::prelude::*;
use std::sync::Arc;
use volley::Error;
use volley_sql::build::{Grouping, Item, Join, JoinKind, Mark, Query as Tree, Sample, SetOperator};

/// A query, which does not change. `mark` names the call that makes it.
#[pyclass(frozen, module = "volley._volley", name = "Query")]
pub(crate) struct Query(Arc<Tree>);

/// A column of the result: its value and its name.
type Column = (Py<Expr>, Option<String>);

fn items(columns: Vec<Column>) -> Vec<Item> {
    columns.into_iter().map(|(expr, name)| Item { expr: expr.get().0.clone(), name }).collect()
}

fn tree(expr: Option<Py<Expr>>) -> Option<volley_sql::build::Expr> {
    expr.map(|it| it.get().0.clone())
}

fn of(tree: Tree) -> Query {
    Query(Arc::new(tree))
}

fn join_kind(py: Python<'_>, name: &str) -> PyResult<JoinKind> {
    Ok(match name {
        "inner" => JoinKind::Inner,
        "left" => JoinKind::Left,
        "right" => JoinKind::Right,
        "full" => JoinKind::Full,
        "semi" => JoinKind::Semi,
        "anti" => JoinKind::Anti,
        "cross" => JoinKind::Cross,
        "asof" => JoinKind::AsOf,
        "asof_left" => JoinKind::AsOfLeft,
        _ => {
            let error = Error::invalid_query(format!("no such kind of a join: {name}"));
            let error = error.hint("there are inner, left, right, full, semi, anti and cross");
            return Err(exception(py, &error, None));
        }
    })
}

#[pymethods]
impl Query {
    #[staticmethod]
    fn table(parts: Vec<String>) -> Query {
        of(Tree::Table(parts))
    }

    #[staticmethod]
    fn files(path: String) -> Query {
        of(Tree::Files(path))
    }

    #[staticmethod]
    fn call(name: String, arguments: Vec<Py<Expr>>, named: Vec<(String, Py<Expr>)>) -> Query {
        let named = named.into_iter().map(|(name, it)| (name, it.get().0.clone()));
        of(Tree::Function(name, trees(arguments), named.collect()))
    }

    fn select(&self, columns: Vec<Column>, mark: u32) -> Query {
        of(self.0.select(items(columns), Some(Mark(mark))))
    }

    fn filter(&self, predicate: &Expr, mark: u32) -> Query {
        of(self.0.filter(predicate.0.clone(), Some(Mark(mark))))
    }

    #[pyo3(signature = (keys, columns, having, mark))]
    fn aggregate(
        &self,
        keys: Vec<Py<Expr>>,
        columns: Vec<Column>,
        having: Option<Py<Expr>>,
        mark: u32,
    ) -> Query {
        let grouping = Grouping { keys: trees(keys), having: tree(having) };
        of(self.0.aggregate(grouping, items(columns), Some(Mark(mark))))
    }

    fn sort(&self, keys: Vec<Key>, mark: u32) -> Query {
        of(self.0.sort(order(keys), Some(Mark(mark))))
    }

    #[pyo3(signature = (limit, offset, mark))]
    fn limit(&self, limit: Option<u64>, offset: u64, mark: u32) -> Query {
        of(self.0.limit(limit, offset, Some(Mark(mark))))
    }

    fn distinct(&self, on: Vec<Py<Expr>>, mark: u32) -> Query {
        of(self.0.distinct(trees(on), Some(Mark(mark))))
    }

    #[pyo3(signature = (size, seed, mark))]
    fn sample(&self, size: String, seed: Option<u64>, mark: u32) -> Query {
        of(self.0.sample(Sample { size, seed }, Some(Mark(mark))))
    }

    #[pyo3(signature = (other, kind, condition, columns, mark))]
    fn join(
        &self,
        py: Python<'_>,
        other: &Query,
        kind: &str,
        condition: Option<Py<Expr>>,
        columns: Vec<Column>,
        mark: u32,
    ) -> PyResult<Query> {
        Ok(of(Tree::Join(Box::new(Join {
            left: Arc::clone(&self.0),
            right: Arc::clone(&other.0),
            kind: join_kind(py, kind)?,
            condition: tree(condition),
            items: items(columns),
            mark: Some(Mark(mark)),
        }))))
    }

    fn set(&self, py: Python<'_>, operator: &str, other: &Query) -> PyResult<Query> {
        let operator = match operator {
            "union all" => SetOperator::UnionAll,
            "union all by name" => SetOperator::UnionAllByName,
            "union" => SetOperator::Union,
            "except" => SetOperator::Except,
            "intersect" => SetOperator::Intersect,
            _ => {
                let error = Error::invalid_query(format!("no such operation: {operator}"));
                return Err(exception(py, &error, None));
            }
        };
        Ok(of(Tree::Set(operator, Arc::clone(&self.0), Arc::clone(&other.0))))
    }

    /// The text of the query.
    fn to_sql(&self) -> String {
        self.0.to_sql()
    }

    /// The query as a statement, and the marked parts of its text: start, end, mark.
    fn statement(
        &self,
        py: Python<'_>,
        connection: &Connection,
    ) -> PyResult<(Statement, Vec<(u32, u32, u32)>)> {
        connection.session(py)?;
        let built = self.0.to_statement();
        let built = built.map_err(|it| exception(py, &it, Some(&self.0.to_sql())))?;
        let marks = built.marks.iter().map(|(span, mark)| (span.start, span.end, mark.0));
        let marks = marks.collect();
        let statement = Statement { parsed: Arc::new(built.statement), sql: built.sql.into() };
        Ok((statement, marks))
    }
}
