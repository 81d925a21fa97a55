import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { credentials, loadPackageDefinition } from '@grpc/grpc-js'
import { fromJSON } from '@grpc/proto-loader'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { SCHEMA } from '../../../../src/gateway/grpc/schema.ts'
import { LocalGateway } from '../../../../src/gateway/local.ts'
import { openInferenceEngine } from '../../../../src/inference/engine/engine.ts'
import { pushModel } from '../../../../src/inference/repository/push.ts'
import { ModelsProcess } from '../../../../src/jobs/models/process.ts'
import { expectedOf, piecesOf, VAD } from './speech.ts'

/** A module that carries how many numbers it has got, and answers it with their sum. */
const COUNTER = `
export default {
  signature: {
    batches: true,
    inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 1] }, { name: 'n', datatype: 'FP32', shape: [-1, 2] }],
    outputs: [{ name: 'y', datatype: 'FP32', shape: [-1, 2] }, { name: 'm', datatype: 'FP32', shape: [-1, 2] }],
  },
  run([x, n]) {
    const numbers = new Float32Array(x.data.slice().buffer)
    const before = new Float32Array(n.data.slice().buffer)
    const after = Float32Array.from(before, (value, i) => value + (i % 2 === 0 ? 1 : numbers[i >> 1]))
    const tensor = { datatype: 'FP32', shape: n.shape, data: new Uint8Array(after.buffer) }
    return [{ name: 'y', ...tensor }, { name: 'm', ...tensor }]
  },
}
`

let folder: string
let models: ModelsProcess
let gateway: LocalGateway
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-sequences-'))
  const root = join(folder, 'models')
  await pushModel(nodeFileSystem, { root, name: 'vad', file: VAD })
  const vad =
    'slo-ms: 60000\nsequence: { state: { state: { output: stateN, shape: [2, 1, 128] } } }\n'
  await writeFile(join(root, 'vad', 'deployment.yaml'), vad)
  await writeFile(join(folder, 'counter.mjs'), COUNTER)
  await pushModel(nodeFileSystem, { root, name: 'counter', file: join(folder, 'counter.mjs') })
  const counter = 'slo-ms: 60000\ncache: 1 MiB\nsequence: { state: { n: m }, most: 50 }\n'
  await writeFile(join(root, 'counter', 'deployment.yaml'), counter)
  await pushModel(nodeFileSystem, { root, name: 'plain', file: join(folder, 'counter.mjs') })
  const process = { repository: root, port: 0, scanMs: 50 }
  models = await ModelsProcess.start({ ...process, engine: openInferenceEngine() })
  gateway = await LocalGateway.start({
    ...{ host: '127.0.0.1', port: 0, repository: root, version: '1.2.3' },
    grpc: { host: '127.0.0.1', port: 0 },
    state: models.state,
    access: models.access,
  })
})
afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]()
  await models?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

interface JsonAnswer {
  readonly status: number
  readonly body: {
    readonly error?: string
    readonly code?: string
    readonly details?: object
    readonly parameters?: { readonly sequence_step: string }
    readonly outputs?: readonly { readonly name: string; readonly data: readonly number[] }[]
  }
}

async function ask(
  model: string,
  inputs: readonly object[],
  parameters: object,
): Promise<JsonAnswer> {
  const response = await fetch(`http://127.0.0.1:${gateway.port}/v2/models/${model}/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs, parameters }),
  })
  return { status: response.status, body: (await response.json()) as JsonAnswer['body'] }
}

const count = (x: number, parameters: object, model = 'counter') =>
  ask(model, [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [x] }], parameters)

describe('a model that carries a state for each client', () => {
  it('hears speakers at once as ONNX Runtime hears each alone', async () => {
    const speakers = [1, 2, 3, 4]
    const answers = await Promise.all(
      speakers.map(async (seed) => {
        const pieces = piecesOf(seed)
        const heard: number[] = []
        for (const [i, piece] of pieces.entries()) {
          const inputs = [
            { name: 'input', datatype: 'FP32', shape: [1, 576], data: [...piece] },
            { name: 'sr', datatype: 'INT64', shape: [], data: [16000] },
          ]
          const isEnd = i === pieces.length - 1
          const parameters = { sequence_id: seed, sequence_start: i === 0, sequence_end: isEnd }
          const { status, body } = await ask('vad', inputs, parameters)
          expect(body.error).toBeUndefined()
          expect(status).toBe(200)
          expect(body.outputs!.map(({ name }) => name)).toEqual(['output'])
          heard.push(body.outputs![0]!.data[0]!)
        }
        return heard
      }),
    )
    for (const [i, seed] of speakers.entries()) {
      const expected = await expectedOf(piecesOf(seed))
      expected.forEach((value, at) => {
        expect(Math.abs(answers[i]![at]! - value)).toBeLessThan(1e-4)
      })
      // Without the state the answers would be others.
      const alone = await expectedOf(piecesOf(seed).slice(-1))
      expect(Math.abs(expected.at(-1)! - alone[0]!)).toBeGreaterThan(1e-3)
    }
  })

  it('shows its clients the tensors that they send and get', async () => {
    const response = await fetch(`http://127.0.0.1:${gateway.port}/v2/models/counter`)
    const { inputs, outputs } = (await response.json()) as Record<string, { name: string }[]>
    expect([inputs, outputs].map((side) => side!.map(({ name }) => name))).toEqual([['x'], ['y']])
  })

  it('says what a request without its sequence lacks, and refuses a sequence where none is', async () => {
    const sentences: [Promise<JsonAnswer>, number, string][] = [
      [
        count(1, {}),
        400,
        'give the parameter sequence_id, and sequence_start with its first request',
      ],
      [count(1, { sequence_id: 99 }), 409, 'sequence "99" is not known'],
      [count(1, { sequence_start: true }), 400, 'need the sequence_id'],
      [
        ask(
          'plain',
          [
            { name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] },
            { name: 'n', datatype: 'FP32', shape: [1, 2], data: [0, 0] },
          ],
          { sequence_id: 1, sequence_start: true },
        ),
        400,
        'has no sequences, so sequence_id would change nothing',
      ],
    ]
    for (const [answer, status, sentence] of sentences) {
      const { status: got, body } = await answer
      expect(body.error).toContain(sentence)
      expect(got).toBe(status)
    }
  })

  it('carries the right state for each of many clients, with a cache and shared runs', async () => {
    const clients = Array.from({ length: 20 }, (_, at) => at + 100)
    const last = await Promise.all(
      clients.map(async (id) => {
        let answer: JsonAnswer | undefined
        for (let i = 0; i < 10; i++) {
          answer = await count(id + i, { sequence_id: `client-${id}`, sequence_start: i === 0 })
        }
        return answer!.body.outputs![0]!.data
      }),
    )
    expect(last).toEqual(clients.map((id) => [10, 10 * id + 45]))
  })

  it('runs a request after the answer that it names only', async () => {
    const id = 'named'
    const { body } = await count(1, { sequence_id: id, sequence_start: true })
    const { sequence_step } = body.parameters!
    expect(sequence_step).toMatch(/^1-[0-9a-f]{12}$/)
    const next = { sequence_id: id, sequence_after: sequence_step }
    const second = await count(2, next)
    expect(second.body.outputs![0]!.data).toEqual([2, 3])
    const again = await count(2, next)
    expect([again.status, again.body.code]).toEqual([409, 'SEQUENCE_OUT_OF_STEP'])
    expect(again.body.details).toEqual({
      step: 2,
      sequenceStep: second.body.parameters!.sequence_step,
      why: 'answered',
    })
  })

  it('takes the same parameters over gRPC, with ids of 64 bits, in one stream', async () => {
    const definition = loadPackageDefinition(
      fromJSON(SCHEMA, { longs: String, defaults: true, oneofs: true }),
    ) as unknown as {
      readonly inference: { readonly GRPCInferenceService: new (...words: unknown[]) => never }
    }
    const client = new definition.inference.GRPCInferenceService(
      `localhost:${gateway.grpcPort}`,
      credentials.createInsecure(),
    ) as {
      close(): void
      ModelStreamInfer(): NodeJS.EventEmitter & { write(message: object): void; end(): void }
    }
    try {
      const stream = client.ModelStreamInfer()
      const answers: number[][] = []
      const steps: string[] = []
      const ended = new Promise<void>((done, fail) => {
        stream.on('error', fail)
        stream.on('end', done)
      })
      stream.on('data', ({ error_message, infer_response }) => {
        expect(error_message).toBe('')
        const [bytes] = infer_response.raw_output_contents
        const { sequence_step, triton_final_response } = infer_response.parameters
        steps.push(sequence_step.string_param.split('-')[0])
        expect(triton_final_response.bool_param).toBe(true)
        answers.push([...new Float32Array(Uint8Array.from(bytes as Buffer).buffer)])
      })
      // The two ids are one number where only 53 bits count.
      const ids = ['9007199254740993', '9007199254740992']
      for (let i = 0; i < 6; i++) {
        stream.write({
          model_name: 'counter',
          parameters: {
            sequence_id: { uint64_param: ids[i % 2] },
            sequence_start: { bool_param: i < 2 },
          },
          inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1] }],
          raw_input_contents: [Buffer.from(Float32Array.of(10 ** (i % 2)).buffer)],
        })
      }
      stream.end()
      await ended
      expect(answers).toEqual([
        [1, 1],
        [1, 10],
        [2, 2],
        [2, 20],
        [3, 3],
        [3, 30],
      ])
      expect(steps).toEqual(['1', '1', '2', '2', '3', '3'])
    } finally {
      client.close()
    }
  })
})
