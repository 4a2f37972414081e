//! Stride scheduling: tasks share the threads by weight, however many drivers each has.
//!
//! Every task has a clock: the time that its drivers ran, divided by the task's weight. The next to
//! run is the task whose clock is furthest behind, and of its drivers the one that waited longest.
//! Source: Waldspurger and Weihl, Stride Scheduling (1995).
//!
//! ```text
//! pop       the clock advances by a quantum at once, so that several threads take different tasks
//! charge    after the run: by what it really took
//! push      a task that had nothing to run does not save up time: its clock catches up
//! hurry     what is left of a task that has ended comes before everything
//! ```

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

/// Items of several tasks, in the order of their turns.
#[derive(Debug)]
pub(super) struct Turns<T> {
    tasks: BTreeMap<u64, Entry<T>>,
    /// Clock and number of the tasks that have something to run.
    order: BTreeSet<(u64, u64)>,
    /// The clock of the task that was taken last, which is behind those of all others in the order.
    now: u64,
    next: u64,
    /// What a run is expected to take.
    quantum: Duration,
}

#[derive(Debug)]
struct Entry<T> {
    weight: u64,
    /// Nanoseconds, divided by the weight.
    clock: u64,
    ready: VecDeque<T>,
    is_hurried: bool,
}

impl<T> Entry<T> {
    fn rank(&self) -> u64 {
        if self.is_hurried { 0 } else { self.clock }
    }

    fn part_of(&self, time: Duration) -> u64 {
        u64::try_from(time.as_nanos()).unwrap_or(u64::MAX) / self.weight
    }
}

impl<T> Turns<T> {
    pub(super) fn new(quantum: Duration) -> Turns<T> {
        Turns { tasks: BTreeMap::new(), order: BTreeSet::new(), now: 0, next: 0, quantum }
    }

    /// A task of a weight of at least one; its number.
    pub(super) fn join(&mut self, weight: u64) -> u64 {
        let number = self.next;
        self.next += 1;
        let clock = self.now;
        let entry = Entry { weight, clock, ready: VecDeque::new(), is_hurried: false };
        self.tasks.insert(number, entry);
        number
    }

    /// Forgets a task and what it had to run.
    pub(super) fn leave(&mut self, number: u64) -> impl Sized + use<T> {
        let entry = self.tasks.remove(&number);
        if let Some(entry) = &entry {
            self.order.remove(&(entry.rank(), number));
        }
        entry
    }

    /// Adds an item of a task; gives it back when there is no such task.
    pub(super) fn push(&mut self, number: u64, item: T) -> Result<(), T> {
        let Some(entry) = self.tasks.get_mut(&number) else { return Err(item) };
        if entry.ready.is_empty() {
            entry.clock = entry.clock.max(self.now);
            self.order.insert((entry.rank(), number));
        }
        entry.ready.push_back(item);
        Ok(())
    }

    /// The item whose turn it is, and the number of its task.
    pub(super) fn pop(&mut self) -> Option<(u64, T)> {
        let (_, number) = self.order.pop_first()?;
        let entry = self.tasks.get_mut(&number)?;
        if !entry.is_hurried {
            self.now = self.now.max(entry.clock);
        }
        let item = entry.ready.pop_front();
        entry.clock = entry.clock.saturating_add(entry.part_of(self.quantum));
        if !entry.ready.is_empty() {
            self.order.insert((entry.rank(), number));
        }
        item.map(|it| (number, it))
    }

    /// Tells how long the item ran that was taken from a task.
    pub(super) fn charge(&mut self, number: u64, ran: Duration) {
        let Some(entry) = self.tasks.get_mut(&number) else { return };
        let is_listed = self.order.remove(&(entry.rank(), number));
        let expected = entry.part_of(self.quantum);
        entry.clock = entry.clock.saturating_add(entry.part_of(ran)).saturating_sub(expected);
        if is_listed {
            self.order.insert((entry.rank(), number));
        }
    }

    /// Lets a task run before all others from now on.
    pub(super) fn hurry(&mut self, number: u64) {
        let Some(entry) = self.tasks.get_mut(&number) else { return };
        let is_listed = self.order.remove(&(entry.rank(), number));
        entry.is_hurried = true;
        if is_listed {
            self.order.insert((entry.rank(), number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUANTUM: Duration = Duration::from_millis(5);

    /// Runs `threads` items at a time, each for `takes(task)` and put back then, until `time` is
    /// over; how long each task ran.
    fn simulate(
        turns: &mut Turns<u32>,
        threads: usize,
        time: Duration,
        takes: impl Fn(u64) -> Duration,
    ) -> BTreeMap<u64, Duration> {
        let mut ran = BTreeMap::new();
        let mut running: Vec<(Duration, u64, u32, Duration)> = Vec::new();
        let mut now = Duration::ZERO;
        while now < time {
            while running.len() < threads {
                let Some((task, item)) = turns.pop() else { break };
                running.push((now + takes(task), task, item, takes(task)));
            }
            running.sort();
            let (end, task, item, took) = running.remove(0);
            now = end;
            *ran.entry(task).or_default() += took;
            turns.push(task, item).unwrap();
            turns.charge(task, took);
        }
        ran
    }

    fn add(turns: &mut Turns<u32>, weight: u64, items: u32) -> u64 {
        let task = turns.join(weight);
        (0..items).for_each(|it| turns.push(task, it).unwrap());
        task
    }

    #[track_caller]
    fn check_shares(tasks: &[(u64, u32, u64)], threads: usize, expected: &[u64]) {
        let mut turns = Turns::new(QUANTUM);
        let numbers: Vec<u64> = tasks.iter().map(|it| add(&mut turns, it.0, it.1)).collect();
        let takes = |number: u64| Duration::from_millis(tasks[number as usize].2);
        let ran = simulate(&mut turns, threads, Duration::from_secs(100), takes);
        let all: Duration = ran.values().sum();
        for (number, expected) in numbers.iter().zip(expected) {
            let share = ran[number].as_secs_f64() / all.as_secs_f64() * 100.0;
            assert!((share - *expected as f64).abs() < 1.5, "{tasks:?}: {ran:?}");
        }
    }

    #[test]
    fn tasks_share_equally_however_many_drivers_they_have() {
        check_shares(&[(4, 2, 5), (4, 64, 5)], 1, &[50, 50]);
        check_shares(&[(4, 2, 5), (4, 64, 5)], 2, &[50, 50]);
        check_shares(&[(4, 1, 5), (4, 64, 5), (4, 7, 5)], 1, &[33, 33, 33]);
    }

    #[test]
    fn long_and_short_runs_count_as_long_as_they_are() {
        check_shares(&[(4, 2, 1), (4, 2, 40)], 1, &[50, 50]);
        check_shares(&[(4, 2, 1), (4, 2, 40)], 2, &[50, 50]);
    }

    #[test]
    fn weights_divide_the_time() {
        check_shares(&[(1, 8, 5), (4, 8, 5)], 1, &[20, 80]);
        check_shares(&[(1, 8, 5), (4, 8, 5), (16, 8, 5)], 2, &[5, 19, 76]);
    }

    #[test]
    fn one_driver_of_two_tasks_gets_one_of_two_threads_and_no_more() {
        check_shares(&[(16, 1, 5), (1, 64, 5)], 2, &[50, 50]);
    }

    #[test]
    fn a_task_that_had_nothing_to_run_saves_up_no_time() {
        let mut turns = Turns::new(QUANTUM);
        let sleeper = turns.join(4);
        let busy = add(&mut turns, 4, 2);
        simulate(&mut turns, 1, Duration::from_secs(100), |_| QUANTUM);
        turns.push(sleeper, 0).unwrap();
        let ran = simulate(&mut turns, 1, Duration::from_secs(1), |_| QUANTUM);
        assert!(ran[&busy] > Duration::from_millis(450), "{ran:?}");
        assert!(ran[&sleeper] > Duration::from_millis(450), "{ran:?}");
    }

    #[test]
    fn drivers_of_a_task_take_turns() {
        let mut turns = Turns::new(QUANTUM);
        let task = add(&mut turns, 4, 3);
        let mut seen = Vec::new();
        for _ in 0..6 {
            let (_, item) = turns.pop().unwrap();
            seen.push(item);
            turns.push(task, item).unwrap();
        }
        assert_eq!(seen, [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn who_hurries_is_first_and_who_left_is_gone() {
        let mut turns = Turns::new(QUANTUM);
        let first = add(&mut turns, 4, 2);
        turns.pop();
        turns.charge(first, Duration::from_secs(9));
        let second = add(&mut turns, 16, 2);
        turns.hurry(first);
        assert_eq!(turns.pop().map(|it| it.0), Some(first));
        assert_eq!(turns.pop().map(|it| it.0), Some(second));
        drop(turns.leave(second));
        assert!(turns.order.is_empty());
        assert_eq!(turns.push(second, 7), Err(7));
    }
}
