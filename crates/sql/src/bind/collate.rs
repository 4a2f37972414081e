//! Text with a collation: COLLATE, and functions that search in such text.

use super::Binder;
use sqlparser::ast::{self, Spanned};
use volley_error::{Error, Result};
use volley_logical::Expr;
use volley_types::{Type, custom::Collation};

/// The function that gives the text that a text with a collation is compared by.
const KEY: &str = "comparison_key";

/// Functions whose first two arguments are text, or a list of texts, and what is looked for there.
const SEARCHES: [&str; 23] = [
    "like",
    "ilike",
    "glob",
    "contains",
    "starts_with",
    "prefix",
    "ends_with",
    "suffix",
    "position",
    "strpos",
    "instr",
    "array_contains",
    "list_contains",
    "array_has",
    "list_has",
    "array_position",
    "list_position",
    "array_indexof",
    "list_indexof",
    "array_has_any",
    "list_has_any",
    "array_has_all",
    "list_has_all",
];

/// Functions that make text of text: the result has the collation of the arguments.
const KEEPS: [&str; 28] = [
    "concat",
    "concat_op",
    "concat_ws",
    "lower",
    "lcase",
    "upper",
    "ucase",
    "trim",
    "ltrim",
    "rtrim",
    "left",
    "right",
    "left_grapheme",
    "right_grapheme",
    "repeat",
    "reverse",
    "substring",
    "substr",
    "replace",
    "lpad",
    "rpad",
    "array_extract",
    "regexp_replace",
    "regexp_extract",
    "strip_accents",
    "translate",
    "format",
    "printf",
];

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
        let collation = args.iter().take(2).find_map(|it| collation_of(&it.data_type));
        let Some(collation) = collation.cloned() else { return Ok(args) };
        let collated = args.iter().take(2);
        let mut collated = collated.filter_map(|it| Some((collation_of(&it.data_type)?, it)));
        if let Some((other, arg)) = collated.find(|it| *it.0 != collation) {
            let message = format!("{name} has values of types {collation} and {other}");
            let error = Error::invalid_query(message).span(arg.span);
            return Err(error.hint("cast one of them"));
        }
        let key = |(index, arg): (usize, Expr)| {
            let keyed = keyed_type(&arg.data_type, &collation).filter(|_| index < 2);
            let Some(keyed) = keyed else { return Ok(arg) };
            let Some(key_type) = keyed.key_type() else { return Ok(arg) };
            let span = arg.span;
            let text = self.cast_to(arg, keyed, false)?;
            Ok(Expr::call(KEY, vec![text], key_type).at(span))
        };
        args.into_iter().enumerate().map(key).collect()
    }
}

/// The collation that the text which a function makes of `args` keeps.
pub(super) fn kept(name: &str, args: &[Expr], result: &Type) -> Option<Type> {
    if *result != Type::Varchar || !KEEPS.contains(&name) {
        return None;
    }
    let mut collations = args.iter().filter_map(|it| match &it.data_type {
        custom @ Type::Custom(_) => collation_of(custom),
        _ => None,
    });
    let first = collations.next()?;
    collations.all(|it| it == first).then(|| first.clone())
}

/// The collation of text, or of the texts of an array.
fn collation_of(data_type: &Type) -> Option<&Type> {
    match data_type {
        Type::Custom(custom) => {
            let is_text = *custom.storage() == Type::Varchar;
            (is_text && data_type.key_type() == Some(Type::Varchar)).then_some(data_type)
        }
        Type::Array(element) => collation_of(element),
        Type::FixedArray(array) => collation_of(&array.0),
        _ => None,
    }
}

/// The type with the collation of a text, or of texts in an array; none when it has another one.
fn keyed_type(data_type: &Type, collation: &Type) -> Option<Type> {
    match data_type {
        Type::Varchar | Type::Unknown => Some(collation.clone()),
        Type::Array(element) => keyed_type(element, collation).map(Type::array),
        Type::FixedArray(array) => keyed_type(&array.0, collation).map(Type::array),
        other => (other == collation).then(|| other.clone()),
    }
}
