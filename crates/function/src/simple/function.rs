//! Functions from closures, with types inferred from the closure's parameters and result.

use super::{
    args::{Arg, Nullable, Varbinary, Varchar},
    ascii::{map_ascii, write_ascii},
    column::ResultType,
    generic::{Generic, GenericValue},
    lambda::{Lambda, LambdaView, OverLambda},
    map::{Args, map},
    output::{Output, Returned},
    pattern::{Pattern, SqlType, Variables},
    text::Written,
    variadic::{Variadic, VariadicView},
    vectorized,
    view::{Array, ArrayView, Map, MapView},
    writer::{Writer, map_written},
};
use crate::{
    BindHigherOrder, BindScalar, BoundScalar, FunctionDoc, Registry, ScalarFunction, ScalarTraits,
};
use std::sync::Arc;
use volley_types::Type;

/// A type that a closure's parameter may have.
pub trait Parameter {
    /// How such an argument is read, and which SQL type it has.
    type Marker: SqlType;
}

impl<P: SqlType + for<'a> Arg<Value<'a> = P>> Parameter for P {
    type Marker = P;
}

impl Parameter for &'static str {
    type Marker = Varchar;
}

impl Parameter for &'static [u8] {
    type Marker = Varbinary;
}

impl<P: Parameter> Parameter for Option<P> {
    type Marker = Nullable<P::Marker>;
}

impl<A: SqlType> Parameter for ArrayView<'static, A> {
    type Marker = Array<A>;
}

impl<K: SqlType, V: SqlType> Parameter for MapView<'static, K, V> {
    type Marker = Map<K, V>;
}

impl<B: SqlType> Parameter for LambdaView<'static, B> {
    type Marker = Lambda<B>;
}

impl<A: SqlType> Parameter for VariadicView<'static, A> {
    type Marker = Variadic<A>;
}

impl<const N: usize, const ORDER: u8> Parameter for GenericValue<'static, N, ORDER> {
    type Marker = Generic<N, ORDER>;
}

/// A closure that returns its result; `M` tells closures of different types apart.
pub trait Returning<M>: Send + Sync + 'static {
    /// The markers of the parameters.
    type Args: Args;
    /// What it returns.
    type Output: Returned;

    /// What the parameters represent.
    fn patterns() -> Vec<Pattern>;

    /// Calls the closure.
    fn call(&self, values: <Self::Args as Args>::Values<'_>) -> Self::Output;
}

/// A closure that writes its result by its last parameter; `M` tells closures of different types
/// apart.
pub trait Writing<M>: Send + Sync + 'static {
    /// The markers of the parameters except for the last one.
    type Args: Args;
    /// The last parameter.
    type Writer: Writer;
    /// What it returns.
    type Output: Written;

    /// What the parameters represent.
    fn patterns() -> Vec<Pattern>;

    /// Calls the closure.
    fn call(
        &self,
        values: <Self::Args as Args>::Values<'_>,
        out: &mut Self::Writer,
    ) -> Self::Output;
}

/// What can become a simple function: closures, and [`Simple`] itself.
pub trait IntoSimple<M> {
    /// The function.
    fn into_simple(self) -> Simple;
}

/// Tells closures that return from those that write.
pub struct Returns<M>(std::marker::PhantomData<M>);

/// See [`Returns`].
pub struct Writes<M>(std::marker::PhantomData<M>);

impl IntoSimple<()> for Simple {
    fn into_simple(self) -> Simple {
        self
    }
}

impl<M, F: Returning<M>> IntoSimple<Returns<M>> for F {
    fn into_simple(self) -> Simple {
        let function = vectorized(move |rows, args, to, ctx| {
            map::<F::Args, <F::Output as Returned>::Marker, F::Output>(rows, args, to, ctx, |it| {
                self.call(it)
            })
        });
        Simple::returning_form::<M, F>(function)
    }
}

impl<M, F: Writing<M>> IntoSimple<Writes<M>> for F {
    fn into_simple(self) -> Simple {
        let function = vectorized(move |rows, args, to, ctx| {
            map_written::<F::Args, F::Writer, F::Output>(rows, args, to, ctx, |it, out| {
                self.call(it, out)
            })
        });
        Simple::writing_form::<M, F>(function)
    }
}

/// A function from a closure; see [`crate::simple`].
pub fn scalar<M>(f: impl IntoSimple<M>) -> Simple {
    f.into_simple()
}

/// A function with a shorter way for ASCII: `ascii` runs where all text arguments are ASCII.
pub fn with_ascii<M, F, G>(general: F, ascii: G) -> Simple
where
    F: Returning<M>,
    G: Returning<M, Args = F::Args, Output = F::Output>,
{
    let function = vectorized(move |rows, args, to, ctx| {
        map_ascii::<F::Args, <F::Output as Returned>::Marker, F::Output>(
            rows,
            args,
            to,
            ctx,
            |it| general.call(it),
            |it| ascii.call(it),
        )
    });
    Simple::returning_form::<M, F>(function)
}

/// A function that writes its result, with a shorter way for ASCII; see [`with_ascii`].
pub fn with_ascii_writing<M, F, G>(general: F, ascii: G) -> Simple
where
    F: Writing<M>,
    G: Writing<M, Args = F::Args, Writer = F::Writer, Output = F::Output>,
{
    let function = vectorized(move |rows, args, to, ctx| {
        write_ascii::<F::Args, F::Writer, F::Output>(
            rows,
            args,
            to,
            ctx,
            |it, out| general.call(it, out),
            |it, out| ascii.call(it, out),
        )
    });
    Simple::writing_form::<M, F>(function)
}

/// A rule for the result type, from the types of the arguments.
type ResultRule = Arc<dyn Fn(&[Type]) -> Option<Type> + Send + Sync>;

/// A function with its signature and what is declared of it.
pub struct Simple {
    args: Vec<Pattern>,
    is_variadic: bool,
    result: Pattern,
    rule: Option<ResultRule>,
    traits: ScalarTraits,
    preserves_ascii: bool,
    errors_only_where_null: bool,
    function: Arc<dyn ScalarFunction>,
}

impl Simple {
    fn returning_form<M, F: Returning<M>>(function: Arc<dyn ScalarFunction>) -> Simple {
        let result = <F::Output as Returned>::Marker::pattern();
        let infallible = !fallible::<F::Output>() && result != Pattern::Decimal;
        Simple::new::<F::Args>(F::patterns(), result, infallible, function)
    }

    fn writing_form<M, F: Writing<M>>(function: Arc<dyn ScalarFunction>) -> Simple {
        let result = <F::Writer as Writer>::Marker::pattern();
        let infallible = !<F::Output as Written>::FALLIBLE && !result.has_map();
        Simple::new::<F::Args>(F::patterns(), result, infallible, function)
    }

    fn new<T: Args>(
        args: Vec<Pattern>,
        result: Pattern,
        infallible: bool,
        function: Arc<dyn ScalarFunction>,
    ) -> Simple {
        Simple {
            args,
            is_variadic: T::IS_VARIADIC,
            result,
            rule: None,
            traits: ScalarTraits {
                propagates_nulls: T::ALL_PROPAGATE,
                infallible,
                ..ScalarTraits::DEFAULT
            },
            preserves_ascii: false,
            errors_only_where_null: false,
            function,
        }
    }

    /// Declares that equal arguments need not give equal results.
    pub fn nondeterministic(mut self) -> Simple {
        self.traits.deterministic = false;
        self
    }

    /// Declares that text results are ASCII where the text arguments are.
    pub fn preserving_ascii(mut self) -> Simple {
        self.preserves_ascii = true;
        self
    }

    /// Declares, of a function over lambdas, that a row whose result is not null does not fail
    /// because a lambda failed for one of its elements; the lambda's result is null there.
    pub fn errors_only_where_null(mut self) -> Simple {
        self.errors_only_where_null = true;
        self
    }

    /// Declares the result type, where it does not follow from the closure: precision and scale
    /// of a DECIMAL, names of fields. The rule gets the types that the arguments are cast to;
    /// `None`: the function does not take them. The type must have the layout of the closure's
    /// results.
    pub fn returning(
        mut self,
        rule: impl Fn(&[Type]) -> Option<Type> + Send + Sync + 'static,
    ) -> Simple {
        self.rule = Some(Arc::new(rule));
        self
    }

    fn takes_lambdas(&self) -> bool {
        self.args.iter().any(|it| matches!(it, Pattern::Lambda(_)))
    }

    /// What settles its types; for functions without lambdas.
    pub fn into_bind(self) -> BindScalar {
        Arc::new(move |given: &[Type]| self.bind(given))
    }

    pub(super) fn bind(&self, given: &[Type]) -> Option<BoundScalar> {
        let patterns = self.patterns(given.len())?;
        let (variables, args) = Variables::settle_all(&patterns, given)?;
        let result = match &self.rule {
            Some(rule) => rule(&args)?,
            None => variables.settle(&self.result, None)?,
        };
        let function = Arc::clone(&self.function);
        let function =
            if self.preserves_ascii { super::ascii::preserving(function) } else { function };
        Some(BoundScalar::new(args, result, self.traits, function))
    }

    /// One pattern for each of `count` arguments.
    fn patterns(&self, count: usize) -> Option<Vec<Pattern>> {
        let mut patterns = self.args.clone();
        if self.is_variadic {
            let last = self.args.last()?;
            patterns.extend((self.args.len()..count).map(|_| last.clone()));
        }
        Some(patterns)
    }

    /// What settles its types; for functions with lambdas.
    fn into_bind_lambda(self) -> BindHigherOrder {
        let over_lambda = OverLambda {
            args: self.args,
            result: self.result,
            traits: self.traits,
            function: self.function,
            errors_only_where_null: self.errors_only_where_null,
        };
        over_lambda.into_bind()
    }
}

/// Whether a row can fail.
fn fallible<O: Returned>() -> bool {
    <O as Output<<O::Marker as ResultType>::Column>>::FALLIBLE
}

impl Registry {
    /// Adds a function from a closure of one row; see [`crate::simple`].
    pub fn simple<M>(&mut self, name: &str, doc: FunctionDoc, f: impl IntoSimple<M>) {
        let simple = f.into_simple();
        if simple.takes_lambdas() {
            self.add_higher_order(name, doc, simple.into_bind_lambda());
        } else {
            self.add_scalar(name, doc, simple.into_bind());
        }
    }
}
