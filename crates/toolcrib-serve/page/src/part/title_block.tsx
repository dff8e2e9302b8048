// The foot of every view: where what it shows comes from, and how to get the same elsewhere.
import { updatedAt, useData } from "../data.ts";
import { absolute, clock, plain } from "../format.ts";
import { lastSeq } from "../live.ts";
import type { SameElsewhere } from "./command_line.ts";
import { Copy } from "./texts.tsx";
import { counted } from "./words.ts";

interface Version {
  version: string;
}

/** Both lines are copied as they are shown: with what cannot be seen spelled out. */
export function TitleBlock(same: SameElsewhere) {
  const command = plain(same.command);
  const request = plain(same.request);
  const version = useData<Version>("/api/version");
  const at = updatedAt.value;
  return (
    <footer class="block" aria-label="Where this comes from">
      <dl>
        <div class="same">
          <dt>Same on the command line</dt>
          <dd>
            <code>{command}</code> <Copy text={command} />
          </dd>
        </div>
        <div class="same">
          <dt>Same over HTTP</dt>
          <dd>
            <code>{request}</code> <Copy text={request} />
          </dd>
        </div>
        <div class="fill" />
        <div class="wide">
          <dt>Record</dt>
          <dd>{lastSeq.value === undefined ? "…" : counted(lastSeq.value, "line")}</dd>
        </div>
        <div class="wide">
          <dt>Updated</dt>
          <dd>{at === undefined ? "not yet" : <time title={absolute(at)}>{clock(at)}</time>}</dd>
        </div>
        <div class="wide">
          <dt>Build</dt>
          <dd>{version.data?.version ?? "…"}</dd>
        </div>
      </dl>
    </footer>
  );
}
