//! Counts the objects of a JSON file whose fields no reader needs.

use volley_error::{Error, Result};
use volley_kernels::bytes::{Block, find_bytes, odd_bits};

/// Blocks in which bytes are searched together.
const BATCH: usize = 32;

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
    /// Whether all bytes are looked at one by one.
    #[cfg(test)]
    is_plain: bool,
    /// How many blocks were passed as a whole.
    #[cfg(test)]
    in_blocks: usize,
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
            is_plain: false,
            #[cfg(test)]
            in_blocks: 0,
        }
    }

    /// Reads on; returns the number of bytes up to the end of the last object that fits, or all.
    ///
    /// # Errors
    ///
    /// Corruption: something that is no object, or a bracket that does not match.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<usize> {
        #[cfg(test)]
        if self.is_plain {
            return self.pass_bytes(bytes);
        }
        let mut found = [[0; 6]; BATCH];
        let (blocks, tail) = bytes.as_chunks();
        let mut begin = 0;
        for batch in blocks.chunks(BATCH) {
            find_bytes(batch, b"\"\\{}[]", &mut found);
            for (block, found) in batch.iter().zip(&found) {
                if self.is_full() {
                    return Ok(begin);
                }
                begin += self.pass_block(block, *found)?;
            }
        }
        Ok(begin + self.pass_bytes(if self.is_full() { &[] } else { tail })?)
    }

    /// As [`ObjectCounter::decode`], without blocks.
    fn pass_bytes(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut at = 0;
        while !self.is_full()
            && let Some(left) = bytes.get(at..).filter(|it| !it.is_empty())
        {
            at += if self.is_in_string { self.pass_string(left) } else { self.pass(left)? };
        }
        Ok(at)
    }

    /// Passes a block, in which bytes were found, or its objects that fit.
    #[inline]
    fn pass_block(&mut self, block: &Block, found: [u64; 6]) -> Result<usize> {
        let [quotes, backslashes, braces, closing_braces, brackets, closing_brackets] = found;
        if self.is_escaped || backslashes != 0 {
            return self.pass_bytes(block);
        }
        #[cfg(test)]
        (self.in_blocks += 1);
        let inside = odd_bits(quotes) ^ if self.is_in_string { u64::MAX } else { 0 };
        self.is_in_string = false;
        let mut left = (braces | closing_braces | brackets | closing_brackets) & !inside;
        // Behind the last bracket.
        let mut behind = 0;
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            left &= left - 1;
            // The bytes between objects, and the bracket.
            let seen = if self.open.is_empty() { behind } else { at };
            behind = at + 1;
            self.pass(block.get(seen..behind).unwrap_or_default())?;
            if self.is_full() {
                return Ok(behind);
            }
        }
        if self.open.is_empty() {
            self.pass(block.get(behind..).unwrap_or_default())?;
        }
        self.is_in_string = inside >> 63 == 1;
        Ok(block.len())
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

    /// As [`count`] of the objects before what is wrong, that, and the blocks that were passed.
    fn counted(
        text: &[u8],
        piece: usize,
        rows_max: usize,
        is_plain: bool,
    ) -> (usize, String, usize) {
        let mut counter = ObjectCounter::new(rows_max);
        counter.is_plain = is_plain;
        let mut objects = 0;
        for mut bytes in text.chunks(piece) {
            while !bytes.is_empty() {
                match counter.decode(bytes) {
                    Ok(passed) => bytes = &bytes[passed..],
                    Err(error) => {
                        return (objects + counter.objects, error.to_string(), counter.in_blocks);
                    }
                }
                if counter.is_full() {
                    objects += counter.flush().unwrap();
                }
            }
        }
        let last = counter.flush();
        (
            objects + last.as_ref().copied().unwrap_or_default(),
            format!("{last:?}"),
            counter.in_blocks,
        )
    }

    #[test]
    fn blocks_are_what_their_bytes_are() {
        let mut random = fastrand::Rng::with_seed(5);
        let words: [&str; 15] = [
            "{\"a\": 1, \"name\": \"text {of} [some] length\"}\n",
            "{\"b\": [{}, {\"c\": [1, 2]}]}",
            "{}",
            "\n  \r\n\t ",
            "{\"ä\": \"\u{1d11e}, and on: ............................................\"}\n",
            "{\"d\": \"\\\"}{\\\\\"}",
            "{",
            "}",
            "\"",
            "\\",
            "[",
            "]",
            "x",
            "{\"e\": null",
            ",",
        ];
        let (mut blocks, mut errors) = (0, 0);
        for round in 0..20_000 {
            let known = [5, 6, words.len()][round % 3];
            let text: String =
                (0..random.usize(..60)).map(|_| words[random.usize(..known)]).collect();
            let rows_max = [1, 3, 1024][random.usize(..3)];
            let plain = counted(text.as_bytes(), usize::MAX, rows_max, true);
            errors += usize::from(!plain.1.starts_with("Ok"));
            for piece in [usize::MAX, 1, 70] {
                let fast = counted(text.as_bytes(), piece, rows_max, false);
                assert_eq!((fast.0, &fast.1), (plain.0, &plain.1), "{text:?} {piece}");
                blocks += fast.2;
            }
        }
        assert!(blocks > 50_000 && errors > 1000, "{blocks} {errors}");
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
