//! A line on the terminal that shows how far a long statement is, and disappears at its end.

use std::{
    io::{self, IsTerminal, Write},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};
use volley::{Session, Stage, TaskProgress, format_bytes};

/// A statement that ends sooner shows nothing.
const DELAY: Duration = Duration::from_millis(500);

/// Between two changes of the line.
const INTERVAL: Duration = Duration::from_millis(100);

/// Characters of the bar.
const BAR_WIDTH: usize = 24;

/// Goes to the beginning of the line and erases it.
const ERASE: &str = "\r\x1b[2K";

/// What makes the text of the line; `None` while nothing can be said.
pub type Text = dyn Fn() -> Option<String> + Send + Sync;

/// A line that is shown until it is dropped.
pub struct ProgressLine {
    ended: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressLine {
    /// The progress of what `session` runs, if standard error is a terminal.
    pub fn of_session(session: &Arc<Session>) -> Option<ProgressLine> {
        let session = Arc::clone(session);
        ProgressLine::start(Box::new(move || session.progress().map(|it| text(&it))))
    }

    /// A line with a text of the caller's, if standard error is a terminal.
    pub fn start(text: Box<Text>) -> Option<ProgressLine> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let ended = Arc::new((Mutex::new(false), Condvar::new()));
        let until = Arc::clone(&ended);
        let show = move || show_until(&until, &*text);
        let thread = thread::Builder::new().name("progress".into()).spawn(show).ok()?;
        Some(ProgressLine { ended, thread: Some(thread) })
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        let (ended, changed) = &*self.ended;
        *ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
        // The line is erased before anything else is printed.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn show_until((ended, changed): &(Mutex<bool>, Condvar), text: &Text) {
    let (mut wait, mut is_shown) = (DELAY, false);
    let mut guard = ended.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let waited = changed.wait_timeout_while(guard, wait, |ended| !*ended);
        guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        if *guard {
            break;
        }
        wait = INTERVAL;
        let Some(text) = text() else { continue };
        let width = crossterm::terminal::size().map_or(80, |it| usize::from(it.0));
        let line: String = text.chars().take(width.saturating_sub(1)).collect();
        let _ = write!(io::stderr(), "{ERASE}{line}");
        let _ = io::stderr().flush();
        is_shown = true;
    }
    if is_shown {
        let _ = write!(io::stderr(), "{ERASE}");
        let _ = io::stderr().flush();
    }
}

/// A bar, the share, rows and bytes, the pipeline that runs, and the remaining time.
pub fn text(progress: &TaskProgress) -> String {
    let count = progress.pipelines.len();
    let running = progress.pipelines.iter().position(|it| it.stage == Stage::Running);
    let ended = progress.pipelines.iter().filter(|it| it.stage == Stage::Done).count();
    let mut text = share_text(progress.done);
    if progress.rows > 0 {
        text += &format!("  {} rows", short_count(progress.rows));
    }
    if progress.bytes > 0 {
        let bytes = usize::try_from(progress.bytes).unwrap_or(usize::MAX);
        text += &format!("  {}", format_bytes(bytes));
    }
    if let Some(pipeline) = running.and_then(|it| progress.pipelines.get(it)) {
        text += &format!("  {} ({} of {count})", pipeline.source, (ended + 1).min(count));
    }
    if let Some(remaining) = progress.remaining {
        text += &format!("  {} left", duration_text(remaining));
    }
    text
}

/// A bar and the share as per cent.
pub fn share_text(done: f64) -> String {
    let done = done.clamp(0.0, 1.0);
    let full = ((done * BAR_WIDTH as f64) as usize).min(BAR_WIDTH);
    let (full, empty) = ("█".repeat(full), "░".repeat(BAR_WIDTH - full));
    // What is not done is never 100 %.
    format!("{full}{empty} {:3.0} %", (done * 100.0).floor())
}

/// Such as `12.3 M`.
fn short_count(count: u64) -> String {
    const STEPS: [(u64, &str); 3] = [(1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")];
    for (least, suffix) in STEPS {
        if count >= least {
            let unit = if suffix == "k" { 1000 } else { least };
            return format!("{:.1} {suffix}", count as f64 / unit as f64);
        }
    }
    count.to_string()
}

/// Such as `12 s`, `3 min 20 s` or `2 h 5 min`.
pub fn duration_text(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil().max(1.0) as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_share_rows_bytes_and_remaining_time() {
        let progress = TaskProgress {
            done: 0.5,
            remaining: Some(Duration::from_millis(61_500)),
            rows: 12_345_678,
            bytes: 5 << 20,
            ..TaskProgress::default()
        };
        let half = format!("{}{}", "█".repeat(12), "░".repeat(12));
        let expected = format!("{half}  50 %  12.3 M rows  5.0 MiB  1 min 2 s left");
        assert_eq!(text(&progress), expected);
    }

    #[test]
    fn nothing_known_is_an_empty_bar() {
        let expected = format!("{}   0 %", "░".repeat(BAR_WIDTH));
        assert_eq!(text(&TaskProgress::default()), expected);
        assert!(share_text(0.999).ends_with(" 99 %"));
        assert!(share_text(7.0).ends_with("100 %"));
    }

    #[test]
    fn times_and_counts_are_short() {
        let times = [0, 59, 60, 7_500].map(|it| duration_text(Duration::from_secs(it)));
        assert_eq!(times, ["1 s", "59 s", "1 min 0 s", "2 h 5 min"]);
        let counts = [9_999, 10_000, 2_500_000, 7_000_000_000].map(short_count);
        assert_eq!(counts, ["9999", "10.0 k", "2.5 M", "7.0 G"]);
    }
}
