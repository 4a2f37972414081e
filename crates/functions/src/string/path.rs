//! Parts of paths of files: `parse_path`, `parse_filename`, `parse_dirname`, `parse_dirpath`.
//!
//! A last argument says what separates the parts: `both_slash` (or left out), `forward_slash`,
//! `system`, which is the same, or `backslash`.

use super::string_doc;
use volley_function::{
    FunctionDoc, Registry,
    simple::{ArrayWriter, PartOf, PartWriter},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let path = string_doc(
        "parse_path(path[, separator]) -> array",
        "The root, if the path begins there, the folders and the file of a path.",
        &[("parse_path('/a/b/c.csv', 'forward_slash')", "[/, a, b, c.csv]")],
    );
    registry.simple("parse_path", path, |path: &str, out: &mut ArrayWriter<PartOf<0>>| {
        out.extend(parts(path, BOTH));
    });
    registry.simple(
        "parse_path",
        FunctionDoc::default(),
        |path: &str, separator: &str, out: &mut ArrayWriter<PartOf<0>>| {
            out.extend(parts(path, separators(separator)));
        },
    );
    let dirname = string_doc(
        "parse_dirname(path[, separator]) -> varchar",
        "The first part of a path, its root or a folder; empty when there is only a file.",
        &[("parse_dirname('data/2020/x.csv')", "data")],
    );
    add(registry, "parse_dirname", dirname, first_part);
    let dirpath = string_doc(
        "parse_dirpath(path[, separator]) -> varchar",
        "The path of the folder that a path's last part is in; empty when there is none.",
        &[("parse_dirpath('data/2020/x.csv')", "data/2020")],
    );
    add(registry, "parse_dirpath", dirpath, folder);
    register_filename(registry);
}

fn register_filename(registry: &mut Registry) {
    let name = string_doc(
        "parse_filename(path[, without extension][, separator]) -> varchar",
        "The last part of a path, without what its last dot begins if the second argument is true.",
        &[
            ("parse_filename('data/x.tar.gz')", "x.tar.gz"),
            ("parse_filename('data/x.tar.gz', true)", "x.tar"),
        ],
    );
    add(registry, "parse_filename", name, file);
    registry.simple(
        "parse_filename",
        FunctionDoc::default(),
        |path: &str, trims: bool, out: &mut PartWriter<0>| {
            out.set(trimmed(file(path, BOTH), trims));
        },
    );
    registry.simple(
        "parse_filename",
        FunctionDoc::default(),
        |path: &str, trims: bool, separator: &str, out: &mut PartWriter<0>| {
            out.set(trimmed(file(path, separators(separator)), trims));
        },
    );
}

/// Adds a function of a path that gives a part of it, without and with a separator.
fn add(
    registry: &mut Registry,
    name: &str,
    doc: FunctionDoc,
    part: for<'a> fn(&'a str, &[char]) -> &'a str,
) {
    registry.simple(name, doc, move |path: &str, out: &mut PartWriter<0>| {
        out.set(part(path, BOTH));
    });
    registry.simple(
        name,
        FunctionDoc::default(),
        move |path: &str, separator: &str, out: &mut PartWriter<0>| {
            out.set(part(path, separators(separator)));
        },
    );
}

const BOTH: &[char] = &['/', '\\'];

fn separators(name: &str) -> &'static [char] {
    match name {
        "forward_slash" | "system" => &['/'],
        "backslash" => &['\\'],
        _ => BOTH,
    }
}

/// The separator that a path begins with: a part of its own.
fn root<'a>(path: &'a str, separators: &[char]) -> Option<&'a str> {
    path.starts_with(separators).then(|| &path[..1])
}

fn parts<'a>(path: &'a str, separators: &'static [char]) -> impl Iterator<Item = &'a str> {
    let names = path.split(separators).filter(|it| !it.is_empty());
    root(path, separators).into_iter().chain(names)
}

fn first_part<'a>(path: &'a str, separators: &[char]) -> &'a str {
    root(path, separators).or_else(|| Some(path.split_once(separators)?.0)).unwrap_or_default()
}

fn folder<'a>(path: &'a str, separators: &[char]) -> &'a str {
    match path.rfind(separators) {
        Some(0) if path.len() == 1 => path,
        Some(end) => &path[..end],
        None => "",
    }
}

fn file<'a>(path: &'a str, separators: &[char]) -> &'a str {
    path.rsplit(separators).next().unwrap_or_default()
}

fn trimmed(name: &str, trims: bool) -> &str {
    match name.rsplit_once('.') {
        Some((stem, _)) if trims => stem,
        _ => name,
    }
}
