import { describe, expect, it } from 'vitest'
import { LoadedSources } from '../../../src/runtime/channel/loaded-sources.ts'

describe('the sources that have sent what they had', () => {
  it('are known by channel, and over all channels that carry them', () => {
    const sources = new LoadedSources([[0, 1], [1], [2]])
    expect([0, 1, 2].map((channel) => sources.isLoaded(channel))).toEqual([false, false, false])
    expect(sources.loaded(0, 1)).toBe(false)
    expect(sources.loaded(1, 1)).toBe(true)
    expect(sources.loaded(1, 1)).toBe(false)
    expect([0, 1, 2].map((channel) => sources.isLoaded(channel))).toEqual([false, true, false])
    expect(sources.loaded(0, 0)).toBe(true)
    expect(sources.isLoaded(0)).toBe(true)
  })

  it('are those of a channel that has ended', () => {
    const sources = new LoadedSources([[0, 1], [1]])
    expect(sources.ended(0)).toEqual([0])
    expect(sources.isLoaded(0)).toBe(true)
    expect(sources.ended(1)).toEqual([1])
    expect(sources.ended(1)).toEqual([])
  })
})
