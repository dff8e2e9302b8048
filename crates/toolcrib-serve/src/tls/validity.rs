//! When a certificate is valid. Clients refuse one that is not, so the operator gets a warning.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Says what is wrong with the times of a certificate, if something is. A certificate that cannot be read here gets no
/// warning: rustls has accepted it.
pub(super) fn warning(certificate: &[u8], now: Timestamp) -> Option<String> {
    let (from, until) = times(certificate)?;
    if now > until {
        return Some(format!("ran out at {until:.0}; clients will refuse it"));
    }
    (now < from).then(|| format!("is valid only from {from:.0}; clients will refuse it until then"))
}

/// Returns the first and the last time at which a certificate is valid.
fn times(certificate: &[u8]) -> Option<(Timestamp, Timestamp)> {
    let (outer, _) = element(certificate, SEQUENCE)?;
    let (mut signed, _) = element(outer, SEQUENCE)?;
    if let Some((_, rest)) = element(signed, VERSION) {
        signed = rest;
    }
    // The serial number, the algorithm and the issuer.
    for _ in 0..3 {
        signed = any_element(signed)?.2;
    }
    let (validity, _) = element(signed, SEQUENCE)?;
    let (tag, from, rest) = any_element(validity)?;
    let from = time(tag, from)?;
    let (tag, until, _) = any_element(rest)?;
    Some((from, time(tag, until)?))
}

/// Returns the content of the DER element at the front, if it has this tag, and what follows it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, content, rest) = any_element(bytes)?;
    (found == tag).then_some((content, rest))
}

/// Returns the tag and the content of the DER element at the front, and what follows it.
fn any_element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match usize::from(*first) {
        short @ 0..0x80 => (short, rest),
        long => {
            let (digits, rest) = rest.split_at_checked(long - 0x80)?;
            let value = digits.iter().try_fold(0_usize, |value, digit| {
                value.checked_mul(256)?.checked_add(usize::from(*digit))
            })?;
            (value, rest)
        }
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

fn time(tag: u8, content: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(content).ok()?.strip_suffix('Z')?;
    let text = match tag {
        UTC_TIME => {
            let year: u8 = text.get(..2)?.parse().ok()?;
            format!("{}{text}", if year < 50 { "20" } else { "19" })
        }
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let date = DateTime::strptime("%Y%m%d%H%M%S", text).ok()?;
    Some(TimeZone::UTC.to_zoned(date).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    #[test]
    fn a_certificate_is_warned_about_only_outside_its_time() {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 2);
        // From 2050 on, certificates write years in another way.
        params.not_after = date_time_ymd(2051, 3, 4);
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let at = |text: &str| warning(certificate.der(), text.parse().unwrap());
        assert_eq!(at("2020-01-02T00:00:00Z"), None);
        assert_eq!(at("2051-03-04T00:00:00Z"), None);
        assert!(at("2051-03-04T00:00:01Z").unwrap().contains("ran out at 2051-03-04T00:00:00Z"));
        assert!(at("2020-01-01T23:59:59Z").unwrap().contains("only from 2020-01-02T00:00:00Z"));
        assert_eq!(warning(&certificate.der()[..80], Timestamp::now()), None);
        assert_eq!(warning(b"\x30\x84\xff\xff\xff\xff", Timestamp::now()), None);
    }
}
