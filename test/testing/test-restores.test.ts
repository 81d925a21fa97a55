import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../src/connectors/memory/source.ts'
import { AsyncDataStream } from '../../src/dataflow/async/data-stream.ts'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness } from '../../src/dataflow/watermark-strategy.ts'
import type {
  Collector,
  KeyedFunctionContext,
  KeyedProcessFunction,
} from '../../src/operators/process/function.ts'
import { tumblingEventTimeWindows } from '../../src/operators/windows/assigner.ts'
import { valueState } from '../../src/state/port/descriptors.ts'
import type { ValueState } from '../../src/state/port/handles.ts'
import { type JobBuilder, testRestores } from '../../src/testing/test-restores.ts'
import type { TimedEvent } from '../../src/testing/timed-events.ts'

interface Visit {
  readonly page: string
  readonly time: number
}

const times = Array.from({ length: 60 }, (_, i) => (i * 37) % 500)
const visits: readonly TimedEvent[] = times.map((time, i) => ({
  value: { page: `page-${i % 3}`, time },
}))

/** A job over visits that are at most 100 ms late. */
const jobOf =
  <OUT>(stream: (visits: DataStream<Visit>) => DataStream<OUT>): JobBuilder =>
  () => {
    const env = new StreamExecutionEnvironment({ jobName: 'visits' })
    const strategy = boundedOutOfOrderness<Visit>(100, { timestampOf: ({ time }) => time })
    stream(env.fromSource(new MemorySource<Visit>([[]]), strategy, 'Visits').uid('visits'))
      .sinkTo(new MemorySink<OUT>())
      .uid('out')
    return env.graph()
  }

/** Counts by key, in state or in what `count` keeps outside of it. */
const counting = (
  create: () => Pick<KeyedProcessFunction<string, Visit, string>, 'open' | 'processElement'>,
) => jobOf((stream) => stream.keyBy(({ page }) => page).process<string>(create))

class InState implements KeyedProcessFunction<string, Visit, string> {
  private count!: ValueState<number>

  open(context: KeyedFunctionContext): void {
    this.count = context.getState(valueState<number>('count'))
  }

  processElement({ page }: Visit, _: unknown, out: Collector<string>): void {
    const next = (this.count.value() ?? 0) + 1
    this.count.update(next)
    out.collect(`${page} ${next}`)
  }
}

class InField implements KeyedProcessFunction<string, Visit, string> {
  private readonly counts = new Map<string, number>()

  processElement({ page }: Visit, _: unknown, out: Collector<string>): void {
    const next = (this.counts.get(page) ?? 0) + 1
    this.counts.set(page, next)
    out.collect(`${page} ${next}`)
  }
}

describe('testRestores', () => {
  it('passes a job whose counts are in state, and says how much it has compared', async () => {
    const report = await testRestores(
      counting(() => new InState()),
      visits,
      { seed: 3, runs: 15 },
    )
    expect(report).toMatchObject({ verdict: 'passed', seed: 3, events: 60, runs: 15, failures: [] })
    expect(report.results).toEqual({ out: 60 })
    expect(report.kills).toBeGreaterThanOrEqual(15)
  })

  it('finds a count that a function keeps in a field, with the results and the kills', async () => {
    const report = await testRestores(
      counting(() => new InField()),
      visits,
    )
    expect(report.verdict).toBe('failed')
    const first = report.failures[0]!
    expect(first.sink).toBe('out')
    expect(first.kills.some(({ checkpoint }) => checkpoint > 0)).toBe(true)
    // Each lost count is one too high for a count that began again.
    expect(first.lost).toHaveLength(first.wrong.length)
    expect(first.lost).not.toEqual(first.wrong)
  })

  it('draws the same kills from the same seed, and others from another', async () => {
    const build = counting(() => new InField())
    const of = async (seed: number) =>
      (await testRestores(build, visits, { seed, runs: 5 })).failures
    const [first, again, other] = [await of(4), await of(4), await of(5)]
    expect(again).toEqual(first)
    expect(other).not.toEqual(first)
  })

  it('passes windows with lateness, whose late records fire them again behind a restore', async () => {
    const build = jobOf((stream) =>
      stream
        .keyBy(({ page }) => page)
        .window(tumblingEventTimeWindows(50))
        .allowedLateness(150)
        .reduce((a, b) => ({ page: a.page, time: a.time + b.time })),
    )
    expect(await testRestores(build, visits, { runs: 40 })).toMatchObject({ verdict: 'passed' })
  })

  it('passes asynchronous functions, whose records in flight are in the checkpoint', async () => {
    const build = jobOf((stream) =>
      AsyncDataStream.unorderedWait(
        stream,
        () => ({
          asyncInvoke: async ({ page, time }: Visit) => {
            for (let turn = 0; turn < time % 4; turn++) await setImmediate()
            return [`${page} ${time}`]
          },
        }),
        { timeoutMs: 60_000 },
      ),
    )
    expect(await testRestores(build, visits, { runs: 5 })).toMatchObject({ verdict: 'passed' })
  })

  it('moves the clock, and restores it', async () => {
    const build = jobOf((stream) =>
      stream
        .keyBy(({ page }) => page)
        .process<string>(() => ({
          processElement({ page }, { timerService }) {
            if (page === 'page-1') return
            timerService.registerProcessingTimeTimer(timerService.currentProcessingTime + 1000)
          },
          onTimer(time, context, out) {
            out.collect(`${context.currentKey} ${time}`)
          },
        })),
    )
    const events = visits.flatMap((event, i) => [event, { clock: (i + 1) * 100 }])
    const report = await testRestores(build, events)
    // Timers of two of three keys, but for those that are later than the last clock of 6,000 ms.
    const due = visits.filter((_, i) => i % 3 !== 1 && i * 100 + 1000 <= 6000).length
    expect(report).toMatchObject({ verdict: 'passed', results: { out: due } })
  })

  it('compares nothing where two runs without kills differ, or no result comes out', async () => {
    let calls = 0
    const changing = jobOf((stream) => stream.map(({ page }) => `${page} ${calls++}`))
    expect(await testRestores(changing, visits)).toMatchObject({
      verdict: 'not-repeatable',
      runs: 0,
    })
    const silent = jobOf((stream) => stream.filter(() => false))
    expect(await testRestores(silent, visits)).toMatchObject({ verdict: 'no-results', runs: 0 })
    expect(await testRestores(silent, [])).toMatchObject({ verdict: 'no-results', runs: 0 })
  })

  it('says at which event which operator threw', async () => {
    const build = jobOf((stream) =>
      stream
        .map(({ time }) => {
          if (time === 37 * 4) throw new Error('no such page')
          return time
        })
        .uid('times')
        .name('Times'),
    )
    await expect(testRestores(build, visits)).rejects.toMatchObject({
      code: 'OPERATOR_FAILED',
      message: expect.stringContaining('at event 5 operator "Times (times)" threw: no such page'),
    })
  })

  it('counts an error that only a run with kills has', async () => {
    let starts = 0
    const build: JobBuilder = () => {
      starts += 1
      const throws = starts > 2
      return counting(() => ({
        processElement({ page }, _context, out) {
          if (throws) throw new Error('the second start differs')
          out.collect(page)
        },
      }))()
    }
    const { verdict, failures } = await testRestores(build, visits, { runs: 2 })
    expect(verdict).toBe('failed')
    expect(failures.map(({ error }) => error)).toEqual([
      expect.stringContaining('the second start differs'),
      expect.stringContaining('the second start differs'),
    ])
  })

  it('leaves out the records that onError skips, and gives each branch a record of its own', async () => {
    const build = jobOf((stream) => {
      const changed = stream
        .map((visit) => {
          const mutable = visit as { page: string; time: number }
          mutable.page = 'changed'
          if (visit.time > 400) throw new Error('late')
          return mutable.page
        })
        .onError('skip')
      return stream.map(({ page }) => page).union(changed)
    })
    const kept = times.filter((time) => time <= 400).length
    const report = await testRestores(build, visits, { runs: 3 })
    expect(report).toMatchObject({ verdict: 'passed', results: { out: visits.length + kept } })
  })
})
