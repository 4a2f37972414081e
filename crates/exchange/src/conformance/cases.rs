//! The cases.

use super::{
    Case, Fabric,
    run::{LaneEnd, Outcome, Plan, Woken, cause, rows_of, run},
};
use crate::{Message, Rank, TaskId};
use std::{collections::HashSet, task::Waker};

/// Every case by name.
pub const CASES: [(&str, Case); 12] = [
    ("pages come in order, each once", in_order),
    ("an empty output has an end", empty),
    ("small requests get one page at least", small_requests),
    ("slow and absent readers do not hold up others", slow_readers),
    ("streams opened before the offer get all pages", late_offer),
    ("a reader that closes early leaves the others alone", early_close),
    ("all readers close early", all_close),
    ("a failure before data reaches all readers", failure_before),
    ("a failure within data reaches all readers", failure_within),
    ("the loss of a task reaches all readers", loss),
    ("a large page passes a small budget", large_page),
    ("messages come once", messages),
];

/// The rows of a lane: those of the plan, whole or a beginning of them.
fn check_rows(end: &LaneEnd, lane: usize, plan: &Plan) -> Result<(), String> {
    let pages = (0..plan.pages).flat_map(|it| rows_of(lane, it, plan.rows));
    let expected: Vec<i64> = pages.collect();
    if !expected.starts_with(&end.rows) {
        return Err(format!("lane {lane} has other rows, or in another order"));
    }
    if end.is_whole && end.rows.len() != expected.len() {
        let (found, expected) = (end.rows.len(), expected.len());
        return Err(format!("lane {lane} ends after {found} of {expected} rows"));
    }
    Ok(())
}

/// All lanes are whole, or were lost.
fn check_whole(outcome: &Outcome, plan: &Plan) -> Result<(), String> {
    for (lane, end) in outcome.lanes.iter().enumerate() {
        check_rows(end, lane, plan)?;
        let is_closed = plan.closes.iter().any(|it| it.0 == lane);
        match &end.failure {
            Some(failure) if failure.rank != Rank::PeerLost => {
                return Err(format!("lane {lane} failed without a cause: {failure}"));
            }
            None if !end.is_whole && !is_closed => {
                return Err(format!("lane {lane} has no end"));
            }
            None if outcome.needed.contains(&lane) => {
                return Err(format!("the producer does not know that lane {lane} is closed"));
            }
            _ => {}
        }
    }
    check_freed(outcome)
}

fn check_freed(outcome: &Outcome) -> Result<(), String> {
    match outcome.left_bytes {
        0 => Ok(()),
        bytes => Err(format!("{bytes} bytes are charged after the end")),
    }
}

fn check_closed(fabric: &mut dyn Fabric) -> Result<(), String> {
    while fabric.advance() {}
    match fabric.open_edges() {
        0 => Ok(()),
        open => Err(format!("{open} edges or streams are open after the end")),
    }
}

fn whole(fabric: &mut dyn Fabric, seed: u64, plan: &Plan) -> Result<Outcome, String> {
    let outcome = run(fabric, seed, plan)?;
    check_whole(&outcome, plan)?;
    check_closed(fabric)?;
    Ok(outcome)
}

fn in_order(fabric: &mut dyn Fabric, seed: u64) -> Result<(), String> {
    whole(fabric, seed, &Plan { pages: 30, ..Plan::default() }).map(drop)
}

fn empty(fabric: &mut dyn Fabric, seed: u64) -> Result<(), String> {
    whole(fabric, seed, &Plan { pages: 0, ..Plan::default() }).map(drop)
}

fn small_requests(fabric: &mut dyn Fabric, seed: u64) -> Result<(), String> {
    whole(fabric, seed, &Plan { request_bytes: 1, ..Plan::default() }).map(drop)
}

fn slow_readers(fabric: &mut dyn Fabric, seed: u64) -> Result<(), String> {
    // The last lane's reader comes late; until then, the others need more than the budget.
    let plan = Plan {
        lanes: 4,
        pages: 40,
        rows: 20,
        budget_bytes: 1600,
        reader_delays: vec![0, 0, 0, 5000],
        ..Plan::default()
    };
    let outcome = whole(fabric, seed, &plan)?;
    if outcome.overflow_bytes == 0 {
        return Err("no page overflowed".to_owned());
    }
    // Pools count in steps of 64 KiB.
    let most = plan.budget_bytes + 2 * plan.rows * 8 + (64 << 10);
    match outcome.peak_bytes <= most {
        true => Ok(()),
        false => Err(format!("{} bytes in memory, more than {most}", outcome.peak_bytes)),
    }
}

fn late_offer(fabric: &mut dyn Fabric, seed: u64) -> Result<(), String> {
    whole(fabric, seed, &Plan { late_offer: true, ..Plan::default() }).map(drop)
}

fn early_close(fabric: &mut dyn Fabric, seed: u64) -> Result<(), String> {
    let plan = Plan { closes: vec![(1, seed as usize % 5)], pages: 25, ..Plan::default() };
    whole(fabric, seed, &plan).map(drop)
}

fn all_close(fabric: &mut dyn Fabric, seed: u64) -> Result<(), String> {
    let plan = Plan { closes: vec![(0, 0), (1, 1), (2, 3)], pages: 200, ..Plan::default() };
    whole(fabric, seed, &plan).map(drop)
}

/// The producer fails after a number of pages.
fn failing(fabric: &mut dyn Fabric, seed: u64, after: usize) -> Result<(), String> {
    let plan = Plan { fails_after: Some(after), pages: 20, ..Plan::default() };
    let outcome = run(fabric, seed, &plan)?;
    for (lane, end) in outcome.lanes.iter().enumerate() {
        check_rows(end, lane, &plan)?;
        match &end.failure {
            None => return Err(format!("lane {lane} does not know the failure")),
            Some(failure) if failure.rank == Rank::PeerLost => {}
            Some(failure) => {
                let (found, expected) = (&failure.error, cause());
                if found.kind() != expected.kind()
                    || found.message() != expected.message()
                    || found.hint_text() != expected.hint_text()
                {
                    return Err(format!("lane {lane} has another cause: {failure}"));
                }
            }
        }
    }
    check_freed(&outcome)?;
    check_closed(fabric)
}

fn failure_before(fabric: &mut dyn Fabric, seed: u64) -> Result<(), String> {
    failing(fabric, seed, 0)
}

fn failure_within(fabric: &mut dyn Fabric, seed: u64) -> Result<(), String> {
    failing(fabric, seed, 1 + seed as usize % 30)
}

fn loss(fabric: &mut dyn Fabric, seed: u64) -> Result<(), String> {
    let plan = Plan { killed_after: Some(1 + seed as usize % 20), pages: 20, ..Plan::default() };
    let outcome = run(fabric, seed, &plan)?;
    for (lane, end) in outcome.lanes.iter().enumerate() {
        check_rows(end, lane, &plan)?;
        match &end.failure {
            Some(failure) if failure.rank == Rank::PeerLost => {}
            Some(failure) => return Err(format!("lane {lane} has another cause: {failure}")),
            None if end.is_whole => {}
            None => return Err(format!("lane {lane} does not know the loss")),
        }
    }
    if outcome.lanes.iter().all(|it| it.is_whole) {
        return Err("no lane knows the loss".to_owned());
    }
    check_freed(&outcome)
}

fn large_page(fabric: &mut dyn Fabric, seed: u64) -> Result<(), String> {
    let plan = Plan { rows: 5000, pages: 3, budget_bytes: 1, ..Plan::default() };
    whole(fabric, seed, &plan).map(drop)
}

fn messages(fabric: &mut dyn Fabric, seed: u64) -> Result<(), String> {
    const COUNT: u32 = 20;
    for topic in 0..COUNT {
        let message = Message { from: TaskId(0), topic, bytes: vec![seed as u8; topic as usize] };
        let posted = fabric.transport(TaskId(0)).post(TaskId(1), message);
        posted.map_err(|it| it.to_string())?;
    }
    let (mut topics, mut idle) = (HashSet::new(), 0);
    let waker = Waker::from(Woken::new());
    while topics.len() < COUNT as usize || idle < 100 {
        let progress = fabric.advance();
        for message in fabric.transport(TaskId(1)).messages(&waker) {
            let expected = vec![seed as u8; message.topic as usize];
            if message.bytes != expected || message.from != TaskId(0) {
                return Err(format!("message {} was changed", message.topic));
            }
            if !topics.insert(message.topic) {
                return Err(format!("message {} came twice", message.topic));
            }
        }
        idle = if progress { 0 } else { idle + 1 };
        if idle > 1000 {
            return Err(format!("{} of {COUNT} messages came", topics.len()));
        }
    }
    Ok(())
}
