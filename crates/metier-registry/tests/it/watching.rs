//! The watcher, with real file changes.
//!
//! Waiting is bounded by a generous limit that only a failure reaches.

use std::ops::ControlFlow;
use std::sync::mpsc::channel;
use std::time::Duration;

use metier_registry::watch::{WatchEvent, watch};
use metier_registry::{ChangeKind, Registry};
use metier_testkit::{TestHome, skill_text};

use crate::support::{options, root};

/// Shorter than the watcher's own poll, so that only its events can pass the test.
const WAIT: Duration = Duration::from_secs(20);

#[test]
fn skills_that_are_added_changed_and_removed_are_told() {
    let home = TestHome::new();
    home.skill("root/group/old", "old", "Was there.");
    // A root that does not exist yet is watched for its making.
    let roots = vec![root(&home.path().join("root")), root(&home.path().join("later/skills"))];
    let registry = Registry::open(move || roots.clone(), options());
    let pinned = registry.snapshot();
    let (sender, events) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            watch(&registry, &mut |event| {
                let told: Vec<(ChangeKind, String)> = match event {
                    WatchEvent::Changed(changes) => {
                        changes.iter().map(|c| (c.change, c.name.clone())).collect()
                    }
                    _ => Vec::new(),
                };
                let stop = told.iter().any(|(_, name)| name == "stop");
                // The test may have failed and gone.
                let gone = sender.send(told).is_err();
                if stop || gone { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        });
        let expect = |kind: ChangeKind, name: &str| {
            loop {
                let told = events.recv_timeout(WAIT).expect("a change is told");
                if told.contains(&(kind, name.to_owned())) {
                    return;
                }
                assert!(told.is_empty(), "unexpected {told:?} instead of {kind:?} {name}");
            }
        };
        assert_eq!(events.recv_timeout(WAIT), Ok(Vec::new()), "ready");
        home.skill("root/new", "new", "Was not there.");
        expect(ChangeKind::Added, "new");
        home.write("root/new/SKILL.md", skill_text("new", "Says something else."));
        expect(ChangeKind::Changed, "new");
        home.write("root/group/old/SKILL.md", skill_text("old", "In a group."));
        expect(ChangeKind::Changed, "old");
        // Made again under the same name: the old watch went with the old directory.
        std::fs::remove_dir_all(home.path().join("root/new")).expect("removes");
        home.skill("root/new", "new", "Made again.");
        expect(ChangeKind::Changed, "new");
        home.write("root/new/SKILL.md", skill_text("new", "And edited again."));
        expect(ChangeKind::Changed, "new");
        // An ignored skill is watched too.
        home.write("root/broken/SKILL.md", "no frontmatter yet");
        home.skill("root/marker", "marker", "Shows that the broken one was seen.");
        expect(ChangeKind::Added, "marker");
        home.write("root/broken/SKILL.md", skill_text("broken", "Mended."));
        expect(ChangeKind::Added, "broken");
        std::fs::remove_dir_all(home.path().join("root/group")).expect("removes");
        expect(ChangeKind::Removed, "old");
        home.skill("later/skills/late", "late", "In a root made later.");
        expect(ChangeKind::Added, "late");
        home.skill("root/stop", "stop", "Ends the test.");
        expect(ChangeKind::Added, "stop");
    });
    assert_eq!(pinned.index.entries().len(), 1, "a pinned snapshot never changes");
    assert_eq!(pinned.index.entries()[0].name().as_str(), "old");
}
