//! How much work of a task is done, and how long the rest will take.
//!
//! ```text
//! rows      a scan emits what it did so far, and as much of the bytes that are left; until that is
//!           known, what the planner expects, or the operators of its pipeline after it: joins
//!           filter the scans below them
//!           others emit what they did so far per row, until that is known what the planner
//!           expects; a join expects less when its other input turned out smaller
//! work      rows taken and emitted, times what a row of the operator costs
//! rate      the time that a stretch of a pipeline took for its work; before that is known, what
//!           all finished work took
//! time      the work that is left, times its rate, shared by the drivers of the pipeline; a
//!           pipeline with fewer drivers runs beside those that feed it
//! ```

use super::{Emits, Figures, OperatorFigures};
use std::collections::HashMap;
use volley_plan::PlanNodeId;

/// What a byte of a split costs, in seconds, to read and decode.
const SPLIT_BYTE: f64 = 1.3e-9;

/// The planner's estimate of a scan counts as much as this share of the scan.
const SCAN_WEIGHT: f64 = 0.05;

/// The planner's estimate of an operator counts as much as this number of rows.
const ROWS_WEIGHT: f64 = 2000.0;

/// The rate of all work counts as much as this share of all work, and this time.
const RATE_WEIGHT: f64 = 0.02;
const RATE_SECONDS: f64 = 1e-4;

/// One slow scan does not make everything slow: the rate of other work is that of all work to this
/// power.
const RATE_POWER: f64 = 0.4;

/// A task whose time is not that of its drivers, because they wait, is corrected at most by these.
const WAITING: std::ops::RangeInclusive<f64> = 0.5..=5.0;

/// Time that says little of how long drivers wait.
const START_SECONDS: f64 = 0.02;

/// What is known and foreseen of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Forecast {
    /// Seconds until the end.
    pub remaining: f64,
    /// The share of the work of each pipeline that is done.
    pub done: Vec<f64>,
}

/// Rows that come to a node from pipelines that end there.
#[derive(Clone, Copy, Debug, Default)]
struct Arriving {
    foreseen: f64,
    /// By the planner; `None` when it told nothing.
    expected: Option<f64>,
}

/// Rows that an operator takes and emits in its whole life.
#[derive(Clone, Copy, Debug, Default)]
struct Rows {
    taken: f64,
    emitted: f64,
}

/// The work of an operator, in seconds before rates.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    done: f64,
    /// What is left to do while it takes rows.
    left_in: f64,
    /// What is left to do afterwards.
    left_out: f64,
}

/// The time that a pipeline has left, on one thread.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    all: f64,
    /// What it does while it emits rows to the next pipeline.
    emitting: f64,
}

/// The forecast of a task that has run for `elapsed` seconds; `None` before any work was done.
pub(super) fn forecast(pipelines: &[Figures], elapsed: f64) -> Option<Forecast> {
    let mut arriving = HashMap::new();
    let works: Vec<Vec<Work>> = pipelines.iter().map(|it| works(it, &mut arriving)).collect();
    let busy: f64 = pipelines.iter().map(Figures::busy_seconds).sum();
    let (mut done, mut all) = (0.0, 0.0);
    for work in works.iter().flatten() {
        done += work.done;
        all += work.done + work.left();
    }
    if busy <= 0.0 {
        return None;
    }
    let weight = RATE_WEIGHT * all + RATE_SECONDS;
    let rate = Rate { of_all: ((busy + weight) / (done + weight)).powf(RATE_POWER), weight };
    let left: Vec<Left> =
        pipelines.iter().zip(&works).map(|(pipeline, works)| rate.left(pipeline, works)).collect();
    let threads = pipelines.iter().map(|it| it.drivers).max().unwrap_or(1).max(1) as f64;
    let spent: Vec<Left> = pipelines.iter().map(spent).collect();
    let on_drivers = wall_time(pipelines, &spent, threads);
    let waiting = (elapsed + START_SECONDS) / (on_drivers + START_SECONDS);
    let waiting = waiting.clamp(*WAITING.start(), *WAITING.end());
    let remaining = waiting * wall_time(pipelines, &left, threads);
    let done = pipelines.iter().zip(&works).map(|it| share_done(it.0, it.1)).collect();
    Some(Forecast { remaining, done })
}

/// Adds up what pipelines have left: one that has fewer drivers than there are threads runs beside
/// those that feed it.
fn wall_time(pipelines: &[Figures], left: &[Left], threads: f64) -> f64 {
    let mut time = 0.0;
    for (index, (pipeline, own)) in pipelines.iter().zip(left).enumerate() {
        let drivers = (pipeline.drivers.max(1) as f64).min(threads);
        time += own.all / drivers;
        if drivers < threads && own.all > 0.0 {
            let node = pipeline.source_node();
            let feeds = pipelines.iter().zip(left).take(index);
            let feeds = feeds.filter(|it| it.0.sink_node() == node);
            let feeding: f64 = feeds.map(|it| it.1.emitting).sum();
            time -= (feeding / threads).min(own.all * (threads - 1.0) / threads);
        }
    }
    time.max(0.0)
}

/// The time that a pipeline has taken, in the form of what it has left.
fn spent(pipeline: &Figures) -> Left {
    let mut spent = Left::default();
    for operator in &pipeline.operators {
        let busy = operator.busy.as_secs_f64();
        spent.all += busy;
        spent.emitting += busy;
        if !operator.cost.emits.is_along() {
            spent.emitting = 0.0;
        }
    }
    spent
}

fn share_done(pipeline: &Figures, works: &[Work]) -> f64 {
    if pipeline.has_ended {
        return 1.0;
    }
    let done: f64 = works.iter().map(|it| it.done).sum();
    let left: f64 = works.iter().map(Work::left).sum();
    // Drivers that work on are not done.
    if done > 0.0 { (done / (done + left)).min(0.99) } else { 0.0 }
}

/// The work of the operators of a pipeline. Notes the rows that come to the node of its sink.
fn works(pipeline: &Figures, arriving: &mut HashMap<PlanNodeId, Arriving>) -> Vec<Work> {
    let expected = expected_rows(pipeline, arriving);
    let rows = foreseen_rows(pipeline, &expected, arriving);
    if let (Some(sink), Some(last)) = (pipeline.operators.last(), rows.last()) {
        let to = arriving.entry(sink.node).or_default();
        to.foreseen += last.taken;
        if let Some(expected) = expected.last().copied().flatten() {
            *to.expected.get_or_insert(0.0) += expected;
        }
    }
    let mut works = Vec::with_capacity(rows.len());
    for (operator, rows) in pipeline.operators.iter().zip(rows) {
        let (taken, emitted) = (operator.rows_in as f64, operator.rows_out as f64);
        let (cost, columns) = (&operator.cost, operator.columns as f64);
        works.push(Work {
            done: cost.seconds_in(taken, columns) + cost.seconds_out(emitted, columns),
            left_in: cost.seconds_in((rows.taken - taken).max(0.0), columns),
            left_out: cost.seconds_out((rows.emitted - emitted).max(0.0), columns),
        });
    }
    if let (Some((done, all)), Some(scan)) = (pipeline.splits, works.first_mut()) {
        scan.done += done as f64 * SPLIT_BYTE;
        if !pipeline.has_ended {
            scan.left_out += all.saturating_sub(done) as f64 * SPLIT_BYTE;
        }
    }
    works
}

/// What the planner expects each operator to emit, and the sink to take.
fn expected_rows(pipeline: &Figures, arriving: &HashMap<PlanNodeId, Arriving>) -> Vec<Option<f64>> {
    let mut expected: Vec<Option<f64>> = Vec::with_capacity(pipeline.operators.len());
    let mut correction = 1.0;
    for (position, operator) in pipeline.operators.iter().enumerate() {
        let other = arriving.get(&operator.node);
        let before = expected.last().copied().flatten();
        if position == 0 {
            let fed = other.and_then(|it| it.expected);
            let own = operator.expected_rows;
            expected.push(if pipeline.splits.is_some() { own } else { fed.or(own) });
            continue;
        }
        if let Some(Arriving { foreseen, expected: Some(other) }) = other
            && *other > 0.0
            && operator.cost.emits.is_along()
        {
            correction *= (foreseen / other).clamp(1e-6, 1.0);
        }
        // A sink after it does not change the rows of the node.
        let next = pipeline.operators.get(position + 1);
        let is_last_of_node =
            pipeline.is_sink(position + 1) || next.is_none_or(|it| it.node != operator.node);
        let own = operator.expected_rows.filter(|_| is_last_of_node && !pipeline.is_sink(position));
        expected.push(own.map(|it| it * correction).or(before));
    }
    if pipeline.splits.is_some() {
        reduce_scan(pipeline, &mut expected);
    }
    expected
}

/// A scan emits no more rows than joins after it: their keys filter it.
fn reduce_scan(pipeline: &Figures, expected: &mut [Option<f64>]) {
    let along = pipeline.operators.iter().take_while(|it| it.cost.emits.is_along()).count();
    let least = expected.iter().take(along).flatten().copied().fold(f64::INFINITY, f64::min);
    if let Some(Some(scan)) = expected.first_mut() {
        *scan = scan.min(least).max(1.0);
    }
}

/// What each operator will have taken and emitted at the end.
fn foreseen_rows(
    pipeline: &Figures,
    expected: &[Option<f64>],
    arriving: &HashMap<PlanNodeId, Arriving>,
) -> Vec<Rows> {
    let mut foreseen: Vec<Rows> = Vec::with_capacity(pipeline.operators.len());
    for (position, operator) in pipeline.operators.iter().enumerate() {
        let now = Rows { taken: operator.rows_in as f64, emitted: operator.rows_out as f64 };
        let own = expected.get(position).copied().flatten();
        let rows = match foreseen.last() {
            _ if pipeline.has_ended => now,
            None => Rows { taken: 0.0, emitted: source_rows(pipeline, now.emitted, own, arriving) },
            Some(before) => {
                let taken = before.emitted.max(now.taken);
                let input = position.checked_sub(1).and_then(|it| expected.get(it).copied());
                let ratio = own.zip(input.flatten()).map_or(1.0, |it| it.0 / it.1.max(1.0));
                let emitted = match pipeline.is_sink(position) {
                    true => 0.0,
                    false => emitted_rows(operator, now, taken, (own, ratio)),
                };
                Rows { taken, emitted }
            }
        };
        foreseen.push(rows);
    }
    foreseen
}

/// What a source will have emitted.
fn source_rows(
    pipeline: &Figures,
    emitted: f64,
    expected: Option<f64>,
    arriving: &HashMap<PlanNodeId, Arriving>,
) -> f64 {
    let Some((done, all)) = pipeline.splits else {
        let fed = pipeline.source_node().and_then(|it| arriving.get(&it));
        return fed.map(|it| it.foreseen).or(expected).unwrap_or(0.0).max(emitted);
    };
    let share = if all == 0 { 1.0 } else { done as f64 / all as f64 };
    let of_all = match expected {
        Some(expected) => (emitted + SCAN_WEIGHT * expected) / (share + SCAN_WEIGHT),
        None if share > 0.0 => emitted / share,
        None => 0.0,
    };
    emitted + (1.0 - share).max(0.0) * of_all
}

/// What an operator will have emitted that takes `taken` rows; `ratio`: rows emitted per row.
fn emitted_rows(
    operator: &OperatorFigures,
    now: Rows,
    taken: f64,
    (expected, ratio): (Option<f64>, f64),
) -> f64 {
    let along = |weight: f64| {
        let per_row = (now.emitted + weight * ratio) / (now.taken + weight).max(1.0);
        now.emitted + (taken - now.taken).max(0.0) * per_row
    };
    match operator.cost.emits {
        Emits::Along => along(ROWS_WEIGHT),
        // The rows of what was taken last are still to come.
        Emits::Many if now.taken < ROWS_WEIGHT => along(ROWS_WEIGHT).max(taken * ratio),
        Emits::Many => along(ROWS_WEIGHT),
        Emits::AllAtEnd => taken.max(now.emitted),
        Emits::GroupsAtEnd => match expected {
            // It has more groups than expected, or passes rows on.
            Some(expected) if now.emitted > expected => along(0.0),
            Some(expected) => expected.min(taken).max(now.emitted),
            None => taken.max(now.emitted),
        },
    }
}

/// How long work takes, relative to its costs.
struct Rate {
    of_all: f64,
    /// How much work as that rate counts, where another one is known.
    weight: f64,
}

impl Rate {
    fn of(&self, busy: f64, done: f64) -> f64 {
        (busy + self.weight * self.of_all) / (done + self.weight)
    }

    /// What a pipeline has left: operators that emit after their last input stand alone, those
    /// between them are one stretch, since one may decode what another one left lazy.
    fn left(&self, pipeline: &Figures, works: &[Work]) -> Left {
        let mut left = Left::default();
        if pipeline.has_ended {
            return left;
        }
        let (mut stretch, mut busy) = (Work::default(), 0.0);
        let along = |stretch: Work, busy: f64| stretch.left() * self.of(busy, stretch.done);
        for (operator, work) in pipeline.operators.iter().zip(works) {
            if operator.cost.emits.is_along() {
                stretch.add(work);
                busy += operator.busy.as_secs_f64();
                continue;
            }
            left.all += along(std::mem::take(&mut stretch), std::mem::take(&mut busy));
            let rate = self.of(operator.busy.as_secs_f64(), work.done);
            // The work after the last input is of another kind.
            let rate_out = if operator.rows_out == 0 { self.of_all } else { rate };
            left.all += work.left_in * rate + work.left_out * rate_out;
            left.emitting = 0.0;
        }
        let last = along(stretch, busy);
        Left { all: left.all + last, emitting: left.emitting + last }
    }
}

impl Work {
    fn left(&self) -> f64 {
        self.left_in + self.left_out
    }

    fn add(&mut self, other: &Work) {
        self.done += other.done;
        self.left_in += other.left_in;
        self.left_out += other.left_out;
    }
}
