import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../../src/core/byte-writer.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import { joinedExampleError } from '../../../../src/jobs/learning/error/example-error.ts'
import { ExampleMeasures } from '../../../../src/jobs/learning/error/example-measures.ts'
import { DriftMonitor } from '../../../../src/models/quality/drift-monitor.ts'

const CLOCK = { nowMs: () => 1234 }
const OPTIONS = { window: 80, fading: 0.97 }

interface Predicted {
  readonly decision: number
  readonly isPositive: boolean
  readonly loss: number
}

/** Predictions whose decision values float32 holds. */
function stream(count: number, seed: number): Predicted[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => {
    const isPositive = random.next() < 0.4
    const decision = Math.fround(random.normal() + (isPositive ? 0.8 : -0.8))
    return { decision, isPositive, loss: Math.max(0, 1 - (isPositive ? decision : -decision)) }
  })
}

function measured(predicted: readonly Predicted[], into = new ExampleMeasures(OPTIONS)) {
  for (const prediction of predicted) {
    into.add(prediction, CLOCK)
    into.addFrozen({ ...prediction, loss: prediction.loss / 2 }, CLOCK)
  }
  return into
}

function joinAll(parts: readonly ExampleMeasures[]): ExampleMeasures {
  const joined = new ExampleMeasures(OPTIONS)
  for (const part of parts) {
    const writer = new ByteWriter()
    part.write(writer)
    joined.join(new ByteReader(writer.toBytes()))
  }
  return joined
}

const mean = (values: readonly number[]) => values.reduce((sum, x) => sum + x, 0) / values.length

function faded(values: readonly number[]): number {
  const weights = values.map((_, i) => OPTIONS.fading ** (values.length - 1 - i))
  const sum = values.reduce((total, value, i) => total + value * weights[i]!, 0)
  return sum / weights.reduce((total, weight) => total + weight, 0)
}

function plainArea(predicted: readonly Predicted[]): number {
  const positives = predicted.filter(({ isPositive }) => isPositive)
  const negatives = predicted.filter(({ isPositive }) => !isPositive)
  const won = positives.map(({ decision }) =>
    mean(
      negatives.map((other) =>
        decision > other.decision ? 1 : decision === other.decision ? 0.5 : 0,
      ),
    ),
  )
  return mean(won)
}

describe('the measures of examples', () => {
  it('are those of their definitions, and the same after a checkpoint at any place', () => {
    const predicted = stream(1200, 3)
    const losses = predicted.map(({ loss }) => loss)
    const right = predicted.map(({ decision, isPositive }) => (decision > 0 === isPositive ? 1 : 0))
    const figures = measured(predicted).figures()
    const expected = {
      examples: 1200,
      loss: mean(losses),
      windowLoss: mean(losses.slice(-80)),
      fadedLoss: faded(losses),
      frozenLoss: faded(losses.map((loss) => loss / 2)),
      frozenExamples: 1200,
      accuracy: mean(right),
      windowAccuracy: mean(right.slice(-80)),
      fadedAccuracy: faded(right),
      startAccuracy: mean(right.slice(0, 1000)),
      startExamples: 1000,
      auc: plainArea(predicted.slice(-80)),
    }
    for (const [name, value] of Object.entries(expected)) {
      expect(figures[name as keyof typeof expected], name).toBeCloseTo(value, 6)
    }
    for (const cut of [1, 79, 80, 81, 1000, 1111]) {
      const before = measured(predicted.slice(0, cut))
      expect(measured(predicted.slice(cut), joinAll([before])).figures()).toEqual(figures)
    }
  })

  it('of two slots keep each decision beside its label', () => {
    const [a, b] = [stream(300, 4), stream(100, 5)]
    const joined = joinAll([measured(a), measured(b)])
    // Of 80 places, in proportion to the examples.
    const newest = [...a.slice(-60), ...b.slice(-20)]
    expect(joined.figures().auc).toBeCloseTo(plainArea(newest), 9)
    expect(joined.figures().windowLoss).toBeCloseTo(mean(newest.map(({ loss }) => loss)), 6)
    expect(joined.figures().loss).toBeCloseTo(mean([...a, ...b].map(({ loss }) => loss)), 9)
  })

  it('have bytes that never change', () => {
    const measures = new ExampleMeasures({ window: 2, fading: 0.5 })
    measures.add({ decision: 0.5, isPositive: true, loss: 0.5 }, CLOCK)
    measures.add({ decision: 0.25, isPositive: false, loss: 1.25 }, CLOCK)
    measures.addFrozen({ decision: -0.25, isPositive: true, loss: 0.75 }, CLOCK)
    measures.worse.add(0.5, 0.5)
    const writer = new ByteWriter()
    measures.write(writer)
    const whole = (number: number) => Buffer.from(Uint32Array.of(number).buffer)
    const floats = (...numbers: number[]) => Buffer.from(Float64Array.from(numbers).buffer)
    const window = (sum: number, ...values: number[]) =>
      Buffer.concat([
        floats(sum),
        whole(0),
        whole(values.length),
        Buffer.from(Float32Array.from(values).buffer),
      ])
    const byte = (number: number) => Buffer.of(number)
    // Its bytes are tested beside it.
    const drift = new DriftMonitor()
    for (const wrong of [0, 1]) drift.add(wrong, CLOCK)
    drift.addFrozen(1, CLOCK)
    const detectors = new ByteWriter()
    drift.write(detectors)
    expect(Buffer.from(writer.toBytes()).toString('hex')).toBe(
      Buffer.concat([
        // Loss, then wrong labels.
        ...[floats(2, 2, 1.75, 1.5, 1.5, 2, 1.75), byte(1), window(1.75, 0.5, 1.25)],
        ...[floats(2, 2, 1, 1, 1.5, 2, 1), byte(1), window(1, 0, 1)],
        detectors.toBytes(),
        // Decision values and labels.
        ...[window(0.75, 0.5, 0.25), window(1, 1, 0)],
        // The loss without learning, and the capitals of the test whether learning is worse.
        ...[floats(1, 1, 0.75, 0.75, 1, 1, 0.75), byte(1)],
        ...[floats(0.75), whole(1), whole(1), Buffer.from(Float32Array.of(0.75).buffer)],
        ...[byte(10), floats(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)],
      ]).toString('hex'),
    )
  })
})

it('the error over slots weighs each by its examples, and the area by its pairs', () => {
  const [a, b] = [stream(300, 6), stream(60, 7)]
  const one = { ...measured(a).figures(), version: 1, slot: 0, parallelism: 2 }
  const two = { ...measured(b).figures(), version: 1, slot: 1, parallelism: 2 }
  const empty = { ...measured([]).figures(), version: 1, slot: 2, parallelism: 2 }
  const joined = joinedExampleError([one, two, empty])
  expect(joined.examples).toBe(360)
  expect(joined.loss).toBeCloseTo(mean([...a, ...b].map(({ loss }) => loss)), 9)
  expect(joined.fadedAccuracy).toBeCloseTo(
    (one.fadedAccuracy * 300 + two.fadedAccuracy * 60) / 360,
    9,
  )
  const auc = (one.auc * one.pairs + two.auc * two.pairs) / (one.pairs + two.pairs)
  expect(joined.auc).toBeCloseTo(auc, 12)
  expect(joined.startAccuracy).toBeNaN()
})
