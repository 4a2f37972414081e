//! Allocations that the system refused.
//!
//! A global allocator must return memory or end the process. An allocator with a reserve uses it
//! until the driver ends its step, and the query then ends with an error instead.

use std::cell::Cell;

thread_local! {
    // Without a destructor, so that it takes no memory itself.
    static HAS_FAILED: Cell<bool> = const { Cell::new(false) };
}

/// To be called by a global allocator, on the thread that asked: there was only a reserve left. The
/// query that this thread works for will fail. Allocates nothing.
pub fn note_failed_allocation() {
    // A thread that ends works for no query.
    let _ = HAS_FAILED.try_with(|it| it.set(true));
}

/// Whether an allocation of this thread failed since this was asked last.
pub fn take_failed_allocation() -> bool {
    HAS_FAILED.replace(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_belongs_to_its_thread_and_is_told_once() {
        note_failed_allocation();
        assert!(!std::thread::spawn(take_failed_allocation).join().unwrap());
        assert!(take_failed_allocation());
        assert!(!take_failed_allocation());
    }
}
