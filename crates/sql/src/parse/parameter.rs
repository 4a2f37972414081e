//! Parameters: `?`, `$1`, `$name`.

use crate::position::Positions;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use std::collections::HashSet;
use volley_error::{Error, ErrorKind, Result};

/// The greatest number of a parameter.
const NUMBER_MAX: usize = 65_535;

/// The name of a parameter without what precedes it.
pub(crate) fn parameter_name(written: &str) -> &str {
    written.trim_start_matches(['$', '?'])
}

/// `?` as `$1`, `$2`, ... in every statement.
pub(super) fn with_numbers(
    mut tokens: Vec<TokenWithSpan>,
    positions: &Positions,
) -> Result<Vec<TokenWithSpan>> {
    let (mut unnamed, mut numbered) = (0_usize, 0_usize);
    for token in &mut tokens {
        let TokenWithSpan { token, span } = token;
        match token {
            Token::SemiColon => (unnamed, numbered) = (0, 0),
            Token::Placeholder(written) => {
                if written == "?" {
                    unnamed += 1;
                    *written = format!("${unnamed}");
                } else {
                    numbered += 1;
                }
                let number = parameter_name(written).parse::<usize>();
                let error = if unnamed > 0 && numbered > 0 {
                    "parameters with and without a number or name are mixed"
                } else if number == Ok(0) || number.is_ok_and(|it| it > NUMBER_MAX) {
                    "number of a parameter is out of range"
                } else {
                    continue;
                };
                return Err(Error::new(ErrorKind::Syntax, error).span(positions.span(*span)));
            }
            _ => {}
        }
    }
    Ok(tokens)
}

/// All parameters: their positions, and their names.
pub(super) fn parameters(tokens: &[TokenWithSpan], positions: &Positions) -> Vec<(u32, String)> {
    let parameter = |it: &TokenWithSpan| match &it.token {
        Token::Placeholder(written) => {
            let start = positions.offset(it.span.start)?;
            Some((start, parameter_name(written).to_owned()))
        }
        _ => None,
    };
    tokens.iter().filter_map(parameter).collect()
}

/// Every name once: numbers from 1 to the greatest, or names in their order.
pub(super) fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    let mut greatest = 0;
    for name in names {
        match name.parse::<usize>() {
            Ok(number) => greatest = greatest.max(number),
            Err(_) if seen.insert(name.to_ascii_lowercase()) => distinct.push(name.to_owned()),
            Err(_) => {}
        }
    }
    (1..=greatest).map(|it| it.to_string()).chain(distinct).collect()
}
