//! Names that lead a stranger: files that say what they are, types that are found once, constants
//! that say of what.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use syn::visit::{self, Visit};

use crate::rules;
use crate::source::{SourceFile, all_paths};

/// Type names that several crates may define, with the reason.
const SHARED: [(&str, &str); 5] = [
    ("Args", "every tool file names its arguments so"),
    ("Reply", "every tool file names its reply so"),
    ("Output", "every tool file names its result so"),
    ("Glob", "the request that core defines, and the tool of that name"),
    ("Grep", "the request that core defines, and the tool of that name"),
];

/// Constants that do not say of what.
const BARE: [&str; 5] = ["MOST", "LONGEST", "LARGEST", "OLD", "SHARE"];

#[test]
fn files_begin_with_what_they_are_and_are_named_for_it() {
    for path in all_paths() {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//! "), "{} does not say what it is", path.display());
        let name = path.file_stem().unwrap().to_str().unwrap();
        for bag in ["mod", "utils", "util", "helpers", "common", "misc", "types"] {
            assert_ne!(name, bag, "{}", path.display());
        }
    }
}

/// Collects the types and constants that a file defines.
#[derive(Default)]
struct Defined {
    types: BTreeSet<String>,
    constants: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Defined {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.types.insert(item.ident.to_string());
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.types.insert(item.ident.to_string());
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.types.insert(item.ident.to_string());
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.types.insert(item.ident.to_string());
        visit::visit_item_trait(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.constants.insert(item.ident.to_string());
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.constants.insert(item.ident.to_string());
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.constants.insert(item.ident.to_string());
    }
}

impl Defined {
    fn in_file(file: &SourceFile) -> Self {
        let mut defined = Self::default();
        file.items.iter().for_each(|item| defined.visit_item(item));
        defined
    }
}

/// Returns every type name that several crates define, with the crates.
pub(crate) fn shared_types(files: &[SourceFile]) -> Vec<String> {
    let mut crates = BTreeMap::<String, BTreeSet<&str>>::new();
    for file in files {
        for name in Defined::in_file(file).types {
            crates.entry(name).or_default().insert(&file.krate);
        }
    }
    crates
        .into_iter()
        .filter(|(name, crates)| {
            crates.len() > 1 && !SHARED.iter().any(|(listed, _)| listed == name)
        })
        .map(|(name, crates)| {
            format!("{name} ({})", crates.into_iter().collect::<Vec<_>>().join(", "))
        })
        .collect()
}

#[test]
fn a_type_name_is_defined_in_one_crate() {
    let advice = "give the type of the crate above a more specific name";
    rules::check("shared type name", advice);
}

/// Returns the constants that do not say of what.
pub(crate) fn bare_constants(files: &[SourceFile]) -> Vec<String> {
    let in_file = |file: &SourceFile| {
        let constants = Defined::in_file(file).constants.into_iter();
        let bare = constants.filter(|name| BARE.contains(&name.as_str()));
        bare.map(|name| format!("{} {name}", file.path)).collect::<Vec<_>>()
    };
    files.iter().flat_map(in_file).collect()
}

#[test]
fn constants_say_of_what() {
    let advice = "say of what the constant is the most, longest, largest";
    rules::check("bare constant", advice);
}

#[test]
fn shared_types_and_bare_constants_are_found() {
    let file = |krate: &str, text: &str| SourceFile::parse(krate, "x.rs", &[], text);
    let check = |a: &str, b: &str, expect: &[&str]| {
        let files = [file("a", a), file("b", b)];
        assert_eq!(shared_types(&files), expect, "{a} | {b}");
    };
    check("struct Line;", "enum Line {}", &["Line (a, b)"]);
    check("mod inner { trait Line {} }", "type Line = u8;", &["Line (a, b)"]);
    check("struct Line;", "#[cfg(test)] mod tests { struct Line; }", &[]);
    check("struct Args;", "impl T for A { type Line = u8; } struct Args; struct Line;", &[]);
    let constants = "const MOST: usize = 1; const MOST_FILES: usize = 1; \
                     impl A { const OLD: u8 = 1; } fn f() { const SHARE: u8 = 1; }";
    assert_eq!(bare_constants(&[file("a", constants)]), ["x.rs MOST", "x.rs OLD", "x.rs SHARE"]);
}
