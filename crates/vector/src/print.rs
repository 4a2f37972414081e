//! Vectors as text, for debugging.

use crate::{Encoding, Values, Vector};
use std::fmt;

/// Values that `Display` shows before it stops.
const SHOWN: usize = 20;

impl Vector {
    /// Type, rows and encodings from the outside in, such as
    /// `VARCHAR x 1024: dictionary, 3 nulls > x 12: flat, 1 null`.
    pub fn summary(&self) -> String {
        format!("{} x {}: {}", self.data_type(), self.len(), Layers(self))
    }
}

/// The encodings of a vector, from the outside in.
struct Layers<'a>(&'a Vector);

impl fmt::Display for Layers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, base) = match self.0.encoding() {
            Encoding::Flat(_) => ("flat", None),
            Encoding::Constant(base) => ("constant", Some(base.as_ref())),
            Encoding::Dictionary { base, .. } => ("dictionary", Some(base.as_ref())),
            Encoding::RunLength { base, .. } => ("run-length", Some(base.as_ref())),
            Encoding::Bias { .. } => ("bias", None),
            Encoding::Lazy(lazy) => ("lazy", lazy.get()),
        };
        f.write_str(name)?;
        if let Encoding::Bias { base, deltas } = self.0.encoding() {
            write!(f, " of {} bits from {base}", deltas.width() * 8)?;
        }
        match self.0.null_buffer().map_or(0, |it| it.null_count()) {
            0 => (),
            1 => f.write_str(", 1 null")?,
            count => write!(f, ", {count} nulls")?,
        }
        match self.0.flat_values() {
            Some(Values::Array(nested) | Values::Map(nested)) => {
                write!(f, " of ({})", nested.elements.summary())?;
            }
            Some(Values::FixedArray(arrays)) => {
                write!(f, " of ({})", arrays.elements.summary())?;
            }
            Some(Values::Row { children, .. }) => {
                let children: Vec<String> = children.iter().map(Vector::summary).collect();
                write!(f, " of ({})", children.join("; "))?;
            }
            _ => (),
        }
        match base {
            Some(base) => write!(f, " > x {}: {}", base.len(), Layers(base)),
            None => Ok(()),
        }
    }
}

/// The summary, and the first values in brackets.
impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())?;
        if matches!(self.encoding(), Encoding::Lazy(lazy) if lazy.get().is_none()) {
            return Ok(());
        }
        f.write_str(" [")?;
        for row in 0..self.len().min(SHOWN) {
            f.write_str(if row == 0 { "" } else { ", " })?;
            match self.value(row) {
                Ok(value) => write!(f, "{}", value.display(self.data_type()))?,
                Err(error) => write!(f, "({error})")?,
            }
        }
        f.write_str(if self.len() > SHOWN { ", ...]" } else { "]" })
    }
}
