//! ALTER VIEW, which the parser knows in other forms.

use super::command::{Command, Parsed};
use sqlparser::{keywords::Keyword, parser::Parser, tokenizer::Token};

/// Whether `ALTER VIEW ... RENAME` is here.
pub(super) fn renames_view(parser: &Parser<'_>) -> bool {
    let is = |at: usize, keyword: Keyword| {
        let token = &parser.peek_nth_token_ref(at).token;
        matches!(token, Token::Word(word) if word.keyword == keyword)
    };
    // IF EXISTS and the parts of the name are between.
    is(1, Keyword::VIEW) && (3..10).any(|it| is(it, Keyword::RENAME))
}

/// `ALTER VIEW [IF EXISTS] name RENAME TO name`.
pub(super) fn rename_view(parser: &mut Parser<'_>) -> Parsed<Command> {
    parser.expect_keywords(&[Keyword::ALTER, Keyword::VIEW])?;
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    parser.expect_keywords(&[Keyword::RENAME, Keyword::TO])?;
    let new = parser.parse_object_name(false)?;
    Ok(Command::RenameView { name, if_exists, new })
}
