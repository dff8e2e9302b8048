//! Walks a syntax tree from the top down. A node's parents come with it, because tree-sitter finds a parent by
//! descending from the root again: asking for it at every node of a deep tree takes for ever.

use tree_sitter::Node;

use crate::budget::Budget;
use crate::words::children;

/// A walk over the nodes below one, each before its children, the children in order.
pub(crate) struct NodeWalk<'t, 'b> {
    /// The nodes still to come, the next one last, each with the number of nodes above it.
    open: Vec<(usize, Node<'t>)>,
    /// The nodes above the current one, the nearest last, and the current one itself.
    path: Vec<Node<'t>>,
    budget: &'b Budget,
}

impl<'t, 'b> NodeWalk<'t, 'b> {
    /// Begins a walk at `top`.
    pub(crate) fn new(top: Node<'t>, budget: &'b Budget) -> Self {
        Self { open: vec![(0, top)], path: Vec::new(), budget }
    }

    /// Returns the next node, and the nodes above it within this walk, the nearest last. Ends early when the
    /// budget does.
    pub(crate) fn next(&mut self) -> Option<(Node<'t>, &[Node<'t>])> {
        let (level, node) = self.open.pop()?;
        let from = self.open.len();
        self.open.extend(children(node).map(|child| (level + 1, child)));
        let count = self.open.len() - from;
        self.open[from..].reverse();
        if !self.budget.spend(1 + count) {
            return None;
        }
        self.path.truncate(level);
        self.path.push(node);
        Some((node, &self.path[..level]))
    }
}
