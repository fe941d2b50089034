//! The user's folders, as the environment names them, and the state in them, closed to other accounts.
//! Asked once, when a runtime is opened.

use std::path::Path;

use metier_fs::{ForeignWriter, UserFolders};
use metier_tools::{PolicyStore, TrustMarks};

use crate::environment::Environment;
use crate::error::{Error, Result};

/// The user's folders. The home directory stands without links, so that it can be distinguished from the
/// directories above the working directory.
pub(crate) fn user_folders(
    home: Option<&Path>,
    environment: &Environment,
) -> Result<Option<UserFolders>> {
    let metier_home = environment.variable("METIER_HOME").map(Path::new);
    // A relative one would be another folder in every directory: the user's rules would depend on
    // where the program runs, and a project could bring them along.
    for (name, folder) in [("HOME", home), ("METIER_HOME", metier_home)] {
        if let Some(folder) = folder.filter(|folder| !folder.is_absolute()) {
            let message =
                format!("{name} is `{}`, which is not an absolute path", folder.display());
            return Err(Error::failed("home-relative", message)
                .with_help(format!("set {name} to an absolute path")));
        }
    }
    let Some(home) = home else { return Ok(None) };
    let home = metier_fs::canonical(home).unwrap_or_else(|_| home.to_owned());
    let variable = |name: &str| environment.variable(name).map(ToOwned::to_owned);
    Ok(Some(UserFolders::with_variables(&home, metier_home, &variable)))
}

/// Closes the user's state to other accounts, and gives what in it does not count because they could
/// have written it. State that belongs to another account is not used at all.
pub(crate) fn close_state(state: &Path) -> Result<Vec<String>> {
    if let Some(access) = metier_fs::writable_by_others(state)
        && matches!(access.writer, ForeignWriter::Owner(_))
    {
        return Err(Error::failed("state-foreign", format!("your state is not safe: {access}"))
            .with_help(format!("if it is yours: {}", access.remedy())));
    }
    // What cannot be closed is judged below, and where it is written to.
    let judged = [PolicyStore::FILES, &[TrustMarks::FILE]].concat();
    let _ = metier_fs::close_state(state, &judged);
    let foreign = PolicyStore::in_state(state).foreign().into_iter();
    Ok(foreign.map(|error| format!("{error}; {}", error.help())).collect())
}
