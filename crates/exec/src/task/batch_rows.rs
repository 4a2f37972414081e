//! The number of rows of the batches of a task.

use std::{collections::HashSet, sync::Arc};
use volley_plan::PlanNode;

/// The most bytes of a batch, if its values are short.
const BATCH_BYTES_MAX: usize = 16 << 20;

/// What a short value takes.
const VALUE_BYTES: usize = 16;

/// `most`, or fewer if the rows of a node have very many columns (more than a thousand, for batches
/// of a thousand rows), so that a batch would be large: several are in flight at once.
pub(super) fn batch_rows(plan: &Arc<PlanNode>, most: usize) -> usize {
    let fit = BATCH_BYTES_MAX / VALUE_BYTES / columns_max(plan).max(1);
    most.min(fit).max(1)
}

/// The most columns of any node.
fn columns_max(plan: &Arc<PlanNode>) -> usize {
    let (mut open, mut seen, mut columns) = (vec![plan], HashSet::new(), 0);
    while let Some(node) = open.pop() {
        // Shared nodes stand below several others.
        if seen.insert(Arc::as_ptr(node)) {
            columns = columns.max(node.schema().len());
            open.extend(node.inputs());
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_function::Registry;
    use volley_plan::PlanBuilder;
    use volley_types::{Type, Value};

    #[test]
    fn batches_of_wide_rows_have_fewer() {
        let rows = |columns: usize, most: usize| {
            let names: Vec<String> = (0..columns).map(|it| format!("c{it}")).collect();
            let fields: Vec<(&str, Type)> = names.iter().map(|it| (&**it, Type::BigInt)).collect();
            let plan = PlanBuilder::new(&Arc::new(Registry::new()))
                .values(&fields, vec![vec![Value::Null; columns]])
                .build()
                .unwrap();
            batch_rows(&plan, most)
        };
        assert_eq!(rows(1, 1024), 1024);
        assert_eq!(rows(1000, 1024), 1024);
        assert_eq!(rows(16_384, 1024), 64);
        assert_eq!(rows(16_384, 3), 3);
    }
}
