import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import { LocalPeriods } from '../../../../src/operators/windows/assigned/local-periods.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** What the clocks of a zone show, as the text that a person reads. */
const shownIn = (zone: string): ((time: number) => number) => {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
  })
  return (time) => Date.parse(`${format.format(time).replace(' ', 'T')}Z`)
}

/** What clocks show in each minute between two moments. */
function shownMinutes(zone: string, [from, to]: readonly [number, number]): Map<number, number> {
  const shown = shownIn(zone)
  const minutes = new Map<number, number>()
  for (let time = from; time < to; time += MINUTE) minutes.set(time, shown(time))
  return minutes
}

/** The start of the window of each minute by a look at the clocks: it is where they first reach it. */
function startsByClock(shown: ReadonlyMap<number, number>, sizeMs: number): Map<number, number> {
  const starts = new Map<number, number>()
  let reached = Number.NEGATIVE_INFINITY
  let start = Number.NaN
  for (const [time, local] of shown) {
    const period = Math.floor(local / sizeMs)
    if (period > reached) {
      reached = period
      start = time
    }
    starts.set(time, start)
  }
  return starts
}

/** Moments around which clocks change, and some more. */
const ZONES: readonly (readonly [zone: string, days: readonly string[]])[] = [
  ['Europe/Berlin', ['2024-03-31', '2024-10-27', '2024-07-01']],
  ['America/New_York', ['2024-03-10', '2024-11-03']],
  ['America/Los_Angeles', ['2021-03-14', '2021-11-07']],
  ['Asia/Kathmandu', ['2024-03-31', '1985-12-31']],
  ['Australia/Lord_Howe', ['2024-04-06', '2024-10-05']],
  ['America/Sao_Paulo', ['2018-11-04', '2018-02-17']],
  ['America/St_Johns', ['2006-10-29', '2006-04-02']],
  ['Pacific/Apia', ['2011-12-30']],
  ['Africa/Casablanca', ['2024-03-10', '2024-04-14']],
  ['UTC', ['2024-02-29']],
]

describe('windows of the clocks of a zone', () => {
  it.each(ZONES)('begin in %s where its clocks first show their start', (zone, days) => {
    for (const day of days) {
      const middle = Date.parse(`${day}T12:00Z`)
      const range = [middle - 3 * DAY, middle + 3 * DAY] as const
      const shown = shownMinutes(zone, range)
      for (const sizeMs of [HOUR, 4 * HOUR, DAY]) {
        const expected = startsByClock(shown, sizeMs)
        const periods = new LocalPeriods(zone, sizeMs, 0)
        const random = seededRandom(1)
        for (let n = 0; n < 200; n++) {
          const time = range[0] + 2 * DAY + random.below((2 * DAY) / MINUTE) * MINUTE
          const { start, end } = periods.at(time + random.below(MINUTE))
          expect([zone, time, start]).toEqual([zone, time, expected.get(time)])
          expect(expected.get(end)).toBe(end)
          expect(end).toBeGreaterThan(time)
        }
      }
    }
  })

  const hoursOf = (zone: string, day: string, sizeMs = DAY): number => {
    const { start, end } = new LocalPeriods(zone, sizeMs, 0).at(Date.parse(day))
    return (end - start) / HOUR
  }

  it('are days of 23 and of 25 hours, and others where clocks change by half an hour', () => {
    expect(hoursOf('Europe/Berlin', '2024-03-31T12:00Z')).toBe(23)
    expect(hoursOf('Europe/Berlin', '2024-10-27T12:00Z')).toBe(25)
    expect(hoursOf('Europe/Berlin', '2024-10-28T12:00Z')).toBe(24)
    expect(hoursOf('America/New_York', '2024-03-10T17:00Z')).toBe(23)
    expect(hoursOf('America/New_York', '2024-11-03T17:00Z')).toBe(25)
    expect(hoursOf('Australia/Lord_Howe', '2024-04-07T01:00Z')).toBe(24.5)
    expect(hoursOf('Australia/Lord_Howe', '2024-10-06T01:00Z')).toBe(23.5)
    expect(hoursOf('Asia/Kathmandu', '2024-10-06T01:00Z')).toBe(24)
    expect(
      new LocalPeriods('Asia/Kathmandu', DAY, 0).at(Date.parse('2024-10-06T01:00Z')).start,
    ).toBe(Date.parse('2024-10-05T18:15Z'))
  })

  it('of four hours have 3 and 5 hours in Los Angeles, as the documentation of Flink says', () => {
    expect(hoursOf('America/Los_Angeles', '2021-03-14T08:00Z', 4 * HOUR)).toBe(3)
    expect(hoursOf('America/Los_Angeles', '2021-11-07T07:00Z', 4 * HOUR)).toBe(5)
  })

  it('of weeks begin on the day of their offset', () => {
    const week = new LocalPeriods('Europe/Berlin', 7 * DAY, 4 * DAY).at(
      Date.parse('2024-03-28T12:00Z'),
    )
    expect(new Date(week.start).toISOString()).toBe('2024-03-24T23:00:00.000Z')
    expect(new Date(week.end).toISOString()).toBe('2024-03-31T22:00:00.000Z')
  })

  it('reach before the first and after the last change of a zone', () => {
    for (const time of [-6e13, Date.parse('0001-01-01'), 8.6e15, -8.64e15]) {
      const { start, end } = new LocalPeriods('Europe/Berlin', DAY, 0).at(time)
      expect(start).toBeLessThanOrEqual(time)
      expect(end).toBeGreaterThan(time)
      expect(end - start).toBe(DAY)
    }
  })
})
