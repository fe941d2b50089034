//! The answers to the questions of a trial: no person is there.
//!
//! A trial works in a folder of its own that is thrown away, and its scripts run in the sandbox; so what stays
//! inside is let pass, once. What would leave it (programs of the machine, the network) is not, unless a rule
//! of the caller allows it before anything is asked. Neither is a skill whose loading is a question: it is one
//! that is not trusted, or changed since.

use metier::CancelToken;
use metier::agent::{Approval, Approver, Op, Question};
use metier::policy::Answer;

pub(super) struct TrialApprover;

impl Approver for TrialApprover {
    fn answer(&self, question: &Question<'_>, _: &CancelToken) -> Option<Approval> {
        let stays_inside = match question.op {
            Op::Tool { tool, .. } => matches!(
                tool.as_str(),
                "read_file" | "list_dir" | "grep" | "write_file" | "delete_file"
            ),
            Op::Script { .. } => question
                .asked
                .and_then(|asked| asked.script.as_ref())
                .is_none_or(|script| script.network == metier::sandbox::NetworkAccess::Closed),
            Op::Load { .. } | Op::Delegate { .. } | Op::Resource { .. } => false,
            Op::Search { .. } => true,
        };
        let answer = if stays_inside && question.liftable.is_empty() {
            Answer::Once
        } else {
            Answer::Reject("not in an eval: allow it with --allow".to_owned())
        };
        Some(Approval::new(answer, "eval"))
    }
}
