import { mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openInferenceEngine } from '../../../../src/inference/engine/engine.ts'
import type { Deployment } from '../../../../src/inference/port/deployment.ts'
import type { InferenceEngine } from '../../../../src/inference/port/engine.ts'
import type { ModelSource } from '../../../../src/inference/port/model.ts'
import { ENDS_WORKER, HANGS } from '../function-models.ts'
import { floats, floatsOf, linearModel } from '../models.ts'

let folder: string
let engine: InferenceEngine

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-tiny-'))
  engine = openInferenceEngine()
})

afterEach(async () => {
  await engine[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

/** Threads of this process. */
async function threads(): Promise<number> {
  const status = await readFile('/proc/self/status', 'utf8')
  return Number(/^Threads:\s+(\d+)/m.exec(status)![1])
}

const SHARED: Deployment = { sloMs: 60_000, isShared: true }
const nameOf = (i: number): string => `tiny-${i}`

/** Model `i` multiplies by `i`, so that an answer of another model is seen. */
const sourceOf = (i: number): ModelSource =>
  linearModel(folder, { inputs: 1, outputs: 1, factor: i + 1 })

async function ask(name: string, value: number): Promise<number> {
  const inputs = [floats('x', [1, 1], [value])]
  const { outputs } = await engine.infer({ model: { name, version: 1 }, inputs })
  return floatsOf(outputs[0]!)[0]!
}

describe('many small models', () => {
  it('share a few threads, and each gives its own answers', async () => {
    const before = await threads()
    for (let i = 0; i < 60; i++) {
      await engine.load({ name: nameOf(i), version: 1 }, sourceOf(i), { sloMs: 60_000 })
    }
    const loaded = await threads()
    // Eight models have threads of their own: one of the worker, and those of the session beside it.
    expect(loaded - before).toBeLessThan(60)
    const asked = Array.from({ length: 600 }, (_, i) => ask(nameOf(i % 60), i))
    const wanted = Array.from({ length: 600 }, (_, i) => i * ((i % 60) + 1))
    expect(await Promise.all(asked)).toEqual(wanted)
    await Promise.all(
      Array.from({ length: 60 }, (_, i) => engine.unload({ name: nameOf(i), version: 1 })),
    )
    expect(engine.statistics()).toEqual([])
  })

  it('have their turns: a flooded model does not keep the others from the thread', async () => {
    for (let i = 0; i < 4; i++) {
      await engine.load({ name: nameOf(i), version: 1 }, sourceOf(i), {
        ...SHARED,
        maxBatchItems: 1,
      })
    }
    let isOver = false
    let flooded = 0
    const flood = async (): Promise<void> => {
      for (; !isOver; flooded++) await ask(nameOf(0), 1)
    }
    const floods = Array.from({ length: 32 }, flood)
    const answers: number[] = []
    for (let i = 0; i < 50; i++) {
      const before = flooded
      await Promise.all([1, 2, 3].map((model) => ask(nameOf(model), 1)))
      answers.push(flooded - before)
    }
    isOver = true
    await Promise.all(floods)
    // In turns each of them waits for a few runs of the flooded one, not for all 32 that wait.
    answers.sort((a, b) => a - b)
    expect(answers[25]).toBeLessThan(32)
  })

  it('go on in another thread when one of them hangs, and when one ends the thread', async () => {
    const module = pathToFileURL(join(import.meta.dirname, '..', 'function-models.ts')).href
    const source: ModelSource = { kind: 'function', module, export: 'doubling' }
    const deployment = { ...SHARED, sloMs: 1500, overtimeMs: 200, maxAttempts: 1 }
    await engine.load({ name: 'odd', version: 1 }, source, deployment)
    for (let i = 0; i < 3; i++) {
      await engine.load({ name: nameOf(i), version: 1 }, sourceOf(i), SHARED)
    }
    const inputs = [floats('x', [1], [HANGS])]
    const hung = engine.infer({ model: { name: 'odd', version: 1 }, inputs })
    await expect(hung).rejects.toMatchObject({
      code: expect.stringMatching(/DEADLINE|LOST|POISON/),
    })
    expect(await Promise.all([0, 1, 2].map((i) => ask(nameOf(i), 5)))).toEqual([5, 10, 15])
    const end = [floats('x', [1], [ENDS_WORKER])]
    const ended = engine.infer({ model: { name: 'odd', version: 1 }, inputs: end })
    await expect(ended).rejects.toMatchObject({
      code: expect.stringMatching(/DEADLINE|LOST|POISON/),
    })
    expect(await Promise.all([0, 1, 2].map((i) => ask(nameOf(i), 7)))).toEqual([7, 14, 21])
  })

  it('refuse settings that need a thread of their own', async () => {
    const process = { ...SHARED, isolation: 'process' as const }
    await expect(
      engine.load({ name: 'tiny', version: 1 }, sourceOf(0), process),
    ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})
