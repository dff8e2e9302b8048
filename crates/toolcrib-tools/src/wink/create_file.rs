//! `create_file`: creates a new file.

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_core::capability::WriteMode;
use toolcrib_core::{
    Ctx, Declaration, Effect, Example, Limits, Plan, Tier, Tool, ToolError, counted,
};

use crate::operation::check;
use crate::operation::text::MAX_FILE_BYTES;
use crate::operation::text_reply::TextReply;

pub(crate) struct CreateFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Relative path to the file to create
    path: String,
    /// Content to write to the file
    content: String,
}

static DECLARATION: Declaration = Declaration {
    name: "create_file",
    summary: "Create a new file with specified content. Missing directories are created; an existing file \
              is an error. Returns: {success, output, files_affected, execution_time_ms}",
    tier: Tier::Elevated,
    effect: Effect::Write,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "Create a file and its missing directory.",
            files: &[],
            before: &[],
            args: r#"{"path": "src/hello.py", "content": "print('hello')\n"}"#,
            reply: r#"{"tool": "create_file", "success": true,
                "output": "Created file: src/hello.py (15 bytes)",
                "files_affected": ["src/hello.py"], "execution_time_ms": 0}"#,
            leaves: &[("src/hello.py", "print('hello')\n")],
        },
        Example {
            about: "An existing file is an error and stays as it is.",
            files: &[("test.txt", "old")],
            before: &[],
            args: r#"{"path": "test.txt", "content": "new"}"#,
            reply: r#"{"tool": "create_file", "success": false,
                "output": "Error: File 'test.txt' already exists. Use replace_string_in_file to modify",
                "error": {"code": "file_exists",
                    "message": "File 'test.txt' already exists. Use replace_string_in_file to modify",
                    "suggestion": "Use replace_string_in_file to change the file, or choose another name"},
                "files_affected": [], "execution_time_ms": 0}"#,
            leaves: &[("test.txt", "old")],
        },
        Example {
            about: "A path outside the working directory is refused.",
            files: &[],
            before: &[],
            args: r#"{"path": "../etc/passwd", "content": ""}"#,
            reply: r#"{"tool": "create_file", "success": false,
                "output": "Error: Path '../etc/passwd' is outside working directory",
                "error": {"code": "path_outside_working_dir",
                    "message": "Path '../etc/passwd' is outside working directory",
                    "suggestion": "Use a path inside the working directory; links may not leave it"},
                "files_affected": [], "execution_time_ms": 0}"#,
            leaves: &[],
        },
    ],
};

impl Tool for CreateFile {
    type Args = Args;
    type Reply = TextReply<()>;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        check::create(&*ctx.files, &args.path, &args.content, MAX_FILE_BYTES)
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<TextReply<()>, ToolError> {
        ctx.files.write(&args.path, args.content.as_bytes(), WriteMode::New)?;
        Ok(TextReply {
            output: format!(
                "Created file: {} ({})",
                args.path,
                counted(args.content.len() as u64, "byte")
            ),
            files_affected: vec![args.path],
            metadata: None,
        })
    }
}
