import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openInferenceEngine } from '../../../src/inference/engine/engine.ts'
import type { ModelSource } from '../../../src/inference/port/model.ts'
import type { LoadedModel } from '../../../src/inference/port/runner.ts'
import { openModel } from '../../../src/inference/runners/open.ts'
import { openChildModel } from '../../../src/inference/workers/child-model.ts'
import { CommandProcess, REPOSITORY } from '../cli/command-process.ts'
import { floats, floatsOf, linearModel } from './models.ts'

/* Every kind of model that doubles one float a row passes the same suite. */

let folder: string
let server: Server
let url: string

/** A server of the Open Inference Protocol that doubles, with binary tensors only. */
async function answer(request: IncomingMessage): Promise<[number, Buffer, number]> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  const body = Buffer.concat(parts)
  const json = (value: object): Buffer => Buffer.from(JSON.stringify(value))
  if (request.url?.startsWith('/v2/models/double') !== true) {
    const error = json({ error: 'no such model' })
    return [404, error, error.length]
  }
  if (request.method === 'GET') {
    const tensor = (name: string) => ({ name, datatype: 'FP32', shape: [-1, 1] })
    const metadata = json({ name: 'double', inputs: [tensor('x')], outputs: [tensor('y')] })
    return [200, metadata, metadata.length]
  }
  const headLength = Number(request.headers['inference-header-content-length'])
  const { inputs } = JSON.parse(body.toString('utf8', 0, headLength))
  const values = new Float32Array(new Uint8Array(body.subarray(headLength)).buffer)
  if (values.includes(-3)) {
    const error = json({ error: 'the value -3 is not allowed' })
    return [400, error, error.length]
  }
  const data = Buffer.from(values.map((value) => value * 2).buffer)
  const parameters = { binary_data_size: data.length }
  const head = json({ outputs: [{ ...inputs[0], name: 'y', parameters }] })
  return [200, Buffer.concat([head, data]), head.length]
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-runners-'))
  server = createServer(async (request, response) => {
    const [status, body, headLength] = await answer(request)
    response.writeHead(status, { 'inference-header-content-length': headLength }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true, force: true })
})

const functionSource = (): ModelSource => ({
  kind: 'function',
  module: join(import.meta.dirname, 'function-models.ts'),
  export: 'doubling',
})

const ignored = { onStarted: () => {}, onExceeded: () => {} }
const childOf = (source: ModelSource, memoryLimitBytes?: number): Promise<LoadedModel> =>
  openChildModel(
    { source, threads: 1, isolation: 'process', mostItems: 8, memoryLimitBytes },
    ignored,
  )

const KINDS: Readonly<Record<string, () => Promise<LoadedModel>>> = {
  onnx: () => openModel(linearModel(folder, { inputs: 1, outputs: 1, factor: 2 }), { threads: 1 }),
  function: () => openModel(functionSource(), { threads: 1 }),
  remote: () => openModel({ kind: 'remote', url, model: 'double' }, { threads: 1 }),
  'child process with a limit of memory': () => childOf(functionSource(), 2 ** 30),
  'child process with onnx': () =>
    childOf(linearModel(folder, { inputs: 1, outputs: 1, factor: 2 })),
  'child process with a function': () => childOf(functionSource()),
}

describe.each(Object.keys(KINDS))('a model of kind %s', (kind) => {
  let model: LoadedModel

  beforeAll(async () => {
    model = await KINDS[kind]!()
  })

  afterAll(() => model.close())

  const shape = (rows: number): number[] =>
    model.signature.inputs[0]!.shape.length === 1 ? [rows] : [rows, 1]

  it('knows its inputs and outputs', () => {
    expect(model.signature.inputs).toMatchObject([{ name: 'x', datatype: 'FP32' }])
    expect(model.signature.outputs).toMatchObject([{ name: 'y', datatype: 'FP32' }])
    expect(model.signature.inputs[0]!.shape[0]).toBe(-1)
    expect(model.signature.maxItems).toBeUndefined()
  })

  it('answers batches of any size, one after the other', async () => {
    for (const rows of [1, 7, 300]) {
      const values = Array.from({ length: rows }, (_, i) => i)
      const [output] = await model.run([floats('x', shape(rows), values)], rows)
      expect(output).toMatchObject({ name: 'y', datatype: 'FP32', shape: shape(rows) })
      expect(floatsOf(output!)).toEqual(values.map((value) => value * 2))
    }
  })

  it('reads inputs in shared memory', async () => {
    const shared = new Uint8Array(new SharedArrayBuffer(8))
    shared.set(new Uint8Array(Float32Array.of(5, 6).buffer))
    const [output] = await model.run([{ ...floats('x', shape(2), []), data: shared }], 2)
    expect(floatsOf(output!)).toEqual([10, 12])
  })

  it('answers again after it has failed', async () => {
    if (kind !== 'onnx' && kind !== 'child process with onnx') {
      await expect(model.run([floats('x', shape(1), [-3])], 1)).rejects.toMatchObject({
        code: 'MODEL_FAILED',
      })
    } else {
      await expect(model.run([floats('x', [1, 3], [1, 2, 3])], 1)).rejects.toMatchObject({
        code: 'MODEL_FAILED',
      })
    }
    const [output] = await model.run([floats('x', shape(1), [4])], 1)
    expect(floatsOf(output!)).toEqual([8])
  })
})

describe('requests for a model that cannot be looked into', () => {
  const aloneOf = async (source: ModelSource, batches?: boolean): Promise<string | undefined> => {
    const model = await openModel(source, { threads: 1, batches })
    await model.close()
    return model.signature.alone
  }
  const remote: ModelSource = { kind: 'remote', url: '', model: 'double' }

  it('run alone on another server, whose protocol does not say whether rows are independent', async () => {
    expect(await aloneOf({ ...remote, url })).toMatch('nothing says that its rows are independent')
    expect(await aloneOf({ ...remote, url, maxItems: 1 })).toBe('it takes one item at a time')
  })

  it('share runs where its file or the settings say that they are', async () => {
    expect(await aloneOf({ ...remote, url, maxItems: 8 })).toBeUndefined()
    expect(await aloneOf({ ...remote, url }, true)).toBeUndefined()
    expect(await aloneOf({ ...remote, url, maxItems: 8 }, false)).toMatch('batches: false')
    expect(await aloneOf(functionSource())).toBeUndefined()
    expect(await aloneOf(functionSource(), false)).toMatch('batches: false')
  })
})

describe('a model that cannot be loaded', () => {
  it('for want of ONNX Runtime names the command that installs it behind a firewall, and the start after it', async () => {
    const at = (path: string): string => pathToFileURL(join(REPOSITORY, path)).href
    const load = `import('${at('src/inference/runners/onnx.ts')}')
      .then(({ loadOnnxRuntime }) => loadOnnxRuntime())
      .catch(({ code, message }) => console.log(code, message))`
    const preload = at('test/fixtures/without-package.ts')
    const words = ['--import', preload, '-e', load]
    const env = { WITHOUT_PACKAGE: 'onnxruntime-node' }
    await using program = new CommandProcess(process.execPath, words, { env })
    expect((await program.ended).stdout).toBe(
      'MODEL_FAILED ONNX models need the package onnxruntime-node: run `ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node` and start again\n',
    )
  })

  it('says which one, and why', async () => {
    const load = (source: ModelSource) => openModel(source, { threads: 1 })
    const onnx: ModelSource = { kind: 'onnx', file: join(folder, 'none.onnx') }
    await expect(load(onnx)).rejects.toMatchObject({ code: 'MODEL_FAILED' })
    await expect(childOf(onnx)).rejects.toMatchObject({ code: 'MODEL_FAILED' })
    const noModule: ModelSource = { kind: 'function', module: join(folder, 'none.ts') }
    await expect(load(noModule)).rejects.toMatchObject({ code: 'MODEL_FAILED' })
    const noExport = { ...functionSource(), export: 'ENDS_WORKER' } as ModelSource
    await expect(load(noExport)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    const unknown: ModelSource = { kind: 'remote', url, model: 'triple' }
    await expect(load(unknown)).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringMatching(/^the model server http:.* answered with HTTP 4\d\d$/),
    })
    const nowhere: ModelSource = { kind: 'remote', url: 'http://127.0.0.1:1', model: 'double' }
    await expect(load(nowhere)).rejects.toMatchObject({ code: 'MODEL_NOT_LOADED' })
  })
})

describe('an ONNX file', () => {
  /** Bytes of Protocol Buffers: a number below 128, and bytes. */
  const number = (field: number, value: number): Buffer => Buffer.from([field << 3, value])
  const bytes = (field: number, ...parts: (Buffer | string)[]): Buffer => {
    const content = Buffer.concat(parts.map((part) => Buffer.from(part as string)))
    const { length } = content
    const size = length < 128 ? [length] : [(length & 127) | 128, length >> 7]
    return Buffer.concat([Buffer.from([(field << 3) | 2, ...size]), content])
  }

  /** A model whose only output is 8 bytes of another file. */
  function modelOf(location: string): Buffer {
    const entry = (key: string, value: string) => bytes(13, bytes(1, key), bytes(2, value))
    const place = [entry('location', location), entry('offset', '0'), entry('length', '8')]
    const weights = bytes(5, number(1, 8), number(2, 2), bytes(8, 'w'), ...place, number(14, 1))
    const node = bytes(1, bytes(1, 'w'), bytes(2, 'y'), bytes(3, 'n'), bytes(4, 'Identity'))
    const shape = bytes(2, bytes(1, number(1, 8)))
    const output = bytes(12, bytes(1, 'y'), bytes(2, bytes(1, number(1, 2), shape)))
    const graph = bytes(7, node, bytes(2, 'g'), weights, output)
    return Buffer.concat([number(1, 8), graph, bytes(8, bytes(1, ''), number(2, 15))])
  }

  it('that a client registers reads no file outside of the folder of its version', async () => {
    const root = await mkdtemp(join(tmpdir(), 'weir-onnx-'))
    const version = join(root, 'evil', '1')
    await mkdir(version, { recursive: true })
    for (const path of [join(root, 'secret'), join(version, 'near')])
      await writeFile(path, 'hunter2!')
    const file = join(version, 'model.onnx')
    const load = async (location: string) => {
      await writeFile(file, modelOf(location))
      return await openModel({ kind: 'onnx', file }, { threads: 1 })
    }
    const near = await load('near')
    expect(Buffer.from((await near.run([], 1))[0]!.data).toString()).toBe('hunter2!')
    await near.close()
    for (const location of ['../../secret', join(root, 'secret'), '/etc/hostname']) {
      await expect(load(location), location).rejects.toMatchObject({ code: 'MODEL_FAILED' })
    }
    await rm(root, { recursive: true })
  })
})

describe('a model on another server that fails', () => {
  it('is asked once for a batch, and not again for each half of it', async () => {
    let hasFailed = false
    let runs = 0
    const failing = createServer(async (request, response) => {
      const [status, body, headLength] = await answer(request)
      if (request.method === 'POST' && hasFailed) runs += 1
      const isOut = request.method === 'POST' && hasFailed
      response
        .writeHead(isOut ? 500 : status, { 'inference-header-content-length': headLength })
        .end(body)
    })
    await new Promise<void>((resolve) => failing.listen(0, '127.0.0.1', resolve))
    const { port } = failing.address() as AddressInfo
    await using engine = openInferenceEngine()
    const id = { name: 'double', version: 1 }
    const url = `http://127.0.0.1:${port}`
    const source: ModelSource = { kind: 'remote', url, model: 'double', maxItems: 64 }
    await engine.load(id, source, { sloMs: 60_000 })
    hasFailed = true
    const infer = (value: number) =>
      engine.infer({ model: id, inputs: [floats('x', [1, 1], [value])] }).then(
        () => 'answered',
        (error: { code: string }) => error.code,
      )
    const codes = await Promise.all(Array.from({ length: 40 }, (_, i) => infer(i)))
    expect(new Set(codes)).toEqual(new Set(['REMOTE_MODEL_FAILED']))
    expect(runs).toBeGreaterThan(0)
    // Halves of one batch of 40 would be 79.
    expect(runs).toBeLessThanOrEqual(40)
    failing.close()
  })
})
