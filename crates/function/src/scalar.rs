//! Scalar functions.

use crate::{BlockFunction, EvalContext};
use std::sync::Arc;
use volley_error::Result;
use volley_types::{Type, Value};
use volley_vector::{Rows, Vector};

/// A scalar function in its vectorized form, for given argument types.
pub trait ScalarFunction: Send + Sync {
    /// Computes the function for the active `rows`.
    ///
    /// `args`: one vector per argument, each of `rows.len()` rows, in any encoding, not lazy. With
    /// [`ScalarTraits::propagates_nulls`], active rows have no null argument. The result has
    /// `rows.len()` rows of `result_type`; values of inactive rows do not matter.
    ///
    /// # Errors
    ///
    /// Only what fails the whole query. A row that fails (overflow, invalid cast) goes to
    /// [`EvalContext::fail`].
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector>;

    /// The type of the result, where it is another one than the binding's for some values of
    /// constant arguments. `None`: it is the binding's. `args`: types, with the value of what is
    /// constant.
    ///
    /// # Errors
    ///
    /// Invalid query: an argument that must be constant and is not, or has no such value.
    fn result_for(&self, _args: &[(&Type, Option<&Value>)]) -> Result<Option<Type>> {
        Ok(None)
    }

    /// A version of this function for arguments some of which are constant, such as a compiled
    /// pattern. It gets the same arguments when it is evaluated. `None`: it would not be faster.
    ///
    /// # Errors
    ///
    /// A constant that can never work, such as a malformed pattern; reported only if a row is
    /// evaluated.
    fn specialize(&self, _args: &[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> {
        Ok(None)
    }

    /// The same function for blocks of rows, if it works on fixed-width elements without a branch.
    fn block(&self) -> Option<Arc<dyn BlockFunction>> {
        None
    }
}

/// What is known of an argument before evaluation.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its type.
    pub data_type: Type,
    /// Its value, when it is constant.
    pub constant: Option<Value>,
}

/// How a function behaves, for the evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarTraits {
    /// Equal arguments give equal results.
    pub deterministic: bool,
    /// A null argument gives a null result, and the function is not called for such rows.
    pub propagates_nulls: bool,
    /// The function never fails a row for any argument values.
    pub infallible: bool,
    /// It takes any number of arguments, and a call among them can be replaced by its own
    /// arguments.
    pub associative: bool,
}

/// A function with its argument and result types settled.
#[derive(Clone)]
pub struct BoundScalar {
    /// The name it was found under.
    pub name: String,
    /// The types that arguments must be cast to, one per argument.
    pub args: Vec<Type>,
    /// The result type.
    pub result: Type,
    /// How it behaves.
    pub traits: ScalarTraits,
    /// The implementation.
    pub function: Arc<dyn ScalarFunction>,
}

impl BoundScalar {
    /// The type of the result for arguments of these types, with their values where they are
    /// constant.
    ///
    /// # Errors
    ///
    /// As [`ScalarFunction::result_for`].
    pub fn result_for<'a>(
        &self,
        args: impl Iterator<Item = (&'a Type, Option<&'a Value>)>,
    ) -> Result<Type> {
        let special = self.function.result_for(&args.collect::<Vec<_>>())?;
        Ok(special.unwrap_or_else(|| self.result.clone()))
    }

    /// A function that gets its name from where it is found.
    pub fn new(
        args: Vec<Type>,
        result: Type,
        traits: ScalarTraits,
        function: Arc<dyn ScalarFunction>,
    ) -> BoundScalar {
        BoundScalar { name: String::new(), args, result, traits, function }
    }
}

impl ScalarTraits {
    /// Deterministic, null in null out, may fail a row: what most functions are.
    pub const DEFAULT: ScalarTraits = ScalarTraits {
        deterministic: true,
        propagates_nulls: true,
        infallible: false,
        associative: false,
    };

    /// Like [`ScalarTraits::DEFAULT`], and no row ever fails.
    pub const INFALLIBLE: ScalarTraits = ScalarTraits { infallible: true, ..ScalarTraits::DEFAULT };
}

impl std::fmt::Debug for BoundScalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({:?}) -> {}", self.name, self.args, self.result)
    }
}
