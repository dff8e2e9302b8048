//! How pull requests stand.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::pull_requests::{
    PullRequestQuestion, PullRequestState, PullRequestStatus, PullRequests,
};
use toolcrib_core::{Cancel, ErrorKind, ToolError};
use toolcrib_repositories::{GitHubPullRequests, PullRequestAccess, pull_request_status};

use crate::github_net::github_net;
use crate::served::Served;

const PULL: &str = "/repos/octo/demo/pulls/7";
const COMMIT: &str = "/repos/octo/demo/commits/0a1b";

fn pull() -> Value {
    json!({
        "number": 7, "title": "Add a door", "state": "open", "draft": false, "merged": false,
        "mergeable": true, "mergeable_state": "blocked",
        "head": {"ref": "door", "sha": "0a1b", "repo": {"full_name": "fork/demo"}},
        "base": {"ref": "main", "sha": "2c3d", "repo": {"full_name": "octo/demo"}},
        "user": {"login": "ann"}, "html_url": "https://github.com/octo/demo/pull/7",
        "requested_reviewers": [{"login": "cat"}], "requested_teams": [{"slug": "core"}],
    })
}

fn run(number: usize, status: &str, conclusion: Option<&str>) -> Value {
    let url = format!("https://ci/{number}");
    json!({"name": format!("run {number}"), "status": status, "conclusion": conclusion, "html_url": url})
}

fn served() -> Served {
    let served = Served::empty();
    {
        let resources = &mut served.server.plan().resources;
        resources.insert(PULL.to_owned(), pull());
        let mut runs: Vec<Value> =
            (0..250).map(|it| run(it, "completed", Some("success"))).collect();
        runs.push(run(250, "completed", Some("skipped")));
        runs.push(run(251, "completed", Some("timed_out")));
        runs.push(run(252, "in_progress", None));
        let runs = json!({"total_count": runs.len(), "check_runs": runs});
        resources.insert(format!("{COMMIT}/check-runs"), runs);
        let statuses = json!([
            {"context": "old-ci", "state": "success", "target_url": "https://old/1"},
            {"context": "old-slow", "state": "pending", "target_url": null},
            {"context": "old-bad", "state": "error", "target_url": null},
        ]);
        let statuses = json!({"state": "failure", "total_count": 3, "statuses": statuses});
        resources.insert(format!("{COMMIT}/status"), statuses);
        let review = |user: &str, state: &str| json!({"user": {"login": user}, "state": state});
        let mut reviews: Vec<Value> = (0..120).map(|_| review("bob", "COMMENTED")).collect();
        reviews.extend([
            review("bob", "CHANGES_REQUESTED"),
            review("dan", "APPROVED"),
            review("eve", "APPROVED"),
            review("bob", "APPROVED"),
            review("bob", "COMMENTED"),
            review("eve", "DISMISSED"),
            review("fay", "CHANGES_REQUESTED"),
            review("gus", "PENDING"),
            json!({"user": null, "state": "COMMENTED"}),
        ]);
        resources.insert(format!("{PULL}/reviews"), Value::Array(reviews));
    }
    served
}

fn ask(served: &Served, number: u64) -> Result<PullRequestStatus, ToolError> {
    let (time, cancel) = (Duration::from_secs(20), Cancel::default());
    pull_request_status(github_net(&[]), &served.place(), number, time, &cancel)
}

#[test]
fn one_answer_has_state_checks_reviews_and_mergeability() {
    let served = served();
    let status = ask(&served, 7).unwrap();
    assert_eq!(
        (status.number, status.title.as_str(), status.author.as_str()),
        (7, "Add a door", "ann")
    );
    assert_eq!((status.state, status.draft), (PullRequestState::Open, false));
    assert_eq!((status.mergeable, status.mergeable_state.as_str()), (Some(true), "blocked"));
    assert_eq!((status.head.name.as_str(), status.base.name.as_str()), ("door", "main"));
    assert_eq!(status.head.repository.as_deref(), Some("fork/demo"));
    let checks = &status.checks;
    assert_eq!((checks.total, checks.passed, checks.failed, checks.pending), (256, 252, 2, 2));
    assert_eq!(checks.list[0].url.as_deref(), Some("https://ci/0"));
    let reviews = &status.reviews;
    assert_eq!((reviews.approved, reviews.changes_requested), (2, 1));
    let list: Vec<_> =
        reviews.list.iter().map(|it| (it.reviewer.as_str(), it.state.as_str())).collect();
    assert_eq!(
        list,
        [
            ("bob", "approved"),
            ("dan", "approved"),
            ("eve", "dismissed"),
            ("fay", "changes_requested"),
            ("ghost", "commented"),
        ]
    );
    assert_eq!(reviews.requested, ["cat", "core"]);
    assert_eq!(served.taken(), 1 + 3 + 1 + 2);
}

#[test]
fn closed_and_merged_are_told_apart() {
    let served = served();
    for (state, merged, expect) in [
        ("closed", false, PullRequestState::Closed),
        ("closed", true, PullRequestState::Merged),
        ("open", false, PullRequestState::Open),
    ] {
        let mut pull = pull();
        (pull["state"], pull["merged"]) = (state.into(), merged.into());
        served.server.plan().resources.insert(PULL.to_owned(), pull);
        assert_eq!(ask(&served, 7).unwrap().state, expect);
    }
}

#[test]
fn mergeability_that_is_not_known_yet_is_asked_for_once_more() {
    let served = served();
    let mut unknown = pull();
    (unknown["mergeable"], unknown["mergeable_state"]) = (Value::Null, "unknown".into());
    served.server.fail("/pulls/7", 1, 200, &unknown.to_string());
    assert_eq!(ask(&served, 7).unwrap().mergeable, Some(true));
    served.taken();
    served.server.plan().resources.insert(PULL.to_owned(), unknown);
    let status = ask(&served, 7).unwrap();
    assert_eq!((status.mergeable, status.mergeable_state.as_str()), (None, "unknown"));
    let asked = served.server.take_seen();
    assert_eq!(asked.iter().filter(|it| it.path == PULL).count(), 2);
}

#[test]
fn checks_that_the_token_may_not_read_are_noted() {
    let served = served();
    let body = r#"{"message": "Resource not accessible by personal access token"}"#;
    served.server.fail("/check-runs", 1, 403, body);
    let checks = ask(&served, 7).unwrap().checks;
    assert_eq!(checks.total, 3);
    assert!(checks.note.unwrap().contains("check runs are missing"));
    served.server.fail("/check-runs", 2, 500, body);
    assert_eq!(ask(&served, 7).unwrap_err().kind, ErrorKind::Unavailable);
}

#[test]
fn a_pull_request_that_is_missing_is_told() {
    let err = ask(&served(), 8).unwrap_err();
    assert_eq!(err.kind, ErrorKind::NotFound);
    assert!(err.message.starts_with("`octo/demo` has no pull request 8"), "{err}");
    assert!(err.hint.unwrap().contains("GITHUB_TOKEN"));
}

#[test]
fn the_port_takes_the_repository_of_the_question_or_its_own_and_no_other_host() {
    let served = served();
    let port = |repository: Option<&str>| {
        let access = PullRequestAccess {
            api_url: served.server.url(),
            token: Some("t".to_owned()),
            repository: repository.map(str::to_owned),
            program_path: OsString::new(),
        };
        Arc::new(GitHubPullRequests::new(github_net(&[]), access))
    };
    let question = |repository: Option<&str>, host: Option<&str>| PullRequestQuestion {
        repository: repository.map(str::to_owned),
        host: host.map(str::to_owned),
        number: 7,
        time: Duration::from_secs(20),
    };
    let cancel = Cancel::default();
    let with = port(Some("octo/demo"));
    assert_eq!(with.status(&question(None, None), &cancel).unwrap().number, 7);
    let left = served.server.plan().left;
    assert_eq!(with.status(&question(None, Some("127.0.0.1")), &cancel).unwrap().number, 7);
    assert_eq!(served.server.plan().left, left, "what has not changed costs nothing");
    let without = port(None);
    assert!(without.status(&question(Some("octo/demo"), None), &cancel).is_ok());
    for question in [
        question(None, None),
        question(Some("a"), None),
        question(Some("octo/demo"), Some("evil.example")),
    ] {
        assert_eq!(without.status(&question, &cancel).unwrap_err().kind, ErrorKind::BadArgs);
    }
}
