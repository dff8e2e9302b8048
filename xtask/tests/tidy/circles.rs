//! No circle of files: the `use` arrows between the files of a crate lead one way.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use syn::visit::{self, Visit};
use syn::{Item, UseTree, Visibility};

use crate::rules;
use crate::source::SourceFile;

/// Which files each file names something of, by path.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The files of one crate by module, and what its root re-exports.
struct Modules<'a> {
    files: BTreeMap<&'a [String], &'a SourceFile>,
    /// Names that the root re-exports, with the path each stands for.
    exported: BTreeMap<String, Vec<String>>,
}

impl<'a> Modules<'a> {
    fn of(files: &[&'a SourceFile]) -> Self {
        let files: BTreeMap<_, _> =
            files.iter().map(|file| (file.module.as_slice(), *file)).collect();
        let mut exported = BTreeMap::new();
        for item in files.get(&[][..]).map_or(&[][..], |file| &file.items) {
            if let Item::Use(item) = item
                && !matches!(item.vis, Visibility::Inherited)
            {
                for path in leaves(&item.tree) {
                    exported.insert(path.last().cloned().unwrap_or_default(), absolute(&path, &[]));
                }
            }
        }
        Self { files, exported }
    }

    /// Returns the file that holds what an absolute path names. A name that the root re-exports is
    /// that of the file it comes from: otherwise the root would hide circles.
    fn holder(&self, path: &[String]) -> Option<&'a SourceFile> {
        let longest =
            (0..=path.len()).rev().find(|&length| self.files.contains_key(&path[..length]))?;
        match path.first().and_then(|name| self.exported.get(name)) {
            Some(real) if longest == 0 && real.as_slice() != path => self.holder(real),
            _ => self.files.get(&path[..longest]).copied(),
        }
    }
}

/// Returns every path of a `use` tree. A path that ends in `*` names its module; a renamed one keeps
/// the name it has where it comes from.
fn leaves(tree: &UseTree) -> Vec<Vec<String>> {
    match tree {
        UseTree::Path(path) => leaves(&path.tree)
            .into_iter()
            .map(|rest| [vec![path.ident.to_string()], rest].concat())
            .collect(),
        UseTree::Name(name) => vec![vec![name.ident.to_string()]],
        UseTree::Rename(rename) => vec![vec![rename.ident.to_string()]],
        UseTree::Glob(_) => vec![Vec::new()],
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
    }
}

/// Returns a path from the root of the crate, as seen from `module`. A path that begins with neither
/// `crate`, `super` nor `self` is taken for one below `module`.
fn absolute(path: &[String], module: &[String]) -> Vec<String> {
    let mut from = module.to_vec();
    let mut rest = path;
    while let Some((first, behind)) = rest.split_first() {
        match first.as_str() {
            "crate" => from.clear(),
            "self" => {}
            "super" => drop(from.pop()),
            _ => break,
        }
        rest = behind;
    }
    [from.as_slice(), rest].concat()
}

/// Collects the paths that a file names, as paths from the root of its crate.
struct Named {
    /// The module that is being read: that of the file, or one within it.
    module: Vec<String>,
    /// The modules that the file declares.
    children: BTreeSet<Vec<String>>,
    is_root: bool,
    paths: Vec<Vec<String>>,
}

impl Named {
    fn add(&mut self, path: &[String]) {
        let Some(first) = path.first() else { return };
        let path_here = absolute(path, &self.module);
        let below = path_here.get(..=self.module.len()).unwrap_or_default();
        let is_ours =
            matches!(first.as_str(), "crate" | "super" | "self") || self.children.contains(below);
        if is_ours {
            self.paths.push(path_here);
        }
    }
}

impl<'ast> Visit<'ast> for Named {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let name = module.ident.to_string();
        let path = [self.module.as_slice(), &[name]].concat();
        if module.content.is_some() {
            let outer = std::mem::replace(&mut self.module, path);
            visit::visit_item_mod(self, module);
            self.module = outer;
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // The root re-exports what others are to find; it does not thereby use it.
        if self.is_root && !matches!(item.vis, Visibility::Inherited) {
            return;
        }
        for path in leaves(&item.tree) {
            self.add(&path);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            let names: Vec<_> = path.segments.iter().map(|part| part.ident.to_string()).collect();
            self.add(&names);
        }
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {
        // `pub(super)` names no file.
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        // What is passed to a macro has no syntax yet, so paths are found in its text.
        let text = call.tokens.to_string().replace(" :: ", "::");
        for word in text.split(|letter: char| !(letter.is_alphanumeric() || "_:".contains(letter)))
        {
            let names: Vec<_> = word.split("::").map(str::to_owned).collect();
            if names.len() > 1 && names.iter().all(|name| !name.is_empty()) {
                self.add(&names);
            }
        }
    }
}

/// Returns which files of one crate name something of which others.
fn arrows(files: &[&SourceFile]) -> Arrows {
    let modules = Modules::of(files);
    let mut arrows = Arrows::new();
    for file in files {
        let mut children = BTreeSet::new();
        for module in modules.files.keys() {
            if module.len() == file.module.len() + 1 && module.starts_with(&file.module) {
                children.insert(module.to_vec());
            }
        }
        let is_root = file.module.is_empty();
        let mut named = Named { module: file.module.clone(), children, is_root, paths: Vec::new() };
        file.items.iter().for_each(|item| named.visit_item(item));
        let targets = named.paths.iter().filter_map(|path| modules.holder(path));
        let targets = targets.map(|target| target.path.clone()).filter(|it| *it != file.path);
        arrows.insert(file.path.clone(), targets.collect());
    }
    arrows
}

/// Returns the shortest way from a file back to itself.
fn way_back(arrows: &Arrows, from: &str) -> Option<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut queue = VecDeque::from([vec![from.to_owned()]]);
    while let Some(way) = queue.pop_front() {
        for next in arrows.get(way.last()?).into_iter().flatten() {
            if next == from {
                return Some(way);
            }
            if seen.insert(next) {
                queue.push_back([way.as_slice(), std::slice::from_ref(next)].concat());
            }
        }
    }
    None
}

/// Returns a circle for each file that is part of one: the shortest, beginning with its first file.
fn circles_among(arrows: &Arrows) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in arrows.keys() {
        if let Some(mut way) = way_back(arrows, file) {
            let first =
                way.iter().enumerate().min_by_key(|(_, name)| *name).map_or(0, |(at, _)| at);
            way.rotate_left(first);
            found.insert(way.join(" -> "));
        }
    }
    found
}

/// Returns the circles of every crate. A program beside a library uses the library by name, so it
/// is no part of the library's circles.
pub(crate) fn circles(files: &[SourceFile]) -> Vec<String> {
    let mut by_crate = BTreeMap::<&str, Vec<&SourceFile>>::new();
    for file in files.iter().filter(|file| !file.path.ends_with("src/main.rs")) {
        by_crate.entry(&file.krate).or_default().push(file);
    }
    by_crate.values().flat_map(|files| circles_among(&arrows(files))).collect()
}

#[test]
fn files_do_not_use_each_other_in_a_circle() {
    rules::check("circle", "move what both files need into a file of its own");
}

/// Returns the circles of a crate whose files are given by module and text.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let parse = |(module, text): &(&str, &str)| {
        let names: Vec<&str> = module.split("::").filter(|name| !name.is_empty()).collect();
        SourceFile::parse("x", &names.last().unwrap_or(&"lib").replace("::", "/"), &names, text)
    };
    let files: Vec<_> = files.iter().map(parse).collect();
    circles(&files)
}

#[test]
fn circles_are_found_however_the_arrow_is_written() {
    let check = |a: &str, b: &str, expect: &[&str]| {
        let lib = "mod a; mod b; pub use a::A; pub use b::B;";
        assert_eq!(circles_of(&[("", lib), ("a", a), ("b", b)]), expect, "{a} | {b}");
    };
    check("use crate::b::B; pub struct A;", "pub struct B;", &[]);
    check("use crate::b::B;", "use super::a::A;", &["a -> b"]);
    // Through what the root re-exports, in a group, in an expression, and in a macro.
    check("use crate::B;", "use crate::A;", &["a -> b"]);
    check("use crate::{b::{B, C}};", "fn f() { super::a::g(); }", &["a -> b"]);
    check("use crate::b::*;", "fn f() { format!(\"{}\", crate::a::g()); }", &["a -> b"]);
    // Neither a test nor a visibility is an arrow.
    check("use crate::b::B;", "#[cfg(test)] mod tests { use crate::a::A; }", &[]);
    check("use crate::b::B;", "pub(in crate::a) struct B;", &[]);
}

#[test]
fn parents_and_children_count() {
    let lib = "mod p;";
    let child = "use super::Shared;";
    let uses = "mod c; use c::C; pub struct Shared;";
    assert_eq!(circles_of(&[("", lib), ("p", uses), ("p::c", child)]), ["c -> p"]);
    let calls = "mod c; pub struct Shared; fn f() { c::run(); }";
    assert_eq!(circles_of(&[("", lib), ("p", calls), ("p::c", child)]), ["c -> p"]);
    let declares = "mod c; pub struct Shared;";
    assert!(circles_of(&[("", lib), ("p", declares), ("p::c", child)]).is_empty());
    // The root may re-export its children, but not call those that use it.
    let root = "mod c; pub use c::C; pub struct Shared;";
    assert!(circles_of(&[("", root), ("c", "use crate::Shared;")]).is_empty());
    let root = "mod c; pub struct Shared; pub fn f() { c::run(); }";
    assert_eq!(circles_of(&[("", root), ("c", "use crate::Shared;")]), ["c -> lib"]);
}
