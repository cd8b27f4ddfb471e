// Plays every scene through the SDK against the gateway at argv[2]; prints one JSON object, scene -> what it saw.

import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { z } from "zod";

const client = new Anthropic({ baseURL: process.argv[2], apiKey: "client-key", authToken: null, maxRetries: 0, timeout: 20_000 });
const question = { role: "user", content: "What is it?" };
const asked = (model, fields = {}) => ({ model, max_tokens: 400, messages: [question], ...fields });

const weather = {
  name: "weather",
  input_schema: { type: "object", properties: { city: { type: "string" } } },
};

const scenes = {
  create: async () => {
    const { data, response, request_id } = await client.messages.create(asked("vllm-ts-create")).withResponse();
    return { message: data, type: response.headers.get("content-type"), id: request_id };
  },

  events: async () => {
    const events = [];
    for await (const event of await client.messages.create(asked("vllm-ts-events", { stream: true }))) events.push(event);
    return { events };
  },

  stream: async () => {
    const texts = [];
    const stream = client.messages.stream(asked("vllm-ts-stream")).on("text", (text) => texts.push(text));
    return { message: await stream.finalMessage(), texts };
  },

  tool: async () => {
    const model = "ollama-ts-tool";
    const first = await client.messages.stream(asked(model, { tools: [weather] })).finalMessage();
    const result = { type: "tool_result", tool_use_id: first.content[0].id, content: "sun" };
    const messages = [question, { role: "assistant", content: first.content }, { role: "user", content: [result] }];
    return { first, second: await client.messages.create(asked(model, { tools: [weather], messages })) };
  },

  runner: async () => {
    const add = betaZodTool({
      name: "add",
      description: "Add two numbers.",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      run: ({ a, b }) => String(a + b),
    });
    return { message: await client.beta.messages.toolRunner(asked("vllm-ts-runner", { tools: [add] })).runUntilDone() };
  },

  parse: async () => {
    const format = zodOutputFormat(z.object({ name: z.string(), people: z.number() }));
    const message = await client.messages.parse(asked("vllm-ts-parse", { output_config: { format } }));
    return { parsed: message.parsed_output };
  },

  count: async () => client.messages.countTokens({ model: "vllm-ts-count", messages: [question] }),

  models: async () => {
    const ids = [];
    for await (const model of client.models.list({ limit: 2 })) ids.push(model.id);
    return { ids, one: await client.models.retrieve("org/two") };
  },

  refused: async () => client.messages.create(asked("vllm-ts-refused")),
  busy: async () => client.messages.create(asked("vllm-ts-busy")),
  unknown: async () => client.messages.create(asked("nobody")),
  broken: async () => client.messages.stream(asked("vllm-ts-broken")).finalMessage(),
  again: async () => ({ message: await client.messages.create(asked("vllm-ts-again"), { maxRetries: 1 }) }),

  many: async () => {
    const one = (number) =>
      client.messages.stream(asked("vllm-ts-many", { messages: [{ role: "user", content: `<${number}>` }] })).finalText();
    return { texts: await Promise.all(Array.from({ length: 20 }, (_, number) => one(number))) };
  },
};

function told(error) {
  const { status, type, errorCode, requestID, message } = error;
  const retryAfter = error.headers?.get("retry-after") ?? null;
  return { error: error.constructor.name, status, type, errorCode, requestID, retryAfter, message };
}

const report = {};
for (const [name, scene] of Object.entries(scenes)) {
  report[name] = await scene().catch(told);
}
console.log(JSON.stringify(report));
