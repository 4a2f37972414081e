//! Templates, and fields as the library fmt writes them:
//!
//! ```text
//! field = '{' [index] [':' spec] '}'
//! spec  = [[fill] align] [sign] ['#'] ['0'] [width] ['.' precision] [separator] [type]
//! align = '<' '>' '^' '='        sign = '+' '-' ' '
//! separator = ',' '_' "'" or 't' and any character; it may also stand before the precision
//! width, precision = digits, or '{' [index] '}' for the value of an argument
//! ```

use std::{iter::Peekable, str::Chars};
use volley_error::{Error, Result};

/// The largest width or precision, in characters.
pub(super) const WIDTH_MAX: usize = 1 << 16;

/// A text with fields in it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Template {
    pub pieces: Vec<Piece>,
}

/// A part of a template.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Field(Field),
}

/// Where a value is put, and how it looks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    /// Which argument, from 0.
    pub index: usize,
    pub fill: char,
    pub align: Option<Align>,
    pub sign: Option<char>,
    pub is_alternate: bool,
    /// Zeros fill the width, after the sign.
    pub has_zeros: bool,
    pub width: Option<Size>,
    pub precision: Option<Size>,
    pub separator: Option<char>,
    /// The letter that says how the value looks.
    pub letter: Option<char>,
    pub style: Style,
}

/// On which side of the width a value stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Align {
    Left,
    Right,
    Center,
    /// Right, with the padding after the sign.
    Numeric,
}

/// A width or precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Size {
    Fixed(usize),
    /// The value of the argument at this index.
    Argument(usize),
}

/// Whose rules hold where they differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Style {
    Fmt,
    Printf,
    /// As printf; `s` takes any value and `b` a boolean (Java, class `Formatter`).
    Java,
}

impl Field {
    /// The field of an argument without anything special.
    pub fn plain(index: usize, style: Style) -> Field {
        Field {
            index,
            fill: ' ',
            align: None,
            sign: None,
            is_alternate: false,
            has_zeros: false,
            width: None,
            precision: None,
            separator: None,
            letter: None,
            style,
        }
    }
}

impl Template {
    /// What a text with fields in braces means.
    ///
    /// # Errors
    ///
    /// Braces that do not match; fields that say nothing known.
    pub fn parse(text: &str) -> Result<Template> {
        let mut parser =
            Parser { text, rest: text.chars().peekable(), indexing: Indexing::Unknown };
        let mut template = Template::default();
        while let Some(character) = parser.rest.next() {
            match character {
                '{' | '}' if parser.rest.next_if_eq(&character).is_some() => {
                    template.push_character(character);
                }
                '{' => template.pieces.push(Piece::Field(parser.field()?)),
                '}' => return Err(parser.invalid("a } without its {")),
                other => template.push_character(other),
            }
        }
        Ok(template)
    }

    /// Appends a character that is taken literally.
    pub(super) fn push_character(&mut self, character: char) {
        match self.pieces.last_mut() {
            Some(Piece::Text(text)) => text.push(character),
            _ => self.pieces.push(Piece::Text(character.into())),
        }
    }
}

/// How fields name their arguments: not in both ways.
enum Indexing {
    Unknown,
    /// By number.
    Manual,
    /// One after the other; the next one.
    Automatic(usize),
}

struct Parser<'a> {
    text: &'a str,
    rest: Peekable<Chars<'a>>,
    indexing: Indexing,
}

impl Parser<'_> {
    /// What follows a `{`, up to its `}`.
    fn field(&mut self) -> Result<Field> {
        let mut field = Field::plain(self.index()?, Style::Fmt);
        if self.rest.next_if_eq(&':').is_some() {
            self.alignment(&mut field);
            field.sign = self.rest.next_if(|it| matches!(it, '+' | '-' | ' '));
            field.is_alternate = self.rest.next_if_eq(&'#').is_some();
            field.has_zeros = self.rest.next_if_eq(&'0').is_some();
            field.width = self.size()?;
            self.separator(&mut field)?;
            if self.rest.next_if_eq(&'.').is_some() {
                field.precision = self.size()?;
                if field.precision.is_none() {
                    return Err(self.invalid("a precision without digits"));
                }
            }
            self.separator(&mut field)?;
            field.letter = self.rest.next_if(char::is_ascii_alphabetic);
        }
        match self.rest.next() {
            Some('}') => Ok(field),
            _ => Err(self.invalid("a { without its }, or a field that is not known")),
        }
    }

    fn alignment(&mut self, field: &mut Field) {
        let mut ahead = self.rest.clone();
        let (first, second) = (ahead.next(), ahead.next());
        if let (Some(fill), Some(align)) = (first, second.and_then(align_of))
            && !matches!(fill, '{' | '}')
        {
            (field.fill, field.align) = (fill, Some(align));
            self.rest = ahead;
        } else if let Some(align) = first.and_then(align_of) {
            field.align = Some(align);
            self.rest.next();
        }
    }

    fn separator(&mut self, field: &mut Field) -> Result<()> {
        if let Some(separator) = self.rest.next_if(|it| matches!(it, ',' | '_' | '\'')) {
            field.separator = Some(separator);
        } else if self.rest.next_if_eq(&'t').is_some() {
            let separator = self.rest.next().filter(|it| *it != '}');
            field.separator =
                Some(separator.ok_or_else(|| self.invalid("a t without the separator"))?);
        }
        Ok(())
    }

    /// Digits, or the number of an argument in braces.
    fn size(&mut self) -> Result<Option<Size>> {
        if self.rest.next_if_eq(&'{').is_some() {
            let index = self.index()?;
            return match self.rest.next() {
                Some('}') => Ok(Some(Size::Argument(index))),
                _ => Err(self.invalid("a { without its }")),
            };
        }
        Ok(number(&mut self.rest)?.map(Size::Fixed))
    }

    /// The number that a field begins with, or the next one.
    fn index(&mut self) -> Result<usize> {
        let written = number(&mut self.rest)?;
        let (index, indexing) = match (written, &self.indexing) {
            (Some(index), Indexing::Unknown | Indexing::Manual) => (index, Indexing::Manual),
            (None, Indexing::Unknown) => (0, Indexing::Automatic(1)),
            (None, Indexing::Automatic(next)) => (*next, Indexing::Automatic(next + 1)),
            _ => return Err(self.invalid("fields with and without numbers")),
        };
        self.indexing = indexing;
        Ok(index)
    }

    fn invalid(&self, what: &str) -> Error {
        Error::invalid_value(format!("{what} in the template '{}'", self.text))
            .hint("fields look like {}, {0}, {:>10}, {:,} or {:.2f}; {{ and }} are braces")
    }
}

fn align_of(character: char) -> Option<Align> {
    Some(match character {
        '<' => Align::Left,
        '>' => Align::Right,
        '^' => Align::Center,
        '=' => Align::Numeric,
        _ => return None,
    })
}

/// The number that follows, if one does.
pub(super) fn number(rest: &mut Peekable<Chars<'_>>) -> Result<Option<usize>> {
    let mut number = None;
    while let Some(digit) = rest.peek().and_then(|it| it.to_digit(10)) {
        rest.next();
        let longer = number.unwrap_or(0) * 10 + digit as usize;
        if longer > WIDTH_MAX {
            return Err(Error::invalid_value(format!(
                "a number in a template is greater than {WIDTH_MAX}"
            )));
        }
        number = Some(longer);
    }
    Ok(number)
}
