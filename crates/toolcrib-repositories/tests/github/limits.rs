//! Rate limits: waited for if there is time, and told if there is none.

use std::time::Duration;

use toolcrib_core::ErrorKind;

use crate::github_server::PlannedFault;
use crate::sample::Sample;
use crate::served::{Served, read};

fn served() -> Served {
    Served::new(&Sample::default().file("a.txt", "text\n").file("b.txt", "more\n"))
}

#[test]
fn a_limit_that_ends_too_late_is_told_and_nothing_more_is_sent() {
    let served = served();
    let repository = served.open();
    assert_eq!(read(&repository, "a.txt").unwrap(), "text\n");
    served.server.plan().left = 0;
    served.taken();
    let err = read(&repository, "b.txt").unwrap_err();
    assert_eq!(err.kind, ErrorKind::Unavailable);
    assert!(err.message.contains("the rate limit of `127.0.0.1` is reached"), "{err}");
    assert!(err.message.contains("answers again at 2"), "{err}");
    assert!(err.hint.unwrap().contains("GITHUB_TOKEN"));
    assert_eq!(err.context["reason"], "rate_limit");
    assert!(err.context["retry_after_seconds"].as_u64().unwrap() > 3500);
    assert_eq!(served.taken(), 1);
    assert!(read(&repository, "b.txt").unwrap_err().message.contains("rate limit"));
    assert_eq!(served.taken(), 0, "a limit that is known is not tried");
    assert_eq!(read(&repository, "a.txt").unwrap(), "text\n");
}

#[test]
fn a_limit_that_ends_in_time_is_waited_for() {
    let served = served();
    let repository = served.open();
    {
        let mut plan = served.server.plan();
        let headers = vec![
            ("x-ratelimit-remaining", "0".to_owned()),
            ("x-ratelimit-reset", jiff::Timestamp::now().as_second().to_string()),
        ];
        let body = "{\"message\": \"API rate limit exceeded\"}".to_owned();
        let path = "/git/blobs/";
        plan.faults.push(PlannedFault { path, times: 1, status: 403, headers, body });
    }
    assert_eq!(read(&repository, "a.txt").unwrap(), "text\n");
}

#[test]
fn a_secondary_limit_names_its_wait() {
    let mut served = served();
    served.options.time = Duration::from_secs(10);
    for (status, seconds, is_waited_for) in
        [(403, "1", true), (429, "1", true), (403, "60", false), (429, "60", false)]
    {
        let repository = served.open();
        {
            let mut plan = served.server.plan();
            let headers = vec![("retry-after", seconds.to_owned())];
            let body = "{\"message\": \"You have exceeded a secondary rate limit\"}".to_owned();
            let path = "/git/blobs/";
            plan.faults = vec![PlannedFault { path, times: 1, status, headers, body }];
        }
        match read(&repository, "a.txt") {
            Ok(text) => assert!(is_waited_for && text == "text\n", "{status} {seconds}"),
            Err(err) => {
                assert!(!is_waited_for, "{status} {seconds} {err}");
                assert!(err.message.contains("many requests in a short time"), "{err}");
                assert_eq!(err.context["retry_after_seconds"], 60);
            }
        }
    }
}
