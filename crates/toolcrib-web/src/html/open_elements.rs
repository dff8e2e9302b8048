//! The elements that are open: a stack of bounded depth.

use super::element::{ElementId, ElementRole};

/// The deepest nesting that is followed.
const MOST_OPEN: usize = 512;

/// How far up an element is searched for that the begin of another one ends.
const MOST_IMPLIED: usize = 64;

/// An element that is open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenElement {
    pub(crate) role: ElementRole,
    /// Whether the element is hidden, with all that is in it.
    pub(crate) is_hidden: bool,
    /// Whether something was begun for the element that its end ends.
    pub(crate) has_effect: bool,
}

/// The stack of open elements.
#[derive(Debug, Default)]
pub(crate) struct OpenElements {
    elements: Vec<OpenElement>,
    /// The number of each element's name.
    ids: Vec<u8>,
    /// Where in the stack elements are that end tags do not reach beyond.
    scopes: Vec<usize>,
    /// How many elements are open that the stack has no room for.
    beyond: usize,
    was_too_deep: bool,
}

impl OpenElements {
    /// Whether elements were nested deeper than is followed.
    pub(crate) fn was_too_deep(&self) -> bool {
        self.was_too_deep
    }

    /// Whether the next element finds room.
    pub(crate) fn has_room(&mut self) -> bool {
        if self.elements.len() < MOST_OPEN {
            return true;
        }
        self.beyond += 1;
        self.was_too_deep = true;
        false
    }

    pub(crate) fn push(&mut self, id: ElementId, element: OpenElement) {
        if element.role.is_scope() {
            self.scopes.push(self.elements.len());
        }
        self.elements.push(element);
        self.ids.push(id.0);
    }

    /// Takes the innermost element from the stack, if the stack is at least that deep.
    pub(crate) fn pop_above(&mut self, depth: usize) -> Option<OpenElement> {
        if self.elements.len() <= depth {
            return None;
        }
        self.ids.pop();
        let element = self.elements.pop();
        if self.scopes.last() == Some(&self.elements.len()) {
            self.scopes.pop();
        }
        element
    }

    /// Takes out an element from within the stack.
    pub(crate) fn remove(&mut self, at: usize) -> OpenElement {
        self.ids.remove(at);
        for scope in self.scopes.iter_mut().rev().take_while(|scope| **scope > at) {
            *scope -= 1;
        }
        self.elements.remove(at)
    }

    /// Whether an end tag belongs to an element that the stack has no room for.
    pub(crate) fn ends_beyond(&mut self) -> bool {
        let is_beyond = self.beyond > 0;
        self.beyond = self.beyond.saturating_sub(1);
        is_beyond
    }

    fn last_scope(&self) -> usize {
        self.scopes.last().copied().unwrap_or_default()
    }

    /// Returns where in the stack the innermost element of that name is, if an end tag reaches it.
    pub(crate) fn reachable(&self, id: ElementId, role: ElementRole) -> Option<usize> {
        let at = memchr::memrchr(id.0, &self.ids)?;
        let is_structure =
            role.is_scope() || matches!(role, ElementRole::Row | ElementRole::RowGroup);
        // The end of a row may leave cells open, but not those of a table around it.
        let reach = if is_structure {
            self.innermost_table().unwrap_or_default()
        } else {
            self.last_scope()
        };
        (at >= reach).then_some(at)
    }

    /// Returns where in the stack the innermost table is.
    fn innermost_table(&self) -> Option<usize> {
        let is_table = |at: &&usize| self.elements[**at].role == ElementRole::Table;
        self.scopes.iter().rev().find(is_table).copied()
    }

    /// Returns where in the stack an element is that the begin of another one ends. Those of `around` hide elements
    /// further out.
    pub(crate) fn implied_end(
        &self,
        ended: fn(ElementRole) -> bool,
        around: fn(ElementRole) -> bool,
    ) -> Option<usize> {
        // In markup that is too deep, what is open is not known any more.
        if self.beyond > 0 {
            return None;
        }
        for (at, element) in self.elements.iter().enumerate().rev().take(MOST_IMPLIED) {
            if ended(element.role) {
                return Some(at);
            }
            if around(element.role) || element.role.is_scope() && !around(ElementRole::Table) {
                return None;
            }
        }
        None
    }

    /// Whether all elements from `at` on are parts of a line.
    pub(crate) fn is_all_inline_above(&self, at: usize) -> bool {
        self.elements[at..].iter().all(|element| element.role.is_inline())
    }
}
