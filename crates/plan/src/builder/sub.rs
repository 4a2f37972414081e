//! Sub-operators in a [`PlanBuilder`].

use super::PlanBuilder;
use crate::{
    Columns, PlanNode,
    sub::{
        Histogram, Materialize, NestedMap, Parameter, Partition, PartitionFunction, RowScan,
        SubNode, SubOperator, Zip,
    },
};
use std::{ops::Range, sync::Arc};
use volley_error::Result;

impl PlanBuilder {
    /// Collects the rows of each partition by these bits of the hash of `keys`.
    ///
    /// A hash join composed of sub-operators:
    ///
    /// ```
    /// use std::sync::Arc;
    /// use volley_function::Registry;
    /// use volley_plan::{JoinKind, PlanBuilder};
    /// use volley_types::{Type, Value};
    ///
    /// let registry = Arc::new(Registry::new());
    /// let rows = |count| (0..count).map(|it| vec![Value::BigInt(it)]).collect();
    /// let side = |name, count| {
    ///     let values = PlanBuilder::new(&registry).values(&[(name, Type::BigInt)], rows(count));
    ///     values.radix_partition(&[name], 0..4)
    /// };
    /// let plan = side("a", 9).zip(side("b", 5)).nested_map(1, |tuple| {
    ///     let build = tuple.clone().row_scan("#2");
    ///     tuple.row_scan("#1").hash_join(JoinKind::Inner, build, &[("a", "b")])
    /// });
    /// assert!(plan.build()?.to_string().starts_with("NestedMap 1\n  Zip\n    Partition radix(#0"));
    /// # Ok::<(), volley_error::Error>(())
    /// ```
    pub fn radix_partition(self, keys: &[&str], bits: Range<u8>) -> PlanBuilder {
        self.sub(Vec::new(), |columns| {
            let function = radix(columns, keys, bits)?;
            Ok(SubOperator::Partition(Partition { function }))
        })
    }

    /// Counts the rows of each partition by these bits of the hash of `keys`.
    pub fn histogram(self, keys: &[&str], bits: Range<u8>) -> PlanBuilder {
        self.sub(Vec::new(), |columns| {
            let function = radix(columns, keys, bits)?;
            Ok(SubOperator::Histogram(Histogram { function }))
        })
    }

    /// Pairs the tuples of equal partitions of two plans.
    pub fn zip(self, right: PlanBuilder) -> PlanBuilder {
        self.sub(vec![right], |_| Ok(SubOperator::Zip(Zip)))
    }

    /// Collects all rows into one collection.
    pub fn materialize(self) -> PlanBuilder {
        self.sub(Vec::new(), |_| Ok(SubOperator::Materialize(Materialize)))
    }

    /// Returns the rows of the collections in a column.
    pub fn row_scan(self, column: &str) -> PlanBuilder {
        self.sub(Vec::new(), |columns| {
            let column = columns.position(column)?;
            Ok(SubOperator::RowScan(RowScan { column }))
        })
    }

    /// Runs a plan for each row of the plan so far. `plan` makes it of the row, a plan of one row.
    /// `id` is different for each such map.
    pub fn nested_map(self, id: u32, plan: impl FnOnce(PlanBuilder) -> PlanBuilder) -> PlanBuilder {
        let registry = Arc::clone(&self.registry);
        let tuple = self.schema().and_then(|schema| {
            let parameter = SubOperator::Parameter(Parameter { map: id, schema });
            Ok(Some(Arc::new(PlanNode::Sub(SubNode::new(parameter, Vec::new())?))))
        });
        let nested = plan(PlanBuilder { registry, node: tuple });
        self.sub(vec![nested], |_| Ok(SubOperator::NestedMap(NestedMap { id })))
    }

    fn sub(
        self,
        others: Vec<PlanBuilder>,
        op: impl FnOnce(&Columns) -> Result<SubOperator>,
    ) -> PlanBuilder {
        self.wrap(|first, registry| {
            let op = op(&Columns::new(first.schema(), &registry))?;
            let others = others.into_iter().map(PlanBuilder::unnumbered);
            let inputs: Vec<_> = std::iter::once(Ok(first)).chain(others).collect::<Result<_>>()?;
            Ok(PlanNode::Sub(SubNode::new(op, inputs)?))
        })
    }
}

fn radix(columns: &Columns, keys: &[&str], bits: Range<u8>) -> Result<PartitionFunction> {
    let keys = columns.positions(keys)?;
    let (skipped_bits, bits) = (bits.start, bits.end.saturating_sub(bits.start));
    Ok(PartitionFunction::Radix { keys, skipped_bits, bits })
}
