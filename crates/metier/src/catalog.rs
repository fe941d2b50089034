//! The catalog: the list of skills that a model is shown, under this directory's policy.
//! How it is fitted into its budget is `metier-registry`'s.

use std::path::PathBuf;

use metier_policy::Invoker;
use metier_registry::catalog::{Catalog, CatalogFormat, CatalogReader, CatalogRequest, Cataloger};
use metier_registry::roots::repository_top;
use metier_tools::GatedContents;

use crate::error::Result;
use crate::open::Metier;

/// What a catalog is asked for.
#[derive(Debug, Clone, Default)]
pub struct CatalogOptions {
    /// How it is written, if not as the settings say.
    pub format: Option<CatalogFormat>,
    /// What the user wants: decides which descriptions are shown when not all fit.
    pub request: Option<String>,
    /// Tokens it may take, if not as the settings say.
    pub budget: CatalogBudget,
    /// Files that are worked on: skills with `paths` are shown when one matches.
    pub files: Vec<String>,
    /// Which turn of a session it is for: moves the rotation on.
    pub turn: u64,
}

/// How many tokens a catalog may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CatalogBudget {
    /// As many as the settings say.
    #[default]
    Configured,
    /// This many.
    Tokens(usize),
    /// As many as it needs.
    Unlimited,
}

impl Metier {
    /// The list of skills that a model is shown, for a program with a loop of its own: no tool of ours is
    /// mentioned in it. A body is in it only where the model could load it without a question.
    ///
    /// ```
    /// use metier::{CatalogBudget, CatalogOptions, Metier};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let metier = Metier::builder(&dir).without_user_folders().open()?;
    /// let catalog = metier.catalog(&CatalogOptions {
    ///     request: Some("review my skill".to_owned()),
    ///     budget: CatalogBudget::Tokens(200),
    ///     ..CatalogOptions::default()
    /// })?;
    /// assert!(catalog.text().contains("review-skill"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn catalog(&self, options: &CatalogOptions) -> Result<Catalog> {
        let scan = self.skills();
        let guard = self.guard(&scan)?;
        let gate = guard.load_gate(&scan.index, Invoker::Model);
        let cataloger = Cataloger::new(&scan.index, &|entry| gate.denied(entry));
        let bases = self.path_bases();
        let wanted = CatalogRequest {
            format: options.format.unwrap_or(self.settings().catalog.format),
            budget: self.catalog_budget(options.budget),
            request: options.request.as_deref(),
            files: &options.files,
            bases: &bases,
            turn: options.turn,
            reader: CatalogReader::OtherProgram,
        };
        let contents = GatedContents::new(gate, self.settings().body_limits);
        Ok(cataloger.catalog(&wanted, &contents))
    }

    /// The tokens that a catalog may take; nothing where there is no limit.
    pub fn catalog_budget(&self, budget: CatalogBudget) -> Option<usize> {
        match budget {
            CatalogBudget::Configured => Some(self.settings().catalog.budget_tokens),
            CatalogBudget::Tokens(tokens) => Some(tokens),
            CatalogBudget::Unlimited => None,
        }
    }

    /// What `paths` of skills are relative to: the working directory and the repository's top.
    pub(crate) fn path_bases(&self) -> Vec<PathBuf> {
        let top = repository_top(self.working_dir(), self.home());
        let work = self.inner.workspace.clone();
        std::iter::once(self.working_dir().to_owned()).chain(top).chain(work).collect()
    }
}
