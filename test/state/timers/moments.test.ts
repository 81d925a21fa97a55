import { describe, expect, it } from 'vitest'
import { KeyedEntry } from '../../../src/state/entries/keyed-entry.ts'
import { Moments } from '../../../src/state/timers/moments.ts'

describe('moments', () => {
  it('are in the order of time, whatever the order in which they come, and each is one', () => {
    const moments = new Moments()
    for (const time of [50, -3, 20, 50, 2 ** 50, 20]) {
      moments.at(time).add(new KeyedEntry(0, String(time), 0))
    }
    const times: number[] = []
    for (let first = moments.first; first !== undefined; first = moments.first) {
      for (; first.first !== undefined; first.take()) times.push(first.time)
      moments.dropFirst()
    }
    expect(times).toEqual([-3, 20, 20, 50, 50, 2 ** 50])
  })

  it('begin again after they were dropped', () => {
    const moments = new Moments()
    moments.at(1).add(new KeyedEntry(0, 'a', 0))
    moments.dropFirst()
    expect(moments.first).toBeUndefined()
    expect(moments.at(1).first).toBeUndefined()
  })
})
