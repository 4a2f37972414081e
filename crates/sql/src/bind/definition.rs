//! CREATE TABLE and ALTER TABLE: columns and what holds for them.

use super::{
    Binder,
    command::{check_names, known},
    inspect,
    scope::Scope,
    select::column_expr,
    target::Target,
    unsupported,
    write::projected,
};
use crate::{Alteration, Query, Statement, TEMPORARY_SCHEMA, parse};
use sqlparser::ast::{
    self, AlterColumnOperation, AlterTable, AlterTableOperation, ColumnDef, ColumnOption,
    CreateTable, CreateTableLikeKind, CreateTableOptions, DataType, Ident, RenameTableNameKind,
    Spanned, SqlOption, TableConstraint,
};
use volley_connector::{
    CheckDefinition, ColumnDefinition, KeyDefinition, OnCommit, TableDefinition,
};
use volley_error::{Error, Result, Span};
use volley_logical::{Expr, Plan};
use volley_types::{Field, Schema, Type};

impl<'a> Binder<'a> {
    pub(super) fn create_table(&mut self, create: &'a CreateTable) -> Result<Statement> {
        let span = self.span(create.name.span());
        if create.external || create.clone.is_some() {
            return Err(unsupported("this form of CREATE TABLE", span));
        }
        self.check_options(&create.table_options)?;
        let query = match &create.query {
            Some(query) => Some(self.created_rows(query, create)?),
            None => None,
        };
        let (columns, mut definition) = match (&query, &create.like) {
            (Some(query), _) => (query.schema(), TableDefinition::default()),
            (
                None,
                Some(CreateTableLikeKind::Parenthesized(like) | CreateTableLikeKind::Plain(like)),
            ) => self.like_table(&like.name)?,
            (None, None) => self.defined(create)?,
        };
        if columns.is_empty() {
            return Err(Error::invalid_query("a table needs columns").span(span));
        }
        definition.on_commit = on_commit(create, span)?;
        let name = parse::dotted(&create.name);
        let name = if create.temporary { temporary_name(name, span)? } else { name };
        Ok(Statement::CreateTable {
            name,
            or_replace: create.or_replace,
            if_not_exists: create.if_not_exists,
            columns,
            definition,
            query,
        })
    }

    /// Refuses options of a table, since there are none.
    fn check_options(&self, options: &CreateTableOptions) -> Result<()> {
        let options = match options {
            CreateTableOptions::None => return Ok(()),
            CreateTableOptions::With(options)
            | CreateTableOptions::Options(options)
            | CreateTableOptions::Plain(options)
            | CreateTableOptions::TableProperties(options) => options,
        };
        let Some(option) = options.first() else { return Ok(()) };
        let (name, span) = match option {
            SqlOption::KeyValue { key, .. } => (key.value.clone(), self.span(key.span)),
            SqlOption::Ident(name) => (name.value.clone(), self.span(name.span)),
            other => (other.to_string(), None),
        };
        let error = Error::invalid_query(format!("unknown option of CREATE TABLE: {name}"));
        Err(error.span(span).hint("tables in memory have no options"))
    }

    /// The query of CREATE TABLE AS; columns without a type become INTEGER.
    fn created_rows(&mut self, query: &'a ast::Query, create: &'a CreateTable) -> Result<Query> {
        let mut bound = self.query(query)?;
        let names = &create.columns;
        let has_more = |it: &&ColumnDef| !is_untyped(it) || !it.options.is_empty();
        if let Some(column) = names.iter().find(has_more) {
            let span = self.span(column.name.span);
            return Err(unsupported("types and constraints in CREATE TABLE AS", span));
        }
        if !create.constraints.is_empty() {
            let span = self.span(create.name.span());
            return Err(unsupported("constraints in CREATE TABLE AS", span));
        }
        if !names.is_empty() {
            if names.len() != bound.columns.len() {
                let message =
                    format!("query has {} columns but {} names", bound.columns.len(), names.len());
                return Err(Error::invalid_query(message).span(self.span(names[0].name.span)));
            }
            for (column, name) in bound.columns.iter_mut().zip(names) {
                column.name.clone_from(&name.name.value);
            }
        }
        check_names(bound.columns.iter().map(|it| it.name.as_str()))?;
        if create.with_data.as_ref().is_some_and(|it| !it.data) {
            bound.plan = Plan::Limit { input: Box::new(bound.plan), offset: 0, limit: Some(0) };
        }
        let types: Vec<Type> = bound.columns.iter().map(|it| known(&it.data_type)).collect();
        Ok(self.convert(bound, &types)?.into())
    }

    /// The columns of another table, and which of them are not null.
    fn like_table(&mut self, name: &'a ast::ObjectName) -> Result<(Schema, TableDefinition)> {
        let bound = self.whole_table(name)?;
        let fields = bound.columns.iter().map(|it| Field::new(&it.name, known(&it.data_type)));
        let schema: Schema = fields.collect();
        let other = self.shared.catalog.table(&parse::dotted(name))?;
        let columns = match other {
            Some(crate::Relation::Table(it)) => it.table.as_stored().map(|it| it.definition),
            _ => None,
        };
        let mut columns = columns.map(|it| it.columns.clone()).unwrap_or_default();
        columns.iter_mut().for_each(|it| it.comment = None);
        Ok((schema, TableDefinition { columns, ..TableDefinition::default() }))
    }

    fn defined(&self, create: &'a CreateTable) -> Result<(Schema, TableDefinition)> {
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for column in &create.columns {
            let (data_type, named_types) = match is_untyped(column) {
                true => (Type::Unknown, Vec::new()),
                false => self.column_type(column)?,
            };
            fields.push(Field::new(column.name.value.clone(), data_type));
            columns.push(ColumnDefinition { named_types, ..ColumnDefinition::default() });
        }
        check_names(fields.iter().map(|it| it.name.as_str()))?;
        self.add_generated_types(create, &mut fields)?;
        let schema = Schema::new(fields);
        let mut definition = TableDefinition { columns, ..TableDefinition::default() };
        for (index, column) in create.columns.iter().enumerate() {
            let span = self.span(column.name.span);
            let options = column.options.iter();
            for option in options.filter(|it| !matches!(it.option, ColumnOption::ForeignKey(_))) {
                let name = option.name.as_ref();
                self.column_option(&mut definition, &schema, (index, name, &option.option), span)?;
            }
        }
        self.check_generated(&schema, &definition, create)?;
        let span = self.span(create.name.span());
        let constraints = create.constraints.iter();
        for constraint in constraints.filter(|it| !matches!(it, TableConstraint::ForeignKey(_))) {
            self.constraint(&mut definition, &schema, constraint, span)?;
        }
        self.foreign_keys(create, &schema, &mut definition)?;
        Ok((schema, definition))
    }

    /// Sets the types of generated columns that are written without one: those of their
    /// expressions.
    fn add_generated_types(&self, create: &CreateTable, fields: &mut [Field]) -> Result<()> {
        let columns = fields.iter().zip(&create.columns);
        let plain = columns.filter(|it| generation_of(it.1).is_none()).map(|it| it.0.clone());
        let plain = Schema::new(plain.collect());
        for (field, column) in fields.iter_mut().zip(&create.columns) {
            if !is_untyped(column) {
                continue;
            }
            let span = self.span(column.name.span);
            let Some(written) = generation_of(column) else {
                let message = format!("a column needs a type: {}", field.name);
                return Err(Error::invalid_query(message).span(span));
            };
            let (text, scope) = (written.to_string(), self.scope_of(&plain));
            let bound = self.generated_expr(&text, scope, &Type::Unknown, span)?;
            field.data_type = known(&bound.data_type);
        }
        Ok(())
    }

    /// The type of a column to be made, with its collation, and the types made by CREATE TYPE that
    /// it was written with.
    fn column_type(&self, column: &ColumnDef) -> Result<(Type, Vec<String>)> {
        let span = self.span(column.name.span);
        let (data_type, named_types) = self.data_type_and_names(&column.data_type, span)?;
        let collation = column.options.iter().find_map(|it| match &it.option {
            ColumnOption::Collation(name) => Some(name),
            _ => None,
        });
        match (collation, &data_type) {
            (None, _) => Ok((data_type, named_types)),
            (Some(name), Type::Varchar) => Ok((self.collation(name)?, named_types)),
            (Some(_), other) => {
                let message = format!("COLLATE takes VARCHAR, not {other}");
                Err(Error::invalid_query(message).span(span))
            }
        }
    }

    fn column_option(
        &self,
        definition: &mut TableDefinition,
        schema: &Schema,
        (index, name, option): (usize, Option<&Ident>, &ColumnOption),
        span: Option<Span>,
    ) -> Result<()> {
        let Some(column) = definition.columns.get_mut(index) else {
            return Err(Error::internal("no such column"));
        };
        match option {
            // The type says it.
            ColumnOption::Null | ColumnOption::Collation(_) => {}
            ColumnOption::NotNull => column.is_not_null = true,
            ColumnOption::Default(expr) => {
                let data_type = schema.fields.get(index).map(|it| it.data_type.clone());
                column.default =
                    Some(self.default_text(expr, &data_type.unwrap_or(Type::Unknown), span)?);
            }
            ColumnOption::PrimaryKey(_) => {
                self.add_key(definition, schema, (vec![index], true), span)?;
            }
            ColumnOption::Unique(_) => {
                self.add_key(definition, schema, (vec![index], false), span)?;
            }
            ColumnOption::Check(check) => {
                let name = check.name.as_ref().or(name);
                definition.checks.push(self.check(schema, name, &check.expr, span)?);
            }
            ColumnOption::Generated { generation_expr: Some(expr), .. } => {
                column.generated = Some(expr.to_string());
            }
            other => return Err(unsupported(format!("the column option {other}"), span)),
        }
        Ok(())
    }

    /// Refuses generated columns of others than plain columns.
    fn check_generated(
        &self,
        schema: &Schema,
        definition: &TableDefinition,
        create: &CreateTable,
    ) -> Result<()> {
        let mut plain = schema.fields.iter().zip(&definition.columns);
        if plain.all(|it| it.1.generated.is_some()) {
            let span = self.span(create.name.span());
            return Err(Error::invalid_query("all columns are generated").span(span));
        }
        for (index, (field, column)) in schema.fields.iter().zip(&definition.columns).enumerate() {
            let Some(text) = &column.generated else { continue };
            let span = create.columns.get(index).and_then(|it| self.span(it.name.span));
            if column.default.is_some() {
                let message = format!("a generated column has no DEFAULT: {}", field.name);
                return Err(Error::invalid_query(message).span(span));
            }
            let scope = self.plain_scope(schema, definition);
            let bound = self.generated_expr(text, scope, &field.data_type, span)?;
            if inspect::has_subquery(&bound) {
                return Err(unsupported("a subquery in a generated column", span));
            }
        }
        Ok(())
    }

    /// The columns that are not generated.
    fn plain_scope(&self, schema: &Schema, definition: &TableDefinition) -> Scope {
        let fields = schema.fields.iter().enumerate();
        let plain = fields.filter(|it| !definition.is_generated(it.0)).map(|it| it.1.clone());
        self.scope_of(&Schema::new(plain.collect()))
    }

    fn constraint(
        &self,
        definition: &mut TableDefinition,
        schema: &Schema,
        constraint: &TableConstraint,
        span: Option<Span>,
    ) -> Result<()> {
        let columns = |written: &[ast::IndexColumn]| {
            let column = |it: &ast::IndexColumn| match &it.column.expr {
                ast::Expr::Identifier(name) => {
                    self.position_of(schema, &name.value, self.span(name.span))
                }
                other => Err(unsupported("a key of expressions", self.span(other.span()))),
            };
            written.iter().map(column).collect::<Result<Vec<usize>>>()
        };
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                self.add_key(definition, schema, (columns(&key.columns)?, true), span)
            }
            TableConstraint::Unique(key) => {
                self.add_key(definition, schema, (columns(&key.columns)?, false), span)
            }
            TableConstraint::Check(check) => {
                let check = self.check(schema, check.name.as_ref(), &check.expr, span)?;
                definition.checks.push(check);
                Ok(())
            }
            other => Err(unsupported(format!("the constraint {other}"), span)),
        }
    }

    fn add_key(
        &self,
        definition: &mut TableDefinition,
        schema: &Schema,
        (columns, is_primary): (Vec<usize>, bool),
        span: Option<Span>,
    ) -> Result<()> {
        if is_primary && definition.keys.iter().any(|it| it.is_primary) {
            return Err(Error::invalid_query("a table has one PRIMARY KEY").span(span));
        }
        for (position, index) in columns.iter().enumerate() {
            if let Some(field) = schema.fields.get(*index) {
                if columns[..position].contains(index) {
                    let message = format!("column {} is twice in a key", field.name);
                    return Err(Error::invalid_query(message).span(span));
                }
                self.needs_equality(&field.data_type, "a key", span)?;
            }
            if let Some(column) = definition.columns.get_mut(*index) {
                column.is_not_null |= is_primary;
            }
        }
        definition.keys.push(KeyDefinition { columns, is_primary, index: None });
        Ok(())
    }

    fn check(
        &self,
        schema: &Schema,
        name: Option<&Ident>,
        written: &ast::Expr,
        span: Option<Span>,
    ) -> Result<CheckDefinition> {
        let condition = written.to_string();
        let bound = self.stored_condition(&condition, self.scope_of(schema), span)?;
        if inspect::has_subquery(&bound) {
            return Err(unsupported("a subquery in a CHECK constraint", span));
        }
        Ok(CheckDefinition { name: name.map(|it| it.value.clone()), condition })
    }

    pub(super) fn scope_of(&self, schema: &Schema) -> Scope {
        let column = |it: &Field| self.column(it.name.clone(), it.data_type.clone());
        Scope::of_columns(schema.fields.iter().map(column).collect())
    }

    fn default_text(
        &self,
        written: &ast::Expr,
        data_type: &Type,
        span: Option<Span>,
    ) -> Result<String> {
        let text = written.to_string();
        let bound = self.default_expr(&text, data_type, span)?;
        if inspect::has_subquery(&bound) {
            return Err(unsupported("a subquery in DEFAULT", span));
        }
        Ok(self.with_stored_sequences(text))
    }

    /// The text of a DEFAULT, with the names of sequences that find them from everywhere.
    fn with_stored_sequences(&self, mut text: String) -> String {
        for name in parse::sequences_of(&text) {
            let literal = |it: &str| format!("'{}'", it.replace('\'', "''"));
            match self.shared.catalog.sequence_called(&name) {
                Some(stored) if stored != name => {
                    let (old, new) = (literal(&name), literal(&stored));
                    text = text.replace(&format!("({old})"), &format!("({new})"));
                }
                _ => {}
            }
        }
        text
    }

    pub(super) fn alter_table(&mut self, alter: &'a AlterTable) -> Result<Statement> {
        let span = self.span(alter.name.span());
        let [operation] = alter.operations.as_slice() else {
            return Err(unsupported("several changes by one ALTER TABLE", span));
        };
        let name = parse::dotted(&alter.name);
        if alter.if_exists && self.shared.catalog.table(&name)?.is_none() {
            return Ok(Statement::AlterTable { table: name, alteration: None });
        }
        let target = self.target(&alter.name, None, "ALTER TABLE")?;
        let alteration = self.alteration(&target, operation)?;
        Ok(Statement::AlterTable { table: name, alteration })
    }

    fn alteration(
        &mut self,
        target: &Target,
        operation: &'a AlterTableOperation,
    ) -> Result<Option<Alteration>> {
        match operation {
            AlterTableOperation::AddColumn {
                if_not_exists,
                column_def,
                column_position: None,
                ..
            } => {
                let exists = target.schema().index_of(&column_def.name.value).is_some();
                if exists && *if_not_exists {
                    return Ok(None);
                }
                self.added_column(target, column_def).map(Some)
            }
            AlterTableOperation::DropColumn { column_names, if_exists, .. } => {
                let [name] = column_names.as_slice() else {
                    return Err(unsupported("several changes by one ALTER TABLE", target.span));
                };
                if *if_exists && target.schema().index_of(&name.value).is_none() {
                    return Ok(None);
                }
                self.dropped_column(target, name).map(Some)
            }
            AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
                let index = self.altered_column(target, old_column_name)?;
                self.check_unchecked(target, index, old_column_name)?;
                let mut names: Vec<&str> =
                    target.schema().fields.iter().map(|it| it.name.as_str()).collect();
                if let Some(name) = names.get_mut(index) {
                    *name = &new_column_name.value;
                }
                let span = self.span(new_column_name.span);
                check_names(names.into_iter()).map_err(|it| it.span(span))?;
                Ok(Some(Alteration::RenameColumn { index, name: new_column_name.value.clone() }))
            }
            AlterTableOperation::RenameTable {
                table_name: RenameTableNameKind::To(name) | RenameTableNameKind::As(name),
            } => Ok(Some(Alteration::RenameTable { name: parse::dotted(name) })),
            AlterTableOperation::AlterColumn { column_name, op } => {
                self.altered(target, column_name, op).map(Some)
            }
            AlterTableOperation::AddConstraint { constraint, .. } => {
                let mut definition = self.full_definition(target);
                if let TableConstraint::ForeignKey(key) = constraint {
                    let key = self.added_foreign_key(target, &definition, key)?;
                    definition.foreign_keys.push(key);
                    return Ok(Some(Alteration::Define { definition }));
                }
                self.constraint(&mut definition, target.schema(), constraint, target.span)?;
                if definition.checks.len() > target.stored.definition.checks.len() {
                    return Err(unsupported("ADD CHECK", target.span));
                }
                Ok(Some(Alteration::Define { definition }))
            }
            other => {
                let text = other.to_string();
                let words: Vec<&str> = text.split_whitespace().take(2).collect();
                Err(unsupported(format!("ALTER TABLE ... {}", words.join(" ")), target.span))
            }
        }
    }

    /// The definition with an entry for every column.
    fn full_definition(&self, target: &Target) -> TableDefinition {
        let mut definition = (*target.stored.definition).clone();
        definition.columns.resize(target.schema().len(), ColumnDefinition::default());
        definition
    }

    fn altered_column(&self, target: &Target, name: &Ident) -> Result<usize> {
        self.position_of(target.schema(), &name.value, self.span(name.span))
    }

    fn added_column(&mut self, target: &Target, column: &'a ColumnDef) -> Result<Alteration> {
        let span = self.span(column.name.span);
        let (data_type, named_types) = self.column_type(column)?;
        let field = Field::new(&column.name.value, data_type);
        let mut fields = target.schema().fields.clone();
        fields.push(field.clone());
        check_names(fields.iter().map(|it| it.name.as_str())).map_err(|it| it.span(span))?;
        let schema = Schema::new(vec![field.clone()]);
        let added = ColumnDefinition { named_types, ..ColumnDefinition::default() };
        let mut definition = TableDefinition { columns: vec![added], ..TableDefinition::default() };
        for option in &column.options {
            let option = (0, option.name.as_ref(), &option.option);
            self.column_option(&mut definition, &schema, option, span)?;
        }
        if !definition.keys.is_empty() || !definition.checks.is_empty() {
            return Err(unsupported("keys and CHECK in ADD COLUMN", span));
        }
        if definition.is_generated(0) {
            return Err(unsupported("generated columns in ADD COLUMN", span));
        }
        let definition = definition.columns.pop().unwrap_or_default();
        let value = match &definition.default {
            Some(text) => self.default_expr(text, &field.data_type, span)?,
            None => self.cast_to(super::expr::null(), field.data_type.clone(), false)?,
        };
        let values = self.new_values(target, |_, _| Ok(value))?;
        Ok(Alteration::AddColumn { field, definition, values })
    }

    /// A query for the id of every row, and a value.
    fn new_values(
        &mut self,
        target: &Target,
        value: impl FnOnce(&mut Self, Scope) -> Result<Expr>,
    ) -> Result<Query> {
        let rows = self.target_rows(target)?;
        let value = value(self, rows.scope)?;
        let column = self.column("value", value.data_type.clone());
        let row_id = column_expr(&rows.row_id, None);
        Ok(projected(rows.plan, vec![(rows.row_id, row_id), (column, value)]).into())
    }

    fn dropped_column(&mut self, target: &Target, name: &Ident) -> Result<Alteration> {
        let index = self.altered_column(target, name)?;
        let span = self.span(name.span);
        if target.schema().len() == 1 {
            let message = format!("cannot drop the last column of a table: {}", name.value);
            return Err(Error::invalid_query(message).span(span));
        }
        let mut keys = target.stored.definition.keys.iter().filter(|it| it.index.is_none());
        if keys.any(|it| it.columns.contains(&index)) {
            let message = format!("column is part of a key: {}", name.value);
            return Err(Error::invalid_query(message).span(span));
        }
        self.check_unchecked(target, index, name)?;
        self.check_unreferenced(target, index, name)?;
        Ok(Alteration::DropColumn { index })
    }

    /// Refuses to change a column that a CHECK constraint or a generated column names.
    fn check_unchecked(&self, target: &Target, index: usize, name: &Ident) -> Result<()> {
        let mut others = target.schema().clone();
        if index < others.len() {
            others.fields.remove(index);
        }
        self.check_not_in_index(target, (&others, name))?;
        for check in &target.stored.definition.checks {
            if self.stored_condition(&check.condition, self.scope_of(&others), None).is_err() {
                let message =
                    format!("column is used by CHECK ({}): {}", check.condition, name.value);
                return Err(Error::invalid_query(message).span(self.span(name.span)));
            }
        }
        for column in &target.stored.definition.columns {
            let Some(text) = &column.generated else { continue };
            let scope = self.scope_of(&others);
            if self.generated_expr(text, scope, &Type::Unknown, None).is_err() {
                let message =
                    format!("column is used by a generated column, {text}: {}", name.value);
                return Err(Error::invalid_query(message).span(self.span(name.span)));
            }
        }
        Ok(())
    }

    fn altered(
        &mut self,
        target: &Target,
        name: &'a Ident,
        operation: &'a AlterColumnOperation,
    ) -> Result<Alteration> {
        let index = self.altered_column(target, name)?;
        let span = self.span(name.span);
        let mut definition = self.full_definition(target);
        let Some(column) = definition.columns.get_mut(index) else {
            return Err(Error::internal("no such column"));
        };
        match operation {
            AlterColumnOperation::SetNotNull => column.is_not_null = true,
            AlterColumnOperation::DropNotNull => {
                let keys = &target.stored.definition.keys;
                if keys.iter().any(|it| it.is_primary && it.columns.contains(&index)) {
                    let message = format!("column is part of the PRIMARY KEY: {}", name.value);
                    return Err(Error::invalid_query(message).span(span));
                }
                column.is_not_null = false;
            }
            AlterColumnOperation::SetDefault { value } => {
                let field = target.schema().fields.get(index);
                let data_type = field.map_or(Type::Unknown, |it| it.data_type.clone());
                column.default = Some(self.default_text(value, &data_type, span)?);
            }
            AlterColumnOperation::DropDefault => column.default = None,
            AlterColumnOperation::SetDataType { data_type, using, .. } => {
                return self.retyped(target, index, (name, data_type, using.as_ref()));
            }
            AlterColumnOperation::AddGenerated { .. } => {
                return Err(unsupported("ADD GENERATED", span));
            }
        }
        Ok(Alteration::Define { definition })
    }

    fn retyped(
        &mut self,
        target: &Target,
        index: usize,
        (name, data_type, using): (&'a Ident, &'a DataType, Option<&'a ast::Expr>),
    ) -> Result<Alteration> {
        self.check_unchecked(target, index, name)?;
        self.check_unreferenced(target, index, name)?;
        if target.stored.definition.is_generated(index) {
            return Err(unsupported("another type of a generated column", self.span(name.span)));
        }
        let (data_type, named_types) = self.data_type_and_names(data_type, self.span(name.span))?;
        let to = data_type.clone();
        let value = |it: &mut Self, scope: Scope| {
            let column = scope.plain().nth(index).map(|it| column_expr(&it.column, None));
            let value = match using {
                Some(using) => it.with_level(scope, super::Clause::Set, |it| it.expr(using))?.0,
                None => column.ok_or_else(|| Error::internal("no such column"))?,
            };
            it.cast_to(value, to, false)
        };
        let values = self.new_values(target, value)?;
        Ok(Alteration::Retype { index, data_type, named_types, values })
    }
}

/// Whether a column is written without a type.
fn is_untyped(column: &ColumnDef) -> bool {
    match &column.data_type {
        DataType::Unspecified => true,
        DataType::Custom(name, _) => parse::dotted(name) == parse::NO_TYPE,
        _ => false,
    }
}

/// The expression of a generated column.
fn generation_of(column: &ColumnDef) -> Option<&ast::Expr> {
    column.options.iter().find_map(|it| match &it.option {
        ColumnOption::Generated { generation_expr, .. } => generation_expr.as_ref(),
        _ => None,
    })
}

/// The name of a temporary table or view, with its schema.
pub(super) fn temporary_name(name: String, span: Option<Span>) -> Result<String> {
    match name.split_once('.') {
        None => Ok(format!("{TEMPORARY_SCHEMA}.{name}")),
        Some((schema, _)) if schema.eq_ignore_ascii_case(TEMPORARY_SCHEMA) => Ok(name),
        Some((schema, _)) => {
            let message = format!("a temporary table or view is in no schema such as {schema}");
            Err(Error::invalid_query(message).span(span))
        }
    }
}

/// What COMMIT does with a table to be made.
fn on_commit(create: &CreateTable, span: Option<Span>) -> Result<OnCommit> {
    let on_commit = match create.on_commit {
        None => return Ok(OnCommit::default()),
        Some(ast::OnCommit::PreserveRows) => OnCommit::PreserveRows,
        Some(ast::OnCommit::DeleteRows) => OnCommit::DeleteRows,
        Some(ast::OnCommit::Drop) => OnCommit::Drop,
    };
    if !create.temporary {
        let error = Error::invalid_query("ON COMMIT of a table that is not temporary");
        return Err(error.hint("CREATE TEMPORARY TABLE makes one that is").span(span));
    }
    Ok(on_commit)
}
