//! Names that nobody can guess.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Returns 128 random bits, in hexadecimal digits.
pub(crate) fn random_id() -> io::Result<String> {
    random_bytes().map(|bytes| format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Returns a random UUID, as `crypto.randomUUID()` does.
pub(crate) fn random_uuid() -> io::Result<String> {
    let mut bytes = random_bytes()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = format!("{:032x}", u128::from_be_bytes(bytes));
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

/// Returns random bytes. The kernel gives so few at once.
fn random_bytes() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    let count = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if count < bytes.len() {
        return Err(io::Error::other("the system gave too few random bytes"));
    }
    Ok(bytes)
}
