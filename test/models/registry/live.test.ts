import { describe, expect, it } from 'vitest'
import { decideLive } from '../../../src/models/registry/live.ts'

const facts = { live: 0, published: [], ready: [], desired: undefined }

describe('the live version', () => {
  it('without a registry is the highest published one that is loaded', () => {
    expect(decideLive({ ...facts, published: [1, 3], ready: [1, 3, 4] })).toEqual({
      kind: 'switch',
      version: 3,
    })
    expect(decideLive({ ...facts, live: 3, published: [1, 3], ready: [1, 3] }).kind).toBe('keep')
  })

  it('is what the registry says as soon as that is loaded, lower numbers too', () => {
    const desired = { live: 1, rollback: 2 }
    expect(decideLive({ ...facts, live: 2, ready: [1, 2], desired })).toEqual({
      kind: 'switch',
      version: 1,
    })
    expect(decideLive({ ...facts, live: 2, ready: [2], desired }).kind).toBe('keep')
    expect(decideLive({ ...facts, live: 1, ready: [1, 2, 3], desired }).kind).toBe('keep')
  })

  it('is the rollback target while the wanted version loads and none is live', () => {
    const desired = { live: 5, rollback: 4 }
    expect(decideLive({ ...facts, ready: [3, 4], desired })).toEqual({
      kind: 'switch',
      version: 4,
    })
    expect(decideLive({ ...facts, ready: [3], desired }).kind).toBe('keep')
  })

  it('is none before the first promotion in the registry', () => {
    const desired = { live: 0, rollback: 0 }
    expect(decideLive({ ...facts, published: [1], ready: [1], desired }).kind).toBe('keep')
  })
})
