//! The order in which conditions are tested that hold together.
//!
//! Conditions run in the order of `time / (1 + rows in - rows out)`, measured over batches: cheap
//! ones that drop many rows come first. Measurements of recent batches count more, since data may
//! be clustered.

use std::time::Instant;

/// Batches after which old measurements count half.
const HALF_LIFE_BATCHES: u32 = 64;

/// The order of some conditions, learned from what each of them cost and dropped.
#[derive(Default)]
pub(crate) struct AdaptiveOrder {
    /// Numbers of conditions, the best one first.
    order: Vec<usize>,
    costs: Vec<Cost>,
    batches: u32,
}

/// One condition's sums over batches.
#[derive(Clone, Copy, Default)]
struct Cost {
    nanos: f64,
    rows_in: f64,
    rows_out: f64,
}

impl Cost {
    fn rank(&self) -> f64 {
        self.nanos / (1.0 + self.rows_in - self.rows_out)
    }
}

impl AdaptiveOrder {
    /// Of this many conditions, as they are numbered.
    pub(crate) fn new(conditions: usize) -> AdaptiveOrder {
        AdaptiveOrder {
            order: (0..conditions).collect(),
            costs: vec![Cost::default(); conditions],
            batches: 0,
        }
    }

    /// How many conditions there are.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// The number of the condition to test at `position`.
    pub(crate) fn at(&self, position: usize) -> usize {
        self.order[position]
    }

    /// Whether conditions are tested in another order than they are numbered.
    pub(crate) fn is_changed(&self) -> bool {
        !self.order.is_sorted()
    }

    /// When a test begins; `None` if there is no order to learn.
    pub(crate) fn start(&self) -> Option<Instant> {
        (self.order.len() > 1).then(Instant::now)
    }

    /// A condition tested `rows_in` rows of a batch since `started` and kept `rows_out`.
    pub(crate) fn record(
        &mut self,
        condition: usize,
        started: Option<Instant>,
        rows_in: usize,
        rows_out: usize,
    ) {
        let (Some(started), Some(cost)) = (started, self.costs.get_mut(condition)) else { return };
        cost.nanos += started.elapsed().as_nanos() as f64;
        cost.rows_in += rows_in as f64;
        cost.rows_out += rows_out as f64;
    }

    /// All conditions were tested that had to be: finds the order for the next batch.
    pub(crate) fn end_batch(&mut self) {
        if self.order.len() < 2 {
            return;
        }
        self.batches = self.batches.wrapping_add(1);
        if self.batches.is_multiple_of(HALF_LIFE_BATCHES) {
            for it in &mut self.costs {
                it.nanos /= 2.0;
                it.rows_in /= 2.0;
                it.rows_out /= 2.0;
            }
        }
        let costs = &self.costs;
        self.order.sort_by(|a, b| costs[*a].rank().total_cmp(&costs[*b].rank()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Records a cost in place of a measurement.
    fn record(order: &mut AdaptiveOrder, condition: usize, nanos: f64, dropped: f64) {
        let cost = &mut order.costs[condition];
        cost.nanos += nanos;
        cost.rows_in += dropped;
    }

    #[test]
    fn cheap_conditions_that_drop_many_rows_come_first() {
        let mut order = AdaptiveOrder::new(3);
        assert!(!order.is_changed());
        record(&mut order, 0, 1000.0, 9.0);
        record(&mut order, 1, 1000.0, 99.0);
        record(&mut order, 2, 10.0, 9.0);
        order.end_batch();
        assert_eq!([order.at(0), order.at(1), order.at(2)], [2, 1, 0]);
        assert!(order.is_changed());
    }

    #[test]
    fn recent_batches_count_more() {
        let mut order = AdaptiveOrder::new(2);
        for _ in 0..4 * HALF_LIFE_BATCHES {
            record(&mut order, 0, 100.0, 100.0);
            record(&mut order, 1, 100.0, 10.0);
            order.end_batch();
        }
        assert!(!order.is_changed());
        let mut batches = 0;
        while !order.is_changed() {
            record(&mut order, 0, 100.0, 10.0);
            record(&mut order, 1, 100.0, 100.0);
            order.end_batch();
            batches += 1;
        }
        assert!(batches < 2 * HALF_LIFE_BATCHES, "{batches}");
    }

    #[test]
    fn one_condition_is_not_timed() {
        let mut order = AdaptiveOrder::new(1);
        assert!(order.start().is_none());
        order.record(0, None, 10, 5);
        order.end_batch();
        assert_eq!((order.len(), order.at(0)), (1, 0));
        let mut order = AdaptiveOrder::new(2);
        let started = order.start().map(|it| it - Duration::from_millis(1));
        order.record(1, started, 10, 5);
        assert!(order.costs[1].nanos >= 1e6);
        order.record(9, started, 10, 5);
    }
}
