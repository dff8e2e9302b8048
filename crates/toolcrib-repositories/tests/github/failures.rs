//! What goes wrong, and what is said about it.

use std::time::Duration;

use toolcrib_core::{Cancel, ErrorKind, ToolError, Tree};
use toolcrib_repositories::{GitHubPlace, GitHubRepository};

use crate::github_net::github_net;
use crate::sample::Sample;
use crate::served::{Served, read};

fn sample() -> Sample {
    Sample::default().file("a.txt", "text\n").file("d/b.txt", "more\n")
}

fn check(err: &ToolError, kind: ErrorKind, says: &str, next: &str) {
    let hint = err.hint.as_deref().unwrap_or_default();
    assert_eq!(err.kind, kind, "{err}");
    assert!(err.message.contains(says), "{err}");
    assert!(hint.contains(next), "{hint}");
}

#[test]
fn a_repository_without_commits_is_told() {
    let served = Served::empty();
    let err = served.try_open().unwrap_err();
    check(&err, ErrorKind::Unavailable, "`octo/demo` has no commits yet", "push a commit");
    served.commit(&sample(), "main");
    assert!(served.try_open().is_ok());
}

#[test]
fn a_repository_that_is_missing_or_private_is_told() {
    let mut served = Served::new(&sample());
    served.server.plan().token = Some("right".to_owned());
    let err = served.try_open().unwrap_err();
    check(&err, ErrorKind::NotFound, "or is private and needs a token", "set GITHUB_TOKEN");
    served.token = Some("wrong");
    let err = served.try_open().unwrap_err();
    check(&err, ErrorKind::Permission, "it has expired or is wrong", "set GITHUB_TOKEN");
    served.token = Some("right");
    assert_eq!(read(&served.open(), "a.txt").unwrap(), "text\n");
    served.server.plan().name = "octo/other".to_owned();
    let err = served.try_open().unwrap_err();
    check(&err, ErrorKind::NotFound, "or the token may not see it", "check the name");
}

#[test]
fn a_token_that_expires_meanwhile_is_told_and_what_was_read_stays() {
    let mut served = Served::new(&sample());
    served.server.plan().token = Some("short".to_owned());
    served.token = Some("short");
    let repository = served.open();
    assert_eq!(read(&repository, "a.txt").unwrap(), "text\n");
    served.server.plan().token = Some("next".to_owned());
    assert_eq!(read(&repository, "a.txt").unwrap(), "text\n");
    let err = read(&repository, "d/b.txt").unwrap_err();
    check(&err, ErrorKind::Permission, "it has expired or is wrong", "set GITHUB_TOKEN");
}

#[test]
fn each_status_has_its_error() {
    let served = Served::new(&sample());
    let repository = served.open();
    let json = |message: &str| format!("{{\"message\": \"{message}\"}}");
    for (status, body, kind, says, next) in [
        (
            403,
            json("Resource not accessible"),
            ErrorKind::Permission,
            "not accessible",
            "GITHUB_TOKEN",
        ),
        (
            403,
            r#"{"message": "too large", "errors": [{"code": "too_large"}]}"#.to_owned(),
            ErrorKind::TooLarge,
            "so large a file",
            "connect a clone",
        ),
        (404, json("Not Found"), ErrorKind::Unavailable, "no longer has", "history was rewritten"),
        (409, json("Conflict"), ErrorKind::Unavailable, "no longer has", "history was rewritten"),
        (451, json("DMCA"), ErrorKind::NotFound, "DMCA", "check the name"),
        (500, json("Oops"), ErrorKind::Unavailable, "500, Oops", "githubstatus"),
        (502, "<html>bad gateway".to_owned(), ErrorKind::Unavailable, "502", "githubstatus"),
        (503, String::new(), ErrorKind::Unavailable, "503", "githubstatus"),
        (418, "{}".to_owned(), ErrorKind::Unavailable, "418", "check the API address"),
    ] {
        served.server.fail("/git/blobs/", usize::MAX, status, &body);
        let err = read(&repository, "a.txt").unwrap_err();
        check(&err, kind, says, next);
        served.server.plan().faults.clear();
    }
    assert_eq!(read(&repository, "a.txt").unwrap(), "text\n");
}

#[test]
fn a_failure_that_passes_is_not_told() {
    let served = Served::new(&sample());
    let repository = served.open();
    served.server.fail("/git/trees/", 1, 500, "{}");
    served.server.fail("/git/blobs/", 1, 503, "{}");
    assert_eq!(read(&repository, "a.txt").unwrap(), "text\n");
    served.server.fail("/repos/octo/demo", 1, 200, "{\"full_name\": \"octo/de");
    assert!(served.try_open().is_ok());
}

#[test]
fn data_that_breaks_off_or_is_other_data_is_told() {
    let served = Served::new(&sample());
    let cut = "{\"full_name\": \"octo/de";
    for (body, says) in [
        (cut, "breaks off"),
        ("", "breaks off"),
        ("{\"a\": 1}", "not as documented"),
        ("[]", "not as documented"),
    ] {
        served.server.fail("/repos/octo/demo", usize::MAX, 200, body);
        let err = served.try_open().unwrap_err();
        check(&err, ErrorKind::Io, says, "check the API address");
        served.server.plan().faults.clear();
    }
    assert!(served.try_open().is_ok());
}

#[test]
fn a_wrong_address_of_an_enterprise_server_is_told() {
    let served = Served::new(&sample());
    for status in [200, 404, 406] {
        served.server.fail("/repos/", usize::MAX, status, "<!DOCTYPE html><title>GHE</title>");
        let err = served.try_open().unwrap_err();
        check(&err, ErrorKind::Unavailable, "a page for people", "https://HOST/api/v3");
        served.server.plan().faults.clear();
    }
    let place = GitHubPlace { api_url: "ftp://x".to_owned(), ..GitHubPlace::new("a", "b") };
    let err = GitHubRepository::open(github_net(&[]), place, &Cancel::default()).unwrap_err();
    assert_eq!(err.kind, ErrorKind::BadArgs);
}

#[test]
fn another_content_than_that_of_the_id_is_refused() {
    let served = Served::new(&sample());
    let repository = served.open();
    served.server.fail("/git/blobs/", 1, 200, "forged\n");
    let err = read(&repository, "a.txt").unwrap_err();
    check(&err, ErrorKind::Io, "sent another content", "repeat the call");
    assert_eq!(read(&repository, "a.txt").unwrap(), "text\n");
}

#[test]
fn malformed_listings_are_told() {
    let served = Served::new(&sample());
    for item in [
        r#"{"path": "", "mode": "100644", "type": "blob", "sha": "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"}"#,
        r#"{"path": "a", "mode": "rw-r--r--", "type": "blob", "sha": "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"}"#,
        r#"{"path": "a", "mode": "100644", "type": "blob", "sha": "HEAD"}"#,
    ] {
        let repository = served.open();
        let body = format!("{{\"tree\": [{item}], \"truncated\": false}}");
        served.server.fail("/git/trees/", 1, 200, &body);
        let err = read(&repository, "a.txt").unwrap_err();
        check(&err, ErrorKind::Io, "malformed", "repeat the call");
        assert_eq!(read(&repository, "a.txt").unwrap(), "text\n");
    }
}

#[test]
fn a_call_that_is_cancelled_or_out_of_time_ends() {
    let mut served = Served::new(&sample());
    let repository = served.open();
    let cancel = Cancel::default();
    cancel.cancel();
    let err = repository.files_for(&cancel).read("a.txt", 9).unwrap_err();
    assert_eq!(err.kind, ErrorKind::Cancelled);
    served.options.time = Duration::ZERO;
    let err = served.try_open().unwrap_err();
    check(&err, ErrorKind::Timeout, "did not answer in time", "repeat the call");
    assert_eq!(read(&repository, "a.txt").unwrap(), "text\n");
}
