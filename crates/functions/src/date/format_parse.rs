//! `strptime`: a timestamp from text in a form given by another text, or by the first of several
//! that fits.

use super::format_parts::Parts;
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, FunctionDoc, Registry, ScalarTraits,
    simple::{Array, ArrayView, Timestamp, Varchar, map2, vectorized},
};
use volley_types::{Type, custom::TimestampTz};

/// Registers `strptime` and `try_strptime`, and what they are for formats with a time zone.
pub(super) fn register(registry: &mut Registry) {
    let parse = doc(
        "strptime(varchar, format) -> timestamp",
        "The timestamp that a text means, in the format of strftime, or in the first that fits of a \
         list of formats; a TIMESTAMP WITH TIME ZONE, if a constant format has %z or %Z.",
        "date",
        &[
            ("strptime('29.02.2020', '%d.%m.%Y')", "2020-02-29 00:00:00"),
            ("strptime('2020-060', ['%d.%m.%Y', '%Y-%j'])", "2020-02-29 00:00:00"),
        ],
    );
    let attempt = doc(
        "try_strptime(varchar, format) -> timestamp",
        "As strptime, but null for a text that does not fit.",
        "date",
        &[("try_strptime('x', '%Y')", "NULL")],
    );
    let instant = |name: &str| {
        doc(
            &format!("{name}_tz(varchar, format) -> timestamp with time zone"),
            &format!("What {name} is for formats with %z or %Z."),
            "date",
            &[(&format!("{name}_tz('2020-01-01 +02', '%Y-%m-%d %z')"), "2019-12-31 22:00:00+00")],
        )
    };
    for (name, parse, misfit) in
        [("strptime", parse, Misfit::Fails), ("try_strptime", attempt, Misfit::IsNull)]
    {
        let tz_name = format!("{name}_tz");
        let tz_doc = instant(name);
        for (name, doc, to) in
            [(name, parse, Type::Timestamp), (&tz_name, tz_doc, TimestampTz::data_type())]
        {
            let result = to.clone();
            let one = move |args: &[Type]| bind(args, Type::Varchar, &result, misfit);
            registry.add_scalar(name, doc, Arc::new(one));
            let list = Type::array(Type::Varchar);
            let several = move |args: &[Type]| bind(args, list.clone(), &to, misfit);
            registry.add_scalar(name, FunctionDoc::default(), Arc::new(several));
        }
    }
}

/// What becomes of a text that does not fit.
#[derive(Clone, Copy)]
enum Misfit {
    Fails,
    IsNull,
}

fn bind(args: &[Type], formats: Type, to: &Type, misfit: Misfit) -> Option<BoundScalar> {
    let [text, format] = args else { return None };
    let is_text = |it: &Type| matches!(it, Type::Varchar | Type::Unknown);
    let is_list = matches!(formats, Type::Array(_));
    let fits = match format {
        Type::Array(element) => is_list && is_text(element),
        one => !is_list && is_text(one),
    };
    if !is_text(text) || !fits {
        return None;
    }
    let function = if is_list {
        vectorized(move |rows, args, to, ctx| {
            let first = |text: &str, formats: ArrayView<'_, Varchar>| {
                for format in formats.iter().flatten() {
                    if let Some(micros) = read(text, format)? {
                        return Ok(Some(micros));
                    }
                }
                misfit.of(text, || "any of the formats".to_owned())
            };
            map2::<Varchar, Array<Varchar>, Timestamp, _>(rows, args, to, ctx, first)
        })
    } else {
        vectorized(move |rows, args, to, ctx| {
            let one = |text: &str, format: &str| match read(text, format)? {
                Some(micros) => Ok(Some(micros)),
                None => misfit.of(text, || format!("'{format}'")),
            };
            map2::<Varchar, Varchar, Timestamp, _>(rows, args, to, ctx, one)
        })
    };
    let args = vec![Type::Varchar, formats];
    Some(BoundScalar::new(args, to.clone(), ScalarTraits::DEFAULT, function))
}

impl Misfit {
    fn of(self, text: &str, format: impl FnOnce() -> String) -> Result<Option<i64>, Error> {
        match self {
            Misfit::IsNull => Ok(None),
            Misfit::Fails => {
                let error = Error::invalid_value(format!("cannot read '{text}' as {}", format()));
                Err(error.hint("try_strptime gives NULL instead of an error"))
            }
        }
    }
}

/// The timestamp that a text means in a format of `strptime`; `None` when it does not fit.
pub fn read_timestamp(text: &str, format: &str) -> Option<i64> {
    read(text, format).ok().flatten()
}

/// Refuses what is no format of `strptime`.
///
/// # Errors
///
/// Invalid value.
pub fn check_time_format(format: &str) -> Result<(), Error> {
    let mut rest = format;
    while let Some((_, behind)) = rest.split_once('%') {
        let specifier = behind.chars().find(|it| *it != '-').map_or(0, char::len_utf8);
        let end = behind.len() - behind.trim_start_matches('-').len() + specifier;
        // A field alone is read first, whatever the text is.
        let unknown = read("", &format!("%{}", behind.get(..end).unwrap_or_default()));
        unknown.map_err(|_| Error::invalid_value(format!("unknown date format: '{format}'")))?;
        rest = behind.get(end..).unwrap_or_default();
    }
    Ok(())
}

/// `None` when the text does not fit; an error when the format is none.
fn read(text: &str, format: &str) -> Result<Option<i64>, Error> {
    let Some(parts) = Parts::of(text, format)? else { return Ok(None) };
    parts.finish()
}
