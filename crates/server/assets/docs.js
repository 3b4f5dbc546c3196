// Runs the examples of the API reference against the server that serves it.

const key = document.querySelector("#key");

/** The address with its path parameters filled in and its query added. */
function address(form) {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  for (const field of form.querySelectorAll("input[data-in]")) {
    if (field.dataset.in === "path") {
      path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
    } else if (field.dataset.in === "query" && field.value) {
      query.set(field.name, field.value);
    }
  }
  return query.size > 0 ? `${path}?${query}` : path;
}

function headers(form) {
  const sent = new Headers();
  if (key.value) sent.set("Authorization", `Bearer ${key.value}`);
  if (form.elements.body) sent.set("Content-Type", "application/json");
  for (const field of form.querySelectorAll('input[data-in="header"]')) {
    if (field.value) sent.set(field.name, field.value);
  }
  return sent;
}

function shown(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

async function send(form) {
  const output = form.querySelector("output");
  output.textContent = "…";
  const method = form.dataset.method;
  const body = form.elements.body?.value;
  const abort = new AbortController();
  try {
    const answer = await fetch(address(form), { method, headers: headers(form), body, signal: abort.signal });
    const head = `${answer.status} ${answer.statusText}`;
    if (answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
      output.textContent = `${head}\n\nA stream of events; follow it with EventSource or curl -N.`;
      abort.abort();
      return;
    }
    const text = (await answer.text()).slice(0, 20000);
    output.textContent = text ? `${head}\n\n${shown(text)}` : head;
  } catch (fault) {
    output.textContent = `Not sent: ${fault.message}`;
  }
}

for (const form of document.querySelectorAll(".try form")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form);
  });
}

// A link to a shape opens it.
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.tagName === "DETAILS") target.open = true;
}
addEventListener("hashchange", openTarget);
openTarget();
