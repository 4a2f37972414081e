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
use volley_function::{
    ArgumentType, BindScalar, BoundScalar, LambdaType, Package, QueryConstants, Registry,
};
use volley_types::{
    Field, Type, Value,
    custom::{HyperLogLog, IpAddress, TimeTz, TimestampTz, TimestampUnit, UnsignedInteger, Uuid},
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

/// What is called, and with what.
pub struct Suite<'a> {
    pub registry: &'a Registry,
    /// Whether a function of this whole name is called.
    pub is_included: fn(&str) -> bool,
    /// The types that arguments are tried with, each with each other.
    pub types: Vec<Type>,
    /// Arguments of overloads that few combinations of types fit.
    pub signatures: Vec<Vec<Type>>,
    /// Collections, and other first arguments of functions with lambdas.
    pub collections: Vec<Type>,
    /// Values beside those that the generator makes up.
    pub examples: Vec<(Type, Vec<Value>)>,
    /// Functions that are not called, and why.
    pub left_out: &'a [(&'a str, &'a str)],
    /// Functions of which some overload may not be called, and why.
    pub called_in_part: &'a [(&'a str, &'a str)],
}

impl<'a> Suite<'a> {
    /// All functions of a registry, with the types of the core.
    pub fn new(registry: &'a Registry) -> Suite<'a> {
        Suite {
            registry,
            is_included: |_| true,
            types: candidates(),
            signatures: signatures(),
            collections: vec![
                Type::array(Type::Integer),
                Type::array(Type::Varchar),
                Type::array(Type::Boolean),
                Type::array(Type::array(Type::Double)),
                Type::map(Type::Varchar, Type::Integer),
                Type::map(Type::Integer, Type::Varchar),
            ],
            examples: Vec::new(),
            left_out: &[],
            called_in_part: &[],
        }
    }

    fn is_called(&self, name: &str) -> bool {
        (self.is_included)(name) && self.left_out.iter().all(|it| it.0 != name)
    }

    fn generator(&self, seed: u64) -> Generator {
        let examples = self.examples.iter().cloned();
        examples.fold(Generator::new(seed), |it, (data_type, values)| {
            it.with_examples(data_type, values)
        })
    }
}

/// The types of the core that arguments are tried with.
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
        Type::map(Type::Integer, Type::Varchar),
        Type::row([Field::new("a", Type::Integer), Field::new("b", Type::Varchar)]),
        Uuid::data_type(),
        IpAddress::data_type(),
        TimestampTz::data_type(),
        UnsignedInteger::UTinyInt.data_type(),
        UnsignedInteger::UBigInt.data_type(),
        TimestampUnit::Nanosecond.data_type(),
        TimeTz::data_type(),
        Type::Opaque(opaque_type()),
    ]
}

/// Arguments of overloads that few combinations of types fit.
pub fn signatures() -> Vec<Vec<Type>> {
    let (text, bytes, number, double) =
        (Type::Varchar, Type::Varbinary, Type::BigInt, Type::Double);
    let numbers = Type::array(Type::BigInt);
    let texts = Type::array(Type::Varchar);
    let map = Type::map(Type::Varchar, Type::BigInt);
    let map_of = |key: &Type| vec![Type::map(key.clone(), Type::Varchar), key.clone()];
    let mut signatures = vec![
        map_of(&number),
        map_of(&double),
        vec![HyperLogLog::data_type()],
        vec![text.clone(), text.clone(), number.clone(), number.clone()],
        [const { Type::BigInt }; 5].into_iter().chain([Type::Double]).collect(),
        vec![text.clone(), text.clone(), text.clone()],
        vec![text.clone(), text.clone(), number.clone()],
        vec![text.clone(), number.clone(), text.clone()],
        vec![text.clone(), number.clone(), number.clone()],
        vec![bytes.clone(), number.clone(), bytes.clone()],
        vec![bytes, number.clone(), number.clone()],
        vec![Type::TinyInt; 3],
        vec![Type::SmallInt; 3],
        vec![number.clone(), number.clone(), number.clone()],
        vec![double.clone(), number.clone(), number.clone()],
        vec![double.clone(); 3],
        vec![double.clone(), double.clone(), double, number.clone()],
        vec![numbers.clone(), number.clone(), number.clone()],
        vec![map.clone(), text.clone(), text.clone()],
        vec![map.clone(), texts.clone(), numbers],
        vec![map, texts.clone(), texts.clone()],
        vec![texts, text.clone(), text.clone()],
        vec![Type::Date, Type::Date, Type::Interval],
    ];
    for point in [Type::Date, Type::Time, Type::Timestamp, TimestampTz::data_type()] {
        signatures.push(vec![text.clone(), number.clone(), point.clone()]);
        signatures.push(vec![text.clone(), point.clone(), point]);
    }
    signatures
}

/// Some of the ways to bind a function.
struct Overloads<'a> {
    suite: &'a Suite<'a>,
    name: &'a str,
    overloads: &'a [BindScalar],
    /// The number of an overload, and types that it is bound to.
    found: Vec<(usize, BoundScalar)>,
    is_deterministic: bool,
}

impl Overloads<'_> {
    fn try_types(&mut self, args: &[Type]) {
        for bind in self.overloads {
            let Some(bound) = bind(args) else { continue };
            self.is_deterministic &= bound.traits.deterministic;
            if bound.result == Type::Unknown || self.found.iter().any(|it| it.1.args == bound.args)
            {
                continue;
            }
            // Several overloads may take these arguments, of which the first one counts.
            let takes =
                |bind: &BindScalar| bind(&bound.args).is_some_and(|it| it.args == bound.args);
            let number = self.overloads.iter().position(takes);
            let again = self.suite.registry.resolve_scalar(self.name, &bound.args);
            if let (Some(number), Ok(again)) = (number, again) {
                self.found.push((number, again));
            }
        }
    }

    fn try_all(&mut self, random: &mut Generator) {
        let suite = self.suite;
        let types = &suite.types;
        self.try_types(&[]);
        types.iter().for_each(|it| self.try_types(std::slice::from_ref(it)));
        for left in types {
            types.iter().for_each(|right| self.try_types(&[left.clone(), right.clone()]));
        }
        for _ in 0..2000 {
            let count = 3 + random.below(2);
            let args: Vec<Type> = (0..count).map(|_| random.choose(types).clone()).collect();
            self.try_types(&args);
        }
        suite.signatures.iter().for_each(|it| self.try_types(it));
    }

    /// Leaves few, and one of each overload.
    fn thin_out(&mut self, random: &mut Generator) {
        let mut given_up = 0;
        while self.found.len() > OVERLOADS_MAX && given_up < 1000 {
            let place = random.below(self.found.len());
            let number = self.found[place].0;
            if self.found.iter().filter(|it| it.0 == number).count() > 1 {
                self.found.swap_remove(place);
            } else {
                given_up += 1;
            }
        }
    }
}

/// Some overloads of every deterministic function that is called, by name.
///
/// # Panics
///
/// If no arguments were found for an overload, or a function is not deterministic and not left out,
/// or one is left out that there is not.
fn overloads(suite: &Suite, random: &mut Generator) -> BTreeMap<String, Vec<BoundScalar>> {
    let mut by_name = BTreeMap::new();
    let unknown = suite.left_out.iter().filter(|it| !suite.registry.scalars().contains_key(it.0));
    let unknown = unknown.map(|it| format!("{} is left out, and unknown: {}", it.0, it.1));
    let mut missing: Vec<String> = unknown.collect();
    for (name, entry) in suite.registry.scalars().iter().filter(|it| suite.is_called(it.0)) {
        let (overloads, found) = (entry.overloads.as_slice(), Vec::new());
        let mut tried = Overloads { suite, name, overloads, found, is_deterministic: true };
        tried.try_all(random);
        if !tried.is_deterministic {
            missing.push(format!("{name} is not deterministic"));
            continue;
        }
        let is_missing = |number: &usize| tried.found.iter().all(|it| it.0 != *number);
        let has_all = suite.called_in_part.iter().all(|it| it.0 != name);
        for number in (0..overloads.len()).filter(is_missing).filter(|_| has_all) {
            let shown = entry.docs.iter().map(|it| it.signature.as_str());
            let shown = shown.collect::<Vec<_>>().join("; ");
            missing.push(format!("no arguments for overload {number} of {name}: {shown}"));
        }
        tried.thin_out(random);
        by_name.insert(name.clone(), tried.found.into_iter().map(|it| it.1).collect());
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    by_name
}

/// An expression over columns of a batch that it makes up as it goes.
struct Maker<'a> {
    suite: &'a Suite<'a>,
    random: &'a mut Generator,
    overloads: &'a [BoundScalar],
    columns: Vec<Type>,
    /// Those of the lambdas around, outermost first.
    parameters: Vec<Vec<Type>>,
}

impl<'a> Maker<'a> {
    fn new(
        suite: &'a Suite<'a>,
        overloads: &'a [BoundScalar],
        random: &'a mut Generator,
    ) -> Maker<'a> {
        Maker { suite, random, overloads, columns: Vec::new(), parameters: Vec::new() }
    }

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
                // Those that take a parameter of a lambda around, every other time.
                let taking = |it: &&&BoundScalar| {
                    it.args.iter().any(|arg| self.parameters.iter().flatten().any(|it| it == arg))
                };
                let taking: Vec<&BoundScalar> = fitting.iter().filter(taking).copied().collect();
                let is_from_all = taking.is_empty() || self.random.below(2) == 0;
                let chosen = if is_from_all { &fitting } else { &taking };
                let bound = (*self.random.choose(chosen)).clone();
                self.call(&bound, depth - 1)
            }
            _ => self.column(data_type),
        }
    }

    /// A call with lambdas, whose types are as first answered to `args`.
    fn call_with_lambdas(
        &mut self,
        name: &str,
        args: &[ArgumentType],
        depth: usize,
    ) -> Option<Expr> {
        let registry = self.suite.registry;
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
            None if self.random.below(2) == 0 => self.random.choose(&wanted.parameters).clone(),
            None => self.random.choose(&self.suite.types).clone(),
        };
        let level = self.parameters.len();
        self.parameters.push(wanted.parameters.clone());
        let body = self.argument(&result, depth + 1);
        self.parameters.pop();
        let parameters = wanted.parameters.clone();
        let data_type = body.data_type.clone();
        Expr::new(ExprKind::Lambda { level, parameters, body: Box::new(body) }, data_type)
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
            return Expr::new(ExprKind::Parameter(parameter), data_type.clone());
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
pub fn seeded(suite: &Suite, seed: u64, run: impl FnOnce(&mut Generator)) {
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| run(&mut suite.generator(seed))));
    assert!(outcome.is_ok(), "seed {seed}");
}

/// The seeds to run; `VOLLEY_FUZZ_SEEDS=1000..2000` sets others.
pub fn seeds(default: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("VOLLEY_FUZZ_SEEDS") else { return default };
    let (start, end) = text.split_once("..").unwrap();
    start.parse().unwrap()..end.parse().unwrap()
}

/// Argument types that functions with lambdas take, as they are before bodies are known.
///
/// # Panics
///
/// If none was found for an overload.
fn calls_with_lambdas(suite: &Suite) -> Vec<(String, Vec<ArgumentType>)> {
    let value = |data_type: &Type| ArgumentType::Value(data_type.clone());
    let lambda = |arity: usize| ArgumentType::of_lambda(vec![Type::Unknown; arity], None);
    let mut shapes = Vec::new();
    for first in &suite.collections {
        for arity in 1..4 {
            shapes.push(vec![value(first), lambda(arity)]);
            for second in suite.types.iter().chain(&suite.collections) {
                shapes.push(vec![value(first), lambda(arity), value(second)]);
                shapes.push(vec![value(first), value(second), lambda(arity)]);
                shapes.push(vec![value(first), value(second), value(second), lambda(arity)]);
                shapes.push(vec![value(first), value(second), lambda(arity), lambda(1)]);
            }
        }
    }
    let mut calls = Vec::new();
    for (name, entry) in suite.registry.higher_order().iter().filter(|it| suite.is_called(it.0)) {
        for (number, bind) in entry.overloads.iter().enumerate() {
            let fitting = shapes.iter().any(|it| bind(it).is_some());
            assert!(fitting, "no arguments for overload {number} of {name} with lambdas");
        }
        let resolve = |it: &[ArgumentType]| suite.registry.resolve_higher_order(name, it);
        let fitting = shapes.iter().filter(|it| resolve(it).is_ok());
        calls.extend(fitting.map(|it| (name.clone(), it.clone())));
    }
    calls
}

/// Calls every function, alone and in each other's arguments.
pub fn check_functions(suite: &Suite) {
    let registry = suite.registry;
    let overloads = overloads(suite, &mut Generator::new(0));
    let all: Vec<BoundScalar> = overloads.values().flatten().cloned().collect();
    assert!(all.len() > 500, "{} overloads", all.len());
    for seed in seeds(1..3) {
        seeded(suite, seed, |random| {
            for bound in &all {
                for depth in [0, 2] {
                    let mut maker = Maker::new(suite, &all, random);
                    let expr = maker.call(bound, depth);
                    let columns = maker.columns;
                    check(registry, &expr, &columns, random);
                    check(registry, &tried(expr), &columns, random);
                }
            }
        });
    }
}

/// What bodies of lambdas are made of, beside the functions that are called: any type can become
/// what a lambda is to give.
fn operators(suite: &Suite) -> Vec<BoundScalar> {
    let names = ["eq", "lt", "plus", "concat"];
    let calls = names.iter().flat_map(|name| {
        suite.types.iter().filter_map(|it| {
            let bound = suite.registry.resolve_scalar(name, &[it.clone(), it.clone()]);
            bound.ok().filter(|it| it.result != Type::Unknown)
        })
    });
    calls.collect()
}

/// Calls every function with lambdas.
pub fn check_functions_with_lambdas(suite: &Suite) {
    let registry = suite.registry;
    let overloads = overloads(suite, &mut Generator::new(0));
    let all: Vec<BoundScalar> =
        overloads.values().flatten().cloned().chain(operators(suite)).collect();
    let calls = calls_with_lambdas(suite);
    let (mut made, mut with_parameter) = (0, 0);
    for seed in seeds(1..3) {
        seeded(suite, seed, |random| {
            for (name, args) in &calls {
                // A state that a body joins with itself several times grows with every element to
                // that power: one call is enough.
                let is_fold = ["reduce", "array_reduce", "list_reduce"].contains(&name.as_str());
                for depth in [0, if is_fold { 0 } else { 2 }] {
                    let mut maker = Maker::new(suite, &all, random);
                    let Some(expr) = maker.call_with_lambdas(name, args, depth) else {
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
    assert!(with_parameter * 8 > made, "{with_parameter} of {made} use a parameter");
}

/// Casts every type to every other, by the rules of `package` where it has some.
pub fn check_casts(suite: &Suite, package: Package) {
    let registry = suite.registry;
    for seed in seeds(1..4) {
        seeded(suite, seed, |random| {
            for from in &suite.types {
                for to in &suite.types {
                    if registry.resolve_cast_of(package, from, to).is_ok() {
                        let input = Expr::column(0, from.clone());
                        let input = Box::new(input);
                        let kind = ExprKind::Cast { input, null_on_error: false, package };
                        let cast = Expr::new(kind, to.clone());
                        check(registry, &cast, std::slice::from_ref(from), random);
                        check(registry, &tried(cast), std::slice::from_ref(from), random);
                    }
                }
            }
        });
    }
}
