//! Names that nobody can guess.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Returns 128 random bits, in hexadecimal digits.
pub(crate) fn random_id() -> io::Result<String> {
    random_bytes().map(|bytes| format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Returns random bytes. The kernel gives so few at once.
pub(crate) fn random_bytes() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    let count = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if count < bytes.len() {
        return Err(io::Error::other("the system gave too few random bytes"));
    }
    Ok(bytes)
}
