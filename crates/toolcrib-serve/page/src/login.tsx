// Logging in: with a token, or by the link that the server printed.
import { useState } from "preact/hooks";
import { ApiFailure, findSession, loggedIn, logIn, whyLoggedOut } from "./api.ts";
import { FailureNote } from "./part/notes.tsx";
import { go } from "./router.ts";

/** Logs in by the link in the address, if there is one. Otherwise finds who is logged in. */
export async function begin(): Promise<void> {
  const link = takeLink();
  if (link !== null) await attempt({ link });
  if (loggedIn.value == null) await findSession();
  leaveLogin();
}

/** Takes the code of a link out of the address: it must not stay in the history. */
function takeLink(): string | null {
  const link = new URLSearchParams(location.hash.slice(1)).get("link");
  if (link !== null) history.replaceState(null, "", location.pathname + location.search);
  return link;
}

/** A failure is told where people log in. */
async function attempt(secret: { token: string } | { link: string }): Promise<void> {
  try {
    await logIn(secret);
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error;
    whyLoggedOut.value = error;
  }
}

function leaveLogin(): void {
  if (loggedIn.value != null && location.pathname === "/login") go("/");
}

export function Login() {
  const [token, setToken] = useState("");
  const [isBusy, setBusy] = useState(false);
  const send = async () => {
    setBusy(true);
    await attempt({ token: token.trim() });
    setBusy(false);
    leaveLogin();
  };
  const failure = whyLoggedOut.value;
  return (
    <main class="login">
      <h1>Toolcrib</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <label for="token">Token</label>
        <input id="token" type="password" autocomplete="current-password" value={token} onInput={(event) => setToken(event.currentTarget.value)} required />
        <button type="submit" class="go" disabled={isBusy || token.trim() === ""}>
          Log in
        </button>
      </form>
      {failure && <FailureNote what="You are not logged in." failure={failure} />}
      <p class="second">
        <code>toolcrib tokens add NAME --role approver</code> makes a token. <code>toolcrib serve --login-link</code> prints a link that logs in once.
      </p>
    </main>
  );
}
