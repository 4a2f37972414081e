//! Scopes: the columns that names may refer to.

use crate::parse::ROW_ID;
use sqlparser::ast::Ident;
use std::rc::Rc;
use volley_error::{Error, Result};
use volley_logical::{Column, ColumnId};

/// The columns of FROM, in the order of `*`.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) columns: Vec<ScopeColumn>,
    /// The row ids of tables, which are found where no column has their name, [`ROW_ID`].
    row_ids: Vec<ScopeColumn>,
}

/// A column in sight.
#[derive(Clone, Debug)]
pub(super) struct ScopeColumn {
    /// The table or alias it belongs to; none for columns merged by USING.
    pub(super) relation: Option<Rc<RelationName>>,
    /// The column, under the name by which it is found.
    pub(super) column: Column,
    /// Whether `*` and names without a qualifier find it.
    pub(super) is_plain: bool,
}

/// How the columns of a relation are qualified.
#[derive(Debug)]
pub(super) struct RelationName {
    /// The alias, or the last part of the table's name.
    pub(super) name: String,
    /// The table's name with all its parts, joined by dots; the alias, if there is one.
    pub(super) qualified: String,
    /// The database that it is in, if it is a table of one.
    pub(super) database: Option<String>,
}

/// What a name means in one scope.
pub(super) enum Found {
    One(Column),
    /// Several columns: their qualified names.
    Several(Vec<String>),
    None,
}

impl Scope {
    /// Columns under one relation's name.
    pub(super) fn of_relation(name: &str, qualified: &str, columns: Vec<Column>) -> Scope {
        let (name, qualified) = (name.to_owned(), qualified.to_owned());
        let relation = Some(Rc::new(RelationName { name, qualified, database: None }));
        Scope::of(relation, columns)
    }

    /// The scope of one relation, which is a table of this database.
    pub(super) fn in_database(mut self, database: &str) -> Scope {
        let relation = self.columns.first().and_then(|it| it.relation.as_deref());
        let Some(RelationName { name, qualified, .. }) = relation else { return self };
        let (name, qualified) = (name.clone(), qualified.clone());
        let database = Some(database.to_owned());
        let relation = Rc::new(RelationName { name, qualified, database });
        self.columns.iter_mut().for_each(|it| it.relation = Some(Rc::clone(&relation)));
        self
    }

    /// Columns that belong to no relation.
    pub(super) fn of_columns(columns: Vec<Column>) -> Scope {
        Scope::of(None, columns)
    }

    fn of(relation: Option<Rc<RelationName>>, columns: Vec<Column>) -> Scope {
        let column = |column| ScopeColumn { relation: relation.clone(), column, is_plain: true };
        Scope { columns: columns.into_iter().map(column).collect(), row_ids: Vec::new() }
    }

    /// The scope of the only relation in this one, with its row ids.
    pub(super) fn with_row_ids(mut self, row_ids: Column) -> Scope {
        let relation = self.columns.first().and_then(|it| it.relation.clone());
        let column = Column { name: ROW_ID.to_owned(), ..row_ids };
        self.row_ids.push(ScopeColumn { relation, column, is_plain: false });
        self
    }

    /// The column called `name`, without a qualifier.
    pub(super) fn find(&self, name: &str) -> Found {
        let named = self.columns.iter().filter(|it| it.is_plain && it.is_called(name));
        only(named).or_else(|| only(self.row_ids.iter().filter(|it| it.is_called(name))))
    }

    /// The column `name` of `relation`.
    pub(super) fn find_in(&self, relation: &str, name: &str) -> Found {
        let is_named = |it: &&ScopeColumn| it.is_of(relation) && it.is_called(name);
        only(self.columns.iter().filter(is_named))
            .or_else(|| only(self.row_ids.iter().filter(is_named)))
    }

    /// The columns `name` of `relation`.
    pub(super) fn ids_in(&self, relation: &str, name: &str) -> Vec<ColumnId> {
        let named = self.of_name(relation).filter(|it| it.is_called(name));
        named.map(|it| it.column.id).collect()
    }

    /// The columns of `relation`, for `relation.*`.
    pub(super) fn of_name<'b>(
        &'b self,
        relation: &'b str,
    ) -> impl Iterator<Item = &'b ScopeColumn> {
        self.columns.iter().filter(move |it| it.is_of(relation))
    }

    pub(super) fn has_relation(&self, relation: &str) -> bool {
        self.of_name(relation).next().is_some()
    }

    /// The columns of `*`.
    pub(super) fn plain(&self) -> impl Iterator<Item = &ScopeColumn> {
        self.columns.iter().filter(|it| it.is_plain)
    }

    /// Adds the columns of what is joined to this.
    ///
    /// # Errors
    ///
    /// Two relations of one name that have a column in common, which no name could tell apart.
    pub(super) fn append(&mut self, other: Scope) -> Result<()> {
        let names = self.relations();
        let is_taken =
            |it: &RelationName| names.iter().any(|name| name.eq_ignore_ascii_case(&it.name));
        for column in &other.columns {
            let Some(relation) = column.relation.as_deref().filter(|it| is_taken(it)) else {
                continue;
            };
            let qualified = &relation.qualified;
            let mut before = self.columns.iter().filter(|it| it.is_qualified(qualified));
            if before.any(|it| it.is_called(&column.column.name)) {
                let message = format!("two tables in FROM are called {}", relation.name);
                return Err(Error::invalid_query(message).hint("give one of them an alias"));
            }
        }
        self.columns.extend(other.columns);
        self.row_ids.extend(other.row_ids);
        Ok(())
    }

    /// The names of relations in sight, in order, without repetitions.
    pub(super) fn relations(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for relation in self.columns.iter().filter_map(|it| it.relation.as_deref()) {
            if !names.contains(&relation.name.as_str()) {
                names.push(&relation.name);
            }
        }
        names
    }
}

impl Found {
    fn or_else(self, other: impl FnOnce() -> Found) -> Found {
        match self {
            Found::None => other(),
            found => found,
        }
    }
}

impl ScopeColumn {
    fn is_called(&self, name: &str) -> bool {
        self.column.name.eq_ignore_ascii_case(name)
    }

    pub(super) fn is_of(&self, relation: &str) -> bool {
        self.relation.as_ref().is_some_and(|it| {
            let in_main = |name| in_main(name, it.database.as_deref().unwrap_or("memory"));
            it.name.eq_ignore_ascii_case(relation)
                || in_main(&it.qualified).eq_ignore_ascii_case(in_main(relation))
        })
    }

    fn is_qualified(&self, qualified: &str) -> bool {
        let relation = self.relation.as_ref();
        relation.is_some_and(|it| it.qualified.eq_ignore_ascii_case(qualified))
    }

    /// The name with its relation's.
    pub(super) fn qualified(&self) -> String {
        match &self.relation {
            Some(relation) => format!("{}.{}", relation.name, self.column.name),
            None => self.column.name.clone(),
        }
    }
}

/// The name without the database and the schema `main`.
fn in_main<'n>(name: &'n str, database: &str) -> &'n str {
    let behind = |name: &'n str, prefix: &str| {
        let (first, rest) = name.split_at_checked(prefix.len())?;
        let rest = rest.strip_prefix('.')?;
        first.eq_ignore_ascii_case(prefix).then_some(rest)
    };
    let without_database = behind(name, database).filter(|it| behind(it, "main").is_some());
    let name = without_database.unwrap_or(name);
    behind(name, "main").unwrap_or(name)
}

/// The only column.
fn only<'b>(mut columns: impl Iterator<Item = &'b ScopeColumn>) -> Found {
    let Some(first) = columns.next() else { return Found::None };
    let Some(second) = columns.next() else { return Found::One(first.column.clone()) };
    let all = [first, second].into_iter().chain(columns);
    Found::Several(all.map(ScopeColumn::qualified).collect())
}

/// Identifiers joined by dots.
pub(super) fn dotted(parts: &[Ident]) -> String {
    let parts: Vec<&str> = parts.iter().map(|it| it.value.as_str()).collect();
    parts.join(".")
}
