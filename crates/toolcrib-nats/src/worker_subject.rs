//! The subjects of workers: those that the workers of a place share, and those of one worker.

use crate::placement::PlaceName;
use crate::subject::BusPrefix;

/// The queue group of workers: each message to a place goes to one of them.
pub(crate) const WORKERS_GROUP: &str = "toolcrib-workers";

impl BusPrefix {
    /// Returns the subject on which the workers of a place check calls.
    pub(crate) fn check_subject(&self, place: &PlaceName) -> String {
        format!("{}.check", self.place_subject(place))
    }

    /// Returns the subject on which the workers of a place run calls that only compute.
    pub(crate) fn compute_subject(&self, place: &PlaceName) -> String {
        format!("{}.compute", self.place_subject(place))
    }

    /// Returns the subject on which one process of a worker is asked to run, to tell about, or to cancel a call. Another
    /// process with the same name is never taken for this one: it knows nothing of its calls.
    pub(crate) fn worker_subject(&self, worker: &str, process: &str, verb: WorkerVerb) -> String {
        let verb = match verb {
            WorkerVerb::Run => "run",
            WorkerVerb::Status => "status",
            WorkerVerb::Cancel => "cancel",
        };
        format!("{self}.worker.{worker}.{process}.{verb}")
    }

    fn place_subject(&self, place: &PlaceName) -> String {
        let PlaceName { workspace, label } = place;
        match label {
            None => format!("{self}.place.{workspace}.any"),
            Some(label) => format!("{self}.place.{workspace}.label.{label}"),
        }
    }
}

/// What one worker is asked to do with a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WorkerVerb {
    Run,
    Status,
    Cancel,
}
