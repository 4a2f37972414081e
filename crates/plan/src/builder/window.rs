//! Window nodes of a [`PlanBuilder`].

use super::{Columns, PlanBuilder, sort_keys};
use crate::{Frame, PlanNode, PlanNodeId, WindowCall, WindowNode};
use volley_error::Result;
use volley_expression::SourceSpan;
use volley_function::Registry;
use volley_types::{Field, Type};

impl PlanBuilder {
    /// Appends window functions. Each call is (output name, function, argument columns, frame);
    /// calls have all of the keys of the order.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use volley_function::Registry;
    /// use volley_plan::PlanBuilder;
    /// use volley_types::{Type, Value};
    ///
    /// let rows = (0..4).map(|it| vec![Value::BigInt(it % 2), Value::BigInt(it)]).collect();
    /// let plan = PlanBuilder::new(&Arc::new(Registry::new()))
    ///     .values(&[("g", Type::BigInt), ("x", Type::BigInt)], rows)
    ///     .window(&["g"], &["x desc"], &[])
    ///     .build()?;
    /// assert_eq!(plan.label(), "Window partition=[#0] order=[#1 desc] calls=[]");
    /// # Ok::<(), volley_error::Error>(())
    /// ```
    pub fn window(
        self,
        partition_by: &[&str],
        order_by: &[&str],
        calls: &[(&str, &str, &[&str], Frame)],
    ) -> PlanBuilder {
        self.wrap(|input, registry| {
            let columns = Columns::new(input.schema(), &registry);
            let partition_by = columns.positions(partition_by)?;
            let order_by = sort_keys(&columns, order_by)?;
            let mut schema = input.schema().clone();
            let mut resolved = Vec::with_capacity(calls.len());
            for (name, function, args, frame) in calls {
                let args = columns.positions(args)?;
                let arg_types: Vec<Type> =
                    args.iter().map(|it| input.schema().fields[*it].data_type.clone()).collect();
                let (function, result) = resolve(&registry, function, &arg_types)?;
                schema.fields.push(Field::new(*name, result));
                resolved.push(WindowCall {
                    function,
                    args,
                    arg_types,
                    distinct: false,
                    filter: None,
                    order_by: Vec::new(),
                    ignore_nulls: false,
                    order_keys: order_by.len(),
                    frame: frame.clone(),
                    place: SourceSpan::default(),
                });
            }
            Ok(PlanNode::Window(WindowNode {
                node_id: PlanNodeId::UNASSIGNED,
                output: (0..input.schema().len()).collect(),
                input,
                partition_by,
                order_by,
                calls: resolved,
                limit: None,
                sorted: false,
                keeps_order: false,
                schema,
            }))
        })
    }
}

/// The name and result type of a window function, or of an aggregate.
fn resolve(registry: &Registry, function: &str, args: &[Type]) -> Result<(String, Type)> {
    if registry.is_window(function) {
        let bound = registry.resolve_window(function, args)?;
        return Ok((bound.name, bound.result));
    }
    let bound = registry.resolve_aggregate(function, args)?;
    Ok((bound.name, bound.result))
}
