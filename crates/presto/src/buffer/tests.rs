use super::*;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Wake,
};

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn page(byte: u8) -> Bytes {
    Bytes::from(vec![byte; 10])
}

fn one(bytes_max: usize) -> OutputBuffers {
    let buffers = OutputBuffers::new(bytes_max);
    buffers.add_buffers(["0".to_owned()].iter(), LastBuffers::Known);
    buffers
}

fn push(buffers: &OutputBuffers, byte: u8) {
    assert_eq!(buffers.push(page(byte), 1, Waker::noop()), Pushed::Accepted);
}

#[test]
fn tokens_number_pages_and_release_them() {
    let buffers = one(1000);
    (0..5).for_each(|it| push(&buffers, it));
    let first = buffers.get("0", 0, 25);
    assert_eq!((first.pages, first.next_token), (vec![page(0), page(1)], 2));
    assert_eq!(first.remaining_bytes, 30);
    // The same token again: the answer was lost.
    assert_eq!(buffers.get("0", 0, 25).pages, [page(0), page(1)]);
    // A page that is larger than what the reader wants is sent alone.
    let third = buffers.get("0", 2, 1);
    assert_eq!((third.pages, third.next_token), (vec![page(2)], 3));
    assert_eq!(buffers.totals().buffered_pages, 3);
    buffers.acknowledge("0", 5);
    assert_eq!(buffers.totals().buffered_bytes, 0);
    assert!(!buffers.are_drained());
    buffers.finish();
    let last = buffers.get("0", 5, 100);
    assert!(last.pages.is_empty() && last.is_complete && buffers.are_drained());
    assert_eq!((buffers.totals().rows, buffers.totals().pages), (5, 5));
}

#[test]
fn completeness_is_told_when_all_pages_are_released() {
    let buffers = one(1000);
    push(&buffers, 0);
    buffers.finish();
    assert!(!buffers.get("0", 0, 100).is_complete);
    assert!(buffers.get("0", 1, 100).is_complete);
}

#[test]
fn full_buffers_block_sinks_until_pages_are_released() {
    let buffers = one(15);
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    push(&buffers, 0);
    assert_eq!(buffers.push(page(1), 1, &waker), Pushed::Full(page(1)));
    let woken = count.0.load(Ordering::Relaxed);
    buffers.acknowledge("0", 1);
    assert_eq!(count.0.load(Ordering::Relaxed), woken + 1);
    assert_eq!(buffers.push(page(1), 1, &waker), Pushed::Accepted);
    // A page above the limit is accepted alone.
    let small = one(5);
    push(&small, 0);
}

#[test]
fn sinks_wait_for_the_first_buffer() {
    let buffers = OutputBuffers::new(100);
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    assert_eq!(buffers.push(page(0), 1, &waker), Pushed::Full(page(0)));
    buffers.add_buffers(["7".to_owned()].iter(), LastBuffers::Unknown);
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
    push(&buffers, 0);
    buffers.destroy("7");
    // Another reader may come.
    assert!(!buffers.are_destroyed() && !buffers.are_drained());
    buffers.add_buffers([].iter(), LastBuffers::Known);
    assert!(buffers.are_destroyed() && buffers.are_drained());
    assert_eq!(buffers.push(page(0), 1, &waker), Pushed::Unwanted);
}

#[test]
fn closed_buffers_are_never_complete() {
    let buffers = one(1000);
    push(&buffers, 0);
    buffers.close();
    buffers.finish();
    let found = buffers.get("0", 0, 100);
    assert!(found.pages.is_empty() && !found.is_complete);
    assert_eq!(buffers.push(page(0), 1, Waker::noop()), Pushed::Unwanted);
}

#[test]
fn unknown_buffers_and_tokens_are_empty() {
    let buffers = one(1000);
    push(&buffers, 0);
    assert!(buffers.get("9", 0, 100).pages.is_empty());
    let far = buffers.get("0", u64::MAX - 1, 100);
    assert!(far.pages.is_empty() && !far.is_complete);
    buffers.acknowledge("9", 3);
    buffers.destroy("9");
}

#[tokio::test]
async fn readers_are_told_of_changes() {
    let buffers = one(1000);
    let mut changes = buffers.subscribe();
    changes.borrow_and_update();
    push(&buffers, 0);
    assert!(changes.changed().await.is_ok());
}
