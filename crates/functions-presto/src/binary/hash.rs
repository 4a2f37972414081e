//! Checksums and hashes of bytes.

use super::{doc, murmur::murmur3_x64_128, spooky::spooky_v2};
use hmac::{Hmac, Mac};
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use twox_hash::{XxHash3_128, XxHash64};
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{StringWriter, scalar},
};
use volley_types::Type;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    register_digests(registry);
    register_codes(registry);
    register_short(registry);
    register_seeded(registry);
    let crc = doc(
        "crc32(varbinary) -> bigint",
        "The CRC-32 checksum, that of zlib.",
        &[("crc32(to_utf8('123456789'))", "3421780262")],
    );
    registry.simple("presto.crc32", crc, |bytes: &[u8]| i64::from(crc32fast::hash(bytes)));
    register_fnv(registry);
}

/// A function from bytes to bytes.
fn add<H: AsRef<[u8]>>(
    registry: &mut Registry,
    name: &str,
    doc: FunctionDoc,
    hash: impl Fn(&[u8]) -> H + Send + Sync + 'static,
) {
    let function = scalar(move |bytes: &[u8], out: &mut StringWriter| {
        out.push_bytes(hash(bytes).as_ref());
    });
    let function = function.returning(|_| Some(Type::Varbinary));
    registry.simple(&format!("presto.{name}"), doc, function);
}

fn described(name: &str, what: &str, hex: &str) -> FunctionDoc {
    let example = format!("to_hex({name}(to_utf8('abc')))");
    let signature = format!("{name}(varbinary) -> varbinary");
    doc(&signature, &format!("The {what} hash of the bytes."), &[(&example, hex)])
}

fn register_digests(registry: &mut Registry) {
    let md5 = described("md5", "MD5", "900150983CD24FB0D6963F7D28E17F72");
    add(registry, "md5", md5, |it| Md5::digest(it));
    let sha1 = described("sha1", "SHA-1", "A9993E364706816ABA3E25717850C26C9CD0D89D");
    add(registry, "sha1", sha1, |it| Sha1::digest(it));
    let hex = "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD";
    add(registry, "sha256", described("sha256", "SHA-256", hex), |it| Sha256::digest(it));
    let hex = "DDAF35A193617ABACC417349AE20413112E6FA4E89A97EA20A9EEEE64B55D39A\
               2192992A274FC1A836BA3C23A3FEEBBD454D4423643CE80E2A9AC94FA54CA49F";
    add(registry, "sha512", described("sha512", "SHA-512", hex), |it| Sha512::digest(it));
}

/// Codes of bytes with a key (RFC 2104).
fn register_codes(registry: &mut Registry) {
    let hex = "80070713463E7749B90C2DC24911E275";
    add_code::<Hmac<Md5>>(registry, "hmac_md5", "MD5", hex);
    let hex = "DE7C9B85B8B78AA6BC8A7A36F70A90701C9DB4D9";
    add_code::<Hmac<Sha1>>(registry, "hmac_sha1", "SHA-1", hex);
    let hex = "F7BC83F430538424B13298E6AA6FB143EF4D59A14946175997479DBC2D1A3CD8";
    add_code::<Hmac<Sha256>>(registry, "hmac_sha256", "SHA-256", hex);
    let hex = "B42AF09057BAC1E2D41708E48A902E09B5FF7F12AB428A4FE86653C73DD248FB\
               82F948A549F7B791A5B41915EE4D1EC3935357E4E2317250D0372AFA2EBEEB3A";
    add_code::<Hmac<Sha512>>(registry, "hmac_sha512", "SHA-512", hex);
}

fn add_code<M: Mac + hmac::digest::KeyInit + 'static>(
    registry: &mut Registry,
    name: &str,
    hash: &str,
    hex: &str,
) {
    let text = "The quick brown fox jumps over the lazy dog";
    let doc = doc(
        &format!("{name}(varbinary, key varbinary) -> varbinary"),
        &format!("The code of the bytes with the key by {hash}; the key must not be empty."),
        &[(&format!("to_hex({name}(to_utf8('{text}'), to_utf8('key')))"), hex)],
    );
    let code = |bytes: &[u8], key: &[u8], out: &mut StringWriter| -> Result<()> {
        if key.is_empty() {
            return Err(Error::invalid_value("the key must not be empty"));
        }
        let keyed = <M as Mac>::new_from_slice(key);
        let mut mac = keyed.map_err(|_| Error::internal("a key of a wrong length"))?;
        mac.update(bytes);
        out.push_bytes(&mac.finalize().into_bytes());
        Ok(())
    };
    let function = scalar(code).returning(|_| Some(Type::Varbinary));
    registry.simple(&format!("presto.{name}"), doc, function);
}

fn register_short(registry: &mut Registry) {
    let murmur = described(
        "murmur3_x64_128",
        "MurmurHash3 (x64, 128 bits)",
        "6778AD3F3F3F96B4522DCA264174A23B",
    );
    add(registry, "murmur3_x64_128", murmur, murmur3_x64_128);
    let spooky = described("spooky_hash_v2_32", "32-bit SpookyHash V2", "7537C967");
    add(registry, "spooky_hash_v2_32", spooky, |it| (spooky_v2(it)[0] as u32).to_be_bytes());
    let spooky = described("spooky_hash_v2_64", "64-bit SpookyHash V2", "8AAB15F77537C967");
    add(registry, "spooky_hash_v2_64", spooky, |it| spooky_v2(it)[0].to_be_bytes());
}

/// Hashes with and without a seed.
fn register_seeded(registry: &mut Registry) {
    let xx64 = described("xxhash64", "XXH64", "44BC2CF5AD770999");
    add(registry, "xxhash64", xx64, |it| XxHash64::oneshot(0, it).to_be_bytes());
    let xx128 = described("xxhash128", "128-bit XXH3", "06B05AB6733A618578AF5F94892F3950");
    add(registry, "xxhash128", xx128, |it| XxHash3_128::oneshot(it).to_be_bytes());
    let seeded = |name: &str, hex: &str| {
        let example = format!("to_hex({name}(to_utf8('abc'), 1))");
        let signature = format!("{name}(varbinary, seed bigint) -> varbinary");
        doc(&signature, "The same with a seed other than 0.", &[(&example, hex)])
    };
    let with_seed = scalar(|bytes: &[u8], seed: i64, out: &mut StringWriter| {
        out.push_bytes(&XxHash64::oneshot(seed as u64, bytes).to_be_bytes());
    });
    let with_seed = with_seed.returning(|_| Some(Type::Varbinary));
    registry.simple("presto.xxhash64", seeded("xxhash64", "BEA9CA8199328908"), with_seed);
    let with_seed = scalar(|bytes: &[u8], seed: i64, out: &mut StringWriter| {
        let hash = XxHash3_128::oneshot_with_seed(seed as u64, bytes);
        out.push_bytes(&hash.to_be_bytes());
    });
    let with_seed = with_seed.returning(|_| Some(Type::Varbinary));
    registry.simple(
        "presto.xxhash128",
        seeded("xxhash128", "7577B06FAE9EE3ED6B4467B443C76228"),
        with_seed,
    );
}

/// The hashes of Fowler, Noll and Vo.
fn register_fnv(registry: &mut Registry) {
    const PRIME_32: u32 = 0x0100_0193;
    const PRIME_64: u64 = 0x0100_0000_01B3;
    let described = |name: &str, what: &str, to: &str, result: &str| {
        let example = format!("{name}(to_utf8('hello'))");
        let signature = format!("{name}(varbinary) -> {to}");
        doc(&signature, &format!("The {what} hash of the bytes."), &[(&example, result)])
    };
    let one = described("fnv1_32", "32-bit FNV-1", "integer", "-1225100953");
    registry.simple("presto.fnv1_32", one, |bytes: &[u8]| {
        let next = |hash: u32, byte: &u8| hash.wrapping_mul(PRIME_32) ^ u32::from(*byte);
        bytes.iter().fold(0x811C_9DC5, next) as i32
    });
    let one = described("fnv1_64", "64-bit FNV-1", "bigint", "8883723591023973575");
    registry.simple("presto.fnv1_64", one, |bytes: &[u8]| {
        let next = |hash: u64, byte: &u8| hash.wrapping_mul(PRIME_64) ^ u64::from(*byte);
        bytes.iter().fold(0xCBF2_9CE4_8422_2325, next) as i64
    });
    let one_a = described("fnv1a_32", "32-bit FNV-1a", "integer", "1335831723");
    registry.simple("presto.fnv1a_32", one_a, |bytes: &[u8]| {
        let next = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(PRIME_32);
        bytes.iter().fold(0x811C_9DC5, next) as i32
    });
    let one_a = described("fnv1a_64", "64-bit FNV-1a", "bigint", "-6615550055289275125");
    registry.simple("presto.fnv1a_64", one_a, |bytes: &[u8]| {
        let next = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(PRIME_64);
        bytes.iter().fold(0xCBF2_9CE4_8422_2325, next) as i64
    });
}
