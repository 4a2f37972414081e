//! VARBINARY as text: printable ASCII as it is, other bytes as `\xAA`.

/// Appends bytes; quotes and backslashes are escaped, too, so that the text reads back.
pub fn push_binary(out: &mut String, bytes: &[u8]) {
    const HEX: [u8; 16] = *b"0123456789ABCDEF";
    for &byte in bytes {
        if (b' '..=b'~').contains(&byte) && !matches!(byte, b'\\' | b'\'' | b'"') {
            out.push(char::from(byte));
        } else {
            out.push_str("\\x");
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

/// Appends the bytes that `text` means to `out`; `None` for an incomplete escape or a character
/// outside ASCII.
pub fn parse_binary(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte != b'\\' {
            if !byte.is_ascii() {
                return None;
            }
            out.push(byte);
            rest = tail;
            continue;
        }
        let [b'x', high, low, tail @ ..] = tail else { return None };
        out.push(hex_digit(*high)? << 4 | hex_digit(*low)?);
        rest = tail;
    }
    Some(())
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|it| it as u8)
}
