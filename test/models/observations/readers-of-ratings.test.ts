import { expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import type { ByteSpan } from '../../../src/core/byte-span.ts'
import { NO_TIMESTAMP } from '../../../src/core/time.ts'
import { observationsOfCsv } from '../../../src/gateway/observations/body.ts'
import { HistoryRatingsOperator } from '../../../src/jobs/histories/ratings-operator.ts'
import { RatingsOperator } from '../../../src/jobs/learning/als/ratings-operator.ts'
import type { RatingRecord } from '../../../src/jobs/learning/als/records.ts'
import { InFlightLimit } from '../../../src/jobs/learning/in-flight-limit.ts'
import { rangesOfTopic, readObservations } from '../../../src/models/observations/topic-ranges.ts'
import { RatingsParser } from '../../../src/models/ratings/parser.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import type { ModelTopicRecord } from '../../../src/models/topic/record.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'
import { ratingsOfTopic } from '../../../src/training/evaluate/ratings-topic.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'

/** Time of every record. */
const RECORD_MS = 5000
/** A line of a file that says that there is no header. */
const FIRST = 'first,first,1\n'

const DAY_MS = 24 * 60 * 60 * 1000
const inSeconds = (ms: number): string => String(Math.floor((Date.now() + ms) / 1000))

const USERS = ['7', ' 7 ', '"7"', '"a,b"', 'a"b', '', 'MEAN', 'é', '\u00a07', '" 7"', 'a\0b']
const RATINGS = ['5', '4.5', ' 4.5 ', '"3"', '-1e-3', '.5', '5.', '0x3', 'x', '', '1e30', 'NaN']
const TIMES = [
  ...['', ',', ',874965758', ', 8 ', ',"8"', ',2015-03-09', ',2015-03-09T23:32:00.5+01:00'],
  ...[',soon', ',8,9', ',8,9,10', ',NaN', ',0x8', ',-5', ',-0.001', ',1969-12-31', ',1e17'],
  ...[
    ',880000000000',
    ',880000000000000',
    `,${inSeconds(DAY_MS / 2)}`,
    `,${inSeconds(3 * DAY_MS)}`,
  ],
]
const LINES: readonly Buffer[] = [
  ...USERS.flatMap((user) =>
    RATINGS.flatMap((rating) =>
      TIMES.flatMap((time) => [`${user},i,${rating}${time}`, `u,${user},${rating}${time}`]),
    ),
  ),
  ...['u;i;3', 'u\ti\t3', 'u::i::3', 'u i 3', '{"user":"u"}', 'u,i', ',,', '\ufeffu,i,3'],
].map((line) => Buffer.from(line))

/** What a reader makes of one line: a rating, or nothing. */
type Outcome = Rating | undefined
/** Reads the lines, each as a record or a line of its own. */
type Reader = (lines: readonly Buffer[]) => Promise<readonly Outcome[]>

const recordOf = (bytes: Buffer): ModelTopicRecord => {
  return { bytes, keyStart: 0, keyLength: -1, valueStart: 0, valueLength: bytes.length }
}

const file: Reader = async (lines) =>
  lines.map((line) => {
    const found: Rating[] = []
    const parser = new RatingsParser(
      (user, item, rating, timestamp) => found.push({ user, item, rating, timestamp }),
      { badLines: 'count', format: 'csv' },
    )
    parser.push(Buffer.concat([Buffer.from(FIRST), line]))
    parser.end()
    return found[1]
  })

const gateway: Reader = async (lines) => {
  const outcomes: Outcome[] = []
  for (const line of lines) {
    const read = observationsOfCsv(Buffer.concat([Buffer.from(FIRST), line]))
    outcomes.push(await read.then((found) => found[1]).catch(() => undefined))
  }
  return outcomes
}

const learner: Reader = async (lines) => {
  const operator = new RatingsOperator(undefined, undefined, true)
  const harness = await OperatorHarness.open<ModelTopicRecord, { kind: string }>({ operator })
  const inFlight = InFlightLimit.newBuffer()
  operator.handleEvent({ kind: 'let-through', version: 1, resumeOffsets: [], known: [1], inFlight })
  const idOf = ({ bytes, start, length }: ByteSpan): string =>
    new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(start, start + length - 2))
  return lines.map((line, offset) => {
    const before = harness.outputs.length
    harness.process(recordOf(line), RECORD_MS, { position: { partition: 0, offset } })
    const output = harness.outputs.slice(before).find(({ value }) => value.kind === 'rating')
    if (output === undefined) return undefined
    const { key, item, rating } = output.value as unknown as RatingRecord
    return { user: idOf(key), item: idOf(item), rating, timestamp: output.timestamp }
  })
}

const histories: Reader = async (lines) => {
  const operator = new HistoryRatingsOperator()
  const harness = await OperatorHarness.open<ModelTopicRecord, Rating>({ operator })
  return lines.map((line, offset) => {
    const before = harness.values.length
    harness.process(recordOf(line), RECORD_MS, { position: { partition: 0, offset } })
    return harness.values[before]
  })
}

/** A topic with a record for each line. */
async function topicOf(lines: readonly Buffer[]): Promise<LogTopics> {
  const topics = new LogTopics(temporaryFolder())
  await topics.create('ratings', { partitions: 1 })
  const producer = await topics.producer('ratings')
  for (const line of lines) producer.sendRecord(null, line, RECORD_MS, -1, [])
  await producer.sync()
  await producer.close()
  return topics
}

/** Also evaluation, golden sets and comparisons. */
const retraining: Reader = async (lines) => {
  await using topics = await topicOf(lines)
  const outcomes: Outcome[] = lines.map(() => undefined)
  for await (const piece of readObservations(topics, await rangesOfTopic(topics, 'ratings'))) {
    for (const { user, item, rating, timestamp, offset } of piece) {
      outcomes[offset] = { user, item, rating, timestamp }
    }
  }
  return outcomes
}

/** The time of a rating without one is that of its record, for readers of records. */
function timed(outcome: Outcome): Outcome {
  if (outcome?.timestamp !== NO_TIMESTAMP) return outcome
  return { ...outcome, timestamp: RECORD_MS }
}

it.each([
  ['a request', gateway],
  ['the learner', learner],
  ['histories', histories],
  ['retraining', retraining],
])(
  'the same lines are the same ratings for files and for %s, and the same are none',
  async (_, reader) => {
    const bad = [...LINES, Buffer.from([0x75, 0xe9, 0x2c, 0x69, 0x2c, 0x33])]
    const [expected, found] = [await file(bad), await reader(bad)]
    for (const [n, line] of bad.entries()) {
      expect(timed(found[n]), String(line)).toEqual(timed(expected[n]))
    }
    // 8 ids, 7 ratings and 9 times may stand, `a"b` only where no field begins with a quote; and a line with a mark.
    expect(expected.filter((outcome) => outcome !== undefined)).toHaveLength(979)
  },
)

it('a topic that is read as a whole has the same ratings', async () => {
  await using topics = await topicOf(LINES)
  const taken = (await file(LINES)).filter((outcome) => outcome !== undefined)
  const { table, refused } = await ratingsOfTopic(topics, 'ratings', 'none')
  expect([table.size, refused]).toEqual([taken.length, LINES.length - taken.length])
})

it('times are seconds, milliseconds or ISO 8601, and neither before 1970 nor more than a day ahead', async () => {
  const timeOf = async (time: string): Promise<number | undefined> =>
    (await file([Buffer.from(`u,i,3,${time}`)]))[0]?.timestamp
  expect(await timeOf('874965758')).toBe(874_965_758_000)
  expect(await timeOf('874965758000')).toBe(874_965_758_000)
  expect(await timeOf('2015-03-09')).toBe(Date.UTC(2015, 2, 9))
  for (const time of ['880000000000000', '1e17', '-5', '-0.001', inSeconds(2 * DAY_MS)]) {
    expect(await timeOf(time), time).toBeUndefined()
  }
})
