//! The link that logs the person who started the server in to its page.

use std::io::{self, IsTerminal};

use toolcrib_core::Principal;
use toolcrib_serve::{LINK_SECONDS, PageSessions, Server};

use crate::cli::ServeArgs;
use crate::command::api::warn;
use crate::error::CliError;

/// Makes the link, and returns the line that tells of it. Returns `None` if stdout is no terminal and nobody asked for the
/// link: stdout may be a log, and others may read that.
pub(super) fn make(
    args: &ServeArgs,
    server: &Server,
    sessions: &PageSessions,
) -> Result<Option<String>, CliError> {
    if !args.login_link && !io::stdout().is_terminal() {
        return Ok(None);
    }
    let Some(url) = server.page_url() else {
        if args.login_link {
            warn("there is no login link, because a browser cannot open a Unix socket");
        }
        return Ok(None);
    };
    let user = Principal::of_page(rustix::process::getuid().as_raw());
    let code = sessions.make_link(user)?;
    let link = format!("{url}/login#link={code}");
    let minutes = LINK_SECONDS / 60;
    Ok(Some(format!("Open {link} in a browser. The link works once, within {minutes} minutes.")))
}
