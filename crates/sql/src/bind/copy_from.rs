//! COPY FROM.

use super::{Binder, Bound, select::column_expr, target::Target, write::projected};
use crate::{
    CopiedText, CopyFrom, Query, Statement,
    write::{LaterRows, text_handle},
};
use sqlparser::ast::{Ident, ObjectName};
use std::{path::Path, sync::Arc};
use volley_connector::WriteKind;
use volley_error::{Error, Result};
use volley_logical::{Column, Expr, Plan, SortKey, SpecialForm};
use volley_types::{Field, Schema, Type};

impl<'a> Binder<'a> {
    pub(super) fn copy_from(
        &mut self,
        (table, columns): (&'a ObjectName, &'a [Ident]),
        path: &str,
        written: &[(Ident, Option<String>)],
    ) -> Result<Statement> {
        let target = self.target(table, None, "COPY FROM")?;
        let mut targets = Vec::with_capacity(columns.len());
        for name in columns {
            targets.push(self.position_of(target.schema(), &name.value, self.span(name.span))?);
        }
        if targets.is_empty() {
            targets = (0..target.schema().len()).collect();
        }
        let (format, options) = self.copy_options(path, written)?;
        let (bound, targets, text) = if format == "csv" {
            let (bound, text) = self.text_rows(path, &target, &targets)?;
            (bound, targets, Some(text))
        } else {
            let (bound, targets) = self.file_rows(path, &format, &target, targets)?;
            (bound, targets, None)
        };
        let rows = self.completed_rows(bound, &targets, &target)?;
        let kind = WriteKind::insert();
        let Statement::Write(write) = self.write(target, kind, rows, None)? else {
            return Err(Error::internal("COPY FROM became another statement"));
        };
        let (path, write) = (path.to_owned(), *write);
        Ok(Statement::CopyFrom(Box::new(CopyFrom { path, format, options, write, text })))
    }

    /// FORMAT, or what the path's ending tells, and the other options.
    pub(super) fn copy_options(
        &self,
        path: &str,
        written: &[(Ident, Option<String>)],
    ) -> Result<(String, Vec<(String, String)>)> {
        let mut format = None;
        let mut options = Vec::new();
        for (name, value) in written {
            let value = value.clone().unwrap_or_else(|| "true".to_owned());
            match name.value.to_ascii_lowercase() {
                name if name == "format" => format = Some(value.to_ascii_lowercase()),
                name => options.push((name, value)),
            }
        }
        let format = match format {
            Some(format) => format,
            None => self.format_of(path)?.to_owned(),
        };
        Ok((format, options))
    }

    /// The format of a file by the end of its name.
    fn format_of(&self, path: &str) -> Result<&'static str> {
        let ending = Path::new(path).extension().and_then(|it| it.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("parquet") => Ok("parquet"),
            Some("orc") => Ok("orc"),
            Some("csv" | "tsv") => Ok("csv"),
            Some("json" | "ndjson" | "jsonl") => Ok("json"),
            _ => self.shared.catalog.added_format(path).ok_or_else(|| {
                Error::invalid_query(format!("unknown file format: {path}"))
                    .hint("add (FORMAT parquet) or (FORMAT csv)")
            }),
        }
    }

    /// The fields of a CSV file, for columns of the target.
    fn text_rows(
        &mut self,
        path: &str,
        target: &Target,
        targets: &[usize],
    ) -> Result<(Bound, CopiedText)> {
        let fields: Vec<Field> =
            targets.iter().filter_map(|it| target.schema().fields.get(*it).cloned()).collect();
        let text = |it: &Field| Field::new(it.name.clone(), Type::Varchar);
        let line = Field::new("line", Type::BigInt);
        let schema: Schema = std::iter::once(line).chain(fields.iter().map(text)).collect();
        let handle = text_handle(path);
        let table = Arc::new(LaterRows { handle: handle.clone(), schema: schema.clone() });
        let mut misfits = Vec::new();
        for (index, field) in fields.iter().enumerate().filter(|it| it.1.data_type != Type::Varchar)
        {
            let scan = self.scan_external(Arc::clone(&table) as _, path);
            let query = self.misfit(scan, index + 1, &field.data_type)?;
            misfits.push((field.name.clone(), field.data_type.clone(), query));
        }
        let mut bound = self.scan_external(table, path);
        bound.columns.remove(0);
        Ok((bound, CopiedText { handle, schema, misfits }))
    }

    /// The first line and text of a column that is no value of a type.
    fn misfit(&self, scan: Bound, column: usize, data_type: &Type) -> Result<Query> {
        let (Some(line), Some(text)) = (scan.columns.first(), scan.columns.get(column)) else {
            return Err(Error::internal("a column of text is missing"));
        };
        let is_null = |it: Expr| Expr::special(SpecialForm::IsNull, vec![it], Type::Boolean);
        let value = self.cast_to(column_expr(text, None), data_type.clone(), true)?;
        let is_text = self.negated(is_null(column_expr(text, None)), true)?;
        let conjuncts = vec![is_text, is_null(value)];
        let plan = Plan::Filter { input: Box::new(scan.plan), conjuncts };
        let expr = column_expr(line, None);
        let keys = vec![SortKey { expr, descending: false, nulls_first: false }];
        let plan = Plan::Sort { input: Box::new(plan), keys };
        let plan = Plan::Limit { input: Box::new(plan), offset: 0, limit: Some(1) };
        let exprs = [line, text].map(|it| (it.clone(), column_expr(it, None)));
        Ok(projected(plan, exprs.into()).into())
    }

    /// The rows of a file with types of its own: Parquet and ORC by position, JSON by name.
    fn file_rows(
        &mut self,
        path: &str,
        format: &str,
        target: &Target,
        targets: Vec<usize>,
    ) -> Result<(Bound, Vec<usize>)> {
        let span = self.source.string(path);
        let table = self.shared.catalog.file_of(path, format).map_err(|it| it.span(span))?;
        let bound = self.scan_external(table, path);
        if !["parquet", "orc"].contains(&format) {
            let place = |it: &Column| {
                let index = self.position_of(target.schema(), &it.name, span)?;
                match targets.contains(&index) {
                    true => Ok(index),
                    false => {
                        Err(Error::invalid_query(format!("column is not copied: {}", it.name))
                            .span(span)
                            .hint("name it in the list of columns"))
                    }
                }
            };
            let places = bound.columns.iter().map(place).collect::<Result<Vec<_>>>()?;
            return Ok((bound, places));
        }
        if bound.columns.len() != targets.len() {
            let (found, wanted) = (bound.columns.len(), targets.len());
            let message = format!("file has {found} columns for {wanted} of the table");
            return Err(Error::invalid_query(message).span(span));
        }
        Ok((bound, targets))
    }
}
