//! Two JSON values: `json_contains`, `json_merge_patch`.

use super::{
    document::{Document, Kind},
    inspect::{DEPTH_MAX, too_deep},
    json_doc, parse,
    text::{push_quoted, push_value},
};
use volley_error::Result;
use volley_function::{
    Registry,
    simple::{CancelCheck, Seen, StringWriter, scalar},
};
use volley_types::custom::Json;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let contains = json_doc(
        "json_contains(json, part) -> boolean",
        "Whether a value within the first one, or itself, is the second one: an array with all its \
         elements, an object with all its members.",
        &[("json_contains('{\"a\": [1, 2]}', '[2]')", "true")],
    );
    registry.simple("json_contains", contains, |text: &str, part: &str| -> Result<bool> {
        let (whole, part) = (parse(text)?, parse(part)?);
        let values = whole.root()..whole.next(whole.root());
        let mut names: Seen<usize> =
            values.clone().flat_map(|it| whole.members(it)).map(|it| it.0).collect();
        let mut cancel = CancelCheck::default();
        for at in values.filter(|it| !names.contains(it)) {
            if contains_at((&whole, at), (&part, part.root()), DEPTH_MAX, &mut cancel)? {
                return Ok(true);
            }
        }
        Ok(false)
    });
    let patch = json_doc(
        "json_merge_patch(json, patch) -> json",
        "The first object with the members of the second one, where null removes a member (RFC \
         7396); the patch itself, if one of them is not an object.",
        &[(
            "json_merge_patch('{\"a\": 1, \"b\": 2}', '{\"b\": null, \"c\": 3}')",
            "{\"a\":1,\"c\":3}",
        )],
    );
    let function =
        scalar(|text: Option<&str>, patch: &str, out: &mut StringWriter| -> Result<()> {
            let patch = parse(patch)?;
            let text = text.map(parse).transpose()?;
            let is_object = |it: &Document<'_>| it.kind(it.root()) == Kind::Object;
            match &text {
                Some(text) if is_object(text) && is_object(&patch) => {
                    let old = Some((text, text.root()));
                    let mut cancel = CancelCheck::default();
                    push_merged(old, (&patch, patch.root()), DEPTH_MAX, &mut cancel, out)?;
                }
                _ => push_value(&patch, patch.root(), out),
            }
            Ok(())
        });
    registry.simple("json_merge_patch", patch, function.returning(|_| Some(Json::data_type())));
}

/// A value of a document.
type At<'a, 'b> = (&'a Document<'b>, usize);

/// Whether a value is another, or contains its parts. Any answer where the call fails.
fn contains_at(
    whole: At<'_, '_>,
    part: At<'_, '_>,
    depth: usize,
    cancel: &mut CancelCheck,
) -> Result<bool> {
    let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
    let ((document, at), (wanted, place)) = (whole, part);
    if !cancel.go_on(1) || document.kind(at) != wanted.kind(place) {
        return Ok(false);
    }
    match document.kind(at) {
        Kind::Array => {
            for element in wanted.elements(place) {
                if !has_one(document, document.elements(at), (wanted, element), depth, cancel)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Kind::Object => {
            for (name, value) in wanted.members(place) {
                let name = text_of(wanted, name);
                let members = document.members_called(at, &name);
                let goes_on = cancel.go_on(document.next(at) - at);
                if !goes_on || !has_one(document, members, (wanted, value), depth, cancel)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Kind::Text => Ok(text_of(document, at) == text_of(wanted, place)),
        Kind::Number => {
            let number = |text: &str| text.parse::<f64>().ok();
            Ok(number(document.source(at)) == number(wanted.source(place)))
        }
        _ => Ok(document.source(at) == wanted.source(place)),
    }
}

/// Whether one of some values contains another.
fn has_one(
    document: &Document<'_>,
    candidates: impl Iterator<Item = usize>,
    part: At<'_, '_>,
    depth: usize,
    cancel: &mut CancelCheck,
) -> Result<bool> {
    for candidate in candidates {
        if contains_at((document, candidate), part, depth, cancel)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn text_of(document: &Document<'_>, at: usize) -> String {
    let mut text = String::new();
    document.push_text(at, &mut text);
    text
}

/// Appends the value of an object, or of none, with a patch: its members that the patch does not
/// have, and then those of the patch. Any text where the call fails.
fn push_merged(
    old: Option<At<'_, '_>>,
    (patch, place): At<'_, '_>,
    depth: usize,
    cancel: &mut CancelCheck,
    out: &mut StringWriter,
) -> Result<()> {
    let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
    if patch.kind(place) != Kind::Object {
        push_value(patch, place, out);
        return Ok(());
    }
    let old = old.filter(|(document, at)| document.kind(*at) == Kind::Object);
    let mut separator = '{';
    let mut push_name = |name: &str, out: &mut StringWriter| {
        out.push(separator);
        separator = ',';
        push_quoted(name, out);
        out.push(':');
    };
    for (name, value) in old.iter().flat_map(|(it, at)| it.members(*at)) {
        let Some((document, _)) = old.filter(|_| cancel.go_on(patch.next(place) - place)) else {
            break;
        };
        let name = text_of(document, name);
        if patch.members_called(place, &name).next().is_none() {
            push_name(&name, out);
            push_value(document, value, out);
        }
    }
    for (name, value) in patch.members(place) {
        if patch.kind(value) == Kind::Null {
            continue;
        }
        if !cancel.go_on(old.map_or(1, |(document, at)| document.next(at) - at)) {
            break;
        }
        let name = text_of(patch, name);
        push_name(&name, out);
        let before = old.and_then(|(it, at)| Some((it, it.members_called(at, &name).next()?)));
        push_merged(before, (patch, value), depth, cancel, out)?;
    }
    if separator == '{' {
        out.push('{');
    }
    out.push('}');
    Ok(())
}
