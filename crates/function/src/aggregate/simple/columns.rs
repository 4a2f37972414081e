//! The input and output columns of a simple aggregate, named by markers or tuples of markers.

mod tuples;
mod written;

pub use written::{Write, WrittenColumn};

use crate::simple::{
    Arg, Args, Boolean, BooleanColumn, Column, Contiguous, NativeColumn, NullRows, Nullable,
    SqlType, StringColumn, Varbinary, Varchar,
};
use std::borrow::Cow;
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::{NullBuffer, Vector};

/// What is read for each row: the value of a marker, or a tuple.
pub trait Inputs: 'static {
    /// The markers as a tuple.
    type Tuple: Args;
    /// What is read.
    type Values<'a>: Copy;

    /// The values of a tuple of one as the value.
    fn from_tuple<'a>(values: <Self::Tuple as Args>::Values<'a>) -> Self::Values<'a>;
}

/// [`Inputs`] of known SQL types.
pub trait InputTypes: Inputs {
    /// One per column.
    fn types() -> Vec<Type>;
}

/// A marker whose values can be results.
pub trait Answer: 'static {
    /// An answered value.
    type Item<'a>;
    /// Collects answers.
    type Column: Column;

    /// Stores the answer for `row`; false: it is null.
    fn set(column: &mut Self::Column, row: usize, item: Self::Item<'_>) -> bool;
}

/// What is answered for each row: the item of a marker, or a tuple, which becomes a ROW.
pub trait Outputs: 'static {
    /// What is answered.
    type Items<'a>;
    /// Collects answers.
    type Columns;
    /// Whether it becomes a ROW.
    const IS_ROW: bool;

    /// Room for `len` rows.
    fn with_len(len: usize) -> Self::Columns;

    /// Stores the answer for `row`.
    fn set(columns: &mut Self::Columns, row: usize, items: Self::Items<'_>);

    /// The column.
    ///
    /// # Errors
    ///
    /// Internal, when `data_type` has another layout.
    fn finish(
        columns: Self::Columns,
        len: usize,
        data_type: &Type,
        nulls: Option<NullBuffer>,
    ) -> Result<Vector>;
}

/// [`Outputs`] of a known SQL type.
pub trait OutputTypes: Outputs {
    /// The type.
    fn data_type() -> Type;
}

/// Results, and which of them are null.
pub struct Answers<A: Answer> {
    column: A::Column,
    nulls: NullRows,
}

impl<A: Answer> Answers<A> {
    fn with_len(len: usize) -> Answers<A> {
        Answers { column: A::Column::with_len(len), nulls: NullRows::default() }
    }

    fn set(&mut self, row: usize, len: usize, item: A::Item<'_>) {
        if !A::set(&mut self.column, row, item) {
            self.nulls.add(row, len);
        }
    }

    /// [`Answers::finish`], to be called once.
    fn finisher(self, len: usize) -> impl FnMut(&Type, Option<&NullBuffer>) -> Result<Vector> {
        let mut answers = Some(self);
        move |data_type, nulls| {
            let taken = || Error::internal("the column of an aggregate is taken twice");
            answers.take().ok_or_else(taken)?.finish(len, data_type, nulls)
        }
    }

    fn finish(self, len: usize, data_type: &Type, nulls: Option<&NullBuffer>) -> Result<Vector> {
        let nulls = NullBuffer::union(nulls, self.nulls.finish(len).as_ref());
        self.column.finish(data_type, nulls)
    }
}

impl<A: Contiguous> Answer for A {
    type Item<'a> = A::Element;
    type Column = NativeColumn<A::Element>;

    #[inline(always)]
    fn set(column: &mut NativeColumn<A::Element>, row: usize, item: A::Element) -> bool {
        column.set(row, item);
        true
    }
}

impl Answer for Boolean {
    type Item<'a> = bool;
    type Column = BooleanColumn;

    #[inline(always)]
    fn set(column: &mut BooleanColumn, row: usize, item: bool) -> bool {
        column.set(row, item);
        true
    }
}

impl Answer for Varchar {
    type Item<'a> = Cow<'a, str>;
    type Column = StringColumn;

    fn set(column: &mut StringColumn, row: usize, item: Cow<'_, str>) -> bool {
        column.set_bytes(row, item.as_bytes());
        true
    }
}

impl Answer for Varbinary {
    type Item<'a> = Cow<'a, [u8]>;
    type Column = StringColumn;

    fn set(column: &mut StringColumn, row: usize, item: Cow<'_, [u8]>) -> bool {
        column.set_bytes(row, &item);
        true
    }
}

impl<A: Answer> Answer for Nullable<A> {
    type Item<'a> = Option<A::Item<'a>>;
    type Column = A::Column;

    #[inline(always)]
    fn set(column: &mut A::Column, row: usize, item: Option<A::Item<'_>>) -> bool {
        item.is_some_and(|it| A::set(column, row, it))
    }
}

impl<A: Arg> Inputs for A {
    type Tuple = (A,);
    type Values<'a> = A::Value<'a>;

    #[inline(always)]
    fn from_tuple<'a>((value,): (A::Value<'a>,)) -> A::Value<'a> {
        value
    }
}

impl<A: SqlType> InputTypes for A {
    fn types() -> Vec<Type> {
        vec![<A as SqlType>::data_type()]
    }
}

impl Inputs for () {
    type Tuple = ();
    type Values<'a> = ();

    #[inline(always)]
    fn from_tuple<'a>(_values: <() as Args>::Values<'a>) -> <() as Inputs>::Values<'a> {}
}

impl InputTypes for () {
    fn types() -> Vec<Type> {
        Vec::new()
    }
}

impl<A: Answer> Outputs for A {
    type Items<'a> = A::Item<'a>;
    type Columns = (usize, Answers<A>);
    const IS_ROW: bool = false;

    fn with_len(len: usize) -> Self::Columns {
        (len, Answers::with_len(len))
    }

    #[inline(always)]
    fn set(columns: &mut Self::Columns, row: usize, item: A::Item<'_>) {
        columns.1.set(row, columns.0, item);
    }

    fn finish(
        columns: Self::Columns,
        len: usize,
        data_type: &Type,
        nulls: Option<NullBuffer>,
    ) -> Result<Vector> {
        columns.1.finish(len, data_type, nulls.as_ref())
    }
}

impl<A: Answer + SqlType> OutputTypes for A {
    fn data_type() -> Type {
        <A as SqlType>::data_type()
    }
}
