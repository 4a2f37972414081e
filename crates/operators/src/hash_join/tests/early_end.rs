//! Probe drivers that end early, as below a LIMIT, in turns with another one on one thread.

use super::{Case, HashBuild, HashJoinSpec, HashProbe, JoinShared, KINDS, Spilling, rows_of};
use crate::test_kit::{drive, operator_context};
use std::{collections::VecDeque, sync::Arc, task::Waker};
use volley_exec::{Operator, OperatorContext, Step, StepContext};
use volley_memory::Pool;
use volley_state::StateSizes;
use volley_testkit::RandomColumns;
use volley_types::Type;
use volley_vector::Batch;

/// A probe driver, its remaining input, and its output.
struct Turn {
    /// `None` once it has ended.
    probe: Option<HashProbe>,
    input: VecDeque<Batch>,
    output: Vec<Batch>,
}

impl Turn {
    fn new(shared: &Arc<JoinShared>, cx: &OperatorContext, input: &[Batch]) -> Turn {
        let probe = HashProbe::new(Arc::clone(shared), cx).unwrap();
        let input = input.iter().cloned().collect();
        Turn { probe: Some(probe), input, output: Vec::new() }
    }

    fn step(&mut self) {
        let Some(probe) = &mut self.probe else { return };
        match probe.step(&mut StepContext { waker: Waker::noop() }).unwrap() {
            Step::Output(batch) => self.output.push(batch.loaded().unwrap()),
            Step::NeedInput => match self.input.pop_front() {
                Some(batch) => probe.accept(batch).unwrap(),
                None => probe.finish_input().unwrap(),
            },
            Step::Yield | Step::EndOfSplit | Step::Blocked(_) => {}
            Step::Finished => self.probe = None,
        }
    }
}

/// The sorted rows of a spilled join with two probe drivers, of which one ends after `steps`.
fn run(case: &Case, probe: &[Batch], build: &[Batch], steps: usize) -> Vec<String> {
    let pool = Pool::root("test", None);
    let spec = Arc::new(HashJoinSpec::new(&case.node(), StateSizes::SMALL));
    let shared = Arc::new(JoinShared::new(spec, Vec::new(), (1, 2), &pool));
    let contexts = [0, 1].map(|driver| {
        let mut cx = operator_context(&pool, (driver, 2), 7);
        Arc::get_mut(&mut cx.task).unwrap().spill_always = true;
        cx
    });
    let operator = HashBuild::new(Arc::clone(&shared), &contexts[0]);
    drive(&mut Spilling { operator, every: Some(3), step: 0 }, build.to_vec()).unwrap();

    let (first, second) = probe.split_at(probe.len() / 2);
    let mut ending = Turn::new(&shared, &contexts[0], first);
    let mut other = Turn::new(&shared, &contexts[1], second);
    for step in 0.. {
        assert!(step < 100_000, "a driver waits for one that has ended");
        if step == steps {
            ending.probe = None;
        }
        ending.step();
        other.step();
        if ending.probe.is_none() && other.probe.is_none() {
            break;
        }
    }
    drop(shared);
    assert_eq!(pool.stats().bytes, 0);
    assert!(contexts.iter().all(|it| it.task.spill.stats().bytes == 0), "files are left");
    let batches = [ending.output, other.output].concat();
    let mut rows: Vec<String> = rows_of(&batches).iter().map(|it| format!("{it:?}")).collect();
    rows.sort();
    rows
}

#[test]
fn a_probe_driver_that_ends_early_holds_nobody_up_and_makes_no_row_wrong() {
    for kind in KINDS {
        // The last one has so few values that partitions are joined block by block.
        for key in [Type::Integer, Type::Varchar, Type::Boolean] {
            let case = Case::new(kind, &[key]);
            let mut random = RandomColumns::new(17);
            let probe = case.batches(&mut random, 90, 7);
            let build = case.batches(&mut random, 60, 7);
            let expected = case.naive(&rows_of(&probe), &rows_of(&build));
            assert_eq!(run(&case, &probe, &build, usize::MAX), expected, "{case:?}");
            for steps in (0..20).chain((20..300).step_by(17)) {
                let mut expected = expected.iter();
                for row in run(&case, &probe, &build, steps) {
                    // Both are sorted.
                    let found = expected.any(|it| *it == row);
                    assert!(found, "{row} after {steps} steps of {case:?}");
                }
            }
        }
    }
}
