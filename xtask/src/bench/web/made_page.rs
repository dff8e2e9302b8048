//! A page of the web as manuals have them: the same on every machine.

use std::fmt::Write;

use crate::bench::corpus::Chance;

/// A sentence at the end of the page, which says that it was read to its end.
pub(super) const LAST_SENTENCE: &str =
    "The schedule ends where the last worker has put down its task";

const WORDS: [&str; 48] = [
    "the",
    "a",
    "of",
    "and",
    "to",
    "in",
    "is",
    "schedule",
    "worker",
    "queue",
    "task",
    "retry",
    "deadline",
    "which",
    "waits",
    "until",
    "every",
    "lease",
    "expires",
    "before",
    "another",
    "takes",
    "it",
    "over",
    "because",
    "a",
    "clock",
    "of",
    "one",
    "machine",
    "differs",
    "from",
    "others",
    "by",
    "some",
    "milliseconds",
    "so",
    "that",
    "nobody",
    "relies",
    "on",
    "order",
    "alone",
    "when",
    "the",
    "journal",
    "is",
    "replayed",
];

/// What pages carry beside their text.
const STYLE: &str = ".grid{display:grid;grid-template-columns:18rem minmax(0,1fr);gap:2rem}.nav a{color:var(--ink-soft);text-decoration:none;padding:.25rem .5rem}";
const SCRIPT: &str = "window.dataLayer=window.dataLayer||[];function track(){dataLayer.push(arguments)}track('js',new Date());";
const ICON: &str = "<svg class=\"icon icon-link\" viewBox=\"0 0 16 16\" width=\"16\" height=\"16\" aria-hidden=\"true\"><path d=\"M7.775 3.275a.75.75 0 0 0 1.06 1.06l1.25-1.25a2 2 0 1 1 2.83 2.83l-2.5 2.5a2 2 0 0 1-2.83 0 .75.75 0 0 0-1.06 1.06 3.5 3.5 0 0 0 4.95 0l2.5-2.5a3.5 3.5 0 0 0-4.95-4.95z\"></path></svg>";

/// Makes a page of at least so many bytes.
pub(super) fn made_page(least_bytes: usize) -> String {
    let mut chance = Chance(0x5eed_0f1a_9b3c_7d21);
    let mut html = head(&mut chance);
    let mut number = 0;
    while html.len() < least_bytes {
        number += 1;
        section(&mut html, number, &mut chance);
    }
    let _ = write!(html, "<p class=\"end\">{LAST_SENTENCE}, and not before.</p></article></main>");
    let _ = write!(html, "<footer class=\"footer\"><ul>");
    for place in 0..60 {
        let _ = write!(html, "<li><a href=\"/about/{place}\">{}</a></li>", words(2, &mut chance));
    }
    let _ = writeln!(html, "</ul></footer><script>{}</script></body></html>", SCRIPT.repeat(4));
    html
}

fn words(count: usize, chance: &mut Chance) -> String {
    let words: Vec<&str> = (0..count).map(|_| WORDS[chance.below(WORDS.len())]).collect();
    words.join(" ")
}

/// Returns all that is before the text: what a browser needs, and menus.
fn head(chance: &mut Chance) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Tempo: the guide</title>\
         <meta name=\"description\" content=\"How Tempo schedules\"><link rel=\"stylesheet\" href=\"/main.css\">\
         <style>{}</style><script>{}</script></head>\n<body class=\"guide\"><header><nav class=\"nav\"><ul>\n",
        STYLE.repeat(260),
        SCRIPT.repeat(400)
    );
    for place in 0..340 {
        let _ = writeln!(
            html,
            "<li class=\"nav-item\"><a class=\"nav-link\" href=\"/guide/{place}.html\" data-depth=\"{}\">{}</a></li>",
            place % 4,
            words(3, chance)
        );
    }
    html.push_str(
        "</ul></nav></header>\n<main class=\"grid\"><article>\n<h1>Tempo: the guide</h1>\n",
    );
    html
}

/// Writes a part of the text, with everything that such parts have.
fn section(html: &mut String, number: usize, chance: &mut Chance) {
    let _ = writeln!(
        html,
        "<section class=\"section depth-{}\" id=\"part-{number}\"><h2 class=\"heading\">Part {number}: {} \
         <a class=\"anchor\" href=\"#part-{number}\" aria-label=\"Link to this part\">{ICON}</a></h2>",
        number % 3,
        words(3, chance)
    );
    for _ in 0..3 {
        let _ = writeln!(
            html,
            "<p class=\"text\">The {} <a class=\"reference internal\" href=\"/guide/{number}.html#{}\" title=\"{}\">{}</a>, \
             {} <code class=\"literal\">queue.lease({number})</code> {} <strong>{}</strong> &amp; <em>{}</em>.\
             <sup class=\"cite\"><a href=\"#note-{number}\">[{number}]</a></sup> {}.</p>",
            words(12, chance),
            chance.below(90),
            words(2, chance),
            words(2, chance),
            words(10, chance),
            words(14, chance),
            words(2, chance),
            words(2, chance),
            words(16, chance)
        );
    }
    html.push_str("<ul class=\"simple\">\n");
    for _ in 0..4 {
        let _ = writeln!(
            html,
            "<li><p>{} &ndash; <em>{}</em></p></li>",
            words(5, chance),
            words(1, chance)
        );
    }
    html.push_str("</ul>\n");
    if number.is_multiple_of(2) {
        html.push_str("<div class=\"table-wrapper\"><table class=\"docutils\"><thead><tr><th>Setting</th><th>Default</th><th>What it does</th></tr></thead><tbody>\n");
        for row in 0..5 {
            let _ = writeln!(
                html,
                "<tr class=\"row-{}\"><td><code>tempo.{}_{row}</code></td><td>{}</td><td>{}</td></tr>",
                if row % 2 == 0 { "even" } else { "odd" },
                words(1, chance),
                chance.below(1000),
                words(9, chance)
            );
        }
        html.push_str("</tbody></table></div>\n");
    } else {
        html.push_str("<div class=\"highlight\"><pre><code class=\"language-rust\">");
        for line in 0..6 {
            let _ = writeln!(
                html,
                "<span class=\"kw\">let</span> <span class=\"n\">task_{line}</span> <span class=\"o\">=</span> \
                 <span class=\"n\">queue</span>.<span class=\"nf\">take</span>(<span class=\"mi\">{}</span>)?;",
                chance.below(5000)
            );
        }
        html.push_str("</code></pre></div>\n");
    }
    html.push_str("</section>\n");
}
