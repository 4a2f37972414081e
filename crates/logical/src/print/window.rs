//! Printing windows.

use super::Printer;
use crate::{Expr, Frame, FrameBound, FrameOffset, FrameUnits, Plan, WindowCall};
use std::fmt::{self, Write};
use volley_function::Exclusion;

impl Printer<'_, '_, '_> {
    pub(super) fn window(&mut self, plan: &Plan) -> fmt::Result {
        let Plan::Window { partition_by, order_by, calls, limit, .. } = plan else {
            return Ok(());
        };
        self.f.write_str("Window [")?;
        self.list(partition_by, Self::expr)?;
        self.f.write_str("] order [")?;
        self.sort_keys(order_by)?;
        self.f.write_str("] [")?;
        self.list(calls, |it, (column, call)| {
            it.column(column.id)?;
            it.f.write_str(" = ")?;
            it.window_call(call, order_by.len())
        })?;
        self.f.write_char(']')?;
        if let Some((column, rows)) = limit {
            self.f.write_str(" limit ")?;
            self.column(*column)?;
            write!(self.f, " {rows}")?;
        }
        Ok(())
    }

    fn window_call(&mut self, call: &WindowCall, order_keys: usize) -> fmt::Result {
        write!(self.f, "{}({}", call.function, if call.distinct { "distinct " } else { "" })?;
        self.list(&call.args, Self::expr)?;
        if !call.order_by.is_empty() {
            self.f.write_str(" order by ")?;
            self.sort_keys(&call.order_by)?;
        }
        self.f.write_char(')')?;
        if call.ignore_nulls {
            self.f.write_str(" ignore nulls")?;
        }
        if let Some(filter) = &call.filter {
            self.f.write_str(" filter ")?;
            self.expr(filter)?;
        }
        if call.order_keys < order_keys {
            write!(self.f, " order keys {}", call.order_keys)?;
        }
        self.frame(&call.frame)
    }

    fn frame(&mut self, frame: &Frame<Expr>) -> fmt::Result {
        let is_default = frame.units == FrameUnits::Range
            && matches!(frame.start, FrameBound::UnboundedPreceding)
            && matches!(frame.end, FrameBound::CurrentRow)
            && frame.exclusion == Exclusion::NoOthers;
        if is_default {
            return Ok(());
        }
        self.f.write_str(match frame.units {
            FrameUnits::Rows => " rows ",
            FrameUnits::Range => " range ",
            FrameUnits::Groups => " groups ",
        })?;
        self.bound(&frame.start)?;
        self.f.write_str(" to ")?;
        self.bound(&frame.end)?;
        self.f.write_str(match frame.exclusion {
            Exclusion::NoOthers => "",
            Exclusion::CurrentRow => " exclude current row",
            Exclusion::Group => " exclude group",
            Exclusion::Ties => " exclude ties",
        })
    }

    fn bound(&mut self, bound: &FrameBound<Expr>) -> fmt::Result {
        match bound {
            FrameBound::UnboundedPreceding => self.f.write_str("unbounded preceding"),
            FrameBound::CurrentRow => self.f.write_str("current row"),
            FrameBound::UnboundedFollowing => self.f.write_str("unbounded following"),
            FrameBound::Preceding(offset) => {
                self.offset(offset)?;
                self.f.write_str(" preceding")
            }
            FrameBound::Following(offset) => {
                self.offset(offset)?;
                self.f.write_str(" following")
            }
        }
    }

    fn offset(&mut self, offset: &FrameOffset<Expr>) -> fmt::Result {
        match offset {
            FrameOffset::Count(count) => write!(self.f, "{count}"),
            FrameOffset::Column(expr) => self.expr(expr),
            FrameOffset::Value { bound, .. } => {
                self.f.write_str("at ")?;
                self.expr(bound)
            }
        }
    }
}
