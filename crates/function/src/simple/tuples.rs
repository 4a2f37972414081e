//! Implementations for tuples of every length: closures by the number of parameters, and rows by
//! the number of fields.

use super::{
    args::{Arg, Below, Source},
    function::{Parameter, Returning, Writing},
    map::Args,
    output::Returned,
    pattern::{Pattern, SqlType},
    text::Written,
    view::{FieldTypes, Fields, Row, field, field_base},
    writer::{Builder, Collected, EachField, Push, RowWriter, Writer, WrittenFields},
};
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::{NullBuffer, Vector};

/// Closures of some parameters, each a type and a name for its value.
macro_rules! closures {
    ($($P:ident $value:ident),*) => {
        impl<F, O, $($P),*> Returning<fn($($P),*) -> O> for F
        where
            $($P: Parameter,)*
            O: Returned,
            F: Fn($($P),*) -> O
                + for<'a> Fn($(<$P::Marker as Arg>::Value<'a>),*) -> O
                + Send
                + Sync
                + 'static,
        {
            type Args = ($($P::Marker,)*);
            type Output = O;

            fn patterns() -> Vec<Pattern> {
                vec![$($P::Marker::pattern()),*]
            }

            #[inline(always)]
            fn call(&self, values: <Self::Args as Args>::Values<'_>) -> O {
                #[inline(always)]
                fn call<'a, O, $($P: Arg),*>(
                    f: &impl Fn($($P::Value<'a>),*) -> O,
                    ($($value,)*): ($($P::Value<'a>,)*),
                ) -> O {
                    f($($value),*)
                }
                call::<O, $($P::Marker),*>(self, values)
            }
        }

        impl<F, W, O, $($P),*> Writing<fn($($P,)* W) -> O> for F
        where
            $($P: Parameter,)*
            W: Writer,
            O: Written + 'static,
            F: Fn($($P,)* &mut W) -> O
                + for<'a> Fn($(<$P::Marker as Arg>::Value<'a>,)* &mut W) -> O
                + Send
                + Sync
                + 'static,
        {
            type Args = ($($P::Marker,)*);
            type Writer = W;
            type Output = O;

            fn patterns() -> Vec<Pattern> {
                vec![$($P::Marker::pattern()),*]
            }

            #[inline(always)]
            fn call(&self, values: <Self::Args as Args>::Values<'_>, out: &mut W) -> O {
                #[inline(always)]
                fn call<'a, O, W, $($P: Arg),*>(
                    f: &impl Fn($($P::Value<'a>,)* &mut W) -> O,
                    ($($value,)*): ($($P::Value<'a>,)*),
                    out: &mut W,
                ) -> O {
                    f($($value,)* out)
                }
                call::<O, W, $($P::Marker),*>(self, values, out)
            }
        }
    };
}

closures!(A a);
closures!(A a, B b);
closures!(A a, B b, C c);
closures!(A a, B b, C c, D d);

/// Rows of some fields, each a marker, the type of a value and a place.
macro_rules! rows {
    ($($A:ident $X:ident $at:tt),*) => {
        impl<$($A: Parameter),*> Parameter for ($(Option<$A>,)*) {
            type Marker = Row<($($A::Marker,)*)>;
        }

        impl<$($A: Arg),*> Fields for ($($A,)*) {
            type Values<'a> = ($(Option<$A::Value<'a>>,)*);
            type Bases<'a> = ($(($A::Base<'a>, Option<&'a NullBuffer>),)*);

            fn prepare(children: &[Vector]) -> Result<Below> {
                let columns = vec![$(field::<$A>(children, $at)?),*];
                Ok(Below { columns, ..Below::default() })
            }

            fn bases(below: &Below) -> Option<Self::Bases<'_>> {
                Some(($(field_base::<$A>(below, $at)?,)*))
            }

            #[inline(always)]
            fn get<'a>(bases: Self::Bases<'a>, index: usize) -> Self::Values<'a> {
                ($(match bases.$at {
                    (_, Some(nulls)) if nulls.is_null(index) => None,
                    (base, _) => Some($A::get(base, index, index)),
                },)*)
            }
        }

        impl<$($A: SqlType),*> FieldTypes for ($($A,)*) {
            fn patterns() -> Vec<Pattern> {
                vec![$($A::pattern()),*]
            }
        }

        impl<$($A: Collected),*> WrittenFields for ($($A,)*) {
            type Builders = ($($A::Builder,)*);

            fn builders(sources: &[Source<'_>]) -> Self::Builders {
                ($($A::Builder::new(sources),)*)
            }

            fn each(builders: &mut Self::Builders, work: &mut impl EachField) {
                $(work.run(&mut builders.$at);)*
            }

            fn are_refused(builders: &Self::Builders) -> bool {
                $(builders.$at.is_refused())||*
            }

            fn finish(builders: Self::Builders, types: &[Type]) -> Result<Vec<Vector>> {
                let of = |at: usize| {
                    types.get(at).ok_or_else(|| Error::internal("row type with too few fields"))
                };
                Ok(vec![$(builders.$at.finish(of($at)?)?),*])
            }
        }

        impl<$($A: Collected, $X),*> Push<($($X,)*)> for RowWriter<($($A,)*)>
        where
            $($A::Builder: Push<$X>,)*
        {
            #[inline]
            fn push_value(&mut self, fields: ($($X,)*)) {
                $(self.fields.$at.push_value(fields.$at);)*
                self.count();
            }
        }
    };
}

rows!(A X 0);
rows!(A X 0, B Y 1);
rows!(A X 0, B Y 1, C Z 2);
rows!(A X 0, B Y 1, C Z 2, D V 3);
