//! IPPREFIX: a network, written as an address and the number of its leading bits (RFC 4632).
//!
//! ```text
//! bytes 0 to 15   the address, as those of IPADDRESS, without the bits of hosts
//! byte 16         the length of the prefix: 0 to 32 of version 4, 0 to 128 of version 6
//! ```

use super::{Custom, CustomType, Exchange};
use crate::{Type, Value};
use std::{
    fmt::Write,
    net::{IpAddr, Ipv6Addr},
};

/// The type IPPREFIX. Stored as VARBINARY, which is in the order of addresses, larger networks
/// first.
#[derive(Debug)]
pub struct IpPrefix;

/// A network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IpNetwork {
    first: u128,
    length: u8,
}

impl IpPrefix {
    /// The type.
    pub fn data_type() -> Type {
        Type::Custom(Custom::new(IpPrefix))
    }
}

impl IpNetwork {
    /// The network of `length` bits that an address is in; `None` if it has fewer bits.
    pub fn of_address(address: u128, length: u8) -> Option<IpNetwork> {
        let length = (length <= Self::length_max(address)).then_some(length)?;
        let hosts = host_bits(address, length);
        Some(IpNetwork { first: address & !hosts, length })
    }

    /// The bits of an address like this one: 32 of version 4, 128 of version 6.
    pub fn length_max(address: u128) -> u8 {
        if is_version_4(address) { 32 } else { 128 }
    }

    /// The network that is stored as these bytes; `None` when they are none.
    pub fn of_bytes(bytes: &[u8]) -> Option<IpNetwork> {
        let (address, length) = bytes.split_first_chunk::<16>()?;
        let [length] = length else { return None };
        let address = u128::from_be_bytes(*address);
        IpNetwork::of_address(address, *length).filter(|it| it.first == address)
    }

    /// As it is stored.
    pub fn to_bytes(self) -> [u8; 17] {
        let mut bytes = [self.length; 17];
        bytes[..16].copy_from_slice(&self.first.to_be_bytes());
        bytes
    }

    /// The first address.
    pub fn first(self) -> u128 {
        self.first
    }

    /// The last address.
    pub fn last(self) -> u128 {
        self.first | host_bits(self.first, self.length)
    }

    /// The length of the prefix.
    pub fn length(self) -> u8 {
        self.length
    }

    /// Whether its addresses are of version 4.
    pub fn is_version_4(self) -> bool {
        is_version_4(self.first)
    }

    /// Whether the address is in it.
    pub fn contains(self, address: u128) -> bool {
        self.is_version_4() == is_version_4(address)
            && (self.first..=self.last()).contains(&address)
    }
}

/// Whether an address is of version 4: one of `::ffff:0:0/96`.
fn is_version_4(address: u128) -> bool {
    address >> 32 == 0xFFFF
}

/// The host bits of the address.
fn host_bits(address: u128, length: u8) -> u128 {
    let count = IpNetwork::length_max(address).saturating_sub(length);
    match count {
        0 => 0,
        count => u128::MAX >> (128 - u32::from(count)),
    }
}

impl CustomType for IpPrefix {
    fn name(&self) -> &str {
        "IPPREFIX"
    }

    fn storage(&self) -> &Type {
        &Type::Varbinary
    }

    fn push(&self, out: &mut String, stored: &Value) {
        let Value::Varbinary(stored) = stored else { return };
        let Some(network) = IpNetwork::of_bytes(stored) else { return };
        let address = Ipv6Addr::from_bits(network.first).to_canonical();
        // Writing to a string does not fail.
        let _ = write!(out, "{address}/{}", network.length);
    }

    /// An address with a slash and the length; bits of hosts are dropped.
    fn parse(&self, text: &str) -> Option<Value> {
        let (address, length) = text.trim_ascii().split_once('/')?;
        let address = match address.parse().ok()? {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        let is_number = !length.is_empty() && length.bytes().all(|it| it.is_ascii_digit());
        let length = is_number.then(|| length.parse().ok()).flatten()?;
        let network = IpNetwork::of_address(address.to_bits(), length)?;
        Some(Value::Varbinary(network.to_bytes().as_slice().into()))
    }

    fn exchange(&self) -> Exchange {
        Exchange::Text
    }
}
