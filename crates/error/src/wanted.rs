//! Whether anybody still wants what a thread works at.
//!
//! Who runs a statement, or the steps of a query, says for that time how to find out; loops that
//! may take long ask now and then, wherever they are: see [`check_wanted`].

use crate::Result;
use std::{cell::RefCell, sync::Arc};

/// What knows whether the result of some work is wanted.
pub trait Wanted: Send + Sync {
    /// Fails when it is not wanted any more.
    ///
    /// # Errors
    ///
    /// Cancelled; timed out.
    fn check(&self) -> Result<()>;
}

thread_local! {
    /// What the work of this thread is asked of; the innermost.
    static CURRENT: RefCell<Option<Arc<dyn Wanted>>> = const { RefCell::new(None) };
}

/// Puts back what was asked before.
struct Restore(Option<Arc<dyn Wanted>>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Runs `f`, in which [`check_wanted`] asks `wanted`.
pub fn while_wanted<R>(wanted: Arc<dyn Wanted>, f: impl FnOnce() -> R) -> R {
    let _restore = Restore(CURRENT.replace(Some(wanted)));
    f()
}

/// Fails when nobody wants any more what this thread works at. For loops that may take longer than
/// some milliseconds and cannot be cut into steps; takes some nanoseconds, or some tens of them.
///
/// # Errors
///
/// Cancelled; timed out.
pub fn check_wanted() -> Result<()> {
    CURRENT.with_borrow(|it| it.as_ref().map_or(Ok(()), |it| it.check()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    struct Never;

    impl Wanted for Never {
        fn check(&self) -> Result<()> {
            Err(Error::cancelled())
        }
    }

    struct Always;

    impl Wanted for Always {
        fn check(&self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_innermost_is_asked_for_its_time() {
        assert!(check_wanted().is_ok());
        while_wanted(Arc::new(Never), || {
            assert!(check_wanted().is_err());
            while_wanted(Arc::new(Always), || assert!(check_wanted().is_ok()));
            assert!(check_wanted().is_err());
        });
        assert!(check_wanted().is_ok());
        let panic = std::panic::catch_unwind(|| while_wanted(Arc::new(Never), || panic!("test")));
        assert!(panic.is_err() && check_wanted().is_ok());
    }
}
