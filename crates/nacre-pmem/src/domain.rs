//! Memory domains: a place for pools, what it was probed as, and how its pools become durable.
//!
//! A domain with a path is a directory whose regular files are its pools. A DRAM domain keeps an
//! unnamed memory file per pool, so the same code serves it; its pools end with the last clone of
//! the domain, but mappings of them live on until they are dropped.
//!
//! # Invariants
//! 1. Kind, granularity and flavours are resolved when the domain is opened and never change.
//! 2. A pool's name is one path component and not hidden.
//! 3. A domain opened read-only changes nothing on media.
//!
//! # Durability
//! `create_pool`, `rename_pool` and `remove_pool` return when the directory entry is durable.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::MemfdFlags;
use rustix::io::Errno;

use crate::append::PoolAppender;
use crate::directory::{
    check_access, list_files, make_directory, open_directory, open_regular, regular, sync_entries,
};
use crate::durability::{Durability, Plan};
use crate::error::{Error, ErrorKind, Result};
use crate::flush::FlushFlavour;
use crate::granularity::{DomainKind, Granularity};
use crate::large_page;
use crate::map::{MapMode, Mapping};
use crate::pool::Pool;
use crate::probe::{self, Probe};
use crate::set::placement;
use crate::settings::Settings;
use crate::signal::ignore_file_size_signal;
use crate::sim;
use crate::space::{self, Fallback};
use crate::stream::StreamFlavour;
use crate::sysfs;

/// Longest file name of every file system we meet.
const NAME_BYTES_MAX: usize = 255;

/// What a domain or pool is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Nothing on media is changed.
    ReadOnly,
    /// Pools are created, written and removed.
    ReadWrite,
}

/// A place for pools. Cloning it is cheap and gives the same domain.
#[derive(Clone)]
pub struct Domain(Arc<Inner>);

struct Inner {
    name: String,
    place: Place,
    access: Access,
    plan: Plan,
    numa_node: Option<u32>,
    file_system: String,
    settings: Settings,
}

enum Place {
    Directory {
        path: PathBuf,
        /// Kept open to synchronise entries.
        handle: File,
    },
    /// Memory files by pool name.
    Memory(Mutex<BTreeMap<String, Arc<File>>>),
}

impl Domain {
    /// Makes an empty volatile domain. Ignores SIGXFSZ for the process (see [`crate::signal`]).
    pub fn dram(name: &str) -> Domain {
        ignore_file_size_signal();
        Domain(Arc::new(Inner {
            name: name.to_string(),
            place: Place::Memory(Mutex::new(BTreeMap::new())),
            access: Access::ReadWrite,
            plan: Plan::dram(),
            numa_node: sysfs::numa_node(Path::new(sysfs::ROOT), None),
            file_system: "memory".to_string(),
            settings: Settings::default(),
        }))
    }

    /// Opens a directory for writing, making it and its parents if they are absent.
    ///
    /// # Errors
    /// As for [`Domain::open`], without `NotFound`.
    pub fn create(name: &str, path: &Path) -> Result<Domain> {
        Domain::create_with(name, path, &Settings::from_env()?)
    }

    /// As [`Domain::create`], with choices forced by the caller instead of by variables.
    ///
    /// # Errors
    /// As for [`Domain::create`].
    pub fn create_with(name: &str, path: &Path, settings: &Settings) -> Result<Domain> {
        let path = absolute(path)?;
        make_directory(&path).map_err(|error| {
            // A file in the way is reported as existing by the system.
            let error = match error.kind() {
                io::ErrorKind::AlreadyExists => Errno::NOTDIR.into(),
                _ => error,
            };
            Error::os(directory(&path), "cannot create", error)
        })?;
        Domain::open_with(name, &path, Access::ReadWrite, settings)
    }

    /// Opens an existing directory and finds out what it is. Opening for writing ignores SIGXFSZ
    /// for the process (see [`crate::signal`]).
    ///
    /// # Errors
    /// `NotFound`, `NotADirectory`, `PermissionDenied`; `ReadOnly` if it shall be written but
    /// lies on a read-only file system; `Unsupported` for a setting that cannot be met.
    pub fn open(name: &str, path: &Path, access: Access) -> Result<Domain> {
        Domain::open_with(name, path, access, &Settings::from_env()?)
    }

    /// As [`Domain::open`], with choices forced by the caller instead of by variables.
    ///
    /// # Errors
    /// As for [`Domain::open`].
    pub fn open_with(
        name: &str,
        path: &Path,
        access: Access,
        settings: &Settings,
    ) -> Result<Domain> {
        let path = absolute(path)?;
        let is_writable = access == Access::ReadWrite;
        let object = directory(&path);
        let handle =
            open_directory(&path).map_err(|error| Error::os(&object, "cannot open", error))?;
        check_access(&path, is_writable).map_err(|error| {
            let action = if is_writable { "cannot write in it" } else { "cannot use it" };
            Error::os(&object, action, error)
        })?;
        if is_writable {
            ignore_file_size_signal();
        }
        let probe = probe::probe(&path, is_writable)
            .map_err(|error| Error::os(&object, "cannot probe", error))?;
        let plan = settings.resolve(&probe)?;
        let Probe { file_system, device, .. } = probe;
        Ok(Domain(Arc::new(Inner {
            name: name.to_string(),
            numa_node: sysfs::numa_node(Path::new(sysfs::ROOT), device),
            place: Place::Directory { path, handle },
            access,
            plan,
            file_system,
            settings: *settings,
        })))
    }

    /// Returns the name that the domain was opened under.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the absolute path, or `None` for DRAM.
    pub fn path(&self) -> Option<&Path> {
        match &self.0.place {
            Place::Directory { path, .. } => Some(path),
            Place::Memory(_) => None,
        }
    }

    /// Returns what the domain was opened for.
    pub fn access(&self) -> Access {
        self.0.access
    }

    /// Returns what kind of memory the domain is.
    pub fn kind(&self) -> DomainKind {
        self.0.plan.kind
    }

    /// Returns what must be flushed to be durable.
    pub fn granularity(&self) -> Granularity {
        self.0.plan.granularity
    }

    /// Returns what a persisted byte survives.
    pub fn durability(&self) -> Durability {
        self.0.plan.durability
    }

    /// Returns the profile by which pool sets choose the mechanism of an update.
    pub(crate) fn profile(&self) -> Option<&'static Path> {
        self.0.settings.profile
    }

    /// Returns how ranges are flushed.
    pub fn flush_flavour(&self) -> FlushFlavour {
        self.0.plan.flush
    }

    /// Returns how appends are streamed, `None` where they go through the kernel.
    pub fn stream_flavour(&self) -> StreamFlavour {
        match self.0.plan.appends_mapped() {
            true => self.0.plan.stream,
            false => StreamFlavour::None,
        }
    }

    /// Whether pools are mapped by large pages, as far as the kernel has them. What stands against
    /// it is in [`Domain::advice`].
    pub fn maps_large_pages(&self) -> bool {
        let is_memory = matches!(self.kind(), DomainKind::Dram | DomainKind::Shm);
        is_memory && self.0.plan.large_pages && large_page::are_known()
    }

    /// Returns the NUMA node of the memory, if it is known.
    pub fn numa_node(&self) -> Option<u32> {
        self.0.numa_node
    }

    /// Returns the name of the file system, for messages.
    pub fn file_system(&self) -> &str {
        &self.0.file_system
    }

    /// Returns the bytes that an ordinary user can still write, or `None` for DRAM.
    ///
    /// # Errors
    /// `Io` if the file system does not say.
    pub fn free_bytes(&self) -> Result<Option<u64>> {
        let Place::Directory { path, handle } = &self.0.place else {
            return Ok(None);
        };
        let state = rustix::fs::fstatvfs(handle)
            .map_err(|error| Error::os(directory(path), "cannot read its free space", error))?;
        Ok(Some(state.f_bavail.saturating_mul(state.f_frsize)))
    }

    /// Returns what would make this domain more durable or faster, one sentence each.
    pub fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        let settings = &self.0.settings;
        match self.kind() {
            DomainKind::Dram => advice.push(
                "nothing is kept when the process ends: name a directory to keep data".to_string(),
            ),
            DomainKind::Shm => advice.push(format!(
                "a power cut loses everything on {}: use a disk, or a DAX file system on \
                 persistent memory (ext4 or xfs mounted with -o dax)",
                self.file_system()
            )),
            DomainKind::File if self.durability().emulated => advice.push(format!(
                "a power cut loses everything on {}, although pages are written back",
                self.file_system()
            )),
            DomainKind::File => advice.push(format!(
                "{} makes whole pages durable through the kernel: a DAX file system on \
                 persistent memory (ext4 or xfs mounted with -o dax) needs only cache-line flushes",
                self.file_system()
            )),
            DomainKind::Pmem => {}
        }
        if settings.flush == Some(FlushFlavour::None) && self.kind() != DomainKind::Dram {
            advice.push("NACRE_FLUSH=none turns durability off: unset it".to_string());
        }
        if settings.kind.is_some() || settings.granularity.is_some() {
            advice.push(
                "NACRE_DOMAIN_KIND or NACRE_GRANULARITY replaces what was probed: unset it"
                    .to_string(),
            );
        }
        match self.kind() {
            DomainKind::Dram | DomainKind::Shm if !self.0.plan.large_pages => advice.push(
                "pools are mapped by 4 KiB pages, so updates wait for address translation: \
                 unset NACRE_LARGE_PAGES"
                    .to_string(),
            ),
            DomainKind::Dram | DomainKind::Shm if !large_page::are_known() => advice.push(
                "this kernel has no large pages (CONFIG_TRANSPARENT_HUGEPAGE), so pools are \
                 mapped by 4 KiB pages"
                    .to_string(),
            ),
            DomainKind::File => advice.push(format!(
                "{} maps files by 4 KiB pages: 2 MiB pages need tmpfs or persistent memory",
                self.file_system()
            )),
            DomainKind::Dram | DomainKind::Shm | DomainKind::Pmem => {}
        }
        if self.flush_flavour().is_instruction() && self.flush_flavour() != FlushFlavour::Clwb {
            advice.push(match FlushFlavour::Clwb.is_available() {
                true => "clwb keeps flushed lines cached: unset NACRE_FLUSH".to_string(),
                false => "this processor has no clwb, so flushed lines leave the cache".to_string(),
            });
        }
        advice
    }

    /// Creates a pool of `bytes` zeros, allocated and durable, for writing.
    ///
    /// # Errors
    /// `AlreadyExists`, `NoSpace`, `InvalidName`, `ReadOnly`, `OutOfMemory`, `Io`; no file stays.
    pub fn create_pool(&self, file_name: &str, bytes: u64) -> Result<Pool> {
        self.create_pool_on(file_name, bytes, None, true)
    }

    /// As [`Domain::create_pool`], with its memory on a NUMA node, and in large pages only if these
    /// are wanted.
    pub(crate) fn create_pool_on(
        &self,
        file_name: &str,
        bytes: u64,
        node: Option<u32>,
        large_pages: bool,
    ) -> Result<Pool> {
        let file = self.create_file(file_name)?;
        let result = self
            .place_file(file_name, &file, bytes, node)
            .and_then(|()| self.fill_new_pool(file_name, &file, bytes, large_pages));
        if result.is_err() {
            // The first error is the one to report.
            let _ = self.remove_pool(file_name);
        }
        result
    }

    /// Sets the policy of a file's memory before any of it is allocated.
    fn place_file(
        &self,
        file_name: &str,
        file: &File,
        bytes: u64,
        node: Option<u32>,
    ) -> Result<()> {
        let nodes = sysfs::nodes(Path::new(sysfs::ROOT));
        placement::place(&self.object(file_name), node, &nodes, |node| {
            file.set_len(bytes)?;
            let mapping = Mapping::new(file.as_fd(), 0, bytes, MapMode::Write)?;
            // SAFETY: the mapping has as many bytes, and lives on.
            unsafe { placement::bind(mapping.base(), mapping.bytes(), node) }
        })
    }

    fn fill_new_pool(
        &self,
        file_name: &str,
        file: &Arc<File>,
        bytes: u64,
        large_pages: bool,
    ) -> Result<Pool> {
        let object = self.object(file_name);
        let action = format!("cannot allocate its {bytes} bytes");
        space::extend(file, 0, bytes, Fallback::Zeros)
            .map_err(|error| Error::allocating(&object, &action, (&**file, bytes), error))?;
        let mut plan = self.0.plan;
        plan.large_pages &= large_pages;
        if plan.syncs {
            // PERSIST: size and allocation are durable before the entry that leads to them.
            file.sync_all().map_err(|error| Error::os(&object, &action, error))?;
            sim::file_synced(file);
        }
        let pool = Pool::map(
            object,
            self.pool_path(file_name),
            Arc::clone(file),
            Access::ReadWrite,
            plan,
        )?;
        pool.collapse();
        self.sync_directory()?;
        Ok(pool)
    }

    /// Maps an existing pool.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied`, `IsDirectory`, `NotAFile`; `ReadOnly` if it shall be
    /// written in a read-only domain; `NoSpace` if it shall be written and its holes cannot be
    /// allocated; `OutOfMemory` if it does not fit the address space.
    pub fn open_pool(&self, file_name: &str, access: Access) -> Result<Pool> {
        if access == Access::ReadWrite {
            self.check_writable()?;
        }
        let object = self.object(file_name);
        let file = match &self.0.place {
            Place::Memory(_) => self.memory_file(file_name)?,
            Place::Directory { path, .. } => {
                check_name(&object, file_name)?;
                let file = open_regular(&path.join(file_name), access)
                    .map_err(|error| Error::os(&object, "cannot open", error))?;
                Arc::new(file)
            }
        };
        Pool::map(object, self.pool_path(file_name), file, access, self.0.plan)
    }

    /// Opens the file of a pool with an open file description of its own, so that it can be locked
    /// against others in this process too.
    pub(crate) fn open_file(&self, file_name: &str, access: Access) -> Result<File> {
        if access == Access::ReadWrite {
            self.check_writable()?;
        }
        let object = self.object(file_name);
        check_name(&object, file_name)?;
        let path = match &self.0.place {
            Place::Memory(_) => {
                let file = self.memory_file(file_name)?;
                PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
            }
            Place::Directory { path, .. } => path.join(file_name),
        };
        open_regular(&path, access).map_err(|error| Error::os(&object, "cannot open", error))
    }

    /// Maps a file of this domain that is already open.
    pub(crate) fn map_file(&self, file_name: &str, file: File, access: Access) -> Result<Pool> {
        let path = self.pool_path(file_name);
        Pool::map(self.object(file_name), path, Arc::new(file), access, self.0.plan)
    }

    /// Begins an immutable pool. It exists as a file at once, and as a pool when it is finished.
    ///
    /// # Errors
    /// As for [`Domain::create_pool`].
    pub fn append_pool(&self, file_name: &str) -> Result<PoolAppender> {
        let file = self.create_file(file_name)?;
        let object = self.object(file_name);
        let plan = self.0.plan;
        Ok(PoolAppender::new(self.clone(), file_name.to_string(), object, file, plan))
    }

    /// Removes a pool. Mappings of it stay valid until they are dropped.
    ///
    /// The removal itself is not made durable, so that opening after a crash need not wait for the
    /// file system's journal: after a power cut the file may be there again, and whoever opens the
    /// domain removes files that nothing names.
    ///
    /// # Errors
    /// `NotFound`, `ReadOnly`, `PermissionDenied`, `Io`.
    pub fn remove_pool(&self, file_name: &str) -> Result<()> {
        self.check_writable()?;
        let object = self.object(file_name);
        check_name(&object, file_name)?;
        match &self.0.place {
            Place::Memory(pools) => match lock(pools).remove(file_name) {
                Some(_) => {
                    sim::removed(self.identity(), file_name);
                    Ok(())
                }
                None => Err(Error::os(&object, "cannot remove", Errno::NOENT)),
            },
            Place::Directory { path, .. } => fs::remove_file(path.join(file_name))
                .map_err(|error| Error::os(&object, "cannot remove", error)),
        }
    }

    /// Renames a pool in one step. A pool that has the new name is replaced.
    ///
    /// # Errors
    /// `NotFound`, `InvalidName`, `ReadOnly`, `PermissionDenied`, `Io`.
    pub fn rename_pool(&self, from: &str, to: &str) -> Result<()> {
        self.check_writable()?;
        let object = self.object(from);
        check_name(&object, from)?;
        check_name(&self.object(to), to)?;
        let action = format!("cannot rename to {to}");
        match &self.0.place {
            Place::Memory(pools) => {
                let mut pools = lock(pools);
                let Some(file) = pools.remove(from) else {
                    return Err(Error::os(&object, &action, Errno::NOENT));
                };
                pools.insert(to.to_string(), file);
                sim::renamed(self.identity(), from, to);
                drop(pools);
                self.sync_directory()
            }
            Place::Directory { path, .. } => {
                fs::rename(path.join(from), path.join(to))
                    .map_err(|error| Error::os(&object, &action, error))?;
                self.sync_directory()
            }
        }
    }

    /// Returns the names of all files that can be pools, in order. Which of them mean anything is
    /// for the manifest to say.
    ///
    /// # Errors
    /// `PermissionDenied`, `Io`.
    pub fn list_pools(&self) -> Result<Vec<String>> {
        match &self.0.place {
            Place::Memory(pools) => Ok(lock(pools).keys().cloned().collect()),
            Place::Directory { path, .. } => {
                list_files(path).map_err(|error| Error::os(directory(path), "cannot list", error))
            }
        }
    }

    /// Returns the size of a pool without mapping it.
    ///
    /// # Errors
    /// `NotFound`, `IsDirectory`, `NotAFile`, `PermissionDenied`, `Io`.
    pub fn pool_bytes(&self, file_name: &str) -> Result<u64> {
        let object = self.object(file_name);
        let metadata = match &self.0.place {
            Place::Memory(_) => self.memory_file(file_name)?.metadata(),
            Place::Directory { path, .. } => {
                check_name(&object, file_name)?;
                fs::metadata(path.join(file_name)).and_then(regular)
            }
        };
        let metadata =
            metadata.map_err(|error| Error::os(&object, "cannot read its size", error))?;
        Ok(metadata.len())
    }

    /// Whether there is a pool of that name.
    ///
    /// # Errors
    /// `IsDirectory`, `NotAFile`, `InvalidName`, `PermissionDenied`, `Io`.
    pub fn exists(&self, file_name: &str) -> Result<bool> {
        match self.pool_bytes(file_name) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Identifies the domain among all that exist.
    pub(crate) fn identity(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Makes an empty domain in memory whose pools follow `plan`, for the crash simulator.
    #[cfg(feature = "sim")]
    pub(crate) fn simulated(name: &str, plan: Plan) -> Domain {
        ignore_file_size_signal();
        Domain(Arc::new(Inner {
            name: name.to_string(),
            place: Place::Memory(Mutex::new(BTreeMap::new())),
            access: Access::ReadWrite,
            plan,
            numa_node: None,
            file_system: "memory".to_string(),
            settings: Settings::default(),
        }))
    }

    /// Returns the files of a domain in memory.
    #[cfg(feature = "sim")]
    pub(crate) fn memory_files(&self) -> BTreeMap<String, Arc<File>> {
        match &self.0.place {
            Place::Memory(pools) => lock(pools).clone(),
            Place::Directory { .. } => BTreeMap::new(),
        }
    }

    /// Replaces the files of a domain in memory.
    #[cfg(feature = "sim")]
    pub(crate) fn set_memory_files(&self, files: BTreeMap<String, Arc<File>>) {
        if let Place::Memory(pools) = &self.0.place {
            *lock(pools) = files;
        }
    }

    /// Makes the directory's entries durable.
    pub(crate) fn sync_directory(&self) -> Result<()> {
        let Place::Directory { path, handle } = &self.0.place else {
            sim::directory_synced(self.identity());
            return Ok(());
        };
        if !self.0.plan.syncs {
            return Ok(());
        }
        // PERSIST: entries made or removed so far are durable; the caller may publish their names.
        sync_entries(handle)
            .map_err(|error| Error::os(directory(path), "cannot synchronise", error))
    }

    /// Creates the file of a new pool, which must not exist.
    fn create_file(&self, file_name: &str) -> Result<Arc<File>> {
        self.check_writable()?;
        let object = self.object(file_name);
        check_name(&object, file_name)?;
        let result = match &self.0.place {
            Place::Memory(pools) => {
                let mut pools = lock(pools);
                if pools.contains_key(file_name) {
                    return Err(Error::os(&object, "cannot create", Errno::EXIST));
                }
                memory_file(file_name).map(|file| {
                    let file = Arc::new(file);
                    sim::created(self.identity(), file_name, &file);
                    pools.insert(file_name.to_string(), Arc::clone(&file));
                    file
                })
            }
            Place::Directory { path, .. } => fs::metadata(path).and_then(|directory| {
                // Others may not read it; the owner's group may if it may read the directory.
                let mode = directory.permissions().mode() & 0o060 | 0o600;
                let mut options = File::options();
                options.read(true).write(true).create_new(true).mode(mode);
                options.open(path.join(file_name)).map(Arc::new)
            }),
        };
        result.map_err(|error| Error::os(&object, "cannot create", error))
    }

    fn memory_file(&self, file_name: &str) -> Result<Arc<File>> {
        let file = match &self.0.place {
            Place::Memory(pools) => lock(pools).get(file_name).cloned(),
            Place::Directory { .. } => None,
        };
        file.ok_or_else(|| Error::os(self.object(file_name), "cannot open", Errno::NOENT))
    }

    /// Refuses a domain that was opened read-only.
    pub(crate) fn check_writable(&self) -> Result<()> {
        match self.0.access {
            Access::ReadWrite => Ok(()),
            Access::ReadOnly => Err(Error::new(
                ErrorKind::ReadOnly,
                format_args!("domain {}", self.0.name),
                "it was opened read-only",
                "open it for writing",
            )),
        }
    }

    fn pool_path(&self, file_name: &str) -> Option<PathBuf> {
        self.path().map(|path| path.join(file_name))
    }

    /// Returns how messages name a pool.
    pub(crate) fn object(&self, file_name: &str) -> String {
        match &self.0.place {
            Place::Directory { path, .. } => format!("pool {}", path.join(file_name).display()),
            Place::Memory(_) => format!("pool {file_name} of dram domain {}", self.0.name),
        }
    }
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} domain {}", self.kind(), self.0.name)?;
        if let Some(path) = self.path() {
            write!(f, " at {}", path.display())?;
        }
        Ok(())
    }
}

fn lock(pools: &Mutex<BTreeMap<String, Arc<File>>>) -> MutexGuard<'_, BTreeMap<String, Arc<File>>> {
    pools.lock().unwrap_or_else(PoisonError::into_inner)
}

fn directory(path: &Path) -> String {
    format!("directory {}", path.display())
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| Error::os(directory(path), "cannot resolve", error))
}

fn check_name(object: &str, file_name: &str) -> Result<()> {
    let problem = match file_name {
        "" => "the name is empty",
        name if name.starts_with('.') => "the name begins with a dot",
        name if name.contains(['/', '\0']) => "the name is no single path component",
        name if name.len() > NAME_BYTES_MAX => "the name is longer than 255 bytes",
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::InvalidName, object, problem, "choose another name"))
}

fn memory_file(name: &str) -> io::Result<File> {
    // The name is only shown in /proc; it may be at most 249 bytes long there.
    let shown: String = name.chars().filter(char::is_ascii_graphic).take(64).collect();
    Ok(File::from(rustix::fs::memfd_create(shown, MemfdFlags::CLOEXEC)?))
}
