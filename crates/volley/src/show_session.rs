//! SHOW SESSION and SHOW FUNCTIONS LIKE.

use crate::settings::Settings;
use volley_error::Result;
use volley_functions::matches_like;
use volley_sql::NamePattern;

/// The columns of SHOW SESSION, as in Presto.
pub(crate) const SESSION_COLUMNS: [&str; 5] = ["Name", "Value", "Default", "Type", "Description"];

/// The rows of SHOW SESSION: each setting, its default and the type that it has in Presto's terms.
pub(crate) fn session_rows(settings: &Settings) -> Vec<Vec<String>> {
    let defaults = Settings::default().list();
    let row = |((name, value, description), (_, default, _)): (Listed, Listed)| {
        let kind = type_of(&default).to_owned();
        vec![name.to_owned(), value, default, kind, description.to_owned()]
    };
    let mut rows: Vec<Vec<String>> = settings.list().into_iter().zip(defaults).map(row).collect();
    rows.sort_unstable();
    rows
}

/// The name, value and description of a setting.
type Listed = (&'static str, String, &'static str);

/// Settings are texts; those that are numbers or truth values have their type.
fn type_of(value: &str) -> &'static str {
    match value {
        "true" | "false" => "boolean",
        number if number.parse::<i64>().is_ok() => "bigint",
        number if number.parse::<f64>().is_ok() => "double",
        _ => "varchar",
    }
}

/// The rows whose first column matches, all without a pattern.
///
/// # Errors
///
/// Invalid value: a malformed pattern.
pub(crate) fn matching(
    rows: Vec<Vec<String>>,
    names: Option<&NamePattern>,
) -> Result<Vec<Vec<String>>> {
    let Some(NamePattern { pattern, escape }) = names else { return Ok(rows) };
    let mut found = Vec::new();
    for row in rows {
        let name = row.first().map(String::as_str).unwrap_or_default();
        if matches_like(name, pattern, *escape)? {
            found.push(row);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_values() {
        for (value, kind) in [
            ("true", "boolean"),
            ("-4", "bigint"),
            ("0.5", "double"),
            ("1GB", "varchar"),
            ("", "varchar"),
        ] {
            assert_eq!(type_of(value), kind, "{value}");
        }
    }

    #[test]
    fn names_match_patterns() {
        let rows = || ["date_add", "date_diff", "datexadd"].map(|it| vec![it.to_owned()]).to_vec();
        let names = |pattern: &str, escape| NamePattern { pattern: pattern.to_owned(), escape };
        let found = |it: Option<NamePattern>| matching(rows(), it.as_ref()).map(|it| it.len()).ok();
        assert_eq!(found(None), Some(3));
        assert_eq!(found(Some(names("date_a%", None))), Some(2));
        assert_eq!(found(Some(names("date!_a%", Some('!')))), Some(1));
        assert_eq!(found(Some(names("%!", Some('!')))), None);
    }

    #[test]
    fn all_settings_are_listed() {
        let rows = session_rows(&Settings::default());
        assert!(rows.len() > 5 && rows.iter().all(|it| it[1] == it[2]), "{rows:?}");
    }
}
