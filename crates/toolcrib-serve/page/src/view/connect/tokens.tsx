// The tokens of the server: who has one, a new one, which is shown once, another secret for one, and no more of it.
import { useState } from "preact/hooks";
import { ApiFailure, loggedIn, post, remove } from "../../api.ts";
import { useData } from "../../data.ts";
import { absolute, oneLine, plain } from "../../format.ts";
import { Empty, FailureNote, Note, Shown } from "../../part/notes.tsx";
import { SureButton } from "../../part/sure_button.tsx";
import { Ago, CodeBox } from "../../part/texts.tsx";
import type { Reply, Sent } from "../../reply.ts";

type Token = Reply<"/api/tokens">["tokens"][number];
type NewToken = Reply<"/api/tokens", "post">;
type TokenRole = Sent<"/api/tokens">["role"];

const ROLES: { role: TokenRole; may: string }[] = [
  { role: "agent", may: "makes calls" },
  { role: "approver", may: "answers questions and reads the record" },
  { role: "admin", may: "does everything" },
];

export function Tokens() {
  const isAdmin = loggedIn.value?.role === "admin";
  const loaded = useData<Reply<"/api/tokens">>(isAdmin ? "/api/tokens" : null);
  const [withRevoked, setWithRevoked] = useState(false);
  const [made, setMade] = useState<NewToken>();
  if (!isAdmin) {
    return (
      <div class="pad">
        <Note tone="info">Only an admin sees, makes and revokes tokens: a token can have any role. You are logged in as an approver.</Note>
      </div>
    );
  }
  return (
    <div class="section steps">
      <h2>Tokens</h2>
      <p class="second">What a client of the server shows with each request. Only the hash of a token is stored.</p>
      <NewTokenForm
        onMade={() => {
          setMade(undefined);
          loaded.reload();
        }}
      />
      {made !== undefined && <ShownOnce token={made} />}
      <Shown loaded={loaded} what="The tokens">
        {({ tokens }) => {
          const shown = tokens.filter((it) => withRevoked || it.revoked_at == null);
          return (
            <>
              {shown.length === 0 ? (
                <Empty title="No tokens">Make one for each agent, so that the record tells them apart.</Empty>
              ) : (
                <div class="scroll" tabIndex={0} role="region" aria-label="Tokens">
                  <table class="tokens">
                    <thead>
                      <tr>
                        <th>Name</th>
                        <th>Role</th>
                        <th>Made</th>
                        <th>Since then</th>
                        <th>
                          <span class="unseen">Action</span>
                        </th>
                      </tr>
                    </thead>
                    <tbody>
                      {shown.map((token) => (
                        <Row key={token.name} token={token} reload={loaded.reload} onRotated={setMade} />
                      ))}
                    </tbody>
                  </table>
                </div>
              )}
              <label class="option">
                <input type="checkbox" checked={withRevoked} onChange={(event) => setWithRevoked(event.currentTarget.checked)} />
                Also those that were revoked, {tokens.filter((it) => it.revoked_at != null).length}
              </label>
            </>
          );
        }}
      </Shown>
    </div>
  );
}

function ShownOnce({ token }: { token: NewToken }) {
  return (
    <div class="stack">
      <Note tone="wait">
        <b>The token of {oneLine(token.name)}, shown this once.</b> Whoever has it is {token.role === "agent" ? "this agent" : `an ${token.role}`}.
      </Note>
      <CodeBox text={token.token} />
    </div>
  );
}

export function NewTokenForm({ isForAgent = false, onMade }: { isForAgent?: boolean; onMade: (made: NewToken) => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<TokenRole>("agent");
  const [made, setMade] = useState<NewToken>();
  const [failure, setFailure] = useState<ApiFailure>();
  const make = async () => {
    setFailure(undefined);
    setMade(undefined);
    try {
      const token = await post<NewToken>("/api/tokens", { name, role } satisfies Sent<"/api/tokens">);
      setMade(token);
      setName("");
      onMade(token);
    } catch (error) {
      if (error instanceof ApiFailure) setFailure(error);
    }
  };
  return (
    <form class="new-token stack" onSubmit={(event) => (event.preventDefault(), void make())}>
      <div class="token-fields">
        <label>
          <span class="label">Name</span>
          <input value={name} autocomplete="off" spellcheck={false} placeholder="code-agent" aria-invalid={failure !== undefined} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        {!isForAgent && (
          <label>
            <span class="label">Role</span>
            <select value={role} onChange={(event) => setRole(event.currentTarget.value as TokenRole)}>
              {ROLES.map((it) => (
                <option key={it.role} value={it.role}>
                  {it.role}: {it.may}
                </option>
              ))}
            </select>
          </label>
        )}
        <button type="submit" disabled={name === ""}>
          Make a token
        </button>
      </div>
      <div aria-live="polite">
        {failure !== undefined && <FailureNote what="No token was made." failure={failure} />}
        {made !== undefined && <ShownOnce token={made} />}
      </div>
    </form>
  );
}

function Row({ token, reload, onRotated }: { token: Token; reload: () => void; onRotated: (made: NewToken | undefined) => void }) {
  const [failure, setFailure] = useState<ApiFailure>();
  const path = `/api/tokens/${encodeURIComponent(token.name)}`;
  const act = (work: () => Promise<NewToken | undefined>) => async () => {
    try {
      onRotated(await work());
      reload();
    } catch (error) {
      if (error instanceof ApiFailure) setFailure(error);
    }
  };
  const isRevoked = token.revoked_at != null;
  const name = oneLine(token.name);
  const rotate = act(() => post<NewToken>(`${path}/rotate`));
  const revoke = act(() => remove<undefined>(path).then(() => undefined));
  const actions = [
    { button: "Rotate…", label: `Rotate ${name}…`, sure: `Give ${name} another token`, act: rotate },
    { button: "Revoke…", label: `Revoke ${name}…`, sure: `Revoke ${name}`, act: revoke },
  ];
  return (
    <tr class={isRevoked ? "third" : ""}>
      <td class="mono" title={plain(token.name)}>
        {name}
        {token.name === loggedIn.value?.name && <span class="third"> you</span>}
      </td>
      <td>{token.role}</td>
      <td class="nowrap" title={absolute(token.created_at)}>
        <Ago time={token.created_at} />
      </td>
      <td class="nowrap">
        {token.rotated_at != null && (
          <>
            rotated <Ago time={token.rotated_at} />
          </>
        )}
        {token.rotated_at != null && isRevoked && ", "}
        {token.revoked_at != null && (
          <>
            revoked <Ago time={token.revoked_at} />
          </>
        )}
        {failure !== undefined && <span class="red"> {plain(failure.message)}</span>}
      </td>
      <td class="r nowrap">
        {!isRevoked && <SureButton actions={actions} />}
      </td>
    </tr>
  );
}
