//! Turns what was fetched into text that a language model reads: HTML as Markdown, feeds, PDF, JSON and the sizes of
//! images. The functions are pure. They do no I/O, and their time and memory are linear in the size of the input.

mod charset;
mod class_text;
mod document;
mod feed;
mod feed_entry;
mod html;
mod image;
mod json_feed;
mod media_type;
mod pdf;
mod size;
mod stop_check;

pub use class_text::{ClassText, class_texts, one_line_text, plain_text};
pub use document::{Document, DocumentError, DocumentKind, MOST_TEXT_BYTES};
