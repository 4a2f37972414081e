//! One-row statements by key, as they are written: what can run without a plan.
//!
//! ```text
//! SELECT a, b FROM t WHERE k = $1           UPDATE t SET a = $1 WHERE k = $2
//! INSERT INTO t (k, a) VALUES ($1, $2)      DELETE FROM t WHERE k = $1
//!     [ON CONFLICT (k) DO UPDATE SET a = excluded.a]
//! ```
//!
//! A literal may stand in place of a parameter: an integer, a decimal, text, TRUE, FALSE.
//!
//! A statement has one of these shapes if the text of its syntax tree is that of the parts that
//! were recognized: any other clause would be in that text. Whether the columns are a key, and what
//! the names mean, is known when it runs.

use crate::{
    ParsedStatement,
    bind::exact_number,
    parse::{Command, dotted, parameter_name},
};
use sqlparser::ast::{
    self, AssignmentTarget, BinaryOperator, ConflictTarget, Expr, FromTable, Ident, ObjectName,
    OnConflictAction, OnInsert, SelectItem, SetExpr, Statement, TableFactor, TableObject,
    TableWithJoins, UnaryOperator, Value,
};
use volley_types::{self as types, Type};

/// A statement of one row, or of those with one key.
#[derive(Clone, Debug, PartialEq)]
pub struct PointStatement {
    /// The table's name as written.
    pub table: String,
    /// What it does.
    pub action: PointAction,
}

/// What a [`PointStatement`] does. Columns are named as written.
#[derive(Clone, Debug, PartialEq)]
pub enum PointAction {
    /// Reads columns of the row with a key.
    Select {
        /// The columns; none: all.
        columns: Vec<String>,
        /// Columns and their values.
        key: Vec<(String, PointValue)>,
    },
    /// Adds a row.
    Insert {
        /// The columns; none: all.
        columns: Vec<String>,
        /// Their values.
        values: Vec<PointValue>,
        /// What to do if its key is there.
        conflict: PointConflict,
    },
    /// Changes columns of the row with a key.
    Update {
        /// Columns and their new values.
        set: Vec<(String, PointValue)>,
        /// Columns and their values.
        key: Vec<(String, PointValue)>,
    },
    /// Removes the row with a key.
    Delete {
        /// Columns and their values.
        key: Vec<(String, PointValue)>,
    },
}

/// What an INSERT does if the key of its row is there.
#[derive(Clone, Debug, PartialEq)]
pub enum PointConflict {
    /// It fails.
    Refused,
    /// It changes the row that is there.
    Update {
        /// The columns of the key.
        key: Vec<String>,
        /// Columns and their new values.
        set: Vec<(String, PointSource)>,
    },
}

/// A value that is known when the statement runs.
#[derive(Clone, Debug, PartialEq)]
pub enum PointValue {
    /// A parameter by its name in lower case, without the dollar sign.
    Parameter(String),
    /// A literal and its type.
    Literal(types::Value, Type),
    /// NULL.
    Null,
}

/// A new value of a column of the row that is there.
#[derive(Clone, Debug, PartialEq)]
pub enum PointSource {
    /// This one.
    Value(PointValue),
    /// `excluded.column`: that of the row to be added.
    Excluded(String),
}

impl ParsedStatement {
    /// The statement as one of one row by key, if it is written as such.
    pub fn as_point(&self) -> Option<PointStatement> {
        let Command::Sql(statement) = &self.command else { return None };
        if self.source.has_extensions() {
            return None;
        }
        let (point, canonical) = recognized(statement)?;
        (statement.to_string() == canonical).then_some(point)
    }
}

/// The parts of a statement, and the text that it has if these are all.
fn recognized(statement: &Statement) -> Option<(PointStatement, String)> {
    match statement {
        Statement::Query(query) => select(query),
        Statement::Insert(it) => insert(it),
        Statement::Update(it) => update(it),
        Statement::Delete(it) => delete(it),
        _ => None,
    }
}

fn select(query: &ast::Query) -> Option<(PointStatement, String)> {
    let SetExpr::Select(select) = &*query.body else { return None };
    let [from] = select.from.as_slice() else { return None };
    let (name, condition) = (table_of(from)?, select.selection.as_ref()?);
    let items: Vec<String> = select.projection.iter().map(ToString::to_string).collect();
    let columns = match select.projection.as_slice() {
        [SelectItem::Wildcard(_)] if items == ["*"] => Vec::new(),
        items => items.iter().map(selected_column).collect::<Option<_>>()?,
    };
    let canonical = format!("SELECT {} FROM {name} WHERE {condition}", items.join(", "));
    let action = PointAction::Select { columns, key: key_of(condition)? };
    Some((PointStatement { table: dotted(name), action }, canonical))
}

fn selected_column(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::UnnamedExpr(Expr::Identifier(ident)) => Some(ident.value.clone()),
        _ => None,
    }
}

fn insert(insert: &ast::Insert) -> Option<(PointStatement, String)> {
    let TableObject::TableName(name) = &insert.table else { return None };
    let SetExpr::Values(values) = &*insert.source.as_ref()?.body else { return None };
    let [row] = values.rows.as_slice() else { return None };
    let row: &[Expr] = row;
    let columns = insert.columns.iter().map(dotted).collect();
    let listed: Vec<String> = insert.columns.iter().map(ToString::to_string).collect();
    let listed = match listed.is_empty() {
        true => String::new(),
        false => format!("({}) ", listed.join(", ")),
    };
    let shown: Vec<String> = row.iter().map(ToString::to_string).collect();
    let start = format!("INSERT INTO {name} {listed}VALUES ({})", shown.join(", "));
    let (conflict, canonical) = match &insert.on {
        None => (PointConflict::Refused, start),
        Some(OnInsert::OnConflict(on)) => {
            let (conflict, shown) = on_conflict(on)?;
            (conflict, format!("{start}{shown}"))
        }
        Some(_) => return None,
    };
    let values = row.iter().map(value_of).collect::<Option<_>>()?;
    let action = PointAction::Insert { columns, values, conflict };
    Some((PointStatement { table: dotted(name), action }, canonical))
}

fn on_conflict(on: &ast::OnConflict) -> Option<(PointConflict, String)> {
    let Some(ConflictTarget::Columns(names)) = &on.conflict_target else { return None };
    let OnConflictAction::DoUpdate(update) = &on.action else { return None };
    let mut set = Vec::with_capacity(update.assignments.len());
    for assignment in &update.assignments {
        let source = match &assignment.value {
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, column] if is_excluded(table) => {
                    PointSource::Excluded(column.value.clone())
                }
                _ => return None,
            },
            value => PointSource::Value(value_of(value)?),
        };
        set.push((assigned_column(&assignment.target)?, source));
    }
    let shown = |it: &[String]| it.join(", ");
    let columns: Vec<String> = names.iter().map(ToString::to_string).collect();
    let assignments: Vec<String> = update.assignments.iter().map(ToString::to_string).collect();
    let canonical =
        format!(" ON CONFLICT({}) DO UPDATE SET {}", shown(&columns), shown(&assignments));
    let key = names.iter().map(|it| it.value.clone()).collect();
    Some((PointConflict::Update { key, set }, canonical))
}

fn is_excluded(table: &Ident) -> bool {
    table.quote_style.is_none() && table.value.eq_ignore_ascii_case("excluded")
}

fn update(update: &ast::Update) -> Option<(PointStatement, String)> {
    let (name, condition) = (table_of(&update.table)?, update.selection.as_ref()?);
    let mut set = Vec::with_capacity(update.assignments.len());
    for assignment in &update.assignments {
        set.push((assigned_column(&assignment.target)?, value_of(&assignment.value)?));
    }
    let shown: Vec<String> = update.assignments.iter().map(ToString::to_string).collect();
    let canonical = format!("UPDATE {name} SET {} WHERE {condition}", shown.join(", "));
    let action = PointAction::Update { set, key: key_of(condition)? };
    Some((PointStatement { table: dotted(name), action }, canonical))
}

fn delete(delete: &ast::Delete) -> Option<(PointStatement, String)> {
    let FromTable::WithFromKeyword(from) = &delete.from else { return None };
    let [from] = from.as_slice() else { return None };
    let (name, condition) = (table_of(from)?, delete.selection.as_ref()?);
    let canonical = format!("DELETE FROM {name} WHERE {condition}");
    let action = PointAction::Delete { key: key_of(condition)? };
    Some((PointStatement { table: dotted(name), action }, canonical))
}

/// The name of a table without an alias or a join; the text of the statement has these otherwise.
fn table_of(table: &TableWithJoins) -> Option<&ObjectName> {
    match &table.relation {
        TableFactor::Table { name, .. } => Some(name),
        _ => None,
    }
}

/// The columns and values of `a = $1 AND b = $2`.
fn key_of(condition: &Expr) -> Option<Vec<(String, PointValue)>> {
    let Expr::BinaryOp { left, op, right } = condition else { return None };
    match (op, &**left, &**right) {
        (BinaryOperator::And, left, right) => {
            let mut key = key_of(left)?;
            key.extend(key_of(right)?);
            Some(key)
        }
        (BinaryOperator::Eq, Expr::Identifier(column), value) => {
            Some(vec![(column.value.clone(), value_of(value)?)])
        }
        _ => None,
    }
}

fn assigned_column(target: &AssignmentTarget) -> Option<String> {
    match target {
        AssignmentTarget::ColumnName(ObjectName(parts)) => match parts.as_slice() {
            [part] => part.as_ident().map(|it| it.value.clone()),
            _ => None,
        },
        AssignmentTarget::Tuple(_) => None,
    }
}

fn value_of(expr: &Expr) -> Option<PointValue> {
    let (is_negative, expr) = match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => (true, &**expr),
        expr => (false, expr),
    };
    let Expr::Value(value) = expr else { return None };
    match &value.value {
        Value::Number(digits, _) => {
            let (value, data_type) = exact_number(digits, is_negative)?;
            Some(PointValue::Literal(value, data_type))
        }
        _ if is_negative => None,
        Value::Placeholder(written) => {
            Some(PointValue::Parameter(parameter_name(written).to_lowercase()))
        }
        Value::SingleQuotedString(text) => {
            Some(PointValue::Literal(types::Value::text(text), Type::Varchar))
        }
        Value::Boolean(value) => {
            Some(PointValue::Literal(types::Value::Boolean(*value), Type::Boolean))
        }
        Value::Null => Some(PointValue::Null),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(sql: &str) -> Option<PointStatement> {
        crate::parse(sql).unwrap().first().and_then(ParsedStatement::as_point)
    }

    fn parameter(name: &str) -> PointValue {
        PointValue::Parameter(name.to_owned())
    }

    #[track_caller]
    fn check(sql: &str, table: &str, action: PointAction) {
        assert_eq!(point(sql), Some(PointStatement { table: table.to_owned(), action }), "{sql}");
    }

    #[test]
    fn statements_of_one_row_are_recognized() {
        let key = |name: &str| vec![("k".to_owned(), parameter(name))];
        let columns = vec!["a".to_owned(), "B c".to_owned()];
        let action = PointAction::Select { columns, key: key("1") };
        check("select a, \"B c\" from s.t where k = ?", "s.t", action);
        let action = PointAction::Select { columns: Vec::new(), key: key("id") };
        check("select * from t where k = $Id", "t", action);
        let action = PointAction::Delete { key: key("1") };
        check("DELETE FROM t WHERE k = $1", "t", action);
        let both = vec![("k".to_owned(), parameter("2")), ("l".to_owned(), parameter("3"))];
        let set = vec![("a".to_owned(), parameter("1")), ("b".to_owned(), PointValue::Null)];
        let action = PointAction::Update { set, key: both };
        check("update t set a = $1, b = null where k = $2 and l = $3", "t", action);
        let values = vec![parameter("1"), parameter("2")];
        let literal = |value, data_type| PointValue::Literal(value, data_type);
        let seven = || literal(types::Value::Integer(7), Type::Integer);
        let action = PointAction::Select {
            columns: vec!["a".to_owned()],
            key: vec![("k".to_owned(), seven())],
        };
        check("select a from t where k = 7", "t", action);
        let text = literal(types::Value::text("it's"), Type::Varchar);
        let negative = literal(types::Value::BigInt(-3_000_000_000), Type::BigInt);
        let price = literal(types::Value::Decimal(-125), Type::decimal(3, 2));
        let set = [text, negative, price, literal(types::Value::Boolean(true), Type::Boolean)];
        let set = ["a", "b", "c", "d"].map(str::to_owned).into_iter().zip(set).collect();
        let action = PointAction::Update { set, key: vec![("k".to_owned(), seven())] };
        let sql = "update t set a = 'it''s', b = -3000000000, c = -1.25, d = true where k = 7";
        check(sql, "t", action);
        let insert = |columns: &[&str], conflict| PointAction::Insert {
            columns: columns.iter().map(|it| (*it).to_owned()).collect(),
            values: values.clone(),
            conflict,
        };
        check("insert into t values (?, ?)", "t", insert(&[], PointConflict::Refused));
        check("insert into t (k, a) values ($1, $2)", "t", {
            insert(&["k", "a"], PointConflict::Refused)
        });
        let set = vec![
            ("a".to_owned(), PointSource::Excluded("a".to_owned())),
            ("b".to_owned(), PointSource::Value(parameter("2"))),
        ];
        let conflict = PointConflict::Update { key: vec!["k".to_owned()], set };
        let sql =
            "insert into t values (?, ?) on conflict (k) do update set a = excluded.a, b = $2";
        check(&sql.replace("(?, ?)", "($1, $2)"), "t", insert(&[], conflict));
    }

    #[test]
    fn other_clauses_make_another_statement() {
        for sql in [
            "select a from t",
            "select a from t where k = 1e3",
            "select a from t where k = X'1F'",
            "select a from t where k = date '2020-01-01'",
            "select a from t where k = - $1",
            "select a from t where k = 1 + 1",
            "select a + 1 from t where k = $1",
            "select a as b from t where k = $1",
            "select t.a from t where k = $1",
            "select distinct a from t where k = $1",
            "select * exclude (a) from t where k = $1",
            "select a from t as u where k = $1",
            "select a from t, u where k = $1",
            "select a from t join u using (a) where k = $1",
            "select a from t where k = $1 or l = $2",
            "select a from t where k > $1",
            "select a from t where not k = $1",
            "select a from t where k = $1 limit 1",
            "select a from t where k = $1 order by a",
            "select a from t where k = $1 group by a",
            "select a from t where k = $1 having a > 1",
            "select a from t where k = $1 qualify a > 1",
            "select a from t where k = $1 using sample 10%",
            "select a from t tablesample 10% where k = $1",
            "with u as (select 1) select a from t where k = $1",
            "select a from t where k = $1 union select 1",
            "insert into t values ($1), ($2)",
            "insert into t values ($1 + 1)",
            "insert into t values (default)",
            "insert into t select $1",
            "insert into t by name values ($1)",
            "insert into t as u values ($1)",
            "insert or replace into t values ($1)",
            "insert into t values ($1) returning *",
            "insert into t values ($1) on conflict do nothing",
            "insert into t values ($1) on conflict (k) do nothing",
            "insert into t values ($1) on conflict (k) do update set a = a + 1",
            "insert into t values ($1) on conflict (k) do update set a = $1 where a > 1",
            "update t set a = a + 1 where k = $1",
            "update t set a = $1",
            "update t as u set a = $1 where k = $2",
            "update t set a = $1 from u where k = $2",
            "update t set (a, b) = ($1, $2) where k = $3",
            "update t set a = $1 where k = $2 returning a",
            "delete from t where k = $1 returning a",
            "delete from t using u where k = $1",
            "delete from t",
            "explain select a from t where k = $1",
            "prepare p as select a from t where k = $1",
        ] {
            assert_eq!(point(sql), None, "{sql}");
        }
    }
}
