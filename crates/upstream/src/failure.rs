//! Why a link gave no result, and above all whether the server may have run the request.

use toolgrove_core::Error;

#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// Trying again would tell nothing new.
    Final(Error),
    /// The server answered with this HTTP status.
    Refused { status: u16, error: Error },
    /// The server has not taken it: its session is gone, or the link was closed before anything was sent.
    Untaken(Error),
    /// The server has not taken it because it speaks the other era now.
    OtherEra(Error),
    /// It was sent, and no answer will come. Whether it ran nobody knows.
    Lost(Error),
}

impl Failure {
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Final(error)
            | Self::Refused { error, .. }
            | Self::Untaken(error)
            | Self::OtherEra(error)
            | Self::Lost(error) => error,
        }
    }

    /// Whether the server, or whoever keeps its tokens, lets nobody in. An outage is no refusal.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self.error(), Error::NeedsReauth { .. }) || matches!(self, Self::Refused { .. })
    }

    pub(crate) fn error(&self) -> &Error {
        match self {
            Self::Final(error)
            | Self::Refused { error, .. }
            | Self::Untaken(error)
            | Self::OtherEra(error)
            | Self::Lost(error) => error,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}
