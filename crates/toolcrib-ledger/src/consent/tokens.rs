//! The tokens of the server. Each has a name and a role. Only their hashes are stored.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolcrib_core::{Principal, Role, canonical};

use crate::list_file::{ListError, ListFile, ListVersion};
use crate::state::StateFolder;

/// What every token begins with, so that people and scanners know one when they see it.
const PREFIX: &str = "tcb_";

/// How many random bytes a token has.
const TOKEN_BYTES: usize = 32;

/// How long a name may be.
const LONGEST_NAME: usize = 64;

/// A token as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredToken {
    /// Who the owner of the token is.
    #[serde(flatten)]
    pub principal: Principal,
    /// When the token was made.
    pub created_at: Timestamp,
    /// When the owner last got a new secret for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotated_at: Option<Timestamp>,
    /// When the token was revoked. It stays in the list, so that nobody else gets its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// The hash of the token, as hexadecimal digits.
    hash: String,
}

/// The hash of a token. Whoever has it can tell whether the token still counts, and cannot use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenHash(String);

impl TokenHash {
    /// Returns the hash of a token.
    pub fn of(token: &str) -> Self {
        Self(hash(token))
    }
}

/// Why a token cannot be made, listed, rotated or revoked.
#[derive(Debug)]
pub struct TokenError {
    /// The kind of the error.
    pub kind: TokenErrorKind,
    /// What went wrong, as one sentence.
    pub message: String,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenErrorKind {
    /// No principal can have this name.
    BadName,
    /// Another token has this name.
    NameTaken,
    /// A token with this name was revoked.
    NameRevoked,
    /// The list of tokens cannot be used.
    Store,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TokenError {}

impl From<ListError> for TokenError {
    fn from(err: ListError) -> Self {
        let message = match err {
            ListError::Untrusted(why) | ListError::Malformed(why) => why,
            ListError::Io(err) => format!("the list of tokens cannot be used: {err}"),
        };
        Self { kind: TokenErrorKind::Store, message }
    }
}

/// The tokens on disk.
pub struct TokenFile {
    file: ListFile,
    known: Mutex<Option<KnownTokens>>,
}

/// What one version of the file says.
#[derive(Default)]
struct KnownTokens {
    version: ListVersion,
    /// The owners of tokens by hash.
    owners: HashMap<String, Principal>,
    /// The names that were revoked. `None` if the list cannot be trusted: it may lack one.
    revoked: Option<HashSet<String>>,
}

impl TokenFile {
    /// Opens the tokens in the state folder.
    pub fn new(state: &StateFolder) -> Self {
        Self { file: ListFile::new(state, "tokens", "token"), known: Mutex::default() }
    }

    /// Returns every token, oldest first, also those that were revoked.
    pub fn all(&self) -> Result<Vec<StoredToken>, TokenError> {
        Ok(self.file.read()?)
    }

    /// Makes a token and returns it. It is shown this once: only its hash is stored.
    pub fn add(&self, name: &str, role: Role, now: Timestamp) -> Result<String, TokenError> {
        check_name(name)?;
        let token = new_token()?;
        let principal = Principal { name: name.to_owned(), role };
        let stored = StoredToken {
            principal,
            created_at: now,
            rotated_at: None,
            revoked_at: None,
            hash: hash(&token),
        };
        self.file.change(|all: &mut Vec<StoredToken>| {
            match all.iter().find(|it| it.principal.name == name) {
                None => {
                    all.push(stored);
                    Ok(())
                }
                Some(taken) => Err(name_taken(taken)),
            }
        })?;
        Ok(token)
    }

    /// Gives the owner of a token a new one, and returns both. The old one counts no more. The name, the role and all that
    /// was granted stay. Returns nothing if there is no token with this name.
    pub fn rotate(
        &self,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<(Principal, String)>, TokenError> {
        let token = new_token()?;
        self.file.change(|all: &mut Vec<StoredToken>| {
            let Some(found) = all.iter_mut().find(|it| it.principal.name == name) else {
                return Ok(None);
            };
            if let Some(at) = found.revoked_at {
                let message = format!(
                    "the token with the name `{name}` was revoked at {at:.0}, and stays so; make one with another name"
                );
                return Err(TokenError { kind: TokenErrorKind::NameRevoked, message });
            }
            found.hash = hash(&token);
            found.rotated_at = Some(now);
            Ok(Some((found.principal.clone(), token)))
        })
    }

    /// Revokes the token with this name. Returns whether there was one. A name that somebody else vouches for has no
    /// token in the list. It is added as revoked.
    pub fn revoke(&self, name: &str, now: Timestamp) -> Result<bool, TokenError> {
        self.file.change(|all: &mut Vec<StoredToken>| {
            if Principal::is_vouched_name(name) && all.iter().all(|it| it.principal.name != name) {
                all.push(StoredToken {
                    principal: Principal { name: name.to_owned(), role: Role::Agent },
                    created_at: now,
                    rotated_at: None,
                    revoked_at: Some(now),
                    hash: String::new(),
                });
                return Ok(true);
            }
            let is_it =
                |it: &&mut StoredToken| it.principal.name == name && it.revoked_at.is_none();
            let found = all.iter_mut().find(is_it);
            Ok(found.map(|it| it.revoked_at = Some(now)).is_some())
        })
    }

    /// Returns the owner of a token. Tokens that another process has made or revoked meanwhile are seen. The token is
    /// found by its hash, so how long that takes says nothing about other tokens.
    pub fn find(&self, token: &TokenHash) -> Option<Principal> {
        self.with_known(|known| known.owners.get(&token.0).cloned()).ok().flatten()
    }

    /// Whether a token still counts: it was neither revoked nor rotated.
    pub fn is_current(&self, token: &TokenHash) -> io::Result<bool> {
        self.with_known(|known| known.owners.contains_key(&token.0))
    }

    /// Whether there is a token of this principal that was not revoked. If somebody else vouches for the principal,
    /// only an operator revokes it here. The user of this machine and the user at the page have no token that
    /// could be revoked.
    pub fn is_active(&self, principal: &Principal) -> io::Result<bool> {
        let name = &principal.name;
        if principal.role == Role::User || Principal::is_page_name(name) {
            return Ok(true);
        }
        self.with_known(|known| match &known.revoked {
            Some(revoked) if Principal::is_vouched_name(name) => !revoked.contains(name),
            _ => known.owners.values().any(|it| it == principal),
        })
    }

    /// Fails only if the system refuses to read the list. That can pass, so nothing is remembered of it.
    fn with_known<R>(&self, read: impl FnOnce(&KnownTokens) -> R) -> io::Result<R> {
        let version = self.file.version();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match known.take() {
            Some(current) if current.version == version => known.insert(current),
            _ => known.insert(match self.file.read() {
                Ok(all) => KnownTokens::of(version, all),
                // Such a list has no token that counts, until it changes.
                Err(ListError::Untrusted(_) | ListError::Malformed(_)) => {
                    KnownTokens { version, ..KnownTokens::default() }
                }
                Err(ListError::Io(err)) => return Err(err),
            }),
        };
        Ok(read(known))
    }
}

impl KnownTokens {
    fn of(version: ListVersion, all: Vec<StoredToken>) -> Self {
        let (revoked, active): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|it| it.revoked_at.is_some());
        Self {
            version,
            owners: active.into_iter().map(|it| (it.hash, it.principal)).collect(),
            revoked: Some(revoked.into_iter().map(|it| it.principal.name).collect()),
        }
    }
}

fn name_taken(taken: &StoredToken) -> TokenError {
    let name = &taken.principal.name;
    match taken.revoked_at {
        None => {
            let message = format!("there is a token with the name `{name}` already");
            TokenError { kind: TokenErrorKind::NameTaken, message }
        }
        Some(at) => {
            let message = format!(
                "the token with the name `{name}` was revoked at {at:.0}, and a new one would have its grants and \
                 calls; choose another name"
            );
            TokenError { kind: TokenErrorKind::NameRevoked, message }
        }
    }
}

fn check_name(name: &str) -> Result<(), TokenError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins_well && name.len() <= LONGEST_NAME && name.chars().all(is_plain) {
        return Ok(());
    }
    let message = format!(
        "a token's name has at most {LONGEST_NAME} letters, digits, `.`, `_` and `-`, and begins with a letter or digit"
    );
    Err(TokenError { kind: TokenErrorKind::BadName, message })
}

fn new_token() -> Result<String, TokenError> {
    let mut random = [0; TOKEN_BYTES];
    fill_random(&mut random)?;
    Ok(format!("{PREFIX}{}", hex(&random)))
}

fn fill_random(bytes: &mut [u8]) -> Result<(), TokenError> {
    let flags = rustix::rand::GetRandomFlags::empty();
    match rustix::rand::getrandom(&mut *bytes, flags) {
        Ok(count) if count == bytes.len() => Ok(()),
        _ => {
            let message = "the system gave no random bytes for a token".to_owned();
            Err(TokenError { kind: TokenErrorKind::Store, message })
        }
    }
}

fn hash(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    let _ = canonical::hex(bytes, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_known_until_it_is_revoked_and_only_its_hash_is_stored() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let (server, terminal) = (TokenFile::new(&state), TokenFile::new(&state));
        assert_eq!(server.find(&TokenHash::of("tcb_")), None);
        let token = terminal.add("ci", Role::Agent, Timestamp::UNIX_EPOCH).unwrap();
        let ada = terminal.add("ada", Role::Approver, Timestamp::UNIX_EPOCH).unwrap();
        assert!(token.starts_with(PREFIX) && token.len() == PREFIX.len() + 2 * TOKEN_BYTES);
        let ci = Principal { name: "ci".to_owned(), role: Role::Agent };
        assert_eq!(server.find(&TokenHash::of(&token)), Some(ci));
        assert_eq!(server.find(&TokenHash::of(&ada)).unwrap().role, Role::Approver);
        let wrong = format!("{}0", &token[..token.len() - 1]);
        assert!(wrong == token || server.find(&TokenHash::of(&wrong)).is_none());
        let path = folder.path().join("state/tokens.json");
        let stored = fs::read_to_string(&path).unwrap();
        assert!(!stored.contains(&token) && stored.contains("\"name\": \"ci\""), "{stored}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let agent = server.find(&TokenHash::of(&token)).unwrap();
        assert!(server.is_active(&agent).unwrap());
        let at: Timestamp = "2026-11-17T10:00:00.5Z".parse().unwrap();
        assert!(terminal.revoke("ci", at).unwrap() && !terminal.revoke("ci", at).unwrap());
        assert!(
            server.find(&TokenHash::of(&token)).is_none()
                && server.find(&TokenHash::of(&ada)).is_some()
        );
        let approver = server.find(&TokenHash::of(&ada)).unwrap();
        assert!(!server.is_active(&agent).unwrap() && server.is_active(&approver).unwrap());
        let again = terminal.add("ci", Role::Approver, at).unwrap_err();
        assert_eq!(again.kind, TokenErrorKind::NameRevoked);
        assert!(again.message.contains("was revoked at 2026-11-17T10:00:00Z"), "{again}");
        terminal.add("ci2", Role::Agent, at).unwrap();
        let revoked: Vec<_> =
            terminal.all().unwrap().into_iter().filter(|it| it.revoked_at.is_some()).collect();
        assert_eq!(revoked.len(), 1);
        assert_eq!((revoked[0].principal.name.as_str(), revoked[0].revoked_at), ("ci", Some(at)));
    }

    #[test]
    fn a_rotated_token_has_the_same_owner_and_another_secret() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let (server, terminal) = (TokenFile::new(&state), TokenFile::new(&state));
        let at: Timestamp = "2026-11-17T10:00:00Z".parse().unwrap();
        let old = terminal.add("ci", Role::Agent, Timestamp::UNIX_EPOCH).unwrap();
        let ada = terminal.add("ada", Role::Approver, Timestamp::UNIX_EPOCH).unwrap();
        let owner = server.find(&TokenHash::of(&old)).unwrap();
        assert!(server.is_current(&TokenHash::of(&old)).unwrap());
        let (principal, new) = terminal.rotate("ci", at).unwrap().unwrap();
        assert_eq!(principal, owner);
        assert_eq!(
            (server.find(&TokenHash::of(&old)), server.find(&TokenHash::of(&new))),
            (None, Some(owner.clone()))
        );
        assert!(!server.is_current(&TokenHash::of(&old)).unwrap());
        assert!(server.is_current(&TokenHash::of(&new)).unwrap());
        // What belongs to the name goes on, and nobody else is concerned.
        assert!(server.is_active(&owner).unwrap());
        assert!(server.is_current(&TokenHash::of(&ada)).unwrap());
        let stored = &terminal.all().unwrap()[0];
        assert_eq!((stored.created_at, stored.rotated_at), (Timestamp::UNIX_EPOCH, Some(at)));

        assert!(terminal.rotate("nobody", at).unwrap().is_none());
        terminal.revoke("ci", at).unwrap();
        let late = terminal.rotate("ci", at).unwrap_err();
        assert_eq!(late.kind, TokenErrorKind::NameRevoked);
        assert_eq!(server.find(&TokenHash::of(&new)), None);
    }

    #[test]
    fn whom_an_authorization_server_vouches_for_counts_until_it_is_revoked() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let (server, terminal) = (TokenFile::new(&state), TokenFile::new(&state));
        let [ada, eve] = ["ada", "eve"].map(|name| Principal::of_oauth("h", name, Role::Approver));
        let is_active = |principal: &Principal| server.is_active(principal).unwrap();
        assert!(is_active(&ada) && is_active(&eve));
        let at = Timestamp::UNIX_EPOCH;
        assert!(
            terminal.revoke(&ada.name, at).unwrap() && !terminal.revoke(&ada.name, at).unwrap()
        );
        assert!(!is_active(&ada) && is_active(&eve));
        // Whatever its scopes say by now.
        assert!(!is_active(&Principal { role: Role::Agent, ..ada }));
        assert_eq!(server.find(&TokenHash::of("")), None);
        assert_eq!(
            terminal.add("oauth:h#eve", Role::Admin, at).unwrap_err().kind,
            TokenErrorKind::BadName
        );
        // A list that others can write may lack somebody who was revoked.
        let path = folder.path().join("state/tokens.json");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(!is_active(&eve));
    }

    #[test]
    fn users_need_no_token_and_nobody_gets_the_name_of_the_page() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let tokens = TokenFile::new(&state);
        let user = Principal::of_page(1000);
        assert!(tokens.is_active(&user).unwrap());
        assert!(
            !tokens.is_active(&Principal { name: "user-1000".to_owned(), ..user.clone() }).unwrap()
        );
        // A call of an agent at a terminal, which a person approved on the page, runs in the server.
        let local = Principal { name: "user 1000".to_owned(), role: Role::User };
        assert!(tokens.is_active(&local).unwrap());
        assert!(!tokens.is_active(&Principal { role: Role::Agent, ..local }).unwrap());
        let taken = tokens.add(&user.name, Role::Admin, Timestamp::UNIX_EPOCH).unwrap_err();
        assert_eq!(taken.kind, TokenErrorKind::BadName);
    }

    #[test]
    fn names_are_plain_and_given_once() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let tokens = TokenFile::new(&state);
        let add = |name: &str| {
            let added = tokens.add(name, Role::Agent, Timestamp::UNIX_EPOCH);
            added.err().map(|err| err.kind)
        };
        assert_eq!(add("ci-1.x_Y"), None);
        assert_eq!(add("ci-1.x_Y"), Some(TokenErrorKind::NameTaken));
        for name in ["", "-x", "a b", "ä", "a/b", &"x".repeat(65), "user\n"] {
            assert_eq!(add(name), Some(TokenErrorKind::BadName), "{name:?}");
        }
    }

    #[test]
    fn tokens_that_others_can_write_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let tokens = TokenFile::new(&state);
        let token = tokens.add("ci", Role::Agent, Timestamp::UNIX_EPOCH).unwrap();
        assert!(tokens.find(&TokenHash::of(&token)).is_some());
        let path = folder.path().join("state/tokens.json");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(tokens.find(&TokenHash::of(&token)).is_none());
        assert!(tokens.all().unwrap_err().message.contains("no token counts"));
    }
}
