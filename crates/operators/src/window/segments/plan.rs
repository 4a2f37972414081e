//! Which calls can be answered piece by piece, and what each of them needs for that.

use super::{
    super::{
        running::can_run,
        spec::{CallFunction, CallSpec, WindowSpec},
    },
    edge::{Edge, is_by_value},
};
use std::ops::Range;
use volley_error::Result;
use volley_function::{AggregateKind, BoundAggregate, BoundWindow, Exclusion, WindowReach};
use volley_memory::Pool;
use volley_plan::{FrameBound, FrameOffset, FrameUnits};
use volley_types::{Type, Value};
use volley_vector::{Batch, Decoded, Vector};

/// More rows than this are not kept around a piece.
const KEPT_ROWS_MAX: u64 = 64 << 10;

/// Why a call needs the whole partition.
type Reason = &'static str;

const AHEAD: Reason = "it may look any way ahead for a value that is not null";
const EXCLUDES: Reason = "its frame leaves rows out";
const BY_VALUE: Reason = "the offsets of its frame are neither in rows nor the same for all";
const OPEN: Reason = "its frame ends with the partition or with peers";
const FAR: Reason = "it looks at rows that are far away";
const UNKNOWN: Reason = "how far it looks is not the same for all rows, which come sorted";
const ORDERS: Reason = "it brings the rows of its frame in another order";
const COLLECTS: Reason = "it keeps all rows of its frame";

/// How the calls of a node are answered piece by piece.
pub(in super::super) struct PiecePlan {
    /// One per call.
    pub calls: Vec<CallPlan>,
    /// Whether calls look at what comes up to the end of groups of peers or of the partition.
    pub is_scanned: bool,
    /// How many rows before a piece, at least one, and after it are there for all calls.
    pub before: u64,
    pub after: u64,
    /// The call that looks farthest of all.
    farthest: usize,
    /// Columns that say how far calls look.
    offsets: Vec<Offset>,
    refused: Option<(usize, Reason)>,
}

/// What one call needs.
#[derive(Default)]
pub(in super::super) struct CallPlan {
    /// The number of the partition's first rows that are kept, and
    first: u64,
    /// the number of the last rows before those that are kept anyway.
    last: u64,
    /// Only rows where this column is not null count for them.
    valid: Option<usize>,
    /// The last row of the group of peers at a level is needed in time.
    pub tail: Option<usize>,
    /// The result at the end of a group is needed in time.
    pub known: Option<Known>,
    /// How many rows away its frames begin and end is not known before these rows come. Both do so
    /// in the order of the rows.
    pub is_by_value: bool,
}

/// An aggregate's result at the end of groups.
#[derive(Clone, Copy)]
pub(in super::super) struct Known {
    pub level: usize,
    /// Whether all rows of the partition have it.
    pub is_whole: bool,
}

/// A BIGINT column that says how far a call looks.
struct Offset {
    call: usize,
    column: usize,
    looks: Looks,
    /// A value that it has.
    value: Option<i64>,
}

/// Where a call looks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looks {
    Before,
    /// Before, counting rows that are not null alone.
    ValidBefore,
    After,
    /// At the partition's first rows, and, where frames end with peers, at as many after the row.
    First {
        ahead: bool,
    },
    /// This number of groups away, which must be the same for all rows.
    Groups,
}

impl PiecePlan {
    pub(in super::super) fn new(spec: &WindowSpec, pool: &Pool) -> Result<PiecePlan> {
        let mut plan = PiecePlan {
            calls: Vec::new(),
            is_scanned: false,
            before: 1,
            after: 0,
            farthest: 0,
            offsets: Vec::new(),
            refused: None,
        };
        for (index, call) in spec.calls.iter().enumerate() {
            let call = match &call.function {
                _ if !call.order_by.is_empty() => Err(ORDERS),
                CallFunction::Window(bound) => plan.function(index, call, bound),
                CallFunction::Aggregate(bound) => plan.aggregate(index, call, bound, pool)?,
            };
            let call = call.unwrap_or_else(|reason| {
                plan.refuse(index, reason);
                CallPlan::default()
            });
            plan.is_scanned |= call.tail.is_some() || call.known.is_some();
            plan.calls.push(call);
        }
        if plan.is_scanned {
            // The row that tells whether the last group goes on.
            plan.after = plan.after.max(1);
        }
        Ok(plan)
    }

    /// The call that needs its whole partition, and why.
    pub(in super::super) fn refused(&self) -> Option<(usize, Reason)> {
        let kept = |it: &CallPlan| it.first.saturating_add(it.last);
        let rows = self.calls.iter().map(kept).chain([self.before, self.after]);
        let is_far = rows.fold(0, u64::saturating_add) > KEPT_ROWS_MAX;
        self.refused.or(is_far.then_some((self.farthest, FAR)))
    }

    /// The first call whose frames are bounded by value.
    pub(in super::super) fn by_value(&self) -> Option<usize> {
        self.calls.iter().position(|it| it.is_by_value)
    }

    /// Notes how many rows before and after a row a call looks at.
    fn look(&mut self, call: usize, before: u64, after: u64) {
        if before.max(after) > self.before.max(self.after) {
            self.farthest = call;
        }
        (self.before, self.after) = (self.before.max(before), self.after.max(after));
    }

    fn refuse(&mut self, call: usize, reason: Reason) {
        self.refused.get_or_insert((call, reason));
    }

    fn function(
        &mut self,
        index: usize,
        call: &CallSpec,
        bound: &BoundWindow,
    ) -> std::result::Result<CallPlan, Reason> {
        let looks = match bound.reach {
            WindowReach::Partition => return Err("it may look at any row of the partition"),
            WindowReach::Starts => return Ok(CallPlan::default()),
            WindowReach::Ends => {
                self.is_scanned = true;
                return Ok(CallPlan::default());
            }
            WindowReach::Before if call.ignore_nulls => Looks::ValidBefore,
            WindowReach::Before => Looks::Before,
            WindowReach::After if call.ignore_nulls => return Err(AHEAD),
            WindowReach::After => Looks::After,
            WindowReach::First | WindowReach::Last | WindowReach::Nth => {
                return self.frame_value(index, call, bound.reach);
            }
        };
        let mut plan = CallPlan { valid: valid(call), ..CallPlan::default() };
        match call.args.get(1) {
            Some(column) => self.offsets.push(Offset::new(index, *column, looks)),
            None if looks == Looks::After => self.look(index, 0, 1),
            None => plan.last = u64::from(call.ignore_nulls),
        }
        Ok(plan)
    }

    fn frame_value(
        &mut self,
        index: usize,
        call: &CallSpec,
        reach: WindowReach,
    ) -> std::result::Result<CallPlan, Reason> {
        let is_last = reach == WindowReach::Last;
        let edges = self.edges(index, call)?;
        let is_by_value = is_by_value(call, edges, is_last);
        let mut plan = CallPlan { valid: valid(call), is_by_value, ..CallPlan::default() };
        let nth = || call.args.get(1).copied().filter(|_| reach == WindowReach::Nth);
        match edges {
            (Edge::Rows, Edge::Rows) => {}
            (Edge::Peers | Edge::Value, Edge::Peers | Edge::Value) if is_by_value => {}
            (Edge::Value, _) => return Err(OPEN),
            (_, Edge::Partition) if call.ignore_nulls => return Err(AHEAD),
            (_, Edge::Partition) if is_last => plan.tail = Some(0),
            (_, Edge::Peers) if is_last && !is_by_value => plan.tail = Some(call.level),
            (Edge::Partition, end) => match nth() {
                Some(column) => {
                    let looks = Looks::First { ahead: end != Edge::Rows && !is_by_value };
                    self.offsets.push(Offset::new(index, column, looks));
                }
                None if is_last => plan.last = u64::from(call.ignore_nulls),
                None => plan.first = 1,
            },
            _ => return Err(OPEN),
        }
        Ok(plan)
    }

    fn aggregate(
        &mut self,
        index: usize,
        call: &CallSpec,
        bound: &BoundAggregate,
        pool: &Pool,
    ) -> Result<std::result::Result<CallPlan, Reason>> {
        let edges = match self.edges(index, call) {
            Ok(edges) => edges,
            Err(reason) => return Ok(Err(reason)),
        };
        let plan = CallPlan { is_by_value: is_by_value(call, edges, false), ..CallPlan::default() };
        if edges.0 != Edge::Partition && edges.1 != Edge::Partition {
            return Ok(Ok(plan));
        }
        let function = match &bound.function {
            AggregateKind::Folding(function) if !call.distinct => function,
            _ => return Ok(Err(COLLECTS)),
        };
        let known = match edges {
            (Edge::Partition, Edge::Partition) => Some(Known { level: 0, is_whole: true }),
            (Edge::Partition, Edge::Peers) => Some(Known { level: call.level, is_whole: false }),
            (Edge::Partition, Edge::Rows | Edge::Value) if call.frames_grow() => None,
            (Edge::Partition, _) => return Ok(Err("its frame may end anywhere")),
            _ => return Ok(Err(OPEN)),
        };
        let no_rows = |it: &Type| Vector::from_values(it.clone(), &[]);
        let args: Vec<Vector> = call.arg_types.iter().map(no_rows).collect();
        if !known.is_some_and(|it| it.is_whole) && !can_run(function, &args, pool)? {
            return Ok(Err(COLLECTS));
        }
        Ok(Ok(CallPlan { known, ..plan }))
    }

    /// What the frame of a call begins and ends with; how far away that is, is noted.
    fn edges(
        &mut self,
        index: usize,
        call: &CallSpec,
    ) -> std::result::Result<(Edge, Edge), Reason> {
        let frame = &call.frame;
        let edges = (Edge::of(&frame.start, frame.units), Edge::of(&frame.end, frame.units));
        let is_open = edges.0 == Edge::Partition || edges.1 == Edge::Partition;
        if is_open && frame.exclusion != Exclusion::NoOthers {
            return Err(EXCLUDES);
        }
        for bound in [&frame.start, &frame.end] {
            let (offset, looks) = match bound {
                FrameBound::Preceding(offset) => (offset, Looks::Before),
                FrameBound::Following(offset) => (offset, Looks::After),
                _ => continue,
            };
            match (offset, frame.units) {
                (FrameOffset::Value { is_monotone: false, .. }, _) => return Err(BY_VALUE),
                (FrameOffset::Value { .. }, _) | (FrameOffset::Count(_), FrameUnits::Groups) => {}
                (FrameOffset::Count(rows), _) if looks == Looks::Before => {
                    self.look(index, *rows, 0);
                }
                (FrameOffset::Count(rows), _) => self.look(index, 0, *rows),
                (FrameOffset::Column(column), FrameUnits::Groups) => {
                    self.offsets.push(Offset::new(index, *column, Looks::Groups));
                }
                (FrameOffset::Column(column), _) => {
                    self.offsets.push(Offset::new(index, *column, looks));
                }
            }
        }
        Ok(edges)
    }

    /// Learns from some rows of the input how far calls look.
    pub(in super::super) fn watch(&mut self, batch: &Batch) -> Result<()> {
        for index in 0..self.offsets.len() {
            if let Some(bounds) = bounds(batch.column(self.offsets[index].column))? {
                self.learn(index, bounds);
            }
        }
        Ok(())
    }

    /// Learns how far calls look before rows come, which is needed where these are not all
    /// collected first.
    pub(in super::super) fn watch_constants(&mut self, constants: &[Option<Value>]) {
        for index in 0..self.offsets.len() {
            let Offset { call, column, .. } = self.offsets[index];
            match constants.get(column).and_then(Option::as_ref) {
                Some(Value::BigInt(value)) => self.learn(index, (*value, *value)),
                Some(Value::Null) => {}
                _ => self.refuse(call, UNKNOWN),
            }
        }
    }

    /// An offset has values from `least` to `most`.
    fn learn(&mut self, offset: usize, (least, most): (i64, i64)) {
        let offset = &mut self.offsets[offset];
        let (call, looks) = (offset.call, offset.looks);
        let is_same = least == most && *offset.value.get_or_insert(least) == least;
        let (back, forth) = (least.min(0).unsigned_abs(), most.max(0).unsigned_abs());
        match looks {
            Looks::Before => self.look(call, forth, back),
            Looks::After => self.look(call, back, forth),
            Looks::First { ahead } => {
                let plan = &mut self.calls[call];
                plan.first = plan.first.max(forth);
                self.look(call, 0, if ahead { forth } else { 0 });
            }
            Looks::ValidBefore => {
                let plan = &mut self.calls[call];
                plan.last = plan.last.max(forth);
                if back > 0 {
                    self.refuse(call, AHEAD);
                }
            }
            Looks::Groups if is_same => {}
            Looks::Groups => self.refuse(call, BY_VALUE),
        }
    }

    /// The rows before the end of `near` that calls look at after a piece, ascending: all of
    /// `near`, and some before. The rows before are the partition's, but for some of which calls
    /// look at none.
    pub(super) fn kept(&self, rows: &Batch, near: Range<usize>) -> Vec<u32> {
        let (near, end) = (near.start as u32, near.end as u32);
        let mut kept: Vec<u32> = (near..end).collect();
        for call in &self.calls {
            let nulls = call.valid.and_then(|it| rows.column(it).null_buffer());
            let counts = |row: &u32| nulls.is_none_or(|it| it.is_valid(*row as usize));
            kept.extend((0..end).filter(counts).take(call.first as usize));
            kept.extend((0..near).rev().filter(counts).take(call.last as usize));
        }
        kept.sort_unstable();
        kept.dedup();
        kept
    }
}

impl Offset {
    fn new(call: usize, column: usize, looks: Looks) -> Offset {
        Offset { call, column, looks, value: None }
    }
}

/// The column whose nulls do not count.
fn valid(call: &CallSpec) -> Option<usize> {
    call.args.first().copied().filter(|_| call.ignore_nulls)
}

/// The least and the largest value of a BIGINT column.
fn bounds(column: &Vector) -> Result<Option<(i64, i64)>> {
    let len = if column.is_constant() { column.len().min(1) } else { column.len() };
    let decoded = Decoded::new(column)?;
    let values = decoded.values().native::<i64>().unwrap_or(&[]);
    let value = |row: usize| {
        if decoded.is_null(row) { None } else { values.get(decoded.index(row)).copied() }
    };
    let least_and_most = |bounds: Option<(i64, i64)>, value: i64| {
        let (least, most) = bounds.unwrap_or((value, value));
        Some((least.min(value), most.max(value)))
    };
    Ok((0..len).filter_map(value).fold(None, least_and_most))
}
