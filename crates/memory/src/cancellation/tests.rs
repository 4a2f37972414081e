use super::*;
use std::{panic::catch_unwind, sync::mpsc};
use volley_error::ErrorKind;

fn kind(token: &CancellationToken) -> Option<ErrorKind> {
    token.check().err().map(|it| it.kind())
}

fn passed() -> Option<Deadline> {
    Some(Deadline { at: Instant::now(), limit: Duration::from_millis(7) })
}

#[test]
fn a_child_is_cancelled_by_its_parent_and_not_the_other_way() {
    let parent = CancellationToken::new();
    let (first, second) = (parent.child(), parent.child());
    let grandchild = first.child();
    first.cancel();
    for (token, is_cancelled) in
        [(&parent, false), (&first, true), (&grandchild, true), (&second, false)]
    {
        assert_eq!(token.is_cancelled(), is_cancelled);
        assert_eq!(token.check().is_err(), is_cancelled);
        assert_eq!(token.cause().is_some(), is_cancelled);
    }
    parent.cancel();
    assert!(second.is_cancelled());
    // One that is made later, too.
    assert!(parent.child().is_cancelled());
}

#[test]
fn the_first_cause_wins() {
    let token = CancellationToken::new();
    let child = token.child();
    child.cancel_with(Error::new(ErrorKind::Io, "disk is gone"));
    token.cancel_with(Error::timed_out(Duration::from_secs(1)));
    token.cancel();
    assert_eq!(kind(&token), Some(ErrorKind::TimedOut));
    assert_eq!(kind(&child), Some(ErrorKind::Io));
    assert_eq!(kind(&token.child()), Some(ErrorKind::TimedOut));
    assert_eq!(token.check().unwrap_err().message(), "statement took longer than it may");
}

#[test]
fn a_deadline_that_is_over_fails_checks() {
    let token = CancellationToken::until(passed());
    // Nothing has looked at the clock yet.
    assert!(!token.is_cancelled());
    let error = token.check().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("statement_timeout: 7ms"), "{error}");
    assert!(token.is_cancelled());
    token.cancel();
    assert_eq!(kind(&token), Some(ErrorKind::TimedOut));
    let later = CancellationToken::until(Deadline::after(Duration::from_secs(3600)));
    assert_eq!(kind(&later), None);
    assert!(Deadline::after(Duration::MAX).is_none());
}

#[test]
fn the_earlier_deadline_counts() {
    let hour = Deadline::after(Duration::from_secs(3600));
    let parent = CancellationToken::until(hour);
    assert_eq!(parent.child().deadline(), hour);
    assert_eq!(kind(&parent.child_until(passed())), Some(ErrorKind::TimedOut));
    assert_eq!(kind(&parent), None);
    let expired = CancellationToken::until(passed());
    assert_eq!(kind(&expired.child_until(hour)), Some(ErrorKind::TimedOut));
    assert_eq!(CancellationToken::new().child().deadline(), None);
}

#[test]
fn hooks_run_once_after_all_flags_are_set() {
    let parent = CancellationToken::new();
    let child = parent.child();
    let (sender, receiver) = mpsc::channel();
    let hook = |name: &'static str| {
        let (sender, tokens) = (sender.clone(), [parent.clone(), child.clone()]);
        move |cause: &Error| {
            let are_set = tokens.iter().all(CancellationToken::is_cancelled);
            sender.send((name, cause.kind(), are_set)).unwrap();
        }
    };
    let _of_parent = parent.on_cancel(hook("parent"));
    let _of_child = child.on_cancel(hook("child"));
    drop(child.on_cancel(hook("removed")));
    parent.cancel();
    parent.cancel();
    child.cancel();
    let _late = child.on_cancel(hook("late"));
    let all: Vec<_> = receiver.try_iter().collect();
    let expected = ["parent", "child", "late"].map(|it| (it, ErrorKind::Cancelled, true));
    assert_eq!(all, expected);
}

#[test]
fn a_check_that_finds_the_deadline_over_leaves_the_hooks_to_the_timer() {
    let token = CancellationToken::until(passed());
    let (sender, receiver) = mpsc::channel();
    let _hook = token.on_cancel(move |cause| sender.send(cause.kind()).unwrap());
    assert!(token.check().is_err());
    assert!(receiver.try_recv().is_err());
    token.cancel_with(passed().unwrap().error());
    assert_eq!(receiver.try_recv(), Ok(ErrorKind::TimedOut));
}

#[test]
fn a_token_counts_its_checks_if_asked_to() {
    let token = CancellationToken::after_checks(2);
    assert!(token.check().is_ok());
    assert_eq!(token.checks_left(), 1);
    assert!(token.check().is_ok());
    assert!(!token.is_cancelled());
    assert_eq!(kind(&token), Some(ErrorKind::Cancelled));
    assert_eq!(kind(&token), Some(ErrorKind::Cancelled));
}

#[test]
fn the_innermost_token_of_a_thread_is_checked() {
    let (cancelled, other) = (CancellationToken::new(), CancellationToken::new());
    cancelled.cancel();
    assert!(check_cancelled().is_ok());
    with_cancellation(&cancelled, || {
        assert!(check_cancelled().is_err());
        with_cancellation(&other, || assert!(check_cancelled().is_ok()));
        assert!(check_cancelled().is_err());
        let elsewhere = std::thread::spawn(check_cancelled);
        assert!(elsewhere.join().unwrap().is_ok());
    });
    assert!(check_cancelled().is_ok());
    let panic = catch_unwind(|| with_cancellation(&cancelled, || panic!("test")));
    assert!(panic.is_err() && check_cancelled().is_ok());
}

#[test]
fn a_parent_forgets_children_that_are_gone() {
    let parent = CancellationToken::new();
    let kept = parent.child();
    for _ in 0..1000 {
        let child = parent.child();
        drop(child.on_cancel(|_| ()));
    }
    assert_eq!(parent.0.lock().children.len(), 1);
    drop(kept);
    assert!(parent.0.lock().children.is_empty());
}

#[test]
fn a_plain_token_is_checked_by_one_comparison() {
    // No bit of the state is set: neither the clock nor the count is inspected.
    let state = |it: &CancellationToken| it.0.state.load(Ordering::Relaxed);
    assert_eq!(state(&CancellationToken::new()), 0);
    assert_eq!(state(&CancellationToken::new().child()), 0);
    assert_eq!(state(&CancellationToken::after_checks(1).child()), 0);
    assert_eq!(state(&CancellationToken::until(passed())), TIMED);
}

#[test]
fn concurrent_children_are_all_cancelled() {
    for _ in 0..50 {
        let parent = CancellationToken::new();
        let make = || (0..50).map(|_| parent.child()).collect::<Vec<_>>();
        let children = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..2).map(|_| scope.spawn(make)).collect();
            parent.cancel();
            makers.into_iter().flat_map(|it| it.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(children.iter().all(CancellationToken::is_cancelled));
    }
}
