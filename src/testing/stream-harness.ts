import { MemorySource } from '../connectors/memory/source.ts'
import { WeirError } from '../core/errors.ts'
import { aFunction, count, objectWith, recordOf } from '../core/options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../core/options/shape.ts'
import { MAX_TIMESTAMP } from '../core/time.ts'
import type { DataStream } from '../dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../dataflow/stream-graph.ts'
import { monotonousTimestamps } from '../dataflow/watermark-strategy.ts'
import { DiscardingSink } from '../operators/basic/discarding-sink.ts'
import { requireTime } from '../operators/port/event-time.ts'
import { type OutputTag, requireTag } from '../operators/port/output-tag.ts'
import { HarnessGraph, type StreamHarnessSnapshot } from './harness-graph.ts'
import type { HarnessNode } from './harness-node.ts'
import type { HarnessSnapshot } from './harness-snapshot.ts'
import type { HarnessStates } from './harness-states.ts'
import { MANUAL_CLOCK, ManualClock } from './manual-clock.ts'
import type { HarnessRecord } from './operator-harness.ts'

/** The streams that a test feeds, by their types. */
export type HarnessInputs<IN extends readonly unknown[]> = {
  readonly [I in keyof IN]: DataStream<IN[I]>
}

/** Options of a stream harness. */
export interface StreamHarnessOptions {
  /** @default one that starts at 0 */
  readonly clock?: ManualClock
  /** A snapshot of a harness of the same stream. */
  readonly restore?: StreamHarnessSnapshot
}

const STREAM_HARNESS: OptionShape<StreamHarnessOptions> = {
  clock: MANUAL_CLOCK,
  restore: recordOf(objectWith<HarnessSnapshot>('a snapshot of a harness')),
}

/** Start of the names of the sources. */
const INPUT = 'Input '

/**
 * Runs a stream in a test, as a job of one subtask does, but step by step: the test feeds its inputs with records
 * and watermarks, advances the clock, and reads what comes out. For windows, joins, asynchronous and broadcast
 * functions, and all that is made of several operators.
 */
export class StreamHarness<IN extends readonly unknown[], OUT> {
  readonly clock: ManualClock
  private readonly inputs: readonly HarnessNode[]
  private readonly operators: HarnessGraph
  private readonly last: HarnessNode

  /**
   * Builds a stream from its inputs, and opens its operators:
   * `StreamHarness.open<[Ride, Fare], string>((rides, fares) => rides.join(fares)...)`. Throws INVALID_GRAPH as a job.
   */
  static async open<IN extends readonly unknown[], OUT>(
    build: (...inputs: HarnessInputs<IN>) => DataStream<OUT>,
    options: StreamHarnessOptions = {},
  ): Promise<StreamHarness<IN, OUT>> {
    checkArgument('StreamHarness.open', 'build', aFunction(), build)
    checkOptions('StreamHarness.open', STREAM_HARNESS, options)
    const clock = options.clock ?? new ManualClock()
    const graph = graphOf(build)
    // What follows the stream comes last. Queryable state before it stays.
    const sink = graph.nodes.findLast((node) => node.isSink)!
    const from = graph.edges.find(({ to }) => to === sink.id)!.from
    const operators = await HarnessGraph.open(
      { ...graph, nodes: graph.nodes.filter((node) => !node.isSink || node.isStore) },
      { clock, restore: options.restore },
    )
    return new StreamHarness(operators, from)
  }

  private constructor(operators: HarnessGraph, last: number) {
    this.clock = operators.clock
    this.operators = operators
    // In the order of the function's parameters.
    this.inputs = operators.nodes
      .filter((node) => node.isInput)
      .sort((a, b) => inputNumber(a) - inputNumber(b))
    this.last = operators.nodes.find(({ id }) => id === last)!
  }

  /** Results, oldest first. */
  get outputs(): readonly HarnessRecord<OUT>[] {
    return this.last.results as HarnessRecord<OUT>[]
  }

  /** Values of the results, oldest first. */
  get values(): OUT[] {
    return this.outputs.map(({ value }) => value)
  }

  /** Removes and returns the values of the results so far. */
  take(): OUT[] {
    return this.last.results.splice(0).map(({ value }) => value as OUT)
  }

  /** Watermarks that came out, oldest first. */
  get watermarks(): readonly number[] {
    return this.last.emittedWatermarks
  }

  /** Records that an operator emitted to a side output, oldest first. */
  sideOutput<T>(tag: OutputTag<T>): HarnessRecord<T>[] {
    requireTag(tag, 'harness.sideOutput')
    return this.operators.nodes.flatMap((node) => node.sideOutput(tag))
  }

  /** Reads the state of the operators by its descriptors. */
  get states(): HarnessStates {
    return this.operators.states
  }

  /** Feeds one record to an input. */
  process<I extends number = 0>(value: IN[I], timestamp = -1, input: I = 0 as I): void {
    requireTime(timestamp, 'the timestamp of a record')
    this.inputOf(input).feed(value, timestamp)
  }

  /** Advances the watermark of one input, or of all. */
  watermark(timestamp: number, input?: number): void {
    requireTime(timestamp, 'a watermark')
    const inputs = input === undefined ? this.inputs : [this.inputOf(input)]
    for (const node of inputs) node.emitWatermark(timestamp)
  }

  /** Advances the wall clock; due processing-time timers fire. */
  advanceTime(ms: number): void {
    this.operators.advanceTime(ms)
  }

  /** Lets promises settle, and emits the results of asynchronous functions that are there. */
  async settle(): Promise<void> {
    await this.operators.settle()
  }

  /** Ends all inputs: the last watermark, then the end. */
  endInput(): void {
    this.watermark(MAX_TIMESTAMP)
    this.operators.end()
  }

  /** Entries of keyed state of all keys and windows, without timers. */
  numKeyedStateEntries(): number {
    return this.sum((node) => node.harness?.numKeyedStateEntries())
  }

  /** Event-time timers of all keys; a window has one. */
  numEventTimeTimers(): number {
    return this.sum((node) => node.harness?.numEventTimeTimers())
  }

  /** Processing-time timers of all keys. */
  numProcessingTimeTimers(): number {
    return this.sum((node) => node.harness?.numProcessingTimeTimers())
  }

  /** Takes a snapshot of all state. */
  async snapshot(checkpointId = 1): Promise<StreamHarnessSnapshot> {
    checkArgument('harness.snapshot', 'checkpointId', count, checkpointId)
    return await this.operators.snapshot(checkpointId)
  }

  /** Closes the operators and their state. */
  async close(): Promise<void> {
    await this.operators.close()
  }

  private sum(count: (node: HarnessNode) => number | undefined): number {
    return this.operators.nodes.reduce((total, node) => total + (count(node) ?? 0), 0)
  }

  private inputOf(input: number): HarnessNode {
    const node = this.inputs[input]
    if (node !== undefined) return node
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the stream has ${this.inputs.length} inputs, counted from 0; there is no input ${input}`,
    )
  }
}

function inputNumber({ name }: HarnessNode): number {
  return Number(name.slice(INPUT.length))
}

/** The graph of the stream, with a source for each parameter of the function. */
function graphOf<IN extends readonly unknown[], OUT>(
  build: (...inputs: HarnessInputs<IN>) => DataStream<OUT>,
): StreamGraph {
  const env = new StreamExecutionEnvironment()
  const inputs = Array.from({ length: Math.max(1, build.length) }, (_, i) =>
    env.fromSource(new MemorySource([[]]), monotonousTimestamps(), `${INPUT}${i}`),
  )
  build(...(inputs as unknown as HarnessInputs<IN>)).sinkTo(new DiscardingSink())
  return env.graph('harness')
}
