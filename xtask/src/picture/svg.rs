//! A picture of a screen, as SVG: text, so that it is small, sharp, and can be searched.

use std::fmt::Write;

use super::screen::{DrawnText, TextStyle};

/// The size of a character in hundredths of a pixel, so that every number in the file is exact.
const CELL_WIDTH: usize = 840;
const CELL_HEIGHT: usize = 1900;

/// The space around the text.
const MARGIN: usize = 1600;

/// The background is the picture's own, so that it reads the same on a light page and on a dark one. No font is
/// loaded: each part of a row is stretched to its columns, whatever font the reader has.
const STYLE: &str = "\
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e6edf3;white-space:pre}\n\
.strong{font-weight:bold}.dim{fill:#9198a1}.red{fill:#ff7b72}.green{fill:#7ee787}.yellow{fill:#e3b341}";

/// Draws rows of text.
pub(super) fn draw(title: &str, columns: usize, rows: &[Vec<DrawnText>]) -> String {
    let (width, height) =
        (columns * CELL_WIDTH + 2 * MARGIN, rows.len() * CELL_HEIGHT + 2 * MARGIN);
    // Half of the frame's line is outside of it.
    let (frame_width, frame_height) = (pixels(width - 100), pixels(height - 100));
    let (width, height) = (pixels(width), pixels(height));
    let title = escaped(title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" xml:space=\"preserve\" role=\"img\" aria-label=\"{title}\">\n\
         <title>{title}</title>\n<style>\n{STYLE}\n</style>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{frame_width}\" height=\"{frame_height}\" rx=\"8\" fill=\"#0d1117\" stroke=\"#6e7681\"/>\n"
    );
    for (row, parts) in rows.iter().enumerate() {
        // The base line, below which few parts of a letter reach.
        let y = pixels(MARGIN + row * CELL_HEIGHT + CELL_HEIGHT * 3 / 4);
        for drawn in parts {
            // Blanks at the ends of a text get lost in some programs, so the text begins and ends between them.
            let text = drawn.text.trim_start();
            let blanks = drawn.text.chars().count() - text.chars().count();
            let text = text.trim_end();
            let x = pixels(MARGIN + (drawn.column + blanks) * CELL_WIDTH);
            let length = pixels(text.chars().count() * CELL_WIDTH);
            let class = class_of(drawn.style);
            let text = escaped(text);
            if !text.is_empty() {
                let _ = writeln!(
                    svg,
                    "<text x=\"{x}\" y=\"{y}\" textLength=\"{length}\"{class} \
                     lengthAdjust=\"spacingAndGlyphs\">{text}</text>"
                );
            }
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn class_of(style: TextStyle) -> &'static str {
    match style {
        TextStyle::Plain => "",
        TextStyle::Strong => " class=\"strong\"",
        TextStyle::Dim => " class=\"dim\"",
        TextStyle::Red => " class=\"red\"",
        TextStyle::Green => " class=\"green\"",
        TextStyle::Yellow => " class=\"yellow\"",
    }
}

/// Returns hundredths of a pixel as a number of pixels.
fn pixels(hundredths: usize) -> String {
    let (whole, rest) = (hundredths / 100, hundredths % 100);
    if rest == 0 { whole.to_string() } else { format!("{whole}.{rest:02}") }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_drawn_where_it_stands_and_cannot_end_its_element() {
        let drawn = DrawnText { column: 2, text: "  <&\">".to_owned(), style: TextStyle::Red };
        let svg = draw("a <b>", 10, &[Vec::new(), vec![drawn]]);
        let row = "<text x=\"49.60\" y=\"49.25\" textLength=\"33.60\" class=\"red\" \
                   lengthAdjust=\"spacingAndGlyphs\">&lt;&amp;&quot;&gt;</text>";
        assert!(svg.contains(row), "{svg}");
        assert!(svg.contains("<title>a &lt;b&gt;</title>"), "{svg}");
    }
}
