import { TitleBlock } from "../part/title_block.tsx";
export function Overview() {
  return (
    <section class="view">
      <div class="panes"><p class="pad">Not built yet.</p></div>
      <TitleBlock command="toolcrib stats" request="GET /api/overview" />
    </section>
  );
}
