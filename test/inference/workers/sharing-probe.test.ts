import { describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../../src/inference/port/runner.ts'
import type { ModelSignature } from '../../../src/inference/port/signature.ts'
import type { Tensor } from '../../../src/inference/port/tensor.ts'
import { probeSharing } from '../../../src/inference/workers/sharing-probe.ts'

/* Models of one input x [-1, 2] and one output y [-1, 2], which see all rows of a run. */

const spec = (name: string) => ({ name, datatype: 'FP32', shape: [-1, 2] }) as const
const SIGNATURE: ModelSignature = { inputs: [spec('x')], outputs: [spec('y')], batches: true }

const rowsOf = ({ data }: Tensor): number[] => [...new Float32Array(data.slice().buffer)]

/** A model of a function of all numbers of a run. */
function modelOf(run: (numbers: readonly number[], rows: number) => readonly number[]) {
  const sizes: number[] = []
  const model: LoadedModel = {
    signature: SIGNATURE,
    async run([x], items) {
      sizes.push(items)
      const numbers = Float32Array.from(run(rowsOf(x!), items))
      const shape = [numbers.length / 2, 2]
      return [{ name: 'y', datatype: 'FP32', shape, data: new Uint8Array(numbers.buffer) }]
    },
    async close() {},
  }
  return { model, sizes }
}

const probe = (model: LoadedModel, more: Partial<Parameters<typeof probeSharing>[1]> = {}) =>
  probeSharing(model, { signature: SIGNATURE, samples: [], mostItems: 64, nowMs: () => 0, ...more })

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0)

describe('a probe', () => {
  it('finds nothing where rows are independent, and runs several sizes', async () => {
    const { model, sizes } = modelOf((numbers) => numbers.map((one) => one * 3))
    expect(await probe(model)).toBeUndefined()
    expect(sizes).toEqual([1, 1, 2, 1, 2, 4, 1, 8])
  })

  it('takes rounding for rounding', async () => {
    const { model } = modelOf((numbers, rows) => numbers.map((one) => one * (1 + rows * 1e-6)))
    expect(await probe(model)).toBeUndefined()
  })

  it('finds rows that depend on the others', async () => {
    const { model } = modelOf((numbers) => numbers.map((one) => one - sumOf(numbers) / 100))
    expect(await probe(model)).toBe('outputs of requests that run together differ ("y")')
  })

  it('finds a branch on the largest number of a run', async () => {
    const { model } = modelOf((numbers) =>
      numbers.map((one) => (Math.max(...numbers) > 20 ? -one : one)),
    )
    expect(await probe(model)).toBe('outputs of requests that run together differ ("y")')
  })

  it('finds outputs of another number of rows', async () => {
    const { model } = modelOf((numbers) => numbers.slice(0, 2))
    expect(await probe(model)).toMatch(
      /^requests that run together fail: the output "y" has the shape/,
    )
  })

  it('finds a model that takes one row at a time', async () => {
    const { model } = modelOf((numbers, rows) => {
      if (rows > 1) throw new Error('one at a time')
      return numbers
    })
    expect(await probe(model)).toBe('requests that run together fail: one at a time')
  })

  it('finds nothing in a model that refuses all that it tries', async () => {
    const { model } = modelOf(() => {
      throw new Error('unlike what I know')
    })
    expect(await probe(model)).toBeUndefined()
  })

  it('asks with known inputs first, which a model that refuses others takes', async () => {
    const { model } = modelOf((numbers) => {
      if (numbers.some((one) => one < 7)) throw new Error('too small')
      return numbers.map(() => sumOf(numbers))
    })
    const data = new Uint8Array(Float32Array.of(8, 9).buffer)
    const sample: Tensor[] = [{ name: 'x', datatype: 'FP32', shape: [1, 2], data }]
    expect(await probe(model)).toBeUndefined()
    expect(await probe(model, { samples: [sample] })).toMatch('run together differ')
  })

  it('asks a slow model once only', async () => {
    let now = 0
    const { model, sizes } = modelOf((numbers) => {
      now += 1000
      return numbers
    })
    expect(await probe(model, { nowMs: () => now })).toBeUndefined()
    expect(sizes).toEqual([1, 1, 2])
  })

  it('stays below the largest batch', async () => {
    const { model, sizes } = modelOf((numbers) => numbers)
    await probe(model, { mostItems: 4 })
    expect(sizes).toEqual([1, 1, 2])
    await probe(model, { mostItems: 1 })
    expect(sizes).toEqual([1, 1, 2])
  })
})
