// Made by types.mjs from the specification of the server. Change the handlers, and make it again.
export type paths = {
    "/api/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the calls that wait for a person. Long texts are cut; one approval has all of them.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["list_approvals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/approvals/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows the question about one call.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["show_approval"];
        put?: never;
        /**
         * Answers the question about one call.
         * @description For tokens with the role `approver` or `admin`.
         */
        post: operations["answer_approval"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Finds calls in the record, newest first.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["search_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/audit/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows everything that is known about one call.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["show_call"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/audit/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the lines of the record, one JSON object each.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["export_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/audit/export.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the calls of the record as CSV, one row each.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["export_audit_as_csv"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/audit/tail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the newest lines of the record, one JSON object each.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["tail_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/audit/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Verifies that the record is whole and unchanged.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["verify_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/callers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists who made calls, through which door and with which client.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["list_callers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/calls/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Says how a call stands, with the outcome of one that waited.
         * @description For tokens with the role `agent` or `approver` or `admin`.
         */
        get: operations["call_status"];
        put?: never;
        post?: never;
        /**
         * Cancels a call that runs.
         * @description For tokens with the role `agent` or `admin`.
         */
        delete: operations["cancel_call"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connect": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows what to add to the file of each MCP client.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["connect"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/doctor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Says what works on the server's machine, and what does not.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["doctor"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tells what happens, as server-sent events.
         * @description For tokens with the role `agent` or `approver` or `admin`.
         */
        get: operations["events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the grants, which answers of "always" make.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["list_grants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/grants/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revokes a grant.
         * @description For tokens with the role `approver` or `admin`.
         */
        delete: operations["revoke_grant"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns this specification, with one path for each tool of a toolset.
         * @description For tokens with the role `agent` or `approver` or `admin`.
         */
        get: operations["specification"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/outputs/{call}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns lines of the saved output of a call.
         * @description For tokens with the role `agent` or `approver` or `admin`.
         */
        get: operations["read_output"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns how all tools do in a window of time, and what waits for a person.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["overview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/plugins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the tools from other authors, with their versions.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["list_plugins"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/plugins/{tool}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows a tool from another author, with its code.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["show_plugin"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/plugins/{tool}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Takes a tool off offer. Its versions stay.
         * @description For tokens with the role `admin`.
         */
        post: operations["disable_plugin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/plugins/{tool}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Puts a tool on offer again.
         * @description For tokens with the role `admin`.
         */
        post: operations["enable_plugin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/plugins/{tool}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Makes an earlier version of a tool active.
         * @description For tokens with the role `admin`.
         */
        post: operations["roll_back_plugin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/proposals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the proposals that are kept, answered or not, the newest first. An agent sees its own.
         * @description For tokens with the role `agent` or `approver` or `admin`.
         */
        get: operations["list_all_proposals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the rules in force, in the order in which they count.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["list_rules"];
        put?: never;
        /**
         * Adds rules to the operator's file. They hold at once.
         * @description For tokens with the role `admin`.
         */
        post: operations["add_rules"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/rules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Removes a rule from the operator's file.
         * @description For tokens with the role `admin`.
         */
        delete: operations["remove_rule"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/rules/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Says what would be decided about a call, and why. Nothing runs.
         * @description For tokens with the role `agent` or `approver` or `admin`.
         */
        post: operations["explain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/rules/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Checks rules, and decides recorded calls again as if they were in force. Nothing runs.
         * @description For tokens with the role `approver` or `admin`.
         */
        post: operations["replay_rules"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/rules/uses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Counts how often each rule decided, and when it last did.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["rule_uses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/servers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the mounted MCP servers, with what waits of them.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["list_servers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/servers/{name}/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accepts the new and changed tools of an MCP server, or a server of an imported file.
         * @description For tokens with the role `approver` or `admin`.
         */
        post: operations["accept_server"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the sessions of agents, the newest first.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["list_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{session}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows the calls of one session, newest first.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["show_session"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{session}/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the calls of a session that changed files, newest first, with what it would do to undo them.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["preview_undo_of_session"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows every setting, and how the settings stand.
         * @description For tokens with the role `admin`.
         */
        get: operations["show_settings"];
        put?: never;
        /**
         * Changes settings by their own names, at once and in the settings file.
         * @description For tokens with the role `admin`.
         */
        post: operations["change_settings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the figures of every tool that was called.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/stats/rebuild": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Computes all figures again from the record.
         * @description For tokens with the role `admin`.
         */
        post: operations["rebuild_stats"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/stats/series": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns how one tool does over a window of time.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["tool_series"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists commands that run or ran: an agent's own, or all.
         * @description For tokens with the role `agent` or `approver` or `admin`.
         */
        get: operations["list_tasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Says how a command stands.
         * @description For tokens with the role `agent` or `approver` or `admin`.
         */
        get: operations["show_task"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks/{id}/kill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Kills a command and everything that it started.
         * @description For tokens with the role `agent` or `admin`.
         */
        post: operations["kill_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists who has tokens, without the tokens.
         * @description For tokens with the role `admin`.
         */
        get: operations["list_tokens"];
        put?: never;
        /**
         * Makes a token, and shows it this once.
         * @description For tokens with the role `admin`.
         */
        post: operations["add_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tokens/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revokes a token. What runs with it ends.
         * @description For tokens with the role `admin`.
         */
        delete: operations["revoke_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tokens/{name}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Gives the owner of a token a new one. The old one counts no more.
         * @description For tokens with the role `admin`.
         */
        post: operations["rotate_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the tools on offer, with their declarations.
         * @description For tokens with the role `agent` or `approver` or `admin`.
         */
        get: operations["list_tools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/approve/{tool}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approves a proposed tool, and loads it.
         * @description For tokens with the role `approver` or `admin`.
         */
        post: operations["approve_tool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows the tool configuration.
         * @description For tokens with the role `agent` or `approver` or `admin`.
         */
        get: operations["show_config"];
        put?: never;
        /**
         * Changes the tool configuration for everybody, at once and in the settings file.
         * @description For tokens with the role `admin`.
         */
        post: operations["change_config"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/errors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reports the errors of all tools.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["errors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/errors/{catalogue}/{tool}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reports the errors of one tool.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["tool_errors_by_full_name"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/errors/{catalogue}/{tool}/clear": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Clears the errors of one tool.
         * @description For tokens with the role `admin`.
         */
        post: operations["clear_errors_by_full_name"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/errors/{tool}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reports the errors of one tool.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["tool_errors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/errors/{tool}/clear": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Clears the errors of one tool.
         * @description For tokens with the role `admin`.
         */
        post: operations["clear_errors"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/execute/{catalogue}/{tool}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Executes a tool of any catalogue.
         * @description For tokens with the role `agent` or `admin`.
         */
        post: operations["execute_by_full_name"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/execute/{tool}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Executes a tool of the contract's own catalogue.
         * @description For tokens with the role `agent` or `admin`.
         */
        post: operations["execute"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/execute/check_pr_status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check GitHub PR status: state, checks, reviews and mergeability. Returns: {ok, tool, result{number, title, state, draft, mergeable, mergeable_state, head, base, author, url, checks{total, passed, failed, pending, list}, reviews{approved, changes_requested, list, requested}, truncated?, warnings}, elapsed_ms}
         * @description For tokens with the role `agent` or `admin`.
         */
        post: operations["execute_forgekeeper_check_pr_status"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/execute/create_task_card": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Generate TGT task card, as data and as Markdown. Returns: {ok, tool, result{id, title, severity, status, createdAt, card}, elapsed_ms}
         * @description For tokens with the role `agent` or `admin`.
         */
        post: operations["execute_forgekeeper_create_task_card"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/execute/echo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Echo text back. Returns: {ok, tool, result{text}, elapsed_ms}
         * @description For tokens with the role `agent` or `admin`.
         */
        post: operations["execute_forgekeeper_echo"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/execute/get_time": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get current UTC timestamp. Returns: {ok, tool, result{time, unix_ms}, elapsed_ms}
         * @description For tokens with the role `agent` or `admin`.
         */
        post: operations["execute_forgekeeper_get_time"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/execute/read_dir": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List directory contents. Returns: {ok, tool, result{path, entries[{name, type}], total, truncated?}, elapsed_ms}
         * @description For tokens with the role `agent` or `admin`.
         */
        post: operations["execute_forgekeeper_read_dir"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/execute/read_file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read a text file from the sandbox. Returns: {ok, tool, result{path, content, bytes, total_lines, truncated?, next_offset?}, elapsed_ms}
         * @description For tokens with the role `agent` or `admin`.
         */
        post: operations["execute_forgekeeper_read_file"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/execute/write_file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Write a text file to the sandbox. Returns: {ok, tool, result{path, bytes, created}, elapsed_ms}
         * @description For tokens with the role `agent` or `admin`.
         */
        post: operations["execute_forgekeeper_write_file"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/pending": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the proposed tools that wait. An agent sees its own.
         * @description For tokens with the role `agent` or `approver` or `admin`.
         */
        get: operations["list_proposals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/pending/{tool}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows a proposal with all that an answer needs, by the tool's name or by its id.
         * @description For tokens with the role `agent` or `approver` or `admin`.
         */
        get: operations["show_proposal"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/propose": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Proposes a tool. A person must approve it before it is loaded.
         * @description For tokens with the role `agent` or `admin`.
         */
        post: operations["propose_tool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/regression": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reports which tools got worse.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["regressions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/regression/{catalogue}/{tool}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reports whether a tool got worse.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["tool_regression_by_full_name"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/regression/{catalogue}/{tool}/clear": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Makes the current figures of one tool its new baseline.
         * @description For tokens with the role `admin`.
         */
        post: operations["clear_regression_by_full_name"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/regression/{tool}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reports whether a tool got worse.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["tool_regression"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/regression/{tool}/clear": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Makes the current figures of one tool its new baseline.
         * @description For tokens with the role `admin`.
         */
        post: operations["clear_regression"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/reject/{tool}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rejects a proposed tool.
         * @description For tokens with the role `approver` or `admin`.
         */
        post: operations["reject_tool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/reload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Looks through the tools folder, and loads what is approved.
         * @description For tokens with the role `admin`.
         */
        post: operations["reload_tools"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/resources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reports what all tools use.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["resources"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/resources/{catalogue}/{tool}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reports what one tool uses.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["tool_resources_by_full_name"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/resources/{catalogue}/{tool}/clear": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Clears the resource figures of one tool.
         * @description For tokens with the role `admin`.
         */
        post: operations["clear_resources_by_full_name"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/resources/{tool}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reports what one tool uses.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["tool_resources"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/resources/{tool}/clear": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Clears the resource figures of one tool.
         * @description For tokens with the role `admin`.
         */
        post: operations["clear_resources"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/write": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Writes a tool and loads it, if the settings want no approval.
         * @description For tokens with the role `admin`.
         */
        post: operations["write_tool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the calls that changed files, newest first.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["list_changed_calls"];
        put?: never;
        /**
         * Undoes several calls, one after the other, each by a call of its own. The work goes on if the client goes away.
         * @description For tokens with the role `approver` or `admin`.
         */
        post: operations["undo_all"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/undo/{call}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Says what it would do to undo a call. Nothing is changed.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["preview_undo"];
        put?: never;
        /**
         * Undoes all that a call changed.
         * @description For tokens with the role `approver` or `admin`.
         */
        post: operations["undo"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/version": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Says which program answers, and its version.
         * @description For tokens with the role `agent` or `approver` or `admin`.
         */
        get: operations["version"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/waiting": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns how much waits for a person.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["waiting"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Counts the processes of this server that run tools from other authors.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["list_workers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the metrics of the server.
         * @description For tokens with the role `approver` or `admin`.
         */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
};
export type webhooks = Record<string, never>;
export type components = {
    schemas: {
        Error: {
            /** @description a stable code for programs */
            error: string;
            /** @description what happened, and what to do next */
            message: string;
            /** @constant */
            ok: false;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
};
export type $defs = Record<string, never>;
export interface operations {
    list_approvals: {
        parameters: {
            query?: {
                /** @description Only those that were asked, answered or over at this time or later. */
                since?: string;
                /** @description Those that are pending, unless all are asked for. */
                status?: "pending" | "all";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        approvals: {
                            /** @description The answer to a pending approval. */
                            answer: {
                                /**
                                 * Format: date-time
                                 * @description When it was answered.
                                 */
                                at: string;
                                /** @description Who answered. */
                                by: string;
                                /** @description Whether the call may run. */
                                is_approved: boolean;
                                /** @description The grant that the person gives with a yes, if they said "always". */
                                wish?: {
                                    /** @description Which calls it is to cover. */
                                    covers: {
                                        call: {
                                            /** @description Its arguments as canonical text. */
                                            args: string;
                                            /**
                                             * @description The symbolic links among the paths of the call, each with its target. If a target changes, it is another
                                             *     call.
                                             */
                                            links?: string[][];
                                        };
                                    } | {
                                        argv: string[];
                                    } | {
                                        path: string;
                                    } | {
                                        edits: string;
                                    } | {
                                        /** @description A host that a command wants to reach. */
                                        host: {
                                            /** @description The name of the host, in lower case. */
                                            host: string;
                                            /**
                                             * Format: uint16
                                             * @description The port.
                                             */
                                            port: number;
                                        };
                                    };
                                    /** @description How long it is to hold, in minutes; without a number, until it is revoked. */
                                    minutes: number | null;
                                    /** @description Where it is to hold. */
                                    scope: {
                                        session: string;
                                    } | {
                                        project: string;
                                    } | "user";
                                } | null;
                                /** @description What the person wants the agent to know. */
                                words: string;
                            } | null;
                            /** @description The arguments of the call. */
                            args: unknown;
                            /**
                             * @description Who asked for the call. Approvals from before callers were stored are of the user at the terminal.
                             * @default {
                             *       "principal": {
                             *         "name": "user",
                             *         "role": "user"
                             *       },
                             *       "door": "terminal"
                             *     }
                             */
                            caller: {
                                /** @description What the client calls itself. It is shown and recorded, and nothing is decided by it. */
                                client?: string | null;
                                /**
                                 * @description The connection that the caller chose, by the name that the operator gave it. Without one, it is that of the
                                 *     settings.
                                 */
                                connection?: string | null;
                                /** @description The door that took the call. */
                                door: "terminal" | "http" | "mcp" | "nats" | "plugin" | "agent";
                                /** @description Who calls. */
                                principal: {
                                    /** @description The name of the token, or of the user, or `oauth:SERVER#NAME`, or `nats:AGENT`, or `page:user-UID`. */
                                    name: string;
                                    /** @description What the principal may do. */
                                    role: "user" | "agent" | "approver" | "admin";
                                };
                                /**
                                 * @description The door of the call for which a plugin or a subagent makes this one. What is forbidden at that door stays
                                 *     forbidden.
                                 */
                                via?: ("terminal" | "http" | "mcp" | "nats" | "plugin" | "agent") | null;
                            };
                            /**
                             * @description What would become of which files.
                             * @default []
                             */
                            changes: {
                                /** @description How many files that are there now are changed or deleted with it. Nothing if they were not counted. */
                                files: number | null;
                                /** @description What becomes of it. */
                                kind: "create" | "change" | "delete";
                                /** @description How many lines are added and removed. Nothing if that is not known. */
                                lines: number[] | null;
                                /** @description The path, without links, relative to the workspace if it is in it. */
                                path: string;
                                /** @description The path as the caller wrote it, if that is not the same. */
                                spelt?: string | null;
                            }[];
                            /** @description The caller's own name for the conversation. */
                            conversation?: string | null;
                            /**
                             * Format: date-time
                             * @description When the question was asked.
                             */
                            created_at: string;
                            /** @description The digest of what the answer is bound to. */
                            digest: string;
                            /**
                             * Format: date-time
                             * @description Until when the question can be answered.
                             */
                            expires_at: string;
                            /**
                             * @description The absolute paths of the files that the tool itself would change.
                             * @default []
                             */
                            files: string[];
                            /**
                             * @description The grants that "always" can make. The first is the one to offer.
                             * @default []
                             */
                            grants: {
                                /** @description The rule that would be stored. */
                                rule: string;
                                /** @description The grant. */
                                wish: {
                                    /** @description Which calls it is to cover. */
                                    covers: {
                                        call: {
                                            /** @description Its arguments as canonical text. */
                                            args: string;
                                            /**
                                             * @description The symbolic links among the paths of the call, each with its target. If a target changes, it is another
                                             *     call.
                                             */
                                            links?: string[][];
                                        };
                                    } | {
                                        argv: string[];
                                    } | {
                                        path: string;
                                    } | {
                                        edits: string;
                                    } | {
                                        /** @description A host that a command wants to reach. */
                                        host: {
                                            /** @description The name of the host, in lower case. */
                                            host: string;
                                            /**
                                             * Format: uint16
                                             * @description The port.
                                             */
                                            port: number;
                                        };
                                    };
                                    /** @description How long it is to hold, in minutes; without a number, until it is revoked. */
                                    minutes: number | null;
                                    /** @description Where it is to hold. */
                                    scope: {
                                        session: string;
                                    } | {
                                        project: string;
                                    } | "user";
                                };
                                /** @description What it covers, where and for how long, in words. */
                                words: string;
                            }[];
                            /** @description The host, if the question is about a host that a running command wants to reach, and not about a call. */
                            host?: {
                                /** @description The name of the host, in lower case. */
                                host: string;
                                /**
                                 * Format: uint16
                                 * @description The port.
                                 */
                                port: number;
                            } | null;
                            /**
                             * @description The id of the call. A question about a host that its command wants to reach has `-host1`, `-host2` and so on
                             *     behind it.
                             */
                            id: string;
                            /** @description Whether no process waits for the answer: whoever approves the call runs it. */
                            is_parked: boolean;
                            /**
                             * @description What an approval does not pin down: it may be different when the call runs.
                             * @default []
                             */
                            loose: string[];
                            /**
                             * @description The hosts that its command can reach, or that the tool asks itself. Nothing if it has no command and asks none.
                             * @default null
                             */
                            network: string[] | null;
                            /** @description Where the call runs, if that is on another machine: the place, and the workspace there. */
                            place?: string | null;
                            /**
                             * @description The process that waits for the answer.
                             * @default
                             */
                            process: string;
                            /**
                             * @description What no grant can cover, each with the reason.
                             * @default []
                             */
                            refused_grants: {
                                /** @description Why it cannot be granted. */
                                why: string;
                                /** @description What it would cover, in words. */
                                words: string;
                            }[];
                            /** @description The session that asked for the call. */
                            requester: string;
                            /**
                             * @description The rule that asks.
                             * @default
                             */
                            rule: string;
                            /**
                             * @description Where that rule is written, if it is in a file.
                             * @default null
                             */
                            rule_source: string | null;
                            /**
                             * @description What its command would run, if it has one.
                             * @default null
                             */
                            runs: {
                                /** @description How many more programs it probably runs. */
                                more: number;
                                /** @description The programs that it runs, each with its words and what to know about it, in backticks. */
                                runs: string[];
                                /** @description Why the above is not certain, if so. */
                                uncertain: string | null;
                                /** @description The files that its redirections write, in backticks. */
                                writes: string[];
                            } | null;
                            /** @description `pending`, `approved`, `denied`, `taken up`, `expired` or `revoked`. */
                            status: string;
                            /** @description `catalogue/tool`. */
                            tool: string;
                            /** @description Where the caller places the call in its own work. */
                            trace?: {
                                /** @description The caller's own name for the trace. The call id stands for it if the caller has none. */
                                id: string | null;
                                /** @description The iteration of the agent's loop. */
                                iteration: number;
                            } | null;
                            /**
                             * @description What the call wants to do, in a few words that follow "wants to".
                             * @default
                             */
                            what: string;
                            /**
                             * @description Why the call is asked about, in a sentence for people.
                             * @default
                             */
                            why: string;
                            /** @description The workspace in which the call would run. */
                            workspace: string;
                        }[];
                        count: number;
                        ok: boolean;
                    };
                };
            };
        };
    };
    show_approval: {
        parameters: {
            query?: {
                /** @description Whether differences have all their lines. Otherwise the first lines of each are shown, and the others are counted. */
                whole?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description An approval, with how it stands. */
                        approval: {
                            /** @description The answer to a pending approval. */
                            answer: {
                                /**
                                 * Format: date-time
                                 * @description When it was answered.
                                 */
                                at: string;
                                /** @description Who answered. */
                                by: string;
                                /** @description Whether the call may run. */
                                is_approved: boolean;
                                /** @description The grant that the person gives with a yes, if they said "always". */
                                wish?: {
                                    /** @description Which calls it is to cover. */
                                    covers: {
                                        call: {
                                            /** @description Its arguments as canonical text. */
                                            args: string;
                                            /**
                                             * @description The symbolic links among the paths of the call, each with its target. If a target changes, it is another
                                             *     call.
                                             */
                                            links?: string[][];
                                        };
                                    } | {
                                        argv: string[];
                                    } | {
                                        path: string;
                                    } | {
                                        edits: string;
                                    } | {
                                        /** @description A host that a command wants to reach. */
                                        host: {
                                            /** @description The name of the host, in lower case. */
                                            host: string;
                                            /**
                                             * Format: uint16
                                             * @description The port.
                                             */
                                            port: number;
                                        };
                                    };
                                    /** @description How long it is to hold, in minutes; without a number, until it is revoked. */
                                    minutes: number | null;
                                    /** @description Where it is to hold. */
                                    scope: {
                                        session: string;
                                    } | {
                                        project: string;
                                    } | "user";
                                } | null;
                                /** @description What the person wants the agent to know. */
                                words: string;
                            } | null;
                            /** @description The arguments of the call. */
                            args: unknown;
                            /**
                             * @description Who asked for the call. Approvals from before callers were stored are of the user at the terminal.
                             * @default {
                             *       "principal": {
                             *         "name": "user",
                             *         "role": "user"
                             *       },
                             *       "door": "terminal"
                             *     }
                             */
                            caller: {
                                /** @description What the client calls itself. It is shown and recorded, and nothing is decided by it. */
                                client?: string | null;
                                /**
                                 * @description The connection that the caller chose, by the name that the operator gave it. Without one, it is that of the
                                 *     settings.
                                 */
                                connection?: string | null;
                                /** @description The door that took the call. */
                                door: "terminal" | "http" | "mcp" | "nats" | "plugin" | "agent";
                                /** @description Who calls. */
                                principal: {
                                    /** @description The name of the token, or of the user, or `oauth:SERVER#NAME`, or `nats:AGENT`, or `page:user-UID`. */
                                    name: string;
                                    /** @description What the principal may do. */
                                    role: "user" | "agent" | "approver" | "admin";
                                };
                                /**
                                 * @description The door of the call for which a plugin or a subagent makes this one. What is forbidden at that door stays
                                 *     forbidden.
                                 */
                                via?: ("terminal" | "http" | "mcp" | "nats" | "plugin" | "agent") | null;
                            };
                            /**
                             * @description What would become of which files.
                             * @default []
                             */
                            changes: {
                                /** @description How many files that are there now are changed or deleted with it. Nothing if they were not counted. */
                                files: number | null;
                                /** @description What becomes of it. */
                                kind: "create" | "change" | "delete";
                                /** @description How many lines are added and removed. Nothing if that is not known. */
                                lines: number[] | null;
                                /** @description The path, without links, relative to the workspace if it is in it. */
                                path: string;
                                /** @description The path as the caller wrote it, if that is not the same. */
                                spelt?: string | null;
                            }[];
                            /** @description The caller's own name for the conversation. */
                            conversation?: string | null;
                            /**
                             * Format: date-time
                             * @description When the question was asked.
                             */
                            created_at: string;
                            /** @description The digest of what the answer is bound to. */
                            digest: string;
                            /**
                             * Format: date-time
                             * @description Until when the question can be answered.
                             */
                            expires_at: string;
                            /**
                             * @description The absolute paths of the files that the tool itself would change.
                             * @default []
                             */
                            files: string[];
                            /**
                             * @description The grants that "always" can make. The first is the one to offer.
                             * @default []
                             */
                            grants: {
                                /** @description The rule that would be stored. */
                                rule: string;
                                /** @description The grant. */
                                wish: {
                                    /** @description Which calls it is to cover. */
                                    covers: {
                                        call: {
                                            /** @description Its arguments as canonical text. */
                                            args: string;
                                            /**
                                             * @description The symbolic links among the paths of the call, each with its target. If a target changes, it is another
                                             *     call.
                                             */
                                            links?: string[][];
                                        };
                                    } | {
                                        argv: string[];
                                    } | {
                                        path: string;
                                    } | {
                                        edits: string;
                                    } | {
                                        /** @description A host that a command wants to reach. */
                                        host: {
                                            /** @description The name of the host, in lower case. */
                                            host: string;
                                            /**
                                             * Format: uint16
                                             * @description The port.
                                             */
                                            port: number;
                                        };
                                    };
                                    /** @description How long it is to hold, in minutes; without a number, until it is revoked. */
                                    minutes: number | null;
                                    /** @description Where it is to hold. */
                                    scope: {
                                        session: string;
                                    } | {
                                        project: string;
                                    } | "user";
                                };
                                /** @description What it covers, where and for how long, in words. */
                                words: string;
                            }[];
                            /** @description The host, if the question is about a host that a running command wants to reach, and not about a call. */
                            host?: {
                                /** @description The name of the host, in lower case. */
                                host: string;
                                /**
                                 * Format: uint16
                                 * @description The port.
                                 */
                                port: number;
                            } | null;
                            /**
                             * @description The id of the call. A question about a host that its command wants to reach has `-host1`, `-host2` and so on
                             *     behind it.
                             */
                            id: string;
                            /** @description Whether no process waits for the answer: whoever approves the call runs it. */
                            is_parked: boolean;
                            /**
                             * @description What an approval does not pin down: it may be different when the call runs.
                             * @default []
                             */
                            loose: string[];
                            /**
                             * @description The hosts that its command can reach, or that the tool asks itself. Nothing if it has no command and asks none.
                             * @default null
                             */
                            network: string[] | null;
                            /** @description Where the call runs, if that is on another machine: the place, and the workspace there. */
                            place?: string | null;
                            /**
                             * @description The process that waits for the answer.
                             * @default
                             */
                            process: string;
                            /**
                             * @description What no grant can cover, each with the reason.
                             * @default []
                             */
                            refused_grants: {
                                /** @description Why it cannot be granted. */
                                why: string;
                                /** @description What it would cover, in words. */
                                words: string;
                            }[];
                            /** @description The session that asked for the call. */
                            requester: string;
                            /**
                             * @description The rule that asks.
                             * @default
                             */
                            rule: string;
                            /**
                             * @description Where that rule is written, if it is in a file.
                             * @default null
                             */
                            rule_source: string | null;
                            /**
                             * @description What its command would run, if it has one.
                             * @default null
                             */
                            runs: {
                                /** @description How many more programs it probably runs. */
                                more: number;
                                /** @description The programs that it runs, each with its words and what to know about it, in backticks. */
                                runs: string[];
                                /** @description Why the above is not certain, if so. */
                                uncertain: string | null;
                                /** @description The files that its redirections write, in backticks. */
                                writes: string[];
                            } | null;
                            /** @description `pending`, `approved`, `denied`, `taken up`, `expired` or `revoked`. */
                            status: string;
                            /** @description `catalogue/tool`. */
                            tool: string;
                            /** @description Where the caller places the call in its own work. */
                            trace?: {
                                /** @description The caller's own name for the trace. The call id stands for it if the caller has none. */
                                id: string | null;
                                /** @description The iteration of the agent's loop. */
                                iteration: number;
                            } | null;
                            /**
                             * @description What the call wants to do, in a few words that follow "wants to".
                             * @default
                             */
                            what: string;
                            /**
                             * @description Why the call is asked about, in a sentence for people.
                             * @default
                             */
                            why: string;
                            /** @description The workspace in which the call would run. */
                            workspace: string;
                        };
                        /** @description The files and folders that an answer is bound to: if one of them changes, the call does not run. */
                        bound_to: {
                            /** @description How many more there are. */
                            more: number;
                            /** @description The first of them. */
                            paths: string[];
                        };
                        /** @description What changed in the workspace since the question, if it is not answered yet. */
                        changed: string[];
                        /** @description The command that the call would run, as it is written. */
                        command: string | null;
                        /** @description The directory in which the command would start, as it is written. Without one, it is the workspace. */
                        directory: string | null;
                        /** @description What the call would change in files, if it is not answered yet. */
                        edits: {
                            /** @description The difference, if there is one. */
                            difference: ({
                                note: string;
                            } | {
                                /** @description The lines in which two texts differ. */
                                lines: {
                                    /** @description How many lines were added. */
                                    added: number;
                                    /** @description How many more lines there would be. */
                                    left_out: number;
                                    /** @description The lines that differ, and some around them. */
                                    lines: {
                                        /** @description What became of it. */
                                        kind: "added" | "removed" | "same" | "gap";
                                        /** @description The number of the line in its text. */
                                        number: number;
                                        /** @description The line, with its control characters escaped. */
                                        text: string;
                                    }[];
                                    /** @description How many lines were removed. */
                                    removed: number;
                                };
                            }) | null;
                            /** @description The file, as the question names it. */
                            place: string;
                        }[];
                        /** @description Whether the call belongs to another workspace than the server's, so that it cannot be approved here. */
                        elsewhere: boolean;
                        ok: boolean;
                        /** @description Whether the one who asks this asked for the call, and so cannot answer. */
                        own: boolean;
                        /**
                         * Format: uint8
                         * @description The tier of the tool.
                         */
                        tier: number | null;
                    };
                };
            };
        };
    };
    answer_approval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    decision: "approve" | "always" | "deny";
                    /** @description The number of the grant that "always" makes, from 0 as the question lists them. */
                    grant?: number | null;
                    /** @description What the agent is told with a no. */
                    words?: string | null;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        call: string;
                        ok: boolean;
                        /** @description Where the outcome of an approved call is found. */
                        outcome?: string | null;
                        /** @description `approved` or `denied`. */
                        status: string;
                    };
                };
            };
        };
    };
    search_audit: {
        parameters: {
            query?: {
                /** @description Who asked or answered. */
                actor?: string;
                /** @description Only calls that began before this line of the record. The `seq` of the last call of a page leads to the next one. */
                before?: number;
                /** @description A call, by its id or the beginning of it. */
                call?: string;
                /** @description Only calls that changed files. */
                changed?: boolean;
                /** @description What was decided. `ask` is a call about which a person was asked, whatever they said. */
                decision?: "allow" | "ask" | "deny";
                door?: "terminal" | "http" | "mcp" | "nats" | "plugin" | "agent";
                /** @description The most calls to return. */
                limit?: number;
                outcome?: "ok" | "command_failed" | "error" | "refused" | "unknown" | "open";
                /** @description The session, which is the conversation if the caller named one. */
                session?: string;
                since?: string;
                /** @description A text in the arguments, the reply or the message. */
                text?: string;
                /** @description A catalogue, `catalogue/tool`, or the name of a tool. */
                tool?: string;
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        calls: {
                            /** @description The beginning of the arguments. */
                            args: string | null;
                            /** @description Whether a person was asked about it. */
                            asked_person: boolean;
                            at: string;
                            /** @description The person who answered. */
                            by: string | null;
                            call: string;
                            client: string | null;
                            /** @description The connection that the caller chose. */
                            connection?: string | null;
                            decision: string | null;
                            door: string | null;
                            /** @description What its tool does: `none`, `compute`, `read` or `write`. */
                            effect: string | null;
                            /** Format: double */
                            elapsed_ms: number | null;
                            /** @description How its command ended. */
                            end: ({
                                /** Format: int32 */
                                exited: number;
                            } | {
                                /** Format: int32 */
                                signalled: number;
                            } | "timed_out" | "limited" | "killed") | null;
                            /** @description The kind of the error. */
                            error: string | null;
                            message: string | null;
                            /** @description `ok`, `command_failed`, `error`, `refused`, `unknown` or `open`. */
                            outcome: string;
                            principal: string | null;
                            role: string | null;
                            rule: string | null;
                            /** @description The number of its first line. */
                            seq: number;
                            session: string | null;
                            /** @description Whether its tool was started. */
                            started: boolean;
                            tool: string;
                            /** @description The resources that work used. */
                            used: {
                                /** @description Processor time, in microseconds. */
                                cpu_us: number;
                                /** @description The most memory at one time, in bytes. */
                                peak_memory: number;
                                /** @description How many processes were started. */
                                processes: number;
                                /** @description Bytes that system calls read, also from a cache or a pipe. */
                                read_bytes: number;
                                /** @description The limit that a command ran into, if it ran into one. */
                                struck?: ("memory" | "processes" | "cpu" | "file_size" | "growth" | "files" | "open_files" | "output" | "network") | null;
                                /** @description Bytes that system calls wrote. */
                                written_bytes: number;
                            } | null;
                            user: number | null;
                            version: string | null;
                        }[];
                        count: number;
                        ok: boolean;
                    };
                };
            };
        };
    };
    show_call: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Everything about one call, for programs. */
                        call: {
                            /** @description The beginning of the arguments. */
                            args: string | null;
                            /** @description Whether a person was asked about it. */
                            asked_person: boolean;
                            at: string;
                            /** @description The person who answered. */
                            by: string | null;
                            call: string;
                            /** @description The changes that undo can take back. */
                            changes: {
                                /** @description The file after the change; nothing if there is none. */
                                after: {
                                    /** @description The file's own extended attributes and its access control list, in hexadecimal. */
                                    attributes?: {
                                        [key: string]: string;
                                    };
                                    /** @description The owner's group id. */
                                    gid: number;
                                    /** @description Whether the file is a symbolic link. */
                                    is_link?: boolean;
                                    /** @description The permission bits. */
                                    mode: number;
                                    /** @description SHA-256 of the content, or of a link's target. */
                                    sha256: string;
                                    /** @description The size in bytes. */
                                    size: number;
                                    /** @description The owner's user id. */
                                    uid: number;
                                } | null;
                                /** @description The time of the change, as RFC 3339. */
                                at: string;
                                /** @description The file before the change; nothing if there was none. */
                                before: {
                                    /** @description The file's own extended attributes and its access control list, in hexadecimal. */
                                    attributes?: {
                                        [key: string]: string;
                                    };
                                    /** @description The owner's group id. */
                                    gid: number;
                                    /** @description Whether the file is a symbolic link. */
                                    is_link?: boolean;
                                    /** @description The permission bits. */
                                    mode: number;
                                    /** @description SHA-256 of the content, or of a link's target. */
                                    sha256: string;
                                    /** @description The size in bytes. */
                                    size: number;
                                    /** @description The owner's user id. */
                                    uid: number;
                                } | null;
                                /** @description The call that made the change. */
                                call: string;
                                /** @description Why it is uncertain that the call made this change, if it is. */
                                doubt?: ("others" | "lost" | "unseen" | "named") | null;
                                /** @description The kind of change. */
                                kind: "created" | "replaced" | "removed" | "made_directory" | "removed_directory";
                                /** @description The identity of the directory, if the change made one. */
                                made?: {
                                    /**
                                     * Format: int64
                                     * @description When the file was made, in nanoseconds since 1970; 0 if the file system does not know.
                                     * @default 0
                                     */
                                    born: number;
                                    /** @description The device that the file is on. */
                                    device: number;
                                    /** @description The inode number, which another file may get when this one is gone. */
                                    inode: number;
                                } | null;
                                /** @description The path below the root, with no link in it, each name spelt by [`crate::escape::name`]. */
                                path: string;
                                /** @description The absolute path of the root, each name spelt by [`crate::escape::name`]. */
                                root: string;
                                /** @description The identity of the root's directory, whatever has its path by now. */
                                root_id: {
                                    /**
                                     * Format: int64
                                     * @description When the file was made, in nanoseconds since 1970; 0 if the file system does not know.
                                     * @default 0
                                     */
                                    born: number;
                                    /** @description The device that the file is on. */
                                    device: number;
                                    /** @description The inode number, which another file may get when this one is gone. */
                                    inode: number;
                                };
                                /** @description The tool, as `catalogue/name`. */
                                tool: string;
                            }[];
                            client: string | null;
                            /** @description The connection that the caller chose. */
                            connection?: string | null;
                            decision: string | null;
                            /** @description The directory in which its command started. */
                            directory: string | null;
                            door: string | null;
                            /** @description What its tool does: `none`, `compute`, `read` or `write`. */
                            effect: string | null;
                            /** Format: double */
                            elapsed_ms: number | null;
                            /** @description How its command ended. */
                            end: ({
                                /** Format: int32 */
                                exited: number;
                            } | {
                                /** Format: int32 */
                                signalled: number;
                            } | "timed_out" | "limited" | "killed") | null;
                            /** @description The kind of the error. */
                            error: string | null;
                            message: string | null;
                            /** @description What happened, in its order. */
                            moments: {
                                at: string;
                                /** @description The person who answered. */
                                by: string | null;
                                decision: string | null;
                                detail: unknown;
                                error: string | null;
                                event: string;
                                rule: string | null;
                                /** @description The number of its line. */
                                seq: number;
                                status: string | null;
                                /** @description The sandbox and the limits of its command. */
                                terms: string | null;
                            }[];
                            /** @description What passed between its command and each host. */
                            network: {
                                /**
                                 * @description Bytes that were received from it.
                                 * @default 0
                                 */
                                bytes_down: number;
                                /**
                                 * @description Bytes that were sent to the host.
                                 * @default 0
                                 */
                                bytes_up: number;
                                /**
                                 * @description How many connections were made.
                                 * @default 0
                                 */
                                connections: number;
                                /**
                                 * @description The host, as the command named it. A text in parentheses stands for several hosts or for none.
                                 * @default
                                 */
                                host: string;
                                /**
                                 * @description How many requests were refused, or failed before a connection was made.
                                 * @default 0
                                 */
                                refused: number;
                            }[];
                            /** @description `ok`, `command_failed`, `error`, `refused`, `unknown` or `open`. */
                            outcome: string;
                            /** @description Whether its output is saved. */
                            output_saved: boolean;
                            /** @description The files that the call was about to change. */
                            places: string[] | null;
                            principal: string | null;
                            /** @description The beginning of the reply. */
                            result: string | null;
                            role: string | null;
                            rule: string | null;
                            /** @description The number of its first line. */
                            seq: number;
                            session: string | null;
                            /** @description Whether its tool was started. */
                            started: boolean;
                            /** @description The call that undid it. */
                            taken_back_by: string | null;
                            /** @description How the task ended that the call started. */
                            task: ({
                                /** Format: int32 */
                                exited: number;
                            } | {
                                /** Format: int32 */
                                signalled: number;
                            } | "timed_out" | "limited" | "killed") | null;
                            tool: string;
                            /** @description The files that changed while its command ran. */
                            touched: {
                                /** @description Files that were there before and have changed. */
                                changed?: string[];
                                /** @description What is held because git would run it, each with its file and the id under which it is held. */
                                held?: string[];
                                /** @description Whether Toolcrib did not look at the whole workspace. */
                                is_partial?: boolean;
                                /** @description New files, also those that replaced others. */
                                made?: string[];
                                /** @description How many changed files there are beyond those that are named. */
                                more?: number;
                                /** @description Files that are gone, where their names were known. */
                                removed?: string[];
                                /** @description Folders from which something else was removed, or in which something was made and removed again. */
                                thinned?: string[];
                                /** @description How many files named on the command line have no snapshot: too many, too large, not readable. */
                                unkept?: number;
                            }[];
                            /** @description The resources that work used. */
                            used: {
                                /** @description Processor time, in microseconds. */
                                cpu_us: number;
                                /** @description The most memory at one time, in bytes. */
                                peak_memory: number;
                                /** @description How many processes were started. */
                                processes: number;
                                /** @description Bytes that system calls read, also from a cache or a pipe. */
                                read_bytes: number;
                                /** @description The limit that a command ran into, if it ran into one. */
                                struck?: ("memory" | "processes" | "cpu" | "file_size" | "growth" | "files" | "open_files" | "output" | "network") | null;
                                /** @description Bytes that system calls wrote. */
                                written_bytes: number;
                            } | null;
                            user: number | null;
                            version: string | null;
                        };
                        /** @description The difference that each of its changes made, in their order. */
                        differences: (({
                            note: string;
                        } | {
                            /** @description The lines in which two texts differ. */
                            lines: {
                                /** @description How many lines were added. */
                                added: number;
                                /** @description How many more lines there would be. */
                                left_out: number;
                                /** @description The lines that differ, and some around them. */
                                lines: {
                                    /** @description What became of it. */
                                    kind: "added" | "removed" | "same" | "gap";
                                    /** @description The number of the line in its text. */
                                    number: number;
                                    /** @description The line, with its control characters escaped. */
                                    text: string;
                                }[];
                                /** @description How many lines were removed. */
                                removed: number;
                            };
                        }) | null)[];
                        ok: boolean;
                    };
                };
            };
        };
    };
    export_audit: {
        parameters: {
            query?: {
                /** @description Who asked or answered. */
                actor?: string;
                /** @description Only calls that began before this line of the record. The `seq` of the last call of a page leads to the next one. */
                before?: number;
                /** @description A call, by its id or the beginning of it. */
                call?: string;
                /** @description Only calls that changed files. */
                changed?: boolean;
                /** @description What was decided. `ask` is a call about which a person was asked, whatever they said. */
                decision?: "allow" | "ask" | "deny";
                door?: "terminal" | "http" | "mcp" | "nats" | "plugin" | "agent";
                /** @description The most calls to return. */
                limit?: number;
                outcome?: "ok" | "command_failed" | "error" | "refused" | "unknown" | "open";
                /** @description The session, which is the conversation if the caller named one. */
                session?: string;
                since?: string;
                /** @description A text in the arguments, the reply or the message. */
                text?: string;
                /** @description A catalogue, `catalogue/tool`, or the name of a tool. */
                tool?: string;
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
        };
    };
    export_audit_as_csv: {
        parameters: {
            query?: {
                /** @description Who asked or answered. */
                actor?: string;
                /** @description Only calls that began before this line of the record. The `seq` of the last call of a page leads to the next one. */
                before?: number;
                /** @description A call, by its id or the beginning of it. */
                call?: string;
                /** @description Only calls that changed files. */
                changed?: boolean;
                /** @description What was decided. `ask` is a call about which a person was asked, whatever they said. */
                decision?: "allow" | "ask" | "deny";
                door?: "terminal" | "http" | "mcp" | "nats" | "plugin" | "agent";
                /** @description The most calls to return. */
                limit?: number;
                outcome?: "ok" | "command_failed" | "error" | "refused" | "unknown" | "open";
                /** @description The session, which is the conversation if the caller named one. */
                session?: string;
                since?: string;
                /** @description A text in the arguments, the reply or the message. */
                text?: string;
                /** @description A catalogue, `catalogue/tool`, or the name of a tool. */
                tool?: string;
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
        };
    };
    tail_audit: {
        parameters: {
            query?: {
                /** @description The most lines to return. It is 20 if it is not given. */
                lines?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
        };
    };
    verify_audit: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        files: number;
                        /** @description The number of the first line. */
                        first: number;
                        /** @description Whether the record is whole and unchanged. */
                        intact: boolean;
                        /** @description The number of the last line. */
                        last: number;
                        lines: number;
                        /** @description What went wrong once, and was recorded as it should be. */
                        notes: {
                            file: string;
                            line: number | null;
                            what: string;
                        }[];
                        ok: boolean;
                        problems: {
                            file: string;
                            line: number | null;
                            what: string;
                        }[];
                    };
                };
            };
        };
    };
    list_callers: {
        parameters: {
            query?: {
                /** @description Those with calls in so many hours. (default: 24) */
                hours?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The latest first. */
                        callers: {
                            calls: number;
                            /** @description What the client calls itself. */
                            client: string | null;
                            door: string | null;
                            /** Format: date-time */
                            first_at: string;
                            /** Format: date-time */
                            last_at: string;
                            last_call: string;
                            last_tool: string;
                            /** @description The name; nothing for the user at a terminal. */
                            principal: string | null;
                            role: string | null;
                        }[];
                        ok: boolean;
                        /**
                         * Format: date-time
                         * @description When the part of the record begins that was read: as wanted, or later if the record is large.
                         */
                        since: string;
                    };
                };
            };
        };
    };
    call_status: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The answer of a person, if the call waited for one. */
                        answer?: {
                            approved: boolean;
                            by: string;
                            words: string;
                        } | null;
                        call: string;
                        ok: boolean;
                        /** @description The outcome of a call that waited for an answer. */
                        outcome?: {
                            /** @description Why a call failed. */
                            error: {
                                error: string;
                                message: string;
                            } | null;
                            ok: boolean;
                            /** @description The catalogue's reply. */
                            reply: unknown;
                        } | null;
                        /** @description `running`, `cancelling`, the status of its approval, or its outcome on the record. */
                        status: string;
                        tool?: string | null;
                    };
                };
            };
        };
    };
    cancel_call: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The answer of a person, if the call waited for one. */
                        answer?: {
                            approved: boolean;
                            by: string;
                            words: string;
                        } | null;
                        call: string;
                        ok: boolean;
                        /** @description The outcome of a call that waited for an answer. */
                        outcome?: {
                            /** @description Why a call failed. */
                            error: {
                                error: string;
                                message: string;
                            } | null;
                            ok: boolean;
                            /** @description The catalogue's reply. */
                            reply: unknown;
                        } | null;
                        /** @description `running`, `cancelling`, the status of its approval, or its outcome on the record. */
                        status: string;
                        tool?: string | null;
                    };
                };
            };
        };
    };
    connect: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        clients: {
                            /** @description What a person does in the client afterwards. */
                            afterwards: string;
                            /** @description The name of the client on the command line. */
                            client: string;
                            /** @description The command that writes the file. */
                            command: string;
                            /** @description The file of the client. */
                            file: string;
                            /** @description For which calls: `user` for the user's file, `project` for the file of the workspace. */
                            scope: string;
                            /** @description Exactly what the command prints with `--print`. */
                            text: string;
                            /** @description The name that people know. */
                            title: string;
                            /** @description What a person should know about it. */
                            warning?: string | null;
                        }[];
                        ok: boolean;
                        /** @description The workspace of the server. */
                        workspace: string;
                    };
                };
            };
        };
    };
    doctor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        /** @description Each part with its finding, as `toolcrib doctor --json` prints it. */
                        parts: unknown;
                    };
                };
            };
        };
    };
    events: {
        parameters: {
            query?: {
                /** @description Goes on after this line of the record, like the header `Last-Event-ID`. */
                after?: number;
                /** @description Names of events, such as `call.ended`, or their first words, such as `approval`, separated by commas. */
                events?: string;
                /** @description What is told of an event. It is `event` if it is not given. */
                form?: "event" | "line";
                /** @description A session. */
                session?: string;
                /** @description The name of a tool. */
                tool?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    list_grants: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        count: number;
                        grants: {
                            /** @description Who gave the grant. */
                            by: string;
                            /** @description Which calls the grant covers. */
                            covers: {
                                call: {
                                    /** @description Its arguments as canonical text. */
                                    args: string;
                                    /**
                                     * @description The symbolic links among the paths of the call, each with its target. If a target changes, it is another
                                     *     call.
                                     */
                                    links?: string[][];
                                };
                            } | {
                                argv: string[];
                            } | {
                                path: string;
                            } | {
                                edits: string;
                            } | {
                                /** @description A host that a command wants to reach. */
                                host: {
                                    /** @description The name of the host, in lower case. */
                                    host: string;
                                    /**
                                     * Format: uint16
                                     * @description The port.
                                     */
                                    port: number;
                                };
                            };
                            /**
                             * Format: date-time
                             * @description When the grant was given.
                             */
                            created_at: string;
                            /** @description What the grant is for. */
                            description: string;
                            /** @description Whether the grant is in force. */
                            enabled: boolean;
                            /**
                             * Format: date-time
                             * @description When the grant ends.
                             */
                            expires_at: string | null;
                            /** @description The name of the grant. */
                            id: string;
                            /**
                             * Format: date-time
                             * @description When the grant last allowed a call.
                             */
                            last_used_at: string | null;
                            /**
                             * @description A regular expression that matches the arguments of the granted call, if the grant covers one call. Other grants
                             *     have the condition of a rule here. Only people and programs read it: [`Grant::covers`] decides.
                             */
                            param_pattern: string;
                            /** @description Whose calls the grant covers. Without a principal, they are those of the user at the terminal. */
                            principal?: {
                                /** @description The name of the token, or of the user, or `oauth:SERVER#NAME`, or `nats:AGENT`, or `page:user-UID`. */
                                name: string;
                                /** @description What the principal may do. */
                                role: "user" | "agent" | "approver" | "admin";
                            } | null;
                            /**
                             * @description The scripts of the call, and its programs that were none of the system, as they were when the grant was given.
                             *     Grants from before they were stored have no list.
                             */
                            programs?: {
                                /** @description The name in the command. */
                                name: string;
                                /** @description The absolute path of its file. */
                                path: string;
                                /** @description What tells one state of the file from another. */
                                state: string;
                            }[] | null;
                            /** @description Where the grant holds. */
                            scope: {
                                session: string;
                            } | {
                                project: string;
                            } | "user";
                            /** @description `catalogue/tool`. */
                            tool_name: string;
                            /** @description How many calls the grant has allowed. */
                            use_count: number;
                        }[];
                        ok: boolean;
                    };
                };
            };
        };
    };
    revoke_grant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        revoked: string;
                    };
                };
            };
        };
    };
    specification: {
        parameters: {
            query?: {
                /** @description Catalogues and full names of tools, separated by commas, or `all`. Without it, the contract's own tools. */
                toolset?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    read_output: {
        parameters: {
            query?: {
                /** @description The first line, counted from 1. */
                from?: number;
                /** @description How many lines. */
                lines?: number;
                stream?: "stdout" | "stderr";
            };
            header?: never;
            path: {
                call: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        call: string;
                        /** @description How many lines there are in `text`. */
                        count: number;
                        /** @description The number of the first line. */
                        from: number;
                        ok: boolean;
                        text: string;
                        /** @description How many lines are saved. */
                        total: number;
                    };
                };
            };
        };
    };
    overview: {
        parameters: {
            query?: {
                /** @description An hour, unless another one is named. */
                window?: "15m" | "1h" | "6h" | "24h" | "7d";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: date-time */
                        at: string;
                        /** @description What the series in `strip` are of. */
                        axis: {
                            /**
                             * Format: date-time
                             * @description Where the first number begins.
                             */
                            from: string;
                            /** @description How many numbers a series has. */
                            points: number;
                            /**
                             * Format: int64
                             * @description How long each number is about, in seconds.
                             */
                            step_seconds: number;
                        };
                        ok: boolean;
                        /** @description All tools together. */
                        strip: {
                            /** @description What waits for a person: calls, or proposed tools and what is new of mounted servers. */
                            approvals: {
                                /**
                                 * Format: date-time
                                 * @description When the first of them expires.
                                 */
                                next_expires_at: string | null;
                                waiting: number;
                            };
                            /** @description How many calls ran. */
                            calls: {
                                /**
                                 * Format: double
                                 * @description Calls a second in the window.
                                 */
                                per_second: number;
                                /**
                                 * Format: double
                                 * @description Calls a second in this minute and the one before.
                                 */
                                per_second_now: number;
                                /** @description Calls a second. */
                                series: number[];
                                /** @description The calls in the window. */
                                total: number;
                                /** @description The calls in the window before that. */
                                total_before: number;
                            };
                            /** @description How many calls failed or were not run. */
                            errors: {
                                /** @description The calls that a person declined. */
                                declined: number;
                                /** @description The calls that ran and failed. */
                                failed: number;
                                /**
                                 * Format: double
                                 * @description How many of 100 calls that ran failed. Nothing if none ran.
                                 */
                                percent: number | null;
                                /**
                                 * Format: double
                                 * @description The same in the window before that.
                                 */
                                percent_before: number | null;
                                /** @description The calls that policy refused, or whose arguments did not fit. */
                                refused: number;
                                /** @description How many of 100 calls failed. */
                                series: (number | null)[];
                            };
                            /** @description The calls that run. */
                            in_flight: {
                                /** @description Those of this server now. */
                                now: number;
                                /** @description How many ran at once, as a mean of each point. */
                                series: number[];
                            };
                            /** @description The duration that 95 of 100 calls did not exceed. */
                            p95: {
                                /**
                                 * Format: double
                                 * @description In the window, in milliseconds. Nothing if no call ran.
                                 */
                                ms: number | null;
                                /**
                                 * Format: double
                                 * @description In the window before that.
                                 */
                                ms_before: number | null;
                                /** @description At each point. */
                                series_ms: (number | null)[];
                            };
                            /** @description What waits for a person: calls, or proposed tools and what is new of mounted servers. */
                            proposals: {
                                /**
                                 * Format: date-time
                                 * @description When the first of them expires.
                                 */
                                next_expires_at: string | null;
                                waiting: number;
                            };
                            /** @description The tools that got worse. */
                            regressions: {
                                high: number;
                                low: number;
                                medium: number;
                                open: number;
                            };
                        };
                        /** @description What the series in `tools` are of. */
                        tool_axis: {
                            /**
                             * Format: date-time
                             * @description Where the first number begins.
                             */
                            from: string;
                            /** @description How many numbers a series has. */
                            points: number;
                            /**
                             * Format: int64
                             * @description How long each number is about, in seconds.
                             */
                            step_seconds: number;
                        };
                        /** @description The tools on offer and those that were called, by name. */
                        tools: {
                            /** @description The version that was called last. */
                            called_version: string | null;
                            /** @description The calls that ran. */
                            calls: number;
                            /** @description The calls that a person declined. */
                            declined: number;
                            /** @description The calls that ran and failed. */
                            failed: number;
                            /**
                             * Format: double
                             * @description How many of 100 failed. Nothing if none ran.
                             */
                            failed_percent: number | null;
                            /** @description How a tool does. */
                            health: {
                                /** @description What got worse, in words. */
                                because: string[];
                                /** @description What got worse most. */
                                regression: {
                                    /**
                                     * Format: double
                                     * @description How many times as much it is. Nothing if it was 0.
                                     */
                                    factor: number | null;
                                    /**
                                     * Format: double
                                     * @description What it is.
                                     */
                                    is: number;
                                    /** @description What was measured. */
                                    measure: "mean" | "p95" | "error_rate";
                                    /**
                                     * Format: double
                                     * @description What it was: milliseconds, or failures of 100 calls.
                                     */
                                    was: number;
                                } | null;
                                /** @description `low`, `medium` or `high` if it got worse. */
                                severity: string | null;
                                /**
                                 * Format: date-time
                                 * @description Since when: of quarantine, or of the version that is worse.
                                 */
                                since: string | null;
                                /** @description Whether it got worse, or is not on offer because it got much worse or because somebody switched it off. */
                                state: "ok" | "regression" | "quarantined" | "disabled";
                            };
                            /** @description Whether that version took over in the last 24 hours. */
                            is_new_version: boolean;
                            /** @description Where it comes from, if it is on offer. */
                            kind: ("built_in" | "module" | "program" | "mcp" | "bus") | null;
                            /** @description Its last failure, in the window or before. */
                            last_error: {
                                /**
                                 * Format: date-time
                                 * @description When the call ended.
                                 */
                                at: string;
                                /** @description The id of the call. */
                                call: string;
                                /** @description The kind of error. */
                                code: string;
                                /** @description The beginning of the message. */
                                message: string;
                            } | null;
                            /**
                             * Format: double
                             * @description The duration that half of them did not exceed.
                             */
                            p50_ms: number | null;
                            /**
                             * Format: double
                             * @description The duration that 95 of 100 did not exceed.
                             */
                            p95_ms: number | null;
                            /**
                             * Format: double
                             * @description The duration that 99 of 100 did not exceed.
                             */
                            p99_ms: number | null;
                            /** @description The calls that policy refused, or whose arguments did not fit. */
                            refused: number;
                            /** @description How they were spread over the window. */
                            series: {
                                /** @description The calls that ran. */
                                calls: number[];
                                /** @description The calls that failed. */
                                failed: number[];
                            };
                            /**
                             * Format: uint8
                             * @description How much harm it could do, from 0 to 4, if it is on offer.
                             */
                            tier: number | null;
                            /** @description `catalogue/tool`. */
                            tool: string;
                            /** @description The version on offer, or else the one that was called last. */
                            version: string | null;
                            /**
                             * Format: date-time
                             * @description When that version took over from another one.
                             */
                            version_since: string | null;
                        }[];
                        /** @description A window of time that ends now. */
                        window: "15m" | "1h" | "6h" | "24h" | "7d";
                    };
                };
            };
        };
    };
    list_plugins: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        count: number;
                        ok: boolean;
                        plugins: {
                            /** @description Whether nobody has disabled it. */
                            enabled: boolean;
                            /** @description The versions that became active, the oldest first. */
                            history: {
                                /** @description When. */
                                at: string;
                                /** @description Who did it. */
                                by: string;
                                /** @description `approved`, `rolled_back`, `reloaded` or `written`. */
                                how: string;
                                /** @description The hash. */
                                version: string;
                            }[];
                            /** @description The name. */
                            name: string;
                            /** @description Whether it is on offer: it is enabled, runs, and asks for no more than the settings allow. */
                            onOffer: boolean;
                            /** @description The id of a proposal that waits. */
                            pending?: string | null;
                            /** @description What it may use. */
                            permissions: unknown;
                            /** @description Why the active version does not run, if it does not. */
                            problem?: string | null;
                            /** @description The hash of the active version. */
                            version: string | null;
                        }[];
                    };
                };
            };
        };
    };
    show_plugin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        /** @description A tool from another author, with its code. */
                        plugin: {
                            /** @description The code of the version that runs. Characters that would hide something are escaped. */
                            code?: string | null;
                            /** @description What the version that runs says of itself. */
                            description?: string | null;
                            /** @description Whether nobody has disabled it. */
                            enabled: boolean;
                            /** @description The versions that became active, the oldest first. */
                            history: {
                                /** @description When. */
                                at: string;
                                /** @description Who did it. */
                                by: string;
                                /** @description `approved`, `rolled_back`, `reloaded` or `written`. */
                                how: string;
                                /** @description The hash. */
                                version: string;
                            }[];
                            /** @description The name. */
                            name: string;
                            /** @description Whether it is on offer: it is enabled, runs, and asks for no more than the settings allow. */
                            onOffer: boolean;
                            /** @description The id of a proposal that waits. */
                            pending?: string | null;
                            /** @description What it may use. */
                            permissions: unknown;
                            /** @description Why the active version does not run, if it does not. */
                            problem?: string | null;
                            /** @description The hash of the active version. */
                            version: string | null;
                            /** @description The hash of the version that a roll-back without a version makes active. */
                            versionBefore?: string | null;
                        };
                    };
                };
            };
        };
    };
    disable_plugin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Whether anything changed. */
                        changed: boolean;
                        name: string;
                        ok: boolean;
                        /** @description The hash of the version that is active now, after a roll-back. */
                        version?: string | null;
                    };
                };
            };
        };
    };
    enable_plugin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Whether anything changed. */
                        changed: boolean;
                        name: string;
                        ok: boolean;
                        /** @description The hash of the version that is active now, after a roll-back. */
                        version?: string | null;
                    };
                };
            };
        };
    };
    roll_back_plugin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tool: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The hash of the version, or its first 12 digits. Without it, the one before. */
                    version?: string | null;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Whether anything changed. */
                        changed: boolean;
                        name: string;
                        ok: boolean;
                        /** @description The hash of the version that is active now, after a roll-back. */
                        version?: string | null;
                    };
                };
            };
        };
    };
    list_all_proposals: {
        parameters: {
            query?: {
                /** @description The most proposals to return. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        count: number;
                        ok: boolean;
                        proposals: {
                            /** @description The answer, if there is one. */
                            answer?: {
                                /** @description When. */
                                at: string;
                                /** @description Who answered. Nobody, if its time was over. */
                                by: string | null;
                                /** @description The reason that was given. */
                                reason: string;
                            } | null;
                            /** @description Who proposed it. */
                            by: string;
                            /** @description When it was proposed. */
                            createdAt: string;
                            /** @description The door that the proposal came by. */
                            door: string;
                            /** @description What the examples did that the module declares. */
                            examples: {
                                /** @description What the example shows. */
                                about: string;
                                /**
                                 * @description Whether its result was compared with one that the example names. Otherwise the call only had to succeed.
                                 * @default false
                                 */
                                compared: boolean;
                                /**
                                 * Format: double
                                 * @description How long it took, in milliseconds.
                                 */
                                elapsedMs?: number | null;
                                /** @description What went wrong. */
                                message?: string | null;
                                /** @description Whether the tool did what the example says. */
                                ok: boolean;
                            }[];
                            /** @description Until when it can be answered. */
                            expiresAt: string;
                            /** @description The hash of code and declaration, which an approval is bound to. */
                            hash: string;
                            /** @description The id. */
                            id: string;
                            /** @description Why. */
                            reasoning: string;
                            /** @description The hash of the version that was active when it was proposed. */
                            replaces?: string | null;
                            /** @description The role of who proposed it. */
                            role: string;
                            /** @description `pending`, `approved`, `rejected` or `expired`. */
                            status: string;
                            /** @description The name of the tool. */
                            toolName: string;
                        }[];
                    };
                };
            };
        };
    };
    list_rules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description What decides about calls that no rule matches. */
                        mode: string;
                        ok: boolean;
                        /** @description The operator's own file, whose rules can be removed here. */
                        own_file: string | null;
                        rules: {
                            because: string;
                            confirm: boolean;
                            /** @description `allow`, `ask`, `deny` or `audit`. */
                            effect: string;
                            /** Format: date-time */
                            expires: string | null;
                            file: string;
                            id: string;
                            /** @description Who wrote it: `shipped`, `operator` or `project`. */
                            layer: string;
                            line: number;
                            /** @description What else a call must be, so that the rule is about it. */
                            matches: {
                                /** @description A pattern for the arguments. */
                                args?: string | null;
                                /** @description The first words of a command, each with the words that it may be. */
                                argv?: string[][] | null;
                                /** @description The arguments to the letter. */
                                call?: string | null;
                                /** @description Calls of these roles and through these doors. */
                                callers?: string[];
                                /** @description Signs of an attack. */
                                danger?: string[];
                                /** @description Whether `argv` are all words of the command. */
                                exact?: boolean;
                                /** @description Hosts that are reached. */
                                hosts?: string[];
                                /** @description Paths that are read or written. */
                                paths?: string[];
                                /** @description Whose calls. */
                                principals?: string[];
                                /** @description What runs the written files on its own. */
                                runs_later?: string | null;
                                /** @description A pattern for all words of a command. */
                                words?: string | null;
                                /** @description Paths that are written. */
                                writes?: string[];
                            };
                            /** @description The rule as it is written; empty if it is in no file. */
                            text: string;
                            /** @description Catalogues, tools or `catalogue/tool`; empty for all. */
                            tools: string[];
                        }[];
                    };
                };
            };
        };
    };
    add_rules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The rules, as in a rules file. */
                    toml: string;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        added: string[];
                        ok: boolean;
                        /** @description What the one who added them should know. */
                        warnings?: string[];
                    };
                };
            };
        };
    };
    remove_rule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        removed: string;
                        /** @description What the one who removed it should know. */
                        warnings?: string[];
                    };
                };
            };
        };
    };
    explain: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @default {} */
                    args?: {
                        [key: string]: unknown;
                    };
                    /** @description Whose call it would be. Without it, the caller's own. */
                    principal?: {
                        /** @description The name of the token, or of the user, or `oauth:SERVER#NAME`, or `nats:AGENT`, or `page:user-UID`. */
                        name: string;
                        /** @description What the principal may do. */
                        role: "user" | "agent" | "approver" | "admin";
                    } | null;
                    /** @description The name of the tool; one without a catalogue is of the contract's own. */
                    tool: string;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The rules that only have it noted. */
                        audited: string[];
                        /** @description Why, in words. */
                        because: string;
                        /** @description Whether the agent first has to confirm that it means the call. */
                        confirm: boolean;
                        /** @description `allow`, `ask` or `deny`. */
                        decision: string;
                        /** @description Conditions of rules that would be about the call. */
                        drafts: {
                            /** @description What a rule with these conditions would be about, in words. */
                            about: string;
                            /** @description The conditions, as lines of a rules file. */
                            conditions: string;
                        }[];
                        ok: boolean;
                        /** @description What its command would do, if it has one. */
                        reading: string | null;
                        /** @description The rule that decides. */
                        rule: string;
                        /** @description Where the rule is written, if it is in a file. */
                        source: {
                            /** @description The file. */
                            file: string;
                            /** @description The line, counted from 1. */
                            line: number;
                        } | null;
                        /** @description The tool. */
                        tool: string;
                        /** @description Why the call would fail anyway, if it would. */
                        trouble: string | null;
                    };
                };
            };
        };
    };
    replay_rules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The calls of how many days are decided again. (default: 7) */
                    days?: number | null;
                    /** @description The rules, as in a rules file. They are tried beside those in force. */
                    toml: string;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The newest of the calls that would be decided differently. */
                        calls: {
                            /** @description Its arguments. */
                            args: unknown;
                            /**
                             * Format: date-time
                             * @description When it was asked for.
                             */
                            at: string;
                            /** @description The id of the call. */
                            call: string;
                            /** @description Whether a person was asked, and declined it. */
                            declined: boolean;
                            /** @description The rule that would decide. */
                            rule: string;
                            /** @description The tool. */
                            tool: string;
                            /** @description What was decided: `allow`, `ask` or `deny`. */
                            was: string;
                            /** @description What would be decided. */
                            would_be: string;
                        }[];
                        /** @description How many would be decided differently. */
                        different: number;
                        /** @description How many of those would run without a question, and were asked about or refused. */
                        freed: number;
                        /** @description How many of those a person declined. */
                        freed_but_declined: number;
                        ok: boolean;
                        /** @description The ids of the rules that were tried. */
                        rules: string[];
                        /** @description How many calls would be decided as they were. */
                        same: number;
                        /**
                         * Format: date-time
                         * @description When the calls begin that were decided again: as wanted, or later if there are many.
                         */
                        since: string;
                        /** @description How many would be asked about or refused, and ran. */
                        stopped: number;
                        /**
                         * @description How many cannot be decided again, because the record does not have all of their arguments, or their tool would not
                         *     take them today.
                         */
                        unknown: number;
                    };
                };
            };
        };
    };
    rule_uses: {
        parameters: {
            query?: {
                /** @description The uses of how many hours. (default: 24) */
                hours?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        /** @description The rules that decided, by their ids. */
                        rules: {
                            [key: string]: {
                                count: number;
                                /** Format: date-time */
                                last_at: string;
                                /** @description The call that it decided then. */
                                last_call: string;
                            };
                        };
                        /**
                         * Format: date-time
                         * @description When the part of the record begins that was read: as wanted, or later if the record is large.
                         */
                        since: string;
                    };
                };
            };
        };
    };
    list_servers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        count: number;
                        ok: boolean;
                        servers: {
                            /** @description The command or the address, as the settings have it. */
                            command: string;
                            /** @description What a file of `mcp.import` says about the server, if nobody has accepted that yet. */
                            import?: {
                                file: string;
                                /** @description What the file says about it. */
                                written: string;
                            } | null;
                            /** @description Whether its tools are known. A server that was never reached is not mounted. */
                            mounted: boolean;
                            name: string;
                            /** @description Why it could not be started or reached last, if it could not. */
                            problem?: string | null;
                            /**
                             * Format: uint8
                             * @description The tier of its tools.
                             */
                            tier: number | null;
                            /** @description The tools on offer, by their names on the wire. */
                            tools: string[];
                            /** @description The tools that are new or have changed. They are not on offer until somebody accepts them. */
                            waiting: {
                                /** @description What differs from the definition that was accepted, as lines. */
                                difference: string;
                                /** @description The hash of its definition. */
                                hash: string;
                                name: string;
                                /** @description Whether no definition of it was accepted before. */
                                new: boolean;
                            }[];
                            /** @description The hash of all that waits, which an acceptance is bound to. */
                            waiting_hash?: string | null;
                        }[];
                    };
                };
            };
        };
    };
    accept_server: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The `waiting_hash` of what was shown. Nothing else is accepted. */
                    hash: string;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The names of the tools, or the server's own if it was one of an imported file. */
                        accepted: string[];
                        ok: boolean;
                        server: string;
                    };
                };
            };
        };
    };
    list_sessions: {
        parameters: {
            query?: {
                /** @description The most sessions to return. */
                limit?: number;
                /** @description Sessions with calls since this time. Without it, those of the last 24 hours. */
                since?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        count: number;
                        ok: boolean;
                        sessions: {
                            calls: number;
                            client: string | null;
                            /** @description The connections that its calls chose. Without one, a call reads that of the settings. */
                            connections?: string[];
                            door: string | null;
                            failed: number;
                            /** @description When its first call in this span was made. */
                            first: string;
                            /** @description When its last call was made. */
                            last: string;
                            /** @description How many of its calls have not ended. */
                            open: number;
                            principal: string | null;
                            refused: number;
                            role: string | null;
                            session: string;
                        }[];
                        /** @description Whether there are more calls than were looked at, so that sessions can be missing. */
                        truncated: boolean;
                    };
                };
            };
        };
    };
    show_session: {
        parameters: {
            query?: {
                /** @description Only calls that began before this line of the record. */
                before?: number;
                /** @description The most calls to return. */
                limit?: number;
                /** @description Whose session it is. Two principals can give their sessions the same name. */
                principal?: string;
                /** @description Calls since this time. Without it, those of the last 24 hours. */
                since?: string;
            };
            header?: never;
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The time of the server. */
                        at: string;
                        /** @description The limits of its principal. There is none for calls at a terminal, which no server counts. */
                        budget: {
                            /** @description Bytes that may be written. */
                            bytes: {
                                limit: number;
                                used: number;
                            } | null;
                            /** @description Calls a minute with one tool. */
                            calls_per_minute: number | null;
                            /** @description Seconds that calls may run, together. */
                            seconds: {
                                limit: number;
                                used: number;
                            } | null;
                            /** @description Whether calls that would be allowed are asked about, because a command could reach the network. */
                            tainted: boolean;
                            /** @description Bytes that may be written with one tool. */
                            tool_bytes: number | null;
                            /** @description Seconds that calls of one tool may run, together. */
                            tool_seconds: number | null;
                            tools: {
                                bytes: number;
                                /** @description Calls in the last minute. */
                                calls: number;
                                seconds: number;
                                tool: string;
                            }[];
                        } | null;
                        calls: {
                            /** @description The beginning of the arguments. */
                            args: string | null;
                            /** @description Whether a person was asked about it. */
                            asked_person: boolean;
                            at: string;
                            /** @description The person who answered. */
                            by: string | null;
                            call: string;
                            client: string | null;
                            /** @description The connection that the caller chose. */
                            connection?: string | null;
                            decision: string | null;
                            door: string | null;
                            /** @description What its tool does: `none`, `compute`, `read` or `write`. */
                            effect: string | null;
                            /** Format: double */
                            elapsed_ms: number | null;
                            /** @description How its command ended. */
                            end: ({
                                /** Format: int32 */
                                exited: number;
                            } | {
                                /** Format: int32 */
                                signalled: number;
                            } | "timed_out" | "limited" | "killed") | null;
                            /** @description The kind of the error. */
                            error: string | null;
                            /** @description What kind of work a call is. */
                            lane: ("read" | "edit" | "command") | "other";
                            message: string | null;
                            /** @description `ok`, `command_failed`, `error`, `refused`, `unknown` or `open`. */
                            outcome: string;
                            principal: string | null;
                            role: string | null;
                            rule: string | null;
                            /** @description The number of its first line. */
                            seq: number;
                            session: string | null;
                            /** @description Whether its tool was started. */
                            started: boolean;
                            tool: string;
                            /** @description The resources that work used. */
                            used: {
                                /** @description Processor time, in microseconds. */
                                cpu_us: number;
                                /** @description The most memory at one time, in bytes. */
                                peak_memory: number;
                                /** @description How many processes were started. */
                                processes: number;
                                /** @description Bytes that system calls read, also from a cache or a pipe. */
                                read_bytes: number;
                                /** @description The limit that a command ran into, if it ran into one. */
                                struck?: ("memory" | "processes" | "cpu" | "file_size" | "growth" | "files" | "open_files" | "output" | "network") | null;
                                /** @description Bytes that system calls wrote. */
                                written_bytes: number;
                            } | null;
                            user: number | null;
                            version: string | null;
                            /** @description When a person was asked, and when they answered. */
                            waits: {
                                by: string | null;
                                from: string;
                                /** @description When it was answered. Without an answer, the call waits or nobody answered in time. */
                                to: string | null;
                            }[];
                        }[];
                        ok: boolean;
                        /** @description The session, as far as its calls are in `calls`. */
                        session: {
                            calls: number;
                            client: string | null;
                            /** @description The connections that its calls chose. Without one, a call reads that of the settings. */
                            connections?: string[];
                            door: string | null;
                            failed: number;
                            /** @description When its first call in this span was made. */
                            first: string;
                            /** @description When its last call was made. */
                            last: string;
                            /** @description How many of its calls have not ended. */
                            open: number;
                            principal: string | null;
                            refused: number;
                            role: string | null;
                            session: string;
                        };
                        /** @description Whether there are older calls since that time. */
                        truncated: boolean;
                    };
                };
            };
        };
    };
    preview_undo_of_session: {
        parameters: {
            query?: {
                /** @description Only calls that began before this line of the record. */
                before?: number;
                /** @description The most calls to return. */
                limit?: number;
                /** @description Whose session it is. Two principals can give their sessions the same name. */
                principal?: string;
                /** @description Calls since this time. Without it, those of the last 24 hours. */
                since?: string;
            };
            header?: never;
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        changes: {
                            /** @description What it would do to undo this call alone. */
                            alone: {
                                /** @description The call. */
                                call: string;
                                /** @description What would be done to each path. */
                                files: {
                                    /** @description What would be done to it. A directory that the call made is removed only if it is empty. */
                                    action: ("restored" | "removed" | "unchanged" | "kept") | null;
                                    /** @description What the call did to it. */
                                    kind: "created" | "replaced" | "removed" | "made_directory" | "removed_directory";
                                    /** @description The path below its root. */
                                    path: string;
                                    /** @description Why nothing of the call would be undone. */
                                    reason: string | null;
                                    /** @description The absolute path of the root. */
                                    root: string;
                                }[];
                                /** @description What to do about that. */
                                hint: string | null;
                                /** @description What its command changed beside that. There is no copy of it, so undo leaves it. */
                                left: string[];
                                /** @description Whether the call can be undone now. */
                                possible: boolean;
                                /** @description Why it cannot. */
                                reason: string | null;
                            };
                            /** @description When it changed the first file. */
                            at: string;
                            /** @description The id of the call. */
                            call: string;
                            /** @description What it changed. */
                            changes: {
                                /** @description The file after the change; nothing if there is none. */
                                after: {
                                    /** @description The file's own extended attributes and its access control list, in hexadecimal. */
                                    attributes?: {
                                        [key: string]: string;
                                    };
                                    /** @description The owner's group id. */
                                    gid: number;
                                    /** @description Whether the file is a symbolic link. */
                                    is_link?: boolean;
                                    /** @description The permission bits. */
                                    mode: number;
                                    /** @description SHA-256 of the content, or of a link's target. */
                                    sha256: string;
                                    /** @description The size in bytes. */
                                    size: number;
                                    /** @description The owner's user id. */
                                    uid: number;
                                } | null;
                                /** @description The time of the change, as RFC 3339. */
                                at: string;
                                /** @description The file before the change; nothing if there was none. */
                                before: {
                                    /** @description The file's own extended attributes and its access control list, in hexadecimal. */
                                    attributes?: {
                                        [key: string]: string;
                                    };
                                    /** @description The owner's group id. */
                                    gid: number;
                                    /** @description Whether the file is a symbolic link. */
                                    is_link?: boolean;
                                    /** @description The permission bits. */
                                    mode: number;
                                    /** @description SHA-256 of the content, or of a link's target. */
                                    sha256: string;
                                    /** @description The size in bytes. */
                                    size: number;
                                    /** @description The owner's user id. */
                                    uid: number;
                                } | null;
                                /** @description The call that made the change. */
                                call: string;
                                /** @description Why it is uncertain that the call made this change, if it is. */
                                doubt?: ("others" | "lost" | "unseen" | "named") | null;
                                /** @description The kind of change. */
                                kind: "created" | "replaced" | "removed" | "made_directory" | "removed_directory";
                                /** @description The identity of the directory, if the change made one. */
                                made?: {
                                    /**
                                     * Format: int64
                                     * @description When the file was made, in nanoseconds since 1970; 0 if the file system does not know.
                                     * @default 0
                                     */
                                    born: number;
                                    /** @description The device that the file is on. */
                                    device: number;
                                    /** @description The inode number, which another file may get when this one is gone. */
                                    inode: number;
                                } | null;
                                /** @description The path below the root, with no link in it, each name spelt by [`crate::escape::name`]. */
                                path: string;
                                /** @description The absolute path of the root, each name spelt by [`crate::escape::name`]. */
                                root: string;
                                /** @description The identity of the root's directory, whatever has its path by now. */
                                root_id: {
                                    /**
                                     * Format: int64
                                     * @description When the file was made, in nanoseconds since 1970; 0 if the file system does not know.
                                     * @default 0
                                     */
                                    born: number;
                                    /** @description The device that the file is on. */
                                    device: number;
                                    /** @description The inode number, which another file may get when this one is gone. */
                                    inode: number;
                                };
                                /** @description The tool, as `catalogue/name`. */
                                tool: string;
                            }[];
                            /** @description The command that it ran, if that was asked for. */
                            command?: string | null;
                            /** @description What it would do to undo this call after all newer ones of the list that can be undone. */
                            in_order: {
                                /** @description The call. */
                                call: string;
                                /** @description What would be done to each path. */
                                files: {
                                    /** @description What would be done to it. A directory that the call made is removed only if it is empty. */
                                    action: ("restored" | "removed" | "unchanged" | "kept") | null;
                                    /** @description What the call did to it. */
                                    kind: "created" | "replaced" | "removed" | "made_directory" | "removed_directory";
                                    /** @description The path below its root. */
                                    path: string;
                                    /** @description Why nothing of the call would be undone. */
                                    reason: string | null;
                                    /** @description The absolute path of the root. */
                                    root: string;
                                }[];
                                /** @description What to do about that. */
                                hint: string | null;
                                /** @description What its command changed beside that. There is no copy of it, so undo leaves it. */
                                left: string[];
                                /** @description Whether the call can be undone now. */
                                possible: boolean;
                                /** @description Why it cannot. */
                                reason: string | null;
                            };
                            /** @description The tool. */
                            tool: string;
                            /** @description Whether it was undone. */
                            undone: boolean;
                        }[];
                        ok: boolean;
                        /** @description Whether there are more than are shown. */
                        truncated: boolean;
                    };
                };
            };
        };
    };
    show_settings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The file that changes are written to. */
                        file: string | null;
                        ok: boolean;
                        /** @description The settings that hold, by name. */
                        settings: {
                            [key: string]: {
                                /** @description What it is for. */
                                about: string;
                                /** @description The words to choose from, strictest first. */
                                choices?: string[];
                                /** @description The value if nobody sets it. */
                                default: unknown;
                                /** @description What it may be: `choice`, `number`, `list`, `text` or `table`. */
                                kind: string;
                                /**
                                 * Format: int64
                                 * @description The largest number.
                                 */
                                max?: number | null;
                                /**
                                 * Format: int64
                                 * @description The smallest number.
                                 */
                                min?: number | null;
                                /** @description Whether a new value holds only after a restart. */
                                needs_restart: boolean;
                                /** @description Where the value comes from: a file, an environment variable, a flag, or `default`. */
                                origin: string;
                                /** @description The value that holds. */
                                value: unknown;
                            };
                        };
                        /** @description How they stand. */
                        state: {
                            /** @description When settings or rules last changed while the server ran. */
                            changed_at: string | null;
                            /** @description Who changed them then: a principal, or nobody if it was a change of the files. */
                            changed_by: string | null;
                            /** @description What is wrong with the files on disk. The server then goes on with what it had. */
                            errors: string[];
                            /** @description The settings that are in the files and hold only after a restart. */
                            needs_restart: {
                                /** @description The field of the tool configuration that has it. */
                                field?: string | null;
                                /** @description Where the value comes from: a file, an environment variable, a flag, or `default`. */
                                from: string;
                                /** @description The value now. */
                                new: unknown;
                                /** @description The value before. */
                                old: unknown;
                                /** @description The name of the setting. */
                                setting: string;
                            }[];
                        };
                    };
                };
            };
        };
    };
    change_settings: {
        parameters: {
            query?: {
                /** @description Whether the change is checked and shown, and not made. (default: false) */
                dry_run?: boolean;
                /**
                 * @description The version of the settings file that a dry run told. If somebody has changed the file since then, nothing is
                 *     changed.
                 */
                version?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The values that are not what they were. */
                        changed: {
                            /** @description The field of the tool configuration that has it. */
                            field?: string | null;
                            /** @description Where the value comes from: a file, an environment variable, a flag, or `default`. */
                            from: string;
                            /** @description The value now. */
                            new: unknown;
                            /** @description The value before. */
                            old: unknown;
                            /** @description The name of the setting. */
                            setting: string;
                        }[];
                        /** @description The tool configuration of the contract. */
                        config: {
                            /** @description The tools of the contract that may be on offer. */
                            allowlist: string[];
                            /** @description Whether `run_bash` is on offer. */
                            bashEnabled: boolean;
                            /** @description Whether tools can be called. */
                            enabled: boolean;
                            /** @description Whether `http_fetch` is on offer. */
                            httpFetchEnabled: boolean;
                            /** @description The most bytes that a tool of the contract reads from a file. */
                            maxReadBytes: number;
                            /** @description The most bytes that a tool of the contract writes to a file. */
                            maxWriteBytes: number;
                            /** @description Whether `run_powershell` is on offer. */
                            powershellEnabled: boolean;
                            /** @description The directory that the tools of the contract work in. */
                            sandboxRoot: string;
                        };
                        /** @description Whether the change was not made. */
                        dry_run?: boolean | null;
                        /** @description The settings file. `POST /api/settings` tells it. */
                        file?: {
                            /** @description What the change does; nothing if the file stays as it is. */
                            difference: ({
                                note: string;
                            } | {
                                /** @description The lines in which two texts differ. */
                                lines: {
                                    /** @description How many lines were added. */
                                    added: number;
                                    /** @description How many more lines there would be. */
                                    left_out: number;
                                    /** @description The lines that differ, and some around them. */
                                    lines: {
                                        /** @description What became of it. */
                                        kind: "added" | "removed" | "same" | "gap";
                                        /** @description The number of the line in its text. */
                                        number: number;
                                        /** @description The line, with its control characters escaped. */
                                        text: string;
                                    }[];
                                    /** @description How many lines were removed. */
                                    removed: number;
                                };
                            }) | null;
                            path: string;
                            /** @description The version before the change. */
                            version: string;
                        } | null;
                        /** @description The settings that are in the file now and hold only after a restart. */
                        needs_restart?: {
                            /** @description The field of the tool configuration that has it. */
                            field?: string | null;
                            /** @description Where the value comes from: a file, an environment variable, a flag, or `default`. */
                            from: string;
                            /** @description The value now. */
                            new: unknown;
                            /** @description The value before. */
                            old: unknown;
                            /** @description The name of the setting. */
                            setting: string;
                        }[];
                        ok: boolean;
                        /** @description What the one who changed them should know. */
                        warnings?: string[];
                    };
                };
            };
        };
    };
    stats: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        tools: {
                            /** @description Its recent calls, compared with those before. */
                            compared: {
                                /** @description The calls before. */
                                baseline: {
                                    /** @description How many calls ran. */
                                    calls: number;
                                    /**
                                     * Format: double
                                     * @description The share that failed.
                                     */
                                    error_rate: number;
                                    /**
                                     * Format: double
                                     * @description Their mean duration.
                                     */
                                    mean_ms: number;
                                    /**
                                     * Format: double
                                     * @description The duration that 95 of 100 did not exceed.
                                     */
                                    p95_ms: number;
                                };
                                /** @description What got worse, in words. */
                                because: string[];
                                /** @description The calls now. */
                                current: {
                                    /** @description How many calls ran. */
                                    calls: number;
                                    /**
                                     * Format: double
                                     * @description The share that failed.
                                     */
                                    error_rate: number;
                                    /**
                                     * Format: double
                                     * @description Their mean duration.
                                     */
                                    mean_ms: number;
                                    /**
                                     * Format: double
                                     * @description The duration that 95 of 100 did not exceed.
                                     */
                                    p95_ms: number;
                                };
                                /** @description `low`, `medium` or `high` if it got worse. */
                                severity: string | null;
                            } | null;
                            /** @description How it fails. */
                            errors: unknown;
                            /** @description The calls in each of the last 24 hours. */
                            hours: number[];
                            /**
                             * Format: double
                             * @description The duration that half of them did not exceed, in microseconds.
                             */
                            p50_us: number;
                            /**
                             * Format: double
                             * @description The duration that 95 of 100 did not exceed, in microseconds.
                             */
                            p95_us: number;
                            /**
                             * Format: date-time
                             * @description Since when it is in quarantine.
                             */
                            quarantined_since: string | null;
                            /** @description What it uses. */
                            resources: {
                                /** @description The calls that were not refused. */
                                calls: number;
                                /**
                                 * Format: double
                                 * @description The processor time that 95 of 100 did not exceed, in microseconds.
                                 */
                                cpu_p95_us: number;
                                /** @description Processor time of all calls, in microseconds. */
                                cpu_us: number;
                                /** @description The most peak memory of a call, in bytes. */
                                memory: number;
                                /** @description The peak memory that 95 of 100 did not exceed, in bytes. */
                                memory_p95: number;
                                /** @description The traffic with all hosts together. */
                                network: unknown;
                                /** @description Bytes read. */
                                read: number;
                                /** @description The calls that hit a limit, by the kind of limit. */
                                violations: {
                                    [key: string]: number;
                                };
                                /** @description Bytes written. */
                                written: number;
                            };
                            /** @description The calls whose durations are known. */
                            timed_calls: number;
                            /** @description `catalogue/tool`. */
                            tool: string;
                        }[];
                    };
                };
            };
        };
    };
    rebuild_stats: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description How many lines of the record they come from. */
                        lines: number;
                        ok: boolean;
                        /** @description What was wrong with the old figures, and which files of the record could not be read. */
                        warnings: string[];
                    };
                };
            };
        };
    };
    tool_series: {
        parameters: {
            query: {
                /** @description The tool, by its full name or its own. */
                tool: string;
                /** @description An hour, unless another one is named. */
                window?: "15m" | "1h" | "6h" | "24h" | "7d";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description What the series are of. */
                        axis: {
                            /**
                             * Format: date-time
                             * @description Where the first number begins.
                             */
                            from: string;
                            /** @description How many numbers a series has. */
                            points: number;
                            /**
                             * Format: int64
                             * @description How long each number is about, in seconds.
                             */
                            step_seconds: number;
                        };
                        /** @description Who called it, in the window and before, those with the most calls first. */
                        callers: {
                            /** @description The calls that ended, refused ones too. */
                            calls: number;
                            /** @description The door: `http`, `mcp`, `terminal`, … */
                            door: string;
                            /**
                             * Format: date-time
                             * @description When the last one ended.
                             */
                            last_at: string;
                            /**
                             * Format: double
                             * @description How many of 100 calls are theirs.
                             */
                            percent: number | null;
                            /** @description The name of the principal. */
                            principal: string;
                        }[];
                        /** @description Its recent calls, compared with those before. */
                        compared: {
                            /** @description The calls before. */
                            baseline: {
                                /** @description How many calls ran. */
                                calls: number;
                                /**
                                 * Format: double
                                 * @description The share that failed.
                                 */
                                error_rate: number;
                                /**
                                 * Format: double
                                 * @description Their mean duration.
                                 */
                                mean_ms: number;
                                /**
                                 * Format: double
                                 * @description The duration that 95 of 100 did not exceed.
                                 */
                                p95_ms: number;
                            };
                            /** @description What got worse, in words. */
                            because: string[];
                            /** @description The calls now. */
                            current: {
                                /** @description How many calls ran. */
                                calls: number;
                                /**
                                 * Format: double
                                 * @description The share that failed.
                                 */
                                error_rate: number;
                                /**
                                 * Format: double
                                 * @description Their mean duration.
                                 */
                                mean_ms: number;
                                /**
                                 * Format: double
                                 * @description The duration that 95 of 100 did not exceed.
                                 */
                                p95_ms: number;
                            };
                            /** @description `low`, `medium` or `high` if it got worse. */
                            severity: string | null;
                        } | null;
                        /** @description How it failed since its errors were last cleared, the most frequent first. */
                        errors: {
                            /** @description The id of the last of them. */
                            call: string;
                            /** @description The kind of error. */
                            code: string;
                            /** @description How many calls failed so. */
                            count: number;
                            /**
                             * Format: date-time
                             * @description The first of them.
                             */
                            first_at: string;
                            /** @description Whether the tool did not fail so before its present version took over. */
                            is_new: boolean;
                            /**
                             * Format: date-time
                             * @description The last of them.
                             */
                            last_at: string;
                            /** @description The beginning of the first message. */
                            message: string;
                            /**
                             * Format: double
                             * @description How many of 100 failures they are.
                             */
                            percent: number | null;
                            /** @description The message without what is different in each call. */
                            shape: string;
                            /** @description The version of the tool that failed first. */
                            version: string;
                        }[];
                        ok: boolean;
                        /** @description Its calls and their durations at each point. */
                        series: {
                            /** @description The calls that ran. */
                            calls: number[];
                            /** @description The calls that a person declined. */
                            declined: number[];
                            /** @description The calls that ran and failed. */
                            failed: number[];
                            /** @description The duration that half of them did not exceed. */
                            p50_ms: (number | null)[];
                            /** @description The duration that 95 of 100 did not exceed. */
                            p95_ms: (number | null)[];
                            /** @description The calls that policy refused, or whose arguments did not fit. */
                            refused: number[];
                        };
                        /** @description `catalogue/tool`. */
                        tool: string;
                        /** @description Its calls in the whole window. */
                        total: {
                            /** @description The calls that ran. */
                            calls: number;
                            /** @description The calls that a person declined. */
                            declined: number;
                            /** @description The calls that ran and failed. */
                            failed: number;
                            /**
                             * Format: double
                             * @description How many of 100 failed. Nothing if none ran.
                             */
                            failed_percent: number | null;
                            /**
                             * Format: double
                             * @description The duration that half of them did not exceed.
                             */
                            p50_ms: number | null;
                            /**
                             * Format: double
                             * @description The duration that 95 of 100 did not exceed.
                             */
                            p95_ms: number | null;
                            /**
                             * Format: double
                             * @description The duration that 99 of 100 did not exceed.
                             */
                            p99_ms: number | null;
                            /** @description The calls that policy refused, or whose arguments did not fit. */
                            refused: number;
                        };
                        /** @description The versions that were called, in the window and before. */
                        versions: {
                            /** @description Each version, in the order of their first calls. */
                            called: {
                                /** @description How often it was called. */
                                calls: number;
                                /**
                                 * Format: date-time
                                 * @description Its first call.
                                 */
                                first_at: string;
                                /**
                                 * Format: date-time
                                 * @description Its last call.
                                 */
                                last_at: string;
                                /**
                                 * Format: double
                                 * @description The duration that 95 of 100 of its latest calls did not exceed.
                                 */
                                p95_ms: number | null;
                                /** @description The version. */
                                version: string;
                            }[];
                            /** @description When another version took over. */
                            changes: {
                                /**
                                 * Format: date-time
                                 * @description When it was called first.
                                 */
                                at: string;
                                /** @description The version before it. */
                                before: string | null;
                                /** @description The version. */
                                version: string;
                            }[];
                            /** @description The version that took over last. */
                            current: string | null;
                        };
                        /** @description The window. */
                        window: "15m" | "1h" | "6h" | "24h" | "7d";
                    };
                };
            };
        };
    };
    list_tasks: {
        parameters: {
            query?: {
                /** @description The most commands to return. */
                limit?: number;
                /** @description Only those that run. */
                running?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        count: number;
                        ok: boolean;
                        tasks: {
                            /** @description The command. */
                            command: string;
                            /** @description How it ended. */
                            end: ({
                                /** Format: int32 */
                                exited: number;
                            } | {
                                /** Format: int32 */
                                signalled: number;
                            } | "timed_out" | "limited" | "killed") | null;
                            /** @description The id of the call that started it. */
                            id: string;
                            /** @description Whose command it is. Without one, it is that of the user at a terminal. */
                            principal: {
                                /** @description The name of the token, or of the user, or `oauth:SERVER#NAME`, or `nats:AGENT`, or `page:user-UID`. */
                                name: string;
                                /** @description What the principal may do. */
                                role: "user" | "agent" | "approver" | "admin";
                            } | null;
                            /** @description When it was started. */
                            started: string;
                            /** @description Whether it runs. */
                            status: "running" | "ended" | "lost";
                        }[];
                    };
                };
            };
        };
    };
    show_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        /** @description A command that runs or ran, by the id of its call. */
                        task: {
                            /** @description The command. */
                            command: string;
                            /** @description How it ended. */
                            end: ({
                                /** Format: int32 */
                                exited: number;
                            } | {
                                /** Format: int32 */
                                signalled: number;
                            } | "timed_out" | "limited" | "killed") | null;
                            /** @description The id of the call that started it. */
                            id: string;
                            /** @description Whose command it is. Without one, it is that of the user at a terminal. */
                            principal: {
                                /** @description The name of the token, or of the user, or `oauth:SERVER#NAME`, or `nats:AGENT`, or `page:user-UID`. */
                                name: string;
                                /** @description What the principal may do. */
                                role: "user" | "agent" | "approver" | "admin";
                            } | null;
                            /** @description When it was started. */
                            started: string;
                            /** @description Whether it runs. */
                            status: "running" | "ended" | "lost";
                        };
                    };
                };
            };
        };
    };
    kill_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        ok: boolean;
                        /** @description `killed` or `already_completed`. */
                        status: string;
                    };
                };
            };
        };
    };
    list_tokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        count: number;
                        ok: boolean;
                        tokens: {
                            /** Format: date-time */
                            created_at: string;
                            name: string;
                            /** Format: date-time */
                            revoked_at: string | null;
                            role: string;
                            /** Format: date-time */
                            rotated_at: string | null;
                        }[];
                    };
                };
            };
        };
    };
    add_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The name of its owner. */
                    name: string;
                    /**
                     * @description The role of a token.
                     * @enum {string}
                     */
                    role: "agent" | "approver" | "admin";
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        name: string;
                        ok: boolean;
                        role: string;
                        token: string;
                    };
                };
            };
        };
    };
    revoke_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        revoked: string;
                        /** @description What the one who revoked it should know. */
                        warnings?: string[];
                    };
                };
            };
        };
    };
    rotate_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        name: string;
                        ok: boolean;
                        role: string;
                        token: string;
                    };
                };
            };
        };
    };
    list_tools: {
        parameters: {
            query?: {
                /** @description Catalogues and full names of tools, separated by commas, or `all`. Without it, the contract's own tools. */
                toolset?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        count: number;
                        /** @description The declarations, as models take them. */
                        defs: unknown[];
                        enabled: boolean;
                        /** @description The limits of a call, in the order of the names. */
                        limits: {
                            deadline_ms: number;
                            output_bytes: number;
                        }[];
                        names: string[];
                        ok: boolean;
                    };
                };
            };
        };
    };
    approve_tool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tool: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The hash of the version that was shown, or its first 12 digits. Another version is not approved. Without it, the
                     *     approval is for the version that this principal was shown last, if it was shown one.
                     */
                    hash?: string | null;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        message: string;
                        ok: boolean;
                        /** @description A tool that was approved. */
                        tool: {
                            approvedAt: string;
                            name: string;
                            /** @description The file in the tools folder. Without one, the message says why it could not be written. */
                            path?: string | null;
                            status: string;
                            /** @description The first digits of the hash. */
                            version: string;
                        };
                    };
                };
            };
        };
    };
    show_config: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The tool configuration of the contract. */
                        config: {
                            /** @description The tools of the contract that may be on offer. */
                            allowlist: string[];
                            /** @description Whether `run_bash` is on offer. */
                            bashEnabled: boolean;
                            /** @description Whether tools can be called. */
                            enabled: boolean;
                            /** @description Whether `http_fetch` is on offer. */
                            httpFetchEnabled: boolean;
                            /** @description The most bytes that a tool of the contract reads from a file. */
                            maxReadBytes: number;
                            /** @description The most bytes that a tool of the contract writes to a file. */
                            maxWriteBytes: number;
                            /** @description Whether `run_powershell` is on offer. */
                            powershellEnabled: boolean;
                            /** @description The directory that the tools of the contract work in. */
                            sandboxRoot: string;
                        };
                        ok: boolean;
                    };
                };
            };
        };
    };
    change_config: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The tools of the contract that may be on offer. At least one; `null` allows all. */
                    allowlist?: string[] | null;
                    /** @description Whether `run_bash` is on offer. */
                    bashEnabled?: boolean | null;
                    /** @description Whether tools can be called. */
                    enabled?: boolean | null;
                    /** @description Whether `http_fetch` is on offer. */
                    httpFetchEnabled?: boolean | null;
                    /** @description The most bytes that a tool of the contract reads from a file. */
                    maxReadBytes?: number | null;
                    /** @description The most bytes that a tool of the contract writes to a file. */
                    maxWriteBytes?: number | null;
                    /** @description Whether `run_powershell` is on offer. */
                    powershellEnabled?: boolean | null;
                    /** @description The directory that the tools of the contract work in. `null` stands for the workspace. */
                    sandboxRoot?: string | null;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The values that are not what they were. */
                        changed: {
                            /** @description The field of the tool configuration that has it. */
                            field?: string | null;
                            /** @description Where the value comes from: a file, an environment variable, a flag, or `default`. */
                            from: string;
                            /** @description The value now. */
                            new: unknown;
                            /** @description The value before. */
                            old: unknown;
                            /** @description The name of the setting. */
                            setting: string;
                        }[];
                        /** @description The tool configuration of the contract. */
                        config: {
                            /** @description The tools of the contract that may be on offer. */
                            allowlist: string[];
                            /** @description Whether `run_bash` is on offer. */
                            bashEnabled: boolean;
                            /** @description Whether tools can be called. */
                            enabled: boolean;
                            /** @description Whether `http_fetch` is on offer. */
                            httpFetchEnabled: boolean;
                            /** @description The most bytes that a tool of the contract reads from a file. */
                            maxReadBytes: number;
                            /** @description The most bytes that a tool of the contract writes to a file. */
                            maxWriteBytes: number;
                            /** @description Whether `run_powershell` is on offer. */
                            powershellEnabled: boolean;
                            /** @description The directory that the tools of the contract work in. */
                            sandboxRoot: string;
                        };
                        /** @description Whether the change was not made. */
                        dry_run?: boolean | null;
                        /** @description The settings file. `POST /api/settings` tells it. */
                        file?: {
                            /** @description What the change does; nothing if the file stays as it is. */
                            difference: ({
                                note: string;
                            } | {
                                /** @description The lines in which two texts differ. */
                                lines: {
                                    /** @description How many lines were added. */
                                    added: number;
                                    /** @description How many more lines there would be. */
                                    left_out: number;
                                    /** @description The lines that differ, and some around them. */
                                    lines: {
                                        /** @description What became of it. */
                                        kind: "added" | "removed" | "same" | "gap";
                                        /** @description The number of the line in its text. */
                                        number: number;
                                        /** @description The line, with its control characters escaped. */
                                        text: string;
                                    }[];
                                    /** @description How many lines were removed. */
                                    removed: number;
                                };
                            }) | null;
                            path: string;
                            /** @description The version before the change. */
                            version: string;
                        } | null;
                        /** @description The settings that are in the file now and hold only after a restart. */
                        needs_restart?: {
                            /** @description The field of the tool configuration that has it. */
                            field?: string | null;
                            /** @description Where the value comes from: a file, an environment variable, a flag, or `default`. */
                            from: string;
                            /** @description The value now. */
                            new: unknown;
                            /** @description The value before. */
                            old: unknown;
                            /** @description The name of the setting. */
                            setting: string;
                        }[];
                        ok: boolean;
                        /** @description What the one who changed them should know. */
                        warnings?: string[];
                    };
                };
            };
        };
    };
    errors: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        stats: {
                            /** Format: double */
                            errorRate: number;
                            errors: number;
                            errorTypes: {
                                [key: string]: number;
                            };
                            failedCommands: number;
                            lastError: {
                                code: string;
                                message: string;
                                timestamp: string;
                            } | null;
                            refused: number;
                            toolName: string;
                            totalCalls: number;
                        }[];
                        summary: {
                            /** Format: double */
                            avgErrorRate: number;
                            toolsWithErrors: number;
                            totalErrors: number;
                            totalTools: number;
                        };
                    };
                };
            };
        };
    };
    tool_errors_by_full_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                catalogue: string;
                tool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        stats: {
                            /** Format: double */
                            errorRate: number;
                            errors: number;
                            errorTypes: {
                                [key: string]: number;
                            };
                            failedCommands: number;
                            firstError: string | null;
                            firstErrorDetail: {
                                args: unknown;
                                call: string;
                                code: string;
                                message: string;
                                timestamp: string;
                            } | null;
                            lastError: {
                                args: unknown;
                                call: string;
                                code: string;
                                message: string;
                                timestamp: string;
                            } | null;
                            refused: number;
                            topErrors: {
                                count: number;
                                message: string;
                                /** Format: double */
                                percentage: number;
                                shape: string;
                            }[];
                            totalCalls: number;
                        };
                        tool: string;
                    };
                };
            };
        };
    };
    clear_errors_by_full_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                catalogue: string;
                tool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description `baseline_reset`, if a new baseline was set. */
                        action?: string | null;
                        /** @description What was cleared. */
                        cleared?: {
                            /** @description How many errors there were. */
                            errors?: number | null;
                            /** @description When it was cleared. */
                            timestamp: string;
                        } | null;
                        /** @description The new baseline. */
                        newBaseline?: {
                            /** Format: double */
                            avgExecutionMs: number;
                            /** Format: double */
                            errorRate: number;
                            /** Format: double */
                            p95ExecutionMs: number;
                            timestamp: string;
                        } | null;
                        /** @description Whether it was done. */
                        ok: boolean;
                        /** @description The tool. */
                        tool: string;
                    };
                };
            };
        };
    };
    tool_errors: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        stats: {
                            /** Format: double */
                            errorRate: number;
                            errors: number;
                            errorTypes: {
                                [key: string]: number;
                            };
                            failedCommands: number;
                            firstError: string | null;
                            firstErrorDetail: {
                                args: unknown;
                                call: string;
                                code: string;
                                message: string;
                                timestamp: string;
                            } | null;
                            lastError: {
                                args: unknown;
                                call: string;
                                code: string;
                                message: string;
                                timestamp: string;
                            } | null;
                            refused: number;
                            topErrors: {
                                count: number;
                                message: string;
                                /** Format: double */
                                percentage: number;
                                shape: string;
                            }[];
                            totalCalls: number;
                        };
                        tool: string;
                    };
                };
            };
        };
    };
    clear_errors: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description `baseline_reset`, if a new baseline was set. */
                        action?: string | null;
                        /** @description What was cleared. */
                        cleared?: {
                            /** @description How many errors there were. */
                            errors?: number | null;
                            /** @description When it was cleared. */
                            timestamp: string;
                        } | null;
                        /** @description The new baseline. */
                        newBaseline?: {
                            /** Format: double */
                            avgExecutionMs: number;
                            /** Format: double */
                            errorRate: number;
                            /** Format: double */
                            p95ExecutionMs: number;
                            timestamp: string;
                        } | null;
                        /** @description Whether it was done. */
                        ok: boolean;
                        /** @description The tool. */
                        tool: string;
                    };
                };
            };
        };
    };
    execute_by_full_name: {
        parameters: {
            query?: never;
            header?: {
                /** @description The call runs once for each key; the same key gives the same reply. */
                "Idempotency-Key"?: string;
                /** @description How many seconds to wait for a person, as `wait=30`. */
                Prefer?: string;
            };
            path: {
                catalogue: string;
                tool: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The id of the approval that this call waited for. */
                    approval_id?: string | null;
                    /**
                     * @description The arguments of the tool.
                     * @default {}
                     */
                    args?: {
                        [key: string]: unknown;
                    };
                    /** @description The caller's own name of the conversation, for the record. */
                    conv_id?: string | null;
                    /**
                     * @description Whether the call is only tried: what would be decided, and what it would change. Nothing runs or is recorded.
                     * @default false
                     */
                    dry_run?: boolean;
                    /**
                     * @description The iteration of the agent's loop, for the record.
                     * @default 0
                     */
                    iter?: number;
                    /** @description The caller's own name of the trace, for the record. */
                    trace_id?: string | null;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    execute: {
        parameters: {
            query?: never;
            header?: {
                /** @description The call runs once for each key; the same key gives the same reply. */
                "Idempotency-Key"?: string;
                /** @description How many seconds to wait for a person, as `wait=30`. */
                Prefer?: string;
            };
            path: {
                tool: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The id of the approval that this call waited for. */
                    approval_id?: string | null;
                    /**
                     * @description The arguments of the tool.
                     * @default {}
                     */
                    args?: {
                        [key: string]: unknown;
                    };
                    /** @description The caller's own name of the conversation, for the record. */
                    conv_id?: string | null;
                    /**
                     * @description Whether the call is only tried: what would be decided, and what it would change. Nothing runs or is recorded.
                     * @default false
                     */
                    dry_run?: boolean;
                    /**
                     * @description The iteration of the agent's loop, for the record.
                     * @default 0
                     */
                    iter?: number;
                    /** @description The caller's own name of the trace, for the record. */
                    trace_id?: string | null;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    execute_forgekeeper_check_pr_status: {
        parameters: {
            query?: never;
            header?: {
                /** @description The call runs once for each key; the same key gives the same reply. */
                "Idempotency-Key"?: string;
                /** @description How many seconds to wait for a person, as `wait=30`. */
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The id of the approval that this call waited for. */
                    approval_id?: string | null;
                    args: {
                        /** @description Number of the pull request, or its URL */
                        pr: string;
                        repo?: string | null;
                    };
                    /** @description The caller's own name of the conversation, for the record. */
                    conv_id?: string | null;
                    /**
                     * @description Whether the call is only tried: what would be decided, and what it would change. Nothing runs or is recorded.
                     * @default false
                     */
                    dry_run?: boolean;
                    /**
                     * @description The iteration of the agent's loop, for the record.
                     * @default 0
                     */
                    iter?: number;
                    /** @description The caller's own name of the trace, for the record. */
                    trace_id?: string | null;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    execute_forgekeeper_create_task_card: {
        parameters: {
            query?: never;
            header?: {
                /** @description The call runs once for each key; the same key gives the same reply. */
                "Idempotency-Key"?: string;
                /** @description How many seconds to wait for a person, as `wait=30`. */
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The id of the approval that this call waited for. */
                    approval_id?: string | null;
                    args: {
                        acceptance?: string[] | null;
                        description?: string | null;
                        evidence?: string[] | null;
                        severity?: ("low" | "medium" | "high") | null;
                        /** @description What is to be done, in one line */
                        title: string;
                    };
                    /** @description The caller's own name of the conversation, for the record. */
                    conv_id?: string | null;
                    /**
                     * @description Whether the call is only tried: what would be decided, and what it would change. Nothing runs or is recorded.
                     * @default false
                     */
                    dry_run?: boolean;
                    /**
                     * @description The iteration of the agent's loop, for the record.
                     * @default 0
                     */
                    iter?: number;
                    /** @description The caller's own name of the trace, for the record. */
                    trace_id?: string | null;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    execute_forgekeeper_echo: {
        parameters: {
            query?: never;
            header?: {
                /** @description The call runs once for each key; the same key gives the same reply. */
                "Idempotency-Key"?: string;
                /** @description How many seconds to wait for a person, as `wait=30`. */
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The id of the approval that this call waited for. */
                    approval_id?: string | null;
                    args: {
                        /** @description Text to echo back */
                        text: string;
                    };
                    /** @description The caller's own name of the conversation, for the record. */
                    conv_id?: string | null;
                    /**
                     * @description Whether the call is only tried: what would be decided, and what it would change. Nothing runs or is recorded.
                     * @default false
                     */
                    dry_run?: boolean;
                    /**
                     * @description The iteration of the agent's loop, for the record.
                     * @default 0
                     */
                    iter?: number;
                    /** @description The caller's own name of the trace, for the record. */
                    trace_id?: string | null;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    execute_forgekeeper_get_time: {
        parameters: {
            query?: never;
            header?: {
                /** @description The call runs once for each key; the same key gives the same reply. */
                "Idempotency-Key"?: string;
                /** @description How many seconds to wait for a person, as `wait=30`. */
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The id of the approval that this call waited for. */
                    approval_id?: string | null;
                    args?: Record<string, never>;
                    /** @description The caller's own name of the conversation, for the record. */
                    conv_id?: string | null;
                    /**
                     * @description Whether the call is only tried: what would be decided, and what it would change. Nothing runs or is recorded.
                     * @default false
                     */
                    dry_run?: boolean;
                    /**
                     * @description The iteration of the agent's loop, for the record.
                     * @default 0
                     */
                    iter?: number;
                    /** @description The caller's own name of the trace, for the record. */
                    trace_id?: string | null;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    execute_forgekeeper_read_dir: {
        parameters: {
            query?: never;
            header?: {
                /** @description The call runs once for each key; the same key gives the same reply. */
                "Idempotency-Key"?: string;
                /** @description How many seconds to wait for a person, as `wait=30`. */
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The id of the approval that this call waited for. */
                    approval_id?: string | null;
                    args?: {
                        path?: string | null;
                    };
                    /** @description The caller's own name of the conversation, for the record. */
                    conv_id?: string | null;
                    /**
                     * @description Whether the call is only tried: what would be decided, and what it would change. Nothing runs or is recorded.
                     * @default false
                     */
                    dry_run?: boolean;
                    /**
                     * @description The iteration of the agent's loop, for the record.
                     * @default 0
                     */
                    iter?: number;
                    /** @description The caller's own name of the trace, for the record. */
                    trace_id?: string | null;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    execute_forgekeeper_read_file: {
        parameters: {
            query?: never;
            header?: {
                /** @description The call runs once for each key; the same key gives the same reply. */
                "Idempotency-Key"?: string;
                /** @description How many seconds to wait for a person, as `wait=30`. */
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The id of the approval that this call waited for. */
                    approval_id?: string | null;
                    args: {
                        limit?: number | null;
                        offset?: number | null;
                        /** @description File path relative to sandbox root */
                        path: string;
                    };
                    /** @description The caller's own name of the conversation, for the record. */
                    conv_id?: string | null;
                    /**
                     * @description Whether the call is only tried: what would be decided, and what it would change. Nothing runs or is recorded.
                     * @default false
                     */
                    dry_run?: boolean;
                    /**
                     * @description The iteration of the agent's loop, for the record.
                     * @default 0
                     */
                    iter?: number;
                    /** @description The caller's own name of the trace, for the record. */
                    trace_id?: string | null;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    execute_forgekeeper_write_file: {
        parameters: {
            query?: never;
            header?: {
                /** @description The call runs once for each key; the same key gives the same reply. */
                "Idempotency-Key"?: string;
                /** @description How many seconds to wait for a person, as `wait=30`. */
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The id of the approval that this call waited for. */
                    approval_id?: string | null;
                    args: {
                        /** @description Text to write */
                        content: string;
                        overwrite?: boolean | null;
                        /** @description File path relative to sandbox root */
                        path: string;
                    };
                    /** @description The caller's own name of the conversation, for the record. */
                    conv_id?: string | null;
                    /**
                     * @description Whether the call is only tried: what would be decided, and what it would change. Nothing runs or is recorded.
                     * @default false
                     */
                    dry_run?: boolean;
                    /**
                     * @description The iteration of the agent's loop, for the record.
                     * @default 0
                     */
                    iter?: number;
                    /** @description The caller's own name of the trace, for the record. */
                    trace_id?: string | null;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    list_proposals: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        count: number;
                        ok: boolean;
                        pending: {
                            /** @description Who proposed it. */
                            by: string;
                            /** @description The beginning of the code. */
                            codePreview: string;
                            /** @description When it was proposed. */
                            createdAt: string;
                            /** @description What the module says of itself, which is what models will read. */
                            declaredDescription: string;
                            /** @description What the tool does, in the words of who proposed it. */
                            description: string;
                            /** @description The door that the proposal came by. */
                            door: string;
                            /** @description What the examples did that the module declares. */
                            examples: {
                                /** @description What the example shows. */
                                about: string;
                                /**
                                 * @description Whether its result was compared with one that the example names. Otherwise the call only had to succeed.
                                 * @default false
                                 */
                                compared: boolean;
                                /**
                                 * Format: double
                                 * @description How long it took, in milliseconds.
                                 */
                                elapsedMs?: number | null;
                                /** @description What went wrong. */
                                message?: string | null;
                                /** @description Whether the tool did what the example says. */
                                ok: boolean;
                            }[];
                            /** @description Until when it can be answered. */
                            expiresAt: string;
                            /** @description The hash of code and declaration, which an approval is bound to. */
                            hash: string;
                            /** @description The id. */
                            id: string;
                            /** @description What it asks for and the active version does not, and the other way round: `added` and `removed`. */
                            permissionChanges: unknown;
                            /** @description What it asks for: `read`, `write`, `hosts`, `tools`, `secrets`, `volumes`. */
                            permissions: unknown;
                            /** @description Why. */
                            reasoning: string;
                            /** @description The hash of the version that was active when it was proposed. */
                            replaces?: string | null;
                            /** @description The role of who proposed it. */
                            role: string;
                            /** @description `pending`, `approved`, `rejected` or `expired`. */
                            status: string;
                            /**
                             * Format: uint8
                             * @description The tier that the tool would have.
                             */
                            tier: number;
                            /** @description The name of the tool. */
                            toolName: string;
                        }[];
                    };
                };
            };
        };
    };
    show_proposal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The hash of the version that is active now. */
                        active?: string | null;
                        /** @description The answer, if there is one. */
                        answer?: {
                            /** @description When. */
                            at: string;
                            /** @description Who answered. Nobody, if its time was over. */
                            by: string | null;
                            /** @description The reason that was given. */
                            reason: string;
                        } | null;
                        /** @description The code. Characters that would hide something are escaped. */
                        code: string;
                        /** @description What the module says of itself, which is what models will read. */
                        declaredDescription: string;
                        /** @description What the tool does, in the words of who proposed it. */
                        description: string;
                        /** @description What differs from the code of that version. */
                        difference?: string | null;
                        /** @description What the examples of that version did when it was proposed. */
                        examplesBefore: {
                            /** @description What the example shows. */
                            about: string;
                            /**
                             * @description Whether its result was compared with one that the example names. Otherwise the call only had to succeed.
                             * @default false
                             */
                            compared: boolean;
                            /**
                             * Format: double
                             * @description How long it took, in milliseconds.
                             */
                            elapsedMs?: number | null;
                            /** @description What went wrong. */
                            message?: string | null;
                            /** @description Whether the tool did what the example says. */
                            ok: boolean;
                        }[];
                        /** @description What people granted to calls of the tool. It holds for the new version, too. */
                        grants: string[];
                        ok: boolean;
                        /** @description Whether the one who asks this proposed the tool, and so cannot answer. */
                        own: boolean;
                        /** @description The JSON Schema of the arguments. */
                        parameters: unknown;
                        /** @description What it asks for and the active version does not, and the other way round: `added` and `removed`. */
                        permissionChanges: unknown;
                        /** @description What it asks for: `read`, `write`, `hosts`, `tools`, `secrets`, `volumes`. */
                        permissions: unknown;
                        /** @description The proposal. */
                        proposal: {
                            /** @description Who proposed it. */
                            by: string;
                            /** @description When it was proposed. */
                            createdAt: string;
                            /** @description The door that the proposal came by. */
                            door: string;
                            /** @description What the examples did that the module declares. */
                            examples: {
                                /** @description What the example shows. */
                                about: string;
                                /**
                                 * @description Whether its result was compared with one that the example names. Otherwise the call only had to succeed.
                                 * @default false
                                 */
                                compared: boolean;
                                /**
                                 * Format: double
                                 * @description How long it took, in milliseconds.
                                 */
                                elapsedMs?: number | null;
                                /** @description What went wrong. */
                                message?: string | null;
                                /** @description Whether the tool did what the example says. */
                                ok: boolean;
                            }[];
                            /** @description Until when it can be answered. */
                            expiresAt: string;
                            /** @description The hash of code and declaration, which an approval is bound to. */
                            hash: string;
                            /** @description The id. */
                            id: string;
                            /** @description Why. */
                            reasoning: string;
                            /** @description The hash of the version that was active when it was proposed. */
                            replaces?: string | null;
                            /** @description The role of who proposed it. */
                            role: string;
                            /** @description `pending`, `approved`, `rejected` or `expired`. */
                            status: string;
                            /** @description The name of the tool. */
                            toolName: string;
                        };
                        /**
                         * Format: uint8
                         * @description The tier that the tool would have.
                         */
                        tier: number;
                    };
                };
            };
        };
    };
    propose_tool: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The ES module. */
                    code: string;
                    /** @description What the tool does. */
                    description: string;
                    /** @description The name, which the module must export, too. */
                    name: string;
                    /**
                     * @description Why it is proposed.
                     * @default
                     */
                    reasoning?: string;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        message: string;
                        ok: boolean;
                        /** @description A proposal, as every reply has it. */
                        proposal: {
                            /** @description Who proposed it. */
                            by: string;
                            /** @description When it was proposed. */
                            createdAt: string;
                            /** @description The door that the proposal came by. */
                            door: string;
                            /** @description What the examples did that the module declares. */
                            examples: {
                                /** @description What the example shows. */
                                about: string;
                                /**
                                 * @description Whether its result was compared with one that the example names. Otherwise the call only had to succeed.
                                 * @default false
                                 */
                                compared: boolean;
                                /**
                                 * Format: double
                                 * @description How long it took, in milliseconds.
                                 */
                                elapsedMs?: number | null;
                                /** @description What went wrong. */
                                message?: string | null;
                                /** @description Whether the tool did what the example says. */
                                ok: boolean;
                            }[];
                            /** @description Until when it can be answered. */
                            expiresAt: string;
                            /** @description The hash of code and declaration, which an approval is bound to. */
                            hash: string;
                            /** @description The id. */
                            id: string;
                            /** @description Why. */
                            reasoning: string;
                            /** @description The hash of the version that was active when it was proposed. */
                            replaces?: string | null;
                            /** @description The role of who proposed it. */
                            role: string;
                            /** @description `pending`, `approved`, `rejected` or `expired`. */
                            status: string;
                            /** @description The name of the tool. */
                            toolName: string;
                        };
                    };
                };
            };
        };
    };
    regressions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        regressions: {
                            baseline: {
                                /** Format: double */
                                avgExecutionMs: number;
                                /** Format: double */
                                errorRate: number;
                                /** Format: double */
                                p95ExecutionMs: number;
                                /** Format: double */
                                p99ExecutionMs: number;
                                /** Format: date-time */
                                periodEnd: string | null;
                                /** Format: date-time */
                                periodStart: string | null;
                                sampleSize: number;
                                versions: string[];
                            };
                            current: {
                                /** Format: double */
                                avgExecutionMs: number;
                                /** Format: double */
                                errorRate: number;
                                /** Format: double */
                                p95ExecutionMs: number;
                                /** Format: double */
                                p99ExecutionMs: number;
                                /** Format: date-time */
                                periodEnd: string | null;
                                /** Format: date-time */
                                periodStart: string | null;
                                sampleSize: number;
                                versions: string[];
                            };
                            regression: {
                                /** Format: double */
                                avgExecutionDelta: number;
                                /** Format: double */
                                avgExecutionDeltaPct: number;
                                because: string[];
                                detected: boolean;
                                /** Format: double */
                                errorRateDelta: number;
                                /** Format: double */
                                p95ExecutionDelta: number;
                                /** @description `high`, `medium`, `low` or `none`. */
                                severity: string;
                            };
                            toolName: string;
                        }[];
                        summary: {
                            highSeverity: number;
                            lowSeverity: number;
                            mediumSeverity: number;
                            toolsWithRegressions: number;
                            totalTools: number;
                        };
                    };
                };
            };
        };
    };
    tool_regression_by_full_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                catalogue: string;
                tool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        /** @description How a tool stands against its past. */
                        regression: {
                            baseline: {
                                /** Format: double */
                                avgExecutionMs: number;
                                /** Format: double */
                                errorRate: number;
                                /** Format: double */
                                p95ExecutionMs: number;
                                /** Format: double */
                                p99ExecutionMs: number;
                                /** Format: date-time */
                                periodEnd: string | null;
                                /** Format: date-time */
                                periodStart: string | null;
                                sampleSize: number;
                                versions: string[];
                            };
                            current: {
                                /** Format: double */
                                avgExecutionMs: number;
                                /** Format: double */
                                errorRate: number;
                                /** Format: double */
                                p95ExecutionMs: number;
                                /** Format: double */
                                p99ExecutionMs: number;
                                /** Format: date-time */
                                periodEnd: string | null;
                                /** Format: date-time */
                                periodStart: string | null;
                                sampleSize: number;
                                versions: string[];
                            };
                            regression: {
                                /** Format: double */
                                avgExecutionDelta: number;
                                /** Format: double */
                                avgExecutionDeltaPct: number;
                                because: string[];
                                detected: boolean;
                                /** Format: double */
                                errorRateDelta: number;
                                /** Format: double */
                                p95ExecutionDelta: number;
                                /** @description `high`, `medium`, `low` or `none`. */
                                severity: string;
                            };
                            toolName: string;
                        } | null;
                        tool: string;
                    };
                };
            };
        };
    };
    clear_regression_by_full_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                catalogue: string;
                tool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description `baseline_reset`, if a new baseline was set. */
                        action?: string | null;
                        /** @description What was cleared. */
                        cleared?: {
                            /** @description How many errors there were. */
                            errors?: number | null;
                            /** @description When it was cleared. */
                            timestamp: string;
                        } | null;
                        /** @description The new baseline. */
                        newBaseline?: {
                            /** Format: double */
                            avgExecutionMs: number;
                            /** Format: double */
                            errorRate: number;
                            /** Format: double */
                            p95ExecutionMs: number;
                            timestamp: string;
                        } | null;
                        /** @description Whether it was done. */
                        ok: boolean;
                        /** @description The tool. */
                        tool: string;
                    };
                };
            };
        };
    };
    tool_regression: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        /** @description How a tool stands against its past. */
                        regression: {
                            baseline: {
                                /** Format: double */
                                avgExecutionMs: number;
                                /** Format: double */
                                errorRate: number;
                                /** Format: double */
                                p95ExecutionMs: number;
                                /** Format: double */
                                p99ExecutionMs: number;
                                /** Format: date-time */
                                periodEnd: string | null;
                                /** Format: date-time */
                                periodStart: string | null;
                                sampleSize: number;
                                versions: string[];
                            };
                            current: {
                                /** Format: double */
                                avgExecutionMs: number;
                                /** Format: double */
                                errorRate: number;
                                /** Format: double */
                                p95ExecutionMs: number;
                                /** Format: double */
                                p99ExecutionMs: number;
                                /** Format: date-time */
                                periodEnd: string | null;
                                /** Format: date-time */
                                periodStart: string | null;
                                sampleSize: number;
                                versions: string[];
                            };
                            regression: {
                                /** Format: double */
                                avgExecutionDelta: number;
                                /** Format: double */
                                avgExecutionDeltaPct: number;
                                because: string[];
                                detected: boolean;
                                /** Format: double */
                                errorRateDelta: number;
                                /** Format: double */
                                p95ExecutionDelta: number;
                                /** @description `high`, `medium`, `low` or `none`. */
                                severity: string;
                            };
                            toolName: string;
                        } | null;
                        tool: string;
                    };
                };
            };
        };
    };
    clear_regression: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description `baseline_reset`, if a new baseline was set. */
                        action?: string | null;
                        /** @description What was cleared. */
                        cleared?: {
                            /** @description How many errors there were. */
                            errors?: number | null;
                            /** @description When it was cleared. */
                            timestamp: string;
                        } | null;
                        /** @description The new baseline. */
                        newBaseline?: {
                            /** Format: double */
                            avgExecutionMs: number;
                            /** Format: double */
                            errorRate: number;
                            /** Format: double */
                            p95ExecutionMs: number;
                            timestamp: string;
                        } | null;
                        /** @description Whether it was done. */
                        ok: boolean;
                        /** @description The tool. */
                        tool: string;
                    };
                };
            };
        };
    };
    reject_tool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tool: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Why, for the one who proposed.
                     * @default
                     */
                    reason?: string;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        message: string;
                        ok: boolean;
                        /** @description A tool that was rejected. */
                        tool: {
                            name: string;
                            reason: string;
                            rejectedAt: string;
                            status: string;
                        };
                    };
                };
            };
        };
    };
    reload_tools: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Files in the tools folder that cannot be tools. */
                        errors: {
                            /** @description What is wrong with it. */
                            error?: string | null;
                            /** @description The hash of the version that it would be. */
                            hash?: string | null;
                            name: string;
                            path: string;
                        }[];
                        ok: boolean;
                        /** @description How many tools the contract's API has now. */
                        reloaded: number;
                        timestamp: string;
                        /** @description Files in the tools folder whose version nobody has approved. They are not loaded. */
                        waiting: {
                            /** @description What is wrong with it. */
                            error?: string | null;
                            /** @description The hash of the version that it would be. */
                            hash?: string | null;
                            name: string;
                            path: string;
                        }[];
                    };
                };
            };
        };
    };
    resources: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        resources: {
                            /** @description The limits of the tool, by their names. */
                            limits: unknown;
                            resources: {
                                cpu: {
                                    /** Format: double */
                                    avgMs: number;
                                    /** Format: double */
                                    maxMs: number;
                                    /** Format: double */
                                    p95Ms: number;
                                    /** Format: double */
                                    totalMs: number;
                                };
                                disk: {
                                    /** Format: int64 */
                                    avgReadBytes: number;
                                    /** Format: int64 */
                                    avgWriteBytes: number;
                                    maxReadBytes: number;
                                    maxWriteBytes: number;
                                    /** Format: int64 */
                                    p95ReadBytes: number;
                                    /** Format: int64 */
                                    p95WriteBytes: number;
                                    totalReadBytes: number;
                                    totalWriteBytes: number;
                                };
                                memory: {
                                    /** Format: int64 */
                                    avgBytes: number;
                                    maxBytes: number;
                                    /** Format: int64 */
                                    p95Bytes: number;
                                    totalBytes: number;
                                };
                                network: {
                                    connections: number;
                                    refused: number;
                                    totalDownBytes: number;
                                    totalUpBytes: number;
                                };
                            };
                            toolName: string;
                            totalCalls: number;
                            /** @description How often each limit was met. */
                            violations: {
                                [key: string]: number;
                            };
                        }[];
                        summary: {
                            /** Format: double */
                            totalCpuMs: number;
                            totalDiskReadBytes: number;
                            totalDiskWriteBytes: number;
                            totalMemoryBytes: number;
                            totalNetworkConnections: number;
                            totalNetworkDownBytes: number;
                            totalNetworkRefused: number;
                            totalNetworkUpBytes: number;
                        };
                    };
                };
            };
        };
    };
    tool_resources_by_full_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                catalogue: string;
                tool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        /** @description What a tool uses, and within which limits. */
                        resources: {
                            /** @description The limits of the tool, by their names. */
                            limits: unknown;
                            resources: {
                                cpu: {
                                    /** Format: double */
                                    avgMs: number;
                                    /** Format: double */
                                    maxMs: number;
                                    /** Format: double */
                                    p95Ms: number;
                                    /** Format: double */
                                    totalMs: number;
                                };
                                disk: {
                                    /** Format: int64 */
                                    avgReadBytes: number;
                                    /** Format: int64 */
                                    avgWriteBytes: number;
                                    maxReadBytes: number;
                                    maxWriteBytes: number;
                                    /** Format: int64 */
                                    p95ReadBytes: number;
                                    /** Format: int64 */
                                    p95WriteBytes: number;
                                    totalReadBytes: number;
                                    totalWriteBytes: number;
                                };
                                memory: {
                                    /** Format: int64 */
                                    avgBytes: number;
                                    maxBytes: number;
                                    /** Format: int64 */
                                    p95Bytes: number;
                                    totalBytes: number;
                                };
                                network: {
                                    connections: number;
                                    refused: number;
                                    totalDownBytes: number;
                                    totalUpBytes: number;
                                };
                            };
                            toolName: string;
                            totalCalls: number;
                            /** @description How often each limit was met. */
                            violations: {
                                [key: string]: number;
                            };
                        };
                        tool: string;
                    };
                };
            };
        };
    };
    clear_resources_by_full_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                catalogue: string;
                tool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description `baseline_reset`, if a new baseline was set. */
                        action?: string | null;
                        /** @description What was cleared. */
                        cleared?: {
                            /** @description How many errors there were. */
                            errors?: number | null;
                            /** @description When it was cleared. */
                            timestamp: string;
                        } | null;
                        /** @description The new baseline. */
                        newBaseline?: {
                            /** Format: double */
                            avgExecutionMs: number;
                            /** Format: double */
                            errorRate: number;
                            /** Format: double */
                            p95ExecutionMs: number;
                            timestamp: string;
                        } | null;
                        /** @description Whether it was done. */
                        ok: boolean;
                        /** @description The tool. */
                        tool: string;
                    };
                };
            };
        };
    };
    tool_resources: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        /** @description What a tool uses, and within which limits. */
                        resources: {
                            /** @description The limits of the tool, by their names. */
                            limits: unknown;
                            resources: {
                                cpu: {
                                    /** Format: double */
                                    avgMs: number;
                                    /** Format: double */
                                    maxMs: number;
                                    /** Format: double */
                                    p95Ms: number;
                                    /** Format: double */
                                    totalMs: number;
                                };
                                disk: {
                                    /** Format: int64 */
                                    avgReadBytes: number;
                                    /** Format: int64 */
                                    avgWriteBytes: number;
                                    maxReadBytes: number;
                                    maxWriteBytes: number;
                                    /** Format: int64 */
                                    p95ReadBytes: number;
                                    /** Format: int64 */
                                    p95WriteBytes: number;
                                    totalReadBytes: number;
                                    totalWriteBytes: number;
                                };
                                memory: {
                                    /** Format: int64 */
                                    avgBytes: number;
                                    maxBytes: number;
                                    /** Format: int64 */
                                    p95Bytes: number;
                                    totalBytes: number;
                                };
                                network: {
                                    connections: number;
                                    refused: number;
                                    totalDownBytes: number;
                                    totalUpBytes: number;
                                };
                            };
                            toolName: string;
                            totalCalls: number;
                            /** @description How often each limit was met. */
                            violations: {
                                [key: string]: number;
                            };
                        };
                        tool: string;
                    };
                };
            };
        };
    };
    clear_resources: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tool: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description `baseline_reset`, if a new baseline was set. */
                        action?: string | null;
                        /** @description What was cleared. */
                        cleared?: {
                            /** @description How many errors there were. */
                            errors?: number | null;
                            /** @description When it was cleared. */
                            timestamp: string;
                        } | null;
                        /** @description The new baseline. */
                        newBaseline?: {
                            /** Format: double */
                            avgExecutionMs: number;
                            /** Format: double */
                            errorRate: number;
                            /** Format: double */
                            p95ExecutionMs: number;
                            timestamp: string;
                        } | null;
                        /** @description Whether it was done. */
                        ok: boolean;
                        /** @description The tool. */
                        tool: string;
                    };
                };
            };
        };
    };
    write_tool: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The ES module. */
                    code: string;
                    /** @description The name, which the module must export, too. */
                    name: string;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        bytes: number;
                        ok: boolean;
                        path: string;
                        /** @description The first digits of the hash. */
                        version: string;
                    };
                };
            };
        };
    };
    list_changed_calls: {
        parameters: {
            query?: {
                /** @description Whether the reply has the commands that the calls ran. */
                commands?: boolean;
                /** @description The most calls to return. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The newest of them. */
                        calls: {
                            /** @description When it changed the first file. */
                            at: string;
                            /** @description The id of the call. */
                            call: string;
                            /** @description What it changed. */
                            changes: {
                                /** @description The file after the change; nothing if there is none. */
                                after: {
                                    /** @description The file's own extended attributes and its access control list, in hexadecimal. */
                                    attributes?: {
                                        [key: string]: string;
                                    };
                                    /** @description The owner's group id. */
                                    gid: number;
                                    /** @description Whether the file is a symbolic link. */
                                    is_link?: boolean;
                                    /** @description The permission bits. */
                                    mode: number;
                                    /** @description SHA-256 of the content, or of a link's target. */
                                    sha256: string;
                                    /** @description The size in bytes. */
                                    size: number;
                                    /** @description The owner's user id. */
                                    uid: number;
                                } | null;
                                /** @description The time of the change, as RFC 3339. */
                                at: string;
                                /** @description The file before the change; nothing if there was none. */
                                before: {
                                    /** @description The file's own extended attributes and its access control list, in hexadecimal. */
                                    attributes?: {
                                        [key: string]: string;
                                    };
                                    /** @description The owner's group id. */
                                    gid: number;
                                    /** @description Whether the file is a symbolic link. */
                                    is_link?: boolean;
                                    /** @description The permission bits. */
                                    mode: number;
                                    /** @description SHA-256 of the content, or of a link's target. */
                                    sha256: string;
                                    /** @description The size in bytes. */
                                    size: number;
                                    /** @description The owner's user id. */
                                    uid: number;
                                } | null;
                                /** @description The call that made the change. */
                                call: string;
                                /** @description Why it is uncertain that the call made this change, if it is. */
                                doubt?: ("others" | "lost" | "unseen" | "named") | null;
                                /** @description The kind of change. */
                                kind: "created" | "replaced" | "removed" | "made_directory" | "removed_directory";
                                /** @description The identity of the directory, if the change made one. */
                                made?: {
                                    /**
                                     * Format: int64
                                     * @description When the file was made, in nanoseconds since 1970; 0 if the file system does not know.
                                     * @default 0
                                     */
                                    born: number;
                                    /** @description The device that the file is on. */
                                    device: number;
                                    /** @description The inode number, which another file may get when this one is gone. */
                                    inode: number;
                                } | null;
                                /** @description The path below the root, with no link in it, each name spelt by [`crate::escape::name`]. */
                                path: string;
                                /** @description The absolute path of the root, each name spelt by [`crate::escape::name`]. */
                                root: string;
                                /** @description The identity of the root's directory, whatever has its path by now. */
                                root_id: {
                                    /**
                                     * Format: int64
                                     * @description When the file was made, in nanoseconds since 1970; 0 if the file system does not know.
                                     * @default 0
                                     */
                                    born: number;
                                    /** @description The device that the file is on. */
                                    device: number;
                                    /** @description The inode number, which another file may get when this one is gone. */
                                    inode: number;
                                };
                                /** @description The tool, as `catalogue/name`. */
                                tool: string;
                            }[];
                            /** @description The command that it ran, if that was asked for. */
                            command?: string | null;
                            /** @description The tool. */
                            tool: string;
                            /** @description Whether it was undone. */
                            undone: boolean;
                        }[];
                        /**
                         * @description How many more there are, which changed something elsewhere.
                         * @default 0
                         */
                        elsewhere: number;
                        ok: boolean;
                        /**
                         * @description The workspace, and the roots beside it.
                         * @default []
                         */
                        roots: string[];
                        /**
                         * @description The beginning of the id of each call that no other call has, in the order of the calls.
                         * @default []
                         */
                        short_ids: string[];
                        /** @description How many there are in all. */
                        total: number;
                    };
                };
            };
        };
    };
    undo_all: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The calls, in the order in which they are undone: of two that changed the same file, the newer one first. */
                    calls: string[];
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The calls that stay as they are. They do not keep the others from being undone. */
                        failed: {
                            call: string;
                            /** @description The code of the error. */
                            error: string;
                            hint: string | null;
                            message: string;
                        }[];
                        ok: boolean;
                        undone: {
                            /** @description The call that undid it. To undo that one is to redo. */
                            by: string;
                            /** @description What was done to each path. */
                            files: {
                                /** @description What was done to it. */
                                action: "restored" | "removed" | "unchanged" | "kept";
                                /** @description The path below its root. */
                                path: string;
                                /**
                                 * @description The absolute path of the root.
                                 * @default
                                 */
                                root: string;
                            }[];
                            /**
                             * @description Whether its command changed other files, too, which are not undone.
                             * @default false
                             */
                            has_other_changes: boolean;
                            /** @description The call that was undone. */
                            undone: string;
                        }[];
                    };
                };
            };
        };
    };
    preview_undo: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                call: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The call. */
                        call: string;
                        /** @description What would be done to each path. */
                        files: {
                            /** @description What would be done to it. A directory that the call made is removed only if it is empty. */
                            action: ("restored" | "removed" | "unchanged" | "kept") | null;
                            /** @description What the call did to it. */
                            kind: "created" | "replaced" | "removed" | "made_directory" | "removed_directory";
                            /** @description The path below its root. */
                            path: string;
                            /** @description Why nothing of the call would be undone. */
                            reason: string | null;
                            /** @description The absolute path of the root. */
                            root: string;
                        }[];
                        /** @description What to do about that. */
                        hint: string | null;
                        /** @description What its command changed beside that. There is no copy of it, so undo leaves it. */
                        left: string[];
                        ok: boolean;
                        /** @description Whether the call can be undone now. */
                        possible: boolean;
                        /** @description Why it cannot. */
                        reason: string | null;
                    };
                };
            };
        };
    };
    undo: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                call: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Whether files that changed after the call are put back, too. Their later changes are lost.
                     * @default false
                     */
                    force?: boolean;
                };
            };
        };
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The call that undid it. To undo that one is to redo. */
                        by: string;
                        /** @description What was done to each path. */
                        files: {
                            /** @description What was done to it. */
                            action: "restored" | "removed" | "unchanged" | "kept";
                            /** @description The path below its root. */
                            path: string;
                            /**
                             * @description The absolute path of the root.
                             * @default
                             */
                            root: string;
                        }[];
                        /**
                         * @description Whether its command changed other files, too, which are not undone.
                         * @default false
                         */
                        has_other_changes: boolean;
                        ok: boolean;
                        /** @description The call that was undone. */
                        undone: string;
                    };
                };
            };
        };
    };
    version: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        name: string;
                        ok: boolean;
                        version: string;
                    };
                };
            };
        };
    };
    waiting: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description What waits for a person: calls, or proposed tools and what is new of mounted servers. */
                        approvals: {
                            /**
                             * Format: date-time
                             * @description When the first of them expires.
                             */
                            next_expires_at: string | null;
                            waiting: number;
                        };
                        ok: boolean;
                        /** @description What waits for a person: calls, or proposed tools and what is new of mounted servers. */
                        proposals: {
                            /**
                             * Format: date-time
                             * @description When the first of them expires.
                             */
                            next_expires_at: string | null;
                            waiting: number;
                        };
                    };
                };
            };
        };
    };
    list_workers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        workers: {
                            /** @description Those that have a call or are being started. */
                            busy: number;
                            /** @description Those that wait for a call. */
                            idle: number;
                            /** @description What they run. */
                            kind: "module" | "program";
                            /** @description The most at a time. */
                            most: number;
                        }[];
                    };
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/openmetrics-text; version=1.0.0; charset=utf-8": string;
                };
            };
        };
    };
}
