//! The file's tree of types, as ours.
//!
//! Types are stored parents first, and their positions are the identifiers of columns. The first
//! one is a struct, whose fields are the columns of the file. CHAR and VARCHAR become VARCHAR, as
//! long as they are stored; a union becomes a row of its tag and a field per alternative, which is
//! null unless it is the one.

use crate::{error::corrupt, metadata::StoredType};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_types::{DECIMAL_PRECISION_MAX, Field, Schema, Type, custom::TimestampTz};

/// How deep types may be nested.
const DEPTH_MAX: usize = 64;

/// Decimals of files from before precision was stored.
const PRECISION_DEFAULT: u64 = 38;
const SCALE_DEFAULT: u64 = 18;

/// A column, or a part of one.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Its position among the types.
    pub column: usize,
    pub data_type: Type,
    pub kind: NodeKind,
    pub children: Arc<[Node]>,
}

/// How values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Boolean,
    Byte,
    /// SMALLINT, INTEGER, BIGINT and DATE.
    Integer,
    Float,
    Double,
    /// VARCHAR.
    Text,
    /// VARBINARY.
    Bytes,
    /// Of a local time, in the writer's time zone.
    Timestamp,
    /// Of an instant.
    Instant,
    Decimal,
    List,
    Map,
    Struct,
    Union,
    /// A field that the file lacks: null.
    Missing,
}

impl Node {
    /// Its column and those below it.
    pub fn columns(&self) -> Vec<usize> {
        let (mut columns, mut rest) = (Vec::new(), vec![self]);
        while let Some(node) = rest.pop() {
            if node.kind != NodeKind::Missing {
                columns.push(node.column);
            }
            rest.extend(node.children.iter().rev());
        }
        columns
    }

    /// The node read as `wanted`: fields of rows by name, those that are not wanted left out and
    /// those that are not stored null. `None` if something else differs.
    pub fn read_as(&self, wanted: &Type) -> Option<Node> {
        if self.data_type == *wanted {
            return Some(self.clone());
        }
        let child = |place: usize, wanted: &Type| self.children.get(place)?.read_as(wanted);
        let children: Vec<Node> = match (self.kind, wanted) {
            (NodeKind::List, Type::Array(element)) => vec![child(0, element)?],
            (NodeKind::Map, Type::Map(entry)) => vec![child(0, &entry.0)?, child(1, &entry.1)?],
            (NodeKind::Struct, Type::Row(fields)) => {
                fields.iter().map(|it| self.field_as(it)).collect::<Option<_>>()?
            }
            _ => return None,
        };
        Some(Node { data_type: wanted.clone(), children: children.into(), ..self.clone() })
    }

    fn field_as(&self, wanted: &Field) -> Option<Node> {
        let Type::Row(fields) = &self.data_type else { return None };
        let place = fields
            .iter()
            .position(|it| it.name == wanted.name)
            .or_else(|| fields.iter().position(|it| it.name.eq_ignore_ascii_case(&wanted.name)));
        match place {
            Some(place) => self.children.get(place)?.read_as(&wanted.data_type),
            None => Some(Node {
                column: self.column,
                data_type: wanted.data_type.clone(),
                kind: NodeKind::Missing,
                children: Arc::default(),
            }),
        }
    }
}

/// The columns of a file.
pub(crate) fn read_schema(types: &[StoredType]) -> Result<(Schema, Vec<Node>)> {
    let mut walk = Walk { types, visited: 0 };
    let root = walk.node(0, 0)?;
    let Type::Row(fields) = &root.data_type else {
        return Err(Error::unsupported("ORC file whose rows are not structs"));
    };
    if walk.visited != types.len() {
        return Err(corrupt("types that belong to no column"));
    }
    Ok((Schema::new(fields.to_vec()), root.children.to_vec()))
}

struct Walk<'a> {
    types: &'a [StoredType],
    /// Types seen so far; each is the child of one other.
    visited: usize,
}

impl Walk<'_> {
    fn node(&mut self, column: usize, depth: usize) -> Result<Node> {
        if depth > DEPTH_MAX {
            return Err(Error::unsupported("ORC column nested too deeply"));
        }
        // Types are stored in the order in which a walk meets them: so there are no circles.
        if column != self.visited {
            return Err(corrupt("types out of order"));
        }
        self.visited += 1;
        let stored = self.types.get(column).ok_or_else(|| corrupt("type that is not there"))?;
        let mut children = Vec::new();
        for child in &stored.children {
            let child = usize::try_from(*child).unwrap_or(usize::MAX);
            children.push(self.node(child, depth + 1)?);
        }
        let (kind, data_type) = kind_of(stored, &children)?;
        Ok(Node { column, data_type, kind, children: children.into() })
    }
}

fn kind_of(stored: &StoredType, children: &[Node]) -> Result<(NodeKind, Type)> {
    let of_child = |place: usize| children.get(place).map(|it| it.data_type.clone());
    let (kind, data_type, expected) = match stored.kind {
        0 => (NodeKind::Boolean, Type::Boolean, 0),
        1 => (NodeKind::Byte, Type::TinyInt, 0),
        2 => (NodeKind::Integer, Type::SmallInt, 0),
        3 => (NodeKind::Integer, Type::Integer, 0),
        4 => (NodeKind::Integer, Type::BigInt, 0),
        5 => (NodeKind::Float, Type::Real, 0),
        6 => (NodeKind::Double, Type::Double, 0),
        7 | 16 | 17 => (NodeKind::Text, Type::Varchar, 0),
        // Geometries and geographies are stored in WKB.
        8 | 19 | 20 => (NodeKind::Bytes, Type::Varbinary, 0),
        9 => (NodeKind::Timestamp, Type::Timestamp, 0),
        10 => (NodeKind::List, Type::array(of_child(0).unwrap_or(Type::Unknown)), 1),
        11 => {
            let of_child = |place| of_child(place).unwrap_or(Type::Unknown);
            (NodeKind::Map, Type::map(of_child(0), of_child(1)), 2)
        }
        12 => (NodeKind::Struct, row_type(stored, children)?, children.len()),
        13 => (NodeKind::Union, union_type(children), children.len()),
        14 => (NodeKind::Decimal, decimal_type(stored)?, 0),
        15 => (NodeKind::Integer, Type::Date, 0),
        18 => (NodeKind::Instant, TimestampTz::data_type(), 0),
        other => return Err(Error::unsupported(format!("ORC type of kind {other}"))),
    };
    if children.len() != expected {
        return Err(corrupt("type with a wrong number of children"));
    }
    Ok((kind, data_type))
}

fn row_type(stored: &StoredType, children: &[Node]) -> Result<Type> {
    if stored.names.len() != children.len() {
        return Err(corrupt("struct whose names do not match its fields"));
    }
    let fields = stored.names.iter().zip(children);
    Ok(Type::row(fields.map(|(name, child)| Field::new(name, child.data_type.clone()))))
}

fn union_type(children: &[Node]) -> Type {
    let tag = Field::new("tag", Type::TinyInt);
    let fields = children.iter().enumerate();
    let fields =
        fields.map(|(place, it)| Field::new(format!("field{place}"), it.data_type.clone()));
    Type::row(std::iter::once(tag).chain(fields))
}

fn decimal_type(stored: &StoredType) -> Result<Type> {
    let (precision, scale) = match stored.precision {
        0 => (PRECISION_DEFAULT, SCALE_DEFAULT),
        precision => (precision, stored.scale),
    };
    match (u8::try_from(precision), u8::try_from(scale)) {
        (Ok(precision), Ok(scale)) if precision <= DECIMAL_PRECISION_MAX && scale <= precision => {
            Ok(Type::Decimal { precision, scale })
        }
        _ => Err(Error::unsupported(format!("ORC type decimal({precision}, {scale})"))),
    }
}
