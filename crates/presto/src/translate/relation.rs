//! A plan node with the names that Presto has for its columns.

use super::group_id::INPUT_ROW;
use crate::plan_json::{OrderingScheme, SortOrder, Variable};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_expression::{Expr, ExprKind};
use volley_plan::{PlanNode, PlanNodeId, ProjectNode, SortKey};
use volley_types::{Field, Schema, Type};

/// A plan node, and for each variable of Presto the column that holds it.
#[derive(Clone)]
pub(super) struct Relation {
    pub node: Arc<PlanNode>,
    /// Variables, and the positions of their columns. Columns without a variable are not used.
    pub columns: Vec<(String, usize)>,
}

/// Columns that are computed from those of a relation, behind them.
pub(super) struct Computed {
    relation: Relation,
    exprs: Vec<Expr>,
}

impl Relation {
    /// All columns of a node, by name.
    pub(super) fn new(node: PlanNode, names: impl IntoIterator<Item = String>) -> Relation {
        let columns = names.into_iter().zip(0..).collect();
        Relation { node: Arc::new(node), columns }
    }

    /// Another node with the columns of this relation.
    pub(super) fn wrap(self, node: impl FnOnce(Arc<PlanNode>) -> PlanNode) -> Relation {
        Relation { node: Arc::new(node(self.node)), columns: self.columns }
    }

    /// The column of a variable.
    ///
    /// # Errors
    ///
    /// Invalid query: no such variable.
    pub(super) fn position(&self, name: &str) -> Result<usize> {
        let found = self.columns.iter().find(|it| it.0 == name);
        found
            .map(|it| it.1)
            .ok_or_else(|| Error::invalid_query(format!("no such variable: {name}")))
    }

    /// The columns of several variables.
    ///
    /// # Errors
    ///
    /// As [`Relation::position`].
    pub(super) fn positions(&self, variables: &[Variable]) -> Result<Vec<usize>> {
        variables.iter().map(|it| self.position(&it.name)).collect()
    }

    /// A column as an expression.
    ///
    /// # Errors
    ///
    /// As [`Relation::position`].
    pub(super) fn column(&self, name: &str) -> Result<Expr> {
        let position = self.position(name)?;
        Ok(Expr::column(position, self.type_at(position)?.clone()))
    }

    pub(super) fn type_at(&self, position: usize) -> Result<&Type> {
        let field = self.node.schema().fields.get(position);
        field.map(|it| &it.data_type).ok_or_else(|| Error::internal("a column beyond the schema"))
    }

    /// The types of columns.
    pub(super) fn types_at(&self, positions: &[usize]) -> Result<Vec<Type>> {
        positions.iter().map(|it| self.type_at(*it).cloned()).collect()
    }

    /// The keys of an order.
    ///
    /// # Errors
    ///
    /// As [`Relation::position`].
    pub(super) fn sort_keys(&self, scheme: &OrderingScheme) -> Result<Vec<SortKey>> {
        let key = |it: &crate::plan_json::Ordering| {
            let order = it.sort_order;
            Ok(SortKey {
                column: self.position(&it.variable.name)?,
                descending: matches!(order, SortOrder::DescNullsFirst | SortOrder::DescNullsLast),
                nulls_first: matches!(order, SortOrder::AscNullsFirst | SortOrder::DescNullsFirst),
            })
        };
        scheme.order_by.iter().map(key).collect()
    }

    /// Named expressions over the columns; no node if they are all columns as they are.
    pub(super) fn project(self, exprs: Vec<(String, Expr)>) -> Relation {
        let width = self.node.schema().len();
        let is_all = exprs.len() == width
            && exprs.iter().zip(0..).all(|(it, at)| it.1.kind == ExprKind::Column(at));
        if is_all {
            let columns = exprs.into_iter().zip(0..).map(|(it, at)| (it.0, at)).collect();
            return Relation { node: self.node, columns };
        }
        let fields = exprs.iter().map(|it| unnamed(it.1.data_type.clone()));
        let schema: Schema = fields.collect();
        let (names, exprs): (Vec<String>, Vec<Expr>) = exprs.into_iter().unzip();
        let (node_id, input) = (PlanNodeId::UNASSIGNED, self.node);
        Relation::new(PlanNode::Project(ProjectNode { node_id, input, exprs, schema }), names)
    }

    /// The same rows, whose columns are called otherwise: variable `from` is `to`. The column that
    /// a GroupId node adds stays.
    ///
    /// # Errors
    ///
    /// As [`Relation::position`].
    pub(super) fn renamed(self, names: &[(&str, &str)]) -> Result<Relation> {
        let column = |(from, to): &(&str, &str)| Ok(((*to).to_owned(), self.position(from)?));
        let mut columns = names.iter().map(column).collect::<Result<Vec<_>>>()?;
        columns.extend(self.columns.into_iter().filter(|it| it.0 == INPUT_ROW));
        Ok(Relation { node: self.node, columns })
    }
}

impl Computed {
    pub(super) fn new(relation: Relation) -> Computed {
        Computed { relation, exprs: Vec::new() }
    }

    pub(super) fn relation(&self) -> &Relation {
        &self.relation
    }

    /// The position of the column that holds `expr`.
    pub(super) fn position(&mut self, expr: Expr) -> usize {
        if let ExprKind::Column(position) = expr.kind {
            return position;
        }
        let width = self.relation.node.schema().len();
        if let Some(known) = self.exprs.iter().position(|it| it.is_identical(&expr)) {
            return width + known;
        }
        self.exprs.push(expr);
        width + self.exprs.len() - 1
    }

    /// The relation with the computed columns, which have no variables.
    pub(super) fn finish(self) -> Relation {
        if self.exprs.is_empty() {
            return self.relation;
        }
        let Relation { node: input, columns } = self.relation;
        let mut schema = input.schema().clone();
        let mut exprs: Vec<Expr> = schema
            .fields
            .iter()
            .enumerate()
            .map(|(position, it)| Expr::column(position, it.data_type.clone()))
            .collect();
        for expr in self.exprs {
            schema.fields.push(unnamed(expr.data_type.clone()));
            exprs.push(expr);
        }
        let node_id = PlanNodeId::UNASSIGNED;
        let node = PlanNode::Project(ProjectNode { node_id, input, exprs, schema });
        Relation { node: Arc::new(node), columns }
    }
}

/// A field without a name: names of Presto differ between equal plans.
pub(super) fn unnamed(data_type: Type) -> Field {
    Field::new("", data_type)
}
