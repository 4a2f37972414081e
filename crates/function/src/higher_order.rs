//! Functions with lambdas among their arguments, such as `transform(array, x -> x + 1)`.
//!
//! ```text
//! evaluate(rows, args, lambdas):
//!     lay the elements of the active rows side by side: a space of rows of its own
//!     lambda.evaluate(Applied { rows, parameters, owners })    the body, once per element
//!     put the results together, one per call
//! ```

use crate::{EvalContext, ScalarTraits};
use std::sync::Arc;
use volley_error::Result;
use volley_types::Type;
use volley_vector::{Rows, ScalarBuffer, Vector};

/// How many elements a function gives to a lambda at a time.
pub const CHUNK_ELEMENTS: usize = 1 << 14;

/// A lambda argument while a call is evaluated: its body, with what it captured.
pub trait Lambda {
    /// The values of the body where `applied` says; one row per row of that space, any encoding.
    ///
    /// A row that fails is null, and recorded in `ctx` for the call's row that owns it.
    ///
    /// # Errors
    ///
    /// Only what fails the whole query.
    fn evaluate(&mut self, applied: &Applied<'_>, ctx: &mut EvalContext) -> Result<Vector>;
}

/// What a lambda is applied to.
pub struct Applied<'a> {
    /// The active rows of a space of rows that the function chooses, such as one row per element.
    pub rows: &'a Rows,
    /// One vector per parameter, each of `rows.len()` rows.
    pub parameters: &'a [Vector],
    /// For each row of the space, the row of the call that it belongs to.
    pub owners: &'a ScalarBuffer<u32>,
}

/// A function that takes lambdas, for given argument types.
pub trait HigherOrderFunction: Send + Sync {
    /// Computes the function for the active `rows`, as [`crate::ScalarFunction::evaluate`] does.
    ///
    /// `args`: the arguments that are values, in order; `lambdas`: those that are lambdas.
    ///
    /// # Errors
    ///
    /// Only what fails the whole query.
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        lambdas: &mut [&mut dyn Lambda],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector>;
}

/// The type of an argument of a call that takes lambdas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentType {
    /// A value.
    Value(Type),
    /// A lambda.
    Lambda(LambdaType),
}

/// The types of a lambda.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LambdaType {
    /// One per parameter; [`Type::Unknown`] where it is not settled yet.
    pub parameters: Vec<Type>,
    /// The type of the body; `None` while it is not known, or where any will do.
    pub result: Option<Type>,
}

/// Determines the types of a function that takes lambdas: `None` if it does not accept these
/// arguments.
///
/// The binder does not know the types of the parameters before this returns them, nor the type of a
/// body before it is bound. It therefore calls this at least twice: first with [`Type::Unknown`]
/// for every parameter and no results, then with the returned parameters and the results of the
/// bodies, until the parameters stay the same. Binding the returned types again must return the
/// same types.
pub type BindHigherOrder = Arc<dyn Fn(&[ArgumentType]) -> Option<BoundHigherOrder> + Send + Sync>;

/// A function that takes lambdas, with its types settled.
#[derive(Clone)]
pub struct BoundHigherOrder {
    /// The name it was found under.
    pub name: String,
    /// The types that values must be cast to, and for lambdas the types of their parameters and
    /// the type that their body must be cast to.
    pub args: Vec<ArgumentType>,
    /// The result type; not settled while a body's type is not known.
    pub result: Type,
    /// How it behaves, if its lambdas behave well; nulls are about the values.
    pub traits: ScalarTraits,
    /// The implementation.
    pub function: Arc<dyn HigherOrderFunction>,
}

impl ArgumentType {
    /// The type of a value.
    pub fn value(&self) -> Option<&Type> {
        match self {
            ArgumentType::Value(data_type) => Some(data_type),
            ArgumentType::Lambda(_) => None,
        }
    }

    /// The types of a lambda.
    pub fn lambda(&self) -> Option<&LambdaType> {
        match self {
            ArgumentType::Value(_) => None,
            ArgumentType::Lambda(lambda) => Some(lambda),
        }
    }

    /// A lambda with these parameters, whose body must be cast to `result` if that is given.
    pub fn of_lambda(parameters: impl Into<Vec<Type>>, result: Option<Type>) -> ArgumentType {
        ArgumentType::Lambda(LambdaType { parameters: parameters.into(), result })
    }
}

impl BoundHigherOrder {
    /// A function made of a closure: rows, values, lambdas, the result type and the context in, the
    /// results out, as [`HigherOrderFunction::evaluate`].
    pub fn of_closure(
        args: Vec<ArgumentType>,
        result: Type,
        traits: ScalarTraits,
        function: impl Fn(
            &Rows,
            &[Vector],
            &mut [&mut dyn Lambda],
            &Type,
            &mut EvalContext,
        ) -> Result<Vector>
        + Send
        + Sync
        + 'static,
    ) -> BoundHigherOrder {
        let function = Arc::new(FromClosure(function));
        BoundHigherOrder { name: String::new(), args, result, traits, function }
    }
}

/// A function made of a closure.
struct FromClosure<F>(F);

impl<F> HigherOrderFunction for FromClosure<F>
where
    F: Fn(&Rows, &[Vector], &mut [&mut dyn Lambda], &Type, &mut EvalContext) -> Result<Vector>
        + Send
        + Sync,
{
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        lambdas: &mut [&mut dyn Lambda],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        self.0(rows, args, lambdas, result_type, ctx)
    }
}

impl std::fmt::Display for ArgumentType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ArgumentType::Value(data_type) => write!(f, "{data_type}"),
            ArgumentType::Lambda(lambda) => {
                write!(f, "lambda of {} parameters", lambda.parameters.len())
            }
        }
    }
}

impl std::fmt::Debug for BoundHigherOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({:?}) -> {}", self.name, self.args, self.result)
    }
}
