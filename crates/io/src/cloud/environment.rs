//! What the tools of the clouds read: variables of the environment, and profiles.

use std::{collections::BTreeMap, fs};

/// The beginnings of the names of variables that stores use.
const PREFIXES: [&str; 4] = ["AWS_", "GOOGLE_", "AZURE_", "STORAGE_EMULATOR"];

/// Variables of the environment. Below the program's start nothing reads those of the process.
#[derive(Clone, Default)]
pub struct CloudEnvironment {
    variables: BTreeMap<String, String>,
}

impl CloudEnvironment {
    /// Those of `variables` that stores use.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> CloudEnvironment {
        let is_used = |name: &str| name == "HOME" || PREFIXES.iter().any(|it| name.starts_with(it));
        let variables = variables.into_iter().filter(|it| is_used(&it.0) && !it.1.is_empty());
        CloudEnvironment { variables: variables.collect() }
    }

    /// The first of several variables that is set.
    pub(super) fn first(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|it| self.variables.get(*it).cloned())
    }

    /// A file below the home folder.
    pub(super) fn home_file(&self, path: &str) -> Option<String> {
        self.variables.get("HOME").map(|it| format!("{it}/{path}"))
    }

    /// The entries of an AWS profile: of its own name, or that of `AWS_PROFILE`. The file of
    /// credentials takes precedence over the one of settings.
    pub(super) fn aws_profile(&self, profile: Option<&str>) -> BTreeMap<String, String> {
        let profile = profile.map(str::to_owned);
        let profile = profile.or_else(|| self.first(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]));
        let profile = profile.unwrap_or_else(|| "default".to_owned());
        let read = |variable: &str, path: &str| {
            let file = self.first(&[variable]).or_else(|| self.home_file(path));
            file.and_then(|it| fs::read_to_string(it).ok()).unwrap_or_default()
        };
        let config = read("AWS_CONFIG_FILE", ".aws/config");
        let credentials = read("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
        let mut entries = section(&config, &format!("profile {profile}"));
        if profile == "default" {
            entries.extend(section(&config, "default"));
        }
        entries.extend(section(&credentials, &profile));
        entries
    }
}

impl std::fmt::Debug for CloudEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

/// The entries of a section of an INI file. Those of a nested group have its name and a dot before
/// their own: `s3.addressing_style`.
fn section(text: &str, name: &str) -> BTreeMap<String, String> {
    let mut entries = BTreeMap::new();
    let (mut is_inside, mut group) = (false, String::new());
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(title) = trimmed.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            is_inside = title.split_whitespace().eq(name.split_whitespace());
            continue;
        }
        let Some((key, value)) = trimmed.split_once('=').filter(|_| is_inside) else { continue };
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
        if line.starts_with([' ', '\t']) && !group.is_empty() {
            entries.insert(format!("{group}.{key}"), value.to_owned());
        } else if value.is_empty() {
            group = key;
        } else {
            group.clear();
            entries.insert(key, value.to_owned());
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_read_as_the_tools_read_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let config = "[default]\nregion = r0\n\n[profile  a]\nregion=r1 \ns3 =\n  \
                      addressing_style = path\n# x\naws_access_key_id = old\n[profile b]\nregion=r2";
        fs::write(path("config"), config).unwrap();
        let credentials = "[a]\naws_access_key_id = k=1\naws_secret_access_key = s\n";
        fs::write(path("credentials"), credentials).unwrap();
        let variables = [
            ("AWS_CONFIG_FILE", path("config")),
            ("AWS_SHARED_CREDENTIALS_FILE", path("credentials")),
            ("AWS_PROFILE", "a".to_owned()),
            ("PATH", "/bin".to_owned()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value));
        let environment = CloudEnvironment::new(variables);
        assert_eq!(environment.first(&["PATH"]), None);
        let entries = environment.aws_profile(None);
        let entry = |key: &str| entries.get(key).map(String::as_str);
        assert_eq!(entry("region"), Some("r1"));
        assert_eq!(entry("aws_access_key_id"), Some("k=1"));
        assert_eq!(entry("s3.addressing_style"), Some("path"));
        assert_eq!(environment.aws_profile(Some("default")).get("region").unwrap(), "r0");
        assert!(environment.aws_profile(Some("none")).is_empty());
        assert!(!format!("{environment:?}").contains("credentials\""));
    }
}
