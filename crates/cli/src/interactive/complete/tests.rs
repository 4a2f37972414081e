use super::*;

fn completer() -> SqlCompleter {
    let session = Arc::new(Session::new().unwrap());
    session.sql("CREATE TABLE lines AS SELECT 1 AS quantity_of_lines, 2 AS price").unwrap();
    session.sql("CREATE TABLE orders AS SELECT 1 AS o_key").unwrap();
    SqlCompleter::new(session)
}

/// What is offered at the end of a text.
fn offered(text: &str) -> Vec<String> {
    completer().candidates(text, text).names.into_keys().collect()
}

#[test]
fn keywords_tables_and_columns_are_offered() {
    assert!(offered("SEL").contains(&"SELECT".to_owned()));
    assert_eq!(offered("SELECT * FROM li"), ["lines"]);
    assert_eq!(offered("SELECT * FROM "), ["lines", "orders"]);
    assert_eq!(offered("SELECT * FROM lines JOIN o"), ["orders"]);
    assert!(offered("SELECT 'quan").is_empty());
    assert!(offered("SELECT ").is_empty());
}

#[test]
fn columns_are_offered_before_from_too() {
    // No table is named yet: columns of all.
    assert!(offered("SELECT quan").contains(&"quantity_of_lines".to_owned()));
    assert_eq!(offered("SELECT quantity"), ["quantity_of_lines"]);
    assert_eq!(offered("SELECT o_k"), ["o_key"]);
    let of_whole = |text: &str, whole: &str| completer().candidates(text, whole).names;
    assert!(of_whole("SELECT quan", "SELECT quan FROM lines").contains_key("quantity_of_lines"));
    assert!(!of_whole("SELECT quan", "SELECT quan FROM orders").contains_key("quantity_of_lines"));
}

#[test]
fn columns_of_a_table_or_alias_follow_its_dot() {
    assert_eq!(offered("SELECT lines."), ["price", "quantity_of_lines"]);
    let text = "SELECT l.p";
    for from in ["FROM lines l WHERE 1", "FROM lines AS l", "FROM orders o JOIN lines l ON 1"] {
        let whole = format!("{text} {from}");
        let names = completer().candidates(text, &whole).names;
        assert_eq!(names.into_keys().collect::<Vec<_>>(), ["price"], "{from}");
    }
}

#[test]
fn settings_follow_set_and_functions_are_known() {
    assert!(offered("SET thr").contains(&"threads".to_owned()));
    assert!(offered("RESET ").contains(&"memory_limit".to_owned()));
    assert!(offered("SHOW TAB").contains(&"TABLES".to_owned()));
    assert!(offered("UPDATE lines SET pri").contains(&"price".to_owned()));
    assert!(!offered("UPDATE lines SET thr").contains(&"threads".to_owned()));
    assert!(offered("SELECT date_tr").contains(&"date_trunc".to_owned()));
}

#[test]
fn commands_and_their_arguments_are_offered() {
    assert_eq!(offered(".mod"), [".mode"]);
    assert_eq!(offered(".mode b"), ["box"]);
    assert_eq!(offered(".schema ord"), ["orders"]);
    assert_eq!(offered(".timer "), ["off", "on"]);
    assert!(offered(".help ti").contains(&"timer".to_owned()));
    assert!(offered(".nonsense x").is_empty());
}

#[test]
fn data_files_and_folders_are_offered_inside_quotes() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    fs::write(at("logs.csv"), "a\n1\n").unwrap();
    fs::write(at("logs.txt"), "").unwrap();
    fs::create_dir(at("logs_of_may")).unwrap();
    let expected = [at("logs.csv'"), at("logs_of_may/")];
    assert_eq!(offered(&format!("FROM '{}", at("lo"))), expected);
    let expected = [at("logs.csv"), at("logs.txt"), at("logs_of_may/")];
    assert_eq!(offered(&format!(".read {}", at("lo"))), expected);
    assert!(files("/no/such/folder/x", '\'').is_empty());
}

#[test]
fn columns_and_tables_stand_before_keywords_and_functions() {
    let names = ranked(completer().candidates("SELECT o", "SELECT o").names);
    let kinds: Vec<&str> = names.iter().map(|it| it.1).collect();
    assert_eq!(names[..2], [("o_key".to_owned(), "column"), ("orders".to_owned(), "table")]);
    let first = |kind: &str| kinds.iter().position(|it| *it == kind).unwrap();
    assert!(first("keyword") < first("function") && first("table") < first("keyword"), "{kinds:?}");
}
