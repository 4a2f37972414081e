//! The tables that a statement mentions.

use super::{Command, CopySource, Described, dotted};
use sqlparser::ast::{ObjectName, Visit, visit_relations};
use std::{collections::HashSet, ops::ControlFlow};

/// The names, without repetitions.
pub(super) fn table_names(command: &Command) -> Vec<String> {
    let mut names = Names::default();
    names.command(command);
    names.list
}

#[derive(Default)]
struct Names {
    list: Vec<String>,
    seen: HashSet<String>,
}

impl Names {
    fn command(&mut self, command: &Command) {
        match command {
            Command::Sql(statement) => self.visit(&**statement),
            Command::Explain { command, .. } | Command::Validate(command) => self.command(command),
            Command::Describe(described) | Command::Summarize(described, _) => {
                self.described(described);
            }
            Command::CreateView(view) => self.visit(&view.query),
            Command::Copy { source: CopySource::Query(query), .. } => self.visit(query),
            Command::Copy { source: CopySource::Table(name, _), .. } => self.add(name),
            _ => {}
        }
    }

    fn described(&mut self, described: &Described) {
        match described {
            Described::Table(name) => self.add(name),
            Described::Query(query) => self.visit(query),
            Described::Function(_) => {}
        }
    }

    fn visit(&mut self, tree: &impl Visit) {
        let _ = visit_relations(tree, |name| {
            self.add(name);
            ControlFlow::<()>::Continue(())
        });
    }

    fn add(&mut self, name: &ObjectName) {
        let name = dotted(name);
        if self.seen.insert(name.clone()) {
            self.list.push(name);
        }
    }
}
