//! `*` with EXCLUDE, REPLACE and RENAME.

use super::{
    Binder,
    scope::{Scope, ScopeColumn},
    select::{Item, ItemSource, column_expr},
    unsupported,
};
use crate::parse::{StarOperator, star_pattern};
use regex::RegexBuilder;
use sqlparser::ast::{
    ExcludeSelectItem, Ident, IdentWithAlias, ObjectName, RenameSelectItem, ReplaceSelectElement,
    Spanned, WildcardAdditionalOptions,
};
use sqlparser::tokenizer::Span as Lines;
use volley_error::{Error, Result, Span};
use volley_logical::{ColumnId, Expr, ExprKind};

/// The meaning of a star: a column, or a field of a row.
pub(super) trait Starrable {
    fn name(&self) -> &str;

    /// The column, if it is one.
    fn column(&self) -> Option<ColumnId>;
}

impl Starrable for Item<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn column(&self) -> Option<ColumnId> {
        match &self.source {
            ItemSource::Bound(Expr { kind: ExprKind::Column(id), .. }) => Some(*id),
            _ => None,
        }
    }
}

impl Starrable for &ScopeColumn {
    fn name(&self) -> &str {
        &self.column.name
    }

    fn column(&self) -> Option<ColumnId> {
        Some(self.column.id)
    }
}

/// What precedes `.*`.
pub(super) enum Starred<'a> {
    All,
    Name(&'a ObjectName),
    Row(Expr),
}

impl<'a> Binder<'a> {
    /// The columns of `*` or of `relation.*`, or the fields of `row.*`.
    pub(super) fn wildcard(
        &self,
        starred: &Starred<'_>,
        options: &'a WildcardAdditionalOptions,
        items: &mut Vec<Item<'a>>,
    ) -> Result<()> {
        let span = self.span(options.wildcard_token.0.span);
        if options.opt_alias.is_some() {
            return Err(unsupported("* AS", span));
        }
        let columns = self.starred(starred, span)?;
        let first = items.len();
        items.extend(self.without_left_out(columns, options)?);
        self.check_replacements(options)?;
        for element in replacements(options) {
            let name = &element.column_name;
            let replaced = self.named_item(&mut items[first..], &name.value, name.span, "REPLACE");
            let replaced = replaced?;
            replaced.source = ItemSource::Written(&element.expr);
            replaced.name.clone_from(&name.value);
        }
        // Names mean the columns as they were before.
        let mut renamed = Vec::new();
        for IdentWithAlias { ident, alias } in renames(options) {
            self.named_item(&mut items[first..], &ident.value, ident.span, "RENAME")?;
            let is_old = |it: &Item<'_>| it.name.eq_ignore_ascii_case(&ident.value);
            renamed.push((items[first..].iter().position(is_old), &alias.value));
        }
        for (position, alias) in renamed {
            if let Some(item) = position.and_then(|it| items.get_mut(first + it)) {
                item.name.clone_from(alias);
            }
        }
        Ok(())
    }

    /// REPLACE names each column once.
    pub(super) fn check_replacements(&self, options: &WildcardAdditionalOptions) -> Result<()> {
        let mut names: Vec<&Ident> = Vec::new();
        for ReplaceSelectElement { column_name, .. } in replacements(options) {
            if names.iter().any(|it| it.value.eq_ignore_ascii_case(&column_name.value)) {
                let message = format!("column {} is twice in REPLACE", column_name.value);
                return Err(Error::invalid_query(message).span(self.span(column_name.span)));
            }
            names.push(column_name);
        }
        Ok(())
    }

    fn named_item<'i>(
        &self,
        items: &'i mut [Item<'a>],
        name: &str,
        lines: Lines,
        what: &str,
    ) -> Result<&'i mut Item<'a>> {
        items.iter_mut().find(|it| it.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            let message = format!("no such column in {what}: {name}");
            Error::invalid_query(message).span(self.span(lines))
        })
    }

    /// The columns of a relation, or the fields of a row.
    fn starred(&self, starred: &Starred<'_>, span: Option<Span>) -> Result<Vec<Item<'a>>> {
        let items = |columns: Vec<&ScopeColumn>| {
            columns.into_iter().map(|it| column_item(it, span)).collect()
        };
        let field = |(name, expr)| Item { name, source: ItemSource::Bound(expr) };
        let fields = |row: &Expr| Ok(self.all_fields(row)?.into_iter().map(field).collect());
        let name = match starred {
            Starred::All => return self.columns_of(None, span).map(items),
            Starred::Row(row) => return fields(row),
            Starred::Name(name) => name,
        };
        if self.scope()?.has_relation(&crate::parse::dotted(name)) {
            return self.columns_of(Some(name), span).map(items);
        }
        let parts: Vec<Ident> = name.0.iter().filter_map(|it| it.as_ident().cloned()).collect();
        match self.named_row(&parts, self.span(name.span()))? {
            Some(row) => fields(&row),
            // The error says which relations there are.
            None => self.columns_of(Some(name), span).map(items),
        }
    }

    /// The meaning of a star, without what it leaves out by name.
    pub(super) fn without_left_out<T: Starrable>(
        &self,
        mut columns: Vec<T>,
        options: &WildcardAdditionalOptions,
    ) -> Result<Vec<T>> {
        let span = self.span(options.wildcard_token.0.span);
        for (relation, name, lines) in excluded(options) {
            let before = columns.len();
            let meant: Option<Vec<ColumnId>> = match &relation {
                Some(relation) => Some(self.scope()?.ids_in(relation, &name)),
                None => None,
            };
            columns.retain(|it| match (&meant, it.column()) {
                (Some(meant), Some(id)) => !meant.contains(&id),
                (Some(_), None) => true,
                (None, _) => !it.name().eq_ignore_ascii_case(&name),
            });
            if columns.len() == before {
                let name = relation.into_iter().chain([name]).collect::<Vec<_>>().join(".");
                let message = format!("no such column in EXCLUDE: {name}");
                return Err(Error::invalid_query(message).span(self.span(lines).or(span)));
            }
        }
        if let Some(like) = &options.opt_ilike {
            let (operator, is_negated, pattern) = star_pattern(&like.pattern);
            let regex = match operator {
                StarOperator::Like | StarOperator::ILike => like_pattern(pattern),
                StarOperator::SimilarTo => format!("(?s)^(?:{pattern})$"),
                StarOperator::Glob => glob_pattern(pattern),
            };
            let ignores_case = operator == StarOperator::ILike;
            let regex = RegexBuilder::new(&regex).case_insensitive(ignores_case).build();
            let regex = regex.map_err(|it| invalid_pattern(&it, span))?;
            columns.retain(|it| regex.is_match(it.name()) != is_negated);
            if columns.is_empty() {
                let message = format!("no column matches the pattern of *: {pattern}");
                return Err(Error::invalid_query(message).span(span));
            }
        }
        Ok(columns)
    }

    /// All columns in sight, or those of a relation.
    pub(super) fn columns_of(
        &self,
        relation: Option<&ObjectName>,
        span: Option<Span>,
    ) -> Result<Vec<&ScopeColumn>> {
        let scope: &Scope = self.scope()?;
        let columns: Vec<&ScopeColumn> = match relation {
            None => scope.plain().collect(),
            Some(name) => {
                let dotted = crate::parse::dotted(name);
                let columns: Vec<_> = scope.columns.iter().filter(|it| it.is_of(&dotted)).collect();
                if columns.is_empty() {
                    return Err(self.no_relation(&dotted, scope, self.span(name.span())));
                }
                columns
            }
        };
        if columns.is_empty() {
            return Err(Error::invalid_query("* without FROM").span(span));
        }
        Ok(columns)
    }
}

pub(super) fn column_item<'a>(column: &ScopeColumn, span: Option<Span>) -> Item<'a> {
    let source = ItemSource::Bound(column_expr(&column.column, span));
    Item { name: column.column.name.clone(), source }
}

pub(super) fn invalid_pattern(error: &regex::Error, span: Option<Span>) -> Error {
    // The last line says what is wrong, those before where.
    let text = error.to_string();
    let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
    Error::invalid_query(format!("invalid pattern of column names: {why}")).span(span)
}

/// The regular expression of a LIKE pattern.
fn like_pattern(pattern: &str) -> String {
    let mut regex = String::from("(?s)^");
    for it in pattern.chars() {
        match it {
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            other => regex.push_str(&escaped(other)),
        }
    }
    regex.push('$');
    regex
}

/// The regular expression of a GLOB pattern: `*`, `?`, `[a-c]`, `[!x]`, `\\*`.
fn glob_pattern(pattern: &str) -> String {
    let mut regex = String::from("(?s)^");
    let mut rest = pattern.chars();
    while let Some(it) = rest.next() {
        match it {
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            '[' => {
                let text = rest.as_str();
                // A bracket at the beginning is one of the characters.
                let negated = usize::from(text.starts_with('!'));
                let begin = negated + usize::from(text[negated..].starts_with(']'));
                let Some(end) = text[begin..].find(']') else { return "$^.".to_owned() };
                let (set, behind) = text.split_at(begin + end);
                regex.push_str(if negated == 1 { "[^" } else { "[" });
                let set = set.chars().skip(negated);
                // Ranges alone keep their meaning.
                set.for_each(|it| match it {
                    '-' => regex.push('-'),
                    other => regex.push_str(&escaped(other)),
                });
                regex.push(']');
                rest = behind.chars();
                rest.next();
            }
            '\\' => regex.extend(rest.next().map(escaped)),
            other => regex.push_str(&escaped(other)),
        }
    }
    regex.push('$');
    regex
}

fn escaped(character: char) -> String {
    regex::escape(character.encode_utf8(&mut [0; 4]))
}

/// The columns of REPLACE and their values.
pub(super) fn replacements(
    options: &WildcardAdditionalOptions,
) -> impl Iterator<Item = &ReplaceSelectElement> {
    options.opt_replace.iter().flat_map(|it| it.items.iter().map(|it| &**it))
}

/// The columns of RENAME.
pub(super) fn renames(options: &WildcardAdditionalOptions) -> &[IdentWithAlias] {
    match &options.opt_rename {
        Some(RenameSelectItem::Single(one)) => std::slice::from_ref(one),
        Some(RenameSelectItem::Multiple(several)) => several,
        None => &[],
    }
}

/// The columns of EXCLUDE or EXCEPT: relation, if it is written, name and place.
fn excluded(options: &WildcardAdditionalOptions) -> Vec<(Option<String>, String, Lines)> {
    let mut names = Vec::new();
    let named = |it: &ObjectName| match it.0.as_slice() {
        [relation @ .., name] if !relation.is_empty() => {
            let relation = crate::parse::dotted(&ObjectName(relation.to_vec()));
            (Some(relation), crate::parse::dotted(&ObjectName(vec![name.clone()])), it.span())
        }
        _ => (None, crate::parse::dotted(it), it.span()),
    };
    match &options.opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => names.push(named(name)),
        Some(ExcludeSelectItem::Multiple(several)) => names.extend(several.iter().map(named)),
        None => {}
    }
    if let Some(except) = &options.opt_except {
        let idents = std::iter::once(&except.first_element).chain(&except.additional_elements);
        names.extend(idents.map(|it| (None, it.value.clone(), it.span)));
    }
    names
}
