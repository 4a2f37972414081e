//! Unnest nodes of a [`PlanBuilder`].

use super::{Columns, PlanBuilder};
use crate::{Generator, GeneratorKind, PlanNode, PlanNodeId, UnnestNode};
use volley_types::{Field, Type};

impl PlanBuilder {
    /// Returns the columns `replicated` next to the elements of lists, maps and series. A generator
    /// is a kind, the columns that it takes, and the names of the columns that it makes.
    /// `ordinality` names the column that numbers the rows generated from each input row; `outer`
    /// keeps input rows that generate no row.
    pub fn unnest(
        self,
        replicated: &[&str],
        generators: &[(GeneratorKind, &[&str], &[&str])],
        ordinality: Option<&str>,
        outer: bool,
    ) -> PlanBuilder {
        self.wrap(|input, registry| {
            let columns = Columns::new(input.schema(), &registry);
            let replicated = columns.positions(replicated)?;
            let mut schema = input.schema().clone();
            let fields = replicated.iter().map(|it| input.schema().fields[*it].clone());
            schema.fields = fields.collect();
            let mut made = Vec::with_capacity(generators.len());
            for (kind, args, names) in generators {
                let args = columns.positions(args)?;
                let first = args.first().map(|it| &input.schema().fields[*it].data_type);
                let types = kind.made_types(first.unwrap_or(&Type::Unknown))?;
                let fields = names.iter().zip(types).map(|it| Field::new(*it.0, it.1));
                schema.fields.extend(fields);
                made.push(Generator { kind: *kind, args });
            }
            schema.fields.extend(ordinality.map(|it| Field::new(it, Type::BigInt)));
            let ordinality = ordinality.is_some();
            let generators = made;
            let node = UnnestNode {
                node_id: PlanNodeId::UNASSIGNED,
                input,
                replicated,
                generators,
                ordinality,
                outer,
                schema,
            };
            Ok(PlanNode::Unnest(node))
        })
    }
}
