//! What the settings of a session are now.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nacre_store::{AccessState, Store};

use super::characteristics::{Characteristics, level_name, level_named, on_or_off};
use super::engine_choice::EngineChoice;
use super::known::{ALL, Access, Known};
use super::names::split_list;
use super::scan_settings::ScanSettings;
use super::session::{SessionInfo, SettingInfo};
use crate::error::{Error, ErrorKind, Result};
use crate::functions::now_us;
use crate::notices::{Notice, Notices};
use crate::privileges::{Acting, insufficient, is_member};

/// Values by the names of settings, those of nobody's in small letters.
type Values = BTreeMap<String, String>;

/// The settings that say who the session acts as.
const ROLE: &str = "role";
const SESSION_AUTHORIZATION: &str = "session_authorization";
const IS_SUPERUSER: &str = "is_superuser";

/// What `role` is while it says nothing.
const NO_ROLE: &str = "none";

/// The settings of one session.
#[derive(Debug)]
pub(crate) struct Settings {
    info: SessionInfo,
    /// Where the roles are. Values of `role` and `session_authorization` are their numbers, since
    /// names may become those of others.
    store: Store,
    /// The role that the session began as; 0 if there was none of its name.
    login: u32,
    state: Mutex<State>,
    /// What the statement at work tells the client.
    notices: Notices,
    /// When the statement at work began, in microseconds since 1970.
    statement_began: AtomicI64,
}

#[derive(Debug)]
struct State {
    /// What SET gave.
    session: Arc<Values>,
    /// What SET LOCAL gave, until the block ends.
    local: Arc<Values>,
    /// What RESET goes back to where it is not the default.
    resets: Values,
    block: Option<Block>,
    /// Those that every statement needs.
    ready: Ready,
    /// Who the session acts as, with the version of the roles that it was looked up in.
    acting: Option<(u64, Acting)>,
    /// What the client was told.
    told: Values,
    /// Whether something was set since the client was told.
    is_news: bool,
}

/// An open transaction block.
#[derive(Debug)]
struct Block {
    /// In microseconds since 1970.
    began: i64,
    /// What SET had given before it.
    before: Arc<Values>,
    characteristics: Characteristics,
}

#[derive(Clone, Copy, Debug)]
struct Ready {
    characteristics: Characteristics,
    statement_timeout: Option<Duration>,
    lock_timeout: Option<Duration>,
    idle_in_transaction_timeout: Option<Duration>,
    idle_timeout: Option<Duration>,
    engine: EngineChoice,
    scans: ScanSettings,
}

/// What a savepoint goes back to.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    session: Arc<Values>,
    local: Arc<Values>,
}

impl Settings {
    /// Makes the settings of a new session.
    pub(crate) fn new(info: SessionInfo, store: Store) -> Self {
        let named = || store.role(&info.user).map(|role| role.oid);
        let login = info.role.or_else(named).unwrap_or(0);
        let resets = [(SESSION_AUTHORIZATION.to_owned(), login.to_string())].into();
        let mut state = State {
            session: Arc::default(),
            local: Arc::default(),
            resets,
            block: None,
            ready: Ready::INITIAL,
            acting: None,
            told: Values::new(),
            is_news: true,
        };
        state.changed();
        let (state, notices) = (Mutex::new(state), Notices::default());
        Self { info, store, login, state, notices, statement_began: AtomicI64::new(now_us()) }
    }

    /// Returns where the statement at work tells what it has to.
    pub(crate) fn notices(&self) -> &Notices {
        &self.notices
    }

    pub(crate) fn info(&self) -> &SessionInfo {
        &self.info
    }

    /// Whether the session may see what one of that role does, and stop it.
    pub(crate) fn may_see(&self, role: &str) -> bool {
        let (state, acting) = (self.store.access(), self.acting());
        let role = state.role_named(role).map(|role| role.oid);
        acting.is_superuser || role.is_some_and(|role| acting.is_as_good_as(&state, role))
    }

    /// Returns the value of a setting as it is shown; `None` if there is none of that name.
    pub(crate) fn shown(&self, name: &str) -> Option<String> {
        if Known::named(name).is_some_and(|known| known.name == IS_SUPERUSER) {
            return Some(on_or_off(self.acting().is_superuser).to_owned());
        }
        let state = self.state();
        match Known::named(name) {
            Some(known) => Some(self.text_of(known, &state.value(known))),
            None => state.effective(&name.to_lowercase()).cloned(),
        }
    }

    /// Gives a setting a value, `None` that of RESET, and returns it as it is shown. It is of the
    /// open block, if there is one; with `is_local` it ends with the block, or at once.
    ///
    /// # Errors
    /// 42704, 22023, 55P02 as in PostgreSQL; `not supported` for values that would not hold.
    pub(crate) fn set(&self, name: &str, value: Option<&str>, is_local: bool) -> Result<String> {
        let (key, value) = self.read(name, value)?;
        let mut state = self.state();
        let given = value.clone().or_else(|| state.reset_value(&key)).unwrap_or_default();
        let shown =
            Known::named(&key).map_or_else(|| given.clone(), |one| self.text_of(one, &given));
        let is_other_user = key == SESSION_AUTHORIZATION;
        match (is_local, state.block.is_some()) {
            (true, false) => return Ok(shown),
            (true, true) => {
                let local = Arc::make_mut(&mut state.local);
                if is_other_user {
                    local.insert(ROLE.to_owned(), NO_ROLE.to_owned());
                }
                local.insert(key, given);
            }
            (false, _) => {
                let State { session, local, .. } = &mut *state;
                let (session, local) = (Arc::make_mut(session), Arc::make_mut(local));
                local.remove(&key);
                if is_other_user {
                    local.remove(ROLE);
                    session.insert(ROLE.to_owned(), NO_ROLE.to_owned());
                }
                match value {
                    Some(value) => session.insert(key, value),
                    None => session.remove(&key),
                };
            }
        }
        state.changed();
        Ok(shown)
    }

    /// Gives a setting the value that RESET goes back to: one that the client named when it
    /// connected. Drivers send the time zone of their machine by themselves, so zones other than
    /// UTC are not refused: the returned warning says that UTC holds.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub(crate) fn set_initial(&self, name: &str, value: &str) -> Result<Option<Notice>> {
        match self.read(name, Some(value)) {
            Err(_) if name.eq_ignore_ascii_case("timezone") => {
                let message =
                    format!("TimeZone \"{value}\" does not hold: the time zone of Nacre is UTC");
                Ok(Some(Notice::warning(message)))
            }
            Err(error) => Err(error),
            Ok((key, value)) => {
                let mut state = self.state();
                value.and_then(|value| state.resets.insert(key, value));
                state.changed();
                Ok(None)
            }
        }
    }

    /// Gives all settings that SET changed the values that RESET goes back to, but for who the
    /// session acts as.
    pub(crate) fn reset_all(&self) {
        let mut state = self.state();
        let is_identity = |name: &str| matches!(name, ROLE | SESSION_AUTHORIZATION);
        // Those of nobody's stay known.
        let kept = |(name, value): (&String, &String)| match Known::named(name) {
            Some(_) if is_identity(name) => Some((name.clone(), value.clone())),
            Some(_) => None,
            None => Some((name.clone(), String::new())),
        };
        let session: Values = state.session.iter().filter_map(kept).collect();
        Arc::make_mut(&mut state.local).retain(|name, _| is_identity(name));
        state.session = Arc::new(session);
        state.changed();
    }

    /// Has the session act as who it began as.
    ///
    /// # Errors
    /// None but those of a setting that is not there.
    pub(crate) fn reset_identity(&self) -> Result<()> {
        self.set(SESSION_AUTHORIZATION, None, false).map(drop)?;
        self.set(ROLE, None, false).map(drop)
    }

    /// Returns who the session acts as, as it is now.
    pub(crate) fn acting(&self) -> Acting {
        let version = self.store.access_version();
        let mut state = self.state();
        match state.acting {
            Some((known, acting)) if known == version => acting,
            _ => {
                let acting = Acting::new(&self.store.access(), state.role(self.login));
                state.acting = Some((version, acting));
                acting
            }
        }
    }

    /// Returns the role that the session is of: the one that it began as, unless SET SESSION
    /// AUTHORIZATION made it another one.
    pub(crate) fn session_role(&self) -> u32 {
        self.state().session_role(self.login)
    }

    /// Returns the role that the session began as.
    pub(crate) fn login_role(&self) -> u32 {
        self.login
    }

    /// Returns the name of the role that the session acts as, or is of; `None` if it is not there
    /// any more.
    pub(crate) fn role_name(&self, of_session: bool) -> Option<String> {
        let role = if of_session { self.session_role() } else { self.acting().oid };
        self.store.access().role(role).map(|role| role.name.clone())
    }

    /// Returns a value as SHOW has it.
    fn text_of(&self, known: &Known, value: &str) -> String {
        match known.name {
            ROLE if value == NO_ROLE => NO_ROLE.to_owned(),
            ROLE | SESSION_AUTHORIZATION => {
                let state = self.store.access();
                let role = value.parse().ok().and_then(|oid| state.role(oid));
                role.map_or_else(|| value.to_owned(), |role| role.name.clone())
            }
            _ => known.kind.show(value),
        }
    }

    /// Returns the characteristics with what a setting that belongs to the open transaction makes
    /// of them; `None` if it is another one.
    ///
    /// # Errors
    /// 22023.
    pub(crate) fn of_transaction(
        &self,
        name: &str,
        value: Option<&str>,
        from: Characteristics,
    ) -> Result<Option<Characteristics>> {
        let Some(known) = Known::named(name).filter(|one| one.access == Access::Transaction) else {
            return Ok(None);
        };
        let value = value.map(|value| known.kind.read(known.name, value)).transpose()?;
        let default = self.characteristics();
        Ok(Some(match known.name {
            "transaction_isolation" => {
                let level = value.map_or(default.level, |value| level_named(&value));
                Characteristics { level, ..from }
            }
            _ => {
                let is_read_only = value.map_or(default.is_read_only, |value| value == "on");
                Characteristics { is_read_only, ..from }
            }
        }))
    }

    /// Checks a value; returns the name and the value as they are kept.
    fn read(&self, name: &str, value: Option<&str>) -> Result<(String, Option<String>)> {
        let Some(known) = Known::named(name) else {
            return Ok((own_name(name)?, Some(value.unwrap_or_default().to_owned())));
        };
        let name = known.name;
        let fixed =
            |message| Err(Error::new(ErrorKind::InvalidStatement, message).with_code("55P02"));
        match known.access {
            Access::User => {}
            Access::Superuser => {
                let denied = format!("permission denied to set parameter \"{name}\"");
                self.acting().require_superuser(&denied)?;
            }
            Access::Transaction => {
                return Err(Error::not_supported(format_args!("setting {name} in this way"))
                    .with_hint("Use SET TRANSACTION."));
            }
            Access::Identity => return self.identity(known, value),
            Access::Internal => return fixed(format!("parameter \"{name}\" cannot be changed")),
            Access::Server => {
                return fixed(format!(
                    "parameter \"{name}\" cannot be changed without restarting the server"
                ));
            }
        }
        let Some(text) = value else { return Ok((name.to_owned(), None)) };
        let value = known.kind.read(name, text)?;
        if !known.only.is_empty() && !known.only.contains(&value.as_str()) {
            return Err(Error::not_supported(format_args!("{name} \"{value}\""))
                .with_hint(format!("It can be {}.", known.only.join(", "))));
        }
        Ok((name.to_owned(), Some(value)))
    }

    /// Checks a value of `role` or `session_authorization`: the name of a role that the session may
    /// be.
    fn identity(&self, known: &Known, value: Option<&str>) -> Result<(String, Option<String>)> {
        let is_role = known.name == ROLE;
        let name = match value {
            None => return Ok((known.name.to_owned(), None)),
            Some(NO_ROLE) if is_role => {
                return Ok((known.name.to_owned(), Some(NO_ROLE.to_owned())));
            }
            Some(name) => name,
        };
        let state = self.store.access();
        let role = state.role_named(name).ok_or_else(|| invalid_role(name))?;
        let is_superuser = |state: &AccessState, oid| {
            state.role(oid).is_some_and(|role: &Arc<nacre_store::RoleDef>| role.is_superuser)
        };
        let denied = match is_role {
            true if is_member(&state, self.session_role(), role.oid) => None,
            true => Some(format!("permission denied to set role \"{name}\"")),
            false if role.oid == self.login || is_superuser(&state, self.login) => None,
            false => Some(format!("permission denied to set session authorization \"{name}\"")),
        };
        match denied {
            None => Ok((known.name.to_owned(), Some(role.oid.to_string()))),
            Some(message) => Err(insufficient(message)),
        }
    }

    /// Whether the present transaction only reads.
    pub(crate) fn is_read_only(&self) -> bool {
        self.state().now().is_read_only
    }

    /// Returns the characteristics of a new transaction.
    pub(crate) fn characteristics(&self) -> Characteristics {
        self.state().ready.characteristics
    }

    /// Returns the names in `search_path`.
    pub(crate) fn search_path(&self) -> Vec<String> {
        let state = self.state();
        let known = Known::named("search_path");
        known.and_then(|known| split_list(&state.value(known))).unwrap_or_default()
    }

    pub(crate) fn statement_timeout(&self) -> Option<Duration> {
        self.state().ready.statement_timeout
    }

    /// Returns how long a statement may wait for an advisory lock; `None` is without bound.
    pub(crate) fn lock_timeout(&self) -> Option<Duration> {
        self.state().ready.lock_timeout
    }

    pub(crate) fn idle_in_transaction_timeout(&self) -> Option<Duration> {
        self.state().ready.idle_in_transaction_timeout
    }

    /// Returns which engine queries take.
    pub(crate) fn engine(&self) -> EngineChoice {
        self.state().ready.engine
    }

    /// Returns how Nacre's own engine scans tables.
    pub(crate) fn scans(&self) -> ScanSettings {
        self.state().ready.scans
    }

    pub(crate) fn idle_timeout(&self) -> Option<Duration> {
        self.state().ready.idle_timeout
    }

    /// Notes that a block begins.
    pub(crate) fn begin_block(&self, characteristics: Characteristics) {
        let mut state = self.state();
        let before = Arc::clone(&state.session);
        state.block = Some(Block { began: now_us(), before, characteristics });
    }

    /// Returns when the open block began, if there is one, in microseconds since 1970.
    fn block_began(&self) -> Option<i64> {
        self.state().block.as_ref().map(|block| block.began)
    }

    /// Notes that a statement begins.
    pub(crate) fn begin_statement(&self) {
        // ORDERING: read by the statement that is about to begin.
        self.statement_began.store(now_us(), Ordering::Relaxed);
    }

    /// Returns when the transaction of the statement at work began, in microseconds since 1970.
    pub(crate) fn transaction_began(&self) -> i64 {
        self.block_began().unwrap_or_else(|| self.statement_began())
    }

    /// Returns when the statement at work began, in microseconds since 1970.
    pub(crate) fn statement_began(&self) -> i64 {
        // ORDERING: see `begin_statement`.
        self.statement_began.load(Ordering::Relaxed)
    }

    /// Notes that the open block's transaction has other characteristics.
    pub(crate) fn change_block(&self, characteristics: Characteristics) {
        if let Some(block) = &mut self.state().block {
            block.characteristics = characteristics;
        }
    }

    /// Ends the block, if one is open; returns what was before it.
    pub(crate) fn end_block(&self, is_committed: bool) -> Option<Saved> {
        let mut state = self.state();
        let block = state.block.take()?;
        let has_local = !state.local.is_empty();
        let is_undone = !is_committed && !Arc::ptr_eq(&block.before, &state.session);
        if !is_committed {
            state.session = Arc::clone(&block.before);
        }
        if has_local || is_undone {
            state.local = Arc::default();
            state.changed();
        }
        Some(Saved { session: block.before, local: Arc::default() })
    }

    /// Returns what [`Settings::go_back`] goes back to.
    pub(crate) fn save(&self) -> Saved {
        let state = self.state();
        Saved { session: Arc::clone(&state.session), local: Arc::clone(&state.local) }
    }

    pub(crate) fn go_back(&self, saved: &Saved) {
        let mut state = self.state();
        state.session = Arc::clone(&saved.session);
        state.local = Arc::clone(&saved.local);
        state.changed();
    }

    /// Returns what clients are told of, if it changed since the last call.
    pub(crate) fn reported_changes(&self) -> Vec<(String, String)> {
        let is_superuser = self.acting().is_superuser;
        let mut state = self.state();
        if !std::mem::take(&mut state.is_news) {
            return Vec::new();
        }
        let is_superuser = on_or_off(is_superuser);
        let now = ALL.iter().filter(|known| known.is_reported).map(|known| {
            let shown = match known.name {
                IS_SUPERUSER => is_superuser.to_owned(),
                _ => self.text_of(known, &state.value(known)),
            };
            (known.name.to_owned(), shown)
        });
        let news: Vec<(String, String)> =
            now.filter(|(name, value)| state.told.get(name) != Some(value)).collect();
        state.told.extend(news.iter().cloned());
        news
    }

    /// Returns all settings, in the order of their names.
    pub(crate) fn list(&self) -> Vec<SettingInfo> {
        let is_superuser = on_or_off(self.acting().is_superuser);
        let state = self.state();
        let known = ALL.iter().map(|known| {
            let mut info = state.info(known);
            match known.name {
                IS_SUPERUSER => {
                    (info.value, info.shown) = (is_superuser.into(), is_superuser.into())
                }
                ROLE | SESSION_AUTHORIZATION => {
                    info.shown = self.text_of(known, &info.value);
                    info.value.clone_from(&info.shown);
                    info.reset = self.text_of(known, &info.reset);
                }
                _ => {}
            }
            info
        });
        let given = [&*state.session, &*state.local, &state.resets].map(Values::keys);
        let own = given.into_iter().flatten().filter(|name| Known::named(name).is_none());
        let mut all: Vec<SettingInfo> = known.chain(own.map(|name| state.own_info(name))).collect();
        all.sort_by_cached_key(|info| info.name.to_lowercase());
        all.dedup_by(|a, b| a.name == b.name);
        all
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ready {
    const INITIAL: Self = Self {
        characteristics: Characteristics {
            level: nacre_store::IsolationLevel::Serializable,
            is_read_only: false,
            is_synchronous: true,
        },
        statement_timeout: None,
        lock_timeout: None,
        idle_in_transaction_timeout: None,
        idle_timeout: None,
        engine: EngineChoice::Auto,
        scans: ScanSettings::INITIAL,
    };
}

impl State {
    /// Has what depends on values be that of the values now.
    fn changed(&mut self) {
        (self.is_news, self.acting) = (true, None);
        let text = |name: &str| self.effective(name).map_or("", String::as_str);
        let time = |name| {
            let milliseconds: u64 = text(name).parse().unwrap_or(0);
            (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
        };
        self.ready = Ready {
            characteristics: Characteristics {
                level: level_named(text("default_transaction_isolation")),
                is_read_only: text("default_transaction_read_only") == "on",
                is_synchronous: text("synchronous_commit") != "off",
            },
            statement_timeout: time("statement_timeout"),
            lock_timeout: time("lock_timeout"),
            idle_in_transaction_timeout: time("idle_in_transaction_session_timeout"),
            idle_timeout: time("idle_session_timeout"),
            engine: EngineChoice::of_setting(text("nacre.engine")),
            scans: ScanSettings::of_settings(text),
        };
    }

    /// Returns the role that the session is of.
    fn session_role(&self, login: u32) -> u32 {
        self.effective(SESSION_AUTHORIZATION).and_then(|oid| oid.parse().ok()).unwrap_or(login)
    }

    /// Returns the role that the session acts as.
    fn role(&self, login: u32) -> u32 {
        let role = self.effective(ROLE).and_then(|oid| oid.parse().ok());
        role.unwrap_or_else(|| self.session_role(login))
    }

    /// Returns what a setting was given; `None` if nothing.
    fn effective(&self, name: &str) -> Option<&String> {
        let given = self.local.get(name).or_else(|| self.session.get(name));
        given.or_else(|| self.resets.get(name))
    }

    /// Returns the characteristics of the present transaction.
    fn now(&self) -> Characteristics {
        self.block.as_ref().map_or(self.ready.characteristics, |block| block.characteristics)
    }

    fn value(&self, known: &Known) -> String {
        let now = self.now();
        match known.name {
            "transaction_isolation" => level_name(now.level).to_owned(),
            "transaction_read_only" => on_or_off(now.is_read_only).to_owned(),
            name => self.effective(name).map_or(known.default, String::as_str).to_owned(),
        }
    }

    /// Returns what RESET gives; nothing to a setting of nobody's.
    fn reset_value(&self, name: &str) -> Option<String> {
        let default = || Known::named(name).map(|known| known.default.to_owned());
        self.resets.get(name).cloned().or_else(default)
    }

    fn info(&self, known: &Known) -> SettingInfo {
        let value = self.value(known);
        let is_given = self.local.contains_key(known.name) || self.session.contains_key(known.name);
        let source = match (is_given, self.resets.contains_key(known.name)) {
            (true, _) => "session",
            (false, true) => "client",
            (false, false) => "default",
        };
        SettingInfo {
            name: known.name.to_owned(),
            shown: known.kind.show(&value),
            value,
            unit: known.kind.unit(),
            description: known.description,
            context: match known.access {
                Access::User | Access::Transaction | Access::Identity => "user",
                Access::Superuser => "superuser",
                Access::Internal => "internal",
                Access::Server => "postmaster",
            },
            kind: known.kind.name(),
            source,
            bounds: known.kind.bounds(),
            choices: known.kind.choices(),
            default: known.default.to_owned(),
            reset: self.reset_value(known.name).unwrap_or_default(),
        }
    }

    fn own_info(&self, name: &str) -> SettingInfo {
        let value = self.effective(name).cloned().unwrap_or_default();
        SettingInfo {
            name: name.to_owned(),
            shown: value.clone(),
            value,
            unit: None,
            description: "",
            context: "user",
            kind: "string",
            source: "session",
            bounds: None,
            choices: &[],
            default: String::new(),
            reset: self.reset_value(name).unwrap_or_default(),
        }
    }
}

/// Checks a name that only programs know; it is kept in small letters.
fn own_name(name: &str) -> Result<String> {
    if !name.contains('.') {
        return Err(unknown(name));
    }
    let is_word = |part: &str| {
        let is_letter = |c: char| c.is_alphabetic() || c == '_' || !c.is_ascii();
        part.starts_with(is_letter)
            && part.chars().all(|c| is_letter(c) || c.is_ascii_digit() || c == '$')
    };
    if name.split('.').all(is_word) {
        return Ok(name.to_lowercase());
    }
    let message = format!("invalid configuration parameter name \"{name}\"");
    let detail = "Custom parameter names must be two or more simple identifiers separated by dots.";
    Err(Error::new(ErrorKind::Syntax, message).with_code("42602").with_detail(detail))
}

/// Returns the error for a setting that is not there.
pub(crate) fn unknown(name: &str) -> Error {
    let message = format!("unrecognized configuration parameter \"{name}\"");
    Error::new(ErrorKind::UndefinedObject, message)
}

fn invalid_role(name: &str) -> Error {
    let error = Error::new(ErrorKind::UndefinedObject, format!("role \"{name}\" does not exist"));
    error.with_code("22023")
}
