//! Where the token goes.

use toolcrib_core::ErrorKind;

use crate::sample::Sample;
use crate::served::{Served, grep, list_all, read};

#[test]
fn the_token_goes_to_the_api_alone() {
    let mut served = Served::new(&Sample::default().file("a.txt", "needle\n"));
    served.server.plan().token = Some("s3cret".to_owned());
    served.token = Some("s3cret");
    let repository = served.open();
    list_all(&repository);
    assert_eq!(read(&repository, "a.txt").unwrap(), "needle\n");
    assert_eq!(grep(&repository, "needle").unwrap(), 1);
    let seen = served.server.take_seen();
    for request in &seen {
        let sent = request.headers.get("authorization").map(String::as_str);
        let expect = (!request.is_for_archive).then_some("Bearer s3cret");
        assert_eq!(sent, expect, "{request:?}");
    }
    assert!(seen.iter().any(|request| request.is_for_archive));
    assert!(!format!("{repository:?}").contains("s3cret"));
}

#[test]
fn a_redirect_to_another_host_is_not_followed() {
    let served = Served::new(&Sample::default().file("a.txt", "x"));
    let elsewhere = format!("http://127.0.0.1:{}/repos/octo/demo", served.server.archive_port());
    {
        let mut plan = served.server.plan();
        let headers = vec![("location", elsewhere)];
        plan.faults.push(crate::github_server::PlannedFault {
            path: "/repos/octo/demo",
            times: 1,
            status: 301,
            headers,
            body: "{}".to_owned(),
        });
    }
    let err = served.try_open().unwrap_err();
    assert_eq!(err.kind, ErrorKind::Unavailable);
    assert!(err.hint.unwrap().contains("the token is sent nowhere else"), "{}", err.message);
    let seen = served.server.take_seen();
    assert!(seen.iter().all(|request| !request.is_for_archive), "{seen:?}");
    assert!(served.try_open().is_ok());
}
