// Keeps the open page true and sends what its reader does. All drawing is done by the server.
"use strict";

const { channel, thread, user } = document.body.dataset;
const notice = document.querySelector("#notice");

// --- what the server sends -----------------------------------------------------------------------------------------

// Changes `old` into `fresh` in place: a button that somebody is just pressing has to survive a repaint of its card.
function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || old.id !== fresh.id) {
    old.replaceWith(fresh);
  } else if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
  } else if (!old.matches(".editing")) {
    morphAttributes(old, fresh);
    morphChildren(old, fresh);
  }
}

function morphAttributes(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of [...fresh.attributes]) {
    if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

function morphChildren(old, fresh) {
  if (old.nodeName === "TEXTAREA" || old.nodeName === "SELECT") return;
  const known = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
  let at = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const same = child.id ? known.get(child.id) : at && !at.id ? at : null;
    if (!same) {
      old.insertBefore(child, at);
    } else {
      if (same === at) at = at.nextSibling;
      else old.insertBefore(same, at);
      morph(same, child);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function isAtEnd(log) {
  return log.scrollHeight - log.scrollTop - log.clientHeight < 60;
}

const latest = {};
function paint(parts) {
  Object.assign(latest, parts);
  for (const [name, html] of Object.entries(parts)) {
    const place = document.querySelector(`[data-part="${name}"]`);
    const follow = place.matches(".log") && isAtEnd(place);
    const fresh = place.cloneNode(false);
    fresh.innerHTML = html;
    morphChildren(place, fresh);
    if (follow) place.scrollTop = place.scrollHeight;
  }
}

const live = new EventSource(`/live?${new URLSearchParams({ channel, thread, as: user })}`);
live.onmessage = (event) => paint(JSON.parse(event.data));
live.onopen = () => document.body.classList.remove("offline");
live.onerror = () => document.body.classList.add("offline");
window.addEventListener("pagehide", () => live.close());

// --- what the reader does ------------------------------------------------------------------------------------------

async function order(name, body) {
  const answer = await fetch(`/_playground/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ user, ...body }),
  }).catch(() => null);
  const told = answer ? await answer.json() : { error: "the playground does not answer" };
  if (told.error) say(`That did not work: ${told.error}`);
  else if (told.acked === false) say("Steersman did not answer in time. Try again.");
  return told;
}

let hiding = 0;
function say(words) {
  notice.textContent = words;
  notice.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => (notice.hidden = true), 6000);
}

function ask({ title, text, confirm, deny, style }) {
  const box = document.querySelector("#question");
  const [no, yes] = box.querySelectorAll("button");
  box.querySelector("h2").textContent = title;
  box.querySelector("p").textContent = text;
  Object.assign(no, { textContent: deny, onclick: () => box.close("") });
  Object.assign(yes, { textContent: confirm, className: `btn ${style || "primary"}`, onclick: () => box.close("yes") });
  box.returnValue = "";
  box.showModal();
  return new Promise((resolve) => (box.onclose = () => resolve(box.returnValue === "yes")));
}

const verbs = {
  async click(button) {
    const { channel, ts, actionId, value, confirm } = button.dataset;
    button.closest("details.menu")?.removeAttribute("open");
    if (confirm && !(await ask(JSON.parse(confirm)))) return;
    await order("click", { channel, ts, action_id: actionId, ...(value ? { value } : {}) });
  },
  edit(button) {
    const body = button.closest(".message").querySelector(".body");
    if (body.matches(".editing")) return;
    const before = [...body.childNodes];
    const field = document.createElement("textarea");
    field.value = body.dataset.raw;
    field.dataset.testid = "edit-field";
    body.classList.add("editing");
    body.replaceChildren(field);
    field.focus();
    field.onkeydown = async (event) => {
      if (event.key !== "Escape" && (event.key !== "Enter" || event.shiftKey)) return;
      event.preventDefault();
      if (event.key === "Enter" && field.value !== body.dataset.raw) {
        const { channel, ts } = button.dataset;
        if ((await order("edit", { channel, ts, text: field.value })).error) return;
      }
      body.classList.remove("editing");
      body.replaceChildren(...before);
      // While it was edited, nothing was painted into it.
      paint(latest);
    };
  },
  async delete(button) {
    const question = { title: "Delete this message?", text: "This cannot be undone.", confirm: "Delete", deny: "Keep" };
    if (await ask({ ...question, style: "danger" })) {
      const { channel, ts } = button.dataset;
      await order("delete", { channel, ts });
    }
  },
  async "native-stop"(button) {
    await order("native_stop", { channel: button.dataset.channel, thread_ts: button.dataset.ts });
  },
  async "close-view"(button) {
    await order("close_view", { view_id: button.dataset.view });
  },
};

function closeMenus(except) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(except)) menu.removeAttribute("open");
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (button) verbs[button.dataset.do](button);
  closeMenus(event.target);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeMenus(null);
});

function valuesOf(form) {
  const values = {};
  for (const field of form.querySelectorAll("[data-block]")) {
    const { block, actionId, kind } = field.dataset;
    const picked = kind === "radio_buttons" ? field.querySelector(":checked") : field;
    const words = field.selectedOptions?.[0]?.text ?? picked?.nextElementSibling?.textContent ?? "";
    const chosen = picked && { value: picked.value, text: { type: "plain_text", text: words } };
    const state = kind === "plain_text_input" ? { value: field.value || null } : { selected_option: chosen };
    (values[block] ??= {})[actionId] = { type: kind, ...state };
  }
  return values;
}

async function send(form) {
  const field = form.querySelector("textarea");
  const text = field.value.trim();
  if (!text) return;
  const reply = form.dataset.to === "thread" ? { thread_ts: thread } : {};
  const broadcast = form.querySelector("[type=checkbox]");
  field.value = "";
  const told = await order("say", { channel, text, ...reply, broadcast: Boolean(broadcast?.checked) });
  // What could not be sent must not be lost; what has been typed since must not be either.
  if (told.error && !field.value) field.value = text;
  if (!told.error && broadcast) broadcast.checked = false;
  grow(field);
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  if (form.matches(".composer")) send(form);
  else if (form.dataset.view) order("submit_view", { view_id: form.dataset.view, values: valuesOf(form) });
});

function grow(field) {
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, 160)}px`;
}

for (const field of document.querySelectorAll(".composer textarea")) {
  field.addEventListener("input", () => grow(field));
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    field.form.requestSubmit();
  });
}

for (const log of document.querySelectorAll(".log")) log.scrollTop = log.scrollHeight;
document.querySelector(":target")?.scrollIntoView({ block: "center" });
