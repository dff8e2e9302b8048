//! Extended attributes of files, access control lists included: saved and restored.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use toolcrib_core::canonical::hex;

/// The attribute that holds the access control list.
const ACCESS_LIST: &str = "system.posix_acl_access";

/// Returns the attributes of a file. Attributes that grant privileges, or that only the system may set, are left
/// out: they do not pass to new content.
pub(crate) fn read(file: BorrowedFd<'_>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut names = vec![0_u8; 4096];
    let Ok(length) = flistxattr(file, &mut names) else { return found };
    for name in names[..length].split(|byte| *byte == 0) {
        let Ok(name) = std::str::from_utf8(name) else { continue };
        if !name.starts_with("user.") && name != ACCESS_LIST {
            continue;
        }
        let mut value = vec![0_u8; 64 << 10];
        if let Ok(length) = fgetxattr(file, name, &mut value) {
            let mut text = String::with_capacity(2 * length);
            let _ = hex(&value[..length], &mut text);
            found.insert(name.to_owned(), text);
        }
    }
    found
}

/// Gives a new file these attributes, and no access control list but the one among them: a default list of the
/// directory must not grant what the old file did not.
pub(crate) fn write(file: BorrowedFd<'_>, attributes: &BTreeMap<String, String>) {
    let _ = fremovexattr(file, ACCESS_LIST);
    for (name, text) in attributes {
        let digits = text.as_bytes().chunks_exact(2);
        let bytes: Option<Vec<u8>> = digits
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect();
        if let Some(bytes) = bytes {
            let _ = fsetxattr(file, name.as_str(), &bytes, XattrFlags::empty());
        }
    }
}
