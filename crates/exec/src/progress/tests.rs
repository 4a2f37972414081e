use super::*;

fn scan(splits: (u64, u64), busy_ms: u64) -> Figures {
    Figures {
        source: Some(("table scan", PlanNodeId::new(0))),
        splits: Some(splits),
        busy: Duration::from_millis(busy_ms),
        has_begun: splits.0 > 0 || busy_ms > 0,
        ..Figures::default()
    }
}

#[track_caller]
fn check(figures: &[Figures], expected: f64) {
    let done = share_done(figures);
    assert!((done - expected).abs() < 0.005, "{done} is not {expected}");
}

#[test]
fn a_scan_is_as_far_as_its_splits() {
    check(&[scan((0, 100), 0)], 0.0);
    check(&[scan((25, 100), 500)], 0.25);
    check(&[scan((99, 100), 500)], 0.99);
    // All splits are read, but the drivers work on.
    check(&[scan((100, 100), 500)], 0.99);
    check(&[Figures { has_ended: true, ..scan((100, 100), 500) }], 1.0);
}

#[test]
fn scans_that_wait_cost_what_others_do() {
    let build = Figures { has_ended: true, ..scan((10, 10), 100) };
    check(&[build.clone(), scan((0, 90), 0)], 0.1);
    // What one does is known once it has begun: its splits cost three times as much.
    check(&[build, scan((30, 90), 900)], 1000.0 / 2800.0);
}

#[test]
fn a_source_that_emits_kept_rows_is_as_far_as_its_rows() {
    let ended = Figures { has_ended: true, rows: 1000, ..scan((10, 10), 800) };
    let emits = |rows| Figures {
        source: Some(("order by", PlanNodeId::new(1))),
        rows,
        rows_kept: 1000,
        busy: Duration::from_millis(rows),
        has_begun: rows > 0,
        ..Figures::default()
    };
    // 1,000 rows at a tenth of 0.8 ms each.
    check(&[ended.clone(), emits(0)], 800.0 / 880.0);
    check(&[ended, emits(500)], 1300.0 / 1800.0);
}

#[test]
fn nothing_known_is_nothing_done() {
    check(&[Figures::default(), scan((0, 0), 0)], 0.0);
    check(&[Figures::default(), scan((0, 10), 0)], 0.0);
}
