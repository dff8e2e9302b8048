//! Why a TLS handshake with a server failed, in words that say what to do.

use std::io;

use rustls::{CertificateError, Error as TlsError};

use super::address::ServerAddress;
use super::authority_file::{CA_VARIABLE, TrustedAuthorities};
use super::server_error::{not_reached, server_error};
use crate::error::CliError;

/// How rustls names a certificate that can sign others, and that a server shows as its own.
const AUTHORITY_AS_SERVER: &str = "CaUsedAsEndEntity";

/// Returns the error for a handshake that failed.
pub(super) fn explain(
    address: &ServerAddress,
    authorities: &TrustedAuthorities,
    err: &io::Error,
) -> CliError {
    match err.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>()) {
        Some(TlsError::InvalidCertificate(why)) => of_certificate(address, authorities, why),
        Some(TlsError::InvalidMessage(_)) => no_tls(address),
        Some(TlsError::AlertReceived(alert)) => {
            let message = format!("{address} ended the TLS handshake: {alert:?}");
            server_error(message).hint("the log of the server may say why")
        }
        Some(other) => server_error(format!("the TLS handshake with {address} failed: {other}")),
        None if err.kind() == io::ErrorKind::UnexpectedEof => no_tls(address),
        None => not_reached(address, &err.to_string()),
    }
}

/// Returns the error for a server that does not answer a handshake.
pub(super) fn no_tls(address: &ServerAddress) -> CliError {
    let plain = address.with_other_scheme().unwrap_or_default();
    server_error(format!("what answers at {address} does not speak TLS")).hint(format!(
        "check the port; if `toolcrib serve` printed an address with http://, use {plain}"
    ))
}

fn of_certificate(
    address: &ServerAddress,
    authorities: &TrustedAuthorities,
    why: &CertificateError,
) -> CliError {
    use CertificateError as Why;
    let error = |what: &str| server_error(format!("the certificate of {address} {what}"));
    let renew =
        "renew it on the server (`serve.tls_certificate`), and check the clock of this machine";
    match why {
        // A signature that does not fit, or is of another kind than the key, is that of another authority with the
        // same name.
        Why::UnknownIssuer
        | Why::BadSignature
        | Why::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => match authorities {
            TrustedAuthorities::OfSystem => error("is from an authority that this machine does not trust")
                .hint(format!(
                    "if the authority is your own, add --ca-file PEM with its certificate, or set {CA_VARIABLE}"
                )),
            TrustedAuthorities::In(path) => {
                let shown = path.display();
                error(&format!("is from an authority that is not in `{shown}`"))
                    .hint("--ca-file needs the certificate of the authority that signed the server's")
            }
        },
        Why::NotValidForName | Why::NotValidForNameContext { .. } => {
            let names = match why {
                Why::NotValidForNameContext { presented, .. } if !presented.is_empty() => {
                    let names: Vec<&str> = presented.iter().map(|name| plain(name)).collect();
                    format!("; it is for {}", names.join(", "))
                }
                _ => String::new(),
            };
            error(&format!("is not for this name{names}"))
                .hint("use the name that the certificate has, or make one for the name that you use")
        }
        Why::Expired => error("has expired").hint(renew),
        Why::ExpiredContext { not_after, .. } => {
            error(&format!("expired {}", at(not_after.as_secs()))).hint(renew)
        }
        Why::NotValidYet => error("is not valid yet").hint(renew),
        Why::NotValidYetContext { not_before, .. } => {
            error(&format!("is not valid before {}", at(not_before.as_secs()))).hint(renew)
        }
        other if format!("{other:?}").contains(AUTHORITY_AS_SERVER) => {
            error("is that of an authority, and not of a server").hint(
                "make one with CA:FALSE, for example with `openssl req -x509 -addext \
                 basicConstraints=critical,CA:FALSE …`, or sign one with it",
            )
        }
        other => error(&format!("is not accepted: {other}")),
    }
}

/// Returns a name without the words that rustls has around it, as in `DnsName("crib.example")`.
fn plain(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}

fn at(seconds: u64) -> String {
    let at = i64::try_from(seconds).ok().and_then(|it| jiff::Timestamp::from_second(it).ok());
    at.map(|at| at.to_string()).unwrap_or_default()
}
