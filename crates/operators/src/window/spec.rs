//! What all drivers of a window node know.

use volley_error::Result;
use volley_expression::SourceSpan;
use volley_function::{BoundAggregate, BoundWindow, Registry};
use volley_plan::{Frame, FrameBound, FrameOffset, SortKey, WindowCall, WindowLimit, WindowNode};
use volley_state::StateSizes;
use volley_types::{Type, Value};

/// A window node, its functions resolved.
pub(super) struct WindowSpec {
    /// The input's types.
    pub types: Vec<Type>,
    pub partition_by: Vec<usize>,
    pub order_by: Vec<SortKey>,
    pub calls: Vec<CallSpec>,
    pub limit: Option<WindowLimit>,
    /// Whether rows come sorted.
    pub is_sorted: bool,
    /// Whether rows may be emitted in any order of their partitions.
    pub spreads: bool,
    /// Per input column: the value that all rows have, where that is known, of columns that say
    /// how far calls look at rows that come sorted.
    pub constants: Vec<Option<Value>>,
    /// The input columns that are returned.
    pub output: Vec<usize>,
    /// The numbers of order keys that calls have, ascending, each once; 0 (the partitions) always.
    pub levels: Vec<usize>,
    /// Where state works in another way.
    pub sizes: StateSizes,
}

/// One call.
pub(super) struct CallSpec {
    pub function: CallFunction,
    /// Input columns.
    pub args: Vec<usize>,
    pub arg_types: Vec<Type>,
    pub distinct: bool,
    pub filter: Option<usize>,
    /// The order of the rows of a frame, where it is not that of the partition.
    pub order_by: Vec<SortKey>,
    pub ignore_nulls: bool,
    /// An index of [`WindowSpec::levels`].
    pub level: usize,
    pub frame: Frame,
    /// What errors point at.
    pub place: SourceSpan,
}

/// What is called.
pub(super) enum CallFunction {
    Window(BoundWindow),
    Aggregate(BoundAggregate),
}

impl WindowSpec {
    pub(super) fn new(
        node: &WindowNode,
        registry: &Registry,
        sizes: StateSizes,
    ) -> Result<WindowSpec> {
        let functions = node.calls.iter().map(|it| CallFunction::new(it, registry));
        let functions = functions.collect::<Result<Vec<_>>>()?;
        let keys = |(call, function): (&WindowCall, &CallFunction)| {
            // Who does not look at peers needs no groups of them.
            if function.uses_peers(call) { call.order_keys } else { 0 }
        };
        let keys: Vec<usize> = node.calls.iter().zip(&functions).map(keys).collect();
        let mut levels = keys.clone();
        levels.push(0);
        levels.sort_unstable();
        levels.dedup();
        let level = |keys: usize| levels.iter().position(|it| *it == keys).unwrap_or(0);
        let calls = node.calls.iter().zip(functions).zip(keys);
        let calls =
            calls.map(|((call, function), keys)| CallSpec::new(call, function, level(keys)));
        Ok(WindowSpec {
            types: node.input.schema().types().cloned().collect(),
            partition_by: node.partition_by.clone(),
            order_by: node.order_by.clone(),
            calls: calls.collect(),
            limit: node.limit,
            is_sorted: node.sorted,
            spreads: !node.keeps_order && !node.partition_by.is_empty(),
            constants: constants(node),
            output: node.output.clone(),
            levels,
            sizes,
        })
    }

    /// The columns to sort by: partitions, then their order.
    pub(super) fn sort_keys(&self) -> Vec<SortKey> {
        let key =
            |column: &usize| SortKey { column: *column, descending: false, nulls_first: false };
        self.partition_by.iter().map(key).chain(self.order_by.iter().copied()).collect()
    }

    /// The sort keys that decide where the groups of a level end.
    pub(super) fn keys_of(&self, level: usize) -> usize {
        self.partition_by.len() + self.levels[level]
    }

    /// Per input column: whether it is read in order, by calls, or, where `settles` does not answer
    /// yes for that many sort keys, to find where groups end.
    pub(super) fn arranged(&self, settles: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut arranged = vec![false; self.types.len()];
        for level in (0..self.levels.len()).filter(|it| !settles(self.keys_of(*it))) {
            let order = self.order_by.iter().take(self.levels[level]).map(|it| it.column);
            let columns = self.partition_by.iter().copied().chain(order);
            columns.for_each(|it| arranged[it] = true);
        }
        self.calls.iter().flat_map(CallSpec::columns).for_each(|it| arranged[it] = true);
        arranged
    }
}

/// See [`WindowSpec::constants`]. To ask for a column may be a way through the whole plan.
fn constants(node: &WindowNode) -> Vec<Option<Value>> {
    let mut constants = vec![None; node.input.schema().len()];
    if !node.sorted {
        return constants;
    }
    for call in &node.calls {
        let offsets = call.frame.offsets().filter_map(|it| match it {
            FrameOffset::Column(column) => Some(*column),
            FrameOffset::Count(_) | FrameOffset::Value { .. } => None,
        });
        for column in call.args.iter().skip(1).copied().chain(offsets) {
            if let Some(constant) = constants.get_mut(column).filter(|it| it.is_none()) {
                *constant = node.input.constant(column).cloned();
            }
        }
    }
    constants
}

impl CallFunction {
    fn new(call: &WindowCall, registry: &Registry) -> Result<CallFunction> {
        Ok(if registry.is_window(&call.function) {
            CallFunction::Window(registry.resolve_window(&call.function, &call.arg_types)?)
        } else {
            let bound = registry.resolve_aggregate(&call.function, &call.arg_types)?;
            CallFunction::Aggregate(bound.in_frames())
        })
    }

    /// The name it was found under.
    pub(super) fn name(&self) -> &str {
        match self {
            CallFunction::Window(bound) => &bound.name,
            CallFunction::Aggregate(bound) => &bound.name,
        }
    }

    /// Whether results of the call depend on which rows are peers.
    fn uses_peers(&self, call: &WindowCall) -> bool {
        match self {
            // All functions are then of the rows of the frame.
            _ if !call.order_by.is_empty() => call.frame.uses_peers(),
            CallFunction::Window(bound) => {
                bound.uses_peers || (bound.uses_frame && call.frame.uses_peers())
            }
            CallFunction::Aggregate(_) => call.frame.uses_peers(),
        }
    }
}

impl CallSpec {
    fn new(call: &WindowCall, function: CallFunction, level: usize) -> CallSpec {
        CallSpec {
            function,
            args: call.args.clone(),
            arg_types: call.arg_types.clone(),
            distinct: call.distinct,
            filter: call.filter,
            order_by: call.order_by.clone(),
            ignore_nulls: call.ignore_nulls,
            level,
            frame: call.frame.clone(),
            place: call.place,
        }
    }

    /// The input columns that the call reads.
    fn columns(&self) -> Vec<usize> {
        let mut columns = self.args.clone();
        columns.extend(self.filter);
        columns.extend(self.order_by.iter().map(|it| it.column));
        for offset in self.frame.offsets() {
            match offset {
                FrameOffset::Count(_) => {}
                FrameOffset::Column(column) => columns.push(*column),
                FrameOffset::Value { key, bound, .. } => columns.extend([*key, *bound]),
            }
        }
        columns
    }

    /// Whether results depend on frames.
    pub(super) fn uses_frame(&self) -> bool {
        match &self.function {
            CallFunction::Window(bound) => bound.uses_frame,
            CallFunction::Aggregate(_) => true,
        }
    }

    /// Whether the frames of a partition all begin where it begins, and never end before the frame
    /// of an earlier row.
    pub(super) fn frames_grow(&self) -> bool {
        let frame = &self.frame;
        frame.start == FrameBound::UnboundedPreceding
            && frame.exclusion == volley_function::Exclusion::NoOthers
            && frame.offsets().all(|offset| match offset {
                FrameOffset::Count(_) => true,
                FrameOffset::Column(_) => false,
                FrameOffset::Value { is_monotone, .. } => *is_monotone,
            })
    }
}
