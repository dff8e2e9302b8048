//! A file is one idea, and a struct is one thing.

use std::fs;

use syn::visit::Visit;

use crate::source::{SourceFile, all_paths, shown};
use crate::{known, rules};

/// How many lines a file may have before its tests.
const MOST_LINES: usize = 470;

/// How many fields a struct may have. A type that a wire or a file fixes may have more.
const MOST_FIELDS: usize = 12;

/// Derives of types whose fields a wire, a file or the command line fixes.
const WIRE_DERIVES: [&str; 5] = ["Serialize", "Deserialize", "JsonSchema", "Args", "Parser"];

/// Large structs that derive nothing and yet are fixed from outside, as `crate::Name`, with the
/// reason.
const FIXED_FROM_OUTSIDE: [(&str, &str); 0] = [];

fn lines_before_tests(text: &str) -> usize {
    text.lines().take_while(|line| *line != "#[cfg(test)]").count()
}

#[test]
fn files_are_one_idea_long() {
    let mut found = Vec::new();
    for path in all_paths() {
        let lines = lines_before_tests(&fs::read_to_string(&path).unwrap());
        if lines > MOST_LINES {
            found.push(shown(&path));
        }
    }
    let advice = format!("cut the file by idea; it may have {MOST_LINES} lines before its tests");
    known::check("long file", &advice, found);
}

/// Collects the structs of a file that have too many fields.
struct Large<'a> {
    file: &'a SourceFile,
    found: Vec<String>,
}

impl<'ast> Visit<'ast> for Large<'_> {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let name = format!("{}::{}", self.file.krate, item.ident);
        let is_listed = FIXED_FROM_OUTSIDE.iter().any(|(listed, _)| *listed == name);
        if item.fields.len() > MOST_FIELDS && !is_wire_type(item) && !is_listed {
            self.found.push(name);
        }
    }
}

fn is_wire_type(item: &syn::ItemStruct) -> bool {
    let mut is_wire = false;
    for attribute in item.attrs.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        let _ = attribute.parse_nested_meta(|meta| {
            let name = meta.path.segments.last().map(|part| part.ident.to_string());
            is_wire |= name.is_some_and(|name| WIRE_DERIVES.contains(&name.as_str()));
            Ok(())
        });
    }
    is_wire
}

/// Returns the structs that have too many fields.
pub(crate) fn large_structs(files: &[SourceFile]) -> Vec<String> {
    let in_file = |file| {
        let mut large = Large { file, found: Vec::new() };
        file.items.iter().for_each(|item| large.visit_item(item));
        large.found
    };
    files.iter().flat_map(in_file).collect()
}

#[test]
fn structs_have_few_fields() {
    let advice = format!("group the fields by idea; a struct may have {MOST_FIELDS}");
    rules::check("large struct", &advice);
}

#[test]
fn long_files_and_large_structs_are_found() {
    assert_eq!(lines_before_tests("a\nb\n#[cfg(test)]\nmod tests {}\n"), 2);
    let fields: Vec<String> = (0..=MOST_FIELDS).map(|number| format!("f{number}: u8")).collect();
    let fields = fields.join(", ");
    let check = |text: String, expect: usize| {
        let file = SourceFile::parse("x", "x.rs", &[], &text);
        assert_eq!(large_structs(&[file]).len(), expect, "{text}");
    };
    check(format!("#[derive(Clone)] struct A {{ {fields} }}"), 1);
    check(format!("fn f() {{ struct A {{ {fields} }} }}"), 1);
    check(format!("#[derive(Clone, serde::Serialize)] struct A {{ {fields} }}"), 0);
    check("struct A { b: u8 }".to_owned(), 0);
}
