import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import {
  type InFlight,
  OrderedInFlight,
  type PendingRecord,
  UnorderedInFlight,
} from '../../../src/operators/async/in-flight.ts'

interface Numbered extends PendingRecord {
  readonly number: number
}

const MODES = [
  ['ordered', () => new OrderedInFlight<Numbered>()],
  ['unordered', () => new UnorderedInFlight<Numbered>()],
] as const

/** Adds a record without results. */
function add(inFlight: InFlight<Numbered>, number: number): Numbered {
  const record: Numbered = { number, results: undefined }
  inFlight.add(record)
  return record
}

function complete(inFlight: InFlight<Numbered>, record: Numbered): void {
  record.results = []
  inFlight.completed(record)
}

/** Takes all records whose results may be emitted. */
function drain(inFlight: InFlight<Numbered>, log: (number | string)[]): void {
  for (let record = inFlight.next(); record !== undefined; record = inFlight.next()) {
    log.push(record.number)
  }
}

describe.each(MODES)('records in flight, %s', (mode, create) => {
  it('call an action at once when there are none', () => {
    let called = false
    create().after(() => {
      called = true
    }, true)
    expect(called).toBe(true)
  })

  it('call an action only after the records before it', () => {
    const inFlight = create()
    const log: (number | string)[] = []
    const first = add(inFlight, 1)
    const second = add(inFlight, 2)
    inFlight.after(() => log.push('action'), false)
    complete(inFlight, first)
    drain(inFlight, log)
    expect(log).toEqual([1])
    complete(inFlight, second)
    drain(inFlight, log)
    expect(log).toEqual([1, 2, 'action'])
    expect(inFlight.size).toBe(0)
  })

  it('hold later records behind a border', () => {
    const inFlight = create()
    const log: (number | string)[] = []
    const first = add(inFlight, 1)
    inFlight.after(() => log.push('watermark'), true)
    const second = add(inFlight, 2)
    complete(inFlight, second)
    drain(inFlight, log)
    expect(log).toEqual([])
    complete(inFlight, first)
    drain(inFlight, log)
    expect(log).toEqual([1, 'watermark', 2])
  })

  it('list the records in the order in which they came', () => {
    const inFlight = create()
    const records = [1, 2, 3, 4].map((number) => add(inFlight, number))
    complete(inFlight, records[2]!)
    expect([...inFlight.records()].map(({ number }) => number)).toEqual([1, 2, 3, 4])
  })

  it.each([1, 2, 3])(
    'emit every record once and keep every border, in any order of completion (%i)',
    (seed) => {
      const random = seededRandom(seed)
      const inFlight = create()
      const log: (number | string)[] = []
      const open: Numbered[] = []
      for (let number = 0; number < 2000; number++) {
        open.push(add(inFlight, number))
        if (random.below(10) === 0) inFlight.after(() => log.push(`border ${number}`), true)
        if (random.below(10) === 0) inFlight.after(() => log.push(`action ${number}`), false)
        while (open.length > random.below(100)) {
          complete(inFlight, open.splice(random.below(open.length), 1)[0]!)
          drain(inFlight, log)
        }
      }
      for (const record of open) complete(inFlight, record)
      drain(inFlight, log)
      const numbers = log.filter((entry) => typeof entry === 'number')
      expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: 2000 }, (_, i) => i))
      if (mode === 'ordered') expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
      const emitted = new Set<number>()
      let newest = -1
      let allBelow = 0
      for (const entry of log) {
        if (typeof entry === 'number') {
          emitted.add(entry)
          newest = Math.max(newest, entry)
          while (emitted.has(allBelow)) allBelow += 1
          continue
        }
        const [kind, last] = entry.split(' ') as [string, string]
        expect(allBelow).toBeGreaterThan(Number(last))
        if (kind === 'border') expect(newest).toBe(Number(last))
      }
    },
  )
})

describe('records in flight, unordered', () => {
  it('let a later record pass an action that is no border', () => {
    const inFlight = new UnorderedInFlight<Numbered>()
    const log: (number | string)[] = []
    const first = add(inFlight, 1)
    inFlight.after(() => log.push('progress'), false)
    complete(inFlight, add(inFlight, 2))
    drain(inFlight, log)
    complete(inFlight, first)
    drain(inFlight, log)
    expect(log).toEqual([2, 1, 'progress'])
  })
})
