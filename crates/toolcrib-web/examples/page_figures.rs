//! Measures how fast pages are read: `cargo run --release -p toolcrib-web --example page_figures [--text] [FILE…]`. With
//! `--text`, it also shows what a model would read.

#![expect(clippy::print_stdout, reason = "an example talks to the person who runs it")]
#![expect(clippy::disallowed_methods, reason = "an example reads files and the clock")]

use std::time::{Duration, Instant};

use toolcrib_web::Document;

/// Makes a page like those of manuals and encyclopedias.
fn page(least_bytes: usize) -> Vec<u8> {
    let mut html = String::from(
        "<!doctype html><html><head><title>Page</title><style>p{}</style></head><body><main>",
    );
    let mut number = 0;
    while html.len() < least_bytes {
        number += 1;
        let part = format!(
            "<section class=\"part part-{number}\" id=\"s{number}\"><h2>Part {number} <a href=\"#s{number}\">#</a></h2>\n\
             <p class=\"text\">The <a href=\"/wiki/Thing_{number}\" title=\"Thing\">thing</a> is <b>known</b> for its \
             <code>value[{number}]</code> &amp; more, as <span class=\"x\">several</span> sources say.<sup><a \
             href=\"#cite{number}\">[{number}]</a></sup> It was described long before anybody had a use for it.</p>\n\
             <ul class=\"list\"><li>one &ndash; <em>first</em></li>\n<li>two</li>\n<li>three with a longer text</li></ul>\n\
             <table class=\"grid\"><tr><th>Name</th><th>Value</th></tr><tr><td>a</td><td>{number}</td></tr></table>\n\
             <pre><code class=\"language-rust\"><span class=\"kw\">let</span> x = {number};\n</code></pre></section>\n"
        );
        html.push_str(&part);
    }
    html.push_str("</main></body></html>");
    html.into_bytes()
}

fn measure(name: &str, body: &[u8], content_type: Option<&str>) {
    let mut best = Duration::MAX;
    let mut text_bytes = 0;
    let first = Instant::now();
    while best == Duration::MAX || first.elapsed() < Duration::from_secs(1) {
        let begin = Instant::now();
        let document = Document::read(body, content_type, "https://example.org/page", &|| false);
        best = best.min(begin.elapsed());
        text_bytes = document.map_or(0, |document| document.text.len());
    }
    let speed = body.len() as f64 / best.as_secs_f64() / 1e6;
    println!("{name}: {} bytes, {text_bytes} of text, {best:?}, {speed:.0} MB/s", body.len());
}

fn show(body: &[u8]) {
    match Document::read(body, None, "https://example.org/page", &|| false) {
        Ok(document) => {
            println!("{:?} {:?} {:?}", document.kind, document.title, document.notice);
            println!("{}", document.text);
        }
        Err(err) => println!("{err}"),
    }
}

fn main() {
    let (options, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|it| it == "--text");
    if files.is_empty() {
        measure("page of 200 KB", &page(200_000), Some("text/html; charset=utf-8"));
        measure("page of 5 MB", &page(5_000_000), Some("text/html; charset=utf-8"));
    }
    for file in files {
        match std::fs::read(&file) {
            Ok(body) => {
                measure(&file, &body, None);
                if !options.is_empty() {
                    show(&body);
                }
            }
            Err(err) => println!("{file}: {err}"),
        }
    }
}
