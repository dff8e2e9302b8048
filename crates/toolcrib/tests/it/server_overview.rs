//! How all tools do in a window of time, and one of them, as the server tells it.

use serde_json::{Value, json};

use crate::running_server::{RunningServer, wait_until};
use crate::scratch::Scratch;

/// Returns the row of a tool.
fn row(overview: &Value, tool: &str) -> Value {
    let rows = overview["tools"].as_array().unwrap();
    let row = rows.iter().find(|row| row["tool"] == tool);
    row.unwrap_or_else(|| panic!("{tool} is in {overview}")).clone()
}

#[test]
fn calls_that_ran_failed_were_refused_and_were_declined_are_four_counts() {
    let scratch = Scratch::new();
    scratch.put("notes.txt", "one\n");
    let server = RunningServer::start(&scratch);
    let (agent, approver) = (server.token("agent"), server.token("approver"));
    let overview = |query: &str| server.get(&approver, &format!("/api/overview{query}"));
    let (status, empty) = overview("");
    assert_eq!(status, 200, "{empty}");
    assert_eq!((&empty["window"], &empty["strip"]["calls"]["total"]), (&json!("1h"), &json!(0)));
    assert_eq!(empty["strip"]["errors"]["percent"], Value::Null);
    let never = row(&empty, "clemini/grep");
    assert_eq!(
        (&never["kind"], &never["tier"], &never["calls"]),
        (&json!("built_in"), &json!(1), &json!(0))
    );

    server.execute(&agent, "read_file", json!({"path": "notes.txt"}));
    server.execute(&agent, "read_file", json!({"path": "nope.txt"}));
    server.execute(&agent, "read_file", json!({"pathh": 1}));
    let waits = |path: &str| {
        let waits = server.execute(&agent, "write_file", json!({"path": path, "content": "x"})).1;
        waits["approval"]["id"].as_str().unwrap().to_owned()
    };
    let (declined, approved) = (waits("a.txt"), waits("b.txt"));
    let (_, waiting) = overview("?window=15m");
    assert_eq!(waiting["strip"]["approvals"]["waiting"], 2, "{waiting}");
    assert!(waiting["strip"]["approvals"]["next_expires_at"].is_string());
    let asked = row(&waiting, "forgekeeper/write_file");
    let counts = |row: &Value| ["calls", "failed", "refused", "declined"].map(|it| row[it].clone());
    assert_eq!(counts(&asked), [0, 0, 0, 0].map(Value::from), "nobody has answered");
    for (id, decision) in [(&declined, "deny"), (&approved, "approve")] {
        let path = format!("/api/approvals/{id}");
        assert_eq!(server.post(&approver, &path, &json!({"decision": decision})).0, 200);
    }
    wait_until(|| row(&overview("").1, "forgekeeper/write_file")["calls"] == 1);
    let (_, found) = overview("?window=24h");
    assert_eq!(counts(&row(&found, "forgekeeper/write_file")), [1, 0, 0, 1].map(Value::from));
    let read = row(&found, "forgekeeper/read_file");
    assert_eq!(counts(&read), [2, 1, 1, 0].map(Value::from));
    assert_eq!(read["last_error"]["code"], "not_found");
    assert_eq!(read["health"]["state"], "ok");
    let strip = &found["strip"];
    assert_eq!((&strip["calls"]["total"], &strip["errors"]["failed"]), (&json!(3), &json!(1)));
    let points = found["axis"]["points"].as_u64().unwrap() as usize;
    for series in [&strip["calls"]["series"], &strip["p95"]["series_ms"]] {
        assert_eq!(series.as_array().unwrap().len(), points);
    }

    let series = |query: &str| server.get(&approver, &format!("/api/stats/series?{query}"));
    let (status, one) = series("tool=forgekeeper/read_file&window=6h");
    assert_eq!(status, 200, "{one}");
    assert_eq!(
        (&one["callers"][0]["principal"], &one["callers"][0]["calls"]),
        (&json!("agent"), &json!(3))
    );
    assert_eq!(
        (&one["errors"][0]["code"], &one["errors"][0]["is_new"]),
        (&json!("not_found"), &json!(false))
    );
    assert_eq!(one["versions"]["current"], read["version"]);
    assert_eq!(
        series("tool=write_file").1["tool"],
        "forgekeeper/write_file",
        "{:?}",
        series("tool=write_file")
    );
    let (status, never) = series("tool=clemini/grep");
    assert_eq!((status, &never["total"]["calls"]), (200, &json!(0)), "it is on offer");
}

#[test]
fn what_cannot_be_shown_is_refused_with_the_reason() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let (agent, approver) = (server.token("agent"), server.token("approver"));
    let odd = "%E2%80%AE%3Cb%3E%25".repeat(18);
    for (path, status, code) in [
        ("/api/overview?window=2h".to_owned(), 400, "invalid_parameter"),
        ("/api/overview?window=".to_owned(), 400, "invalid_parameter"),
        ("/api/overview?windows=1h".to_owned(), 400, "invalid_parameter"),
        ("/api/stats/series".to_owned(), 400, "invalid_parameter"),
        ("/api/stats/series?tool=nope/nope".to_owned(), 404, "tool_not_found"),
        (format!("/api/stats/series?tool={odd}"), 404, "tool_not_found"),
    ] {
        let (found, reply) = server.get(&approver, &path);
        assert_eq!((found, &reply["error"]), (status, &json!(code)), "{path}: {reply}");
        assert!(!reply.to_string().contains('\u{202e}'), "{reply}");
    }
    for path in ["/api/overview", "/api/stats/series?tool=read_file"] {
        assert_eq!(server.get(&agent, path).0, 403, "an agent sees no figures of others");
    }
    assert_eq!(server.get(&approver, "/api/overview?window=7d").0, 200, "the control");
    // A tool that does not exist makes no row.
    server.execute(&agent, &odd, json!({}));
    let (_, overview) = server.get(&approver, "/api/overview");
    let names: Vec<&str> =
        overview["tools"].as_array().unwrap().iter().filter_map(|it| it["tool"].as_str()).collect();
    assert!(names.iter().all(|name| name.is_ascii()), "{names:?}");
}
