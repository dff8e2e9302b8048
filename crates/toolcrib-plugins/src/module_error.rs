//! What a module threw, as data: its name, its message, and the place in the module.

use rquickjs::convert::Coerced;
use rquickjs::{CaughtError, Ctx, Error, Exception, FromJs, Object, Value};

use crate::module_clock::RunClock;
use crate::worker_line::{EndKind, EngineLimit, Thrown};

/// The longest message of a thrown error that is told, in bytes.
const MAX_MESSAGE_BYTES: usize = 2 << 10;

/// The longest stack that is told, in bytes.
const MAX_STACK_BYTES: usize = 4 << 10;

/// The file of a module, for the places in its stacks, and the time of its run.
pub(crate) struct RunPlace<'a> {
    pub(crate) file: &'a str,
    pub(crate) clock: &'a RunClock,
}

impl RunPlace<'_> {
    /// Returns how the run ended, given the error of the engine.
    pub(crate) fn end_of(&self, ctx: &Ctx<'_>, error: Error) -> EndKind {
        if self.clock.is_over() {
            return EndKind::Limit(EngineLimit::Time);
        }
        match CaughtError::from_error(ctx, error) {
            CaughtError::Error(Error::Allocation) => EndKind::Limit(EngineLimit::Memory),
            CaughtError::Error(Error::InvalidString(_)) => {
                EndKind::Threw(plain("SyntaxError", "the source has a NUL character"))
            }
            CaughtError::Error(error) => EndKind::Threw(plain("Error", &error.to_string())),
            CaughtError::Exception(exception) => self.end_of_exception(ctx, &exception),
            CaughtError::Value(value) if value.is_null() => {
                EndKind::Limit(EngineLimit::MemoryOrNull)
            }
            CaughtError::Value(value) => {
                let text = printed(ctx, &value);
                // A getter of the value may have used the time up.
                if self.clock.is_over() {
                    return EndKind::Limit(EngineLimit::Time);
                }
                EndKind::Threw(plain("", &text))
            }
        }
    }

    fn end_of_exception<'js>(&self, ctx: &Ctx<'js>, exception: &Exception<'js>) -> EndKind {
        let part = |name: &str| text_of(ctx, exception.as_object(), name);
        let (name, message, stack) = (part("name"), part("message"), part("stack"));
        if self.clock.is_over() {
            return EndKind::Limit(EngineLimit::Time);
        }
        match (name.as_str(), message.as_str()) {
            ("InternalError", "out of memory") => EndKind::Limit(EngineLimit::Memory),
            ("RangeError", "Maximum call stack size exceeded") => {
                EndKind::Limit(EngineLimit::Stack)
            }
            _ => {
                let place = place_in(&stack, self.file);
                let stack = cut(stack.trim_end(), MAX_STACK_BYTES);
                let message = cut(&message, MAX_MESSAGE_BYTES);
                EndKind::Threw(Thrown { name: cut(&name, 100), message, place, stack })
            }
        }
    }
}

/// Returns a value as people read it: a text as it is, other values as JSON or as the engine spells them.
pub(crate) fn printed<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> String {
    if let Some(text) = value.as_string() {
        if let Ok(text) = text.to_string() {
            return text;
        }
    } else if value.is_error() || value.is_function() || value.is_symbol() {
        return coerced(ctx, value);
    }
    match ctx.json_stringify(value.clone()) {
        Ok(Some(json)) => json.to_string().unwrap_or_default(),
        Ok(None) => coerced(ctx, value),
        Err(_) => {
            // What a getter or `toJSON` threw would otherwise be found by the next caller of the engine.
            ctx.catch();
            coerced(ctx, value)
        }
    }
}

fn coerced<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> String {
    Coerced::<String>::from_js(ctx, value.clone()).map_or_else(
        |_| {
            ctx.catch();
            "[a value that cannot be printed]".to_owned()
        },
        |text| text.0,
    )
}

/// Returns a property as text; empty if there is none or its getter throws.
fn text_of<'js>(ctx: &Ctx<'js>, object: &Object<'js>, name: &str) -> String {
    match object.get::<_, Value<'js>>(name) {
        Ok(value) if value.is_undefined() || value.is_null() => String::new(),
        Ok(value) => printed(ctx, &value),
        Err(_) => {
            ctx.catch();
            String::new()
        }
    }
}

fn plain(name: &str, message: &str) -> Thrown {
    let message = cut(message, MAX_MESSAGE_BYTES);
    Thrown { name: name.to_owned(), message, place: None, stack: String::new() }
}

/// Returns the first place in the module that the stack names. The module can write its stack itself, so this is data
/// and proves nothing.
fn place_in(stack: &str, file: &str) -> Option<(u32, u32)> {
    let pattern = format!("{file}:");
    stack.match_indices(&pattern).find_map(|(at, found)| {
        let mut numbers = stack[at + found.len()..].splitn(3, ':');
        let line = numbers.next()?.parse().ok()?;
        let column: String =
            numbers.next()?.chars().take_while(char::is_ascii_digit).take(9).collect();
        Some((line, column.parse().ok()?))
    })
}

/// Returns the text up to a length, and says so if it was longer.
pub(crate) fn cut(text: &str, most_bytes: usize) -> String {
    if text.len() <= most_bytes {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(most_bytes)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_the_first_one_in_the_modules_own_file() {
        let stack = "    at parse (native)\n    at f (tool.mjs:12:9)\n    at tool.mjs:1:1\n";
        assert_eq!(place_in(stack, "tool.mjs"), Some((12, 9)));
        assert_eq!(place_in("    at tool.mjs:3:14\n", "tool.mjs"), Some((3, 14)));
        for none in ["", "at other.mjs:1:2", "tool.mjs:x:1", "tool.mjs:1", "tool.mjs:99999999999:1"]
        {
            assert_eq!(place_in(none, "tool.mjs"), None, "{none}");
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(cut("aé", 2), "a…");
        assert_eq!(cut("aé", 3), "aé");
    }
}
