use crate::{
    QueryProfile,
    testing::{plan, profile},
};

#[test]
fn the_verdict_names_what_took_time_and_what_was_wrong() {
    let sentences = profile().verdict();
    let expected = [
        "75 % of the time on threads (120.0 ms) is HashJoin",
        "3.0 MiB spilled to disk by HashJoin",
        "The optimizer expected 1,000 rows from HashJoin",
        "Drivers waited 45.0 ms for files.",
        "One driver of hash join probe (HashJoin",
    ];
    assert_eq!(sentences.len(), 4, "{sentences:#?}");
    for (sentence, expected) in sentences.iter().zip(expected) {
        assert!(sentence.starts_with(expected), "{sentence}");
    }
    assert!(sentences[2].ends_with("there were 50,000."), "{}", sentences[2]);
}

#[test]
fn a_failure_comes_first() {
    let mut profile = profile();
    profile.run.as_mut().unwrap().error = Some("out of memory".to_owned());
    assert_eq!(profile.verdict()[0], "The query failed: out of memory.");
    let plan_only = QueryProfile::of_plan(&plan(), &[]);
    assert_eq!(plan_only.verdict(), ["The query did not run: this is its plan."]);
}
