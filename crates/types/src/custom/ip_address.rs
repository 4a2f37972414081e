//! IPADDRESS: an address of version 4 or 6; the former is the latter's `::ffff:0:0/96` (RFC 4291).

use super::{Custom, CustomType, Exchange, bits_of, stored_bits};
use crate::{Type, Value};
use std::{
    fmt::Write,
    net::{IpAddr, Ipv6Addr},
};

/// The type IPADDRESS. Stored as HUGEINT in the order of the bytes; see [`stored_bits`].
#[derive(Debug)]
pub struct IpAddress;

impl IpAddress {
    /// The type.
    pub fn data_type() -> Type {
        Type::Custom(Custom::new(IpAddress))
    }
}

impl CustomType for IpAddress {
    fn name(&self) -> &str {
        "IPADDRESS"
    }

    fn storage(&self) -> &Type {
        &Type::HugeInt
    }

    fn push(&self, out: &mut String, stored: &Value) {
        let Value::HugeInt(stored) = stored else { return };
        // Writing to a string does not fail.
        let _ = write!(out, "{}", Ipv6Addr::from_bits(bits_of(*stored)).to_canonical());
    }

    fn parse(&self, text: &str) -> Option<Value> {
        let address = match text.trim_ascii().parse().ok()? {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        Some(Value::HugeInt(stored_bits(address.to_bits())))
    }

    fn exchange(&self) -> Exchange {
        Exchange::Text
    }
}
