//! Rust source as `syn` sees it: what the size, name and public-API checks share.
//!
//! It parses and answers questions about one item; it reads no files and reports nothing.

use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Attribute, Visibility};

/// The attributes of an item of any kind.
pub(crate) fn attributes(item: &syn::Item) -> &[Attribute] {
    match item {
        syn::Item::Const(it) => &it.attrs,
        syn::Item::Enum(it) => &it.attrs,
        syn::Item::Fn(it) => &it.attrs,
        syn::Item::Impl(it) => &it.attrs,
        syn::Item::Macro(it) => &it.attrs,
        syn::Item::Mod(it) => &it.attrs,
        syn::Item::Static(it) => &it.attrs,
        syn::Item::Struct(it) => &it.attrs,
        syn::Item::Trait(it) => &it.attrs,
        syn::Item::Type(it) => &it.attrs,
        syn::Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

/// Whether the item is compiled for tests only.
pub(crate) fn is_test_only(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| match &attr.meta {
        syn::Meta::List(list) => {
            list.path.is_ident("cfg") && list.tokens.to_string().trim() == "test"
        }
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::NameValue(_) => false,
    })
}

/// Whether the item is `pub` without a restriction.
pub(crate) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// The first and last line of a piece of syntax, counted from 1.
pub(crate) fn lines_of(tokens: &impl ToTokens) -> (usize, usize) {
    let span = tokens.span();
    (span.start().line, span.end().line)
}
