//! Writes all mutants that `cargo mutants --list --json` names into a copy of the
//! crate, each behind a number that is asked while the program runs, so that one
//! build serves all:
//!
//!     mutants LIST.json COPY [numbers of mutants to leave out]...
//!
//! `a < b` becomes `if mutant::is(7) { a > b } else { a < b }`. Prints the numbers of
//! the mutants that it wrote. It leaves out what is computed by the compiler:
//! constants, lengths of arrays and constant functions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use proc_macro2::{LineColumn, Span, TokenStream};
use quote::quote;
use serde_json::Value;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Arm, Block, Expr, Stmt};

/// A mutant: its number, and what it puts in the place.
type Mutant = (u32, String);

/// The mutants of one file, by genre and where they begin.
struct Mutants {
    at: HashMap<(String, usize, usize), Vec<Mutant>>,
    written: BTreeSet<u32>,
}

impl Mutants {
    fn take(&mut self, genre: &str, span: Span) -> Vec<Mutant> {
        let LineColumn { line, column } = span.start();
        let found = self.at.remove(&(genre.to_owned(), line, column + 1)).unwrap_or_default();
        self.written.extend(found.iter().map(|mutant| mutant.0));
        found
    }

    /// The expression `usual`, or that of the chosen mutant.
    fn choose(mutants: Vec<(u32, TokenStream)>, usual: &Expr) -> Expr {
        let chain = mutants.iter().map(|(number, other)| quote!(if crate::mutant::is(#number) { #other } else));
        syn::parse2(quote!((#(#chain)* { #usual }))).expect("an expression")
    }

    /// What returns a mutant's value in place of running this body.
    fn returns(&mut self, block: &Block) -> Vec<Stmt> {
        let Some(first) = block.stmts.first() else { return Vec::new() };
        let mutants = self.take("FnValue", first.span()).into_iter();
        mutants
            .map(|(number, value)| {
                let value = tokens(&value);
                syn::parse2(quote!(if crate::mutant::is(#number) { return #value; })).expect("a statement")
            })
            .collect()
    }
}

fn tokens(text: &str) -> TokenStream {
    text.parse().expect("tokens of Rust")
}

impl VisitMut for Mutants {
    // What the compiler computes.
    fn visit_item_const_mut(&mut self, _: &mut syn::ItemConst) {}
    fn visit_item_static_mut(&mut self, _: &mut syn::ItemStatic) {}
    fn visit_impl_item_const_mut(&mut self, _: &mut syn::ImplItemConst) {}
    fn visit_trait_item_const_mut(&mut self, _: &mut syn::TraitItemConst) {}
    fn visit_expr_const_mut(&mut self, _: &mut syn::ExprConst) {}
    fn visit_type_mut(&mut self, _: &mut syn::Type) {}
    fn visit_generic_argument_mut(&mut self, _: &mut syn::GenericArgument) {}
    fn visit_expr_repeat_mut(&mut self, repeat: &mut syn::ExprRepeat) {
        self.visit_expr_mut(&mut repeat.expr);
    }

    fn visit_item_fn_mut(&mut self, function: &mut syn::ItemFn) {
        if function.sig.constness.is_none() {
            let returns = self.returns(&function.block);
            visit_mut::visit_item_fn_mut(self, function);
            function.block.stmts.splice(0..0, returns);
        }
    }

    fn visit_impl_item_fn_mut(&mut self, function: &mut syn::ImplItemFn) {
        if function.sig.constness.is_none() {
            let returns = self.returns(&function.block);
            visit_mut::visit_impl_item_fn_mut(self, function);
            function.block.stmts.splice(0..0, returns);
        }
    }

    fn visit_trait_item_fn_mut(&mut self, function: &mut syn::TraitItemFn) {
        let returns = function.default.as_ref().map(|block| self.returns(block)).unwrap_or_default();
        visit_mut::visit_trait_item_fn_mut(self, function);
        if let Some(block) = &mut function.default {
            block.stmts.splice(0..0, returns);
        }
    }

    fn visit_arm_mut(&mut self, arm: &mut Arm) {
        let start = arm.span();
        let guard = arm.guard.as_ref().map(|(_, guard)| guard.span());
        // Names that a pattern binds are not the arm's own until the guard held.
        visit_mut::visit_arm_mut(self, arm);
        if let (Some(span), Some((_, guard))) = (guard, &mut arm.guard) {
            let mutants = self.take("MatchArmGuard", span);
            if !mutants.is_empty() {
                let mutants = mutants.iter().map(|(number, value)| (*number, tokens(value))).collect();
                **guard = Self::choose(mutants, guard);
            }
        }
        for (number, _) in self.take("MatchArm", start) {
            let without = match &arm.guard {
                Some((_, guard)) => quote!(!crate::mutant::is(#number) && #guard),
                None => quote!(!crate::mutant::is(#number)),
            };
            let guard = syn::parse2(without).expect("a condition");
            arm.guard = Some((Default::default(), Box::new(guard)));
        }
    }

    fn visit_expr_struct_mut(&mut self, made: &mut syn::ExprStruct) {
        let base = made.rest.clone();
        let spans: Vec<Span> = made.fields.iter().map(Spanned::span).collect();
        visit_mut::visit_expr_struct_mut(self, made);
        for (field, span) in made.fields.iter_mut().zip(spans) {
            let (Some(base), member) = (&base, &field.member) else { continue };
            for (number, _) in self.take("StructField", span) {
                field.colon_token = Some(Default::default());
                field.expr = Self::choose(vec![(number, quote!((#base).#member))], &field.expr);
            }
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let usual = expr.clone();
        let mutants = match &usual {
            Expr::Binary(binary) => self.take("BinaryOperator", binary.op.span()),
            Expr::Unary(unary) => self.take("UnaryOperator", unary.op.span()),
            _ => Vec::new(),
        };
        visit_mut::visit_expr_mut(self, expr);
        if mutants.is_empty() {
            return;
        }
        // Only one mutant is chosen at a time, so what lies within another is as it was.
        let other = |operator: &str| match &usual {
            Expr::Binary(syn::ExprBinary { left, right, .. }) => {
                let operator = tokens(operator);
                quote!((#left) #operator (#right))
            }
            Expr::Unary(unary) => {
                let operand = &unary.expr;
                quote!(#operand)
            }
            _ => unreachable!("asked for above"),
        };
        let mutants = mutants.iter().map(|(number, operator)| (*number, other(operator))).collect();
        *expr = Self::choose(mutants, expr);
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [list, copy, left_out @ ..] = &arguments[..] else {
        panic!("mutants LIST.json COPY [numbers of mutants to leave out]...");
    };
    let left_out: BTreeSet<u32> = left_out.iter().map(|number| number.parse().expect("a number")).collect();
    let list = std::fs::read_to_string(list).expect("the list");
    let list: Vec<Value> = serde_json::from_str(&list).expect("a list of mutants");
    let text = |mutant: &Value, key: &str| mutant[key].as_str().expect("a text").to_owned();
    let mut files = BTreeMap::<String, Vec<(u32, &Value)>>::new();
    for (number, mutant) in (0..).zip(&list) {
        files.entry(text(mutant, "file")).or_default().push((number, mutant));
    }
    for (name, mutants) in files {
        let path = Path::new(copy).join(&name);
        let mut file = syn::parse_file(&std::fs::read_to_string(&path).expect("a file")).expect("Rust");
        let mut here = Mutants { at: HashMap::new(), written: BTreeSet::new() };
        for (number, mutant) in mutants {
            let place = |key: &str| mutant["span"]["start"][key].as_u64().expect("a number") as usize;
            if !left_out.contains(&number) {
                let at = (text(mutant, "genre"), place("line"), place("column"));
                here.at.entry(at).or_default().push((number, text(mutant, "replacement")));
            }
        }
        here.visit_file_mut(&mut file);
        std::fs::write(&path, prettyplease::unparse(&file)).expect("room for a file");
        for number in here.written {
            println!("{number}");
        }
    }
}
