//! Functions on texts that take bytes, too: `length`, `reverse`, `substr`.

use super::cut;
use volley_function::{
    FunctionDoc, Registry,
    simple::{StringWriter, scalar},
};
use volley_types::Type;

/// Registers the overloads for VARBINARY.
pub(super) fn register(registry: &mut Registry) {
    let length = super::doc(
        "length(varbinary) -> bigint",
        "The number of bytes.",
        &[("length(X'00FF')", "2")],
    );
    registry.simple("presto.length", length, |bytes: &[u8]| bytes.len() as i64);
    let reverse_doc = super::doc(
        "reverse(varbinary) -> varbinary",
        "The bytes in reverse order.",
        &[("to_hex(reverse(X'0102'))", "0201")],
    );
    let reverse = scalar(|bytes: &[u8], out: &mut StringWriter| {
        out.push_each(bytes.iter().rev().copied());
    });
    registry.simple("presto.reverse", reverse_doc, reverse.returning(|_| Some(Type::Varbinary)));
    for name in ["presto.substr", "presto.substring"] {
        let from = scalar(|bytes: &[u8], start: i64, out: &mut StringWriter| {
            out.push_bytes(bytes.get(cut::range(bytes.len(), start, i64::MAX)).unwrap_or_default());
        });
        let part = scalar(|bytes: &[u8], start: i64, length: i64, out: &mut StringWriter| {
            out.push_bytes(bytes.get(cut::range(bytes.len(), start, length)).unwrap_or_default());
        });
        for function in [from, part] {
            let function = function.returning(|_| Some(Type::Varbinary));
            registry.simple(name, FunctionDoc::default(), function);
        }
    }
}
