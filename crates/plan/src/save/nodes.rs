//! The nodes.

use super::form::{Form, PlanReader, PlanWriter, form_of_enum, form_of_struct};
use crate::PlanNode;
use crate::nodes::*;
use volley_error::{Error, Result};
use volley_types::{Schema, Value};
use volley_vector::save::corruption;

form_of_struct! {
    TableScanNode { table, columns, filters, schema }
    FilterNode { input, predicate }
    ProjectNode { input, exprs, schema }
    AggregationNode { input, step, keys, aggregates, schema }
    GroupIdNode { input, keys, sets, extra_rows, schema }
    WindowNode { input, partition_by, order_by, calls, limit, sorted, keeps_order, output, schema }
    HashJoinNode {
        probe, build, kind, probe_keys, build_keys, nulls_equal, filter, null_aware, output, schema
    }
    NestedLoopJoinNode { probe, build, kind, condition, ranges, residual, output, schema }
    AsofJoinNode { probe, build, kind, probe_keys, build_keys, nulls_equal, range, output, schema }
    MergeJoinNode { probe, build, kind, keys, filter, output, schema }
    OrderByNode { input, keys }
    TopNNode { input, keys, offset, limit }
    LimitNode { input, offset, limit }
    GroupLimitNode { input, keys, offset, limit }
    RepeatNode { input, schema }
    UnnestNode { input, replicated, generators, ordinality, outer, schema }
    SampleNode { input, method, seed, schema }
    UnionNode { inputs, schema }
    UniqueIdNode { input, schema }
    EnforceSingleRowNode { input, place }
    LocalExchangeNode { input, kind }
    SharedNode { id, input }
    RecursiveUnionNode { id, anchor, step, kept, distinct, schema }
    WorkingTableNode { id, name, schema }
    TableWriteNode { input, path, format, options, column_names, schema }
}

form_of_enum! {
    PlanNode {
        0 TableScan(node),
        1 Values(node),
        2 Filter(node),
        3 Project(node),
        4 Aggregation(node),
        5 GroupId(node),
        6 Window(node),
        7 HashJoin(node),
        8 NestedLoopJoin(node),
        9 AsofJoin(node),
        10 MergeJoin(node),
        11 OrderBy(node),
        12 TopN(node),
        13 Limit(node),
        14 GroupLimit(node),
        15 Repeat(node),
        16 Unnest(node),
        17 Sample(node),
        18 Union(node),
        19 UniqueId(node),
        20 EnforceSingleRow(node),
        21 LocalExchange(node),
        22 Shared(node),
        23 RecursiveUnion(node),
        24 WorkingTable(node),
        25 TableWrite(node),
        26 Custom(node),
    }
}

/// Rows one after the other. A row takes a byte at least, also one without columns: what is read
/// takes no more memory than the bytes account for.
impl Form for ValuesNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        self.schema.write(to)?;
        to.bytes.number(self.rows.len());
        for row in &self.rows {
            to.bytes.byte(0);
            let mut values = self.schema.types().zip(row);
            values.try_for_each(|(data_type, it)| to.bytes.value(data_type, it))?;
        }
        Ok(())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<ValuesNode> {
        let schema = Schema::read(from)?;
        let mut rows = Vec::new();
        for _ in 0..from.bytes.count()? {
            if from.bytes.byte()? != 0 {
                return Err(corruption("no row"));
            }
            let values = schema.types().map(|it| from.bytes.value(it));
            rows.push(values.collect::<Result<Vec<Value>>>()?);
        }
        Ok(ValuesNode { rows, schema })
    }
}

/// What other crates define has no form here.
impl Form for CustomPlanNode {
    fn write(&self, _to: &mut PlanWriter) -> Result<()> {
        Err(unsupported(self.node.name()))
    }

    fn read(_from: &mut PlanReader<'_>) -> Result<CustomPlanNode> {
        Err(unsupported("of another crate"))
    }
}

fn unsupported(name: &str) -> Error {
    Error::unsupported(format!("the plan node {name} cannot be saved"))
}
