use super::*;
use crate::random::Generator;
use arrow_buffer::NullBuffer;
use std::sync::Arc;
use volley_error::ErrorKind;
use volley_types::custom::Json;

/// A cell as one text, and the number of chunks.
fn whole(cells: &Cells, row: usize, is_json: bool) -> (String, usize) {
    let (mut text, mut all, mut handed) = (String::new(), String::new(), 0);
    let mut full = |it: &mut String| {
        assert!(it.len() < 8 * PIECE_BYTES, "{}", it.len());
        all.push_str(it);
        it.clear();
        handed += 1;
        Ok::<(), Error>(())
    };
    if is_json {
        cells.push_json(row, &PlainJson, &mut text, &mut full).unwrap();
    } else {
        cells.push_text(row, &mut text, &mut full).unwrap();
    }
    all.push_str(&text);
    (all, handed)
}

/// The nulls of the dictionary come on top of a constant, whose first row is one of them.
#[test]
fn a_constant_row_below_a_dictionary_with_nulls_is_found() {
    let data_type = Type::row([Field::new("a", Type::Integer)]);
    let row = Value::Row([Value::Integer(-2)].into());
    let base = Arc::new(Vector::constant(data_type.clone(), &row, 3));
    let nulls = NullBuffer::from(vec![false, true, false]);
    let column = Vector::dictionary(vec![0, 2, 1].into(), base, Some(nulls));
    let cells = Cells::new(&column, &data_type).unwrap();
    assert!(cells.is_null(0) && cells.is_null(2));
    assert_eq!(whole(&cells, 1, false).0, "{'a': -2}");
    assert_eq!(whole(&cells, 1, true).0, "{\"a\":-2}");
}

#[test]
fn cells_of_any_encoding_are_the_text_of_their_values() {
    let mut random = Generator::new(31);
    for round in 0..600 {
        let data_type = random.data_type(3);
        let len = 1 + random.below(50);
        let column = random.vector(&data_type, len);
        let cells = Cells::new(&column, &data_type).unwrap();
        for (row, value) in column.to_values().unwrap().iter().enumerate() {
            let expected = value.display(&data_type).to_string();
            assert_eq!(whole(&cells, row, false).0, expected, "round {round}: {data_type}");
            assert_eq!(cells.is_null(row), value.is_null());
        }
    }
}

#[track_caller]
fn check_json(data_type: Type, value: Value, expected: &str) {
    let column = Vector::from_values(data_type.clone(), &[Value::Null, value]);
    let cells = Cells::new(&column, &data_type).unwrap();
    assert_eq!(
        (whole(&cells, 0, true).0, whole(&cells, 1, true).0),
        ("null".into(), expected.into())
    );
}

#[test]
fn json_keeps_numbers_and_quotes_the_rest() {
    let decimal = Type::Decimal { precision: 2, scale: 2 };
    check_json(decimal.clone(), Value::Decimal(50), "0.50");
    check_json(decimal, Value::Decimal(-5), "-0.05");
    check_json(Type::Double, Value::Double(f64::NAN), "null");
    check_json(Type::Boolean, Value::Boolean(true), "true");
    check_json(Type::Date, Value::Date(0), "\"1970-01-01\"");
    check_json(Type::Varchar, Value::text("a\"\\\n\u{1}\u{8}ä"), "\"a\\\"\\\\\\n\\u0001\\bä\"");
    check_json(Type::Varbinary, Value::Varbinary(Arc::from(&b"a\0"[..])), "\"a\\\\x00\"");
    let fields = vec![Field::new("a", Type::Varchar), Field::new("b", Type::array(Type::BigInt))];
    let list = Value::Array([Value::BigInt(1), Value::Null].into());
    let row = Value::Row([Value::text("x"), list.clone()].into());
    check_json(Type::row(fields), row, "{\"a\":\"x\",\"b\":[1,null]}");
    let map = Type::map(Type::array(Type::BigInt), Type::BigInt);
    let entries = Value::Map([(list, Value::BigInt(2))].into());
    check_json(map, entries, "{\"[1, NULL]\":2}");
    let json = Value::text("{ \"a b\\\\\" :\t[1,\r\n \"\\\" \", null ] }\n");
    let compact = "{\"a b\\\\\":[1,\"\\\" \",null]}";
    check_json(Json::data_type(), json.clone(), compact);
    check_json(
        Type::array(Json::data_type()),
        Value::Array([json].into()),
        &format!("[{compact}]"),
    );
}

#[test]
fn what_is_short_is_handed_on_where_there_is_much_of_it() {
    let row = Type::row([Field::new("a", Type::Varchar)]);
    let map = Type::map(Type::Varchar, Type::Varchar);
    for element in [Type::Unknown, Type::Varchar, Type::array(Type::Varchar), row, map] {
        let empty = match &element {
            Type::Varchar => Value::text(""),
            Type::Array(_) => Value::Array([].into()),
            Type::Row(_) => Value::Row([Value::Null].into()),
            Type::Map(_) => Value::Map([].into()),
            _ => Value::Null,
        };
        let data_type = Type::array(element);
        let value = Value::Array(vec![empty; 200_000].into());
        let column = Vector::constant(data_type.clone(), &value, 2);
        let cells = Cells::new(&column, &data_type).unwrap();
        for is_json in [true, false] {
            let (all, handed) = whole(&cells, 1, is_json);
            assert!(handed >= all.len() / PIECE_BYTES / 2, "{data_type}: {handed}");
        }
    }
}

#[test]
fn large_cells_are_handed_on_in_pieces() {
    let text = "ä\"".repeat(100_000);
    let column = Vector::constant(Type::Varchar, &Value::text(&text), 1000);
    let cells = Cells::new(&column, &Type::Varchar).unwrap();
    let (all, handed) = whole(&cells, 999, false);
    assert!(all == text && (1..5).contains(&handed), "{handed}");
    let (all, handed) = whole(&cells, 999, true);
    assert!(all == format!("\"{}\"", text.replace('"', "\\\"")) && handed > 2, "{handed}");
    let numbers: Vec<Value> = (0..100_000).map(Value::BigInt).collect();
    let data_type = Type::array(Type::BigInt);
    let column = Vector::constant(data_type.clone(), &Value::Array(numbers.into()), 1000);
    let cells = Cells::new(&column, &data_type).unwrap();
    let (all, handed) = whole(&cells, 1, true);
    assert!(all.starts_with("[0,1,2,") && all.ends_with(",99999]") && handed > 5, "{handed}");
    let failed = cells.push_text(1, &mut String::new(), &mut |_| Err(Error::cancelled()));
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn long_texts_in_arrays_are_quoted_where_needed() {
    let data_type = Type::array(Type::Varchar);
    let long = "y y".repeat(PIECE_BYTES);
    for text in [long.clone(), format!(" {long}"), format!("{long},'\\{long}"), format!("{long}\n")]
    {
        let value = Value::Array([Value::Null, Value::text(text), Value::text("a")].into());
        let column = Vector::constant(data_type.clone(), &value, 2);
        let cells = Cells::new(&column, &data_type).unwrap();
        let (all, handed) = whole(&cells, 1, false);
        assert!(all == value.display(&data_type).to_string() && handed > 1, "{handed}");
    }
}

#[test]
fn pieces_end_between_characters() {
    for text in ["", "a", &"日".repeat(PIECE_BYTES), &"a".repeat(2 * PIECE_BYTES)] {
        let pieces: Vec<&str> = pieces(text).collect();
        assert!(pieces.iter().all(|it| !it.is_empty() && it.len() <= PIECE_BYTES));
        assert!(pieces.concat() == text);
    }
}
