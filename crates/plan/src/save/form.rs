//! How the parts of nodes are written and read.

use crate::PlanNode;
use std::{collections::HashMap, sync::Arc};
use volley_error::{Error, Result};
use volley_expression::{Expr, Place, save};
use volley_types::{Field, Schema, Type};
use volley_vector::save::{Reader, Writer, corruption};

/// Writes the nodes of a plan.
pub(super) struct PlanWriter {
    pub(super) bytes: Writer,
    /// The numbers of the nodes written, by address.
    numbers: HashMap<*const PlanNode, usize>,
}

/// Reads the nodes of a plan.
pub(super) struct PlanReader<'a> {
    pub(super) bytes: Reader<'a>,
    /// The nodes read, by number.
    pub(super) nodes: Vec<Arc<PlanNode>>,
}

/// What has a form as bytes.
pub(super) trait Form: Sized {
    fn write(&self, to: &mut PlanWriter) -> Result<()>;

    fn read(from: &mut PlanReader<'_>) -> Result<Self>;
}

impl PlanWriter {
    pub(super) fn new(bytes: Writer) -> PlanWriter {
        PlanWriter { bytes, numbers: HashMap::new() }
    }

    /// Gives the next number to a node that was written.
    pub(super) fn add(&mut self, node: &Arc<PlanNode>) {
        self.numbers.insert(Arc::as_ptr(node), self.numbers.len());
    }
}

impl PlanReader<'_> {
    pub(super) fn new(bytes: Reader<'_>) -> PlanReader<'_> {
        PlanReader { bytes, nodes: Vec::new() }
    }
}

/// Structs, as their fields one after the other.
macro_rules! form_of_struct {
    ($($name:ident { $($field:ident),* })*) => { $(
        impl $crate::save::form::Form for $name {
            fn write(&self, to: &mut $crate::save::form::PlanWriter) -> volley_error::Result<()> {
                $( self.$field.write(to)?; )*
                Ok(())
            }

            fn read(
                from: &mut $crate::save::form::PlanReader<'_>,
            ) -> volley_error::Result<$name> {
                Ok($name { $( $field: $crate::save::form::Form::read(from)? ),* })
            }
        }
    )* };
}

/// Enums, as the number of the variant and what it holds.
macro_rules! form_of_enum {
    ($($name:ident { $($number:literal $variant:ident $(($part:ident))?,)* })*) => { $(
        impl $crate::save::form::Form for $name {
            fn write(&self, to: &mut $crate::save::form::PlanWriter) -> volley_error::Result<()> {
                match self {
                    $( $name::$variant $(($part))? => {
                        to.bytes.byte($number);
                        $( $part.write(to)?; )?
                    } )*
                }
                Ok(())
            }

            fn read(
                from: &mut $crate::save::form::PlanReader<'_>,
            ) -> volley_error::Result<$name> {
                Ok(match from.bytes.byte()? {
                    $( $number => $name::$variant $(({
                        let $part = $crate::save::form::Form::read(from)?;
                        $part
                    }))?, )*
                    _ => {
                        let what = concat!("unknown ", stringify!($name));
                        return Err(volley_vector::save::corruption(what));
                    }
                })
            }
        }
    )* };
}

pub(super) use {form_of_enum, form_of_struct};

impl Form for Arc<PlanNode> {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        let number = to.numbers.get(&Arc::as_ptr(self)).copied();
        to.bytes.number(number.ok_or_else(|| Error::internal("an input that was not written"))?);
        Ok(())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<Arc<PlanNode>> {
        let node = from.nodes.get(from.bytes.number()?).cloned();
        node.ok_or_else(|| corruption("an input that was not saved before"))
    }
}

impl Form for usize {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.bytes.number(*self);
        Ok(())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<usize> {
        from.bytes.number()
    }
}

/// Numbers of a fixed width.
macro_rules! form_of_numbers {
    ($($name:ident)*) => { $(
        impl Form for $name {
            fn write(&self, to: &mut PlanWriter) -> Result<()> {
                to.bytes.raw(&self.to_le_bytes());
                Ok(())
            }

            fn read(from: &mut PlanReader<'_>) -> Result<$name> {
                let mut bytes = [0; size_of::<$name>()];
                bytes.copy_from_slice(from.bytes.raw(size_of::<$name>())?);
                Ok($name::from_le_bytes(bytes))
            }
        }
    )* };
}

form_of_numbers! { u32 u64 i64 f64 }

impl Form for bool {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.bytes.byte(u8::from(*self));
        Ok(())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<bool> {
        match from.bytes.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(corruption("neither true nor false")),
        }
    }
}

impl Form for char {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        u32::from(*self).write(to)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<char> {
        char::from_u32(u32::read(from)?).ok_or_else(|| corruption("no character"))
    }
}

impl Form for String {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.bytes.text(self);
        Ok(())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<String> {
        Ok(from.bytes.text()?.to_owned())
    }
}

impl<T: Form> Form for Option<T> {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        self.is_some().write(to)?;
        self.iter().try_for_each(|it| it.write(to))
    }

    fn read(from: &mut PlanReader<'_>) -> Result<Option<T>> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

impl<T: Form> Form for Vec<T> {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.bytes.number(self.len());
        self.iter().try_for_each(|it| it.write(to))
    }

    fn read(from: &mut PlanReader<'_>) -> Result<Vec<T>> {
        let count = from.bytes.count()?;
        (0..count).map(|_| T::read(from)).collect()
    }
}

impl Form for Type {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.bytes.data_type(self)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<Type> {
        from.bytes.data_type()
    }
}

impl Form for Expr {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        save::write_expr(&mut to.bytes, self)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<Expr> {
        save::read_expr(&mut from.bytes)
    }
}

/// Places are of the SQL text, which does not go along.
impl Form for Place {
    fn write(&self, _to: &mut PlanWriter) -> Result<()> {
        Ok(())
    }

    fn read(_from: &mut PlanReader<'_>) -> Result<Place> {
        Ok(Place::default())
    }
}

form_of_struct! {
    Field { name, data_type }
    Schema { fields }
}
