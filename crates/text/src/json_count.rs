//! Counts the objects of a JSON file whose fields no reader needs.

use volley_error::{Error, Result};
use volley_kernels::bytes::{find_bytes, odd_bits};

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// What has a meaning within an object.
const MARKS: [u8; 6] = [b'"', b'\\', b'{', b'}', b'[', b']'];

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
    /// How many blocks were passed at once.
    #[cfg(test)]
    blocks: usize,
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
            #[cfg(test)]
            blocks: 0,
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
            at += match left.first_chunk::<BLOCK>() {
                Some(block) if !self.open.is_empty() && !self.is_escaped => {
                    self.pass_block(block)?
                }
                _ if self.is_in_string => self.pass_string(left),
                _ => self.pass(left)?,
            };
        }
        Ok(at)
    }

    /// Passes over a block that begins within an object, to the end of the object or the last
    /// backslash at most.
    fn pass_block(&mut self, block: &[u8; BLOCK]) -> Result<usize> {
        #[cfg(test)]
        (self.blocks += 1);
        let mut found = [[0; MARKS.len()]];
        find_bytes(&[*block], &MARKS, &mut found);
        let [[quotes, backslashes, objects, object_ends, lists, list_ends]] = found;
        // What a backslash escapes is passed one by one.
        let end = (backslashes.trailing_zeros() as usize).min(BLOCK);
        if end == 0 {
            return Ok(if self.is_in_string { self.pass_string(block) } else { 1 });
        }
        let here = u64::MAX >> (BLOCK - end);
        let begin = if self.is_in_string { u64::MAX } else { 0 };
        let inside = odd_bits(quotes & here) ^ begin;
        let mut brackets = (objects | object_ends | lists | list_ends) & !inside & here;
        while brackets != 0 {
            let at = brackets.trailing_zeros() as usize;
            brackets &= brackets - 1;
            let byte = block.get(at).copied().unwrap_or_default();
            if self.pass_bracket(byte)? {
                self.is_in_string = false;
                return Ok(at + 1);
            }
        }
        self.is_in_string = inside >> (end - 1) & 1 == 1;
        Ok(end)
    }

    /// Takes a bracket; whether an object of the file ends with it.
    fn pass_bracket(&mut self, byte: u8) -> Result<bool> {
        match byte {
            b'{' => self.open.push(b'}'),
            b'[' => self.open.push(b']'),
            _ if self.open.pop() != Some(byte) => {
                return Err(Error::corruption("invalid text: a bracket does not match"));
            }
            _ => {}
        }
        self.objects += usize::from(self.open.is_empty());
        Ok(self.open.is_empty())
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
                b'[' if self.open.is_empty() => {
                    return Err(Error::corruption("JSON line that is no object"));
                }
                b'{' if self.open.is_empty() => {
                    self.open.push(b'}');
                    return Ok(at + 1);
                }
                b'{' | b'[' | b'}' | b']' => {
                    if self.pass_bracket(*byte)? {
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

    #[test]
    fn blocks_are_counted_as_bytes_are() {
        let mut random = fastrand::Rng::with_seed(3);
        let words = [
            "{\"a\": 1, \"b\": \"x y z\", \"c\": [1, 2, {\"d\": null}]}\n",
            "{\"long name of a column\": \"}{ and a long text that goes over blocks of 64 bytes\"}",
            "{\"a\": \"\\\"}\\\\\"} ",
            "{\"ä\": [\"\\\\\", \"]\", []]}\n",
            "{}",
            "\n",
            "{",
            "\"",
            "]",
            "\\",
        ];
        let (mut blocks, mut errors) = (0, 0);
        for round in 0..5_000 {
            let known = [words.len(), 6, 6][round % 3];
            let text = (0..random.usize(..20)).map(|_| words[random.usize(..known)]);
            let text: String = text.collect();
            // Of pieces that are shorter than a block, each byte is looked at.
            let expected = count(&text, 63, 3).map_err(|it| it.to_string());
            errors += usize::from(expected.is_err());
            for piece in [64, 200, 5000] {
                let found = count(&text, piece, 3).map_err(|it| it.to_string());
                assert_eq!(found, expected, "{text}");
            }
            let mut counter = ObjectCounter::new(usize::MAX);
            if expected.is_ok() {
                assert_eq!(counter.decode(text.as_bytes()).unwrap(), text.len());
            }
            blocks += counter.blocks;
        }
        assert!(blocks > 10_000 && errors > 100, "{blocks} {errors}");
    }
}
