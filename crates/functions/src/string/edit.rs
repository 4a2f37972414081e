//! Changed texts: `replace`, `translate`, `reverse`, `overlay`.

use super::{
    byte_of,
    occurrence::{Part, searching},
};
use crate::documentation::doc;
use memchr::memmem;
use std::sync::Arc;
use volley_function::{
    Registry, ScalarFunction,
    simple::{
        BigInt, StringWriter, Varchar, ascii_text_unary, map_text, preserving_ascii,
        text_quaternary, text_ternary, vectorized,
    },
};

/// Registers the functions that change texts.
pub(super) fn register(registry: &mut Registry) {
    let replace_doc = doc(
        "replace(text, old, new) -> varchar",
        "The text with every `old` replaced by `new`; unchanged when `old` is empty.",
        "string",
        &[("replace('hello', 'l', 'LL')", "heLLLLo")],
    );
    let bind = text_ternary::<Varchar, Varchar, Varchar, Varchar, _>(replace);
    registry.add_scalar("replace", replace_doc, searching(bind, replacing));
    let translate_doc = doc(
        "translate(text, from, to) -> varchar",
        "The text with each character of `from` replaced by the one at the same place in `to`, or \
         removed when there is none.",
        "string",
        &[("translate('12345', '143', 'ax')", "a2x5")],
    );
    let bind = text_ternary::<Varchar, Varchar, Varchar, Varchar, _>(translate);
    registry.add_scalar("translate", translate_doc, bind);
    let reverse_doc = doc(
        "reverse(varchar) -> varchar",
        "The code points in reverse order.",
        "string",
        &[("reverse('abc')", "cba")],
    );
    let reverse = preserving_ascii(ascii_text_unary::<Varchar, Varchar, _>(
        |text, out| text.chars().rev().for_each(|it| out.push(it)),
        |text, out| out.push_each(text.bytes().rev()),
    ));
    registry.add_scalar("reverse", reverse_doc, reverse);
    let overlay_doc = doc(
        "overlay(text, new, start[, length]) -> varchar",
        "The text with `length` code points (those of `new` when left out) from `start` on replaced.",
        "string",
        &[("overlay('abcdef', 'X', 2, 3)", "aXef")],
    );
    let three = text_ternary::<Varchar, Varchar, BigInt, Varchar, _>(|text, new, start, out| {
        overlay(text, new, start, new.chars().count() as i64, out);
    });
    registry.add_scalar("overlay", overlay_doc.clone(), three);
    let four = text_quaternary::<Varchar, Varchar, BigInt, BigInt, Varchar, _>(overlay);
    registry.add_scalar("overlay", overlay_doc, four);
}

fn replace(text: &str, old: &str, new: &str, out: &mut StringWriter) {
    if old.is_empty() {
        return out.push_str(text);
    }
    let finder = memmem::Finder::new(old);
    replace_each(text, |it| finder.find(it), old.len(), new, out);
}

/// Replaces a constant.
fn replacing(old: Part) -> Arc<dyn ScalarFunction> {
    vectorized(move |rows, args, to, ctx| {
        let replace = |(text, new): (&str, &str), out: &mut StringWriter| {
            replace_each(text, |it| old.find(it), old.len(), new, out);
        };
        map_text::<(Varchar, Varchar), ()>(rows, args, to, ctx, replace)
    })
}

/// Replaces the `old_len` bytes at each place that `find` finds in the rest of the text.
fn replace_each(
    text: &str,
    find: impl Fn(&[u8]) -> Option<usize>,
    old_len: usize,
    new: &str,
    out: &mut StringWriter,
) {
    let mut end = 0;
    while let Some(at) = find(&text.as_bytes()[end..]) {
        out.push_str(&text[end..end + at]);
        out.push_str(new);
        end += at + old_len;
    }
    out.push_str(&text[end..]);
}

fn translate(text: &str, from: &str, to: &str, out: &mut StringWriter) {
    for character in text.chars() {
        match from.chars().position(|it| it == character) {
            None => out.push(character),
            Some(place) => {
                if let Some(new) = to.chars().nth(place) {
                    out.push(new);
                }
            }
        }
    }
}

fn overlay(text: &str, new: &str, start: i64, length: i64, out: &mut StringWriter) {
    let before = usize::try_from(start.saturating_sub(1)).unwrap_or(0);
    let after = usize::try_from(start.saturating_sub(1).saturating_add(length)).unwrap_or(0);
    out.push_str(&text[..byte_of(text, before)]);
    out.push_str(new);
    out.push_str(&text[byte_of(text, after)..]);
}
