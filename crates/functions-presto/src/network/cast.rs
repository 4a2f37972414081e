//! Conversions between addresses, networks and bytes.

use super::network;
use std::{net::Ipv4Addr, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, Package, Registry, ScalarTraits,
    simple::{Physical, Varbinary, function1},
};
use volley_types::{
    Type,
    custom::{IpAddress, IpNetwork, IpPrefix, Uuid, bits_of, stored_bits},
};

/// Registers the conversions.
pub(super) fn register(registry: &mut Registry) {
    registry.add_casts(Arc::new(bind));
    registry.add_package_casts(Package::Presto, Arc::new(bind_bytes));
    registry.add_package_casts(Package::Presto, Arc::new(bind_uuid));
}

/// An address as the network of itself alone; a network as its first address.
fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    let (address, prefix) = (IpAddress::data_type(), IpPrefix::data_type());
    let function = match (from, to) {
        _ if *from == address && *to == prefix => {
            function1::<Physical<i128>, Varbinary, Result<Vec<u8>>>(|address: i128| {
                let address = bits_of(address);
                let network = IpNetwork::of_address(address, IpNetwork::length_max(address));
                let network = network.ok_or_else(|| Error::internal("an address without bits"))?;
                Ok(network.to_bytes().to_vec())
            })
        }
        _ if *from == prefix && *to == address => {
            function1::<Varbinary, Physical<i128>, Result<i128>>(|bytes: &[u8]| {
                network(bytes).map(|it| stored_bits(it.first()))
            })
        }
        _ => return None,
    };
    Some(cast(from, to, function))
}

/// 4 bytes are an address of IPv4, too.
fn bind_bytes(from: &Type, to: &Type) -> Option<BoundScalar> {
    if *from != Type::Varbinary || *to != IpAddress::data_type() {
        return None;
    }
    let function = function1::<Varbinary, Physical<i128>, Result<i128>>(|bytes: &[u8]| {
        let bits = if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
            Ipv4Addr::from(bytes).to_ipv6_mapped().to_bits()
        } else if let Ok(bytes) = <[u8; 16]>::try_from(bytes) {
            u128::from_be_bytes(bytes)
        } else {
            let message = format!("IPADDRESS has 4 or 16 bytes, not {}", bytes.len());
            return Err(Error::invalid_value(message));
        };
        Ok(stored_bits(bits))
    });
    Some(cast(from, to, function))
}

/// A UUID as the bytes that Presto stores: two little-endian halves, the upper one first.
fn bind_uuid(from: &Type, to: &Type) -> Option<BoundScalar> {
    let uuid = Uuid::data_type();
    let function = match (from, to) {
        (_, Type::Varbinary) if *from == uuid => {
            function1::<Physical<i128>, Varbinary, Vec<u8>>(|stored: i128| {
                bits_of(stored).rotate_left(64).to_le_bytes().to_vec()
            })
        }
        (Type::Varbinary, _) if *to == uuid => {
            function1::<Varbinary, Physical<i128>, Result<i128>>(|bytes: &[u8]| {
                let wrong = |_| {
                    let message =
                        format!("cannot cast {} bytes to UUID, which has 16", bytes.len());
                    Error::invalid_value(message)
                };
                let bytes = <[u8; 16]>::try_from(bytes).map_err(wrong)?;
                Ok(stored_bits(u128::from_le_bytes(bytes).rotate_left(64)))
            })
        }
        _ => return None,
    };
    Some(cast(from, to, function))
}

fn cast(from: &Type, to: &Type, function: Arc<dyn volley_function::ScalarFunction>) -> BoundScalar {
    let (args, result) = (vec![from.clone()], to.clone());
    BoundScalar { name: "cast".to_owned(), args, result, traits: ScalarTraits::DEFAULT, function }
}
