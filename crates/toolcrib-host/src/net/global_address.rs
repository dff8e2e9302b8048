//! Which addresses belong to the open internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 networks that are not the open internet: private, local, reserved, for documentation.
const LOCAL4: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// IPv6 networks that are not the open internet, also those whose addresses carry an IPv4 address.
const LOCAL6: [(u128, u32); 15] = [
    (0, 96),
    (0xffff << 32, 96),
    (0xffff << 48, 96),
    (0x0064_ff9b << 96, 96),
    (0x0064_ff9b_0001 << 80, 48),
    (0x0100 << 112, 64),
    (0x2001 << 112, 23),
    (0x2001_0db8 << 96, 32),
    (0x2002 << 112, 16),
    (0x3fff << 112, 20),
    (0x5f00 << 112, 16),
    (0xfc00 << 112, 7),
    (0xfe80 << 112, 10),
    (0xfec0 << 112, 10),
    (0xff00 << 112, 8),
];

/// Whether an address belongs to the open internet.
pub(crate) fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !LOCAL4.iter().any(|(network, bits)| {
            let shift = 32 - bits;
            u32::from(address) >> shift == u32::from(*network) >> shift
        }),
        IpAddr::V6(address) => is_global6(address),
    }
}

fn is_global6(address: Ipv6Addr) -> bool {
    let number = u128::from(address);
    !LOCAL6.iter().any(|(network, bits)| {
        let shift = 128 - bits;
        number >> shift == network >> shift
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_open_internet_is_global() {
        for address in [
            "127.0.0.1",
            "169.254.169.254",
            "10.0.0.1",
            "172.31.0.1",
            "100.127.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "192.168.1.1",
            "198.19.0.1",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "fec0::1",
            "::ffff:0:127.0.0.1",
        ] {
            assert!(!is_global(address.parse().unwrap()), "{address}");
        }
        for address in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00::1"] {
            assert!(is_global(address.parse().unwrap()), "{address}");
        }
    }
}
