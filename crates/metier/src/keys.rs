//! Keys and signatures: which keys the user trusts, new ones, and signing and verifying packs.
//!
//! The formats are `metier-sign`'s, archives `metier-pack`'s. Trusted keys are in the user's own folder, for
//! the owner alone; nothing in a project adds one.

use std::io::Write;
use std::path::{Path, PathBuf};

use metier_fs::{ReadError, UpdateError, create_private_dir, create_private_file, read_bounded};
use metier_pack::{Overwrite, SignedPack, VerifiedPack, sign_pack, verify_pack};
use metier_sign::{
    MAX_KEY_BYTES, NamedKey, PublicKey, SigningKey, TrustedKey, TrustedKeys, generate_key,
    parse_public_keys,
};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::open::Metier;

const KEYS_FOLDER: &str = "keys";
const TRUSTED_FILE: &str = "trusted.json";
/// The largest list of trusted keys that is read.
const MAX_TRUSTED_BYTES: u64 = 4 << 20;

/// A new pair of keys.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct NewKey {
    /// The id of the key.
    pub id: String,
    /// The file of the secret key, for the owner alone.
    pub secret: String,
    /// The file of the public key, to be given away.
    pub public: String,
    /// Whether the secret key is encrypted.
    pub encrypted: bool,
}

impl Metier {
    fn keys_folder(&self) -> Result<PathBuf> {
        Ok(self.require_user_folders()?.agent.join(KEYS_FOLDER))
    }

    /// The keys that the user trusts: those of `metier keys`, then those of `trusted_keys` in the user's
    /// configuration.
    pub fn trusted_keys(&self) -> Result<TrustedKeys> {
        let mut trusted = self.listed_keys()?;
        for (key, name) in self.configured_keys()? {
            if trusted.iter().any(|known| known.key == key) {
                continue;
            }
            trusted.add(key, name).map_err(|error| {
                Error::failed(error.code(), format!("`trusted_keys` in the configuration: {error}"))
                    .with_help(error.help())
            })?;
        }
        Ok(trusted)
    }

    /// The keys in `trusted_keys` of the user's configuration. One that cannot be read stops what needs
    /// keys: trusting fewer than the person thinks would look like a bad signature.
    fn configured_keys(&self) -> Result<Vec<(PublicKey, Option<String>)>> {
        let mut keys = Vec::new();
        for (place, text) in self.settings().trusted_keys.iter().enumerate() {
            let setting = format!("trusted_keys[{place}]");
            let parsed = parse_public_keys(text).map_err(|error| {
                let message = format!("`{setting}` in the configuration: {error}");
                Error::failed(error.code(), message).with_help(
                    "write the key as `metier keys trust` takes it: a line of minisign or OpenSSH",
                )
            })?;
            let name = |own: Option<String>| own.or_else(|| Some(setting.clone()));
            keys.extend(parsed.into_iter().map(|named| (named.key, name(named.name))));
        }
        Ok(keys)
    }

    /// The keys in the list that `metier keys` changes.
    fn listed_keys(&self) -> Result<TrustedKeys> {
        let path = self.keys_folder()?.join(TRUSTED_FILE);
        match read_bounded(&path, MAX_TRUSTED_BYTES) {
            Ok(bytes) => {
                if let Some(access) =
                    metier_fs::writable_by_others_below(&self.keys_folder()?, &path)
                {
                    let message = format!(
                        "{} is not used: other accounts can change it",
                        access.path.display()
                    );
                    return Err(Error::failed("keys-not-private", message)
                        .with_help(format!("look at it, then: chmod 600 {}", path.display())));
                }
                parse_trusted(&path, &bytes)
            }
            Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(TrustedKeys::default())
            }
            Err(error) => Err(bad_list(&path, &error.to_string())),
        }
    }

    /// The public keys in a file, relative to the working directory. Nothing is trusted yet.
    pub fn read_public_keys(&self, file: &Path) -> Result<Vec<NamedKey>> {
        let text = self.key_text(file)?;
        let mut keys = parse_public_keys(&text).map_err(|error| key_error(file, &error))?;
        // A file of minisign or of a PEM key has no name in it; the file has.
        let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        for key in &mut keys {
            if key.name.is_none() {
                key.name.clone_from(&stem);
            }
        }
        Ok(keys)
    }

    /// Trusts these keys; gives for each whether it is new. Only a person may decide this, so it is for a
    /// front end that has asked one.
    pub fn trust_keys(&self, keys: &[NamedKey]) -> Result<Vec<bool>> {
        let mut added = Vec::new();
        self.change_trusted_keys(|trusted| {
            for named in keys {
                let new = trusted.add(named.key.clone(), named.name.clone());
                added.push(new.map_err(|error| {
                    Error::failed(error.code(), error.to_string()).with_help(error.help())
                })?);
            }
            Ok(())
        })?;
        Ok(added)
    }

    /// Forgets the trusted key that `text` means: an id, the beginning of one, or a name.
    pub fn forget_key(&self, text: &str) -> Result<TrustedKey> {
        let configured = self.trusted_keys()?;
        let mut forgotten = None;
        self.change_trusted_keys(|trusted| {
            let found: Vec<TrustedKey> = trusted.find(text).into_iter().cloned().collect();
            let [key] = &found[..] else {
                let (message, help) = match found.len() {
                    0 if configured.find(text).len() == 1 => (
                        format!("the key `{text}` is in `trusted_keys` of your configuration"),
                        "remove it there: `metier config` names the file",
                    ),
                    0 => (format!("you trust no key `{text}`"), "`metier keys` lists them"),
                    count => (format!("`{text}` matches {count} keys"), "type more of the id"),
                };
                return Err(Error::failed("key-not-found", message).with_help(help));
            };
            trusted.remove(&key.key);
            forgotten = Some(key.clone());
            Ok(())
        })?;
        forgotten
            .ok_or_else(|| Error::failed("key-not-found", format!("you trust no key `{text}`")))
    }

    fn change_trusted_keys(
        &self,
        change: impl FnOnce(&mut TrustedKeys) -> Result<()>,
    ) -> Result<()> {
        // A list that others could have changed is not made private by a change of ours.
        self.listed_keys()?;
        let path = self.keys_folder()?.join(TRUSTED_FILE);
        let changed = metier_fs::update_private(&path, MAX_TRUSTED_BYTES, |before| {
            let mut trusted = match before {
                Some(bytes) => parse_trusted(&path, &bytes)?,
                None => TrustedKeys::default(),
            };
            change(&mut trusted)?;
            Ok(trusted.to_text().into_bytes())
        });
        match changed {
            Ok(_) => Ok(()),
            Err(UpdateError::Refused(error)) => Err(error),
            Err(UpdateError::Read(error)) => Err(bad_list(&path, &error.to_string())),
            Err(UpdateError::Busy(lock)) => Err(Error::failed(
                "busy",
                format!("another process has been changing {} for too long", lock.display()),
            )),
            Err(UpdateError::Write(error)) => Err(not_written(&path, &error)),
            Err(_) => {
                Err(Error::failed("not-written", format!("{} was not written", path.display())))
            }
        }
    }

    /// Makes a new key of minisign: `FILE.key` and `FILE.pub`, by default in the user's own folder under
    /// `name`. Files that are there are not replaced.
    pub fn generate_key(
        &self,
        name: &str,
        at: Option<&Path>,
        password: Option<&str>,
    ) -> Result<(NewKey, PublicKey)> {
        let base = if let Some(at) = at {
            self.working_dir().join(at)
        } else {
            let is_plain = |ch: char| ch.is_ascii_alphanumeric() || ch == '-' || ch == '_';
            if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
                return Err(Error::usage(format!("`{name}` cannot be the name of a key"))
                    .with_help("use letters, digits, hyphens and underscores"));
            }
            let folder = self.keys_folder()?;
            create_private_dir(&folder).map_err(|error| not_written(&folder, &error))?;
            folder.join(name)
        };
        let with = |suffix: &str| {
            let mut path = base.as_os_str().to_owned();
            path.push(suffix);
            PathBuf::from(path)
        };
        let (secret, public) = (with(".key"), with(".pub"));
        for path in [&secret, &public] {
            if metier_fs::entry_kind(path).is_some() {
                let message = format!("{} exists already", path.display());
                return Err(Error::failed("key-exists", message)
                    .with_help("choose another name with --name or --output"));
            }
        }
        let key = generate_key(password).map_err(|error| key_error(&secret, &error))?;
        let write = |path: &Path, text: &str| {
            let mut file = create_private_file(path)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        };
        write(&secret, &key.secret).map_err(|error| not_written(&secret, &error))?;
        metier_fs::replace_shared(&public, key.public_text.as_bytes())
            .map_err(|error| not_written(&public, &error))?;
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let new = NewKey {
            id: key.public.id(),
            secret: shown(&secret),
            public: shown(&public),
            encrypted: password.is_some(),
        };
        Ok((new, key.public))
    }

    /// Opens the secret key in a file, relative to the working directory. `password` is called where the key
    /// is encrypted. A secret key that other accounts can read is not refused, as it may be on a medium
    /// without permissions.
    pub fn open_signing_key(
        &self,
        file: &Path,
        password: impl FnMut() -> Option<Zeroizing<String>>,
    ) -> Result<SigningKey> {
        let text = self.key_text(file)?;
        SigningKey::open(&text, password).map_err(|error| key_error(file, &error))
    }

    /// Signs an archive, in a file beside it. The comment is signed too; without one it names the skill.
    ///
    /// ```
    /// # use metier::{Environment, Metier, pack::Overwrite, sign::NamedKey};
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("greet"))?;
    /// # std::fs::write(dir.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Say hello.\n---\n")?;
    /// # let home = Environment::empty().with_home(dir.path().join("home"));
    /// let metier = Metier::builder(&dir).environment(home).open()?;
    /// let pack = metier.plan_pack("greet".as_ref(), metier.pack_options())?;
    /// pack.write(&dir.path().join("greet.zip"))?;
    ///
    /// let (files, public) = metier.generate_key("mine", None, None)?;
    /// let key = metier.open_signing_key(files.secret.as_ref(), || None)?;
    /// metier.sign_pack("greet.zip".as_ref(), &key, None, Overwrite::Refuse)?;
    ///
    /// metier.trust_keys(&[NamedKey { name: None, key: public }])?;
    /// let verified = metier.verify_pack("greet.zip".as_ref(), &metier.trusted_keys()?)?;
    /// assert!(verified.is_signed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sign_pack(
        &self,
        pack: &Path,
        key: &SigningKey,
        comment: Option<&str>,
        replace: Overwrite,
    ) -> Result<SignedPack> {
        Ok(sign_pack(&self.working_dir().join(pack), key, comment, replace)?)
    }

    /// Verifies an archive or a directory of skills: structure, manifest and signatures. Only `keys` count.
    pub fn verify_pack(&self, pack: &Path, keys: &TrustedKeys) -> Result<VerifiedPack> {
        Ok(verify_pack(&self.working_dir().join(pack), keys, self.profile())?)
    }

    fn key_text(&self, file: &Path) -> Result<Zeroizing<String>> {
        let path = self.working_dir().join(file);
        let bytes = read_bounded(&path, MAX_KEY_BYTES).map_err(|error| {
            Error::failed("not-readable", format!("{} cannot be read: {error}", path.display()))
                .with_help("check the path and the permissions")
        })?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Error::failed(
                "key-format",
                format!("{}: not a usable key: it is not text", file.display()),
            )
        })?;
        Ok(Zeroizing::new(text))
    }
}

fn parse_trusted(path: &Path, bytes: &[u8]) -> Result<TrustedKeys> {
    let text = std::str::from_utf8(bytes).map_err(|_| bad_list(path, "it is not text"))?;
    TrustedKeys::parse(text).map_err(|reason| bad_list(path, &reason))
}

fn bad_list(path: &Path, reason: &str) -> Error {
    Error::failed("bad-record", format!("{}: {reason}", path.display()))
        .with_help("fix the file, or remove it and trust the keys again")
}

fn key_error(file: &Path, error: &metier_sign::SignatureError) -> Error {
    Error::failed(error.code(), format!("{}: {error}", file.display())).with_help(error.help())
}

fn not_written(path: &Path, error: &std::io::Error) -> Error {
    Error::failed("not-written", format!("{} cannot be written: {error}", path.display()))
        .with_help("check the permissions and the free space there")
}
