//! The functions of the driver that generated code calls by name.

use crate::c_type::{CResult, CType, Signature};

macro_rules! hooks {
    ($($(#[$doc:meta])* $variant:ident = $name:literal ($($param:ident),*) -> $result:expr;)*) => {
        /// A function that every device provides to generated code.
        ///
        /// A kernel that can reach a waiting hook must be described as one that may wait, one that can reach a failing
        /// hook as one that can fail. A failure abandons the program's stack without unwinding it, which only works on
        /// a fiber: called outside one it aborts the process. Sites may be null everywhere.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Hook {
            $($(#[$doc])* #[doc = concat!("\n\n`", $name, "(", stringify!($($param),*), ")`")] $variant,)*
        }

        impl Hook {
            /// All hooks.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The symbol in the object.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The C type.
            #[must_use]
            pub const fn signature(self) -> Signature {
                match self {
                    $(Self::$variant => Signature { params: &[$(CType::$param),*], result: $result }),*
                }
            }
        }
    };
}

hooks! {
    /// Waits: a scheduling point inside a loop that only looks at memory. Lets other programs run, then returns. A program
    /// that keeps calling it without [passing](crate::Context::passed) a wait is taken to wait in vain after the launch's
    /// wait timeout.
    Yield = "shoal_yield" (Context, Site) -> CResult::Void;
    /// Waits: the same, for a number in memory, so that a stuck launch can say on what. Called between two looks at it,
    /// also if the program would give up later. Takes the address, the expected bits, the
    /// [kind](crate::print::PrintKind) of the number, and the [condition](crate::WaitCondition), with
    /// [`OR_IN_TIME`](crate::WaitCondition::OR_IN_TIME) if the program would. A loop that watches memory and may end by itself
    /// calls it so, with a null address.
    Wait = "shoal_wait" (Context, Site, Bytes, U64, U32, U32) -> CResult::Void;
    /// The fuel is used up: gives more, and says whether the program is to end (not 0). Any program may call it, on a
    /// fiber or not.
    CheckStop = "shoal_check_stop" (Context) -> CResult::Value(CType::I32);
    /// Monotonic time in nanoseconds, for timeouts.
    ClockNs = "shoal_clock_ns" () -> CResult::Value(CType::U64);
    /// The address of four 32-bit words that the programs of the launch share, zero when it starts.
    GridWords = "shoal_grid_words" (Context) -> CResult::Value(CType::U64);
    /// Fails: a `device_assert` that does not hold or a run-time trap, with a message and its length; ends the launch.
    Fail = "shoal_fail" (Context, Site, Text, U64) -> CResult::Never;
    /// Prints one operand of a `device_print`: its prefix and the prefix's length, the
    /// [kind](crate::print::PrintKind) of the elements, the [flags](crate::print::PrintFlags), the elements in
    /// row-major order, the rank and the extents. A scalar has rank 0.
    PrintValue = "shoal_print_value" (Context, Site, Text, U64, U32, U32, Bytes, U32, U32s) -> CResult::Void;
    /// Prints a `device_print` without operands: a text and its length.
    PrintText = "shoal_print_text" (Context, Site, Text, U64) -> CResult::Void;
    /// Fails outside of a world: this rank's number; along a mesh axis, if the number is not negative.
    Rank = "shoal_rank" (Context, Site, I32) -> CResult::Value(CType::I32);
    /// Fails outside of a world: the number of ranks; along a mesh axis, if the number is not negative.
    NumRanks = "shoal_num_ranks" (Context, Site, I32) -> CResult::Value(CType::I32);
    /// Fails where there is no such place: an address and a rank's number, to the same place as that rank has it. The
    /// last number says [how far away](crate::Reach) it may be.
    SymmAt = "shoal_symm_at" (Context, Site, U64, I32, U32) -> CResult::Value(CType::U64);
    /// Fails for a team that the rank is not in: its place in the team.
    TeamRank = "shoal_team_rank" (Context, Site, I32) -> CResult::Value(CType::I32);
    /// Fails for a team that the rank is not in: the number of its members.
    TeamSize = "shoal_team_size" (Context, Site, I32) -> CResult::Value(CType::I32);
    /// Fails where there is no such team or member: a team, a member of it and another team, to its place there, or -1.
    TeamTranslate = "shoal_team_translate" (Context, Site, I32, I32, I32) -> CResult::Value(CType::I32);
    /// Fails where there is no such place: copies from this rank's memory to another's heap. Takes the target, the
    /// source, the number of bytes and the rank.
    Put = "shoal_put" (Context, Site, U64, U64, U64, I32) -> CResult::Void;
    /// Fails where there is no such place: copies from another rank's heap to this rank's memory. Takes the target, the
    /// source, the number of bytes and the rank.
    Get = "shoal_get" (Context, Site, U64, U64, U64, I32) -> CResult::Void;
    /// Fails where there is no such place: changes a 64-bit word of another rank's heap, after all that the program did
    /// there before. Takes the word, the signal, the [change](crate::SignalChange) and the rank.
    Signal = "shoal_signal" (Context, Site, U64, U64, U32, I32) -> CResult::Void;
    /// The same, after all that the program did before at any rank.
    Notify = "shoal_notify" (Context, Site, U64, U64, U32, I32) -> CResult::Void;
    /// Waits, and fails where there is no word: until a 64-bit word of this rank compares with a number. Takes the word,
    /// the number and the [condition](crate::WaitCondition).
    SignalWait = "shoal_signal_wait" (Context, Site, U64, U64, U32) -> CResult::Void;
    /// All that the program has put is delivered before what it puts later.
    Fence = "shoal_fence" (Context) -> CResult::Void;
    /// All that the program has put or asked for is delivered.
    Quiet = "shoal_quiet" (Context) -> CResult::Void;
    /// Waits, and fails for a team that the rank is not in: until all members have come. What was put before is
    /// delivered.
    TeamBarrier = "shoal_team_barrier" (Context, Site, I32) -> CResult::Void;
    /// Fails where there is no such place: the same part of every member's heap, one after another. Takes the team, the
    /// target, the source and the bytes of each part.
    Collect = "shoal_collect" (Context, Site, I32, U64, U64, U64) -> CResult::Void;
    /// Fails unless the launch may access all addresses `first + i * step` whose bit `i` is set in `mask`; the numbers
    /// are `first`, `step`, `mask`.
    CheckRange = "shoal_check_range" (Context, CheckedAccess, U64, I64, U64) -> CResult::Void;
    /// Fails likewise for the addresses of up to 64 lanes; the number is the mask.
    CheckEach = "shoal_check_each" (Context, CheckedAccess, U64s, U64) -> CResult::Void;
}

impl Hook {
    /// The hook's declaration in C.
    #[must_use]
    pub fn declaration(self) -> String {
        self.signature().declaration(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn hooks_have_names_of_their_own_and_declarations() {
        let names: HashSet<&str> = Hook::ALL.iter().map(|hook| hook.name()).collect();
        assert_eq!(names.len(), Hook::ALL.len());
        assert!(names.iter().all(|name| name.starts_with("shoal_")));
        assert_eq!(
            Hook::Fail.declaration(),
            "_Noreturn void shoal_fail(Context *, const Site *, const char *, uint64_t);"
        );
        assert_eq!(Hook::ClockNs.declaration(), "uint64_t shoal_clock_ns(void);");
    }
}
