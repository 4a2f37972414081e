use super::*;
use crate::{Columns, CustomNodes, PlanBuilder, RangeRouting, TableHandle};
use volley_error::ErrorKind;
use volley_types::{Field, Schema, Type, Value};

fn registry() -> Arc<Registry> {
    Arc::new(Registry::new())
}

fn scan() -> PlanBuilder {
    let schema: Schema = [Field::new("n", Type::BigInt)].into_iter().collect();
    let table = TableHandle { connector: "memory".to_owned(), table: "t".to_owned() };
    PlanBuilder::new(&registry()).scan(table, &schema, &["n"])
}

fn hash(columns: &Columns) -> Result<Routing> {
    Ok(Routing::Hash(columns.positions(&["n"])?))
}

fn gather(_: &Columns) -> Result<Routing> {
    Ok(Routing::Gather)
}

fn cut(plan: PlanBuilder) -> Result<DistributedPlan> {
    DistributedPlan::cut(&plan.build()?)
}

/// A subplan that two fragments read.
fn shared_twice() -> PlanBuilder {
    let shared = scan().distinct().shared(4);
    let reader = || shared.clone().exchange_tasks(TaskCount::All, hash).distinct();
    reader().union(vec![reader()]).exchange_tasks(TaskCount::All, gather)
}

#[test]
fn a_plan_is_cut_at_its_exchanges() {
    let plan = scan()
        .exchange_tasks(TaskCount::All, hash)
        .distinct()
        .exchange_tasks(TaskCount::All, gather)
        .limit(0, 3);
    let plan = cut(plan).unwrap();
    plan.check(&registry()).unwrap();
    assert_eq!(
        plan.to_string(),
        "fragment 2 tasks=one\n  Limit 3\n    PageSource fragment 1\n\
         fragment 1 tasks=all -> fragment 2 gather\n  Aggregation Single keys=[#0]\n    \
         PageSource fragment 0\n\
         fragment 0 tasks=all -> fragment 1 hash [#0]\n  TableScan t [n]\n"
    );
}

#[test]
fn a_shared_subplan_is_a_fragment_with_several_outputs() {
    let plan = cut(shared_twice()).unwrap();
    plan.check(&registry()).unwrap();
    assert_eq!(plan.fragments.len(), 3);
    let outputs: Vec<_> = plan.fragments[0].outputs.iter().map(|it| it.to).collect();
    assert_eq!(outputs, [FragmentId(1), FragmentId(1)]);
    assert!(plan.to_string().contains("PageSource fragment 0 output 1"), "{plan}");
}

#[test]
fn exchanges_must_fit_the_numbers_of_tasks() {
    let to_several = scan().exchange_tasks(TaskCount::All, gather).distinct();
    let plan = to_several.exchange_tasks(TaskCount::All, gather);
    assert_eq!(cut(plan).unwrap_err().kind(), ErrorKind::Internal);
    let forward = scan().exchange_tasks(TaskCount::All, |_| Ok(Routing::Forward));
    assert_eq!(cut(forward).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn distributed_plans_are_read_as_written() {
    let key = crate::SortKey { column: 0, descending: true, nulls_first: true };
    let bounds = vec![vec![Value::BigInt(9)], vec![Value::Null]];
    let range = Routing::Range(RangeRouting { keys: vec![key], bounds });
    let sorted = scan().order_by(&["n desc nulls first"]);
    let plans = [
        shared_twice(),
        sorted.exchange_tasks(TaskCount::All, |_| Ok(Routing::Merge(vec![key]))),
        scan()
            .exchange_tasks(TaskCount::All, |_| Ok(range))
            .exchange_tasks(TaskCount::All, |_| Ok(Routing::Broadcast))
            .exchange_tasks(TaskCount::All, |_| Ok(Routing::Forward))
            .exchange_tasks(TaskCount::All, |_| Ok(Routing::Any))
            .exchange_tasks(TaskCount::All, gather),
    ];
    for plan in plans {
        let plan = cut(plan).unwrap();
        let bytes = plan.to_bytes().unwrap();
        let read =
            |bytes: &[u8]| DistributedPlan::from_bytes(bytes, &registry(), &CustomNodes::default());
        let found = read(&bytes).unwrap();
        assert_eq!(found.to_string(), plan.to_string());
        for (found, expected) in found.fragments.iter().zip(&plan.fragments) {
            assert_eq!(found.outputs, expected.outputs);
        }
        for end in 0..bytes.len() {
            assert!(read(&bytes[..end]).is_err());
        }
        let mut random = 1_u64;
        for _ in 0..2000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let mut damaged = bytes.clone();
            let position = (random >> 33) as usize % bytes.len();
            damaged[position] ^= (random >> 20) as u8;
            let _ = read(&damaged);
        }
    }
}

#[test]
fn fragments_that_do_not_match_are_refused() {
    type Change = fn(&mut DistributedPlan);
    let changes: [Change; 6] = [
        |it| it.fragments.clear(),
        |it| it.fragments[0].outputs[0].to = FragmentId(0),
        |it| it.fragments[0].outputs[0].to = FragmentId(2),
        |it| _ = it.fragments[0].outputs.pop(),
        |it| it.fragments[2].tasks = TaskCount::All,
        |it| it.fragments[0].outputs[0].routing = Routing::Hash(vec![1]),
    ];
    for change in changes {
        let mut plan = cut(shared_twice()).unwrap();
        change(&mut plan);
        assert_eq!(plan.check(&registry()).unwrap_err().kind(), ErrorKind::InvalidQuery);
    }
}
