//! A payment as bytes.

use holdfast_domain::{IntentId, Payment, PaymentMethod, PaymentState, Provider, Reason};

use super::wire::{Malformed, Reader, Writer};

impl Writer<'_> {
    pub fn payment_state(&mut self, state: PaymentState) {
        self.byte(match state {
            PaymentState::RequiresPayment => 0,
            PaymentState::Processing => 1,
            PaymentState::Authorized => 2,
            PaymentState::Succeeded => 3,
            PaymentState::Refunding => 4,
            PaymentState::Refunded => 5,
            PaymentState::Failed => 6,
            PaymentState::Manual => 7,
        });
    }

    pub fn payment(&mut self, payment: &Payment) {
        self.byte(match payment.provider {
            Provider::Stripe => 0,
        });
        self.payment_state(payment.state);
        self.option(payment.method.as_ref(), |to, method| to.text(method.as_str()));
        self.option(payment.intent.as_ref(), |to, intent| to.text(intent.as_str()));
        self.uint(payment.attempts);
        self.option(payment.due_at, Self::moment);
        self.money(payment.captured);
        self.money(payment.refunded);
        self.option(payment.why.as_ref(), |to, why| to.text(why.as_str()));
    }
}

impl Reader<'_> {
    pub fn payment_state(&mut self) -> Result<PaymentState, Malformed> {
        Ok(match self.byte()? {
            0 => PaymentState::RequiresPayment,
            1 => PaymentState::Processing,
            2 => PaymentState::Authorized,
            3 => PaymentState::Succeeded,
            4 => PaymentState::Refunding,
            5 => PaymentState::Refunded,
            6 => PaymentState::Failed,
            7 => PaymentState::Manual,
            _ => return Err(self.fault("no such state of a payment")),
        })
    }

    pub fn intent(&mut self) -> Result<IntentId, Malformed> {
        let intent = IntentId::new(self.text()?);
        self.checked(intent)
    }

    pub fn method(&mut self) -> Result<PaymentMethod, Malformed> {
        let method = PaymentMethod::new(self.text()?);
        self.checked(method)
    }

    /// A reason has one spelling: text that would be shortened or cleaned was never written by us.
    pub fn reason(&mut self) -> Result<Reason, Malformed> {
        let text = self.text()?;
        let reason = Reason::new(text);
        if reason.as_str() == text { Ok(reason) } else { Err(self.fault("a reason that cannot be shown")) }
    }

    pub fn payment(&mut self) -> Result<Payment, Malformed> {
        if self.byte()? != 0 {
            return Err(self.fault("no such payment provider"));
        }
        Ok(Payment {
            provider: Provider::Stripe,
            state: self.payment_state()?,
            method: self.option(Self::method)?,
            intent: self.option(Self::intent)?,
            attempts: self.u32()?,
            due_at: self.option(Self::moment)?,
            captured: self.money()?,
            refunded: self.money()?,
            why: self.option(Self::reason)?,
        })
    }
}
