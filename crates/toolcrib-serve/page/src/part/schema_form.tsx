// A form from a JSON Schema: a field for each property, of the kind that its type needs. What a field cannot hold is
// written as JSON.
import { plain } from "../format.ts";

export interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  description?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
}

type Values = Record<string, string>;

function typeOf(schema: Schema): string {
  const types = Array.isArray(schema.type) ? schema.type.filter((it) => it !== "null") : [schema.type ?? "json"];
  const only = types.length === 1 ? types[0]! : "json";
  return ["string", "integer", "number", "boolean"].includes(only) ? only : "json";
}

/** The arguments that a filled form stands for, or the field that is wrong and why. */
export function argumentsOf(schema: Schema, values: Values): { args: Record<string, unknown> } | { field: string; why: string } {
  const args: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const text = values[name] ?? "";
    if (text === "") {
      if (schema.required?.includes(name)) {
        if (typeOf(property) === "string" && !property.enum) args[name] = "";
        else return { field: name, why: "is required" };
      }
      continue;
    }
    switch (typeOf(property)) {
      case "string":
        args[name] = text;
        break;
      case "integer":
      case "number": {
        const value = Number(text);
        if (!Number.isFinite(value)) return { field: name, why: "is not a number" };
        args[name] = value;
        break;
      }
      case "boolean":
        args[name] = text === "true";
        break;
      default:
        try {
          args[name] = JSON.parse(text);
        } catch {
          return { field: name, why: "is not JSON" };
        }
    }
  }
  return { args };
}

/** "1 to 500." */
function bounds({ minimum, maximum }: Schema): string {
  if (minimum === undefined && maximum === undefined) return "";
  if (maximum === undefined) return `At least ${minimum}.`;
  return minimum === undefined ? `At most ${maximum}.` : `${minimum} to ${maximum}.`;
}

export function SchemaForm({ schema, values, onChange, wrong }: { schema: Schema; values: Values; onChange: (values: Values) => void; wrong?: { field: string; why: string } | undefined }) {
  const names = Object.keys(schema.properties ?? {});
  if (names.length === 0) return <p class="second">This tool takes no arguments.</p>;
  return (
    <div class="form">
      {names.map((name) => {
        const property = schema.properties![name]!;
        const id = `field-${name}`;
        const about = [property.description ?? "", bounds(property)].filter((it) => it !== "").join(" ");
        const isWrong = wrong?.field === name;
        const set = (text: string) => onChange({ ...values, [name]: text });
        const shared = { id, "aria-invalid": isWrong, "aria-describedby": about === "" && !isWrong ? undefined : `${id}-about` };
        return (
          <div class="field" key={name}>
            <label for={id}>
              <code>{plain(name)}</code> {schema.required?.includes(name) && <span class="red">required</span>}
            </label>
            <Field property={property} value={values[name] ?? ""} set={set} shared={shared} />
            {(about !== "" || isWrong) && (
              <p class="about" id={`${id}-about`}>
                {isWrong && <span class="red">{wrong.why}. </span>}
                {plain(about)}
              </p>
            )}
          </div>
        );
      })}
    </div>
  );
}

function Field({ property, value, set, shared }: { property: Schema; value: string; set: (text: string) => void; shared: Record<string, unknown> & { id: string } }) {
  const preset = property.default;
  const placeholder = preset === undefined || preset === null ? "" : plain(typeof preset === "string" ? preset : JSON.stringify(preset));
  if (property.enum !== undefined) {
    return (
      <select {...shared} value={value} onChange={(event) => set(event.currentTarget.value)}>
        <option value="">{placeholder}</option>
        {property.enum.filter((it) => it !== null).map((it) => (
          <option key={String(it)} value={String(it)}>
            {plain(String(it))}
          </option>
        ))}
      </select>
    );
  }
  switch (typeOf(property)) {
    case "boolean":
      // One that is off unless somebody says otherwise is a box to tick.
      if (property.default !== true) return <input {...shared} type="checkbox" checked={value === "true"} onChange={(event) => set(event.currentTarget.checked ? "true" : "")} />;
      return (
        <select {...shared} value={value} onChange={(event) => set(event.currentTarget.value)}>
          <option value="">{placeholder}</option>
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      );
    case "integer":
    case "number":
      return <input {...shared} type="number" step={typeOf(property) === "integer" ? 1 : "any"} min={property.minimum} max={property.maximum} value={value} placeholder={placeholder} onInput={(event) => set(event.currentTarget.value)} />;
    case "string":
      return <textarea {...shared} rows={value.includes("\n") ? 4 : 1} value={value} placeholder={placeholder} spellcheck={false} onInput={(event) => set(event.currentTarget.value)} />;
    default:
      return <textarea {...shared} rows={2} value={value} placeholder={placeholder || "JSON"} spellcheck={false} onInput={(event) => set(event.currentTarget.value)} />;
  }
}
