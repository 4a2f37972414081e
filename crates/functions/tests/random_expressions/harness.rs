//! Random expressions, and what compares how they are evaluated with the plain evaluator. Tests of
//! several crates share it, each with a registry of its own.

use std::{
    collections::BTreeMap,
    fmt::Write,
    panic::AssertUnwindSafe,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use volley_error::Error;
use volley_expression::{
    Expr, ExprKind, ExprSet, Parameter, SpecialForm, plain::Plain, save::Case,
};
use volley_function::{ArgumentType, BoundScalar, LambdaType, QueryConstants, Registry};
use volley_types::{
    Field, Type, Value,
    custom::{IpAddress, Uuid},
};
use volley_vector::{
    Batch, Rows, Vector,
    random::{Generator, opaque_type},
    save::{read_file, write_file},
};

/// Overloads tried of each function.
const OVERLOADS_MAX: usize = 12;

/// Rows of the random batches that each expression sees.
const BATCHES: [usize; 4] = [1, 3, 0, 40];

/// The types that arguments are tried with.
pub fn candidates() -> Vec<Type> {
    vec![
        Type::Boolean,
        Type::TinyInt,
        Type::Integer,
        Type::BigInt,
        Type::HugeInt,
        Type::Real,
        Type::Double,
        Type::decimal(12, 2),
        Type::decimal(38, 10),
        Type::Varchar,
        Type::Varbinary,
        Type::Date,
        Type::Time,
        Type::Timestamp,
        Type::Interval,
        Type::array(Type::Integer),
        Type::array(Type::Varchar),
        Type::fixed_array(Type::Integer, 2),
        Type::fixed_array(Type::Varchar, 3),
        Type::map(Type::Varchar, Type::Double),
        Type::row([Field::new("a", Type::Integer), Field::new("b", Type::Varchar)]),
        Uuid::data_type(),
        IpAddress::data_type(),
        Type::Opaque(opaque_type()),
    ]
}

/// Some overloads of every deterministic function whose name is wanted, by name.
fn overloads(
    registry: &Registry,
    is_wanted: fn(&str) -> bool,
    random: &mut Generator,
) -> BTreeMap<String, Vec<BoundScalar>> {
    let types = candidates();
    let mut overloads = BTreeMap::new();
    for name in registry.scalars().keys().filter(|it| is_wanted(it)) {
        let mut found: Vec<BoundScalar> = Vec::new();
        let mut try_types = |args: &[Type]| {
            let Ok(bound) = registry.resolve_scalar(name, args) else { return };
            let is_new = found.iter().all(|it| it.args != bound.args);
            // The binder gives it a constant name and the type of that field.
            let is_field = name == "struct_extract";
            if is_new && !is_field && bound.traits.deterministic && bound.result != Type::Unknown {
                found.push(bound);
            }
        };
        try_types(&[]);
        types.iter().for_each(|it| try_types(std::slice::from_ref(it)));
        for left in &types {
            types.iter().for_each(|right| try_types(&[left.clone(), right.clone()]));
        }
        for _ in 0..2000 {
            let count = 3 + random.below(2);
            let args: Vec<Type> = (0..count).map(|_| random.choose(&types).clone()).collect();
            try_types(&args);
        }
        while found.len() > OVERLOADS_MAX {
            found.swap_remove(random.below(found.len()));
        }
        overloads.insert(name.clone(), found);
    }
    overloads
}

/// An expression over columns of a batch that it makes up as it goes.
struct Maker<'a> {
    random: &'a mut Generator,
    overloads: &'a [BoundScalar],
    columns: Vec<Type>,
    /// Those of the lambdas around, outermost first.
    parameters: Vec<Vec<Type>>,
}

impl Maker<'_> {
    fn call(&mut self, bound: &BoundScalar, depth: usize) -> Expr {
        let args = bound.args.iter().map(|it| self.argument(it, depth)).collect();
        Expr::call(bound.name.clone(), args, bound.result.clone())
    }

    fn argument(&mut self, data_type: &Type, depth: usize) -> Expr {
        match self.random.below(8) {
            0 | 1 => {
                let value = self.random.values(data_type, 1).remove(0);
                Expr::constant(value, data_type.clone())
            }
            2..=4 if depth > 0 => {
                let fitting: Vec<&BoundScalar> =
                    self.overloads.iter().filter(|it| it.result == *data_type).collect();
                if fitting.is_empty() {
                    return self.column(data_type);
                }
                let bound = (*self.random.choose(&fitting)).clone();
                self.call(&bound, depth - 1)
            }
            _ => self.column(data_type),
        }
    }

    /// A call with lambdas, whose types are as first answered to `args`.
    fn call_with_lambdas(
        &mut self,
        registry: &Registry,
        name: &str,
        args: &[ArgumentType],
        depth: usize,
    ) -> Option<Expr> {
        let wanted = registry.resolve_higher_order(name, args).ok()?;
        let mut made = Vec::new();
        for arg in &wanted.args {
            made.push(match arg {
                ArgumentType::Value(data_type) => self.argument(data_type, depth),
                ArgumentType::Lambda(lambda) => self.lambda(lambda, depth),
            });
        }
        let types: Vec<ArgumentType> = made.iter().map(Expr::argument_type).collect();
        let bound = registry.resolve_higher_order(name, &types).ok()?;
        (bound.args == types).then(|| Expr::call(name, made, bound.result))
    }

    fn lambda(&mut self, wanted: &LambdaType, depth: usize) -> Expr {
        let result = match &wanted.result {
            Some(result) => result.clone(),
            None => self.random.choose(&candidates()).clone(),
        };
        let level = self.parameters.len();
        self.parameters.push(wanted.parameters.clone());
        let body = self.argument(&result, depth + 1);
        self.parameters.pop();
        let parameters = wanted.parameters.clone();
        let data_type = body.data_type.clone();
        Expr { kind: ExprKind::Lambda { level, parameters, body: Box::new(body) }, data_type }
    }

    /// A parameter of a lambda around, or a column.
    fn column(&mut self, data_type: &Type) -> Expr {
        let levels = self.parameters.iter().enumerate();
        let all = levels.flat_map(|(level, types)| {
            types.iter().enumerate().map(move |(index, it)| (Parameter { level, index }, it))
        });
        let fitting: Vec<Parameter> = all.filter(|it| it.1 == data_type).map(|it| it.0).collect();
        if !fitting.is_empty() && self.random.below(4) > 0 {
            let parameter = *self.random.choose(&fitting);
            return Expr { kind: ExprKind::Parameter(parameter), data_type: data_type.clone() };
        }
        let same = self.columns.iter().position(|it| it == data_type);
        let index = match same {
            Some(index) if self.random.below(2) == 0 => index,
            _ => {
                self.columns.push(data_type.clone());
                self.columns.len() - 1
            }
        };
        Expr::column(index, data_type.clone())
    }
}

/// `TRY(expr)`: rows that fail are null.
pub fn tried(expr: Expr) -> Expr {
    let data_type = expr.data_type.clone();
    Expr::special(SpecialForm::Try, vec![expr], data_type)
}

/// Compares both evaluators on random batches; false when the expression does not compile.
pub fn check(registry: &Registry, expr: &Expr, columns: &[Type], random: &mut Generator) -> bool {
    let query = Arc::new(QueryConstants::default());
    let compiled = ExprSet::compile(std::slice::from_ref(expr), registry, Arc::clone(&query));
    let Ok(mut set) = compiled else { return false };
    let mut inputs = Vec::new();
    for rows in BATCHES {
        inputs.push(random.batch(columns, rows));
        if let Err(message) = difference(registry, &query, &mut set, expr, &inputs) {
            panic!("{message}\n{}", save(expr, &inputs));
        }
    }
    true
}

/// What differs between the evaluators for the last batch of `inputs`.
fn difference(
    registry: &Registry,
    query: &Arc<QueryConstants>,
    set: &mut ExprSet,
    expr: &Expr,
    inputs: &[Batch],
) -> Result<(), String> {
    let Some(batch) = inputs.last() else { return Ok(()) };
    let rows = batch.rows();
    let plain = Plain { registry, query, input: batch, parameters: &[] };
    let expected: Result<Vec<Value>, Error> =
        (0..rows).map(|row| plain.evaluate(expr, row)).collect();
    let found = std::panic::catch_unwind(AssertUnwindSafe(|| {
        set.begin(batch).evaluate(0, &Rows::all(rows))
    }));
    let outcome = match found {
        Ok(found) => compare(expr, found, expected),
        Err(_) => Err("panic".to_owned()),
    };
    let columns = || batch.columns().iter().map(|it| format!("\n  {it}")).collect::<String>();
    outcome.map_err(|message| format!("{expr}: {message} of{}", columns()))
}

fn compare(
    expr: &Expr,
    found: Result<Vector, Error>,
    expected: Result<Vec<Value>, Error>,
) -> Result<(), String> {
    match (found, expected) {
        (Ok(vector), Ok(expected)) => {
            vector.validate().map_err(|it| it.to_string())?;
            if *vector.data_type() != expr.data_type {
                return Err(format!("values of {}", vector.data_type()));
            }
            let values = vector.to_values().map_err(|it| it.to_string())?;
            if Shown::of(&values) == Shown::of(&expected) {
                return Ok(());
            }
            Err(format!("{vector}, which is {values:?}, not {expected:?}"))
        }
        (Err(_), Err(_)) => Ok(()),
        (Ok(found), Err(error)) => Err(format!("{found}, not the error {error}")),
        (Err(error), Ok(expected)) => Err(format!("the error {error}, not {expected:?}")),
    }
}

/// The length and the hash of values as they are shown, which tells NaN and -0.0 apart from others.
/// Texts may be too long to be put together.
#[derive(Default, PartialEq)]
struct Shown {
    bytes: usize,
    hash: u64,
}

impl Shown {
    fn of(values: &[Value]) -> Shown {
        let mut shown = Shown::default();
        write!(shown, "{values:?}").unwrap();
        shown
    }
}

impl Write for Shown {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.bytes += text.len();
        for byte in text.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

/// Writes the case to a file; the result says how to run it again.
fn save(expr: &Expr, inputs: &[Batch]) -> String {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let name = format!("failure-{}-{number}.case", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let case = Case { exprs: vec![expr.clone()], inputs: inputs.to_vec() };
    match case.to_bytes().and_then(|it| write_file(&path, &it)) {
        Ok(()) => format!(
            "saved; to run it again: VOLLEY_REPLAY={} cargo test -p {} --test random_expressions \
             replay -- --ignored",
            path.display(),
            env!("CARGO_PKG_NAME")
        ),
        Err(error) => format!("not saved: {error}"),
    }
}

/// Runs a saved case: the difference that it was saved for, if it is still there.
pub fn replay(registry: &Registry, path: &Path) -> Result<(), String> {
    let bytes = read_file(path).map_err(|it| it.to_string())?;
    let case = Case::from_bytes(&bytes, registry.types()).map_err(|it| it.to_string())?;
    let query = Arc::new(QueryConstants::default());
    for expr in &case.exprs {
        let compiled = ExprSet::compile(std::slice::from_ref(expr), registry, Arc::clone(&query));
        let mut set = compiled.map_err(|it| it.to_string())?;
        for count in 1..=case.inputs.len() {
            difference(registry, &query, &mut set, expr, &case.inputs[..count])?;
        }
    }
    Ok(())
}

/// Runs `run` and says which seed failed.
pub fn seeded(seed: u64, run: impl FnOnce(&mut Generator)) {
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
        run(&mut Generator::new(seed));
    }));
    assert!(outcome.is_ok(), "seed {seed}");
}

/// The seeds to run; `VOLLEY_FUZZ_SEEDS=1000..2000` sets others.
pub fn seeds(default: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("VOLLEY_FUZZ_SEEDS") else { return default };
    let (start, end) = text.split_once("..").unwrap();
    start.parse().unwrap()..end.parse().unwrap()
}

/// Argument types that functions with lambdas take, as they are before bodies are known.
fn calls_with_lambdas(
    registry: &Registry,
    is_wanted: fn(&str) -> bool,
) -> Vec<(String, Vec<ArgumentType>)> {
    let value = |data_type: &Type| ArgumentType::Value(data_type.clone());
    let lambda = |arity: usize| ArgumentType::of_lambda(vec![Type::Unknown; arity], None);
    let collections = [
        Type::array(Type::Integer),
        Type::array(Type::Varchar),
        Type::array(Type::Boolean),
        Type::array(Type::array(Type::Double)),
        Type::map(Type::Varchar, Type::Integer),
        Type::map(Type::Integer, Type::Varchar),
    ];
    let mut shapes = Vec::new();
    for first in &collections {
        for arity in 1..4 {
            shapes.push(vec![value(first), lambda(arity)]);
            for second in candidates().iter().chain(&collections) {
                shapes.push(vec![value(first), lambda(arity), value(second)]);
                shapes.push(vec![value(first), value(second), lambda(arity)]);
                shapes.push(vec![value(first), value(second), lambda(arity), lambda(1)]);
            }
        }
    }
    let mut calls = Vec::new();
    for name in registry.higher_order().keys().filter(|it| is_wanted(it)) {
        let fitting = shapes.iter().filter(|it| registry.resolve_higher_order(name, it).is_ok());
        calls.extend(fitting.map(|it| (name.clone(), it.clone())));
    }
    calls
}

/// Calls every function whose name is wanted, alone and in each other's arguments.
pub fn check_functions(registry: &Registry, is_wanted: fn(&str) -> bool) {
    let overloads = overloads(registry, is_wanted, &mut Generator::new(0));
    let all: Vec<BoundScalar> = overloads.values().flatten().cloned().collect();
    assert!(all.len() > 500, "{} overloads", all.len());
    for seed in seeds(1..3) {
        seeded(seed, |random| {
            for bound in &all {
                for depth in [0, 2] {
                    let mut maker = Maker {
                        random,
                        overloads: &all,
                        columns: Vec::new(),
                        parameters: Vec::new(),
                    };
                    let expr = maker.call(bound, depth);
                    let columns = maker.columns;
                    check(registry, &expr, &columns, random);
                    check(registry, &tried(expr), &columns, random);
                }
            }
        });
    }
}

/// Calls every function with lambdas whose name is wanted.
pub fn check_functions_with_lambdas(registry: &Registry, is_wanted: fn(&str) -> bool) {
    let overloads = overloads(registry, is_wanted, &mut Generator::new(0));
    let all: Vec<BoundScalar> = overloads.values().flatten().cloned().collect();
    let calls = calls_with_lambdas(registry, is_wanted);
    let names: std::collections::BTreeSet<&str> = calls.iter().map(|it| it.0.as_str()).collect();
    let wanted = registry.higher_order().keys().filter(|it| is_wanted(it));
    assert_eq!(names.len(), wanted.count());
    let (mut made, mut with_parameter) = (0, 0);
    for seed in seeds(1..3) {
        seeded(seed, |random| {
            for (name, args) in &calls {
                // A state that a body joins with itself several times grows with every element to
                // that power: one call is enough.
                let is_fold = ["reduce", "array_reduce", "list_reduce"].contains(&name.as_str());
                for depth in [0, if is_fold { 0 } else { 2 }] {
                    let mut maker = Maker {
                        random,
                        overloads: &all,
                        columns: Vec::new(),
                        parameters: Vec::new(),
                    };
                    let Some(expr) = maker.call_with_lambdas(registry, name, args, depth) else {
                        continue;
                    };
                    let columns = maker.columns;
                    if !check(registry, &expr, &columns, random) {
                        let query = Arc::new(QueryConstants::default());
                        let exprs = std::slice::from_ref(&expr);
                        panic!("{expr}: {:?}", ExprSet::compile(exprs, registry, query).err());
                    }
                    made += 1;
                    with_parameter += usize::from(expr.to_string().contains('$'));
                    check(registry, &tried(expr), &columns, random);
                }
            }
        });
    }
    assert!(with_parameter * 3 > made, "{with_parameter} of {made} use a parameter");
}
