//! The sessions of the page. They are in memory, so a restart ends them all. Whoever has the cookie of a session can read
//! what its owner can. To change anything, the session's second secret is needed too: a browser sends cookies to every
//! port of a host, and so to programs that are not ours.

mod cookie;
mod secret;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolcrib_core::{Clock, Principal};

pub(crate) use cookie::SessionCookie;

use crate::presented_token::{PresentedToken, TokenBook, TokenKind, TokenOwner};
use crate::session_life::SessionLife;
use secret::{SecretHash, new_secret};

/// How many sessions there can be. The one that was not used for longest makes room.
const MOST_PAGE_SESSIONS: usize = 1024;

/// How many sessions one principal can have. Its own that was not used for longest makes room, so that nobody can end the
/// sessions of others.
const MOST_PAGE_SESSIONS_EACH: usize = 32;

/// How long the printed link works, in seconds.
pub const LINK_SECONDS: i64 = 10 * 60;

/// The sessions of the page, and the link that begins one.
pub struct PageSessions {
    clock: Arc<dyn Clock>,
    open: Mutex<HashMap<SecretHash, Arc<PageSession>>>,
    link: Mutex<Option<LoginLink>>,
}

/// The sessions of a server, and the cookie by which it knows them.
pub(crate) struct PageDoor {
    pub(crate) sessions: Arc<PageSessions>,
    pub(crate) cookie: SessionCookie,
}

/// A session of the page.
pub(crate) struct PageSession {
    /// Who logged in.
    pub(crate) owner: TokenOwner,
    life: Arc<SessionLife>,
    csrf: SecretHash,
}

/// What a browser gets when it logs in.
pub(crate) struct BegunSession {
    pub(crate) session: Arc<PageSession>,
    /// The value of the cookie.
    pub(crate) id: String,
    /// The second secret.
    pub(crate) csrf: String,
}

/// The link that logs somebody in, once.
struct LoginLink {
    code: SecretHash,
    owner: Principal,
    /// The second in which it expires.
    expires_at: i64,
}

impl PageSessions {
    /// Returns a place for sessions, which has none.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, open: Mutex::default(), link: Mutex::default() }
    }

    /// Makes the code of a link that logs `owner` in, once and soon. An earlier one counts no more.
    pub fn make_link(&self, owner: Principal) -> io::Result<String> {
        let (code, hash) = new_secret()?;
        let expires_at = self.clock.now().as_second().saturating_add(LINK_SECONDS);
        *self.link() = Some(LoginLink { code: hash, owner, expires_at });
        Ok(code)
    }

    /// Uses the link up. Returns whom it logs in, or `None` if this is not its code, or it was used or has expired.
    pub(crate) fn redeem_link(
        &self,
        code: &str,
        tokens: &Arc<dyn TokenBook>,
    ) -> Option<TokenOwner> {
        let mut link = self.link();
        let is_good = link.as_ref().is_some_and(|it| it.code.matches(code));
        let used = link.take_if(|_| is_good)?;
        let is_fresh = self.clock.now().as_second() < used.expires_at;
        let token =
            PresentedToken { tokens: Arc::clone(tokens), kind: TokenKind::Link, session: None };
        is_fresh.then_some(TokenOwner { principal: used.owner, other_role: None, token })
    }

    /// Begins a session of `owner`.
    pub(crate) fn begin(&self, mut owner: TokenOwner) -> io::Result<BegunSession> {
        let ((id, hash), (csrf, csrf_hash)) = (new_secret()?, new_secret()?);
        let life = Arc::new(SessionLife::begin(Arc::clone(&self.clock)));
        owner.token.session = Some(Arc::clone(&life));
        let session = Arc::new(PageSession { owner, life, csrf: csrf_hash });
        let mut open = self.open();
        open.retain(|_, it| !it.life.has_expired());
        let name = &session.owner.principal.name;
        if open.values().filter(|it| it.owner.principal.name == *name).count()
            >= MOST_PAGE_SESSIONS_EACH
        {
            end_idlest(&mut open, |it| it.owner.principal.name == *name);
        }
        if open.len() >= MOST_PAGE_SESSIONS {
            end_idlest(&mut open, |_| true);
        }
        open.insert(hash, Arc::clone(&session));
        Ok(BegunSession { session, id, csrf })
    }

    /// Returns the session with this id, if it and its token still count, and notes that it is used.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<PageSession>> {
        let hash = SecretHash::of(id)?;
        let session = self.open().get(&hash).cloned()?;
        if !session.owner.token.is_good() {
            return None;
        }
        session.life.note_use();
        Some(session)
    }

    /// Ends a session, and what was begun in it.
    pub(crate) fn end(&self, session: &PageSession) {
        session.life.end();
        self.open().retain(|_, it| !it.life.has_ended());
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SecretHash, Arc<PageSession>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn link(&self) -> MutexGuard<'_, Option<LoginLink>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the session that was not used for longest, of those that `may_end` names.
fn end_idlest(
    open: &mut HashMap<SecretHash, Arc<PageSession>>,
    may_end: impl Fn(&PageSession) -> bool,
) {
    let candidates = open.iter().filter(|(_, session)| may_end(session));
    let idlest = candidates.min_by_key(|(_, session)| session.life.used_at());
    if let Some(hash) = idlest.map(|(hash, _)| *hash)
        && let Some(session) = open.remove(&hash)
    {
        session.life.end();
    }
}

impl PageSession {
    /// Whether this is the second secret of the session.
    pub(crate) fn has_csrf(&self, presented: &str) -> bool {
        self.csrf.matches(presented)
    }

    /// Returns in how many seconds the session ends, however much it is used.
    pub(crate) fn seconds_left(&self) -> i64 {
        self.life.seconds_left(self.owner.token.expires_at())
    }
}
