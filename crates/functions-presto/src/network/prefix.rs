//! Functions of networks: `ip_prefix`, its addresses, its subnets.

use super::{Function, add, doc, network};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry, ScalarFunction, ScalarTraits,
    simple::{
        ArrayWriter, BigInt, Boolean, Physical, Varbinary, Varchar, function1, function2,
        map_written, vectorized,
    },
};
use volley_types::{
    Type, Value,
    custom::{CustomType, IpAddress, IpNetwork, IpPrefix, bits_of, stored_bits},
};

/// The most subnets that are listed.
const SUBNETS_MAX: u128 = 100_000;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    register_makers(registry);
    register_addresses(registry);
    register_tests(registry);
    let length = doc(
        "ip_prefix_masklen(prefix) -> bigint",
        "The length of the prefix.",
        &[("ip_prefix_masklen(CAST('1.2.3.4/24' AS IPPREFIX))", "24")],
    );
    add(
        registry,
        "presto.ip_prefix_masklen",
        length,
        Function {
            args: vec![IpPrefix::data_type()],
            result: Type::BigInt,
            traits: ScalarTraits::DEFAULT,
            function: function1::<Varbinary, BigInt, Result<i64>>(|bytes: &[u8]| {
                network(bytes).map(|it| it.length().into())
            }),
        },
    );
    let subnets = doc(
        "ip_prefix_subnets(prefix, length) -> array of prefixes",
        "The networks with prefixes of `length` bits that the network consists of; none when its \
         own is longer.",
        &[(
            "ip_prefix_subnets(CAST('192.168.1.0/24' AS IPPREFIX), 25)",
            "[192.168.1.0/25, 192.168.1.128/25]",
        )],
    );
    add(
        registry,
        "presto.ip_prefix_subnets",
        subnets,
        Function {
            args: vec![IpPrefix::data_type(), Type::BigInt],
            result: Type::array(IpPrefix::data_type()),
            traits: ScalarTraits::DEFAULT,
            function: vectorized(|rows, args, to, ctx| {
                type Args = (Varbinary, BigInt);
                map_written::<Args, ArrayWriter<Varbinary>, Result<()>>(
                    rows,
                    args,
                    to,
                    ctx,
                    |(bytes, length), out| write_subnets(network(bytes)?, length, out),
                )
            }),
        },
    );
}

fn register_makers(registry: &mut Registry) {
    let prefix = doc(
        "ip_prefix(address, length) -> prefix",
        "The network of the address, an IPADDRESS or its text, with a prefix of `length` bits.",
        &[("ip_prefix('192.168.255.255', 9)", "192.128.0.0/9")],
    );
    let function = |args: Type, function: Arc<dyn ScalarFunction>| Function {
        args: vec![args, Type::BigInt],
        result: IpPrefix::data_type(),
        traits: ScalarTraits::DEFAULT,
        function,
    };
    let of_address =
        function2::<Physical<i128>, BigInt, Varbinary, Result<Vec<u8>>>(|address, length| {
            prefix_of(address, length)
        });
    let added = function(IpAddress::data_type(), of_address);
    add(registry, "presto.ip_prefix", prefix, added);
    let of_text = function2::<Varchar, BigInt, Varbinary, Result<Vec<u8>>>(|text, length| {
        let Some(Value::HugeInt(address)) = IpAddress.parse(text) else {
            return Err(Error::invalid_value(format!("not an IP address: {text}")));
        };
        prefix_of(address, length)
    });
    let added = function(Type::Varchar, of_text);
    add(registry, "presto.ip_prefix", FunctionDoc::default(), added);
}

fn prefix_of(address: i128, length: i64) -> Result<Vec<u8>> {
    let address = bits_of(address);
    let network = checked_length(address, length)
        .and_then(|it| IpNetwork::of_address(address, it))
        .ok_or_else(|| wrong_length(address, length))?;
    Ok(network.to_bytes().to_vec())
}

fn checked_length(address: u128, length: i64) -> Option<u8> {
    u8::try_from(length).ok().filter(|it| *it <= IpNetwork::length_max(address))
}

fn wrong_length(address: u128, length: i64) -> Error {
    let most = IpNetwork::length_max(address);
    Error::invalid_value(format!("the length of a prefix must be from 0 to {most}: {length}"))
}

fn register_addresses(registry: &mut Registry) {
    let ends: [(&str, &str, fn(IpNetwork) -> u128, &str); 2] = [
        ("min", "The first address of the network.", IpNetwork::first, "1.2.3.0"),
        ("max", "The last address of the network.", IpNetwork::last, "1.2.3.255"),
    ];
    for (end, description, address, example) in ends {
        let name = format!("ip_subnet_{end}");
        let call = format!("{name}(CAST('1.2.3.160/24' AS IPPREFIX))");
        let doc = doc(&format!("{name}(prefix) -> address"), description, &[(&call, example)]);
        let function =
            function1::<Varbinary, Physical<i128>, Result<i128>>(move |bytes: &[u8]| {
                network(bytes).map(|it| stored_bits(address(it)))
            });
        let (args, result) = (vec![IpPrefix::data_type()], IpAddress::data_type());
        let added = Function { args, result, traits: ScalarTraits::DEFAULT, function };
        add(registry, &format!("presto.{name}"), doc, added);
    }
    let range = doc(
        "ip_subnet_range(prefix) -> array of addresses",
        "The first and the last address of the network.",
        &[("ip_subnet_range(CAST('1.2.3.160/24' AS IPPREFIX))", "[1.2.3.0, 1.2.3.255]")],
    );
    add(
        registry,
        "presto.ip_subnet_range",
        range,
        Function {
            args: vec![IpPrefix::data_type()],
            result: Type::array(IpAddress::data_type()),
            traits: ScalarTraits::DEFAULT,
            function: vectorized(|rows, args, to, ctx| {
                map_written::<(Varbinary,), ArrayWriter<i128>, Result<()>>(
                    rows,
                    args,
                    to,
                    ctx,
                    |(bytes,), out| {
                        let network = network(bytes)?;
                        out.extend([network.first(), network.last()].map(stored_bits));
                        Ok(())
                    },
                )
            }),
        },
    );
}

fn register_tests(registry: &mut Registry) {
    let is_subnet = doc(
        "is_subnet_of(prefix, address or prefix) -> boolean",
        "Whether the address, or the whole second network, is in the network.",
        &[
            (
                "is_subnet_of(CAST('1.2.3.128/26' AS IPPREFIX), CAST('1.2.3.129' AS IPADDRESS))",
                "true",
            ),
            (
                "is_subnet_of(CAST('1.2.3.4/26' AS IPPREFIX), CAST('1.2.3.17/30' AS IPPREFIX))",
                "true",
            ),
        ],
    );
    let function = |second: Type, function: Arc<dyn ScalarFunction>| Function {
        args: vec![IpPrefix::data_type(), second],
        result: Type::Boolean,
        traits: ScalarTraits::DEFAULT,
        function,
    };
    let of_address =
        function2::<Varbinary, Physical<i128>, Boolean, Result<bool>>(|bytes, address: i128| {
            Ok(network(bytes)?.contains(bits_of(address)))
        });
    let added = function(IpAddress::data_type(), of_address);
    add(registry, "presto.is_subnet_of", is_subnet, added);
    let of_prefix =
        function2::<Varbinary, Varbinary, Boolean, Result<bool>>(|bytes, other: &[u8]| {
            let (network, other) = (network(bytes)?, network(other)?);
            Ok(network.contains(other.first()) && network.length() <= other.length())
        });
    let added = function(IpPrefix::data_type(), of_prefix);
    add(registry, "presto.is_subnet_of", FunctionDoc::default(), added);
}

fn write_subnets(network: IpNetwork, length: i64, out: &mut ArrayWriter<Varbinary>) -> Result<()> {
    let wanted = checked_length(network.first(), length)
        .ok_or_else(|| wrong_length(network.first(), length))?;
    let Some(added) = wanted.checked_sub(network.length()) else { return Ok(()) };
    let count = 1u128.checked_shl(added.into()).filter(|it| *it <= SUBNETS_MAX);
    let count = count.ok_or_else(|| {
        Error::invalid_value(format!(
            "a prefix has more than {SUBNETS_MAX} subnets of {wanted} bits"
        ))
    })?;
    let step = IpNetwork::length_max(network.first()) - wanted;
    for index in 0..count {
        // Of at most 2^16 subnets, none shifts all bits out.
        let address = network.first() | index.checked_shl(step.into()).unwrap_or(0);
        if let Some(subnet) = IpNetwork::of_address(address, wanted) {
            out.push(subnet.to_bytes().as_slice());
        }
    }
    Ok(())
}
