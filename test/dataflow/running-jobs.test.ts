import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import { rawKeySerializer } from '../../src/core/formats/plain-key-serializer.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness, noWatermarks } from '../../src/dataflow/watermark-strategy.ts'
import { OutputTag } from '../../src/operators/port/output-tag.ts'
import {
  eventTimeSessionWindows,
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
} from '../../src/operators/windows/assigner.ts'
import { LocalExecutor } from '../../src/runtime/job/local-executor.ts'
import { mapState, valueState } from '../../src/state/port/descriptors.ts'
import type { ValueState } from '../../src/state/port/handles.ts'

interface Event {
  readonly user: number
  readonly time: number
}

const COUNT = 400
const PARTITIONS = 3
const USERS = 11

/** Event `index` of a partition. Its time is less than 20 behind that of an earlier one. */
const eventOf = (index: number, partition: number): Event => ({
  user: (index * 7 + partition) % USERS,
  time: index * 10 + ((index * 13) % 20),
})

const all: readonly Event[] = Array.from({ length: PARTITIONS }, (_, partition) =>
  Array.from({ length: COUNT }, (_, index) => eventOf(index, partition)),
).flat()

const environment = (parallelism = 2): StreamExecutionEnvironment =>
  new StreamExecutionEnvironment({ parallelism, executor: new LocalExecutor() })

const events = (env: StreamExecutionEnvironment, watermarks = true) =>
  env.fromSource(
    new GeneratorSource<Event>({
      generate: eventOf,
      partitions: PARTITIONS,
      countPerPartition: COUNT,
    }),
    watermarks
      ? boundedOutOfOrderness<Event>(20, { timestampOf: (event) => event.time })
      : noWatermarks<Event>(),
    'Events',
  )

const sorted = <T>(values: readonly T[]): T[] =>
  [...values].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))

/** Events per user and window. */
function countWindows(size: number, slide: number): [number, number, number][] {
  const counts = new Map<string, number>()
  for (const { user, time } of all) {
    for (let start = -size + slide; start <= time; start += slide) {
      if (time >= start + size) continue
      const id = JSON.stringify([user, start])
      counts.set(id, (counts.get(id) ?? 0) + 1)
    }
  }
  return [...counts].map(([id, count]) => [...(JSON.parse(id) as [number, number]), count])
}

const counting = {
  createAccumulator: () => 0,
  add: (_: Event, count: number) => count + 1,
  getResult: (count: number) => count,
  merge: (a: number, b: number) => a + b,
}

describe('jobs on the local executor', () => {
  it('count tumbling and sliding windows exactly, at parallelism 1 and 3', async () => {
    for (const parallelism of [1, 3]) {
      const env = environment(parallelism)
      const keyed = events(env).keyBy((event) => event.user)
      const sinks = [100, 50].map((slide) => {
        const sink = new MemorySink<[number, number, number]>()
        keyed
          .window(slide === 100 ? tumblingEventTimeWindows(100) : slidingEventTimeWindows(100, 50))
          .aggregate(counting, {}, () => ({
            process: (user, { window }, [count], out) => out.collect([user, window.start, count!]),
          }))
          .sinkTo(sink)
        return sink
      })
      await env.execute()
      expect(sorted(sinks[0]!.values)).toEqual(sorted(countWindows(100, 100)))
      expect(sorted(sinks[1]!.values)).toEqual(sorted(countWindows(100, 50)))
    }
  })

  it('make watermarks in the middle of a stream', async () => {
    const env = environment()
    const sink = new MemorySink<number>()
    events(env, false)
      .rebalance()
      .filter(() => true)
      .assignTimestampsAndWatermarks(
        boundedOutOfOrderness(4000, { timestampOf: (event) => event.time }),
      )
      .keyBy((event) => event.user)
      .window(eventTimeSessionWindows(100_000))
      .aggregate(counting)
      .sinkTo(sink)
    await env.execute()
    expect(sink.values).toHaveLength(USERS)
    expect(sink.values.reduce((a, b) => a + b)).toBe(all.length)
  })

  it('fire timers of every key at the end of the input', async () => {
    const env = environment()
    const sink = new MemorySink<string>()
    events(env)
      .keyBy((event) => Uint8Array.of(event.user), rawKeySerializer)
      .process<string>(() => {
        let count: ValueState<number>
        return {
          open(context) {
            count = context.getState(valueState<number>('count'))
          },
          processElement(_, context) {
            count.update((count.value() ?? 0) + 1)
            context.timerService.registerEventTimeTimer(1_000_000)
          },
          onTimer: (_, context, out) => out.collect(`${context.currentKey[0]}: ${count.value()}`),
        }
      })
      .sinkTo(sink)
    await env.execute()
    const expected = Array.from({ length: USERS }, (_, user) => {
      return `${user}: ${all.filter((event) => event.user === user).length}`
    })
    expect(sorted(sink.values)).toEqual(sorted(expected))
  })

  it('split, connect and unite streams without losing a record', async () => {
    const env = environment()
    const odd = new OutputTag<Event>('odd')
    const sink = new MemorySink<string>()
    const even = events(env).process<Event>(() => ({
      sideOutputs: [odd],
      processElement(event, context, out) {
        if (event.user % 2 === 1) context.output(odd, event)
        else out.collect(event)
      },
    }))
    const odds = even
      .getSideOutput(odd)
      .rebalance()
      .map((event) => ({ ...event, odd: true }))
    const evens = even.map((event) => ({ ...event, odd: false }))
    evens
      .union(odds)
      .map((event) => `${event.user} ${event.time} ${event.odd}`)
      .setParallelism(1)
      .sinkTo(sink)
    await env.execute()
    const expected = all.map((event) => `${event.user} ${event.time} ${event.user % 2 === 1}`)
    expect(sorted(sink.values)).toEqual(sorted(expected))
  })

  it('read two keyed streams with one state per key', async () => {
    const env = environment()
    const sink = new MemorySink<string>()
    const names = Array.from({ length: USERS }, (_, user) => ({ user, name: `user ${user}` }))
    events(env)
      .connect(env.fromElements(names))
      .keyBy(
        (event) => event.user,
        (name) => name.user,
      )
      .process<string>(() => {
        let name: ValueState<string>
        let waiting: ValueState<number>
        return {
          open(context) {
            name = context.getState(valueState<string>('name'))
            waiting = context.getState(valueState<number>('waiting'))
          },
          processElement1(_event, _context, out) {
            const known = name.value()
            if (known === undefined) waiting.update((waiting.value() ?? 0) + 1)
            else out.collect(known)
          },
          processElement2(value, _, out) {
            name.update(value.name)
            for (let i = waiting.value() ?? 0; i > 0; i--) out.collect(value.name)
          },
        }
      })
      .sinkTo(sink)
    await env.execute()
    expect(sorted(sink.values)).toEqual(sorted(all.map((event) => `user ${event.user}`)))
  })

  it('bring every rule of a broadcast stream to every subtask', async () => {
    const env = environment(3)
    const rules = mapState<string, number>('rules')
    const sink = new MemorySink<string>()
    events(env)
      .connect(env.fromElements([1, 2, 3, 4]).broadcast(rules))
      .process<string>(() => ({
        processElement: () => undefined,
        processBroadcastElement(rule, context, out) {
          const state = context.getBroadcastState(rules)
          state.put(`rule ${rule}`, rule)
          out.collect(`${context.subtask}: ${state.size}`)
        },
      }))
      .sinkTo(sink)
    await env.execute()
    const expected = [0, 1, 2].flatMap((subtask) => [1, 2, 3, 4].map((n) => `${subtask}: ${n}`))
    expect(sorted(sink.values)).toEqual(sorted(expected))
  })
})
