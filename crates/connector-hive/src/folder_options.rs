//! Options of COPY that make it write a folder of files.

use crate::{FileFormat, file_name::FileNames, format::boolean};
use volley_error::{Error, Result};
use volley_memory::parse_bytes;

/// The names of the options.
pub(crate) const FOLDER_OPTIONS: [&str; 8] = [
    "partition_by",
    "file_size_bytes",
    "overwrite",
    "overwrite_or_ignore",
    "append",
    "filename_pattern",
    "file_extension",
    "write_partition_columns",
];

/// How a folder of files is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FolderOptions {
    /// Columns whose values name folders; a row is in the folder of its values.
    pub partition_by: Vec<String>,
    /// A file ends when it has this many bytes.
    pub file_bytes: Option<u64>,
    /// What happens to files that are in the folder.
    pub existing: ExistingFiles,
    /// The names of files.
    pub names: FileNames,
    /// Whether files have the columns of `partition_by`, too.
    pub writes_partition_columns: bool,
}

/// What happens to files that are in the folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ExistingFiles {
    /// They are an error.
    #[default]
    Refuse,
    /// They are removed once the new files are complete (OVERWRITE).
    Remove,
    /// They stay, and new ones replace those of the same name (OVERWRITE_OR_IGNORE).
    Replace,
    /// They stay (APPEND).
    Keep,
}

impl FolderOptions {
    /// Takes the options of folders out of those that were written; `None` if COPY writes one
    /// file.
    ///
    /// # Errors
    ///
    /// Invalid query or value: options that do not fit.
    pub fn read(
        written: &[(String, String)],
    ) -> Result<(Option<FolderOptions>, Vec<(String, String)>)> {
        let mut options = FolderOptions::default();
        let mut of_format = Vec::new();
        let mut existing: Option<(&str, ExistingFiles)> = None;
        for (name, value) in written {
            match name.as_str() {
                "partition_by" => options.partition_by = names_of(value),
                "file_size_bytes" => options.file_bytes = Some(size(value)?),
                "filename_pattern" => options.names.set_pattern(value)?,
                "file_extension" => options.names.set_extension(value)?,
                "write_partition_columns" => {
                    options.writes_partition_columns = boolean(name, value)?;
                }
                "overwrite" | "overwrite_or_ignore" | "append" => {
                    if !boolean(name, value)? {
                        continue;
                    }
                    if let Some((other, _)) = existing {
                        let message = format!("COPY options {other} and {name} exclude each other");
                        return Err(Error::invalid_query(message));
                    }
                    existing = Some((name, existing_of(name)));
                }
                _ => of_format.push((name.clone(), value.clone())),
            }
        }
        options.existing = existing.map(|it| it.1).unwrap_or_default();
        if !options.partition_by.is_empty() || options.file_bytes.is_some() {
            return Ok((Some(options), of_format));
        }
        // One file replaces the one of its name anyway.
        let is_of_folders = |name: &&String| {
            FOLDER_OPTIONS.contains(&name.as_str()) && !name.starts_with("overwrite")
        };
        match written.iter().map(|it| &it.0).find(is_of_folders) {
            None => Ok((None, of_format)),
            Some(name) => {
                let error = Error::invalid_query(format!("COPY option {name} is for folders"));
                Err(error.hint("PARTITION_BY or FILE_SIZE_BYTES makes COPY write a folder"))
            }
        }
    }

    /// The name of a file of a folder.
    pub fn file_name(&self, number: u64, format: FileFormat) -> String {
        let default = match self.existing {
            // Of several statements that append, each has names of its own.
            ExistingFiles::Keep => "data_{uuid}",
            _ => "data_{i}",
        };
        self.names.name(default, number, format.sink_name())
    }
}

fn existing_of(name: &str) -> ExistingFiles {
    match name {
        "overwrite" => ExistingFiles::Remove,
        "append" => ExistingFiles::Keep,
        _ => ExistingFiles::Replace,
    }
}

fn size(value: &str) -> Result<u64> {
    let bytes = parse_bytes(value).map_err(|it| it.at("option", "file_size_bytes"))?;
    if bytes == 0 {
        return Err(Error::invalid_value("COPY option file_size_bytes is above 0"));
    }
    Ok(bytes as u64)
}

/// Names between commas. One in double quotes may have commas; a doubled quote stands for one.
fn names_of(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut is_quoted = false;
    let mut chars = list.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '"' if is_quoted && chars.next_if_eq(&'"').is_some() => name.push('"'),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => names.push(std::mem::take(&mut name)),
            ' ' if !is_quoted && name.is_empty() => {}
            char => name.push(char),
        }
    }
    names.push(name);
    names.retain(|it| !it.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(written: &[(&str, &str)]) -> Result<Option<FolderOptions>> {
        let written: Vec<_> =
            written.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        FolderOptions::read(&written).map(|it| it.0)
    }

    #[test]
    fn folders_are_written_if_something_says_so() {
        assert_eq!(read(&[("header", "true"), ("overwrite", "true")]).unwrap(), None);
        let options = read(&[("partition_by", "a, \"b,\"\"c\"")]).unwrap().unwrap();
        assert_eq!(options.partition_by, ["a", "b,\"c"]);
        assert_eq!(options.file_name(3, FileFormat::Csv), "data_3.csv");
        let options = read(&[("file_size_bytes", "1 MiB"), ("append", "true")]).unwrap().unwrap();
        assert_eq!(options.file_bytes, Some(1 << 20));
        let (first, second) =
            (options.file_name(0, FileFormat::Orc), options.file_name(0, FileFormat::Orc));
        assert!(first.ends_with(".orc") && first != second, "{first}");
    }

    #[test]
    fn options_that_do_not_fit_are_errors() {
        let error = read(&[("append", "true")]).unwrap_err();
        assert_eq!(error.to_string(), "COPY option append is for folders");
        let both = [("partition_by", "a"), ("append", "true"), ("overwrite", "1")];
        let error = read(&both).unwrap_err();
        assert_eq!(error.to_string(), "COPY options append and overwrite exclude each other");
        assert!(read(&[("file_size_bytes", "0")]).is_err());
        assert!(read(&[("file_size_bytes", "many")]).is_err());
        assert!(read(&[("partition_by", "a"), ("filename_pattern", "../{i}")]).is_err());
        assert!(read(&[("partition_by", "a"), ("overwrite", "maybe")]).is_err());
    }
}
