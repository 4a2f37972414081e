//! Tuples of markers.

use super::{Answer, Answers, InputTypes, Inputs, OutputTypes, Outputs};
use crate::simple::{Arg, SqlType};
use volley_error::{Error, Result};
use volley_types::{Field, Type};
use volley_vector::{NullBuffer, Values, Vector};

/// A ROW of `children`, each made for its field's type.
fn row<const N: usize>(
    len: usize,
    data_type: &Type,
    nulls: Option<NullBuffer>,
    children: [&mut dyn FnMut(&Type, Option<&NullBuffer>) -> Result<Vector>; N],
) -> Result<Vector> {
    let fields = match data_type {
        Type::Row(fields) if fields.len() == N => &fields[..],
        _ => {
            let message = format!("aggregate makes a ROW of {N} fields, not {data_type}");
            return Err(Error::internal(message));
        }
    };
    let made = children.into_iter().zip(fields);
    let children = made.map(|(make, field)| make(&field.data_type, nulls.as_ref()));
    let children = children.collect::<Result<Vec<_>>>()?.into();
    Ok(Vector::flat(data_type.clone(), Values::Row { children, len }, nulls))
}

/// The type of a ROW of fields `f0`, `f1`, ...
fn row_type<const N: usize>(types: [Type; N]) -> Type {
    let fields = types.into_iter().enumerate();
    Type::row(fields.map(|(index, data_type)| Field::new(format!("f{index}"), data_type)))
}

impl<A: Arg, B: Arg> Inputs for (A, B) {
    type Tuple = (A, B);
    type Values<'a> = (A::Value<'a>, B::Value<'a>);

    #[inline(always)]
    fn from_tuple<'a>(values: (A::Value<'a>, B::Value<'a>)) -> Self::Values<'a> {
        values
    }
}

impl<A: SqlType, B: SqlType> InputTypes for (A, B) {
    fn types() -> Vec<Type> {
        vec![A::data_type(), B::data_type()]
    }
}

impl<A: Answer, B: Answer> Outputs for (A, B) {
    type Items<'a> = (A::Item<'a>, B::Item<'a>);
    type Columns = (usize, (Answers<A>, Answers<B>));
    const IS_ROW: bool = true;

    fn with_len(len: usize) -> Self::Columns {
        (len, (Answers::with_len(len), Answers::with_len(len)))
    }

    #[inline(always)]
    fn set((len, columns): &mut Self::Columns, row: usize, (a, b): Self::Items<'_>) {
        columns.0.set(row, *len, a);
        columns.1.set(row, *len, b);
    }

    fn finish(
        columns: Self::Columns,
        len: usize,
        data_type: &Type,
        nulls: Option<NullBuffer>,
    ) -> Result<Vector> {
        let (a, b) = columns.1;
        let (mut a, mut b) = (a.finisher(len), b.finisher(len));
        row(len, data_type, nulls, [&mut a, &mut b])
    }
}

impl<A: Answer + SqlType, B: Answer + SqlType> OutputTypes for (A, B) {
    fn data_type() -> Type {
        row_type([A::data_type(), B::data_type()])
    }
}

impl<A: Arg, B: Arg, C: Arg> Inputs for (A, B, C) {
    type Tuple = (A, B, C);
    type Values<'a> = (A::Value<'a>, B::Value<'a>, C::Value<'a>);

    #[inline(always)]
    fn from_tuple<'a>(values: (A::Value<'a>, B::Value<'a>, C::Value<'a>)) -> Self::Values<'a> {
        values
    }
}

impl<A: SqlType, B: SqlType, C: SqlType> InputTypes for (A, B, C) {
    fn types() -> Vec<Type> {
        vec![A::data_type(), B::data_type(), C::data_type()]
    }
}

impl<A: Answer, B: Answer, C: Answer> Outputs for (A, B, C) {
    type Items<'a> = (A::Item<'a>, B::Item<'a>, C::Item<'a>);
    type Columns = (usize, (Answers<A>, Answers<B>, Answers<C>));
    const IS_ROW: bool = true;

    fn with_len(len: usize) -> Self::Columns {
        (len, (Answers::with_len(len), Answers::with_len(len), Answers::with_len(len)))
    }

    #[inline(always)]
    fn set((len, columns): &mut Self::Columns, row: usize, (a, b, c): Self::Items<'_>) {
        columns.0.set(row, *len, a);
        columns.1.set(row, *len, b);
        columns.2.set(row, *len, c);
    }

    fn finish(
        columns: Self::Columns,
        len: usize,
        data_type: &Type,
        nulls: Option<NullBuffer>,
    ) -> Result<Vector> {
        let (a, b, c) = columns.1;
        let (mut a, mut b, mut c) = (a.finisher(len), b.finisher(len), c.finisher(len));
        row(len, data_type, nulls, [&mut a, &mut b, &mut c])
    }
}

impl<A: Answer + SqlType, B: Answer + SqlType, C: Answer + SqlType> OutputTypes for (A, B, C) {
    fn data_type() -> Type {
        row_type([A::data_type(), B::data_type(), C::data_type()])
    }
}

impl<A: Arg, B: Arg, C: Arg, D: Arg> Inputs for (A, B, C, D) {
    type Tuple = (A, B, C, D);
    type Values<'a> = (A::Value<'a>, B::Value<'a>, C::Value<'a>, D::Value<'a>);

    #[inline(always)]
    fn from_tuple<'a>(
        values: (A::Value<'a>, B::Value<'a>, C::Value<'a>, D::Value<'a>),
    ) -> Self::Values<'a> {
        values
    }
}

impl<A: SqlType, B: SqlType, C: SqlType, D: SqlType> InputTypes for (A, B, C, D) {
    fn types() -> Vec<Type> {
        vec![A::data_type(), B::data_type(), C::data_type(), D::data_type()]
    }
}

impl<A: Answer, B: Answer, C: Answer, D: Answer> Outputs for (A, B, C, D) {
    type Items<'a> = (A::Item<'a>, B::Item<'a>, C::Item<'a>, D::Item<'a>);
    type Columns = (usize, (Answers<A>, Answers<B>, Answers<C>, Answers<D>));
    const IS_ROW: bool = true;

    fn with_len(len: usize) -> Self::Columns {
        (
            len,
            (
                Answers::with_len(len),
                Answers::with_len(len),
                Answers::with_len(len),
                Answers::with_len(len),
            ),
        )
    }

    #[inline(always)]
    fn set((len, columns): &mut Self::Columns, row: usize, (a, b, c, d): Self::Items<'_>) {
        columns.0.set(row, *len, a);
        columns.1.set(row, *len, b);
        columns.2.set(row, *len, c);
        columns.3.set(row, *len, d);
    }

    fn finish(
        columns: Self::Columns,
        len: usize,
        data_type: &Type,
        nulls: Option<NullBuffer>,
    ) -> Result<Vector> {
        let (a, b, c, d) = columns.1;
        let (mut a, mut b, mut c, mut d) =
            (a.finisher(len), b.finisher(len), c.finisher(len), d.finisher(len));
        row(len, data_type, nulls, [&mut a, &mut b, &mut c, &mut d])
    }
}

impl<A: Answer + SqlType, B: Answer + SqlType, C: Answer + SqlType, D: Answer + SqlType> OutputTypes
    for (A, B, C, D)
{
    fn data_type() -> Type {
        row_type([A::data_type(), B::data_type(), C::data_type(), D::data_type()])
    }
}
