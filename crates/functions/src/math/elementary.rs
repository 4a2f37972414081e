//! Roots, powers, logarithms and trigonometry, on DOUBLE.

use super::of_double;
use crate::documentation::doc;
use volley_function::{
    Registry, ScalarTraits,
    simple::{Double, SqlType, binary, bind, nullary, unary},
};

/// A function of one float: name, what it is, what it does, an example.
type Entry = (&'static str, fn(f64) -> f64, &'static str, (&'static str, &'static str));

const FUNCTIONS: [Entry; 27] = [
    ("cbrt", f64::cbrt, "The cube root.", ("cbrt(8)", "2.0")),
    ("exp", f64::exp, "e to the power of x.", ("exp(0)", "1.0")),
    ("ln", f64::ln, "The natural logarithm; NaN of a negative number.", ("ln(1)", "0.0")),
    (
        "log",
        f64::log10,
        "The logarithm to base 10; with two arguments, to the base of the first.",
        ("log(100)", "2.0"),
    ),
    ("log10", f64::log10, "The logarithm to base 10.", ("log10(1000)", "3.0")),
    ("log2", f64::log2, "The logarithm to base 2.", ("log2(8)", "3.0")),
    ("sin", f64::sin, "The sine.", ("sin(0)", "0.0")),
    ("cos", f64::cos, "The cosine.", ("cos(0)", "1.0")),
    ("tan", f64::tan, "The tangent.", ("tan(0)", "0.0")),
    ("cot", cot, "The cotangent.", ("round(cot(1), 4)", "0.6421")),
    ("asin", f64::asin, "The inverse sine; NaN outside of -1 to 1.", ("asin(0)", "0.0")),
    ("acos", f64::acos, "The inverse cosine; NaN outside of -1 to 1.", ("acos(1)", "0.0")),
    ("atan", f64::atan, "The inverse tangent.", ("atan(0)", "0.0")),
    ("sinh", f64::sinh, "The hyperbolic sine.", ("sinh(0)", "0.0")),
    ("cosh", f64::cosh, "The hyperbolic cosine.", ("cosh(0)", "1.0")),
    ("tanh", f64::tanh, "The hyperbolic tangent.", ("tanh(0)", "0.0")),
    ("asinh", f64::asinh, "The inverse hyperbolic sine.", ("asinh(0)", "0.0")),
    ("acosh", f64::acosh, "The inverse hyperbolic cosine.", ("acosh(1)", "0.0")),
    ("atanh", f64::atanh, "The inverse hyperbolic tangent.", ("atanh(0)", "0.0")),
    ("degrees", degrees, "Radians as degrees.", ("degrees(pi())", "180.0")),
    ("radians", radians, "Degrees as radians.", ("round(radians(180), 4)", "3.1416")),
    ("square", square, "x times x.", ("square(3)", "9.0")),
    ("sec", sec, "The secant.", ("sec(0)", "1.0")),
    ("csc", csc, "The cosecant.", ("round(csc(1), 4)", "1.1884")),
    ("exp2", f64::exp2, "2 to the power of x.", ("exp2(3)", "8.0")),
    ("expm1", f64::exp_m1, "e to the power of x, minus 1.", ("expm1(0)", "0.0")),
    ("log1p", f64::ln_1p, "The natural logarithm of 1 + x.", ("log1p(0)", "0.0")),
];

/// Registers the elementary functions.
pub(super) fn register(registry: &mut Registry) {
    for (name, f, description, example) in FUNCTIONS {
        let doc = doc(&format!("{name}(double) -> double"), description, "math", &[example]);
        registry.add_scalar(name, doc, unary::<Double, Double, _>(f));
    }
    let sqrt = doc(
        "sqrt(double) -> double",
        "The square root; NaN of a negative number.",
        "math",
        &[("sqrt(4)", "2.0")],
    );
    let root = of_double(|it| it.sqrt());
    let (args, result) = (vec![Double::pattern()], Double::pattern());
    registry.add_scalar("sqrt", sqrt, bind(args, result, ScalarTraits::INFALLIBLE, root));
    let log = |base: f64, value: f64| value.log10() / base.log10();
    let none = volley_function::FunctionDoc::default();
    registry.add_scalar("log", none, binary::<Double, Double, Double, _>(log));
    let power =
        doc("power(base, exponent) -> double", "The power.", "math", &[("power(2, 10)", "1024.0")]);
    for name in ["power", "pow"] {
        registry.add_scalar(name, power.clone(), binary::<Double, Double, Double, _>(f64::powf));
    }
    let atan2 = doc(
        "atan2(y, x) -> double",
        "The angle of the point (x, y).",
        "math",
        &[("atan2(0, 1)", "0.0")],
    );
    registry.add_scalar("atan2", atan2, binary::<Double, Double, Double, _>(f64::atan2));
    let pi = doc("pi() -> double", "The number pi.", "math", &[("pi()", "3.141592653589793")]);
    registry.add_scalar("pi", pi, nullary::<Double, _>(|_| std::f64::consts::PI));
}

fn cot(x: f64) -> f64 {
    1.0 / x.tan()
}

fn sec(x: f64) -> f64 {
    1.0 / x.cos()
}

fn csc(x: f64) -> f64 {
    1.0 / x.sin()
}

fn degrees(x: f64) -> f64 {
    x * (180.0 / std::f64::consts::PI)
}

fn radians(x: f64) -> f64 {
    x * (std::f64::consts::PI / 180.0)
}

fn square(x: f64) -> f64 {
    x * x
}
