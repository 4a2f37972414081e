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
