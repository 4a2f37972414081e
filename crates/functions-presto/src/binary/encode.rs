//! Bytes as text and back: hexadecimal, base 32 and base 64.

use super::{
    doc,
    radix::{BASE32, BASE64, BASE64_URL, Padding, Radix},
};
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{StringWriter, scalar},
};
use volley_types::Type;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let to_hex = doc(
        "to_hex(varbinary) -> varchar",
        "The bytes in hexadecimal digits.",
        &[("to_hex(X'00ff')", "00FF")],
    );
    registry.simple("presto.to_hex", to_hex, |bytes: &[u8], out: &mut StringWriter| {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        out.reserve(bytes.len() * 2);
        for byte in bytes {
            out.push_bytes(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    });
    let from_hex_doc = doc(
        "from_hex(varchar or varbinary) -> varbinary",
        "The bytes that hexadecimal digits mean, two for each.",
        &[("from_hex('616263')", "abc")],
    );
    add_decoder(registry, "from_hex", from_hex_doc, from_hex);
    let names = [
        ("base32", &BASE32, "'MFRGG==='", "in base 32"),
        ("base64", &BASE64, "'YWJj'", "in base 64"),
        ("base64url", &BASE64_URL, "'YWJj'", "in base 64 with the alphabet for URLs"),
    ];
    for (name, radix, text, what) in names {
        let example = (&*format!("to_{name}(X'616263')"), text.trim_matches('\''));
        let signature = format!("to_{name}(varbinary) -> varchar");
        let to = doc(&signature, &format!("The bytes {what}, padded with '='."), &[example]);
        let encode = |bytes: &[u8], out: &mut StringWriter| radix.encode(bytes, out);
        registry.simple(&format!("presto.to_{name}"), to, encode);
        let signature = format!("from_{name}(varchar or varbinary) -> varbinary");
        let description = format!("The bytes that a text {what} means; it may lack the padding.");
        let from = doc(&signature, &description, &[(&format!("from_{name}({text})"), "abc")]);
        let decode = |text: &[u8], out: &mut StringWriter| radix.decode(text, out);
        add_decoder(registry, &format!("from_{name}"), from, decode);
    }
}

/// A function of a text, or of its bytes.
fn add_decoder(
    registry: &mut Registry,
    name: &str,
    doc: FunctionDoc,
    decode: impl Fn(&[u8], &mut StringWriter) -> Result<()> + Copy + Send + Sync + 'static,
) {
    let name = format!("presto.{name}");
    let of_text = scalar(move |text: &str, out: &mut StringWriter| decode(text.as_bytes(), out));
    registry.simple(&name, doc, of_text.returning(|_| Some(Type::Varbinary)));
    let of_bytes = scalar(move |bytes: &[u8], out: &mut StringWriter| decode(bytes, out));
    let of_bytes = of_bytes.returning(|_| Some(Type::Varbinary));
    registry.simple(&name, FunctionDoc::default(), of_bytes);
}

fn from_hex(text: &[u8], out: &mut StringWriter) -> Result<()> {
    let (pairs, rest) = text.as_chunks::<2>();
    if !rest.is_empty() {
        let message = format!("{} hexadecimal digits are no whole bytes", text.len());
        return Err(Error::invalid_value(message));
    }
    let digit = |byte: u8| {
        let invalid = || {
            let shown = char::from(byte).escape_default();
            Error::invalid_value(format!("not a hexadecimal digit: '{shown}'"))
        };
        char::from(byte).to_digit(16).ok_or_else(invalid)
    };
    for [high, low] in pairs {
        out.push_bytes(&[(digit(*high)? << 4 | digit(*low)?) as u8]);
    }
    Ok(())
}

impl Radix {
    fn encode(&self, bytes: &[u8], out: &mut StringWriter) {
        self.write(bytes, |digit| out.push_bytes(&[digit]));
    }

    fn decode(&self, text: &[u8], out: &mut StringWriter) -> Result<()> {
        let padding = text.iter().rev().take_while(|it| **it == b'=').count();
        let digits = text.get(..text.len() - padding).unwrap_or_default();
        let invalid = || {
            let shown = String::from_utf8_lossy(text);
            Error::invalid_value(format!("not in base {}: '{shown}'", self.alphabet.len()))
        };
        let is_padded = match self.padding {
            Padding::Any => true,
            Padding::Exact => padding == 0 || (digits.len() + padding) % self.group == 0,
        };
        if !is_padded || padding >= self.group || !self.can_end(digits.len()) {
            return Err(invalid());
        }
        self.read(digits, |byte| out.push_bytes(&[byte])).ok_or_else(invalid)
    }
}
