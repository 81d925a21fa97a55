import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { Adwin } from '../../../src/models/quality/adwin.ts'
import type { DriftDetector } from '../../../src/models/quality/drift-detector.ts'
import { PageHinkley } from '../../../src/models/quality/page-hinkley.ts'

const LENGTH = 10_000
const SEEDS = 40

/** Errors that are 1 with probability `p`, else 0. */
function feed(detector: DriftDetector, p: number, count: number, seed: number): number {
  const random = seededRandom(seed)
  for (let i = 1; i <= count; i++) {
    if (detector.add(random.next() < p ? 1 : 0)) return i
  }
  return -1
}

/** Alarms on a stream without a change, and delays after a change, over many seeds. */
function behaviour(make: () => DriftDetector, before: number, after: number) {
  let falseAlarms = 0
  const delays: number[] = []
  for (let seed = 1; seed <= SEEDS; seed++) {
    const detector = make()
    if (feed(detector, before, LENGTH, seed) >= 0) falseAlarms++
    const fresh = make()
    feed(fresh, before, 2000, seed)
    const delay = feed(fresh, after, LENGTH, seed + 1000)
    if (delay >= 0) delays.push(delay)
  }
  delays.sort((a, b) => a - b)
  const median = delays[delays.length >> 1] ?? Number.POSITIVE_INFINITY
  return { falseAlarms, found: delays.length, median, worst: delays.at(-1) }
}

describe('drift detectors on streams of known change', () => {
  it('ADWIN rarely alarms without a change, and finds one from 0.2 to 0.4 within a few hundred errors', () => {
    const adwin = behaviour(() => new Adwin(), 0.2, 0.4)
    console.info('ADWIN 0.2 -> 0.4:', JSON.stringify(adwin))
    expect(adwin.falseAlarms).toBeLessThanOrEqual(SEEDS * 0.05)
    expect(adwin.found).toBe(SEEDS)
    expect(adwin.median).toBeLessThan(400)
  })

  it('ADWIN needs longer for a smaller change', () => {
    const large = behaviour(() => new Adwin(), 0.2, 0.6)
    const small = behaviour(() => new Adwin(), 0.2, 0.3)
    console.info('ADWIN 0.2 -> 0.6:', JSON.stringify(large))
    console.info('ADWIN 0.2 -> 0.3:', JSON.stringify(small))
    expect(small.median).toBeGreaterThan(large.median)
    expect(large.worst).toBeLessThan(400)
  })

  it('Page-Hinkley finds the same change; with a higher threshold later and with fewer false alarms', () => {
    const usual = behaviour(() => new PageHinkley(), 0.2, 0.4)
    const sure = behaviour(() => new PageHinkley({ threshold: 200 }), 0.2, 0.4)
    console.info('Page-Hinkley 100, 0.2 -> 0.4:', JSON.stringify(usual))
    console.info('Page-Hinkley 200, 0.2 -> 0.4:', JSON.stringify(sure))
    expect(usual.falseAlarms).toBeLessThanOrEqual(SEEDS * 0.15)
    expect(sure.falseAlarms).toBe(0)
    expect([usual.found, sure.found]).toEqual([SEEDS, SEEDS])
    expect(sure.median).toBeGreaterThan(usual.median)
  })

  it('an error that falls is no alarm', () => {
    expect(behaviour(() => new Adwin(), 0.4, 0.1).found).toBe(0)
    expect(behaviour(() => new PageHinkley(), 0.4, 0.1).found).toBe(0)
  })
})

describe('ADWIN', () => {
  it('forgets the errors before a change: its mean is that of the new stream', () => {
    const adwin = new Adwin()
    const random = seededRandom(1)
    for (let i = 0; i < 5000; i++) adwin.add(random.next() < 0.2 ? 1 : 0)
    for (let i = 0; i < 2400; i++) adwin.add(random.next() < 0.5 ? 1 : 0)
    expect(adwin.mean).toBeGreaterThan(0.45)
    expect(adwin.width).toBeLessThan(3000)
  })

  it('keeps the whole window, and its exact mean, while nothing changes', () => {
    const adwin = new Adwin({ scale: 4 })
    for (let i = 0; i < 1000; i++) adwin.add(i % 2 === 0 ? 1 : 3)
    expect(adwin.width).toBe(1000)
    expect(adwin.mean).toBeCloseTo(2, 9)
  })

  it('refuses invalid settings', () => {
    expect(() => new Adwin({ delta: 0 })).toThrow('delta must be a number above 0 and below 1')
    expect(() => new PageHinkley({ threshold: 0 })).toThrow('threshold must be a number above 0')
  })
})
