import { expect, it } from 'vitest'
import type { OutgoingRecord } from '../../../../src/connectors/records/outgoing-record.ts'
import { DeltaSender, type OutgoingDelta } from '../../../../src/jobs/learning/als/delta-sender.ts'
import { DeltasOperator } from '../../../../src/jobs/learning/als/deltas-operator.ts'
import { RatingsOperator } from '../../../../src/jobs/learning/als/ratings-operator.ts'
import type { DeltaRecord, LearnerInput } from '../../../../src/jobs/learning/als/records.ts'
import { deltaSerializer } from '../../../../src/jobs/learning/als/topic-serializers.ts'
import { InFlightLimit } from '../../../../src/jobs/learning/in-flight-limit.ts'
import type { ModelTopicRecord } from '../../../../src/models/topic/record.ts'
import type { OperatorContext } from '../../../../src/operators/port/operator.ts'
import { OperatorHarness } from '../../../../src/testing/operator-harness.ts'

const MOST = 64
const RATINGS = 1000
const encoder = new TextEncoder()

/** A job that learns and is killed at any time: its topics outlive it. */
class Life {
  /** The deltas' topic, with the rating and the attempt that each is of. */
  readonly topic: { record: ModelTopicRecord; rating: number; attempt: number }[] = []
  private attempts = 0

  /**
   * Runs an attempt from these places until it has folded `folds` deltas, or all. Takes as many ratings as it may before
   * each delta that it reads; returns the most ratings that it had learned without having read their deltas at a time.
   */
  async attempt(fromRating: number, fromDelta: number, folds: number): Promise<number> {
    const inFlight = InFlightLimit.newBuffer(1000 * this.attempts++)
    const limit = new InFlightLimit(inFlight)
    const [ratings, deltas] = [new RatingsOperator(MOST), new DeltasOperator('step', 1)]
    const gate = await OperatorHarness.open<ModelTopicRecord, LearnerInput>({ operator: ratings })
    const reader = await OperatorHarness.open<ModelTopicRecord, DeltaRecord>({ operator: deltas })
    const order = { kind: 'let-through', version: 1, resumeOffsets: [], known: [1], inFlight }
    for (const operator of [ratings, deltas]) operator.handleEvent(order)
    const own = new Set<number>()
    let most = 0
    let rating = fromRating
    let folded = 0
    for (let at = fromDelta; folded < folds; at++) {
      for (; rating < RATINGS && ratings.ready(); rating++) {
        const position = { partition: 0, offset: rating }
        gate.process(lineOf(rating), 0, { position })
        gate.take()
        this.send(rating, limit.attemptTag)
        own.add(rating)
        most = Math.max(most, own.size)
      }
      const next = this.topic[at]
      if (next === undefined) break
      reader.process(next.record, 0, { position: { partition: 0, offset: at } })
      for (const _ of reader.take()) {
        // What the learner does with each delta.
        limit.leave()
        folded++
      }
      if (next.attempt === this.attempts) own.delete(next.rating)
    }
    return most
  }

  private send(rating: number, attemptTag: number): void {
    const serialize = deltaSerializer('step', 1)
    const collect = (delta: OutgoingDelta): void => {
      const written: Partial<OutgoingRecord> = {}
      serialize(delta, written as OutgoingRecord)
      const [key, value] = [written.key!, written.value!]
      const place = { keyStart: 0, keyLength: key.length, valueStart: key.length }
      const bytes = Uint8Array.of(...key, ...value)
      const record = { bytes, ...place, valueLength: value.length }
      this.topic.push({ record, rating, attempt: this.attempts })
    }
    const position = () => ({ partition: 0, offset: rating })
    const context = { position, output: { collect }, maxParallelism: 128 }
    const sender = new DeltaSender(context as unknown as OperatorContext, undefined)
    const item = spanOf('7-I')
    const of = { version: 1, phase: 0, attemptTag }
    sender.send(of, item, Float32Array.of(0.5), encoder.encode('3-U'), 0)
  }
}

function spanOf(text: string): { bytes: Uint8Array; start: number; length: number } {
  const bytes = encoder.encode(text)
  return { bytes, start: 0, length: bytes.length }
}

function lineOf(rating: number): ModelTopicRecord {
  const bytes = encoder.encode(`3,7,${1 + (rating % 5)}`)
  return { bytes, keyStart: 0, keyLength: -1, valueStart: 0, valueLength: bytes.length }
}

it.each([
  ['whose checkpoint was before all of its deltas', 0, 0],
  ['whose checkpoint was in the middle of its ratings', 150, 120],
  ['whose checkpoint was at its end', 264, 200],
])('no more ratings than the limit are in flight after an attempt %s', async (_, rating, delta) => {
  const life = new Life()
  expect(await life.attempt(0, 0, 200)).toBe(MOST)
  expect(life.topic.length).toBeGreaterThan(250)
  expect(await life.attempt(rating, delta, 300)).toBe(MOST)
  expect(await life.attempt(rating, delta, RATINGS)).toBe(MOST)
})
