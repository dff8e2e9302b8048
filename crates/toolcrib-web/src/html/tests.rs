//! Tests of each construct of HTML, as tables of pages and their Markdown.

use super::*;

/// Reads a page, and is never stopped.
fn read(html: &str, url: &str, most_bytes: usize) -> HtmlText {
    super::read(html, url, most_bytes, &StopCheck::never())
}

const URL: &str = "https://example.org/docs/page";

#[track_caller]
fn check(html: &str, expected: &str) {
    assert_eq!(read(html, URL, 1 << 20).text, expected, "{html}");
}

#[test]
fn paragraphs_and_headings_stand_apart() {
    check("<h1>A</h1><p>b\n  c</p><p>d", "# A\n\nb c\n\nd");
    check("<h2> A <b>b</b></h2>text<h3>C", "## A b\n\ntext\n\n### C");
    check("<p>a<p>b</div>c", "a\n\nbc");
    check("<div>a</div><div>b</div>", "a\nb");
    check("<section>a</section><section>b</section>", "a\n\nb");
    check("a<br>b<br><br>c", "a\nb\n\nc");
    check("a<hr>b", "a\n\n---\n\nb");
    check("<h1></h1><p></p><p>a", "a");
    check("<h2>a<br>b</h2>c", "## a b\n\nc");
    check("<h2><button>a</button></h2><button>b</button>c", "## a\n\nc");
}

#[test]
fn marks_within_lines() {
    check("a <b>b</b> <i>c</i> <s>d</s> <u>e</u>", "a **b** *c* ~~d~~ e");
    check("a<b> b </b>c", "a **b** c");
    check("<b></b>a<b> </b>b", "a b");
    check("<b><strong>a</strong></b>", "**a**");
    check("<b><p>a</p><p>b</p></b>", "**a**\n\n**b**");
    check("<b>a<i>b</b>c</i>", "**a*b***c");
    check("<p><b>a</p><p>b", "**a**\n\nb");
    check("x<sup>2</sup> y<sup><a href='#n'>[1]</a></sup> <sup>a</sup>", "x^2 y[1] a");
    check("<q>a</q>", "\"a\"");
    check("<code>a b</code> <code>a`b</code>", "`a b` `` a`b ``");
    check("<code><a href=x>a</a>&lt;<b>b</b>&gt;</code>", "`a<b>`");
    check("1 < 2 &amp; 3&nbsp;4\u{200b}5\u{ad}6\0", "1 < 2 & 3 456");
}

#[test]
fn links_and_images() {
    check("<a href='x'>a</a>", "[a](https://example.org/docs/x)");
    check("<a href=/x?a=1&amp;b=2> a <b>b</b> </a>c", "[a **b**](https://example.org/x?a=1&b=2) c");
    check("<a href='javascript:x'>a</a> <a href='data:x'>b</a> <a>c</a>", "a b c");
    check("<a href='#x'>a</a> <a href=x></a>b", "a b");
    check("<h2>a <a href='#a'>#</a></h2>b", "## a\n\nb");
    check("<h2><a href='#a'>#</a> a</h2>b", "## a\n\nb");
    check("<a href=x><h3>a</h3><p>b</p></a>", "### [a](https://example.org/docs/x)\n\nb");
    check(
        "<a href=x>a<a href=y>b",
        "[a](https://example.org/docs/x)[b](https://example.org/docs/y)",
    );
    check("<a href=x>a<br>b</a>", "[a b](https://example.org/docs/x)");
    check("<img src=x.png alt='A  b'>", "![A b](https://example.org/docs/x.png)");
    check("<img src=x.png>", "![](https://example.org/docs/x.png)");
    check("<img src=x.png alt=''>a<img src=data:x alt=B><img src=y width=1>", "aB");
    check("<img src='data:x' data-src='y.png' alt=B>", "![B](https://example.org/docs/y.png)");
    check(
        "<a href=x><img src=y alt=B></a>",
        "[![B](https://example.org/docs/y)](https://example.org/docs/x)",
    );
    check("<base href='https://b.org/c/'><a href=d>e</a>", "[e](https://b.org/c/d)");
    check("<a href='a (b)'>c</a>", "[c](https://example.org/docs/a%20%28b%29)");
}

#[test]
fn lists() {
    check("<ul><li>a</li> <li>b</ul>c", "- a\n- b\n\nc");
    check("a<ol start=9><li>a<li>b<li value=20>c</ol>", "a\n\n9. a\n10. b\n20. c");
    check("<ul><li>a<ul><li>b</li><li>c</li></ul></li><li>d</ul>", "- a\n  - b\n  - c\n- d");
    check("<ul><li><p>a</p><p>b</p></li><li><p>c</p></li></ul>d", "- a\n\n  b\n- c\n\nd");
    check("<ol><li>a<pre>b\nc</pre></ol>", "1. a\n\n   ```\n   b\n   c\n   ```");
    check("<ul><li></li><li>a</ul>", "- a");
    check(
        "<ul><li><input type=checkbox checked> a<li><input type=checkbox>b</ul>",
        "- [x] a\n- [ ] b",
    );
    check("<dl><dt>a<dd>b<dd>c<dt>d<dd>e</dl>f", "a\n: b\n: c\n\nd\n: e\n\nf");
    check("<li>a<li>b", "- a\n- b");
    check("<ul><li><h3>a</h3>b</ul>", "- ### a\n\n  b");
}

#[test]
fn quotes() {
    check("a<blockquote><p>b<p>c</blockquote>d", "a\n\n> b\n>\n> c\n\nd");
    check("<blockquote>a<blockquote>b</blockquote></blockquote>", "> a\n>\n> > b");
    check("<blockquote><ul><li>a<li>b</ul></blockquote>", "> - a\n> - b");
    check("<ul><li>a<blockquote>b</blockquote></ul>", "- a\n\n  > b");
}

#[test]
fn code_blocks() {
    check(
        "a<pre><code class='language-rust'>\nfn <b>a</b>() {\n    1 &lt; 2\n}\n</code></pre>b",
        "a\n\n```rust\nfn a() {\n    1 < 2\n}\n```\n\nb",
    );
    check("<pre>a\n```\nb</pre>", "````\na\n```\nb\n````");
    check("<div class='highlight-python'><pre>a</pre></div>", "```python\na\n```");
    check("<pre>a<br>b</pre><pre></pre>", "```\na\nb\n```");
    check("<pre><div>a</div><div>b</div></pre>", "```\na\nb\n```");
    check("<blockquote><pre>a\n\nb</pre></blockquote>", "> ```\n> a\n>\n> b\n> ```");
    check("<pre>a\n\n  b", "```\na\n\n  b\n```");
}

#[test]
fn tables() {
    check(
        "<table><tr><th>a<th>b<tr><td>1|2<td>3</table>c",
        "| a | b |\n| --- | --- |\n| 1\\|2 | 3 |\n\nc",
    );
    check(
        "<table><caption>T</caption><thead><tr><td colspan=2>a</td><td>b</td></tr></thead>\
         <tbody><tr><td>1<br>2</td><td> </td><td><p>3</p></td></tr></tbody></table>",
        "T\n\n| a |  | b |\n| --- | --- | --- |\n| 1<br>2 |  | 3 |",
    );
    check("<table><tr><td>a</td></tr><tr><td>b</td></tr></table>", "a\nb");
    check(
        "<table><tr><td>x<td><table><tr><td>a<td>b<tr><td>c<td>d</table></table>",
        "x\n\n| a | b |\n| --- | --- |\n| c | d |",
    );
    check("<table><tr><td>a<td><pre>b</pre></table>", "a\n\n```\nb\n```");
    check("<table role=presentation><tr><td>a<td>b</table>", "a b");
    check("<table>a<tr><td>b<td>c</table>", "| a |\n| --- | --- |\n| b | c |");
    check("<ul><li>x<table><tr><td>a<td>b</table></ul>", "- x\n\n  | a | b |\n  | --- | --- |");
    check("<table><tr><td><b>a<td>b</table>c", "| **a** | b |\n| --- | --- |\n\nc");
    check(
        "<table><tr><th>y<th>q<th>n<tr><td rowspan=2>1<td>a<td>5<tr><td>b<td>6<tr><td>2<td>a<td>7</table>",
        "| y | q | n |\n| --- | --- | --- |\n| 1 | a | 5 |\n|  | b | 6 |\n| 2 | a | 7 |",
    );
    check(
        "<table><tr><td>a<td rowspan=3 colspan=2>b<tr><td>c<tr><td>d<tr><td>e<td>f</table>",
        "| a | b |  |\n| --- | --- | --- |\n| c |  |  |\n| d |  |  |\n| e | f |",
    );
    // A cell reaches to the end of its group at the most, and `0` means just that.
    check(
        "<table><thead><tr><th rowspan=9>a<th>b<tbody><tr><td rowspan=0>1<td>2<tr><td>3<tr><td>4</table>",
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n|  | 3 |\n|  | 4 |",
    );
    check("<table></table>a<table><tr><td></table>b", "a\n\nb");
}

#[test]
fn what_is_not_for_readers_is_left_out() {
    for hidden in [
        "<script>b</script>",
        "<style>b</style>",
        "<!-- b -->",
        "<noscript>b</noscript>",
        "<svg><title>b</title><path/><text>b</text></svg>",
        "<template><p>b</p></template>",
        "<div hidden>b<div>b</div>b</div>",
        "<span aria-hidden=true>b<span>b</span></span>",
        "<p style='display:none'>b</p>",
        "<select><option>b<option>b</select>",
        "<textarea>b</textarea>",
        "<button>b</button>",
        "<input value=b>",
        "<iframe src=b>b</iframe>",
        "<video><p>b</video>",
        "<dialog>b</dialog>",
        "<object hidden>b</object>",
    ] {
        let text = read(&format!("a {hidden} c"), URL, 1 << 20).text;
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(words, ["a", "c"], "{hidden}");
    }
    check("<ul><li>a<li hidden>b<li>c</ul>", "- a\n- c");
    check("<p hidden>a<p>b", "b");
    check("<dialog open>a</dialog>", "a");
    check("<details><summary>a</summary>b</details>", "**a**\n\nb");
    check("<details><summary><h3>a</h3>b</summary>c</details>", "### a\n\n**b**\n\nc");
    check("<math alttext='x^2'><mi>x</mi></math> y", "$x^2$ y");
}

#[test]
fn title_is_read() {
    for (html, expected) in [
        ("<title> A\n &amp; b\0 </title>", Some("A & b")),
        ("<svg><title>x</title></svg><h1>B</h1>", Some("B")),
        ("<title>A</title><title>B</title>", Some("A")),
        ("<title></title>", None),
        ("a", None),
    ] {
        assert_eq!(read(html, URL, 1 << 20).title.as_deref(), expected, "{html}");
    }
}

#[test]
fn only_the_main_part_of_a_page_is_shown() {
    let body = "word ".repeat(60);
    let page = format!(
        "<header><nav>top</nav></header><nav>menu</nav><main><header>by me</header><nav>toc</nav><p>{body}</p>\
         <aside>hint</aside></main><aside>ads</aside><footer>legal</footer>"
    );
    let text = read(&page, URL, 1 << 20).text;
    assert_eq!(text, format!("by me\n\n{}\n\nhint", body.trim()));
    let text = read(&format!("<div>hello</div>{page}<p>bye"), URL, 1 << 20).text;
    assert!(!text.contains("hello") && !text.contains("bye"), "{text}");
    let more = format!("<div>hello {body}</div>{page}<p>bye");
    let text = read(&more, URL, 1 << 20).text;
    assert!(text.starts_with("hello") && text.ends_with("bye") && !text.contains("menu"), "{text}");
    let text = read(&page.replace("main>", "div>"), URL, 1 << 20).text;
    for word in ["top", "menu", "toc", "ads", "legal"] {
        assert!(text.contains(word), "{word}");
    }
    let text = read(&page.replace(&body, "word"), URL, 1 << 20).text;
    assert!(text.contains("menu"), "a short main part is not the page");
}

#[test]
fn pages_without_text_say_why() {
    let page =
        "<meta name=description content='About &lt;x&gt;'><div id=root></div><script>x</script>";
    let read = read(page, URL, 1 << 20);
    assert_eq!(read.text, "About <x>");
    assert!(read.notice.unwrap().contains("JavaScript"));
    let with_text = self::read(&format!("{page}hello"), URL, 1 << 20);
    assert_eq!((with_text.text.as_str(), with_text.notice), ("hello", None));
}

#[test]
fn text_is_cut_at_its_bound() {
    let page = "<p>äöü</p>".repeat(1_000);
    let read = read(&page, URL, 100);
    assert!(read.is_cut && read.text.len() <= 100 && read.text.len() > 90);
    assert!(!self::read(&page, URL, 1 << 20).is_cut);
}
