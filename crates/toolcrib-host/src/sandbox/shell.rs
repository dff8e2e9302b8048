//! The program that runs a command's text.

use std::path::{Path, PathBuf};

use toolcrib_core::command::{CommandRequest, Shell};
use toolcrib_core::{ErrorKind, ToolError};

use super::config::Operator;
use toolcrib_inside::PROXY_PORT;

/// The folders that shells are searched in: commands see them, and no command can change them.
const SHELL_FOLDERS: [&str; 4] =
    ["/usr/bin", "/bin", "/usr/local/bin", "/opt/microsoft/powershell/7"];

/// The longest text of a command: the kernel takes no longer argument.
const MOST_TEXT_BYTES: usize = (128 << 10) - 1;

/// Fails if the text cannot be passed to any program.
pub(crate) fn check(request: &CommandRequest) -> Result<(), ToolError> {
    let bad = |message: &str, hint: &str| {
        Err(ToolError::new(ErrorKind::BadArgs, message).hint(hint.to_owned()))
    };
    if matches!(request.shell, Shell::Program(_)) {
        return Ok(());
    }
    if request.text.trim().is_empty() {
        return bad("the command is empty", "give the command to run");
    }
    if request.text.contains('\0') {
        return bad("the command contains a NUL character", "remove it");
    }
    if request.text.len() > MOST_TEXT_BYTES {
        let message =
            format!("the command has {} bytes; the limit is {MOST_TEXT_BYTES}", request.text.len());
        return Err(ToolError::new(ErrorKind::TooLarge, message)
            .hint("write the command to a file in the workspace and run that file"));
    }
    Ok(())
}

/// Returns the program and its arguments.
pub(crate) fn arguments(
    request: &CommandRequest,
    operator: &Operator,
) -> Result<Vec<String>, ToolError> {
    let text = request.text.as_str();
    let words = |program: &Path, options: &[&str]| {
        let mut words = vec![program.display().to_string()];
        words.extend(options.iter().map(|option| (*option).to_owned()));
        words.push(text.to_owned());
        words
    };
    match &request.shell {
        Shell::Program(arguments) => Ok(arguments.clone()),
        Shell::Bash => find("bash").map(|bash| words(&bash, &["--noprofile", "--norc", "-c"])),
        Shell::Own => {
            let own = operator.shell.as_deref().filter(|shell| {
                SHELL_FOLDERS.iter().any(|folder| shell.parent() == Some(Path::new(folder)))
                    && shell.is_file()
            });
            let shell =
                own.map_or_else(|| find("bash").or_else(|_| find("sh")), |own| Ok(own.to_owned()))?;
            let options: &[&str] = match shell.file_name().and_then(|name| name.to_str()) {
                Some("bash") => &["--noprofile", "--norc", "-c"],
                Some("zsh") => &["-f", "-c"],
                Some("fish") => &["--no-config", "-c"],
                Some("sh" | "dash" | "ksh" | "mksh" | "ash") => &["-c"],
                // A shell whose options we do not know might read a profile.
                _ => return find("sh").map(|sh| words(&sh, &["-c"])),
            };
            Ok(words(&shell, options))
        }
        Shell::PowerShell => find("pwsh")
            .or_else(|_| find("powershell"))
            .map(|shell| words(&shell, &["-NoLogo", "-NoProfile", "-NonInteractive", "-Command"]))
            .map_err(|_| {
                ToolError::new(
                    ErrorKind::Unavailable,
                    "PowerShell is not installed on this machine",
                )
                .hint("install the package `powershell`, or use run_bash")
                .with("reason", "powershell_missing")
            }),
    }
}

/// Returns the path of a shell in [`SHELL_FOLDERS`].
fn find(name: &str) -> Result<PathBuf, ToolError> {
    let found =
        SHELL_FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file());
    found.ok_or_else(|| {
        ToolError::new(ErrorKind::Unavailable, format!("`{name}` is not installed on this machine"))
            .hint(format!("install `{name}`"))
    })
}

/// Returns the environment variables that lead programs to the proxy.
pub(crate) fn proxy_environment() -> Vec<String> {
    let address = format!("http://127.0.0.1:{PROXY_PORT}");
    let mut all: Vec<String> =
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
            .map(|name| format!("{name}={address}"))
            .into();
    // Servers that the command starts itself are reached directly.
    let own = "localhost,127.0.0.1,::1,0.0.0.0";
    all.extend(["NO_PROXY", "no_proxy"].map(|name| format!("{name}={own}")));
    all.push("NODE_USE_ENV_PROXY=1".to_owned());
    all
}
