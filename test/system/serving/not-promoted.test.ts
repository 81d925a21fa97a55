import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import { messageOf } from '../../../src/core/errors.ts'
import { CommandHere } from '../../cli/command-here.ts'
import { type CommandProcess, type CommandResult, weir } from '../cli/command-process.ts'

const USERS = 5
const FEATURES = 50
/** What each answer says: which version waits, and the command that makes it live. */
const WAITS =
  /version 1 is published, not promoted: make it live with "weir model promote 1 --model TOPIC --golden FILE"/

let folder: string
let examples: string
const at = (name: string): string => join(folder, name)

async function run(...args: string[]): Promise<CommandResult> {
  return await new CommandHere(args).ended
}

async function done(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args)
  expect(code, stderr).toBe(0)
  return stdout
}

/** A job of a model of which one version was imported, and nothing was promoted. */
class Waiting implements AsyncDisposable {
  readonly model: string
  readonly client: WeirClient
  readonly port: string
  private readonly job: CommandProcess

  private constructor(parts: {
    readonly model: string
    readonly client: WeirClient
    readonly port: string
    readonly job: CommandProcess
  }) {
    this.model = parts.model
    this.client = parts.client
    this.port = parts.port
    this.job = parts.job
  }

  static async start(model: string, job: string, generate: readonly string[]): Promise<Waiting> {
    const file = at(`${model}.weirmodel`)
    const [origin, here] = [at(`${model}-origin`), at(model)]
    await done('generate', ...generate, '--data-dir', origin)
    await done('model', 'export', '1', file, '--model', model, '--data-dir', origin)
    const said = await done('model', 'import', file, '--model', model, '--data-dir', here)
    expect(said).toContain('a candidate')
    const ports = ['--port', '0', '-D', 'rest.enabled=false']
    const started = weir(['run', job, '--json', '--data-dir', here, ...ports])
    const [, port] = await started.printed(/"started","port":(\d+)/)
    await started.printed(
      new RegExp(
        `version 1 of ${model} is published, not promoted, and no version is live: "weir model promote 1 --model ${model} --golden FILE" makes it live`,
      ),
    )
    // The server holds each call for all of its deadline: a longer one than the default makes this file slow.
    const once = { retry: { maxAttempts: 1 } }
    const client = await WeirClient.connect({ port: Number(port), ...once })
    return new Waiting({ model, client, port: port!, job: started })
  }

  /** Makes the version live. */
  async promote(): Promise<void> {
    const flags = ['--model', this.model, '--data-dir', at(this.model), '--force', 'a test']
    await done('model', 'promote', '1', ...flags)
    await this.job.printed(/"event":"live","version":1,/)
  }

  /** What a command says that asks the job, whatever becomes of it. */
  async said(...words: string[]): Promise<string> {
    return await inTime(async (timeoutMs) => {
      const patience = ['--port', this.port, '--timeout', timeoutMs]
      const { code, stdout, stderr } = await run(...words, ...patience)
      return code === 0 ? stdout : stderr
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close()
    await this.job[Symbol.asyncDispose]()
  }
}

/**
 * What is said in time: asked again with more of it where no answer came, as a busy machine needs longer for the first one.
 * What waits for a promotion takes all of its time.
 */
async function inTime(ask: (timeoutMs: string) => Promise<string>): Promise<string> {
  let said = ''
  for (const timeoutMs of ['500', '2000', '8000', '60000']) {
    said = await ask(timeoutMs)
    if (WAITS.test(said) || !/within \d+ ms/.test(said)) break
  }
  return said
}

/** What a call of a client ended with: its error, or its answer as text. */
const endOf = (call: Promise<unknown>): Promise<string> =>
  call.then((answer) => JSON.stringify(answer), messageOf)

/** A gateway of a job, and what it answers to a path. */
async function gatewayOf({ port }: Waiting) {
  const process = new CommandHere(['gateway', '--port', port, '--listen', '127.0.0.1:0', '--json'])
  const { url } = JSON.parse(await process.firstLine()) as { readonly url: string }
  const answerOf = (path: string, body?: object): Promise<string> =>
    inTime(async (deadlineMs) => {
      const headers = { 'content-type': 'application/json', 'weir-deadline-ms': deadlineMs }
      const post = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
      const answer = await fetch(`${url}${path}`, { headers, ...post })
      // A text in a text of JSON has its quotes escaped.
      return `${answer.status} ${(await answer.text()).replaceAll('\\"', '"')}`
    })
  return { answerOf, [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() }
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-not-promoted-'))
  examples = at('examples.svm')
  const shape = ['--features', String(FEATURES), '--non-zeros', '5', '--examples', '3']
  await done('generate', 'svm-examples', ...shape, '--output', examples)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('each query of a model that waits for a promotion says so, with the command', () => {
  it('of factors: to a client, to a command and over HTTP', async () => {
    const size = ['--users', String(USERS), '--items', '4', '--factors', '4']
    const generate = ['als-model', ...size]
    await using waiting = await Waiting.start('als-model', 'als-serving', generate)
    await using gateway = await gatewayOf(waiting)
    const { client } = waiting
    const state = 'ALS_MODEL'
    const ends = async (): Promise<Readonly<Record<string, string>>> => ({
      'client.predict': await endOf(client.predict(state, '1-U', '2-I')),
      'client.rows': await endOf(
        client.rows(state, ['1-U']).then(([row]) => {
          if (row?.ok !== true) throw row?.error
          return [...row.value]
        }),
      ),
      'client.topK': await endOf(
        client.topK(state, '1-U', { k: 2, suffix: '-I' }).then((list) => {
          if (!list.ok) throw list.error
          return list.value
        }),
      ),
      'weir predict': await waiting.said('predict', '1', '2'),
      'weir recommend': await waiting.said('recommend', '1'),
      'weir query': await waiting.said('query', state, '1-U'),
      'GET /v1/predict': await gateway.answerOf('/v1/predict/1/2'),
      'POST /v1/predict': await gateway.answerOf('/v1/predict', { pairs: [['1', '2']] }),
      'GET /v1/states': await gateway.answerOf(`/v1/states/${state}/1-U`),
      'GET /recommend': await gateway.answerOf('/recommend/1'),
      'GET /estimate': await gateway.answerOf('/estimate/1/2'),
      'POST /v2/models/.../infer': await gateway.answerOf(`/v2/models/${state}/infer`, {
        inputs: [
          { name: 'user', datatype: 'BYTES', shape: [1], data: ['1'] },
          { name: 'item', datatype: 'BYTES', shape: [1], data: ['2'] },
        ],
      }),
    })
    for (const [query, said] of Object.entries(await ends())) expect(said, query).toMatch(WAITS)
    await waiting.promote()
    for (const [query, said] of Object.entries(await ends())) {
      expect(said, query).not.toContain('promoted')
      if (query.includes(' /')) expect(said, query).toMatch(/^200 /)
    }
  })

  it('of weights: to a client, to a command and over HTTP', async () => {
    const generate = ['svm-model', '--features', String(FEATURES)]
    await using waiting = await Waiting.start('svm-model', 'svm-serving', generate)
    await using gateway = await gatewayOf(waiting)
    const state = 'SVM_MODEL'
    const features = { ids: Uint32Array.of(1, 2), values: Float32Array.of(1, 1) }
    const inputs = [
      { name: 'index', datatype: 'INT64', shape: [1], data: [1] },
      { name: 'value', datatype: 'FP32', shape: [1], data: [1] },
    ]
    const ends = async (): Promise<Readonly<Record<string, string>>> => ({
      'client.predictLinear': await endOf(waiting.client.predictLinear(state, features)),
      'weir classify': await waiting.said('classify', '--examples', examples),
      'POST /v2/models/.../infer': await gateway.answerOf(`/v2/models/${state}/infer`, { inputs }),
    })
    for (const [query, said] of Object.entries(await ends())) expect(said, query).toMatch(WAITS)
    await waiting.promote()
    for (const [query, said] of Object.entries(await ends())) {
      expect(said, query).not.toContain('promoted')
    }
  })
})
