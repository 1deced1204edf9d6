// Verifies each line of standard input, a webhook as JSON, with the package `standardwebhooks`: it
// must hold for each of the two secrets, and for neither a third nor a changed body.
//
//   NODE_PATH=… node standard_webhooks.js SECRET SECRET2 OTHER COUNT
const {Webhook} = require('standardwebhooks');
const [first, second, other, count] = process.argv.slice(2);

function holds(secret, body, headers) {
  try {
    new Webhook(secret).verify(body, headers, {jsonParse: false});
    return true;
  } catch {
    return false;
  }
}

const lines = require('fs').readFileSync(0, 'utf8').split('\n').filter(Boolean);
const bad = lines.map(line => JSON.parse(line)).filter(({headers, body}) =>
  !holds(first, body, headers) || !holds(second, body, headers) ||
  holds(other, body, headers) || holds(first, body + ' ', headers) ||
  holds(first, body, {...headers, 'webhook-id': 'another'}));
console.log(`${lines.length} webhooks, ${bad.length} that do not verify`);
process.exit(bad.length === 0 && lines.length === Number(count) ? 0 : 1);
