import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { credentials, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { LocalGateway } from '../../../../src/gateway/local.ts'
import { AllowedHosts } from '../../../../src/http/access/allowed-hosts.ts'
import { openInferenceEngine } from '../../../../src/inference/engine/engine.ts'
import { pushModel } from '../../../../src/inference/repository/push.ts'
import { ModelsProcess } from '../../../../src/jobs/models/process.ts'
import { needs } from '../../../run/needs.ts'
import { until } from '../../../run/until.ts'
import { hasOpenssl, writeCertificates } from '../../../services/certificates.ts'
import { pythonWith } from '../../../services/python-packages.ts'
import { linearModel } from '../models.ts'
import { wordsModule } from '../parts/words-model.ts'
import {
  call,
  clientOf,
  floatsOf,
  partOf,
  type Reply,
  raw,
  type StreamedReply,
  words,
} from './grpc-calls.ts'

const run = promisify(execFile)
const python = await pythonWith('tritonclient[grpc,http]==2.73.0')

const TOKEN = 'secret-of-the-test'

let folder: string
let log: string
let models: ModelsProcess
/** Without tokens, and with model control. */
let open: LocalGateway
/** With tokens, and without model control. */
let closed: LocalGateway
let guarded: ModelsProcess

/** A module that answers its input after as many ms as its first value says. */
const SLOW = `
const spec = { datatype: 'FP32', shape: [-1, 1] }
export default {
  signature: { inputs: [{ name: 'x', ...spec }], outputs: [{ name: 'y', ...spec }] },
  async run([x]) {
    const ms = new DataView(x.data.buffer, x.data.byteOffset).getFloat32(0, true)
    await new Promise((done) => setTimeout(done, ms))
    return [{ ...x, name: 'y', data: x.data.slice() }]
  },
}
`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-grpc-'))
  const root = join(folder, 'models')
  const linear = linearModel(folder, { inputs: 2, outputs: 3, factor: 2 })
  const file = linear.kind === 'onnx' ? linear.file : ''
  await pushModel(nodeFileSystem, { root, name: 'linear', file })
  // A loaded machine may take longer than the default goal.
  await writeFile(join(root, 'linear', 'deployment.yaml'), 'slo-ms: 60000\n')
  await writeFile(join(folder, 'slow.mjs'), SLOW)
  await pushModel(nodeFileSystem, { root, name: 'slow', file: join(folder, 'slow.mjs') })
  await writeFile(join(root, 'slow', 'deployment.yaml'), 'slo-ms: 60000\n')
  log = join(folder, 'ended.txt')
  await writeFile(log, '')
  await writeFile(join(folder, 'words.mjs'), wordsModule(log))
  await pushModel(nodeFileSystem, { root, name: 'words', file: join(folder, 'words.mjs') })
  await writeFile(join(root, 'words', 'deployment.yaml'), 'slo-ms: 60000\n')
  const process = { repository: root, port: 0, scanMs: 50 }
  models = await ModelsProcess.start({ ...process, engine: openInferenceEngine() })
  guarded = await ModelsProcess.start({ ...process, engine: openInferenceEngine(), token: TOKEN })
  const served = { host: '127.0.0.1', port: 0, repository: root, version: '1.2.3' }
  const grpc = { host: '127.0.0.1', port: 0 }
  const modelControl = { isAllowed: true, takesModules: false, hosts: new AllowedHosts() }
  open = await LocalGateway.start({
    ...served,
    grpc,
    state: models.state,
    access: models.access,
    modelControl,
  })
  closed = await LocalGateway.start({
    ...served,
    grpc,
    state: guarded.state,
    access: guarded.access,
  })
})

afterAll(async () => {
  await closed?.[Symbol.asyncDispose]()
  await open?.[Symbol.asyncDispose]()
  await models?.[Symbol.asyncDispose]()
  await guarded?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

const endedOf = (word: string): number =>
  readFileSync(log, 'utf8').split(`${word} ended\n`).length - 1

type CancellableStream = NodeJS.ReadWriteStream & { cancel(): void }

describe('a client of gRPC', () => {
  it('sees the server, its models and their tensors', async () => {
    expect(await call(open, 'ServerLive', {})).toEqual({ live: true })
    expect(await call(open, 'ServerReady', {})).toEqual({ ready: true })
    expect(await call(open, 'ServerMetadata', {})).toMatchObject({ name: 'weir', version: '1.2.3' })
    expect(await call(open, 'ModelReady', { name: 'linear' })).toEqual({ ready: true })
    expect(await call(open, 'ModelMetadata', { name: 'linear', version: '1' })).toEqual({
      name: 'linear',
      versions: ['1'],
      platform: 'onnx_onnxv1',
      inputs: [{ name: 'x', datatype: 'FP32', shape: ['-1', '2'] }],
      outputs: [{ name: 'y', datatype: 'FP32', shape: ['-1', '3'] }],
    })
  })

  it('gets the same answer for raw bytes and for typed contents', async () => {
    const head = { model_name: 'linear', model_version: '1', id: 'a1' }
    const outputs = [{ name: 'y', datatype: 'FP32', shape: ['2', '3'] }]
    const typed = {
      ...raw('linear', [2, 2]),
      inputs: [
        {
          name: 'x',
          datatype: 'FP32',
          shape: [2, 2],
          contents: { fp32_contents: [1, 2, 3, 4] },
        },
      ],
      raw_input_contents: [],
    }
    for (const message of [raw('linear', [2, 2], 1, 2, 3, 4), typed]) {
      const reply = await call(open, 'ModelInfer', message)
      expect(reply).toMatchObject({ ...head, outputs })
      // Each output of a row is twice the sum of its inputs.
      expect(floatsOf(reply.raw_output_contents[0]!)).toEqual([6, 6, 6, 14, 14, 14])
    }
  })

  it('gets typed errors', async () => {
    await expect(call(open, 'ModelInfer', raw('no', [1, 2], 1, 2))).rejects.toMatchObject({
      code: status.NOT_FOUND,
      details: expect.stringContaining('no model is named "no"'),
    })
    await expect(call(open, 'ModelInfer', raw('linear', [1, 2], 1))).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
    })
    const odd = { ...raw('linear', [1, 2], 1, 2), parameters: { sequence: { int64_param: 7 } } }
    await expect(call(open, 'ModelInfer', odd)).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringContaining('the parameter "sequence", which this server does not know'),
    })
    const late = call(open, 'ModelInfer', raw('slow', [1, 1], 5000), { deadlineMs: 100 })
    await expect(late).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED })
  })

  it('needs the token of the HTTP port, and may not change models where that may not', async () => {
    expect(await call(closed, 'ServerLive', {})).toEqual({ live: true })
    const infer = raw('linear', [1, 2], 1, 2)
    await expect(call(closed, 'ModelInfer', infer)).rejects.toMatchObject({
      code: status.UNAUTHENTICATED,
    })
    const token = TOKEN
    expect(await call(closed, 'ModelInfer', infer, { token })).toMatchObject({ id: 'a1' })
    await expect(
      call(closed, 'RepositoryModelUnload', { model_name: 'linear' }, { token }),
    ).rejects.toMatchObject({ code: status.PERMISSION_DENIED })
  })

  it('takes its request along when it goes away', async () => {
    const statistics = () => models.list().find(({ info }) => info.name === 'slow')!.info.statistics
    const before = statistics()['cancelled'] ?? 0
    const client = clientOf(open)
    const calls = Array.from({ length: 5 }, () =>
      client['ModelInfer']!(raw('slow', [1, 1], 300), () => {}),
    )
    await until('the calls are there', () => (statistics()['waiting'] ?? 0) >= 4)
    for (const one of calls) one.cancel()
    await until('all are given up', () => (statistics()['cancelled'] ?? 0) - before === 5)
    client.close()
  })

  it('has a stream that answers in the order of its requests, and goes on after an error', async () => {
    const client = clientOf(open)
    const stream = client['ModelStreamInfer']!() as unknown as NodeJS.ReadWriteStream
    const replies: { error_message: string; infer_response: Reply }[] = []
    stream.on('data', (reply) => replies.push(reply))
    for (const [i, ms] of [40, 1, 0.5].entries()) {
      stream.write({ ...raw('slow', [1, 1], ms), id: `r${i}` } as never)
    }
    stream.write({ ...raw('no', [1, 1], 1), id: 'wrong' } as never)
    stream.write({ ...raw('slow', [1, 1], 2), id: 'last' } as never)
    stream.end()
    await new Promise((done) => stream.on('end', done))
    expect(replies.map(({ infer_response }) => infer_response['id'])).toEqual([
      'r0',
      'r1',
      'r2',
      'wrong',
      'last',
    ])
    expect(replies.map(({ error_message }) => error_message !== '')).toEqual([
      false,
      false,
      false,
      true,
      false,
    ])
    expect(floatsOf(replies[4]!.infer_response.raw_output_contents[0]!)).toEqual([2])
    client.close()
  })

  it('gets each part of an answer before the model makes the next one, beside other answers', async () => {
    const client = clientOf(open)
    const stream = client['ModelStreamInfer']!() as unknown as CancellableStream
    const replies: StreamedReply[] = []
    stream.on('data', (reply) => replies.push(reply))
    stream.write({ ...words('waits', 5), id: 'long' } as never)
    await until('its first part', () => replies.length === 1)
    expect(partOf(replies[0]!)).toEqual(['long', 'waits', 0, false])
    // An answer in parts holds up no other.
    stream.write({ ...raw('slow', [1, 1], 2), id: 'whole' } as never)
    stream.write({ ...words('ping', 3), id: 'short' } as never)
    stream.write({ ...words('breaks', 5), id: 'broken' } as never)
    await until('the other answers', () => replies.length === 8)
    const of = (id: string) =>
      replies.filter(({ infer_response }) => infer_response['id'] === id).map(partOf)
    expect(of('short')).toEqual([0, 1, 2].map((index) => ['short', 'ping', index, false]))
    expect(of('whole')).toEqual([['whole', undefined, undefined, true]])
    expect(of('broken').slice(0, 2)).toEqual([
      ['broken', 'breaks', 0, false],
      ['broken', 'breaks', 1, false],
    ])
    expect(replies.find(({ error_message }) => error_message !== '')).toMatchObject({
      error_message: expect.stringContaining('it broke here'),
      infer_response: { id: 'broken' },
    })
    expect(endedOf('waits')).toBe(0)
    // The client goes away in the middle, which its own stream calls an error. A client that is only closed keeps its stream.
    stream.on('error', () => {})
    stream.cancel()
    client.close()
    await until('the model ends', () => endedOf('waits') === 1)
  })

  it('gets an empty answer as the last one where it asks for it, and none where there is no part', async () => {
    const client = clientOf(open)
    const stream = client['ModelStreamInfer']!() as unknown as NodeJS.ReadWriteStream
    const replies: StreamedReply[] = []
    stream.on('data', (reply) => replies.push(reply))
    const parameters = { triton_enable_empty_final_response: { bool_param: true } }
    stream.write({ ...words('ping', 1), id: 'end', parameters } as never)
    stream.write({ ...words('ping', 0), id: 'none' } as never)
    stream.write({ ...words('ping', 0), id: 'empty', parameters } as never)
    stream.end()
    await new Promise((done) => stream.on('end', done))
    const found = replies.map(partOf).sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1))
    expect(found).toEqual([
      ['empty', undefined, undefined, true],
      ['end', 'ping', 0, false],
      ['end', undefined, undefined, true],
    ])
    client.close()
  })

  it('that takes no parts gets the only one, and an error where there are several', async () => {
    const reply = await call(open, 'ModelInfer', words('ping', 1))
    expect(reply.raw_output_contents[0]!.subarray(4).toString()).toBe('ping')
    await expect(call(open, 'ModelInfer', words('ping', 2))).rejects.toMatchObject({
      details: expect.stringContaining('more than one part'),
    })
  })

  it('is counted in the metrics of the HTTP port', async () => {
    const text = await (await fetch(`http://127.0.0.1:${open.port}/metrics`)).text()
    expect(text).toMatch(/route="\/inference.GRPCInferenceService\/ModelInfer"/)
  })
})

describe(
  'gRPC with TLS',
  needs(await hasOpenssl(), 'openssl cannot make certificates here'),
  () => {
    it('has the certificate of the HTTP port, and gives no answer without it', async () => {
      await writeCertificates(folder)
      const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
      await using secure = await LocalGateway.start({
        state: models.state,
        host: '127.0.0.1',
        port: 0,
        repository: join(folder, 'models'),
        access: models.access,
        version: '1.2.3',
        tls: { cert: read('server.crt'), key: read('server.key') },
        grpc: { host: '127.0.0.1', port: 0 },
      })
      const trusted = credentials.createSsl(readFileSync(join(folder, 'ca.crt')))
      expect(await call(secure, 'ServerLive', {}, { security: trusted })).toEqual({ live: true })
      const plain = call(secure, 'ServerLive', {}, { deadlineMs: 5000 })
      await expect(plain).rejects.toMatchObject({
        code: expect.toSatisfy((code) =>
          [status.UNAVAILABLE, status.DEADLINE_EXCEEDED].includes(code as number),
        ),
      })
    })
  },
)

describe(
  'tritonclient[grpc] from PyPI, unchanged',
  needs(python, 'tritonclient[grpc] cannot be installed here'),
  () => {
    it('reads metadata, infers, streams, unloads and loads', async () => {
      const script = resolve('test/system/inference/states/grpc_client.py')
      const { stdout } = await run(python!, [script, `127.0.0.1:${open.grpcPort}`])
      expect(JSON.parse(stdout)).toEqual({
        live: true,
        ready: true,
        model_ready: true,
        server: 'weir',
        inputs: [['x', 'FP32', [-1, 2]]],
        index: [
          ['linear', '1', 'READY'],
          ['slow', '1', 'READY'],
          ['words', '1', 'READY'],
        ],
        infer: [
          [6, 6, 6],
          [14, 14, 14],
        ],
        id: 'r7',
        error: 'no model is named "nope"; the models are linear, slow, words',
        stream: [[[6, 6, 6]], [[14, 14, 14]]],
        parts: [
          ['ping', 0, false],
          ['ping', 1, false],
          ['ping', 2, false],
          [null, null, true],
        ],
        unloaded: false,
        loaded: [[6, 6, 6]],
      })
    })
  },
)
