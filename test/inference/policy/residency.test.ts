import { describe, expect, it } from 'vitest'
import {
  decideResidency,
  fetchInMs,
  type ResidentFacts,
} from '../../../src/inference/policy/residency.ts'

const NOW = 1000

/** A model of ten bytes that ran at 100 and has no requests. */
const model = (key: string, facts: Partial<ResidentFacts> = {}): ResidentFacts => ({
  key,
  bytes: 10,
  state: 'in',
  lastRunAt: 100,
  nextMs: NOW - (facts.lastRunAt ?? 100),
  dueMs: Number.POSITIVE_INFINITY,
  isKept: false,
  enteredAt: 50,
  isWanted: false,
  requests: 0,
  firstDeadline: Number.POSITIVE_INFINITY,
  readyMs: 20,
  ...facts,
})
const wanted = (key: string, facts: Partial<ResidentFacts> = {}): ResidentFacts =>
  model(key, { state: 'out', isWanted: true, requests: 1, firstDeadline: NOW + 500, ...facts })
/** A wanted model that must be loaded now to be in time. */
const due = (key: string): ResidentFacts => wanted(key, { firstDeadline: NOW + 40 })

describe('the memory of a device', () => {
  it.each<[string, number, ResidentFacts[], { enter?: string[]; leave?: string[] }]>([
    [
      'takes a wanted model when there is room, and evicts none (ray#35911: sent where it evicts one)',
      20,
      [model('a'), wanted('b')],
      { enter: ['b'] },
    ],
    [
      'evicts the idle model that ran least recently',
      30,
      [
        model('a', { lastRunAt: 300 }),
        model('b', { lastRunAt: 200 }),
        model('c', { lastRunAt: 400 }),
        wanted('d'),
      ],
      { leave: ['b'] },
    ],
    [
      'evicts as many as the wanted model needs',
      30,
      [
        model('a', { lastRunAt: 3 }),
        model('b', { lastRunAt: 1 }),
        model('c', { lastRunAt: 2 }),
        wanted('d', { bytes: 20 }),
      ],
      { leave: ['b', 'c'] },
    ],
    [
      'evicts none when that would not be enough',
      30,
      [
        model('a'),
        model('b', { requests: 1 }),
        model('c', { requests: 1 }),
        wanted('d', { bytes: 20 }),
      ],
      {},
    ],
    ['waits for a model that is leaving', 10, [model('a', { state: 'leaving' }), wanted('b')], {}],
    [
      'counts what is leaving for one wanted model only',
      20,
      [model('a', { state: 'leaving' }), model('b'), wanted('c'), wanted('d')],
      { leave: ['b'] },
    ],
    [
      'lets a model with requests stay while there is time',
      10,
      [model('a', { requests: 3 }), wanted('b')],
      {},
    ],
    [
      'evicts a model with requests for one that would be late',
      10,
      [model('a', { requests: 3 }), due('b')],
      { leave: ['a'] },
    ],
    [
      'prefers idle models also for one that would be late',
      20,
      [model('a', { requests: 3, lastRunAt: 60 }), model('b', { lastRunAt: 900 }), due('c')],
      { leave: ['b'] },
    ],
    [
      'keeps a model with requests until it has run once',
      10,
      [model('a', { requests: 1, enteredAt: 900, lastRunAt: 900 }), due('b')],
      {},
    ],
    [
      'never evicts a model that is being loaded',
      10,
      [model('a', { state: 'entering' }), due('b')],
      {},
    ],
    [
      'loads the model with the least slack first',
      10,
      [
        wanted('a', { firstDeadline: NOW + 300 }),
        wanted('b', { firstDeadline: NOW + 320, readyMs: 200 }),
      ],
      { enter: ['b'] },
    ],
    [
      'keeps room for a large model instead of giving it to small ones',
      30,
      [
        model('a', { requests: 1 }),
        wanted('b', { bytes: 25, firstDeadline: NOW + 300 }),
        wanted('c', { firstDeadline: NOW + 400 }),
      ],
      {},
    ],
    [
      'loads models that ran last into free memory before they are asked for',
      30,
      [
        model('a'),
        model('b', { state: 'out', lastRunAt: 5 }),
        model('c', { state: 'out', lastRunAt: 7 }),
        model('d', { state: 'out', lastRunAt: 6 }),
      ],
      { enter: ['c', 'd'] },
    ],
    [
      'evicts an idle model for one that is due soon',
      20,
      [
        model('a', { nextMs: 500 }),
        model('b', { nextMs: 900 }),
        model('c', { state: 'out', dueMs: 30 }),
      ],
      { leave: ['b'] },
    ],
    [
      'evicts nothing for a model that is due later',
      10,
      [model('a', { nextMs: 900 }), model('b', { state: 'out', dueMs: 41 })],
      {},
    ],
    [
      'evicts for a model that is due only what can be back in time',
      10,
      [model('a', { nextMs: 70 }), model('b', { state: 'out', dueMs: 30 })],
      {},
    ],
    [
      'evicts no model with requests for one that is due',
      10,
      [model('a', { nextMs: 900, requests: 1 }), model('b', { state: 'out', dueMs: 30 })],
      {},
    ],
    [
      'gives free memory to the model that is due first',
      10,
      [
        model('a', { state: 'out', nextMs: 1, readyMs: 90 }),
        model('b', { state: 'out', nextMs: 30, dueMs: 30 }),
      ],
      { enter: ['b'] },
    ],
    [
      'waits for a model that leaves for one that is due',
      10,
      [model('a', { state: 'leaving' }), model('b', { state: 'out', dueMs: 30 })],
      {},
    ],
    [
      'never evicts a model that is kept',
      20,
      [
        model('a', { isKept: true, lastRunAt: 1 }),
        model('b', { requests: 1, isKept: true }),
        due('c'),
      ],
      {},
    ],
    [
      'evicts nothing for a model that nobody asks for',
      10,
      [model('a'), model('b', { state: 'out' })],
      {},
    ],
  ])('%s', (_, capacity, models, { enter = [], leave = [] }) => {
    expect(decideResidency(capacity, models, NOW)).toEqual({ enter, leave })
  })

  it('looks at a model again when it is to be fetched', () => {
    expect(fetchInMs(model('a', { state: 'out', dueMs: 100 }))).toBe(60)
    expect(fetchInMs(model('a', { state: 'in', dueMs: 100 }))).toBe(Number.POSITIVE_INFINITY)
    expect(fetchInMs(wanted('a', { dueMs: 100 }))).toBe(Number.POSITIVE_INFINITY)
  })

  it('never holds more than its bytes, and answers every model, whatever is asked for', () => {
    const states = new Map<string, ResidentFacts>()
    for (let i = 0; i < 7; i++) states.set(`m${i}`, model(`m${i}`, { state: 'out', bytes: 5 + i }))
    let random = 12345
    const next = (below: number): number => {
      random = (Math.imul(random, 1103515245) + 12345) >>> 0
      return Math.floor((random / 2 ** 32) * below)
    }
    const served = new Set<string>()
    for (let now = 1; now < 5000; now++) {
      const asked = states.get(`m${next(7)}`)!
      if (asked.state === 'out')
        states.set(asked.key, {
          ...asked,
          isWanted: true,
          requests: 1,
          firstDeadline: Math.min(asked.firstDeadline, now + 50),
        })
      const { enter, leave } = decideResidency(24, [...states.values()], now)
      for (const key of leave) states.set(key, { ...states.get(key)!, state: 'leaving' })
      for (const key of enter) states.set(key, { ...states.get(key)!, state: 'entering' })
      const held = [...states.values()].filter(({ state }) => state !== 'out')
      expect(held.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(24)
      for (const one of held) {
        if (next(3) > 0) continue
        const { key, state } = one
        if (state === 'leaving') states.set(key, { ...one, state: 'out' })
        if (state === 'entering')
          states.set(key, { ...one, state: 'in', isWanted: false, enteredAt: now, lastRunAt: now })
        if (state !== 'in' || one.requests === 0) continue
        served.add(key)
        states.set(key, {
          ...one,
          requests: 0,
          firstDeadline: Number.POSITIVE_INFINITY,
          lastRunAt: now,
        })
      }
    }
    expect(served.size).toBe(7)
  })
})
