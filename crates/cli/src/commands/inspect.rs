//! Which tables there are, how they were made, and what queries did.

use super::{Command, Completes, Flow, check_unsafe};
use crate::{error_text::Failure, format, shell::Shell};
use std::{env, fs, process};
use volley::{Error, Field, QueryProfile, Result, Schema, Session, Type, Value};

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "tables",
        arguments: "[PATTERN]",
        help: "Lists tables and views, those whose name is like PATTERN (% and _) or has it",
        count: (0, 1),
        completes: Completes::Tables,
        run: tables,
    },
    Command {
        name: "schema",
        arguments: "[TABLE]",
        help: "Shows the statements that make a table with its indexes, a view, or all of them",
        count: (0, 1),
        completes: Completes::Tables,
        run: schema,
    },
    Command {
        name: "profile",
        arguments: "[on|FILE]",
        help: "Writes what the last query did: as a page, or by the ending of FILE as json, dot, \
               svg, trace or txt. A script says .profile on before the query",
        count: (0, 1),
        completes: Completes::Files,
        run: profile,
    },
];

fn tables(shell: &mut Shell, arguments: &[String]) -> Result<Flow, Failure> {
    let pattern = arguments.first().map(String::as_str);
    let tables = shell.session.tables().into_iter();
    let rows: Vec<Vec<String>> = tables
        .filter(|it| pattern.is_none_or(|pattern| is_like(&it.0, pattern)))
        .map(|(name, kind)| vec![name, kind.to_owned()])
        .collect();
    let schema: Schema = ["name", "kind"].iter().map(|it| Field::new(*it, Type::Varchar)).collect();
    shell.write(|out| format::write_table(&schema, &rows, out))?;
    Ok(Flow::Continue)
}

/// Whether a name is like a pattern of LIKE, in any case; a pattern without `%` and `_` may be
/// anywhere in the name.
fn is_like(name: &str, pattern: &str) -> bool {
    let (name, pattern) = (name.to_lowercase(), pattern.to_lowercase());
    if !pattern.contains(['%', '_']) {
        return name.contains(&pattern);
    }
    let name: Vec<char> = name.chars().collect();
    // Whether the pattern so far fits the first characters of the name, by their number.
    let mut fits = vec![false; name.len() + 1];
    fits[0] = true;
    for wanted in pattern.chars() {
        let mut next = vec![false; name.len() + 1];
        for at in 0..=name.len() {
            next[at] = match wanted {
                '%' => fits[at] || at > 0 && next[at - 1],
                '_' => at > 0 && fits[at - 1],
                other => at > 0 && fits[at - 1] && name[at - 1] == other,
            };
        }
        fits = next;
    }
    fits[name.len()]
}

fn schema(shell: &mut Shell, arguments: &[String]) -> Result<Flow, Failure> {
    let wanted = arguments.first();
    let tables = shell.session.tables();
    let mut text = String::new();
    for (name, kind) in &tables {
        if wanted.is_none_or(|it| it.eq_ignore_ascii_case(name)) {
            text += &statement(&shell.session, name, kind);
            text += ";\n";
            for index in indexes(&shell.session, name) {
                text += index.trim_end().trim_end_matches(';');
                text += ";\n";
            }
        }
    }
    if let (Some(name), true) = (wanted, text.is_empty()) {
        let error = Error::invalid_query(format!("no such table: {name}"));
        return Err(Failure::of_error(&error.hint(".tables lists them")));
    }
    shell.write(|out| out.write_all(text.as_bytes()))?;
    Ok(Flow::Continue)
}

/// The statement that makes a table or view. A table without one, such as a file, is shown by its
/// columns.
fn statement(session: &Session, name: &str, kind: &str) -> String {
    let quoted = name.split('.').map(quoted_name).collect::<Vec<_>>().join(".");
    let sql = format!("SHOW CREATE {} {quoted}", kind.to_uppercase());
    let shown = session.sql(&sql).and_then(|it| it.collect_values()).unwrap_or_default();
    let text = shown.first().and_then(|row| row.iter().filter_map(|it| it.as_str()).next_back());
    if let Some(text) = text {
        return text.trim_end().trim_end_matches(';').to_owned();
    }
    let columns = session.columns(name).ok().flatten().unwrap_or_default();
    let columns =
        columns.fields.iter().map(|it| format!("{} {}", quoted_name(&it.name), it.data_type));
    let columns = columns.collect::<Vec<_>>().join(",\n    ");
    format!("CREATE {} {quoted} (\n    {columns}\n)", kind.to_uppercase())
}

/// The statements that make the indexes of a table.
fn indexes(session: &Session, table: &str) -> Vec<String> {
    let sql = "SELECT sql, table_name, schema_name, database_name FROM duckdb_indexes() ORDER BY 1";
    let rows = session.sql(sql).and_then(|it| it.collect_values()).unwrap_or_default();
    let is_of_table = |row: &&Vec<Value>| {
        let written = table.rsplit('.').zip(row.iter().skip(1));
        row.len() > 1 && written.into_iter().all(|(name, it)| it.as_str() == Some(name))
    };
    let text = |row: &Vec<Value>| row.first().and_then(Value::as_str).map(str::to_owned);
    rows.iter().filter(is_of_table).filter_map(text).collect()
}

/// A name as SQL reads it.
pub fn quoted_name(name: &str) -> String {
    let is_plain = name.chars().next().is_some_and(|it| it.is_ascii_lowercase() || it == '_')
        && name.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_');
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

fn profile(shell: &mut Shell, arguments: &[String]) -> Result<Flow, Failure> {
    check_unsafe(shell, ".profile")?;
    if arguments.first().is_some_and(|it| it == "on") {
        shell.session.keep_last_profile();
        return Ok(Flow::Continue);
    }
    let Some(profile) = shell.session.last_profile() else {
        let error = Error::invalid_value("no query ran whose profile is known");
        let hint = "run a query first, in a script after .profile on";
        return Err(Failure::of_error(&error.hint(hint)));
    };
    let path = match arguments.first() {
        Some(path) => path.into(),
        None => env::temp_dir().join(format!("volley-profile-{}.html", process::id())),
    };
    let ending = path.extension().and_then(|it| it.to_str()).unwrap_or("html");
    let text = rendered(&profile, ending);
    fs::write(&path, text).map_err(|e| Failure::of_error(&Error::io(path.display(), e)))?;
    println!("profile: {}", path.display());
    for sentence in profile.verdict() {
        println!("  {sentence}");
    }
    Ok(Flow::Continue)
}

fn rendered(profile: &QueryProfile, ending: &str) -> String {
    match ending.to_ascii_lowercase().as_str() {
        "json" => profile.json(),
        "dot" => profile.dot(),
        "svg" => profile.svg(),
        "trace" => profile.chrome_trace(),
        "txt" => profile.text(),
        _ => profile.html(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_like() {
        for (name, pattern, expected) in [
            ("lineitem", "line%", true),
            ("LineItem", "%ITEM", true),
            ("lineitem", "item", true),
            ("lineitem", "l_neitem", true),
            ("lineitem", "line_", false),
            ("lineitem", "%x%", false),
            ("größe", "gr__e", true),
            ("", "%", true),
        ] {
            assert_eq!(is_like(name, pattern), expected, "{name} {pattern}");
        }
    }

    #[test]
    fn names_are_quoted_where_sql_needs_it() {
        assert_eq!(
            ["a_1", "A", "a b", "1a", "q\"", ""].map(quoted_name),
            ["a_1", "\"A\"", "\"a b\"", "\"1a\"", "\"q\"\"\"", "\"\""]
        );
    }
}
