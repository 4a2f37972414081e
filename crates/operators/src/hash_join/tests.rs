//! Joins of all kinds against nested loops.

mod early_end;

use super::{HashJoinSpec, build::HashBuild, probe::HashProbe, shared::JoinShared};
use crate::{
    dynamic_filters::{JoinFilter, JoinFilterSetter},
    test_kit::{drive, operator_context},
};
use std::sync::Arc;
use volley_error::Result;
use volley_exec::{Operator, OperatorContext, Step, StepContext};
use volley_expression::{Expr, SpecialForm, filter::KeyFilter};
use volley_memory::Pool;
use volley_plan::{HashJoinNode, JoinKind, PlanNode, PlanNodeId, ValuesNode};
use volley_state::StateSizes;
use volley_testkit::RandomColumns;
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Rows, Vector};

const KINDS: [JoinKind; 9] = [
    JoinKind::Inner,
    JoinKind::Left,
    JoinKind::Right,
    JoinKind::Full,
    JoinKind::LeftSemi,
    JoinKind::LeftAnti,
    JoinKind::RightSemi,
    JoinKind::RightAnti,
    JoinKind::LeftMark,
];

/// Both sides have `keys`, then a BOOLEAN for the filter, then a VARCHAR.
#[derive(Clone, Debug)]
struct Case {
    kind: JoinKind,
    keys: Vec<Type>,
    nulls_equal: Vec<bool>,
    has_filter: bool,
    null_aware: bool,
    probe_rows: usize,
    build_rows: usize,
    /// Share of nulls in both sides' keys is that of [`RandomColumns::value`] unless this is set.
    has_null_keys: bool,
    seed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Setup {
    drivers: usize,
    batch_rows: usize,
    /// Of the steps of build drivers.
    spill_every: Option<usize>,
}

impl Case {
    fn new(kind: JoinKind, keys: &[Type]) -> Case {
        Case {
            kind,
            keys: keys.to_vec(),
            nulls_equal: vec![false; keys.len()],
            has_filter: false,
            null_aware: false,
            probe_rows: 120,
            build_rows: 60,
            has_null_keys: true,
            seed: 1,
        }
    }

    fn types(&self) -> Vec<Type> {
        let mut types = self.keys.clone();
        types.extend([Type::Boolean, Type::Varchar]);
        types
    }

    /// The node, over inputs that only have schemas.
    fn node(&self) -> HashJoinNode {
        let schema: Schema = self.types().into_iter().map(|it| Field::new("column", it)).collect();
        let input = Arc::new(PlanNode::Values(ValuesNode {
            node_id: PlanNodeId::UNASSIGNED,
            rows: vec![],
            schema: schema.clone(),
        }));
        let columns = self.types().len();
        let mut all = Vec::new();
        if self.kind.has_probe_columns() {
            all.extend(schema.fields.clone());
        }
        if self.kind.has_build_columns() {
            all.extend(schema.fields.clone());
        }
        if self.kind == JoinKind::LeftMark {
            all.push(Field::new("mark", Type::Boolean));
        }
        let filter = self.has_filter.then(|| {
            let flag = |column| Expr::column(column, Type::Boolean);
            let flags = vec![flag(self.keys.len()), flag(columns + self.keys.len())];
            Expr::special(SpecialForm::Or, flags, Type::Boolean)
        });
        HashJoinNode {
            node_id: PlanNodeId::UNASSIGNED,
            dynamic_filters: Vec::new(),
            probe: Arc::clone(&input),
            build: input,
            kind: self.kind,
            probe_keys: (0..self.keys.len()).collect(),
            build_keys: (0..self.keys.len()).collect(),
            nulls_equal: self.nulls_equal.clone(),
            filter,
            null_aware: self.null_aware,
            output: (0..all.len()).rev().collect(),
            schema: all.into_iter().rev().collect(),
        }
    }

    fn batches(&self, random: &mut RandomColumns, rows: usize, batch_rows: usize) -> Vec<Batch> {
        let mut batches = random.batches(&self.types(), rows, batch_rows);
        if !self.has_null_keys {
            for batch in &mut batches {
                let rows = batch.rows();
                let mut columns = batch.clone().into_columns();
                let key = &mut columns[self.keys.len() - 1];
                let mut values = key.to_values().unwrap();
                let other = values.iter().find(|it| !it.is_null()).cloned();
                let other = other.unwrap_or_else(|| match key.data_type() {
                    Type::Varchar => Value::text("other"),
                    _ => Value::Integer(4),
                });
                for value in values.iter_mut().filter(|it| it.is_null()) {
                    *value = other.clone();
                }
                *key = Vector::from_values(key.data_type().clone(), &values);
                *batch = Batch::new(columns, rows);
            }
        }
        batches
    }

    /// The join with 1 and 4 drivers and several sizes of batches equals nested loops.
    fn check(&self) {
        for (batch_rows, drivers) in [(1, 1), (3, 4), (1024, 1), (7, 4)] {
            let mut random = RandomColumns::new(self.seed);
            let probe = self.batches(&mut random, self.probe_rows, batch_rows);
            let build = self.batches(&mut random, self.build_rows, batch_rows);
            let expected = self.naive(&rows_of(&probe), &rows_of(&build));
            for spill_every in [None, Some(1), Some(3)] {
                let setup = Setup { drivers, batch_rows, spill_every };
                let actual = self.run(probe.clone(), build.clone(), setup);
                assert_eq!(
                    actual, expected,
                    "{} {:?} filter {} null aware {} nulls equal {:?}, {setup:?}",
                    self.kind, self.keys, self.has_filter, self.null_aware, self.nulls_equal
                );
            }
        }
    }

    fn run(
        &self,
        probe: Vec<Batch>,
        build: Vec<Batch>,
        Setup { drivers, batch_rows, spill_every }: Setup,
    ) -> Vec<String> {
        let pool = Pool::root("test", None);
        let spec = Arc::new(HashJoinSpec::new(&self.node(), StateSizes::SMALL));
        let filter = Arc::new(JoinFilter::default());
        let is_filtered = self.keys.first().is_some_and(|it| {
            KeyFilter::is_possible_for(it.physical()) && !self.nulls_equal[0] && !self.null_aware
        });
        let setter = is_filtered.then(|| JoinFilterSetter::new(0, Arc::clone(&filter)));
        let filters = setter.into_iter().collect();
        let shared = Arc::new(JoinShared::new(spec, filters, (drivers, drivers), &pool));
        let build_keys: Vec<Vector> = build.iter().map(|it| it.column(0).clone()).collect();
        let deal = |batches: Vec<Batch>| {
            let mut hands = vec![Vec::new(); drivers];
            batches.into_iter().enumerate().for_each(|(i, it)| hands[i % drivers].push(it));
            hands
        };
        let must_spill = shared.can_spill() && spill_every == Some(1) && self.keeps_rows(&build);
        let hands = deal(build).into_iter().zip(deal(probe));
        let contexts: Vec<OperatorContext> = (0..drivers)
            .map(|driver| {
                let mut cx = operator_context(&pool, (driver, drivers), batch_rows);
                let task = Arc::get_mut(&mut cx.task).unwrap();
                task.spill_always = spill_every.is_some();
                cx
            })
            .collect();
        let mut rows: Vec<String> = std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (driver, (build, probe)) in hands.enumerate() {
                let cx = &contexts[driver];
                let builder = HashBuild::new(Arc::clone(&shared), cx);
                let mut builder = Spilling { operator: builder, every: spill_every, step: 0 };
                let mut prober = HashProbe::new(Arc::clone(&shared), cx).unwrap();
                scope.spawn(move || drive(&mut builder, build).unwrap());
                threads.push(scope.spawn(move || drive(&mut prober, probe).unwrap()));
            }
            let batches = threads.into_iter().flat_map(|it| it.join().unwrap());
            let batches: Vec<Batch> = batches.collect();
            assert!(batches.iter().all(|it| it.rows() <= batch_rows));
            rows_of(&batches).iter().map(|it| format!("{it:?}")).collect()
        });
        drop(shared);
        assert_eq!(pool.stats().bytes, 0);
        if is_filtered {
            let filter = filter.filter.get().expect("joins filter scans, spilled or not");
            for key in build_keys {
                let rows = filter.select(&key, &Rows::all(key.len()), &mut Default::default());
                let values = key.to_values().unwrap().iter().filter(|it| !it.is_null()).count();
                assert_eq!(rows.unwrap().to_indices().len(), values, "a key is left out");
            }
        }
        let spilled = contexts.iter().flat_map(|it| it.metrics.counts().named);
        let spilled: u64 = spilled.filter(|it| it.0 == "spilled rows").map(|it| it.1).sum();
        assert!(spilled > 0 || !must_spill, "nothing was spilled");
        assert!(contexts.iter().all(|it| it.task.spill.stats().bytes == 0), "files are left");
        rows.sort();
        rows
    }

    /// Whether the build side keeps rows that can be spilled: not only integers without rows.
    fn keeps_rows(&self, build: &[Batch]) -> bool {
        let table = HashJoinSpec::new(&self.node(), StateSizes::SMALL).table();
        !build.is_empty() && table.bitmap_key().is_none() && self.keys != [Type::Unknown]
    }

    /// Nested loops over rows.
    fn naive(&self, probe: &[Vec<Value>], build: &[Vec<Value>]) -> Vec<String> {
        let columns = self.types().len();
        let nulls = vec![Value::Null; columns];
        let mut output: Vec<Vec<Value>> = Vec::new();
        let mut build_matched = vec![false; build.len()];
        for left in probe {
            let truths: Vec<Option<bool>> =
                build.iter().map(|right| self.is_match(left, right)).collect();
            let has_match = truths.contains(&Some(true));
            let is_unknown = !has_match && self.null_aware && truths.contains(&None);
            let mut pairs = 0;
            for (index, right) in build.iter().enumerate() {
                if truths[index] == Some(true) {
                    build_matched[index] = true;
                    pairs += 1;
                    if matches!(
                        self.kind,
                        JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full
                    ) {
                        output.push([left.clone(), right.clone()].concat());
                    }
                }
            }
            match self.kind {
                JoinKind::Left | JoinKind::Full if pairs == 0 => {
                    output.push([left.clone(), nulls.clone()].concat());
                }
                JoinKind::LeftSemi if has_match => output.push(left.clone()),
                JoinKind::LeftAnti if !has_match && !is_unknown => output.push(left.clone()),
                JoinKind::LeftMark => {
                    let mark = if is_unknown { Value::Null } else { Value::Boolean(has_match) };
                    output.push([left.clone(), vec![mark]].concat());
                }
                _ => {}
            }
        }
        for (right, matched) in build.iter().zip(build_matched) {
            match self.kind {
                JoinKind::Right | JoinKind::Full if !matched => {
                    output.push([nulls.clone(), right.clone()].concat());
                }
                JoinKind::RightSemi if matched => output.push(right.clone()),
                JoinKind::RightAnti if !matched => output.push(right.clone()),
                _ => {}
            }
        }
        let mut rows: Vec<String> = output
            .into_iter()
            .map(|row| format!("{:?}", row.into_iter().rev().collect::<Vec<_>>()))
            .collect();
        rows.sort();
        rows
    }

    /// Whether a pair matches; `None` when the last key's comparison is unknown.
    fn is_match(&self, left: &[Value], right: &[Value]) -> Option<bool> {
        let last = self.keys.len() - 1;
        let key = |index: usize| match (&left[index], &right[index]) {
            (Value::Null, Value::Null) => self.nulls_equal[index],
            (Value::Double(left), Value::Double(right)) => {
                left == right || left.is_nan() && right.is_nan()
            }
            (Value::Real(left), Value::Real(right)) => {
                left == right || left.is_nan() && right.is_nan()
            }
            (Value::Null, _) | (_, Value::Null) => false,
            (left, right) => left == right,
        };
        let others = (0..last).all(key);
        let flag = |row: &[Value]| row[self.keys.len()] == Value::Boolean(true);
        if !others || self.has_filter && !flag(left) && !flag(right) {
            return Some(false);
        }
        if self.null_aware && (left[last].is_null() || right[last].is_null()) {
            return None;
        }
        Some(key(last))
    }
}

/// Spills whenever this number of steps has passed.
struct Spilling {
    operator: HashBuild,
    every: Option<usize>,
    step: usize,
}

impl Operator for Spilling {
    fn name(&self) -> &'static str {
        self.operator.name()
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.operator.accept(input)
    }

    fn finish_input(&mut self) -> Result<()> {
        self.operator.finish_input()
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        self.step += 1;
        if self.every.is_some_and(|it| self.step.is_multiple_of(it))
            && let Some(spill) = self.operator.as_spill()
        {
            spill.spill()?;
        }
        self.operator.step(cx)
    }
}

fn rows_of(batches: &[Batch]) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch.columns().iter().map(|it| it.to_values().unwrap()).collect();
        rows.extend(
            (0..batch.rows()).map(|row| columns.iter().map(|it| it[row].clone()).collect()),
        );
    }
    rows
}

#[test]
fn all_kinds_join_keys_of_all_types() {
    for kind in KINDS {
        for (seed, data_type) in RandomColumns::key_types().into_iter().enumerate() {
            Case { seed: seed as u64, ..Case::new(kind, &[data_type]) }.check();
        }
    }
}

#[test]
fn all_kinds_join_several_keys_with_equal_or_unequal_nulls() {
    for kind in KINDS {
        for nulls_equal in [[false, false], [true, false], [true, true]] {
            for keys in [[Type::TinyInt, Type::Boolean], [Type::Boolean, Type::Varchar]] {
                let nulls_equal = nulls_equal.to_vec();
                Case { nulls_equal, seed: 3, ..Case::new(kind, &keys) }.check();
            }
        }
    }
}

#[test]
fn all_kinds_apply_a_filter_to_pairs() {
    for kind in KINDS {
        for key in [Type::TinyInt, Type::Varchar] {
            Case { has_filter: true, seed: 5, ..Case::new(kind, &[key]) }.check();
        }
    }
}

#[test]
fn all_kinds_join_empty_sides() {
    for kind in KINDS {
        for (probe_rows, build_rows) in [(0, 0), (0, 10), (10, 0)] {
            let case = Case { probe_rows, build_rows, ..Case::new(kind, &[Type::Integer]) };
            case.check();
            Case { keys: vec![Type::Varchar], ..case }.check();
        }
    }
}

#[test]
fn in_and_not_in_keep_three_values() {
    for kind in [JoinKind::LeftAnti, JoinKind::LeftMark] {
        for has_null_keys in [true, false] {
            for build_rows in [0, 1, 60] {
                for seed in 0..4 {
                    let keys: &[Type] =
                        if seed % 2 == 0 { &[Type::Integer] } else { &[Type::Varchar] };
                    let case = Case::new(kind, keys);
                    Case { null_aware: true, has_null_keys, build_rows, seed, ..case }.check();
                }
            }
        }
    }
}

#[test]
fn in_and_not_in_count_only_correlated_rows() {
    for kind in [JoinKind::LeftAnti, JoinKind::LeftMark] {
        for has_filter in [false, true] {
            for keys in [
                vec![Type::Boolean, Type::Integer],
                vec![Type::Varchar, Type::TinyInt],
                vec![Type::Varchar],
            ] {
                for nulls_equal in [false, true] {
                    let mut all = vec![nulls_equal; keys.len()];
                    all[keys.len() - 1] = false;
                    let case = Case::new(kind, &keys);
                    let case = Case { null_aware: true, has_filter, nulls_equal: all, ..case };
                    Case { seed: 11, ..case }.check();
                }
            }
        }
    }
}

#[test]
fn other_kinds_do_not_ask_what_is_unknown() {
    for kind in KINDS {
        let case = Case::new(kind, &[Type::Boolean, Type::Integer]);
        Case { null_aware: true, seed: 12, ..case }.check();
    }
}

#[test]
fn a_probe_row_with_many_matches_is_resumed() {
    for key in [Type::Boolean, Type::Unknown] {
        for kind in KINDS {
            let case = Case::new(kind, &[key.clone()]);
            let nulls_equal = vec![key == Type::Unknown];
            Case { probe_rows: 5, build_rows: 500, nulls_equal, ..case }.check();
        }
    }
}
