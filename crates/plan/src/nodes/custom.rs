//! A node that another crate defines.

use crate::{PlanNode, PlanNodeId};
use std::{any::Any, collections::BTreeMap, fmt, sync::Arc};
use volley_error::{Error, Result};
use volley_function::Registry;
use volley_types::Schema;

/// What a node of another crate is: plain data that its lowering function understands.
///
/// How it runs is found by its name, in the lowerings that the task was given.
///
/// # Examples
///
/// Every `step`-th row:
///
/// ```
/// use volley_error::{Error, Result};
/// use volley_plan::{CustomNode, PlanBuilder};
/// use volley_types::{Schema, Type, Value};
///
/// #[derive(Debug)]
/// struct EveryNth {
///     step: u64,
/// }
///
/// impl CustomNode for EveryNth {
///     fn name(&self) -> &str {
///         "EveryNth"
///     }
///
///     fn schema(&self, inputs: &[&Schema]) -> Result<Schema> {
///         match inputs {
///             [input] if self.step > 0 => Ok((*input).clone()),
///             [_] => Err(Error::invalid_query("EveryNth needs a step of at least 1")),
///             _ => Err(Error::invalid_query("EveryNth has one input")),
///         }
///     }
///
///     fn details(&self) -> String {
///         format!("step={}", self.step)
///     }
/// }
///
/// let rows = (0..4).map(|it| vec![Value::BigInt(it)]).collect::<Vec<_>>();
/// let values = PlanBuilder::new(&Default::default()).values(&[("n", Type::BigInt)], rows);
/// let plan = values.clone().custom(EveryNth { step: 2 }).build()?;
/// assert!(plan.to_string().starts_with("EveryNth step=2\n  Values (0), (1), (2)"));
/// assert!(values.custom(EveryNth { step: 0 }).build().is_err());
/// # Ok::<(), Error>(())
/// ```
pub trait CustomNode: Any + fmt::Debug + Send + Sync {
    /// The name shown in plans, by which the lowering function is found, such as `RunningTotal`.
    fn name(&self) -> &str;

    /// The columns that it returns, for inputs with these columns.
    ///
    /// # Errors
    ///
    /// Invalid query: a wrong number of inputs, columns that do not fit, parameters out of range.
    fn schema(&self, inputs: &[&Schema]) -> Result<Schema>;

    /// What EXPLAIN shows after the name; columns are `#position` in the input.
    fn details(&self) -> String {
        String::new()
    }

    /// What the node is made of, for the function that reads nodes of this name
    /// ([`CustomNodes::add`]). The inputs are saved beside it.
    ///
    /// # Errors
    ///
    /// Unsupported, if the node cannot be saved: so without an implementation.
    fn to_bytes(&self) -> Result<Vec<u8>> {
        Err(Error::unsupported(format!("the plan node {} cannot be saved", self.name())))
    }
}

/// Makes a node of what [`CustomNode::to_bytes`] made of it. The bytes may come from anywhere.
pub type ReadCustomNode =
    Arc<dyn Fn(&[u8], &Registry) -> Result<Arc<dyn CustomNode>> + Send + Sync>;

/// How nodes of other crates are read, by their names.
#[derive(Clone, Default)]
pub struct CustomNodes {
    by_name: BTreeMap<String, ReadCustomNode>,
}

impl CustomNodes {
    /// Adds the function that reads nodes called `name`.
    ///
    /// # Errors
    ///
    /// Invalid value, when there is one already.
    pub fn add(
        &mut self,
        name: &str,
        read: impl Fn(&[u8], &Registry) -> Result<Arc<dyn CustomNode>> + Send + Sync + 'static,
    ) -> Result<()> {
        if self.by_name.contains_key(name) {
            let message = format!("there is already a reader of plan nodes called {name}");
            return Err(Error::invalid_value(message));
        }
        self.by_name.insert(name.to_owned(), Arc::new(read));
        Ok(())
    }

    pub(crate) fn read(
        &self,
        name: &str,
        bytes: &[u8],
        registry: &Registry,
    ) -> Result<Arc<dyn CustomNode>> {
        let read = self.by_name.get(name).ok_or_else(|| {
            let error = Error::invalid_query(format!("no reader of the plan node {name}"));
            error.hint("add a function that reads its bytes to the session")
        })?;
        let node = read(bytes, registry).map_err(|it| it.at("plan node", name))?;
        match node.name() == name {
            true => Ok(node),
            false => {
                let message = format!("the reader of plan nodes called {name} made another");
                Err(Error::internal(message).at("plan node", node.name()))
            }
        }
    }
}

impl fmt::Debug for CustomNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

/// A node of another crate with its inputs.
#[derive(Clone, Debug)]
pub struct CustomPlanNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// What it is.
    pub node: Arc<dyn CustomNode>,
    /// Where rows come from; none for a source.
    pub inputs: Vec<Arc<PlanNode>>,
    /// What [`CustomNode::schema`] answered.
    pub schema: Schema,
}

impl CustomPlanNode {
    /// A node above `inputs`.
    ///
    /// # Errors
    ///
    /// What [`CustomNode::schema`] finds wrong.
    pub fn new(node: Arc<dyn CustomNode>, inputs: Vec<Arc<PlanNode>>) -> Result<CustomPlanNode> {
        let schemas: Vec<&Schema> = inputs.iter().map(|it| it.schema()).collect();
        let schema = node.schema(&schemas).map_err(|it| it.at("plan node", node.name()))?;
        Ok(CustomPlanNode { node_id: PlanNodeId::UNASSIGNED, node, inputs, schema })
    }

    /// The node as what it was made as.
    ///
    /// # Errors
    ///
    /// Internal, when it is something else of the same name.
    pub fn downcast<T: CustomNode>(&self) -> Result<&T> {
        let node: &dyn Any = &*self.node;
        node.downcast_ref().ok_or_else(|| {
            Error::internal(format!("another plan node of the same name: {}", self.node.name()))
        })
    }

    /// One line for plans.
    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.node.name(), self.node.details()).trim_end().to_owned()
    }
}
