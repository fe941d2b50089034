//! A headless Chromium, driven through its own driver over loopback: enough to open a page, run a script, click, and
//! hear what the console and the network say.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use metier_testkit::not_tested_without;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A browser with one page. It ends with this value.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    /// Its files, and those of its pages; gone when it has ended.
    _home: TempDir,
}

/// Far more than a loaded machine needs.
const TIMEOUT: Duration = Duration::from_mins(5);
/// What the driver looks for, and what Debian calls it.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

impl Browser {
    /// Starts one whose files are below `home`. None, said loudly, where the programs are missing.
    pub(crate) fn start(home: TempDir) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_there =
            |name: &&str| std::env::split_paths(&path).any(|dir| dir.join(name).exists());
        if !BROWSERS.iter().any(is_there) {
            not_tested_without("chromium", "there is no Chromium to open a page in");
            return None;
        }
        let started = Command::new("chromedriver")
            .arg("--port=0")
            .env("HOME", home.path())
            .env("TMPDIR", home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut driver) = started else {
            not_tested_without("chromedriver", "there is no chromedriver to drive a Chromium with");
            return None;
        };
        let lines = BufReader::new(driver.stdout.take().expect("piped")).lines();
        let port = lines
            .map_while(Result::ok)
            .find_map(|line| {
                let (_, after) = line.split_once("started successfully on port ")?;
                after.trim_end_matches('.').parse().ok()
            })
            .expect("the driver names its port");
        let mut browser = Self { driver, port, session: String::new(), _home: home };
        let args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
        let session = browser.ask(
            "POST",
            "/session",
            &json!({"capabilities": {"alwaysMatch": {
                "goog:chromeOptions": {"args": args},
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            }}}),
        );
        session["sessionId"].as_str().expect("a session").clone_into(&mut browser.session);
        Some(browser)
    }

    pub(crate) fn open(&self, url: &str) {
        self.command("POST", "url", &json!({"url": url}));
    }

    /// Runs a script in the page and gives what it returns.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.command("POST", "execute/sync", &json!({"script": script, "args": []}))
    }

    /// Clicks where a person would.
    pub(crate) fn click(&self, selector: &str) {
        let by = json!({"using": "css selector", "value": selector});
        let element = self.command("POST", "element", &by);
        let id = element.as_object().and_then(|object| object.values().next()).expect("an element");
        let id = id.as_str().expect("an id");
        self.command("POST", &format!("element/{id}/click"), &json!({}));
    }

    /// All that the console said.
    pub(crate) fn console(&self) -> Vec<Value> {
        self.log("browser")
    }

    /// The addresses of all requests that the page made.
    pub(crate) fn requests(&self) -> Vec<String> {
        let entries = self.log("performance");
        let requests = entries.iter().filter_map(|entry| {
            let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let message = &message["message"];
            let is_request = message["method"] == "Network.requestWillBeSent";
            is_request.then(|| message["params"]["request"]["url"].as_str().map(str::to_owned))?
        });
        requests.collect()
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        let entries = self.command("POST", "se/log", &json!({"type": kind}));
        entries.as_array().cloned().unwrap_or_default()
    }

    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        self.ask(method, &format!("/session/{}/{path}", self.session), body)
    }

    /// One request of the `WebDriver` protocol; anything but success ends the test.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.send(method, path, body).expect("the driver answers");
        assert!(answer["value"].get("error").is_none(), "{path}: {answer}");
        answer["value"].clone()
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> io::Result<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let body = body.to_string();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        let mut line = String::new();
        while answer.read_line(&mut line)? > 2 {
            let (name, value) = line.split_once(':').unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().expect("a length");
            }
            line.clear();
        }
        let mut body = vec![0; length];
        answer.read_exact(&mut body)?;
        Ok(serde_json::from_slice(&body)?)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends its browser with the session; killed before, it would leave it behind.
        if !self.session.is_empty() {
            self.send("DELETE", &format!("/session/{}", self.session), &json!({})).ok();
        }
        self.driver.kill().ok();
        self.driver.wait().ok();
    }
}
