//! CREATE TYPE, and the resolution of named types.

use super::Binder;
use crate::{
    Query, Statement, TypeDefinition,
    parse::{self, CreateType, TypeSource},
};
use sqlparser::ast::{DataType, Spanned};
use std::cell::RefCell;
use volley_error::{Error, Result, Span};
use volley_types::Type;

/// The names of types made by CREATE TYPE that were met, as written.
#[derive(Debug, Default)]
pub(super) struct NamedTypes(RefCell<Vec<String>>);

impl<'a> Binder<'a> {
    pub(super) fn create_type(&mut self, create: &'a CreateType) -> Result<Statement> {
        let span = self.span(create.name.span());
        let name = parse::dotted(&create.name);
        if self.is_built_in(&name) {
            let message = format!("there is already a type called {name}");
            return Err(Error::invalid_query(message).span(span));
        }
        let definition = match &create.source {
            TypeSource::Written(written) => {
                let (data_type, named_types) = self.data_type_and_names(written, span)?;
                TypeDefinition::Type { data_type, named_types }
            }
            TypeSource::Labels(query) => TypeDefinition::Labels(self.labels(query, span)?),
        };
        let (or_replace, if_not_exists) = (create.or_replace, create.if_not_exists);
        Ok(Statement::CreateType { name, or_replace, if_not_exists, definition })
    }

    /// The type that `written` names, and the types made by CREATE TYPE in it.
    pub(super) fn data_type_and_names(
        &self,
        written: &DataType,
        span: Option<Span>,
    ) -> Result<(Type, Vec<String>)> {
        self.shared.named_types.0.take();
        let data_type = self.data_type(written, span)?;
        Ok((data_type, self.shared.named_types.0.take()))
    }

    /// A type made by CREATE TYPE.
    pub(super) fn named_type(
        &self,
        name: &str,
        parameters: &[String],
        span: Option<Span>,
    ) -> Result<Type> {
        let Some(data_type) = self.shared.catalog.type_called(name) else {
            return Err(self.unknown_type(name, span));
        };
        if !parameters.is_empty() {
            let message = format!("the type {name} takes no parameters");
            return Err(Error::invalid_query(message).span(span));
        }
        self.shared.named_types.0.borrow_mut().push(name.to_owned());
        Ok(data_type)
    }

    /// Whether a name means a type that was not made by CREATE TYPE.
    fn is_built_in(&self, name: &str) -> bool {
        let mut names = self.shared.registry.types().names();
        let is_word = |it: &DataType| !matches!(it, DataType::Custom(..));
        names.any(|it| it.eq_ignore_ascii_case(name))
            || parse::parse_type(name).is_ok_and(|it| {
                is_word(&it)
                    || self.shared.catalog.type_called(name).is_none()
                        && self.data_type(&it, None).is_ok()
            })
    }

    /// The values of an ENUM as text.
    fn labels(&mut self, query: &'a sqlparser::ast::Query, span: Option<Span>) -> Result<Query> {
        let bound = self.query(query)?;
        let [_] = bound.columns.as_slice() else {
            let columns = bound.columns.len();
            let message = format!("the query of an ENUM has one column, not {columns}");
            return Err(Error::invalid_query(message).span(span));
        };
        Ok(self.convert(bound, &[Type::Varchar])?.into())
    }
}
