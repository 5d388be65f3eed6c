/* Makes the inbox quick. Every page works without this script, as plain links and forms: it only
   fetches the same pages, puts their parts in place, and listens to single keys. */
"use strict";

(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const KEYS_OFF = "attending-keys-off";
  const by = (id) => document.getElementById(id);
  const lines = () => [...document.querySelectorAll("#rows .line")];
  const opened = () => document.querySelector("article[data-open]");
  const acted = [];
  let list = null; // how the list that is shown was asked for, to ask again after a change
  let cursor = null; // id of the message that the keys are on
  let turn = 0; // of several answers only the last asked for counts
  let resume = null; // where to go on after a message that moved: its id, and what followed it

  function keysOn() {
    try { return localStorage.getItem(KEYS_OFF) !== "1"; } catch { return true; }
  }

  async function get(request) {
    document.body.classList.add("busy");
    try {
      const answer = await fetch(request.url, {
        method: request.body ? "POST" : "GET", body: request.body, credentials: "same-origin",
      });
      const kind = answer.headers.get("content-type") || "";
      if (!kind.startsWith("text/html")) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      return { page, url: answer.url, ok: answer.ok };
    } finally {
      document.body.classList.remove("busy");
    }
  }

  function say(words) { by("said").textContent = words; }

  function failed() {
    say("That did not work: the service does not answer. Nothing was changed here; try again.");
  }

  function put(page, id) {
    const fresh = page.getElementById(id);
    if (fresh && by(id)) by(id).replaceWith(document.adoptNode(fresh));
  }

  function place(id) {
    cursor = id;
    for (const line of lines()) {
      if (line.dataset.id === id) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
    }
  }

  function focusLine(line) {
    if (!line) return;
    cursor = line.dataset.id;
    line.focus({ preventScroll: true });
    line.scrollIntoView({ block: "nearest" });
  }

  function current() {
    const focused = document.activeElement && document.activeElement.closest("#rows .line");
    if (focused) return focused;
    const id = cursor || (opened() && opened().dataset.open);
    return lines().find((line) => line.dataset.id === id) || null;
  }

  async function open(url, push = true) {
    const mine = ++turn;
    try {
      const got = await get({ url });
      if (mine !== turn) return;
      resume = null;
      if (!got.page.getElementById("reading")) { location.assign(url); return; }
      put(got.page, "reading");
      say(got.page.getElementById("said").textContent);
      document.title = got.page.title;
      document.body.className = got.page.body.className;
      if (push) history.pushState({ message: true }, "", url);
      place(opened() ? opened().dataset.open : null);
      by("main").scrollTop = 0;
      const line = current();
      const narrow = line && line.offsetParent === null;
      if (!line || narrow) { by("main").focus({ preventScroll: true }); scrollTo(0, 0); } else focusLine(line);
    } catch { failed(); }
  }

  async function show(request, push) {
    const mine = ++turn;
    try {
      const got = await get(request);
      if (mine !== turn) return;
      if (!got.page.getElementById("list")) { location.assign(request.url); return; }
      list = request;
      const top = by("list").scrollTop;
      put(got.page, "list");
      if (push) {
        document.body.className = got.page.body.className;
        put(got.page, "reading");
        say("");
        document.title = got.page.title;
        by("list").scrollTop = 0;
        cursor = null;
        // What was searched for is in no address.
        if (!request.body) history.pushState({}, "", request.url);
      } else {
        by("list").scrollTop = top;
      }
    } catch { failed(); }
  }

  function refresh() {
    return show(list || { url: by("list").dataset.here }, false);
  }

  async function act(form, button, next) {
    const body = new URLSearchParams(new FormData(form, button || undefined));
    const before = lines();
    const id = form.getAttribute("action").match(/messages\/(\d+)\//)[1];
    const place0 = before.findIndex((line) => line.dataset.id === id);
    const mine = ++turn;
    try {
      const got = await get({ url: form.action, body });
      if (!got.ok) { location.assign(form.action.replace(/\/(label|done|undo)\b.*/, "")); return; }
      if (!form.action.includes("/undo")) acted.push(id);
      if (mine !== turn) return;
      const words = got.page.getElementById("said").textContent;
      const wasOpen = opened() && opened().dataset.open === id;
      if (wasOpen) put(got.page, "reading");
      await refresh();
      const after = lines();
      if (next) {
        const line = after.find((one) => one.dataset.id !== id && before.indexOf(
          before.find((old) => old.dataset.id === one.dataset.id)) > place0) || after[0];
        if (line && wasOpen) { await open(line.href); say(words); return; }
        focusLine(line);
      } else {
        const at = after.findIndex((line) => line.dataset.id === id);
        place(opened() ? opened().dataset.open : id);
        if (wasOpen && at !== place0) {
          // It moved; whoever goes through the list goes on where it was.
          const follower = before[place0 + 1];
          resume = { id, next: follower ? follower.dataset.id : null };
          by("main").focus({ preventScroll: true });
        } else {
          focusLine(after[at] || after[Math.min(place0, after.length - 1)]);
        }
      }
      say(words);
    } catch { failed(); }
  }

  /* A form like those of an open message, for the message that the keys are on. */
  function formFor(line, verb) {
    const form = document.createElement("form");
    const url = new URL(line.href);
    form.method = "post";
    form.setAttribute("action", `${url.pathname}/${verb}${url.search}`);
    return form;
  }

  function onLabelKey(key) {
    const article = opened();
    const line = current();
    const id = article ? article.dataset.open : line && line.dataset.id;
    if (!id) return false;
    if (article) {
      const button = article.querySelector(`[data-key="${key}"]`);
      if (!button) return false;
      if (button.type === "checkbox") { button.checked = !button.checked; return true; }
      act(button.form, button);
      return true;
    }
    open(line.href).then(() => {
      const button = opened() && opened().querySelector(`button[data-key="${key}"]`);
      if (button) act(button.form, button);
    });
    return true;
  }

  function step(change) {
    const all = lines();
    if (!all.length) return;
    let at = all.indexOf(current());
    let to = at < 0 ? (change > 0 ? 0 : all.length - 1) : at + change;
    if (resume && opened() && opened().dataset.open === resume.id) {
      at = all.findIndex((line) => line.dataset.id === resume.next);
      to = at < 0 ? all.length - 1 : change > 0 ? at : at - 1;
    }
    if (to >= all.length) {
      const next = document.querySelector(".pages .next");
      if (next) next.focus();
      return;
    }
    const line = all[Math.max(0, to)];
    if (opened()) open(line.href); else focusLine(line);
  }

  function undo() {
    const article = opened();
    const line = current();
    const id = acted.pop() || (article ? article.dataset.open : line && line.dataset.id);
    if (!id) return;
    const form = document.createElement("form");
    const here = new URL(by("list").dataset.here, location.href);
    form.method = "post";
    form.setAttribute("action", `${document.body.dataset.base}/messages/${id}/undo${here.search}`);
    act(form);
  }

  function back() {
    if (!opened()) return;
    const id = opened().dataset.open;
    const here = by("list").dataset.here;
    show({ url: here }, true).then(() => focusLine(lines().find((line) => line.dataset.id === id)));
  }

  function finish() {
    const article = opened();
    const button = article && article.querySelector('[data-act="done"]');
    if (button) act(button.form, button, true);
    else if (!article && current()) act(formFor(current(), "done"), null, true);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing) return;
    const dialog = by("help");
    if (dialog.open) { if (event.key === "?") dialog.close(); return; }
    const typing = event.target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select");
    if (typing) {
      if (event.key === "Escape") typing.blur();
      return;
    }
    if (event.key === "?") { event.preventDefault(); dialog.showModal(); return; }
    if (!keysOn() || !by("list")) return;
    const keys = { j: () => step(1), k: () => step(-1), e: finish, u: undo, Escape: back,
      "/": () => { document.body.classList.remove("open"); by("q").focus(); by("q").select(); } };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); return; }
    if (/^[1-9]$/.test(event.key) && onLabelKey(event.key)) event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    if (event.target.closest("#help-button")) { by("help").showModal(); return; }
    const link = event.target.closest("a");
    if (!link || !by("list")) return;
    if (link.matches(".line")) { event.preventDefault(); open(link.href); }
    else if (link.matches(".back-link")) { event.preventDefault(); back(); }
    else if (link.matches(".tab, .pages a, #list a")) {
      if (new URL(link.href).pathname !== document.body.dataset.base) return;
      event.preventDefault();
      show({ url: link.href }, true);
    }
  });

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.matches("#reading form")) {
      event.preventDefault();
      act(form, event.submitter, Boolean(event.submitter && event.submitter.dataset.act === "done"));
    } else if (form.matches(".search, .pages form")) {
      event.preventDefault();
      show({ url: form.action, body: new URLSearchParams(new FormData(form)) }, true).then(() => {
        focusLine(lines()[0]);
      });
    } else if (form.matches(".upload")) {
      const file = by("file").files[0];
      const most = Number(form.dataset.largest);
      if (file && file.size > most) {
        event.preventDefault();
        by("too-large").textContent = `This file is too large: ${Math.ceil(file.size / 1048576)} MiB of ${most / 1048576} MiB.`;
      }
    }
  });

  window.addEventListener("popstate", () => location.reload());

  document.addEventListener("DOMContentLoaded", () => {
    const box = by("keys-on");
    box.checked = keysOn();
    box.addEventListener("change", () => {
      try { localStorage.setItem(KEYS_OFF, box.checked ? "0" : "1"); } catch { /* not kept */ }
    });
    if (opened()) cursor = opened().dataset.open;
    const slider = by("floor-value");
    if (!slider) return;
    let wait = 0;
    const count = async () => {
      const form = slider.form;
      const url = `${form.getAttribute("action").split("#")[0]}?${new URLSearchParams(new FormData(form))}`;
      const mine = ++turn;
      try {
        const got = await get({ url });
        if (mine === turn) put(got.page, "price");
      } catch { /* the number stays; the button still asks */ }
    };
    slider.addEventListener("input", () => {
      by("floor-shown").textContent = slider.value;
      clearTimeout(wait);
      wait = setTimeout(count, 120);
    });
    by("floor-label").addEventListener("change", count);
  });
})();
