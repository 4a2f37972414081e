//! Cancellation of queries: a flag, a deadline and a cause, in a tree.
//!
//! ```text
//! session ── statement ── task       cancelling a token cancels the tokens below it
//!                 └─ deadline         the earlier one of a token and its parent counts
//! ```
//!
//! A token is cancelled once and for all; the first cause stays. A thread that works for a query
//! has a current token ([`with_cancellation`]); loops that may run for more than some milliseconds
//! call [`check_cancelled`]. What only waits, and runs no loop, registers a hook
//! ([`CancellationToken::on_cancel`]).
//!
//! A check reads one atomic number. It reads the clock only if the token has a deadline. A check
//! that finds the deadline over marks the token, but does not run hooks: the thread may hold locks
//! that hooks need. So a deadline needs a timer that calls [`CancellationToken::cancel_with`],
//! wherever something waits.

#[cfg(test)]
mod tests;

use std::{
    cell::RefCell,
    fmt,
    mem::take,
    panic::{RefUnwindSafe, UnwindSafe},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicU8, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use volley_error::{Error, Result};

/// The token is cancelled.
const CANCELLED: u8 = 1;
/// The token has a deadline.
const TIMED: u8 = 2;
/// The token counts its checks.
const COUNTED: u8 = 4;

/// Says whether work is cancelled. Clones are the same token.
#[derive(Clone)]
pub struct CancellationToken(Arc<Node>);

/// The moment when work must have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// The moment.
    pub at: Instant,
    /// How long after the beginning of the work it is; for the message.
    pub limit: Duration,
}

/// A registered hook. Dropping it removes the hook.
#[derive(Debug)]
#[must_use = "dropping it removes the hook"]
pub struct CancelHook {
    node: Weak<Node>,
    id: u64,
}

type Hook = Box<dyn FnOnce(&Error) + Send>;

struct Node {
    /// `CANCELLED`, `TIMED` and `COUNTED`; 0 for most tokens, so that a check is one comparison.
    state: AtomicU8,
    /// Set before `CANCELLED`.
    cause: OnceLock<Error>,
    deadline: Option<Deadline>,
    checks_left: AtomicUsize,
    parent: Option<CancellationToken>,
    links: Mutex<Links>,
}

/// The hooks to call on cancellation.
#[derive(Default)]
struct Links {
    children: Vec<Weak<Node>>,
    hooks: Vec<(u64, Hook)>,
    next_hook: u64,
}

thread_local! {
    /// The innermost token that the work of this thread belongs to.
    static CURRENT: RefCell<Option<CancellationToken>> = const { RefCell::new(None) };
}

/// Runs `f` with `token` as the current token of the thread.
pub fn with_cancellation<R>(token: &CancellationToken, f: impl FnOnce() -> R) -> R {
    /// Restores the previous token, after a panic too.
    struct Restore(Option<CancellationToken>);

    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }

    let _restore = Restore(CURRENT.replace(Some(token.clone())));
    f()
}

/// Fails once the current token of this thread is cancelled; succeeds if there is none. For loops
/// that may run for more than some milliseconds and cannot be cut into steps. Costs some
/// nanoseconds; with a deadline, some tens of them.
///
/// # Errors
///
/// Cancelled; timed out.
#[inline]
pub fn check_cancelled() -> Result<()> {
    CURRENT.with_borrow(|it| it.as_ref().map_or(Ok(()), CancellationToken::check))
}

impl CancellationToken {
    /// A token that is not cancelled, with no parent and no deadline.
    pub fn new() -> CancellationToken {
        CancellationToken::node(None, None, None)
    }

    /// A token with a deadline, if there is one, and no parent.
    pub fn until(deadline: Option<Deadline>) -> CancellationToken {
        CancellationToken::node(deadline, None, None)
    }

    /// A token that is cancelled by the check after `checks` others: for tests of where work can be
    /// cancelled. Its children do not count, and are not cancelled by its checks.
    pub fn after_checks(checks: usize) -> CancellationToken {
        CancellationToken::node(None, Some(checks), None)
    }

    /// A token that is cancelled with this one, and may be cancelled alone. It has this one's
    /// deadline.
    pub fn child(&self) -> CancellationToken {
        self.child_until(None)
    }

    /// Like [`CancellationToken::child`], with `deadline` if that is earlier.
    pub fn child_until(&self, deadline: Option<Deadline>) -> CancellationToken {
        let deadlines = [deadline, self.0.deadline].into_iter().flatten();
        let deadline = deadlines.min_by_key(|it| it.at);
        let child = CancellationToken::node(deadline, None, Some(self.clone()));
        let mut links = self.0.lock();
        match self.cause() {
            Some(cause) => child.0.mark(cause),
            None => links.children.push(Arc::downgrade(&child.0)),
        }
        drop(links);
        child
    }

    fn node(
        deadline: Option<Deadline>,
        checks: Option<usize>,
        parent: Option<CancellationToken>,
    ) -> CancellationToken {
        let timed = if deadline.is_some() { TIMED } else { 0 };
        let counted = if checks.is_some() { COUNTED } else { 0 };
        CancellationToken(Arc::new(Node {
            state: AtomicU8::new(timed | counted),
            cause: OnceLock::new(),
            deadline,
            checks_left: AtomicUsize::new(checks.unwrap_or_default()),
            parent,
            links: Mutex::default(),
        }))
    }

    /// Cancels the token and those below it, with the cancelled error as cause. Runs their hooks.
    pub fn cancel(&self) {
        self.cancel_with(Error::cancelled());
    }

    /// Like [`CancellationToken::cancel`], with a cause, which checks return. Later causes are
    /// ignored.
    ///
    /// The hooks run on this thread, after all flags are set. The caller must not hold locks that
    /// they take.
    pub fn cancel_with(&self, cause: Error) {
        let mut hooks = Vec::new();
        let mut nodes = vec![Arc::clone(&self.0)];
        while let Some(node) = nodes.pop() {
            let mut links = node.lock();
            node.mark(self.cause().unwrap_or_else(|| cause.clone()));
            let (children, own) = (take(&mut links.children), take(&mut links.hooks));
            drop(links);
            let cause = node.cause().unwrap_or_else(Error::cancelled);
            hooks.extend(own.into_iter().map(|(_, hook)| (hook, cause.clone())));
            nodes.extend(children.iter().filter_map(Weak::upgrade));
        }
        hooks.into_iter().for_each(|(hook, cause)| hook(&cause));
    }

    /// Whether the token is known to be cancelled; does not read the clock.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.state.load(Ordering::Acquire) & CANCELLED != 0
    }

    /// Fails once the token is cancelled or its deadline is over.
    ///
    /// # Errors
    ///
    /// The cause: cancelled or timed out, unless [`CancellationToken::cancel_with`] had another.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match self.0.state.load(Ordering::Acquire) {
            0 => Ok(()),
            state => self.check_state(state),
        }
    }

    fn check_state(&self, state: u8) -> Result<()> {
        if state & CANCELLED == 0 {
            if let Some(deadline) = self.0.deadline
                && deadline.at <= Instant::now()
            {
                self.0.mark(deadline.error());
            }
            if state & COUNTED != 0 {
                let one_less = |it: usize| it.checked_sub(1);
                let left = &self.0.checks_left;
                if left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err() {
                    self.0.mark(Error::cancelled());
                }
            }
        }
        self.cause().map_or(Ok(()), Err)
    }

    /// Why the token is cancelled; `None` if it is not known to be.
    pub fn cause(&self) -> Option<Error> {
        self.0.cause()
    }

    /// When the work must have ended.
    pub fn deadline(&self) -> Option<Deadline> {
        self.0.deadline
    }

    /// How many checks are left to a token made by [`CancellationToken::after_checks`].
    pub fn checks_left(&self) -> usize {
        self.0.checks_left.load(Ordering::Relaxed)
    }

    /// Runs `hook` with the cause when the token is cancelled, by the thread that cancels it; at
    /// once, if the token is cancelled already. A hook must be quick and must not panic.
    pub fn on_cancel(&self, hook: impl FnOnce(&Error) + Send + 'static) -> CancelHook {
        let mut links = self.0.lock();
        let id = links.next_hook;
        links.next_hook += 1;
        match self.cause() {
            None => links.hooks.push((id, Box::new(hook))),
            Some(cause) => {
                drop(links);
                hook(&cause);
            }
        }
        CancelHook { node: Arc::downgrade(&self.0), id }
    }
}

/// No panic leaves a token half changed: hooks, the only foreign code, run without its lock.
impl UnwindSafe for CancellationToken {}
impl RefUnwindSafe for CancellationToken {}

impl Default for CancellationToken {
    fn default() -> CancellationToken {
        CancellationToken::new()
    }
}

impl fmt::Debug for CancellationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = f.debug_struct("CancellationToken");
        output.field("cause", &self.cause()).field("deadline", &self.0.deadline).finish()
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Node")
    }
}

impl Deadline {
    /// `limit` from now on; `None` when that is beyond all times.
    pub fn after(limit: Duration) -> Option<Deadline> {
        Some(Deadline { at: Instant::now().checked_add(limit)?, limit })
    }

    /// The error of work that has not ended by then.
    pub fn error(&self) -> Error {
        Error::timed_out(self.limit)
    }
}

impl Node {
    fn lock(&self) -> MutexGuard<'_, Links> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cause(&self) -> Option<Error> {
        let is_cancelled = self.state.load(Ordering::Acquire) & CANCELLED != 0;
        is_cancelled.then(|| self.cause.get().cloned().unwrap_or_else(Error::cancelled))
    }

    /// Sets the flag, and the cause unless there is one.
    fn mark(&self, cause: Error) {
        let _ = self.cause.set(cause);
        self.state.fetch_or(CANCELLED, Ordering::AcqRel);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(parent) = &self.parent {
            parent.0.lock().children.retain(|it| it.strong_count() > 0);
        }
    }
}

impl Drop for CancelHook {
    fn drop(&mut self) {
        if let Some(node) = self.node.upgrade() {
            let mut links = node.lock();
            let hook = links.hooks.iter().position(|it| it.0 == self.id);
            let hook = hook.map(|at| links.hooks.swap_remove(at));
            drop(links);
            // What it owns may be a token or a hook.
            drop(hook);
        }
    }
}
