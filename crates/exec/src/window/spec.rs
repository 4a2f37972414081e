//! What all drivers of a window node know.

use volley_error::Result;
use volley_function::{BoundAggregate, BoundWindow, Registry};
use volley_plan::{Frame, FrameBound, FrameOffset, SortKey, WindowCall, WindowLimit, WindowNode};
use volley_types::Type;

/// A window node, its functions resolved.
pub(super) struct WindowSpec {
    /// The input's types.
    pub types: Vec<Type>,
    pub partition_by: Vec<usize>,
    pub order_by: Vec<SortKey>,
    pub calls: Vec<CallSpec>,
    pub limit: Option<WindowLimit>,
    /// The numbers of order keys that calls have, ascending, each once; 0 (the partitions) always.
    pub levels: Vec<usize>,
}

/// One call.
pub(super) struct CallSpec {
    pub function: CallFunction,
    /// Input columns.
    pub args: Vec<usize>,
    pub arg_types: Vec<Type>,
    pub distinct: bool,
    pub filter: Option<usize>,
    pub ignore_nulls: bool,
    /// An index of [`WindowSpec::levels`].
    pub level: usize,
    pub frame: Frame,
}

/// What is called.
pub(super) enum CallFunction {
    Window(BoundWindow),
    Aggregate(BoundAggregate),
}

impl WindowSpec {
    pub(super) fn new(node: &WindowNode, registry: &Registry) -> Result<WindowSpec> {
        let mut levels: Vec<usize> = node.calls.iter().map(|it| it.order_keys).collect();
        levels.push(0);
        levels.sort_unstable();
        levels.dedup();
        let calls = node.calls.iter().map(|it| CallSpec::new(it, &levels, registry));
        Ok(WindowSpec {
            types: node.input.schema().types().cloned().collect(),
            partition_by: node.partition_by.clone(),
            order_by: node.order_by.clone(),
            calls: calls.collect::<Result<_>>()?,
            limit: node.limit,
            levels,
        })
    }

    /// The columns to sort by: partitions, then their order.
    pub(super) fn sort_keys(&self) -> Vec<SortKey> {
        let key =
            |column: &usize| SortKey { column: *column, descending: false, nulls_first: false };
        self.partition_by.iter().map(key).chain(self.order_by.iter().copied()).collect()
    }

    /// Per input column: whether calls or the search for places read it in order.
    pub(super) fn arranged(&self) -> Vec<bool> {
        let mut arranged = vec![false; self.types.len()];
        let keys = self.levels.last().copied().unwrap_or(0);
        let order = self.order_by.iter().take(keys).map(|it| it.column);
        let columns = self.partition_by.iter().copied().chain(order);
        columns.for_each(|it| arranged[it] = true);
        self.calls.iter().flat_map(CallSpec::columns).for_each(|it| arranged[it] = true);
        arranged
    }
}

impl CallSpec {
    fn new(call: &WindowCall, levels: &[usize], registry: &Registry) -> Result<CallSpec> {
        let function = if registry.is_window(&call.function) {
            CallFunction::Window(registry.resolve_window(&call.function, &call.arg_types)?)
        } else {
            CallFunction::Aggregate(registry.resolve_aggregate(&call.function, &call.arg_types)?)
        };
        Ok(CallSpec {
            function,
            args: call.args.clone(),
            arg_types: call.arg_types.clone(),
            distinct: call.distinct,
            filter: call.filter,
            ignore_nulls: call.ignore_nulls,
            level: levels.iter().position(|it| *it == call.order_keys).unwrap_or(0),
            frame: call.frame.clone(),
        })
    }

    /// The input columns that the call reads.
    fn columns(&self) -> Vec<usize> {
        let mut columns = self.args.clone();
        columns.extend(self.filter);
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
                FrameOffset::Value { is_constant, .. } => *is_constant,
            })
    }
}
