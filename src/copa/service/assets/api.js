// The service's own routes. A token is asked for where the service wants one; it is kept for this tab only.
import { askToken } from "./token.js";

const KEPT = "copa-token";
const NO_TOKEN = "This service answers those who have its token. Load the page again to give it.";
const isAsked = "token" in document.documentElement.dataset; // the page itself says whether the service wants one

// What the service says when something is wrong, as a problem document (RFC 9457).
export class Problem extends Error {
  constructor(status, content) {
    super(content.detail || content.title || "The service answered with an error.");
    this.status = status;
    this.title = content.title || "";
    this.entries = content.errors || [];
  }
}

// What is wrong, without the place in the request.
export const plainWords = (error) => {
  const words = error.message.replace(/^\/\S*: /, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
};

async function problemOf(answer) {
  try {
    return new Problem(answer.status, await answer.json());
  } catch {
    return new Problem(answer.status, { detail: "The service answered " + answer.status + " without saying why." });
  }
}

async function knownToken(wasWrong) {
  if (isAsked && sessionStorage.getItem(KEPT) === null) {
    const given = await askToken(wasWrong);
    if (given === null) { throw new Problem(401, { detail: NO_TOKEN }); }
    sessionStorage.setItem(KEPT, given);
  }
  return sessionStorage.getItem(KEPT);
}

async function send(path, options, token) {
  const headers = { Accept: "application/json", ...options.headers };
  if (token !== null) { headers.Authorization = "Bearer " + token; }
  try {
    return await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") { throw error; }
    throw new Problem(0, { detail: "The service cannot be reached. Is it still running?" });
  }
}

async function ask(path, options = {}) {
  for (let wasWrong = false; ; wasWrong = true) {
    const token = await knownToken(wasWrong), answer = await send(path, options, token);
    if (answer.ok) { return answer.json(); }
    if (answer.status !== 401 || token === null) { throw await problemOf(answer); }
    if (sessionStorage.getItem(KEPT) === token) { sessionStorage.removeItem(KEPT); }
  }
}

export const get = (path, signal) => ask(path, { signal });

export function post(path, body, signal) {
  return ask(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" }, signal });
}
