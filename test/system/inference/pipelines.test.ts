import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { nodeFileSystem } from '../../../src/files/node-file-system.ts'
import { LocalGateway } from '../../../src/gateway/local.ts'
import { openInferenceEngine } from '../../../src/inference/engine/engine.ts'
import { changeAlias } from '../../../src/inference/repository/aliases.ts'
import { pushModel } from '../../../src/inference/repository/push.ts'
import type { ModelEvent } from '../../../src/jobs/models/events.ts'
import { ModelsProcess } from '../../../src/jobs/models/process.ts'
import { until } from '../../run/until.ts'

let folder: string
let root: string
let models: ModelsProcess
let gateway: LocalGateway
const events: ModelEvent[] = []

/** A model whose first score is always `score`. */
const rankerModule = (score: number): string => `
export default {
  signature: {
    inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 1] }],
    outputs: [{ name: 'p', datatype: 'FP32', shape: [-1, 2] }],
  },
  run([x]) {
    const p = Float32Array.from({ length: 2 * x.shape[0] }, (_, i) => (i % 2 === 0 ? ${score} : ${1 - score}))
    return [{ name: 'p', datatype: 'FP32', shape: [x.shape[0], 2], data: new Uint8Array(p.buffer) }]
  },
}
`

async function pushRanker(score: number, name = 'ranker'): Promise<void> {
  const file = join(folder, 'ranker.mjs')
  await writeFile(file, rankerModule(score))
  await pushModel(nodeFileSystem, { root, name, file })
}

async function pushPipeline(name: string, text: string): Promise<void> {
  const file = join(folder, 'pipeline.yaml')
  await writeFile(file, text)
  await mkdir(join(root, name), { recursive: true })
  // A loaded machine may take longer than the default goal.
  await writeFile(join(root, name, 'deployment.yaml'), 'slo-ms: 60000\n')
  await pushModel(nodeFileSystem, { root, name, file })
}

async function post(path: string, body: object) {
  const answer = await fetch(`http://127.0.0.1:${gateway.port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

/** Asks a pipeline about one item. */
async function ask(pipeline: string, parameters: object = {}) {
  const inputs = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }]
  const { status, body } = await post(`/v2/models/${pipeline}/infer`, { inputs, parameters })
  const { outputs = [], parameters: given = {} } = body as {
    outputs?: { data: number[] }[]
    parameters?: Record<string, string | number | boolean>
  }
  return { status, body, score: outputs[0]?.data[0], parameters: given }
}

/** The decisions of a topic, with the keys of their records. */
async function decisionsIn(topic: string) {
  await using topics = await openTopics({ logDirectory: join(folder, 'log') })
  const found: Record<string, unknown>[] = []
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
  await topics.stored!.visit(topic, {
    record: (record) =>
      found.push({
        key: text(record.key()!),
        ...(JSON.parse(text(record.value()!)) as Record<string, unknown>),
      }),
  })
  return found
}

const isLive = (model: string) => () =>
  models.list().some(({ info }) => info.name === model && info.liveVersion > 0)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-pipelines-'))
  root = join(folder, 'models')
  await pushRanker(0.9)
  await pushRanker(0.2)
  changeAlias(nodeFileSystem, { root, name: 'ranker', alias: 'stable', version: 1 })
  await pushPipeline(
    'choice',
    'steps:\n  answer: { select: exp3-ix, arms: { stable: ranker@stable, fresh: ranker@2 } }\n',
  )
  models = await ModelsProcess.start({
    repository: root,
    port: 0,
    engine: openInferenceEngine(),
    openTopics: () => openTopics({ logDirectory: join(folder, 'log') }),
    scanMs: 50,
    onEvent: (event) => events.push(event),
  })
  gateway = await LocalGateway.start({
    state: models.state,
    host: '127.0.0.1',
    port: 0,
    repository: root,
    version: '1.2.3',
    access: models.access,
  })
})

afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]()
  await models?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

describe('a pipeline in the repository of models', () => {
  it('is a model of the server, and its answers say what was decided', async () => {
    const metadata = await fetch(`http://127.0.0.1:${gateway.port}/v2/models/choice`)
    expect(await metadata.json()).toMatchObject({
      name: 'choice',
      platform: 'weir_pipeline',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 1] }],
      outputs: [{ name: 'p', datatype: 'FP32', shape: [-1, 2] }],
    })
    const { status, score, parameters } = await ask('choice', { context: 'u17' })
    expect(status).toBe(200)
    expect(parameters).toMatchObject({
      probability: 0.5,
      is_default: false,
      versions: 'ranker@stable=1, ranker@2=2',
    })
    expect(score).toBeCloseTo(parameters['arm'] === 'stable' ? 0.9 : 0.2, 6)
  })

  it('takes one reward for each decision', async () => {
    const { parameters } = await ask('choice', { context: 'u17' })
    const reward = { decision: parameters['decision'], reward: 1 }
    const first = await post('/v2/models/choice/observe', reward)
    expect(first).toEqual({ status: 200, body: { reward: 'counted' } })
    const second = await post('/v2/models/choice/observe', reward)
    expect(second.body).toEqual({ reward: 'duplicate' })
    const wrong = await post('/v2/models/choice/observe', { ...reward, reward: 7 })
    expect(wrong.status).toBe(400)
    expect(wrong.body['error']).toContain('the pipeline takes rewards from 0 to 1, not 7')
    const other = await post('/v2/models/ranker/observe', reward)
    expect(other.status).toBe(501)
    const unknown = await post('/v2/models/nothing/observe', reward)
    expect(unknown.status).toBe(404)
  })

  it('keeps the versions that it names by number, whatever goes live', async () => {
    await pushRanker(0.4)
    await until('version 3 of the ranker is live', () =>
      models.list().some(({ info }) => info.name === 'ranker' && info.liveVersion === 3),
    )
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask('choice')))
    for (const { score, parameters } of answers) {
      expect(parameters['versions']).toBe('ranker@stable=1, ranker@2=2')
      expect(score).toBeCloseTo(parameters['arm'] === 'stable' ? 0.9 : 0.2, 6)
    }
  })

  it('refuses a context for a model that learns from none', async () => {
    const { status, body } = await ask('ranker', { context: 'u17' })
    expect(status).toBe(400)
    expect(body['error']).toContain('model "ranker" is no pipeline')
  })

  it('writes each decision to its topic, with the probabilities at the choice', async () => {
    await pushPipeline(
      'logged',
      'steps:\n  answer: { select: exp3-ix, arms: { stable: ranker@stable, fresh: ranker@2 } }\ndecisions: { topic: made }\n',
    )
    await until('the pipeline is live', isLive('logged'))
    const { parameters } = await ask('logged', { context: 'u17' })
    await until('the decision is in the topic', async () => (await decisionsIn('made')).length > 0)
    expect(await decisionsIn('made')).toMatchObject([
      {
        key: 'u17',
        v: 1,
        id: parameters['decision'],
        pipeline: 'logged',
        version: 1,
        context: 'u17',
        versions: { 'ranker@stable': 1, 'ranker@2': 2 },
        choices: [{ step: 'answer', arms: ['stable', 'fresh'], probabilities: [0.5, 0.5] }],
        arm: parameters['arm'],
      },
    ])
  })

  it('says all its faults, and answers as soon as the model that it lacks is there', async () => {
    await pushPipeline('later', 'steps:\n  answer: { branch: ranker, below: 0.7, then: large }\n')
    const failed = () => events.find((event) => event.event === 'failed' && event.model === 'later')
    await until('the pipeline without its model has failed', () => failed() !== undefined)
    expect(failed()).toMatchObject({ error: { code: 'INVALID_GRAPH' } })
    expect((await ask('later')).status).toBe(503)
    await pushRanker(0.8, 'large')
    await until('the pipeline is live', isLive('later'))
    const { score, parameters } = await ask('later')
    expect(score).toBeCloseTo(0.8, 6)
    expect(parameters['confidence']).toBeCloseTo(0.8, 6)
    expect(parameters['versions']).toBe('ranker=3, large=1')
  })
})
