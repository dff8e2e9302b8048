//! The page of the server: the link that is printed, and what its session may do.

use serde_json::{Value, json};

use crate::running_server::{LOG, RunningServer};
use crate::scratch::Scratch;

/// A browser that is logged in to the page.
struct PageClient<'a> {
    server: &'a RunningServer<'a>,
    cookie: String,
    csrf: String,
}

impl<'a> PageClient<'a> {
    fn new(server: &'a RunningServer<'a>, proof: &Value) -> Self {
        let (head, body) = log_in(server, proof);
        assert!(head.starts_with("HTTP/1.1 200 "), "{head} {body}");
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let body: Value = serde_json::from_str(&body).unwrap();
        Self { server, cookie, csrf: body["csrf"].as_str().unwrap().to_owned() }
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let Self { cookie, csrf, .. } = self;
        let headers = format!("Cookie: {cookie}\r\nX-Toolcrib-Csrf: {csrf}\r\n");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (head, body) = self.server.exchange(&plain(self.server, method, path, &headers, &body));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body:?}")))
    }

    fn get(&self, path: &str) -> (u16, Value) {
        self.send("GET", path, &Value::Null)
    }

    fn execute(&self, tool: &str, args: &Value) -> (u16, Value) {
        self.send("POST", &format!("/api/tools/execute/{tool}"), &json!({ "args": args }))
    }

    fn answer(&self, id: &str, answer: &Value) -> (u16, Value) {
        self.send("POST", &format!("/api/approvals/{id}"), answer)
    }
}

/// Returns a request without a token, which closes its connection.
fn plain(
    server: &RunningServer<'_>,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> String {
    let (host, length) = (&server.address, body.len());
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

fn log_in(server: &RunningServer<'_>, proof: &Value) -> (String, String) {
    server.exchange(&plain(server, "POST", "/page/login", "", &proof.to_string()))
}

/// Returns the id of the question that a call waits for.
fn question(reply: &Value) -> String {
    reply["approval"]["id"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
}

#[test]
fn the_printed_link_logs_in_who_answers_for_everybody_else() {
    let scratch = Scratch::new();
    let (server, code) = RunningServer::start_with_link(&scratch);
    let page = PageClient::new(&server, &json!({ "link": code }));
    assert!(log_in(&server, &json!({ "link": code })).0.starts_with("HTTP/1.1 401 "));
    let name = format!("page:user-{}", rustix::process::getuid().as_raw());
    let (_, session) = page.get("/page/session");
    assert_eq!((&session["name"], &session["role"]), (&json!(name), &json!("admin")));

    // A call of a token, one of the user at a terminal, and one of the page itself.
    let args = |path: &str| json!({"path": path, "content": "hello"});
    let (_, waits) = server.execute(&server.token("agent"), "write_file", args("agent.txt"));
    let of_agent = question(&waits);
    let call = ["call", "--park", "forgekeeper/write_file", "path=user.txt", "content=hello"];
    assert_eq!(scratch.run(call).code, 4);
    let (_, listed) = page.get("/api/approvals");
    let questions = listed["approvals"].as_array().unwrap();
    let of_user = questions.iter().find(|it| it["caller"]["door"] == "terminal");
    let of_user = of_user.unwrap_or_else(|| panic!("{listed}"))["id"].as_str().unwrap();
    let (status, waits) = page.execute("write_file", &args("page.txt"));
    assert_eq!((status, &waits["error"]), (403, &json!("approval_required")), "{waits}");
    let own = question(&waits);

    let approve = json!({"decision": "approve"});
    for id in [of_agent.as_str(), of_user] {
        let (status, reply) = page.answer(id, &approve);
        assert_eq!((status, &reply["status"]), (200, &json!("approved")), "{reply}");
    }
    let (status, reply) = page.answer(&own, &approve);
    assert_eq!((status, &reply["error"]), (403, &json!("own_call")), "{reply}");
    // Nobody revoked the page, so its question still waits for somebody else.
    let (_, shown) = page.get(&format!("/api/approvals/{own}"));
    assert_eq!(shown["approval"]["status"], "pending", "{shown}");
    let (status, reply) =
        server.post(&server.token("approver"), &format!("/api/approvals/{own}"), &approve);
    assert_eq!((status, &reply["status"]), (200, &json!("approved")), "{reply}");

    let (_, story) = page.get(&format!("/api/audit/{of_agent}"));
    assert_eq!(story["call"]["by"], json!(name), "{story}");
    let (_, story) = page.get(&format!("/api/audit/{own}"));
    assert_eq!(
        (&story["call"]["principal"], &story["call"]["client"]),
        (&json!(name), &json!("page"))
    );

    let (status, _) = page.send("POST", "/page/logout", &Value::Null);
    assert_eq!((status, page.get("/api/version").0), (200, 401));
    let (exit, said) = server.stop();
    let log = std::fs::read_to_string(scratch.path(LOG)).unwrap();
    assert_eq!((exit, log.contains(&code), said.contains(&code)), (0, false, false), "{log}");
    assert!(log.contains("route=\"/page/login\""), "{log}");
}

#[test]
fn a_server_whose_output_is_no_terminal_prints_no_link() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let page = PageClient::new(&server, &json!({"token": server.token("approver")}));
    assert_eq!(page.get("/api/version").0, 200);
    let (head, body) = server.exchange(&plain(&server, "GET", "/approvals", "", ""));
    assert!(head.starts_with("HTTP/1.1 200 ") && body.contains("/assets/page.js"), "{head}");
    let (_, said) = server.stop();
    assert!(said.contains("Stopped") && !said.contains("link"), "{said}");
}

#[test]
fn the_token_of_a_session_can_be_rotated_and_revoked() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let log_in = |name: &str| PageClient::new(&server, &json!({"token": server.token(name)}));
    let (approver, admin, agent) = (log_in("approver"), log_in("admin"), log_in("agent"));
    for page in [&approver, &admin, &agent] {
        assert_eq!(page.get("/api/version").0, 200);
    }
    assert_eq!(scratch.run(["tokens", "revoke", "approver"]).code, 0);
    assert_eq!(scratch.run(["tokens", "rotate", "admin"]).code, 0);
    for page in [&approver, &admin] {
        assert_eq!(page.get("/api/version").0, 401);
        assert_eq!(page.get("/page/session").0, 401);
    }
    assert_eq!(agent.get("/api/version").0, 200);
    // The page does what the role may.
    let (status, refused) = agent.get("/api/approvals");
    assert_eq!((status, &refused["error"]), (403, &json!("role_not_allowed")), "{refused}");
}
