// What waits of a mounted MCP server: tools that are new or have changed, or the server itself if a file brought it.
import { useRef, useState } from "preact/hooks";
import { ApiFailure, post } from "../../api.ts";
import { plain } from "../../format.ts";
import { useKeys } from "../../keys.ts";
import { useAnswerLock } from "../../part/answer_lock.ts";
import { Key } from "../../part/marks.tsx";
import { FailureNote } from "../../part/notes.tsx";
import { pageDown } from "../../part/page_down.ts";
import { Foreign } from "../../part/texts.tsx";
import { UnifiedDifference } from "../../part/unified_difference.tsx";
import { counted } from "../../part/words.ts";
import type { Reply } from "../../reply.ts";
import { grouped, type Server } from "./proposal_words.ts";

export function ServerReview({ server, onChanged }: { server: Server; onChanged: () => void }) {
  const [failure, setFailure] = useState<ApiFailure>();
  const [accepted, setAccepted] = useState<string[]>();
  const accept = async (hash: string) => {
    try {
      const reply = (await post(`/api/servers/${encodeURIComponent(server.name)}/accept`, { hash })) as Reply<"/api/servers/{name}/accept", "post">;
      setAccepted(reply.accepted);
      setFailure(undefined);
    } catch (error) {
      if (error instanceof ApiFailure) setFailure(error);
    }
    onChanged();
  };
  // What has changed while somebody read it must be read again.
  return <ServerPanes key={server.waiting_hash ?? "nothing"} server={server} accept={accept} accepted={accepted} failure={failure} />;
}

interface PanesProps {
  server: Server;
  accept: (hash: string) => Promise<void>;
  accepted: string[] | undefined;
  failure: ApiFailure | undefined;
}

function ServerPanes({ server, accept: send, accepted, failure }: PanesProps) {
  const pane = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const { isSeen, isLocked, why } = useAnswerLock({ end, isComplete: true });
  const hash = server.waiting_hash ?? null;
  const isOff = hash === null || isLocked || !isSeen;
  const accept = () => {
    if (!isOff) void send(hash);
  };
  useKeys({ y: accept, v: () => pageDown(pane.current) });
  return (
    <>
      <div class="pane question" ref={pane} tabIndex={0} role="region" aria-label="What waits">
        <header class="section question-head">
          <div class="row">
            <span class={hash === null ? "tag settled" : "tag"}>{plain(server.name)}</span>
            <h2 class="title">
              {server.import ? (
                <>
                  A file brings the MCP server <code>{plain(server.name)}</code>
                </>
              ) : (
                <>
                  The MCP server <code>{plain(server.name)}</code> {hash === null ? "has nothing that waits" : "has tools that are new or have changed"}
                </>
              )}
            </h2>
          </div>
          <dl class="meta">
            <div>
              <dt>Command</dt>
              <dd class="mono">{plain(server.command)}</dd>
            </div>
            {server.tier !== null && (
              <div>
                <dt>Tier</dt>
                <dd>{server.tier}</dd>
              </div>
            )}
            <div>
              <dt>On offer</dt>
              <dd>{counted(server.tools.length, "tool")}</dd>
            </div>
          </dl>
          {server.problem != null && <p class="red">The last time: {plain(server.problem)}</p>}
        </header>
        <section class="section stack">
          {server.import != null && (
            <>
              <h2>
                What <code>{plain(server.import.file)}</code> says
              </h2>
              <Foreign text={server.import.written} />
            </>
          )}
          {server.waiting.map((it) => (
            <UnifiedDifference key={it.name} file={it.name} about={it.new ? "new" : "against what was accepted"} text={it.difference} />
          ))}
        </section>
        <div ref={end} class="question-end" />
      </div>
      <aside class="pane answer" aria-label="Answer">
        <div class="section stack answer-bar">
          {accepted !== undefined && (
            <p role="status">
              <b>Accepted.</b> {accepted.map(plain).join(", ")}
            </p>
          )}
          {hash !== null && (
            <>
              <button type="button" class="yes large" aria-disabled={isOff} aria-describedby="answer-off" onClick={accept}>
                Accept <Key name="y" />
              </button>
              <p id="answer-off" class={isOff ? "why-off" : "unseen"} role="status">
                {why ?? (isSeen ? "" : "Not all of it was shown, so it cannot be accepted yet.")}
              </p>
            </>
          )}
          {failure && <FailureNote what="Nothing was accepted." failure={failure} />}
          <p class="second">What nobody accepts is not on offer, and no agent can call it.</p>
        </div>
        {hash !== null && (
          <div class="section">
            <h2>What is accepted</h2>
            <p class="hash-box">{grouped(hash.replace(/^sha256:/, ""))}</p>
          </div>
        )}
      </aside>
    </>
  );
}
