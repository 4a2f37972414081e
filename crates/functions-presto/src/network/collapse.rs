//! `ip_prefix_collapse`: the fewest networks with the same addresses.
//!
//! ```text
//! for each network, in order of first addresses, the larger one first:
//!     the last one kept contains it: drop it
//!     otherwise: keep it; while the last two kept are the halves of one, put that in their place
//! ```

use super::{Function, add, doc, network};
use volley_error::{Error, Result};
use volley_function::{
    Registry, ScalarTraits,
    simple::{Array, ArrayView, ArrayWriter, Varbinary, map_written, vectorized},
};
use volley_types::{
    Type,
    custom::{IpNetwork, IpPrefix},
};

/// Registers the function.
pub(super) fn register(registry: &mut Registry) {
    let prefixes = Type::array(IpPrefix::data_type());
    let collapse = doc(
        "ip_prefix_collapse(array of prefixes) -> array of prefixes",
        "The fewest networks that have the same addresses, in order; all must be of IPv4, or all \
         of IPv6.",
        &[(
            "ip_prefix_collapse(CAST(ARRAY['10.0.0.0/24', '10.0.1.0/24'] AS ARRAY(IPPREFIX)))",
            "[10.0.0.0/23]",
        )],
    );
    add(
        registry,
        "presto.ip_prefix_collapse",
        collapse,
        Function {
            args: vec![prefixes.clone()],
            result: prefixes,
            traits: ScalarTraits::DEFAULT,
            function: vectorized(|rows, args, to, ctx| {
                type Args = (Array<Varbinary>,);
                map_written::<Args, ArrayWriter<Varbinary>, Result<()>>(
                    rows,
                    args,
                    to,
                    ctx,
                    |(prefixes,), out| {
                        for it in collapsed(networks(prefixes)?) {
                            out.push(it.to_bytes().as_slice());
                        }
                        Ok(())
                    },
                )
            }),
        },
    );
}

fn networks(prefixes: ArrayView<'_, Varbinary>) -> Result<Vec<IpNetwork>> {
    let null = || Error::invalid_value("ip_prefix_collapse does not support null elements");
    let networks = prefixes.iter().map(|it| network(it.ok_or_else(null)?));
    let networks = networks.collect::<Result<Vec<_>>>()?;
    let mut versions = networks.iter().map(|it| it.is_version_4());
    if let Some(first) = versions.next()
        && versions.any(|it| it != first)
    {
        return Err(Error::invalid_value("all IPPREFIX elements must be the same IP version"));
    }
    Ok(networks)
}

fn collapsed(mut networks: Vec<IpNetwork>) -> Vec<IpNetwork> {
    networks.sort();
    let mut kept: Vec<IpNetwork> = Vec::with_capacity(networks.len());
    for network in networks {
        if kept.last().is_some_and(|it| it.contains(network.first())) {
            continue;
        }
        kept.push(network);
        while let [.., left, right] = *kept.as_slice()
            && let Some(whole) = whole_of(left, right)
        {
            kept.truncate(kept.len() - 2);
            kept.push(whole);
        }
    }
    kept
}

/// The network whose halves these are.
fn whole_of(left: IpNetwork, right: IpNetwork) -> Option<IpNetwork> {
    let length = (left.length() == right.length()).then_some(left.length())?.checked_sub(1)?;
    let whole = IpNetwork::of_address(left.first(), length)?;
    (whole.first() == left.first() && whole.contains(right.first())).then_some(whole)
}
