//! Functions that start themselves without end.

use tree_sitter::Node;

use crate::budget::Budget;
use crate::walk::NodeWalk;
use crate::words::{children, plain};

/// Whether a function starts itself more than once at the same time: as a stage of a pipeline, or in the background.
pub(crate) fn is_fork_bomb(node: Node<'_>, text: &str, budget: &Budget) -> bool {
    let Some(name) = node.child_by_field_name("name").map(|name| plain(name, text)) else {
        return false;
    };
    let Some(body) = node.child_by_field_name("body") else { return false };
    let (mut calls, mut forks, mut loops) = (0, 0, false);
    let mut walk = NodeWalk::new(body, budget);
    while let Some((node, above)) = walk.next() {
        let is_call = node.kind() == "command"
            && node.child_by_field_name("name").is_some_and(|it| plain(it, text) == name);
        if !is_call {
            continue;
        }
        calls += 1;
        // The call itself, or with its redirections; then the pipeline that it is a stage of.
        let mut stage = node;
        let mut outer = above;
        for kind in ["redirected_statement", "pipeline"] {
            if let Some((last, rest)) = outer.split_last().filter(|it| it.0.kind() == kind) {
                (stage, outer) = (*last, rest);
            }
        }
        let is_background =
            outer.last().is_some_and(|parent| is_in_background(stage, *parent, budget));
        if stage.kind() == "pipeline" || is_background {
            forks += 1;
            budget.spend(above.len());
            loops |= above.iter().skip(1).any(is_loop);
        }
    }
    forks > 0 && (calls > 1 || loops)
}

/// Whether a statement is followed by `&`.
fn is_in_background(node: Node<'_>, parent: Node<'_>, budget: &Budget) -> bool {
    let siblings: Vec<_> = children(parent).collect();
    budget.spend(siblings.len());
    let mut rest = siblings.into_iter().skip_while(|it| it.id() != node.id()).skip(1);
    rest.next().is_some_and(|it| it.kind() == "&")
}

fn is_loop(node: &Node<'_>) -> bool {
    matches!(node.kind(), "while_statement" | "for_statement" | "c_style_for_statement")
}
