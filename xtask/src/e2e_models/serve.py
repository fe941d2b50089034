"""Starts a model server for `cargo xtask e2e-models`, on loopback, and ends with its parent.

serve.py llama PORT GGUF [TEMPLATE]  llama.cpp's own server, one thread, in this process
serve.py litellm PORT CONFIG         LiteLLM's proxy
"""

import os
import sys
import threading
import time


def end_with_parent():
    # The parent holds the other end of this pipe and never writes. It breaks when the parent is
    # gone, however it went.
    sys.stdin.buffer.read()
    os._exit(0)


def llama(port, weights, template=None):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = {"smollm2", "local"}
    params.hostnames = ["127.0.0.1"]
    params.port = int(port)
    params.offline = True
    params.n_parallel = 1
    params.n_ctx = 8192 if template else 16384
    # A second thread waits for the first at every layer; on a busy machine it waits for minutes.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    # The small model's own template knows no tools, and llama.cpp then drops them without a word.
    if template:
        with open(template, encoding="utf-8") as file:
            params.chat_template = file.read()
    server = xllamacpp.Server(params)
    print("listening on", server.listening_address, flush=True)
    while True:
        time.sleep(3600)


def litellm(port, config):
    from litellm import run_server

    run_server(["--config", config, "--host", "127.0.0.1", "--port", port, "--telemetry", "False"])


if __name__ == "__main__":
    threading.Thread(target=end_with_parent, daemon=True).start()
    {"llama": llama, "litellm": litellm}[sys.argv[1]](*sys.argv[2:])
