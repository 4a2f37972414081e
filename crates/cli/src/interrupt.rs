//! Ctrl-C stops the running query, not the shell.

use std::{
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};
use volley::Session;

static TARGET: Mutex<Option<Weak<Session>>> = Mutex::new(None);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static STARTED: OnceLock<()> = OnceLock::new();

/// From now on, Ctrl-C cancels the queries of `session`.
pub fn cancel_on_interrupt(session: &Arc<Session>) {
    *TARGET.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::downgrade(session));
    note_interrupts();
}

/// From now on, Ctrl-C does not end the process; it is reported by [`is_interrupted`].
pub fn note_interrupts() {
    STARTED.get_or_init(|| _ = thread::Builder::new().name("signals".into()).spawn(listen));
}

/// Forgets that Ctrl-C was pressed: something new begins.
pub fn forget_interrupts() {
    INTERRUPTED.store(false, Ordering::Relaxed);
}

/// Whether Ctrl-C was pressed since [`forget_interrupts`].
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

fn listen() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else {
        return;
    };
    runtime.block_on(async {
        while tokio::signal::ctrl_c().await.is_ok() {
            INTERRUPTED.store(true, Ordering::Relaxed);
            let target = TARGET.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(session) = target.and_then(|it| it.upgrade()) {
                session.cancel();
            }
        }
    });
}
