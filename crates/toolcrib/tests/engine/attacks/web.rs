//! URLs that try to lead the tools of the web to this machine, to private networks or to something that is no page.

use std::sync::Arc;

use serde_json::json;
use toolcrib::wiring::OpenOptions;
use toolcrib_core::net::Net;
use toolcrib_host::NetClient;

use crate::opened::{Opened, Scratch, for_each_user};
use crate::test_host::{TestHost, no_tls};

/// The tools that fetch a URL.
const FETCHERS: [&str; 3] = ["wink/fetch_webpage", "clemini/web_fetch", "forgekeeper/http_fetch"];

/// Rows of URLs, where `PORT` is that of a server on this machine. Each is refused, and the server hears nothing.
const URLS: [&str; 46] = [
    "http://127.0.0.1:PORT/",
    "http://2130706433:PORT/",
    "http://0x7f000001:PORT/",
    "http://0177.0.0.1:PORT/",
    "http://127.1:PORT/",
    "http://0:PORT/",
    "http://0.0.0.0:PORT/",
    "http://[::1]:PORT/",
    "http://[::]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::ffff:a9fe:a9fe]:PORT/",
    "http://[::127.0.0.1]:PORT/",
    "http://[64:ff9b::7f00:1]:PORT/",
    "http://[64:ff9b:1::7f00:1]:PORT/",
    "http://[2002:7f00:1::]:PORT/",
    "http://[2001:0:7f00:1::]:PORT/",
    "http://[fec0::1]:PORT/",
    "http://[fd00:ec2::254]:PORT/",
    "http://[fe80::1]:PORT/",
    "http://[::ffff:0:127.0.0.1]:PORT/",
    "http://169.254.169.254:PORT/latest/meta-data/",
    "http://100.100.100.200:PORT/",
    "http://10.0.0.1:PORT/",
    "http://172.16.0.1:PORT/",
    "http://192.168.1.1:PORT/",
    "http://user:pw@127.0.0.1:PORT/",
    "http://good.example@127.0.0.1:PORT/",
    "http://127.0.0.1:PORT#@good.example/",
    "http:\\\\127.0.0.1:PORT/",
    "http:127.0.0.1:PORT/",
    "http:///127.0.0.1:PORT/",
    "http://\u{2460}\u{2461}\u{2466}.\u{24ea}.\u{24ea}.\u{2460}:PORT/",
    "http://127\u{3002}0\u{3002}0\u{3002}1:PORT/",
    "http://good.example%00.evil.example:PORT/",
    "http://localhost:PORT/",
    "http://localhost.:PORT/",
    "file:///etc/passwd",
    "data:text/html,SECRET",
    "javascript:alert(1)",
    "gopher://127.0.0.1:PORT/_x",
    "ftp://127.0.0.1:PORT/",
    "blob:http://127.0.0.1:PORT/x",
    "http://8.8.8.8:22/",
    "http://8.8.8.8:6379/",
    "http://8.8.8.8:0/",
    "",
];

/// Opens with the net of real use, but for its ports.
fn open(scratch: &Scratch, net: NetClient) -> Opened {
    let net: Arc<dyn Net> = Arc::new(net);
    let settings = ["forgekeeper.http_fetch=on"];
    Opened::of(&OpenOptions { net: Some(net), ..scratch.options(&settings) }).unwrap()
}

#[test]
fn no_url_leads_a_tool_of_the_web_inside() {
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nSECRET";
    for_each_user(|scratch| {
        let canary = TestHost::saying(page);
        let port = canary.port();
        let crib = open(scratch, NetClient::new(vec![port], Box::new(no_tls)));
        for url in URLS {
            let url = url.replace("PORT", &port.to_string());
            for tool in FETCHERS {
                let reply = crib.approve(tool, json!({"url": url}));
                let text = reply.text();
                assert_ne!(reply.kind(), "ok", "{tool} {url}: {text}");
                assert!(!text.contains("SECRET"), "{tool} {url}: {text}");
            }
        }
        assert_eq!(canary.asked().len(), 0, "{:?}", canary.asked());
        drop(crib);
        // The control: where this machine counts as the open internet, the same tools bring the page.
        let crib = open(scratch, canary.client());
        for tool in FETCHERS {
            let reply = crib.approve(tool, json!({"url": canary.url("/")}));
            assert!(reply.text().contains("SECRET"), "{tool}: {}", reply.text());
        }
    });
}
