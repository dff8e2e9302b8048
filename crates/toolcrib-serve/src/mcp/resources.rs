//! Resources: what became of a call, its saved output, the differences that it made, and files of the workspace.

use std::fmt::Write as _;
use std::sync::Arc;

use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};
use toolcrib_core::calling_client::Answers;
use toolcrib_core::command::{Lines, Stream};
use toolcrib_core::material::ResourceContent;
use toolcrib_core::{Call, Cancel, ChangeKind, Verdict, counted};
use toolcrib_ledger::new_call_id;
use toolcrib_runtime::Nobody;

use super::client_connection::{ClientConnection, McpCaller};
use super::server::McpServer;
use super::tool_call::CallEnd;
use crate::api::{FileDifference, LineKind, visible_story};
use crate::reply::ApiError;

/// The beginning of the address of a call.
const CALLS: &str = "toolcrib://calls/";

/// The beginning of the address of a file of the workspace.
const FILES: &str = "toolcrib://files/";

/// The tool that reads a file for a resource: it returns the text as it is.
const READ_TOOL: &str = "forgekeeper/read_file";

/// The most commands that are listed.
const MOST_LISTED: usize = 100;

/// The most bytes of saved output in one resource.
const MOST_BYTES: usize = 1 << 20;

/// What a resource is about.
#[derive(Debug, PartialEq, Eq)]
enum Wanted<'a> {
    Story(&'a str),
    Output(&'a str, Stream),
    Difference(&'a str),
    File(String),
}

impl<'a> Wanted<'a> {
    fn parse(uri: &'a str) -> Option<Self> {
        if let Some(path) = uri.strip_prefix(FILES) {
            return percent_decoded(path).filter(|path| !path.is_empty()).map(Self::File);
        }
        let (id, part) = match uri.strip_prefix(CALLS)?.split_once('/') {
            Some((id, part)) => (id, part),
            None => (uri.strip_prefix(CALLS)?, ""),
        };
        match part {
            "" => Some(Self::Story(id)),
            "output" => Some(Self::Output(id, Stream::Stdout)),
            "stderr" => Some(Self::Output(id, Stream::Stderr)),
            "diff" => Some(Self::Difference(id)),
            _ => None,
        }
    }
}

/// Returns the id of the call that a resource is about, if it is about one.
pub(super) fn call_in(uri: &str) -> Option<&str> {
    match Wanted::parse(uri)? {
        Wanted::Story(id) | Wanted::Output(id, _) | Wanted::Difference(id) => Some(id),
        Wanted::File(_) => None,
    }
}

impl McpServer {
    /// Whether a catalogue has a resource of this address.
    pub(super) fn has_catalogue_resource(&self, uri: &str) -> bool {
        self.catalogue_resource(uri).is_some()
    }

    /// Returns the kinds of resources.
    pub(super) fn resource_templates(&self) -> ListResourceTemplatesResult {
        let of_catalogues = self.catalogues().into_iter().flat_map(|it| it.material.resources);
        let of_catalogues = of_catalogues.filter(|it| it.is_template()).map(|it| {
            ResourceTemplate::new(it.uri, it.name)
                .with_description(it.about)
                .with_mime_type(it.kind)
        });
        let templates = templates().into_iter().chain(of_catalogues).collect();
        let mut result = ListResourceTemplatesResult::with_all_items(templates);
        result.ttl_ms = Some(3_600_000);
        result.cache_scope = Some(CacheScope::Public);
        result
    }

    /// Reads a resource of a catalogue, if it is one.
    fn catalogue_resource(&self, uri: &str) -> Option<ResourceContents> {
        let catalogues = self.catalogues();
        let mut resources = catalogues.into_iter().flat_map(|it| it.material.resources);
        let (content, kind) = resources.find_map(|it| Some((it.read(uri)?, it.kind)))?;
        let contents = match content {
            ResourceContent::Text(text) => ResourceContents::text(text, uri),
            ResourceContent::Base64(blob) => ResourceContents::blob(blob, uri),
        };
        Some(contents.with_mime_type(kind))
    }
}

/// Returns the kinds of resources that come with Toolcrib.
fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: String, name: &str, title: &str, about: &str, kind: &str| {
        ResourceTemplate::new(uri, name)
            .with_title(title)
            .with_description(about)
            .with_mime_type(kind)
    };
    let text = "text/plain";
    vec![
        template(
            format!("{CALLS}{{call}}"),
            "call",
            "Call",
            "What became of a call: who made it, what was decided and by which rule, its outcome and its changes. Replies have the id of their call in `_meta`.",
            "application/json",
        ),
        template(
            format!("{CALLS}{{call}}/output"),
            "output",
            "Output",
            "What the command of a call wrote to stdout.",
            text,
        ),
        template(
            format!("{CALLS}{{call}}/stderr"),
            "stderr",
            "Errors",
            "What the command of a call wrote to stderr.",
            text,
        ),
        template(
            format!("{CALLS}{{call}}/diff"),
            "diff",
            "Difference",
            "What a call changed in files.",
            "text/x-diff",
        ),
        template(
            format!("{FILES}{{+path}}"),
            "file",
            "File",
            "A text file of the workspace. To read it is a call of its own, decided and recorded.",
            text,
        ),
    ]
}

impl ClientConnection {
    /// Returns the commands whose output is saved, newest first.
    pub(super) async fn list_outputs(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let who = self.caller(context)?;
        let tasks = self.server.api.visible_tasks(&who.caller).await.map_err(|err| failed(&err))?;
        let listed = tasks.into_iter().take(MOST_LISTED).map(|task| {
            let command: String = task.command.chars().take(200).collect();
            Resource::new(format!("{CALLS}{}/output", task.id), task.id)
                .with_title(self.server.api.redactor.clean(&command))
                .with_description(format!("What the command of {} printed.", task.started))
                .with_mime_type("text/plain")
        });
        let of_catalogues =
            self.server.catalogues().into_iter().flat_map(|it| it.material.resources);
        let of_catalogues = of_catalogues.filter(|it| !it.is_template()).map(|it| {
            Resource::new(it.uri, it.name).with_description(it.about).with_mime_type(it.kind)
        });
        let mut result = ListResourcesResult::with_all_items(listed.chain(of_catalogues).collect());
        result.ttl_ms = Some(0);
        result.cache_scope = Some(CacheScope::Private);
        Ok(result)
    }

    /// Reads a resource.
    pub(super) async fn read(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResult, ErrorData> {
        let who = self.caller(context)?;
        if let Some(contents) = self.server.catalogue_resource(uri) {
            return Ok(read_result(contents));
        }
        let wanted = Wanted::parse(uri).ok_or_else(|| {
            let message = format!("no resource `{uri}`; resources/templates/list has the forms");
            ErrorData::resource_not_found(message, Some(json!({"uri": uri})))
        })?;
        let (text, kind) = match wanted {
            Wanted::Story(id) => (self.story(id, &who).await?, "application/json"),
            Wanted::Output(id, stream) => (self.output(id, stream, &who).await?, "text/plain"),
            Wanted::Difference(id) => (self.difference(id, &who).await?, "text/x-diff"),
            Wanted::File(path) => (self.file(path, who, context).await?, "text/plain"),
        };
        Ok(read_result(ResourceContents::text(text, uri).with_mime_type(kind)))
    }

    async fn story(&self, id: &str, who: &McpCaller) -> Result<String, ErrorData> {
        let (story, _) =
            visible_story(&self.server.api, &who.caller, id).await.map_err(|err| failed(&err))?;
        let story = serde_json::to_value(&story).unwrap_or_default();
        Ok(format!("{:#}", self.server.api.redactor.clean_json(&story)))
    }

    async fn output(&self, id: &str, stream: Stream, who: &McpCaller) -> Result<String, ErrorData> {
        let api = &self.server.api;
        let (story, _) = visible_story(api, &who.caller, id).await.map_err(|err| failed(&err))?;
        let is_own = story.summary.caller.principal.as_ref() == Some(&who.caller.principal.name);
        let (backend, call) = (Arc::clone(&api.ports.backend), id.to_owned());
        let lines = Lines { from: 1, count: u64::MAX, most: MOST_BYTES };
        let read = move || backend.output(&call, stream, lines);
        let excerpt = tokio::task::spawn_blocking(read).await;
        let excerpt =
            excerpt.map_err(|_| ErrorData::internal_error("the output cannot be read", None))?;
        let excerpt = excerpt.map_err(|err| {
            ErrorData::resource_not_found(err.to_string(), Some(json!({"call": id})))
        })?;
        let mut text = excerpt.text;
        if !is_own {
            // Only the one who made the call sees what may be secret in its output.
            text = api.redactor.clean(&text).into_owned();
        }
        if text.len() >= MOST_BYTES || excerpt.count < excerpt.total {
            let (count, total) = (excerpt.count, excerpt.total);
            let _ = write!(text, "\n[cut: this is about {count} of {total} lines]");
        }
        Ok(text)
    }

    async fn difference(&self, id: &str, who: &McpCaller) -> Result<String, ErrorData> {
        let (story, differences) =
            visible_story(&self.server.api, &who.caller, id).await.map_err(|err| failed(&err))?;
        let mut text = String::new();
        for (change, difference) in story.changes.iter().zip(differences) {
            let done = match change.kind {
                ChangeKind::Created | ChangeKind::MadeDirectory => "created",
                ChangeKind::Replaced => "changed",
                ChangeKind::Removed | ChangeKind::RemovedDirectory => "removed",
            };
            let _ = writeln!(text, "{} ({done})", change.path);
            match difference {
                None => {}
                Some(FileDifference::Note(note)) => {
                    let _ = writeln!(text, "  ({note})");
                }
                Some(FileDifference::Lines(difference)) => {
                    let left_out = difference.left_out;
                    for line in difference.lines {
                        let mark = match line.kind {
                            LineKind::Added => '+',
                            LineKind::Removed => '-',
                            LineKind::Same => ' ',
                            LineKind::Gap => '…',
                        };
                        let _ = writeln!(text, "{mark}{}", line.text);
                    }
                    if left_out > 0 {
                        let left_out = counted(left_out as u64, "more line");
                        let _ = writeln!(text, "[not shown: {left_out}]");
                    }
                }
            }
        }
        Ok(text)
    }

    /// Reads a file of the workspace by a call, so that it is decided and recorded like any other.
    async fn file(
        &self,
        path: String,
        who: McpCaller,
        context: &RequestContext<RoleServer>,
    ) -> Result<String, ErrorData> {
        self.check_offered(&path, &who).await?;
        let McpCaller { caller, session } = who;
        let args = json!({"path": path});
        let call = Call::new(new_call_id(), session, caller, READ_TOOL.into(), args);
        let CallEnd::Ended(made) =
            self.run(call, Arc::new(Nobody), Answers::new(), context).await?
        else {
            return Err(ErrorData::internal_error("the file cannot be read now", None));
        };
        if made.reply["result"]["truncated"] == true {
            // A client may write back what it read, so a part must not look like the whole.
            let lines = &made.reply["result"]["total_lines"];
            let message = format!(
                "`{path}` has {lines} lines, too many for a resource; read it in parts with a tool"
            );
            return Err(ErrorData::invalid_params(message, Some(json!({"path": path}))));
        }
        match (&made.error, made.reply["result"]["content"].as_str()) {
            (None, Some(content)) => Ok(content.to_owned()),
            (Some(err), _) => {
                let message = format!("`{path}` cannot be read: {err}");
                Err(ErrorData::resource_not_found(message, Some(json!({"path": path}))))
            }
            (None, None) => Err(ErrorData::internal_error("the file has no text", None)),
        }
    }
}

impl ClientConnection {
    /// Refuses a file if the client has no tool to read it with, or if rules would not let that tool read it.
    async fn check_offered(&self, path: &str, who: &McpCaller) -> Result<(), ErrorData> {
        let refused = |why: &str| {
            let message = format!("`{path}` cannot be read: {why}");
            ErrorData::resource_not_found(message, Some(json!({"path": path})))
        };
        let offered = self.server.offered();
        let reader = offered.iter().find(|tool| tool.offer.full_name().tool() == "read_file");
        let Some(reader) = reader else {
            return Err(refused("this client is not offered a tool that reads files"));
        };
        let schema = reader.offer.tool.schema();
        let key = schema["required"][0].as_str().unwrap_or("path").to_owned();
        let mut args = Map::new();
        args.insert(key, path.into());
        let (session, caller) = (who.session.clone(), Arc::clone(&who.caller));
        let tool = reader.offer.full_name().clone();
        let call = Call::new(new_call_id(), session, caller, tool, Value::Object(args));
        let runtime = self.server.api.runtime.current();
        match runtime.explain(call, Cancel::default()).await {
            Ok(preview) if preview.decision.verdict() == Verdict::Deny => {
                Err(refused(&preview.decision.because))
            }
            // What else is wrong with it, the call itself finds out and records.
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

fn failed(err: &ApiError) -> ErrorData {
    if err.status().is_server_error() {
        return ErrorData::internal_error(err.message().to_owned(), None);
    }
    ErrorData::resource_not_found(err.message().to_owned(), None)
}

/// Returns a text with `%41` for `A` decoded, or nothing if it is not UTF-8 then.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push((high * 16 + low) as u8);
    }
    String::from_utf8(bytes).ok()
}

/// Returns a resource that a client must read anew each time.
fn read_result(contents: ResourceContents) -> ReadResourceResult {
    let mut result = ReadResourceResult::new(vec![contents]);
    result.ttl_ms = Some(0);
    result.cache_scope = Some(CacheScope::Private);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_what_is_wanted() {
        let file = |path: &str| Some(Wanted::File(path.to_owned()));
        for (uri, expect) in [
            ("toolcrib://calls/01A", Some(Wanted::Story("01A"))),
            ("toolcrib://calls/01A/output", Some(Wanted::Output("01A", Stream::Stdout))),
            ("toolcrib://calls/01A/stderr", Some(Wanted::Output("01A", Stream::Stderr))),
            ("toolcrib://calls/01A/diff", Some(Wanted::Difference("01A"))),
            ("toolcrib://files/src/a%20b.rs", file("src/a b.rs")),
            ("toolcrib://files/100%25", file("100%")),
            ("toolcrib://calls/01A/other", None),
            ("toolcrib://files/", None),
            ("toolcrib://files/%zz", None),
            ("toolcrib://files/%ff", None),
            ("file:///etc/passwd", None),
            ("", None),
        ] {
            assert_eq!(Wanted::parse(uri), expect, "{uri}");
        }
    }
}
