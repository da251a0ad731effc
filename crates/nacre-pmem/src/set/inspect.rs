//! Judgement of the members by whoever knows what their bytes mean, before they are made equal.
//!
//! Recovery takes the first good member for the truth about what a crash left different. If the
//! bytes of that one are damaged and those of another are not, only checksums inside the data can
//! tell: [`PoolSet::open_inspected`] asks before anything is copied.

use crate::domain::{Access, Domain};
use crate::error::{Error, Result};
use crate::set::member::MemberCondition;
use crate::set::open::Found;
use crate::set::pool_set::PoolSet;

/// What is to be done about the members before they are made equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Number of the member that is the truth where members differ, instead of the first good one.
    pub truth: Option<u32>,
    /// Numbers of damaged members and what is wrong with each: see [`PoolSet::distrust`].
    pub damaged: Vec<(u32, String)>,
}

impl PoolSet {
    /// As [`PoolSet::open`]; `inspect` sees the members before anything is changed, whatever the
    /// access, and says which of them not to follow. [`PoolSet::is_unclean`] tells it whether the
    /// members may differ by a crash.
    ///
    /// # Errors
    /// As for [`PoolSet::open`] and [`PoolSet::distrust`], and those of `inspect`, after which
    /// nothing is changed.
    pub fn open_inspected<E: From<Error>>(
        name: &str,
        domains: &[Domain],
        access: Access,
        inspect: impl FnOnce(&PoolSet) -> std::result::Result<Verdict, E>,
    ) -> std::result::Result<PoolSet, E> {
        let Found { mut set, mut holes, leftovers } = PoolSet::find(name, domains, access)?;
        let verdict = inspect(&set)?;
        // Until all members are equal, the end of a failed opening must not say that they are.
        set.is_abandoned = true;
        set.follow(&verdict)?;
        holes.retain(|(index, _)| verdict.damaged.iter().all(|(damaged, _)| damaged != index));
        set.begin(&holes, verdict.truth.is_some())?;
        set.is_abandoned = false;
        if access == Access::ReadWrite {
            for leftover in leftovers {
                // It is in nobody's way, and looked for again next time.
                let _ = leftover.domain.remove_pool(&leftover.file_name);
            }
        }
        Ok(set)
    }

    /// Returns number and condition of each member; cheaper than [`PoolSet::member_states`].
    pub fn member_conditions(&self) -> Vec<(u32, MemberCondition)> {
        self.members.iter().map(|member| (member.index, member.condition)).collect()
    }

    /// Whether a member was found in the domain of that name, or is being built there.
    pub fn has_member_in(&self, domain_name: &str) -> bool {
        self.members.iter().any(|member| {
            member.condition != MemberCondition::Missing
                && member.domain.as_ref().is_some_and(|domain| domain.name() == domain_name)
        })
    }

    /// Returns whether the member with the number `index` lost bytes since it was mapped, for
    /// callers of [`PoolSet::read_member`] after they have read.
    ///
    /// # Errors
    /// `Lost` naming file and offset; `NoReplica` if there is no member of that number.
    pub fn check_member(&self, index: u32) -> Result<()> {
        let position = self.position(index)?;
        self.members[position].mapped()?.check()
    }

    fn follow(&mut self, verdict: &Verdict) -> Result<()> {
        for (index, reason) in &verdict.damaged {
            self.distrust(*index, reason)?;
        }
        if let Some(index) = verdict.truth {
            let position = self.position(index)?;
            if !self.members[position].is_good() {
                return Err(self.no_replica(&format!("member {index} is not good")));
            }
            self.serve(position);
        }
        Ok(())
    }
}
