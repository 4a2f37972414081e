//! Checks that dependencies point up in the table of crates.

use std::{fs, path::Path};

/// The crates, in order: each may use those above it, and nothing else. The letter is the tier.
const CRATES: &[(&str, char)] = &[
    ("kernels", GROUND),
    ("error", GROUND),
    ("types", DATA),
    ("memory", DATA),
    ("vector", DATA),
    ("wire", DATA),
    ("codec", DATA),
    ("pdt", DATA),
    ("testkit", TEST),
    ("function", COMPUTE),
    ("expression", COMPUTE),
    ("functions", COMPUTE),
    ("functions-presto", COMPUTE),
    ("preprocessing", COMPUTE),
    ("plan", PLAN),
    ("io", IO),
    ("io-testkit", IO),
    ("connector", IO),
    ("connector-testkit", IO),
    ("logical", PLAN),
    ("state", RUN),
    ("exchange", RUN),
    ("exec", RUN),
    ("exec-testkit", TEST),
    ("operators", RUN),
    ("schedule", RUN),
    ("parquet", LEAF),
    ("orc", LEAF),
    ("text", LEAF),
    ("arrow-file", LEAF),
    ("avro-file", LEAF),
    ("connector-hive", LEAF),
    ("connector-memory", LEAF),
    ("storage", LEAF),
    ("connector-native", LEAF),
    ("sim", LEAF),
    ("tpch", LEAF),
    ("connector-tpch", LEAF),
    ("platform-mpi", LEAF),
    ("sql", FRONT),
    ("catalog", FRONT),
    ("optimizer", FRONT),
    ("profile", FRONT),
    ("volley", DOOR),
    ("presto", DOOR),
    ("cli", DOOR),
    ("python", DOOR),
];

const GROUND: char = 'g';
const DATA: char = 'd';
const COMPUTE: char = 'c';
const PLAN: char = 'p';
const IO: char = 'i';
const RUN: char = 'r';
const LEAF: char = 'l';
const FRONT: char = 'f';
const DOOR: char = 'o';
const TEST: char = 't';

/// Pairs of crates that know each other's neighbours but must not meet.
const FORBIDDEN: &[(&str, &str, &str)] = &[
    ("sql", "exec", "the binder must not know execution"),
    ("sql", "operators", "the binder must not know execution"),
    ("sql", "optimizer", "the binder must not know the optimizer"),
    ("catalog", "exec", "name resolution must not know execution"),
    ("catalog", "operators", "name resolution must not know execution"),
    ("catalog", "optimizer", "name resolution must not know the optimizer"),
    ("optimizer", "sql", "the optimizer must not know SQL text"),
    ("optimizer", "exec", "plans are data; the optimizer must not know how they run"),
    ("optimizer", "operators", "plans are data; the optimizer must not know how they run"),
    ("profile", "sql", "profiles must not know statements"),
    ("state", "functions", "state calls no function by name"),
    ("state", "plan", "state must not know how it is used"),
    ("state", "connector", "state must not know where rows come from"),
    ("exec", "functions", "execution finds functions in a registry"),
    ("operators", "functions", "operators find functions in a registry"),
    ("parquet", "text", "formats must not know each other"),
    ("text", "parquet", "formats must not know each other"),
    ("orc", "parquet", "formats must not know each other"),
    ("text", "orc", "formats must not know each other"),
];

/// The crates of ours that each example uses.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("examples/extension", &["volley"]),
    ("examples/format", &["volley"]),
    ("examples/join", &["volley", "plan"]),
    (
        "examples/state",
        &["connector", "error", "exec", "function", "memory", "plan", "state", "types", "vector"],
    ),
];

/// The dependencies between crates, by folder name, from the `[dependencies]` of every manifest.
/// Crates outside of `crates` are named with their folder, such as `examples/extension`.
pub fn edges(root: &Path) -> Vec<(String, String)> {
    let mut edges = Vec::new();
    for (parent, prefix) in [("crates", ""), ("bench", "bench/"), ("examples", "examples/")] {
        for entry in fs::read_dir(root.join(parent)).into_iter().flatten().flatten() {
            let folder = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap_or_default();
            edges.extend(dependencies(&manifest).into_iter().map(|it| (folder.clone(), it)));
        }
    }
    edges.sort();
    edges
}

/// The crates of ours that a manifest names outside its development dependencies.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.trim() == "[dependencies]";
        } else if inside {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if let Some(folder) = name.strip_prefix("volley-") {
                found.push(folder.to_owned());
            } else if name == "volley" {
                found.push(name.to_owned());
            }
        }
    }
    found
}

/// The edges that break the order.
pub fn check(edges: &[(String, String)]) -> Vec<String> {
    edges.iter().filter_map(|(from, to)| fault(from, to)).collect()
}

fn fault(from: &str, to: &str) -> Option<String> {
    if from.starts_with("examples/") {
        let allowed = EXAMPLES.iter().find(|it| it.0 == from).map_or(&[][..], |it| it.1);
        let reason = "an example uses the crates listed for it, as a crate from outside would";
        return (!allowed.contains(&to)).then(|| format!("{from} -> {to}: {reason}"));
    }
    if from.starts_with("bench/") {
        return None;
    }
    let place = |name: &str| CRATES.iter().position(|it| it.0 == name);
    let (Some(from_place), Some(to_place)) = (place(from), place(to)) else {
        let unknown = if place(from).is_none() { from } else { to };
        return Some(format!("crate {unknown} has no place in the table of layers"));
    };
    if from_place <= to_place {
        return Some(format!("{from} -> {to}: dependencies point up in the table of layers"));
    }
    let (from_tier, to_tier) = (CRATES[from_place].1, CRATES[to_place].1);
    if to_tier == LEAF && ![LEAF, DOOR].contains(&from_tier) {
        return Some(format!("{from} -> {to}: leaf crates are named by the facade only"));
    }
    if to_tier == TEST && from_tier != TEST {
        return Some(format!("{from} -> {to}: test kits are development dependencies only"));
    }
    let reason = FORBIDDEN.iter().find(|it| (it.0, it.1) == (from, to))?.2;
    Some(format!("{from} -> {to}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_edge(from: &str, to: &str, allowed: bool) {
        assert_eq!(fault(from, to).is_none(), allowed, "{from} -> {to}");
    }

    #[test]
    fn edges_point_up_and_leaves_stay_hidden() {
        check_edge("vector", "kernels", true);
        check_edge("kernels", "vector", false);
        check_edge("volley", "connector-hive", true);
        check_edge("exec", "parquet", false);
        check_edge("optimizer", "connector-memory", false);
        check_edge("sql", "exec", false);
        check_edge("state", "expression", true);
        check_edge("state", "connector", false);
        check_edge("exec", "testkit", false);
        check_edge("exec", "operators", false);
        check_edge("operators", "exec", true);
        check_edge("vector", "unheard-of", false);
        check_edge("examples/extension", "volley", true);
        check_edge("examples/extension", "exec", false);
        check_edge("examples/state", "state", true);
        check_edge("examples/state", "operators", false);
        check_edge("bench/micro", "functions", true);
    }

    #[test]
    fn development_dependencies_do_not_count() {
        let manifest = "[dependencies]\nvolley-types.workspace = true\nregex = \"1\"\n\n\
                        [dev-dependencies]\nvolley-exec = { workspace = true }\n";
        assert_eq!(dependencies(manifest), ["types"]);
    }
}
