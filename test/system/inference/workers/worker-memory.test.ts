import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openInferenceEngine } from '../../../../src/inference/engine/engine.ts'
import { TAKES_MEMORY } from '../function-models.ts'
import { floats, floatsOf } from '../models.ts'

const MIB = 2 ** 20
const id = { name: 'doubling', version: 1 }
const source = {
  kind: 'function',
  module: join(import.meta.dirname, '..', 'function-models.ts'),
  export: 'doubling',
} as const

it('a run that takes its process above the memory limit is ended, and only its request fails', async () => {
  await using engine = openInferenceEngine()
  const memoryLimitBytes = 500 * MIB
  await engine.load(id, source, {
    sloMs: 60_000,
    overtimeMs: 60_000,
    isolation: 'process',
    memoryLimitBytes,
  })
  const ask = (value: number) =>
    engine.infer({ model: id, inputs: [floats('x', [1], [value])] }).then(
      ({ outputs }) => floatsOf(outputs[0]!)[0],
      (error) => error.code as string,
    )
  const values = Array.from({ length: 9 }, (_, i) => (i === 4 ? TAKES_MEMORY : i))
  const answers = await Promise.all(values.map(ask))
  expect(answers).toEqual(
    values.map((value) => (value === TAKES_MEMORY ? 'MODEL_MEMORY_EXCEEDED' : value * 2)),
  )
  expect(await ask(21)).toBe(42)
  const [statistics] = engine.statistics()
  expect(statistics).toMatchObject({ answered: 9, failed: 1 })
  expect(statistics!.workersLost).toBeGreaterThanOrEqual(1)
})

it('a model that is larger than the memory limit is not loaded', async () => {
  await using engine = openInferenceEngine()
  const deployment = { sloMs: 1000, isolation: 'process', memoryLimitBytes: MIB } as const
  await expect(engine.load(id, source, deployment)).rejects.toMatchObject({
    code: 'MODEL_MEMORY_EXCEEDED',
  })
  await expect(
    engine.load(id, source, { sloMs: 1000, memoryLimitBytes: MIB }),
  ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})
