use super::*;

const TEXT: &str = r#" { "a" : [1, {"b": "]}\"\\"}, []], "ä": null, "c":{"x":"y"},"d":true } "#;

#[test]
fn parts_are_read() {
    let object = Json::new(TEXT).object("a test").unwrap();
    let elements = object.elements("a").unwrap();
    assert_eq!(elements.len(), 3);
    assert_eq!(elements[0].read::<i64>("n").unwrap(), 1);
    assert_eq!(elements[1].object("b").unwrap().read::<String>("b").unwrap(), "]}\"\\");
    assert!(elements[2].elements("c").unwrap().is_empty());
    assert_eq!(object.read::<Option<i64>>("ä").unwrap(), None);
    assert!(object.optional("ä").is_none() && object.optional("none").is_none());
    assert_eq!(object.members("c").unwrap()[0].0, "x");
    assert!(object.read::<bool>("d").unwrap());
    assert!(Json::new("{ }").object("").unwrap().members.is_empty());
}

#[test]
fn missing_members_are_named() {
    let object = Json::new(TEXT).object("a test").unwrap();
    let message = object.read::<i64>("e").unwrap_err().to_string();
    assert!(message.contains("JSON of e") && message.contains("a test"), "{message}");
    assert!(object.elements("c").is_err() && object.members("a").is_err());
}

#[test]
fn cut_and_changed_texts_are_errors_or_values() {
    let walk = |text: &str| {
        let Ok(object) = Json::new(text).object("o") else { return };
        for (name, value) in &object.members {
            let _ = (value.elements(name), value.object(name), object.read::<String>(name));
        }
    };
    for end in (0..TEXT.len()).filter(|it| TEXT.is_char_boundary(*it)) {
        walk(&TEXT[..end]);
        for with in ["\"", "{", "]", "\\", ",", ":"] {
            walk(&format!("{}{with}{}", &TEXT[..end], &TEXT[end..]));
        }
    }
    for text in
        ["", "{", "}", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1 2}", "{1:2}", "[1", "{\"a\":1,}"]
    {
        assert!(Json::new(text).object("o").is_err(), "{text}");
    }
    for text in ["[", "]", "[,]", "[1,]", "[1 2]", "[\"]", "[}]"] {
        assert!(Json::new(text).elements("o").is_err(), "{text}");
    }
}

#[test]
fn depth_is_no_problem() {
    let text = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    let mut json = Json::new(&text);
    for _ in 0..10 {
        json = json.elements("deep").unwrap()[0];
    }
}
