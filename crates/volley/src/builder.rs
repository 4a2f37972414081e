//! Sessions with extensions.

use crate::{
    Session, Settings,
    attach::{Openers, openers},
    distribution::PageFormats,
};
use std::{collections::BTreeMap, sync::Arc};
use volley_arrow_file::ArrowFormat;
use volley_avro_file::AvroFormat;
use volley_connector::{
    Database, DatabaseSource, FormatExtension, FormatRegistry, SinkFactory, SinkRegistry, Table,
    TableCall, TableFunction,
};
use volley_error::{Error, Result};
use volley_exec::{Lowering, LoweringRegistry, PipelineBuilder};
use volley_function::{BindAggregate, BindCast, BindScalar, FunctionDoc, Registry};
use volley_io::{FileSystem, FileSystems, IoRuntime};
use volley_plan::{CustomNode, CustomNodes, CustomPlanNode};
use volley_schedule::Platform;
use volley_types::custom::{CustomType, MakeType};
use volley_wire::PageFormat;

/// Collects what a session knows beside the tables: functions, types, operators.
///
/// The first thing that is wrong, such as a name that is taken, is kept and answered by
/// [`SessionBuilder::build`]. The crate `examples/extension` shows each of them.
///
/// ```
/// use volley::{Session, Value, function::{FunctionDoc, simple::{self, BigInt}}};
///
/// # fn main() -> volley::Result<()> {
/// let twice = simple::unary::<BigInt, BigInt, _>(|it| it.wrapping_mul(2));
/// let session = Session::builder().add_function("twice", FunctionDoc::default(), twice).build()?;
/// let result = session.sql("SELECT twice(21)")?.collect_values()?;
/// assert_eq!(result, [[Value::BigInt(42)]]);
///
/// let upper = simple::unary::<BigInt, BigInt, _>(|it| it);
/// let taken = Session::builder().add_function("upper", FunctionDoc::default(), upper).build();
/// assert_eq!(taken.err().map(|it| it.message().to_owned()).as_deref(),
///            Some("there is already a function called upper"));
/// # Ok(())
/// # }
/// ```
pub struct SessionBuilder {
    settings: Settings,
    registry: Registry,
    lowerings: LoweringRegistry,
    custom_nodes: CustomNodes,
    table_functions: BTreeMap<String, TableFunction>,
    files: FileSystems,
    openers: Openers,
    sinks: SinkRegistry,
    formats: FormatRegistry,
    page_formats: PageFormats,
    platform: Option<Arc<dyn Platform>>,
    error: Option<Error>,
}

/// What a builder collected for a session.
pub(crate) struct SessionParts {
    pub(crate) settings: Settings,
    pub(crate) registry: Registry,
    pub(crate) lowerings: LoweringRegistry,
    pub(crate) custom_nodes: CustomNodes,
    pub(crate) files: FileSystems,
    pub(crate) table_functions: BTreeMap<String, TableFunction>,
    pub(crate) openers: Openers,
    pub(crate) sinks: SinkRegistry,
    pub(crate) formats: FormatRegistry,
    pub(crate) page_formats: PageFormats,
    pub(crate) platform: Option<Arc<dyn Platform>>,
}

impl Default for SessionBuilder {
    /// The default settings, and what every session knows.
    fn default() -> SessionBuilder {
        let mut registry = Registry::new();
        volley_functions::register(&mut registry);
        volley_functions_presto::register(&mut registry);
        SessionBuilder {
            settings: Settings::default(),
            registry,
            lowerings: volley_operators::registry(),
            custom_nodes: CustomNodes::default(),
            table_functions: BTreeMap::new(),
            files: FileSystems::default(),
            openers: openers(),
            sinks: SinkRegistry::default(),
            formats: FormatRegistry::default(),
            page_formats: PageFormats::new(),
            platform: None,
            error: None,
        }
    }
}

/// The variables that the clouds' own tools read. Values that are not Unicode are left out.
#[cfg(feature = "cloud")]
fn environment() -> volley_io::CloudEnvironment {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    volley_io::CloudEnvironment::new(std::env::vars_os().filter_map(text))
}

impl SessionBuilder {
    /// Starts with these settings.
    pub fn settings(mut self, settings: Settings) -> SessionBuilder {
        self.settings = settings;
        self
    }

    /// Adds a scalar function under a name of its own.
    pub fn add_function(self, name: &str, doc: FunctionDoc, bind: BindScalar) -> SessionBuilder {
        self.with_free_name(name, |it| it.registry.add_scalar(name, doc, bind))
    }

    /// Adds a scalar function for further argument types to those of its name. Where several take
    /// the arguments, the one with the cheapest casts is called, and of these the first.
    pub fn add_overload(
        mut self,
        name: &str,
        doc: FunctionDoc,
        bind: BindScalar,
    ) -> SessionBuilder {
        self.registry.add_scalar(name, doc, bind);
        self
    }

    /// Adds an aggregate function under a name of its own.
    pub fn add_aggregate(
        self,
        name: &str,
        doc: FunctionDoc,
        bind: BindAggregate,
    ) -> SessionBuilder {
        self.with_free_name(name, |it| it.registry.add_aggregate(name, doc, bind))
    }

    /// Adds a type without parameters under its name.
    pub fn add_type(self, custom: impl CustomType + 'static) -> SessionBuilder {
        let name = custom.name().to_owned();
        self.with_free_type(&name, |it| it.registry.types_mut().add_plain(custom))
    }

    /// Adds a type with parameters.
    pub fn add_parametric_type(self, name: &str, make: MakeType) -> SessionBuilder {
        self.with_free_type(name, |it| it.registry.types_mut().add(name, make))
    }

    /// Adds casts; those added later are asked first.
    pub fn add_casts(mut self, bind: BindCast) -> SessionBuilder {
        self.registry.add_casts(bind);
        self
    }

    /// Adds how plan nodes called `name` run; see
    /// [`CustomNode`](volley_plan::CustomNode) and [`PipelineBuilder`].
    pub fn add_operator(
        mut self,
        name: &str,
        lower: impl Fn(&CustomPlanNode, Vec<PipelineBuilder>, &mut Lowering) -> Result<PipelineBuilder>
        + Send
        + Sync
        + 'static,
    ) -> SessionBuilder {
        let added = self.lowerings.add(name, lower);
        self.keep(added);
        self
    }

    /// Adds how plan nodes called `name` are read from what
    /// [`CustomNode::to_bytes`](volley_plan::CustomNode::to_bytes) made of them, for
    /// [`Session::plan_from_bytes`].
    pub fn add_node_reader(
        mut self,
        name: &str,
        read: impl Fn(&[u8], &Registry) -> Result<Arc<dyn CustomNode>> + Send + Sync + 'static,
    ) -> SessionBuilder {
        let added = self.custom_nodes.add(name, read);
        self.keep(added);
        self
    }

    /// Adds a function for FROM.
    pub fn add_table_function(
        mut self,
        name: &str,
        function: impl Fn(&TableCall<'_>) -> Result<Arc<dyn Table>> + Send + Sync + 'static,
    ) -> SessionBuilder {
        let before = self.table_functions.insert(name.to_lowercase(), Arc::new(function));
        if before.is_some() {
            let message = format!("there is already a table function called {name}");
            self.keep(Err(Error::invalid_value(message)));
        }
        self
    }

    /// Adds what opens the databases of `ATTACH ... (TYPE type_name)`. Those of the type `native`
    /// are opened without TYPE.
    pub fn add_database_opener(
        mut self,
        type_name: &str,
        open: impl Fn(&DatabaseSource<'_>) -> Result<Arc<dyn Database>> + Send + Sync + 'static,
    ) -> SessionBuilder {
        let before = self.openers.insert(type_name.to_lowercase(), Arc::new(open));
        if before.is_some() {
            let message = format!("there is already a type of databases called {type_name}");
            self.keep(Err(Error::invalid_value(message)));
        }
        self
    }

    /// Adds what `COPY ... (FORMAT name)` writes to.
    pub fn add_sink(mut self, name: &str, factory: Arc<dyn SinkFactory>) -> SessionBuilder {
        let added = self.sinks.add(name, factory);
        self.keep(added);
        self
    }

    /// Adds a format of files: for files whose names end as it says, for
    /// `COPY ... (FORMAT name)`, and for the function `read_name`. The crate `examples/format` has
    /// one.
    pub fn add_file_format(mut self, format: Arc<dyn FormatExtension>) -> SessionBuilder {
        let added = self.formats.add(format);
        self.keep(added);
        self
    }

    /// Adds a format of the bytes that cross between tasks, for `SET exchange_pages = 'name'`.
    pub fn add_page_format(mut self, format: Arc<dyn PageFormat>) -> SessionBuilder {
        let name = format.name();
        let is_taken = ["batches", "bytes", "arrow"].contains(&name);
        if is_taken || self.page_formats.insert(name, format).is_some() {
            let message = format!("there is already a format of pages called {name}");
            self.keep(Err(Error::invalid_value(message)));
        }
        self
    }

    /// Adds where files are whose locations begin with `scheme://`. For a file system that waits
    /// for a network, [`SessionBuilder::io_runtime`] has threads.
    pub fn add_file_system(
        mut self,
        scheme: &str,
        file_system: Arc<dyn FileSystem>,
    ) -> SessionBuilder {
        match self.files.clone().with(scheme, file_system) {
            Ok(files) => self.files = files,
            Err(error) => self.keep(Err(error)),
        }
        self
    }

    /// Takes another file system for locations without a scheme, and with `file://`.
    pub fn local_file_system(mut self, file_system: Arc<dyn FileSystem>) -> SessionBuilder {
        self.files = self.files.with_local(file_system);
        self
    }

    /// The threads that wait for I/O of the session and those that share its tables.
    pub fn io_runtime(&self) -> &IoRuntime {
        self.files.runtime()
    }

    /// Runs queries in the processes of a platform. Each fragment of a query has one task in each
    /// process, and `SET tasks` changes nothing.
    pub fn platform(mut self, platform: Arc<dyn Platform>) -> SessionBuilder {
        self.platform = Some(platform);
        self
    }

    /// Changes the registry of functions and types in any way; nothing is checked.
    pub fn extend(mut self, extend: impl FnOnce(&mut Registry)) -> SessionBuilder {
        extend(&mut self.registry);
        self
    }

    /// The session.
    ///
    /// # Errors
    ///
    /// The first thing that was wrong; when the threads cannot be started.
    pub fn build(mut self) -> Result<Session> {
        self = self.add_file_format(Arc::new(ArrowFormat)).add_file_format(Arc::new(AvroFormat));
        #[cfg(feature = "cloud")]
        let files = self.files.with_cloud(environment()).with_cache();
        #[cfg(not(feature = "cloud"))]
        let files = self.files.with_cache();
        match self.error {
            Some(error) => Err(error),
            None => Session::of_parts(SessionParts {
                settings: self.settings,
                registry: self.registry,
                lowerings: self.lowerings,
                custom_nodes: self.custom_nodes,
                files,
                table_functions: self.table_functions,
                openers: self.openers,
                sinks: self.sinks,
                formats: self.formats,
                page_formats: self.page_formats,
                platform: self.platform,
            }),
        }
    }

    fn keep(&mut self, result: Result<()>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }

    fn with_free_name(mut self, name: &str, add: impl FnOnce(&mut Self)) -> SessionBuilder {
        if self.registry.check_name(name).is_ok() {
            let message = format!("there is already a function called {name}");
            let error = Error::invalid_value(message);
            self.keep(Err(error.hint("add_overload adds to it, for other argument types")));
        } else {
            add(&mut self);
        }
        self
    }

    fn with_free_type(mut self, name: &str, add: impl FnOnce(&mut Self)) -> SessionBuilder {
        let is_taken = |it: &str| it.eq_ignore_ascii_case(name);
        if self.registry.types().names().any(is_taken) {
            let message = format!("there is already a type called {name}");
            self.keep(Err(Error::invalid_value(message)));
        } else {
            add(&mut self);
        }
        self
    }
}
