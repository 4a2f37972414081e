use super::*;
use crate::{Encoding, Vector};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, IntervalMonthDayNanoArray, RunArray, StringArray,
    cast::AsArray, types::Int32Type,
};
use arrow_buffer::{Buffer, ScalarBuffer};
use std::sync::Arc;
use volley_types::{
    Field, Type, Value,
    custom::{CustomType, TimestampUnit, Uuid},
};

/// Every value of `vector` survives a trip through Arrow in both layouts.
#[track_caller]
fn check(data_type: Type, values: &[Value]) {
    let vector = Vector::from_values(data_type.clone(), values);
    for layout in [ArrowLayout::Native, ArrowLayout::Portable] {
        let array = to_arrow(&vector, layout).unwrap();
        assert_eq!(*array.data_type(), type_to_arrow(&data_type, layout));
        let back = from_arrow(array.as_ref()).unwrap();
        assert_eq!(back.to_values().unwrap(), values, "{data_type} {layout:?}");
    }
}

#[test]
fn scalars_survive_the_trip_in_both_layouts() {
    check(Type::Boolean, &[Value::Boolean(true), Value::Null, Value::Boolean(false)]);
    check(Type::BigInt, &[Value::BigInt(i64::MIN), Value::Null]);
    check(Type::decimal(15, 2), &[Value::Decimal(-12345), Value::Null]);
    check(Type::decimal(38, 2), &[Value::Decimal(i128::from(i64::MAX) * 7)]);
    check(
        Type::Varchar,
        &[Value::text("kurz"), Value::text("länger als zwölf Bytes"), Value::Null],
    );
    check(Type::Date, &[Value::Date(-1), Value::Null]);
    check(Type::Timestamp, &[Value::Timestamp(1)]);
    check(Type::Unknown, &[Value::Null, Value::Null]);
    check(Type::Varchar, &[]);
}

#[test]
fn nested_values_survive_the_trip_in_both_layouts() {
    let list = |values: &[i32]| Value::Array(values.iter().map(|it| Value::Integer(*it)).collect());
    check(Type::array(Type::Integer), &[list(&[1, 2]), Value::Null, list(&[]), list(&[3])]);
    let row = Type::row([Field::new("a", Type::Integer), Field::new("b", Type::Varchar)]);
    check(row, &[Value::Row([Value::Integer(1), Value::Null].into()), Value::Null]);
    let entry = |key: &str, value: i32| (Value::text(key), Value::Integer(value));
    check(
        Type::map(Type::Varchar, Type::Integer),
        &[Value::Map([entry("a", 1), entry("b", 2)].into()), Value::Null, Value::Map([].into())],
    );
}

#[test]
fn flat_buffers_are_shared_and_not_copied() {
    let vector = Vector::native::<i64>(Type::BigInt, vec![1i64, 2, 3], None);
    let array = to_arrow(&vector, ArrowLayout::Native).unwrap();
    let address = |it: &dyn Array| it.to_data().buffers()[0].as_ptr();
    let back = from_arrow(array.as_ref()).unwrap();
    let again = to_arrow(&back, ArrowLayout::Native).unwrap();
    let own = vector.flat_values().unwrap().fixed_buffer().unwrap().as_ptr();
    assert_eq!(address(array.as_ref()), own);
    assert_eq!(address(again.as_ref()), own);
}

#[test]
fn dictionaries_and_runs_keep_their_encoding_on_the_way_in() {
    let keys = Int32Array::from(vec![Some(1), None, Some(0)]);
    let words: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let array = DictionaryArray::<Int32Type>::new(keys, Arc::clone(&words));
    let vector = from_arrow(&array).unwrap();
    assert!(matches!(vector.encoding(), Encoding::Dictionary { .. }));
    assert_eq!(vector.to_values().unwrap(), [Value::text("b"), Value::Null, Value::text("a")]);

    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![2, 5]), &words).unwrap();
    let vector = from_arrow(&runs.slice(1, 3)).unwrap();
    assert!(matches!(vector.encoding(), Encoding::RunLength { .. }));
    assert_eq!(vector.to_values().unwrap(), [Value::text("a"), Value::text("b"), Value::text("b")]);
}

#[test]
fn encoded_arrays_share_codes_and_run_ends() {
    let base = Arc::new(Vector::from_values(
        Type::Varchar,
        &[Value::text("a"), Value::Null, Value::text("a text of more than twelve bytes")],
    ));
    let codes = ScalarBuffer::from(vec![2u32, 0, 1, 2]);
    let vector = Vector::dictionary(codes.clone(), Arc::clone(&base), None);
    let array = to_arrow_encoded(&vector, ArrowLayout::Native).unwrap();
    let dictionary = array.as_any_dictionary();
    assert_eq!(dictionary.keys().to_data().buffers()[0].as_ptr(), codes.inner().as_ptr());
    assert_eq!(from_arrow(&array).unwrap().to_values().unwrap(), vector.to_values().unwrap());

    let nested = Vector::dictionary(vec![3u32, 1].into(), Arc::new(vector), None);
    let array = to_arrow_encoded(&nested, ArrowLayout::Native).unwrap();
    assert_eq!(from_arrow(&array).unwrap().to_values().unwrap(), nested.to_values().unwrap());

    let ends = ScalarBuffer::from(vec![2u32, 3, 6]);
    let runs = Vector::run_length(ends.clone(), base);
    let array = to_arrow_encoded(&runs, ArrowLayout::Native).unwrap();
    let run_array = array.as_any().downcast_ref::<RunArray<Int32Type>>().unwrap();
    assert_eq!(run_array.run_ends().inner().inner().as_ptr(), ends.inner().as_ptr());
    assert_eq!(from_arrow(&array).unwrap().to_values().unwrap(), runs.to_values().unwrap());

    let constant = Vector::constant(Type::BigInt, &Value::BigInt(7), 5);
    let array = to_arrow_encoded(&constant, ArrowLayout::Native).unwrap();
    assert!(matches!(array.data_type(), arrow_schema::DataType::RunEndEncoded(..)));
    assert_eq!(from_arrow(&array).unwrap().to_values().unwrap(), constant.to_values().unwrap());
}

#[test]
fn intervals_at_addresses_that_kernels_do_not_take_are_copied() {
    let words = Buffer::from_vec(vec![0i64, 1 << 32 | 2, 3, 5, 7]);
    for offset in [0, 8] {
        let values = ScalarBuffer::new(words.slice(offset), 0, 2);
        let array = IntervalMonthDayNanoArray::new(values, None);
        let vector = from_arrow(&array).unwrap();
        let gathered = vector.gather(&[1, 0]).unwrap();
        let expected = [array.value(1), array.value(0)].map(Value::Interval);
        assert_eq!(gathered.to_values().unwrap(), expected);
    }
}

#[test]
fn timestamps_of_every_unit_share_their_buffers() {
    let value = |units: i64| Value::BigInt(units);
    for unit in [TimestampUnit::Second, TimestampUnit::Millisecond, TimestampUnit::Nanosecond] {
        check(unit.data_type(), &[value(i64::MIN), Value::Null, value(-1), value(i64::MAX)]);
        check(Type::array(unit.data_type()), &[Value::Array([value(5)].into()), Value::Null]);
        let vector = Vector::native::<i64>(unit.data_type(), vec![1, 2], None);
        let array = to_arrow(&vector, ArrowLayout::Portable).unwrap();
        let own = vector.flat_values().unwrap().fixed_buffer().unwrap().as_ptr();
        assert_eq!(array.to_data().buffers()[0].as_ptr(), own);
        let back = from_arrow(array.as_ref()).unwrap();
        assert_eq!(*back.data_type(), unit.data_type());
        assert_eq!(back.flat_values().unwrap().fixed_buffer().unwrap().as_ptr(), own);
    }
}

#[test]
fn uuids_are_known_by_the_extension_of_their_field() {
    let uuid = |text: &str| Uuid.parse(text).unwrap();
    let values = [uuid("00112233-4455-6677-8899-aabbccddeeff"), Value::Null, uuid(&"f".repeat(32))];
    let list = Value::Array(values.clone().into());
    let row = |it: &Value| Value::Row([it.clone()].into());
    for (data_type, values) in [
        (Uuid::data_type(), values.to_vec()),
        (Type::array(Uuid::data_type()), vec![list.clone(), Value::Null]),
        (Type::row([Field::new("u", Uuid::data_type())]), values.iter().map(row).collect()),
        (Type::map(Uuid::data_type(), Uuid::data_type()), vec![Value::Null]),
    ] {
        let vector = Vector::from_values(data_type.clone(), &values);
        let field = field_to_arrow(&Field::new("a", data_type.clone()), ArrowLayout::Portable);
        let array = to_arrow(&vector, ArrowLayout::Portable).unwrap();
        let back = field_from_arrow(array.as_ref(), &field).unwrap();
        assert_eq!(*back.data_type(), data_type);
        assert_eq!(back.to_values().unwrap(), values);
        let schema = arrow_schema::Schema::new(vec![field]);
        let found = schema_from_arrow(&schema).unwrap();
        assert_eq!(found.types().collect::<Vec<_>>(), [&data_type]);
    }
    // Without the extension they are bytes.
    let vector = Vector::from_values(Uuid::data_type(), &values);
    let array = to_arrow(&vector, ArrowLayout::Portable).unwrap();
    assert_eq!(*from_arrow(array.as_ref()).unwrap().data_type(), Type::Varbinary);
}
