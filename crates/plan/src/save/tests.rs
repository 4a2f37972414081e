use crate::LoopInvariant;
use crate::{
    Comparison, CustomNode, CustomNodes, FragmentId, GeneratorKind, JoinKind, PageSourceNode,
    PlanBuilder, PlanNode, PlanNodeId, RangeRouting, RecursiveUnionNode, Routing, SampleMethod,
    SortKey, TableHandle, TableWriteNode, TaskCount, WorkingTableNode, WriteTarget,
};
use std::sync::Arc;
use volley_error::{Error, ErrorKind, Result};
use volley_function::Registry;
use volley_types::{Field, Interval, Schema, Type, Value, custom::Uuid};
use volley_vector::save::{DEPTH_MAX, Reader, Writer};

fn registry() -> Arc<Registry> {
    let mut registry = Registry::new();
    registry.types_mut().add_plain(Uuid);
    Arc::new(registry)
}

fn numbers(rows: i64) -> PlanBuilder {
    let rows = (0..rows).map(|it| vec![Value::BigInt(it), Value::text("x"), Value::Null]).collect();
    let columns = [("n", Type::BigInt), ("t", Type::Varchar), ("u", Uuid::data_type())];
    PlanBuilder::new(&registry()).values(&columns, rows)
}

/// One row of every type that has literals.
fn literals() -> PlanBuilder {
    let row = Type::row([Field::new("a", Type::Integer), Field::new("b", Type::Varchar)]);
    let interval = Interval { months: 1, days: -2, nanoseconds: 3 };
    let entry = (Value::text("k"), Value::Double(-0.0));
    let values = [
        (Type::Unknown, Value::Null),
        (Type::Boolean, Value::Boolean(true)),
        (Type::TinyInt, Value::TinyInt(-1)),
        (Type::SmallInt, Value::SmallInt(i16::MIN)),
        (Type::Integer, Value::Integer(7)),
        (Type::HugeInt, Value::HugeInt(i128::MAX)),
        (Type::Real, Value::Real(f32::NAN)),
        (Type::Double, Value::Double(f64::NEG_INFINITY)),
        (Type::Decimal { precision: 3, scale: 1 }, Value::Decimal(-999)),
        (Type::Varbinary, Value::Varbinary([0, 255].into())),
        (Type::Date, Value::Date(-1)),
        (Type::Time, Value::Time(1)),
        (Type::Timestamp, Value::Timestamp(i64::MAX)),
        (Type::Interval, Value::Interval(interval)),
        (Type::array(Type::Varchar), Value::Array([Value::text("日本"), Value::Null].into())),
        (Type::fixed_array(Type::Boolean, 1), Value::Array([Value::Boolean(false)].into())),
        (Type::map(Type::Varchar, Type::Double), Value::Map([entry].into())),
        (row, Value::Row([Value::Integer(1), Value::Null].into())),
        (Uuid::data_type(), Value::HugeInt(5)),
    ];
    let columns: Vec<(&str, Type)> = values.iter().map(|it| ("c", it.0.clone())).collect();
    let rows = vec![values.into_iter().map(|it| it.1).collect()];
    PlanBuilder::new(&registry()).values(&columns, rows)
}

fn recursion() -> Arc<PlanNode> {
    let anchor = numbers(2).build().unwrap();
    let schema = anchor.schema().clone();
    let kept = LoopInvariant { id: 8, input: numbers(3).build().unwrap() };
    let table = |id| {
        let node = WorkingTableNode {
            node_id: PlanNodeId::UNASSIGNED,
            id,
            name: "r".to_owned(),
            schema: schema.clone(),
        };
        PlanBuilder::from_plan(&registry(), Arc::new(PlanNode::WorkingTable(node)))
    };
    let step = table(7).union(vec![table(8)]).limit(0, 1).build().unwrap();
    let node = RecursiveUnionNode {
        node_id: PlanNodeId::UNASSIGNED,
        id: 7,
        anchor,
        step,
        kept: vec![kept],
        distinct: true,
        keys: vec![0],
        reads_all: true,
        schema,
    };
    Arc::new(PlanNode::RecursiveUnion(node))
}

fn writing() -> Arc<PlanNode> {
    Arc::new(PlanNode::TableWrite(TableWriteNode {
        node_id: PlanNodeId::UNASSIGNED,
        input: numbers(1)
            .project(|c| {
                let [n, t, u] = [c.column("n")?, c.column("t")?, c.column("u")?];
                Ok(vec![("n", n.clone()), ("t", t), ("u", u), ("violated", c.is_null(n))])
            })
            .build()
            .unwrap(),
        target: WriteTarget {
            sink: "csv".to_owned(),
            location: "out.csv".to_owned(),
            options: vec![("delimiter".to_owned(), "→".to_owned())],
        },
        column_names: ["a", "b", "c"].map(str::to_owned).to_vec(),
        checks: vec!["n is above 1".to_owned()],
        schema: [Field::new("rows", Type::BigInt)].into_iter().collect(),
    }))
}

/// Plans with nodes of all variants but those of other crates.
fn plans() -> Vec<Arc<PlanNode>> {
    let table = TableHandle { connector: "memory".to_owned(), table: "t".to_owned() };
    let schema: Schema =
        [Field::new("a", Type::Date), Field::new("b", Type::Boolean)].into_iter().collect();
    let is_null = |column: &'static str| move |c: &crate::Columns| Ok(c.is_null(c.column(column)?));
    let shared = numbers(5).aggregate(&["n", "t"], &[]).shared(3);
    let list = PlanBuilder::new(&registry()).values(
        &[("l", Type::array(Type::Date)), ("n", Type::BigInt)],
        vec![vec![Value::Array([Value::Date(1)].into()), Value::BigInt(2)]],
    );
    let keys: &[(&str, &str)] = &[("n", "n")];
    let key = SortKey { column: 0, descending: true, nulls_first: false };
    let bounds = vec![vec![Value::BigInt(1)], vec![Value::Null]];
    let range = RangeRouting { keys: vec![key], bounds };
    let pages = PageSourceNode {
        node_id: PlanNodeId::UNASSIGNED,
        fragment: FragmentId(3),
        output: 1,
        merge: vec![key],
        schema: schema.clone(),
    };
    let builders = [
        numbers(3).hash_partition(&["n"], 5),
        numbers(3).range_partition(&["n desc"], range.bounds.clone()),
        PlanBuilder::new(&registry())
            .scan_filtered(table, &schema, &["b"], |c| Ok(vec![c.is_null(c.column("a")?)]))
            .filter(|c| c.column("b")),
        literals(),
        numbers(3).project(|c| Ok(vec![("x", c.text("é")), ("y", c.column("n")?)])),
        numbers(3).group_id(&[&["n", "t"], &["t"], &[]], true).aggregate_in_parts(&["t"], &[]),
        numbers(3).window(&["t"], &["n desc nulls first"], &[]),
        numbers(3).hash_join(JoinKind::LeftAnti, numbers(4), keys).null_aware(),
        numbers(3).hash_join(JoinKind::Full, numbers(4), keys).join_condition(is_null("t")),
        numbers(3).nested_loop_join(JoinKind::LeftMark, numbers(1)).join_condition(is_null("t")),
        numbers(3).asof_join(
            JoinKind::Left,
            numbers(2),
            &[("t", "t")],
            ("n", Comparison::GreaterOrEqual, "n"),
        ),
        numbers(3).order_by(&["n"]).hash_join(JoinKind::Inner, numbers(2), keys).merged(),
        numbers(3).top_n(&["t", "n desc"], 1, u64::MAX),
        numbers(3).offset(2).gather(),
        numbers(3).order_by(&["n"]).group_limit(&["n"], 0, None),
        numbers(3).project(|c| Ok(vec![("t", c.column("t")?), ("n", c.column("n")?)])).repeat(),
        list.unnest(
            &["n"],
            &[
                (GeneratorKind::Elements, &["l"], &["e"]),
                (GeneratorKind::Series, &["n", "n", "n"], &["s"]),
            ],
            Some("i"),
            true,
        ),
        numbers(3).sample(SampleMethod::Rows(0.5), Some(1)).sample(SampleMethod::Number, None),
        numbers(3).unique_id("id").round_robin().enforce_single_row(),
        numbers(3).partition(&["t", "n"]),
        PlanBuilder::new(&registry()).task_input(schema.clone()).limit(0, 1),
        numbers(2).exchange_tasks(TaskCount::All, |_| Ok(Routing::Any)),
        numbers(2).exchange_tasks(TaskCount::One, |_| Ok(Routing::Range(range))),
        PlanBuilder::from_plan(&registry(), Arc::new(PlanNode::PageSource(pages))).limit(0, 1),
        shared.clone().hash_join(JoinKind::RightSemi, shared.clone(), keys).union(vec![shared]),
    ];
    let built = builders.into_iter().map(|it| it.build().unwrap());
    built.chain([recursion(), writing()].map(PlanNode::numbered)).collect()
}

#[test]
fn plans_of_all_nodes_come_back() {
    let registry = registry();
    for plan in plans() {
        let bytes = plan.to_bytes().unwrap();
        let again = PlanNode::from_bytes(&bytes, &registry).unwrap();
        assert_eq!(format!("{again:?}"), format!("{plan:?}"));
        assert_eq!(again.to_bytes().unwrap(), bytes);
    }
}

#[test]
fn a_shared_subplan_stays_one() {
    let shared = numbers(5).shared(3);
    let plan = shared.clone().union(vec![shared.clone(), shared]).build().unwrap();
    let bytes = plan.to_bytes().unwrap();
    let again = PlanNode::from_bytes(&bytes, &registry()).unwrap();
    let inputs: Vec<_> = again.inputs().into_iter().map(|it| it.inputs()[0]).collect();
    assert!(inputs.iter().all(|it| Arc::ptr_eq(it, inputs[0])));
}

#[test]
fn files_that_end_too_early_and_changed_bits_are_errors() {
    let registry = registry();
    for plan in plans() {
        let bytes = plan.to_bytes().unwrap();
        for len in 0..bytes.len() {
            assert!(PlanNode::from_bytes(&bytes[..len], &registry).is_err(), "cut at {len}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(PlanNode::from_bytes(&changed, &registry).is_err(), "bit {bit}");
        }
    }
}

/// The bytes of a plan with something else in them, and a checksum that fits.
fn changed(plan: &Arc<PlanNode>, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let bytes = plan.to_bytes().unwrap();
    let mut content = bytes[13..bytes.len() - 8].to_vec();
    change(&mut content);
    let mut writer = Writer::new(super::PLAN);
    writer.raw(&content);
    writer.finish()
}

#[test]
fn any_changed_byte_is_an_error_or_a_plan_that_fits_together() {
    let registry = registry();
    let (mut plans_read, mut errors) = (0, 0);
    for plan in plans() {
        let len = plan.to_bytes().unwrap().len() - 21;
        for at in 0..len {
            for byte in [0, 1, 2, 3, 26, 37, 255] {
                let bytes = changed(&plan, |it| it[at] = byte);
                match PlanNode::from_bytes(&bytes, &registry) {
                    Ok(read) => {
                        plans_read += 1;
                        // Nodes may come in another order.
                        let again = read.to_bytes().unwrap();
                        let again = PlanNode::from_bytes(&again, &registry).unwrap();
                        assert_eq!(format!("{again:?}"), format!("{read:?}"));
                    }
                    Err(error) => {
                        errors += 1;
                        assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
                    }
                }
            }
        }
    }
    assert!(plans_read > 1000 && errors > 1000, "{plans_read} plans, {errors} errors");
}

/// The message for a plan of other bytes.
#[track_caller]
fn refused(content: impl FnOnce(&mut Writer)) -> String {
    let mut writer = Writer::new(super::PLAN);
    writer.number(super::IDS_FOLLOW);
    content(&mut writer);
    let error = PlanNode::from_bytes(&writer.finish(), &registry()).unwrap_err();
    error.message().to_owned()
}

/// The beginning of a node.
fn node(writer: &mut Writer, variant: u8, id: u32) {
    writer.byte(variant);
    writer.raw(&id.to_le_bytes());
}

/// No rows of no columns.
fn nothing(writer: &mut Writer, id: u32) {
    node(writer, 1, id);
    writer.number(0);
    writer.number(0);
}

#[test]
fn nodes_that_do_not_hang_together_are_errors() {
    assert!(refused(|it| it.number(0)).contains("without nodes"));
    let two = refused(|it| {
        it.number(2);
        nothing(it, 0);
        nothing(it, 1);
    });
    assert!(two.contains("without a reader"), "{two}");
    let later = refused(|it| {
        it.number(2);
        node(it, 15, 0);
        it.number(1);
        it.number(0);
        nothing(it, 1);
    });
    assert!(later.contains("not saved before"), "{later}");
    let rest = refused(|it| {
        it.number(1);
        nothing(it, 0);
        it.byte(0);
    });
    assert!(rest.contains("after the end"), "{rest}");
}

#[test]
fn a_union_of_itself_that_doubles_is_refused_at_once() {
    let doubling = refused(|it| {
        it.number(61);
        nothing(it, 60);
        for below in 0..60 {
            node(it, 18, below);
            it.number(2);
            it.number(below as usize);
            it.number(below as usize);
            it.number(0);
        }
    });
    assert!(doubling.contains("several readers"), "{doubling}");
}

#[test]
fn readers_of_shared_readers_do_not_multiply() {
    let mut plan = numbers(1);
    for id in 0..60 {
        let shared = plan.shared(id);
        plan = shared.clone().union(vec![shared]);
    }
    let plan = plan.build().unwrap();
    let again = PlanNode::from_bytes(&plan.to_bytes().unwrap(), &registry()).unwrap();
    assert_eq!(again.to_string(), plan.to_string());
}

#[test]
fn many_rows_without_columns_take_as_many_bytes() {
    let rows = refused(|it| {
        it.number(1);
        node(it, 1, 0);
        it.number(0);
        it.number(1 << 40);
    });
    assert!(rows.contains("too short"), "{rows}");
}

#[test]
fn deep_plans_take_no_stack() {
    let mut plan = numbers(1);
    for _ in 0..100_000 {
        plan = plan.limit(0, 5);
    }
    let plan = plan.build().unwrap();
    let bytes = plan.to_bytes().unwrap();
    let again = PlanNode::from_bytes(&bytes, &registry()).unwrap();
    assert_eq!(again.to_bytes().unwrap(), bytes);
}

#[test]
fn ids_come_back_and_have_to_be_distinct() {
    let plan = numbers(1).limit(0, 5).offset(2).build().unwrap();
    let ids =
        |plan: &PlanNode| plan.walk().iter().map(|it| it.node.id().number()).collect::<Vec<_>>();
    assert_eq!(ids(&plan), [0, 1, 2]);
    // Before the id of the node without inputs come 0, the number of nodes, and the variant.
    let with_id = |id: u32| changed(&plan, |it| it[17..21].copy_from_slice(&id.to_le_bytes()));
    let again = PlanNode::from_bytes(&with_id(77), &registry()).unwrap();
    assert_eq!(ids(&again), [0, 1, 77]);
    let again = PlanNode::from_bytes(&again.to_bytes().unwrap(), &registry()).unwrap();
    assert_eq!(ids(&again), [0, 1, 77]);
    let twice = PlanNode::from_bytes(&with_id(1), &registry()).unwrap_err();
    assert_eq!(twice.message(), "several plan nodes have the id 1");
    let none = PlanNode::from_bytes(&with_id(u32::MAX), &registry()).unwrap_err();
    assert_eq!(none.message(), "a plan node has no id");
    let unnumbered = recursion().to_bytes().unwrap_err();
    assert_eq!(unnumbered.message(), "a plan node without an id cannot be saved");
}

#[test]
fn nodes_without_ids_get_ids() {
    let mut writer = Writer::new(super::PLAN);
    writer.number(2);
    // No rows of no columns, and a union of them.
    writer.byte(1);
    writer.number(0);
    writer.number(0);
    writer.byte(18);
    writer.number(1);
    writer.number(0);
    writer.number(0);
    let plan = PlanNode::from_bytes(&writer.finish(), &registry()).unwrap();
    let ids: Vec<u32> = plan.walk().iter().map(|it| it.node.id().number()).collect();
    assert_eq!(ids, [0, 1]);
}

/// Keeps the first rows; its number is a byte.
#[derive(Debug, PartialEq)]
struct First(u8);

impl CustomNode for First {
    fn name(&self) -> &str {
        "First"
    }

    fn schema(&self, inputs: &[&Schema]) -> Result<Schema> {
        match inputs {
            [input] if self.0 > 0 => Ok((*input).clone()),
            _ => Err(Error::invalid_query("First needs one input and at least one row")),
        }
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        Ok(vec![self.0])
    }
}

fn readers() -> CustomNodes {
    let mut readers = CustomNodes::default();
    let first = |bytes: &[u8], _: &Registry| match bytes {
        [rows] => Ok(Arc::new(First(*rows)) as Arc<dyn CustomNode>),
        _ => Err(Error::corruption("First is one byte")),
    };
    readers.add("First", first).unwrap();
    readers.add("Second", first).unwrap();
    assert!(readers.add("First", first).unwrap_err().message().contains("already a reader"));
    readers
}

#[test]
fn nodes_of_other_crates_come_back() {
    let plan = numbers(3).custom(First(2)).limit(0, 1).build().unwrap();
    let bytes = plan.to_bytes().unwrap();
    let again = PlanNode::from_bytes_with(&bytes, &registry(), &readers()).unwrap();
    assert_eq!(format!("{again:?}"), format!("{plan:?}"));
    let PlanNode::Custom(node) = &**again.inputs()[0] else { panic!("another node") };
    assert_eq!(node.downcast::<First>().unwrap(), &First(2));
    assert_eq!(node.node_id, PlanNodeId::new(1));
    let error = PlanNode::from_bytes(&bytes, &registry()).unwrap_err();
    assert_eq!(error.message(), "no reader of the plan node First");
}

#[test]
fn bytes_of_other_crates_nodes_are_not_trusted() {
    let plan = numbers(3).custom(First(2)).build().unwrap();
    let read = |change: &dyn Fn(&mut Vec<u8>)| {
        let bytes = changed(&plan, change);
        PlanNode::from_bytes_with(&bytes, &registry(), &readers()).map(drop)
    };
    assert!(read(&|_| ()).is_ok());
    let rows = read(&|it| *it.last_mut().unwrap() = 0).unwrap_err();
    assert!(rows.message().contains("at least one row"), "{rows}");
    let longer = read(&|it| {
        *it.iter_mut().nth_back(8).unwrap() = 2;
        it.push(9);
    });
    assert_eq!(longer.unwrap_err().kind(), ErrorKind::Corruption);
    let cut = read(&|it| *it.iter_mut().nth_back(8).unwrap() = 2);
    assert_eq!(cut.unwrap_err().kind(), ErrorKind::Corruption);
    let len = plan.to_bytes().unwrap().len() - 21;
    for at in 0..len {
        for byte in [0, 1, 5, 26, 255] {
            if let Err(error) = read(&|it| it[at] = byte) {
                assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
            }
        }
    }
}

#[derive(Debug)]
struct Other;

impl CustomNode for Other {
    fn name(&self) -> &str {
        "Other"
    }

    fn schema(&self, inputs: &[&Schema]) -> Result<Schema> {
        Ok(inputs[0].clone())
    }
}

#[test]
fn what_has_no_form_is_named() {
    let plan = numbers(1).custom(Other).build().unwrap();
    let error = plan.to_bytes().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("Other"));
    let deep = numbers(1).filter(|c| {
        let mut expr = c.is_null(c.column("n")?);
        for _ in 0..DEPTH_MAX {
            expr = c.is_null(expr);
        }
        Ok(expr)
    });
    let error = deep.build().unwrap().to_bytes().unwrap_err();
    assert!(error.message().contains("levels"));
}

#[test]
fn types_that_nobody_knows_are_named() {
    let bytes = numbers(1).build().unwrap().to_bytes().unwrap();
    let error = PlanNode::from_bytes(&bytes, &Registry::new()).unwrap_err();
    assert_eq!(error.message(), "no such type: UUID");
    assert!(Reader::new(&bytes, 1, registry().types()).is_err());
}
