//! Validates a plan that comes from another process.

mod aggregation;
mod exchange;
mod graph;
mod joins;
mod sub;
mod window;
#[cfg(test)]
mod tests;

use crate::{
    ExchangeKind, Generator, GeneratorKind, PlanNode, SampleMethod, SampleNode, SortKey,
    TableScanNode, TableWriteNode, UnnestNode, ValuesNode,
};
use volley_error::{Error, Result};
use volley_expression::Expr;
use volley_function::Registry;
use volley_memory::check_cancelled;
use volley_types::{CustomOrder, Schema, Type};

impl PlanNode {
    /// Checks a plan from an untrusted source. Columns must exist and have the types that they are
    /// used as. Functions must be known and return the types of the nodes' columns. Keys must be
    /// comparable. Only shared nodes may have several readers, and a working table must be read
    /// within its recursion.
    ///
    /// Not checked: the columns of tables (a task does that), whether inputs are sorted as a node
    /// claims, nodes of other crates, and whether literals match their types.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use volley_function::Registry;
    /// use volley_plan::{FilterNode, PlanBuilder, PlanNode, PlanNodeId};
    /// use volley_expression::Expr;
    /// use volley_types::{Type, Value};
    ///
    /// let registry = Arc::new(Registry::new());
    /// let rows = vec![vec![Value::BigInt(1)]];
    /// let input = PlanBuilder::new(&registry).values(&[("n", Type::BigInt)], rows).build()?;
    /// assert!(input.check(&registry).is_ok());
    /// let predicate = Expr::column(0, Type::Boolean);
    /// let node_id = PlanNodeId::UNASSIGNED;
    /// let plan = PlanNode::Filter(FilterNode { node_id, input, predicate });
    /// assert!(plan.check(&registry).unwrap_err().message().contains("#0 is BIGINT"));
    /// # Ok::<(), volley_error::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Invalid query, which names the node and what is wrong; cancelled.
    pub fn check(&self, registry: &Registry) -> Result<()> {
        self.check_graph()?;
        for visit in self.walk() {
            check_cancelled()?;
            let node = visit.node;
            node.check_node(registry).map_err(|it| it.at("plan node", node.label()))?;
        }
        self.check_dynamic_filters()
    }

    /// Checks the node, given that its inputs are right.
    fn check_node(&self, registry: &Registry) -> Result<()> {
        match self {
            PlanNode::TableScan(node) => table_scan(node, registry),
            PlanNode::Values(node) => values(node),
            PlanNode::Filter(node) => condition(&node.predicate, &types_of(&node.input), registry),
            PlanNode::Project(node) => {
                let input = types_of(&node.input);
                node.exprs.iter().try_for_each(|it| it.check(&input, registry))?;
                puts_out(&node.schema, node.exprs.iter().map(|it| &it.data_type))
            }
            PlanNode::Aggregation(node) => aggregation::aggregation(node, registry),
            PlanNode::GroupId(node) => aggregation::group_id(node),
            PlanNode::Window(node) => window::window(node, registry),
            PlanNode::HashJoin(node) => joins::hash_join(node, registry),
            PlanNode::NestedLoopJoin(node) => joins::nested_loop_join(node, registry),
            PlanNode::AsofJoin(node) => joins::asof_join(node),
            PlanNode::MergeJoin(node) => joins::merge_join(node, registry),
            PlanNode::OrderBy(node) => sort_keys(&node.keys, &types_of(&node.input)),
            PlanNode::TopN(node) => sort_keys(&node.keys, &types_of(&node.input)),
            PlanNode::GroupLimit(node) => group_keys(&node.keys, &types_of(&node.input)),
            PlanNode::Repeat(node) => {
                let input = types_of(&node.input);
                let Some((count, rest)) = input.split_last() else { return Err(missing(0, 0)) };
                expect("the number of times", count, &Type::BigInt)?;
                puts_out(&node.schema, rest)
            }
            PlanNode::Unnest(node) => unnest(node),
            PlanNode::Sample(node) => sample(node),
            PlanNode::Union(node) => {
                if node.inputs.is_empty() {
                    return Err(misfit("a union of nothing"));
                }
                node.inputs.iter().try_for_each(|it| puts_out(&node.schema, it.schema().types()))
            }
            PlanNode::UniqueId(node) => {
                puts_out(&node.schema, types_of(&node.input).iter().chain([&Type::BigInt]))
            }
            PlanNode::LocalExchange(node) => match &node.kind {
                ExchangeKind::Hash(keys) => group_keys(keys, &types_of(&node.input)),
                ExchangeKind::Gather | ExchangeKind::RoundRobin => Ok(()),
            },
            PlanNode::Exchange(node) => node.routing.check(node.input.schema()),
            PlanNode::PageSource(node) => sort_keys(&node.merge, &types(&node.schema)),
            PlanNode::RecursiveUnion(node) => {
                puts_out(&node.schema, node.anchor.schema().types())?;
                puts_out(&node.schema, node.step.schema().types())
            }
            PlanNode::Sub(node) => sub::sub(node, registry),
            PlanNode::TableWrite(node) => table_write(node),
            PlanNode::Limit(_)
            | PlanNode::EnforceSingleRow(_)
            | PlanNode::Spool(_)
            | PlanNode::WorkingTable(_)
            | PlanNode::TaskInput(_)
            | PlanNode::Custom(_) => Ok(()),
        }
    }
}

/// Only the task knows which columns the table has.
fn table_scan(node: &TableScanNode, registry: &Registry) -> Result<()> {
    if node.columns.len() != node.schema.len() {
        return Err(misfit("the number of columns of the table and of the node differ"));
    }
    for filter in &node.filters {
        filter.check_types(registry)?;
        expect("the filter", &filter.data_type, &Type::Boolean)?;
    }
    Ok(())
}

fn values(node: &ValuesNode) -> Result<()> {
    if node.rows.iter().any(|it| it.len() != node.schema.len()) {
        return Err(misfit("a row of another number of values"));
    }
    Ok(())
}

fn sample(node: &SampleNode) -> Result<()> {
    let input = types_of(&node.input);
    match node.method {
        SampleMethod::Rows(share) | SampleMethod::Batches(share) => {
            if !(0.0..=1.0).contains(&share) {
                return Err(misfit(format!("probability {share}")));
            }
            puts_out(&node.schema, &input)
        }
        SampleMethod::Number => puts_out(&node.schema, input.iter().chain([&Type::BigInt])),
    }
}

fn unnest(node: &UnnestNode) -> Result<()> {
    let input = types_of(&node.input);
    let mut types = Vec::with_capacity(node.schema.len());
    for column in &node.replicated {
        types.push(type_at(&input, *column)?.clone());
    }
    for generator in &node.generators {
        types.extend(generated(generator, &input)?);
    }
    types.extend(node.ordinality.then_some(Type::BigInt));
    puts_out(&node.schema, &types)
}

/// The types of the columns that a generator makes.
fn generated(generator: &Generator, input: &[Type]) -> Result<Vec<Type>> {
    let args = generator.args.iter().map(|it| type_at(input, *it));
    let args: Vec<&Type> = args.collect::<Result<_>>()?;
    let is_series = matches!(
        args.as_slice(),
        [Type::BigInt, Type::BigInt, Type::BigInt]
            | [Type::Timestamp, Type::Timestamp, Type::Interval]
    );
    match generator.kind {
        GeneratorKind::Elements if args.len() == 1 => generator.kind.made_types(args[0]),
        GeneratorKind::Range | GeneratorKind::Series if is_series => {
            generator.kind.made_types(args[0])
        }
        kind => Err(misfit(format!("arguments of {}", kind.name()))),
    }
}

fn table_write(node: &TableWriteNode) -> Result<()> {
    let input = types_of(&node.input);
    if node.column_names.len() + node.checks.len() != input.len() {
        return Err(misfit("another number of names and checks than columns"));
    }
    for violated in input.iter().skip(node.column_names.len()) {
        expect("the column of a check", violated, &Type::Boolean)?;
    }
    puts_out(&node.schema, &[Type::BigInt])
}

fn types_of(node: &PlanNode) -> Vec<Type> {
    types(node.schema())
}

fn types(schema: &Schema) -> Vec<Type> {
    schema.types().cloned().collect()
}

fn type_at(types: &[Type], column: usize) -> Result<&Type> {
    types.get(column).ok_or_else(|| missing(column, types.len()))
}

/// Checks that columns exist and have values that can be equal.
fn group_keys(keys: &[usize], input: &[Type]) -> Result<()> {
    keys.iter().try_for_each(|it| group_key(type_at(input, *it)?))
}

/// Checks that values of a type can be equal.
pub(crate) fn group_key(data_type: &Type) -> Result<()> {
    comparable(data_type, CustomOrder::Equality)
}

fn sort_keys(keys: &[SortKey], input: &[Type]) -> Result<()> {
    keys.iter().try_for_each(|it| comparable(type_at(input, it.column)?, CustomOrder::Ordered))
}

fn comparable(data_type: &Type, wanted: CustomOrder) -> Result<()> {
    match data_type.lacks_order(wanted) {
        Some(lacking) => Err(misfit(format!("values of {lacking} as keys"))),
        None => Ok(()),
    }
}

/// Checks a predicate over columns of these types.
fn condition(expr: &Expr, columns: &[Type], registry: &Registry) -> Result<()> {
    expr.check(columns, registry)?;
    expect("the condition", &expr.data_type, &Type::Boolean)
}

/// Checks the types of the output columns that a node declares.
fn puts_out<'a>(schema: &Schema, types: impl IntoIterator<Item = &'a Type>) -> Result<()> {
    let types: Vec<&Type> = types.into_iter().collect();
    if types.len() != schema.len() {
        return Err(misfit(format!("{} output columns, and not {}", schema.len(), types.len())));
    }
    let named = schema.fields.iter().zip(types);
    named.into_iter().try_for_each(|(field, it)| {
        expect(&format!("output column {}", field.name), &field.data_type, it)
    })
}

fn expect(what: &str, found: &Type, wanted: &Type) -> Result<()> {
    if found == wanted {
        Ok(())
    } else {
        Err(misfit(format!("{what} is {found}, and not {wanted}")))
    }
}

fn missing(column: usize, columns: usize) -> Error {
    misfit(format!("column #{column} of {columns}"))
}

fn misfit(message: impl Into<String>) -> Error {
    Error::invalid_query(message)
}
