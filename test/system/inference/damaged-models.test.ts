import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { digestOf } from '../../../src/files/file-digest.ts'
import { nodeFileSystem } from '../../../src/files/node-file-system.ts'
import { openInferenceEngine } from '../../../src/inference/engine/engine.ts'
import type { InferenceEngine } from '../../../src/inference/port/engine.ts'
import type { ModelSource } from '../../../src/inference/port/model.ts'
import { ServedModels } from '../../../src/jobs/models/served-models.ts'
import { untilPasses } from '../../run/until.ts'
import { floats, floatsOf, linearModel } from './models.ts'

const MIB = 2 ** 20

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-damage-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** A module that multiplies by `factor`, and ends its thread for -1. */
const times = (factor: number): string => `
const tensor = { datatype: 'FP32', shape: [-1] }
export default {
  signature: { inputs: [{ name: 'x', ...tensor }], outputs: [{ name: 'y', ...tensor }] },
  run([x]) {
    const values = new Float32Array(x.data.slice().buffer)
    if (values.includes(-1)) process.exit(7)
    const data = new Uint8Array(values.map((value) => value * ${factor}).buffer)
    return [{ name: 'y', datatype: 'FP32', shape: x.shape, data }]
  },
}
`

async function pinned(source: ModelSource, path: string): Promise<ModelSource> {
  return { ...source, files: [await digestOf(nodeFileSystem, path)] } as ModelSource
}

const ask = (engine: InferenceEngine, name: string, shape: readonly number[], value = 2) =>
  engine.infer({ model: { name, version: 1 }, inputs: [floats('x', shape, [value])] }).then(
    ({ outputs }) => floatsOf(outputs[0]!)[0],
    ({ code, message }) => ({ code, message }),
  )

describe('a model whose file changes on disk', () => {
  it.each(['thread', 'process'] as const)(
    'is found at its next load, fails with a reason, and comes back with the file (%s)',
    async (isolation) => {
      await using engine = openInferenceEngine({ memoryBytes: 15 * MIB })
      const deployment = { sloMs: 60_000, memoryBytes: 10 * MIB, isolation }
      const paths: string[] = []
      for (const factor of [2, 3]) {
        const source = linearModel(folder, { inputs: 1, outputs: 1, factor })
        const path = (source as { file: string }).file
        paths.push(path)
        await engine.load(
          { name: `times-${factor}`, version: 1 },
          await pinned(source, path),
          deployment,
        )
      }
      // The room is for one: the second one is there, and the first one on disk only.
      expect(await ask(engine, 'times-3', [1, 1])).toBe(6)
      const [file, other] = paths as [string, string]
      await copyFile(file, `${file}.before`)
      await copyFile(other, file)
      expect(await ask(engine, 'times-2', [1, 1])).toEqual({
        code: 'CHECKSUM_MISMATCH',
        message: `${file} has another checksum: it changed after the first load; put the file back, or push the model as a new version`,
      })
      expect(engine.statistics()[0]).toMatchObject({ problem: expect.stringContaining(file) })
      // It has given its place in memory back.
      expect(await ask(engine, 'times-3', [1, 1])).toBe(6)
      await copyFile(`${file}.before`, file)
      await untilPasses(async () => expect(await ask(engine, 'times-2', [1, 1])).toBe(4))
      expect(engine.statistics()[0]).not.toHaveProperty('problem')
      expect(await ask(engine, 'times-3', [1, 1])).toBe(6)
    },
  )

  it('fails typed while the file is gone at a restart of its worker, and recovers', async () => {
    await using engine = openInferenceEngine()
    const module = join(folder, 'model.mjs')
    await writeFile(module, times(2))
    const source = await pinned({ kind: 'function', module }, module)
    await engine.load({ name: 'times', version: 1 }, source, { sloMs: 60_000 })
    await rm(module)
    const lost = ask(engine, 'times', [1], -1)
    const waiting = [1, 2, 3].map((value) => ask(engine, 'times', [1], value))
    for (const failure of await Promise.all([lost, ...waiting])) {
      // One that shared no batch with the poisoned request may have been answered before.
      if (typeof failure === 'number') continue
      expect(failure).toEqual({
        code: 'FILE_NOT_FOUND',
        message: `${module} is missing: it changed after the first load; put the file back, or push the model as a new version`,
      })
    }
    expect(await ask(engine, 'times', [1])).toMatchObject({ code: 'FILE_NOT_FOUND' })
    const [statistics] = engine.statistics()
    expect(statistics).toMatchObject({ workers: 0, problem: expect.stringContaining(module) })
    expect(statistics!.failed).toBeGreaterThan(0)
    await writeFile(module, times(2))
    await untilPasses(async () => expect(await ask(engine, 'times', [1])).toBe(4))
    expect(engine.statistics()[0]).not.toHaveProperty('problem')
  })
})

describe('a version that was copied into the repository by hand', () => {
  it('never answers with other content, and its state says why', async () => {
    const version = join(folder, 'times', '1')
    const module = join(version, 'model.mjs')
    const settings = join(folder, 'times', 'deployment.yaml')
    await mkdir(version, { recursive: true })
    await writeFile(module, times(2))
    await writeFile(settings, 'slo-ms: 60000\n')
    await using engine = openInferenceEngine()
    await using models = new ServedModels({
      engine,
      files: nodeFileSystem,
      repository: folder,
      clock: systemClock,
      scanMs: 20,
      onEvent() {},
    })
    await models.start()
    const answer = async (value: number) => {
      const { outputs } = await engine.infer({
        model: models.resolve('times'),
        inputs: [floats('x', [1], [value])],
      })
      return floatsOf(outputs[0]!)[0]
    }
    expect(await answer(2)).toBe(4)
    const before = await readFile(module)
    await writeFile(module, times(5))
    // New settings load the version once more, beside the one that answers.
    await writeFile(settings, 'slo-ms: 50000\n')
    await untilPasses(() => expect(models.list('times')[0]!.versions[0]!.state).toBe('READY'))
    expect(await answer(2)).toBe(4)
    await expect(answer(-1)).rejects.toMatchObject({ code: 'CHECKSUM_MISMATCH' })
    expect(models.list('times')[0]!.versions[0]).toMatchObject({
      state: 'UNAVAILABLE',
      reason: expect.stringContaining(module),
    })
    await writeFile(module, before)
    await untilPasses(async () => expect(await answer(2)).toBe(4))
    expect(models.list('times')[0]!.versions[0]).toMatchObject({ state: 'READY', reason: '' })
  })
})
