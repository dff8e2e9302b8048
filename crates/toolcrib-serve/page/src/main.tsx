// The page begins here.
import { render } from "preact";
import { App } from "./app.tsx";
import { hearKeys } from "./keys.ts";
import { begin } from "./login.tsx";
import { followLinks } from "./router.ts";
import { applyTheme } from "./theme.ts";
import "./style/tokens.css";
import "./style/base.css";
import "./style/parts.css";
import "./style/shell.css";
import "./style/overview.css";
import "./style/tool.css";
import "./style/answers.css";
import "./style/audit.css";
import "./style/sessions.css";
import "./style/rules.css";
import "./style/connect.css";
import "./style/narrow.css";

applyTheme();
followLinks();
hearKeys();
render(<App />, document.getElementById("page")!);
await begin();
