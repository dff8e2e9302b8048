//! Words that were given up do not come back: the second table of `docs/glossary.md` lists them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};
use xtask::docs::root;

use crate::rules;
use crate::source::SourceFile;

/// Returns the retired names: everything in backticks in the first column of the second table.
fn retired_names(glossary: &str) -> Vec<String> {
    let lines: Vec<&str> = glossary.lines().collect();
    let mut tables = Vec::new();
    for table in lines.split(|line| !line.starts_with('|')).filter(|table| !table.is_empty()) {
        tables.push(table);
    }
    // The first two rows of a table are its head and the rule below it.
    let rows = tables.get(1).map_or(&[][..], |table| table.get(2..).unwrap_or_default());
    let first = rows.iter().filter_map(|row| row.split('|').nth(1));
    // What is between backticks are the odd parts.
    let names = first.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.map(str::to_owned).collect()
}

/// Collects the names that a file defines: `name`, and `Type::name` for methods.
struct Defined {
    names: BTreeSet<String>,
    /// The type or trait whose methods are being read.
    owner: Option<String>,
}

impl<'ast> Visit<'ast> for Defined {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.names.insert(item.ident.to_string());
        visit::visit_item_mod(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.names.insert(item.ident.to_string());
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.names.insert(item.ident.to_string());
        for variant in &item.variants {
            self.names.insert(format!("{}::{}", item.ident, variant.ident));
        }
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.names.insert(item.ident.to_string());
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.names.insert(item.ident.to_string());
        let outer = self.owner.replace(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.owner = outer;
    }

    fn visit_item_impl(&mut self, block: &'ast syn::ItemImpl) {
        let owner = match &*block.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|part| part.ident.to_string()),
            _ => None,
        };
        let outer = std::mem::replace(&mut self.owner, owner);
        visit::visit_item_impl(self, block);
        self.owner = outer;
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.names.insert(signature.ident.to_string());
        if let Some(owner) = &self.owner {
            self.names.insert(format!("{owner}::{}", signature.ident));
        }
        visit::visit_signature(self, signature);
    }
}

/// Whether a file bears or defines a retired name. `look` is a file, a module, a type or a function;
/// `Tree::look` a function of a type; `sandbox/watch.rs` a file by its path.
fn bears(file: &SourceFile, defined: &BTreeSet<String>, retired: &str) -> bool {
    let is_file = Path::new(retired).extension().is_some_and(|extension| extension == "rs");
    if is_file || retired.contains('/') {
        return file.path.ends_with(&format!("/{retired}"));
    }
    file.stem() == retired || defined.contains(retired)
}

fn offenders(file: &SourceFile, retired: &[String]) -> Vec<String> {
    let mut defined = Defined { names: BTreeSet::new(), owner: None };
    file.items.iter().for_each(|item| defined.visit_item(item));
    let borne = retired.iter().filter(|name| bears(file, &defined.names, name));
    borne.map(|name| format!("{} {name}", file.path)).collect()
}

/// Returns the files that bear or define a retired name, and says so if the glossary lists none.
pub(crate) fn retired_words(files: &[SourceFile]) -> Vec<String> {
    let glossary = fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let retired = retired_names(&glossary);
    if retired.is_empty() {
        return vec!["docs/glossary.md has no second table".to_owned()];
    }
    files.iter().flat_map(|file| offenders(file, &retired)).collect()
}

#[test]
fn retired_words_do_not_come_back() {
    rules::check("retired word", "the glossary says which word took its place");
}

#[test]
fn retired_words_are_found() {
    let glossary = "| word | what |\n| --- | --- |\n| `call` | one |\n\ntext\n\n\
                    | retired | now |\n| --- | --- |\n| `Desk`, `look` | stages |\n\
                    | `Tree::settle`, `sandbox/watch.rs` | `stat` |\n";
    let retired = retired_names(glossary);
    assert_eq!(retired, ["Desk", "look", "Tree::settle", "sandbox/watch.rs"]);
    assert!(retired_names("| word | what |\n| --- | --- |\n| `call` | one |\n").is_empty());
    let check = |path: &str, text: &str, expect: &[&str]| {
        let file = SourceFile::parse("x", path, &[], text);
        assert_eq!(offenders(&file, &retired), expect, "{path}: {text}");
    };
    check("a/b.rs", "struct Desk;", &["a/b.rs Desk"]);
    check("a/look.rs", "", &["a/look.rs look"]);
    check("a/b.rs", "impl A { fn look(&self) {} }", &["a/b.rs look"]);
    check("a/b.rs", "impl Tree { fn settle(&self) {} }", &["a/b.rs Tree::settle"]);
    check("a/b.rs", "impl Other { fn settle(&self) {} }", &[]);
    check("a/sandbox/watch.rs", "", &["a/sandbox/watch.rs sandbox/watch.rs"]);
    check("a/watch.rs", "struct Desks; fn overlook() {}", &[]);
    check("a/b.rs", "#[cfg(test)] mod tests { struct Desk; }", &[]);
}
