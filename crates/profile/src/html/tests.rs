use crate::{
    QueryProfile,
    testing::{plan, profile},
};

/// The values of an attribute, in order.
fn attributes<'p>(page: &'p str, name: &str) -> Vec<&'p str> {
    let start = format!("{name}=\"");
    page.split(&start).skip(1).filter_map(|it| it.split('"').next()).collect()
}

#[test]
fn the_page_needs_nothing_else() {
    let page = profile().html();
    assert!(page.contains("content=\"default-src 'none';"));
    for request in [" src=", "url(", "@import", "<iframe", "<img", "fetch("] {
        assert!(!page.contains(request), "{request}");
    }
    // A link to nothing, so that no browser asks for an icon.
    assert_eq!(attributes(&page, "href"), ["data:,"]);
    assert!(super::SCRIPT.len() <= 15 << 10, "{} bytes", super::SCRIPT.len());
}

#[test]
fn all_text_is_escaped() {
    let page = profile().html();
    assert!(page.contains("SELECT &#39;&lt;b&gt;&#39; FROM &quot;a&quot; &amp; b"));
    assert!(!page.contains("'<b>'"));
}

#[test]
fn every_node_is_in_the_graph_the_table_and_the_details() {
    let page = profile().html();
    for id in 0..4 {
        for element in ["<g class=\"node", "<tr ", "<article "] {
            let found = page.split(element).skip(1).any(|it| {
                let tag = it.split('>').next().unwrap_or_default();
                tag.contains(&format!("data-node=\"{id}\""))
            });
            assert!(found, "{element} of {id}");
        }
    }
}

#[test]
fn time_lines_show_what_drivers_did() {
    let page = profile().html();
    for class in ["s-running", "s-spilling", "s-io"] {
        assert!(page.contains(&format!("<path class=\"{class}\"")), "{class}");
    }
    assert!(page.contains("pipeline 1, driver 1, running 25.0 ms, waits for files 45.0 ms"));
    assert!(page.contains("peak 5.0 MiB"));
}

#[test]
fn a_plan_without_a_run_has_a_page() {
    let page = QueryProfile::of_plan(&plan(), &[]).html();
    assert!(page.contains("The query did not run") && !page.contains("id=\"timeline\""));
}

#[test]
fn pages_have_a_bounded_size() {
    use volley_exec::{DriverState, DriverTimeline, TimeSegment};
    let mut profile = profile();
    let run = profile.run.as_mut().unwrap();
    // A time line as full as it can be.
    let at = |it: u32| run.elapsed * it / 2048;
    let segment = |it: u32| {
        let state = if it.is_multiple_of(2) { DriverState::Running } else { DriverState::Spilling };
        TimeSegment { state, position: 0, start: at(it), end: at(it + 1) }
    };
    let segments: Vec<TimeSegment> = (0..2048).map(segment).collect();
    let line = |driver| DriverTimeline { pipeline: 0, driver, segments: segments.clone() };
    let before = profile.html().len();
    profile.run.as_mut().unwrap().drivers.extend((1..9).map(line));
    let per_driver = (profile.html().len() - before) / 8;
    assert!(per_driver < 32 << 10, "{per_driver} bytes for a driver");
}
