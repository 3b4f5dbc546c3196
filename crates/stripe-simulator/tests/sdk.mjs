// Stripe's own library for Node, pointed at the simulator: it must not notice the difference.
//
//   node sdk.mjs <folder with node_modules/stripe> <the holdfast program>

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import path from 'node:path';

const [library, program] = process.argv.slice(2).map((name) => path.resolve(name));
const loaded = createRequire(path.join(library, 'index.js'))('stripe');
const Stripe = loaded.default ?? loaded;

/** A shop that remembers every webhook it was sent, as raw bytes. */
function shop() {
  const heard = [];
  const waiting = [];
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      heard.push({ body: Buffer.concat(chunks), signature: request.headers['stripe-signature'] });
      response.end('{}');
      for (const wake of waiting.splice(0)) wake();
    });
  });
  const until = async (wanted) => {
    for (;;) {
      const found = heard.find(wanted);
      if (found) return found;
      await new Promise((wake) => waiting.push(wake));
    }
  };
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve({ server, until })));
}

async function simulator(webhooks) {
  const child = spawn(program, ['stripe-simulator', '--listen', '127.0.0.1:0', '--webhook-url', webhooks, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) return { child, ...JSON.parse(line) };
  throw new Error('the simulator ended before it said where it listens');
}

const { server, until } = await shop();
const simulated = await simulator(`http://127.0.0.1:${server.address().port}/hooks`);
const { hostname, port } = new URL(simulated.url);
const stripe = new Stripe(simulated.secret_key, { host: hostname, port: Number(port), protocol: 'http' });

const tests = {
  async 'an intent is created, confirmed, retrieved and refunded'() {
    const created = await stripe.paymentIntents.create({
      amount: 4500,
      currency: 'eur',
      payment_method_types: ['card'],
      metadata: { order: 'o-1' },
    });
    assert.equal(created.status, 'requires_payment_method');
    assert.match(created.id, /^pi_/);
    assert.ok(created.client_secret.startsWith(`${created.id}_secret_`));

    const confirmed = await stripe.paymentIntents.confirm(created.id, { payment_method: 'pm_card_visa' });
    assert.equal(confirmed.status, 'succeeded');
    assert.equal(confirmed.amount_received, 4500);

    const retrieved = await stripe.paymentIntents.retrieve(created.id, { expand: ['latest_charge'] });
    assert.equal(retrieved.metadata.order, 'o-1');
    assert.equal(retrieved.latest_charge.object, 'charge');
    assert.equal(retrieved.latest_charge.paid, true);

    const refund = await stripe.refunds.create({ payment_intent: created.id });
    assert.equal(refund.status, 'succeeded');
    assert.equal(refund.amount, 4500);
    assert.equal((await stripe.refunds.retrieve(refund.id)).id, refund.id);
    await assert.rejects(stripe.refunds.create({ payment_intent: created.id }), { code: 'charge_already_refunded' });
  },

  async 'a webhook it sent verifies, and a changed one does not'() {
    const created = await stripe.paymentIntents.create({
      amount: 3000,
      currency: 'eur',
      payment_method: 'pm_card_visa',
      payment_method_types: ['card'],
      confirm: true,
    });
    const sent = await until(({ body }) => {
      const event = JSON.parse(body);
      return event.type === 'payment_intent.succeeded' && event.data.object.id === created.id;
    });
    const event = stripe.webhooks.constructEvent(sent.body, sent.signature, simulated.webhook_secret);
    assert.equal(event.data.object.amount_received, 3000);
    assert.throws(() => stripe.webhooks.constructEvent(`${sent.body} `, sent.signature, simulated.webhook_secret));
    assert.throws(() => stripe.webhooks.constructEvent(sent.body, sent.signature, 'whsec_other'));
    assert.equal((await stripe.events.retrieve(event.id)).type, 'payment_intent.succeeded');
  },

  async 'a decline is a card error with its reason and its intent'() {
    const declined = stripe.paymentIntents.create({
      amount: 4500,
      currency: 'eur',
      payment_method: 'pm_card_chargeDeclinedInsufficientFunds',
      payment_method_types: ['card'],
      confirm: true,
    });
    const error = await declined.then(() => assert.fail('it was not declined'), (error) => error);
    assert.ok(error instanceof Stripe.errors.StripeCardError);
    assert.equal(error.code, 'card_declined');
    assert.equal(error.decline_code, 'insufficient_funds');
    assert.equal(error.payment_intent.status, 'requires_payment_method');
    assert.equal(error.payment_intent.last_payment_error.code, 'card_declined');
  },

  async 'one idempotency key is one intent'() {
    const body = { amount: 4500, currency: 'eur', payment_method_types: ['card'] };
    const first = await stripe.paymentIntents.create(body, { idempotencyKey: 'one' });
    const second = await stripe.paymentIntents.create(body, { idempotencyKey: 'one' });
    assert.equal(second.id, first.id);
    assert.equal(second.lastResponse.headers['idempotent-replayed'], 'true');
    const other = stripe.paymentIntents.create({ ...body, amount: 4600 }, { idempotencyKey: 'one' });
    await assert.rejects(other, (error) => error instanceof Stripe.errors.StripeIdempotencyError);
  },

  async 'manual capture, cancelling and the lists'() {
    const body = { amount: 4500, currency: 'eur', payment_method_types: ['card'], capture_method: 'manual' };
    const held = await stripe.paymentIntents.create({ ...body, payment_method: 'pm_card_visa', confirm: true });
    assert.equal(held.status, 'requires_capture');
    assert.equal((await stripe.paymentIntents.capture(held.id)).status, 'succeeded');
    const left = await stripe.paymentIntents.create(body);
    assert.equal((await stripe.paymentIntents.cancel(left.id)).status, 'canceled');
    const seen = [];
    for await (const intent of stripe.paymentIntents.list({ limit: 2 })) seen.push(intent.id);
    assert.ok(seen.includes(held.id) && seen.includes(left.id));
    await assert.rejects(stripe.paymentIntents.retrieve('pi_none'), { code: 'resource_missing', statusCode: 404 });
  },

  async 'a wrong key is refused'() {
    const stranger = new Stripe('sk_test_other', { host: hostname, port: Number(port), protocol: 'http' });
    await assert.rejects(
      stranger.paymentIntents.list(),
      (error) => error instanceof Stripe.errors.StripeAuthenticationError,
    );
  },
};

try {
  for (const [name, test] of Object.entries(tests)) {
    await test();
    console.log(`ok   ${name}`);
  }
} finally {
  simulated.child.kill();
  server.close();
}
