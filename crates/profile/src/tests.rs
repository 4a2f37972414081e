//! Renderings compared with each other: each shows the same numbers.

use crate::{
    QueryProfile,
    testing::{plan, profile},
};
use serde_json::Value;
use volley_plan::PlanNodeId;

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

#[test]
fn the_sums_of_json_and_of_the_text_agree() {
    let profile = profile();
    let json = parsed(&profile.json());
    assert_eq!(json["format"], 1);
    let text = profile.text();
    let mut operators = 0;
    for node in json["nodes"].as_array().unwrap() {
        for operator in node["operators"].as_array().unwrap() {
            let sum = |name: &str| -> u64 {
                let drivers = operator["drivers"].as_array().unwrap();
                drivers.iter().filter_map(|it| it[name].as_u64()).sum()
            };
            let rows = format!("out {} rows, {} batches", sum("rows_out"), sum("batches_out"));
            let name = operator["name"].as_str().unwrap();
            let line =
                text.lines().find(|it| it.contains(&format!("{name}:")) && it.contains(&rows));
            let cpu = format!("cpu {:.1} ms", sum("busy_ns") as f64 / 1e6);
            assert!(line.is_some_and(|it| it.contains(&cpu)), "{name}: {rows}; {cpu}\n{text}");
            operators += 1;
        }
    }
    assert_eq!(operators, 6);
    assert_eq!(json["nodes"][0]["rows"], 5);
    assert_eq!(json["nodes"][1]["estimated_rows"], 1000.0);
    assert_eq!(json["nodes"][1]["rows"], 50_000);
    assert_eq!(json["memory"][1]["bytes"], 5 << 20);
    assert_eq!(json["timeline"][2]["segments"][0]["state"], "blocked on io");
}

#[test]
fn filters_and_encodings_are_in_every_rendering() {
    let profile = profile();
    let (text, page) = (profile.text(), profile.html());
    let expected = "; filter lt(#0, 3) kept 250 of 1000; encodings flat 75 %, dictionary 25 %\n";
    assert!(text.contains(expected), "{text}");
    for part in [
        "<p>encodings of columns: flat 75 %, dictionary 25 %</p>",
        "<td><code>lt(#0, 3)</code></td><td>1,000</td><td>250</td><td>75 %</td>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let json = parsed(&profile.json());
    let build = &json["nodes"][1]["operators"][0]["drivers"][0];
    assert_eq!(build["encodings"], serde_json::json!({"dictionary": 1, "flat": 3}));
    let filter = serde_json::json!({"filter": "lt(#0, 3)", "rows_in": 1000, "rows_out": 250});
    assert_eq!(build["filters"], serde_json::json!([filter]));
}

#[test]
fn the_text_of_a_plan_is_its_tree() {
    let plan = plan();
    assert_eq!(QueryProfile::of_plan(&plan, &[]).text(), plan.to_string());
}

#[test]
fn json_escapes_whatever_text_has() {
    let statement = "'\"\\\n\t\u{1}\u{7f}\u{2028}ä";
    let profile = QueryProfile { statement: statement.to_owned(), ..profile() };
    assert_eq!(parsed(&profile.json())["statement"], statement);
    assert_eq!(parsed(&profile.chrome_trace())["otherData"]["statement"], statement);
}

#[test]
fn traces_have_a_thread_per_driver_and_all_their_time() {
    let trace = parsed(&profile().chrome_trace());
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|it| it["ph"] == phase).count();
    // Two pipelines, three drivers, five segments, three samples.
    assert_eq!((of("M"), of("X"), of("C")), (2 + 3, 5, 3));
    let micros: f64 = events.iter().filter_map(|it| it["dur"].as_f64()).sum();
    assert_eq!(micros, (20.0 + 10.0 + 70.0 + 45.0 + 25.0) * 1e3);
    let waits = events.iter().find(|it| it["cat"] == "blocked on io").unwrap();
    assert_eq!(waits["name"], "values: blocked on io");
}

#[test]
fn graphs_have_every_node_and_edge() {
    let profile = profile();
    let (dot, svg) = (profile.dot(), profile.svg());
    assert_eq!(dot.matches(" -> ").count(), 3);
    assert_eq!(dot.matches("fillcolor").count(), 4);
    assert!(dot.contains("n1 -> n0 [label = \"50,000 rows\"]"), "{dot}");
    assert_eq!(svg.matches("<path class=\"edge").count(), 3);
    assert_eq!(svg.matches("<g class=\"node").count(), 4);
    assert!(svg.contains("50,000 rows (est. 1,000)"), "{svg}");
    assert!(svg.contains("class=\"node heat5\" data-node=\"1\""), "{svg}");
}

#[test]
fn shared_nodes_are_drawn_once_with_an_edge_per_reader() {
    use std::sync::Arc;
    use volley_function::Registry;
    use volley_plan::PlanBuilder;
    use volley_types::{Type, Value as Scalar};
    let rows = vec![vec![Scalar::BigInt(1)]];
    let values = PlanBuilder::new(&Arc::new(Registry::new())).values(&[("n", Type::BigInt)], rows);
    let shared = values.shared(1);
    let plan = shared.clone().limit(0, 1).union(vec![shared]).build().unwrap();
    let profile = QueryProfile::of_plan(&plan, &[(PlanNodeId::new(0), 2.0)]);
    let dot = profile.dot();
    assert_eq!(profile.nodes.len(), 4);
    assert_eq!(dot.matches("  n2 [").count(), 1, "{dot}");
    assert_eq!(dot.matches("  n2 -> ").count(), 2, "{dot}");
    assert_eq!(profile.text(), plan.to_string());
    assert_eq!(profile.svg().matches("<path class=\"edge").count(), 4);
}

#[test]
fn deep_plans_take_no_stack() {
    use std::sync::Arc;
    use volley_function::Registry;
    use volley_plan::PlanBuilder;
    let mut plan = PlanBuilder::new(&Arc::new(Registry::new())).values(&[], vec![vec![]]);
    for _ in 0..20_000 {
        plan = plan.limit(0, 5);
    }
    let profile = QueryProfile::of_plan(&plan.build().unwrap(), &[]);
    assert_eq!(profile.svg().matches("<g class=\"node").count(), 20_001);
    assert_eq!(profile.dot().matches(" -> ").count(), 20_000);
}
