use crate::calls::{call, exhausts, fails};
use volley_types::{Field, Type, Value};

fn integer(value: i32) -> (Type, Value) {
    (Type::Integer, Value::Integer(value))
}

fn array(values: &[Option<i32>]) -> (Type, Value) {
    let values = values.iter().map(|it| it.map_or(Value::Null, Value::Integer)).collect();
    (Type::array(Type::Integer), Value::Array(values))
}

fn map() -> (Type, Value) {
    let entries = [(Value::text("a"), Value::Integer(1)), (Value::text("b"), Value::Null)];
    (Type::map(Type::Varchar, Type::Integer), Value::Map(entries.into()))
}

#[test]
fn constructors_hold_their_arguments() {
    let null = (Type::Unknown, Value::Null);
    assert_eq!(call("list_value", &[integer(1), null]), array(&[Some(1), None]).1);
    assert_eq!(call("list_value", &[]), Value::Array([].into()));
    let row = call("row", &[integer(1), (Type::Varchar, Value::text("x"))]);
    assert_eq!(row, Value::Row([Value::Integer(1), Value::text("x")].into()));
    let texts = ["a", "b"].map(Value::text);
    let keys = (Type::array(Type::Varchar), Value::Array(texts.into()));
    let values = array(&[Some(1), None]);
    assert_eq!(call("map", &[keys, values]), map().1);
    let twice = array(&[Some(1), Some(1)]);
    assert_eq!(fails("map", &[twice.clone(), twice]), "a map has a key twice");
    let null = array(&[None]);
    assert_eq!(fails("map", &[null, array(&[Some(1)])]), "a key of a map is null");
    let failed = fails("map", &[array(&[Some(1)]), array(&[])]);
    assert_eq!(failed, "a map needs as many keys as values");
}

#[test]
fn elements_are_found_from_either_end() {
    let element =
        |index: i32| call("array_extract", &[array(&[Some(10), None, Some(30)]), integer(index)]);
    assert_eq!(element(1), Value::Integer(10));
    assert_eq!(element(2), Value::Null);
    assert_eq!(element(-1), Value::Integer(30));
    assert_eq!(element(0), Value::Null);
    assert_eq!(element(4), Value::Null);
    assert_eq!(element(i32::MIN), Value::Null);
    assert_eq!(call("array_extract", &[array(&[]), integer(1)]), Value::Null);
    let value = |key: &str| call("element_at", &[map(), (Type::Varchar, Value::text(key))]);
    assert_eq!(value("a"), Value::Integer(1));
    assert_eq!(value("b"), Value::Null);
    assert_eq!(value("c"), Value::Null);
    let row = Type::row([Field::new("x", Type::Integer), Field::new("y", Type::Integer)]);
    let value = Value::Row([Value::Integer(1), Value::Integer(2)].into());
    let name = (Type::Varchar, Value::text("Y"));
    assert_eq!(call("struct_extract", &[(row, value), name]), Value::Integer(2));
    assert_eq!(call("map_keys", &[map()]), Value::Array(["a", "b"].map(Value::text).into()));
    assert_eq!(call("map_values", &[map()]), array(&[Some(1), None]).1);
}

#[test]
fn arrays_are_measured_searched_and_joined() {
    let three = || array(&[Some(3), None, Some(1)]);
    assert_eq!(call("cardinality", &[three()]), Value::BigInt(3));
    assert_eq!(call("length", &[map()]), Value::BigInt(2));
    assert_eq!(call("array_contains", &[three(), integer(1)]), Value::Boolean(true));
    assert_eq!(call("array_contains", &[three(), integer(2)]), Value::Boolean(false));
    assert_eq!(call("array_position", &[three(), integer(1)]), Value::BigInt(3));
    let joined = array(&[Some(3), None, Some(1), Some(7)]).1;
    assert_eq!(call("concat_op", &[three(), array(&[Some(7)])]), joined);
    assert_eq!(call("concat", &[three(), array(&[Some(7)])]), joined);
    let null = (Type::array(Type::Integer), Value::Null);
    assert_eq!(call("concat_op", &[three(), null.clone()]), Value::Null);
    assert_eq!(call("list_concat", &[three(), null]), three().1);
    assert_eq!(call("list_sort", &[three()]), array(&[Some(1), Some(3), None]).1);
    assert_eq!(call("list_distinct", &[three()]), array(&[Some(3), Some(1)]).1);
    assert_eq!(call("list_reverse", &[three()]), array(&[Some(1), None, Some(3)]).1);
}

#[test]
fn results_larger_than_the_memory_end_the_query() {
    let long = array(&vec![Some(1); 100_000]);
    for name in ["list_concat", "list_zip"] {
        exhausts(name, &[long.clone(), long.clone()], 100);
    }
    let numbers: Vec<Option<i32>> = (0..1_000_000).map(Some).collect();
    let numbers = array(&numbers);
    for name in ["list_distinct", "list_unique"] {
        exhausts(name, std::slice::from_ref(&numbers), 1);
    }
    exhausts("list_has_all", &[numbers.clone(), numbers.clone()], 1);
    exhausts("list_sort", &[numbers], 1);
}

#[test]
fn keys_of_large_maps_are_told_apart() {
    let keys: Vec<Option<i32>> = (0..1000).map(Some).collect();
    let mut twice = keys.clone();
    twice[999] = Some(0);
    let [keys, twice] = [array(&keys), array(&twice)];
    let Value::Map(entries) = call("map", &[keys.clone(), twice.clone()]) else { panic!("no map") };
    assert_eq!(entries.len(), 1000);
    assert_eq!(fails("map", &[twice, keys]), "a map has a key twice");
}
