//! Functions of addresses: `ip_version`, `is_private_ip`.

use super::{Function, add, doc, network};
use std::net::{Ipv4Addr, Ipv6Addr};
use volley_error::Result;
use volley_function::{
    FunctionDoc, Registry, ScalarTraits,
    simple::{BigInt, Boolean, Physical, Varbinary, function1},
};
use volley_types::{
    Type,
    custom::{IpAddress, IpNetwork, IpPrefix, bits_of},
};

/// Networks that are not reachable from everywhere, by the registries of IANA for special purposes:
/// the first address and the number of leading bits that addresses have in common.
const PRIVATE: [(u128, u32); 23] = [
    version_4([0, 0, 0, 0], 8),
    version_4([10, 0, 0, 0], 8),
    version_4([100, 64, 0, 0], 10),
    version_4([127, 0, 0, 0], 8),
    version_4([169, 254, 0, 0], 16),
    version_4([172, 16, 0, 0], 12),
    version_4([192, 0, 0, 0], 24),
    version_4([192, 0, 2, 0], 24),
    version_4([192, 88, 99, 0], 24),
    version_4([192, 168, 0, 0], 16),
    version_4([198, 18, 0, 0], 15),
    version_4([198, 51, 100, 0], 24),
    version_4([203, 0, 113, 0], 24),
    version_4([240, 0, 0, 0], 4),
    version_6([0, 0, 0, 0], 127),
    version_6([0x64, 0xFF9B, 1, 0], 48),
    version_6([0x100, 0, 0, 0], 64),
    version_6([0x2001, 0, 0, 0], 23),
    version_6([0x2001, 2, 0, 0], 48),
    version_6([0x2001, 0xDB8, 0, 0], 32),
    version_6([0x5F00, 0, 0, 0], 16),
    version_6([0xFC00, 0, 0, 0], 7),
    version_6([0xFE80, 0, 0, 0], 10),
];

const fn version_4([a, b, c, d]: [u8; 4], length: u32) -> (u128, u32) {
    (Ipv4Addr::new(a, b, c, d).to_ipv6_mapped().to_bits(), 96 + length)
}

/// By the first 64 bits.
const fn version_6([a, b, c, d]: [u16; 4], length: u32) -> (u128, u32) {
    (Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).to_bits(), length)
}

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let version = doc(
        "ip_version(address or prefix) -> bigint",
        "4 of an address or network of IPv4, which includes those mapped into IPv6; 6 of others.",
        &[
            ("ip_version(CAST('1.2.3.4' AS IPADDRESS))", "4"),
            ("ip_version(CAST('64:ff9b::17/64' AS IPPREFIX))", "6"),
        ],
    );
    add(
        registry,
        "presto.ip_version",
        version,
        Function {
            args: vec![IpAddress::data_type()],
            result: Type::BigInt,
            traits: ScalarTraits::INFALLIBLE,
            function: function1::<Physical<i128>, BigInt, _>(|address: i128| {
                if IpNetwork::length_max(bits_of(address)) == 32 { 4i64 } else { 6 }
            }),
        },
    );
    add(
        registry,
        "presto.ip_version",
        FunctionDoc::default(),
        Function {
            args: vec![IpPrefix::data_type()],
            result: Type::BigInt,
            traits: ScalarTraits::DEFAULT,
            function: function1::<Varbinary, BigInt, Result<i64>>(|bytes: &[u8]| {
                network(bytes).map(|it| if it.is_version_4() { 4 } else { 6 })
            }),
        },
    );
    let private = doc(
        "is_private_ip(address) -> boolean",
        "Whether the address is private or reserved, and not reachable from everywhere.",
        &[
            ("is_private_ip(CAST('10.0.0.1' AS IPADDRESS))", "true"),
            ("is_private_ip(CAST('157.240.200.99' AS IPADDRESS))", "false"),
        ],
    );
    add(
        registry,
        "presto.is_private_ip",
        private,
        Function {
            args: vec![IpAddress::data_type()],
            result: Type::Boolean,
            traits: ScalarTraits::INFALLIBLE,
            function: function1::<Physical<i128>, Boolean, _>(|address: i128| {
                let address = bits_of(address);
                PRIVATE.iter().any(|(first, length)| (address ^ first) >> (128 - length) == 0)
            }),
        },
    );
}
