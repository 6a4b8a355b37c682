#!/usr/bin/env node
// Works on one topic: node worker.js TOPIC. SUTRA_URL and SUTRA_KEY say where the engine is and who we are.
const call = async (path, body) => {
  const headers = {"Content-Type": "application/json", "X-Api-Key": process.env.SUTRA_KEY ?? ""}
  const answer = await fetch((process.env.SUTRA_URL ?? "http://127.0.0.1:8080") + "/sutra/external-tasks/" + path, {method: "POST", headers, body: JSON.stringify(body)})
  if (!answer.ok) throw new Error(await answer.text())
  return JSON.parse(await answer.text() || "null")
}
const topics = [{topicName: process.argv[2], lockDuration: 30000}]
for (;;)
  for (const task of await call("fetch-and-lock", {workerId: "javascript", maxTasks: 10, asyncResponseTimeout: 20000, topics})) {
    console.log("task", task.id, JSON.stringify(task.variables))
    await call(task.id + "/complete", {workerId: "javascript", lockToken: task.lockToken, variables: {done: true}})
  }
