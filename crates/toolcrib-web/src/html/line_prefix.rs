//! What stands before a line: the marks of quotes and list items that the line is in.

/// The deepest nesting that is shown.
const MOST_CONTAINERS: usize = 24;

/// A block around other blocks that marks the beginning of their lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineContainer {
    Quote,
    Bullet,
    Number(u32),
    Definition,
}

/// The containers around the text that is written next.
#[derive(Debug, Default)]
pub(crate) struct LinePrefix {
    /// Each container, and whether its mark is still to be written.
    containers: Vec<(LineContainer, bool)>,
    /// How many of the containers are around the table whose cell is being written. Lines within the cell do not
    /// show them.
    outside: usize,
}

/// Whether a container was taken in, or the nesting is too deep to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContainerPush {
    Shown,
    TooDeep,
}

impl LinePrefix {
    pub(crate) fn push(&mut self, container: LineContainer) -> ContainerPush {
        if self.containers.len() >= MOST_CONTAINERS {
            return ContainerPush::TooDeep;
        }
        self.containers.push((container, true));
        ContainerPush::Shown
    }

    pub(crate) fn pop(&mut self) {
        if self.containers.len() > self.outside {
            self.containers.pop();
        }
    }

    /// Whether the mark of the innermost container is still to be written.
    pub(crate) fn is_pending(&self) -> bool {
        self.containers[self.outside..].last().is_some_and(|(_, is_pending)| *is_pending)
    }

    /// Whether the text is in a list item.
    pub(crate) fn is_in_item(&self) -> bool {
        let last = self.containers[self.outside..].last();
        last.is_some_and(|(container, _)| *container != LineContainer::Quote)
    }

    /// Hides the containers from the lines that follow. Returns what `leave_cell` needs.
    pub(crate) fn enter_cell(&mut self) -> usize {
        std::mem::replace(&mut self.outside, self.containers.len())
    }

    pub(crate) fn leave_cell(&mut self, outside: usize) {
        self.containers.truncate(self.outside);
        self.outside = outside;
    }

    /// Writes the beginning of an empty line.
    pub(crate) fn write_blank(&self, out: &mut String) {
        let written =
            self.containers[self.outside..].iter().take_while(|(_, is_pending)| !is_pending);
        let length = out.len();
        let mut end = length;
        for (container, _) in written {
            write_indent(*container, out);
            if *container == LineContainer::Quote {
                end = out.len() - 1;
            }
        }
        out.truncate(end);
    }

    /// Writes the beginning of a line that has text.
    pub(crate) fn write(&mut self, out: &mut String) {
        for (container, is_pending) in &mut self.containers[self.outside..] {
            if !std::mem::take(is_pending) {
                write_indent(*container, out);
                continue;
            }
            match container {
                LineContainer::Quote => out.push_str("> "),
                LineContainer::Bullet => out.push_str("- "),
                LineContainer::Definition => out.push_str(": "),
                LineContainer::Number(number) => {
                    out.push_str(&number.to_string());
                    out.push_str(". ");
                }
            }
        }
    }
}

fn write_indent(container: LineContainer, out: &mut String) {
    match container {
        LineContainer::Quote => out.push_str("> "),
        LineContainer::Bullet | LineContainer::Definition => out.push_str("  "),
        LineContainer::Number(number) => {
            let digits = number.checked_ilog10().unwrap_or_default() as usize + 1;
            out.extend(std::iter::repeat_n(' ', digits + 2));
        }
    }
}
