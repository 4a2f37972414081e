//! Templates as those of C:
//!
//! ```text
//! field = '%' [index '$'] flags [width] ['.' precision] [length] type      '%%' is a percent sign
//! flags = any of '-' '+' ' ' '0' '#', and ',' or "'" to separate thousands
//! width, precision = digits, or '*' for the value of the next argument
//! length = 'h' 'l' 'j' 'z' 't' 'L', which mean nothing
//! ```

use super::template::{Align, Field, Piece, Size, Style, Template, number};
use std::{iter::Peekable, str::Chars};
use volley_error::{Error, Result};

/// What a text with fields after percent signs means.
///
/// # Errors
///
/// A percent sign without a type.
pub(super) fn parse(text: &str) -> Result<Template> {
    parse_as(Style::Printf, text)
}

/// As [`parse`], by the rules of Java.
///
/// # Errors
///
/// As [`parse`].
pub(super) fn parse_java(text: &str) -> Result<Template> {
    parse_as(Style::Java, text)
}

fn parse_as(style: Style, text: &str) -> Result<Template> {
    let mut parser = Parser { text, rest: text.chars().peekable(), next: 0, style };
    let mut template = Template::default();
    while let Some(character) = parser.rest.next() {
        if character != '%' || parser.rest.next_if_eq(&'%').is_some() {
            template.push_character(character);
        } else {
            template.pieces.push(Piece::Field(parser.field()?));
        }
    }
    Ok(template)
}

struct Parser<'a> {
    text: &'a str,
    rest: Peekable<Chars<'a>>,
    /// The argument of the next field without a number.
    next: usize,
    style: Style,
}

impl Parser<'_> {
    fn field(&mut self) -> Result<Field> {
        let index = self.index()?;
        let mut field = Field::plain(0, self.style);
        while let Some(flag) = self.rest.next_if(|it| "-+ 0#,'".contains(*it)) {
            match flag {
                '-' => field.align = Some(Align::Left),
                '+' => field.sign = Some('+'),
                ' ' => field.sign = field.sign.or(Some(' ')),
                '0' => field.has_zeros = true,
                '#' => field.is_alternate = true,
                separator => field.separator = Some(separator),
            }
        }
        field.width = self.size()?;
        if self.rest.next_if_eq(&'.').is_some() {
            let size = self.size()?;
            // As in fmt's printf a point alone separates the thousands of an integer.
            match (size, self.rest.clone().next()) {
                (None, Some('d' | 'i')) => field.separator = Some('.'),
                (size, _) => field.precision = Some(size.unwrap_or(Size::Fixed(0))),
            }
        }
        while self.rest.next_if(|it| "hljztL".contains(*it)).is_some() {}
        field.index = index.unwrap_or_else(|| self.take());
        field.letter = self.rest.next().filter(char::is_ascii_alphabetic);
        match field.letter {
            Some(_) => Ok(field),
            None => {
                let message = format!("a % without a type in the template '{}'", self.text);
                Err(Error::invalid_value(message).hint("%% is a percent sign"))
            }
        }
    }

    /// The number of an argument, from 1 in the text, before its `$`.
    fn index(&mut self) -> Result<Option<usize>> {
        let mut ahead = self.rest.clone();
        let index = number(&mut ahead)?.and_then(|it| it.checked_sub(1));
        if index.is_none() || ahead.next() != Some('$') {
            return Ok(None);
        }
        self.rest = ahead;
        Ok(index)
    }

    fn size(&mut self) -> Result<Option<Size>> {
        if self.rest.next_if_eq(&'*').is_some() {
            return Ok(Some(Size::Argument(self.take())));
        }
        Ok(number(&mut self.rest)?.map(Size::Fixed))
    }

    fn take(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }
}
