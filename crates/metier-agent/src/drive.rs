//! The driver: does what the step says, and writes everything down before it is shown or done.
//!
//! Why this order. An input is appended to the record first, then the step runs on it, then the events that
//! follow are appended, and only then the one effect is carried out. So at every instant the record holds all
//! inputs that the state was made from: a process that is killed between any two writes resumes by folding the
//! record, and either finds that an effect had not begun, or that it had and may be half done. Of an effect
//! that can change something, `action.started` is on the disk (`sync`) before it begins; a resumed run then
//! reports it as interrupted instead of silently doing it again. The attack this order is made for is not only
//! a crash: a model or a script that could act between the decision and its record could act unrecorded.
//!
//! The driver holds no knowledge of its own about the run: state comes from events, effects from the step. What
//! it keeps between two steps is the prepared action of the last judgement, which can do nothing but what was
//! judged, and the answer that let it pass. Between two inputs it looks at its token; whatever blocks in
//! between is woken by the same token.

mod model_call;
mod run_time;

use std::sync::Arc;

use metier_cancel::CancelToken;
use metier_model::Model;
use metier_policy::{Answer, Effect, Invoker};
use metier_skill::FailureCode;
use metier_tools::ShownBody;

use self::run_time::RunTime;
use crate::audit::must_hold;
use crate::context::Fixed;
use crate::error::AgentError;
use crate::event::Event;
use crate::executor::{
    ActionContext, Approval, Approver, DecidedAction, Executor, Judgement, PreparedAction, Question,
};
use crate::fold::fold;
use crate::folder::RunFolder;
use crate::inner;
use crate::log::{LogFault, Record};
use crate::masking;
use crate::op::{Op, Outcome};
use crate::recorder::{FolderRecorder, Recorder};
use crate::setup::Setup;
use crate::state::State;
use crate::step::{StepEffect, step};

/// What happens between two events: for eyes only, never recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// A reply that still streams will be this action. Nothing is done before it is whole.
    ActionKnown {
        /// The turn.
        turn: u32,
        /// The kind of the action.
        kind: String,
        /// What it is about.
        target: String,
    },
    /// More of the text of the final answer, as it streams.
    AnswerText(String),
    /// What was streamed does not count: the reply begins anew.
    Anew,
    /// Something that the user should know before it is done.
    Warning(String),
    /// What a script or command prints.
    Output {
        /// `stdout` or `stderr`.
        stream: String,
        /// The text.
        text: String,
    },
}

/// Hears what happens. `depth` is 0 for the run itself, 1 for a loop inside it.
pub trait Observer: Sync {
    /// An event, already written.
    fn event(&self, depth: u32, record: &Record);
    /// Something between two events.
    fn note(&self, depth: u32, note: &Note) {
        let _ = (depth, note);
    }
    /// Whether anything is done with that; else a reply is not read before it is whole.
    fn hears_notes(&self) -> bool {
        true
    }
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct SilentObserver;

impl Observer for SilentObserver {
    fn event(&self, _: u32, _: &Record) {}

    fn hears_notes(&self) -> bool {
        false
    }
}

/// What is done now.
#[derive(Clone, Copy)]
struct Performed<'p> {
    op_id: u32,
    op: &'p Op,
    answer: Option<&'p Answer>,
    time: &'p RunTime<'p>,
    depth: u32,
}

/// Where continuing led.
pub(crate) enum Resumed {
    /// To its end, or to where it has to wait.
    On(State),
    /// Nowhere: it had ended.
    Ended(State),
}

/// Who takes part in a run.
#[derive(Clone, Copy)]
pub struct Agent<'a> {
    /// Decides.
    pub model: &'a dyn Model,
    /// Judges and does.
    pub executor: &'a dyn Executor,
    /// Answers questions.
    pub approver: &'a dyn Approver,
    /// Hears what happens.
    pub observer: &'a dyn Observer,
    /// Ends the run, wherever it waits.
    pub cancel: &'a CancelToken,
}

impl std::fmt::Debug for Agent<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("model", &self.model.info()).finish_non_exhaustive()
    }
}

impl Agent<'_> {
    /// Runs from the start to the end, or to where it has to wait, and leaves the record in `folder`.
    pub fn run(&self, folder: &RunFolder, mut setup: Setup) -> Result<State, AgentError> {
        self.mask_setup(&mut setup);
        let (mut recorder, first) = FolderRecorder::create(folder, &setup)?;
        self.run_with(&mut recorder, &first, Arc::new(setup))
    }

    /// The same with any recorder; `first` is the first event.
    pub fn run_with(
        &self,
        recorder: &mut dyn Recorder,
        first: &Event,
        mut setup: Arc<Setup>,
    ) -> Result<State, AgentError> {
        self.mask_setup(Arc::make_mut(&mut setup));
        let mut state = State::new(setup);
        let started = self.write(recorder, first, 0)?;
        self.write_shown(recorder, &state.setup().shown, 0)?;
        let effect = self.follow(recorder, &mut state, &started, 0)?;
        recorder.summarize()?;
        self.go(recorder, state, effect, 0)
    }

    fn mask_setup(&self, setup: &mut Setup) {
        if let Some(secrets) = self.executor.secrets() {
            masking::mask_setup(setup, secrets);
        }
    }

    /// Writes down by which decisions the prompt shows bodies of skills.
    fn write_shown(
        &self,
        recorder: &mut dyn Recorder,
        shown: &[ShownBody],
        depth: u32,
    ) -> Result<(), AgentError> {
        for shown in shown {
            let op = Op::Load { skill: shown.skill.clone(), by: Invoker::Model, arguments: None };
            let (reason, request) = (shown.reason.clone(), Some(shown.request));
            let effect = Effect::Allow;
            let (layers, liftable) = (Vec::new(), Vec::new());
            let event =
                Event::PolicyDecided { op_id: 0, op, effect, reason, layers, request, liftable };
            self.write(recorder, &event, depth)?;
        }
        Ok(())
    }

    /// Continues a run that was stopped, killed, or waits for an answer.
    pub fn resume(&self, folder: &RunFolder) -> Result<State, AgentError> {
        must_hold(folder)?;
        let setup = folder.setup()?;
        let (mut recorder, records) = FolderRecorder::reopen(folder)?;
        if records.is_empty() {
            return Err(AgentError::NotBegun(folder.id().clone()));
        }
        let resumed = self.resume_with(&mut recorder, Arc::new(setup), &records, 0);
        match resumed.map_err(|error| error.in_file(&folder.events_file()))? {
            Resumed::On(state) => Ok(state),
            Resumed::Ended(state) => {
                let status = state.finished().map_or("", |end| end.status.as_str());
                Err(AgentError::Ended(status))
            }
        }
    }

    pub(crate) fn resume_with(
        &self,
        recorder: &mut dyn Recorder,
        setup: Arc<Setup>,
        records: &[Record],
        depth: u32,
    ) -> Result<Resumed, AgentError> {
        let folded = fold(setup, records).map_err(|difference| {
            let message = difference.to_string();
            let fault = LogFault { line: difference.seq, code: "replay-difference", message };
            AgentError::Record(std::path::PathBuf::new(), fault)
        })?;
        let (mut state, mut effect) = (folded.state, folded.effect);
        // Of a run that had only begun, and of one inside another.
        let shown = records.iter().filter(|record| record.event.is_about_prompt()).count();
        if records.len() == shown + 1 {
            self.write_shown(recorder, &state.setup().shown[shown..], depth)?;
        }
        // A process that ended between an input and what follows from it.
        let not_begun = matches!(folded.missing.last(), Some(Event::ActionStarted { .. }));
        let written = folded.missing.len() - usize::from(not_begun);
        for event in &folded.missing[..written] {
            self.write(recorder, event, depth)?;
        }
        let begun = records.len() > 1 || !folded.missing.is_empty();
        match state.finished() {
            Some(end) if !end.can_resume() => {
                recorder.summarize()?;
                let known = folded.missing.is_empty();
                return Ok(if known { Resumed::Ended(state) } else { Resumed::On(state) });
            }
            _ if begun => {
                let version = env!("CARGO_PKG_VERSION").to_owned();
                let resumed = Event::RunResumed { version, not_begun };
                effect = self.input(recorder, &mut state, &resumed, depth)?;
            }
            _ => {}
        }
        self.go(recorder, state, effect, depth).map(Resumed::On)
    }

    /// Does one thing after the other until there is nothing to do, or no time.
    pub(crate) fn go(
        &self,
        recorder: &mut dyn Recorder,
        state: State,
        effect: StepEffect,
        depth: u32,
    ) -> Result<State, AgentError> {
        let time = RunTime::start(self.cancel, &state)?;
        let timed = Agent { cancel: time.token(), ..*self };
        timed.go_while(&time, recorder, state, effect, depth)
    }

    fn go_while(
        &self,
        time: &RunTime<'_>,
        recorder: &mut dyn Recorder,
        mut state: State,
        mut effect: StepEffect,
        depth: u32,
    ) -> Result<State, AgentError> {
        let fixed = Fixed::of_state(&state);
        let mut decided: Option<(u32, DecidedAction)> = None;
        let mut answer: Option<Answer> = None;
        loop {
            let input = match effect {
                StepEffect::Stop => break,
                StepEffect::CallModel if time.is_stopped() => time.no_reply(state.spent().turns),
                StepEffect::Ask(op_id, _) if time.is_stopped() => time.unanswered(op_id),
                StepEffect::Judge(op_id, _) | StepEffect::Perform(op_id, _)
                    if time.is_stopped() =>
                {
                    time.unfinished(op_id)
                }
                StepEffect::CallModel => self.call_model(recorder, &state, &fixed, time, depth)?,
                StepEffect::Judge(op_id, op) => {
                    answer = None;
                    match self.executor.judge(&op, &state.skills()) {
                        Judgement::Impossible(outcome) => {
                            Event::ActionFinished { op_id, outcome: *outcome }
                        }
                        // What is stopped now has not begun, and nothing says that it has.
                        _ if time.is_stopped() => time.unfinished(op_id),
                        Judgement::Decided(action) => {
                            let event = Event::PolicyDecided {
                                op_id,
                                op,
                                effect: action.effect,
                                reason: action.reason.clone(),
                                layers: action.layers.clone(),
                                request: action.request,
                                liftable: action.liftable.clone(),
                            };
                            decided = Some((op_id, action));
                            event
                        }
                    }
                }
                StepEffect::Ask(op_id, op) => {
                    // An answer may take long.
                    recorder.sync()?;
                    let known = decided.as_ref().filter(|(id, _)| *id == op_id);
                    let (reason, request) = known
                        .map_or(("", None), |(_, action)| (action.reason.as_str(), action.request));
                    let asked = known.and_then(|(_, action)| action.asked.as_deref());
                    let liftable = known.map_or(&[][..], |(_, action)| &action.liftable);
                    let question = Question { op: &op, reason, request, asked, liftable };
                    let given = self.approver.answer(&question, self.cancel);
                    answer = given.as_ref().map(|given| given.answer.clone());
                    match given {
                        _ if time.is_stopped() => time.unanswered(op_id),
                        Some(Approval { answer, by }) => Event::AskAnswered { op_id, answer, by },
                        None => Event::AskUnanswered { op_id },
                    }
                }
                StepEffect::Perform(op_id, op) => {
                    recorder.sync()?;
                    let prepared =
                        decided.take().filter(|(id, _)| *id == op_id).map(|(_, it)| it.prepared);
                    let performed =
                        Performed { op_id, op: &op, answer: answer.as_ref(), time, depth };
                    self.perform(recorder, &state, &performed, prepared)?
                }
            };
            effect = self.input(recorder, &mut state, &input, depth)?;
        }
        recorder.summarize()?;
        Ok(state)
    }

    fn perform(
        &self,
        recorder: &mut dyn Recorder,
        state: &State,
        performed: &Performed<'_>,
        prepared: Option<PreparedAction>,
    ) -> Result<Event, AgentError> {
        let Performed { op_id, op, answer, time, depth } = *performed;
        let mut delegate = || match inner::delegate(self, recorder, state, op_id, op, depth)? {
            // The loop inside was stopped by ours.
            Event::CancelRequested {} => Ok(time.unfinished(op_id)),
            event => Ok(event),
        };
        let Some(prepared) = prepared else {
            if matches!(op, Op::Delegate { .. }) {
                return delegate();
            }
            let text = "Nothing was judged; this is a bug in metier.";
            return Ok(Event::ActionFinished {
                op_id,
                outcome: Outcome::failed(FailureCode::Failed, text),
            });
        };
        let observer = self.observer;
        let output = move |stream: &str, text: &str| {
            let (stream, text) = (stream.to_owned(), text.to_owned());
            observer.note(depth, &Note::Output { stream, text });
        };
        let outcome = prepared(&ActionContext { cancel: self.cancel, output: &output, answer });
        match op {
            Op::Delegate { .. } if outcome.ok => delegate(),
            // It had begun: a run that is resumed says that it was interrupted.
            _ if outcome.code == Some(FailureCode::Cancelled) && time.is_stopped() => {
                Ok(time.unfinished(op_id))
            }
            _ => Ok(Event::ActionFinished { op_id, outcome }),
        }
    }

    /// Takes an input: writes it, steps, writes what follows.
    fn input(
        &self,
        recorder: &mut dyn Recorder,
        state: &mut State,
        input: &Event,
        depth: u32,
    ) -> Result<StepEffect, AgentError> {
        let record = self.write(recorder, input, depth)?;
        self.follow(recorder, state, &record, depth)
    }

    /// Steps on an input that is written, and writes what follows.
    fn follow(
        &self,
        recorder: &mut dyn Recorder,
        state: &mut State,
        input: &Record,
        depth: u32,
    ) -> Result<StepEffect, AgentError> {
        let stepped = step(state, &input.event, input.elapsed_ms);
        for event in &stepped.events {
            self.write(recorder, event, depth)?;
        }
        Ok(stepped.effect)
    }

    /// Writes an event down; what may not be recorded is masked in it first.
    fn write(
        &self,
        recorder: &mut dyn Recorder,
        event: &Event,
        depth: u32,
    ) -> Result<Record, AgentError> {
        let masked = self.executor.secrets().map(|secrets| {
            let mut event = event.clone();
            masking::mask_event(&mut event, secrets);
            event
        });
        let record = recorder.append(masked.as_ref().unwrap_or(event))?;
        self.observer.event(depth, &record);
        Ok(record)
    }
}
