//! Tells a client how far a long call is: that it goes on, and what its command prints.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::time::{Instant, MissedTickBehavior, interval};
use toolcrib_core::CallId;
use toolcrib_core::command::{Lines, Stream};
use toolcrib_core::escape;

use crate::api::Api;

/// How often a client is told.
const INTERVAL: Duration = Duration::from_secs(1);

/// The most bytes of output in one message.
const MOST_BYTES: usize = 8 << 10;

/// Follows a call for a client that asked for it.
pub(super) struct CallProgress {
    api: Arc<Api>,
    call: CallId,
    peer: Peer<RoleServer>,
    token: ProgressToken,
}

impl CallProgress {
    /// Returns nothing if the client did not ask for it.
    pub(super) fn wanted(
        api: &Arc<Api>,
        call: &CallId,
        context: &RequestContext<RoleServer>,
    ) -> Option<Self> {
        let token = context.meta.get_progress_token()?;
        let (api, call) = (Arc::clone(api), call.clone());
        Some(Self { api, call, peer: context.peer.clone(), token })
    }

    /// Tells the client once a second, until this is dropped. What a command printed is told as it comes.
    pub(super) async fn tell(self) {
        let began = Instant::now();
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick comes at once, and a short call needs none.
        ticks.tick().await;
        let mut next_line = 1;
        loop {
            ticks.tick().await;
            let printed = self.printed(&mut next_line).await;
            let seconds = began.elapsed().as_secs_f64();
            let message = printed.unwrap_or_else(|| format!("running for {seconds:.0} s"));
            let progress =
                ProgressNotificationParam::new(self.token.clone(), seconds).with_message(message);
            if self.peer.notify_progress(progress).await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Returns what the command of the call has printed since, and moves `next_line` on.
    async fn printed(&self, next_line: &mut u64) -> Option<String> {
        let (backend, call) = (Arc::clone(&self.api.ports.backend), self.call.0.clone());
        let lines = Lines { from: *next_line, count: u64::MAX, most: MOST_BYTES };
        let read = move || backend.output(&call, Stream::Stdout, lines);
        let excerpt = tokio::task::spawn_blocking(read).await.ok()?.ok()?;
        if excerpt.count == 0 {
            return None;
        }
        *next_line = excerpt.from + excerpt.count;
        Some(escape::lines(&excerpt.text).into_owned())
    }
}
