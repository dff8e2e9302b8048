//! The configuration of a NATS server for a gateway, its workers and its agents: a user for each, with a key of its own and
//! the permissions that it needs.

use std::fmt::Write;
use std::io;

use nkeys::KeyPair;

use crate::inbox::inbox_of;
use crate::placement::{PlaceName, is_bus_name};
use crate::reply_box::GATEWAY_INBOX;
use crate::subject::{BusPrefix, is_agent_id};
use crate::worker_subject::{WORKERS_GROUP, WorkerVerb};

/// What is to be on the bus.
pub struct BusPlan {
    /// What all subjects begin with.
    pub prefix: BusPrefix,
    /// The address that the NATS server listens on: `HOST:PORT`.
    pub listen: String,
    /// The certificate and the key of the NATS server, if it has any.
    pub tls: Option<(String, String)>,
    /// The workers.
    pub workers: Vec<PlannedWorker>,
    /// The ids of the agents.
    pub agents: Vec<String>,
}

/// A worker that is to be: `NAME=WORKSPACE`, or `NAME=WORKSPACE@LABEL,LABEL`.
#[derive(Debug, PartialEq, Eq)]
pub struct PlannedWorker {
    /// Its name.
    pub name: String,
    /// Its workspace.
    pub workspace: String,
    /// Its labels.
    pub labels: Vec<String>,
}

/// A user of the NATS server.
pub struct BusUser {
    /// The name of the file for its seed, without an ending.
    pub name: String,
    /// The secret seed of its key.
    pub seed: String,
}

/// A configuration, and the users that it has.
pub struct BusServerConfig {
    /// The configuration.
    pub text: String,
    /// The users.
    pub users: Vec<BusUser>,
}

/// What a user of the NATS server may do.
struct UserPermissions {
    publish: Vec<String>,
    subscribe: Vec<String>,
    /// Whether it may answer what it is asked, wherever the reply goes.
    answers: AnswerRight,
}

/// Whether a user answers requests.
#[derive(Clone, Copy)]
enum AnswerRight {
    Requests,
    Nothing,
}

impl PlannedWorker {
    /// Reads what the operator wrote. Returns nothing if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, place) = text.split_once('=')?;
        let (workspace, labels) = place.split_once('@').unwrap_or((place, ""));
        let labels: Vec<String> =
            labels.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect();
        let is_right = [name, workspace].into_iter().chain(labels.iter().map(String::as_str));
        let is_right = is_right.into_iter().all(is_bus_name);
        let (name, workspace) = (name.to_owned(), workspace.to_owned());
        is_right.then_some(Self { name, workspace, labels })
    }

    /// Returns the places that it serves.
    fn places(&self) -> Vec<PlaceName> {
        let of = |label: Option<&String>| PlaceName {
            workspace: self.workspace.clone(),
            label: label.cloned(),
        };
        std::iter::once(None).chain(self.labels.iter().map(Some)).map(of).collect()
    }
}

impl BusPlan {
    /// Whether a text can be the id of an agent.
    pub fn is_agent(text: &str) -> bool {
        is_agent_id(text)
    }

    /// Makes a key for each user, and the configuration.
    pub fn server_config(&self) -> io::Result<BusServerConfig> {
        let mut users = Vec::new();
        let mut text = String::from(
            "# Written by `toolcrib nats init`: a user for each program, with the permissions that it needs.\n",
        );
        let _ = writeln!(text, "listen: \"{}\"\nmax_payload: 1MB", self.listen);
        if let Some((certificate, key)) = &self.tls {
            let _ = writeln!(
                text,
                "tls {{\n  cert_file: {}\n  key_file: {}\n}}",
                quoted(certificate),
                quoted(key)
            );
        }
        text.push_str("authorization {\n  timeout: 5\n  users = [\n");
        for (name, permissions) in self.permissions() {
            let key = KeyPair::new_user();
            let seed = key.seed().map_err(io::Error::other)?;
            let list =
                |all: &[String]| all.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(", ");
            let answers = match permissions.answers {
                AnswerRight::Requests => "        allow_responses: { max: 1, expires: \"1h\" }\n",
                AnswerRight::Nothing => "",
            };
            let _ = write!(
                text,
                "    # {name}\n    {{\n      nkey: {}\n      permissions: {{\n        publish: [{}]\n        subscribe: [{}]\n{answers}      }}\n    }}\n",
                key.public_key(),
                list(&permissions.publish),
                list(&permissions.subscribe),
            );
            users.push(BusUser { name, seed });
        }
        text.push_str("  ]\n}\n");
        Ok(BusServerConfig { text, users })
    }

    /// Returns what each user may do.
    fn permissions(&self) -> Vec<(String, UserPermissions)> {
        let mut all = vec![
            ("gateway".to_owned(), self.of_gateway()),
            // Lists the workers.
            (
                "operator".to_owned(),
                UserPermissions {
                    publish: vec!["$SRV.>".to_owned()],
                    subscribe: vec!["_INBOX.>".to_owned()],
                    answers: AnswerRight::Nothing,
                },
            ),
        ];
        all.extend(
            self.workers.iter().map(|it| (format!("worker-{}", it.name), self.of_worker(it))),
        );
        all.extend(self.agents.iter().map(|id| (format!("agent-{id}"), self.of_agent(id))));
        all
    }

    fn of_gateway(&self) -> UserPermissions {
        let Self { prefix, .. } = self;
        let inboxes = self.agents.iter().map(|id| format!("{}>", inbox_of(id)));
        let of_workers = [format!("{prefix}.place.>"), format!("{prefix}.worker.>")];
        let group = prefix.queue_group();
        let requests = prefix.subscriptions().map(|subject| format!("{subject} {group}"));
        UserPermissions {
            publish: inboxes.chain(of_workers).collect(),
            subscribe: requests.into_iter().chain([format!("{GATEWAY_INBOX}>")]).collect(),
            answers: AnswerRight::Nothing,
        }
    }

    fn of_worker(&self, worker: &PlannedWorker) -> UserPermissions {
        let Self { prefix, .. } = self;
        let own = |verb| prefix.worker_subject(&worker.name, "*", verb);
        let mut subscribe = vec![
            format!("{} {WORKERS_GROUP}", own(WorkerVerb::Run)),
            own(WorkerVerb::Status),
            own(WorkerVerb::Cancel),
            "$SRV.>".to_owned(),
        ];
        for place in worker.places() {
            let subjects = [prefix.check_subject(&place), prefix.compute_subject(&place)];
            subscribe.extend(subjects.map(|subject| format!("{subject} {WORKERS_GROUP}")));
        }
        // It answers what it is asked, and publishes nothing else.
        let publish = Vec::new();
        UserPermissions { publish, subscribe, answers: AnswerRight::Requests }
    }

    fn of_agent(&self, id: &str) -> UserPermissions {
        UserPermissions {
            publish: vec![format!("{}.agent.{id}.tool.*.request", self.prefix)],
            subscribe: vec![format!("{}>", inbox_of(id))],
            answers: AnswerRight::Nothing,
        }
    }
}

/// Returns a text as a string of the configuration.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planned_worker_has_a_name_a_workspace_and_labels() {
        let parse = |text: &str| {
            PlannedWorker::parse(text).map(|it| (it.name, it.workspace, it.labels.join(" ")))
        };
        let some = |name: &str, workspace: &str, labels: &str| {
            Some((name.to_owned(), workspace.to_owned(), labels.to_owned()))
        };
        assert_eq!(parse("w1=app"), some("w1", "app", ""));
        assert_eq!(parse("w1=app@gpu,big"), some("w1", "app", "gpu big"));
        for wrong in ["", "w1", "=app", "w1=", "W=app", "w.1=app", "w1=app@a b", "w1=>"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn each_user_has_a_key_of_its_own_and_only_its_permissions() {
        let plan = BusPlan {
            prefix: BusPrefix::new("nachos").unwrap(),
            listen: "127.0.0.1:4222".to_owned(),
            tls: None,
            workers: vec![PlannedWorker::parse("w1=app@gpu").unwrap()],
            agents: vec!["ci".to_owned()],
        };
        let config = plan.server_config().unwrap();
        let names: Vec<&str> = config.users.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["gateway", "operator", "worker-w1", "agent-ci"]);
        for user in &config.users {
            assert!(!config.text.contains(&user.seed), "{}", user.name);
            let public = KeyPair::from_seed(&user.seed).unwrap().public_key();
            assert_eq!(config.text.matches(&public).count(), 1);
        }
    }
}
