//! The settings of the gate, which only tighten, and secrets.

use crate::Session;
use volley_error::{Error, Result};
use volley_io::{
    AccessGate, OnExistingSecret, Secret, SecretKind, SecretProvider, Secrets, widening,
};
use volley_sql::SecretDefinition;

/// A setting of the gate: its names, and what it is for. The first name is shown.
const SETTINGS: [(GateSetting, &[&str], &str); 4] = [
    (
        GateSetting::Network,
        &["allow_network"],
        "whether object stores and HTTP servers can be reached; once off, it stays off",
    ),
    (
        GateSetting::Paths,
        &["allowed_paths", "allowed_directories"],
        "the only files and folders that can be reached; all if empty and never set",
    ),
    (
        GateSetting::External,
        &["enable_external_access"],
        "whether files outside allowed_paths can be reached; once off, it stays off",
    ),
    (
        GateSetting::Lock,
        &["lock_configuration"],
        "whether settings can no longer be changed; once on, it stays on",
    ),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GateSetting {
    Network,
    Paths,
    External,
    Lock,
}

fn find(name: &str) -> Option<GateSetting> {
    let has_name = |names: &[&str]| names.iter().any(|it| it.eq_ignore_ascii_case(name));
    SETTINGS.iter().find(|it| has_name(it.1)).map(|it| it.0)
}

/// Changes a setting of the gate; `None` if it is another setting.
pub(crate) fn set(gate: &AccessGate, name: &str, text: &str) -> Option<Result<()>> {
    Some(change(gate, find(name)?, name, text.trim()))
}

fn change(gate: &AccessGate, setting: GateSetting, name: &str, text: &str) -> Result<()> {
    let tighten = |tightens: bool, is_tight: bool, tighten: &dyn Fn()| match (tightens, is_tight) {
        (true, _) => {
            tighten();
            Ok(())
        }
        (false, false) => Ok(()),
        (false, true) => Err(widening(name, text)),
    };
    match setting {
        GateSetting::Network => {
            tighten(!truth(name, text)?, !gate.allows_network(), &|| gate.deny_network())
        }
        GateSetting::External => {
            tighten(!truth(name, text)?, !gate.allows_external(), &|| gate.deny_external())
        }
        GateSetting::Lock => tighten(truth(name, text)?, gate.is_locked(), &|| gate.lock()),
        GateSetting::Paths => gate.allow_only(&list(name, text)?),
    }
}

/// The value of a setting of the gate; `None` if it is another setting.
pub(crate) fn get(gate: &AccessGate, name: &str) -> Option<String> {
    find(name).map(|it| value(gate, it))
}

/// Refuses to reset a setting of the gate; `None` if it is another setting.
pub(crate) fn reset(name: &str) -> Option<Result<()>> {
    find(name).map(|_| Err(widening(name, "its default")))
}

/// All settings of the gate: name, value, description.
pub(crate) fn settings(
    gate: &AccessGate,
) -> impl Iterator<Item = (&'static str, String, &'static str)> + '_ {
    SETTINGS.iter().filter_map(move |(setting, names, description)| {
        Some((*names.first()?, value(gate, *setting), *description))
    })
}

fn value(gate: &AccessGate, setting: GateSetting) -> String {
    match setting {
        GateSetting::Network => gate.allows_network().to_string(),
        GateSetting::External => gate.allows_external().to_string(),
        GateSetting::Lock => gate.is_locked().to_string(),
        GateSetting::Paths => gate.allowed_paths().unwrap_or_default().join(", "),
    }
}

fn truth(name: &str, text: &str) -> Result<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(Error::invalid_value(format!("{name} must be true or false: '{text}'"))),
    }
}

/// `['a', 'b']`, or texts separated by commas.
fn list(name: &str, text: &str) -> Result<Vec<String>> {
    let Some(inner) = text.strip_prefix('[').and_then(|it| it.strip_suffix(']')) else {
        let items = text.split(',').map(str::trim).filter(|it| !it.is_empty());
        return Ok(items.map(str::to_owned).collect());
    };
    let wrong = || Error::invalid_value(format!("{name} must be a list of texts: {text}"));
    let mut items = Vec::new();
    let mut rest = inner.trim();
    while !rest.is_empty() {
        rest = rest.strip_prefix('\'').ok_or_else(wrong)?;
        let mut item = String::new();
        loop {
            let (before, behind) = rest.split_once('\'').ok_or_else(wrong)?;
            item.push_str(before);
            rest = behind;
            match rest.strip_prefix('\'') {
                Some(behind) => {
                    item.push('\'');
                    rest = behind;
                }
                None => break,
            }
        }
        items.push(item);
        rest = rest.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(behind) => behind.trim_start(),
            None if rest.is_empty() => rest,
            None => return Err(wrong()),
        };
    }
    Ok(items)
}

/// Keeps what CREATE SECRET says.
pub(crate) fn create_secret(session: &Session, definition: SecretDefinition) -> Result<()> {
    let kind = SecretKind::of(&definition.kind)?;
    let provider = match definition.provider.as_deref() {
        None => SecretProvider::Config,
        Some(it) if it.eq_ignore_ascii_case("config") => SecretProvider::Config,
        Some(it) if it.eq_ignore_ascii_case("credential_chain") => SecretProvider::CredentialChain,
        Some(it) => {
            let error = Error::invalid_query(format!("no provider of secrets: {it}"));
            return Err(error.hint("the providers are config and credential_chain"));
        }
    };
    let values = definition.values.into_iter().collect();
    let secret = Secret::new(&definition.name, kind, provider, &definition.scopes, values)?;
    let existing = match (definition.or_replace, definition.if_not_exists) {
        (true, _) => OnExistingSecret::Replace,
        (false, true) => OnExistingSecret::Keep,
        (false, false) => OnExistingSecret::Fail,
    };
    session.files.secrets().add(secret, existing)
}

/// Forgets a secret.
pub(crate) fn drop_secret(session: &Session, name: &str, if_exists: bool) -> Result<()> {
    match session.files.secrets().remove(name) || if_exists {
        true => Ok(()),
        false => {
            let error = Error::invalid_query(format!("no such secret: {name}"));
            Err(error.hint("SHOW SECRETS lists the secrets"))
        }
    }
}

/// The columns of SHOW SECRETS.
pub(crate) const SECRET_COLUMNS: [&str; 5] = ["name", "type", "provider", "scope", "parameters"];

/// The rows of SHOW SECRETS, without values.
pub(crate) fn secret_rows(secrets: &Secrets) -> Vec<Vec<String>> {
    let joined = |it: Vec<String>| it.join(", ");
    let row = |it: &Secret| {
        let parameters = it.parameters().map(str::to_owned).collect();
        vec![
            it.name().to_owned(),
            it.kind().name().to_owned(),
            it.provider().name().to_owned(),
            joined(it.scopes().collect()),
            joined(parameters),
        ]
    };
    secrets.list().iter().map(|it| row(it)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_texts_in_brackets_or_between_commas() {
        let parsed = |text: &str| list("allowed_paths", text).unwrap();
        assert_eq!(parsed("['a,b', 'it''s' ]"), ["a,b", "it's"]);
        assert_eq!(parsed(" a, b "), ["a", "b"]);
        assert!(parsed("[]").is_empty() && parsed("").is_empty());
        for wrong in ["[a]", "['a]", "['a' 'b']"] {
            assert!(list("allowed_paths", wrong).is_err(), "{wrong}");
        }
    }
}
