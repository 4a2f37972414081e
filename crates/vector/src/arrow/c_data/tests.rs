use super::*;
use crate::{Deltas, Encoding, StringValues, Values, random::Generator};
use arrow_array::{BooleanArray, Int32Array, StringArray, cast::AsArray};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{Field as ArrowField, Fields};
use std::sync::Arc;
use volley_types::{Field, Type, Value};

const LONG: &str = "a text that is longer than twelve bytes";

fn round_trip(vector: &Vector) -> (CArray, Vector) {
    let exported = CArray::encoded(vector, ArrowLayout::Native).unwrap();
    let again = CArray::encoded(vector, ArrowLayout::Native).unwrap();
    // SAFETY: the structures are our own.
    let back = unsafe { again.into_vector() }.unwrap();
    back.validate().unwrap();
    assert_eq!(back.to_values().unwrap(), vector.to_values().unwrap());
    (exported, back)
}

/// The buffer at `index` after the bitmap stands where `own` does, and so does the one that came
/// back.
#[track_caller]
fn same_place(exported: &FFI_ArrowArray, index: usize, own: &Buffer, back: &Buffer) {
    assert_eq!(exported.buffer(index), own.as_ptr(), "on the way out");
    assert_eq!(back.as_ptr(), own.as_ptr(), "on the way in");
}

fn fixed(vector: &Vector) -> &Buffer {
    vector.flat_values().unwrap().fixed_buffer().unwrap()
}

#[test]
fn fixed_width_values_and_their_nulls_stay_where_they_are() {
    let values = [Value::BigInt(1), Value::Null, Value::BigInt(3)];
    let vector = Vector::from_values(Type::BigInt, &values);
    let (exported, back) = round_trip(&vector);
    same_place(&exported.array, 1, fixed(&vector), fixed(&back));
    let nulls = |it: &Vector| it.null_buffer().unwrap().buffer().clone();
    same_place(&exported.array, 0, &nulls(&vector), &nulls(&back));
    for (data_type, value) in [
        (Type::TinyInt, Value::TinyInt(1)),
        (Type::SmallInt, Value::SmallInt(1)),
        (Type::Integer, Value::Integer(1)),
        (Type::Real, Value::Real(1.0)),
        (Type::Double, Value::Double(1.0)),
        (Type::Date, Value::Date(1)),
        (Type::Time, Value::Time(1)),
        (Type::Timestamp, Value::Timestamp(1)),
        (Type::decimal(38, 2), Value::Decimal(1)),
        (Type::Interval, Value::Interval(volley_types::Interval::new(1, 2, 3))),
    ] {
        let vector = Vector::from_values(data_type, &[value.clone(), value]);
        let (exported, back) = round_trip(&vector);
        same_place(&exported.array, 1, fixed(&vector), fixed(&back));
    }
}

#[test]
fn bits_stay_where_they_are() {
    let vector = Vector::from_values(Type::Boolean, &[Value::Boolean(true), Value::Null]);
    let (exported, back) = round_trip(&vector);
    let (Some(Values::Boolean(own)), Some(Values::Boolean(came))) =
        (vector.flat_values(), back.flat_values())
    else {
        panic!("booleans are flat")
    };
    same_place(&exported.array, 1, own.inner(), came.inner());
}

#[test]
fn string_views_and_their_bytes_stay_where_they_are() {
    for data_type in [Type::Varchar, Type::Varbinary] {
        let strings: StringValues = ["short", LONG].into_iter().collect();
        let vector = Vector::strings(data_type, strings, None);
        let (exported, back) = round_trip(&vector);
        same_place(&exported.array, 1, fixed(&vector), fixed(&back));
        let (Some(Values::View(own)), Some(Values::View(came))) =
            (vector.flat_values(), back.flat_values())
        else {
            panic!("strings are views")
        };
        same_place(&exported.array, 2, &own.buffers[0], &came.buffers[0]);
    }
}

#[test]
fn list_views_stay_where_they_are_also_out_of_order() {
    let elements = Arc::new(Vector::native::<i32>(Type::Integer, vec![1, 2, 3], None));
    let nested = crate::Nested {
        offsets: vec![1, 0, 0].into(),
        sizes: vec![2, 2, 0].into(),
        elements: Arc::clone(&elements),
    };
    let vector = Vector::flat(Type::array(Type::Integer), Values::Array(nested.clone()), None);
    let (exported, back) = round_trip(&vector);
    let Some(Values::Array(came)) = back.flat_values() else { panic!("arrays are list views") };
    same_place(&exported.array, 1, nested.offsets.inner(), came.offsets.inner());
    same_place(&exported.array, 2, nested.sizes.inner(), came.sizes.inner());
    same_place(exported.array.child(0), 1, fixed(&elements), fixed(&came.elements));
}

#[test]
fn fixed_size_lists_stay_where_they_are() {
    let row = |a: i32, b: i32| Value::Array([Value::Integer(a), Value::Integer(b)].into());
    let data_type = Type::fixed_array(Type::Integer, 2);
    let vector = Vector::from_values(data_type.clone(), &[row(1, 2), Value::Null, row(3, 4)]);
    let (exported, back) = round_trip(&vector);
    assert_eq!(*back.data_type(), data_type);
    let elements = |it: &Vector| match it.flat_values() {
        Some(Values::FixedArray(arrays)) => fixed(&arrays.elements).clone(),
        _ => panic!("arrays of a fixed size"),
    };
    same_place(exported.array.child(0), 1, &elements(&vector), &elements(&back));
}

#[test]
fn fields_of_rows_stay_where_they_are() {
    let data_type = Type::row([Field::new("a", Type::Integer), Field::new("b", Type::Varchar)]);
    let row = Value::Row([Value::Integer(1), Value::text(LONG)].into());
    let vector = Vector::from_values(data_type, &[row, Value::Null]);
    let (exported, back) = round_trip(&vector);
    let field = |it: &Vector, index: usize| match it.flat_values() {
        Some(Values::Row { children, .. }) => fixed(&children[index]).clone(),
        _ => panic!("rows have children"),
    };
    for index in [0, 1] {
        same_place(exported.array.child(index), 1, &field(&vector, index), &field(&back, index));
    }
}

#[test]
fn codes_and_dictionaries_stay_where_they_are_on_the_way_out() {
    let base = Arc::new(Vector::from_values(Type::Varchar, &[Value::text(LONG), Value::Null]));
    let codes = ScalarBuffer::from(vec![0u32, 1, 0]);
    let vector = Vector::dictionary(codes.clone(), Arc::clone(&base), None);
    let (exported, back) = round_trip(&vector);
    let Encoding::Dictionary { codes: came, base: came_base } = back.encoding() else {
        panic!("a dictionary stays one")
    };
    same_place(&exported.array, 1, codes.inner(), came.inner());
    same_place(exported.array.dictionary().unwrap(), 1, fixed(&base), fixed(came_base));
}

#[test]
fn run_ends_stay_where_they_are() {
    let base = Arc::new(Vector::native::<i64>(Type::BigInt, vec![7, 8], None));
    let ends = ScalarBuffer::from(vec![2u32, 5]);
    let vector = Vector::run_length(ends.clone(), Arc::clone(&base));
    let (exported, back) = round_trip(&vector);
    let Encoding::RunLength { ends: came, base: came_base } = back.encoding() else {
        panic!("runs stay runs")
    };
    same_place(exported.array.child(0), 1, ends.inner(), came.inner());
    same_place(exported.array.child(1), 1, fixed(&base), fixed(came_base));
}

#[test]
fn what_has_no_common_layout_is_converted() {
    let deltas = Deltas::U8(vec![0u8, 200].into());
    round_trip(&Vector::bias(Type::Date, 18_000, deltas, None));
    round_trip(&Vector::from_values(Type::decimal(9, 2), &[Value::Decimal(-5), Value::Null]));
    let words: ArrayRef = Arc::new(StringArray::from(vec!["short", LONG]));
    let exported = CArray::of_arrow(&words).unwrap();
    let bytes = exported.array.buffer(2);
    // SAFETY: the structures are our own.
    let vector = unsafe { exported.into_vector() }.unwrap();
    assert_eq!(vector.to_values().unwrap(), [Value::text("short"), Value::text(LONG)]);
    let Some(Values::View(views)) = vector.flat_values() else { panic!("strings are views") };
    assert_eq!(views.buffers[0].as_ptr(), bytes, "views are new, bytes are not");
}

#[test]
fn buffers_live_as_long_as_either_side_holds_them() {
    let mut random = Generator::new(7);
    let data_type = Type::array(Type::Varchar);
    let vector = random.vector(&data_type, 50);
    let values = vector.to_values().unwrap();
    let exported = CArray::new(&vector, ArrowLayout::Native).unwrap();
    drop(vector);
    // SAFETY: the structures are our own.
    let back = unsafe { exported.into_vector() }.unwrap();
    let part = back.slice(10, 20);
    drop(back);
    assert_eq!(part.to_values().unwrap(), values[10..30]);
}

#[test]
fn objects_are_refused() {
    let opaque = crate::random::opaque_type();
    let vector = Vector::from_values(Type::Opaque(opaque.clone()), &[opaque.value(1i64)]);
    let error = CArray::new(&vector, ArrowLayout::Native).unwrap_err();
    assert!(error.to_string().contains("have no form in Arrow"), "{error}");
}

/// What importing the contents says.
#[track_caller]
fn error_of(data: ArrayData) -> String {
    let (array, schema) = to_ffi(&data).unwrap();
    // SAFETY: the buffers are as long as the type says; only what they hold is wrong.
    let outcome = unsafe { CArray { array, schema }.into_vector() };
    outcome.map(|it| it.to_string()).unwrap_err().to_string()
}

fn unchecked(
    data_type: DataType,
    len: usize,
    buffers: Vec<Buffer>,
    children: Vec<ArrayData>,
) -> ArrayData {
    let builder = ArrayData::builder(data_type).len(len).buffers(buffers).child_data(children);
    // SAFETY: the tests pass it on to what must find the mistake.
    unsafe { builder.build_unchecked() }
}

fn words() -> ArrayData {
    StringArray::from(vec!["a", "b"]).to_data()
}

fn nullable(data_type: DataType) -> Arc<ArrowField> {
    Arc::new(ArrowField::new("item", data_type, true))
}

#[test]
fn codes_beyond_the_dictionary_are_errors() {
    let data_type = DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into());
    for codes in [vec![0i32, 2], vec![-1, 0]] {
        error_of(unchecked(data_type.clone(), 2, vec![Buffer::from_vec(codes)], vec![words()]));
    }
}

#[test]
fn text_that_is_not_utf8_is_an_error() {
    let offsets = Buffer::from_vec(vec![0i32, 2]);
    let bytes = Buffer::from(vec![0xff, 0xfe]);
    error_of(unchecked(DataType::Utf8, 1, vec![offsets, bytes], vec![]));
    let split = "ä".as_bytes().to_vec();
    let offsets = Buffer::from_vec(vec![0i32, 1, 2]);
    error_of(unchecked(DataType::Utf8, 2, vec![offsets, Buffer::from(split)], vec![]));
    let view = Buffer::from_vec(vec![crate::StringView::inline(&[0xff])]);
    error_of(unchecked(DataType::Utf8View, 1, vec![view], vec![]));
}

#[test]
fn offsets_out_of_order_or_beyond_the_elements_are_errors() {
    let text = Buffer::from("abcdef".as_bytes());
    let offsets = Buffer::from_vec(vec![0i32, 5, 2]);
    error_of(unchecked(DataType::Utf8, 2, vec![offsets.clone(), text], vec![]));
    let numbers = Int32Array::from(vec![1, 2, 3]).to_data();
    let list = DataType::List(nullable(DataType::Int32));
    for ends in [vec![0i32, 3, 1], vec![0, 1, 4], vec![-1, 0, 1]] {
        let offsets = Buffer::from_vec(ends);
        error_of(unchecked(list.clone(), 2, vec![offsets], vec![numbers.clone()]));
    }
    let views = DataType::ListView(nullable(DataType::Int32));
    for (offset, size) in [(0i32, 4i32), (3, 1), (-1, 1), (0, -1), (i32::MAX, i32::MAX)] {
        let buffers = vec![Buffer::from_vec(vec![offset]), Buffer::from_vec(vec![size])];
        error_of(unchecked(views.clone(), 1, buffers, vec![numbers.clone()]));
    }
}

#[test]
fn views_beyond_their_bytes_or_with_another_prefix_are_errors() {
    let bytes = Buffer::from(LONG.as_bytes());
    let right = crate::StringView::new(LONG.as_bytes(), 0, 0);
    for wrong in [right + (1 << 32), right | 1 << 64, right | 1 << 96, right + 100] {
        let buffers = vec![Buffer::from_vec(vec![wrong]), bytes.clone()];
        error_of(unchecked(DataType::Utf8View, 1, buffers, vec![]));
    }
}

#[test]
fn runs_that_do_not_cover_the_rows_are_errors() {
    let ends = Arc::new(ArrowField::new("run_ends", DataType::Int32, false));
    let data_type = DataType::RunEndEncoded(ends, nullable(DataType::Utf8));
    for ends in [vec![1, 1], vec![2, 1], vec![0, 3], vec![1, 2], vec![-1, 3]] {
        let ends = Int32Array::from(ends).to_data();
        error_of(unchecked(data_type.clone(), 3, vec![], vec![ends, words()]));
    }
}

#[test]
fn children_that_are_too_short_are_errors() {
    let numbers = Int32Array::from(vec![1, 2, 3]).to_data();
    let fields = Fields::from(vec![ArrowField::new("a", DataType::Int32, true)]);
    error_of(unchecked(DataType::Struct(fields), 4, vec![], vec![numbers.clone()]));
    let pairs = DataType::FixedSizeList(nullable(DataType::Int32), 2);
    error_of(unchecked(pairs, 2, vec![], vec![numbers]));
}

#[test]
fn maps_without_keys_are_errors() {
    let keys = StringArray::from(vec![Some("a"), None]).to_data();
    let fields = Fields::from(vec![
        ArrowField::new("key", DataType::Utf8, true),
        ArrowField::new("value", DataType::Int32, true),
    ]);
    let values = Int32Array::from(vec![1, 2]).to_data();
    let entries_type = DataType::Struct(fields);
    let entries = unchecked(entries_type.clone(), 2, vec![], vec![keys, values]);
    let map = DataType::Map(Arc::new(ArrowField::new("entries", entries_type, false)), false);
    let offsets = Buffer::from_vec(vec![0i32, 2]);
    assert!(error_of(unchecked(map, 1, vec![offsets], vec![entries])).contains("key"));
}

#[test]
fn structures_of_another_type_are_errors() {
    let pairs = |left: DataType, right: ArrayData| {
        let (array, _) = to_ffi(&right).unwrap();
        let schema = FFI_ArrowSchema::try_from(&left).unwrap();
        // SAFETY: what the type asks for is not there, and nothing is read.
        let outcome = unsafe { CArray { array, schema }.into_vector() };
        outcome.unwrap_err().to_string()
    };
    let number = || Int32Array::from(vec![1]).to_data();
    pairs(DataType::Utf8, number());
    pairs(DataType::Utf8View, number());
    pairs(DataType::List(nullable(DataType::Int32)), number());
    pairs(DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into()), number());
    pairs(DataType::Int32, words());
    pairs(DataType::Struct(Fields::empty()), BooleanArray::from(vec![true]).to_data());
    let schema = FFI_ArrowSchema::try_from(&DataType::Int32).unwrap();
    // SAFETY: a released structure is noticed before anything is read.
    let outcome = unsafe { CArray { array: FFI_ArrowArray::empty(), schema }.into_vector() };
    assert!(outcome.unwrap_err().to_string().contains("released"));
}

#[test]
fn types_without_a_counterpart_are_errors() {
    let wide = arrow_array::Decimal256Array::from(vec![arrow_buffer::i256::ONE]);
    assert!(error_of(wide.to_data()).contains("unsupported Arrow type"));
    let union = arrow_schema::UnionFields::empty();
    let union = DataType::Union(union, arrow_schema::UnionMode::Sparse);
    error_of(ArrayData::new_empty(&union));
}

#[test]
fn a_null_count_that_is_wrong_is_an_error_or_counted_again() {
    let array: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    for count in [-1i64, 0, 3] {
        let mut exported = CArray::of_arrow(&array).unwrap();
        // SAFETY: only what is said about the bitmap is wrong, not the bitmap.
        unsafe { exported.array.set_null_count(count) };
        // SAFETY: as above.
        if let Ok(vector) = unsafe { exported.into_vector() } {
            let values = [Value::Integer(1), Value::Null, Value::Integer(3)];
            assert_eq!(vector.to_values().unwrap(), values, "count {count}");
        }
    }
    assert_eq!(array.as_primitive::<arrow_array::types::Int32Type>().null_count(), 1);
}
