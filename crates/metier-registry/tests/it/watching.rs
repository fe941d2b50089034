//! The watcher, with real file changes.
//!
//! Waiting is bounded by a generous limit that only a failure reaches.

use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use metier_cancel::CancelToken;
use metier_registry::watch::{WatchEvent, watch};
use metier_registry::{ChangeKind, Registry};
use metier_testkit::{TestHome, skill_text};

use crate::support::{options, root};

/// Shorter than the watcher's own poll, so that only its events can pass the test.
const WAIT: Duration = Duration::from_secs(20);

/// What a watcher reported, as it comes.
struct Reported(Receiver<Vec<(ChangeKind, String)>>);

impl Reported {
    /// Waits until this is reported, and nothing about any other skill. A file that is written in two
    /// steps, or made again, may be seen in between: gone and added is a change too.
    #[track_caller]
    fn expect(&self, kind: ChangeKind, name: &str) {
        let mut gone = false;
        let mut before = Vec::new();
        loop {
            let Ok(reported) = self.0.recv_timeout(WAIT) else {
                panic!("{kind:?} of {name} was not reported; before it came {before:?}");
            };
            before.extend(reported.clone());
            for (seen, of) in reported {
                assert_eq!(of, name, "unexpected {seen:?} of {of} instead of {kind:?} {name}");
                let again = gone && kind == ChangeKind::Changed && seen == ChangeKind::Added;
                if seen == kind || again {
                    return;
                }
                gone = seen == ChangeKind::Removed;
            }
        }
    }
}

/// Watches `roots` below the home's place while `test` makes its changes. A skill called `stop`
/// in the first root ends it.
fn while_watching(home: &TestHome, roots: &[&str], test: impl FnOnce(&Registry, &Reported)) {
    let paths: Vec<PathBuf> = roots.iter().map(|path| home.path().join(path)).collect();
    let registry = Registry::open(move || paths.iter().map(|path| root(path)).collect(), options());
    let (sender, events) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            watch(&registry, &CancelToken::new(), &mut |event| {
                let reported: Vec<(ChangeKind, String)> = match event {
                    WatchEvent::Changed(changes) => {
                        changes.iter().map(|c| (c.change, c.name.clone())).collect()
                    }
                    _ => Vec::new(),
                };
                let stop = reported.iter().any(|(_, name)| name == "stop");
                // The test may have failed and gone.
                let gone = sender.send(reported).is_err();
                if stop || gone { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        });
        let reported = Reported(events);
        assert_eq!(reported.0.recv_timeout(WAIT), Ok(Vec::new()), "ready");
        // A failure must end the watcher too, or the scope would wait for it for ever.
        let tested = catch_unwind(AssertUnwindSafe(|| test(&registry, &reported)));
        home.skill(&format!("{}/stop", roots[0]), "stop", "Ends the test.");
        match tested {
            Ok(()) => reported.expect(ChangeKind::Added, "stop"),
            Err(failure) => resume_unwind(failure),
        }
    });
}

#[test]
fn a_cancelled_watch_ends_although_nothing_changes() {
    let home = TestHome::new();
    home.skill("root/old", "old", "Was there.");
    let path = home.path().join("root");
    let registry = Registry::open(move || vec![root(&path)], options());
    let token = CancelToken::new();
    let (sender, seen) = channel();
    std::thread::scope(|scope| {
        let watches = scope.spawn(|| {
            watch(&registry, &token, &mut |event| {
                let _ = sender.send(matches!(event, WatchEvent::Ready));
                ControlFlow::Continue(())
            });
            let _ = sender.send(true);
        });
        assert_eq!(seen.recv_timeout(WAIT), Ok(true), "ready");
        token.cancel();
        let ended = seen.recv_timeout(WAIT);
        assert_eq!(ended, Ok(true), "it ends");
        watches.join().expect("ends");
    });
    // One that is cancelled before it begins reports no more than that it was ready.
    watch(&registry, &token, &mut |event| match event {
        WatchEvent::Changed(_) => panic!("{event:?}"),
        _ => ControlFlow::Continue(()),
    });
}

/// Writes a file elsewhere and moves it into place, as careful editors do.
fn replace(home: &TestHome, path: &str, text: &str) {
    let made = home.write("staged", text);
    std::fs::rename(made, home.path().join(path)).expect("renames");
}

#[test]
fn skills_that_are_added_changed_and_removed_are_reported() {
    let home = TestHome::new();
    home.skill("root/group/old", "old", "Was there.");
    // A root that does not exist yet is watched for its making.
    while_watching(&home, &["root", "later/skills"], |registry, reported| {
        let pinned = registry.snapshot();
        home.skill("root/new", "new", "Was not there.");
        reported.expect(ChangeKind::Added, "new");
        home.write("root/new/SKILL.md", skill_text("new", "Says something else."));
        reported.expect(ChangeKind::Changed, "new");
        home.write("root/group/old/SKILL.md", skill_text("old", "In a group."));
        reported.expect(ChangeKind::Changed, "old");
        // Made again under the same name: the old watch went with the old directory.
        std::fs::remove_dir_all(home.path().join("root/new")).expect("removes");
        home.skill("root/new", "new", "Made again.");
        reported.expect(ChangeKind::Changed, "new");
        home.write("root/new/SKILL.md", skill_text("new", "And edited again."));
        reported.expect(ChangeKind::Changed, "new");
        // An ignored skill is watched too.
        home.write("root/broken/SKILL.md", "no frontmatter yet");
        home.skill("root/marker", "marker", "Shows that the broken one was seen.");
        reported.expect(ChangeKind::Added, "marker");
        home.write("root/broken/SKILL.md", skill_text("broken", "Fixed."));
        reported.expect(ChangeKind::Added, "broken");
        std::fs::remove_dir_all(home.path().join("root/group")).expect("removes");
        reported.expect(ChangeKind::Removed, "old");
        home.skill("later/skills/late", "late", "In a root made later.");
        reported.expect(ChangeKind::Added, "late");
        assert_eq!(pinned.index.entries().len(), 1, "a pinned snapshot never changes");
        assert_eq!(pinned.index.entries()[0].name().as_str(), "old");
    });
}

#[test]
fn what_a_linked_file_leads_to_is_watched_outside_the_root() {
    let home = TestHome::new();
    home.write("outside/texts/pdf.md", skill_text("pdf", "As it was."));
    std::fs::create_dir_all(home.path().join("root/pdf")).expect("directories");
    std::fs::create_dir_all(home.path().join("root/late")).expect("directories");
    // By way of another link, and one that leads nowhere yet.
    symlink("texts/pdf.md", home.path().join("outside/current.md")).expect("a link");
    symlink("../../outside/current.md", home.path().join("root/pdf/SKILL.md")).expect("a link");
    symlink("../../outside/new/late.md", home.path().join("root/late/SKILL.md")).expect("a link");
    while_watching(&home, &["root"], |_, reported| {
        home.write("outside/texts/pdf.md", skill_text("pdf", "Written again."));
        reported.expect(ChangeKind::Changed, "pdf");
        replace(&home, "outside/texts/pdf.md", &skill_text("pdf", "Replaced as a whole."));
        reported.expect(ChangeKind::Changed, "pdf");
        home.write("outside/other/pdf.md", skill_text("pdf", "Another target."));
        symlink("other/pdf.md", home.path().join("staged")).expect("a link");
        std::fs::rename(home.path().join("staged"), home.path().join("outside/current.md"))
            .expect("renames");
        reported.expect(ChangeKind::Changed, "pdf");
        replace(&home, "outside/other/pdf.md", &skill_text("pdf", "Edited where it is now."));
        reported.expect(ChangeKind::Changed, "pdf");
        std::fs::remove_file(home.path().join("outside/current.md")).expect("removes");
        reported.expect(ChangeKind::Removed, "pdf");
        replace_dir(&home, "outside/new", "late.md", &skill_text("late", "There at last."));
        reported.expect(ChangeKind::Added, "late");
    });
}

/// Makes a directory with one file elsewhere and moves it into place.
fn replace_dir(home: &TestHome, path: &str, file: &str, text: &str) {
    home.write(&format!("staged/{file}"), text);
    std::fs::rename(home.path().join("staged"), home.path().join(path)).expect("renames");
}

#[test]
fn a_linked_folder_is_watched_where_it_really_is() {
    let home = TestHome::new();
    home.skill("outside/pdf", "pdf", "As it was.");
    home.skill("root/group/real", "real", "As it was.");
    symlink("../outside/pdf", home.path().join("root/pdf")).expect("a link");
    symlink("group/real", home.path().join("root/again")).expect("a link");
    while_watching(&home, &["root"], |_, reported| {
        home.write("outside/pdf/SKILL.md", skill_text("pdf", "Written again."));
        reported.expect(ChangeKind::Changed, "pdf");
        std::fs::remove_dir_all(home.path().join("outside/pdf")).expect("removes");
        reported.expect(ChangeKind::Removed, "pdf");
        replace_dir(&home, "outside/pdf", "SKILL.md", &skill_text("pdf", "Made again."));
        reported.expect(ChangeKind::Added, "pdf");
        replace(&home, "outside/pdf/SKILL.md", &skill_text("pdf", "And edited."));
        reported.expect(ChangeKind::Changed, "pdf");
        // One directory under two names: losing one name does not blind us to the other.
        std::fs::remove_file(home.path().join("root/again")).expect("removes");
        reported.expect(ChangeKind::Changed, "real");
        replace(&home, "root/group/real/SKILL.md", &skill_text("real", "Written again."));
        reported.expect(ChangeKind::Changed, "real");
    });
}
