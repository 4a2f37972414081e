//! JSON: the type that the structure of `json_transform(json, structure)` describes; `json_each`
//! and `json_tree` in FROM.

use super::{Binder, Bound, Clause, aggregate::Parsed, inspect, scope::Scope, unnest::TableCall};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use sqlparser::ast::{Function, FunctionArgumentList};
use std::fmt;
use volley_error::{Error, Result, Span};
use volley_logical::{Expr, Plan};
use volley_types::{Field, Type, Value};

/// Functions of a JSON value and a structure.
pub(super) const JSON_TRANSFORMS: [&str; 4] =
    ["json_transform", "from_json", "json_transform_strict", "from_json_strict"];

/// Functions whose rows are those of a table in FROM.
pub(super) const JSON_TABLES: [&str; 2] = ["json_each", "json_tree"];

/// The structure that fits the values of all rows.
pub(super) const GROUP_STRUCTURE: &str = "json_group_structure";

/// What a structure says, in the order in which it is written.
enum Structure {
    /// A type by name.
    Named(String),
    /// Lists of what this describes.
    List(Box<Structure>),
    /// Rows with these fields.
    Fields(Vec<(String, Structure)>),
}

impl<'a> Binder<'a> {
    /// `json_each` and `json_tree` in FROM: their rows, with a column of each field.
    pub(super) fn json_rows(&mut self, name: &str, call: TableCall<'a>) -> Result<(Plan, Scope)> {
        let bind = |it: &mut Self| {
            let args = call.args.iter().map(|arg| it.expr(it.plain_arg(arg, call.span)?));
            let args = args.collect::<Result<Vec<_>>>()?;
            it.elements(it.call(name, args, call.span)?)
        };
        let (generator, _) = self.with_level(Scope::default(), Clause::From, bind)?;
        let mut columns = generator.columns.clone();
        let ordinality = call.with_ordinality.then(|| self.column("ordinality", Type::BigInt));
        columns.extend(ordinality.clone());
        let input = Box::new(Plan::one_row());
        let plan = Plan::Unnest { input, generators: vec![generator], ordinality, outer: false };
        let bound = self.with_fields(Bound { plan, columns })?;
        self.aliased(bound, call.alias, (name, name))
    }

    /// A call of one of [`JSON_TRANSFORMS`]: the functions take the structure as a null of the
    /// type.
    pub(super) fn json_transform(
        &self,
        name: &str,
        args: Vec<Expr>,
        span: Option<Span>,
    ) -> Result<Expr> {
        let [json, structure] = <[Expr; 2]>::try_from(args)
            .map_err(|_| Error::internal("json_transform takes two arguments"))?;
        let place = structure.span.or(span);
        let hint = |it: Error| {
            it.hint("structures look like {\"a\": \"INTEGER\", \"b\": [\"VARCHAR\"]}").span(place)
        };
        let to = match inspect::string_literal(&structure) {
            Some(text) => {
                let read = serde_json::from_str::<Structure>(text).map_err(|it| {
                    hint(Error::invalid_query(format!("invalid structure of JSON: {it}")))
                })?;
                self.structure_type(read, place)?
            }
            None if inspect::is_null_literal(&structure) => return Ok(structure),
            None => {
                let message = format!("the structure that {name} takes must be a constant text");
                return Err(hint(Error::invalid_query(message)));
            }
        };
        self.call(name, vec![json, Expr::constant(Value::Null, to).at(place)], span)
    }

    /// A call of [`GROUP_STRUCTURE`]: the structure of the elements of an array of all values.
    pub(super) fn group_structure(
        &mut self,
        function: &'a Function,
        list: Option<&'a FunctionArgumentList>,
        span: Option<Span>,
    ) -> Result<Expr> {
        let name = "json_group_array";
        let (filter, within_group) = (function.filter.as_deref(), &function.within_group);
        let values = match function.over {
            Some(_) => self.window_call(function, name, span)?,
            None => self.aggregate(Parsed { name, list, filter, within_group, span })?,
        };
        let structure = self.call("json_structure", vec![values], span)?;
        let first = Expr::constant(Value::BigInt(0), Type::BigInt);
        self.call("json_extract", vec![structure, first], span)
    }

    fn structure_type(&self, structure: Structure, span: Option<Span>) -> Result<Type> {
        Ok(match structure {
            Structure::Named(name) => {
                let written = crate::parse::parse_type(&name).map_err(|it| it.span(span))?;
                self.data_type(&written, span)?
            }
            Structure::List(element) => Type::array(self.structure_type(*element, span)?),
            Structure::Fields(fields) => {
                let field = |(name, it)| Ok(Field::new(name, self.structure_type(it, span)?));
                Type::row(fields.into_iter().map(field).collect::<Result<Vec<_>>>()?)
            }
        })
    }
}

impl<'de> Deserialize<'de> for Structure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Structure, D::Error> {
        deserializer.deserialize_any(StructureVisitor)
    }
}

struct StructureVisitor;

impl<'de> Visitor<'de> for StructureVisitor {
    type Value = Structure;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a type, an array of one structure, or an object")
    }

    fn visit_str<E>(self, name: &str) -> Result<Structure, E> {
        Ok(Structure::Named(name.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Structure, A::Error> {
        let element = list.next_element::<Structure>()?;
        match (element, list.next_element::<Structure>()?) {
            (Some(element), None) => Ok(Structure::List(Box::new(element))),
            _ => Err(A::Error::custom("an array has one structure, that of its elements")),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Structure, A::Error> {
        let mut fields: Vec<(String, Structure)> = Vec::new();
        while let Some((name, structure)) = members.next_entry::<String, Structure>()? {
            if fields.iter().any(|it| it.0.eq_ignore_ascii_case(&name)) {
                return Err(A::Error::custom(format!("the field {name} stands twice")));
            }
            fields.push((name, structure));
        }
        match fields.is_empty() {
            true => Err(A::Error::custom("an object without fields")),
            false => Ok(Structure::Fields(fields)),
        }
    }
}
