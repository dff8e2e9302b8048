//! The files of the page.

use crate::client::RawReply;
use crate::rig::Rig;

const PATHS: [&str; 6] =
    ["/", "/login", "/approvals", "/tools/clemini/edit", "/assets/page.js", "/assets/page.css"];

fn get(rig: &Rig, path: &str, headers: &str) -> RawReply {
    rig.ask(rig.request(&format!("GET {path}"), headers, ""))
}

#[test]
fn every_file_is_for_anybody_and_has_every_header_of_its_protection() {
    let rig = Rig::new();
    for path in PATHS {
        let reply = get(&rig, path, "");
        reply.check_form();
        assert_eq!(reply.status, 200, "{path}");
        for (name, value) in [
            (
                "content-security-policy",
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
            ),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-cache"),
            ("vary", "accept-encoding"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{path}");
        }
        assert!(reply.header("permissions-policy").unwrap().contains("camera=()"), "{path}");
        assert_eq!(reply.header("set-cookie"), None);
    }
    for (path, media_type) in [
        ("/rules/x", "text/html; charset=utf-8"),
        ("/assets/page.js", "text/javascript; charset=utf-8"),
        ("/assets/page.css", "text/css; charset=utf-8"),
    ] {
        assert_eq!(get(&rig, path, "").header("content-type"), Some(media_type));
    }
    assert!(rig.log().contains("route=\"/tools\"") && !rig.log().contains("clemini"));
}

#[test]
fn a_file_is_sent_once_and_compressed_if_the_client_wants() {
    let rig = Rig::new();
    for path in PATHS {
        let plain = get(&rig, path, "");
        let tag = plain.header("etag").unwrap().to_owned();
        let packed = get(&rig, path, "Accept-Encoding: br, gzip\r\n");
        assert_eq!(packed.header("content-encoding"), Some("gzip"));
        assert_eq!(packed.header("etag"), Some(tag.as_str()));
        assert!(packed.body.starts_with(&[0x1f, 0x8b]) && packed.body != plain.body);
        assert_eq!(plain.header("content-encoding"), None);
        for known in [tag.clone(), tag.replace("W/", ""), format!("\"x\", {tag}"), "*".to_owned()] {
            let reply = get(&rig, path, &format!("If-None-Match: {known}\r\n"));
            reply.check_form();
            assert_eq!((reply.status, reply.body.len()), (304, 0), "{known}");
            assert_eq!(reply.header("etag"), Some(tag.as_str()));
        }
        let changed = get(&rig, path, "If-None-Match: \"x\"\r\n");
        assert_eq!((changed.status, &changed.body), (200, &plain.body));
    }
}

#[test]
fn files_take_two_methods_and_other_paths_stay_those_of_the_api() {
    let rig = Rig::new();
    for path in PATHS {
        let mut client = rig.connect();
        let close = "Connection: close\r\n";
        client.send(rig.request(&format!("HEAD {path}"), close, ""));
        let head = client.end();
        let head = String::from_utf8(head).unwrap();
        assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let reply = rig.ask(rig.request(&format!("{method} {path}"), "", ""));
            reply.is_error(405, "method_not_allowed");
            assert_eq!(reply.header("allow"), Some("GET, HEAD"));
        }
    }
    let browser = "Accept: text/html\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: none\r\n";
    for path in ["/nothing", "/index.html", "/assets/other.js", "/page", "/toolsmith"] {
        get(&rig, path, browser).is_error(401, "unauthorized");
        rig.ask(rig.agents(&format!("GET {path}"), browser, "")).is_error(404, "not_found");
    }
}

#[test]
fn nothing_of_a_request_is_in_the_page() {
    let rig = Rig::new();
    let plain = get(&rig, "/", "");
    let attack = "%3Cscript%3Ealert(1)%3C/script%3E";
    for path in [
        format!("/login?x={attack}"),
        format!("/tools/{attack}"),
        format!("/audit/..%2f{attack}?q=%3Cimg%3E"),
    ] {
        let headers = "Referer: <script>\r\nUser-Agent: <script>alert(1)</script>\r\n\
                       Cookie: a=<script>\r\nX-Request-Id: <script>\r\n";
        let reply = get(&rig, &path, headers);
        assert_eq!((reply.status, &reply.body), (200, &plain.body), "{path}");
        let shown = format!("{reply:?}");
        assert!(!shown.contains("alert(1)") && !shown.contains("<script>"), "{shown}");
    }
    let text = String::from_utf8(plain.body).unwrap();
    // Under the policy, they would not run; the page must not need them.
    for inline in ["<style", " style=", "onclick", "onload", "javascript:"] {
        assert!(!text.contains(inline), "{inline}");
    }
    let scripts = text.matches("<script").count();
    assert_eq!((scripts, text.matches(" src=\"/assets/page.js\"").count()), (1, 1), "{text}");
}
