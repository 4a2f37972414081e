//! Implicit casts: which types convert to which, and common types.

use crate::{
    DECIMAL_PRECISION_MAX, Field, Type,
    custom::{TimestampUnit, UnsignedInteger},
};

/// The type that values of both types convert to without loss of meaning: for CASE branches,
/// set operations and COALESCE. `None` when there is none.
///
/// The rules are DuckDB's: integers widen; an unsigned and a signed one meet in the signed type
/// that has all numbers of both, or HUGEINT; an integer and a decimal meet in the decimal that
/// holds both; with a float, numbers become that float; dates widen to timestamps, and timestamps
/// to those of a finer unit; booleans become numbers; NULL becomes anything.
/// Arrays of a fixed size meet others in the array of any size. Rows that name their fields meet by
/// name, in the row of the fields of both; other rows by position.
/// VARCHAR meets itself and ENUMs here (untyped literals are handled by the binder); ENUMs of other
/// values meet as VARCHAR.
pub fn common_type(left: &Type, right: &Type) -> Option<Type> {
    meeting(left, right, Rules { may_round: true, by_name: true })
}

/// The type in which values of both types are compared: as [`common_type`], but no digit of a
/// fraction gets lost. A decimal that has too many digits for it is an error where it is cast.
pub fn comparable_type(left: &Type, right: &Type) -> Option<Type> {
    meeting(left, right, Rules { may_round: false, by_name: true })
}

/// Like [`common_type`], but fields of rows belong together by position, and have a name where both
/// have the same: Presto's rule.
pub fn common_type_by_position(left: &Type, right: &Type) -> Option<Type> {
    meeting(left, right, Rules { may_round: true, by_name: false })
}

/// Like [`comparable_type`], with the fields of rows by position.
pub fn comparable_type_by_position(left: &Type, right: &Type) -> Option<Type> {
    meeting(left, right, Rules { may_round: false, by_name: false })
}

/// How types meet.
#[derive(Clone, Copy)]
struct Rules {
    /// Whether decimals may give up digits of the fraction.
    may_round: bool,
    /// Whether fields of rows that all have names belong together by these.
    by_name: bool,
}

/// The type that both convert to.
fn meeting(left: &Type, right: &Type, rules: Rules) -> Option<Type> {
    let meet = |left: &Type, right: &Type| meeting(left, right, rules);
    if left == right {
        return Some(left.clone());
    }
    match (left, right) {
        (Type::Unknown, other) | (other, Type::Unknown) => Some(other.clone()),
        (Type::Date, Type::Timestamp) | (Type::Timestamp, Type::Date) => Some(Type::Timestamp),
        (Type::Array(left), Type::Array(right)) => Some(Type::array(meet(left, right)?)),
        (Type::FixedArray(left), Type::FixedArray(right)) if left.1 == right.1 => {
            Some(Type::fixed_array(meet(&left.0, &right.0)?, left.1))
        }
        (Type::FixedArray(_), Type::FixedArray(_) | Type::Array(_))
        | (Type::Array(_), Type::FixedArray(_)) => {
            meet(&left.without_size(), &right.without_size())
        }
        (Type::Map(left), Type::Map(right)) => {
            Some(Type::map(meet(&left.0, &right.0)?, meet(&left.1, &right.1)?))
        }
        (Type::Row(left), Type::Row(right)) => common_row(left, right, rules),
        (Type::Boolean, number) | (number, Type::Boolean) if number.is_number() => {
            Some(number.clone())
        }
        _ if left.is_number() && right.is_number() => {
            Some(match (left.unsigned(), right.unsigned()) {
                (Some(left), Some(right)) => left.max(right).data_type(),
                (Some(unsigned), None) => common_unsigned(unsigned, right),
                (None, Some(unsigned)) => common_unsigned(unsigned, left),
                (None, None) => common_numeric(left, right, rules.may_round),
            })
        }
        _ if is_text_of(left, right) || is_text_of(right, left) => Some(Type::Varchar),
        (Type::Timestamp, other) | (other, Type::Timestamp) if is_coarse_timestamp(other) => {
            Some(Type::Timestamp)
        }
        (Type::Custom(custom), other) | (other, Type::Custom(custom)) if custom.absorbs(other) => {
            Some(Type::Custom(custom.clone()))
        }
        (Type::Custom(custom), other) | (other, Type::Custom(custom))
            if custom.is_storage() && custom.storage() == other =>
        {
            Some(other.clone())
        }
        _ => None,
    }
}

/// Whether a type counts longer units than TIMESTAMP.
fn is_coarse_timestamp(data_type: &Type) -> bool {
    TimestampUnit::of(data_type).is_some_and(|it| it < TimestampUnit::Nanosecond)
}

/// The type in which an unsigned integer meets a number of another kind.
fn common_unsigned(unsigned: UnsignedInteger, other: &Type) -> Type {
    match other {
        Type::Decimal { precision, scale } => {
            common_decimal((unsigned.digits(), 0), (*precision, *scale), false)
        }
        _ => common_numeric(&unsigned.signed(), other, false),
    }
}

/// Whether values of an ENUM meet those of another type as text.
fn is_text_of(labelled: &Type, other: &Type) -> bool {
    labelled.labels().is_some() && (*other == Type::Varchar || other.labels().is_some())
}

/// Fields of rows that name all of theirs belong together by name, ignoring case: the row has those
/// of both, first those of `left`. Others belong together by position, and all without `by_name`.
fn common_row(left: &[Field], right: &[Field], rules: Rules) -> Option<Type> {
    let meet = |left: &Field, right: &Field| {
        let differs = !rules.by_name && !left.name.eq_ignore_ascii_case(&right.name);
        let name = match left.name.as_str() {
            _ if differs => "",
            "" => &right.name,
            name => name,
        };
        let data_type = meeting(&left.data_type, &right.data_type, rules)?;
        Some(Field::new(name, data_type))
    };
    let is_named = |fields: &[Field]| fields.iter().all(|it| !it.name.is_empty());
    if !rules.by_name || !is_named(left) || !is_named(right) {
        let pairs = (left.len() == right.len()).then(|| left.iter().zip(right))?;
        let fields = pairs.map(|(left, right)| meet(left, right));
        return Some(Type::row(fields.collect::<Option<Vec<_>>>()?));
    }
    let find = |fields: &[Field], name: &str| {
        fields.iter().find(|it| it.name.eq_ignore_ascii_case(name)).cloned()
    };
    let both = left.iter().map(|field| match find(right, &field.name) {
        Some(other) => meet(field, &other),
        None => Some(field.clone()),
    });
    let mut fields = both.collect::<Option<Vec<_>>>()?;
    fields.extend(right.iter().filter(|it| find(left, &it.name).is_none()).cloned());
    Some(Type::row(fields))
}

fn common_numeric(left: &Type, right: &Type, may_round: bool) -> Type {
    if let (Some(a), Some(b)) = (left.integer_rank(), right.integer_rank()) {
        return if a >= b { left.clone() } else { right.clone() };
    }
    match (left, right) {
        (Type::Double, _) | (_, Type::Double) => Type::Double,
        (Type::Real, _) | (_, Type::Real) => Type::Real,
        _ => match (left.decimal_shape(), right.decimal_shape()) {
            (Some(a), Some(b)) => {
                common_decimal(a, b, may_round && left.is_decimal() && right.is_decimal())
            }
            _ => Type::Double,
        },
    }
}

/// Room for the integer digits and the fraction digits of both. Where 38 digits are too few, those
/// of the fraction are given up if that is allowed, or those of the integer part.
fn common_decimal((p1, s1): (u8, u8), (p2, s2): (u8, u8), may_round: bool) -> Type {
    let scale = s1.max(s2);
    let integer_digits = (p1 - s1).max(p2 - s2);
    let precision = (integer_digits + scale).min(DECIMAL_PRECISION_MAX);
    let scale = if may_round { precision - integer_digits } else { scale };
    Type::Decimal { precision, scale }
}

/// The cost of an implicit conversion, for choosing between overloads: 0 when equal, `None` when
/// there is no implicit conversion.
pub fn implicit_cast_cost(from: &Type, to: &Type) -> Option<u32> {
    if from == to {
        return Some(0);
    }
    if *from == Type::Unknown {
        return Some(1);
    }
    if let (Some(a), Some(b)) = (from.integer_rank(), to.integer_rank()) {
        return (a < b).then(|| 1 + u32::from(b - a));
    }
    if let Some(from) = from.unsigned() {
        return unsigned_cast_cost(from, to);
    }
    match (from, to) {
        (_, Type::Decimal { .. }) if from.is_integer() => Some(10),
        (
            Type::Decimal { precision: p1, scale: s1 },
            Type::Decimal { precision: p2, scale: s2 },
        ) => (s1 <= s2 && p1 - s1 <= p2 - s2).then_some(2),
        (_, Type::Double) if from.is_numeric() => Some(20),
        (_, Type::Real) if from.is_integer() || from.is_decimal() => Some(24),
        (Type::Date, Type::Timestamp) => Some(10),
        (_, Type::Timestamp) if is_coarse_timestamp(from) => Some(10),
        (_, Type::Varchar) if from.labels().is_some() => Some(12),
        (_, Type::Custom(custom)) if custom.absorbs(from) => Some(12),
        (Type::Custom(custom), _) if custom.is_storage() && custom.storage() == to => Some(1),
        (Type::Array(from), Type::Array(to)) => implicit_cast_cost(from, to),
        (Type::FixedArray(from), Type::Array(to)) => Some(2 + implicit_cast_cost(&from.0, to)?),
        (Type::FixedArray(from), Type::FixedArray(to)) if from.1 == to.1 => {
            implicit_cast_cost(&from.0, &to.0)
        }
        _ => None,
    }
}

/// As [`implicit_cast_cost`], from an unsigned integer: UHUGEINT has no wider integer type.
fn unsigned_cast_cost(from: UnsignedInteger, to: &Type) -> Option<u32> {
    if let Some(to) = to.unsigned() {
        return (from < to).then(|| 1 + (to as u32 - from as u32));
    }
    match to {
        Type::Decimal { .. } => Some(10),
        Type::Double => Some(20),
        Type::Real => Some(24),
        _ if from == UnsignedInteger::UHugeInt => None,
        _ => {
            let (least, rank) = (from.signed().integer_rank()?, to.integer_rank()?);
            (least <= rank).then(|| 2 + u32::from(rank - least))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::custom::Enumeration;

    #[test]
    fn unsigned_integers_meet_where_both_fit() {
        use UnsignedInteger::{UBigInt, UHugeInt, UInteger, USmallInt, UTinyInt};
        let check = |left: UnsignedInteger, right: Type, expected: Option<Type>| {
            let left = left.data_type();
            assert_eq!(common_type(&left, &right), expected, "{left} and {right}");
            assert_eq!(common_type(&right, &left), expected, "{right} and {left}");
        };
        check(UTinyInt, UBigInt.data_type(), Some(UBigInt.data_type()));
        check(UTinyInt, Type::TinyInt, Some(Type::SmallInt));
        check(UTinyInt, Type::BigInt, Some(Type::BigInt));
        check(USmallInt, Type::SmallInt, Some(Type::Integer));
        check(UInteger, Type::TinyInt, Some(Type::BigInt));
        check(UBigInt, Type::TinyInt, Some(Type::HugeInt));
        check(UHugeInt, Type::BigInt, Some(Type::HugeInt));
        check(UHugeInt, Type::HugeInt, Some(Type::HugeInt));
        check(UTinyInt, Type::Boolean, Some(UTinyInt.data_type()));
        check(UTinyInt, Type::Unknown, Some(UTinyInt.data_type()));
        check(UBigInt, Type::Real, Some(Type::Real));
        check(UBigInt, Type::Double, Some(Type::Double));
        check(USmallInt, Type::decimal(2, 1), Some(Type::decimal(6, 1)));
        check(UBigInt, Type::decimal(2, 1), Some(Type::decimal(21, 1)));
        check(UHugeInt, Type::decimal(2, 1), Some(Type::decimal(38, 1)));
        check(UTinyInt, Type::Varchar, None);
        check(UTinyInt, Type::Date, None);
        let cost = |from: UnsignedInteger, to: Type| implicit_cast_cost(&from.data_type(), &to);
        assert!(cost(UTinyInt, USmallInt.data_type()) < cost(UTinyInt, UInteger.data_type()));
        assert!(cost(UTinyInt, Type::SmallInt) < cost(UTinyInt, Type::BigInt));
        assert!(cost(UBigInt, Type::HugeInt) < cost(UBigInt, Type::Double));
        assert_eq!(cost(UTinyInt, Type::TinyInt), None);
        assert_eq!(cost(UBigInt, Type::BigInt), None);
        assert_eq!(cost(UBigInt, UInteger.data_type()), None);
        assert_eq!(cost(UHugeInt, Type::HugeInt), None);
        assert_eq!(implicit_cast_cost(&Type::TinyInt, &UBigInt.data_type()), None);
    }

    #[test]
    fn numbers_meet_where_both_fit() {
        let check = |left: Type, right: Type, expected: Option<Type>| {
            assert_eq!(common_type(&left, &right), expected, "{left} and {right}");
            assert_eq!(common_type(&right, &left), expected, "{right} and {left}");
        };
        check(Type::Integer, Type::BigInt, Some(Type::BigInt));
        check(Type::Integer, Type::decimal(2, 1), Some(Type::decimal(11, 1)));
        check(Type::HugeInt, Type::decimal(2, 1), Some(Type::decimal(38, 1)));
        check(Type::decimal(38, 0), Type::decimal(38, 10), Some(Type::decimal(38, 0)));
        let compared = comparable_type(&Type::decimal(38, 0), &Type::decimal(38, 10));
        assert_eq!(compared, Some(Type::decimal(38, 10)));
        let [left, right] = [0, 10].map(|scale| Type::array(Type::decimal(38, scale)));
        assert_eq!(comparable_type(&left, &right), Some(Type::array(Type::decimal(38, 10))));
        check(Type::decimal(5, 2), Type::Real, Some(Type::Real));
        check(Type::Real, Type::Double, Some(Type::Double));
        check(Type::Boolean, Type::Integer, Some(Type::Integer));
        check(Type::Date, Type::Timestamp, Some(Type::Timestamp));
        check(Type::Unknown, Type::Varchar, Some(Type::Varchar));
        check(Type::Varchar, Type::Integer, None);
        let pair = Type::fixed_array(Type::Integer, 2);
        check(pair.clone(), pair.clone(), Some(pair.clone()));
        let wide = Type::fixed_array(Type::BigInt, 2);
        check(pair.clone(), wide.clone(), Some(wide.clone()));
        check(pair.clone(), Type::fixed_array(Type::Integer, 3), Some(Type::array(Type::Integer)));
        check(wide, Type::array(Type::Integer), Some(Type::array(Type::BigInt)));
        check(Type::Time, Type::Timestamp, None);
        let [ab, bc] = [["a", "b"], ["b", "c"]].map(|it| {
            Enumeration::data_type(it.map(str::to_owned).to_vec()).expect("distinct values")
        });
        check(ab.clone(), bc, Some(Type::Varchar));
        check(ab.clone(), Type::Varchar, Some(Type::Varchar));
        check(ab, Type::Integer, None);
    }

    #[test]
    fn timestamps_meet_in_the_finer_unit() {
        let [second, millisecond, nanosecond] = TimestampUnit::ALL.map(TimestampUnit::data_type);
        let order = [Type::Date, second, millisecond, Type::Timestamp, nanosecond];
        for (left, coarse) in order.iter().enumerate() {
            for (right, fine) in order.iter().enumerate().skip(left) {
                assert_eq!(common_type(coarse, fine).as_ref(), Some(fine));
                assert_eq!(common_type(fine, coarse).as_ref(), Some(fine));
                assert!(implicit_cast_cost(coarse, fine).is_some(), "{coarse} to {fine}");
                assert_eq!(implicit_cast_cost(fine, coarse).is_some(), left == right);
            }
        }
    }

    #[test]
    fn fields_of_one_name_meet() {
        let row = |fields: &[(&str, Type)]| {
            Type::row(fields.iter().map(|it| Field::new(it.0, it.1.clone())))
        };
        let check = |left: Type, right: Type, expected: Option<Type>| {
            assert_eq!(common_type(&left, &right), expected, "{left} and {right}");
        };
        let (a, b) = (("a", Type::Integer), ("b", Type::Varchar));
        check(row(&[a.clone()]), row(&[b.clone()]), Some(row(&[a.clone(), b.clone()])));
        let swapped = row(&[b.clone(), ("A", Type::BigInt)]);
        let wide = ("a", Type::BigInt);
        check(row(&[a.clone(), b.clone()]), swapped, Some(row(&[wide, b.clone()])));
        let unnamed = row(&[("", Type::Integer), ("", Type::Varchar)]);
        check(unnamed.clone(), row(&[a.clone(), b.clone()]), Some(row(&[a.clone(), b.clone()])));
        check(unnamed, row(&[a.clone()]), None);
        let by_position = common_type_by_position(
            &row(&[a.clone(), b.clone()]),
            &row(&[a, ("c", Type::Varchar)]),
        );
        let partly = row(&[("a", Type::Integer), ("", Type::Varchar)]);
        assert_eq!(by_position, Some(partly));
    }
}
