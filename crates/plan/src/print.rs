//! Plans as text: an indented tree, one node per line.

mod window;

use crate::nodes::*;
use crate::{Aggregate, ExchangeKind, PlanNode};
use std::fmt::{self, Display, Write};
use volley_types::Schema;

/// Literal rows beyond this many are not printed.
const VALUES_ROWS_PRINTED: usize = 3;

impl Display for PlanNode {
    /// One line per node, inputs indented below it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for visit in self.walk() {
            let again = if visit.repeated { " (above)" } else { "" };
            writeln!(f, "{:indent$}{}{again}", "", visit.node.label(), indent = visit.depth * 2)?;
        }
        Ok(())
    }
}

impl PlanNode {
    /// The node in one line, without its inputs. Columns are `#position` in the input.
    pub fn label(&self) -> String {
        match self {
            PlanNode::TableScan(node) => table_scan(node),
            PlanNode::Values(node) => values(node),
            PlanNode::Filter(node) => format!("Filter {}", node.predicate),
            PlanNode::Project(node) => project(node),
            PlanNode::Aggregation(node) => aggregation(node),
            PlanNode::GroupId(node) => group_id(node),
            PlanNode::Window(node) => window::window(node),
            PlanNode::HashJoin(node) => hash_join(node),
            PlanNode::NestedLoopJoin(node) => nested_loop_join(node),
            PlanNode::AsofJoin(node) => asof_join(node),
            PlanNode::MergeJoin(node) => merge_join(node),
            PlanNode::OrderBy(node) => format!("OrderBy {}", join(&node.keys)),
            PlanNode::TopN(node) => {
                let keys = join(&node.keys);
                format!("TopN {keys} limit={}{}", node.limit, offset(node.offset))
            }
            PlanNode::Limit(node) => match node.limit {
                Some(limit) => format!("Limit {limit}{}", offset(node.offset)),
                None => format!("Limit all{}", offset(node.offset)),
            },
            PlanNode::GroupLimit(node) => {
                let limit = node.limit.map_or("all".to_owned(), |it| it.to_string());
                format!("GroupLimit {limit}{} keys={}", offset(node.offset), columns(&node.keys))
            }
            PlanNode::Repeat(_) => "Repeat".to_owned(),
            PlanNode::Unnest(node) => unnest(node),
            PlanNode::Sample(node) => match node.method {
                SampleMethod::Rows(share) => format!("Sample rows {share}"),
                SampleMethod::Batches(share) => format!("Sample batches {share}"),
                SampleMethod::Number => "Sample number".to_owned(),
            },
            PlanNode::Union(node) => format!("Union inputs={}", node.inputs.len()),
            PlanNode::UniqueId(_) => "UniqueId".to_owned(),
            PlanNode::TaskInput(node) => format!("TaskInput {}", node.node_id),
            PlanNode::Exchange(node) => format!("Exchange {}", node.routing),
            PlanNode::PageSource(node) => page_source(node),
            PlanNode::EnforceSingleRow(_) => "EnforceSingleRow".to_owned(),
            PlanNode::LocalExchange(node) => match &node.kind {
                ExchangeKind::Gather => "LocalExchange gather".to_owned(),
                ExchangeKind::RoundRobin => "LocalExchange round robin".to_owned(),
                ExchangeKind::Hash(keys) => format!("LocalExchange hash {}", columns(keys)),
            },
            PlanNode::Spool(node) => format!("Shared {}", node.id),
            PlanNode::RecursiveUnion(node) => {
                let distinct = if node.distinct { " distinct" } else { "" };
                let (id, kept) = (node.id, node.kept.len());
                let keys = if node.keys.is_empty() {
                    String::new()
                } else {
                    format!(" keys={:?}", node.keys)
                };
                format!("RecursiveUnion {id}{distinct}{keys} kept={kept}")
            }
            PlanNode::WorkingTable(node) => format!("WorkingTable {} {}", node.id, node.name),
            PlanNode::TableWrite(node) => {
                let names = node.column_names.join(", ");
                let target = &node.target;
                let mut text =
                    format!("TableWrite {} '{}' ({names})", target.sink, target.location);
                if !node.checks.is_empty() {
                    let _ = write!(text, " checks=[{}]", node.checks.join(", "));
                }
                text
            }
            PlanNode::Sub(node) => node.op.to_string(),
            PlanNode::Custom(node) => node.label(),
        }
    }
}

fn page_source(node: &PageSourceNode) -> String {
    let merge = match node.merge.is_empty() {
        true => String::new(),
        false => format!(" merge {}", join(&node.merge)),
    };
    let output = if node.output == 0 { String::new() } else { format!(" output {}", node.output) };
    format!("PageSource {}{output}{merge}", node.fragment)
}

fn table_scan(node: &TableScanNode) -> String {
    let names: Vec<&str> = node.schema.fields.iter().map(|it| it.name.as_str()).collect();
    let mut text = format!("TableScan {} [{}]", node.table.table, names.join(", "));
    if !node.filters.is_empty() {
        let _ = write!(text, " filters=[{}]", join(&node.filters));
    }
    text
}

fn values(node: &ValuesNode) -> String {
    let row = |row: &Vec<volley_types::Value>| {
        let cells = row.iter().zip(node.schema.types());
        let cells: Vec<_> =
            cells.map(|(it, data_type)| it.display(data_type).to_string()).collect();
        format!("({})", cells.join(", "))
    };
    let mut rows: Vec<_> = node.rows.iter().take(VALUES_ROWS_PRINTED).map(row).collect();
    if node.rows.len() > VALUES_ROWS_PRINTED {
        rows.push(format!("... {} rows", node.rows.len()));
    }
    format!("Values {}", rows.join(", ")).trim_end().to_owned()
}

fn project(node: &ProjectNode) -> String {
    let names = node.schema.fields.iter().map(|it| &it.name);
    let exprs: Vec<_> =
        node.exprs.iter().zip(names).map(|(expr, name)| format!("{expr} as {name}")).collect();
    format!("Project {}", exprs.join(", "))
}

fn aggregation(node: &AggregationNode) -> String {
    let mut text = format!("Aggregation {:?}", node.step);
    if !node.keys.is_empty() {
        let _ = write!(text, " keys={}", columns(&node.keys));
    }
    if !node.aggregates.is_empty() {
        let _ = write!(text, " aggregates=[{}]", join(&node.aggregates));
    }
    text
}

fn group_id(node: &GroupIdNode) -> String {
    let sets = node.sets.iter().map(|set| {
        let keys: Vec<usize> =
            set.keys.iter().filter_map(|it| node.keys.get(*it)).copied().collect();
        columns(&keys)
    });
    let extra = if node.extra_rows { " with extra rows" } else { "" };
    format!("GroupId {}{extra}", sets.collect::<Vec<_>>().join(", "))
}

fn hash_join(node: &HashJoinNode) -> String {
    let keys: Vec<_> = node
        .probe_keys
        .iter()
        .zip(&node.build_keys)
        .enumerate()
        .map(|(index, (probe, build))| {
            let equal = node.nulls_equal.get(index).copied().unwrap_or(false);
            let operator = if equal { "is not distinct from" } else { "=" };
            format!("#{probe} {operator} build #{build}")
        })
        .collect();
    let mut text = format!("HashJoin {} on {}", node.kind, keys.join(" and "));
    if let Some(filter) = &node.filter {
        let _ = write!(text, " filter={filter}");
    }
    if node.null_aware {
        text.push_str(" null-aware");
    }
    let _ = write!(text, " output={}", output(&node.output, &node.schema));
    text
}

fn nested_loop_join(node: &NestedLoopJoinNode) -> String {
    if !node.ranges.is_empty() {
        return range_join(node);
    }
    let mut text = format!("NestedLoopJoin {}", node.kind);
    if let Some(condition) = &node.condition {
        let _ = write!(text, " on {condition}");
    }
    let _ = write!(text, " output={}", output(&node.output, &node.schema));
    text
}

fn unnest(node: &UnnestNode) -> String {
    let outer = if node.outer { "outer " } else { "" };
    let ordinality = if node.ordinality { " ordinality" } else { "" };
    let generators = join(&node.generators);
    format!("Unnest {outer}{generators}{ordinality} replicated={}", columns(&node.replicated))
}

fn range_join(node: &NestedLoopJoinNode) -> String {
    let ranges: Vec<_> = node.ranges.iter().map(ToString::to_string).collect();
    let mut text = format!("RangeJoin {} on {}", node.kind, ranges.join(" and "));
    if let Some(residual) = &node.residual {
        let _ = write!(text, " filter={residual}");
    }
    let _ = write!(text, " output={}", output(&node.output, &node.schema));
    text
}

fn asof_join(node: &AsofJoinNode) -> String {
    let keys = node.probe_keys.iter().zip(&node.build_keys).zip(&node.nulls_equal);
    let mut conditions: Vec<String> = keys
        .map(|((probe, build), nulls_equal)| {
            let operator = if *nulls_equal { "is not distinct from" } else { "=" };
            format!("#{probe} {operator} build #{build}")
        })
        .collect();
    conditions.push(node.range.to_string());
    let output = output(&node.output, &node.schema);
    format!("AsofJoin {} on {} output={output}", node.kind, conditions.join(" and "))
}

fn merge_join(node: &MergeJoinNode) -> String {
    let keys: Vec<_> = node.keys.iter().map(ToString::to_string).collect();
    let mut text = format!("MergeJoin {} on {}", node.kind, keys.join(" and "));
    if let Some(filter) = &node.filter {
        let _ = write!(text, " filter={filter}");
    }
    let _ = write!(text, " output={}", output(&node.output, &node.schema));
    text
}

fn offset(rows: u64) -> String {
    if rows == 0 { String::new() } else { format!(" offset={rows}") }
}

fn columns(columns: &[usize]) -> String {
    let columns: Vec<_> = columns.iter().map(|it| format!("#{it}")).collect();
    format!("[{}]", columns.join(", "))
}

fn output(columns: &[usize], schema: &Schema) -> String {
    let names = schema.fields.iter().map(|it| &it.name);
    let columns: Vec<_> =
        columns.iter().zip(names).map(|(column, name)| format!("#{column} as {name}")).collect();
    format!("[{}]", columns.join(", "))
}

fn join(parts: &[impl Display]) -> String {
    let parts: Vec<_> = parts.iter().map(ToString::to_string).collect();
    parts.join(", ")
}

impl Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let distinct = match (self.distinct, self.merges) {
            (true, _) => "distinct ",
            (false, true) => "partial ",
            (false, false) => "",
        };
        let args: Vec<_> = self.args.iter().map(|it| format!("#{it}")).collect();
        write!(f, "{}({distinct}{}", self.function, args.join(", "))?;
        if !self.order_by.is_empty() {
            write!(f, " order by {}", join(&self.order_by))?;
        }
        f.write_char(')')?;
        self.filter.map_or(Ok(()), |it| write!(f, " filter #{it}"))
    }
}
