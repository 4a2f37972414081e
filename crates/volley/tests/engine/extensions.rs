//! Plan nodes, operators, table functions and types from outside: as an extension's author meets
//! them, with everything that can be wrong.

use std::sync::Arc;
use volley::{
    Batch, CustomNode, CustomPlanNode, Error, ErrorKind, Field, MemoryTable, PlanBuilder, PlanNode,
    Result, Schema, Session, SessionBuilder, Settings, Table, Type, Value, Vector,
    custom::{CustomType, Json},
    exec::{BlockedOn, Lowering, Operator, PipelineBuilder, Step, StepContext},
    function::{FunctionDoc, aggregate, simple},
    state::BatchCharge,
};

/// Puts out the rows of its input from the last to the first.
#[derive(Debug)]
struct Reverse;

impl CustomNode for Reverse {
    fn name(&self) -> &str {
        "Reverse"
    }

    fn schema(&self, inputs: &[&Schema]) -> Result<Schema> {
        match inputs {
            [input] => Ok((*input).clone()),
            _ => Err(Error::invalid_query("Reverse has one input")),
        }
    }
}

fn lower_reverse(
    node: &CustomPlanNode,
    mut inputs: Vec<PipelineBuilder>,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    node.downcast::<Reverse>()?;
    let mut pipeline = cx.gather(inputs.remove(0));
    cx.add(&mut pipeline, "reverse", |cx| {
        Ok(Box::new(ReverseOperator {
            charge: BatchCharge::new(&cx.pool),
            kept: Vec::new(),
            input_done: false,
        }))
    });
    Ok(pipeline)
}

/// Keeps all batches, charged.
struct ReverseOperator {
    charge: BatchCharge,
    kept: Vec<Batch>,
    input_done: bool,
}

impl Operator for ReverseOperator {
    fn name(&self) -> &'static str {
        "reverse"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        let input = input.loaded()?;
        self.charge.add(&input)?;
        self.kept.push(input);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        Ok(())
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        if !self.input_done {
            return Ok(Step::NeedInput);
        }
        let Some(batch) = self.kept.pop() else { return Ok(Step::Finished) };
        self.charge.remove(&batch);
        let order: Vec<u32> = (0..batch.rows() as u32).rev().collect();
        Ok(Step::Output(batch.gather(&order)?))
    }
}

/// A source: the numbers below `end`, each driver its part; and what goes wrong.
#[derive(Clone, Copy, Debug)]
enum Numbers {
    Below(i64),
    /// Puts out a column of another type than it promises.
    OfAnotherType,
    /// Puts out a column more than it promises.
    Wider,
    Panicking,
}

impl CustomNode for Numbers {
    fn name(&self) -> &str {
        "Numbers"
    }

    fn schema(&self, inputs: &[&Schema]) -> Result<Schema> {
        if !inputs.is_empty() {
            return Err(Error::invalid_query("Numbers has no input"));
        }
        Ok([Field::new("n", Type::BigInt)].into_iter().collect())
    }

    fn details(&self) -> String {
        format!("{self:?}")
    }
}

fn lower_numbers(
    node: &CustomPlanNode,
    _inputs: Vec<PipelineBuilder>,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let numbers = *node.downcast::<Numbers>()?;
    let drivers = cx.task().drivers;
    Ok(cx.source("numbers", drivers, move |cx| {
        let (next, step) = (cx.driver as i64, cx.drivers as i64);
        Ok(Box::new(NumbersSource { numbers, next, step, waited: false }))
    }))
}

struct NumbersSource {
    numbers: Numbers,
    next: i64,
    step: i64,
    waited: bool,
}

impl Operator for NumbersSource {
    fn name(&self) -> &'static str {
        "numbers"
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Err(Error::internal("a source takes no input"))
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        if !self.waited {
            // Waits once, for something that has happened already.
            self.waited = true;
            cx.waker.wake_by_ref();
            return Ok(Step::Blocked(BlockedOn::Io));
        }
        let column = Vector::native::<i64>(Type::BigInt, vec![self.next], None);
        let end = match self.numbers {
            Numbers::Below(end) => end,
            Numbers::OfAnotherType => {
                let text = Vector::from_values(Type::Varchar, &[Value::text("1")]);
                return Ok(Step::Output(Batch::new(vec![text], 1)));
            }
            Numbers::Wider => return Ok(Step::Output(Batch::new(vec![column.clone(), column], 1))),
            Numbers::Panicking => unreachable!("as the test wants"),
        };
        if self.next >= end {
            return Ok(Step::Finished);
        }
        self.next += self.step;
        Ok(Step::Output(Batch::new(vec![column], 1)))
    }
}

fn builder() -> SessionBuilder {
    Session::builder()
        .settings(Settings { threads: 2, batch_rows: 3, ..Settings::default() })
        .add_operator("Reverse", lower_reverse)
        .add_operator("Numbers", lower_numbers)
        .add_table_function("reverse", |call| {
            call.expect_arguments(1)?;
            call.made_by(call.scan(0)?.custom(Reverse))
        })
        .add_table_function("numbers", |call| {
            call.expect_arguments(1)?;
            call.made_by(PlanBuilder::new(call.registry).custom(Numbers::Below(call.integer(0)?)))
        })
}

fn session() -> Session {
    builder().build().unwrap()
}

fn rows(session: &Session, sql: &str) -> Vec<Vec<Value>> {
    session.sql(sql).and_then(|it| it.collect_values()).unwrap()
}

fn error(session: &Session, sql: &str) -> Error {
    session.sql(sql).and_then(|it| it.collect_values()).unwrap_err()
}

#[test]
fn operators_run_below_and_above_others() {
    let session = session();
    let sql = "SELECT n FROM numbers(100) WHERE n % 10 = 3 ORDER BY n LIMIT 3";
    assert_eq!(rows(&session, sql), [3, 13, 23].map(|it| vec![Value::BigInt(it)]));
    let sql = "SELECT count(*), sum(a.n) FROM numbers(50) a JOIN numbers(20) b ON a.n = b.n";
    assert_eq!(rows(&session, sql), [[Value::BigInt(20), Value::HugeInt(190)]]);
    let sql =
        "SELECT x.n FROM numbers(3) AS x WHERE x.n IN (SELECT n + 1 FROM numbers(5)) ORDER BY 1";
    assert_eq!(rows(&session, sql), [[Value::BigInt(1)], [Value::BigInt(2)]]);
}

#[test]
fn table_functions_take_tables_and_plans_take_the_place_of_tables() {
    let session = session();
    session.sql("CREATE TABLE t AS SELECT * FROM (VALUES (1), (2), (3), (4)) v(n)").unwrap();
    let reversed = [4, 3, 2, 1].map(|it| vec![Value::Integer(it)]);
    assert_eq!(rows(&session, "SELECT * FROM reverse(t)"), reversed);
    let plan = PlanBuilder::new(session.registry()).custom(Numbers::Below(4)).build().unwrap();
    session.register_plan("four", plan, []).unwrap();
    assert_eq!(rows(&session, "SELECT sum(n) FROM four"), [[Value::HugeInt(6)]]);
    // A table that a plan makes can be an argument, too, also of a name with other letters.
    assert_eq!(rows(&session, "SELECT sum(n) FROM REVERSE(Four) r"), [[Value::HugeInt(6)]]);
    session.sql("CREATE TABLE r AS SELECT * FROM reverse(t)").unwrap();
    assert_eq!(rows(&session, "SELECT * FROM r"), reversed);
    assert_eq!(rows(&session, "DESCRIBE SELECT * FROM four")[0][0], Value::text("n"));
}

#[test]
fn explain_shows_nodes_and_counts_their_rows() {
    let session = session();
    let text = |sql: &str| {
        let lines = rows(&session, sql).into_iter().flatten();
        lines.map(|it| it.as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>().join("\n")
    };
    let plan = text("EXPLAIN SELECT n FROM numbers(7) WHERE n > 2");
    assert!(plan.contains("Numbers Below(7)"), "{plan}");
    let analyzed = text("EXPLAIN ANALYZE SELECT n FROM numbers(7) WHERE n > 2");
    let mut below = analyzed.lines().skip_while(|it| !it.contains("Numbers Below(7)")).skip(1);
    let counts = below.next().unwrap_or_default();
    assert!(counts.contains("numbers: out 7 rows"), "{analyzed}");
}

#[test]
fn what_operators_keep_is_charged() {
    let settings =
        Settings { threads: 1, memory_limit_bytes: Some(8 << 20), ..Settings::default() };
    let session = builder().settings(settings).build().unwrap();
    let values: Vec<i64> = (0..1 << 16).collect();
    let schema: Schema = [Field::new("n", Type::BigInt)].into_iter().collect();
    // The table's own memory is another session's: only what the operator keeps counts here.
    let batches = (0..40).map(|_| {
        let column = Vector::native::<i64>(Type::BigInt, values.clone(), None);
        Batch::new(vec![column], values.len())
    });
    let other = Session::new().unwrap();
    let table = MemoryTable::new("big", schema, batches.collect(), other.pool()).unwrap();
    session.register_table("big", Arc::new(table)).unwrap();
    let found = error(&session, "SELECT count(*) FROM reverse(big)");
    assert_eq!(found.kind(), ErrorKind::OutOfMemory, "{found}");
    assert!(found.to_string().contains("reverse"), "{found}");
    session.set("memory_limit", "100MiB").unwrap();
    let count = rows(&session, "SELECT count(*) FROM reverse(big)");
    assert_eq!(count, [[Value::BigInt(40 << 16)]]);
}

#[test]
fn plans_are_checked_when_they_are_built() {
    let session = session();
    let start = || PlanBuilder::new(session.registry());
    let message = |it: PlanBuilder| it.build().unwrap_err().to_string();
    assert!(message(start().custom(Reverse)).contains("Reverse has one input"));
    let numbers = || start().custom(Numbers::Below(1));
    assert!(message(numbers().custom(Numbers::Below(1))).contains("Numbers has no input"));
    let two = numbers().custom_with(Reverse, vec![numbers()]);
    assert!(message(two).contains("Reverse has one input"));
    let broken = numbers().custom_with(Reverse, vec![start()]);
    assert!(message(broken).contains("a plan without a source"));
    let shared = numbers().shared(1).build().unwrap();
    let refused = session.register_plan("s", shared, []).unwrap_err();
    assert!(refused.to_string().contains("shared subplans"), "{refused}");
}

#[test]
fn plans_that_do_not_fit_together_are_refused_before_they_run() {
    let session = session();
    session.sql("CREATE TABLE t AS SELECT 1 AS a").unwrap().collect_values().unwrap();
    let start = || PlanBuilder::new(session.registry());
    let rows = || start().values(&[("n", Type::BigInt)], vec![vec![Value::BigInt(1)]]);
    let plan = rows().filter(|c| c.column("n")).build().unwrap();
    let message = "the condition is BIGINT, and not BOOLEAN";
    let refused = session.run_plan(Arc::clone(&plan), []).map(drop).unwrap_err();
    assert_eq!(refused.message(), message);
    assert_eq!(session.register_plan("p", plan, []).unwrap_err().message(), message);
    let bytes = rows().build().unwrap().to_bytes().unwrap();
    let plan = PlanNode::from_bytes(&bytes, session.registry()).unwrap();
    let result = session.run_plan(plan, []).unwrap().collect_values().unwrap();
    assert_eq!(result, [[Value::BigInt(1)]]);
}

#[test]
fn scans_of_columns_that_a_table_does_not_have_are_refused() {
    let session = session();
    let schema: Schema =
        [Field::new("a", Type::BigInt), Field::new("b", Type::Date)].into_iter().collect();
    let short: Schema = schema.fields[..1].iter().cloned().collect();
    let columns = vec![Vector::from_values(Type::BigInt, &[Value::BigInt(7)])];
    let batches = vec![Batch::new(columns, 1)];
    let table = MemoryTable::new("t", short, batches, session.pool()).unwrap();
    let table: Arc<dyn Table> = Arc::new(table);
    let run = |columns: &[&str], is_filtered: bool| {
        let plan = PlanBuilder::new(session.registry())
            .scan_filtered(table.handle(), &schema, columns, |c| {
                let filter = is_filtered.then(|| Ok(c.is_null(c.column("b")?)));
                filter.into_iter().collect()
            })
            .build()
            .unwrap();
        session.run_plan(plan, [Arc::clone(&table)]).and_then(|it| it.collect_values())
    };
    assert_eq!(run(&["a"], false).unwrap(), [[Value::BigInt(7)]]);
    let missing = run(&["b"], false).unwrap_err();
    assert_eq!(missing.message(), "t has no column #1 of type DATE");
    let filtered = run(&["a"], true).unwrap_err();
    assert_eq!(filtered.message(), "column #1 of 1");
}

#[test]
fn the_setting_for_tests_makes_plans_bytes() {
    let session = session();
    session.set("debug_save_plans", "on").unwrap();
    let plan = |it: &str| session.sql(it).and_then(|it| it.collect_values());
    assert_eq!(plan("SELECT 1").unwrap(), [[Value::Integer(1)]]);
    let numbers = PlanBuilder::new(session.registry()).custom(Numbers::Below(1)).build().unwrap();
    let refused = session.run_plan(numbers, []).map(drop).unwrap_err();
    assert_eq!(refused.message(), "the plan node Numbers cannot be saved");
}

/// A node of a name that leads to another node's function, or nowhere.
#[derive(Debug)]
struct Named(&'static str);

impl CustomNode for Named {
    fn name(&self) -> &str {
        self.0
    }

    fn schema(&self, _inputs: &[&Schema]) -> Result<Schema> {
        Ok(Schema::default())
    }
}

#[test]
fn what_operators_do_wrong_is_an_error() {
    let session = session();
    let start = || PlanBuilder::new(session.registry());
    let run = |plan: PlanBuilder| {
        let rows = session.run_plan(plan.build().unwrap(), []).and_then(|it| it.collect_values());
        rows.unwrap_err()
    };
    let missing = run(start().custom(Named("Revers")));
    assert_eq!(missing.kind(), ErrorKind::InvalidQuery);
    assert_eq!(missing.message(), "no operator for the plan node Revers");
    assert_eq!(missing.hint_text(), Some("did you mean Reverse?"));
    let other = run(start().custom(Named("Numbers")));
    assert!(other.message().contains("another plan node of the same name: Numbers"), "{other}");
    let promise = "its plan node declares rows of (BIGINT)";
    let found = run(start().custom(Numbers::OfAnotherType));
    assert_eq!(
        found.message(),
        format!("operator numbers returned 1 rows of (VARCHAR), {promise}")
    );
    let found = run(start().custom(Numbers::Wider));
    assert!(found.message().contains("1 rows of (BIGINT, BIGINT)"), "{found}");
    let found = run(start().custom(Numbers::Panicking));
    assert_eq!(found.kind(), ErrorKind::Internal);
    // The session goes on.
    assert_eq!(rows(&session, "SELECT count(*) FROM numbers(9)"), [[Value::BigInt(9)]]);
}

#[test]
fn arguments_of_table_functions_are_checked() {
    let session = session();
    session.sql("CREATE VIEW v AS SELECT 1 AS n").unwrap();
    session.sql("CREATE TABLE t AS SELECT 1 AS n").unwrap();
    for (sql, expected) in [
        ("SELECT * FROM numbers()", "table function numbers takes 1 arguments, not 0"),
        ("SELECT * FROM numbers('a')", "argument 1 of table function numbers is a whole number"),
        ("SELECT * FROM numbers(t)", "argument 1 of table function numbers is a whole number"),
        ("SELECT * FROM reverse(1)", "argument 1 of table function reverse is the name of a table"),
        ("SELECT * FROM reverse(nowhere)", "no such table: nowhere"),
        ("SELECT * FROM reverse(v)", "a view as argument of a table function"),
        ("SELECT * FROM reverse(1 + 1)", "this argument of a table function"),
        ("SELECT * FROM backwards(t)", "no such table function: backwards"),
    ] {
        let found = error(&session, sql);
        assert!(found.message().contains(expected), "{sql}: {found}");
        assert!(found.text_span().is_some(), "{sql}: {found}");
    }
}

/// A type of a name that is taken.
#[derive(Debug)]
struct Taken(&'static str);

impl CustomType for Taken {
    fn name(&self) -> &str {
        self.0
    }

    fn storage(&self) -> &Type {
        &Type::Varchar
    }

    fn push(&self, out: &mut String, stored: &Value) {
        out.push_str(stored.as_str().unwrap_or_default());
    }

    fn parse(&self, text: &str) -> Option<Value> {
        Some(Value::text(text))
    }
}

/// Counts.
struct Rows;

impl aggregate::simple::SimpleAggregate for Rows {
    type State = i64;
    type Args = ();
    type Partial = simple::BigInt;
    type Result = simple::BigInt;

    fn add(&self, state: &mut i64, (): ()) -> Result<()> {
        *state += 1;
        Ok(())
    }

    fn merge(&self, state: &mut i64, rows: i64) -> Result<()> {
        *state += rows;
        Ok(())
    }

    fn partial(&self, state: &i64) -> Result<Option<i64>> {
        Ok(Some(*state))
    }

    fn result(&self, state: &i64) -> Result<Option<i64>> {
        Ok(Some(*state))
    }
}

/// VECTOR(n): an array of n numbers.
fn vector(parameters: &[String]) -> Result<Type, String> {
    match parameters {
        [size] => match size.parse() {
            Ok(size @ 1..10) => Ok(Type::fixed_array(Type::Integer, size)),
            _ => Err(format!("a size of VECTOR: {size}")),
        },
        _ => Err("VECTOR takes a size".to_owned()),
    }
}

#[test]
fn parameters_make_types() {
    let session = Session::builder().add_parametric_type("Vector", Arc::new(vector)).build();
    let session = session.unwrap();
    session.sql("CREATE TABLE t (v VECTOR(2))").unwrap();
    session.sql("INSERT INTO t VALUES ([1, 2])").unwrap();
    let sql = "SELECT typeof(v) = typeof([1, 2]::INTEGER[2]), v[2] FROM t";
    let found = session.sql(sql).unwrap().collect_values().unwrap();
    assert_eq!(found, [[Value::Boolean(true), Value::Integer(2)]]);
    assert_eq!(error(&session, "SELECT NULL::vector").message(), "VECTOR takes a size");
    assert_eq!(error(&session, "SELECT NULL::vector(0)").message(), "a size of VECTOR: 0");
}

#[test]
fn names_that_are_taken_are_refused() {
    let identity = || simple::unary::<simple::BigInt, simple::BigInt, _>(|it| it);
    let rows = || aggregate::simple::bind(Rows);
    let doc = FunctionDoc::default;
    let refused = |it: SessionBuilder, expected: &str| {
        let error = it.build().err().unwrap();
        assert_eq!(error.message(), expected);
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
    };
    let start = Session::builder;
    let taken = "there is already a function called";
    refused(start().add_function("Upper", doc(), identity()), &format!("{taken} Upper"));
    refused(start().add_function("sum", doc(), identity()), &format!("{taken} sum"));
    refused(start().add_function("transform", doc(), identity()), &format!("{taken} transform"));
    refused(start().add_function("coalesce", doc(), identity()), &format!("{taken} coalesce"));
    refused(start().add_aggregate("upper", doc(), rows()), &format!("{taken} upper"));
    let twice = start().add_aggregate("r", doc(), rows()).add_function("r", doc(), identity());
    refused(twice, &format!("{taken} r"));
    refused(start().add_type(Json), "there is already a type called JSON");
    refused(start().add_type(Taken("INTEGER")), "there is already a type called INTEGER");
    refused(start().add_type(Taken("STRUCT")), "there is already a type called STRUCT");
    let vector = start().add_parametric_type("decimal", Arc::new(vector));
    refused(vector, "there is already a type called decimal");
    let twice = start().add_type(Taken("TAKEN")).add_type(Taken("taken"));
    refused(twice, "there is already a type called taken");
    let twice = builder().add_operator("Reverse", lower_reverse);
    refused(twice, "there is already an operator for plan nodes called Reverse");
    let twice = builder().add_table_function("NUMBERS", |call| Ok(Arc::clone(call.table(0)?)));
    refused(twice, "there is already a table function called NUMBERS");
    // An overload is wanted, and the name of a table function is another matter.
    let session = start()
        .add_overload("upper", doc(), identity())
        .add_table_function("upper", |call| Ok(Arc::clone(call.table(0)?)))
        .build();
    let sql = "SELECT upper('a'), upper(7)";
    let found = session.unwrap().sql(sql).unwrap().collect_values().unwrap();
    assert_eq!(found, [[Value::text("A"), Value::BigInt(7)]]);
}
