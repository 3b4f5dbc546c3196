//! Says in the log and in a gauge whether a server is there. Each loss and each return is said once, however often the
//! breaker tries in between. Told by the breaker, under its lock, so that what is said last is what is so.

use metrics::Gauge;

#[derive(Debug)]
pub(super) struct Herald {
    /// Without user and password.
    server: String,
    said: Said,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Nothing,
    There,
    Gone,
}

impl Herald {
    pub(super) fn of(server: String) -> Self {
        let herald = Self { server, said: Said::Nothing };
        herald.gauge().set(0.0);
        herald
    }

    /// Looked up each time: it changes rarely, and a recorder may be installed late.
    fn gauge(&self) -> Gauge {
        metrics::gauge!("holdfast_gate_up", "server" => self.server.clone())
    }

    pub(super) fn is_there(&mut self) {
        match self.said {
            Said::There => return,
            // The first meeting is what everybody expects.
            Said::Nothing => tracing::debug!(server = %self.server, "the gate has met its Redis"),
            Said::Gone => tracing::info!(server = %self.server, "Redis is back"),
        }
        self.said = Said::There;
        self.gauge().set(1.0);
    }

    pub(super) fn is_gone(&mut self) {
        if self.said != Said::Gone {
            self.said = Said::Gone;
            self.gauge().set(0.0);
            tracing::warn!(server = %self.server, "Redis is out of reach; bookings go on without it");
        }
    }
}
