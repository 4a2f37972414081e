use super::*;
use std::collections::HashSet;

#[test]
fn names_are_distinct_and_help_explains_every_command() {
    let names: HashSet<_> = all().map(|it| it.name).collect();
    assert_eq!(names.len(), all().count());
    let overview = general::overview();
    for command in all() {
        let first = command.help.chars().next();
        assert!(first.is_some_and(char::is_uppercase), ".{}: {}", command.name, command.help);
        assert!(!command.help.ends_with('.'), ".{}: {}", command.name, command.help);
        assert!(overview.contains(&format!("  .{} ", command.name)), ".{}", command.name);
        assert!(overview.contains(command.help), ".{}", command.name);
        assert!(command.count.0 <= command.count.1);
    }
}

#[test]
fn commands_are_found_in_any_case_and_unknown_ones_named() {
    assert_eq!(find("MODE").map(|it| it.name), Some("mode"));
    assert_eq!(find("exit").map(|it| it.name), Some("quit"));
    assert!(find("mod").is_none());
    let error = no_command("modus");
    assert_eq!(error.message(), "no such command: .modus");
    assert!(error.hint_text().is_some_and(|it| it.starts_with("did you mean .mode?")));
}

#[test]
fn switches_toggle_without_a_word() {
    let of = |word: &str| switch("timer", &[word.to_owned()], false).ok();
    assert_eq!((of("on"), of("OFF"), of("maybe")), (Some(true), Some(false), None));
    assert_eq!(switch("timer", &[], true).ok(), Some(false));
}
