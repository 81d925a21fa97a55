import { describe, expect, expectTypeOf, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { Pattern } from '../../../src/dataflow/cep/pattern.ts'
import { CEP } from '../../../src/dataflow/cep/pattern-stream.ts'
import type { DataStream } from '../../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import { boundedOutOfOrderness } from '../../../src/dataflow/watermark-strategy.ts'
import type { PartOfMatch, PatternProcessFunction } from '../../../src/operators/cep/function.ts'
import { OutputTag } from '../../../src/operators/port/output-tag.ts'
import { LocalExecutor } from '../../../src/runtime/job/local-executor.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { StreamHarness } from '../../../src/testing/stream-harness.ts'
import { checkpointFolder, QUICK_RESTARTS } from '../../runtime/job-fixture.ts'
import { commitSeed } from '../../services/commit-seed.ts'

interface Login {
  readonly user: string
  readonly time: number
  readonly ok: boolean
}

const login = (user: string, time: number, ok: boolean): Login => ({ user, time, ok })
const failed = ({ ok }: Login): boolean => !ok

/** Two or more failures of a user, then a login, within 100 ms. */
const guessed = Pattern.of<Login>()
  .begin('failures')
  .where(failed)
  .timesOrMore(2)
  .greedy()
  .followedBy('login')
  .where(({ ok }) => ok)
  .within(100)
  .skipPastLastEvent()

type Guessed = typeof guessed.matchType

const environment = (): StreamExecutionEnvironment =>
  new StreamExecutionEnvironment({ executor: new LocalExecutor() })

const streamOf = (env: StreamExecutionEnvironment, logins: readonly Login[], boundMs = 1000) =>
  env
    .fromElements(
      logins,
      boundedOutOfOrderness<Login>(boundMs, { timestampOf: ({ time }) => time }),
    )
    .keyBy(({ user }) => user)

const textOf = ({ failures, login }: Guessed): string =>
  `${login[0].user}: ${failures.map(({ time }) => time).join(' ')} then ${login[0].time}`

describe('a pattern of a stream', () => {
  it('has a match for each key, its records in the order of their times', async () => {
    const env = environment()
    const logins = [
      login('ann', 30, true),
      login('bob', 10, false),
      login('ann', 20, false),
      login('ann', 10, false),
      login('bob', 30, true),
      login('ann', 40, true),
    ]
    const found = CEP.pattern(streamOf(env, logins), guessed).select(textOf)
    expect(await found.executeAndCollect('guessed', 10)).toEqual(['ann: 10 20 then 30'])
  })

  it('gives results the time and the key of the match', async () => {
    const env = environment()
    const logins = [login('ann', 10, false), login('ann', 20, false), login('ann', 30, true)]
    const found = CEP.pattern(streamOf(env, logins), guessed)
      .select((_match, { currentKey, timestamp }) => `${currentKey} ${timestamp}`)
      .process(() => ({
        processElement: (value, { timestamp }, out) => out.collect(`${value} ${timestamp}`),
      }))
    expect(await found.executeAndCollect('guessed', 10)).toEqual(['ann 30 30'])
  })

  it('has the types of its stages', () => {
    const pattern = Pattern.of<Login>()
      .begin('first')
      .next('some')
      .oneOrMore()
      .notFollowedBy('no')
      .followedBy('maybe')
      .where((record, { first, some }) => record.time > first.length + some.length)
      .optional()
      .next(Pattern.of<Login>().begin('a').next('b'))
      .within(1)
    expectTypeOf(pattern.matchType).toEqualTypeOf<{
      readonly first: readonly [Login]
      readonly some: readonly [Login, ...Login[]]
      readonly maybe: readonly [Login] | readonly []
      readonly a: readonly Login[]
      readonly b: readonly Login[]
    }>()
    const found: DataStream<number> = CEP.pattern(streamOf(environment(), []), guessed).select(
      ({ login }) => login[0].time,
    )
    expectTypeOf(found).toEqualTypeOf<DataStream<number>>()
    // @ts-expect-error the pattern has no such stage
    guessed.skipToFirst('other')
    const numbers = environment()
      .fromElements([1])
      .keyBy((n) => n)
    // @ts-expect-error it is of other records
    expect(CEP.pattern(numbers, guessed)).toBeDefined()
  })
})

describe('records of a pattern behind the watermark', () => {
  const late = new OutputTag<Login>('late')

  it('go to a side output, and match nothing; one of the time of the watermark is one of them', async () => {
    const harness = await StreamHarness.open<[Login], string>((logins) =>
      CEP.pattern(
        logins.keyBy(({ user }) => user),
        guessed,
      )
        .sideOutputLateData(late)
        .select(textOf),
    )
    harness.process(login('ann', 10, false), 10)
    harness.process(login('ann', 21, false), 21)
    harness.watermark(20)
    harness.process(login('ann', 20, true), 20)
    harness.process(login('ann', 22, true), 22)
    harness.watermark(30)
    expect(harness.sideOutput(late).map(({ value }) => value)).toEqual([login('ann', 20, true)])
    expect(harness.values).toEqual(['ann: 10 21 then 22'])
    await harness.close()
  })
})

describe('a partial match whose time is over', () => {
  const timedOut = new OutputTag<PartOfMatch<Guessed>>('timed-out')
  const open = (process: () => PatternProcessFunction<string, Guessed, string>) =>
    StreamHarness.open<[Login], string>((logins) =>
      CEP.pattern(
        logins.keyBy(({ user }) => user),
        guessed,
      )
        .sideOutputTimedOut(timedOut)
        .process(process),
    )

  it('goes to a side output and to the function, exactly when the time is over', async () => {
    const seen: string[] = []
    const harness = await open(() => ({
      processMatch: (match, _context, out) => out.collect(textOf(match)),
      processTimedOutMatch({ failures, login }, { currentKey, timestamp }) {
        seen.push(`${currentKey} ${failures.length} ${login.length} at ${timestamp}`)
      },
    }))
    harness.process(login('ann', 10, false), 10)
    harness.process(login('ann', 20, false), 20)
    harness.watermark(109)
    expect(seen).toEqual([])
    harness.watermark(110)
    expect(seen).toEqual(['ann 2 0 at 110'])
    const [first] = harness.sideOutput(timedOut)
    expect(first).toEqual({
      value: { failures: [login('ann', 10, false), login('ann', 20, false)], login: [] },
      timestamp: 110,
    })
    await harness.close()
  })

  it('is none where the last record comes one ms before, and one where it comes then', async () => {
    for (const [time, results] of [
      [109, 1],
      [110, 0],
    ] as const) {
      const harness = await open(() => ({
        processMatch: (match, _context, out) => out.collect(textOf(match)),
      }))
      harness.process(login('ann', 10, false), 10)
      harness.process(login('ann', 20, false), 20)
      harness.process(login('ann', time, true), time)
      harness.watermark(time)
      expect(harness.values, String(time)).toHaveLength(results)
      await harness.close()
    }
  })
})

describe('a job with a pattern', () => {
  const PARTITIONS = 2
  const PER_PARTITION = 1_000
  const USERS = 11
  const WITHIN_MS = 2_000

  const loginOf = (index: number, partition: number): Login =>
    login(
      `u${(index * 5 + partition) % USERS}`,
      // Each time is one record's alone, so that the order of partitions does not matter.
      (index * 10 + ((index * 7) % 40)) * PARTITIONS + partition,
      (index * 7 + partition) % 4 === 0,
    )

  function graphOf(sink: MemorySink<string>, ratePerSecond?: number): StreamGraph {
    const env = new StreamExecutionEnvironment({ parallelism: 2, maxParallelism: 16 })
    const source = new GeneratorSource<Login>({
      generate: loginOf,
      partitions: PARTITIONS,
      countPerPartition: PER_PARTITION,
      ...(ratePerSecond === undefined ? {} : { ratePerSecond }),
    })
    const keyed = env
      .fromSource(source, boundedOutOfOrderness(100, { timestampOf: ({ time }) => time }))
      .keyBy(({ user }) => user)
    const pattern = Pattern.of<Login>()
      .begin('failures')
      .where(failed)
      .timesOrMore(2)
      .followedBy('login')
      .where(({ ok }) => ok)
      .within(WITHIN_MS)
    CEP.pattern(keyed, pattern).select(textOf).sinkTo(sink)
    return env.graph('logins')
  }

  /** All matches of the job, without a pattern: two or more failures one after the other, then the first login. */
  function expectedOf(): readonly string[] {
    const all = Array.from({ length: PARTITIONS }, (_, partition) =>
      Array.from({ length: PER_PARTITION }, (_, index) => loginOf(index, partition)),
    )
    const users = Map.groupBy(
      all.flat().sort((a, b) => a.time - b.time),
      ({ user }) => user,
    )
    return [...users.values()].flatMap((logins) => {
      const failures = logins.filter(failed)
      return failures.flatMap((first, from) =>
        failures.slice(from + 1).flatMap((last, i) => {
          const login = logins.find(({ ok, time }) => ok && time > last.time)
          if (login === undefined || login.time - first.time >= WITHIN_MS) return []
          const match = { failures: failures.slice(from, from + i + 2), login: [login] }
          return [textOf(match as unknown as Guessed)]
        }),
      )
    })
  }

  it.each(['heap', 'rocksdb'])(
    'loses and repeats no match when slots are killed, with state in %s',
    async (backend) => {
      const expected = expectedOf().toSorted()
      expect(expected.length).toBeGreaterThan(500)
      using folder = checkpointFolder()
      await using cluster = new MiniCluster({
        configuration: {
          ...QUICK_RESTARTS,
          'state.backend.type': backend,
          'execution.checkpointing.dir': folder.path,
          'execution.checkpointing.interval': '10 ms',
        },
      })
      const sink = new MemorySink<string>('exactly-once')
      const job = cluster.startLocal(graphOf(sink, 4 * PER_PARTITION))
      const random = seededRandom(commitSeed())
      for (let kill = 0; kill < 3; kill++) {
        await job.waitFor('RUNNING')
        const turns = 20 + random.below(150)
        for (let i = 0; i < turns && job.status === 'RUNNING'; i++) await turn()
        if (job.status !== 'RUNNING') break
        job.killSlot(random.below(2))
        while (job.status === 'RUNNING') await turn()
        // The slot had already ended.
        if (job.status === 'FINISHED') break
      }
      await job.result
      expect(job.attempt).toBeGreaterThan(1)
      expect(sink.values.toSorted()).toEqual(expected)
    },
  )
})

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
