//! A chat: several requests in one session, each with what was said before.
//!
//! Every request is a run of its own, with its own record; the chat hands on what was asked and
//! answered, and the skills that were loaded.

use metier_agent::Status;
use metier_agent::setup_builder::shown_request;
use metier_cancel::CancelToken;
use metier_model::ModelInfo;
use metier_skill::text::clip;

use crate::chosen_skills::FirstSkills;
use crate::error::Result;
use crate::run::Run;
use crate::session::{Earlier, Session};

/// Characters of an answer that later requests see.
const MAX_ANSWER_CHARS: usize = 2000;
/// Exchanges that later requests see.
const MAX_EXCHANGES: usize = 8;

/// Several requests, one after the other.
pub struct Chat {
    session: Session,
    exchanges: Vec<Exchange>,
    /// Skills that the last run had loaded; nothing where it was not asked to keep any.
    loaded: Option<Vec<String>>,
}

struct Exchange {
    request: String,
    /// The request as a model is shown it.
    shown: String,
    /// The answer, where there is one.
    answer: Option<String>,
    /// How the run ended.
    status: Status,
}

impl Exchange {
    fn of(request: &str, run: &Run) -> Self {
        let answer = run.answer();
        let answer = clip(&answer, MAX_ANSWER_CHARS).into_owned();
        let answer = Some(answer).filter(|answer| !answer.trim().is_empty());
        let shown = shown_request(request, &run.state().setup().chosen);
        Self { request: request.to_owned(), shown, answer, status: run.status() }
    }
}

impl Session {
    /// A chat with the settings of this session.
    ///
    /// ```
    /// # use metier::Metier;
    /// # let dir = tempfile::tempdir()?;
    /// let metier = Metier::builder(&dir).without_user_folders().open()?;
    /// let mut chat = metier.session().model("router").chat()?;
    /// println!("{}", chat.send("how do I write a skill?")?.answer());
    /// println!("{}", chat.send("and how do I review it?")?.answer());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What would fail for every message: a model that cannot be used (an unknown provider, a missing key,
    /// a script that cannot be read), a rule about an unknown tool, a chosen skill that does not exist.
    pub fn chat(self) -> Result<Chat> {
        self.check_settings()?;
        self.open_model(None)?;
        Ok(Chat { session: self, exchanges: Vec::new(), loaded: None })
    }
}

impl Chat {
    /// Cancels later requests with this token: a token that was cancelled stays so.
    pub fn cancel_with(&mut self, token: CancelToken) {
        self.session.set_cancel(token);
    }

    /// Decides later requests with this model; where it cannot be used, the one of before stays.
    pub fn set_model(&mut self, name: &str) -> Result<()> {
        let before = self.session.replace_model(name);
        self.session.open_model(None).map(|_| ()).inspect_err(|_| self.session.model = before)
    }

    /// The model that decides.
    pub fn model(&self) -> Result<ModelInfo> {
        self.session.open_model(None).map(|(model, _)| model.info())
    }

    /// Works on the next request.
    pub fn send(&mut self, request: &str) -> Result<Run> {
        let earlier = self.earlier();
        let chosen = FirstSkills::Chosen(self.session.chosen());
        let skills = self.loaded.as_deref().map_or(chosen, FirstSkills::Carried);
        let requests: Vec<&str> =
            self.exchanges.iter().map(|exchange| exchange.request.as_str()).collect();
        let earlier = Earlier { text: &earlier, requests: &requests };
        let run = match self.session.run_after(request, earlier, skills) {
            Ok(run) => run,
            Err(error) => {
                // It may be a skill of before that is gone; it must not end every later request.
                self.loaded = None;
                return Err(error);
            }
        };
        self.exchanges.push(Exchange::of(request, &run));
        // The offline model follows what is loaded and chooses only where nothing is.
        if run.state().setup().model.provider != "router" {
            let loaded = run.state().loaded();
            self.loaded = Some(loaded.iter().map(ToString::to_string).collect());
        }
        Ok(run)
    }

    /// What was said before, for the model.
    fn earlier(&self) -> String {
        if self.exchanges.is_empty() {
            return String::new();
        }
        let start = self.exchanges.len().saturating_sub(MAX_EXCHANGES);
        let mut text = "# Earlier in this session\n".to_owned();
        for Exchange { shown, answer, status, .. } in &self.exchanges[start..] {
            text.push_str(&format!("\nThe user asked: {shown}\n"));
            match answer {
                Some(answer) => text.push_str(&metier_loader::fenced("Answer", answer)),
                // An empty answer would be a request that waits for one.
                None => text.push_str(&format!(
                    "[That request is over: it ended without an answer ({}). Do not work on it.]\n",
                    status.as_str()
                )),
            }
        }
        text
    }
}
