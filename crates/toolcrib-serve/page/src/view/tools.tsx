// The tools: the list of all, or one of them.
import { ToolDetail } from "./tools/tool_detail.tsx";
import { ToolTable } from "./overview/tool_table.tsx";
import type { Overview } from "./overview/figures.ts";
import { useData } from "../data.ts";
import { Shown } from "../part/notes.tsx";
import { TitleBlock } from "../part/title_block.tsx";
import { useWaiting } from "../part/waiting.ts";
import { route } from "../router.ts";
import { currentWindow, WINDOWS } from "../window.ts";

export function Tools() {
  const name = route.value.rest;
  return name === "" ? <ToolList /> : <ToolDetail key={name} name={name} />;
}

function ToolList() {
  const window = currentWindow();
  const path = `/api/overview?window=${window}`;
  const loaded = useData<Overview>(path, { live: true });
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
      <TitleBlock command="toolcrib tools" request={`GET ${path}`} />
    </section>
  );
}
