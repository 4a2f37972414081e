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
    for plan in [
        join(JoinKind::LeftAnti).null_aware(),
        rows("a").aggregate(&[], &[]),
        rows("a").distinct().shared(1),
    ] {
        assert_eq!(expanded(plan.clone(), &all), plan.build().unwrap().to_string());
    }
}
