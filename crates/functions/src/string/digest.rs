//! Hashes as text: `md5`, `sha1`, `sha256`; and `hash`, of values of any type.

use super::string_doc;
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::Sha256;
use std::sync::Arc;
use volley_function::{
    BoundScalar, EvalContext, FunctionDoc, Registry, ScalarTraits,
    simple::{self, StringWriter},
};
use volley_types::Type;
use volley_vector::Vector;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    add::<Md5>(registry, "md5", "MD5", "900150983cd24fb0d6963f7d28e17f72");
    add::<Sha1>(registry, "sha1", "SHA-1", "a9993e364706816aba3e25717850c26c9cd0d89d");
    let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    add::<Sha256>(registry, "sha256", "SHA-256", hex);
    let hash = string_doc(
        "hash(x, ...) -> bigint",
        "A hash of the values, nulls included: the same for equal values. Other versions may give \
         other ones.",
        &[("hash('a', 1) = hash('a', 1)", "true")],
    );
    registry.add_scalar("hash", hash, Arc::new(bind_hash));
}

fn add<H: Digest + 'static>(registry: &mut Registry, name: &str, what: &str, hex: &str) {
    let doc = string_doc(
        &format!("{name}(varchar or varbinary) -> varchar"),
        &format!("The {what} hash of the bytes in hexadecimal digits."),
        &[(&format!("{name}('abc')"), hex)],
    );
    registry.simple(name, doc, |text: &str, out: &mut StringWriter| {
        push_hex(&H::digest(text.as_bytes()), out);
    });
    registry.simple(name, FunctionDoc::default(), |bytes: &[u8], out: &mut StringWriter| {
        push_hex(&H::digest(bytes), out);
    });
}

fn push_hex(bytes: &[u8], out: &mut StringWriter) {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|it| [it >> 4, it & 15]);
    out.push_each(digits.map(|it| DIGITS[usize::from(it)]));
}

fn bind_hash(args: &[Type]) -> Option<BoundScalar> {
    if args.is_empty() {
        return None;
    }
    let function = simple::vectorized(|rows, args, to, _: &mut EvalContext| {
        let mut hashes = vec![0u64; rows.len()];
        volley_vector::hash_columns(args, &mut hashes)?;
        let hashes = hashes.into_iter().map(|it| it as i64).collect::<Vec<i64>>();
        Ok(Vector::native::<i64>(to.clone(), hashes, None))
    });
    let traits = ScalarTraits { propagates_nulls: false, ..ScalarTraits::INFALLIBLE };
    Some(BoundScalar::new(args.to_vec(), Type::BigInt, traits, function))
}
