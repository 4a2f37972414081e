use super::*;
use crate::{JoinKind, PlanBuilder};
use volley_error::ErrorKind;
use volley_function::Registry;
use volley_types::Value;

fn rows(name: &str) -> PlanBuilder {
    let columns = [(name, Type::BigInt), ("s", Type::Varchar)];
    PlanBuilder::new(&Arc::new(Registry::new())).values(&columns, vec![vec![Value::Null; 2]])
}

/// A join of partitions.
fn radix_join() -> PlanBuilder {
    let side = |name| rows(name).radix_partition(&[name], 2..6);
    side("a").zip(side("b")).nested_map(5, |tuple| {
        let build = tuple.clone().row_scan("#2");
        tuple.row_scan("#1").hash_join(JoinKind::Full, build, &[("a", "b")])
    })
}

#[test]
fn sub_operators_are_printed_and_saved() {
    let plan = radix_join().materialize().row_scan("rows").build().unwrap();
    let text = plan.to_string();
    for line in [
        "RowScan #0",
        "  Materialize",
        "    NestedMap 5",
        "      Zip",
        "        Partition radix(#0, bits 2..6)",
        "        RowScan #1",
        "          Parameter 5",
    ] {
        assert!(text.contains(&format!("{line}\n")), "{line}:\n{text}");
    }
    let bytes = plan.to_bytes().unwrap();
    let again = PlanNode::from_bytes(&bytes, &Registry::new()).unwrap();
    assert_eq!(format!("{again:?}"), format!("{plan:?}"));
    for end in 0..bytes.len() {
        assert!(PlanNode::from_bytes(&bytes[..end], &Registry::new()).is_err());
    }
}

#[test]
fn probes_are_saved_and_need_a_table() {
    let table = || rows("b").build_table(&["b"]);
    for kind in [JoinKind::Left, JoinKind::RightSemi, JoinKind::LeftMark] {
        let plan = rows("a").probe(kind, &["a"], table()).build().unwrap();
        plan.check(&Registry::new()).unwrap();
        let bytes = plan.to_bytes().unwrap();
        let again = PlanNode::from_bytes(&bytes, &Registry::new()).unwrap();
        assert_eq!(format!("{again:?}"), format!("{plan:?}"));
    }
    let refused = [
        rows("a").probe(JoinKind::Inner, &["a"], rows("b")),
        rows("a").probe(JoinKind::Inner, &["s"], table()),
        rows("a").probe(JoinKind::Inner, &["a", "s"], table()),
        rows("a").probe(JoinKind::Inner, &[], rows("b").build_table(&[])),
    ];
    for plan in refused {
        let checked = plan.build().unwrap().check(&Registry::new());
        assert_eq!(checked.unwrap_err().kind(), ErrorKind::InvalidQuery);
    }
}

#[test]
fn the_columns_follow_from_the_inputs() {
    let names = |plan: PlanBuilder| {
        let fields = plan.schema().unwrap().fields;
        fields.iter().map(|it| format!("{} {}", it.name, it.data_type)).collect::<Vec<_>>()
    };
    assert_eq!(names(rows("a").histogram(&["a"], 0..3)), ["pid BIGINT", "rows BIGINT"]);
    let partition = names(rows("a").radix_partition(&["s"], 0..3));
    assert_eq!(partition[0], "pid BIGINT");
    assert!(partition[1].starts_with("partition "), "{partition:?}");
    assert_eq!(names(rows("a").materialize().row_scan("rows")), ["a BIGINT", "s VARCHAR"]);
    assert_eq!(names(radix_join()).len(), 4);
}

#[test]
fn inputs_that_do_not_fit_are_refused() {
    let plans = [
        rows("a").row_scan("a"),
        rows("a").row_scan("#7"),
        rows("a").zip(rows("b").materialize()),
        rows("a").radix_partition(&["x"], 0..3),
        rows("a").radix_partition(&["a"], 0..17),
        rows("a").histogram(&["a"], 60..70),
    ];
    for plan in plans {
        assert_eq!(plan.build().unwrap_err().kind(), ErrorKind::InvalidQuery);
    }
    // A parameter of other columns than the tuples of its map.
    let parameter = Parameter { map: 1, schema: rows("a").schema().unwrap() };
    let parameter = SubNode::new(SubOperator::Parameter(parameter), Vec::new()).unwrap();
    let registry = Arc::new(Registry::new());
    let parameter = PlanBuilder::from_plan(&registry, Arc::new(PlanNode::Sub(parameter)));
    let plan = rows("a").materialize().nested_map(1, |_| parameter).build().unwrap();
    assert_eq!(plan.check(&registry).unwrap_err().kind(), ErrorKind::InvalidQuery);
}
