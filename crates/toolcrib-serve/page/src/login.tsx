// Logging in: with a token, or by the link that the server printed.
import { useEffect, useState } from "preact/hooks";
import { ApiFailure, logIn } from "./api.ts";
import { EndedNote } from "./ended_note.tsx";
import { FailureNote } from "./part/notes.tsx";
import { go } from "./router.ts";

export function Login() {
  const [token, setToken] = useState("");
  const [failure, setFailure] = useState<ApiFailure>();
  const [isBusy, setBusy] = useState(false);

  const attempt = async (secret: { token: string } | { link: string }) => {
    setBusy(true);
    try {
      await logIn(secret);
      if (location.pathname === "/login") go("/");
    } catch (error) {
      if (error instanceof ApiFailure) setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    const link = new URLSearchParams(location.hash.slice(1)).get("link");
    if (link === null) return;
    // The code must not stay in the history.
    history.replaceState(null, "", location.pathname);
    void attempt({ link });
  }, []);

  return (
    <main class="login">
      <h1>Toolcrib</h1>
      <EndedNote />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void attempt({ token: token.trim() });
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
