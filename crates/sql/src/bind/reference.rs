//! FOREIGN KEY and CREATE INDEX.

use super::{Binder, scope::Scope, target::Target, unsupported};
use crate::{Statement, parse};
use sqlparser::ast::{
    self, ColumnOption, ConstraintReferenceMatchKind, CreateIndex, CreateTable,
    ForeignKeyConstraint, Ident, IndexType, ReferentialAction, Spanned, TableConstraint,
};
use volley_connector::{
    ForeignKeyDefinition, IndexDefinition, IndexPart, KeyDefinition, TableDefinition,
};
use volley_error::{Error, Result, Span};
use volley_logical::TableRef;
use volley_types::Schema;

/// The table that a foreign key is defined for.
pub(super) struct Referencing<'s> {
    /// Its name as written.
    pub(super) name: String,
    /// The database that it is in, if that is known.
    pub(super) database: Option<String>,
    pub(super) schema: &'s Schema,
}

/// A referenced table: `None` for the referencing table itself.
type Referenced = Option<(TableRef, Schema, TableDefinition)>;

impl<'a> Binder<'a> {
    /// The foreign keys of CREATE TABLE, whose keys `definition` has.
    pub(super) fn foreign_keys(
        &self,
        create: &'a CreateTable,
        schema: &Schema,
        definition: &mut TableDefinition,
    ) -> Result<()> {
        let name = parse::dotted(&create.name);
        let placed = match create.temporary {
            true => super::definition::temporary_name(name.clone(), None)?,
            false => name.clone(),
        };
        let database = self.shared.catalog.database_of_new(&placed);
        let own = Referencing { name, database, schema };
        for column in &create.columns {
            for option in &column.options {
                let ColumnOption::ForeignKey(key) = &option.option else { continue };
                let named = key.name.as_ref().or(option.name.as_ref());
                let columns = std::slice::from_ref(&column.name);
                let key = self.foreign_key(&own, definition, (named, columns), key)?;
                definition.foreign_keys.push(key);
            }
        }
        for constraint in &create.constraints {
            let TableConstraint::ForeignKey(key) = constraint else { continue };
            let named = (key.name.as_ref(), key.columns.as_slice());
            let key = self.foreign_key(&own, definition, named, key)?;
            definition.foreign_keys.push(key);
        }
        Ok(())
    }

    /// The foreign key that ALTER TABLE adds.
    pub(super) fn added_foreign_key(
        &self,
        target: &Target,
        definition: &TableDefinition,
        key: &ForeignKeyConstraint,
    ) -> Result<ForeignKeyDefinition> {
        let database = match &target.table.reference {
            TableRef::Stored { database, .. } => Some(database.clone()),
            TableRef::External(_) => None,
        };
        let own = Referencing { name: target.name.clone(), database, schema: target.schema() };
        self.foreign_key(&own, definition, (key.name.as_ref(), &key.columns), key)
    }

    fn foreign_key(
        &self,
        own: &Referencing<'_>,
        definition: &TableDefinition,
        (name, written): (Option<&Ident>, &[Ident]),
        key: &ForeignKeyConstraint,
    ) -> Result<ForeignKeyDefinition> {
        let span = self.span(key.foreign_table.span());
        self.check_actions(key, span)?;
        let columns = self.key_positions(own.schema, written)?;
        let referenced_table = self.referenced(own, key, span)?;
        let (table, schema, keys) = match &referenced_table {
            Some((TableRef::Stored { table, .. }, schema, definition)) => {
                (Some(*table), schema, &definition.keys)
            }
            _ => (None, own.schema, &definition.keys),
        };
        let shown = parse::dotted(&key.foreign_table);
        let referenced = match key.referred_columns.as_slice() {
            [] => primary_key(keys, &shown).map_err(|it| it.span(span))?,
            names => self.key_positions(schema, names)?,
        };
        if referenced.len() != columns.len() {
            let message = format!(
                "foreign key has {} columns but references {} columns of table {shown}",
                columns.len(),
                referenced.len()
            );
            return Err(Error::invalid_query(message).span(span));
        }
        check_is_key(keys, schema, &referenced, &shown).map_err(|it| it.span(span))?;
        check_types((own.schema, &columns), (schema, &referenced)).map_err(|it| it.span(span))?;
        let name = name.map(|it| it.value.clone());
        Ok(ForeignKeyDefinition { name, columns, table, referenced })
    }

    fn check_actions(&self, key: &ForeignKeyConstraint, span: Option<Span>) -> Result<()> {
        for action in [key.on_delete, key.on_update].into_iter().flatten() {
            if !matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict) {
                return Err(unsupported(format!("FOREIGN KEY with {action}"), span));
            }
        }
        if let Some(kind) =
            key.match_kind.as_ref().filter(|it| !matches!(it, ConstraintReferenceMatchKind::Simple))
        {
            return Err(unsupported(format!("FOREIGN KEY with {kind}"), span));
        }
        match &key.characteristics {
            Some(it) if it.deferrable == Some(true) || it.enforced == Some(false) => {
                Err(unsupported(format!("FOREIGN KEY with {it}"), span))
            }
            _ => Ok(()),
        }
    }

    /// Positions of the columns of a key, each once.
    fn key_positions(&self, schema: &Schema, names: &[Ident]) -> Result<Vec<usize>> {
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let span = self.span(name.span);
            let column = self.position_of(schema, &name.value, span)?;
            if columns.contains(&column) {
                let message = format!("column {} is twice in a key", name.value);
                return Err(Error::invalid_query(message).span(span));
            }
            columns.push(column);
        }
        Ok(columns)
    }

    fn referenced(
        &self,
        own: &Referencing<'_>,
        key: &ForeignKeyConstraint,
        span: Option<Span>,
    ) -> Result<Referenced> {
        let name = parse::dotted(&key.foreign_table);
        let last = own.name.rsplit('.').next().unwrap_or_default();
        if name.eq_ignore_ascii_case(&own.name) || name.eq_ignore_ascii_case(last) {
            return Ok(None);
        }
        let target = self.target(&key.foreign_table, None, "FOREIGN KEY")?;
        let database = match &target.table.reference {
            TableRef::Stored { database, .. } => Some(database),
            TableRef::External(_) => None,
        };
        if own.database.is_some() && own.database.as_ref() != database {
            let message = format!("foreign key to a table of another database: {name}");
            return Err(Error::invalid_query(message).span(span));
        }
        let (schema, definition) = (target.schema().clone(), (*target.stored.definition).clone());
        Ok(Some((target.table.reference, schema, definition)))
    }

    /// CREATE INDEX.
    pub(super) fn create_index(&self, create: &'a CreateIndex) -> Result<Statement> {
        let target = self.target(&create.table_name, None, "CREATE INDEX")?;
        let name = self.index_name(create, &target)?;
        self.check_index(create, target.span)?;
        let mut parts = Vec::with_capacity(create.columns.len());
        for column in &create.columns {
            parts.push(self.index_part(&target, column)?);
        }
        let is_column = |it: &IndexPart| matches!(it, IndexPart::Column(_));
        if create.unique && !parts.iter().all(is_column) {
            return Err(unsupported("a unique index of expressions", target.span));
        }
        if create.unique {
            for (position, part) in parts.iter().enumerate() {
                let IndexPart::Column(column) = part else { continue };
                let Some(field) = target.schema().fields.get(*column) else { continue };
                if parts.get(..position).is_some_and(|it| it.contains(part)) {
                    let message = format!("column {} is twice in a key", field.name);
                    return Err(Error::invalid_query(message).span(target.span));
                }
                self.needs_equality(&field.data_type, "a unique index", target.span)?;
            }
        }
        let index = IndexDefinition { name, is_unique: create.unique, parts };
        let (table, if_not_exists) = (target.name, create.if_not_exists);
        Ok(Statement::CreateIndex { table, index, if_not_exists })
    }

    fn index_name(&self, create: &CreateIndex, target: &Target) -> Result<String> {
        let Some(name) = &create.name else {
            let error = Error::invalid_query("CREATE INDEX needs a name").span(target.span);
            return Err(error.hint("CREATE INDEX name ON table (column)"));
        };
        match name.0.as_slice() {
            [part] => Ok(part.as_ident().map_or_else(|| part.to_string(), |it| it.value.clone())),
            _ => {
                let error = Error::invalid_query("an index is in the schema of its table");
                Err(error.span(self.span(name.span())).hint("write its name without a schema"))
            }
        }
    }

    /// Refuses what an index cannot have.
    fn check_index(&self, create: &CreateIndex, span: Option<Span>) -> Result<()> {
        let is_known = |it: &IndexType| match it {
            IndexType::Custom(name) => name.value.eq_ignore_ascii_case("art"),
            _ => false,
        };
        if let Some(using) = create.using.as_ref().filter(|it| !is_known(it)) {
            let error = Error::invalid_query(format!("unknown type of index: {using}"));
            return Err(error.span(span).hint("leave out USING"));
        }
        let refused = [
            (create.predicate.is_some(), "an index of some rows"),
            (create.concurrently || create.r#async, "CREATE INDEX CONCURRENTLY"),
            (!create.include.is_empty(), "INCLUDE of an index"),
            (create.nulls_distinct == Some(false), "NULLS NOT DISTINCT"),
            (!create.with.is_empty() || !create.index_options.is_empty(), "options of an index"),
            (!create.alter_options.is_empty(), "options of an index"),
        ];
        match refused.into_iter().find(|it| it.0) {
            Some((_, what)) => Err(unsupported(what, span)),
            None => Ok(()),
        }
    }

    fn index_part(&self, target: &Target, part: &ast::IndexColumn) -> Result<IndexPart> {
        let mut expr = &part.column.expr;
        let span = self.span(expr.span());
        if part.operator_class.is_some() {
            return Err(unsupported("an operator class", span));
        }
        while let ast::Expr::Nested(inner) = expr {
            expr = inner;
        }
        if let ast::Expr::Identifier(name) = expr {
            let span = self.span(name.span);
            return Ok(IndexPart::Column(self.position_of(target.schema(), &name.value, span)?));
        }
        let text = expr.to_string();
        let scope: Scope = self.scope_of(target.schema());
        let bound = self.generated_expr(&text, scope, &volley_types::Type::Unknown, span)?;
        match super::inspect::has_subquery(&bound) {
            true => Err(unsupported("a subquery in an index", span)),
            false => Ok(IndexPart::Expression(text)),
        }
    }

    /// Refuses to change a column without which an expression of an index cannot be bound.
    pub(super) fn check_not_in_index(
        &self,
        target: &Target,
        (others, name): (&Schema, &Ident),
    ) -> Result<()> {
        for part in target.stored.definition.indexes.iter().flat_map(|it| &it.parts) {
            let IndexPart::Expression(text) = part else { continue };
            let scope = self.scope_of(others);
            if self.generated_expr(text, scope, &volley_types::Type::Unknown, None).is_err() {
                let message = format!("column is part of an index, {text}: {}", name.value);
                let error = Error::invalid_query(message).span(self.span(name.span));
                return Err(error.hint("DROP INDEX removes the index"));
            }
        }
        Ok(())
    }

    /// Refuses to change a column that a foreign key or an index has.
    pub(super) fn check_unreferenced(
        &self,
        target: &Target,
        index: usize,
        name: &Ident,
    ) -> Result<()> {
        let span = self.span(name.span);
        let definition = &target.stored.definition;
        let mut foreign = definition.foreign_keys.iter();
        if foreign.any(|it| it.columns.contains(&index)) {
            let message = format!("column is part of a foreign key: {}", name.value);
            return Err(Error::invalid_query(message).span(span));
        }
        if definition.is_indexed(index) {
            let error = Error::invalid_query(format!("column is part of an index: {}", name.value));
            return Err(error.span(span).hint("DROP INDEX removes the index"));
        }
        if let Some(child) = self.shared.catalog.referencing(&target.table.reference) {
            let message =
                format!("table is referenced by a foreign key of table {child}: {}", target.name);
            return Err(Error::invalid_query(message).span(span));
        }
        Ok(())
    }
}

fn primary_key(keys: &[KeyDefinition], table: &str) -> Result<Vec<usize>> {
    let primary = keys.iter().find(|it| it.is_primary).map(|it| it.columns.clone());
    primary.ok_or_else(|| {
        let error = Error::invalid_query(format!("referenced table has no PRIMARY KEY: {table}"));
        error.hint("name the columns: REFERENCES table (column)")
    })
}

/// Refuses columns that are not those of a PRIMARY KEY or UNIQUE constraint, in any order.
fn check_is_key(
    keys: &[KeyDefinition],
    schema: &Schema,
    columns: &[usize],
    table: &str,
) -> Result<()> {
    let sorted = |columns: &[usize]| {
        let mut columns = columns.to_vec();
        columns.sort_unstable();
        columns
    };
    let wanted = sorted(columns);
    let mut constraints = keys.iter().filter(|it| it.index.is_none());
    if constraints.any(|it| sorted(&it.columns) == wanted) {
        return Ok(());
    }
    let names = columns.iter().filter_map(|it| schema.fields.get(*it));
    let names: Vec<&str> = names.map(|it| it.name.as_str()).collect();
    let message =
        format!("table {table} has no PRIMARY KEY or UNIQUE of the columns {}", names.join(", "));
    Err(Error::invalid_query(message))
}

fn check_types(
    (own, columns): (&Schema, &[usize]),
    (other, referenced): (&Schema, &[usize]),
) -> Result<()> {
    for (column, key) in columns.iter().zip(referenced) {
        let (Some(column), Some(key)) = (own.fields.get(*column), other.fields.get(*key)) else {
            return Err(Error::internal("no such column"));
        };
        if column.data_type != key.data_type {
            let message = format!(
                "foreign key of another type: {} is {}, {} is {}",
                column.name, column.data_type, key.name, key.data_type
            );
            return Err(Error::invalid_query(message));
        }
    }
    Ok(())
}
