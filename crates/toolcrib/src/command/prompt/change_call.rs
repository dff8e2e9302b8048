//! Lets the person change a call in their editor before they approve it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use rustix::fs::OFlags;
use serde_json::Value;
use toolcrib_core::{escape, json};
use toolcrib_ledger::new_call_id;

use super::device::{Device, Lent};
use crate::command::editor::{EDITOR_HINT, Editor};

/// The arguments that are opened as the text they are, and not as JSON. They are what a person wants to change: the
/// command, or the new text of a file.
const TEXT_ARGUMENTS: [&str; 7] =
    ["command", "content", "contents", "new_string", "new_str", "text", "code"];

/// The most bytes that are read back.
const MOST_EDITED_BYTES: u64 = 16 << 20;

/// The longest ending of a file name that tells an editor which language it is.
const MOST_ENDING_BYTES: usize = 10;

/// The outcome of the edit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChangedArgs {
    /// The call has these arguments now.
    Changed(Value),
    /// The call stays as it was sent. The text says why.
    Unchanged(String),
    /// The question was taken away meanwhile.
    TakenAway,
}

/// Opens the arguments of a call in the person's editor.
///
/// What was saved and is not a call stays in `draft`, and is what the next time opens.
pub(super) fn change(args: &Value, draft: &mut Option<String>, device: &mut Device) -> ChangedArgs {
    let mut opened = EditedText::of(args);
    if let Some(draft) = draft.take() {
        opened.text = draft;
    }
    let editor = Editor::from_environment();
    let shown = escape::line(editor.name()).into_owned();
    let edited = match opened.edit(&editor, device) {
        Ok(Edited::Saved(text)) => text,
        Ok(Edited::Failed(status)) => {
            let text = format!(
                "The editor `{shown}` failed ({status}): {EDITOR_HINT}. The call is as it was sent."
            );
            return ChangedArgs::Unchanged(text);
        }
        Ok(Edited::NotText) => {
            let text = "What you saved is not UTF-8 text. The call is as it was sent.".to_owned();
            return ChangedArgs::Unchanged(text);
        }
        Ok(Edited::TakenAway) => return ChangedArgs::TakenAway,
        Err(err) => {
            let text = format!(
                "The call could not be edited with `{shown}`: {err}. It is as it was sent."
            );
            return ChangedArgs::Unchanged(text);
        }
    };
    match opened.args_with(args, &edited) {
        ChangedArgs::Unchanged(text) => {
            *draft = Some(edited);
            ChangedArgs::Unchanged(text)
        }
        ChangedArgs::Changed(changed) if changed == *args => {
            ChangedArgs::Unchanged("You changed nothing. The question stays.".to_owned())
        }
        changed => changed,
    }
}

/// How the editor ended.
enum Edited {
    Saved(String),
    NotText,
    Failed(ExitStatus),
    TakenAway,
}

/// What is opened in the editor.
struct EditedText<'a> {
    text: String,
    /// The argument that it is the text of. Nothing if it is all arguments as JSON.
    key: Option<&'a str>,
    /// What the name of the file ends in.
    ending: String,
}

impl<'a> EditedText<'a> {
    fn of(args: &'a Value) -> Self {
        let texts = TEXT_ARGUMENTS.iter().filter_map(|key| Some((*key, args.get(key)?.as_str()?)));
        if let [(key, text)] = texts.collect::<Vec<_>>()[..] {
            let ending = if key == "command" { Some(".sh".to_owned()) } else { ending(args) };
            let ending = ending.unwrap_or_else(|| ".txt".to_owned());
            return Self { text: text.to_owned(), key: Some(key), ending };
        }
        let text = serde_json::to_string_pretty(args).unwrap_or_else(|_| args.to_string()) + "\n";
        Self { text, key: None, ending: ".json".to_owned() }
    }

    /// Opens the text, and waits until the person is done.
    fn edit(&self, editor: &Editor, device: &mut Device) -> io::Result<Edited> {
        let file = EditedFile::create(&self.ending, &self.text)?;
        match device.lend(editor.command(&file.0))? {
            Lent::Ended(status) if status.success() => {}
            Lent::Ended(status) => return Ok(Edited::Failed(status)),
            Lent::TakenAway => return Ok(Edited::TakenAway),
        }
        // Editors may put another file in its place.
        let bytes = file.read()?;
        Ok(String::from_utf8(bytes).map_or(Edited::NotText, Edited::Saved))
    }

    /// Returns the arguments with what was saved in them.
    fn args_with(&self, args: &Value, saved: &str) -> ChangedArgs {
        let Some(key) = self.key else {
            let why = match json::parse(saved.as_bytes()) {
                Ok(changed) if changed.is_object() => return ChangedArgs::Changed(changed),
                Ok(_) => "it is not a JSON object".to_owned(),
                Err(err) => err.to_string(),
            };
            return ChangedArgs::Unchanged(format!(
                "What you saved is not a call: {why}. m opens it again; the call is as it was sent."
            ));
        };
        // Editors end the last line, though the text may not have.
        let saved = match saved.strip_suffix('\n') {
            Some(without) if !self.text.ends_with('\n') => without,
            _ => saved,
        };
        let mut changed = args.clone();
        changed[key] = saved.into();
        ChangedArgs::Changed(changed)
    }
}

/// A file that only the person can read, which is gone when this is dropped.
struct EditedFile(PathBuf);

impl EditedFile {
    fn create(ending: &str, text: &str) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("toolcrib-{}{ending}", new_call_id()));
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        let created = Self(path);
        file.write_all(text.as_bytes())?;
        Ok(created)
    }
}

impl EditedFile {
    /// Returns what is in the file now. A command that can write to the temporary folder could have put a link to a
    /// file of the person there, or a pipe.
    fn read(&self) -> io::Result<Vec<u8>> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        let file = File::options().read(true).custom_flags(flags.cast_signed()).open(&self.0)?;
        let meta = file.metadata()?;
        if !meta.is_file() || meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("another file is in its place"));
        }
        let mut bytes = Vec::new();
        file.take(MOST_EDITED_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST_EDITED_BYTES {
            return Err(io::Error::other("it is too long for a call"));
        }
        Ok(bytes)
    }
}

impl Drop for EditedFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns how the name of the file that a call is about ends, if that is plain.
fn ending(args: &Value) -> Option<String> {
    let mut paths = args.as_object()?.iter().filter(|(key, _)| key.contains("path"));
    let ending = Path::new(paths.next()?.1.as_str()?).extension()?.to_str()?;
    let is_plain = ending.len() <= MOST_ENDING_BYTES
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain.then(|| format!(".{ending}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_of_a_call_is_opened_as_it_is() {
        for (args, text, ending) in [
            (json!({"command": "ls\nid", "timeout": 3}), "ls\nid", ".sh"),
            (json!({"file_path": "a/b.py", "content": "x = 1\n"}), "x = 1\n", ".py"),
            (json!({"path": "a", "new_string": "x"}), "x", ".txt"),
            (json!({"path": "a.x;y", "old_string": "o", "new_string": "x"}), "x", ".txt"),
        ] {
            let opened = EditedText::of(&args);
            assert_eq!((&*opened.text, &*opened.ending), (text, ending), "{args}");
            assert_eq!(opened.args_with(&args, text), ChangedArgs::Changed(args.clone()));
            // An editor ends the last line. Where it was ended before, one more is a change.
            let ended = opened.args_with(&args, &format!("{text}\n"));
            assert_eq!(ended == ChangedArgs::Changed(args.clone()), !text.ends_with('\n'));
        }
        // Two texts, or none: all arguments.
        for args in [json!({"text": "a", "content": "b"}), json!({"id": 3}), json!({"command": 5})]
        {
            let opened = EditedText::of(&args);
            assert_eq!((opened.key, &*opened.ending), (None, ".json"), "{args}");
            assert_eq!(opened.args_with(&args, &opened.text), ChangedArgs::Changed(args.clone()));
        }
    }

    #[test]
    fn what_is_no_call_is_refused() {
        let args = json!({"id": 3});
        let opened = EditedText::of(&args);
        let changed = opened.args_with(&args, "{\"id\": 4}");
        assert_eq!(changed, ChangedArgs::Changed(json!({"id": 4})));
        for saved in ["", "[1]", "3", "{\"id\": 4", "{\"id\": 4, \"id\": 5}"] {
            let read = opened.args_with(&args, saved);
            assert!(matches!(read, ChangedArgs::Unchanged(_)), "{saved}: {read:?}");
        }
    }
}
