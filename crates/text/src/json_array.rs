//! Turns an array of JSON values into concatenated values, as the decoder expects.

use volley_error::{Error, Result};

/// Where in an array the bytes are.
#[derive(Debug, Default)]
pub(crate) struct ArrayElements {
    /// How many brackets are open.
    depth: u64,
    is_in_string: bool,
    is_escaped: bool,
    /// Whether the array has begun.
    has_begun: bool,
}

impl ArrayElements {
    /// Makes spaces of the brackets around the array and the commas between its elements.
    ///
    /// # Errors
    ///
    /// Corruption: something before or behind the array.
    pub fn unwrap(&mut self, bytes: &mut [u8]) -> Result<()> {
        for byte in bytes {
            if self.is_in_string {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => self.is_in_string = false,
                    _ => {}
                }
                continue;
            }
            match (*byte, self.depth) {
                (b'[', 0) if !self.has_begun => {
                    (self.has_begun, self.depth) = (true, 1);
                    *byte = b' ';
                }
                (b' ' | b'\t' | b'\n' | b'\r', 0) => {}
                (_, 0) => return Err(Error::corruption("JSON outside of the array of a file")),
                (b',', 1) => *byte = b' ',
                (b']', 1) => {
                    self.depth = 0;
                    *byte = b' ';
                }
                (b'[' | b'{', _) => self.depth += 1,
                (b']' | b'}', depth) => self.depth = depth - 1,
                (b'"', _) => self.is_in_string = true,
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that the file may end here.
    ///
    /// # Errors
    ///
    /// Corruption.
    pub fn finish(&self) -> Result<()> {
        if self.has_begun && self.depth == 0 {
            return Ok(());
        }
        Err(Error::corruption("JSON array that does not end"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unwrapped(text: &str) -> Result<String> {
        let (mut elements, mut bytes) = (ArrayElements::default(), text.as_bytes().to_vec());
        for piece in bytes.chunks_mut(3) {
            elements.unwrap(piece)?;
        }
        elements.finish()?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn elements_stand_one_behind_the_other() {
        let text = r#" [{"a,]": [1, "\"]"]}, {"b": {}}] "#;
        assert_eq!(unwrapped(text).unwrap(), r#"  {"a,]": [1, "\"]"]}  {"b": {}}  "#);
    }

    #[test]
    fn what_is_no_array_is_an_error() {
        for text in ["[1", "[1] 2", "1", "[1]]", "[\"a]"] {
            assert!(unwrapped(text).is_err(), "{text}");
        }
    }
}
