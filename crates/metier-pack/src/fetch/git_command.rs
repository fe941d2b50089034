//! One call of git: what it is given, and what it is kept from.
//!
//! A repository is data of a stranger. git can be made to run programs by hooks, filters, helpers,
//! transports, submodules and configuration; each is off here, by the environment that it gets, which is
//! made from nothing. It is never given text of a user where an option could stand.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use metier_cancel::CancelToken;
use metier_fs::HeldDir;
use metier_sandbox::{ProgramEnd, ProgramWatch, UserProgram};

use super::git_fault::GitFault;
use super::http::FetchWatch;
use super::{FetchProgress, GitFetch};
use crate::source::{GitRemote, GitSource};

/// Bytes of one answer of git: the names of half a million files.
const MAX_ANSWER_BYTES: usize = 64 << 20;
/// How often the size of what arrives is looked at.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// Variables of the user that git or ssh need to reach a host: proxies, certificates, the ssh agent.
pub const GIT_VARIABLES: &[&str] = &[
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "SSH_AUTH_SOCK",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// ssh without a question and without anything but the connection.
const SSH_COMMAND: &str = "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15 \
    -o ClearAllForwardings=yes -o ForwardAgent=no -o PermitLocalCommand=no -o UpdateHostKeys=no";

/// Configuration that stands above that of any file.
const CONFIG: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.askPass", ""),
    ("core.gitProxy", ""),
    ("credential.helper", ""),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.writeCommitGraph", "false"),
    // A pack, whose size can be watched, and not thousands of files.
    ("fetch.unpackLimit", "1"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    // The policy judged this host and no other.
    ("http.followRedirects", "false"),
    ("http.lowSpeedLimit", "100"),
    ("http.lowSpeedTime", "60"),
    ("submodule.recurse", "false"),
];

/// Calls of git about one repository, with a folder of their own.
pub(super) struct GitCalls<'a> {
    program: PathBuf,
    env: Vec<(OsString, OsString)>,
    folder: &'a Path,
    time: Duration,
    watch: SizeWatch<'a>,
    cancel: &'a CancelToken,
}

/// Stops a fetch that is too large, and says how far it is.
struct SizeWatch<'a> {
    packs: PathBuf,
    limit: u64,
    progress: &'a dyn FetchProgress,
    /// When it was last looked at.
    looked: Mutex<Option<Instant>>,
}

impl ProgramWatch for SizeWatch<'_> {
    fn wants_stop(&self) -> bool {
        let Ok(mut looked) = self.looked.lock() else { return true };
        if looked.is_some_and(|last| last.elapsed() < WATCH_INTERVAL) {
            return false;
        }
        *looked = Some(Instant::now());
        let packs = HeldDir::at(&self.packs);
        let sizes = packs.names().unwrap_or_default().into_iter();
        let bytes: u64 = sizes.filter_map(|name| packs.size(&name)).sum();
        self.progress.step("fetching", bytes, None);
        bytes > self.limit
    }
}

impl<'a> GitCalls<'a> {
    /// Calls about `source` in the empty `folder`, which become a repository there.
    pub(super) fn new(
        fetch: &GitFetch,
        source: &GitSource,
        folder: &'a Path,
        limit: u64,
        watch: FetchWatch<'a>,
    ) -> Result<Self, GitFault> {
        let program = fetch.find_git().ok_or(GitFault::NoGit)?;
        let repository = folder.join("repository");
        let cancel = watch.cancel;
        let watch = SizeWatch {
            packs: repository.join("objects/pack"),
            limit,
            progress: watch.progress,
            looked: Mutex::default(),
        };
        let env = environment(fetch, source, &repository);
        let calls = Self { program, env, folder, time: fetch.time, watch, cancel };
        calls.answer(&["init", "--quiet", "--bare", "--template="], &[])?;
        Ok(calls)
    }

    /// What git prints.
    pub(super) fn answer(&self, args: &[&str], input: &[u8]) -> Result<Vec<u8>, GitFault> {
        let mut answer = Vec::new();
        self.stream(args, input, &mut |piece| {
            answer.extend_from_slice(piece);
            if answer.len() > MAX_ANSWER_BYTES {
                Err(std::io::ErrorKind::FileTooLarge.into())
            } else {
                Ok(())
            }
        })?;
        Ok(answer)
    }

    /// Gives what git prints to `output`, piece by piece.
    pub(super) fn stream(
        &self,
        args: &[&str],
        input: &[u8],
        output: &mut (dyn FnMut(&[u8]) -> std::io::Result<()> + Send),
    ) -> Result<(), GitFault> {
        let call = UserProgram {
            program: self.program.clone(),
            args: args.iter().map(OsString::from).collect(),
            env: self.env.clone(),
            dir: self.folder.to_owned(),
            input: input.to_owned(),
            time: self.time,
        };
        let result = call
            .run(self.cancel, &self.watch, output)
            .map_err(|error| GitFault::Failed(error.to_string()))?;
        match result.end {
            ProgramEnd::Exit(Some(0)) => Ok(()),
            ProgramEnd::Timeout => Err(GitFault::Timeout),
            ProgramEnd::Stopped => Err(GitFault::TooLarge(self.watch.limit)),
            ProgramEnd::Cancelled => Err(GitFault::Cancelled),
            _ => Err(GitFault::of_words(&String::from_utf8_lossy(&result.error))),
        }
    }
}

/// The whole environment of git.
fn environment(
    fetch: &GitFetch,
    source: &GitSource,
    repository: &Path,
) -> Vec<(OsString, OsString)> {
    let transport = match &source.remote {
        GitRemote::Url(url) => url.scheme.as_str(),
        GitRemote::Scp { .. } => "ssh",
        GitRemote::Path { .. } => "file",
    };
    let mut env: Vec<(OsString, OsString)> = fetch.variables.clone();
    let mut set = |name: &str, value: &OsStr| env.push((name.into(), value.to_owned()));
    set("PATH", &std::env::join_paths(&fetch.path).unwrap_or_default());
    if let Some(home) = &fetch.home {
        set("HOME", home.as_os_str());
    }
    set("GIT_DIR", repository.as_os_str());
    for (name, value) in [
        ("GIT_ALLOW_PROTOCOL", transport),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        // What is missing is fetched where that is meant, and nowhere else.
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_SSH_COMMAND", SSH_COMMAND),
        ("GIT_SSH_VARIANT", "ssh"),
        ("LC_ALL", "C"),
    ] {
        set(name, OsStr::new(value));
    }
    let mut config: Vec<(String, String)> =
        CONFIG.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    config.push(("remote.origin.url".to_owned(), source.address()));
    if let GitRemote::Url(url) = &source.remote
        && let Some(credentials) =
            url.credentials.as_deref().filter(|_| url.scheme.starts_with("http"))
    {
        // In the environment, which only the user can read, and not among the arguments, which all can.
        let encoded = data_encoding::BASE64.encode(credentials.as_bytes());
        let header = format!("Authorization: Basic {encoded}");
        config.push((format!("http.{}.extraHeader", url.shown()), header));
    }
    set("GIT_CONFIG_COUNT", OsStr::new(&config.len().to_string()));
    for (number, (name, value)) in config.into_iter().enumerate() {
        set(&format!("GIT_CONFIG_KEY_{number}"), OsStr::new(&name));
        set(&format!("GIT_CONFIG_VALUE_{number}"), OsStr::new(&value));
    }
    env
}

#[cfg(test)]
mod tests {
    use super::super::SilentProgress;
    use super::*;

    #[test]
    fn what_grows_too_large_is_stopped() {
        let packs = tempfile::tempdir().expect("dir");
        metier_fs::write_atomic(&packs.path().join("tmp_pack_x"), &[0; 100]).expect("writes");
        let stops = |limit: u64| {
            let packs = packs.path().to_owned();
            let progress = &SilentProgress;
            SizeWatch { packs, limit, progress, looked: Mutex::default() }.wants_stop()
        };
        assert!(stops(99) && !stops(100));
    }
}
