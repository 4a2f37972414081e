use super::*;

const MS: u64 = 1_000_000;

fn segments() -> Segments {
    Segments { all: Vec::new(), resolution_nanos: RESOLUTION_NANOS }
}

fn segment(state: DriverState, start: u64, end: u64) -> Segment {
    Segment { state, position: 0, start, end }
}

#[test]
fn neighbors_of_the_same_state_become_one_and_others_stay() {
    let mut all = segments();
    let blocked = DriverState::Blocked(BlockedOn::Io);
    all.push(segment(DriverState::Running, 0, 5 * MS));
    all.push(segment(DriverState::Running, 5 * MS + 10, 9 * MS));
    all.push(segment(blocked, 9 * MS, 20 * MS));
    all.push(segment(DriverState::Running, 40 * MS, 45 * MS));
    let expected = [
        segment(DriverState::Running, 0, 9 * MS),
        segment(blocked, 9 * MS, 20 * MS),
        segment(DriverState::Running, 40 * MS, 45 * MS),
    ];
    assert_eq!(all.all, expected);
}

#[test]
fn short_segments_become_one_of_the_longest_state() {
    let mut all = segments();
    all.push(segment(DriverState::Running, 0, MS / 8));
    all.push(segment(DriverState::Spilling, MS / 8, MS / 2));
    all.push(segment(DriverState::Running, MS / 2, 3 * MS / 4));
    assert_eq!(all.all, [segment(DriverState::Spilling, 0, 3 * MS / 4)]);
}

#[test]
fn a_full_time_line_becomes_coarser_and_covers_the_whole_time() {
    let mut all = segments();
    let states = [DriverState::Running, DriverState::Blocked(BlockedOn::Exchange)];
    let count = 100_000u64;
    for at in 0..count {
        let state = states[usize::from(at % 2 == 1)];
        all.push(segment(state, at * 2 * MS, (at + 1) * 2 * MS));
        assert!(all.all.len() <= SEGMENTS_MAX);
    }
    assert!(all.resolution_nanos > RESOLUTION_NANOS);
    assert_eq!(all.all.first().map(|it| it.start), Some(0));
    assert_eq!(all.all.last().map(|it| it.end), Some(count * 2 * MS));
    assert!(all.all.windows(2).all(|it| it[0].end <= it[1].start));
}

#[test]
fn samples_keep_peaks_when_there_are_too_many() {
    let mut samples = Samples { all: Vec::new(), interval_nanos: RESOLUTION_NANOS };
    for at in 0..10_000 {
        samples.push(at, if at == 17 { 1000 } else { 1 });
    }
    assert!(samples.all.len() <= SAMPLES_MAX);
    assert!(samples.all.iter().any(|it| it.1 == 1000));
    assert!(samples.all.is_sorted_by_key(|it| it.0));
}

#[test]
fn a_task_whose_drivers_have_ended_has_a_fixed_length() {
    let task = TimelineRecorder::new(Pool::root("query", None));
    let driver = task.driver(3, 0);
    assert_eq!(task.drivers_of(3), (1, 0, 0));
    let start = task.start;
    let end = start + Duration::from_millis(7);
    driver.record(DriverState::Running, 1, start, end);
    driver.end();
    assert_eq!(task.drivers_of(3), (1, 1, 1));
    let timeline = task.timeline();
    assert_eq!(timeline.elapsed, Duration::from_millis(7));
    assert_eq!(timeline.drivers.len(), 1);
    assert_eq!(timeline.drivers[0].segments[0].position, 1);
    assert_eq!(timeline.memory.len(), 1);
}
