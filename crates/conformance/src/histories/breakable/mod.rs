//! A small writer that can be broken on purpose, to show that the checker would notice.
//!
//! It has the shape of the embedded ledger (decide in memory, commit in batches, answer after the commit, reload
//! after a crash) and decides with the domain's own `decide`; it keeps its disk in a list and its time in a number.
//! Sound, its histories are valid; with any [`Bug`] they are not. Nothing in production code knows of this.

mod desk;
mod run;

pub use run::run;

/// What is wrong with the writer. Each is a mistake that real booking systems have made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Holds are decided on what was committed when they arrived and written without looking again: the race that
    /// every double booking begins with.
    SkipsTheRecheck,
    /// Two processes own the books, each with its own memory: the lock on the folder is missing.
    LetsTwoWritersIn,
    /// A yes goes out when it is decided, not when it is durable.
    AnswersBeforeTheCommit,
    /// A no that leans on a yes of the same batch goes out at once; then the commit fails.
    RefusesOnAnUnwrittenYes,
    /// Now and then a yes is never written at all.
    LosesAWrite,
    /// After a crash the last batch is taken in twice.
    ReplaysTheLastBatchTwice,
    /// Confirming does not look at the expiry.
    ConfirmsTheExpired,
    /// Extending does not look at the expiry.
    RevivesTheExpired,
    /// Placing takes holds for expired a little early.
    TakesTheUnexpired,
    /// Holds stand in the way until a sweep has written their expiry down.
    ExpiresOnlyWhenSwept,
    /// After a crash the clock is behind where it was.
    LetsTheClockGoBack,
    /// The last line of a hold over several is not written.
    DropsALine,
    /// The lines of a hold are taken one by one, and kept when a later one cannot be had.
    TakesLinesOneByOne,
    /// A release is acknowledged and does nothing.
    ForgetsTheRelease,
    /// A cancel is acknowledged and frees nothing.
    ForgetsTheCancel,
    /// Every release of stock adds to the count, the second of the same hold too.
    AddsBackBlindly,
    /// A second confirm makes a second booking.
    BooksTwice,
    /// Answers are found by key alone, whoever's it is.
    SharesKeysBetweenCallers,
    /// Used keys are not kept.
    ForgetsKeys,
    /// Two answers of a batch go to each other's askers.
    SwapsAnswers,
    /// Reads are served from a copy that is refreshed now and then.
    ReadsAStaleCopy,
}

impl Bug {
    pub const ALL: [Self; 21] = [
        Self::SkipsTheRecheck,
        Self::LetsTwoWritersIn,
        Self::AnswersBeforeTheCommit,
        Self::RefusesOnAnUnwrittenYes,
        Self::LosesAWrite,
        Self::ReplaysTheLastBatchTwice,
        Self::ConfirmsTheExpired,
        Self::RevivesTheExpired,
        Self::TakesTheUnexpired,
        Self::ExpiresOnlyWhenSwept,
        Self::LetsTheClockGoBack,
        Self::DropsALine,
        Self::TakesLinesOneByOne,
        Self::ForgetsTheRelease,
        Self::ForgetsTheCancel,
        Self::AddsBackBlindly,
        Self::BooksTwice,
        Self::SharesKeysBetweenCallers,
        Self::ForgetsKeys,
        Self::SwapsAnswers,
        Self::ReadsAStaleCopy,
    ];
}
