//! A run as events for viewers of Chrome traces, such as Perfetto: a process per pipeline, a thread
//! per driver.

use crate::{
    QueryProfile, RunProfile,
    json::{Json, state_name},
};
use volley_exec::{DriverState, DriverTimeline};

impl QueryProfile {
    /// The run as a Chrome trace: a JSON document. Without a run it has no events.
    pub fn chrome_trace(&self) -> String {
        let mut json = Json::default();
        json.object(|json| {
            json.name("displayTimeUnit").text("ms");
            json.name("otherData").object(|json| {
                json.name("statement").text(&self.statement);
                json.name("version").text(&self.version);
            });
            json.name("traceEvents").nested(['[', ']'], |json| {
                self.run.iter().for_each(|it| self.push_events(json, it));
            });
        });
        json.finish()
    }

    fn push_events(&self, json: &mut Json, run: &RunProfile) {
        for line in &run.drivers {
            if line.driver == 0 {
                let source = self.operator_at(line.pipeline, 0).unwrap_or("pipeline");
                let name = format!("pipeline {}: {source}", line.pipeline);
                push_name(json, "process_name", (line.pipeline, 0), &name);
            }
            let name = format!("driver {}", line.driver);
            push_name(json, "thread_name", (line.pipeline, line.driver), &name);
            self.push_segments(json, line);
        }
        for sample in &run.memory {
            json.object(|json| {
                json.name("name").text("memory");
                json.name("ph").text("C");
                json.name("pid").plain(0);
                json.name("ts").plain(sample.at.as_micros());
                json.name("args").object(|json| json.name("bytes").plain(sample.bytes));
            });
        }
    }

    fn push_segments(&self, json: &mut Json, line: &DriverTimeline) {
        for segment in &line.segments {
            let operator = self.operator_at(line.pipeline, segment.position).unwrap_or("operator");
            let name = match segment.state {
                DriverState::Running => operator.to_owned(),
                other => format!("{operator}: {}", state_name(other)),
            };
            json.object(|json| {
                json.name("name").text(&name);
                json.name("cat").text(&state_name(segment.state));
                json.name("ph").text("X");
                json.name("pid").plain(line.pipeline);
                json.name("tid").plain(line.driver);
                json.name("ts").plain(segment.start.as_nanos() as f64 / 1e3);
                let time = segment.end.saturating_sub(segment.start);
                json.name("dur").plain(time.as_nanos() as f64 / 1e3);
            });
        }
    }
}

fn push_name(json: &mut Json, what: &str, (process, thread): (usize, usize), name: &str) {
    json.object(|json| {
        json.name("name").text(what);
        json.name("ph").text("M");
        json.name("pid").plain(process);
        json.name("tid").plain(thread);
        json.name("args").object(|json| json.name("name").text(name));
    });
}
