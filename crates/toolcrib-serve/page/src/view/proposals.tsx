// Proposed tools and their versions, and what waits of mounted MCP servers.
import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Loaded, useData } from "../data.ts";
import { useKeys } from "../keys.ts";
import { commandLine } from "../part/command_line.ts";
import { useBeside } from "../part/file_difference.tsx";
import { useCurrent } from "../part/moves.ts";
import { Empty, FailureNote, Note, Shown } from "../part/notes.tsx";
import { pageDown } from "../part/page_down.ts";
import { TitleBlock } from "../part/title_block.tsx";
import type { Reply } from "../reply.ts";
import { SERVER } from "../part/waiting.ts";
import { ProposalQueue, TOOL } from "./proposals/proposal_queue.tsx";
import type { Plugin, Review } from "./proposals/proposal_words.ts";
import { ReviewBody, ReviewHead } from "./proposals/review.tsx";
import { ServerReview } from "./proposals/server_review.tsx";
import { GivenVerdict, Verdict, WhatIsApproved } from "./proposals/verdict.tsx";
import { Versions } from "./proposals/versions.tsx";

export function Proposals() {
  const pending = useData<Reply<"/api/tools/pending">>("/api/tools/pending", { live: true });
  const kept = useData<Reply<"/api/proposals">>("/api/proposals", { live: true, everyMs: 3000 });
  const plugins = useData<Reply<"/api/plugins">>("/api/plugins", { live: true, everyMs: 3000 });
  const servers = useData<Reply<"/api/servers">>("/api/servers", { live: true, everyMs: 3000 });
  const waiting = [...(pending.data?.pending ?? [])].sort((a, b) => a.expiresAt.localeCompare(b.expiresAt));
  const waitingServers = (servers.data?.servers ?? []).filter((it) => it.waiting_hash != null);
  const settled = (kept.data?.proposals ?? []).filter((it) => it.status !== "pending");
  const tools = plugins.data?.plugins ?? [];

  const inOrder = [...waiting.map((it) => it.id), ...waitingServers.map((it) => SERVER + it.name)];
  const current = useCurrent("proposals", inOrder, [...settled.map((it) => it.id), ...tools.map((it) => TOOL + it.name)]);
  const reload = () => [pending, kept, plugins, servers].forEach((it) => it.reload());
  return (
    <section class="view">
      <Shown loaded={pending} what="The proposals">
        {() => (
          <div class="panes triptych">
            <ProposalQueue pending={waiting} servers={waitingServers} settled={settled} plugins={tools} current={current} />
            <Selected key={current} current={current} plugins={tools} servers={servers} reload={reload} />
          </div>
        )}
      </Shown>
      <SameElsewhere current={current} />
    </section>
  );
}

function SameElsewhere({ current }: { current: string | undefined }) {
  if (current === undefined) return <TitleBlock command={commandLine("proposals list")} request="GET /api/tools/pending" />;
  if (current.startsWith(SERVER)) return <TitleBlock command={commandLine("plugins servers")} request="GET /api/servers" />;
  if (current.startsWith(TOOL)) return <TitleBlock command={commandLine("plugins show", [current.slice(TOOL.length)])} request={`GET /api/plugins/${encodeURIComponent(current.slice(TOOL.length))}`} />;
  return <TitleBlock command={commandLine("proposals show", [current])} request={`GET /api/tools/pending/${encodeURIComponent(current)}`} />;
}

interface SelectedProps {
  current: string | undefined;
  plugins: Plugin[];
  servers: Loaded<Reply<"/api/servers">>;
  reload: () => void;
}

function Selected({ current, plugins, servers, reload }: SelectedProps) {
  if (current === undefined) {
    return (
      <div class="pane pad nothing">
        <Empty title="No proposal is open">
          An agent proposes a tool with <code>propose_tool</code> or <code>POST /api/tools/propose</code>, a person with <code>toolcrib plugins propose FILE</code>.
        </Empty>
      </div>
    );
  }
  if (current.startsWith(SERVER)) {
    const server = servers.data?.servers.find((it) => SERVER + it.name === current);
    if (server !== undefined) return <ServerReview server={server} onChanged={reload} />;
    return <div class="pane pad nothing">{servers.data === undefined ? <p class="loading">Loading the server …</p> : <Empty title="There is no such MCP server" />}</div>;
  }
  const name = current.startsWith(TOOL) ? current.slice(TOOL.length) : current;
  return <OneProposal id={name} plugins={plugins} reload={reload} />;
}

function OneProposal({ id, plugins, reload }: { id: string; plugins: Plugin[]; reload: () => void }) {
  const [isWhole, setWhole] = useState(false);
  const [isRaced, setRaced] = useState(false);
  const loaded = useData<Review>(`/api/tools/pending/${encodeURIComponent(id)}`, { live: true, everyMs: 5000 });
  const review = loaded.data;
  const plugin = plugins.find((it) => it.name === (review?.proposal.toolName ?? id));
  const begun = useRef<string | undefined>(undefined);
  begun.current ??= review?.proposal.hash;
  const pane = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const [isBeside, turnBeside] = useBeside();
  const showAll = () => pageDown(pane.current);
  useKeys({ v: () => (isWhole ? showAll() : setWhole(true)), d: turnBeside });
  // Somebody else has answered: what is active changes with it.
  const status = review?.proposal.status;
  useEffect(() => {
    if (status !== undefined && status !== "pending") reload();
  }, [status]);
  if (review === undefined) {
    if (loaded.error !== undefined && plugin !== undefined) {
      return (
        <>
          <div class="pane pad">
            <p>
              No proposal of <code>{plugin.name}</code> is kept.
            </p>
          </div>
          <aside class="pane answer" aria-label="The tool">
            <Versions plugin={plugin} onChanged={reload} />
          </aside>
        </>
      );
    }
    return <div class="pane pad nothing">{loaded.error === undefined ? <p class="loading">Loading the proposal …</p> : <FailureNote what="The proposal could not be loaded." failure={loaded.error} />}</div>;
  }
  const changed = () => {
    loaded.reload();
    reload();
  };
  const isPending = status === "pending";
  const { hash } = review.proposal;
  return (
    // Another proposal of the same name is read from its top: nothing of it was seen.
    <Fragment key={hash}>
      <div class="pane question" ref={pane} tabIndex={0} role="region" aria-label="Proposal">
        {isPending && begun.current !== hash && (
          <div class="section">
            <Note tone="wait">
              <b>This is another proposal than the one that you began to read.</b> It came while this page was open.
            </Note>
          </div>
        )}
        <ReviewHead review={review} />
        <ReviewBody review={review} isBeside={isBeside} turnBeside={turnBeside} isWhole={isWhole} showAll={() => setWhole(!isWhole)} end={end} />
      </div>
      <aside class="pane answer" aria-label="Answer">
        {isPending ? (
          <Verdict
            review={review}
            end={end}
            showAll={showAll}
            onClosed={(how) => {
              setRaced(how === "raced");
              changed();
            }}
          />
        ) : (
          <>
            <GivenVerdict review={review} isRaced={isRaced} />
            <WhatIsApproved hash={hash} />
          </>
        )}
        {plugin !== undefined && <Versions plugin={plugin} onChanged={changed} />}
      </aside>
    </Fragment>
  );
}
