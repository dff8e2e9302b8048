//! `check_pr_status`: how a pull request on GitHub stands.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use toolcrib_core::pull_requests::{
    PullRequestCheck, PullRequestQuestion, PullRequestStatus, owner_and_name,
};
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::web_page::untrusted;

/// The part of the reply's room that is left for what is around it.
const ENVELOPE_BYTES: usize = 1 << 10;

pub(crate) struct CheckPrStatus;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Number of the pull request, or its URL
    pr: PullRequestName,
    /// Repository as owner/name (default: that of the URL, or the connected one)
    repo: Option<String>,
}

/// What a caller calls a pull request. A number may be written as a number, too.
pub(crate) struct PullRequestName(String);

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    #[serde(flatten)]
    status: PullRequestStatus,
    /// Whether checks or reviews are left out of the lists, because there is no room for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    /// Whose words titles and names are.
    warnings: Vec<String>,
}

static DECLARATION: Declaration = Declaration {
    name: "check_pr_status",
    summary: "Check GitHub PR status: state, checks, reviews and mergeability. Returns: {ok, tool, result{number, \
              title, state, draft, mergeable, mergeable_state, head, base, author, url, checks{total, passed, \
              failed, pending, list}, reviews{approved, changes_requested, list, requested}, truncated?, warnings}, elapsed_ms}",
    tier: Tier::Standard,
    effect: Effect::Read,
    limits: Limits { deadline_ms: 30_000, ..Limits::DEFAULT },
    examples: &[
        Example {
            about: "A pull request has a number or a URL.",
            files: &[],
            before: &[],
            args: r#"{"pr": "the latest"}"#,
            reply: r#"{"ok": false, "error": "invalid_arguments",
                "message": "`the latest` is neither the number nor the URL of a pull request",
                "hint": "write `12`, or `https://github.com/owner/name/pull/12`"}"#,
            leaves: &[],
        },
        Example {
            about: "The repository of a URL cannot be another one.",
            files: &[],
            before: &[],
            args: r#"{"pr": "https://github.com/octo/demo/pull/12", "repo": "octo/other"}"#,
            reply: r#"{"ok": false, "error": "invalid_arguments",
                "message": "the pull request is in `octo/demo`, and `repo` is `octo/other`",
                "hint": "leave `repo` out when `pr` is a URL"}"#,
            leaves: &[],
        },
    ],
};

impl Tool for CheckPrStatus {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        question(args, Duration::ZERO)?;
        let hosts = ctx.outside.pull_requests.host().into_iter().collect();
        Ok(Plan { hosts, ..Plan::default() })
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let limits = ctx.terms.limits;
        let question = question(&args, Duration::from_millis(limits.deadline_ms))?;
        let status = ctx.outside.pull_requests.status(&question, &ctx.cancel)?;
        Ok(reply_of(status, limits.output_bytes.saturating_sub(ENVELOPE_BYTES)))
    }
}

/// Returns what arguments ask about.
fn question(args: &Args, time: Duration) -> Result<PullRequestQuestion, ToolError> {
    let name = args.pr.0.trim();
    let refuse =
        |message: String, hint: &str| Err(ToolError::new(ErrorKind::BadArgs, message).hint(hint));
    if let Some(repo) = args.repo.as_deref().filter(|repo| owner_and_name(repo).is_none()) {
        let repo = shortened(repo);
        return refuse(format!("`{repo}` is not a repository"), "write `repo` as owner/name");
    }
    let (host, repository, number) = match page_parts(name) {
        Some((host, repository, number)) => (Some(host), Some(repository), number),
        None => (None, args.repo.clone(), name.trim_start_matches('#')),
    };
    let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
    let Some(number) = number.parse().ok().filter(|number| is_number && *number > 0) else {
        return refuse(
            format!("`{}` is neither the number nor the URL of a pull request", shortened(name)),
            "write `12`, or `https://github.com/owner/name/pull/12`",
        );
    };
    if let (Some(named), Some(repo)) = (&repository, &args.repo)
        && !named.eq_ignore_ascii_case(repo)
    {
        let message = format!("the pull request is in `{named}`, and `repo` is `{repo}`");
        return refuse(message, "leave `repo` out when `pr` is a URL");
    }
    Ok(PullRequestQuestion { repository, host: host.map(str::to_owned), number, time })
}

/// Splits the URL of a pull request's page: its host, the repository and the number.
fn page_parts(url: &str) -> Option<(&str, String, &str)> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    let mut parts = rest.split('/');
    let (host, owner, name) = (parts.next()?, parts.next()?, parts.next()?);
    let repository = format!("{owner}/{name}");
    let number = parts.next().filter(|it| *it == "pull").and_then(|_| parts.next())?;
    let host = host.split(':').next().unwrap_or(host);
    (owner_and_name(&repository).is_some() && !host.is_empty())
        .then_some((host, repository, number))
}

fn shortened(text: &str) -> String {
    text.chars().take(100).flat_map(char::escape_debug).collect()
}

/// Returns what fits into a reply. Checks that need somebody stay longest.
fn reply_of(status: PullRequestStatus, room: usize) -> Reply {
    let warnings = vec![untrusted(&status.url)];
    let mut reply = Reply { status, truncated: None, warnings };
    let length = |reply: &Reply| serde_json::to_vec(reply).map_or(0, |json| json.len());
    if length(&reply) <= room {
        return reply;
    }
    reply.truncated = Some(true);
    reply.status.checks.list.sort_by_key(PullRequestCheck::outcome);
    while length(&reply) > room {
        let checks = &mut reply.status.checks.list;
        let reviews = &mut reply.status.reviews;
        let longest = [checks.len(), reviews.list.len(), reviews.requested.len()].into_iter().max();
        match longest.unwrap_or_default() {
            0 => break,
            // An eighth at once, so that a long list is not measured for each of its entries.
            most if checks.len() == most => checks.truncate(most - most.div_ceil(8)),
            most if reviews.list.len() == most => reviews.list.truncate(most - most.div_ceil(8)),
            most => reviews.requested.truncate(most - most.div_ceil(8)),
        }
    }
    reply
}

impl<'de> Deserialize<'de> for PullRequestName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum WrittenName {
            Number(u64),
            Text(String),
        }
        Ok(Self(match WrittenName::deserialize(deserializer)? {
            WrittenName::Number(number) => number.to_string(),
            WrittenName::Text(text) => text,
        }))
    }
}

impl JsonSchema for PullRequestName {
    fn schema_name() -> Cow<'static, str> {
        "PullRequestName".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use toolcrib_core::pull_requests::{
        PullRequestBranch, PullRequestChecks, PullRequestReviews, PullRequestState,
    };

    #[test]
    fn a_pull_request_is_named_by_number_or_by_url() {
        let ask = |args: Value| {
            let asked = question(&serde_json::from_value(args).unwrap(), Duration::ZERO);
            asked.map(|it| (it.host, it.repository, it.number)).map_err(|err| err.kind)
        };
        let own = |text: &str| Some(text.to_owned());
        assert_eq!(ask(json!({"pr": 12})), Ok((None, None, 12)));
        assert_eq!(ask(json!({"pr": "#12", "repo": "a/b"})), Ok((None, own("a/b"), 12)));
        let page = "https://github.com/Octo/demo/pull/7/files?x#y";
        let named = Ok((own("github.com"), own("Octo/demo"), 7));
        assert_eq!(ask(json!({"pr": page})), named);
        assert_eq!(ask(json!({"pr": page, "repo": "octo/demo"})), named);
        for args in [
            json!({"pr": ""}),
            json!({"pr": "+1"}),
            json!({"pr": "0"}),
            json!({"pr": "99999999999999999999"}),
            json!({"pr": "https://github.com/octo/demo/issues/7"}),
            json!({"pr": "https://github.com/octo/demo/pull/x"}),
            json!({"pr": "https:///octo/demo/pull/7"}),
            json!({"pr": page, "repo": "octo/other"}),
            json!({"pr": 1, "repo": "octo"}),
            json!({"pr": 1, "repo": "../.."}),
            json!({"pr": 1, "repo": "a/b/c"}),
        ] {
            assert_eq!(ask(args.clone()), Err(ErrorKind::BadArgs), "{args}");
        }
    }

    #[test]
    fn what_does_not_fit_is_cut_and_failures_stay() {
        let branch =
            || PullRequestBranch { name: "b".to_owned(), sha: "1".to_owned(), repository: None };
        let check = |number: usize| PullRequestCheck {
            name: format!("check {number}"),
            status: "completed".to_owned(),
            conclusion: Some(if number == 499 { "failure" } else { "success" }.to_owned()),
            url: None,
        };
        let status = PullRequestStatus {
            number: 1,
            title: "t".to_owned(),
            state: PullRequestState::Open,
            draft: false,
            mergeable: None,
            mergeable_state: "unknown".to_owned(),
            head: branch(),
            base: branch(),
            author: "a".to_owned(),
            url: "u".to_owned(),
            checks: PullRequestChecks {
                total: 500,
                list: (0..500).map(check).collect(),
                ..PullRequestChecks::default()
            },
            reviews: PullRequestReviews::default(),
        };
        let whole = reply_of(status.clone(), 1 << 20);
        assert_eq!((whole.truncated, whole.status.checks.list.len()), (None, 500));
        let cut = reply_of(status, 4 << 10);
        assert_eq!((cut.truncated, cut.status.checks.total), (Some(true), 500));
        assert_eq!(cut.status.checks.list[0].name, "check 499");
        let length = serde_json::to_vec(&cut).unwrap().len();
        assert!((2 << 10..=4 << 10).contains(&length), "{length}");
    }
}
