//! `replace` and `replace_first`.

use super::doc;
use memchr::memmem;
use volley_function::{FunctionDoc, Registry, simple::StringWriter};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let replace_doc = doc(
        "replace(varchar, search[, new]) -> varchar",
        "The text with every `search` replaced by `new`, or removed. An empty `search` matches \
         before every code point and at the end.",
        &[("replace('hello', 'l')", "heo"), ("replace('ab', '', '-')", "-a-b-")],
    );
    registry.simple("presto.replace", replace_doc, replace);
    let remove = |text: &str, search: &str, out: &mut StringWriter| replace(text, search, "", out);
    registry.simple("presto.replace", FunctionDoc::default(), remove);
    let first_doc = doc(
        "replace_first(varchar, search, new) -> varchar",
        "The text with the first `search` replaced by `new`, which is put in front when `search` \
         is empty.",
        &[("replace_first('hello', 'l', 'L')", "heLlo")],
    );
    registry.simple("presto.replace_first", first_doc, replace_first);
}

fn replace(text: &str, search: &str, new: &str, out: &mut StringWriter) {
    if search.is_empty() {
        for character in text.chars() {
            out.push_str(new);
            out.push(character);
        }
        return out.push_str(new);
    }
    let mut end = 0;
    for at in memmem::find_iter(text.as_bytes(), search.as_bytes()) {
        out.push_str(text.get(end..at).unwrap_or(""));
        out.push_str(new);
        end = at + search.len();
    }
    out.push_str(text.get(end..).unwrap_or(""));
}

fn replace_first(text: &str, search: &str, new: &str, out: &mut StringWriter) {
    let Some((before, after)) = text.split_once(search) else { return out.push_str(text) };
    out.push_str(before);
    out.push_str(new);
    out.push_str(after);
}
