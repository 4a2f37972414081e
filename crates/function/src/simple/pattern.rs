//! Signatures with type variables, and their resolution for given arguments.
//!
//! ```text
//! contains(array(T), T)     for (array(integer), bigint): T = bigint
//!                           -> contains(array(bigint), bigint) -> boolean
//! ```
//!
//! A variable becomes the common type of all its arguments.

use super::args::{Arg, DateDays, Nullable, Sql, TimeMicros, TimestampMicros, Varbinary, Varchar};
use volley_types::{CustomOrder, Field, Type, common_type, implicit_cast_cost};

/// The types of a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// This type.
    Exact(Type),
    /// Any type with at least this order, the same for all uses of the number.
    Variable(usize, CustomOrder),
    /// A decimal of any precision and scale; integers become one.
    Decimal,
    /// Arrays.
    Array(Box<Pattern>),
    /// Maps: keys and values.
    Map(Box<(Pattern, Pattern)>),
    /// Rows with this number of fields, of any names.
    Row(Vec<Pattern>),
    /// The results of a lambda for each element of the first array or map.
    Lambda(Box<Pattern>),
}

impl Pattern {
    /// Whether values may hold maps that are made, whose keys must differ.
    pub(super) fn has_map(&self) -> bool {
        match self {
            Pattern::Map(_) => true,
            Pattern::Array(part) | Pattern::Lambda(part) => part.has_map(),
            Pattern::Row(parts) => parts.iter().any(Pattern::has_map),
            Pattern::Exact(_) | Pattern::Variable(..) | Pattern::Decimal => false,
        }
    }
}

/// A marker for SQL types.
pub trait SqlType: Arg {
    /// The types.
    fn pattern() -> Pattern;

    /// The type of a marker for a single type; for others, the type of NULL.
    fn data_type() -> Type {
        Self::pattern().only_type().unwrap_or(Type::Unknown)
    }
}

impl<A: SqlType> SqlType for Nullable<A> {
    fn pattern() -> Pattern {
        A::pattern()
    }
}

impl Pattern {
    /// The type of the pattern, if it is a single one.
    fn only_type(&self) -> Option<Type> {
        Some(match self {
            Pattern::Exact(data_type) => data_type.clone(),
            Pattern::Array(element) => Type::array(element.only_type()?),
            Pattern::Map(entry) => Type::map(entry.0.only_type()?, entry.1.only_type()?),
            Pattern::Row(fields) => {
                let fields = fields.iter().map(|it| Some(Field::new("", it.only_type()?)));
                Type::row(fields.collect::<Option<Vec<_>>>()?)
            }
            _ => return None,
        })
    }
}

/// The types of variables, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables(Vec<Option<Type>>);

impl Variables {
    fn get(&self, number: usize) -> Option<&Type> {
        self.0.get(number)?.as_ref()
    }

    fn meet(&mut self, number: usize, given: &Type) -> Option<()> {
        if self.0.len() <= number {
            self.0.resize(number + 1, None);
        }
        let known = self.0[number].take();
        let met = match known {
            Some(known) => common_type(&known, given)?,
            None => given.clone(),
        };
        self.0[number] = Some(met);
        Some(())
    }

    /// Binds variables to an argument of a given type; `None` if it does not match.
    pub(super) fn learn(&mut self, pattern: &Pattern, given: &Type) -> Option<()> {
        match (pattern, given) {
            (Pattern::Variable(number, order), _) => {
                if given.order() < *order {
                    return None;
                }
                self.meet(*number, given)
            }
            (_, Type::Unknown) => self.learn_parts(pattern),
            (Pattern::Array(element), Type::Array(given)) => self.learn(element, given),
            (Pattern::Array(element), Type::FixedArray(given)) => self.learn(element, &given.0),
            (Pattern::Map(entry), Type::Map(given)) => {
                self.learn(&entry.0, &given.0)?;
                self.learn(&entry.1, &given.1)
            }
            (Pattern::Row(fields), Type::Row(given)) if fields.len() == given.len() => {
                let mut pairs = fields.iter().zip(given.iter());
                pairs.try_for_each(|(field, given)| self.learn(field, &given.data_type))
            }
            (Pattern::Decimal, _) => given.decimal_shape().map(|_| ()),
            (Pattern::Exact(wanted), _) => implicit_cast_cost(given, wanted).map(|_| ()),
            _ => None,
        }
    }

    /// NULL is a value of every type; what is below it is not known.
    fn learn_parts(&mut self, pattern: &Pattern) -> Option<()> {
        match pattern {
            Pattern::Variable(number, _) => self.meet(*number, &Type::Unknown),
            Pattern::Array(part) | Pattern::Lambda(part) => self.learn_parts(part),
            Pattern::Map(parts) => {
                self.learn_parts(&parts.0)?;
                self.learn_parts(&parts.1)
            }
            Pattern::Row(parts) => parts.iter().try_for_each(|it| self.learn_parts(it)),
            Pattern::Exact(_) | Pattern::Decimal => Some(()),
        }
    }

    /// The type of the pattern; `given`, for an argument, says what the pattern leaves open: names
    /// of fields, precision and scale. `None`: not all variables are known.
    pub(super) fn settle(&self, pattern: &Pattern, given: Option<&Type>) -> Option<Type> {
        Some(match pattern {
            Pattern::Exact(exact) => exact.clone(),
            Pattern::Variable(number, _) => self.get(*number)?.clone(),
            Pattern::Decimal => {
                let (precision, scale) = given.and_then(Type::decimal_shape).unwrap_or((18, 3));
                Type::Decimal { precision, scale }
            }
            Pattern::Array(element) => {
                let given = match given {
                    Some(Type::Array(given)) => Some(given.as_ref()),
                    Some(Type::FixedArray(given)) => Some(&given.0),
                    _ => None,
                };
                Type::array(self.settle(element, given)?)
            }
            Pattern::Map(entry) => {
                let (key, value) = match given {
                    Some(Type::Map(given)) => (Some(&given.0), Some(&given.1)),
                    _ => (None, None),
                };
                Type::map(self.settle(&entry.0, key)?, self.settle(&entry.1, value)?)
            }
            Pattern::Row(fields) => {
                let fields = fields.iter().enumerate().map(|(index, pattern)| {
                    let given = match given {
                        Some(Type::Row(given)) => given.get(index),
                        _ => None,
                    };
                    let settled = self.settle(pattern, given.map(|it| &it.data_type))?;
                    Some(Field::new(given.map_or("", |it| it.name.as_str()), settled))
                });
                Type::row(fields.collect::<Option<Vec<_>>>()?)
            }
            Pattern::Lambda(result) => self.settle(result, given)?,
        })
    }

    /// The types that arguments of the `given` types are cast to; `None` when they do not fit.
    pub(super) fn settle_all(
        patterns: &[Pattern],
        given: &[Type],
    ) -> Option<(Variables, Vec<Type>)> {
        if patterns.len() != given.len() {
            return None;
        }
        let mut variables = Variables::default();
        let mut pairs = patterns.iter().zip(given);
        pairs.try_for_each(|(pattern, given)| variables.learn(pattern, given))?;
        let settled = patterns.iter().zip(given);
        let settled = settled.map(|(pattern, given)| variables.settle_argument(pattern, given));
        let settled = settled.collect::<Option<Vec<_>>>()?;
        Some((variables, settled))
    }

    /// The type that an argument of the `given` type is cast to; `None` if there is no such cast.
    pub(super) fn settle_argument(&self, pattern: &Pattern, given: &Type) -> Option<Type> {
        let settled = self.settle(pattern, Some(given))?;
        let is_open = !matches!(pattern, Pattern::Exact(_) | Pattern::Decimal);
        let converts = implicit_cast_cost(given, &settled).is_some()
            || is_open && common_type(given, &settled).as_ref() == Some(&settled);
        converts.then_some(settled)
    }
}

/// Defines the types of simple markers.
macro_rules! sql_types {
    ($($marker:ty = $data_type:ident;)*) => {
        $(impl SqlType for $marker {
            fn pattern() -> Pattern {
                Pattern::Exact(Type::$data_type)
            }
        })*
    };
}

sql_types! {
    i8 = TinyInt;
    i16 = SmallInt;
    i32 = Integer;
    i64 = BigInt;
    i128 = HugeInt;
    f32 = Real;
    f64 = Double;
    bool = Boolean;
    volley_types::Interval = Interval;
    Varchar = Varchar;
    Varbinary = Varbinary;
    Sql<i32, 0> = Date;
    Sql<i64, 1> = Time;
    Sql<i64, 2> = Timestamp;
    DateDays = Date;
    TimeMicros = Time;
    TimestampMicros = Timestamp;
}
