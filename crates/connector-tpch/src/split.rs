//! Splits: parts of a table.

use volley_connector::{Split, SplitReader, SplitWriter};
use volley_error::{Error, Result};
use volley_function::Registry;

/// The number of this connector in the bytes of splits.
const CONNECTOR: u8 = 19;

/// One of the parts of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TpchSplit {
    /// The name of the table.
    pub table: String,
    /// The scale.
    pub scale: f64,
    /// The number of the part, from 0.
    pub part: u32,
    /// How many parts the table has.
    pub parts: u32,
}

impl TpchSplit {
    /// The split as bytes.
    pub fn to_split(&self) -> Split {
        let writer = SplitWriter::new(CONNECTOR).text(&self.table).number(self.scale.to_bits());
        let bytes = writer.number(u64::from(self.part)).number(u64::from(self.parts)).finish();
        Split::new(bytes, format!("{}, part {} of {}", self.table, self.part + 1, self.parts))
    }

    /// The part that a split of `table` at `scale` is.
    ///
    /// # Errors
    ///
    /// Corruption: other bytes. Invalid query: of another table.
    pub(crate) fn of_split(
        split: &Split,
        table: &str,
        scale: f64,
        registry: &Registry,
    ) -> Result<TpchSplit> {
        let mut reader = SplitReader::new(split, CONNECTOR, registry)?;
        let found = reader.text()?.to_owned();
        let found_scale = f64::from_bits(reader.number()?);
        let (part, parts) = (reader.number()?, reader.number()?);
        reader.finish()?;
        if found != table || found_scale != scale {
            let message = format!("a split of {found} at scale {found_scale}");
            return Err(Error::invalid_query(format!("{message} for {table} at scale {scale}")));
        }
        let limit = i32::MAX as u64;
        match part < parts && parts <= limit {
            true => Ok(TpchSplit { table: found, scale, part: part as u32, parts: parts as u32 }),
            false => Err(Error::corruption(format!("part {part} of {parts} parts of {table}"))),
        }
    }
}
