//! The time line of each driver, and memory over time, as pictures.
//!
//! A driver is a row of one path per state. Segments within the same pixel become one, so that a
//! row has at most as many rectangles as it has pixels.

use crate::{
    QueryProfile, RunProfile,
    format::{bytes, escaped, time},
};
use std::{collections::BTreeMap, fmt::Write, time::Duration};
use volley_exec::{BlockedOn, DriverState, DriverTimeline};

/// The width of the time axis, in pixels.
const WIDTH: f64 = 1000.0;

/// Left of the axis, for names.
const NAMES: f64 = 230.0;

/// The height of a row, and of the rectangles in it.
const ROW: f64 = 18.0;
const BAR: f64 = 13.0;

/// The height of the picture of memory.
const MEMORY: f64 = 120.0;

/// The states that the legend names, with the class of each.
const STATES: [(DriverState, &str, &str); 8] = [
    (DriverState::Running, "running", "running"),
    (DriverState::Spilling, "spilling", "spilling"),
    (DriverState::Blocked(BlockedOn::Build), "build", "waits for another pipeline"),
    (DriverState::Blocked(BlockedOn::Io), "io", "waits for files"),
    (DriverState::Blocked(BlockedOn::Exchange), "exchange", "waits for a queue"),
    (DriverState::Blocked(BlockedOn::Memory), "memory", "waits for memory"),
    (DriverState::Blocked(BlockedOn::Reader), "reader", "waits for the reader of the result"),
    (DriverState::Blocked(BlockedOn::Splits), "splits", "waits for splits"),
];

impl QueryProfile {
    /// The section of the time lines and of memory.
    pub(super) fn push_timeline(&self, page: &mut String) {
        let Some(run) = &self.run else { return };
        page.push_str("<section id=\"timeline\"><h2>Drivers over time</h2><p class=\"legend\">");
        let used = |state: DriverState| {
            run.drivers.iter().flat_map(|it| &it.segments).any(|it| it.state == state)
        };
        for (_, class, name) in STATES.iter().filter(|it| used(it.0)) {
            let _ = write!(page, "<span><i class=\"s-{class}\"></i>{name}</span>");
        }
        page.push_str("</p>");
        self.push_drivers(page, run);
        page.push_str("</section>\n<section id=\"memory\"><h2>Memory over time</h2>");
        push_memory(page, run);
        page.push_str("</section>\n");
    }

    fn push_drivers(&self, page: &mut String, run: &RunProfile) {
        let height = run.drivers.len() as f64 * ROW + 24.0;
        let width = NAMES + WIDTH + 10.0;
        let _ = write!(
            page,
            "<div class=\"wide\"><svg class=\"lines\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"drivers over time\">"
        );
        for (row, line) in run.drivers.iter().enumerate() {
            let y = row as f64 * ROW;
            let source = self.operator_at(line.pipeline, 0).unwrap_or("pipeline");
            let _ = write!(
                page,
                "<g><title>{}</title><text x=\"0\" y=\"{:.0}\">{}.{} {}</text>",
                escaped(&sums(line)),
                y + 12.0,
                line.pipeline,
                line.driver,
                escaped(source)
            );
            for (class, path) in paths(line, y, run.elapsed) {
                let _ = write!(page, "<path class=\"s-{class}\" d=\"{path}\"/>");
            }
            page.push_str("</g>");
        }
        push_axis(page, run.elapsed, run.drivers.len() as f64 * ROW);
        page.push_str("</svg></div>");
    }
}

/// What a driver did in all.
fn sums(line: &DriverTimeline) -> String {
    let mut text = format!("pipeline {}, driver {}", line.pipeline, line.driver);
    for (state, _, name) in STATES {
        let of_state = line.segments.iter().filter(|it| it.state == state);
        let sum: Duration = of_state.map(|it| it.end.saturating_sub(it.start)).sum();
        if !sum.is_zero() {
            let _ = write!(text, ", {name} {}", time(sum));
        }
    }
    text
}

/// A path of rectangles per state.
fn paths(line: &DriverTimeline, y: f64, elapsed: Duration) -> BTreeMap<&'static str, String> {
    let mut paths = BTreeMap::new();
    let mut bars: Vec<(&'static str, f64, f64)> = Vec::new();
    for segment in &line.segments {
        let class = STATES.iter().find(|it| it.0 == segment.state).map_or("running", |it| it.1);
        let (start, end) = (place(segment.start, elapsed), place(segment.end, elapsed));
        match bars.last_mut() {
            // Within the pixel that is drawn already.
            Some((_, _, last_end)) if end < *last_end + 1.0 && end - start < 1.0 => {}
            Some((last, _, last_end)) if *last == class && start < *last_end + 1.0 => {
                *last_end = last_end.max(end);
            }
            _ => bars.push((class, start, end)),
        }
    }
    for (class, start, end) in bars {
        let width = (end - start).max(1.0);
        let path: &mut String = paths.entry(class).or_default();
        let _ = write!(path, "M{start:.1} {y}h{width:.1}v{BAR}h-{width:.1}z");
    }
    paths
}

fn place(at: Duration, elapsed: Duration) -> f64 {
    let share = if elapsed.is_zero() { 0.0 } else { at.as_secs_f64() / elapsed.as_secs_f64() };
    NAMES + share.min(1.0) * WIDTH
}

/// Five moments below the rows.
fn push_axis(page: &mut String, elapsed: Duration, y: f64) {
    for step in 0..=4u32 {
        let at = elapsed * step / 4;
        let anchor = ["start", "middle", "middle", "middle", "end"][step as usize % 5];
        let _ = write!(
            page,
            "<text class=\"axis\" text-anchor=\"{anchor}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            place(at, elapsed),
            y + 16.0,
            time(at)
        );
    }
}

fn push_memory(page: &mut String, run: &RunProfile) {
    let height = MEMORY + 24.0;
    let width = NAMES + WIDTH + 10.0;
    let peak = run.peak_bytes;
    let _ = write!(
        page,
        "<div class=\"wide\"><svg class=\"lines\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"memory over time\">\
         <text x=\"0\" y=\"12\">peak {}</text><path class=\"held\" d=\"M{NAMES} {MEMORY}",
        bytes(peak as u64)
    );
    let mut last = NAMES;
    for sample in &run.memory {
        let x = place(sample.at, run.elapsed);
        let y = MEMORY - sample.bytes as f64 / peak.max(1) as f64 * (MEMORY - 6.0);
        let _ = write!(page, "L{x:.1} {y:.1}");
        last = x;
    }
    let _ = write!(page, "L{last:.1} {MEMORY}z\"/>");
    // Spills, below the curve.
    let spills = run.drivers.iter().flat_map(|it| &it.segments);
    let spills = spills.filter(|it| it.state == DriverState::Spilling);
    let mut path = String::new();
    let mut drawn = f64::NEG_INFINITY;
    for segment in spills {
        let x = place(segment.start, run.elapsed);
        if (x - drawn).abs() >= 1.0 {
            let _ = write!(path, "M{x:.1} {MEMORY}v-8");
            drawn = x;
        }
    }
    let _ = write!(page, "<path class=\"spills\" d=\"{path}\"/>");
    push_axis(page, run.elapsed, MEMORY);
    page.push_str("</svg></div>");
}
