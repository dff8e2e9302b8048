//! `edit`: replaces a string in a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_core::capability::WriteMode;
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::edit::{self, Miss, Occurrences, Replacement};
use crate::operation::{lines, similar};

pub(crate) struct Edit;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Path to file
    file_path: String,
    /// Exact string to find and replace. Optional only when `create_if_not_exists` is true and the
    /// file does not exist.
    old_string: Option<String>,
    /// Replacement string
    new_string: String,
    /// Replace all occurrences. (default: false)
    replace_all: Option<bool>,
    /// Create file if missing. (default: false)
    create_if_not_exists: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    success: bool,
    replacements: usize,
    file_size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<bool>,
}

/// The most bytes of one line in a suggestion.
const MOST_SUGGESTION_BYTES: usize = 200;

static DECLARATION: Declaration = Declaration {
    name: "edit",
    summary: "Replace a string in an existing file. Returns: {success, replacements, file_size, \
              created?} or {error, error_code, suggestions?}",
    tier: Tier::Elevated,
    effect: Effect::Write,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "Replace one occurrence.",
            files: &[("src/lib.rs", "let x = 5;\n")],
            before: &[],
            args: r#"{"file_path": "src/lib.rs", "old_string": "let x = 5;", "new_string": "let x = 10;"}"#,
            reply: r#"{"success": true, "replacements": 1, "file_size": 12}"#,
            leaves: &[("src/lib.rs", "let x = 10;\n")],
        },
        Example {
            about: "Replace all occurrences.",
            files: &[("src/main.rs", "println!(1); println!(2);")],
            before: &[],
            args: r#"{"file_path": "src/main.rs", "old_string": "println!", "new_string": "eprintln!",
                "replace_all": true}"#,
            reply: r#"{"success": true, "replacements": 2, "file_size": 27}"#,
            leaves: &[("src/main.rs", "eprintln!(1); eprintln!(2);")],
        },
        Example {
            about: "Create the file if it is missing.",
            files: &[],
            before: &[],
            args: r#"{"file_path": "new_module.rs", "new_string": "pub fn init() {}",
                "create_if_not_exists": true}"#,
            reply: r#"{"success": true, "replacements": 0, "file_size": 16, "created": true}"#,
            leaves: &[("new_module.rs", "pub fn init() {}")],
        },
        Example {
            about: "A string with several matches is an error that lists them.",
            files: &[("src/lib.rs", "let x = 5;\nlet x = foo();\nlet x: i32\n")],
            before: &[],
            args: r#"{"file_path": "src/lib.rs", "old_string": "let x", "new_string": "let y"}"#,
            reply: r#"{"error": "String matches 3 locations. Provide more context.",
                "error_code": "NOT_UNIQUE",
                "suggestions": ["let x = 5;", "let x = foo();", "let x: i32"],
                "context": {"occurrences": 3, "lines": [1, 2, 3], "file_path": "src/lib.rs",
                    "hint": "include surrounding lines to make it unique, or set replace_all"}}"#,
            leaves: &[("src/lib.rs", "let x = 5;\nlet x = foo();\nlet x: i32\n")],
        },
        Example {
            about: "A string without a match is an error that shows the most similar text.",
            files: &[("src/lib.rs", "fn a() {}\nlet total = 5;\n")],
            before: &[],
            args: r#"{"file_path": "src/lib.rs", "old_string": "let totals = 5;", "new_string": "x"}"#,
            reply: r#"{"error": "String not found in file", "error_code": "NOT_FOUND",
                "suggestions": [{"line": 2, "text": "let total = 5;", "similarity": "93%"}],
                "context": {"file_path": "src/lib.rs",
                    "hint": "read the file again and copy the text exactly, including spaces"}}"#,
            leaves: &[],
        },
    ],
};

impl Tool for Edit {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        if is_new(ctx, args)? {
            ctx.files.check_write(&args.file_path)?;
            return Ok(Plan::edit(&args.file_path, None, Some(args.new_string.clone())));
        }
        let replacement = replacement(args)?;
        edit::preview(&*ctx.files, &args.file_path, &replacement, |text, miss| {
            missed(args, text, miss)
        })
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        if is_new(ctx, &args)? {
            ctx.files.write(&args.file_path, args.new_string.as_bytes(), WriteMode::New)?;
            let file_size = args.new_string.len() as u64;
            return Ok(Reply { success: true, replacements: 0, file_size, created: Some(true) });
        }
        let word = |text: &str, miss: &Miss| missed(&args, text, miss);
        let (done, file_size) =
            edit::run(&*ctx.files, &args.file_path, &replacement(&args)?, word)?;
        Ok(Reply { success: true, replacements: done.count, file_size, created: None })
    }
}

/// Returns whether the call creates its file, because the file is missing and the call asks for that.
fn is_new(ctx: &Ctx, args: &Args) -> Result<bool, ToolError> {
    if args.create_if_not_exists != Some(true) {
        return Ok(false);
    }
    match ctx.files.stat(&args.file_path) {
        Err(err) if err.kind == ErrorKind::NotFound => Ok(true),
        Err(err) => Err(err),
        Ok(_) => Ok(false),
    }
}

fn replacement(args: &Args) -> Result<Replacement<'_>, ToolError> {
    let refuse = |message: &str| ToolError::new(ErrorKind::BadArgs, message).at(&args.file_path);
    let old = args.old_string.as_deref().filter(|old| !old.is_empty()).ok_or_else(|| {
        refuse("`old_string` is required unless `create_if_not_exists` creates a new file")
    })?;
    if old == args.new_string {
        return Err(refuse("`old_string` and `new_string` are identical, so nothing would change"));
    }
    let occurrences =
        if args.replace_all == Some(true) { Occurrences::All } else { Occurrences::Only };
    Ok(Replacement { old, new: &args.new_string, occurrences })
}

/// Returns the error for a replacement that was not made, with the passages the caller may have meant.
fn missed(args: &Args, text: &str, miss: &Miss) -> ToolError {
    let path = &args.file_path;
    match miss {
        Miss::Several(count, numbers) => {
            let all = lines::of(text);
            let line = |number: &usize| {
                let line = all.get(number - 1).copied().unwrap_or_default().trim();
                Value::from(lines::cut(line, MOST_SUGGESTION_BYTES))
            };
            let message = format!("String matches {count} locations. Provide more context.");
            ToolError::new(ErrorKind::NotUnique, message)
                .hint("include surrounding lines to make it unique, or set replace_all")
                .at(path)
                .with("suggestions", numbers.iter().take(10).map(line).collect::<Vec<_>>())
                .with("occurrences", *count)
                .with("lines", numbers.iter().take(100).copied().collect::<Vec<_>>())
        }
        Miss::None => {
            let error = ToolError::new(ErrorKind::NoMatch, "String not found in file").at(path);
            let wanted = args.old_string.as_deref().unwrap_or_default();
            let near: Vec<Value> = similar::passages(text, wanted)
                .into_iter()
                .map(|passage| {
                    let similarity = format!("{:.0}%", passage.similarity * 100.0);
                    let text = lines::cut(&passage.text, 10 * MOST_SUGGESTION_BYTES);
                    json!({"line": passage.line, "text": text, "similarity": similarity})
                })
                .collect();
            if near.is_empty() { error } else { error.with("suggestions", near) }
        }
    }
}
