//! Tables: as a grid of Markdown if they hold figures and words, as blocks if they only arrange a page.

use std::ops::Range;

use super::markdown::{MarkdownWriter, OuterLine};

/// The deepest nesting of tables that is told apart.
const MOST_TABLES: usize = 8;

/// The most cells of a document. Further cells belong to the last one.
const MOST_CELLS: usize = 200_000;

/// The most columns that one cell may span.
const MOST_SPAN: usize = 30;

/// The most rows that one cell may span, as in HTML.
const MOST_SPANNED_ROWS: usize = 65_534;

/// A table whose cells are longer on average arranges a page.
const LONGEST_CELL: usize = 400;

/// A table that is being read.
#[derive(Debug)]
struct OpenTable {
    outer: OuterLine,
    begin: usize,
    /// Where the text of each cell is.
    cells: Vec<Range<usize>>,
    /// The number of the first cell of each row.
    rows: Vec<usize>,
    caption: Option<Range<usize>>,
    part: TablePart,
    /// What the open cell spans.
    span: CellSpan,
    /// For each column, how many more rows a cell of an earlier row reaches into. Nothing is behind the last such column.
    occupied: Vec<usize>,
    is_row_open: bool,
    arranges_page: bool,
}

/// How many columns and rows a cell spans. Markdown has no such cells: empty ones stand where it reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellSpan {
    columns: usize,
    rows: usize,
}

impl CellSpan {
    const ONE: Self = Self { columns: 1, rows: 1 };

    /// Reads the attributes `colspan` and `rowspan`. No rows are all the rows that follow.
    pub(crate) fn read(columns: Option<&str>, rows: Option<&str>) -> Self {
        let number =
            |text: Option<&str>| text.and_then(|text| text.trim().parse().ok()).unwrap_or(1_usize);
        let rows = Some(number(rows)).filter(|rows| *rows > 0).unwrap_or(MOST_SPANNED_ROWS);
        Self { columns: number(columns).clamp(1, MOST_SPAN), rows: rows.min(MOST_SPANNED_ROWS) }
    }
}

/// Which part of a table is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TablePart {
    Outside,
    Cell(usize),
    Caption(usize),
}

/// The tables that are open.
#[derive(Debug, Default)]
pub(crate) struct TableStack {
    tables: Vec<OpenTable>,
    cells: usize,
}

impl TableStack {
    /// Begins a table. Returns whether it is told apart; if not, its cells are lines.
    pub(crate) fn begin(&mut self, writer: &mut MarkdownWriter) -> bool {
        if self.tables.len() >= MOST_TABLES {
            writer.new_line();
            return false;
        }
        self.arranges_page();
        let outer = writer.enter_table();
        self.tables.push(OpenTable {
            outer,
            begin: writer.length(),
            cells: Vec::new(),
            rows: Vec::new(),
            caption: None,
            part: TablePart::Outside,
            span: CellSpan::ONE,
            occupied: Vec::new(),
            is_row_open: false,
            arranges_page: false,
        });
        true
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Notes that the innermost table holds blocks, so that it is no grid.
    pub(crate) fn arranges_page(&mut self) {
        if let Some(table) = self.tables.last_mut() {
            table.arranges_page = true;
        }
    }

    fn end_part(&mut self, writer: &mut MarkdownWriter) {
        let Some(table) = self.tables.last_mut() else { return };
        match std::mem::replace(&mut table.part, TablePart::Outside) {
            TablePart::Outside => {}
            TablePart::Caption(begin) => {
                table.caption = Some(begin - table.begin..writer.end_cell() - table.begin);
            }
            TablePart::Cell(begin) => {
                let end = writer.end_cell() - table.begin;
                self.cells += table.push_cell(begin - table.begin..end);
            }
        }
    }

    pub(crate) fn begin_row(&mut self, writer: &mut MarkdownWriter) {
        self.end_part(writer);
        let Some(table) = self.tables.last_mut() else { return };
        let most = MOST_CELLS.saturating_sub(self.cells);
        self.cells += table.end_row(most);
        table.is_row_open = true;
        if table.rows.last() != Some(&table.cells.len()) {
            table.rows.push(table.cells.len());
        }
    }

    /// Begins a group of rows, into which no cell of an earlier one reaches.
    pub(crate) fn begin_row_group(&mut self, writer: &mut MarkdownWriter) {
        self.end_part(writer);
        let Some(table) = self.tables.last_mut() else { return };
        self.cells += table.end_row(MOST_CELLS.saturating_sub(self.cells));
        table.occupied.clear();
    }

    pub(crate) fn begin_cell(&mut self, writer: &mut MarkdownWriter, span: CellSpan) {
        if self.cells >= MOST_CELLS {
            writer.space();
            return;
        }
        self.end_part(writer);
        let Some(table) = self.tables.last_mut() else { return };
        if !table.is_row_open {
            table.is_row_open = true;
            if table.rows.last() != Some(&table.cells.len()) {
                table.rows.push(table.cells.len());
            }
        }
        self.cells += table.fill_occupied();
        table.span = span;
        table.part = TablePart::Cell(writer.begin_cell());
    }

    pub(crate) fn end_cell(&mut self, writer: &mut MarkdownWriter) {
        if self.cells < MOST_CELLS {
            self.end_part(writer);
        }
    }

    pub(crate) fn begin_caption(&mut self, writer: &mut MarkdownWriter) {
        self.end_part(writer);
        if let Some(table) = self.tables.last_mut() {
            table.part = TablePart::Caption(writer.begin_cell());
        }
    }

    /// Makes sure that text within a table is in a cell.
    pub(crate) fn place_text(&mut self, writer: &mut MarkdownWriter) {
        if self.tables.last().is_some_and(|table| table.part == TablePart::Outside) {
            self.begin_cell(writer, CellSpan::ONE);
        }
    }

    /// Ends the innermost table and writes it.
    pub(crate) fn end(&mut self, writer: &mut MarkdownWriter) {
        self.end_part(writer);
        let Some(mut table) = self.tables.pop() else { return };
        self.cells += table.end_row(MOST_CELLS.saturating_sub(self.cells));
        let text = writer.leave_table(table.outer);
        let mut rows = Vec::with_capacity(table.rows.len());
        table.rows.push(table.cells.len());
        for row in table.rows.windows(2) {
            let cells = table.cells[row[0]..row[1]].iter();
            let cells: Vec<&str> = cells.map(|cell| text[cell.clone()].trim_end()).collect();
            if cells.iter().any(|cell| !cell.is_empty()) {
                rows.push(cells);
            }
        }
        if let Some(caption) = table.caption {
            let caption = text[caption].trim_end();
            if !caption.is_empty() {
                writer.blank_line();
                writer.lines(caption);
                writer.blank_line();
            }
        }
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        let count: usize = rows.iter().map(Vec::len).sum();
        let is_long = text.len() > LONGEST_CELL * count;
        if table.arranges_page || columns < 2 || is_long {
            for row in &rows {
                write_blocks(writer, row);
            }
        } else {
            write_grid(writer, &rows, columns);
        }
        writer.blank_line();
    }
}

impl OpenTable {
    /// Returns the column of the next cell of the row.
    fn column(&self) -> usize {
        self.cells.len() - self.rows.last().copied().unwrap_or_default()
    }

    fn push_empty(&mut self, count: usize) {
        let at = self.cells.last().map_or(0, |cell| cell.end);
        self.cells.extend(std::iter::repeat_n(at..at, count));
    }

    /// Adds the open cell; returns how many cells that makes.
    fn push_cell(&mut self, text: Range<usize>) -> usize {
        let (column, CellSpan { columns, rows }) = (self.column(), self.span);
        self.cells.push(text);
        self.push_empty(columns - 1);
        let end = column + columns;
        if rows > 1 && self.occupied.len() < end {
            self.occupied.resize(end, 0);
        }
        let end = end.min(self.occupied.len());
        self.occupied.get_mut(column..end).unwrap_or_default().fill(rows - 1);
        columns
    }

    /// Adds empty cells where those of earlier rows reach into the next columns; returns how many.
    fn fill_occupied(&mut self) -> usize {
        let column = self.column().min(self.occupied.len());
        let next = &mut self.occupied[column..];
        let count = next.iter().take_while(|rows| **rows > 0).count();
        next[..count].iter_mut().for_each(|rows| *rows -= 1);
        self.push_empty(count);
        count
    }

    /// Ends the row that is open. Adds `most` empty cells at most where those of earlier rows reach into its last columns,
    /// and returns how many.
    fn end_row(&mut self, most: usize) -> usize {
        if !std::mem::take(&mut self.is_row_open) {
            return 0;
        }
        let end = self.occupied.iter().rposition(|rows| *rows > 0).map_or(0, |last| last + 1);
        self.occupied.truncate(end);
        let column = self.column();
        let count = end.saturating_sub(column);
        if count == 0 {
            return 0;
        }
        if count > most {
            self.occupied.clear();
            return 0;
        }
        for rows in &mut self.occupied[column..] {
            *rows = rows.saturating_sub(1);
        }
        self.push_empty(count);
        count
    }
}

/// Writes the cells of a row below each other, those of one line as one.
fn write_blocks(writer: &mut MarkdownWriter, row: &[&str]) {
    writer.new_line();
    let mut line = String::new();
    for cell in row.iter().filter(|cell| !cell.is_empty()) {
        if cell.contains('\n') || cell.starts_with(['#', '-', '>', '!']) {
            writer.lines(&std::mem::take(&mut line));
            writer.blank_line();
            writer.lines(cell);
            writer.blank_line();
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(cell);
    }
    writer.lines(&line);
}

fn write_grid(writer: &mut MarkdownWriter, rows: &[Vec<&str>], columns: usize) {
    let mut line = String::new();
    for (index, row) in rows.iter().enumerate() {
        if writer.is_full() {
            return;
        }
        line.clear();
        line.push('|');
        for cell in row {
            line.push(' ');
            push_escaped(cell, &mut line);
            line.push_str(" |");
        }
        writer.lines(&line);
        if index == 0 {
            // Without the row below the head, it is no table.
            writer.lines(&format!("|{}", " --- |".repeat(columns)));
        }
    }
}

/// Appends the text of a cell, in one line and without bars that would end the cell.
fn push_escaped(cell: &str, line: &mut String) {
    for letter in cell.chars() {
        match letter {
            '|' => line.push_str("\\|"),
            '\n' => line.push_str("<br>"),
            _ => line.push(letter),
        }
    }
}
