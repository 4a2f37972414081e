//! Joins on equal keys.
//!
//! ```text
//! build   every driver keeps its rows; the last one makes the table; all insert rows into it
//! probe   waits for the table; for each batch:
//!           lookup      rows that find a chain of build rows
//!           pairs       of these rows and the chains' rows, some at a time
//!           condition   equal keys (where words are hashes), the join's filter
//!           output      by kind of join
//!         the last driver emits build rows without a match, or with one
//! ```
//!
//! `NOT IN` and `IN` (null-aware joins): for a probe row without a match, the comparison is unknown
//! if one of the build rows that count has a null in the last key, or if the probe row's own is
//! null and any build row counts. Without other keys and filter, all build rows count, and two
//! flags tell; otherwise two more tables, over the other keys, hold all rows and those with a null.

mod build;
mod build_disk;
mod build_rows;
mod condition;
mod kept;
mod lower;
mod output;
mod partition_join;
mod probe;
mod reload;
mod shared;
mod spill;
mod unknown;
#[cfg(test)]
mod spill_tests;
#[cfg(test)]
mod tests;

pub(crate) use kept::CachedBuilds;
pub(crate) use lower::{StepBuilds, lower, skipped_input};

use output::OutputColumn;
use volley_expression::Expr;
use volley_plan::{HashJoinNode, JoinKind};
use volley_state::{StateSizes, hash_table::JoinTableSpec};
use volley_types::Type;

/// What all drivers of a join know.
#[derive(Debug)]
struct HashJoinSpec {
    /// Where the tables work in another way.
    sizes: StateSizes,
    kind: JoinKind,
    probe_types: Vec<Type>,
    probe_keys: Vec<usize>,
    build_keys: Vec<usize>,
    nulls_equal: Vec<bool>,
    null_aware: bool,
    filter: Option<Filter>,
    /// The build columns that rows keep after their keys.
    payload: Vec<usize>,
    build_types: Vec<Type>,
    /// The probe columns that are used, ascending.
    used_probe: Vec<usize>,
    output: Vec<OutputColumn>,
    /// The output columns, for nulls.
    output_types: Vec<Type>,
}

/// The filter on pairs, over a batch of the columns that it uses.
#[derive(Debug)]
struct Filter {
    expr: Expr,
    columns: Vec<FilterColumn>,
}

/// A column of a join's filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FilterColumn {
    Probe(usize),
    /// By position in the build side's input.
    Build(usize),
}

impl HashJoinSpec {
    fn new(node: &HashJoinNode, sizes: StateSizes) -> HashJoinSpec {
        let types = |schema: &volley_types::Schema| schema.types().cloned().collect::<Vec<_>>();
        let (probe_types, build_types) = (types(node.probe.schema()), types(node.build.schema()));
        let asks_unknown = matches!(node.kind, JoinKind::LeftAnti | JoinKind::LeftMark);
        let filter = node.filter.as_ref().map(|it| Filter::new(it, probe_types.len()));
        let mut spec = HashJoinSpec {
            sizes,
            kind: node.kind,
            probe_types,
            probe_keys: node.probe_keys.clone(),
            build_keys: node.build_keys.clone(),
            nulls_equal: node.nulls_equal.clone(),
            null_aware: node.null_aware && asks_unknown,
            filter,
            payload: Vec::new(),
            build_types,
            used_probe: Vec::new(),
            output: Vec::new(),
            output_types: types(&node.schema),
        };
        if let (true, Some(last)) = (spec.null_aware, spec.nulls_equal.last_mut()) {
            *last = false;
        }
        let used = spec.output_build_columns(&node.output);
        let filter_columns = spec.filter.iter().flat_map(Filter::build_columns);
        let mut payload: Vec<usize> = used.chain(filter_columns).collect();
        payload.sort_unstable();
        payload.dedup();
        payload.retain(|it| spec.key_of(*it).is_none());
        spec.payload = payload;
        spec.output = node.output.iter().map(|it| spec.output_column(*it)).collect();
        spec.used_probe = spec.used_probe_columns();
        spec
    }

    /// Where the build columns begin among all output columns.
    fn build_start(&self) -> usize {
        if self.kind.has_probe_columns() { self.probe_types.len() } else { 0 }
    }

    fn output_build_columns<'a>(&self, output: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
        let start = self.build_start();
        let end =
            if self.kind.has_build_columns() { start + self.build_types.len() } else { start };
        output.iter().filter(move |it| (start..end).contains(*it)).map(move |it| it - start)
    }

    fn output_column(&self, column: usize) -> OutputColumn {
        match column.checked_sub(self.build_start()) {
            None => OutputColumn::Probe(column),
            Some(_) if self.kind == JoinKind::LeftMark => OutputColumn::Mark,
            Some(column) => OutputColumn::Build(self.row_column(column)),
        }
    }

    fn used_probe_columns(&self) -> Vec<usize> {
        let output = self.output.iter().filter_map(|it| match it {
            OutputColumn::Probe(column) => Some(*column),
            _ => None,
        });
        let filter = self.filter.iter().flat_map(Filter::probe_columns);
        let mut used: Vec<usize> = self.probe_keys.iter().copied().chain(output).collect();
        used.extend(filter);
        used.sort_unstable();
        used.dedup();
        used
    }

    /// The key that a build column is, unless it is of nested type: keys of those are encoded.
    fn key_of(&self, build_column: usize) -> Option<usize> {
        let key = self.build_keys.iter().position(|it| *it == build_column);
        key.filter(|_| !self.build_types[build_column].physical().is_by_reference())
    }

    /// Where rows keep a build column.
    fn row_column(&self, build_column: usize) -> usize {
        self.key_of(build_column).unwrap_or_else(|| {
            let payload = self.payload.iter().position(|it| *it == build_column);
            self.build_keys.len() + payload.unwrap_or(0)
        })
    }

    /// Whether build rows with a null key are needed, though they match nothing.
    fn keeps_null_keys(&self) -> bool {
        matches!(self.kind, JoinKind::Right | JoinKind::Full | JoinKind::RightAnti)
    }

    /// Whether all that counts is whether a probe row has a match.
    fn is_existence(&self) -> bool {
        matches!(self.kind, JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::LeftMark)
    }

    /// Whether only some build rows count for a null-aware join's unknown comparisons.
    fn has_correlation(&self) -> bool {
        self.null_aware && (self.build_keys.len() > 1 || self.filter.is_some())
    }

    /// By how many of its keys, from the first on, rows are spread over partitions: each is joined
    /// by itself, so that all build rows that count for a probe row are where it is.
    fn partition_keys(&self) -> usize {
        self.build_keys.len() - usize::from(self.has_correlation())
    }

    /// The table of all keys.
    fn table(&self) -> JoinTableSpec {
        JoinTableSpec {
            columns: self.columns(self.build_keys.len()),
            nulls_equal: self.nulls_equal.clone(),
            is_set: self.is_existence() && self.filter.is_none(),
            existence_only: self.is_existence() && self.filter.is_none(),
            sizes: self.sizes,
        }
    }

    /// A table of all keys but the last one.
    fn correlation_table(&self) -> JoinTableSpec {
        let keys = self.partition_keys();
        JoinTableSpec {
            columns: self.columns(self.build_keys.len()),
            nulls_equal: self.nulls_equal[..keys].to_vec(),
            is_set: self.filter.is_none(),
            existence_only: false,
            sizes: self.sizes,
        }
    }

    fn columns(&self, keys: usize) -> Vec<Type> {
        let keys = self.build_keys[..keys].iter();
        let keys = keys.map(|it| volley_state::hash_table::key_type(&self.build_types[*it]));
        keys.chain(self.payload.iter().map(|it| self.build_types[*it].clone())).collect()
    }
}

impl Filter {
    /// Renumbers the columns of `expr`; `probe_columns` is their number on the probe side.
    fn new(expr: &Expr, probe_columns: usize) -> Filter {
        let mut used = Vec::new();
        expr.for_each_column(&mut |column| used.push(column));
        used.sort_unstable();
        used.dedup();
        let mut expr = expr.clone();
        expr.map_columns(&|column| used.partition_point(|it| *it < column));
        let columns = used.iter().map(|column| match column.checked_sub(probe_columns) {
            None => FilterColumn::Probe(*column),
            Some(column) => FilterColumn::Build(column),
        });
        Filter { expr, columns: columns.collect() }
    }

    fn build_columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.columns.iter().filter_map(|it| match it {
            FilterColumn::Build(column) => Some(*column),
            FilterColumn::Probe(_) => None,
        })
    }

    fn probe_columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.columns.iter().filter_map(|it| match it {
            FilterColumn::Probe(column) => Some(*column),
            FilterColumn::Build(_) => None,
        })
    }
}
