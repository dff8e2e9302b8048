//! What undo would do, without doing it.

use std::collections::HashMap;

use toolcrib_core::change::{FileId, Restore, UndoLog};
use toolcrib_core::{CallId, Change, ChangeKind, ErrorKind, Image, ToolError, ToolName};

use super::operation::{RestoreAreas, not_undoable, undone_already, unreadable};
use super::plan::{
    NetChange, Obstacle, UndoAction, UndoScope, action_on, content_for, current, net_changes,
};

/// What the undo of one call would do.
#[derive(Clone, Debug)]
pub struct PreviewedUndo {
    /// The call.
    pub call: CallId,
    /// What would be done to each path. Directories come last.
    pub paths: Vec<PreviewedPath>,
    /// Why nothing would be done, if there is a reason beside those of the paths.
    pub refusal: Option<ToolError>,
}

/// What an undo would do to one path.
#[derive(Clone, Debug)]
pub struct PreviewedPath {
    /// The first change of the call to the path.
    pub change: Change,
    /// What would be done, or why nothing of the call would be undone.
    pub action: Result<UndoAction, ToolError>,
}

impl PreviewedUndo {
    /// Returns why nothing would be undone.
    pub fn reason(&self) -> Option<&ToolError> {
        let of_paths = || self.paths.iter().find_map(|path| path.action.as_ref().err());
        self.refusal.as_ref().or_else(of_paths)
    }
}

/// Previews undos.
pub struct UndoPreviews<'a> {
    /// The journal.
    pub log: &'a dyn UndoLog,
    /// The files.
    pub areas: &'a dyn RestoreAreas,
}

/// What paths would hold after the undos that were previewed before.
type ExpectedImages = HashMap<(FileId, String), Option<Image>>;

impl UndoPreviews<'_> {
    /// Returns what it would do to undo each of these calls, one after the other.
    pub fn of(&self, calls: &[CallId]) -> Result<Vec<PreviewedUndo>, ToolError> {
        let (changes, undone) = self.log.history().map_err(|err| unreadable(&err))?;
        let mut expected = ExpectedImages::new();
        let mut previews = Vec::new();
        for call in calls {
            let mine: Vec<&Change> = changes.iter().filter(|it| it.call == *call).collect();
            let refusal = match undone.iter().find(|undone| undone.call == *call) {
                Some(undone) => Some(undone_already(undone)),
                None if mine.is_empty() => Some(not_undoable(self.areas, call)),
                None => None,
            };
            let (call, paths) = (call.clone(), Vec::new());
            let mut preview = PreviewedUndo { call, paths, refusal };
            if preview.refusal.is_none() {
                match self.paths_of(&preview.call, &mine, &expected) {
                    Ok(paths) => preview.paths = paths,
                    Err(err) => preview.refusal = Some(err),
                }
            }
            if preview.reason().is_none() {
                let restored =
                    preview.paths.iter().filter(|path| !path.change.kind.is_of_directory());
                expected.extend(restored.map(|path| {
                    let Change { root_id, path, before, .. } = path.change.clone();
                    ((root_id, path), before)
                }));
            }
            previews.push(preview);
        }
        Ok(previews)
    }

    fn paths_of(
        &self,
        call: &CallId,
        mine: &[&Change],
        expected: &ExpectedImages,
    ) -> Result<Vec<PreviewedPath>, ToolError> {
        let mut roots: Vec<String> = mine.iter().map(|change| change.root.clone()).collect();
        roots.sort_unstable();
        roots.dedup();
        let tool = mine.first().map_or_else(ToolName::default, |change| change.tool.clone());
        let area = self.areas.open(&roots, call, &tool)?;
        let files = net_changes(mine).into_iter().map(|net| {
            let action = self.action_of(&net, &*area, expected);
            PreviewedPath { change: net.change, action }
        });
        let directories = mine.iter().filter_map(|change| {
            let action = match change.kind {
                ChangeKind::MadeDirectory => UndoAction::Removed,
                ChangeKind::RemovedDirectory => UndoAction::Restored,
                ChangeKind::Created | ChangeKind::Replaced | ChangeKind::Removed => return None,
            };
            Some(PreviewedPath { change: (*change).clone(), action: Ok(action) })
        });
        Ok(files.chain(directories).collect())
    }

    fn action_of(
        &self,
        net: &NetChange,
        area: &dyn Restore,
        expected: &ExpectedImages,
    ) -> Result<UndoAction, ToolError> {
        let place = (net.change.root_id, net.change.path.clone());
        let now = match expected.get(&place) {
            Some(image) => image.clone(),
            None => current(net, area)?,
        };
        let action = action_on(net, now.as_ref(), UndoScope::Unchanged).map_err(refused)?;
        content_for(net, action, self.log)?;
        Ok(action)
    }
}

fn refused(obstacle: Obstacle) -> ToolError {
    let message = match obstacle {
        Obstacle::Doubted(doubt) => {
            format!("it may have changes that the call did not make: {}", doubt.words())
        }
        Obstacle::ChangedSince => "it was changed after the call".to_owned(),
    };
    ToolError::new(ErrorKind::Changed, message)
}
