use super::{BATCHES_MAX, MergeReceiver, merge_queues};
use crate::{BlockedOn, Operator, QueueSink, Step, StepContext, testing::Harness};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Wake, Waker},
};
use volley_memory::Pool;
use volley_state::{
    StateSizes,
    queue::Room,
    sort::{SortInput, SortShape, Taken},
};
use volley_testkit::{RandomColumns, RowValues, integers, rows_of};
use volley_types::{SortKey, Type, Value};
use volley_vector::{Batch, Vector};

const BY_A: SortKey = SortKey { column: 0, descending: false, nulls_first: false };

/// Rows of `types`, sorted by `keys` in one stream.
fn sort(types: &[Type], keys: &[SortKey], batches: Vec<Batch>, batch_rows: usize) -> Vec<Batch> {
    let shape = SortShape { types: types.into(), keys: keys.into(), sizes: StateSizes::SMALL };
    let mut input = SortInput::new(shape, &Pool::root("test", None));
    batches.into_iter().for_each(|it| input.push(it).unwrap());
    if input.rows() == 0 {
        return Vec::new();
    }
    let mut sort = input.start().unwrap();
    while !sort.step().unwrap() {}
    let mut sorted = Vec::new();
    loop {
        match sort.take(batch_rows).unwrap() {
            Taken::Rows(batch) => sorted.push(batch),
            Taken::Progress => {}
            Taken::End => return sorted,
        }
    }
}

fn step(operator: &mut dyn Operator, waker: &Waker) -> Step {
    operator.step(&mut StepContext { waker }).unwrap()
}

/// What comes out of a merge of `runs`, whose senders are asked in a random order.
fn merge(
    types: &[Type],
    keys: &[SortKey],
    runs: Vec<Vec<Batch>>,
    batch_rows: usize,
    random: &mut RandomColumns,
) -> RowValues {
    let pool = Pool::root("test", None);
    let (queues, readers) = merge_queues(runs.len(), &pool);
    let mut senders: Vec<_> = runs
        .into_iter()
        .zip(&queues)
        .map(|(run, queue)| (QueueSink::new("sender", queue), run.into_iter(), false))
        .collect();
    let cx = Harness::context(batch_rows);
    let mut receiver = MergeReceiver::new(types, keys, readers, &cx);
    let mut rows = Vec::new();
    loop {
        let place = random.below(senders.len() as u64 + 1) as usize;
        let Some((sender, run, has_ended)) = senders.get_mut(place) else {
            match step(&mut receiver, Waker::noop()) {
                Step::Output(batch) => {
                    assert!((1..=batch_rows).contains(&batch.rows()));
                    rows.extend(rows_of(&batch));
                }
                Step::Finished => break,
                it => assert!(matches!(it, Step::Blocked(BlockedOn::Exchange)), "{it:?}"),
            }
            continue;
        };
        if *has_ended {
            continue;
        }
        match step(sender, Waker::noop()) {
            Step::NeedInput => match run.next() {
                Some(batch) => sender.accept(batch).unwrap(),
                None => sender.finish_input().unwrap(),
            },
            Step::Finished => *has_ended = true,
            it => assert!(matches!(it, Step::Blocked(BlockedOn::Exchange)), "{it:?}"),
        }
    }
    drop(receiver);
    assert_eq!(pool.stats().bytes, 0);
    rows
}

#[test]
fn rows_of_every_type_merge_as_one_driver_sorts_them() {
    let mut random = RandomColumns::new(3);
    for data_type in RandomColumns::key_types() {
        for batch_rows in [1, 3, 1024] {
            let types = [data_type.clone(), Type::TinyInt, Type::BigInt];
            let rows = if batch_rows == 1024 { 4_000 } else { 40 };
            let key = |column, number: u64| SortKey {
                column,
                descending: number & 1 == 1,
                nulls_first: number & 2 == 2,
            };
            let keys = [key(0, random.below(4)), key(1, random.below(4))];
            let inputs: Vec<Vec<Batch>> = (0..1 + random.below(4))
                .map(|sender| match sender {
                    2 => Vec::new(),
                    _ => random.batches(&types, rows, batch_rows),
                })
                .collect();
            // The sort keeps the order of equal rows: that of the senders.
            let all = inputs.iter().flatten().cloned().collect();
            let expected = sort(&types, &keys, all, batch_rows);
            let expected: RowValues = expected.iter().flat_map(rows_of).collect();
            let runs = inputs.into_iter().map(|it| sort(&types, &keys, it, batch_rows)).collect();
            let found = merge(&types, &keys, runs, batch_rows, &mut random);
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{data_type} {keys:?}");
        }
    }
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Wakes>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn batch(values: [i64; 2]) -> Batch {
    let values = values.map(Value::BigInt);
    Batch::new(vec![Vector::from_values(Type::BigInt, &values)], 2)
}

#[test]
fn a_full_queue_keeps_no_other_sender_waiting() {
    let pool = Pool::root("test", None);
    let (queues, readers) = merge_queues(2, &pool);
    let wakes = [(); 3].map(|()| Arc::new(Wakes::default()));
    let wakers = wakes.each_ref().map(|it| Waker::from(Arc::clone(it)));
    let woken = |index: usize| wakes[index].0.load(Ordering::SeqCst);
    let mut receiver =
        MergeReceiver::new(&[Type::BigInt], &[BY_A], readers, &Harness::context(1024));
    for number in 0..BATCHES_MAX as i64 {
        assert_eq!(queues[0].poll_ready(&wakers[0]), Room::Free);
        queues[0].push(0, batch([2 * number, 2 * number + 1])).unwrap();
    }
    assert_eq!(queues[0].poll_ready(&wakers[0]), Room::Full);
    assert!(matches!(step(&mut receiver, &wakers[2]), Step::Blocked(BlockedOn::Exchange)));
    assert_eq!((woken(0), woken(2)), (0, 0));
    assert_eq!(queues[1].poll_ready(&wakers[1]), Room::Free);
    queues[1].push(0, batch([1, 100])).unwrap();
    assert_eq!(woken(2), 1);
    let Step::Output(rows) = step(&mut receiver, &wakers[2]) else { panic!("no rows") };
    assert_eq!(rows_of(&rows), integers([0, 1]), "up to where the first batch ends");
    assert!(matches!(step(&mut receiver, &wakers[2]), Step::Output(_)));
    assert_eq!(woken(0), 1, "there is room");
    drop(receiver);
    assert_eq!(queues[0].poll_ready(&wakers[0]), Room::Closed);
    queues[0].push(0, batch([7, 8])).unwrap();
    assert_eq!(pool.stats().bytes, 0);
    assert!(matches!(step(&mut QueueSink::new("sender", &queues[0]), &wakers[0]), Step::Finished));
}
