use super::{
    DistributionContext, RULES, distribute,
    search::{Kept, cheapest, cheapest_of},
};
use crate::testing::plan_for;
use expect_test::expect_file;
use std::{collections::BTreeSet, fmt::Write};
use volley_plan::{DistributedPlan, PlanNode, Routing, TableHandle, TaskCount};
use volley_tpch::QUERIES;

/// Rows of the tables of tests that matter here.
fn table_rows(table: &TableHandle) -> Option<u64> {
    Some(match table.table.as_str() {
        "t" | "k" => 1000,
        "s" => 100_000,
        "u" => 50,
        "region" => 5,
        "nation" => 25,
        "supplier" => 10_000,
        "part" => 200_000,
        "partsupp" => 800_000,
        "customer" => 150_000,
        "orders" => 1_500_000,
        "lineitem" => 6_001_215,
        _ => return None,
    })
}

fn plan_without(sql: &str, disabled: &[&str]) -> DistributedPlan {
    let plan = plan_for(sql, &[], 2).unwrap().lowered;
    let disabled_rules: BTreeSet<String> = disabled.iter().map(|it| (*it).to_owned()).collect();
    let context = DistributionContext {
        tasks: 4,
        table_rows: &table_rows,
        is_everywhere: &|_| true,
        disabled_rules: &disabled_rules,
    };
    let plan = DistributedPlan::cut(&distribute(&plan, &context).unwrap()).unwrap();
    check(&plan);
    plan
}

fn plan(sql: &str) -> DistributedPlan {
    plan_without(sql, &[])
}

/// One task has the result; scans of one task are those of recursions.
fn check(plan: &DistributedPlan) {
    let last = plan.fragments.last().unwrap();
    assert!(last.tasks == TaskCount::One && last.outputs.is_empty(), "{plan}");
    for fragment in &plan.fragments {
        let has = |kind: &str| fragment.plan.walk().iter().any(|it| it.node.kind() == kind);
        let is_single = fragment.tasks == TaskCount::One;
        assert!(!is_single || !has("TableScan") || has("RecursiveUnion"), "{plan}");
        let is_cut = |it: &PlanNode| !matches!(it, PlanNode::Exchange(it) if it.routing != Routing::Replicate);
        assert!(fragment.plan.walk().iter().all(|it| is_cut(it.node)) && !has("Shared"), "{plan}");
        assert!(is_single || !has("Values") && !has("TopN all"), "{plan}");
    }
}

fn routings(plan: &DistributedPlan) -> Vec<String> {
    let outputs = plan.fragments.iter().flat_map(|it| &it.outputs);
    outputs.map(|it| it.routing.to_string()).collect()
}

#[test]
fn groups_are_exchanged_after_they_were_aggregated() {
    let sql = "SELECT a, sum(b) FROM s GROUP BY a";
    assert_eq!(routings(&plan(sql)), ["hash [#0]", "gather"]);
    assert!(plan(sql).fragments[0].plan.to_string().contains("Aggregation Partial"));
    let raw = plan_without(sql, &["groups_below_exchanges"]);
    assert!(!raw.fragments[0].plan.to_string().contains("Aggregation"), "{raw}");
    assert_eq!(routings(&plan("SELECT count(*) FROM s")), ["gather"]);
}

#[test]
fn a_group_by_of_more_keys_needs_no_further_exchange() {
    let sql = "SELECT a, b, count(*) FROM \
               (SELECT a, b, row_number() OVER (PARTITION BY a ORDER BY d) FROM s) \
               GROUP BY a, b";
    let plan = plan(sql);
    let hashes = routings(&plan).iter().filter(|it| it.starts_with("hash")).count();
    assert_eq!(hashes, 1, "{plan}");
}

#[test]
fn small_build_sides_are_copied() {
    let sql = "SELECT s.b FROM s JOIN u ON s.a = u.a";
    let copied = routings(&plan_without(sql, &["replicated_builds"]));
    assert!(copied.contains(&"broadcast".to_owned()));
    let moved = routings(&plan_without(sql, &["broadcast_joins", "replicated_builds"]));
    assert_eq!(moved.iter().filter(|it| it.starts_with("hash")).count(), 2, "{moved:?}");
}

#[test]
fn every_task_scans_small_build_sides() {
    let sql = "SELECT s.b FROM s JOIN u ON s.a = u.a";
    let replicated = plan(sql);
    assert_eq!(routings(&replicated), ["gather"]);
    assert!(
        replicated.fragments[0].plan.to_string().contains("Exchange replicate"),
        "{replicated}"
    );
    // Rows that are returned by themselves are in one task each.
    let outer = "SELECT s.b, u.e FROM s RIGHT JOIN u ON s.a = u.a";
    assert!(!plan(outer).to_string().contains("replicate"));
    // A table of unknown size is not.
    let unknown = "SELECT s.b FROM s JOIN (SELECT a, count(*) FROM u GROUP BY a) v ON s.a = v.a";
    assert!(!plan(unknown).to_string().contains("replicate"));
}

#[test]
fn the_search_finds_the_cheapest_of_all_plans() {
    let joins = "SELECT count(*) FROM s x JOIN t y ON x.b = y.b JOIN s z ON y.b = z.b";
    let groups = "SELECT x.a, count(*) FROM s x JOIN s y ON x.a = y.a GROUP BY x.a";
    let tpch = [2, 3, 11, 12, 13].map(|it| QUERIES[it]);
    for sql in [joins, groups].into_iter().chain(tpch) {
        for disabled in [&[][..], &["broadcast_joins"], &["replicated_builds", "local_joins"]] {
            let plan = plan_for(sql, &[], 2).unwrap().lowered;
            let disabled: BTreeSet<String> = disabled.iter().map(|it| (*it).to_owned()).collect();
            let context = DistributionContext {
                tasks: 4,
                table_rows: &table_rows,
                is_everywhere: &|_| true,
                disabled_rules: &disabled,
            };
            let found = cheapest(&plan, &context).unwrap().cost;
            let all = cheapest_of(&plan, &context, Kept::All).unwrap().cost;
            let greedy = cheapest_of(&plan, &context, Kept::One).unwrap().cost;
            assert!((found - all).abs() < 1.0 && found <= greedy, "{sql}: {found} {all} {greedy}");
        }
    }
}

#[test]
fn joins_on_one_key_exchange_each_input_once() {
    let sql = "SELECT count(*) FROM s x JOIN s y ON x.b = y.b JOIN s z ON y.b = z.b";
    let hashes = |disabled: &[&str]| {
        let plan = plan_without(sql, disabled);
        routings(&plan).iter().filter(|it| it.starts_with("hash")).count()
    };
    assert_eq!(hashes(&["broadcast_joins"]), 3);
    assert_eq!(hashes(&["broadcast_joins", "local_joins"]), 4);
}

#[test]
fn rows_of_outer_joins_that_are_padded_are_anywhere() {
    let sql = "SELECT y.b, count(*) FROM s x FULL JOIN s y ON x.b = y.b GROUP BY y.b";
    let hashes = routings(&plan(sql)).iter().filter(|it| it.starts_with("hash")).count();
    assert_eq!(hashes, 3);
}

#[test]
fn not_in_needs_all_build_rows_in_every_task() {
    let sql = "SELECT count(*) FROM s WHERE c NOT IN (SELECT c FROM s WHERE b > 3)";
    for disabled in [&["replicated_builds"][..], &["replicated_builds", "broadcast_joins"]] {
        assert!(routings(&plan_without(sql, disabled)).contains(&"broadcast".to_owned()));
    }
    assert!(plan(sql).to_string().contains("Exchange replicate"));
}

#[test]
fn orders_and_limits_begin_in_each_task() {
    let sorted = "SELECT a FROM s ORDER BY b";
    assert_eq!(routings(&plan(sorted)), ["merge #1"]);
    assert_eq!(routings(&plan_without(sorted, &["sort_below_exchanges"])), ["gather"]);
    let count = |sql: &str, kind: &str, disabled: &[&str]| {
        let plan = plan_without(sql, disabled);
        plan.to_string().lines().filter(|it| it.trim_start().starts_with(kind)).count()
    };
    let (top_n, limit) = ("SELECT a FROM s ORDER BY b LIMIT 3 OFFSET 2", "SELECT a FROM s LIMIT 3");
    assert_eq!(count(top_n, "TopN #1 limit=5", &[]), 1);
    assert_eq!(count(top_n, "TopN", &["limit_below_exchanges"]), 1);
    assert_eq!(count(limit, "Limit 3", &[]), 2);
    assert_eq!(count(limit, "Limit 3", &["limit_below_exchanges"]), 1);
}

#[test]
fn a_common_table_expression_is_one_fragment_with_two_outputs() {
    let sql = "WITH c AS MATERIALIZED (SELECT a, sum(b) AS n FROM s GROUP BY a) \
               SELECT count(*) FROM c x JOIN c y ON x.n = y.n";
    let plan = plan(sql);
    assert!(plan.fragments.iter().any(|it| it.outputs.len() == 2), "{plan}");
}

#[test]
fn recursions_run_in_one_task() {
    let sql = "WITH RECURSIVE r(n) AS (SELECT a FROM s UNION ALL SELECT n + 1 FROM r WHERE n < 9) \
               SELECT count(*) FROM r";
    let plan = plan(sql);
    let fragment = plan.fragments.iter().find(|it| it.plan.to_string().contains("RecursiveUnion"));
    assert_eq!(fragment.unwrap().tasks, TaskCount::One);
    assert_eq!(plan.fragments[0].tasks, TaskCount::All, "{plan}");
}

#[test]
fn constant_rows_stay_in_one_task() {
    let plan = plan("SELECT x FROM (VALUES (1), (2)) v(x) ORDER BY x");
    assert_eq!(plan.fragments.len(), 1, "{plan}");
}

#[test]
fn exchanges_that_were_placed_by_hand_stay() {
    let plan = plan_for("SELECT a FROM s", &[], 2).unwrap().lowered;
    let registry = std::sync::Arc::default();
    let by_hand = volley_plan::PlanBuilder::from_plan(&registry, plan)
        .exchange_tasks(TaskCount::All, |_| Ok(Routing::Gather))
        .build()
        .unwrap();
    let context = DistributionContext {
        tasks: 4,
        table_rows: &table_rows,
        is_everywhere: &|_| true,
        disabled_rules: &BTreeSet::new(),
    };
    let distributed = distribute(&by_hand, &context).unwrap();
    assert_eq!(distributed.to_string(), by_hand.to_string());
}

#[test]
fn one_task_scans_a_table_that_is_in_one_process() {
    let sql = "SELECT u.e, count(*) FROM s JOIN u ON s.a = u.a GROUP BY u.e";
    let plan = plan_for(sql, &[], 2).unwrap().lowered;
    let context = DistributionContext {
        tasks: 4,
        table_rows: &table_rows,
        is_everywhere: &|it| it.table == "s",
        disabled_rules: &BTreeSet::new(),
    };
    let plan = DistributedPlan::cut(&distribute(&plan, &context).unwrap()).unwrap();
    for fragment in &plan.fragments {
        let text = fragment.plan.to_string();
        assert!(!text.contains("TableScan u") || fragment.tasks == TaskCount::One, "{plan}");
        assert!(!text.contains("TableScan s") || fragment.tasks == TaskCount::All, "{plan}");
    }
    let text = plan.to_string();
    assert!(text.contains("TableScan u") && text.contains("TableScan s"), "{plan}");
}

/// Fragments with the kinds of their nodes.
fn outline(plan: &DistributedPlan) -> String {
    let mut text = String::new();
    for (id, fragment) in plan.fragments.iter().enumerate().rev() {
        let _ = writeln!(text, "  fragment {id} {fragment}");
        for visit in fragment.plan.walk() {
            let name = match visit.node {
                PlanNode::TableScan(scan) => format!("TableScan {}", scan.table.table),
                PlanNode::PageSource(_) => visit.node.label(),
                PlanNode::Exchange(it) => format!("Exchange {}", it.routing),
                PlanNode::HashJoin(join) => format!("HashJoin {}", join.kind),
                PlanNode::Aggregation(it) => format!("Aggregation {:?}", it.step),
                PlanNode::Project(_) | PlanNode::LocalExchange(_) | PlanNode::Filter(_) => continue,
                node => node.kind().to_owned(),
            };
            let _ = writeln!(text, "    {:indent$}{name}", "", indent = visit.depth);
        }
    }
    text
}

#[test]
fn the_distributed_plans_of_tpch() {
    let mut text = String::new();
    for (number, sql) in QUERIES.iter().enumerate() {
        let _ = write!(text, "query {}\n{}", number + 1, outline(&plan(sql)));
        for rule in RULES {
            plan_without(sql, &[rule.name]);
        }
    }
    expect_file!["tpch.txt"].assert_eq(&text);
}
