// The filter of a list and the choices beside it, each with how many it shows. Both are in the address.
import { route, setQuery } from "../router.ts";
import { Key } from "./marks.tsx";

interface FilterChip {
  /** What the address has. The choice of everything has nothing there. */
  id: string;
  name: string;
  count: number;
}

interface Props {
  /** What the list is of: "tools". */
  what: string;
  chips: FilterChip[];
  chosen: string;
  /** The name of the choice in the address. */
  name?: string;
}

export function ListFilter({ what, chips, chosen, name = "show" }: Props) {
  return (
    <>
      <span class="search">
        <input data-filter type="search" placeholder={`Filter ${what}`} aria-label={`Filter ${what}`} value={route.value.query.get("filter") ?? ""} onInput={(event) => setQuery({ filter: event.currentTarget.value })} />
        <Key name="/" />
      </span>
      <span class="chips">
        {chips.map((it) => (
          <button type="button" class="chip" key={it.id} aria-pressed={it.id === chosen} onClick={() => setQuery({ [name]: it.id })}>
            {it.name} <i>{it.count}</i>
          </button>
        ))}
      </span>
    </>
  );
}
