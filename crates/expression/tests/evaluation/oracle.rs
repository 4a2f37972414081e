//! Random expressions over random encodings: compiled evaluation answers as the plain evaluator.

use crate::support::*;
use std::sync::Arc;
use volley_expression::{Expr, SpecialForm, marks, marks::Mark, plain::Plain};
use volley_types::{Type, Value};
use volley_vector::{Batch, NullBuffer, Rows, ScalarBuffer, Vector};

/// The columns of every test batch.
const TYPES: [Type; 6] =
    [Type::BigInt, Type::BigInt, Type::BigInt, Type::Varchar, Type::Varchar, Type::Boolean];

/// Makes random expressions; sometimes repeats a part, so that there are common ones.
struct Maker<'r> {
    random: &'r mut Random,
    made: Vec<Expr>,
}

impl Maker<'_> {
    fn make(&mut self, data_type: &Type, depth: usize) -> Expr {
        if self.random.one_in(5) {
            let same: Vec<&Expr> =
                self.made.iter().filter(|it| it.data_type == *data_type).collect();
            if !same.is_empty() {
                return (*self.random.of(&same)).clone();
            }
        }
        let expr = match depth {
            0 => self.leaf(data_type),
            _ => self.inner(data_type, depth - 1),
        };
        self.made.push(expr.clone());
        expr
    }

    fn leaf(&mut self, data_type: &Type) -> Expr {
        if self.random.one_in(3) {
            return Expr::constant(random_value(self.random, data_type), data_type.clone());
        }
        let columns: Vec<usize> = (0..TYPES.len()).filter(|it| TYPES[*it] == *data_type).collect();
        Expr::column(*self.random.of(&columns), data_type.clone())
    }

    fn inner(&mut self, data_type: &Type, depth: usize) -> Expr {
        match self.random.below(8) {
            0 => self.leaf(data_type),
            1 => self.switch(data_type, depth),
            2 => {
                let args = (0..1 + self.random.below(3)).map(|_| self.make(data_type, depth));
                let args = args.collect();
                special(SpecialForm::Coalesce, args)
            }
            3 => {
                let input = self.make(data_type, depth);
                special(SpecialForm::Try, vec![input])
            }
            _ => match data_type {
                Type::BigInt => self.integer(depth),
                Type::Varchar => self.varchar(depth),
                _ => self.truth(depth),
            },
        }
    }

    fn switch(&mut self, data_type: &Type, depth: usize) -> Expr {
        let mut args = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            args.push(self.make(&Type::Boolean, depth));
            args.push(self.make(data_type, depth));
        }
        args.push(self.make(data_type, depth));
        special(SpecialForm::Switch, args)
    }

    fn integer(&mut self, depth: usize) -> Expr {
        let two = *self.random.of(&["plus", "divide", "xor", "first_or"]);
        match self.random.below(6) {
            0 => call("length", vec![self.make(&Type::Varchar, depth)]),
            1 => call("even", vec![self.make(&Type::BigInt, depth)]),
            2 => self.cast(&Type::Varchar, Type::BigInt, depth),
            _ => {
                let args = vec![self.make(&Type::BigInt, depth), self.make(&Type::BigInt, depth)];
                call(two, args)
            }
        }
    }

    fn varchar(&mut self, depth: usize) -> Expr {
        match self.random.below(3) {
            0 => call("tail", vec![self.make(&Type::Varchar, depth)]),
            1 => self.cast(&Type::BigInt, Type::Varchar, depth),
            _ => {
                let args = vec![self.make(&Type::Varchar, depth), self.make(&Type::Varchar, depth)];
                call("concat", args)
            }
        }
    }

    fn cast(&mut self, from: &Type, to: Type, depth: usize) -> Expr {
        let mut expr = self.make(from, depth).cast(to);
        if let volley_expression::ExprKind::Cast { null_on_error, .. } = &mut expr.kind {
            *null_on_error = self.random.one_in(2);
        }
        expr
    }

    fn truth(&mut self, depth: usize) -> Expr {
        match self.random.below(7) {
            0 => call("not", vec![self.make(&Type::Boolean, depth)]),
            1 => {
                let data_type = self.random.of(&TYPES).clone();
                special(SpecialForm::IsNull, vec![self.make(&data_type, depth)])
            }
            2 => {
                let data_type = self.random.of(&TYPES).clone();
                let count = 1 + self.random.below(24);
                let mut args = vec![self.make(&data_type, depth)];
                let items = self.random.below(2) * depth;
                args.extend((0..count).map(|_| self.make(&data_type, items.min(1))));
                special(SpecialForm::In, args)
            }
            3 | 4 => {
                let form = *self.random.of(&[SpecialForm::And, SpecialForm::Or]);
                let args = (0..2 + self.random.below(3)).map(|_| self.make(&Type::Boolean, depth));
                let args = args.collect();
                special(form, args)
            }
            _ => {
                let name = *self.random.of(&["lt", "eq"]);
                let args = vec![self.make(&Type::BigInt, depth), self.make(&Type::BigInt, depth)];
                call(name, args)
            }
        }
    }
}

fn random_value(random: &mut Random, data_type: &Type) -> Value {
    if random.one_in(6) {
        return Value::Null;
    }
    match data_type {
        Type::BigInt => {
            Value::BigInt(*random.of(&[0, 1, 2, 3, -1, 5, 10, i64::MAX, i64::MIN, 100]))
        }
        Type::Varchar => {
            let texts = ["", "1", "22", "x", "größe", "a text that needs a buffer of its own"];
            Value::text(random.of(&texts))
        }
        _ => Value::Boolean(random.one_in(2)),
    }
}

fn random_flat(random: &mut Random, data_type: &Type, len: usize) -> Vector {
    let mut values: Vec<Value> = (0..len).map(|_| random_value(random, data_type)).collect();
    if random.one_in(2) {
        let value = values.iter().find(|it| !it.is_null()).cloned();
        if let Some(value) = value {
            values.iter_mut().filter(|it| it.is_null()).for_each(|it| *it = value.clone());
        }
    }
    Vector::from_values(data_type.clone(), &values)
}

fn random_codes(random: &mut Random, len: usize, base: usize) -> ScalarBuffer<u32> {
    (0..len).map(|_| random.below(base) as u32).collect()
}

fn random_nulls(random: &mut Random, len: usize) -> Option<NullBuffer> {
    random.one_in(2).then(|| (0..len).map(|_| !random.one_in(4)).collect())
}

/// A vector of `len` rows in a random encoding; dictionaries may be over one of `bases`.
fn random_vector(
    random: &mut Random,
    data_type: &Type,
    len: usize,
    bases: &[Arc<Vector>],
) -> Vector {
    match random.below(7) {
        0 | 1 => random_flat(random, data_type, len),
        2 => Vector::repeat(random_flat(random, data_type, 1), len),
        3 | 4 => {
            let same: Vec<_> = bases.iter().filter(|it| it.data_type() == data_type).collect();
            let base = Arc::clone(*random.of(&same));
            let codes = random_codes(random, len, base.len());
            Vector::dictionary(codes, base, random_nulls(random, len))
        }
        5 if len > 0 => {
            let runs = 1 + random.below(4);
            let inner = random_vector(random, data_type, runs, bases);
            let inner = inner.loaded().unwrap();
            let mut ends: Vec<u32> = (0..inner.len()).map(|_| random.below(len) as u32).collect();
            ends.sort_unstable();
            *ends.last_mut().unwrap() = len as u32;
            Vector::run_length(ends.into(), Arc::new(inner))
        }
        _ => {
            let vector = random_vector(random, data_type, len, bases);
            if vector.is_lazy() { vector } else { lazy(vector).0 }
        }
    }
}

fn random_batch(random: &mut Random, len: usize, bases: &[Arc<Vector>]) -> Batch {
    if random.one_in(3) && len > 0 {
        // A selection from another batch: all columns share codes.
        let inner_len = 1 + random.below(2 * len);
        let inner = random_batch(random, inner_len, bases);
        return inner.wrap(&random_codes(random, len, inner_len));
    }
    let columns = TYPES.iter().map(|it| random_vector(random, it, len, bases)).collect();
    Batch::new(columns, len)
}

fn random_rows(random: &mut Random, len: usize) -> Rows {
    match random.below(3) {
        0 => Rows::all(len),
        1 => Rows::from_indices(len, (0..len).filter(|_| random.one_in(2))),
        _ => Rows::from_indices(len, (0..len).filter(|_| !random.one_in(8))),
    }
}

/// How many expressions gave values, and how many failed as they should.
#[derive(Default, Debug)]
struct Outcomes {
    values: usize,
    errors: usize,
}

fn check_case(seed: u64, len: usize, outcomes: &mut Outcomes) {
    let random = &mut Random::new(seed);
    let mut maker = Maker { random, made: Vec::new() };
    let types = [Type::Boolean, Type::BigInt, Type::Varchar, Type::Boolean];
    let exprs: Vec<Expr> = types.iter().map(|it| maker.make(it, 3)).collect();
    let (registry, query) = (registry(), query());
    let mut set = compile(&exprs).unwrap();
    let bases: Vec<Arc<Vector>> = TYPES
        .iter()
        .map(|it| {
            let len = 1 + random.below(6);
            Arc::new(random_flat(random, it, len))
        })
        .collect();
    for _ in 0..4 {
        let batch = random_batch(random, len, &bases);
        let plain = Plain { registry: &registry, query: &query, input: &batch, parameters: &[] };
        let mut rows = random_rows(random, len);
        let mut evaluation = set.begin(&batch);
        let expected: Result<Vec<bool>, _> =
            rows.to_indices().iter().map(|it| plain.select(&exprs[0], *it as usize)).collect();
        match (evaluation.select(0, &rows), expected) {
            (Ok(selected), Ok(expected)) => {
                let found: Vec<bool> =
                    rows.to_indices().iter().map(|it| selected.contains(*it as usize)).collect();
                assert_eq!(found, expected, "seed {seed}: select {}", exprs[0]);
                assert_eq!(selected.count(), expected.iter().filter(|it| **it).count());
                if random.one_in(2) {
                    rows = selected;
                }
            }
            (Err(_), Err(_)) => {}
            (found, expected) => {
                panic!("seed {seed}: select {}: {found:?}, not {expected:?}", exprs[0])
            }
        }
        for (index, expr) in exprs.iter().enumerate() {
            let found = evaluation.evaluate(index, &rows);
            match found {
                Ok(_) => outcomes.values += 1,
                Err(_) => outcomes.errors += 1,
            }
            check_values(seed, expr, found, &rows, &plain);
        }
    }
}

fn check_values(
    seed: u64,
    expr: &Expr,
    found: volley_error::Result<Vector>,
    rows: &Rows,
    plain: &Plain,
) {
    let expected: Result<Vec<Value>, _> =
        rows.to_indices().iter().map(|it| plain.evaluate(expr, *it as usize)).collect();
    match (found, expected) {
        (Ok(vector), Ok(expected)) => {
            assert_eq!(vector.len(), rows.len());
            assert_eq!(*vector.data_type(), expr.data_type, "seed {seed}: {expr}");
            let found: Vec<Value> =
                rows.to_indices().iter().map(|it| vector.value(*it as usize).unwrap()).collect();
            assert_eq!(found, expected, "seed {seed}: {expr}");
        }
        (Err(_), Err(_)) => {}
        (found, expected) => panic!("seed {seed}: {expr}: {found:?}, not {expected:?}"),
    }
}

#[test]
fn random_expressions_answer_as_the_plain_evaluator() {
    let mut outcomes = Outcomes::default();
    for seed in 0..600 {
        for len in [1, 3] {
            check_case(seed, len, &mut outcomes);
        }
    }
    for seed in 1000..1300 {
        check_case(seed, 40, &mut outcomes);
    }
    for seed in 2000..2020 {
        check_case(seed, 1024, &mut outcomes);
    }
    assert!(outcomes.values > 2 * outcomes.errors && outcomes.errors > 500, "{outcomes:?}");
    for mark in [
        Mark::Folded,
        Mark::Reused,
        Mark::Peeled,
        Mark::PeeledConstant,
        Mark::Memoized,
        Mark::Reordered,
        Mark::ShortCut,
    ] {
        assert!(marks::count(mark) > 0, "{mark:?} was not tested");
    }
}
