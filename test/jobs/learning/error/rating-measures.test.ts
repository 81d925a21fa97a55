import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../../src/core/byte-writer.ts'
import { RatingMeasures } from '../../../../src/jobs/learning/error/rating-measures.ts'
import { DriftMonitor, NO_ALARMS } from '../../../../src/models/quality/drift-monitor.ts'

const CLOCK = { nowMs: () => 1234 }

describe('the measures of ratings', () => {
  it('have bytes that never change', () => {
    const measures = new RatingMeasures(16, { window: 2, fading: 0.5 })
    for (const error of [1, 2, 1]) measures.add(error, error === 1, CLOCK)
    measures.addFrozen(3, true, CLOCK)
    const writer = new ByteWriter()
    measures.write(writer)
    const floats = (...numbers: number[]) =>
      Buffer.from(Float64Array.from(numbers).buffer).toString('hex')
    const whole = (number: number) => {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32LE(number)
      return bytes.toString('hex')
    }
    const byte = (number: number) => number.toString(16).padStart(2, '0')
    const singles = (...numbers: number[]) =>
      Buffer.from(Float32Array.from(numbers).buffer).toString('hex')
    const drift = new DriftMonitor()
    for (const error of [1, 4, 1]) drift.add(error, CLOCK)
    drift.addFrozen(9, CLOCK)
    const detectors = new ByteWriter()
    drift.write(detectors)
    expect(Buffer.from(writer.toBytes()).toString('hex')).toBe(
      [
        // The error: 1, 4, 1; the window has the last two, and begins again at its second place.
        floats(3, 2, 6, 3.25, 1.75, 3, 6) + byte(1),
        floats(5) + whole(1) + whole(2) + singles(4, 1),
        // The frozen error: 9.
        floats(1, 1, 9, 9, 1, 1, 9) + byte(1),
        floats(9) + whole(1) + whole(1) + singles(9),
        // Alarms and detectors, whose bytes are tested beside them.
        Buffer.from(detectors.toBytes()).toString('hex'),
        // The test whether learning has made it worse has compared nothing.
        byte(10) + floats(...new Array<number>(10).fill(0)),
      ].join(''),
    )
  })

  it('of checkpoints of before the windows were state are read', () => {
    const measures = new RatingMeasures(16)
    const error = [2000, 1000, 3000, 500, 1000, 1000, 1500]
    const frozen = [10, 10, 40, 20, 10, 10, 40]
    measures.restoreEarlier(Float64Array.of(...error, 2, 123, 0, -1, ...frozen))
    expect(measures.error.mse).toBe(1.5)
    expect(measures.error.startMse).toBe(1.5)
    expect(measures.error.windowMse).toBe(0.5)
    expect(measures.frozenError.mse).toBe(4)
    expect(measures.drift.alarms.adwin).toEqual({ count: 2, lastMs: 123 })
  })

  it('of checkpoints of before the alarms, and of before the frozen error, are read', () => {
    const first = new RatingMeasures(16)
    first.restoreEarlier(Float64Array.of(10, 10, 5, 5, 10))
    expect([first.error.mse, first.drift.alarms]).toEqual([0.5, NO_ALARMS])
    const second = new RatingMeasures(16)
    second.restoreEarlier(Float64Array.of(10, 10, 5, 5, 10, 10, 5, 0, -1, 1, 77))
    expect(second.error.startCount).toBe(10)
    expect(second.drift.alarms['page-hinkley']).toEqual({ count: 1, lastMs: 77 })
    expect(second.frozenError.count).toBe(0)
  })

  it('raise the alarm of a rise that began before a checkpoint', () => {
    const measures = new RatingMeasures(16)
    for (let n = 0; n < 2000; n++) measures.add(n % 2 === 0 ? 0.5 : 0.6, true, CLOCK)
    const writer = new ByteWriter()
    measures.write(writer)
    const again = new RatingMeasures(16)
    again.join(new ByteReader(writer.toBytes()))
    const [empty, whole] = [new RatingMeasures(16), measures]
    for (let n = 0; n < 1500; n++) {
      for (const each of [again, whole]) each.add(n % 2 === 0 ? 2 : 2.1, true, CLOCK)
      empty.add(n % 2 === 0 ? 2 : 2.1, true, CLOCK)
    }
    const { adwin, 'page-hinkley': pageHinkley } = again.drift.alarms
    expect(adwin.count + pageHinkley.count).toBeGreaterThan(0)
    expect(again.drift.alarms).toEqual(whole.drift.alarms)
    expect(empty.drift.alarms).toEqual(NO_ALARMS)
  })
})
