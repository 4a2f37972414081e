//! Window nodes as text.

use super::{columns, join};
use crate::nodes::{
    Frame, FrameBound, FrameOffset, FrameUnits, WindowCall, WindowLimit, WindowNode,
};
use std::fmt::{self, Display, Write};
use volley_function::Exclusion;

/// The node in one line.
pub(super) fn window(node: &WindowNode) -> String {
    let mut text = "Window".to_owned();
    if !node.partition_by.is_empty() {
        let _ = write!(text, " partition={}", columns(&node.partition_by));
    }
    if !node.order_by.is_empty() {
        let _ = write!(text, " order=[{}]", join(&node.order_by));
    }
    if node.sorted {
        text.push_str(" sorted");
    }
    if node.keeps_order {
        text.push_str(" keeps order");
    }
    let calls = node.calls.iter().map(|it| call(it, node.order_by.len()));
    let _ = write!(text, " calls=[{}]", calls.collect::<Vec<_>>().join(", "));
    if node.output.len() < node.input.schema().len() {
        let _ = write!(text, " output={}", columns(&node.output));
    }
    if let Some(WindowLimit { call, rows }) = node.limit {
        let _ = write!(text, " limit=call {call} <= {rows}");
    }
    text
}

fn call(call: &WindowCall, order_keys: usize) -> String {
    let distinct = if call.distinct { "distinct " } else { "" };
    let mut text = format!("{}({distinct}{}", call.function, columns(&call.args));
    if !call.order_by.is_empty() {
        let _ = write!(text, " order by {}", join(&call.order_by));
    }
    text.push(')');
    if let Some(filter) = call.filter {
        let _ = write!(text, " filter=#{filter}");
    }
    if call.ignore_nulls {
        text.push_str(" ignore nulls");
    }
    if call.order_keys < order_keys {
        let _ = write!(text, " order keys={}", call.order_keys);
    }
    if call.frame != Frame::up_to_peers() {
        let _ = write!(text, " {}", call.frame);
    }
    text
}

impl Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = match self.units {
            FrameUnits::Rows => "rows",
            FrameUnits::Range => "range",
            FrameUnits::Groups => "groups",
        };
        write!(f, "{units} {} to {}", self.start, self.end)?;
        f.write_str(match self.exclusion {
            Exclusion::NoOthers => "",
            Exclusion::CurrentRow => " exclude current row",
            Exclusion::Group => " exclude group",
            Exclusion::Ties => " exclude ties",
        })
    }
}

impl Display for FrameBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameBound::UnboundedPreceding => f.write_str("unbounded preceding"),
            FrameBound::Preceding(offset) => write!(f, "{offset} preceding"),
            FrameBound::CurrentRow => f.write_str("current row"),
            FrameBound::Following(offset) => write!(f, "{offset} following"),
            FrameBound::UnboundedFollowing => f.write_str("unbounded following"),
        }
    }
}

impl Display for FrameOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameOffset::Count(count) => write!(f, "{count}"),
            FrameOffset::Column(column) => write!(f, "#{column}"),
            FrameOffset::Value { key, bound, .. } => write!(f, "#{key} at #{bound}"),
        }
    }
}
