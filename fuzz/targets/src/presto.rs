//! Plan fragments of Presto.

use crate::assert_not_internal;
use std::{collections::BTreeMap, sync::LazyLock};
use volley_error::Result;
use volley_presto::{FragmentTranslator, Properties, WorkerConfig};

static TRANSLATOR: LazyLock<Result<FragmentTranslator>> = LazyLock::new(|| {
    let config = "discovery.uri=http://127.0.0.1:1\npresto.version=1\n";
    let node = "node.id=n\nnode.environment=e\n";
    let properties = |text: &str, name: &str| Properties::parse(text, name);
    let catalogs = BTreeMap::from([
        ("tpch".to_owned(), properties("connector.name=tpch", "tpch")?),
        ("hive".to_owned(), properties("connector.name=hive-hadoop2", "hive")?),
    ]);
    let (config, node) = (properties(config, "config")?, properties(node, "node")?);
    FragmentTranslator::new(&WorkerConfig::of_properties(&config, &node, catalogs)?)
});

/// The JSON of a fragment: a plan, or an error that is not internal.
///
/// # Panics
///
/// If the worker misbehaves.
pub fn presto_fragment(bytes: &[u8]) {
    let Ok(json) = std::str::from_utf8(bytes) else { return };
    let translator = TRANSLATOR.as_ref();
    assert!(translator.is_ok(), "the catalogs of the target are malformed");
    if let Ok(translator) = translator
        && let Err(error) = translator.plan_text(json)
    {
        assert_not_internal(&error);
    }
}
