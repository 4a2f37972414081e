use super::{
    SplitOrigin,
    queue::{SplitQueue, Taken},
};
use std::{
    sync::Arc,
    task::{Poll, Waker},
};
use volley_connector::{ListedSplits, Scan, Source, Split, SplitSource};
use volley_error::{Error, Result};
use volley_exec::SplitReceiver;
use volley_plan::PlanNodeId;

/// Splits with these labels and numbers of readers.
struct Listed(Vec<(&'static str, u32)>);

impl Scan for Listed {
    fn splits(&self) -> Result<Box<dyn SplitSource>> {
        let split = |it: &(&str, u32)| Split {
            readers_max: it.1,
            size_bytes: 100,
            ..Split::new(vec![], it.0)
        };
        Ok(ListedSplits::boxed(self.0.iter().map(split).collect()))
    }

    fn source(&self) -> Result<Box<dyn Source>> {
        Err(Error::unsupported("reading"))
    }
}

fn queue(splits: &[(&'static str, u32)], origin: SplitOrigin) -> Arc<SplitQueue> {
    let scan = Box::new(Listed(splits.to_vec()));
    SplitQueue::new(PlanNodeId::new(7), scan, Vec::new(), origin).unwrap()
}

/// Labels of the next split and of the one that follows; "end" or "wait" without one.
fn next(queue: &SplitQueue) -> (String, Option<String>) {
    match queue.next(Waker::noop()) {
        Poll::Ready(Ok(Some(Taken { split, following, .. }))) => {
            (split.label, following.map(|it| it.label))
        }
        Poll::Ready(Ok(None)) => ("end".to_owned(), None),
        Poll::Ready(Err(error)) => (error.to_string(), None),
        Poll::Pending => ("wait".to_owned(), None),
    }
}

#[test]
fn a_split_for_several_readers_is_handed_to_as_many() {
    let queue = queue(&[("a", 1), ("b", 3), ("c", 0)], SplitOrigin::Listed);
    assert_eq!((queue.total(), queue.drivers(9), queue.drivers(4)), (5, 5, 4));
    let some = |label: &str| Some(label.to_owned());
    let expected = [
        ("a", some("b")),
        ("b", some("b")),
        ("b", some("b")),
        ("b", some("c")),
        ("c", None),
        ("end", None),
        ("end", None),
    ];
    for (label, following) in expected {
        assert_eq!(next(&queue), (label.to_owned(), following));
    }
}

#[test]
fn readers_of_a_split_note_what_no_other_has_noted() {
    let queue = queue(&[("a", 2), ("b", 1)], SplitOrigin::Listed);
    assert_eq!(queue.bytes(), 200);
    let share = || match queue.next(Waker::noop()) {
        Poll::Ready(Ok(Some(taken))) => taken.share,
        other => panic!("{:?}", other.is_ready()),
    };
    let (first, second, other) = (share(), share(), share());
    assert_eq!((first.advance(0.25), second.advance(0.5), first.advance(0.4)), (25, 25, 0));
    assert_eq!((first.advance(1.0), second.advance(1.0)), (50, 0));
    // A source that does not know tells 0 until it is done.
    assert_eq!((other.advance(0.0), other.advance(7.0)), (0, 100));
}

#[test]
fn a_table_without_splits_has_one_driver() {
    let queue = queue(&[], SplitOrigin::Listed);
    assert_eq!((queue.total(), queue.drivers(9)), (0, 1));
    assert_eq!(next(&queue).0, "end");
    assert!(queue.add(Vec::new()).is_err());
}

#[test]
fn added_splits_are_waited_for_until_there_are_no_more() {
    let queue = queue(&[("listed", 1)], SplitOrigin::Added);
    assert_eq!((queue.total(), queue.drivers(9)), (0, 9));
    assert_eq!(next(&queue).0, "wait");
    queue.add(vec![Split::new(vec![], "added")]).unwrap();
    assert_eq!(next(&queue).0, "added");
    assert_eq!(next(&queue).0, "wait");
    queue.finish();
    assert_eq!(next(&queue).0, "end");
    let error = queue.add(Vec::new()).unwrap_err();
    assert_eq!(error.message(), "splits for plan node 7 after its last ones");
}
