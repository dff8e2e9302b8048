//! The REST API of GitHub: one question and its answer, with the waits and repetitions that it needs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use toolcrib_core::net::{AllowedAddresses, FetchReply, FetchRequest, Net};
use toolcrib_core::{Cancel, ErrorKind, Meter, ToolError};
use url::Url;

use crate::github::api_address::ApiAddress;
use crate::github::api_answer::ApiAnswer;
use crate::github::api_reply::{ApiFailure, failure_of, is_page, message_of, page_error};
use crate::github::deadline::QuestionDeadline;
use crate::github::known_replies::KnownReplies;
use crate::github::rate_limit::{LimitWait, TokenUse};

/// The version of the API that is spoken.
const API_VERSION: &str = "2022-11-28";

/// How often a redirect within the API is followed.
const MOST_API_REDIRECTS: usize = 3;

/// How often a question is sent that fails in passing: GitHub has a problem, or its answer breaks off.
const MOST_SENDS: u32 = 2;

/// The wait before a question is sent again.
const RESEND_WAIT: Duration = Duration::from_millis(250);

/// How often a rate limit is waited for.
const MOST_LIMIT_WAITS: usize = 3;

/// The most pages of a list.
const MOST_PAGES: usize = 30;

/// The most bytes of a reply, if nothing else is known about it.
pub(super) const MOST_REPLY_BYTES: usize = 16 << 20;

/// The REST API of GitHub, for one token.
pub(super) struct GitHubApi {
    net: Arc<dyn Net>,
    pub(super) address: ApiAddress,
    token: Option<String>,
    known: KnownReplies,
    /// The limit that was reached last. Nothing is sent until it is over.
    limit: Mutex<Option<LimitWait>>,
    requests: AtomicU64,
    /// Counts what is sent for no single call, such as for an archive that several calls wait for.
    background: Meter,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerForm {
    Json,
    /// The bytes of a file.
    Raw,
    /// The id of a commit, as text.
    CommitId,
}

/// A question.
#[derive(Clone, Copy, Debug)]
pub(super) struct ApiQuestion<'a> {
    /// The path below the API's address, with its query.
    pub(super) path: &'a str,
    pub(super) form: AnswerForm,
    pub(super) most_bytes: usize,
    pub(super) lasts: AnswerLife,
}

/// How long an answer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerLife {
    /// For ever, because the question names an object by its id. Its reply is not kept here.
    Ever,
    /// Until it changes. It is asked for again with its entity tag.
    UntilChanged,
}

impl<'a> ApiQuestion<'a> {
    /// Makes a question about something that can change.
    pub(super) fn json(path: &'a str) -> Self {
        let (form, lasts) = (AnswerForm::Json, AnswerLife::UntilChanged);
        Self { path, form, most_bytes: MOST_REPLY_BYTES, lasts }
    }
}

impl GitHubApi {
    /// Makes the API at an address. The token goes to that address alone.
    pub(super) fn new(
        net: Arc<dyn Net>,
        api_url: &str,
        token: Option<String>,
    ) -> Result<Self, ToolError> {
        let address = ApiAddress::parse(api_url)?;
        if let Some(token) = &token {
            address.check_token(token)?;
        }
        let (known, limit, requests, background) = Default::default();
        Ok(Self { net, address, token, known, limit, requests, background })
    }

    /// Gives a call what was sent in the background since this was last asked.
    pub(super) fn charge_background(&self, cancel: &Cancel) {
        let Some(counter) = cancel.counter() else { return };
        for sent in self.background.take_network().hosts {
            counter.count_host(&sent.host, sent.connections, sent.bytes_up, sent.bytes_down);
        }
    }

    pub(super) fn host(&self) -> &str {
        self.address.host()
    }

    /// Returns how many requests were sent so far.
    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(super) fn token_use(&self) -> TokenUse {
        if self.token.is_some() { TokenUse::Sent } else { TokenUse::None }
    }

    /// Asks for data.
    pub(super) fn json<T: DeserializeOwned>(
        &self,
        question: &ApiQuestion<'_>,
        deadline: &QuestionDeadline,
    ) -> Result<T, ApiFailure> {
        self.page(question, deadline).map(|(data, _)| data)
    }

    /// Asks for all pages of a list.
    pub(super) fn pages<T: DeserializeOwned>(
        &self,
        path: &str,
        deadline: &QuestionDeadline,
    ) -> Result<Vec<T>, ApiFailure> {
        let (mut pages, mut path) = (Vec::new(), path.to_owned());
        for _ in 0..MOST_PAGES {
            let (page, next) = self.page(&ApiQuestion::json(&path), deadline)?;
            pages.push(page);
            let Some(next) = next else { return Ok(pages) };
            let Some(next) = self.address.path_of(&next) else {
                let message = format!("`{}` names a next page that is not its own", self.host());
                return Err(ToolError::new(ErrorKind::Io, message).into());
            };
            next.clone_into(&mut path);
        }
        Ok(pages)
    }

    /// Asks for data, and returns it with the URL of the next page.
    fn page<T: DeserializeOwned>(
        &self,
        question: &ApiQuestion<'_>,
        deadline: &QuestionDeadline,
    ) -> Result<(T, Option<String>), ApiFailure> {
        let mut sends = 0;
        loop {
            sends += 1;
            let answer = self.ask(question, deadline)?;
            if let Some(elsewhere) = &answer.redirect {
                return Err(self.leads_elsewhere(elsewhere).into());
            }
            if answer.is_cut {
                return Err(self.too_long(question).into());
            }
            match serde_json::from_slice(&answer.body) {
                Ok(data) => return Ok((data, answer.next.clone())),
                Err(err) if err.is_eof() && sends < MOST_SENDS => {}
                Err(err) => return Err(self.garbled(question, &err).into()),
            }
        }
    }

    /// Asks a question. An answer that is no success is a failure.
    pub(super) fn ask(
        &self,
        question: &ApiQuestion<'_>,
        deadline: &QuestionDeadline,
    ) -> Result<Arc<ApiAnswer>, ApiFailure> {
        let key = key(question);
        let known = match question.lasts {
            AnswerLife::Ever => None,
            AnswerLife::UntilChanged => self.known.get(&key),
        };
        let etag = known.as_ref().map(|known| known.etag.as_str());
        let (mut waits, mut sends) = (0, 0);
        loop {
            self.wait_for_limit(deadline)?;
            let reply = self.send(question, etag, deadline)?;
            sends += 1;
            match (reply.status, &known) {
                (304, Some(known)) => return Ok(Arc::clone(&known.answer)),
                (200, _) if is_page(&reply) && question.form == AnswerForm::Json => {
                    return Err(page_error(self.host(), reply.status).into());
                }
                (200, _) => {
                    let etag = reply.header("etag").map(str::to_owned);
                    let answer = Arc::new(ApiAnswer::from(reply));
                    if let (Some(etag), AnswerLife::UntilChanged) = (etag, question.lasts) {
                        self.known.keep(key, &etag, &answer);
                    }
                    return Ok(answer);
                }
                (300..400, _) if reply.redirect.is_some() => {
                    return Ok(Arc::new(ApiAnswer::from(reply)));
                }
                _ => {}
            }
            if let Some(wait) = LimitWait::of(&reply, &message_of(&reply), Timestamp::now()) {
                *self.limit.lock().unwrap_or_else(PoisonError::into_inner) = Some(wait);
                waits += 1;
                if waits > MOST_LIMIT_WAITS {
                    return Err(ApiFailure { status: reply.status, error: self.limit_error(wait) });
                }
            } else if reply.status == 500
                && sends < MOST_SENDS
                && deadline.has_room_for(RESEND_WAIT)
            {
                deadline.wait(RESEND_WAIT, self.host())?;
            } else {
                return Err(failure_of(&reply, self.host(), self.token_use()));
            }
        }
    }

    fn limit_error(&self, wait: LimitWait) -> ToolError {
        wait.error(self.host(), self.token_use())
    }

    /// Waits until a limit that was reached is over; fails if there is no time for that.
    fn wait_for_limit(&self, deadline: &QuestionDeadline) -> Result<(), ApiFailure> {
        let limit = *self.limit.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(limit) = limit.and_then(|limit| limit.left(Timestamp::now())) else {
            return Ok(());
        };
        if !deadline.has_room_for(limit.wait) {
            return Err(ApiFailure { status: 429, error: self.limit_error(limit) });
        }
        Ok(deadline.wait(limit.wait, self.host())?)
    }

    /// Sends a question, and follows where it leads within the API.
    fn send(
        &self,
        question: &ApiQuestion<'_>,
        etag: Option<&str>,
        deadline: &QuestionDeadline,
    ) -> Result<FetchReply, ToolError> {
        let accept = match question.form {
            AnswerForm::Json => "application/vnd.github+json",
            AnswerForm::Raw => "application/vnd.github.raw+json",
            AnswerForm::CommitId => "application/vnd.github.sha",
        };
        let mut headers = vec![
            ("Accept".to_owned(), accept.to_owned()),
            ("X-GitHub-Api-Version".to_owned(), API_VERSION.to_owned()),
        ];
        headers.extend(etag.map(|etag| ("If-None-Match".to_owned(), etag.to_owned())));
        headers.extend(
            self.token.iter().map(|token| ("Authorization".to_owned(), format!("Bearer {token}"))),
        );
        let mut url = self.address.url(question.path);
        for _ in 0..MOST_API_REDIRECTS {
            let request = FetchRequest {
                headers: headers.clone(),
                most_bytes: question.most_bytes,
                time: deadline.left(self.host())?,
                addresses: self.address.api_addresses(),
                ..FetchRequest::get(url)
            };
            let reply = self.fetch(&request, deadline)?;
            let next = reply.redirect.clone().filter(|next| self.address.has(next));
            let Some(next) = next else { return Ok(reply) };
            url = next;
        }
        let message = format!("`{}` leads on and on", self.host());
        Err(ToolError::new(ErrorKind::Failed, message).with("reason", "too_many_redirects"))
    }

    /// Fetches from a URL that the API named, without the token.
    pub(super) fn fetch_elsewhere(
        &self,
        (url, addresses): (&str, AllowedAddresses),
        most_bytes: usize,
        deadline: &QuestionDeadline,
    ) -> Result<FetchReply, ToolError> {
        let time = deadline.left(self.host())?;
        self.fetch(
            &FetchRequest { most_bytes, time, addresses, ..FetchRequest::get(url) },
            deadline,
        )
    }

    fn fetch(
        &self,
        request: &FetchRequest,
        deadline: &QuestionDeadline,
    ) -> Result<FetchReply, ToolError> {
        let reply = self.net.fetch(request, deadline.cancel());
        let sent = reply.as_ref().map_or(1, |reply| u64::from(reply.attempts.max(1)));
        self.requests.fetch_add(sent, Ordering::Relaxed);
        if let Ok(reply) = &reply {
            let host = Url::parse(&reply.url).ok();
            let host = host.as_ref().and_then(Url::host_str).unwrap_or_default();
            let counter = deadline.cancel().counter().unwrap_or(&self.background);
            counter.count_host(host, sent, request.url.len() as u64, reply.encoded_bytes);
        }
        reply
    }

    fn garbled(&self, question: &ApiQuestion<'_>, err: &serde_json::Error) -> ToolError {
        let what = if err.is_eof() { "breaks off" } else { "is not as documented" };
        let message =
            format!("the answer of `{}` to `{}` {what}: {err}", self.host(), question.path);
        ToolError::new(ErrorKind::Io, message).hint(
            "repeat the call; if it happens again, check the API address and what is in between",
        )
    }

    fn leads_elsewhere(&self, url: &str) -> ToolError {
        let url: String = url.chars().take(200).collect();
        let message = format!("`{}` leads to `{}`", self.host(), url.escape_debug());
        ToolError::new(ErrorKind::Unavailable, message)
            .hint("if that is right, write it as the API address; the token is sent nowhere else")
    }

    fn too_long(&self, question: &ApiQuestion<'_>) -> ToolError {
        let (host, path, most) = (self.host(), question.path, question.most_bytes);
        let message = format!("the answer of `{host}` to `{path}` has more than {most} bytes");
        ToolError::new(ErrorKind::TooLarge, message)
            .hint("connect a clone of the repository to read it")
    }
}

fn key(question: &ApiQuestion<'_>) -> String {
    format!("{:?} {}", question.form, question.path)
}
