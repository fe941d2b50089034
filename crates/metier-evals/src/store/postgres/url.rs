//! Which database, as whom, and how well guarded the way to it is.
//!
//! A `postgres://` URL as libpq reads it, with one difference: TLS is always checked. A database on another
//! host is reached over TLS unless the URL says otherwise, and its certificate must be one that the system,
//! or the file in `sslrootcert`, vouches for. A password never leaves this type.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use metier::Environment;
use metier::fs::{exists, read_bounded};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::error::{EvalError, Result};

/// Where the sockets of a database on this machine are, where the URL names no host.
#[cfg(unix)]
const SOCKET_FOLDERS: [&str; 2] = ["/run/postgresql", "/var/run/postgresql"];
/// The largest file of passwords that is read.
const MAX_PASSWORD_FILE: u64 = 1 << 20;

/// Which database, and as whom.
#[derive(Clone)]
pub struct DatabaseUrl {
    pub(super) config: Config,
    /// The file with the certificates that vouch for the server; the system's otherwise.
    pub(super) root_certificates: Option<PathBuf>,
    /// What must not be shown.
    password: Option<String>,
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DatabaseUrl").field(&self.to_string()).finish()
    }
}

/// The URL without its password.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        for (at, host) in self.config.get_hosts().iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match host {
                Host::Tcp(host) => write!(f, "{comma}{host}:{}", self.port(at))?,
                #[cfg(unix)]
                Host::Unix(path) => write!(f, "{comma}{}", path.display())?,
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

/// What `sslmode` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TlsWish {
    /// TLS where the server is on another host.
    Unsaid,
    Disable,
    Prefer,
    Require,
}

impl DatabaseUrl {
    /// Reads a URL. A password that is not in it is taken from `PGPASSWORD`, or from the file that
    /// `PGPASSFILE` names, or from `~/.pgpass`.
    pub fn parse(url: &str, environment: &Environment) -> Result<Self> {
        let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
        let Some(rest) = rest else {
            // The text may hold a password: it is not repeated.
            return Err(Self::invalid("it must begin with `postgres://`"));
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (mut wish, mut root_certificates, mut others) = (TlsWish::Unsaid, None, Vec::new());
        for part in query.split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("sslmode", mode)) => wish = Self::wish(mode)?,
                Some(("sslrootcert", "system")) => {}
                Some(("sslrootcert", path)) => {
                    root_certificates = Some(PathBuf::from(decoded(path)));
                }
                _ => others.push(part),
            }
        }
        let plain = format!("postgres://{place}?{}", others.join("&"));
        let mut config = Config::from_str(plain.trim_end_matches('?')).map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            Self::invalid(&cause.unwrap_or_else(|| "it cannot be read".to_owned()))
        })?;
        #[cfg(unix)]
        if config.get_hosts().is_empty() {
            // Where Debian's and most other builds of libpq look, too.
            if let Some(folder) = SOCKET_FOLDERS.iter().find(|folder| exists(Path::new(folder))) {
                config.host_path(folder);
            }
        }
        if config.get_hosts().is_empty() {
            return Err(Self::invalid("it names no host and no folder of a socket"));
        }
        let is_near = |host: &Host| match host {
            Host::Tcp(host) => {
                let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
                host == "localhost" || address.is_ok_and(|it| it.is_loopback())
            }
            #[cfg(unix)]
            Host::Unix(_) => true,
        };
        let all_near = config.get_hosts().iter().all(is_near);
        config.ssl_mode(match wish {
            TlsWish::Disable => SslMode::Disable,
            TlsWish::Require => SslMode::Require,
            TlsWish::Unsaid if root_certificates.is_some() || !all_near => SslMode::Require,
            TlsWish::Prefer | TlsWish::Unsaid => SslMode::Prefer,
        });
        if config.get_application_name().is_none() {
            config.application_name("metier");
        }
        let mut this = Self { config, root_certificates, password: None };
        this.find_password(environment)?;
        Ok(this)
    }

    fn invalid(what: &str) -> EvalError {
        let help = "write `postgres://USER@HOST:PORT/DATABASE`, or `postgres:///DATABASE?host=/FOLDER` for a \
                    socket";
        EvalError::usage(format!("the address of the database cannot be used: {what}"), help)
    }

    fn wish(mode: &str) -> Result<TlsWish> {
        match mode {
            "disable" => Ok(TlsWish::Disable),
            "prefer" | "allow" => Ok(TlsWish::Prefer),
            "require" | "verify-full" => Ok(TlsWish::Require),
            "verify-ca" => Err(Self::invalid(
                "`sslmode=verify-ca` is not supported; `verify-full` checks the name too",
            )),
            _ => Err(Self::invalid("`sslmode` is one of disable, prefer, require and verify-full")),
        }
    }

    fn find_password(&mut self, environment: &Environment) -> Result<()> {
        let given =
            self.config.get_password().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        self.password = match given {
            Some(password) => Some(password),
            None => match environment.text("PGPASSWORD").filter(|text| !text.is_empty()) {
                Some(password) => Some(password),
                None => self.password_in_file(environment)?,
            },
        };
        if let Some(password) = &self.password {
            self.config.password(password);
        }
        Ok(())
    }

    fn password_in_file(&self, environment: &Environment) -> Result<Option<String>> {
        let named = environment.variable("PGPASSFILE").map(PathBuf::from);
        let Some(path) = named.or_else(|| Some(environment.home()?.join(".pgpass"))) else {
            return Ok(None);
        };
        if !exists(&path) {
            return Ok(None);
        }
        if metier::fs::is_open_to_others(&path) {
            let message = format!("{} can be read by other users and is not used", path.display());
            return Err(EvalError::store(message, "close it: `chmod 600`"));
        }
        let bytes = read_bounded(&path, MAX_PASSWORD_FILE).map_err(|error| {
            let message = format!("{}: {error}", path.display());
            EvalError::store(message, "check the file of passwords")
        })?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.lines().find_map(|line| self.password_in_line(line)))
    }

    /// The password in `host:port:database:user:password`, if the line is about this database.
    fn password_in_line(&self, line: &str) -> Option<String> {
        let fields = fields_of(line);
        let [host, port, database, user, password] = fields.as_slice() else { return None };
        let fits = |pattern: &str, value: &str| pattern == "*" || pattern == value;
        let own_user = self.config.get_user().unwrap_or_default();
        let own_database = self.config.get_dbname().unwrap_or(own_user);
        let of_host = self.config.get_hosts().iter().enumerate().any(|(at, own)| {
            let named = match own {
                Host::Tcp(own) => fits(host, own),
                #[cfg(unix)]
                Host::Unix(path) => {
                    fits(host, "localhost") || path.to_str().is_some_and(|it| fits(host, it))
                }
            };
            named && fits(port, &self.port(at).to_string())
        });
        let is_ours = of_host && fits(database, own_database) && fits(user, own_user);
        is_ours.then(|| password.clone())
    }

    fn port(&self, at: usize) -> u16 {
        let ports = self.config.get_ports();
        ports.get(at).or_else(|| ports.last()).copied().unwrap_or(5432)
    }

    /// A text that may be shown: without the password.
    pub(super) fn masked(&self, text: &str) -> String {
        match &self.password {
            Some(password) if !password.is_empty() => text.replace(password.as_str(), "[password]"),
            _ => text.to_owned(),
        }
    }
}

/// The fields of a line of a file of passwords: `\:` and `\\` stand for themselves.
fn fields_of(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut chars) = (Vec::new(), String::new(), line.chars());
    if line.starts_with('#') {
        return fields;
    }
    while let Some(c) = chars.next() {
        match c {
            '\\' => field.extend(chars.next()),
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            _ => field.push(c),
        }
    }
    fields.push(field);
    fields
}

/// A value of a URL with its `%XX` replaced.
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, tail @ ..] = rest {
        let hex = (*first == b'%').then(|| tail.get(..2)).flatten();
        let byte = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
