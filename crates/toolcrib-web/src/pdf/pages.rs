//! The pages of a PDF in their order, with what each inherits.

use std::collections::HashSet;
use std::rc::Rc;

use super::file::PdfFile;
use super::object::{PdfDictionary, PdfObject};

/// The most pages that are read, and the deepest nesting of their tree.
const MOST_PAGES: usize = 10_000;
const MOST_LEVELS: usize = 64;

/// A page.
#[derive(Debug, Clone)]
pub(crate) struct PdfPage {
    pub(crate) dictionary: PdfDictionary,
    pub(crate) resources: Rc<PdfDictionary>,
}

/// Returns the pages of a file.
pub(crate) fn pages(file: &PdfFile<'_>) -> Vec<PdfPage> {
    let catalogue = file.entry(&file.trailer, "Root");
    let root = catalogue.as_dictionary().and_then(|catalogue| catalogue.get("Pages")).cloned();
    let mut pages = Vec::new();
    let mut seen = HashSet::new();
    // What is still to be read, the next one last, with the resources that it inherits.
    let mut rest: Vec<(PdfObject, Rc<PdfDictionary>, usize)> = Vec::new();
    rest.extend(root.map(|root| (root, Rc::default(), 0)));
    while let Some((object, inherited, level)) = rest.pop() {
        if let PdfObject::Reference(number) = object
            && !seen.insert(number)
        {
            continue;
        }
        if pages.len() >= MOST_PAGES || seen.len() > MOST_PAGES * 4 {
            break;
        }
        let PdfObject::Dictionary(dictionary) = file.resolve(&object) else { continue };
        let resources = file.entry(&dictionary, "Resources");
        let resources = resources.as_dictionary().cloned().map_or(inherited, Rc::new);
        let kids = file.entry(&dictionary, "Kids");
        match kids.as_list() {
            Some(kids) if level < MOST_LEVELS => {
                let kids = kids.iter().take(MOST_PAGES).rev();
                rest.extend(kids.map(|kid| (kid.clone(), Rc::clone(&resources), level + 1)));
                // A tree that is wider than the most pages is not read to its end.
                let excess = rest.len().saturating_sub(MOST_PAGES * 2);
                rest.drain(..excess);
            }
            Some(_) => {}
            None => pages.push(PdfPage { dictionary, resources }),
        }
    }
    pages
}
