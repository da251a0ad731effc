//! Functions that others bring along: a kernel over vectors, called as one step.

use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::control::QueryControl;
use crate::error::ExecResult;
use crate::memory::MemoryReservation;
use crate::value::{IntBounds, ValueClass};
use crate::vector::{BitVector, ColumnVector, VectorValues};

/// What a kernel gets.
#[derive(Debug)]
pub struct ForeignCall<'c> {
    pub arguments: Vec<&'c ColumnVector>,
    /// Rows of each argument and of the result.
    pub rows: usize,
    /// Rows that reach the call; `None` if all do. It may raise errors for these alone.
    pub active: Option<&'c BitVector>,
    /// Memory for the result.
    pub room: CallRoom<'c>,
}

/// The memory that the strings of a call's result may take.
#[derive(Debug)]
pub struct CallRoom<'c> {
    memory: RefCell<&'c mut MemoryReservation>,
    /// The other columns of the operator, whose strings it holds beside them.
    others: &'c [ColumnVector],
    /// Bytes of these strings, once asked for.
    other_bytes: OnceCell<usize>,
    control: &'c QueryControl,
}

impl<'c> CallRoom<'c> {
    pub(crate) fn new(
        memory: &'c mut MemoryReservation,
        others: &'c [ColumnVector],
        control: &'c QueryControl,
    ) -> Self {
        Self { memory: RefCell::new(memory), others, other_bytes: OnceCell::new(), control }
    }

    /// Fails if the query is to end.
    ///
    /// # Errors
    /// As [`QueryControl::check`].
    pub(crate) fn check(&self) -> ExecResult<()> {
        self.control.check()
    }

    /// Asks for the bytes that the result takes by now.
    ///
    /// # Errors
    /// [`crate::ExecError::OutOfMemory`].
    pub fn ask(&self, bytes: usize) -> ExecResult<()> {
        let others = *self.other_bytes.get_or_init(|| self.other_bytes());
        self.memory.borrow_mut().resize(others.saturating_add(bytes))
    }

    fn other_bytes(&self) -> usize {
        let bytes = self.others.iter().map(|column| match &column.values {
            VectorValues::Bytes(strings) => strings.bytes(),
            _ => 0,
        });
        bytes.sum()
    }
}

/// Computes the result of a call into the vector, which is of the function's type and whose
/// validity is `None`. It may call for all rows or for the active ones; the others are not looked
/// at.
pub type ForeignKernel = fn(&ForeignCall<'_>, &mut ColumnVector) -> ExecResult<()>;

/// As [`ForeignKernel`], but it may carry data.
type KernelObject = dyn Fn(&ForeignCall<'_>, &mut ColumnVector) -> ExecResult<()> + Send + Sync;

/// A function of the query's own.
#[derive(Clone)]
pub struct ForeignFunction {
    parts: Arc<FunctionParts>,
    /// Whether equal arguments may give different results.
    is_volatile: bool,
}

struct FunctionParts {
    name: String,
    kernel: Box<KernelObject>,
    result: ValueClass,
    bounds: IntBounds,
    is_nullable: bool,
}

impl ForeignFunction {
    /// Makes a function whose results lie in `bounds` if they are whole numbers. The kernel is a
    /// [`ForeignKernel`], or a closure like one.
    pub fn new<K>(
        name: impl Into<String>,
        kernel: K,
        result: ValueClass,
        bounds: IntBounds,
        is_nullable: bool,
    ) -> Self
    where
        K: Fn(&ForeignCall<'_>, &mut ColumnVector) -> ExecResult<()> + Send + Sync + 'static,
    {
        let (name, kernel) = (name.into(), Box::new(kernel));
        let parts = Arc::new(FunctionParts { name, kernel, result, bounds, is_nullable });
        Self { parts, is_volatile: false }
    }

    /// Says whether equal arguments may give different results.
    pub(crate) fn with_volatility(self, is_volatile: bool) -> Self {
        Self { is_volatile, ..self }
    }

    pub(crate) fn is_volatile(&self) -> bool {
        self.is_volatile
    }

    /// Returns the class of results.
    pub fn result(&self) -> ValueClass {
        self.parts.result
    }

    pub(crate) fn bounds(&self) -> IntBounds {
        self.parts.bounds
    }

    pub(crate) fn is_nullable(&self) -> bool {
        self.parts.is_nullable
    }

    /// Computes a call.
    ///
    /// # Errors
    /// Those of the kernel.
    pub(crate) fn call(&self, call: &ForeignCall<'_>, out: &mut ColumnVector) -> ExecResult<()> {
        (self.parts.kernel)(call, out)
    }
}

impl fmt::Debug for ForeignFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts.name)
    }
}

impl PartialEq for ForeignFunction {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.parts, &other.parts)
    }
}

impl Eq for ForeignFunction {}

impl Hash for ForeignFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.parts).hash(state);
    }
}
