#!/usr/bin/env python3
"""Works on one topic: python3 worker.py TOPIC. SUTRA_URL and SUTRA_KEY say where the engine is and who we are."""
import json, os, sys, urllib.request

def call(path, body):
    request = urllib.request.Request(os.environ.get("SUTRA_URL", "http://127.0.0.1:8080") + "/sutra/external-tasks/" + path,
        json.dumps(body).encode(), {"Content-Type": "application/json", "X-Api-Key": os.environ.get("SUTRA_KEY", "")})
    return json.loads(urllib.request.urlopen(request).read() or "null")

while True:
    for task in call("fetch-and-lock", {"workerId": "python", "maxTasks": 10, "asyncResponseTimeout": 20000, "topics": [{"topicName": sys.argv[1], "lockDuration": 30000}]}):
        print("task", task["id"], task["variables"], flush=True)
        call(task["id"] + "/complete", {"workerId": "python", "lockToken": task["lockToken"], "variables": {"done": True}})
