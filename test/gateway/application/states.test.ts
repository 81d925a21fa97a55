import { describe, expect, it } from 'vitest'
import { RequestStates, readsOf } from '../../../src/gateway/application/states.ts'
import type { ServedState } from '../../../src/gateway/port/services.ts'
import type { ScanEntry } from '../../../src/wire/model-reader.ts'

const route = { path: '/app/all', states: ['S'], summary: 'All', respond: () => 1 } as const

/** A state of so many rows of one float, the number of each. */
function stateOf(rows: number): { readonly state: ServedState; readonly asked: number[] } {
  const asked: number[] = []
  const keyOf = (row: number): string => `k${String(row).padStart(6, '0')}`
  const scan: ServedState['scan'] = async (_name, { from, limit }) => {
    asked.push(Number(limit))
    const first = from === '' ? 0 : Number(String(from).slice(1))
    return Array.from(
      { length: Math.min(Number(limit), rows - first) },
      (_, i): ScanEntry => ({
        key: keyOf(first + i),
        value: new Uint8Array(Float32Array.of(first + i).buffer),
      }),
    )
  }
  const info = { name: 'S', kind: 'vector', dimension: 1, versions: [1], liveVersion: 1 }
  const state = { routing: { states: [info] }, refreshRouting: async () => {}, scan }
  return { state: state as unknown as ServedState, asked }
}

async function valuesOf(states: RequestStates, limit?: number): Promise<number[]> {
  const found: number[] = []
  const options = limit === undefined ? {} : { limit }
  for await (const { value } of states.entries<string, Float32Array>('S', options)) {
    found.push(value[0]!)
  }
  return found
}

describe('the states of a request', () => {
  it('are read page by page, each entry once', async () => {
    const { state, asked } = stateOf(2500)
    const found = await valuesOf(new RequestStates(route, readsOf(state)))
    expect(found).toEqual(Array.from({ length: 2500 }, (_, row) => row))
    // One more than a page, whose key is where the next one begins.
    expect(asked).toEqual([1001, 1001, 1001])
    expect(await valuesOf(new RequestStates(route, readsOf(state)), 3)).toEqual([0, 1, 2])
  })

  it('end a request that reads more entries than one may, all reads together', async () => {
    const { state } = stateOf(10_001)
    const whole = new RequestStates(route, readsOf(state))
    await expect(valuesOf(whole)).rejects.toMatchObject({
      code: 'OPERATOR_FAILED',
      message: expect.stringContaining('/app/all reads more than 10000 entries in a request'),
    })
    const parts = new RequestStates(route, readsOf(state))
    expect((await valuesOf(parts, 6_000)).length).toBe(6_000)
    await expect(valuesOf(parts, 6_000)).rejects.toMatchObject({ code: 'OPERATOR_FAILED' })
  })
})
