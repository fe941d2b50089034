//! The proof that no `SKILL.md` is read past its closing fence, and that loading one skill opens
//! nothing of another: the system calls of a whole run, watched from outside by `strace`. Without `strace`, or where it may not trace, this says so
//! loudly and passes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use metier_testkit::{Output, TestHome};

use crate::support::{METIER, at, builtin, entry, many_skills};

/// Every way to get bytes out of a file, or a file descriptor for it. Names that this kernel's
/// architecture does not know are passed over.
const CALLS: &str = "trace=?open,openat,?openat2,?creat,read,pread64,readv,preadv,preadv2,mmap,\
                     ?sendfile,?sendfile64,copy_file_range,splice,?io_uring_setup";

/// What a run did to files, by path.
#[derive(Default)]
pub(crate) struct Trace {
    opened: BTreeMap<String, usize>,
    read: BTreeMap<String, u64>,
    mapped: Vec<String>,
    other: Vec<String>,
}

pub(crate) fn can_trace() -> bool {
    let quiet = |name: &str| {
        Command::new(name).args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status()
    };
    let traced = quiet("strace");
    match &traced {
        Err(_) => metier_testkit::not_tested_without("strace", "there is no strace to watch reads"),
        Ok(status) if !status.success() => metier_testkit::not_tested("strace may not trace here"),
        Ok(_) => {}
    }
    traced.is_ok_and(|status| status.success())
}

/// Runs metier under `strace`, one file of calls for each thread, so that no line is torn.
fn trace(home: &TestHome, args: &[&str]) -> (Trace, serde_json::Value) {
    let (trace, output) = traced(home, args);
    assert_eq!(output.code, 0, "{output:?}");
    (trace, output.json())
}

/// The same for a command that prints no document.
pub(crate) fn traced(home: &TestHome, args: &[&str]) -> (Trace, Output) {
    let calls = home.path().join("calls");
    std::fs::create_dir_all(&calls).expect("directories");
    let output = TestHome::finish(
        home.command("strace")
            .args(["-ff", "-y", "-s", "0", "-e", CALLS, "-e", "signal=none", "-o"])
            .arg(calls.join("of"))
            .arg(METIER)
            .args(args),
    );
    let mut trace = Trace::default();
    for file in std::fs::read_dir(&calls).expect("calls") {
        let text = std::fs::read_to_string(file.expect("an entry").path()).expect("reads");
        text.lines().for_each(|line| trace.add(line));
    }
    std::fs::remove_dir_all(calls).expect("removes");
    (trace, output)
}

impl Trace {
    /// One line: `read(7</a/SKILL.md>, ""..., 4096) = 4096`.
    fn add(&mut self, line: &str) {
        let Some((call, rest)) = line.split_once('(') else { return };
        let Some((arguments, result)) = rest.rsplit_once(" = ") else { return };
        match call {
            "open" | "openat" | "openat2" | "creat" => {
                if let Some(path) = bracketed(result) {
                    *self.opened.entry(path).or_default() += 1;
                }
            }
            "mmap" => self.mapped.extend(bracketed(arguments)),
            "read" | "pread64" | "readv" | "preadv" | "preadv2" => {
                let bytes = result.split_whitespace().next().and_then(|n| n.parse::<u64>().ok());
                if let (Some(path), Some(bytes)) = (bracketed(arguments), bytes) {
                    *self.read.entry(path).or_default() += bytes;
                }
            }
            _ => self.other.push(line.to_owned()),
        }
    }

    /// The files below a folder that were opened, by their path below it.
    pub(crate) fn opened_below(&self, root: &Path) -> Vec<String> {
        let below = |path: &String| {
            let path = Path::new(path);
            let inside = path.strip_prefix(root).ok()?;
            path.is_file().then(|| inside.to_string_lossy().into_owned())
        };
        self.opened.keys().filter_map(below).collect()
    }

    pub(crate) fn bytes_of(&self, file: &Path) -> u64 {
        self.read.get(&*file.to_string_lossy()).copied().unwrap_or(0)
    }
}

/// The path that `-y` writes behind a file descriptor.
fn bracketed(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('<')?;
    Some(rest.split_once('>')?.0.to_owned())
}

/// A skill whose closing fence ends in the given 4 KiB block and whose body has a megabyte.
fn long_skill(home: &TestHome, root: &str, name: &str, fence_end: usize) -> PathBuf {
    let head = format!("---\nname: {name}\ndescription: Long.\nmetadata:\n  pad: |\n");
    let tail = "---\n";
    let mut text = head;
    let mut fill = fence_end - text.len() - tail.len();
    while fill > 0 {
        // Lines of at most 100 characters, and none too short to hold its indentation.
        let line = if fill > 200 { 100 } else { fill };
        let (line, rest) = if line > 100 { (line / 2, line - line / 2) } else { (line, 0) };
        for length in [line, rest].into_iter().filter(|length| *length > 0) {
            text.push_str("    ");
            text.push_str(&"x".repeat(length - 5));
            text.push('\n');
            fill -= length;
        }
    }
    text.push_str(tail);
    assert_eq!(text.len(), fence_end, "the fence ends where the test wants it");
    text.push_str(&"The body of this skill is long.\n".repeat(1 << 15));
    assert!(text.len() > 1 << 20);
    home.write(&format!("{root}/{name}/SKILL.md"), text)
}

#[test]
fn no_skill_is_read_past_the_block_that_holds_its_closing_fence() {
    if !can_trace() {
        return;
    }
    let home = TestHome::new();
    let root = home.path().canonicalize().expect("there").join("root");
    let mut most = Vec::new();
    for (fence_end, blocks) in [
        (300, 1),
        (4000, 1),
        (4096, 1),
        (4100, 2),
        (8000, 2),
        (8192, 2),
        (8200, 3),
        (12_000, 3),
        (12_288, 3),
    ] {
        let name = format!("s{fence_end}");
        long_skill(&home, "root", &name, fence_end);
        // The first block is a quarter of the others, which begin where pages do.
        most.push((name, if fence_end <= 1024 { 1024 } else { blocks * 4096 }));
    }
    // Enough small ones that the work is shared between threads.
    for at in 0..100 {
        home.skill(&format!("root/group/small{at}"), &format!("small{at}"), "Small.");
    }
    for name in ["s300", "s4100", "group/small7"] {
        home.write(&format!("root/{name}/references/guide.md"), "Never opened.");
        home.write(&format!("root/{name}/scripts/run.sh"), "Never opened.");
    }
    home.write("root/README.md", "Never opened.");
    home.write("root/group/notes.txt", "Never opened.");

    let args = ["list", "--json", "--root", &at(&home, "root")];
    let (trace, listing) = trace(&home, &args);
    for (name, limit) in &most {
        assert_eq!(
            entry(&listing, &format!("explicit:{name}"))["diagnostics"],
            serde_json::json!([])
        );
        let read = trace.bytes_of(&root.join(name).join("SKILL.md"));
        assert!(read > 0, "the trace sees {name}");
        assert!(read <= *limit, "{name}: {read} bytes read, at most {limit} are needed");
    }
    let opened = trace.opened_below(&root);
    let mut expected: Vec<String> =
        most.iter().map(|(name, _)| format!("{name}/SKILL.md")).collect();
    expected.extend((0..100).map(|at| format!("group/small{at}/SKILL.md")));
    expected.sort();
    assert_eq!(opened, expected, "every SKILL.md and nothing else");
    let inside = |path: &&String| Path::new(path.as_str()).starts_with(&root);
    assert_eq!(trace.mapped.iter().find(inside), None, "nothing is mapped");
    assert_eq!(trace.other, [""; 0], "bytes come by read alone");
    let twice: Vec<_> = trace
        .opened
        .iter()
        .filter(|(path, times)| **times > 1 && path.ends_with("/SKILL.md"))
        .collect();
    assert_eq!(twice, [], "each is opened once");
}

#[test]
fn broken_skills_are_read_no_further_than_they_have_to_be() {
    if !can_trace() {
        return;
    }
    let home = TestHome::new();
    let root = home.path().canonicalize().expect("there").join("root");
    let body = "A long text.\n".repeat(100_000);
    home.write("root/text/SKILL.md", &body);
    home.write("root/open/SKILL.md", format!("---\nname: open\n{body}"));
    home.write("root/binary/SKILL.md", vec![0; 1 << 20]);
    let args = ["list", "--json", "--root", &at(&home, "root")];
    let (trace, listing) = trace(&home, &args);
    assert_eq!(listing["report"]["ignored"].as_array().expect("a list").len(), 3, "{listing}");
    let limit = |name: &str| trace.bytes_of(&root.join(name).join("SKILL.md"));
    assert!((1..=4096).contains(&limit("text")), "no fence opens it: {}", limit("text"));
    assert!((1..=4096).contains(&limit("binary")), "{}", limit("binary"));
    let bounded = 1..=65_536 + 4096;
    assert!(bounded.contains(&limit("open")), "the size limit ends it: {}", limit("open"));
}

#[test]
fn each_of_many_skills_is_opened_once() {
    if !can_trace() {
        return;
    }
    let home = TestHome::new();
    let root = home.path().canonicalize().expect("there").join("root");
    many_skills(&home, "root", 300);
    let args = ["list", "--json", "--root", &at(&home, "root")];
    let (trace, listing) = trace(&home, &args);
    assert_eq!(listing["report"]["found"], 300 + builtin());
    assert_eq!(trace.opened_below(&root).len(), 300);
    let twice = trace.opened.iter().find(|(path, times)| path.ends_with("SKILL.md") && **times > 1);
    assert_eq!(twice, None);
}

/// Several heads are read at once, on each core.
#[cfg(unix)]
#[test]
fn every_skill_is_found_where_few_files_may_be_open() {
    let home = TestHome::new();
    many_skills(&home, "root", 300);
    for limit in [12, 40, 200] {
        let line =
            format!("ulimit -n {limit}; exec {METIER} list --json --root {}", at(&home, "root"));
        let listing = TestHome::finish(home.command("sh").args(["-c", &line])).json();
        assert_eq!(listing["report"]["valid"], 300 + builtin(), "{limit}: {}", listing["report"]);
    }
}

/// Two skills with long bodies and resources; one of them is wanted.
fn two_skills(home: &TestHome) -> PathBuf {
    let body = "A line of the body that is wanted.\n".repeat(600);
    let text = format!("---\nname: wanted\ndescription: Wanted.\n---\n{body}");
    home.write("root/wanted/SKILL.md", text);
    long_skill(home, "root", "other", 300);
    for name in ["wanted", "other"] {
        home.write(&format!("root/{name}/references/a.md"), "# A\n\nText of a resource.\n");
        home.write(&format!("root/{name}/references/b.md"), "# B\n");
        home.write(&format!("root/{name}/scripts/run.sh"), "true\n");
    }
    home.path().canonicalize().expect("there").join("root")
}

/// The trace of a command on the two skills; whatever it does, nothing is mapped or spliced.
fn watched(home: &TestHome, root: &Path, command: &[&str]) -> Trace {
    let root_arg = at(home, "root");
    let args = [command, &["--json", "--root", &root_arg]].concat();
    let (trace, _) = trace(home, &args);
    let inside = |path: &&String| Path::new(path.as_str()).starts_with(root);
    assert_eq!(trace.mapped.iter().find(inside), None, "nothing is mapped");
    assert_eq!(trace.other, [""; 0], "bytes come by read alone");
    let other = trace.bytes_of(&root.join("other/SKILL.md"));
    assert!((1..=4096).contains(&other), "{command:?}: {other} bytes of another skill, its head");
    trace
}

#[test]
fn loading_a_body_opens_no_other_body_and_no_resource() {
    if !can_trace() {
        return;
    }
    let home = TestHome::new();
    let root = two_skills(&home);
    let trace = watched(&home, &root, &["read", "wanted"]);
    assert_eq!(trace.opened_below(&root), ["other/SKILL.md", "wanted/SKILL.md"]);
    let file = root.join("wanted/SKILL.md");
    let size = std::fs::metadata(&file).expect("there").len();
    let read = trace.bytes_of(&file);
    assert!(
        (size..=size + 4096).contains(&read),
        "the head once and the file once: {read} of {size}"
    );
}

#[test]
fn loading_a_resource_opens_that_resource_alone() {
    if !can_trace() {
        return;
    }
    let home = TestHome::new();
    let root = two_skills(&home);
    for more in [
        &["references/a.md"][..],
        &["references/a.md", "--section", "A"],
        &["references/a.md", "--raw"],
    ] {
        let trace = watched(&home, &root, &[&["read", "wanted"], more].concat());
        assert_eq!(
            trace.opened_below(&root),
            ["other/SKILL.md", "wanted/SKILL.md", "wanted/references/a.md"],
            "{more:?}"
        );
        let head = trace.bytes_of(&root.join("wanted/SKILL.md"));
        assert!((1..=4096).contains(&head), "{more:?}: {head} bytes of its body, only the head");
    }
}

#[test]
fn listing_files_reads_none_of_them() {
    if !can_trace() {
        return;
    }
    let home = TestHome::new();
    let root = two_skills(&home);
    let trace = watched(&home, &root, &["files", "wanted"]);
    assert_eq!(trace.opened_below(&root), ["other/SKILL.md", "wanted/SKILL.md"]);
    assert!((1..=4096).contains(&trace.bytes_of(&root.join("wanted/SKILL.md"))));
}
