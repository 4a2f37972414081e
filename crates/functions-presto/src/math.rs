//! Mathematical functions.

mod radix;
mod bucket;
mod data_size;
mod number;
mod random;
mod round;
mod truncate;
mod vector;
mod sphere;

pub(crate) use sphere::{EARTH_RADIUS_KM, distance};

use volley_function::{
    FunctionDoc, Package, Registry,
    simple::{Double, nullary},
};

/// What means the same in the core: Presto's name, and the core's.
const SHARED: [(&str, &str); 24] = [
    ("abs", "abs"),
    ("acos", "acos"),
    ("asin", "asin"),
    ("atan", "atan"),
    ("atan2", "atan2"),
    ("cbrt", "cbrt"),
    ("cos", "cos"),
    ("cosh", "cosh"),
    ("degrees", "degrees"),
    ("exp", "exp"),
    ("is_finite", "isfinite"),
    ("is_infinite", "isinf"),
    ("is_nan", "isnan"),
    ("ln", "ln"),
    ("log10", "log10"),
    ("log2", "log2"),
    ("pi", "pi"),
    ("pow", "power"),
    ("power", "power"),
    ("radians", "radians"),
    ("sin", "sin"),
    ("sqrt", "sqrt"),
    ("tan", "tan"),
    ("tanh", "tanh"),
];

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    SHARED.into_iter().for_each(|(name, core)| registry.share(Package::Presto, name, core));
    let constants = [
        ("e", std::f64::consts::E, "Euler's number.", "2.718281828459045"),
        ("infinity", f64::INFINITY, "Positive infinity.", "inf"),
        ("nan", f64::NAN, "Not a number.", "nan"),
    ];
    for (name, value, description, text) in constants {
        let call = format!("{name}()");
        let doc = doc(&format!("{name}() -> double"), description, &[(&call, text)]);
        registry.add_scalar(&format!("presto.{name}"), doc, nullary::<Double, _>(move |_| value));
    }
    number::register(registry);
    round::register(registry);
    truncate::register(registry);
    random::register(registry);
    radix::register(registry);
    bucket::register(registry);
    data_size::register(registry);
    vector::register(registry);
    sphere::register(registry);
}

fn doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    FunctionDoc::new(signature, description, "math", examples)
}
