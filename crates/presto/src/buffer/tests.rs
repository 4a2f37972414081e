use super::*;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Wake,
};
use volley_error::ErrorKind;

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

/// A page of one row for partition 0.
fn output(byte: u8) -> OutputPage {
    OutputPage { partition: 0, rows: 1, bytes: page(byte) }
}

fn pool() -> Pool {
    Pool::root("test", None)
}

fn ids(kind: BufferKind, buffers: &[(&str, i32)], no_more_buffer_ids: bool) -> OutputIds {
    let buffers = buffers.iter().map(|it| (it.0.to_owned(), it.1)).collect();
    OutputIds { kind, no_more_buffer_ids, buffers }
}

fn one(bytes_max: usize) -> OutputBuffers {
    let buffers = OutputBuffers::new(bytes_max, &pool());
    buffers.add(&ids(BufferKind::Partitioned, &[("0", 0)], true)).unwrap();
    buffers
}

fn push(buffers: &OutputBuffers, byte: u8) {
    assert_eq!(buffers.push(output(byte), Waker::noop()).unwrap(), Pushed::Accepted);
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
    assert_eq!(buffers.push(output(1), &waker).unwrap(), Pushed::Full(output(1)));
    let woken = count.0.load(Ordering::Relaxed);
    buffers.acknowledge("0", 1);
    assert_eq!(count.0.load(Ordering::Relaxed), woken + 1);
    assert_eq!(buffers.push(output(1), &waker).unwrap(), Pushed::Accepted);
    // A page above the limit is accepted alone.
    let small = one(5);
    push(&small, 0);
}

#[test]
fn sinks_wait_for_the_first_buffer() {
    let buffers = OutputBuffers::new(100, &pool());
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    assert_eq!(buffers.push(output(0), &waker).unwrap(), Pushed::Full(output(0)));
    buffers.add(&ids(BufferKind::Partitioned, &[("7", 0)], false)).unwrap();
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
    push(&buffers, 0);
    buffers.destroy("7");
    // Another reader may come.
    assert!(!buffers.are_destroyed() && !buffers.are_drained());
    buffers.add(&ids(BufferKind::Partitioned, &[], true)).unwrap();
    assert!(buffers.are_destroyed() && buffers.are_drained());
    assert_eq!(buffers.push(output(0), &waker).unwrap(), Pushed::Unwanted);
}

#[test]
fn closed_buffers_are_never_complete() {
    let buffers = one(1000);
    push(&buffers, 0);
    buffers.close();
    buffers.finish();
    let found = buffers.get("0", 0, 100);
    assert!(found.pages.is_empty() && !found.is_complete);
    assert_eq!(buffers.push(output(0), Waker::noop()).unwrap(), Pushed::Unwanted);
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

#[test]
fn pages_of_a_partition_go_to_its_buffer() {
    let buffers = OutputBuffers::new(1000, &pool());
    buffers.add(&ids(BufferKind::Partitioned, &[("a", 1), ("b", 0)], true)).unwrap();
    for partition in [0, 1, 1] {
        let page = OutputPage { partition, rows: 1, bytes: page(partition as u8) };
        assert_eq!(buffers.push(page, Waker::noop()).unwrap(), Pushed::Accepted);
    }
    assert_eq!(buffers.get("a", 0, 100).pages, [page(1), page(1)]);
    assert_eq!(buffers.get("b", 0, 100).pages, [page(0)]);
    buffers.finish();
    assert!(buffers.get("b", 1, 100).is_complete && !buffers.are_drained());
    assert!(buffers.get("a", 2, 100).is_complete && buffers.are_drained());
}

#[test]
fn each_buffer_of_a_broadcast_gets_all_pages() {
    let pool = pool();
    let buffers = OutputBuffers::new(1000, &pool);
    buffers.add(&ids(BufferKind::Broadcast, &[], false)).unwrap();
    push(&buffers, 0);
    buffers.add(&ids(BufferKind::Broadcast, &[("0", 0)], false)).unwrap();
    push(&buffers, 1);
    assert_eq!(buffers.get("0", 0, 100).pages, [page(0), page(1)]);
    // A page in several buffers is held once.
    assert_eq!(buffers.totals().buffered_bytes, 20);
    buffers.acknowledge("0", 2);
    // A buffer that comes later gets all pages, too.
    assert_eq!(buffers.totals().buffered_bytes, 20);
    assert!(pool.stats().bytes > 0);
    buffers.add(&ids(BufferKind::Broadcast, &[("0", 0), ("1", 0)], true)).unwrap();
    assert_eq!(buffers.get("1", 0, 100).pages, [page(0), page(1)]);
    buffers.get("1", 1, 100);
    assert_eq!(buffers.totals().buffered_bytes, 10);
    buffers.finish();
    assert!(buffers.get("1", 2, 100).is_complete && buffers.are_drained());
    assert_eq!(pool.stats().bytes, 0);
    let late = buffers.add(&ids(BufferKind::Broadcast, &[("2", 0)], true));
    assert_eq!(late.unwrap_err().kind(), ErrorKind::InvalidValue);
}

#[test]
fn an_arbitrary_page_goes_to_the_reader_that_asks() {
    let pool = pool();
    let buffers = OutputBuffers::new(1000, &pool);
    buffers.add(&ids(BufferKind::Arbitrary, &[("0", 0), ("1", 1)], false)).unwrap();
    (0..4).for_each(|it| push(&buffers, it));
    assert_eq!(buffers.get("1", 0, 25).pages, [page(0), page(1)]);
    assert_eq!(buffers.get("0", 0, 5).pages, [page(2)]);
    // The same token again: no other page.
    assert_eq!(buffers.get("1", 0, 100).pages, [page(0), page(1)]);
    buffers.finish();
    assert!(!buffers.get("0", 1, 0).is_complete);
    assert!(!buffers.are_drained());
    assert_eq!(buffers.get("0", 1, 100).pages, [page(3)]);
    assert!(buffers.get("0", 2, 100).is_complete && buffers.get("1", 2, 100).is_complete);
    // Further buffers may come.
    assert!(!buffers.are_drained());
    buffers.add(&ids(BufferKind::Arbitrary, &[], true)).unwrap();
    assert!(buffers.are_drained());
    assert_eq!(pool.stats().bytes, 0);
}

#[test]
fn pages_beyond_the_memory_limit_are_an_error() {
    let pool = Pool::root("test", Some(1 << 20));
    let buffers = OutputBuffers::new(usize::MAX, &pool);
    buffers.add(&ids(BufferKind::Arbitrary, &[("0", 0)], true)).unwrap();
    let large = || OutputPage { partition: 0, rows: 1, bytes: Bytes::from(vec![0; 600 << 10]) };
    assert_eq!(buffers.push(large(), Waker::noop()).unwrap(), Pushed::Accepted);
    let error = buffers.push(large(), Waker::noop()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
}

#[test]
fn without_readers_no_page_is_needed() {
    let buffers = OutputBuffers::new(1000, &pool());
    buffers.add(&ids(BufferKind::Partitioned, &[], true)).unwrap();
    assert_eq!(buffers.push(output(0), Waker::noop()).unwrap(), Pushed::Unwanted);
    assert!(buffers.are_drained());
}

#[test]
fn buffers_of_other_kinds_are_unsupported() {
    let buffers = OutputBuffers::new(1000, &pool());
    let error = buffers.add(&ids(BufferKind::Discarding, &[], true)).unwrap_err();
    assert_eq!(error.message(), "output buffers of the kind DISCARDING");
}
