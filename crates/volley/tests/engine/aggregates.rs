//! Every aggregate of the registry over random rows: all ways to split the work into steps agree,
//! and so do DISTINCT, ORDER BY and FILTER with subqueries that do the same.
//!
//! `VOLLEY_FUZZ_SEEDS=1000..2000` runs other seeds.

mod settings;
mod simple;

use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc};
use volley::{
    Batch, Field, MemoryTable, PlanBuilder, PlanNode, Schema, Session, Settings, Table, Type,
    Value, Vector,
};
use volley_function::BoundAggregate;
use volley_plan::{Aggregate, AggregateStep, AggregationNode, PlanNodeId};
use volley_types::{CustomOrder, custom::Uuid};
use volley_vector::random::Generator;

/// Aggregates that are free to choose: only whether they answer null is compared.
const FREE: [&str; 2] = ["any_value", "arbitrary"];

/// Tables that the rows are spread over, one partial step each.
const PARTS: usize = 3;

/// The orders in which parts may come.
const ARRIVALS: [[usize; PARTS]; 6] =
    [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// The most overloads of an aggregate that are tried.
const OVERLOADS_MAX: usize = 30;

/// The types that arguments are tried with.
fn candidates() -> Vec<Type> {
    vec![
        Type::Boolean,
        Type::TinyInt,
        Type::Integer,
        Type::BigInt,
        Type::HugeInt,
        Type::Real,
        Type::Double,
        Type::decimal(12, 2),
        Type::decimal(38, 4),
        Type::Varchar,
        Type::Varbinary,
        Type::Date,
        Type::Timestamp,
        Type::Interval,
        Type::array(Type::Integer),
        Type::row([Field::new("a", Type::Integer), Field::new("b", Type::Varchar)]),
        Uuid::data_type(),
        Type::map(Type::Integer, Type::Varchar),
    ]
}

/// An aggregate, and for each argument the value that it has in all rows; `None`: random ones.
struct Case {
    bound: BoundAggregate,
    fixed: Vec<Option<Value>>,
}

/// All aggregates, by name, for the types that they take without a cast; of many of them some.
fn cases(session: &Session) -> BTreeMap<String, Vec<Case>> {
    let types = candidates();
    let mut lists = vec![vec![]];
    lists.extend(types.iter().map(|it| vec![it.clone()]));
    for left in &types {
        lists.extend(types.iter().map(|right| vec![left.clone(), right.clone()]));
    }
    let registry = session.registry();
    let of_name = |name: &String| {
        let bound = |args: &Vec<Type>| {
            registry.resolve_aggregate(name, args).ok().filter(|it| it.args == *args)
        };
        let is_random = |args: &&Vec<Type>| !settings::needs_settings(name, args);
        let free = lists.iter().filter(is_random).filter_map(bound);
        let free: Vec<BoundAggregate> = free.collect();
        let step = free.len().div_ceil(OVERLOADS_MAX).max(1);
        let free = free.into_iter().step_by(step).map(|bound| {
            let fixed = vec![None; bound.args.len()];
            Case { bound, fixed }
        });
        let set = settings::of(name).into_iter().map(|(args, fixed)| {
            let bound = registry.resolve_aggregate(name, &args).unwrap();
            assert_eq!(bound.args, args, "{name}");
            Case { bound, fixed }
        });
        (name.clone(), free.chain(set).collect())
    };
    let names = registry.aggregates().keys();
    names.filter(|it| !settings::OF_SKETCHES.contains(&it.as_str())).map(of_name).collect()
}

/// A random column. Floats are such that their sums are exact, and wide integers such that they do
/// not overflow: both would make the result depend on the order.
fn column(random: &mut Generator, data_type: &Type, rows: usize) -> Vector {
    let narrow = |random: &mut Generator, make: &dyn Fn(i64) -> Value| {
        let values = random.values(&Type::Integer, rows);
        let values: Vec<Value> = values
            .iter()
            .map(|it| match it {
                Value::Integer(value) => make((*value).into()),
                _ => Value::Null,
            })
            .collect();
        Vector::from_values(data_type.clone(), &values)
    };
    match data_type {
        Type::Real => narrow(random, &|it| Value::Real((it % 64) as f32 / 4.0)),
        Type::Double => narrow(random, &|it| match it % 100 {
            0 => Value::Double(f64::NAN),
            _ => Value::Double((it % 4096) as f64 / 4.0),
        }),
        Type::HugeInt => narrow(random, &|it| Value::HugeInt(i128::from(it) << 40)),
        Type::Decimal { precision: 38, .. } => narrow(random, &|it| Value::Decimal(it.into())),
        other => random.vector(other, rows).flatten().unwrap(),
    }
}

/// Columns `g` (groups), `k` (ascending), `p` (a condition), then the arguments `a0`, `a1`.
struct Rows {
    schema: Schema,
    batch: Batch,
    args: Vec<String>,
}

impl Rows {
    fn random(random: &mut Generator, case: &Case, groups: usize, rows: usize) -> Rows {
        let args = &case.bound.args;
        let groups: Vec<Value> = (0..rows)
            .map(|_| match random.below(groups + 1) {
                0 if groups > 1 => Value::Null,
                group => Value::BigInt(group.min(groups) as i64),
            })
            .collect();
        let order = (0..rows as i64).map(Value::BigInt).collect::<Vec<_>>();
        let mut columns = vec![
            Vector::from_values(Type::BigInt, &groups),
            Vector::from_values(Type::BigInt, &order),
            column(random, &Type::Boolean, rows),
        ];
        columns.extend(args.iter().zip(&case.fixed).map(|(it, fixed)| match fixed {
            Some(value) => Vector::from_values(it.clone(), &vec![value.clone(); rows]),
            None => column(random, it, rows),
        }));
        let mut fields = vec![
            Field::new("g", Type::BigInt),
            Field::new("k", Type::BigInt),
            Field::new("p", Type::Boolean),
        ];
        let names: Vec<String> = (0..args.len()).map(|it| format!("a{it}")).collect();
        fields.extend(names.iter().zip(args).map(|(name, it)| Field::new(name, it.clone())));
        let batch = Batch::new(columns, rows);
        Rows { schema: fields.into_iter().collect(), batch, args: names }
    }

    /// For people.
    fn text(&self) -> String {
        self.batch.columns().iter().map(|it| format!("\n  {it}")).collect()
    }

    fn table(&self, session: &Session, name: &str, rows: &[u32]) -> Arc<dyn Table> {
        let half = rows.len() / 2;
        let parts = [&rows[..half], &rows[half..]].map(|it| self.batch.gather(it).unwrap());
        let table = MemoryTable::new(name, self.schema.clone(), parts.into(), session.pool());
        Arc::new(table.unwrap())
    }
}

fn session(threads: usize) -> Session {
    let settings = Settings { threads, batch_rows: 7, ..Settings::default() };
    Session::builder().settings(settings).extend(simple::register).build().unwrap()
}

/// An aggregation of one function.
struct Call<'a> {
    bound: &'a BoundAggregate,
    keys: usize,
    args: Vec<usize>,
}

impl Call<'_> {
    /// The node of a step; its arguments are those of the first step, or the intermediate result.
    fn node(&self, step: AggregateStep, input: Arc<PlanNode>) -> Arc<PlanNode> {
        let args = if step.merges() { vec![self.keys] } else { self.args.clone() };
        let result = if step.finishes() { &self.bound.result } else { &self.bound.intermediate };
        let keys: Vec<usize> = (0..self.keys).collect();
        let mut fields: Vec<Field> =
            keys.iter().map(|it| input.schema().fields[*it].clone()).collect();
        fields.push(Field::new("result", result.clone()));
        let aggregate = Aggregate {
            function: self.bound.name.clone(),
            args,
            arg_types: self.bound.args.clone(),
            distinct: false,
            merges: false,
            filter: None,
            order_by: Vec::new(),
            place: volley_expression::SourceSpan::default(),
        };
        let (aggregates, schema) = (vec![aggregate], Schema::new(fields));
        Arc::new(PlanNode::Aggregation(AggregationNode {
            node_id: PlanNodeId::UNASSIGNED,
            input,
            step,
            keys,
            aggregates,
            schema,
        }))
    }

    fn steps(&self, input: Arc<PlanNode>, steps: &[AggregateStep]) -> Arc<PlanNode> {
        steps.iter().fold(input, |input, step| self.node(*step, input))
    }
}

/// The value of each group, by key.
type Answers = Vec<(String, Value)>;

fn run(session: &Session, plan: Arc<PlanNode>, tables: &[Arc<dyn Table>]) -> Answers {
    let rows = session.run_plan(PlanNode::numbered(plan), tables.iter().cloned());
    answers(rows.and_then(|it| it.collect_values()).unwrap())
}

fn run_sql(session: &Session, sql: &str) -> Answers {
    let rows = session.sql(sql).and_then(|it| it.collect_values());
    answers(rows.unwrap_or_else(|error| panic!("{sql}: {error}")))
}

fn answers(rows: Vec<Vec<Value>>) -> Answers {
    let mut answers: Answers = rows
        .into_iter()
        .map(|mut row| {
            let value = row.pop().unwrap();
            (format!("{row:?}"), value)
        })
        .collect();
    answers.sort_by(|left, right| left.0.cmp(&right.0));
    answers
}

/// The rows as text, in an order of no meaning.
fn query(session: &Session, sql: &str) -> Vec<String> {
    let rows = session.sql(sql).and_then(|it| it.collect_values()).unwrap();
    let cells = |row: &Vec<Value>| row.iter().map(|it| format!("{it:?}")).collect::<Vec<_>>();
    let mut rows: Vec<String> = rows.iter().map(|it| cells(it).join(" | ")).collect();
    rows.sort();
    rows
}

/// Whether the answers are the same: the same groups with equal values. Some aggregates of floats
/// are not exact, and some are free to choose.
fn agree(name: &str, left: &Answers, right: &Answers) -> bool {
    let agree_on = |left: &Value, right: &Value| match (left, right) {
        (left, right) if FREE.contains(&name) => (*left == Value::Null) == (*right == Value::Null),
        (Value::Double(left), Value::Double(right)) if left.is_finite() => {
            (left - right).abs() <= 1e-6 * (1.0 + left.abs())
        }
        (left, right) => format!("{left:?}") == format!("{right:?}"),
    };
    let mut pairs = left.iter().zip(right);
    left.len() == right.len() && pairs.all(|(a, b)| a.0 == b.0 && agree_on(&a.1, &b.1))
}

/// Single; partial, final; partial, intermediate, final; the partial results of several tables in
/// any order; the same over selected rows.
fn check_steps(random: &mut Generator, case: &Case, groups: usize) {
    let bound = &case.bound;
    use AggregateStep::{Final, Intermediate, Partial, Single};
    let is_free = FREE.contains(&bound.name.as_str());
    // Rows of one driver come in their order.
    let session = session(if bound.order_sensitive || random.below(3) > 0 { 1 } else { 2 });
    let count = random.below(60);
    let rows = Rows::random(random, case, groups, count);
    let all: Vec<u32> = (0..count as u32).collect();
    let whole = rows.table(&session, "whole", &all);
    let mut cuts = [random.below(count + 1), random.below(count + 1)];
    cuts.sort_unstable();
    let pieces = [&all[..cuts[0]], &all[cuts[0]..cuts[1]], &all[cuts[1]..]];
    let mut tables: Vec<Arc<dyn Table>> =
        (0..PARTS).map(|part| rows.table(&session, &format!("part{part}"), pieces[part])).collect();
    // Parts come in any order.
    let arrivals: Vec<Arc<dyn Table>> = ARRIVALS
        .iter()
        .filter(|_| bound.order_sensitive)
        .map(|order| {
            let all: Vec<u32> = order.iter().flat_map(|part| pieces[*part]).copied().collect();
            rows.table(&session, &format!("arrival{order:?}"), &all)
        })
        .collect();
    let holds = rows.batch.column(2).to_values().unwrap();
    let is_kept = |row: &u32| holds[*row as usize] == Value::Boolean(true);
    let kept: Vec<u32> = all.iter().copied().filter(is_kept).collect();
    let kept = rows.table(&session, "kept", &kept);
    tables.extend([Arc::clone(&whole), Arc::clone(&kept)]);
    tables.extend(arrivals.iter().cloned());
    for keys in [0, 1] {
        let call = Call { bound, keys, args: (keys..keys + bound.args.len()).collect() };
        let mut columns: Vec<&str> = if keys == 1 { vec!["g"] } else { vec![] };
        columns.extend(rows.args.iter().map(String::as_str));
        if columns.is_empty() {
            columns.push("g");
        }
        let scan_of = |table: &Arc<dyn Table>, columns: &[&str]| {
            let builder = PlanBuilder::new(session.registry());
            builder.scan(table.handle(), table.schema(), columns).build().unwrap()
        };
        let argument_columns = columns.clone();
        let scan = |table: &Arc<dyn Table>| scan_of(table, &argument_columns);
        let single =
            |table: &Arc<dyn Table>| run(&session, call.node(Single, scan(table)), &tables);
        let expected = vec![single(&whole)];
        let check = |what: &str, plan: Arc<PlanNode>, expected: &[Answers]| {
            let found = run(&session, plan, &tables);
            let same = expected.iter().any(|it| agree(&bound.name, &found, it));
            assert!(same, "{bound:?}, {what}: {found:?}, not {expected:?} of {}", rows.text());
        };
        let input = || scan(&whole);
        check("partial, final", call.steps(input(), &[Partial, Final]), &expected);
        let steps = [Partial, Intermediate, Intermediate, Final];
        check("partial, intermediate, final", call.steps(input(), &steps), &expected);
        let mut order: Vec<usize> = (0..PARTS).collect();
        if !bound.order_sensitive && !is_free {
            order.swap(0, random.below(PARTS));
        }
        let parts = || {
            let builder = |part: &usize| {
                let partial = call.node(Partial, scan(&tables[*part]));
                PlanBuilder::from_plan(session.registry(), partial)
            };
            let mut parts: Vec<PlanBuilder> = order.iter().map(builder).collect();
            let first = parts.remove(0);
            first.union(parts).build().unwrap()
        };
        let of_arrivals: Vec<Answers> = arrivals.iter().map(single).collect();
        let expected = if bound.order_sensitive { &of_arrivals } else { &expected };
        check("several partials, final", call.node(Final, parts()), expected);
        let steps = [Intermediate, Final];
        check("several partials, intermediate, final", call.steps(parts(), &steps), expected);
        // A filter wraps columns in dictionaries.
        columns.push("p");
        let filtered = PlanBuilder::from_plan(session.registry(), scan_of(&whole, &columns))
            .filter(|c| c.column("p"))
            .build();
        let filtered = run(&session, call.node(Single, filtered.unwrap()), &tables);
        let kept = run(&session, call.node(Single, scan_of(&kept, &columns)), &tables);
        let same = agree(&bound.name, &filtered, &kept);
        assert!(same, "{bound:?}, filtered: {filtered:?}, not {kept:?} of {}", rows.text());
    }
}

/// DISTINCT, ORDER BY and FILTER against subqueries; one thread keeps the order of the rows.
fn check_forms(random: &mut Generator, case: &Case, groups: usize) {
    let bound = &case.bound;
    let session = session(1);
    let count = 1 + random.below(40);
    let rows = Rows::random(random, case, groups, count);
    let all: Vec<u32> = (0..count as u32).collect();
    session.register_table("t", rows.table(&session, "t", &all)).unwrap();
    let reversed: Vec<u32> = all.iter().rev().copied().collect();
    session.register_table("reversed", rows.table(&session, "reversed", &reversed)).unwrap();
    let name = &bound.name;
    let args = if name == "count" && rows.args.is_empty() { "*" } else { &rows.args.join(", ") };
    let check = |what: &str, sql: String, expected: String| {
        let (found, expected) = (run_sql(&session, &sql), run_sql(&session, &expected));
        let same = agree(name, &found, &expected);
        assert!(same, "{bound:?}, {what}, {sql}: {found:?}, not {expected:?} of {}", rows.text());
    };
    check(
        "filter",
        format!("SELECT {name}({args}) FILTER (WHERE p) FROM t"),
        format!("SELECT {name}({args}) FROM t WHERE p"),
    );
    check(
        "filter by group",
        format!(
            "SELECT g, {name}({args}) FILTER (WHERE p) FROM t GROUP BY g \
             HAVING count(*) FILTER (WHERE p) > 0"
        ),
        format!("SELECT g, {name}({args}) FROM t WHERE p GROUP BY g"),
    );
    if rows.args.is_empty() {
        return;
    }
    // With ORDER BY, these regard the order of the rows.
    let ordered = match name.as_str() {
        "mode" => "mode_first",
        "min_by" | "arg_min" | "argmin" => "min_by_first",
        "max_by" | "arg_max" | "argmax" => "max_by_first",
        name => name,
    };
    check(
        "order",
        format!("SELECT g, {name}({args} ORDER BY k DESC) FROM t GROUP BY g"),
        format!("SELECT g, {ordered}({args}) FROM reversed GROUP BY g"),
    );
    if bound.args.iter().all(|it| it.order() == CustomOrder::Ordered) {
        let order = if bound.order_sensitive { " ORDER BY a0" } else { "" };
        if bound.order_sensitive && bound.args.len() > 1 {
            return;
        }
        check(
            "distinct",
            format!("SELECT g, {name}(DISTINCT {args}{order}) FROM t GROUP BY g"),
            format!(
                "SELECT g, {name}({args}{order}) FROM (SELECT DISTINCT g, {args} FROM t) GROUP BY g"
            ),
        );
    }
}

/// Whether `run` panics.
fn fails(run: impl FnOnce()) -> bool {
    std::panic::catch_unwind(AssertUnwindSafe(run)).is_err()
}

/// Runs `run` for each seed and says which one failed.
fn seeded(default: std::ops::Range<u64>, run: impl Fn(&mut Generator)) {
    let seeds = match std::env::var("VOLLEY_FUZZ_SEEDS") {
        Ok(text) => {
            let (start, end) = text.split_once("..").unwrap();
            start.parse().unwrap()..end.parse().unwrap()
        }
        Err(_) => default,
    };
    for seed in seeds {
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
            run(&mut Generator::new(seed));
        }));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

#[test]
fn all_ways_through_the_steps_agree() {
    let cases = cases(&session(1));
    let untested: Vec<_> = cases.iter().filter(|it| it.1.is_empty()).map(|it| it.0).collect();
    assert!(untested.is_empty(), "{untested:?}");
    seeded(1..3, |random| {
        let failed = cases.values().flatten().filter(|case| {
            let groups = *random.choose(&[1, 2, 40]);
            fails(|| check_steps(random, case, groups))
        });
        let failed: Vec<&BoundAggregate> = failed.map(|it| &it.bound).collect();
        assert!(failed.is_empty(), "{failed:?}");
    });
}

#[test]
fn distinct_order_and_filter_agree_with_subqueries() {
    let cases = cases(&session(1));
    seeded(1..3, |random| {
        let in_sql = cases.iter().filter(|it| !settings::OF_CONSTANTS.contains(&it.0.as_str()));
        let failed = in_sql.flat_map(|it| it.1).filter(|case| {
            let groups = *random.choose(&[1, 2, 40]);
            fails(|| check_forms(random, case, groups))
        });
        let failed: Vec<&BoundAggregate> = failed.map(|it| &it.bound).collect();
        assert!(failed.is_empty(), "{failed:?}");
    });
}
