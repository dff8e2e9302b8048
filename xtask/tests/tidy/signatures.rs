//! What a function takes and how it fails: no bare `bool`, no error that is only text.

use syn::visit::{self, Visit};
use syn::{FnArg, GenericArgument, PathArguments, Type};

use crate::rules;
use crate::source::SourceFile;

/// Collects the functions that take a `bool`. Implementations of traits are left out: what they take
/// is the trait's choice, and our own traits are read where they are defined.
struct BoolParameters<'a> {
    file: &'a SourceFile,
    found: Vec<String>,
}

impl BoolParameters<'_> {
    fn read(&mut self, signature: &syn::Signature) {
        let is_bool = |argument: &FnArg| match argument {
            FnArg::Typed(argument) => {
                matches!(&*argument.ty, Type::Path(path) if path.path.is_ident("bool"))
            }
            FnArg::Receiver(_) => false,
        };
        if signature.inputs.iter().any(is_bool) {
            self.found.push(format!("{} {}", self.file.path, signature.ident));
        }
    }
}

impl<'ast> Visit<'ast> for BoolParameters<'_> {
    fn visit_item_impl(&mut self, block: &'ast syn::ItemImpl) {
        if block.trait_.is_none() {
            visit::visit_item_impl(self, block);
        }
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.read(signature);
        visit::visit_signature(self, signature);
    }
}

/// Returns the functions that take a `bool`.
pub(crate) fn bool_parameters(files: &[SourceFile]) -> Vec<String> {
    let in_file = |file| {
        let mut functions = BoolParameters { file, found: Vec::new() };
        file.items.iter().for_each(|item| functions.visit_item(item));
        functions.found
    };
    files.iter().flat_map(in_file).collect()
}

#[test]
fn no_function_takes_a_bool() {
    let advice = "take an enum, make two functions, or pass a struct with named fields";
    rules::check("bool parameter", advice);
}

/// Collects `Result<_, String>` and error types that hold a `String` alone.
struct TextErrors<'a> {
    file: &'a SourceFile,
    found: Vec<String>,
}

fn is_text(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|it| it.ident == "String"))
}

impl<'ast> Visit<'ast> for TextErrors<'_> {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        if segment.ident == "Result"
            && let PathArguments::AngleBracketed(arguments) = &segment.arguments
            && let Some(GenericArgument::Type(error)) = arguments.args.iter().nth(1)
            && is_text(error)
        {
            self.found.push(format!("{} Result<_, String>", self.file.path));
        }
        visit::visit_path_segment(self, segment);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let is_only_text = matches!(&item.fields, syn::Fields::Unnamed(fields)
            if fields.unnamed.len() == 1 && is_text(&fields.unnamed[0].ty));
        if item.ident.to_string().ends_with("Error") && is_only_text {
            self.found.push(format!("{} struct {}(String)", self.file.path, item.ident));
        }
        visit::visit_item_struct(self, item);
    }
}

/// Returns the results and error types that are text without a kind.
pub(crate) fn text_errors(files: &[SourceFile]) -> Vec<String> {
    let in_file = |file| {
        let mut errors = TextErrors { file, found: Vec::new() };
        file.items.iter().for_each(|item| errors.visit_item(item));
        errors.found
    };
    files.iter().flat_map(in_file).collect()
}

#[test]
fn errors_have_kinds() {
    rules::check("text error", "give the error a kind, a sentence and a hint");
}

#[test]
fn bools_and_text_errors_are_found() {
    let check = |text: &str, bools: usize, errors: usize| {
        let files = [SourceFile::parse("x", "x.rs", &[], text)];
        let found = (bool_parameters(&files).len(), text_errors(&files).len());
        assert_eq!(found, (bools, errors), "{text}");
    };
    check("fn f(path: &str, force: bool) {}", 1, 0);
    check("impl A { fn f(&self, force: bool) {} }", 1, 0);
    check("trait T { fn f(&self, force: bool); }", 1, 0);
    check("impl T for A { fn f(&self, force: bool) {} }", 0, 0);
    check("fn f(force: Force) -> bool { let g = |b: bool| b; g(true) }", 0, 0);
    check("fn f() -> Result<u8, String> { Ok(1) }", 0, 1);
    check("fn f() -> io::Result<String> { g::<Result<(), std::string::String>>() }", 0, 1);
    check("fn f() -> Result<String, CallError> {}", 0, 0);
    check("pub struct CallError(pub String);", 0, 1);
    check("struct CallError { kind: Kind, text: String } struct Name(String);", 0, 0);
}
