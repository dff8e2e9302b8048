//! The housekeeping of a server, beside its answers: it finds out when it is ready and whether its state folder is still
//! there, tells the service manager, and ends the calls of revoked tokens.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use toolcrib_core::{Principal, escape};
use toolcrib_ledger::TokenFile;
use toolcrib_search::Phase;
use toolcrib_serve::{Readiness, RunningCalls};

use crate::command::service_manager::ServiceManager;
use crate::wiring::Crib;

/// How often the server looks whether a token was revoked whose calls still run.
const REVOKED_INTERVAL: Duration = Duration::from_millis(250);

/// How often the server looks whether the state folder is still there.
const STATE_INTERVAL: Duration = Duration::from_millis(250);

/// How often the server looks whether the index has begun.
const INDEX_INTERVAL: Duration = Duration::from_millis(2);

/// How often the server looks whether the time of a proposal is over.
const PROPOSALS_INTERVAL: Duration = Duration::from_secs(5);

/// What the housekeeping of a server works with.
pub(super) struct Housekeeping<'a> {
    pub(super) crib: &'a Crib,
    pub(super) tokens: &'a TokenFile,
    pub(super) running: RunningCalls,
    pub(super) readiness: Readiness,
    pub(super) manager: &'a ServiceManager,
    /// The address, as clients write it.
    pub(super) url: String,
}

impl Housekeeping<'_> {
    /// Does it all, until this is dropped.
    pub(super) async fn run(&self) -> Infallible {
        let state = self.watch_state_folder();
        let revoked = self.end_calls_of_revoked();
        tokio::join!(
            self.become_ready(),
            self.feed_watchdog(),
            self.expire_proposals(),
            state,
            revoked
        )
        .4
    }

    /// Makes the server ready when it is known whether commands can run, and what searches are answered from. Calls that
    /// come before are answered too.
    async fn become_ready(&self) {
        let search = Arc::clone(self.crib.search());
        search.start();
        self.readiness.set_waiting("the sandbox is being tried");
        let sandbox = Arc::clone(self.crib.sandbox());
        let tried = tokio::task::spawn_blocking(move || sandbox.user().err()).await;
        if let Ok(Some(err)) = tried {
            tracing::warn!("commands cannot run here: {}", escape::line(&err.message));
        }
        self.readiness.set_waiting("the search index is being opened");
        // While the index is built, searches scan.
        while search.statuses().iter().any(|(_, status)| status.phase == Phase::Asleep) {
            sleep(INDEX_INTERVAL).await;
        }
        self.readiness.set_ready();
        self.manager.tell(&format!("READY=1\nSTATUS=Listening on {}", self.url));
    }

    /// Records that proposals ran out, also those that did so while no server ran.
    async fn expire_proposals(&self) -> Infallible {
        let mut told = None;
        loop {
            let lifecycle = self.crib.plugins().lifecycle(&self.crib.settings);
            let expired = tokio::task::spawn_blocking(move || lifecycle.expire()).await;
            let fault = expired.ok().and_then(Result::err).map(|err| err.message);
            if let Some(fault) = fault.as_ref().filter(|_| fault != told) {
                tracing::warn!("proposals of tools cannot be read: {}", escape::line(fault));
            }
            told = fault;
            sleep(PROPOSALS_INTERVAL).await;
        }
    }

    /// Tells the manager that the event loop still turns.
    async fn feed_watchdog(&self) {
        let Some(interval) = self.manager.watchdog_interval() else { return };
        loop {
            self.manager.tell("WATCHDOG=1");
            sleep(interval).await;
        }
    }

    /// Refuses all requests while the state folder is gone, and tells the operator.
    async fn watch_state_folder(&self) -> Infallible {
        let mut told = None;
        loop {
            let loss = self.readiness.look_for_loss();
            if loss != told {
                let text = loss.as_deref().unwrap_or("the state folder is back");
                tracing::warn!("{}", escape::line(text));
                told = loss;
            }
            sleep(STATE_INTERVAL).await;
        }
    }

    /// Ends the calls and background tasks of tokens that were revoked. Every call is compared again and again, because
    /// one that was admitted a moment before may begin a moment after.
    async fn end_calls_of_revoked(&self) -> Infallible {
        loop {
            sleep(REVOKED_INTERVAL).await;
            // A list that is gone or cannot be read now says nothing about anybody.
            if self.readiness.look_for_loss().is_some() {
                continue;
            }
            let is_gone = |principal: &Principal| !self.tokens.is_active(principal).unwrap_or(true);
            self.running.cancel_of(is_gone);
            self.crib.end_commands_of(&is_gone);
        }
    }
}
