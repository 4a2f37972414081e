//! Calls that become other calls depending on the value of a constant argument.

use super::{Binder, coerce::is_integer_literal, function::row_of, inspect};
use sqlparser::ast;
use volley_error::{Error, Result, Span};
use volley_logical::{Expr, SpecialForm};
use volley_types::{Field, Type, Value};

impl Binder<'_> {
    /// The meaning of the call; the arguments, if it is none of these.
    pub(super) fn constant_form(
        &self,
        name: &str,
        args: Vec<Expr>,
        span: Option<Span>,
    ) -> Result<Result<Expr, Vec<Expr>>> {
        match (name, args.as_slice()) {
            // Presto's functions give values of one type.
            _ if self.shared.is_presto() => Ok(Err(args)),
            ("date_part" | "datepart", [parts, _]) if constant_texts(parts).is_some() => {
                self.date_parts(args, span).map(Ok)
            }
            ("strptime" | "try_strptime", [_, formats]) if has_zone(formats) => {
                self.call(&format!("{name}_tz"), args, span).map(Ok)
            }
            ("regexp_extract" | "regexp_extract_all", [_, _, names, ..])
                if constant_texts(names).is_some() =>
            {
                self.named_groups(name, args, span).map(Ok)
            }
            (name, [_, path]) if WITH_WILDCARDS.contains(&name) && has_wildcard(path) => {
                self.call(&format!("{name}_all"), args, span).map(Ok)
            }
            _ => Ok(Err(args)),
        }
    }

    /// `date_part(['year', 'month'], x)`: a row of the parts, null for null.
    fn date_parts(&self, args: Vec<Expr>, span: Option<Span>) -> Result<Expr> {
        let [parts, of] = <[Expr; 2]>::try_from(args)
            .map_err(|_| Error::internal("date_part takes two arguments"))?;
        let names = constant_texts(&parts).unwrap_or_default();
        if names.is_empty() {
            return Err(Error::invalid_query("date_part of no parts").span(parts.span.or(span)));
        }
        let mut fields = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                let message = format!("date_part has the part {name} twice");
                return Err(Error::invalid_query(message).span(parts.span.or(span)));
            }
            let part = Expr::constant(Value::text(name.as_str()), Type::Varchar).at(parts.span);
            fields.push(self.call("date_part", vec![part, of.clone()], span)?);
        }
        let row = row_of(fields, names, span);
        let data_type = row.data_type.clone();
        let is_null = Expr::special(SpecialForm::IsNull, vec![of], Type::Boolean);
        let missing = Expr::constant(Value::Null, data_type.clone());
        Ok(Expr::special(SpecialForm::Switch, vec![is_null, missing, row], data_type).at(span))
    }

    /// `regexp_extract(text, pattern, ['a', 'b'])`: the functions take the names as a null row.
    fn named_groups(&self, name: &str, mut args: Vec<Expr>, span: Option<Span>) -> Result<Expr> {
        let place = args.get(2).and_then(|it| it.span).or(span);
        let names = args.get(2).and_then(constant_texts).unwrap_or_default();
        let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
        if names.is_empty() || twice.is_some() {
            let message = match twice {
                Some((_, twice)) => format!("two groups of {name} are called {twice}"),
                None => format!("{name} without names of groups"),
            };
            return Err(Error::invalid_query(message).span(place));
        }
        let row = Type::row(names.into_iter().map(|it| Field::new(it, Type::Varchar)));
        args[2] = Expr::constant(Value::Null, row).at(place);
        self.call(name, args, span)
    }
}

/// Functions of JSON and a path that give a list for a path with wildcards.
const WITH_WILDCARDS: [&str; 9] = [
    "json_extract",
    "json_extract_path",
    "json_extract_string",
    "json_extract_path_text",
    "json_value",
    "json_type",
    "json_array_length",
    "json_keys",
    "json_exists",
];

/// Whether this is a constant path with `*` or `..` outside of quotes.
fn has_wildcard(path: &Expr) -> bool {
    let Some(path) = inspect::string_literal(path).filter(|it| it.starts_with('$')) else {
        return false;
    };
    path.split('"').step_by(2).any(|it| it.contains('*') || it.contains(".."))
}

/// The texts of a constant list, none of which is null.
fn constant_texts(list: &Expr) -> Option<Vec<String>> {
    let (Value::Array(values), Type::Array(_)) = inspect::literal(list)? else { return None };
    values.iter().map(|it| it.as_str().map(str::to_owned)).collect()
}

/// Whether a constant format of strptime, or one of a list, reads a time zone.
fn has_zone(formats: &Expr) -> bool {
    let reads_zone = |format: &str| {
        let plain = format.replace("%%", "");
        plain.contains("%z") || plain.contains("%Z")
    };
    match inspect::literal(formats) {
        Some((Value::Varchar(format), _)) => reads_zone(&format),
        Some((Value::Array(formats), _)) => {
            formats.iter().filter_map(Value::as_str).any(reads_zone)
        }
        _ => false,
    }
}

/// A text with a fraction that would become an integer next to an integer literal: `1 + '1.5'`.
pub(super) fn rounded_text<'e>(args: &'e [Expr], to: &'e [Type]) -> Option<(&'e str, &'e Type)> {
    if !args.iter().any(is_integer_literal) {
        return None;
    }
    let typed = args.iter().zip(to).filter(|it| it.1.is_integer());
    typed.into_iter().find_map(|(arg, to)| {
        let text = inspect::string_literal(arg)?;
        let number: f64 = text.trim().parse().ok()?;
        (number.fract() != 0.0).then_some((text, to))
    })
}

/// The form of `normalize(text, NFD)`, which is a word, as a text.
pub(super) fn normal_form(name: &str, arg: &ast::Expr) -> Option<Expr> {
    let ast::Expr::Identifier(word) = arg else { return None };
    let forms = ["NFC", "NFD", "NFKC", "NFKD"];
    let form = forms.into_iter().find(|it| it.eq_ignore_ascii_case(&word.value))?;
    let is_form = name == "normalize" && word.quote_style.is_none();
    is_form.then(|| Expr::constant(Value::text(form), Type::Varchar))
}
