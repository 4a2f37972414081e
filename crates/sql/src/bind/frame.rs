//! Frames of windows.

use super::{Binder, Parameters, expr::first_span, inspect, query::constant, window::Written};
use sqlparser::ast::{self, WindowFrame, WindowFrameBound, WindowFrameUnits};
use volley_error::{Error, Result, Span};
use volley_function::Exclusion;
use volley_logical::{
    Expr, ExprKind, Frame, FrameBound, FrameOffset, FrameUnits, SortKey, SpecialForm,
};
use volley_types::{Interval, Type, Value, text::parse_interval};

/// What the bounds of a frame are bound with.
#[derive(Clone, Copy)]
struct Bounds<'b> {
    units: FrameUnits,
    order_by: &'b [SortKey],
    /// The call.
    span: Option<Span>,
}

impl<'a> Binder<'a> {
    /// The frame of a window; without one, all up to the peers of the current row.
    pub(super) fn frame(
        &mut self,
        written: Written<'a>,
        order_by: &[SortKey],
        span: Option<Span>,
    ) -> Result<Frame<Expr>> {
        let Some(frame) = written.frame else {
            if written.exclusion == Exclusion::NoOthers {
                return Ok(Frame::up_to_peers());
            }
            let message = "EXCLUDE without a frame";
            let hint = "write ROWS, RANGE or GROUPS BETWEEN ... before it";
            return Err(Error::invalid_query(message).hint(hint).span(span));
        };
        self.check_bounds(frame, span)?;
        let units = match frame.units {
            WindowFrameUnits::Rows => FrameUnits::Rows,
            WindowFrameUnits::Range => FrameUnits::Range,
            WindowFrameUnits::Groups => FrameUnits::Groups,
        };
        if units == FrameUnits::Groups && order_by.is_empty() {
            let error = Error::invalid_query("GROUPS without ORDER BY").span(span);
            return Err(error.hint("groups are rows with equal ORDER BY keys"));
        }
        let bounds = Bounds { units, order_by, span };
        let end = frame.end_bound.as_ref().unwrap_or(&WindowFrameBound::CurrentRow);
        Ok(Frame {
            units,
            start: self.bound(&frame.start_bound, bounds)?,
            end: self.bound(end, bounds)?,
            exclusion: written.exclusion,
        })
    }

    /// Refuses frames that end before they start, whatever the rows.
    fn check_bounds(&self, frame: &WindowFrame, span: Option<Span>) -> Result<()> {
        use WindowFrameBound::{CurrentRow, Following, Preceding};
        let end = frame.end_bound.as_ref().unwrap_or(&CurrentRow);
        let message = match (&frame.start_bound, end) {
            (Following(None), _) => "frame starts with UNBOUNDED FOLLOWING",
            (_, Preceding(None)) => "frame ends with UNBOUNDED PRECEDING",
            (CurrentRow, Preceding(_)) => "frame starts with CURRENT ROW and ends before it",
            (Following(_), CurrentRow | Preceding(_)) => {
                "frame starts after the current row and ends at it or before it"
            }
            _ => return Ok(()),
        };
        let error = Error::invalid_query(message).span(span);
        Err(error.hint("the start of a frame must not come after its end"))
    }

    fn bound(
        &mut self,
        bound: &'a WindowFrameBound,
        bounds: Bounds<'_>,
    ) -> Result<FrameBound<Expr>> {
        Ok(match bound {
            WindowFrameBound::CurrentRow => FrameBound::CurrentRow,
            WindowFrameBound::Preceding(None) => FrameBound::UnboundedPreceding,
            WindowFrameBound::Following(None) => FrameBound::UnboundedFollowing,
            WindowFrameBound::Preceding(Some(offset)) => {
                FrameBound::Preceding(self.offset(offset, bounds, true)?)
            }
            WindowFrameBound::Following(Some(offset)) => {
                FrameBound::Following(self.offset(offset, bounds, false)?)
            }
        })
    }

    fn offset(
        &mut self,
        written: &'a ast::Expr,
        bounds: Bounds<'_>,
        is_preceding: bool,
    ) -> Result<FrameOffset<Expr>> {
        let offset = self.expr(written)?;
        let span = offset.span.or_else(|| self.span(first_span(written))).or(bounds.span);
        let error = |message: &str| Error::invalid_query(message).span(span);
        let awaits_value = matches!(self.shared.settings.parameters, Parameters::Unknown);
        if awaits_value && offset.data_type == Type::Unknown {
            return Ok(FrameOffset::Count(0));
        }
        match constant(&offset) {
            Some(None) => return Err(error("frame offset is null")),
            Some(Some(value)) if value < 0 => {
                let error = error(&format!("frame offset is negative: {value}"));
                return Err(error.hint("PRECEDING and FOLLOWING say the direction"));
            }
            Some(Some(value)) if bounds.units != FrameUnits::Range => {
                return Ok(FrameOffset::Count(u64::try_from(value).unwrap_or(u64::MAX)));
            }
            _ => {}
        }
        if bounds.units == FrameUnits::Range {
            return self.value_offset(offset, bounds, is_preceding, span);
        }
        if !offset.data_type.is_integer() && offset.data_type.unsigned().is_none() {
            let message = format!("frame offset must be a whole number, not {}", offset.data_type);
            return Err(error(&message).hint("RANGE takes other distances than numbers of rows"));
        }
        Ok(FrameOffset::Column(self.coerce(offset, &Type::BigInt)?))
    }

    /// The value that the order key reaches at a bound of RANGE.
    fn value_offset(
        &mut self,
        offset: Expr,
        bounds: Bounds<'_>,
        is_preceding: bool,
        span: Option<Span>,
    ) -> Result<FrameOffset<Expr>> {
        let [key] = bounds.order_by else {
            let message = format!(
                "RANGE with an offset needs one ORDER BY key, not {}",
                bounds.order_by.len()
            );
            let error = Error::invalid_query(message).span(span);
            return Err(error.hint("ROWS and GROUPS take any number of keys"));
        };
        if !self.has_distances(&key.expr.data_type) {
            let message =
                format!("RANGE with an offset over an order key of type {}", key.expr.data_type);
            let error = Error::invalid_query(message).span(span);
            return Err(error.hint("the key must be a number, a date, a time or an interval"));
        }
        let reached = self.reached(key.expr.clone())?;
        let is_monotone = is_monotone(&offset, &key.expr.data_type);
        let missing = (!is_constant(&offset)).then(|| {
            Expr::special(SpecialForm::IsNull, vec![offset.clone()], Type::Boolean).at(span)
        });
        let name = if is_preceding == key.descending { "plus" } else { "minus" };
        let (left, right) = self.narrow_literals(reached.clone(), offset)?;
        let moved = self.call(name, vec![left, right], span).map_err(|_| {
            let message = "frame offset does not fit the order key";
            let hint = "numbers take numbers; dates, times and intervals take intervals";
            Error::invalid_query(message).hint(hint).span(span)
        })?;
        let data_type = moved.data_type.clone();
        let key = self.coerce(reached, &data_type)?;
        // Beyond the ends of the type there is no value.
        let mut bound = Expr::special(SpecialForm::Try, vec![moved], data_type.clone()).at(span);
        if let Some(missing) = missing {
            let message = Expr::constant(Value::text("frame offset is null"), Type::Varchar);
            let fails = self.call("error", vec![message], span)?.cast(Type::Boolean).at(span);
            let fails = Expr::special(SpecialForm::And, vec![missing, fails], Type::Boolean);
            let null = Expr::constant(Value::Null, data_type.clone());
            let args = vec![fails, null, bound];
            bound = Expr::special(SpecialForm::Switch, args, data_type).at(span);
        }
        Ok(FrameOffset::Value { key, bound, is_monotone })
    }

    /// Whether keys of this type are some distance apart.
    fn has_distances(&self, key: &Type) -> bool {
        let is_temporal = matches!(key, Type::Date | Type::Time | Type::Timestamp | Type::Interval);
        let has_difference = || {
            let both = [key.clone(), key.clone()];
            self.shared.names.resolve_scalar("minus", &both).is_ok()
        };
        key.is_numeric() || is_temporal || matches!(key, Type::Custom(_)) && has_difference()
    }

    /// The key with distances that do not wrap around: a time is one of the first day.
    fn reached(&self, key: Expr) -> Result<Expr> {
        if key.data_type != Type::Time {
            return Ok(key);
        }
        let span = key.span;
        let day = Expr::constant(Value::Date(0), Type::Date);
        self.call("plus", vec![day, key], span)
    }
}

/// Whether the offset is the same for all rows, as far as one can see.
fn is_constant(offset: &Expr) -> bool {
    match &offset.kind {
        ExprKind::Constant(_) => true,
        ExprKind::Cast { input, .. } => is_constant(input),
        _ => inspect::string_literal(offset).is_some(),
    }
}

/// Whether keys in order are still in order when all of them are moved by the offset, as far as one
/// can see. An infinite number makes NaN of the other infinity.
fn is_monotone(offset: &Expr, key: &Type) -> bool {
    match &offset.kind {
        ExprKind::Constant(Value::Interval(interval)) => keeps_order(interval, key),
        ExprKind::Constant(Value::Varchar(text)) if !key.is_numeric() => {
            parse_interval(text).is_some_and(|it| keeps_order(&it, key))
        }
        ExprKind::Constant(Value::Varchar(text)) => {
            text.trim().parse::<f64>().is_ok_and(f64::is_finite)
        }
        ExprKind::Constant(Value::Real(number)) => number.is_finite(),
        ExprKind::Constant(Value::Double(number)) => number.is_finite(),
        ExprKind::Constant(_) => key.is_numeric() || *key == Type::Date,
        ExprKind::Cast { input, .. } => is_monotone(input, key),
        _ => false,
    }
}

/// Months differ in length: moved by one, 30 January 23:00 comes after 31 January 10:00, and days
/// of the calendar are not all as long as others where there are time zones.
fn keeps_order(interval: &Interval, key: &Type) -> bool {
    match key {
        Type::Date => true,
        Type::Time | Type::Timestamp => interval.months == 0,
        _ => false,
    }
}
