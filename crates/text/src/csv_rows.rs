//! The rows of a CSV file as text, each with its line number for errors.

use crate::{
    columns::Texts,
    csv::begin,
    csv_decode::{CsvDecoder, CsvShape, TextRows},
    csv_format::detect_format,
    csv_options::CsvReadOptions,
    input::FileStream,
    reader::DECODER_BYTES_PER_BYTE,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;
use volley_memory::{Pool, Reservation};
use volley_types::Type;
use volley_vector::{Batch, Vector};

/// Reads rows of a fixed number of fields, forward.
pub struct CsvRows {
    stream: FileStream,
    decoder: CsvDecoder,
    path: String,
    reservation: Reservation,
}

impl CsvRows {
    /// Begins a file whose rows have this number of `columns`, whatever the options say. The read
    /// buffer is reserved in `pool`.
    ///
    /// # Errors
    ///
    /// I/O; out of memory.
    pub fn open(
        file: Arc<dyn RandomAccessFile>,
        columns: usize,
        options: CsvReadOptions,
        pool: &Pool,
    ) -> Result<CsvRows> {
        let path = file.path().to_owned();
        let at = |it: Error| it.at("file", &path);
        let mut options = options;
        // What the columns are is known.
        options.columns.clear();
        let options = Arc::new(options);
        let found = match (options.delimiter, options.has_header) {
            (Some(delimiter), Some(has_header)) => CsvShape { delimiter, has_header, width: 0 },
            _ if begin(&file, &options, pool).map_err(at)?.fill()?.is_empty() => {
                CsvShape { delimiter: b',', has_header: false, width: 0 }
            }
            _ => {
                let open = || begin(&file, &options, pool);
                detect_format(open, &options, pool).map_err(at)?.shape
            }
        };
        let shape = CsvShape { width: columns, ..found };
        let stream = begin(&file, &options, pool).map_err(at)?;
        let decoder = CsvDecoder::new(options, shape, (0..columns).collect(), 0);
        Ok(CsvRows { stream, decoder, path, reservation: pool.reservation() })
    }

    /// The next rows, at most `rows_max`: their lines as BIGINT, then the fields as VARCHAR. `None`
    /// at the end.
    ///
    /// # Errors
    ///
    /// I/O; corruption: a line of another number of fields, text that is not UTF-8, a quote that is
    /// not closed; with the file and the line.
    pub fn next(&mut self, rows_max: usize) -> Result<Option<Batch>> {
        let rows = self.rows(rows_max).map_err(|it| it.at("file", &self.path))?;
        rows.map(batch_of).transpose()
    }

    /// How much of the file is read, from 0 to 1.
    pub fn file_share(&self) -> f64 {
        self.stream.share()
    }

    fn rows(&mut self, rows_max: usize) -> Result<Option<TextRows>> {
        self.decoder.set_rows_max(rows_max);
        let mut held = 0_usize;
        while !self.decoder.is_full() {
            let bytes = self.stream.fill()?;
            let most = held.saturating_add(bytes.len()).saturating_mul(DECODER_BYTES_PER_BYTE);
            self.reservation.resize(most)?;
            if bytes.is_empty() {
                self.decoder.finish()?;
                break;
            }
            let taken = self.decoder.decode(bytes)?;
            held += taken;
            self.stream.consume(taken);
        }
        Ok(self.decoder.flush())
    }
}

fn batch_of(rows: TextRows) -> Result<Batch> {
    let count = rows.count;
    let mut columns = vec![Vector::native::<i64>(Type::BigInt, rows.lines, None)];
    for column in &rows.columns {
        columns.push(Texts::new(&column.text, &column.offsets, column.nulls())?.strings());
    }
    Ok(Batch::new(columns, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CsvForm;
    use crate::tests::open_file;

    fn read(text: &str, columns: usize, options: CsvReadOptions) -> Result<Vec<Vec<String>>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.csv");
        std::fs::write(&path, text).unwrap();
        let mut rows =
            CsvRows::open(open_file(&path), columns, options, &Pool::root("test", None))?;
        let mut read = Vec::new();
        while let Some(batch) = rows.next(2)? {
            for row in 0..batch.rows() {
                let value =
                    |it: &Vector| it.value(row).unwrap().display(it.data_type()).to_string();
                read.push(batch.columns().iter().map(value).collect());
            }
        }
        Ok(read)
    }

    fn plain() -> CsvReadOptions {
        CsvReadOptions {
            delimiter: Some(b','),
            has_header: Some(false),
            allow_quoted_nulls: false,
            ..CsvReadOptions::default()
        }
    }

    #[test]
    fn fields_are_taken_apart() {
        let rows = read("1,\"a,\"\"b\"\"\nc\"\r\n2,\n\n3,\"\"", 2, plain()).unwrap();
        assert_eq!(rows, [["1", "1", "a,\"b\"\nc"], ["3", "2", "NULL"], ["5", "3", ""]]);
        let form = CsvForm { quote: Some(b'\''), escape: Some(b'\\'), ..CsvForm::default() };
        let options = CsvReadOptions { nulls: vec!["-".into()], form, ..plain() };
        let rows = read("-,'-'\n'it\\'s',x", 2, options).unwrap();
        assert_eq!(rows, [["1", "NULL", "-"], ["2", "it's", "x"]]);
        assert!(read("", 2, plain()).unwrap().is_empty());
        assert_eq!(read("a\n\nb", 1, plain()).unwrap(), [["1", "a"], ["2", "NULL"], ["3", "b"]]);
    }

    #[test]
    fn delimiters_may_have_several_bytes() {
        for delimiter in ["||", "→", "#|#|"] {
            let options = CsvReadOptions {
                delimiter: Some(crate::LONG_DELIMITER),
                delimiter_text: Some(delimiter.to_owned()),
                ..plain()
            };
            let text = "1→\"a→\"\"b\"\"\"\n2→ä|x\n3→\"y\nz\"\n".replace('→', delimiter);
            let quoted = format!("a{delimiter}\"b\"");
            let expected = [["1", "1", quoted.as_str()], ["2", "2", "ä|x"], ["3", "3", "y\nz"]];
            assert_eq!(read(&text, 2, options.clone()).unwrap(), expected);
            let error = read(&text.replace('ä', delimiter), 2, options).unwrap_err().to_string();
            assert!(error.contains("line has 3 fields, not 2") && error.contains("line: 2"));
        }
    }

    #[test]
    fn a_header_is_found() {
        let rows = read("n;s\n1;x\n", 2, CsvReadOptions::default()).unwrap();
        assert_eq!(rows, [["2", "1", "x"]]);
        let rows = read(",\n1,2\n", 2, CsvReadOptions::default()).unwrap();
        assert_eq!(rows, [["2", "1", "2"]]);
    }

    #[test]
    fn a_first_line_with_an_empty_field_is_no_header() {
        let rows = |text: &str| read(text, 2, CsvReadOptions::default()).unwrap();
        assert_eq!(rows("foo,\nbar,3\n"), [["1", "foo", "NULL"], ["2", "bar", "3"]]);
        assert_eq!(rows("\"\",3\n1,4\n"), [["1", "NULL", "3"], ["2", "1", "4"]]);
        // One that does not fit is enough.
        assert_eq!(rows(",c\n1,3\n"), [["2", "1", "3"]]);
    }

    #[test]
    fn errors_have_a_line() {
        let error = |text: &str| read(text, 2, plain()).unwrap_err().to_string();
        assert!(error("1,2\n3\n").contains("line has 1 field, not 2"));
        assert!(error("1,2\n3\n").contains("line: 2"));
        assert!(error("1,2\n\"3,4\n5").contains("quote that is not closed"));
        assert!(error("1,2\n\"3\"4,5").contains("text behind a closing quote"));
    }
}
