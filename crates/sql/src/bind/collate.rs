//! Text with a collation: COLLATE, and functions that look for text in it.

use super::Binder;
use sqlparser::ast::{self, Spanned};
use volley_error::{Error, Result};
use volley_logical::Expr;
use volley_types::{Type, custom::Collation};

/// The function that gives the text that a text with a collation is compared by.
const KEY: &str = "comparison_key";

/// Functions whose first two arguments are text and what is looked for in it.
const SEARCHES: [&str; 8] =
    ["like", "ilike", "glob", "contains", "starts_with", "prefix", "ends_with", "suffix"];

impl<'a> Binder<'a> {
    /// `text COLLATE name`: text of a type that has another order.
    pub(super) fn collated(
        &mut self,
        text: &'a ast::Expr,
        collation: &ast::ObjectName,
    ) -> Result<Expr> {
        let text = self.expr(text)?;
        let to = self.collation(collation)?;
        match &text.data_type {
            Type::Varchar | Type::Unknown => self.cast_to(text, to, false),
            Type::Custom(custom)
                if *custom.storage() == Type::Varchar || custom.labels().is_some() =>
            {
                let plain = self.cast_to(text, Type::Varchar, false)?;
                self.cast_to(plain, to, false)
            }
            other => {
                let message = format!("COLLATE takes VARCHAR, not {other}");
                Err(Error::invalid_query(message).span(text.span))
            }
        }
    }

    /// The type of text in the order of this name.
    pub(super) fn collation(&self, collation: &ast::ObjectName) -> Result<Type> {
        let name = crate::parse::dotted(collation);
        Collation::data_type(&name).ok_or_else(|| {
            let error = Error::invalid_query(format!("no such collation: {name}"));
            let error = error.span(self.span(collation.span()));
            error.hint("there are NOCASE, NOACCENT, NOCASE.NOACCENT and C")
        })
    }

    /// The arguments of a function. Where one looks for text and either text has a collation, by
    /// the keys of both: `'Ä' COLLATE noaccent LIKE 'A'`.
    pub(super) fn collated_arguments(&self, name: &str, args: Vec<Expr>) -> Result<Vec<Expr>> {
        if !SEARCHES.contains(&name) {
            return Ok(args);
        }
        let is_collation = |it: &&Expr| match &it.data_type {
            Type::Custom(custom) => {
                *custom.storage() == Type::Varchar && it.data_type.key_type() == Some(Type::Varchar)
            }
            _ => false,
        };
        let collated = args.iter().take(2).find(is_collation);
        let Some(collation) = collated.map(|it| it.data_type.clone()) else { return Ok(args) };
        let key = |(index, arg): (usize, Expr)| {
            let is_text = matches!(arg.data_type, Type::Varchar | Type::Unknown)
                || arg.data_type == collation;
            if index > 1 || !is_text {
                return Ok(arg);
            }
            let span = arg.span;
            let text = self.cast_to(arg, collation.clone(), false)?;
            Ok(Expr::call(KEY, vec![text], Type::Varchar).at(span))
        };
        args.into_iter().enumerate().map(key).collect()
    }
}
