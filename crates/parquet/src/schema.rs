//! The file's columns as trees of our types, with the levels at which they exist.
//!
//! Definition levels count the optional and repeated fields on a path that are present; repetition
//! levels count the repeated ones that continue. Lists and maps follow the format's chapter on
//! nested types (parquet-format, LogicalTypes.md), with its rules for older files.

use crate::{error::corrupt, file::ParquetReadOptions, leaf::Leaf};
use parquet::{
    basic::{ConvertedType, LogicalType, Repetition},
    schema::types::{SchemaDescriptor, Type as Stored},
};
use volley_error::{Error, Result};
use volley_types::{Field, Schema, Type};

/// How deep types may be nested.
const DEPTH_MAX: usize = 64;

/// A column, or a part of one.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub data_type: Type,
    /// The definition level from which on it is not null.
    pub def: u16,
    pub kind: NodeKind,
}

#[derive(Clone, Debug)]
pub(crate) enum NodeKind {
    Leaf(Leaf),
    Row(Vec<Node>),
    /// An array, or a map whose element is the row of its entries.
    List {
        element: Box<Node>,
        /// The definition level from which on there is an element.
        element_def: u16,
    },
}

impl Node {
    /// The leaves, in the order of the file.
    pub fn leaves(&self) -> Vec<&Leaf> {
        let (mut leaves, mut rest) = (Vec::new(), vec![self]);
        while let Some(node) = rest.pop() {
            match &node.kind {
                NodeKind::Leaf(leaf) => leaves.push(leaf),
                NodeKind::Row(children) => rest.extend(children.iter().rev()),
                NodeKind::List { element, .. } => rest.push(element),
            }
        }
        leaves
    }
}

/// A field of a column of rows that can be read as a column of its own: it is no row and in no
/// list.
#[derive(Clone, Debug, PartialEq)]
pub struct ParquetField {
    /// The column, by position in the file.
    pub column: usize,
    /// The position of the field in the column's row, of the field of that in its row, and so on.
    pub path: Vec<usize>,
    /// The names from the column on, with dots between them, and the type.
    pub field: Field,
}

/// How many fields of a file can be read as columns.
const FIELDS_MAX: usize = 1000;

/// The fields of rows that can be read as columns, in the order of the file, and how to read them.
pub(crate) fn read_fields(schema: &Schema, columns: &[Node]) -> (Vec<ParquetField>, Vec<Node>) {
    let (mut fields, mut nodes) = (Vec::new(), Vec::new());
    for (column, (of, node)) in schema.fields.iter().zip(columns).enumerate() {
        let mut rest = vec![(Vec::new(), of.name.clone(), node)];
        while let Some((path, name, node)) = rest.pop() {
            match (&node.kind, &node.data_type) {
                (NodeKind::Row(children), Type::Row(own)) => {
                    let children = children.iter().zip(own.iter()).enumerate().rev();
                    rest.extend(children.map(|(at, (node, own))| {
                        let path = path.iter().copied().chain([at]).collect();
                        (path, format!("{name}.{}", own.name), node)
                    }));
                }
                (NodeKind::Leaf(_), _) if !path.is_empty() && fields.len() < FIELDS_MAX => {
                    let field = Field::new(name, node.data_type.clone());
                    fields.push(ParquetField { column, path, field });
                    nodes.push(node.clone());
                }
                _ => {}
            }
        }
    }
    (fields, nodes)
}

/// The columns of a file.
pub(crate) fn read_schema(
    descriptor: &SchemaDescriptor,
    options: ParquetReadOptions,
) -> Result<(Schema, Vec<Node>)> {
    let mut walk = Walk { descriptor, options, next_leaf: 0 };
    let (mut fields, mut nodes) = (Vec::new(), Vec::new());
    for column in descriptor.root_schema().get_fields() {
        let node = walk.node(column, 0, 0, 0).map_err(|it| it.at("column", column.name()))?;
        fields.push(Field::new(column.name(), node.data_type.clone()));
        nodes.push(node);
    }
    Ok((Schema::new(fields), nodes))
}

struct Walk<'a> {
    descriptor: &'a SchemaDescriptor,
    options: ParquetReadOptions,
    next_leaf: usize,
}

impl Walk<'_> {
    /// The node of `stored`, whose parent exists at level `def`.
    fn node(&mut self, stored: &Stored, def: u16, rep: u16, depth: usize) -> Result<Node> {
        let info = stored.get_basic_info();
        match info.has_repetition().then(|| info.repetition()) {
            Some(Repetition::OPTIONAL) => self.present(stored, def + 1, rep, depth),
            Some(Repetition::REPEATED) => {
                // A repeated field outside of a list is a list that is never null.
                let element = self.present(stored, def + 1, rep + 1, depth)?;
                Ok(list_of(element, def, def + 1))
            }
            _ => self.present(stored, def, rep, depth),
        }
    }

    /// The node of `stored`, itself present at level `def`.
    fn present(&mut self, stored: &Stored, def: u16, rep: u16, depth: usize) -> Result<Node> {
        if depth > DEPTH_MAX {
            return Err(Error::unsupported("parquet column nested too deeply"));
        }
        let Stored::GroupType { fields, .. } = stored else {
            return self.leaf(def, rep);
        };
        let info = stored.get_basic_info();
        let kind = (info.logical_type_ref(), info.converted_type());
        match (kind, fields.as_slice()) {
            ((Some(LogicalType::Map), _), [entries])
            | ((None, ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE), [entries])
                if is_repeated(entries)
                    && entries.is_group()
                    && entries.get_fields().len() == 2 =>
            {
                self.map(entries, def, rep, depth)
            }
            (
                (Some(LogicalType::List | LogicalType::Map), _)
                | (None, ConvertedType::LIST | ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE),
                [repeated],
            ) if is_repeated(repeated) => {
                let element = self.element(repeated, stored.name(), def + 1, rep + 1, depth)?;
                Ok(list_of(element, def, def + 1))
            }
            _ => self.row(stored, def, rep, depth),
        }
    }

    fn leaf(&mut self, def: u16, rep: u16) -> Result<Node> {
        let index = self.next_leaf;
        self.next_leaf += 1;
        if index >= self.descriptor.num_columns() {
            return Err(corrupt("schema with more leaves than columns"));
        }
        let mut leaf = Leaf::new(index, &self.descriptor.column(index))?;
        if self.options.binary_as_string {
            leaf = leaf.with_bytes_as_text();
        }
        if (leaf.def_max, leaf.rep_max) != (def, rep) {
            return Err(corrupt("levels do not fit the schema"));
        }
        Ok(Node { data_type: leaf.data_type.clone(), def, kind: NodeKind::Leaf(leaf) })
    }

    fn row(&mut self, stored: &Stored, def: u16, rep: u16, depth: usize) -> Result<Node> {
        let (mut fields, mut children) = (Vec::new(), Vec::new());
        for child in stored.get_fields() {
            let node = self.node(child, def, rep, depth + 1)?;
            fields.push(Field::new(child.name(), node.data_type.clone()));
            children.push(node);
        }
        if children.is_empty() {
            return Err(Error::unsupported("parquet group without fields"));
        }
        Ok(Node { data_type: Type::row(fields), def, kind: NodeKind::Row(children) })
    }

    /// The element of a list: its repeated field in older files, otherwise that field's child.
    fn element(
        &mut self,
        repeated: &Stored,
        list_name: &str,
        def: u16,
        rep: u16,
        depth: usize,
    ) -> Result<Node> {
        let is_element = !repeated.is_group()
            || repeated.get_fields().len() != 1
            || repeated.get_fields().first().is_some_and(|it| is_repeated(it))
            || repeated.name() == "array"
            || repeated.name() == format!("{list_name}_tuple");
        match repeated.is_group().then(|| repeated.get_fields().first()).flatten() {
            Some(child) if !is_element => self.node(child, def, rep, depth + 1),
            _ => self.present(repeated, def, rep, depth + 1),
        }
    }

    fn map(&mut self, entries: &Stored, def: u16, rep: u16, depth: usize) -> Result<Node> {
        let row = self.row(entries, def + 1, rep + 1, depth + 1)?;
        let NodeKind::Row(children) = row.kind else {
            return Err(Error::internal("map entries are a row"));
        };
        let [key, value] = children.as_slice() else {
            return Err(Error::internal("map entries have two fields"));
        };
        let data_type = Type::map(key.data_type.clone(), value.data_type.clone());
        let element =
            Node { data_type: data_type.entry_type(), def: def + 1, kind: NodeKind::Row(children) };
        let kind = NodeKind::List { element: Box::new(element), element_def: def + 1 };
        Ok(Node { data_type, def, kind })
    }
}

fn list_of(element: Node, def: u16, element_def: u16) -> Node {
    Node {
        data_type: Type::array(element.data_type.clone()),
        def,
        kind: NodeKind::List { element: Box::new(element), element_def },
    }
}

fn is_repeated(stored: &Stored) -> bool {
    let info = stored.get_basic_info();
    info.has_repetition() && info.repetition() == Repetition::REPEATED
}
