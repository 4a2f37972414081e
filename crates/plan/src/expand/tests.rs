use super::*;
use crate::PlanBuilder;
use volley_function::Registry;
use volley_types::{Type, Value};

fn rows(name: &str) -> PlanBuilder {
    let columns = [(name, Type::BigInt)];
    PlanBuilder::new(&Arc::new(Registry::new())).values(&columns, vec![vec![Value::Null]])
}

fn expanded(plan: PlanBuilder, expansions: &[&str]) -> String {
    let names = expansions.iter().map(|it| (*it).to_owned()).collect();
    let plan = Expander::new(names, 3).expand(&plan.build().unwrap()).unwrap();
    plan.check(&Registry::new()).unwrap();
    plan.check_ids().unwrap();
    plan.to_string()
}

fn join(kind: JoinKind) -> PlanBuilder {
    rows("a").hash_join(kind, rows("b"), &[("a", "b")])
}

#[test]
fn joins_and_groups_are_composed_of_sub_operators() {
    let plan = join(JoinKind::Full).distinct().limit(0, 1);
    assert_eq!(expanded(plan.clone(), &[]), plan.clone().build().unwrap().to_string());
    assert_eq!(
        expanded(plan, &["radix_joins", "partitioned_groups"]),
        "\
Limit 1
  NestedMap 1
    Partition radix(#0, #1, bits 0..3)
      NestedMap 0
        Zip
          Partition radix(#0, bits 0..3)
            Values (NULL)
          Partition radix(#0, bits 0..3)
            Values (NULL)
        HashJoin full on #0 = build #0 output=[#0 as a, #1 as b]
          RowScan #1
            Parameter 0
          RowScan #2
            Parameter 0
    Aggregation Single keys=[#0, #1]
      RowScan #1
        Parameter 1
"
    );
}

#[test]
fn what_does_not_divide_by_keys_stays() {
    let all = ["radix_joins", "partitioned_groups"];
    for plan in [join(JoinKind::LeftAnti).null_aware(), rows("a").aggregate(&[], &[])] {
        assert_eq!(expanded(plan.clone(), &all), plan.build().unwrap().to_string());
    }
}

#[test]
fn hash_joins_are_a_probe_of_a_table() {
    let kinds = [JoinKind::Inner, JoinKind::RightAnti, JoinKind::LeftMark, JoinKind::Full];
    for kind in kinds {
        let text = expanded(join(kind), &["build_probe"]);
        assert_eq!(
            text,
            format!("Probe {kind} #0\n  Values (NULL)\n  Build #0\n    Values (NULL)\n")
        );
    }
    let plan = join(JoinKind::Inner).distinct().order_by(&["a"]).build().unwrap();
    let shown = sub_operators(&plan).unwrap();
    let names: Vec<_> = shown.walk().iter().map(|it| sub_operator_name(it.node)).collect();
    assert_eq!(names, ["Sort", "ReduceByKey", "Probe", "Values", "Build", "Values"]);
}

#[test]
fn shared_subplans_stay_shared() {
    let shared = join(JoinKind::Inner).shared(1);
    let plan = shared.clone().hash_join(JoinKind::Inner, shared, &[("a", "b")]);
    let plan = sub_operators(&plan.build().unwrap()).unwrap();
    plan.check(&Registry::new()).unwrap();
    let visits = plan.walk();
    let kinds = |kind: &str| visits.iter().filter(|it| it.node.kind() == kind).count();
    assert_eq!((kinds("HashJoin"), kinds("Probe")), (0, 2), "{plan}");
}

#[test]
fn joins_on_one_key_partition_each_input_once() {
    let all = ["radix_joins", "join_sequences"];
    let sequence = |kind, key| join(kind).hash_join(JoinKind::Left, rows("c"), &[(key, "c")]);
    let count = |text: &str, name: &str| text.matches(name).count();
    let text = expanded(sequence(JoinKind::Inner, "b"), &all);
    assert_eq!((count(&text, "NestedMap"), count(&text, "Partition")), (1, 3), "{text}");
    let text = expanded(sequence(JoinKind::Inner, "b"), &["radix_joins"]);
    assert_eq!((count(&text, "NestedMap"), count(&text, "Partition")), (2, 4), "{text}");
    // Nulls of a padded side are in the partitions of the other side's keys.
    for (kind, key) in [(JoinKind::Left, "b"), (JoinKind::Right, "a"), (JoinKind::Full, "a")] {
        let text = expanded(sequence(kind, key), &all);
        assert_eq!(count(&text, "NestedMap"), 2, "{text}");
    }
    for (kind, key) in [(JoinKind::Left, "a"), (JoinKind::Right, "b")] {
        let text = expanded(sequence(kind, key), &all);
        assert_eq!(count(&text, "NestedMap"), 1, "{text}");
    }
}
