"use strict";
// Shows the specification of the server that served this page.

const find = (id) => document.getElementById(id);

// What the operations on the page are of.
let title = "";

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// Words between backticks are code.
function prose(name, text) {
  const made = element(name);
  for (const [index, part] of text.split("`").entries()) made.append(index % 2 ? element("code", part) : part);
  return made;
}

function json(title, value) {
  const part = document.createDocumentFragment();
  part.append(element("strong", title), element("pre", JSON.stringify(value, null, 2)));
  return part;
}

function table(head, rows) {
  const made = element("table");
  for (const [index, row] of [head, ...rows].entries()) {
    const line = made.insertRow();
    for (const text of row) line.append(prose(index ? "td" : "th", text));
  }
  return made;
}

function typeOf(schema) {
  if (!schema) return "";
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" or ");
  return [].concat(schema.type || "any").join(" or ");
}

function operation(path, method, about) {
  const made = element("details");
  made.id = about.operationId;
  const line = element("summary");
  line.append(element("span", method.toUpperCase(), "method"), element("code", path), element("span", about.summary, "about"));
  const inside = element("div", undefined, "inside");
  made.append(line, inside);
  // Filled when it is opened: there can be hundreds of operations.
  made.addEventListener("toggle", () => fill(inside, about), { once: true });
  made.dataset.text = `${method} ${path} ${about.summary} ${about.operationId}`.toLowerCase();
  return made;
}

function fill(inside, about) {
  inside.append(prose("p", about.description));
  if (about.parameters?.length) {
    const rows = about.parameters.map((it) => [it.name, it.in, typeOf(it.schema), it.description || ""]);
    inside.append(table(["parameter", "in", "type", ""], rows));
  }
  const body = about.requestBody?.content["application/json"];
  if (body?.example) inside.append(json("Body, for example", body.example));
  if (body) inside.append(json("Schema of the body", body.schema));
  for (const [media, content] of Object.entries(about.responses["200"].content)) {
    if (content.example) inside.append(json("Reply, for example", content.example));
    // An empty schema says nothing.
    if (Object.keys(content.schema ?? {}).length) inside.append(json(`Schema of the reply (${media})`, content.schema));
  }
  const others = Object.entries(about.responses).filter(([status]) => status !== "200");
  inside.append(table(["status", "when"], others.map(([status, it]) => [status, it.description])));
}

function show(specification) {
  const groups = new Map();
  for (const [path, methods] of Object.entries(specification.paths)) {
    for (const [method, about] of Object.entries(methods)) {
      const group = about.tags?.[0] || "";
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push(operation(path, method, about));
    }
  }
  const all = find("operations");
  all.replaceChildren();
  for (const [name, operations] of groups) {
    const section = element("section");
    section.append(element("h2", name), ...operations);
    all.append(section);
  }
  find("filter").disabled = false;
  title = `${specification.info.title} ${specification.info.version}`;
  filter();
  const opened = location.hash && document.getElementById(location.hash.slice(1));
  if (opened) {
    opened.open = true;
    opened.scrollIntoView();
  }
}

function filter() {
  const wanted = find("filter").value.trim().toLowerCase();
  const all = [...document.querySelectorAll("details")];
  for (const one of all) one.hidden = !one.dataset.text.includes(wanted);
  for (const section of document.querySelectorAll("section")) {
    section.hidden = [...section.querySelectorAll("details")].every((one) => one.hidden);
  }
  const shown = all.filter((one) => !one.hidden).length;
  find("status").textContent = `${wanted ? `${shown} of ` : ""}${all.length} operations of ${title}.`;
}

async function load() {
  const status = find("status");
  status.textContent = "Loading…";
  const toolset = encodeURIComponent(find("toolset").value.trim() || "forgekeeper");
  try {
    const reply = await fetch(`/api/openapi.json?toolset=${toolset}`, {
      headers: { Authorization: `Bearer ${find("token").value.trim()}` },
    });
    const value = await reply.json();
    if (!reply.ok) {
      status.textContent = value.message;
      return;
    }
    show(value);
  } catch (err) {
    status.textContent = `The server did not answer: ${err.message}`;
  }
}

find("access").addEventListener("submit", (event) => {
  event.preventDefault();
  load();
});

find("filter").addEventListener("input", filter);
