//! Runs the operators of a page that show text.

use std::collections::HashMap;
use std::rc::Rc;

use super::file::PdfFile;
use super::filter;
use super::font::PdfFont;
use super::layout::{PageLayout, TextPlace};
use super::lexer::{PdfItem, PdfLexer};
use super::matrix::PlaneMatrix;
use super::object::{PdfDictionary, PdfObject};

/// The most operands of an operator, the most saved states, and the deepest nesting of forms.
const MOST_OPERANDS: usize = 20_000;
const MOST_STATES: usize = 128;
const MOST_FORMS: usize = 8;

/// The most items that are read of all pages together.
const MOST_ITEMS: usize = 10_000_000;

/// The most fonts of a file.
const MOST_FONTS: usize = 5_000;

/// How text is shown.
#[derive(Debug, Clone)]
struct TextState {
    font: Option<Rc<PdfFont>>,
    size: f64,
    letter_space: f64,
    word_space: f64,
    /// How wide letters are drawn, as a share.
    scale: f64,
    leading: f64,
    rise: f64,
    page: PlaneMatrix,
}

/// Reads the text of pages. What is read is counted over all pages.
pub(crate) struct PageText<'a, 'f> {
    file: &'f PdfFile<'a>,
    fonts: HashMap<u32, Rc<PdfFont>>,
    items_left: usize,
    /// How many codes were shown whose text is unknown, and how many in all.
    pub(crate) unknown_codes: usize,
    pub(crate) codes: usize,
}

/// What changes while the operators of one page run.
struct ContentRun {
    state: TextState,
    saved: Vec<TextState>,
    text: PlaneMatrix,
    line: PlaneMatrix,
    layout: PageLayout,
    forms: usize,
    /// The fonts of the resources that are in use, by name.
    fonts: HashMap<String, Option<Rc<PdfFont>>>,
}

impl<'a, 'f> PageText<'a, 'f> {
    pub(crate) fn new(file: &'f PdfFile<'a>) -> Self {
        Self { file, fonts: HashMap::new(), items_left: MOST_ITEMS, unknown_codes: 0, codes: 0 }
    }

    /// Returns the text that the content of a page shows.
    pub(crate) fn read(
        &mut self,
        content: &[u8],
        resources: &PdfDictionary,
        most_bytes: usize,
    ) -> String {
        let mut run = ContentRun {
            state: TextState {
                font: None,
                size: 0.0,
                letter_space: 0.0,
                word_space: 0.0,
                scale: 1.0,
                leading: 0.0,
                rise: 0.0,
                page: PlaneMatrix::IDENTITY,
            },
            saved: Vec::new(),
            text: PlaneMatrix::IDENTITY,
            line: PlaneMatrix::IDENTITY,
            layout: PageLayout::new(most_bytes),
            forms: 0,
            fonts: HashMap::new(),
        };
        self.run(&mut run, content, resources);
        run.layout.into_text()
    }

    fn run(&mut self, run: &mut ContentRun, content: &[u8], resources: &PdfDictionary) {
        let outer_fonts = std::mem::take(&mut run.fonts);
        self.run_operators(run, content, resources);
        run.fonts = outer_fonts;
    }

    fn run_operators(&mut self, run: &mut ContentRun, content: &[u8], resources: &PdfDictionary) {
        let mut lexer = PdfLexer::new(content, 0);
        let mut operands = Vec::new();
        while let Some(item) = lexer.item() {
            if self.items_left == 0 || run.layout.is_full() || self.file.stop.step() {
                return;
            }
            self.items_left -= 1;
            match item {
                PdfItem::Object(object) => {
                    let parts = object.as_list().map_or(0, <[_]>::len);
                    self.items_left = self.items_left.saturating_sub(parts);
                    if operands.len() < MOST_OPERANDS {
                        operands.push(object);
                    }
                }
                PdfItem::Word(b"BI") => {
                    skip_inline_image(content, &mut lexer);
                    operands.clear();
                }
                PdfItem::Word(word) => {
                    self.operate(run, word, &operands, resources);
                    operands.clear();
                }
                PdfItem::Close => {}
            }
        }
    }

    fn operate(
        &mut self,
        run: &mut ContentRun,
        word: &[u8],
        operands: &[PdfObject],
        resources: &PdfDictionary,
    ) {
        let number =
            |index: usize| operands.get(index).and_then(PdfObject::as_number).unwrap_or_default();
        let text =
            |index: usize| operands.get(index).and_then(PdfObject::as_text).unwrap_or_default();
        let state = &mut run.state;
        match word {
            b"q" if run.saved.len() < MOST_STATES => run.saved.push(state.clone()),
            b"Q" => {
                if let Some(saved) = run.saved.pop() {
                    run.state = saved;
                }
            }
            b"cm" => {
                if let Some(matrix) = PlaneMatrix::read(operands) {
                    state.page = matrix.then(state.page);
                }
            }
            b"BT" => (run.text, run.line) = (PlaneMatrix::IDENTITY, PlaneMatrix::IDENTITY),
            b"Tf" => {
                state.size = number(1);
                let name = operands.first().and_then(PdfObject::as_name).unwrap_or_default();
                if !run.fonts.contains_key(name) {
                    run.fonts.insert(name.to_owned(), self.font(name, resources));
                }
                state.font = run.fonts.get(name).cloned().flatten();
            }
            b"Tc" => state.letter_space = number(0),
            b"Tw" => state.word_space = number(0),
            b"Tz" => state.scale = number(0) / 100.0,
            b"TL" => state.leading = number(0),
            b"Ts" => state.rise = number(0),
            b"Td" => run.move_line(number(0), number(1)),
            b"TD" => {
                state.leading = -number(1);
                run.move_line(number(0), number(1));
            }
            b"Tm" => {
                if let Some(matrix) = PlaneMatrix::read(operands) {
                    (run.text, run.line) = (matrix, matrix);
                }
            }
            b"T*" => run.next_line(),
            b"Tj" => self.show(run, text(0)),
            b"'" => {
                run.next_line();
                self.show(run, text(0));
            }
            b"\"" => {
                (state.word_space, state.letter_space) = (number(0), number(1));
                run.next_line();
                self.show(run, text(2));
            }
            b"TJ" => self.show_pieces(run, operands),
            b"Do" => self.show_form(run, operands, resources),
            _ => {}
        }
    }

    fn font(&mut self, name: &str, resources: &PdfDictionary) -> Option<Rc<PdfFont>> {
        let fonts = self.file.entry(resources, "Font");
        let object = fonts.as_dictionary()?.get(name)?;
        let number = match object {
            PdfObject::Reference(number) => Some(*number),
            _ => None,
        };
        if let Some(known) = number.and_then(|number| self.fonts.get(&number)) {
            return Some(Rc::clone(known));
        }
        if self.fonts.len() >= MOST_FONTS {
            return None;
        }
        // A font that stands in the resources themselves is read each time, which costs as much as many items.
        self.items_left = self.items_left.saturating_sub(1_000);
        let object = self.file.resolve(object);
        let font = Rc::new(PdfFont::read(self.file, object.as_dictionary()?));
        if let Some(number) = number {
            self.fonts.insert(number, Rc::clone(&font));
        }
        Some(font)
    }

    fn show_pieces(&mut self, run: &mut ContentRun, operands: &[PdfObject]) {
        for piece in operands.first().and_then(PdfObject::as_list).unwrap_or_default() {
            if self.file.stop.step() {
                return;
            }
            match piece {
                PdfObject::Text(text) => self.show(run, text),
                PdfObject::Number(back) => {
                    let shift = -back / 1_000.0 * run.state.size * run.state.scale;
                    run.text = PlaneMatrix::shift(shift, 0.0).then(run.text);
                }
                _ => {}
            }
        }
    }

    /// Shows a string, which moves the place of what is shown next.
    fn show(&mut self, run: &mut ContentRun, string: &[u8]) {
        let Some(font) = run.state.font.clone() else { return };
        let state = &run.state;
        self.items_left = self.items_left.saturating_sub(string.len() / 8);
        let mut text = String::new();
        let mut width = 0.0;
        // Wide letter spacing separates letters and not words, so it does not count at the end.
        let mut last_space = 0.0;
        for shown in font.shown(string).take_while(|_| !self.file.stop.step()) {
            self.codes += 1;
            match &shown.text {
                Some(letters) => text.push_str(letters),
                None => self.unknown_codes += 1,
            }
            last_space = state.letter_space + if shown.is_space { state.word_space } else { 0.0 };
            width += (shown.width * state.size + last_space) * state.scale;
        }
        let whole = PlaneMatrix::shift(0.0, state.rise).then(run.text).then(state.page);
        let [a, b, _, _, x, y] = whole.0;
        let stretch = a.hypot(b);
        let (cosine, sine) = if stretch > 1e-9 { (a / stretch, b / stretch) } else { (1.0, 0.0) };
        let along = x * cosine + y * sine;
        let end = along + (width - last_space * state.scale) * stretch;
        let place = TextPlace {
            along,
            end,
            across: y * cosine - x * sine,
            size: (state.size * stretch).abs(),
        };
        run.layout.push(&text, place);
        run.text = PlaneMatrix::shift(width, 0.0).then(run.text);
    }

    /// Runs the operators of a form, which is content that pages share.
    fn show_form(
        &mut self,
        run: &mut ContentRun,
        operands: &[PdfObject],
        resources: &PdfDictionary,
    ) {
        let Some(name) = operands.first().and_then(PdfObject::as_name) else { return };
        let forms = self.file.entry(resources, "XObject");
        let Some(object) = forms.as_dictionary().and_then(|forms| forms.get(name)) else { return };
        let object = self.file.resolve(object);
        let Some(dictionary) = object.as_dictionary() else { return };
        if dictionary.name("Subtype") != Some("Form") || run.forms >= MOST_FORMS {
            return;
        }
        self.items_left = self.items_left.saturating_sub(100);
        let Some(content) = self.file.stream_data(&object) else { return };
        let own = self.file.entry(dictionary, "Resources");
        let resources = own.as_dictionary().unwrap_or(resources);
        let (state, text, line) = (run.state.clone(), run.text, run.line);
        let matrix = self.file.entry(dictionary, "Matrix");
        if let Some(matrix) = matrix.as_list().and_then(PlaneMatrix::read) {
            run.state.page = matrix.then(run.state.page);
        }
        let saved = std::mem::take(&mut run.saved);
        run.forms += 1;
        self.run(run, &content, resources);
        run.forms -= 1;
        run.saved = saved;
        (run.state, run.text, run.line) = (state, text, line);
    }
}

impl ContentRun {
    fn move_line(&mut self, x: f64, y: f64) {
        self.line = PlaneMatrix::shift(x, y).then(self.line);
        self.text = self.line;
    }

    fn next_line(&mut self) {
        self.move_line(0.0, -self.state.leading);
    }
}

/// Moves behind the data of an image that stands in the content.
fn skip_inline_image(content: &[u8], lexer: &mut PdfLexer<'_>) {
    while let Some(item) = lexer.item() {
        if item == PdfItem::Word(b"ID") {
            break;
        }
    }
    let begin = lexer.position;
    for at in memchr::memmem::find_iter(&content[begin..], b"EI") {
        let at = begin + at;
        let is_apart = at == begin || super::lexer::is_space(content[at - 1]);
        if is_apart && filter::ends_inline_image(&content[at + 2..]) {
            lexer.position = at + 2;
            return;
        }
    }
    lexer.position = content.len();
}
