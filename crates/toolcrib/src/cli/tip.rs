//! What to write in place of a wrong argument, where clap would guess wrongly.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Returns the error with a tip for those who write an argument of a tool as a flag: `call TOOL --path x`.
pub(crate) fn with_tip(
    mut error: clap::Error,
    words: impl Iterator<Item = OsString>,
) -> clap::Error {
    let is_call = words.into_iter().any(|word| word == "call");
    if error.kind() != ErrorKind::UnknownArgument || !is_call {
        return error;
    }
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let key = flag.trim_start_matches('-').split('=').next().unwrap_or_default();
    let tip = format!("write an argument of a tool as KEY=TEXT: {key}=…");
    error.remove(ContextKind::SuggestedArg);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn an_argument_of_a_tool_that_is_written_as_a_flag_is_told_how_it_is_written() {
        let told = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            let all = [&[OsString::from("toolcrib")], &words[..]].concat();
            let error = Cli::try_parse_from(all).err().unwrap();
            with_tip(error, words.into_iter()).to_string()
        };
        let text = told(&["call", "wink/read_file", "--path", "x"]);
        assert!(text.contains("tip: write an argument of a tool as KEY=TEXT: path=…"), "{text}");
        assert!(!text.contains("--batch'"), "{text}");
        let text = told(&["undo", "--lst"]);
        assert!(text.contains("tip: ") && !text.contains("KEY=TEXT"), "the control: {text}");
    }
}
