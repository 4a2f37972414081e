//! Sub-operators in a [`PlanBuilder`].

use super::PlanBuilder;
use crate::{
    Columns, JoinKind, PlanNode, RangeRouting, Routing, TaskCount,
    sub::{
        Build, Histogram, Materialize, NestedMap, Parameter, Partition, PartitionFunction, Probe,
        RowScan, SubNode, SubOperator, Zip,
    },
};
use std::{ops::Range, sync::Arc};
use volley_error::Result;
use volley_expression::Expr;
use volley_types::Value;

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
    /// let text = plan.build()?.to_string();
    /// assert!(text.starts_with("NestedMap 1\n  Zip\n    Partition radix(#0"));
    /// # Ok::<(), volley_error::Error>(())
    /// ```
    pub fn radix_partition(self, keys: &[&str], bits: Range<u8>) -> PlanBuilder {
        self.sub(Vec::new(), |columns| {
            let function = radix(columns, keys, bits)?;
            Ok(SubOperator::Partition(Partition { function }))
        })
    }

    /// Collects the rows of each of `partitions` partitions by the hash of `keys`, as an exchange
    /// between as many tasks.
    pub fn hash_partition(self, keys: &[&str], partitions: u32) -> PlanBuilder {
        self.sub(Vec::new(), |columns| {
            let function = PartitionFunction::Hash { keys: columns.positions(keys)?, partitions };
            Ok(SubOperator::Partition(Partition { function }))
        })
    }

    /// Collects the rows of each range of `keys`, which are those of [`PlanBuilder::order_by`].
    /// `bounds` are ascending in their order: a row is in partition `k` if `k` of them are not
    /// after it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use volley_function::Registry;
    /// use volley_plan::PlanBuilder;
    /// use volley_types::{Type, Value};
    ///
    /// let rows = (0..9).map(|it| vec![Value::BigInt(it)]).collect();
    /// let plan = PlanBuilder::new(&Arc::new(Registry::new()))
    ///     .values(&[("n", Type::BigInt)], rows)
    ///     .range_partition(&["n"], vec![vec![Value::BigInt(3)], vec![Value::BigInt(5)]]);
    /// assert!(plan.build()?.to_string().starts_with("Partition range"));
    /// # Ok::<(), volley_error::Error>(())
    /// ```
    pub fn range_partition(self, keys: &[&str], bounds: Vec<Vec<Value>>) -> PlanBuilder {
        self.sub(Vec::new(), |columns| {
            let keys = super::sort_keys(columns, keys)?;
            let function = PartitionFunction::Range(RangeRouting { keys, bounds });
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

    /// Makes a hash table of the rows by `keys`, for [`PlanBuilder::probe`].
    pub fn build_table(self, keys: &[&str]) -> PlanBuilder {
        self.sub(Vec::new(), |columns| {
            Ok(SubOperator::Build(Build { keys: columns.positions(keys)? }))
        })
    }

    /// Looks the rows up by `keys` in a table of [`PlanBuilder::build_table`]. The kind says which
    /// rows are returned, of either side.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use volley_function::Registry;
    /// use volley_plan::{JoinKind, PlanBuilder};
    /// use volley_types::Type;
    ///
    /// let registry = Arc::new(Registry::new());
    /// let side = |name| PlanBuilder::new(&registry).values(&[(name, Type::BigInt)], Vec::new());
    /// let plan = side("a").probe(JoinKind::Left, &["a"], side("b").build_table(&["b"]));
    /// assert!(plan.build()?.to_string().starts_with("Probe left #0\n  Values\n  Build #0\n"));
    /// # Ok::<(), volley_error::Error>(())
    /// ```
    pub fn probe(self, kind: JoinKind, keys: &[&str], table: PlanBuilder) -> PlanBuilder {
        self.probing(kind, keys, table, None)
    }

    /// The same as [`PlanBuilder::probe`], with only these of its columns, in this order.
    pub fn probe_columns(
        self,
        kind: JoinKind,
        keys: &[&str],
        table: PlanBuilder,
        output: &[&str],
    ) -> PlanBuilder {
        self.probing(kind, keys, table, Some(output))
    }

    fn probing(
        self,
        kind: JoinKind,
        keys: &[&str],
        table: PlanBuilder,
        output: Option<&[&str]>,
    ) -> PlanBuilder {
        let all = self.schema().and_then(|rows| Ok(kind.schema(&rows, &table.schema()?)));
        let registry = Arc::clone(&self.registry);
        let output = all.and_then(|all| match output {
            None => Ok((0..all.len()).collect()),
            Some(names) => Columns::new(&all, &registry).positions(names),
        });
        self.sub(vec![table], |columns| {
            Ok(SubOperator::Probe(Box::new(Probe {
                kind,
                keys: columns.positions(keys)?,
                nulls_equal: vec![false; keys.len()],
                filter: None,
                null_aware: false,
                output: output?,
            })))
        })
    }

    /// Pairs every row with every row of `small`, which is held in memory.
    pub fn cross(self, small: PlanBuilder) -> PlanBuilder {
        self.nested_loop_join(JoinKind::Inner, small)
    }

    /// Computes named columns: another name for [`PlanBuilder::project`].
    pub fn map<'a>(
        self,
        columns: impl FnOnce(&Columns) -> Result<Vec<(&'a str, Expr)>>,
    ) -> PlanBuilder {
        self.project(columns)
    }

    /// A parametrized map: computes named columns of each row and of the only row of `parameter`,
    /// such as the tuple of the map around. The columns of the rows come first.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use volley_function::Registry;
    /// use volley_plan::PlanBuilder;
    /// use volley_types::{Type, Value};
    ///
    /// let registry = Arc::new(Registry::new());
    /// let rows = vec![vec![Value::BigInt(1)], vec![Value::BigInt(2)]];
    /// let plan = PlanBuilder::new(&registry)
    ///     .values(&[("n", Type::BigInt)], rows)
    ///     .radix_partition(&["n"], 0..2)
    ///     .nested_map(1, |tuple| {
    ///         let rows = tuple.clone().row_scan("#1");
    ///         rows.map_with(tuple, |c| Ok(vec![("n", c.column("n")?), ("pid", c.column("pid")?)]))
    ///     });
    /// assert_eq!(plan.schema()?.len(), 2);
    /// # Ok::<(), volley_error::Error>(())
    /// ```
    pub fn map_with<'a>(
        self,
        parameter: PlanBuilder,
        columns: impl FnOnce(&Columns) -> Result<Vec<(&'a str, Expr)>>,
    ) -> PlanBuilder {
        self.cross(parameter.enforce_single_row()).project(columns)
    }

    /// Aggregates all rows to one: (name, function, argument columns).
    pub fn reduce(self, aggregates: &[(&str, &str, &[&str])]) -> PlanBuilder {
        self.aggregate(&[], aggregates)
    }

    /// Aggregates the rows of each key: (name, function, argument columns).
    pub fn reduce_by_key(self, keys: &[&str], aggregates: &[(&str, &str, &[&str])]) -> PlanBuilder {
        self.aggregate(keys, aggregates)
    }

    /// Sorts: another name for [`PlanBuilder::order_by`].
    pub fn sort(self, keys: &[&str]) -> PlanBuilder {
        self.order_by(keys)
    }

    /// Aggregates the rows of all tasks, and gives every task the result: (name, function, argument
    /// columns). The plan so far runs in all tasks.
    pub fn all_reduce(self, aggregates: &[(&str, &str, &[&str])]) -> PlanBuilder {
        self.exchange_tasks(TaskCount::All, |_| Ok(Routing::Gather))
            .reduce(aggregates)
            .exchange_tasks(TaskCount::One, |_| Ok(Routing::Broadcast))
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
