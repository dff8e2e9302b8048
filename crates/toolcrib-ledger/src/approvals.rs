//! Calls that wait for someone's answer. Each is a file; what becomes of it is a second file beside it, which
//! only one can make: whoever is first decides, and whoever takes the call up runs it alone.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::redact::Redactor;
use crate::state::{State, read_plain};

/// A call that waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pending {
    /// Its id: the call's.
    pub id: String,
    /// `catalogue/tool`.
    pub tool: String,
    /// Its arguments.
    pub args: Value,
    /// What it is bound to: the digest of tool and arguments.
    pub digest: String,
    /// Where it would run.
    pub workspace: String,
    /// Who asks.
    pub requester: String,
    /// Which rule asks.
    pub rule: String,
    /// How its command is read, if it has one.
    pub reading: Option<String>,
    /// Files that it would change.
    pub files: Vec<String>,
    /// What an answer does not hold fast: it may be another by the time the call runs.
    #[serde(default)]
    pub loose: Vec<String>,
    /// Whether nobody waits for it: whoever approves it runs it.
    pub is_parked: bool,
    /// The process that waits for it.
    #[serde(default)]
    pub process: String,
    /// When it was asked.
    pub created_at: Timestamp,
    /// Until when it can be answered.
    pub expires_at: Timestamp,
}

/// What someone answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Decided {
    /// Whether it may run.
    pub is_approved: bool,
    /// Who said so.
    pub by: String,
    /// What they want the agent to know.
    pub words: String,
    /// When.
    pub at: Timestamp,
}

/// How a waiting call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nobody has answered yet.
    Pending,
    /// Someone said yes, and nobody has taken it up yet.
    Approved,
    /// Someone said no.
    Denied,
    /// Someone said yes, and it was taken up.
    TakenUp,
    /// Nobody answered in time.
    Expired,
}

impl Standing {
    /// The spelling for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::TakenUp => "taken up",
            Self::Expired => "expired",
        }
    }
}

/// The calls that wait.
#[derive(Clone)]
pub struct Approvals {
    folder: PathBuf,
}

impl Approvals {
    /// Keeps them in the state folder.
    pub fn new(state: &State) -> Self {
        Self { folder: state.folder().join("approvals") }
    }

    /// Adds a call that waits.
    pub fn add(&self, pending: &Pending) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        write_new(&self.path(&pending.id, "json")?, pending)?;
        // Those that are over are seen to when another comes.
        self.all().map(drop)
    }

    /// Every call that waits or waited, oldest first.
    pub fn all(&self) -> io::Result<Vec<Pending>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut all = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let is_whole = path.extension().is_some_and(|it| it == "json");
            if is_whole && let Ok(pending) = read::<Pending>(&path) {
                // Nobody needs its secrets any more.
                if pending.expires_at < Timestamp::now() {
                    self.forget(&pending.id)?;
                }
                all.push(pending);
            }
        }
        all.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(all)
    }

    /// One of them.
    pub fn find(&self, id: &str) -> io::Result<Pending> {
        read(&self.path(id, "json")?)
    }

    /// How one stands.
    pub fn standing(&self, pending: &Pending, now: Timestamp) -> io::Result<Standing> {
        Ok(match self.decided(&pending.id)? {
            Some(decided) if !decided.is_approved => Standing::Denied,
            Some(_) if self.path(&pending.id, "taken")?.exists() => Standing::TakenUp,
            _ if now >= pending.expires_at => Standing::Expired,
            // Nobody is there any more who would run it.
            _ if !pending.is_parked && !is_there(&pending.process) => Standing::Expired,
            Some(_) => Standing::Approved,
            None => Standing::Pending,
        })
    }

    /// What was answered, if something was.
    pub fn decided(&self, id: &str) -> io::Result<Option<Decided>> {
        match read(&self.path(id, "decided")?) {
            Ok(decided) => Ok(Some(decided)),
            // What cannot be read is no yes.
            Err(err) if err.kind() == io::ErrorKind::InvalidData => Ok(Some(Decided {
                is_approved: false,
                by: String::new(),
                words: err.to_string(),
                at: Timestamp::UNIX_EPOCH,
            })),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(err) => Err(err),
        }
    }

    /// Answers. Returns whether this answer is the one that counts: the first.
    pub fn decide(&self, id: &str, decided: &Decided) -> io::Result<bool> {
        let is_first = first(write_new(&self.path(id, "decided")?, decided))?;
        if is_first && !decided.is_approved {
            self.forget(id)?;
        }
        Ok(is_first)
    }

    /// Takes an approved call up. Returns whether it is ours to run: it is run once.
    pub fn take_up(&self, id: &str) -> io::Result<bool> {
        let is_first = first(write_new(&self.path(id, "taken")?, &()))?;
        if is_first {
            self.forget(id)?;
        }
        Ok(is_first)
    }

    /// Takes the secrets out of the arguments of one that nobody needs them of any more.
    fn forget(&self, id: &str) -> io::Result<()> {
        let path = self.path(id, "json")?;
        let pending: Pending = read(&path)?;
        let args = Redactor::default().clean_json(&pending.args);
        if args == pending.args {
            return Ok(());
        }
        let fresh = path.with_extension(format!("{}.fresh", ulid::Ulid::generate()));
        write_new(&fresh, &Pending { args, ..pending })?;
        fs::rename(&fresh, &path)
    }

    fn path(&self, id: &str, kind: &str) -> io::Result<PathBuf> {
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no such approval"));
        }
        Ok(self.folder.join(format!("{id}.{kind}")))
    }
}

/// The name of this process, which no other has had.
pub fn this_process() -> String {
    let id = std::process::id();
    format!("{id} {}", started(id).unwrap_or_default())
}

fn is_there(process: &str) -> bool {
    let Some((id, start)) = process.split_once(' ') else { return true };
    id.parse().ok().and_then(started).is_some_and(|it| it == start)
}

/// When a process was started, as the kernel tells it.
fn started(id: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // A name may have blanks, and brackets.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(19).map(str::to_owned)
}

fn first(made: io::Result<()>) -> io::Result<bool> {
    match made {
        Ok(()) => Ok(true),
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(err) => Err(err),
    }
}

/// Makes a file that must not be there yet, whole or not at all.
fn write_new<T: Serialize>(path: &Path, content: &T) -> io::Result<()> {
    let fresh =
        path.with_extension(format!("{}.{}.fresh", std::process::id(), ulid::Ulid::generate()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    file.write_all(&serde_json::to_vec(content)?)?;
    file.sync_all()?;
    // A second name is only given where there is none; taking the first away keeps one.
    let linked = fs::hard_link(&fresh, path);
    fs::remove_file(&fresh)?;
    linked
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> io::Result<T> {
    serde_json::from_slice(&read_plain(path)?).map_err(|err| {
        let why = format!("`{}` cannot be read: {err}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_first_decides_and_it_is_taken_up_once() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(&State::open(&folder.path().join("state")).unwrap());
        let now = Timestamp::UNIX_EPOCH;
        let later = Timestamp::MAX;
        let pending = Pending {
            id: "01A".to_owned(),
            tool: "t".to_owned(),
            args: serde_json::json!({"command": "curl -u ada:letmein https://x"}),
            digest: String::new(),
            workspace: String::new(),
            requester: "r".to_owned(),
            rule: String::new(),
            reading: None,
            files: Vec::new(),
            loose: Vec::new(),
            is_parked: true,
            process: String::new(),
            created_at: now,
            expires_at: later,
        };
        approvals.add(&pending).unwrap();
        assert!(approvals.add(&pending).is_err(), "an id is given once");
        assert_eq!(approvals.standing(&pending, now).unwrap(), Standing::Pending);
        assert_eq!(approvals.standing(&pending, later).unwrap(), Standing::Expired);
        let asked = |process: &str| {
            let process = process.to_owned();
            let pending = Pending { is_parked: false, process, ..pending.clone() };
            approvals.standing(&pending, now).unwrap()
        };
        assert_eq!(asked(&this_process()), Standing::Pending);
        assert_eq!(asked("1 0"), Standing::Expired, "another process has that number");
        let kept = || fs::read_to_string(folder.path().join("state/approvals/01A.json")).unwrap();
        assert!(kept().contains("letmein"));
        let answer = |is_approved| Decided {
            is_approved,
            by: "someone".to_owned(),
            words: String::new(),
            at: now,
        };
        let won: usize = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..8)
                .map(|number| {
                    let (approvals, answer) = (&approvals, answer(number % 2 == 0));
                    scope.spawn(move || approvals.decide("01A", &answer).unwrap())
                })
                .collect();
            tries.into_iter().map(|it| usize::from(it.join().unwrap())).sum()
        });
        assert_eq!(won, 1);
        let first = approvals.decided("01A").unwrap().unwrap();
        let expect = if first.is_approved { Standing::Approved } else { Standing::Denied };
        assert_eq!(approvals.standing(&pending, now).unwrap(), expect);
        assert!(approvals.take_up("01A").unwrap());
        assert!(!approvals.take_up("01A").unwrap());
        assert!(!kept().contains("letmein") && kept().contains("curl"), "{}", kept());
        assert!(approvals.find("../x").is_err());
        assert_eq!(approvals.all().unwrap().len(), 1);
        assert_eq!(fs::read_dir(folder.path().join("state/approvals")).unwrap().count(), 3);
    }
}
