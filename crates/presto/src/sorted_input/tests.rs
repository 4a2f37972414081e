use super::*;
use volley_plan::{FragmentId, PlanNodeId};
use volley_state::queue::Room;
use volley_types::{Field, Value};
use volley_vector::Vector;

const KEY: SortKey = SortKey { column: 0, descending: false, nulls_first: false };

fn opened(pool: &Pool) -> (SortedInput, SortedSource) {
    let input = SortedInput::new();
    let schema = [("k", Type::BigInt), ("location", Type::Integer)];
    let node = PageSourceNode {
        node_id: PlanNodeId::UNASSIGNED,
        fragment: FragmentId(0),
        output: 0,
        merge: vec![KEY],
        schema: schema.into_iter().map(|it| Field::new(it.0, it.1)).collect(),
    };
    assert_eq!(input.open(&node, 4, pool).unwrap(), 1);
    let source = SortedSource { state: Arc::clone(&input.0), merge: None, rows_max: 3 };
    (input, source)
}

/// Rows of one location, with nulls for `None`.
fn batch(keys: &[Option<i64>], location: i32) -> Batch {
    let keys: Vec<Value> = keys.iter().map(|it| it.map_or(Value::Null, Value::BigInt)).collect();
    let locations = Vector::constant(Type::Integer, &Value::Integer(location), keys.len());
    let columns = vec![Vector::from_values(Type::BigInt, &keys), locations];
    Batch::new(columns, keys.len()).loaded().unwrap()
}

/// The next rows; `None` if the source waits or has ended.
fn next(source: &mut SortedSource) -> Result<Option<Vec<Vec<Value>>>> {
    let Some(merge) = source.merge(Waker::noop())? else { return Ok(None) };
    let MergeStep::Batch(batch) = merge.next(Waker::noop())? else { return Ok(None) };
    let columns: Vec<Vec<Value>> =
        batch.columns().iter().map(|it| it.to_values().unwrap()).collect();
    let row = |row: usize| columns.iter().map(|it| it[row].clone()).collect();
    Ok(Some((0..batch.rows()).map(row).collect()))
}

fn all(source: &mut SortedSource) -> Vec<(Option<i64>, i64)> {
    let mut rows = Vec::new();
    while let Some(found) = next(source).unwrap() {
        assert!(!found.is_empty() && found.len() <= 3);
        let number = |it: &Value| it.as_i128().map(|it| it as i64);
        rows.extend(found.iter().map(|row| (number(&row[0]), number(&row[1]).unwrap())));
    }
    rows
}

#[test]
fn skewed_and_empty_locations_are_merged_with_ties_in_their_order() {
    let pool = Pool::root("test", None);
    let (input, mut source) = opened(&pool);
    // All locations must be known.
    assert!(next(&mut source).unwrap().is_none());
    let queues = input.start(4).unwrap();
    assert!(input.start(4).is_err());
    let first: Vec<_> = (0..10).map(|it| Some(it / 4)).collect();
    queues[0].push(0, batch(&first, 0)).unwrap();
    queues[0].push(0, batch(&[Some(3), None], 0)).unwrap();
    queues[2].push(0, batch(&[Some(1)], 2)).unwrap();
    queues[3].push(0, batch(&[Some(-5), Some(1), None], 3)).unwrap();
    // The second location has no row, but that is not known yet.
    assert!(next(&mut source).unwrap().is_none());
    queues.iter().for_each(|it| it.producer_finished());
    let mut expected = vec![(Some(-5), 3)];
    expected.extend([(Some(0), 0); 4].into_iter().chain([(Some(1), 0); 4]));
    expected.extend([(Some(1), 2), (Some(1), 3), (Some(2), 0), (Some(2), 0)]);
    expected.extend([(Some(3), 0), (None, 0), (None, 3)]);
    assert_eq!(all(&mut source), expected);
    drop((source, input, queues));
    assert_eq!(pool.stats().bytes, 0);
}

#[test]
fn a_merge_without_locations_has_no_rows() {
    let (input, mut source) = opened(&Pool::root("test", None));
    assert!(input.start(0).unwrap().is_empty());
    assert_eq!(all(&mut source), []);
    let merge = source.merge(Waker::noop()).unwrap().unwrap();
    assert!(matches!(merge.next(Waker::noop()).unwrap(), MergeStep::End));
}

#[test]
fn each_location_waits_for_the_merge_by_itself() {
    let (input, mut source) = opened(&Pool::root("test", None));
    let queues = input.start(2).unwrap();
    let mut pushed = 0;
    while queues[0].poll_ready(Waker::noop()) == Room::Free {
        queues[0].push(0, batch(&[Some(pushed)], 0)).unwrap();
        pushed += 1;
    }
    assert!(pushed > 1);
    // The other one has room, and its rows come first.
    assert_eq!(queues[1].poll_ready(Waker::noop()), Room::Free);
    assert!(next(&mut source).unwrap().is_none());
    queues[1].push(0, batch(&[Some(-1)], 1)).unwrap();
    queues[1].producer_finished();
    assert!(next(&mut source).unwrap().is_some());
    assert!(next(&mut source).unwrap().is_some());
    assert_eq!(queues[0].poll_ready(Waker::noop()), Room::Free);
}

#[test]
fn an_error_ends_the_merge_before_and_after_its_start() {
    let failure = || Error::invalid_value("no answer");
    let (input, mut source) = opened(&Pool::root("test", None));
    input.fail(failure());
    input.fail(Error::internal("a later one"));
    assert_eq!(next(&mut source).unwrap_err().message(), "no answer");

    let pool = Pool::root("test", None);
    let (input, mut source) = opened(&pool);
    let queues = input.start(2).unwrap();
    queues[0].push(0, batch(&[Some(1)], 0)).unwrap();
    input.fail(failure());
    assert_eq!(next(&mut source).unwrap_err().message(), "no answer");
    assert_eq!(queues[1].poll_ready(Waker::noop()), Room::Ended);
    assert_eq!(pool.stats().bytes, 0);
}

#[test]
fn a_driver_that_ends_closes_all_locations() {
    for starts_before in [true, false] {
        let (input, mut source) = opened(&Pool::root("test", None));
        let early = if starts_before { input.start(2).unwrap() } else { Vec::new() };
        assert!(next(&mut source).unwrap().is_none());
        drop(source);
        let queues = if starts_before { early } else { input.start(2).unwrap() };
        for queue in queues {
            assert_eq!(queue.poll_ready(Waker::noop()), Room::Closed);
        }
    }
}
