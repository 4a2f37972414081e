//! Reads fields of columns of rows as columns, where a table can and nothing needs the whole rows.
//!
//! ```text
//! Project struct_extract(s, 'a'), b        Project s.a, b
//!   Filter struct_extract(s, 'a') > 1  ──>   Filter s.a > 1
//!     Scan s, b                                Scan s.a, b
//! ```
//!
//! Filters of scans then use the statistics of fields, and fields keep their dictionaries.
//!
//! A projection or an aggregation hides the columns below it, so that all uses of a scan's columns
//! are in it and in the nodes down to the scan.

use crate::OptimizerContext;
use crate::columns::rewrite_up;
use crate::expr::{ColumnSet, as_column, as_constant};
use std::collections::{BTreeMap, HashMap};
use volley_connector::Table;
use volley_error::Result;
use volley_logical::{Column, ColumnId, Expr, ExprKind, Plan};
use volley_types::{Field, Type, Value};

/// Reads fields instead of columns everywhere.
pub(super) fn scan_fields(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    super::cte::with_ctes(plan, &mut |plan| {
        rewrite_up(plan, &mut |mut node| {
            if matches!(node, Plan::Project { .. } | Plan::Aggregate { .. }) {
                let chosen = chosen_fields(&node, ctx)?;
                if !chosen.is_empty() {
                    for_each_below(&mut node, &mut |it| replace_in(it, &chosen));
                }
            }
            Ok(node)
        })
    })
}

/// The positions of a field in a row, of the field of that in its row, and so on.
type Path = Vec<usize>;

/// For each column of a scan that is replaced: its fields that are read, with their positions in
/// the table.
type Chosen = BTreeMap<ColumnId, HashMap<Path, (Column, usize)>>;

/// What the nodes below a projection do with a column.
#[derive(Default)]
struct Uses {
    /// Fields that are used.
    paths: HashMap<ColumnId, Vec<(Path, Type)>>,
    /// Columns that are used as a whole.
    whole: ColumnSet,
}

/// The fields that `node` and the nodes below it use of scanned columns, each of which is a column
/// for its table.
fn chosen_fields(node: &Plan, ctx: &OptimizerContext<'_>) -> Result<Chosen> {
    let (mut uses, mut scans, mut rest) = (Uses::default(), Vec::new(), vec![node]);
    let mut is_top = true;
    while let Some(plan) = rest.pop() {
        if is_top || shows_input(plan) {
            plan.exprs().into_iter().for_each(|it| uses.add(it));
            rest.extend(plan.inputs());
        }
        if let Plan::GroupLimit { keys, .. } = plan {
            uses.whole.extend(keys);
        }
        if let Plan::Scan { table, columns, .. } = plan
            && columns.iter().any(|it| matches!(it.0.data_type, Type::Row(_)))
        {
            scans.push((table, columns));
        }
        is_top = false;
    }
    let mut chosen = Chosen::new();
    for (table, columns) in scans {
        // A table that cannot be read says so when it is read.
        let Ok(table) = ctx.tables.resolve(table) else { continue };
        for (column, position) in columns {
            let Some(paths) = uses.paths.get(&column.id) else { continue };
            if uses.whole.contains(&column.id) {
                continue;
            }
            let fields = paths.iter().map(|it| field_column(&*table, *position, it, ctx));
            if let Some(fields) = fields.collect::<Option<HashMap<_, _>>>() {
                chosen.insert(column.id, fields);
            }
        }
    }
    Ok(chosen)
}

/// The column that reads a field, and its position in the table, if the table has it.
fn field_column(
    table: &dyn Table,
    column: usize,
    (path, data_type): &(Path, Type),
    ctx: &OptimizerContext<'_>,
) -> Option<(Path, (Column, usize))> {
    let fields = table.fields();
    let is_it = |it: &volley_connector::ColumnField| {
        it.column == column && it.path == *path && it.field.data_type == *data_type
    };
    let place = fields.iter().position(is_it)?;
    let name = fields.get(place)?.field.name.clone();
    let made = ctx.column_ids.column(name, data_type.clone());
    Some((path.clone(), (made, table.schema().len() + place)))
}

/// Whether a node returns the columns of its inputs, as they are, and uses them in nothing but its
/// expressions.
fn shows_input(plan: &Plan) -> bool {
    matches!(
        plan,
        Plan::Scan { .. }
            | Plan::Filter { .. }
            | Plan::Join { .. }
            | Plan::AsofJoin { .. }
            | Plan::Sort { .. }
            | Plan::Limit { .. }
            | Plan::GroupLimit { .. }
            | Plan::GroupId { .. }
            | Plan::Window { .. }
            | Plan::Unnest { .. }
            | Plan::UniqueId { .. }
    )
}

/// Calls `f` for `node` and for the nodes below it whose inputs it sees.
fn for_each_below(node: &mut Plan, f: &mut impl FnMut(&mut Plan)) {
    let mut rest = vec![node];
    let mut is_top = true;
    while let Some(plan) = rest.pop() {
        if is_top || shows_input(plan) {
            f(plan);
            rest.extend(plan.inputs_mut());
        }
        is_top = false;
    }
}

impl Uses {
    fn add(&mut self, expr: &Expr) {
        let mut rest = vec![expr];
        while let Some(expr) = rest.pop() {
            if let Some((id, path)) = field_of(expr) {
                let paths = self.paths.entry(id).or_default();
                if paths.iter().all(|it| it.0 != path) {
                    paths.push((path, expr.data_type.clone()));
                }
            } else if let Some(id) = as_column(expr) {
                self.whole.insert(id);
            } else {
                if let ExprKind::Subquery(subquery) = &expr.kind {
                    self.whole.extend(crate::columns::free_columns(&subquery.plan));
                }
                rest.extend(expr.children());
            }
        }
    }
}

/// The column and the path of a field of a field of a column.
fn field_of(expr: &Expr) -> Option<(ColumnId, Path)> {
    let (mut expr, mut path) = (expr, Path::new());
    while let ExprKind::Call { name, args } = &expr.kind
        && name == "struct_extract"
        && let [row, field] = args.as_slice()
        && let Type::Row(fields) = &row.data_type
    {
        path.push(field_index(fields, as_constant(field)?)?);
        expr = row;
    }
    path.reverse();
    Some((as_column(expr)?, path)).filter(|it| !it.1.is_empty())
}

/// The field of a name, in any case, or at a position from 1.
fn field_index(fields: &[Field], name: &Value) -> Option<usize> {
    let at = match name {
        Value::Varchar(name) => fields.iter().position(|it| it.name.eq_ignore_ascii_case(name)),
        position => usize::try_from(position.as_i128()?.checked_sub(1)?).ok(),
    };
    at.filter(|it| *it < fields.len())
}

fn replace_in(plan: &mut Plan, chosen: &Chosen) {
    if let Plan::Scan { columns, .. } = plan {
        let before = std::mem::take(columns);
        for (column, position) in before {
            match chosen.get(&column.id) {
                Some(fields) => {
                    let mut fields: Vec<_> = fields.values().cloned().collect();
                    fields.sort_by_key(|it| it.1);
                    columns.extend(fields);
                }
                None => columns.push((column, position)),
            }
        }
    }
    for expr in plan.exprs_mut() {
        replace_in_expr(expr, chosen);
    }
}

fn replace_in_expr(expr: &mut Expr, chosen: &Chosen) {
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        let column = field_of(expr).and_then(|(id, path)| chosen.get(&id)?.get(&path));
        match column {
            Some((column, _)) => expr.kind = ExprKind::Column(column.id),
            None => rest.extend(expr.children_mut()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{optimized, optimized_without};

    /// The columns that a query scans, in alphabetical order; one text per scan.
    fn scans(sql: &str) -> Vec<String> {
        let plan = optimized(sql);
        let list = |line: &str| {
            let (_, columns) = line.split_once(" [")?;
            let columns = columns.split_once(']')?.0.split(", ");
            let mut names: Vec<&str> =
                columns.map(|it| it.split('#').next().unwrap_or_default()).collect();
            names.sort();
            Some(names.join(" "))
        };
        plan.lines().filter(|it| it.contains("Scan ")).filter_map(list).collect()
    }

    #[test]
    fn fields_are_read_instead_of_rows() {
        for (sql, expected) in [
            ("select at.x from p", "at.x"),
            ("select at.inner.name, at['x'], id from p", "at.inner.name at.x id"),
            ("select count(*) from p where at.inner.z > 1", "at.inner.z"),
            ("select AT.X, count(*) from p group by 1", "at.x"),
            ("select sum(at.x) from p where at.inner.name = 'a' and l = 2", "at.inner.name at.x l"),
            (
                "select v.a from (select at.inner.name as a, id from p) v where id > 3",
                "at.inner.name id",
            ),
            ("select struct_extract(at, 1) from p order by at.inner.z limit 3", "at.inner.z at.x"),
            ("select id, unnest([at.x, 1]) from p", "at.x id"),
            (
                "select id, sum(at.x) over (partition by at.inner.name) from p",
                "at.inner.name at.x id",
            ),
        ] {
            assert_eq!(scans(sql), [expected], "{sql}: {}", optimized(sql));
        }
    }

    #[test]
    fn joined_tables_read_fields_each() {
        let sql = "select a.at.x, b.id from p a join p b on a.at.inner.name = b.at.inner.name";
        let mut scans = scans(sql);
        scans.sort();
        assert_eq!(scans, ["at.inner.name at.x", "at.inner.name id"]);
    }

    #[test]
    fn rows_that_are_used_are_read_whole() {
        for sql in [
            "select at from p",
            "select * from p",
            "select at, at.x from p",
            "select at.inner from p",
            "select at.x from p where at is not null",
            "select at.inner, at.x from p",
            "select count(distinct at) from p where at.x > 1",
        ] {
            let scans = scans(sql);
            assert!(scans.iter().all(|it| !it.contains("at.")), "{sql}: {scans:?}");
        }
    }

    #[test]
    fn without_the_rule_rows_are_read() {
        let plan = optimized_without("select at.x from p", &["scan_fields"]);
        assert!(plan.contains("struct_extract") && !plan.contains("at.x]"), "{plan}");
    }
}
