import { describe, expect, it } from 'vitest'
import { stringSerializer } from '../../src/core/serializer.ts'
import type { ConnectOptions } from '../../src/dataflow/connected-streams.ts'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness } from '../../src/dataflow/watermark-strategy.ts'
import { LatestValueOperator } from '../../src/operators/basic/latest-value.ts'
import { OutputTag } from '../../src/operators/port/output-tag.ts'
import type { Sink } from '../../src/operators/port/sink.ts'
import type { ProcessFunction } from '../../src/operators/process/function.ts'
import {
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
} from '../../src/operators/windows/assigner.ts'
import { mapState, valueState } from '../../src/state/port/descriptors.ts'

const nowhere = { guarantee: 'none', createWriter: () => ({}) } as unknown as Sink<unknown>
const sum = (a: number, b: number): number => a + b
const parity = (n: number): string => (n % 2 === 0 ? 'even' : 'odd')

type Build = (stream: DataStream<number>, env: StreamExecutionEnvironment) => unknown

function messages(build: Build, severity: 'error' | 'warning' = 'error'): string[] {
  const env = new StreamExecutionEnvironment({ parallelism: 2 })
  build(env.fromElements([1, 2, 3]), env)
  return env
    .validate()
    .filter((issue) => issue.severity === severity)
    .map((issue) => issue.message)
}

describe('graph validation', () => {
  it('passes a job that breaks no rule', () => {
    const build: Build = (stream) => stream.keyBy(parity).reduce(sum).sinkTo(nowhere)
    expect(messages(build)).toEqual([])
    expect(messages(build, 'warning')).toEqual([])
  })

  it('refuses a job without source', () => {
    expect(() => new StreamExecutionEnvironment().graph()).toThrow(
      'the job has no source: begin with fromSource(...)',
    )
  })

  it('refuses more sources than a position can name, and takes as many', () => {
    const withSources = (count: number): Build => {
      return (stream, env) => {
        stream.sinkTo(nowhere)
        for (let n = 1; n < count; n++) env.fromElements([n]).sinkTo(nowhere)
      }
    }
    expect(messages(withSources(127))).toEqual([])
    expect(messages(withSources(128))).toEqual([
      'the job has 128 sources: a position can name one of 127; split the job into several',
    ])
  })

  it('refuses a uid with other characters', () => {
    expect(messages((stream) => stream.map(String).uid('a b').sinkTo(nowhere))).toEqual([
      'operator "Map" has the uid "a b": a uid is 1 to 128 letters, digits, ".", "_" or "-" and begins with a letter or digit',
    ])
  })

  it('refuses a uid that two operators have', () => {
    expect(
      messages((stream) => stream.uid('x').map(String).name('Text').uid('x').sinkTo(nowhere)),
    ).toEqual([
      'operators "Elements" and "Text" both have the uid "x": give each its own uid, because a restore finds state by uid',
    ])
  })

  it('refuses a parallelism above the max parallelism', () => {
    expect(
      messages((stream) =>
        stream.map(String).setParallelism(8).setMaxParallelism(4).sinkTo(nowhere),
      )[0],
    ).toBe(
      'operator "Map" has parallelism 8 above its max parallelism 4: lower the one or raise the other with setMaxParallelism(...)',
    )
  })

  it('refuses a parallelism that is no whole number from 1', () => {
    expect(() =>
      messages((stream) => stream.map(String).setParallelism(0).sinkTo(nowhere)),
    ).toThrow(
      'setParallelism(...): parallelism must be a whole number from 1 to 32768, not the number 0',
    )
  })

  it('refuses forward() between operators of unequal parallelism', () => {
    expect(
      messages((stream) =>
        stream.map(String).forward().map(String).name('Next').setParallelism(3).sinkTo(nowhere),
      )[0],
    ).toBe(
      'forward() from operator "Map" with parallelism 2 to operator "Next" with parallelism 3: set the same parallelism, or use rebalance()',
    )
  })

  it('refuses a side output of an operator that has none', () => {
    const tag = new OutputTag<string>('late')
    expect(
      messages((stream) => stream.map(String).getSideOutput(tag).sinkTo(nowhere)),
    ).toContainEqual(
      'getSideOutput("late") of operator "Map", which has no side outputs: emit to the tag in process(...), or declare it with sideOutputLateData(...) of a window',
    )
  })

  it('refuses a side output that the function does not declare', () => {
    const create = (): ProcessFunction<number, number> => ({
      sideOutputs: [new OutputTag('big')],
      processElement: () => undefined,
    })
    const tag = new OutputTag<number>('small')
    expect(
      messages((stream) => stream.process(create).getSideOutput(tag).sinkTo(nowhere)),
    ).toContainEqual(
      'getSideOutput("small") of operator "Process", which emits only "big": use one of these, or declare the tag in the function\'s sideOutputs',
    )
  })

  it('refuses one side output read with two serializers', () => {
    const build: Build = (stream) => {
      const main = stream.process<number>(() => ({ processElement: () => undefined }))
      main.getSideOutput(new OutputTag<string>('x')).sinkTo(nowhere)
      main.getSideOutput(new OutputTag<string>('x', stringSerializer)).sinkTo(nowhere)
    }
    expect(messages(build)).toEqual([
      'the side output "x" of operator "Process" is read with the serializers msgpack/1 and string/1: use one OutputTag object everywhere',
    ])
  })

  it('refuses an operator with keyed state on a stream that is not keyed', () => {
    const create = () => new LatestValueOperator(valueState('latest'))
    expect(
      messages((stream) => stream.transform('Latest', create, { needsKey: true, isSink: true })),
    ).toEqual([
      'operator "Latest" uses keyed state but its input is not keyed: call keyBy(...) before it',
    ])
  })

  it('refuses timers on a stream that is not keyed', () => {
    const create = () => ({ processElement: () => undefined, onTimer: () => undefined })
    expect(messages((stream) => stream.process<number>(create).sinkTo(nowhere))).toEqual([
      'the function of operator "Process" has an onTimer, but its input is not keyed and timers belong to keys: call keyBy(...) before process(...)',
    ])
  })

  it('refuses the union of a stream with itself', () => {
    expect(messages((stream) => stream.union(stream).map(String).sinkTo(nowhere))).toEqual([
      'the union into operator "Map" reads the stream of operator "Elements" twice: every record would arrive twice, so remove one of the two',
    ])
  })

  it('accepts one stream on both inputs of an operator', () => {
    const build: Build = (stream) =>
      stream
        .connect(stream)
        .process<number>(() => ({ processElement1() {}, processElement2() {} }))
        .sinkTo(nowhere)
    expect(messages(build)).toEqual([])
  })

  it('refuses event-time windows without watermarks', () => {
    expect(
      messages((stream) =>
        stream.keyBy(parity).window(tumblingEventTimeWindows(10)).reduce(sum).sinkTo(nowhere),
      ),
    ).toEqual([
      'operator "Window" works in event time, but not all of its inputs have watermarks: give fromSource, or the table by its option watermarks, a strategy such as boundedOutOfOrderness(...), or call assignTimestampsAndWatermarks before it',
    ])
  })

  it('accepts event-time windows after assignTimestampsAndWatermarks', () => {
    const build: Build = (stream) =>
      stream
        .assignTimestampsAndWatermarks(boundedOutOfOrderness(5, { timestampOf: (n) => n }))
        .map((n) => n)
        .keyBy(parity)
        .window(tumblingEventTimeWindows(10))
        .reduce(sum)
        .sinkTo(nowhere)
    expect(messages(build)).toEqual([])
  })

  it('refuses unequal max parallelism on a forward edge of a keyed operator', () => {
    const build: Build = (stream) =>
      stream
        .keyBy(parity)
        .reduce(sum)
        .setMaxParallelism(64)
        .map(String)
        .setMaxParallelism(32)
        .sinkTo(nowhere)
    expect(messages(build)).toEqual([
      'operator "Reduce" has max parallelism 64 and operator "Map", joined to it by a forward edge, has 32: their key groups would be in different subtasks, so set the same setMaxParallelism(...) or put rebalance() between them',
    ])
  })

  it('refuses reinterpretAsKeyedStream before an operator of another parallelism', () => {
    const keyed = (parallelism: number): Build => {
      return (stream) =>
        stream
          .map(String)
          .reinterpretAsKeyedStream((text) => text)
          .reduce((a) => a)
          .setParallelism(parallelism)
          .sinkTo(nowhere)
    }
    expect(messages(keyed(2))).toEqual([])
    expect(messages(keyed(3))).toEqual([
      'operator "Reduce" reads the stream of operator "Map" as already keyed, but they have the parallelism 3 and 2: set the same setParallelism(...) or call keyBy(...) instead',
    ])
  })

  it('gives an operator the max parallelism of its forward input', () => {
    const env = new StreamExecutionEnvironment({ parallelism: 2, maxParallelism: 128 })
    env.fromElements([1]).keyBy(parity).reduce(sum).setMaxParallelism(64).sinkTo(nowhere)
    expect(env.graph().nodes.map((node) => node.maxParallelism)).toEqual([128, 64, 64])
  })

  it('refuses to connect streams whose keys are encoded differently', () => {
    const build: Build = (stream) =>
      stream
        .keyBy(parity)
        .connect(stream.keyBy(parity, stringSerializer))
        .process<number>(() => ({ processElement1() {}, processElement2() {} }))
        .sinkTo(nowhere)
    expect(messages(build)).toEqual([
      'operator "KeyedCoProcess" connects streams whose keys have the serializers key/1 and string/1: equal keys would have different bytes, so give keyBy(...) the same serializer on both sides',
    ])
  })

  it('refuses a sink as input', () => {
    const create = () => new LatestValueOperator(valueState('latest'))
    const build: Build = (stream) =>
      stream.keyBy(parity).transform<number>('End', create, { isSink: true }).sinkTo(nowhere)
    expect(messages(build)).toEqual([
      'operator "Sink" reads from operator "End", which is a sink and emits nothing: read from the stream before it',
    ])
  })

  it('refuses two broadcast states with the same name', () => {
    const build = (other: ReturnType<typeof mapState<string, number>>): Build => {
      const states = [mapState<string, number>('rules'), other] as const
      return (stream) =>
        stream
          .connect(stream.map(String).broadcast(...states))
          .process<number>(() => ({ processElement() {}, processBroadcastElement() {} }))
          .sinkTo(nowhere)
    }
    expect(messages(build(mapState('rules')))).toEqual([
      'broadcast(...) before operator "BroadcastProcess" lists the state "rules" twice: remove one',
    ])
    expect(messages(build(mapState('rules', { keySerializer: stringSerializer })))).toEqual([
      'broadcast(...) before operator "BroadcastProcess" lists the state "rules" with the serializers msgpack/1, msgpack/1 and string/1, msgpack/1: give each state its own name',
    ])
  })

  it('warns of main and side streams that no operator reads', () => {
    const tag = new OutputTag<number>('big')
    const build: Build = (stream) => {
      stream.process<number>(() => ({ processElement: () => undefined })).getSideOutput(tag)
    }
    expect(messages(build)).toEqual([])
    expect(messages(build, 'warning')).toEqual([
      'no operator reads the stream of operator "Process": end it with sinkTo(...), asQueryableState(...) or discard(), or remove the operator',
      'no operator reads the side output "big" of operator "Process": end it with sinkTo(...), or remove getSideOutput',
    ])
  })

  it('does not warn of a stream that discard() ends', () => {
    expect(messages((stream) => stream.map(String).discard(), 'warning')).toEqual([])
  })

  it('warns of windows so fine that each record is in thousands of them, but not of sums in slices', () => {
    const fine = (stream: DataStream<number>) =>
      stream
        .assignTimestampsAndWatermarks(
          boundedOutOfOrderness<number>(0, { timestampOf: (time) => time }),
        )
        .keyBy(parity)
        .window(slidingEventTimeWindows(60_000, 10))
    expect(messages((stream) => fine(stream).reduce(sum).discard(), 'warning')).toEqual([
      expect.stringContaining('adds each record to 6,000 windows, each with a copy of it'),
    ])
    const declared: Build = (stream) => fine(stream).reduce(sum, { associative: true }).discard()
    expect(messages(declared, 'warning')).toEqual([])
  })

  it('warns of records that may come before their broadcast rules, unless the job says which order it needs', () => {
    const rules = mapState<string, number>('rules')
    const connected =
      (options?: ConnectOptions): Build =>
      (stream, env) =>
        stream
          .connect(env.fromElements([2]).broadcast(rules), options)
          .process(() => ({ processElement() {}, processBroadcastElement() {} }))
          .discard()
    expect(messages(connected(), 'warning')).toEqual([
      expect.stringContaining("connect(..., { wait: 'loaded' }) reads it first"),
    ])
    for (const wait of ['loaded', 'nothing'] as const) {
      expect(messages(connected({ wait }), 'warning')).toEqual([])
    }
  })

  it('reports all errors in one', () => {
    const env = new StreamExecutionEnvironment()
    const stream = env.fromElements([1])
    stream.union(stream).map(String).uid('?').sinkTo(nowhere)
    expect(() => env.graph()).toThrow(/has the uid "\?".*\n.*reads the stream/)
  })

  it('refuses settings of a union, which has no operator', () => {
    const env = new StreamExecutionEnvironment()
    const union = env.fromElements([1]).union(env.fromElements([2]))
    expect(() => union.uid('x')).toThrow(/a union has no operator/)
  })
})
