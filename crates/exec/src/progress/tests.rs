use super::{forecast::Forecast, *};

const STREAM: OperatorCost = OperatorCost::along(10.0, 0.0);
const SORT: OperatorCost =
    OperatorCost { row_out: 90.0, emits: Emits::AllAtEnd, ..OperatorCost::along(10.0, 0.0) };
const GROUPS: OperatorCost = OperatorCost { emits: Emits::GroupsAtEnd, ..SORT };

fn operator(node: u32, rows: (u64, u64), busy_ms: u64, cost: OperatorCost) -> OperatorFigures {
    OperatorFigures {
        name: "operator",
        node: PlanNodeId::new(node),
        rows_in: rows.0,
        rows_out: rows.1,
        busy: Duration::from_millis(busy_ms),
        expected_rows: None,
        columns: 1,
        cost,
    }
}

fn expecting(rows: f64, operator: OperatorFigures) -> OperatorFigures {
    OperatorFigures { expected_rows: Some(rows), ..operator }
}

/// A scan of 100 MB on one driver, after `share` per cent of the bytes.
fn scan(share: u64, operators: Vec<OperatorFigures>) -> Figures {
    Figures {
        splits: Some((share * 1_000_000, 100_000_000)),
        drivers: 1,
        has_begun: share > 0,
        operators,
        ..Figures::default()
    }
}

fn reader(operators: Vec<OperatorFigures>) -> Figures {
    Figures { drivers: 1, operators, ..Figures::default() }
}

fn ended(figures: Figures) -> Figures {
    Figures { has_ended: true, ..figures }
}

fn of(figures: &[Figures], elapsed: f64) -> Forecast {
    forecast(figures, elapsed).expect("work was done")
}

/// Whether a time is within a fifth of another one.
#[track_caller]
fn check(seconds: f64, expected: f64) {
    assert!((seconds / expected - 1.0).abs() < 0.2, "{seconds} is not {expected}");
}

/// A scan into a sink, after `share` per cent of the bytes; a second per 100 %.
fn scanned(share: u64) -> Figures {
    let rows = share * 10_000;
    scan(
        share,
        vec![operator(1, (0, rows), share * 9, STREAM), operator(0, (rows, 0), share, STREAM)],
    )
}

#[test]
fn a_scan_takes_as_long_per_byte_as_so_far() {
    for share in [10, 50, 90] {
        let seconds = share as f64 / 100.0;
        check(of(&[scanned(share)], seconds).remaining, 1.0 - seconds);
    }
    let forecast = of(&[scanned(25)], 0.25);
    assert!((0.2..0.3).contains(&forecast.done[0]), "{forecast:?}");
    assert_eq!(of(&[ended(scanned(100))], 1.0), Forecast { remaining: 0.0, done: vec![1.0] });
}

#[test]
fn nothing_is_foreseen_before_work_was_done() {
    assert_eq!(forecast(&[], 0.0), None);
    assert_eq!(forecast(&[scanned(0), Figures::default()], 1.0), None);
}

#[test]
fn rows_within_a_split_count() {
    let before = of(&[scanned(30)], 0.3).remaining;
    assert!(of(&[scanned(31)], 0.31).remaining < before);
}

#[test]
fn a_sort_takes_longer_after_its_last_row() {
    // 1,000,000 rows: 0.01 s to take them, and 0.09 s to sort and emit them.
    let sorting = |taken: u64, emitted: u64, busy_ms: u64| {
        let share = taken / 10_000;
        // A byte takes 1.3 ns.
        let scan_ms = share * 13 / 10;
        let figures = scan(
            share,
            vec![
                operator(2, (0, taken), scan_ms, OperatorCost::along(0.0, 0.0)),
                operator(1, (taken, emitted), busy_ms, SORT),
                operator(0, (emitted, 0), 0, OperatorCost::along(0.0, 0.0)),
            ],
        );
        of(&[figures], (scan_ms + busy_ms) as f64 / 1e3).remaining
    };
    check(sorting(1_000_000, 0, 10), 0.09);
    assert!(sorting(500_000, 0, 5) > sorting(1_000_000, 0, 10));
    assert!(sorting(1_000_000, 500_000, 55) < sorting(1_000_000, 0, 10));
}

#[test]
fn pipelines_that_wait_take_what_their_rows_cost() {
    let build = |rows: u64, expected: f64| {
        ended(scan(
            100,
            vec![
                expecting(expected, operator(5, (0, rows), 100, STREAM)),
                operator(3, (rows, 0), 30, STREAM),
            ],
        ))
    };
    let probe = || {
        scan(
            0,
            vec![
                expecting(10e6, operator(4, (0, 0), 0, STREAM)),
                expecting(10e6, operator(3, (0, 0), 0, STREAM)),
                operator(2, (0, 0), 0, OperatorCost::along(50.0, 0.0)),
            ],
        )
    };
    let as_expected = of(&[build(1_000_000, 1e6), probe()], 0.13).remaining;
    // A build side with a thousandth of the rows: the join emits, and the scan reads, as few.
    let fewer = of(&[build(1000, 1e6), probe()], 0.13).remaining;
    assert!(fewer * 3.0 < as_expected, "{fewer} {as_expected}");
    assert!(as_expected > 0.4, "{as_expected}");
}

#[test]
fn groups_are_as_many_as_expected_until_there_are_more() {
    let grouped = |emitted: u64| {
        let last = OperatorCost::along(100.0, 0.0);
        of(
            &[scan(
                50,
                vec![
                    operator(2, (0, 500_000), 50, STREAM),
                    expecting(1000.0, operator(1, (500_000, emitted), 50, GROUPS)),
                    operator(0, (emitted, 0), 0, last),
                ],
            )],
            0.1,
        )
        .remaining
    };
    assert!(grouped(0) < grouped(500_000), "{} {}", grouped(0), grouped(500_000));
}

#[test]
fn a_pipeline_of_one_driver_runs_beside_those_that_feed_it() {
    let feed = Figures {
        drivers: 2,
        ..scan(
            50,
            vec![operator(2, (0, 500_000), 100, STREAM), operator(1, (500_000, 0), 100, STREAM)],
        )
    };
    let write = reader(vec![
        operator(1, (0, 500_000), 0, STREAM),
        operator(0, (500_000, 0), 100, OperatorCost::along(100.0, 0.0)),
    ]);
    let both = of(&[feed.clone(), write.clone()], 0.15).remaining;
    // The feeding pipeline has 0.2 s left on two drivers, the other one 0.1 s on one.
    check(both, 0.15);
}

#[test]
fn drivers_that_wait_take_longer() {
    let quick = of(&[scanned(50)], 0.5).remaining;
    check(of(&[scanned(50)], 1.0).remaining, quick * 2.0);
}

#[test]
fn shares_never_go_back() {
    let before = AtomicU64::new(0);
    let shares = [0.2, 0.1, 0.5, f64::INFINITY, 0.3].map(|it| highest(&before, it));
    assert_eq!(shares, [0.2, 0.2, 0.5, 1.0, 1.0]);
}

/// A series that made `done` of its 10 million rows: 1 s in all.
fn series(done: u64) -> Figures {
    const MANY: OperatorCost =
        OperatorCost { emits: Emits::Many, ..OperatorCost::along(20.0, 2.0) };
    reader(vec![
        expecting(1.0, operator(3, (0, 1), 0, STREAM)),
        expecting(1e7, operator(2, (1, done), done / 50_000, MANY)),
        operator(1, (done, 0), done / 12_500, STREAM),
    ])
}

#[test]
fn a_series_is_as_far_as_its_rows() {
    for share in [10, 50, 90] {
        let seconds = f64::from(share) / 100.0;
        let forecast = of(&[series(100_000 * u64::from(share as u32))], seconds);
        assert!((forecast.done[0] - seconds).abs() < 0.1, "{share}: {forecast:?}");
        check(forecast.remaining, 1.0 - seconds);
    }
    // More rows than were expected.
    assert!(of(&[series(20_000_000)], 2.0).done[0] <= 1.0);
    assert!(of(&[ended(series(20_000_000))], 2.0).done[0] >= 1.0);
}
