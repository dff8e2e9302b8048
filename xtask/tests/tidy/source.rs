//! The source files of the workspace, parsed and without their tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::Item;
use xtask::docs::root;

/// One source file that is compiled into a library or a program.
pub(crate) struct SourceFile {
    /// The name of the crate, which is also the name of its folder.
    pub(crate) krate: String,
    /// The path below the root of the repository.
    pub(crate) path: String,
    /// The module path below the root of the crate; empty for `lib.rs` and `main.rs`.
    pub(crate) module: Vec<String>,
    /// The items, without those that only tests compile.
    pub(crate) items: Vec<Item>,
}

impl SourceFile {
    /// Reads a source file from its text.
    pub(crate) fn parse(krate: &str, path: &str, module: &[&str], text: &str) -> Self {
        let file = syn::parse_file(text).unwrap_or_else(|err| panic!("{path}: {err}"));
        Self {
            krate: krate.to_owned(),
            path: path.to_owned(),
            module: module.iter().map(|&name| name.to_owned()).collect(),
            items: without_tests(file.items),
        }
    }

    /// Returns the file's name without its extension.
    pub(crate) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.trim_end_matches(".rs")
    }
}

/// Returns the path of a file below the root of the repository.
pub(crate) fn shown(path: &Path) -> String {
    let path = path.strip_prefix(root()).unwrap_or(path);
    path.to_str().unwrap().to_owned()
}

/// Returns the folder of every crate by its name.
pub(crate) fn crates() -> BTreeMap<String, PathBuf> {
    let folders = fs::read_dir(root().join("crates")).unwrap();
    let mut found: BTreeMap<_, _> = folders
        .map(|folder| folder.unwrap().path())
        .map(|folder| (folder.file_name().unwrap().to_str().unwrap().to_owned(), folder))
        .collect();
    found.insert("xtask".to_owned(), root().join("xtask"));
    found
}

/// Returns the path of every source file, tests included.
pub(crate) fn all_paths() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    for folder in crates().values() {
        walk(folder, &mut found);
    }
    found.sort();
    assert!(found.len() > 50, "the walk found only {} files", found.len());
    found
}

/// Returns every file that is compiled into a library or a program. Files that only tests compile
/// are left out, because the walk follows the `mod` declarations that are left without tests.
pub(crate) fn compiled() -> Vec<SourceFile> {
    let mut found = Vec::new();
    for (krate, folder) in crates() {
        for top in ["lib.rs", "main.rs"] {
            let file = folder.join("src").join(top);
            if file.exists() {
                follow(&krate, &file, &mut Vec::new(), &mut found);
            }
        }
    }
    assert!(found.len() > 50, "the walk found only {} files", found.len());
    found
}

fn follow(krate: &str, file: &Path, module: &mut Vec<String>, found: &mut Vec<SourceFile>) {
    let text = fs::read_to_string(file).unwrap_or_else(|err| panic!("{}: {err}", file.display()));
    let names: Vec<&str> = module.iter().map(String::as_str).collect();
    let source = SourceFile::parse(krate, &shown(file), &names, &text);
    let folder =
        if module.is_empty() { file.parent().unwrap().to_owned() } else { file.with_extension("") };
    let declared: Vec<String> = source.items.iter().filter_map(declared_file).collect();
    found.push(source);
    for name in declared {
        let child = folder.join(format!("{name}.rs"));
        module.push(name);
        follow(krate, &child, module, found);
        module.pop();
    }
}

/// Returns the name of the module that an item declares in a file of its own. One with a `path` is what a benchmark takes
/// from the tests of another crate.
fn declared_file(item: &Item) -> Option<String> {
    match item {
        Item::Mod(module) if module.attrs.iter().any(|it| it.path().is_ident("path")) => None,
        Item::Mod(module) if module.content.is_none() => Some(module.ident.to_string()),
        _ => None,
    }
}

/// Leaves out what only tests compile, in modules and `impl` blocks too.
fn without_tests(items: Vec<Item>) -> Vec<Item> {
    let mut left = Vec::new();
    for mut item in items {
        if is_for_tests(attributes(&item)) {
            continue;
        }
        match &mut item {
            Item::Mod(module) => {
                if let Some((_, inner)) = &mut module.content {
                    *inner = without_tests(std::mem::take(inner));
                }
            }
            Item::Impl(block) => block.items.retain(|item| match item {
                syn::ImplItem::Fn(function) => !is_for_tests(&function.attrs),
                syn::ImplItem::Const(constant) => !is_for_tests(&constant.attrs),
                _ => true,
            }),
            _ => {}
        }
        left.push(item);
    }
    left
}

fn attributes(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

#[test]
fn tests_are_left_out_and_the_rest_stays() {
    let text = "#[cfg(test)] mod tests { struct A; } struct B; #[cfg(unix)] struct C; \
                impl B { #[cfg(test)] fn d() {} fn e() {} } mod f { #[cfg(test)] struct G; }";
    let file = SourceFile::parse("x", "x.rs", &[], text);
    assert_eq!(file.items.len(), 4);
    let Item::Impl(block) = &file.items[2] else { panic!("not an impl block") };
    assert_eq!(block.items.len(), 1);
    let Item::Mod(module) = &file.items[3] else { panic!("not a module") };
    assert!(module.content.as_ref().unwrap().1.is_empty());
}
