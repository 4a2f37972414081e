//! A profile as JSON.
//!
//! ```text
//! {"format": 1, "version", "statement", "settings": {name: value},
//!  "fragments": [text], "verdict": [sentence], "elapsed_ms", "peak_bytes", "error",
//!  "nodes": [{"id", "kind", "label", "inputs": [id], "estimated_rows", "rows", "busy_ms",
//!             "operators": [{"name", "pipeline", "position", "peak_bytes", "drivers": [counts]}]}],
//!  "timeline": [{"pipeline", "driver", "segments": [{"state", "position", "start_us", "end_us"}]}],
//!  "memory": [{"at_us", "bytes"}]}
//! ```
//!
//! Nodes of a distributed plan also have "fragment", a position in "fragments", and "tasks"; the
//! drivers of their operators are those of the first task, of the second, and so on. Times of
//! counts are in nanoseconds. Encodings count columns of one output batch in 16. `format` grows
//! when a reader would have to change.

use crate::{ProfileNode, QueryProfile};
use std::fmt::{Display, Write};
use volley_exec::{DriverState, OperatorCounts, OperatorStatistics};

/// The version of the layout.
const FORMAT: u32 = 1;

/// JSON text in the making: objects and arrays that know whether they need a comma.
#[derive(Default)]
pub(crate) struct Json {
    text: String,
    needs_comma: bool,
}

impl Json {
    /// An object or array with what `fill` writes into it.
    pub(crate) fn nested(&mut self, [open, close]: [char; 2], fill: impl FnOnce(&mut Json)) {
        self.comma();
        self.text.push(open);
        self.needs_comma = false;
        fill(self);
        self.text.push(close);
        self.needs_comma = true;
    }

    /// An array of what `write` writes of each item.
    pub(crate) fn array<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Json, T),
    ) {
        self.nested(['[', ']'], |json| items.into_iter().for_each(|it| write(json, it)));
    }

    /// An object.
    pub(crate) fn object(&mut self, fill: impl FnOnce(&mut Json)) {
        self.nested(['{', '}'], fill);
    }

    /// The name of a member, whose value follows.
    pub(crate) fn name(&mut self, name: &str) -> &mut Json {
        self.text(name);
        self.text.push(':');
        self.needs_comma = false;
        self
    }

    /// A text.
    pub(crate) fn text(&mut self, text: &str) {
        self.comma();
        self.text.push('"');
        for char in text.chars() {
            match char {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                // JavaScript ends lines at the last two.
                it if it < ' ' || ['\u{7f}', '\u{2028}', '\u{2029}'].contains(&it) => {
                    let _ = write!(self.text, "\\u{:04x}", u32::from(it));
                }
                other => self.text.push(other),
            }
        }
        self.text.push('"');
        self.needs_comma = true;
    }

    /// A number, or `null` or a truth value.
    pub(crate) fn plain(&mut self, value: impl Display) {
        self.comma();
        let _ = write!(self.text, "{value}");
        self.needs_comma = true;
    }

    /// A number that may not be one.
    pub(crate) fn number(&mut self, value: Option<f64>) {
        match value.filter(|it| it.is_finite()) {
            Some(value) => self.plain(value),
            None => self.plain("null"),
        }
    }

    /// The whole text.
    pub(crate) fn finish(self) -> String {
        self.text
    }

    fn comma(&mut self) {
        if self.needs_comma {
            self.text.push(',');
        }
    }
}

impl QueryProfile {
    /// The profile as a JSON document in one line.
    pub fn json(&self) -> String {
        let mut json = Json::default();
        json.object(|json| {
            json.name("format").plain(FORMAT);
            json.name("version").text(&self.version);
            json.name("statement").text(&self.statement);
            json.name("settings").object(|json| {
                self.settings.iter().for_each(|(name, value)| json.name(name).text(value));
            });
            json.name("fragments").array(&self.fragments, |json, it| json.text(it));
            json.name("verdict").array(self.verdict(), |json, it| json.text(&it));
            json.name("nodes").array(&self.nodes, |json, it| self.push_node(json, it));
            self.push_run(json);
        });
        json.finish()
    }

    fn push_node(&self, json: &mut Json, node: &ProfileNode) {
        json.object(|json| {
            json.name("id").plain(node.id);
            json.name("kind").text(&node.kind);
            json.name("label").text(&node.label);
            json.name("inputs").array(&node.inputs, |json, it| json.plain(it));
            if let Some(fragment) = node.fragment {
                json.name("fragment").plain(fragment);
                json.name("tasks").plain(node.tasks);
            }
            json.name("estimated_rows").number(node.estimated_rows);
            if self.run.is_some() {
                match node.rows() {
                    Some(rows) => json.name("rows").plain(rows),
                    None => json.name("rows").plain("null"),
                }
                json.name("busy_ms").plain(node.busy().as_secs_f64() * 1e3);
                json.name("operators").array(&node.operators, push_operator);
            }
        });
    }

    fn push_run(&self, json: &mut Json) {
        let Some(run) = &self.run else { return };
        json.name("elapsed_ms").plain(run.elapsed.as_secs_f64() * 1e3);
        json.name("peak_bytes").plain(run.peak_bytes);
        match &run.error {
            Some(error) => json.name("error").text(error),
            None => json.name("error").plain("null"),
        }
        json.name("timeline").array(&run.drivers, |json, line| {
            json.object(|json| {
                json.name("pipeline").plain(line.pipeline);
                json.name("driver").plain(line.driver);
                json.name("segments").array(&line.segments, |json, segment| {
                    json.object(|json| {
                        json.name("state").text(&state_name(segment.state));
                        json.name("position").plain(segment.position);
                        json.name("start_us").plain(segment.start.as_micros());
                        json.name("end_us").plain(segment.end.as_micros());
                    });
                });
            });
        });
        json.name("memory").array(&run.memory, |json, sample| {
            json.object(|json| {
                json.name("at_us").plain(sample.at.as_micros());
                json.name("bytes").plain(sample.bytes);
            });
        });
    }
}

/// Such as `running` or `blocked on io`.
pub(crate) fn state_name(state: DriverState) -> String {
    match state {
        DriverState::Running => "running".to_owned(),
        DriverState::Spilling => "spilling".to_owned(),
        DriverState::Blocked(why) => format!("blocked on {why}"),
    }
}

fn push_operator(json: &mut Json, operator: &OperatorStatistics) {
    json.object(|json| {
        json.name("name").text(operator.name);
        json.name("pipeline").plain(operator.pipeline);
        json.name("position").plain(operator.position);
        json.name("peak_bytes").plain(operator.peak_bytes);
        json.name("drivers").array(&operator.drivers, push_counts);
    });
}

fn push_counts(json: &mut Json, counts: &OperatorCounts) {
    json.object(|json| {
        json.name("rows_in").plain(counts.rows_in);
        json.name("batches_in").plain(counts.batches_in);
        json.name("rows_out").plain(counts.rows_out);
        json.name("batches_out").plain(counts.batches_out);
        json.name("busy_ns").plain(counts.busy.as_nanos());
        json.name("blocked_ns").object(|json| {
            for (why, time) in &counts.blocked {
                json.name(&why.to_string()).plain(time.as_nanos());
            }
        });
        json.name("counters").object(|json| {
            counts.named.iter().for_each(|(name, value)| json.name(name).plain(value));
        });
        json.name("encodings").object(|json| {
            counts.encodings.iter().for_each(|(name, count)| json.name(name).plain(count));
        });
        json.name("filters").array(&counts.filters, |json, filter| {
            json.object(|json| {
                json.name("filter").text(&filter.text);
                json.name("rows_in").plain(filter.rows_in);
                json.name("rows_out").plain(filter.rows_out);
            });
        });
    });
}
