//! A server that speaks GitHub's REST API, as far as it is documented, for a bare git repository on disk. It can be told
//! to rename, to limit, to truncate and to fail.

#![allow(dead_code, reason = "each test program uses its own part of this")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

/// A request that came in.
#[derive(Clone, Debug)]
pub(crate) struct SeenRequest {
    /// Whether it came to the host of archives.
    pub(crate) is_for_archive: bool,
    /// The path with its query.
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) status: u16,
}

/// A reply in the place of the right one.
#[derive(Clone, Debug)]
pub(crate) struct PlannedFault {
    /// What the path of the request contains.
    pub(crate) path: &'static str,
    /// How many requests get it.
    pub(crate) times: usize,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

/// What the server is like.
pub(crate) struct ServerPlan {
    /// `owner/name`.
    pub(crate) name: String,
    /// The name before it was renamed.
    pub(crate) old_name: Option<String>,
    /// The token that requests need. Without one, anybody may ask.
    pub(crate) token: Option<String>,
    /// The most entries of a listing of all directories.
    pub(crate) most_entries: usize,
    /// How many requests are left until the limit.
    pub(crate) left: u64,
    /// When the limit ends, in seconds from now.
    pub(crate) reset_in: i64,
    pub(crate) faults: Vec<PlannedFault>,
    /// Other resources, by path without query. An array has pages.
    pub(crate) resources: HashMap<String, Value>,
    pub(crate) seen: Vec<SeenRequest>,
}

struct ServerState {
    repository: PathBuf,
    objects: Mutex<HashMap<String, (String, Vec<u8>)>>,
    plan: Mutex<ServerPlan>,
    api: SocketAddr,
    archives: SocketAddr,
    is_over: AtomicBool,
}

/// A running server.
pub(crate) struct GitHubServer(Arc<ServerState>);

/// A reply as it is written.
struct ServedReply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl GitHubServer {
    /// Starts a server for a repository, which is called `octo/demo`.
    pub(crate) fn start(repository: &Path) -> Self {
        let api = TcpListener::bind("127.0.0.1:0").unwrap();
        let archives = TcpListener::bind("127.0.0.1:0").unwrap();
        let plan = ServerPlan {
            name: "octo/demo".to_owned(),
            old_name: None,
            token: None,
            most_entries: 100_000,
            left: 5000,
            reset_in: 3600,
            faults: Vec::new(),
            resources: HashMap::new(),
            seen: Vec::new(),
        };
        let state = Arc::new(ServerState {
            repository: repository.to_owned(),
            objects: Mutex::default(),
            plan: Mutex::new(plan),
            api: api.local_addr().unwrap(),
            archives: archives.local_addr().unwrap(),
            is_over: AtomicBool::new(false),
        });
        let server = Self(state);
        server.reload();
        for (listener, is_for_archive) in [(api, false), (archives, true)] {
            let state = Arc::clone(&server.0);
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    if state.is_over.load(Ordering::SeqCst) {
                        return;
                    }
                    let state = Arc::clone(&state);
                    std::thread::spawn(move || state.serve(stream.unwrap(), is_for_archive));
                }
            });
        }
        server
    }

    /// The address of the API.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.0.api)
    }

    /// The port at which archives are.
    pub(crate) fn archive_port(&self) -> u16 {
        self.0.archives.port()
    }

    pub(crate) fn plan(&self) -> MutexGuard<'_, ServerPlan> {
        self.0.plan.lock().unwrap()
    }

    /// Returns the requests since the last call.
    pub(crate) fn take_seen(&self) -> Vec<SeenRequest> {
        std::mem::take(&mut self.plan().seen)
    }

    /// Makes the server fail.
    pub(crate) fn fail(&self, path: &'static str, times: usize, status: u16, body: &str) {
        let (headers, body) = (Vec::new(), body.to_owned());
        self.plan().faults.push(PlannedFault { path, times, status, headers, body });
    }

    /// Forgets all objects.
    pub(crate) fn forget_objects(&self) {
        self.0.objects.lock().unwrap().clear();
    }

    /// Reads the objects of the repository again.
    pub(crate) fn reload(&self) {
        let format = "--batch-all-objects";
        let output = self.0.git(&["cat-file", "--batch", format]);
        let (mut objects, mut rest) = (HashMap::new(), output.as_slice());
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let header = String::from_utf8(rest[..end].to_vec()).unwrap();
            let [id, kind, size] = header.split(' ').collect::<Vec<_>>()[..] else { panic!() };
            let size: usize = size.parse().unwrap();
            let content = rest[end + 1..end + 1 + size].to_vec();
            objects.insert(id.to_owned(), (kind.to_owned(), content));
            rest = &rest[end + 2 + size..];
        }
        *self.0.objects.lock().unwrap() = objects;
    }
}

impl Drop for GitHubServer {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::SeqCst);
        for address in [self.0.api, self.0.archives] {
            let _ = TcpStream::connect(address);
        }
    }
}

impl ServedReply {
    fn json(status: u16, body: &Value) -> Self {
        let headers =
            vec![("content-type".to_owned(), "application/json; charset=utf-8".to_owned())];
        Self { status, headers, body: serde_json::to_vec(body).unwrap() }
    }

    fn error(status: u16, message: &str) -> Self {
        let status_text = status.to_string();
        let documentation = "https://docs.github.com/rest";
        Self::json(
            status,
            &json!({"message": message, "documentation_url": documentation, "status": status_text}),
        )
    }

    fn bytes(kind: &str, body: Vec<u8>) -> Self {
        Self { status: 200, headers: vec![("content-type".to_owned(), kind.to_owned())], body }
    }

    fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }
}

impl ServerState {
    fn git(&self, args: &[&str]) -> Vec<u8> {
        let mut command = Command::new("git");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.args(["-c", "safe.directory=*", "-C"]).arg(&self.repository).args(args);
        command.output().unwrap().stdout
    }

    fn plan(&self) -> MutexGuard<'_, ServerPlan> {
        self.plan.lock().unwrap()
    }

    fn serve(&self, stream: TcpStream, is_for_archive: bool) {
        let mut input = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        if input.read_line(&mut line).unwrap_or_default() == 0 {
            return;
        }
        let path = line.split(' ').nth(1).unwrap().to_owned();
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            input.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let reply = match is_for_archive {
            true => self.archive(&path),
            false => self.limited(&path, &headers),
        };
        let status = reply.status;
        self.plan().seen.push(SeenRequest { is_for_archive, path, headers, status });
        let mut head = format!("HTTP/1.1 {status} Status\r\nConnection: close\r\n");
        for (name, value) in &reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if status != 304 {
            head.push_str(&format!("Content-Length: {}\r\n", reply.body.len()));
        }
        head.push_str("\r\n");
        let mut stream = stream;
        // A client that is gone is none of the server's business.
        let _ = stream.write_all(head.as_bytes());
        if status != 304 {
            let _ = stream.write_all(&reply.body);
        }
    }

    /// Answers a request within the limit. An answer that has not changed costs nothing.
    fn limited(&self, path: &str, headers: &HashMap<String, String>) -> ServedReply {
        if let Some(fault) = self.fault(path) {
            return fault;
        }
        if !headers.contains_key("user-agent") {
            return ServedReply::error(403, "Request forbidden by administrative rules.");
        }
        let now = jiff::Timestamp::now().as_second();
        let (left, reset) = {
            let plan = self.plan();
            (plan.left, now + plan.reset_in)
        };
        let limits = |reply: ServedReply, left: u64| {
            reply
                .with("x-ratelimit-limit", 5000)
                .with("x-ratelimit-remaining", left)
                .with("x-ratelimit-used", 5000 - left.min(5000))
                .with("x-ratelimit-reset", reset)
                .with("x-ratelimit-resource", "core")
                .with("x-github-request-id", "0:0:0")
        };
        let reply = self.answer(path, headers);
        let etag = format!("W/\"{:016x}\"", hash(&reply.body));
        if reply.status == 200 && headers.get("if-none-match") == Some(&etag) {
            let headers = vec![("etag".to_owned(), etag)];
            return limits(ServedReply { status: 304, headers, body: Vec::new() }, left);
        }
        if left == 0 {
            let error = ServedReply::error(403, "API rate limit exceeded for 127.0.0.1.");
            return limits(error, 0);
        }
        self.plan().left = left - 1;
        let reply = if reply.status == 200 { reply.with("etag", etag) } else { reply };
        limits(reply, left - 1)
    }

    fn fault(&self, path: &str) -> Option<ServedReply> {
        let mut plan = self.plan();
        let fault = plan.faults.iter_mut().find(|it| it.times > 0 && path.contains(it.path))?;
        fault.times -= 1;
        let mut reply = ServedReply::bytes("application/json", fault.body.clone().into_bytes());
        if fault.body.starts_with('<') {
            reply = ServedReply::bytes("text/html", reply.body);
        }
        reply.status = fault.status;
        let headers = fault.headers.iter();
        reply.headers.extend(headers.map(|(name, value)| ((*name).to_owned(), value.clone())));
        Some(reply)
    }

    fn answer(&self, path: &str, headers: &HashMap<String, String>) -> ServedReply {
        let (name, old_name, token) = {
            let plan = self.plan();
            (plan.name.clone(), plan.old_name.clone(), plan.token.clone())
        };
        let sent = headers.get("authorization").and_then(|it| it.strip_prefix("Bearer "));
        match (&token, sent) {
            (Some(token), Some(sent)) if token != sent => {
                return ServedReply::error(401, "Bad credentials");
            }
            // A private repository is not told of.
            (Some(_), None) => return ServedReply::error(404, "Not Found"),
            _ => {}
        }
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        if let Some(old) = &old_name
            && let Some(rest) = path.strip_prefix(&format!("/repos/{old}"))
        {
            let location = format!("http://{}/repositories/1{rest}", self.api);
            return ServedReply::json(
                301,
                &json!({"message": "Moved Permanently", "url": location}),
            )
            .with("location", location);
        }
        let own = format!("/repos/{name}");
        let rest = path.strip_prefix(&own).or_else(|| path.strip_prefix("/repositories/1"));
        if let Some(resource) = self.plan().resources.get(path) {
            return self.page(path, query, resource);
        }
        match rest {
            Some(rest) => self.repository(&name, rest, query, headers),
            None => ServedReply::error(404, "Not Found"),
        }
    }

    /// Answers with a page of a list, and with the whole of everything else.
    fn page(&self, path: &str, query: &str, resource: &Value) -> ServedReply {
        let number = |name: &str, default: usize| {
            let parts = query.split('&').filter_map(|part| part.split_once('='));
            parts
                .filter(|(it, _)| *it == name)
                .find_map(|(_, it)| it.parse().ok())
                .unwrap_or(default)
        };
        let (per_page, page) = (number("per_page", 30).min(100), number("page", 1));
        let inner = ["check_runs", "statuses"].into_iter().find(|name| resource[*name].is_array());
        let Some(all) =
            inner.map_or(Some(resource), |name| resource.get(name)).and_then(Value::as_array)
        else {
            return ServedReply::json(200, resource);
        };
        let items: Vec<Value> =
            all.iter().skip((page - 1) * per_page).take(per_page).cloned().collect();
        let body = match inner {
            None => Value::Array(items),
            Some(name) => {
                let mut body = resource.clone();
                body[name] = Value::Array(items);
                body
            }
        };
        let reply = ServedReply::json(200, &body);
        if page * per_page >= all.len() {
            return reply;
        }
        let last = all.len().div_ceil(per_page);
        let url =
            |page: usize| format!("<http://{}{path}?per_page={per_page}&page={page}>", self.api);
        reply.with("link", format!("{}; rel=\"next\", {}; rel=\"last\"", url(page + 1), url(last)))
    }

    fn repository(
        &self,
        name: &str,
        rest: &str,
        query: &str,
        headers: &HashMap<String, String>,
    ) -> ServedReply {
        let accept = headers.get("accept").map_or("", String::as_str);
        let parts: Vec<&str> = rest.trim_start_matches('/').split('/').collect();
        match parts[..] {
            [""] => ServedReply::json(
                200,
                &json!({
                    "id": 1, "full_name": name, "name": name.split('/').nth(1), "private": false,
                    "default_branch": "main", "size": 1, "archived": false,
                }),
            ),
            ["branches"] => {
                let names = String::from_utf8(self.git(&[
                    "for-each-ref",
                    "--format=%(refname:short)",
                    "refs/heads",
                ]));
                let names = names.unwrap();
                let branches = names.lines().map(|name| json!({"name": name, "protected": false}));
                ServedReply::json(200, &Value::Array(branches.collect()))
            }
            ["commits", ..] => self.commit(&unescaped(&parts[1..].join("/")), accept),
            ["git", "commits", id] => match self.object(id, "commit") {
                Some(content) => {
                    let text = String::from_utf8(content).unwrap();
                    let tree = text.lines().next().unwrap().strip_prefix("tree ").unwrap();
                    ServedReply::json(200, &json!({"sha": id, "tree": {"sha": tree}}))
                }
                None => ServedReply::error(404, "Not Found"),
            },
            ["git", "trees", id] => self.trees(id, query),
            ["git", "blobs", id] => match self.object(id, "blob") {
                Some(content) if accept.contains("raw") => {
                    ServedReply::bytes("application/vnd.github.raw+json; charset=utf-8", content)
                }
                Some(_) => ServedReply::error(415, "Unsupported"),
                None => ServedReply::error(404, "Not Found"),
            },
            ["tarball", id] => {
                let host = format!("http://{}", self.archives);
                let location = format!("{host}/{name}/legacy.tar.gz/{id}?token=once");
                ServedReply::bytes("text/html;charset=utf-8", Vec::new())
                    .with("location", location)
                    .with_status(302)
            }
            _ => ServedReply::error(404, "Not Found"),
        }
    }

    fn commit(&self, revision: &str, accept: &str) -> ServedReply {
        if self.git(&["for-each-ref", "--count=1"]).is_empty() {
            return ServedReply::error(409, "Git Repository is empty.");
        }
        let revision_arg = format!("{revision}^{{commit}}");
        let id = self.git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &revision_arg]);
        let id = String::from_utf8(id).unwrap().trim().to_owned();
        if id.is_empty() {
            return ServedReply::error(422, &format!("No commit found for SHA: {revision}"));
        }
        assert!(accept.contains("vnd.github.sha"), "{accept}");
        ServedReply::bytes("application/vnd.github.sha; charset=utf-8", id.into_bytes())
    }

    fn object(&self, id: &str, kind: &str) -> Option<Vec<u8>> {
        let objects = self.objects.lock().unwrap();
        objects.get(id).filter(|(it, _)| it == kind).map(|(_, content)| content.clone())
    }

    fn trees(&self, id: &str, query: &str) -> ServedReply {
        if self.object(id, "tree").is_none() {
            return ServedReply::error(404, "Not Found");
        }
        let (mut items, most) = (Vec::new(), self.plan().most_entries);
        let is_recursive = query.contains("recursive=1");
        self.list(id, "", is_recursive, &mut items);
        let is_truncated = is_recursive && items.len() > most;
        if is_truncated {
            items.truncate(most);
        }
        let url = format!("http://{}/repos/octo/demo/git/trees/{id}", self.api);
        let reply = json!({"sha": id, "url": url, "tree": items, "truncated": is_truncated});
        ServedReply::json(200, &reply)
    }

    fn list(&self, id: &str, above: &str, is_recursive: bool, items: &mut Vec<Value>) {
        let tree = self.object(id, "tree").unwrap();
        let mut rest = tree.as_slice();
        while !rest.is_empty() {
            let space = rest.iter().position(|byte| *byte == b' ').unwrap();
            let end = rest.iter().position(|byte| *byte == 0).unwrap();
            let mode = std::str::from_utf8(&rest[..space]).unwrap();
            // JSON cannot carry a name that is not Unicode.
            let name = String::from_utf8_lossy(&rest[space + 1..end]).into_owned();
            let id: String =
                rest[end + 1..end + 21].iter().map(|byte| format!("{byte:02x}")).collect();
            rest = &rest[end + 21..];
            let path = if above.is_empty() { name } else { format!("{above}/{name}") };
            let kind = match mode {
                "40000" => "tree",
                "160000" => "commit",
                _ => "blob",
            };
            let mode = format!("{mode:0>6}");
            let mut item = json!({"path": path, "mode": mode, "type": kind, "sha": id});
            if kind == "blob" {
                item["size"] = self.objects.lock().unwrap()[&id].1.len().into();
            }
            items.push(item);
            if kind == "tree" && is_recursive {
                self.list(&id, &path, true, items);
            }
        }
    }

    /// Answers as the host of archives. It wants no token but that of its URL.
    fn archive(&self, path: &str) -> ServedReply {
        if let Some(fault) = self.fault(path) {
            return fault;
        }
        let path = path.strip_suffix("?token=once").unwrap();
        let id = path.rsplit('/').next().unwrap();
        let prefix = format!("--prefix=octo-demo-{}/", &id[..7]);
        let archive = self.git(&["archive", "--format=tar.gz", &prefix, id]);
        ServedReply::bytes("application/x-gzip", archive)
    }
}

impl ServedReply {
    fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }
}

fn hash(bytes: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

fn unescaped(path: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), path.as_bytes());
    while let [first, more @ ..] = rest {
        if *first == b'%' {
            let digits = std::str::from_utf8(&more[..2]).unwrap();
            bytes.push(u8::from_str_radix(digits, 16).unwrap());
            rest = &more[2..];
        } else {
            bytes.push(*first);
            rest = more;
        }
    }
    String::from_utf8(bytes).unwrap()
}
