//! Sources: table scans and literal rows.

use super::{
    Translator,
    expression::ExpressionScope,
    relation::{Relation, unnamed},
    sharing::scan_name,
};
use crate::{
    catalog::TableContext,
    json::Object,
    plan_json::{Variable, variable_name},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_expression::{Expr, ExprKind};
use volley_plan::{PlanNode, PlanNodeId, TableHandle, TableScanNode, UnionNode, ValuesNode};
use volley_types::{Interval, Schema, Type, Value, Zone};

/// Nanoseconds in a microsecond.
const NANOS_PER_MICRO: i64 = 1000;

/// Whether timestamps are read from a table, or written to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoredTime {
    Read,
    Written,
}

impl Translator<'_> {
    /// The name of the table in the plan ends with Presto's identity of the node, so that splits
    /// find it.
    pub(super) fn table_scan(&mut self, node: &Object<'_>) -> Result<Relation> {
        let id: String = node.read("id")?;
        let handle = node.json("table").object("a table handle")?;
        let assignments = node.members("assignments")?;
        let context = TableContext { registry: self.registry, pool: self.pool };
        let table = Arc::new(self.catalogs.table(&handle, &assignments, &context)?);
        let name = format!("{}{}", table.name(), scan_name(&id));
        let mut filters = Vec::new();
        if let Some(layout) = handle.optional("connectorTableLayout")
            && let Some(domain) = layout.object("a table layout")?.optional(table.domain_member())
        {
            filters = self.domain_filters(domain, &table)?;
        }
        let variables: Vec<Variable> = node.read("outputVariables")?;
        let (mut columns, mut schema) = (Vec::new(), Schema::default());
        for variable in &variables {
            let assigned = assignments.iter().find(|it| variable_name(&it.0) == variable.name);
            let (_, column) = assigned.ok_or_else(|| {
                Error::invalid_value(format!("no column for the variable {}", variable.name))
            })?;
            let position = table.column(*column)?;
            let field = table.schema().fields.get(position);
            let field = field.ok_or_else(|| Error::internal("a column beyond the table"))?;
            columns.push(position);
            schema.fields.push(unnamed(field.data_type.clone()));
        }
        let scan = PlanNode::TableScan(TableScanNode {
            node_id: PlanNodeId::UNASSIGNED,
            table: TableHandle { connector: table.catalog().to_owned(), table: name.clone() },
            columns,
            filters,
            schema,
            dynamic_filters: Vec::new(),
        });
        self.scanned.insert(id, (name, table));
        let relation = Relation::new(scan, variables.into_iter().map(|it| it.name));
        self.timestamps_moved(relation, StoredTime::Read)
    }

    /// The rows of a table with timestamps as clocks of the session's zone show them, or those for
    /// a table with timestamps as instants.
    ///
    /// # Errors
    ///
    /// Unsupported: times in nested values.
    pub(super) fn timestamps_moved(
        &self,
        relation: Relation,
        direction: StoredTime,
    ) -> Result<Relation> {
        let types: Vec<Type> = relation.node.schema().types().cloned().collect();
        let scope = self.scope(&relation)?;
        let (mut exprs, mut is_moved) = (Vec::new(), false);
        for (name, position) in &relation.columns {
            let mut expr = relation.column(name)?;
            let data_type = types.get(*position).unwrap_or(&Type::Unknown);
            if let Some(zone) = self.time.zone_of_stored(data_type)? {
                is_moved = true;
                expr = timestamp_moved(&scope, expr, zone, direction)?;
            }
            exprs.push((name.clone(), expr));
        }
        drop(scope);
        Ok(if is_moved { relation.project(exprs) } else { relation })
    }

    pub(super) fn values(&mut self, node: &Object<'_>) -> Result<Relation> {
        let variables: Vec<Variable> = node.read("outputVariables")?;
        let types = variables.iter().map(|it| self.parse_type(&it.signature));
        let types = types.collect::<Result<Vec<_>>>()?;
        let names: Vec<String> = variables.iter().map(|it| it.name.clone()).collect();
        let schema: Schema = types.iter().cloned().map(unnamed).collect();
        let nothing = Relation::new(one_row(), []);
        let (mut literals, mut computed) = (Vec::new(), Vec::new());
        for row in node.elements("rows")? {
            let mut exprs = Vec::new();
            for (json, data_type) in row.elements("a row")?.into_iter().zip(&types) {
                exprs.push(self.scope(&nothing)?.expr(json)?.cast(data_type.clone()));
            }
            if exprs.len() != types.len() {
                return Err(Error::invalid_value("a row of another number of values"));
            }
            match exprs.iter().map(literal).collect::<Option<Vec<Value>>>() {
                Some(values) => literals.push(values),
                None => computed.push(exprs),
            }
        }
        let mut inputs = Vec::new();
        if !literals.is_empty() || computed.is_empty() {
            inputs.push(Arc::new(literal_rows(literals, schema.clone())));
        }
        for exprs in computed {
            let named = names.iter().cloned().zip(exprs).collect();
            inputs.push(nothing.clone().project(named).node);
        }
        let node = match inputs.len() {
            1 => inputs.remove(0),
            _ => {
                let node_id = PlanNodeId::UNASSIGNED;
                Arc::new(PlanNode::Union(UnionNode { node_id, inputs, schema }))
            }
        };
        Ok(Relation { node, columns: names.into_iter().zip(0..).collect() })
    }
}

/// A timestamp as clocks of the zone show it, or as an instant.
fn timestamp_moved(
    scope: &ExpressionScope<'_>,
    timestamp: Expr,
    zone: &Zone,
    direction: StoredTime,
) -> Result<Expr> {
    if Zone::find(zone.name()).is_none() {
        // An offset.
        let ahead = zone.clock().local_of(0).saturating_mul(NANOS_PER_MICRO);
        let nanoseconds = match direction {
            StoredTime::Read => ahead,
            StoredTime::Written => -ahead,
        };
        let offset = Interval { nanoseconds, ..Interval::default() };
        let offset = Expr::constant(Value::Interval(offset), Type::Interval);
        return scope.function("plus", vec![timestamp, offset]);
    }
    let [from, to] = match direction {
        StoredTime::Read => ["UTC", zone.name()],
        StoredTime::Written => [zone.name(), "UTC"],
    };
    let named = |it: &str| Expr::constant(Value::text(it), Type::Varchar);
    let instant = scope.function("timezone", vec![named(from), timestamp])?;
    scope.function("timezone", vec![named(to), instant])
}

/// The value of a constant.
pub(super) fn literal(expr: &Expr) -> Option<Value> {
    match &expr.kind {
        ExprKind::Constant(value) => Some(value.clone()),
        _ => None,
    }
}

/// A row without columns.
pub(super) fn one_row() -> PlanNode {
    literal_rows(vec![Vec::new()], Schema::default())
}

fn literal_rows(rows: Vec<Vec<Value>>, schema: Schema) -> PlanNode {
    PlanNode::Values(ValuesNode { node_id: PlanNodeId::UNASSIGNED, rows, schema })
}
