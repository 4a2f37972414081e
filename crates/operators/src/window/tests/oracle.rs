//! The definition of windows, pair of rows by pair of rows, value by value.

use super::{KEY, X};
use std::{cmp::Ordering, collections::HashMap};
use volley_function::Exclusion;
use volley_plan::{FrameBound, FrameOffset, FrameUnits, SortKey, WindowCall, WindowNode};
use volley_testkit::RowValues;
use volley_types::{Type, Value};
use volley_vector::{Comparator, Vector, comparator};

/// All rows, and how they compare.
pub(super) struct Oracle<'a> {
    rows: &'a RowValues,
    node: &'a WindowNode,
    /// Per column.
    comparators: Vec<Comparator>,
    /// Of keys with the columns of bounds.
    bounds: Vec<(usize, Comparator)>,
    /// The rows of every partition, in order.
    partitions: Vec<Vec<usize>>,
}

/// A row in its partition: the partition's rows, and which of them.
#[derive(Clone, Copy)]
struct Place<'a> {
    rows: &'a [usize],
    at: usize,
}

impl<'a> Oracle<'a> {
    pub(super) fn new(types: &[Type], rows: &'a RowValues, node: &'a WindowNode) -> Oracle<'a> {
        let column = |index: usize| {
            let values: Vec<Value> = rows.iter().map(|it| it[index].clone()).collect();
            Vector::from_values(types[index].clone(), &values)
        };
        let columns: Vec<Vector> = (0..types.len()).map(column).collect();
        let mut oracle = Oracle {
            rows,
            node,
            comparators: columns.iter().map(|it| comparator(it, it).unwrap()).collect(),
            bounds: [super::LOWER, super::UPPER]
                .map(|it| (it, comparator(&columns[KEY], &columns[it]).unwrap()))
                .into(),
            partitions: Vec::new(),
        };
        for row in 0..rows.len() {
            let mut others = oracle.partitions.iter();
            match others.position(|it| oracle.same_partition(it[0], row)) {
                Some(partition) => oracle.partitions[partition].push(row),
                None => oracle.partitions.push(vec![row]),
            }
        }
        let mut partitions = std::mem::take(&mut oracle.partitions);
        let keys = node.order_by.len();
        partitions.iter_mut().for_each(|it| it.sort_by(|a, b| oracle.compare(*a, *b, keys)));
        oracle.partitions = partitions;
        oracle
    }

    /// The results of each output row, by its id.
    pub(super) fn results(&self) -> HashMap<i64, Vec<Value>> {
        let mut results = HashMap::new();
        for partition in &self.partitions {
            for at in 0..partition.len() {
                let place = Place { rows: partition, at };
                let calls = self.node.calls.iter();
                let values: Vec<Value> = calls.map(|it| self.value(it, place)).collect();
                let is_cut = self.node.limit.is_some_and(|limit| {
                    values[limit.call].as_i128().unwrap() > i128::from(limit.rows)
                });
                if !is_cut {
                    let Value::BigInt(id) = self.rows[partition[at]][0] else { panic!("no id") };
                    results.insert(id, values);
                }
            }
        }
        results
    }

    fn same_partition(&self, a: usize, b: usize) -> bool {
        self.node.partition_by.iter().all(|it| self.comparators[*it].is_equal(a, b))
    }

    /// The order of two rows by the first keys.
    fn compare(&self, a: usize, b: usize, keys: usize) -> Ordering {
        self.compare_by(&self.node.order_by[..keys], a, b)
    }

    fn compare_by(&self, keys: &[SortKey], a: usize, b: usize) -> Ordering {
        let orders = keys.iter().map(|key| {
            let comparator = &self.comparators[key.column];
            let nulls = (comparator.left_is_null(a), comparator.left_is_null(b));
            let null = if key.nulls_first { Ordering::Less } else { Ordering::Greater };
            match nulls {
                (true, true) => Ordering::Equal,
                (true, false) => null,
                (false, true) => null.reverse(),
                (false, false) if key.descending => comparator.compare_valid(a, b).reverse(),
                (false, false) => comparator.compare_valid(a, b),
            }
        });
        orders.fold(Ordering::Equal, Ordering::then)
    }

    /// How many groups of peers are before a row.
    fn group(&self, call: &WindowCall, place: Place<'_>) -> i128 {
        let pairs = place.rows[..=place.at].windows(2);
        pairs.filter(|it| self.compare(it[0], it[1], call.order_keys).is_ne()).count() as i128
    }

    /// Whether row `other` is not before the start (or not after the end) of the frame of `place`.
    fn is_within(
        &self,
        call: &WindowCall,
        bound: &FrameBound,
        (place, other): (Place<'_>, usize),
        is_start: bool,
    ) -> bool {
        let other = Place { at: other, ..place };
        let (offset, sign) = match bound {
            FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => return true,
            FrameBound::CurrentRow => (&FrameOffset::Count(0), 1),
            FrameBound::Preceding(offset) => (offset, -1),
            FrameBound::Following(offset) => (offset, 1),
        };
        let distance = match offset {
            FrameOffset::Count(count) => i128::from(*count),
            FrameOffset::Column(column) => {
                self.rows[place.rows[place.at]][*column].as_i128().unwrap()
            }
            FrameOffset::Value { bound, .. } => {
                return self.is_within_value(call, *bound, (place, other), (is_start, sign));
            }
        };
        let (here, there) = match call.frame.units {
            FrameUnits::Rows => (place.at as i128, other.at as i128),
            _ => (self.group(call, place), self.group(call, other)),
        };
        let limit = here + sign * distance;
        if is_start { there >= limit } else { there <= limit }
    }

    fn is_within_value(
        &self,
        call: &WindowCall,
        bound: usize,
        (place, other): (Place<'_>, Place<'_>),
        (is_start, sign): (bool, i128),
    ) -> bool {
        let key = self.node.order_by[0];
        let comparator = &self.bounds.iter().find(|it| it.0 == bound).unwrap().1;
        let (row, other_row) = (place.rows[place.at], other.rows[other.at]);
        if comparator.left_is_null(row) {
            let (here, there) = (self.group(call, place), self.group(call, other));
            return if is_start { there >= here } else { there <= here };
        }
        // Nulls stand before or after all values, values before or after what is beyond the type.
        let rank = |is_null: bool, is_first: bool| match (is_null, is_first) {
            (false, _) => 0,
            (true, true) => -2,
            (true, false) => 2,
        };
        let there = rank(comparator.left_is_null(other_row), key.nulls_first);
        let here = if comparator.right_is_null(row) { sign } else { 0 };
        let order = match (there, here) {
            (0, 0) => {
                let order = comparator.compare_valid(other_row, row);
                if key.descending { order.reverse() } else { order }
            }
            _ => there.cmp(&here),
        };
        if is_start { order.is_ge() } else { order.is_le() }
    }

    /// The rows of the frame, in order.
    fn frame(&self, call: &WindowCall, place: Place<'_>) -> Vec<usize> {
        let own = place.rows[place.at];
        let is_peer = |row: usize| self.compare(own, row, call.order_keys).is_eq();
        let is_inside = |at: &usize| {
            let row = place.rows[*at];
            let is_excluded = match call.frame.exclusion {
                Exclusion::NoOthers => false,
                Exclusion::CurrentRow => *at == place.at,
                Exclusion::Group => is_peer(row),
                Exclusion::Ties => is_peer(row) && *at != place.at,
            };
            !is_excluded
                && self.is_within(call, &call.frame.start, (place, *at), true)
                && self.is_within(call, &call.frame.end, (place, *at), false)
        };
        (0..place.rows.len()).filter(is_inside).map(|at| place.rows[at]).collect()
    }

    fn value(&self, call: &WindowCall, place: Place<'_>) -> Value {
        let rows = place.rows.len() as f64;
        let peers = place
            .rows
            .iter()
            .filter(|row| self.compare(**row, place.rows[place.at], call.order_keys).is_lt());
        let before = peers.count();
        let through = place
            .rows
            .iter()
            .filter(|row| self.compare(**row, place.rows[place.at], call.order_keys).is_le());
        match call.function.as_str() {
            "row_number" => Value::BigInt(place.at as i64 + 1),
            "rank" => Value::BigInt(before as i64 + 1),
            "dense_rank" => Value::BigInt(self.group(call, place) as i64 + 1),
            "percent_rank" => Value::Double(before as f64 / (rows - 1.0).max(1.0)),
            "cume_dist" => Value::Double(through.count() as f64 / rows),
            "ntile" => self.tile(call, place),
            "lag" => self.neighbor(call, place, -1),
            "lead" => self.neighbor(call, place, 1),
            "first_value" | "last_value" | "nth_value" => self.frame_value(call, place),
            _ => self.aggregate(call, place),
        }
    }

    fn arg(&self, call: &WindowCall, index: usize, row: usize) -> Value {
        self.rows[row][call.args[index]].clone()
    }

    fn tile(&self, call: &WindowCall, place: Place<'_>) -> Value {
        let parts = self.arg(call, 0, place.rows[place.at]).as_i128().unwrap() as usize;
        let rows = place.rows.len();
        let mut end = 0;
        let size = |part: usize| rows / parts + usize::from(part < rows % parts);
        let is_after = |part: &usize| {
            end += size(*part);
            place.at < end
        };
        Value::BigInt((0..parts).find(is_after).unwrap() as i64 + 1)
    }

    fn neighbor(&self, call: &WindowCall, place: Place<'_>, sign: i64) -> Value {
        let own = place.rows[place.at];
        let distance = match call.args.len() {
            1 => 1,
            _ => self.arg(call, 1, own).as_i128().unwrap() as i64,
        };
        let mut left = distance;
        let mut at = place.at as i64;
        while left > 0 && (0..place.rows.len() as i64).contains(&at) {
            at += sign;
            let row = place.rows.get(at as usize);
            let is_skipped =
                call.ignore_nulls && row.is_some_and(|row| self.arg(call, 0, *row).is_null());
            left -= i64::from(!is_skipped);
        }
        match place.rows.get(at as usize) {
            Some(row) if at >= 0 => self.arg(call, 0, *row),
            _ if call.args.len() == 3 => self.arg(call, 2, own),
            _ => Value::Null,
        }
    }

    fn frame_value(&self, call: &WindowCall, place: Place<'_>) -> Value {
        let mut frame = self.frame(call, place);
        frame.sort_by(|a, b| self.compare_by(&call.order_by, *a, *b));
        let mut values: Vec<Value> = frame.iter().map(|row| self.arg(call, 0, *row)).collect();
        values.retain(|it| !call.ignore_nulls || !it.is_null());
        let nth = match call.function.as_str() {
            "first_value" => 0,
            "last_value" => values.len().wrapping_sub(1),
            _ => self.arg(call, 1, place.rows[place.at]).as_i128().unwrap() as usize - 1,
        };
        values.get(nth).cloned().unwrap_or(Value::Null)
    }

    fn aggregate(&self, call: &WindowCall, place: Place<'_>) -> Value {
        let mut rows = self.frame(call, place);
        if let Some(filter) = call.filter {
            rows.retain(|row| self.rows[*row][filter] == Value::Boolean(true));
        }
        if call.distinct {
            let mut kept: Vec<usize> = Vec::new();
            for row in rows {
                let compare = &self.comparators[call.args[0]];
                if !kept.iter().any(|other| compare.is_equal(*other, row)) {
                    kept.push(row);
                }
            }
            rows = kept;
        }
        if call.args.is_empty() {
            return Value::BigInt(rows.len() as i64);
        }
        let all: Vec<Value> = rows.iter().map(|row| self.arg(call, 0, *row)).collect();
        let values: Vec<Value> = all.iter().filter(|it| !it.is_null()).cloned().collect();
        folded(call, all, values)
    }
}

/// The aggregate of all values, or of those that are not null.
fn folded(call: &WindowCall, all: Vec<Value>, values: Vec<Value>) -> Value {
    let text = |it: &Value| match it {
        Value::Varchar(text) => text.to_string(),
        _ => panic!("no text: {it:?}"),
    };
    if call.function == "count" {
        return Value::BigInt(values.len() as i64);
    }
    if call.function == "array_agg" {
        return if all.is_empty() { Value::Null } else { Value::Array(all.into()) };
    }
    if call.function == "last" {
        return all.last().cloned().unwrap_or(Value::Null);
    }
    if values.is_empty() {
        return Value::Null;
    }
    let numbers = || values.iter().map(|it| it.as_i128().unwrap());
    match call.function.as_str() {
        "sum" => Value::HugeInt(numbers().sum()),
        "avg" => Value::Double(numbers().sum::<i128>() as f64 / values.len() as f64),
        "max" if call.args == [X] => Value::BigInt(numbers().max().unwrap() as i64),
        "min" => Value::text(values.iter().map(text).min().unwrap()),
        "bool_and" => Value::Boolean(values.iter().all(|it| *it == Value::Boolean(true))),
        "string_agg" => Value::text(values.iter().map(text).collect::<Vec<_>>().join("-")),
        other => panic!("no definition of {other}"),
    }
}
