//! Counts the objects of a JSON file whose fields no reader needs.

use volley_error::{Error, Result};

/// Counts objects without a look at their values: strings and brackets must match.
#[derive(Debug)]
pub(crate) struct ObjectCounter {
    rows_max: usize,
    /// Objects that ended.
    objects: usize,
    /// The open brackets, the innermost last.
    open: Vec<u8>,
    is_in_string: bool,
    is_escaped: bool,
}

impl ObjectCounter {
    /// Counts at most `rows_max` objects at once.
    pub fn new(rows_max: usize) -> ObjectCounter {
        ObjectCounter {
            rows_max: rows_max.max(1),
            objects: 0,
            open: Vec::new(),
            is_in_string: false,
            is_escaped: false,
        }
    }

    /// Reads on; returns the number of bytes up to the end of the last object that fits, or all.
    ///
    /// # Errors
    ///
    /// Corruption: something that is no object, or a bracket that does not match.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut at = 0;
        while self.objects < self.rows_max
            && let Some(left) = bytes.get(at..).filter(|it| !it.is_empty())
        {
            at += if self.is_in_string { self.pass_string(left) } else { self.pass(left)? };
        }
        Ok(at)
    }

    /// Passes to the end of the string, or of the bytes.
    fn pass_string(&mut self, bytes: &[u8]) -> usize {
        if std::mem::take(&mut self.is_escaped) {
            return 1;
        }
        match memchr::memchr2(b'"', b'\\', bytes) {
            Some(end) => {
                self.is_escaped = bytes.get(end) == Some(&b'\\');
                self.is_in_string = self.is_escaped;
                end + 1
            }
            None => bytes.len(),
        }
    }

    /// Passes to the next string, the end of an object of the file, or the end of the bytes.
    fn pass(&mut self, bytes: &[u8]) -> Result<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'"' if !self.open.is_empty() => {
                    self.is_in_string = true;
                    return Ok(at + 1);
                }
                b'{' => self.open.push(b'}'),
                b'[' if !self.open.is_empty() => self.open.push(b']'),
                b'}' | b']' => {
                    if self.open.pop() != Some(*byte) {
                        return Err(Error::corruption("invalid text: a bracket does not match"));
                    }
                    if self.open.is_empty() {
                        self.objects += 1;
                        return Ok(at + 1);
                    }
                }
                b' ' | b'\t' | b'\n' | b'\r' => {}
                _ if self.open.is_empty() => {
                    return Err(Error::corruption("JSON line that is no object"));
                }
                _ => {}
            }
        }
        Ok(bytes.len())
    }

    /// Whether as many objects were counted as fit.
    pub fn is_full(&self) -> bool {
        self.objects == self.rows_max
    }

    /// The objects since the last call.
    ///
    /// # Errors
    ///
    /// Corruption: an object has not ended.
    pub fn flush(&mut self) -> Result<usize> {
        if !self.open.is_empty() {
            return Err(Error::corruption("invalid text: JSON object that does not end"));
        }
        Ok(std::mem::take(&mut self.objects))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The objects of a text that comes in pieces of `piece` bytes, counted `rows_max` at once.
    fn count(text: &str, piece: usize, rows_max: usize) -> Result<usize> {
        let mut counter = ObjectCounter::new(rows_max);
        let mut objects = 0;
        for mut bytes in text.as_bytes().chunks(piece) {
            while !bytes.is_empty() {
                let passed = counter.decode(bytes)?;
                assert!(passed > 0);
                bytes = &bytes[passed..];
                if counter.is_full() {
                    objects += counter.flush()?;
                }
            }
        }
        Ok(objects + counter.flush()?)
    }

    #[test]
    fn objects_are_counted_in_any_pieces() {
        let texts = [
            ("", 0),
            (" \n", 0),
            ("{}", 1),
            ("{}{} {}\n\n{}\r\n", 4),
            (r#"{"a}": "b\"}{", "c": [{}, {"d": "\\"}]} {"ä": "}"}"#, 2),
        ];
        for (text, objects) in texts {
            for piece in [1, 2, 7, 1000] {
                for rows_max in [1, 3, 1024] {
                    assert_eq!(count(text, piece, rows_max).unwrap(), objects, "{text}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        for text in ["1", "{", "{}]", "{\"a", "[{}]", "{\"a\": [}", "{}, {}", "\"a\""] {
            assert!(count(text, 3, 10).is_err(), "{text}");
        }
    }
}
