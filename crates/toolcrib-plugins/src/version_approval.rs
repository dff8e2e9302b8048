//! Approvals of versions: one file for each hash, made once. Nothing runs without one, unless the settings want none.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use toolcrib_core::Principal;

use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::plugin_source::PluginKind;
use crate::private_file::{if_there, make_private_folder, read_json, write_once};
use crate::tool_proposal::ProposalId;
use crate::version_hash::VersionHash;
use crate::version_store::SavedVersion;

/// The largest file of an approval, in bytes.
const MAX_APPROVAL_BYTES: u64 = 64 << 10;

/// Which versions need an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalRule {
    /// Every version.
    Always,
    /// Programs, and modules that ask for permissions. The setting approves the others.
    WithPermissions,
}

/// Who approved a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionApproval {
    /// The version. It is in the file, too, so that a file under another name approves nothing.
    pub hash: VersionHash,
    /// The tool's name.
    pub name: String,
    /// Who approved it.
    pub by: Principal,
    /// When.
    pub at: Timestamp,
    /// By which proposal.
    pub proposal: ProposalId,
}

/// The folder of approvals.
#[derive(Clone, Debug)]
pub(crate) struct VersionApprovals {
    folder: PathBuf,
}

impl VersionApprovals {
    pub(crate) fn new(plugins: &Path) -> Self {
        Self { folder: plugins.join("approvals") }
    }

    /// Approves a version. If it was approved before, that approval stays.
    pub(crate) fn add(&self, approval: &VersionApproval) -> Result<(), PluginError> {
        make_private_folder(&self.folder)?;
        if !write_once(&self.path(&approval.hash), approval)? {
            // Fails if what is there approves nothing.
            self.find(&approval.hash)?;
        }
        Ok(())
    }

    /// Finds the approval of a version.
    pub(crate) fn find(&self, hash: &VersionHash) -> Result<Option<VersionApproval>, PluginError> {
        let read = read_json::<VersionApproval>(&self.path(hash), MAX_APPROVAL_BYTES);
        match if_there(read)? {
            Some(approval) if approval.hash != *hash => {
                let message = format!("the approval of {} is for another version", hash.short());
                Err(PluginError::new(PluginErrorKind::NotApproved, message))
            }
            found => Ok(found),
        }
    }

    /// Fails unless the version may run.
    pub(crate) fn require(
        &self,
        version: &SavedVersion,
        rule: ApprovalRule,
    ) -> Result<(), PluginError> {
        // A program is native code, and nobody should be able to start it without having been asked.
        let is_harmless = version.source.kind() == PluginKind::Module
            && version.declaration.permissions.is_empty();
        if rule == ApprovalRule::WithPermissions && is_harmless {
            return Ok(());
        }
        match self.find(&version.hash)? {
            Some(approval) if approval.name == version.declaration.name => Ok(()),
            _ => {
                let short = version.hash.short();
                let message = format!("nobody has approved version {short}, so it does not run");
                Err(PluginError::new(PluginErrorKind::NotApproved, message)
                    .hint("propose it, and let somebody else approve it"))
            }
        }
    }

    fn path(&self, hash: &VersionHash) -> PathBuf {
        self.folder.join(format!("{}.json", hash.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;
    use toolcrib_core::Role;

    use super::*;
    use crate::plugin_declaration::PluginDeclaration;
    use crate::plugin_source::PluginSource;
    use crate::version_store::VersionStore;

    fn version(permissions: &serde_json::Value) -> SavedVersion {
        let exports = json!({
            "name": "a", "description": "A.", "parameters": {}, "permissions": permissions,
        });
        let declaration = PluginDeclaration::of_exports(&exports).unwrap();
        let source = PluginSource::of_module("export {}").unwrap();
        let hash = VersionStore::hash_of(&source, &declaration).unwrap();
        SavedVersion { hash, declaration, source }
    }

    #[test]
    fn a_version_runs_with_its_own_approval_only() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = VersionApprovals::new(folder.path());
        let (harmless, reads) = (version(&json!({})), version(&json!({"read": ["."]})));
        let kind =
            |version: &SavedVersion, rule| approvals.require(version, rule).map_err(|err| err.kind);
        let refused = Err(PluginErrorKind::NotApproved);
        assert_eq!(kind(&harmless, ApprovalRule::Always), refused);
        assert_eq!(kind(&harmless, ApprovalRule::WithPermissions), Ok(()));
        assert_eq!(kind(&reads, ApprovalRule::WithPermissions), refused);
        let approval = VersionApproval {
            hash: reads.hash.clone(),
            name: "a".to_owned(),
            by: Principal { name: "bob".to_owned(), role: Role::Approver },
            at: Timestamp::UNIX_EPOCH,
            proposal: ProposalId::new(),
        };
        approvals.add(&approval).unwrap();
        approvals
            .add(&VersionApproval { proposal: ProposalId::new(), ..approval.clone() })
            .unwrap();
        assert_eq!(approvals.find(&reads.hash).unwrap(), Some(approval), "the first one stays");
        assert_eq!(kind(&reads, ApprovalRule::Always), Ok(()));
        assert_eq!(kind(&harmless, ApprovalRule::Always), refused);
        // An approval that somebody copied or tore approves nothing.
        fs::copy(approvals.path(&reads.hash), approvals.path(&harmless.hash)).unwrap();
        assert_eq!(kind(&harmless, ApprovalRule::Always), refused);
        fs::write(approvals.path(&reads.hash), "{").unwrap();
        assert_eq!(kind(&reads, ApprovalRule::Always), Err(PluginErrorKind::Store));
    }
}
