import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openInferenceEngine } from '../../../../src/inference/engine/engine.ts'
import { needs } from '../../../run/needs.ts'
import { untilPasses } from '../../../run/until.ts'
import { FILLS_HEAP, HANGS } from '../function-models.ts'
import { floats, floatsOf } from '../models.ts'

const id = { name: 'doubling', version: 1 }
const source = {
  kind: 'function',
  module: join(import.meta.dirname, '..', 'function-models.ts'),
  export: 'doubling',
} as const

const held = () => ({
  threads: readdirSync('/proc/self/task').length,
  descriptors: readdirSync('/proc/self/fd').length,
})

it.each([
  ['thread', HANGS],
  ['process', HANGS],
  ['thread', FILLS_HEAP],
] as const)(
  'a worker (%s) that is lost by the value %d is replaced, and leaves nothing behind',
  {
    ...needs(process.platform === 'linux', 'only Linux has descriptors and threads in /proc'),
  },
  async (isolation, value) => {
    await using engine = openInferenceEngine()
    await engine.load(id, source, {
      sloMs: 60_000,
      isolation,
      overtimeMs: value === HANGS ? 800 : 1500,
      maxAttempts: 2,
    })
    const ask = async (x: number) => {
      const { outputs } = await engine.infer({ model: id, inputs: [floats('x', [1], [x])] })
      return floatsOf(outputs[0]!)[0]
    }
    expect(await ask(1)).toBe(2)
    const before = held()
    await expect(ask(value)).rejects.toMatchObject({ code: 'POISONED_REQUEST' })
    expect(await ask(2)).toBe(4)
    const isBack = () => {
      const { threads, descriptors } = held()
      expect(threads).toBeLessThanOrEqual(before.threads)
      expect(descriptors).toBeLessThanOrEqual(before.descriptors)
    }
    await untilPasses(isBack)
  },
)
