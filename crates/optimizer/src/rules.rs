//! The rules, each with a name and a switch.

mod rewrite;
mod cte;
mod fold;
mod simplify;
mod narrow_constants;
mod outer_joins;
mod filters;
mod filter_ctes;
mod inner_joins;
mod block;
mod join_order;
mod partition_aggregates;
mod window_aggregates;
mod early_aggregation;
mod group_keys;
mod reduce_joins;
mod semi_joins;
mod choose_build_sides;
mod limits;
mod window_limits;
mod drop_empty;
mod distinct;
mod scan_fields;
mod answer_from_statistics;
mod share_subplans;
mod cascade_sets;
mod compute_below_joins;
mod keep_rows;
mod share_sorts;
mod split_distinct;
mod set_operations;
mod prune;

use crate::optimize::Rule;

pub(crate) use cte::with_ctes;
pub(crate) use keep_rows::{reads_recurring, reads_working_table};
pub(crate) use share_sorts::shared_sort;

const FOLD: Rule = Rule {
    name: "fold_constants",
    description: "computes expressions of constants once",
    apply: fold::fold_constants,
};

const SIMPLIFY: Rule = Rule {
    name: "simplify_booleans",
    description: "flattens AND and OR, takes common factors out of OR, makes IN lists",
    apply: simplify::simplify_booleans,
};

const DROP_EMPTY: Rule = Rule {
    name: "drop_empty",
    description: "does not run plans without rows",
    apply: drop_empty::drop_empty,
};

const MERGE_PROJECTIONS: Rule = Rule {
    name: "merge_projections",
    description: "makes one projection of several",
    apply: prune::merge_projections,
};

/// The rules in the order in which they run. A rule may run several times.
pub(crate) const SEQUENCE: &[Rule] = &[
    FOLD,
    Rule {
        name: "narrow_constants",
        description: "compares columns as stored, instead of widened, with constants",
        apply: narrow_constants::narrow_constants,
    },
    SIMPLIFY,
    Rule {
        name: "inline_ctes",
        description: "replaces the only reference of a common table expression by its definition",
        apply: cte::inline_ctes,
    },
    MERGE_PROJECTIONS,
    Rule {
        name: "simplify_outer_joins",
        description: "makes outer joins inner where a filter rejects their nulls",
        apply: outer_joins::simplify_outer_joins,
    },
    // Done while outer joins are simplified.
    Rule {
        name: "outer_to_anti",
        description: "makes outer joins anti joins where a filter rejects the rows with a partner",
        apply: |plan, _| Ok(plan),
    },
    Rule {
        name: "push_filters",
        description: "moves filters through joins, groups and set operations into the scans",
        apply: filters::push_filters,
    },
    Rule {
        name: "filter_ctes",
        description: "filters common table expressions by what their references keep",
        apply: filter_ctes::filter_ctes,
    },
    // Filters that were pushed through projections may compare constants.
    FOLD,
    SIMPLIFY,
    // These two are done while filters are pushed.
    Rule {
        name: "infer_predicates",
        description: "applies a test of a column to the columns that a join makes equal to it",
        apply: |plan, _| Ok(plan),
    },
    Rule {
        name: "derive_from_or",
        description: "derives conditions on each input of a join from an OR over several inputs",
        apply: |plan, _| Ok(plan),
    },
    Rule {
        name: "limit_windows",
        description: "keeps the first rows of each partition if a filter on ranks selects them",
        apply: window_limits::limit_windows,
    },
    DROP_EMPTY,
    Rule {
        name: "join_set_operations",
        description: "makes INTERSECT and EXCEPT semi and anti joins",
        apply: set_operations::join_set_operations,
    },
    Rule {
        name: "drop_distinct",
        description: "drops DISTINCT of distinct rows and constant keys of groups",
        apply: distinct::drop_distinct,
    },
    Rule {
        name: "scan_fields",
        description: "reads fields of rows as columns, without the rest of the rows",
        apply: scan_fields::scan_fields,
    },
    Rule {
        name: "answer_from_statistics",
        description: "finds counts, nulls and extremes of tables in their statistics",
        apply: answer_from_statistics::answer_from_statistics,
    },
    Rule {
        name: "push_limits",
        description: "moves limits and limits of sorted rows to where rows come from",
        apply: limits::push_limits,
    },
    Rule {
        name: "aggregate_partitions",
        description: "computes aggregates of large partitions by groups instead of windows",
        apply: partition_aggregates::aggregate_partitions,
    },
    Rule {
        name: "window_aggregates",
        description: "makes windows of aggregates that are joined to the tables they read",
        apply: window_aggregates::window_aggregates,
    },
    Rule {
        name: "reduce_joins",
        description: "drops joins, or makes them semi joins, where only existence matters",
        apply: reduce_joins::reduce_joins,
    },
    Rule {
        name: "aggregate_early",
        description: "aggregates one side of a join before the join",
        apply: early_aggregation::aggregate_early,
    },
    Rule {
        name: "reduce_group_keys",
        description: "groups by the keys of tables that determine other columns",
        apply: group_keys::reduce_group_keys,
    },
    Rule {
        name: "place_semi_joins",
        description: "does selective semi joins before inner joins",
        apply: semi_joins::place_semi_joins,
    },
    Rule {
        name: "order_joins",
        description: "orders inner joins by cost, and holds the smaller side in memory",
        apply: join_order::order_joins,
    },
    Rule {
        name: "choose_build_sides",
        description: "holds the smaller side of outer, semi and anti joins in memory",
        apply: choose_build_sides::choose_build_sides,
    },
    Rule {
        name: "compute_below_joins",
        description: "tests texts of a small input of a join below the join",
        apply: compute_below_joins::compute_below_joins,
    },
    Rule {
        name: "share_subplans",
        description: "runs equal subplans once",
        apply: share_subplans::share_subplans,
    },
    Rule {
        name: "cascade_sets",
        description: "computes coarser grouping sets from finer ones",
        apply: cascade_sets::cascade_sets,
    },
    // Done while joins are lowered.
    Rule {
        name: "range_joins",
        description: "joins on comparisons by a sorted build side instead of nested loops",
        apply: |plan, _| Ok(plan),
    },
    Rule {
        name: "keep_rows",
        description: "runs subplans once that do not depend on the iterations of a recursion",
        apply: keep_rows::keep_rows,
    },
    Rule {
        name: "prune_columns",
        description: "drops unused columns, down to the scans",
        apply: prune::prune_columns,
    },
    Rule {
        name: "split_distinct",
        description: "splits aggregations by their lists of DISTINCT arguments",
        apply: split_distinct::split_distinct,
    },
    Rule {
        name: "hold_narrow_sides",
        description: "holds the side of an inner join with fewer bytes, if row counts are similar",
        apply: choose_build_sides::hold_narrow_sides,
    },
    Rule {
        name: "share_sorts",
        description: "computes windows in an order in which one sort serves several",
        apply: share_sorts::share_sorts,
    },
    // Done while joins are lowered.
    Rule {
        name: "merge_joins",
        description: "merges inputs of joins that are sorted by the keys, instead of hashing them",
        apply: |plan, _| Ok(plan),
    },
    // Done while windows and sorts are lowered.
    Rule {
        name: "keep_orders",
        description: "does not sort sorted inputs again",
        apply: |plan, _| Ok(plan),
    },
    MERGE_PROJECTIONS,
];
