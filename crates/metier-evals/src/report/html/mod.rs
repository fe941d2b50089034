//! The report as one page that stands alone: no network, no other file, readable from disk.
//!
//! | file | owns |
//! |---|---|
//! | `page` | the whole page, and what its browser may do |
//! | `sections` | verdict, tables of skills, arms, comparisons and cases |
//! | `plots` | intervals, confusion matrix and cost as inline SVG |
//! | `trials` | what was done in each trial, within a bound, as data for the page's script |
//! | `markup` | text made safe for HTML |
//! | `page.css`, `page.js` | its style, and its filter and timelines |

mod markup;
mod page;
mod plots;
mod sections;
mod trials;

pub use page::{HtmlPage, page_with_baseline};
