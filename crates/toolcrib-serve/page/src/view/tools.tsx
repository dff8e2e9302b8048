// The tools: the list of all, or one of them.
import { ToolDetail } from "./tools/tool_detail.tsx";
import { useData } from "../data.ts";
import { commandLine } from "../part/command_line.ts";
import { Shown } from "../part/notes.tsx";
import { TitleBlock } from "../part/title_block.tsx";
import { ToolTable } from "../part/tool_table.tsx";
import { useWaiting } from "../part/waiting.ts";
import type { Reply } from "../reply.ts";
import { route } from "../router.ts";
import { currentWindow, WINDOWS } from "../window.ts";

export function Tools() {
  const name = route.value.rest;
  return name === "" ? <ToolList /> : <ToolDetail key={name} name={name} />;
}

function ToolList() {
  const window = currentWindow();
  const path = `/api/overview?window=${window}`;
  const loaded = useData<Reply<"/api/overview">>(path, { live: true });
  const waiting = useWaiting();
  return (
    <section class="view">
      <Shown loaded={loaded} what="The tools">
        {(data) => (
          <div class="panes">
            <ToolTable rows={data.tools} window={WINDOWS[window]} waiting={waiting.tools} />
          </div>
        )}
      </Shown>
      <TitleBlock command={commandLine("stats", [], { window })} request={`GET ${path}`} />
    </section>
  );
}
