use super::{BATCHES_MAX_PER_RECEIVER, ExchangeReceivers, ExchangeSenders, Partitioning, exchange};
use crate::{BlockedOn, Step, testing::Harness};
use volley_memory::Pool;
use volley_testkit::RowValues;
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

fn batch(values: Vec<Value>) -> Batch {
    let rows = values.len();
    Batch::new(vec![Vector::from_values(Type::BigInt, &values)], rows)
}

fn sender(senders: &ExchangeSenders) -> Harness {
    Harness::boxed(senders.sender(&Harness::context(1024)))
}

fn receiver(receivers: &ExchangeReceivers, driver: usize) -> Harness {
    let mut cx = Harness::context(1024);
    cx.driver = driver;
    Harness::boxed(receivers.receiver(&cx))
}

#[test]
fn equal_keys_meet_in_one_receiver() {
    for receivers in [2, 3, 8, 9, 40] {
        let pool = Pool::root("test", None);
        let kind = Partitioning::Hash(vec![0]);
        let (sends, receives) = exchange(1, receivers, kind, &pool);
        let mut values: Vec<Value> = (0..100).map(|it| Value::BigInt(it % 20)).collect();
        values.push(Value::Null);
        let batches = vec![batch(values.clone()), batch(values.clone()), batch(values.clone())];
        sender(&sends).feed(batches).unwrap();
        let receive = |driver| receiver(&receives, driver).feed(Vec::new()).unwrap();
        let parts: Vec<RowValues> = (0..receivers).map(receive).collect();
        for value in (0..20).map(Value::BigInt).chain([Value::Null]) {
            let counts = parts.iter().map(|it| it.iter().filter(|row| row[0] == value).count());
            let nonzero: Vec<usize> = counts.filter(|it| *it > 0).collect();
            let expected = if value.is_null() { 3 } else { 15 };
            assert_eq!(nonzero, [expected], "{value:?} with {receivers} receivers");
        }
        let used = parts.iter().filter(|it| !it.is_empty()).count();
        assert!(used * 3 >= receivers.min(20), "{used} of {receivers} receivers got rows");
        drop((sends, receives));
        assert_eq!(pool.stats().bytes, 0);
    }
}

#[test]
fn a_full_exchange_blocks_its_sender_and_wakes_it_once_there_is_room() {
    let pool = Pool::root("test", None);
    let (sends, receives) = exchange(1, 1, Partitioning::Single, &pool);
    let (mut sender, mut receiver) = (sender(&sends), receiver(&receives, 0));
    assert!(matches!(receiver.step().unwrap(), Step::Blocked(BlockedOn::Exchange)));
    let mut sent = 0;
    while let Step::NeedInput = sender.step().unwrap() {
        sender.accept(batch(vec![Value::BigInt(sent)])).unwrap();
        sent += 1;
    }
    assert_eq!(receiver.waker.count(), 1);
    assert!(matches!(sender.step().unwrap(), Step::Blocked(BlockedOn::Exchange)));
    assert_eq!((sent, sender.waker.count()), (65, 0));
    assert!(matches!(receiver.step().unwrap(), Step::Output(_)));
    assert_eq!(sender.waker.count(), 1);
    assert!(matches!(sender.step().unwrap(), Step::NeedInput));
}

#[test]
fn senders_finish_when_all_receivers_are_gone() {
    let pool = Pool::root("test", None);
    let (sends, receives) = exchange(1, 1, Partitioning::Any, &pool);
    let mut sender = sender(&sends);
    drop(receiver(&receives, 0));
    assert!(matches!(sender.step().unwrap(), Step::NeedInput));
    drop(receives);
    assert!(matches!(sender.step().unwrap(), Step::Finished));
}

#[test]
fn room_wakes_a_few_senders_and_none_is_forgotten() {
    const SENDERS: usize = 500;
    let pool = Pool::root("test", None);
    let (sends, receives) = exchange(SENDERS, 1, Partitioning::Single, &pool);
    let mut receiver = receiver(&receives, 0);
    let mut senders: Vec<_> = (0..SENDERS).map(|_| sender(&sends)).collect();
    let mut blocked = 0;
    for (index, sender) in senders.iter_mut().enumerate() {
        sender.accept(batch(vec![Value::BigInt(index as i64)])).unwrap();
        sender.finish_input().unwrap();
        blocked += usize::from(matches!(sender.step().unwrap(), Step::Blocked(_)));
    }
    assert_eq!(blocked, SENDERS - BATCHES_MAX_PER_RECEIVER);
    let mut seen = vec![0; SENDERS];
    let mut received = 0;
    // Senders run only when they are woken.
    while let Step::Output(batch) = receiver.step().unwrap() {
        received += batch.rows();
        let mut woken = 0;
        loop {
            let mut progress = false;
            for (sender, seen) in senders.iter_mut().zip(&mut seen) {
                if sender.waker.count() > *seen {
                    *seen = sender.waker.count();
                    woken += 1;
                    progress = true;
                    assert!(matches!(sender.step().unwrap(), Step::Finished | Step::Blocked(_)));
                }
            }
            if !progress {
                break;
            }
        }
        assert!(woken <= 4, "{woken} senders were woken for one batch");
    }
    assert_eq!(received, SENDERS);
}

#[test]
fn an_exchange_without_senders_has_no_rows() {
    let pool = Pool::root("test", None);
    let (_sends, receives) = exchange(0, 2, Partitioning::Any, &pool);
    assert!(receiver(&receives, 1).feed(Vec::new()).unwrap().is_empty());
}
