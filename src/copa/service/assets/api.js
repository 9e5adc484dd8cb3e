// The service's own routes. A token is asked for where the service wants one; it is kept for this tab only.
import { askToken } from "./token.js";

const KEPT = "copa-token";

// What the service says when something is wrong, as a problem document (RFC 9457).
export class Problem extends Error {
  constructor(status, content) {
    super(content.detail || content.title || "The service answered with an error.");
    this.status = status;
    this.title = content.title || "";
    this.entries = content.errors || (content.field ? [content] : []);
  }
}

async function problemOf(answer) {
  try {
    return new Problem(answer.status, await answer.json());
  } catch {
    return new Problem(answer.status, { detail: "The service answered " + answer.status + " without saying why." });
  }
}

async function send(path, options) {
  const token = sessionStorage.getItem(KEPT);
  const headers = { Accept: "application/json", ...options.headers };
  if (token) { headers.Authorization = "Bearer " + token; }
  try {
    return await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") { throw error; }
    throw new Problem(0, { detail: "The service cannot be reached. Is it still running?" });
  }
}

async function ask(path, options = {}) {
  let answer = await send(path, options);
  while (answer.status === 401) {
    const known = sessionStorage.getItem(KEPT) !== null;
    const token = await askToken(known);
    if (token === null) { throw await problemOf(answer); }
    sessionStorage.setItem(KEPT, token);
    answer = await send(path, options);
  }
  if (!answer.ok) { throw await problemOf(answer); }
  return answer.json();
}

export const get = (path, signal) => ask(path, { signal });

export function post(path, body, signal) {
  return ask(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" }, signal });
}
