"""Makes a Toolcrib tool of a Python function. Copy this file beside your program:

    from toolcrib_tool import serve

    def execute(params, config):
        return {"words": len(params["text"].split())}

    serve(execute)

It serves both modes of a manifest, "once" and "resident". What the function returns is the result, and what it raises
is the error. What it prints goes to the standard error.
"""

import json
import sys
import time


class ToolFailure(Exception):
    """An error with a code and details, for whoever called the tool."""

    def __init__(self, message, code="EXECUTION_ERROR", details=None):
        super().__init__(message)
        self.code, self.details = code, details


def serve(execute, validate=None, initialize=None, health_check=None):
    """Answers the requests on the standard input. `validate(params)` returns a list of what is wrong,
    `initialize(config)` is called before the first call, and `health_check()` returns what is wrong, or nothing."""
    output, sys.stdout = sys.stdout, sys.stderr
    config = {}

    def run(params):
        started = time.monotonic()
        try:
            errors = validate(params) if validate else []
            if errors:
                raise ToolFailure(", ".join(errors), "VALIDATION_ERROR")
            answer = {"success": True, "result": execute(params, config)}
        except Exception as err:  # every error is an answer
            error = {"code": getattr(err, "code", "EXECUTION_ERROR")}
            error["message"] = str(err) or type(err).__name__
            if getattr(err, "details", None) is not None:
                error["details"] = err.details
            answer = {"success": False, "error": error}
        answer["metadata"] = {"duration": int((time.monotonic() - started) * 1000)}
        return answer

    def answer(method, params):
        if method == "initialize":
            config.update(params)
            return initialize(config) if initialize else None
        if method == "validate":
            errors = validate(params) if validate else []
            return {"valid": not errors, "errors": errors}
        if method == "healthCheck":
            error = health_check() if health_check else None
            return {"healthy": False, "error": error} if error else {"healthy": True}
        return run(params)

    def tell(value):
        output.write(json.dumps(value) + "\n")
        output.flush()

    for line in sys.stdin:
        request = json.loads(line)
        if "callId" in request:  # one call, without an envelope
            tell(run(request))
            continue
        try:
            tell({"id": request["id"], "result": answer(request["method"], request.get("params", {}))})
        except Exception as err:
            tell({"id": request["id"], "error": {"code": "INTERNAL_ERROR", "message": str(err)}})
