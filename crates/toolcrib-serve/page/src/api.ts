// Requests to the server. Every answer that is not a success becomes an `ApiFailure` with the words of the server
// and the id of the request.
import { signal } from "@preact/signals";
import { clock } from "./format.ts";

/** Who is logged in. `undefined` until the server has said, `null` if nobody is. */
export interface LoggedIn {
  name: string;
  role: "agent" | "approver" | "admin";
  csrf: string;
}
export const loggedIn = signal<LoggedIn | null | undefined>(undefined);

/** Why nobody is logged in any more, if the page knows. */
export const whyLoggedOut = signal<ApiFailure | null>(null);

/** Whether the server answered when it was last asked who is logged in. */
export const isAnswered = signal(true);

// Whether a request after logging in was answered. Until then, a refusal says that the browser keeps no cookie.
let isCookieKept = false;

// Since when no request was answered, if the last one was not.
let unreachableSince: number | undefined;

// A browser sends the cookie of a host to all its ports, so another server on this machine could learn it. The second
// secret stays in the storage of this origin, and every request sends it.
const STORED = "toolcrib.csrf";

function storedSecret(): string | null {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null;
  }
}

function storeSecret(secret: string | null): void {
  try {
    if (secret === null) localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, secret);
  } catch {
    // Without storage one has to log in again after a reload.
  }
}

// Another tab that logs in or out does so for all.
addEventListener("storage", (event) => {
  if (event.key === STORED) void findSession().catch(() => undefined);
});

export class ApiFailure extends Error {
  constructor(
    /** 0 if no answer came. */
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | null,
    /** The whole reply, for what else it says. */
    readonly reply: Record<string, unknown>,
  ) {
    super(message);
  }

  get isUnreachable(): boolean {
    return this.status === 0;
  }
}

type Json = Record<string, unknown> | unknown[];

export async function request<T>(method: "GET" | "POST" | "DELETE", path: string, body?: Json, signal?: AbortSignal): Promise<T> {
  const response = await send(method, path, body, { accept: "application/json" }, signal);
  const text = await response.text().catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiFailure(0, "unreachable", "The connection ended before the answer did.", null, {});
  });
  return (text === "" ? {} : JSON.parse(text)) as T;
}

export const get = <T>(path: string, signal?: AbortSignal) => request<T>("GET", path, undefined, signal);
export const post = <T>(path: string, body: Json = {}) => request<T>("POST", path, body);
export const remove = <T>(path: string) => request<T>("DELETE", path);

/** Sends a request and returns a success, with its body unread. */
export async function send(
  method: string,
  path: string,
  body: Json | undefined,
  extra: Record<string, string>,
  abort?: AbortSignal,
): Promise<Response> {
  const headers: Record<string, string> = { ...extra };
  const secret = loggedIn.value?.csrf ?? storedSecret();
  if (secret !== null) headers["x-toolcrib-csrf"] = secret;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      credentials: "same-origin",
      cache: "no-store",
      signal: abort ?? null,
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    unreachableSince ??= Date.now();
    throw new ApiFailure(0, "unreachable", "The server does not answer.", null, {});
  }
  if (response.ok) {
    isCookieKept ||= loggedIn.value != null;
    unreachableSince = undefined;
    return response;
  }
  throw await failureOf(response);
}

async function failureOf(response: Response): Promise<ApiFailure> {
  const requestId = response.headers.get("x-request-id");
  let reply: Record<string, unknown> = {};
  try {
    reply = (await response.json()) as Record<string, unknown>;
  } catch {
    // An answer that is not JSON is not from Toolcrib: a proxy, for example.
  }
  const code = typeof reply.error === "string" ? reply.error : `status ${response.status}`;
  const message = typeof reply.message === "string" ? reply.message : `The server replied with ${response.status}.`;
  const failure = new ApiFailure(response.status, code, message, requestId, reply);
  if ((response.status === 401 || code === "csrf") && loggedIn.value) endSession(failure);
  unreachableSince = undefined;
  return failure;
}

function endSession(failure: ApiFailure): void {
  whyLoggedOut.value = new ApiFailure(failure.status, failure.code, whyEnded(failure), failure.requestId, {});
  loggedIn.value = null;
}

function whyEnded(failure: ApiFailure): string {
  if (!isCookieKept) return `The browser did not keep the cookie of ${location.host}. Allow cookies for it, then log in again.`;
  if (unreachableSince === undefined) return failure.message;
  return `The server was probably restarted: it could not be reached since ${clock(unreachableSince)}. Sessions of the page end with it, so log in again.`;
}

const RETRY_MS = 2000;

/** Asks the server who is logged in, until it answers. */
export async function findSession(): Promise<void> {
  for (;;) {
    try {
      loggedIn.value = await get<LoggedIn>("/page/session");
      whyLoggedOut.value = null;
      break;
    } catch (error) {
      isAnswered.value = !(error instanceof ApiFailure && error.isUnreachable);
      if (isAnswered.value) {
        loggedIn.value = null;
        break;
      }
    }
    await new Promise((done) => setTimeout(done, RETRY_MS));
  }
  isAnswered.value = true;
}

export async function logIn(secret: { token: string } | { link: string }): Promise<void> {
  const found = await post<LoggedIn>("/page/login", secret);
  storeSecret(found.csrf);
  isCookieKept = false;
  whyLoggedOut.value = null;
  loggedIn.value = found;
}

export async function logOut(): Promise<void> {
  await post("/page/logout").catch(() => undefined);
  storeSecret(null);
  whyLoggedOut.value = null;
  loggedIn.value = null;
}
