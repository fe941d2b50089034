//! Scenes: what a model knows in a turn, put together by hand.
//! The model reads a turn only, so a scene becomes one before the router is asked.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use metier_model::{Decision, PastAction, TrailEntry, Turn, View};
use metier_router::Router;
use serde_json::Value;

/// A turn in the making: its view, and what the model did before.
#[derive(Default)]
pub(crate) struct Scene {
    pub(crate) view: View,
    pub(crate) past: Vec<PastAction>,
}

impl Scene {
    pub(crate) fn turn(&self) -> Turn {
        let entry = |past: &PastAction| TrailEntry {
            decision: Some("".into()),
            observation: "".into(),
            past: Arc::new(past.clone()),
        };
        Turn {
            number: 1,
            system: "".into(),
            system_for_call: "".into(),
            request: "".into(),
            trail: self.past.iter().map(entry).collect(),
            tail: String::new(),
            plan: metier_model::PlanMode::On,
            schema: Arc::new(Value::Null),
            held_schema: None,
            max_output_tokens: 100,
            view: Arc::new(self.view.clone()),
        }
    }
}

impl Deref for Scene {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
}

impl DerefMut for Scene {
    fn deref_mut(&mut self) -> &mut View {
        &mut self.view
    }
}

/// What the router does next.
pub(crate) fn decide(scene: &Scene) -> Decision {
    Router::default().decide(&scene.turn())
}
