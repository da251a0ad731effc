//! The instruction-set variants of a kernel, what this processor has, and what the user forces.

use std::env;
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

/// Environment variable that forces a flavour: `scalar`, `sse4.2`, `avx2`, `avx512` or `neon`.
pub const SIMD_VARIABLE: &str = "NACRE_SIMD";

/// Names one instruction-set variant of every kernel, narrowest first within an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flavour {
    /// What every processor of the target architecture has (SSE2 on x86-64).
    Scalar,
    /// SSE4.2 and POPCNT: 128-bit registers.
    Sse42,
    /// AVX2, BMI and LZCNT: 256-bit registers.
    Avx2,
    /// AVX-512 F, BW, CD, DQ and VL: 512-bit registers.
    Avx512,
    /// AArch64 Advanced SIMD: 128-bit registers.
    Neon,
}

/// Says why a text names no flavour that can run here.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlavourError {
    /// No flavour has this name.
    Unknown { name: String },
    /// The flavour exists; this processor or operating system lacks it.
    Unavailable { flavour: Flavour, best: Flavour },
}

impl Flavour {
    /// Every flavour of the target architecture, narrowest first. Each includes all before it.
    #[cfg(target_arch = "x86_64")]
    pub const ALL: &[Self] = &[Self::Scalar, Self::Sse42, Self::Avx2, Self::Avx512];
    /// Every flavour of the target architecture, narrowest first. Each includes all before it.
    #[cfg(target_arch = "aarch64")]
    pub const ALL: &[Self] = &[Self::Scalar, Self::Neon];
    /// Every flavour of the target architecture, narrowest first. Each includes all before it.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub const ALL: &[Self] = &[Self::Scalar];

    /// Every flavour of every architecture.
    const NAMED: [Self; 5] = [Self::Scalar, Self::Sse42, Self::Avx2, Self::Avx512, Self::Neon];

    /// Returns the widest flavour that this processor has.
    pub fn best() -> Self {
        static BEST: OnceLock<Flavour> = OnceLock::new();
        *BEST.get_or_init(detect)
    }

    /// Returns the flavour that kernels use unless told otherwise: what [`SIMD_VARIABLE`] says, or
    /// [`Flavour::best`] when it is unset or cannot be followed. Read once per process.
    pub fn active() -> Self {
        static ACTIVE: OnceLock<Flavour> = OnceLock::new();
        *ACTIVE.get_or_init(|| Self::from_env().unwrap_or_else(|_| Self::best()))
    }

    /// Reads [`SIMD_VARIABLE`]; unset or empty means [`Flavour::best`].
    ///
    /// # Errors
    /// If the variable names no flavour, or one that this processor lacks. Tell the user.
    pub fn from_env() -> Result<Self, FlavourError> {
        match env::var_os(SIMD_VARIABLE) {
            Some(name) if !name.is_empty() => Self::usable_by_name(&name.to_string_lossy()),
            _ => Ok(Self::best()),
        }
    }

    /// Returns the flavours that this processor has, narrowest first.
    pub fn available() -> Vec<Self> {
        Self::ALL.iter().copied().filter(|flavour| flavour.is_available()).collect()
    }

    /// Tells whether this processor has the flavour.
    #[inline]
    pub fn is_available(self) -> bool {
        Self::ALL.contains(&self) && self <= Self::best()
    }

    /// Returns this flavour, or the best one if the processor lacks it.
    #[inline]
    pub(crate) fn or_best(self) -> Self {
        if self.is_available() { self } else { Self::best() }
    }

    /// Returns the name that [`FromStr`] and [`SIMD_VARIABLE`] take.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Sse42 => "sse4.2",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }

    fn usable_by_name(name: &str) -> Result<Self, FlavourError> {
        let flavour: Self = name.parse()?;
        if flavour.is_available() {
            Ok(flavour)
        } else {
            Err(FlavourError::Unavailable { flavour, best: Self::best() })
        }
    }
}

/// Finds the widest flavour all of whose features, and those of all narrower ones, are there.
#[cfg(target_arch = "x86_64")]
fn detect() -> Flavour {
    use std::arch::is_x86_feature_detected as has;

    let sse42 = has!("sse3") && has!("ssse3") && has!("sse4.1") && has!("sse4.2") && has!("popcnt");
    let avx2 =
        sse42 && has!("avx") && has!("avx2") && has!("bmi1") && has!("bmi2") && has!("lzcnt");
    let avx512 = avx2
        && has!("avx512f")
        && has!("avx512bw")
        && has!("avx512cd")
        && has!("avx512dq")
        && has!("avx512vl");
    match (sse42, avx2, avx512) {
        (_, _, true) => Flavour::Avx512,
        (_, true, _) => Flavour::Avx2,
        (true, _, _) => Flavour::Sse42,
        _ => Flavour::Scalar,
    }
}

/// What every processor of the architecture has is all that these architectures have flavours for.
#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Flavour {
    Flavour::ALL[Flavour::ALL.len() - 1]
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Flavour {
    type Err = FlavourError;

    fn from_str(name: &str) -> Result<Self, FlavourError> {
        Self::NAMED
            .into_iter()
            .find(|flavour| flavour.name() == name)
            .ok_or_else(|| FlavourError::Unknown { name: name.to_owned() })
    }
}

impl fmt::Display for FlavourError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => {
                write!(f, "no SIMD flavour is called {name:?}; use ")?;
                for (index, flavour) in Flavour::NAMED.into_iter().enumerate() {
                    let separator = ["", ", ", ", ", ", ", " or "][index];
                    write!(f, "{separator}{flavour}")?;
                }
                Ok(())
            }
            Self::Unavailable { flavour, best } => write!(
                f,
                "this processor lacks SIMD flavour {flavour}; the widest it has is {best}"
            ),
        }
    }
}

impl std::error::Error for FlavourError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_back() {
        for flavour in Flavour::NAMED {
            assert_eq!(flavour.to_string().parse(), Ok(flavour));
        }
    }

    #[test]
    fn unknown_name_is_refused_with_the_names_that_exist() {
        let error = Flavour::usable_by_name("avx9").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no SIMD flavour is called \"avx9\"; use scalar, sse4.2, avx2, avx512 or neon"
        );
    }

    #[test]
    fn unavailable_flavour_is_refused_with_the_widest_there_is() {
        let error = FlavourError::Unavailable { flavour: Flavour::Avx512, best: Flavour::Sse42 };
        assert_eq!(
            error.to_string(),
            "this processor lacks SIMD flavour avx512; the widest it has is sse4.2"
        );
    }

    #[test]
    fn available_flavours_start_with_scalar_and_end_with_the_best() {
        let available = Flavour::available();
        assert_eq!(available.first(), Some(&Flavour::Scalar));
        assert_eq!(available.last(), Some(&Flavour::best()));
        assert!(Flavour::active().is_available());
    }
}
