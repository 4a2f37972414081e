//! The shapes of the first values of a JSON file, whose memory is reserved during detection.

use crate::{
    input::FileStream,
    json_shape::{Shape, ShapeSeed},
};
use serde::de::DeserializeSeed;
use serde_json::{Deserializer, de::IoRead};
use std::{
    cell::RefCell,
    io::{self, BufReader, Read},
    rc::Rc,
};
use volley_error::{Error, Result};
use volley_memory::{Pool, Reservation, check_cancelled};

/// What is kept of a byte of text at most: strings are put together in a buffer that grows by
/// doubling.
const BYTES_PER_BYTE: usize = 2;

/// Reads values, one behind the other.
pub(crate) struct JsonSample {
    values: Deserializer<IoRead<BufReader<ChargedStream>>>,
    charge: Rc<ShapeCharge>,
}

/// What a value takes while its shape is detected.
pub(crate) struct ShapeCharge {
    reservation: RefCell<Reservation>,
    /// Why the last growth was refused.
    refusal: RefCell<Option<Error>>,
}

/// The text, of which what was read since the last value is charged.
struct ChargedStream {
    stream: FileStream,
    charge: Rc<ShapeCharge>,
}

impl ShapeCharge {
    pub fn new(pool: &Pool) -> ShapeCharge {
        ShapeCharge { reservation: RefCell::new(pool.reservation()), refusal: RefCell::default() }
    }

    /// Adds `bytes`; a refusal is remembered, since parsers keep the text of errors alone.
    pub fn grow(&self, bytes: usize) -> Result<()> {
        let grown = self.reservation.borrow_mut().grow(bytes);
        grown.inspect_err(|it| *self.refusal.borrow_mut() = Some(it.clone()))
    }

    fn clear(&self) {
        self.reservation.borrow_mut().clear();
    }
}

impl Read for ChargedStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        check_cancelled().map_err(io::Error::other)?;
        let count = self.stream.read(out)?;
        self.charge.grow(count.saturating_mul(BYTES_PER_BYTE)).map_err(io::Error::other)?;
        Ok(count)
    }
}

impl JsonSample {
    pub fn new(stream: FileStream, pool: &Pool) -> JsonSample {
        let charge = Rc::new(ShapeCharge::new(pool));
        let stream = ChargedStream { stream, charge: Rc::clone(&charge) };
        JsonSample { values: Deserializer::from_reader(BufReader::new(stream)), charge }
    }

    /// The shape of the next value; `None` at the end.
    ///
    /// # Errors
    ///
    /// I/O; corruption; out of memory, when a value is too large.
    pub fn next(&mut self) -> Result<Option<Shape>> {
        self.charge.clear();
        match self.values.end() {
            Ok(()) => return Ok(None),
            Err(error) if error.is_io() => return Err(self.failed(error)),
            // Something comes.
            Err(_) => {}
        }
        let shape = ShapeSeed(&self.charge).deserialize(&mut self.values);
        shape.map(Some).map_err(|it| self.failed(it))
    }

    fn failed(&self, error: serde_json::Error) -> Error {
        if let Some(refusal) = self.charge.refusal.take() {
            return refusal;
        }
        if error.is_io() {
            return match io::Error::from(error).downcast::<Error>() {
                Ok(error) => error,
                Err(other) => Error::corruption("JSON file that cannot be read").caused_by(other),
            };
        }
        Error::corruption(format!("invalid JSON in line {}: {error}", error.line()))
    }
}

#[cfg(test)]
mod tests {
    use crate::{JsonFile, JsonReadOptions, tests::open_file};
    use volley_error::{ErrorKind, Result};
    use volley_memory::Pool;

    fn open(text: &str, memory: Option<usize>) -> Result<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.json");
        std::fs::write(&path, text).unwrap();
        let pool = Pool::root("test", memory);
        let files = vec![open_file(&path)];
        let files = JsonFile::open_all(files, &JsonReadOptions::default(), &pool);
        assert_eq!(pool.stats().bytes, 0);
        Ok(files?[0].schema().fields.iter().map(|it| it.name.clone()).collect())
    }

    #[test]
    fn objects_are_charged() {
        let text = format!("{{\"a\": \"{}\"}}\n", "x".repeat(4 << 20));
        let list = format!("{{\"a\": [{}1]}}\n", "1,".repeat(2 << 20));
        let keys: Vec<String> = (0..50_000).map(|it| format!("\"k{it}\": 1")).collect();
        let keys = format!("{{{}}}", keys.join(","));
        for large in [&text, &list, &keys] {
            let error = open(&format!("{{\"a\": null}}\n{large}"), Some(4 << 20)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
            assert!(open(large, None).is_ok());
        }
        // Many objects take no more than one.
        assert_eq!(
            open(&"{\"a\": 1, \"b\": [\"text\"]}\n".repeat(20_000), Some(1 << 20)).unwrap(),
            ["a", "b"]
        );
    }

    #[test]
    fn fields_may_be_many_and_in_any_order() {
        let object = |keys: &mut dyn Iterator<Item = u32>| {
            let fields: Vec<String> = keys.map(|it| format!("\"k{it}\": {it}")).collect();
            format!("{{{}}}\n", fields.join(","))
        };
        let count = 100_000;
        let text = object(&mut (0..count)) + &object(&mut (0..count).rev());
        let names = open(&text, None).unwrap();
        assert_eq!(names.len(), count as usize);
        assert_eq!(names[1], "k1");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let error = open("{\"a\": 1}\n{\"a\" 2}\n", None).unwrap_err().to_string();
        assert!(error.contains("invalid JSON in line 2"), "{error}");
        let error = open("{\"a\": 1}\n{\"a\": [1, {}]}\n", None).unwrap_err().to_string();
        assert!(error.contains("list or an object"), "{error}");
        assert!(open("1 2", None).unwrap_err().to_string().contains("no object"));
        assert!(open("", None).unwrap_err().to_string().contains("without objects"));
    }
}
