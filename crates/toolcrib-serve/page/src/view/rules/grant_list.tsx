// Grants: what "do not ask again" left, where each holds, until when, and how often it was used.
import { useRef, useState } from "preact/hooks";
import { ApiFailure, remove } from "../../api.ts";
import { useData } from "../../data.ts";
import { absolute, count, oneLine, plain, shortId } from "../../format.ts";
import { useMoves } from "../../part/moves.ts";
import { Empty, FailureNote, Note, Shown } from "../../part/notes.tsx";
import { SureButton } from "../../part/sure_button.tsx";
import { Ago, Left } from "../../part/texts.tsx";
import { principalWords } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";

type Grant = Reply<"/api/grants">["grants"][number];

export function GrantList() {
  const loaded = useData<Reply<"/api/grants">>("/api/grants", { live: true });
  const body = useRef<HTMLTableSectionElement>(null);
  useMoves(body, "td:last-child > button:first-of-type");
  const [said, setSaid] = useState<{ failure: ApiFailure } | { revoked: string }>();
  const revoke = async (grant: Grant) => {
    try {
      await remove(`/api/grants/${encodeURIComponent(grant.id)}`);
      setSaid({ revoked: grant.id });
    } catch (error) {
      if (error instanceof ApiFailure) setSaid({ failure: error });
    }
    loaded.reload();
  };
  return (
    <Shown loaded={loaded} what="The grants">
      {({ grants }) => (
        <>
          <div aria-live="polite">
            {said !== undefined && (
              <div class="pad">
                {"failure" in said ? (
                  <FailureNote what="The grant was not revoked." failure={said.failure} />
                ) : (
                  <Note tone="info" mark="passed">
                    Revoked <code>{plain(said.revoked)}</code>. It holds no more, for anybody. Calls like these are asked about again.
                  </Note>
                )}
              </div>
            )}
          </div>
          {grants.length === 0 ? (
            <div class="pad">
              <Empty title="No grants">
                An answer with “Run and store the grant” in <a href="/approvals">Approvals</a> leaves one.
              </Empty>
            </div>
          ) : (
            <div class="scroll" tabIndex={0} role="region" aria-label="Grants">
              <table class="grant-list">
                <thead>
                  <tr>
                    <th>Grant</th>
                    <th>Allows</th>
                    <th>Exactly</th>
                    <th>Where</th>
                    <th>Of</th>
                    <th>By</th>
                    <th class="r">Used</th>
                    <th class="r">Ends</th>
                    <th>
                      <span class="unseen">Action</span>
                    </th>
                  </tr>
                </thead>
                <tbody ref={body}>
                  {grants.map((grant) => (
                    <Row key={grant.id} grant={grant} revoke={() => revoke(grant)} />
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </>
      )}
    </Shown>
  );
}

/** Where a grant holds, in words. */
function whereOf(scope: Grant["scope"]): string {
  if (typeof scope === "string") return "everywhere";
  if ("session" in scope) return `session ${oneLine(scope.session)}`;
  return oneLine(scope.project);
}

/** What a grant covers, to the letter. */
function exactly(grant: Grant): string {
  const covers = grant.covers as Record<string, unknown>;
  const [kind, value] = Object.entries(covers)[0] ?? ["", ""];
  if (kind === "argv") return (value as string[]).join(" ") + " …";
  if (kind === "call") return (value as { args: string }).args;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function Row({ grant, revoke }: { grant: Grant; revoke: () => Promise<void> }) {
  const isOver = grant.expires_at != null && new Date(grant.expires_at).getTime() < Date.now();
  const name = oneLine(shortId(grant.id));
  return (
    <tr class={isOver || !grant.enabled ? "third" : ""}>
      <td class="mono" title={plain(grant.id)}>
        {name}
      </td>
      <td>{oneLine(grant.description)}</td>
      <td class="mono second whole">{plain(exactly(grant))}</td>
      <td class="second">{whereOf(grant.scope)}</td>
      <td class="second">{principalWords(grant.principal?.name)}</td>
      <td class="second" title={absolute(grant.created_at)}>
        {principalWords(grant.by)}
      </td>
      <td class={`r nowrap ${grant.use_count === 0 ? "zero" : ""}`} title={grant.last_used_at == null ? "never used" : `last ${absolute(grant.last_used_at)}`}>
        {count(grant.use_count)}
        {grant.last_used_at != null && (
          <span class="third">
            {" "}
            <Ago time={grant.last_used_at} />
          </span>
        )}
      </td>
      <td class="r nowrap">
        {!grant.enabled ? "off" : grant.expires_at == null ? <span class="brass">until revoked</span> : isOver ? "ended" : <>in <Left until={grant.expires_at} /></>}
      </td>
      <td class="r nowrap">
        <SureButton actions={[{ button: "Revoke…", label: `Revoke ${name}…`, note: "It stops holding at once, for everybody.", sure: `Revoke ${name}`, act: revoke }]} />
      </td>
    </tr>
  );
}
