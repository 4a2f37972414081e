//! Functions that take lambdas, with the simple interface.
//!
//! The framework applies the lambda to all elements of the first array (or to all entries of the
//! first map) at once. The closure sees, per row, the array and an array of the lambda's results,
//! one for each element:
//!
//! ```text
//! filter(array(T), T -> boolean)
//!     |array: ArrayView<Any<0>>, keep: LambdaView<bool>, out: &mut ArrayWriter<Any<0>>| ...
//! ```
//!
//! A lambda may have a second parameter, the position of the element from 1; over a map it has two,
//! key and value. If a lambda needs more than one collection or its own results (zip, reduce),
//! write a [`HigherOrderFunction`].

use super::{
    args::{Arg, Below, ColumnRef},
    pattern::{Pattern, SqlType, Variables},
    view::{Array, ArrayBase, ArrayView},
};
use crate::{
    Applied, ArgumentType, BindHigherOrder, BoundHigherOrder, CHUNK_ELEMENTS, EvalContext,
    HigherOrderFunction, Lambda as Body, ScalarFunction, ScalarTraits,
};
use std::{marker::PhantomData, ops::Deref, sync::Arc};
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::{Decoded, Nested, NullBuffer, Rows, ScalarBuffer, Values, Vector};

/// The marker of a lambda whose results marker `B` reads.
pub struct Lambda<B>(PhantomData<B>);

/// The results of a lambda for the elements of an array, in their order.
pub struct LambdaView<'a, B: Arg>(ArrayView<'a, B>);

impl<B: Arg> Clone for LambdaView<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Arg> Copy for LambdaView<'_, B> {}

impl<'a, B: Arg> Deref for LambdaView<'a, B> {
    type Target = ArrayView<'a, B>;

    fn deref(&self) -> &ArrayView<'a, B> {
        &self.0
    }
}

impl<B: Arg> Arg for Lambda<B> {
    type Value<'a> = LambdaView<'a, B>;
    type Base<'a> = ArrayBase<'a, B>;
    const CHEAP: bool = false;

    fn prepare(flat: &Vector) -> Result<Below> {
        Array::<B>::prepare(flat)
    }

    fn base(column: ColumnRef<'_>) -> Option<ArrayBase<'_, B>> {
        Array::<B>::base(column)
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, row: usize, index: usize) -> Self::Value<'a> {
        LambdaView(Array::<B>::get(base, row, index))
    }
}

impl<B: SqlType> SqlType for Lambda<B> {
    fn pattern() -> Pattern {
        Pattern::Lambda(Box::new(B::pattern()))
    }
}

/// A simple function some of whose arguments are lambdas.
pub(super) struct OverLambda {
    pub(super) args: Vec<Pattern>,
    pub(super) result: Pattern,
    pub(super) traits: ScalarTraits,
    /// Gets an array of results in place of each lambda.
    pub(super) function: Arc<dyn ScalarFunction>,
    /// A row whose result is not null does not fail because the lambda failed for an element.
    pub(super) errors_only_where_null: bool,
}

impl OverLambda {
    /// What settles its types.
    pub(super) fn into_bind(self) -> BindHigherOrder {
        let function = Arc::new(self);
        Arc::new(move |given: &[ArgumentType]| function.bind(given))
    }

    fn bind(self: &Arc<Self>, given: &[ArgumentType]) -> Option<BoundHigherOrder> {
        if given.len() != self.args.len() {
            return None;
        }
        let variables = self.learn(given)?;
        let mut args = Vec::with_capacity(given.len());
        let mut lambdas = Vec::new();
        let parts = self.parts(given, &variables)?;
        for (pattern, given) in self.args.iter().zip(given) {
            args.push(match (pattern, given) {
                (Pattern::Lambda(result), ArgumentType::Lambda(lambda)) => {
                    let parameters = parameters(&parts, lambda.parameters.len())?;
                    let result = variables.settle(result, None);
                    lambdas.push(result.clone().unwrap_or(Type::Unknown));
                    ArgumentType::of_lambda(parameters, result)
                }
                (pattern, given) => {
                    ArgumentType::Value(variables.settle_argument(pattern, given.value()?)?)
                }
            });
        }
        let with_place = args.iter().filter_map(ArgumentType::lambda);
        let with_place = with_place.map(|it| it.parameters.len() > parts.len()).collect();
        let function = BoundOverLambda { shared: Arc::clone(self), results: lambdas, with_place };
        Some(BoundHigherOrder {
            name: String::new(),
            args,
            result: variables.settle(&self.result, None).unwrap_or(Type::Unknown),
            traits: self.traits,
            function: Arc::new(function),
        })
    }

    /// What the values say of the variables, and then the bodies of the lambdas.
    fn learn(&self, given: &[ArgumentType]) -> Option<Variables> {
        let mut variables = Variables::default();
        for (pattern, given) in self.args.iter().zip(given) {
            match (pattern, given) {
                (Pattern::Lambda(_), ArgumentType::Lambda(_)) => {}
                (Pattern::Lambda(_), _) | (_, ArgumentType::Lambda(_)) => return None,
                (pattern, ArgumentType::Value(given)) => variables.learn(pattern, given)?,
            }
        }
        for (pattern, given) in self.args.iter().zip(given) {
            let body = given.lambda().and_then(|it| it.result.as_ref());
            if let (Pattern::Lambda(result), Some(body)) = (pattern, body) {
                variables.learn(result, body)?;
            }
        }
        Some(variables)
    }

    /// The position of the array or map that the lambdas are applied to.
    fn collection(&self) -> Option<usize> {
        self.args.iter().position(|it| matches!(it, Pattern::Array(_) | Pattern::Map(_)))
    }

    /// The types of its elements, or of its keys and values.
    fn parts(&self, given: &[ArgumentType], variables: &Variables) -> Option<Vec<Type>> {
        let at = self.collection()?;
        Some(match variables.settle_argument(&self.args[at], given[at].value()?)? {
            Type::Array(element) => vec![element.as_ref().clone()],
            Type::Map(entry) => vec![entry.0.clone(), entry.1.clone()],
            _ => return None,
        })
    }
}

/// The types of a lambda's parameters: the parts of a collection and, of an array, the place.
fn parameters(parts: &[Type], count: usize) -> Option<Vec<Type>> {
    let mut parameters = parts.to_vec();
    if parts.len() == 1 && count == 2 {
        parameters.push(Type::BigInt);
    }
    (parameters.len() == count).then_some(parameters)
}

/// The function for given types.
struct BoundOverLambda {
    shared: Arc<OverLambda>,
    /// The type of each lambda's results.
    results: Vec<Type>,
    /// Whether each lambda takes the place of an element, too.
    with_place: Vec<bool>,
}

impl HigherOrderFunction for BoundOverLambda {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        lambdas: &mut [&mut dyn Body],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let too_few = || Error::internal("function over lambdas with too few arguments");
        let at = self.shared.collection().ok_or_else(too_few)?;
        // Lambdas are not among the values.
        let before = self.shared.args[..at].iter().filter(|it| is_lambda(it)).count();
        let elements = Elements::new(args.get(at - before).ok_or_else(too_few)?, rows)?;
        let errors = ctx.errors.take();
        let mut results = Vec::with_capacity(lambdas.len());
        for (index, lambda) in lambdas.iter_mut().enumerate() {
            results.push(elements.apply(
                &mut **lambda,
                &self.results[index],
                self.with_place[index],
                ctx,
            )?);
        }
        let of_lambdas = std::mem::replace(&mut ctx.errors, errors);
        let (mut values, mut results) = (args.iter().cloned(), results.into_iter());
        let all = self.shared.args.iter().map(|pattern| {
            if is_lambda(pattern) { results.next() } else { values.next() }.ok_or_else(too_few)
        });
        let all = all.collect::<Result<Vec<_>>>()?;
        let result = self.shared.function.evaluate(rows, &all, result_type, ctx)?;
        if !of_lambdas.is_empty() {
            self.keep_errors(of_lambdas, &result, ctx)?;
        }
        Ok(result)
    }
}

impl BoundOverLambda {
    /// Passes on the errors of the lambdas, or those of rows whose result is null.
    fn keep_errors(
        &self,
        mut errors: crate::RowErrors,
        result: &Vector,
        ctx: &mut EvalContext,
    ) -> Result<()> {
        if self.shared.errors_only_where_null {
            let decoded = Decoded::new(result)?;
            let nulls = (0..result.len()).filter(|row| decoded.is_null(*row));
            errors.retain(&Rows::from_indices(result.len(), nulls));
        }
        ctx.errors.append(errors, |row| row);
        Ok(())
    }
}

fn is_lambda(pattern: &Pattern) -> bool {
    matches!(pattern, Pattern::Lambda(_))
}

/// The elements or entries of the rows that are active and not null.
struct Elements {
    rows: Rows,
    nested: Nested,
    /// The elements, or the keys and the values.
    columns: Vec<Vector>,
}

/// Some elements, in the order of their rows.
#[derive(Default)]
struct Chunk {
    positions: Vec<u32>,
    /// From 1.
    places: Vec<i64>,
    owners: Vec<u32>,
}

impl Elements {
    fn new(collections: &Vector, rows: &Rows) -> Result<Elements> {
        let flat = collections.flatten()?;
        let mut rows = rows.clone();
        if let Some(nulls) = flat.null_buffer() {
            rows.subtract_nulls(nulls);
        }
        let (nested, columns) = match flat.flat_values() {
            Some(Values::Array(nested)) => (nested, vec![nested.elements.as_ref().clone()]),
            Some(Values::Map(nested)) => match nested.elements.flatten()?.flat_values() {
                Some(Values::Row { children, .. }) => (nested, children.to_vec()),
                _ => return Err(Error::internal("entries of a map are no rows")),
            },
            _ => return Err(Error::internal("a lambda over an unexpected layout")),
        };
        Ok(Elements { rows, nested: nested.clone(), columns })
    }

    /// For each row, the array of the lambda's results.
    fn apply(
        &self,
        lambda: &mut dyn Body,
        body_type: &Type,
        with_place: bool,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let (len, before) = (self.rows.len(), ctx.charged());
        let (mut offsets, mut sizes) = (vec![0i32; len], vec![0i32; len]);
        let (mut chunk, mut parts, mut end) = (Chunk::default(), Vec::new(), 0usize);
        self.rows.try_for_each(|row| {
            let range = self.nested.range(row);
            offsets[row] = i32::try_from(end).map_err(|_| too_many())?;
            sizes[row] = range.len() as i32;
            end += range.len();
            for (place, position) in range.enumerate() {
                chunk.positions.push(position as u32);
                chunk.places.push(place as i64 + 1);
                chunk.owners.push(row as u32);
                if chunk.positions.len() >= CHUNK_ELEMENTS {
                    let chunk = std::mem::take(&mut chunk);
                    parts.push(self.apply_to(chunk, lambda, with_place, ctx)?);
                }
            }
            Ok::<_, Error>(())
        })?;
        if !chunk.positions.is_empty() {
            parts.push(self.apply_to(chunk, lambda, with_place, ctx)?);
        }
        i32::try_from(end).map_err(|_| too_many())?;
        let elements = match parts.len() {
            0 => Vector::from_values(body_type.clone(), &[]),
            _ => {
                // The parts and the whole are there for a moment.
                ctx.charge(ctx.charged() - before)?;
                Vector::concat(body_type, &parts)?
            }
        };
        let (offsets, sizes) = (offsets.into(), sizes.into());
        let nested = Nested { offsets, sizes, elements: elements.into() };
        let array = Type::array(body_type.clone());
        Ok(Vector::flat(array, Values::Array(nested), None::<NullBuffer>))
    }

    fn apply_to(
        &self,
        chunk: Chunk,
        lambda: &mut dyn Body,
        with_place: bool,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let columns = self.columns.iter();
        let mut parameters: Vec<_> = columns.map(|it| it.select(&chunk.positions)).collect();
        if with_place {
            parameters.push(Vector::native::<i64>(Type::BigInt, chunk.places, None));
        }
        let owners = ScalarBuffer::from(chunk.owners);
        let rows = Rows::all(owners.len());
        let applied = Applied { rows: &rows, parameters: &parameters, owners: &owners };
        lambda.evaluate(&applied, ctx)
    }
}

fn too_many() -> Error {
    Error::new(volley_error::ErrorKind::OutOfMemory, "too many array elements in one batch")
        .hint("use a smaller batch_rows")
}
