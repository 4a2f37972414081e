//! Cuts a plan into fragments at its exchanges.

use super::{DistributedPlan, Fragment, FragmentId, FragmentOutput, TaskCount};
use crate::{ExchangeNode, PageSourceNode, PlanNode, PlanNodeId, Routing};
use std::{collections::HashMap, sync::Arc};
use volley_error::{Error, Result};

impl DistributedPlan {
    /// Cuts `plan` at its [`ExchangeNode`]s. The nodes of each fragment get ids and dynamic filters
    /// of their own.
    ///
    /// An exchange over a shared subplan is one of the outputs of the subplan's only fragment. One
    /// task runs the last fragment.
    ///
    /// # Errors
    ///
    /// Internal: exchanges that do not fit the numbers of tasks.
    pub fn cut(plan: &Arc<PlanNode>) -> Result<DistributedPlan> {
        let mut cut = Cut::default();
        cut.fragment(plan, TaskCount::One)?;
        Ok(DistributedPlan { fragments: cut.fragments })
    }
}

#[derive(Default)]
struct Cut {
    fragments: Vec<Fragment>,
    /// The fragments of shared subplans, by their number.
    shared: HashMap<u32, FragmentId>,
}

/// What is left to do of a fragment.
enum Work {
    Enter(Arc<PlanNode>),
    /// A node without its inputs, which are done by then, and their number.
    Leave(Box<PlanNode>, usize),
}

impl Cut {
    /// Cuts the fragment that ends with `root`, after those that send rows to it.
    fn fragment(&mut self, root: &Arc<PlanNode>, tasks: TaskCount) -> Result<FragmentId> {
        let mut sent = Vec::new();
        let mut done: Vec<Arc<PlanNode>> = Vec::new();
        let mut work = vec![Work::Enter(Arc::clone(root))];
        while let Some(next) = work.pop() {
            match next {
                Work::Enter(node) => match &*node {
                    PlanNode::Exchange(exchange) if exchange.routing != Routing::Replicate => {
                        let source = self.source(exchange, tasks)?;
                        sent.push((source.fragment, source.output));
                        done.push(Arc::new(PlanNode::PageSource(source)));
                    }
                    _ => {
                        let mut node = Arc::unwrap_or_clone(node);
                        let mut inputs = Vec::new();
                        node.for_each_input_mut(&mut |it| {
                            inputs.push(std::mem::replace(it, crate::node::leaf()));
                        });
                        work.push(Work::Leave(Box::new(node), inputs.len()));
                        work.extend(inputs.into_iter().rev().map(Work::Enter));
                    }
                },
                Work::Leave(mut node, inputs) => {
                    let first = done.len().saturating_sub(inputs);
                    let mut inputs = done.split_off(first).into_iter();
                    node.for_each_input_mut(&mut |it| {
                        if let Some(input) = inputs.next() {
                            *it = input;
                        }
                    });
                    done.push(Arc::new(*node));
                }
            }
        }
        let plan = done.pop().ok_or_else(|| Error::internal("a fragment without a node"))?;
        let id = FragmentId(self.fragments.len() as u32);
        for (fragment, output) in sent {
            let sender = self.fragments.get_mut(fragment.0 as usize);
            let output = sender.and_then(|it| it.outputs.get_mut(output as usize));
            output.ok_or_else(|| Error::internal("a lost fragment"))?.to = id;
        }
        let plan = PlanNode::numbered(plan);
        self.fragments.push(Fragment { plan, tasks, outputs: Vec::new() });
        Ok(id)
    }

    /// The fragment below an exchange gets a further output; its end in the fragment above.
    fn source(&mut self, exchange: &ExchangeNode, reader: TaskCount) -> Result<PageSourceNode> {
        let fragment = match &*exchange.input {
            PlanNode::Spool(shared) => match self.shared.get(&shared.id) {
                Some(known) => *known,
                None => {
                    let made = self.fragment(&shared.input, exchange.senders)?;
                    self.shared.insert(shared.id, made);
                    made
                }
            },
            _ => self.fragment(&exchange.input, exchange.senders)?,
        };
        let sender = self.fragments.get_mut(fragment.0 as usize);
        let sender = sender.ok_or_else(|| Error::internal("a lost fragment"))?;
        let routing = exchange.routing.clone();
        let fits = match routing {
            Routing::Gather | Routing::Merge(_) => reader == TaskCount::One,
            Routing::Forward => reader == sender.tasks && reader == exchange.senders,
            _ => true,
        };
        if !fits {
            let message = format!("an exchange {routing} does not fit the number of tasks");
            return Err(Error::internal(message));
        }
        let output = sender.outputs.len() as u32;
        let merge = routing.merge_keys().to_vec();
        // The reader is known once it is complete.
        sender.outputs.push(FragmentOutput { to: FragmentId(u32::MAX), routing });
        let (node_id, schema) = (PlanNodeId::UNASSIGNED, exchange.input.schema().clone());
        Ok(PageSourceNode { node_id, fragment, output, merge, schema })
    }
}
