//! Validates the schema of a footer before the `parquet` crate builds a tree from it: the crate
//! trusts the numbers of children and recurses to any depth.
//!
//! The fields read here, by number: of the footer, 2 (the schema: a list of elements, parents
//! before their children); of an element, 5 (the number of its children).

use crate::{
    error::corrupt,
    thrift::{I32, LIST, Reader, STRUCT},
};
use volley_error::{Error, Result};

/// How deep groups may be nested; lists and maps take two of them.
const DEPTH_MAX: usize = 150;

/// Checks that the schema is a tree.
pub(crate) fn check_schema(footer: &[u8]) -> Result<()> {
    let (mut reader, mut number) = (Reader { bytes: footer, at: 0 }, 0);
    while let Some(field) = reader.field(&mut number)? {
        match (number, field) {
            (2, LIST) => return check_elements(&mut reader),
            _ => reader.skip(field, 0)?,
        }
    }
    Err(corrupt("footer without a schema"))
}

fn check_elements(reader: &mut Reader) -> Result<()> {
    let (field, elements) = reader.list()?;
    if field != STRUCT && elements > 0 {
        return Err(corrupt("schema of a wrong type"));
    }
    // For each group around the next element: the children that are still to come.
    let mut missing: Vec<usize> = Vec::new();
    for element in 0..elements {
        let children = read_children(reader)?;
        if let Some(last) = missing.last_mut() {
            *last -= 1;
        }
        if children > elements - element - 1 {
            return Err(corrupt(format!("schema group of {children} fields that are not there")));
        }
        missing.push(children);
        while missing.pop_if(|it| *it == 0).is_some() {}
        if missing.len() > DEPTH_MAX {
            return Err(Error::unsupported("parquet column nested too deeply"));
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(corrupt("schema ends early")) }
}

/// The number of children of the next element.
fn read_children(reader: &mut Reader) -> Result<usize> {
    let (mut children, mut number) = (0, 0);
    while let Some(field) = reader.field(&mut number)? {
        match (number, field) {
            (5, I32) => children = reader.signed()?,
            _ => reader.skip(field, 0)?,
        }
    }
    usize::try_from(children).map_err(|_| corrupt("schema group of less than no fields"))
}
