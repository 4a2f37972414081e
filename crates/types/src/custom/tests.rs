use super::*;

fn text(data_type: &Type, written: &str) -> Option<String> {
    let Type::Custom(custom) = data_type else { return None };
    let value = custom.parse(written)?;
    Some(value.display(data_type).to_string())
}

#[test]
fn uuids_are_read_in_several_forms_and_written_in_one() {
    let uuid = Uuid::data_type();
    let canonical = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
    for written in [
        canonical,
        " F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6 ",
        "f81d4fae7dec11d0a76500a0c91e6bf6",
        "{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}",
    ] {
        assert_eq!(text(&uuid, written).as_deref(), Some(canonical), "{written}");
    }
    for wrong in ["", "f81d4fae", "-f81d4fae7dec11d0a76500a0c91e6bf6", "{", "ä", "g81d4fae7dec11d0"]
    {
        assert_eq!(text(&uuid, wrong), None, "{wrong}");
    }
    let zero = "00000000-0000-0000-0000-000000000000";
    assert_eq!(text(&uuid, zero).as_deref(), Some(zero));
}

#[test]
fn addresses_of_both_versions_are_read_and_ordered_by_their_bits() {
    let address = IpAddress::data_type();
    for (written, expected) in [
        ("1.2.3.4", "1.2.3.4"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("2001:0DB8::0001", "2001:db8::1"),
        ("::", "::"),
    ] {
        assert_eq!(text(&address, written).as_deref(), Some(expected));
    }
    assert_eq!(text(&address, "1.2.3"), None);
    assert_eq!(text(&address, "1.2.3.256"), None);
    let bits = |written: &str| IpAddress.parse(written).and_then(|it| it.as_i128());
    assert!(bits("::") < bits("1.2.3.4"));
    assert!(bits("1.2.3.4") < bits("2001:db8::1"));
    assert!(bits("2001:db8::1") < bits("ff00::"));
}

#[test]
fn json_keeps_its_text() {
    let json = Json::data_type();
    let written = r#" {"b": 1.50, "a": [null, "\u00e4"]}"#;
    assert_eq!(text(&json, written).as_deref(), Some(written));
    for wrong in ["", "{", "{'a': 1}", "1 2", "nul"] {
        assert_eq!(text(&json, wrong), None, "{wrong}");
    }
}

#[test]
fn types_are_the_same_by_name_and_made_by_any_case() {
    let mut types = TypeRegistry::default();
    types.add_plain(Uuid);
    assert_eq!(types.make("uuid", &[]), Some(Ok(Uuid::data_type())));
    assert_eq!(types.make("json", &[]), None);
    let error = types.make("UUID", &["3".to_owned()]);
    assert_eq!(error, Some(Err("the type UUID takes no parameters".to_owned())));
    assert_ne!(Uuid::data_type(), Json::data_type());
}

/// Text whose length is all that counts.
#[derive(Debug)]
struct Sized;

impl CustomType for Sized {
    fn name(&self) -> &str {
        "SIZED"
    }

    fn storage(&self) -> &Type {
        &Type::Varchar
    }

    fn push(&self, out: &mut String, stored: &Value) {
        out.push_str(stored.as_str().unwrap_or_default());
    }

    fn parse(&self, text: &str) -> Option<Value> {
        Some(Value::text(text))
    }

    fn order(&self) -> CustomOrder {
        CustomOrder::Equality
    }

    fn key(&self) -> Option<&dyn ComparisonKey> {
        Some(self)
    }
}

impl ComparisonKey for Sized {
    fn data_type(&self) -> &Type {
        &Type::BigInt
    }

    fn key(&self, stored: &Value) -> Value {
        Value::BigInt(stored.as_str().unwrap_or_default().len() as i64)
    }
}

#[test]
fn nested_types_have_the_keys_and_the_order_of_their_parts() {
    use crate::Field;
    let sized = Type::Custom(Custom::new(Sized));
    let field = |data_type: &Type| Type::row([Field::new("f", data_type.clone())]);
    let map = |key: &Type, value: &Type| Type::map(key.clone(), value.clone());
    assert_eq!(sized.key_type(), Some(Type::BigInt));
    assert_eq!(Type::array(sized.clone()).key_type(), Some(Type::array(Type::BigInt)));
    assert_eq!(field(&sized).key_type(), Some(field(&Type::BigInt)));
    assert_eq!(map(&Type::Date, &sized).key_type(), Some(map(&Type::Date, &Type::BigInt)));
    assert_eq!(field(&Type::array(Uuid::data_type())).key_type(), None);

    let nested = map(&Type::Date, &Type::array(sized.clone()));
    let lengths = Value::Array([Value::text("abc"), Value::Null].into());
    let keys = Value::Array([Value::BigInt(3), Value::Null].into());
    let entry = |it: Value| Value::Map([(Value::Date(1), it)].into());
    assert_eq!(nested.key_of(&entry(lengths)), entry(keys));

    assert_eq!(nested.order(), CustomOrder::Equality);
    assert_eq!(nested.lacks_order(CustomOrder::Ordered), Some(&sized));
    assert_eq!(nested.lacks_order(CustomOrder::Equality), None);
}

#[test]
fn networks_lose_the_bits_of_hosts_and_are_ordered_by_address_and_size() {
    let network = IpPrefix::data_type();
    for (written, expected) in [
        ("192.168.255.255/9", "192.128.0.0/9"),
        ("1.2.3.4/32", "1.2.3.4/32"),
        ("1.2.3.4/0", "0.0.0.0/0"),
        ("::ffff:1.2.3.4/24", "1.2.3.0/24"),
        ("2001:db8:85a3:1::1/48", "2001:db8:85a3::/48"),
        ("ffff::/0", "::/0"),
    ] {
        assert_eq!(text(&network, written).as_deref(), Some(expected));
    }
    for wrong in ["1.2.3.4", "1.2.3.4/33", "1.2.3.4/+1", "1.2.3.4/", "::/129", "/1", "a/1"] {
        assert_eq!(text(&network, wrong), None, "{wrong}");
    }
    let parse = |it: &str| IpPrefix.parse(it).unwrap();
    let sorted = ["0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/9", "10.128.0.0/9"].map(parse);
    assert!(sorted.is_sorted_by_key(|it| match it {
        Value::Varbinary(bytes) => bytes.to_vec(),
        _ => Vec::new(),
    }));
}

#[test]
fn values_of_an_enum_are_stored_by_position() {
    let of =
        |labels: &[&str]| Enumeration::data_type(labels.iter().map(|it| it.to_string()).collect());
    let mood = of(&["sad", "it's ok", "happy"]).expect("distinct");
    assert_eq!(mood.to_string(), "ENUM('sad', 'it''s ok', 'happy')");
    assert_eq!(mood.storage(), &Type::TinyInt);
    assert_eq!(text(&mood, "it's ok").as_deref(), Some("it's ok"));
    for wrong in ["", "Sad", " sad"] {
        assert_eq!(text(&mood, wrong), None, "{wrong}");
    }
    let Type::Custom(custom) = &mood else { unreachable!("an ENUM is a custom type") };
    assert_eq!(custom.parse("happy"), Some(Value::TinyInt(2)));
    assert_eq!(Ok(mood), of(&["sad", "it's ok", "happy"]));
    assert_eq!(of(&["a", "b", "a"]), Err("two values of an ENUM are 'a'".to_owned()));
    let many: Vec<String> = (0..300).map(|it| it.to_string()).collect();
    let many = Enumeration::data_type(many).expect("distinct");
    assert_eq!(many.storage(), &Type::SmallInt);
    assert_eq!(text(&many, "299").as_deref(), Some("299"));
    assert_eq!(of(&[]).expect("none").to_string(), "ENUM()");
}
