import { systemClock } from '../core/clock.ts'
import { messageOf, WeirError } from '../core/errors.ts'
import { deepCopy } from '../core/formats/deep-copy.ts'
import { count, type OptionKind, objectWith, recordOf } from '../core/options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../core/options/shape.ts'
import { nearestWord } from '../core/text/nearest-word.ts'
import { MAX_TIMESTAMP, NO_TIMESTAMP } from '../core/time.ts'
import type { StreamGraph, StreamNode } from '../dataflow/stream-graph.ts'
import { MapOperator } from '../operators/basic/map.ts'
import { TimestampsAndWatermarksOperator } from '../operators/basic/timestamps-and-watermarks.ts'
import { culpritOf } from '../runtime/subtask/operator-failure.ts'
import { HarnessGraph, type StreamHarnessSnapshot } from './harness-graph.ts'
import type { HarnessNode } from './harness-node.ts'
import type { HarnessSnapshot } from './harness-snapshot.ts'
import type { HarnessStates } from './harness-states.ts'
import { MANUAL_CLOCK, ManualClock } from './manual-clock.ts'
import type { HarnessRecord } from './operator-harness.ts'
import { requireTimedEvent, type TimedEvent } from './timed-events.ts'

/** Options of a job harness. */
export interface JobHarnessOptions {
  /** @default one that starts at 0 */
  readonly clock?: ManualClock
  /** A snapshot of a harness of the same job. */
  readonly restore?: StreamHarnessSnapshot
}

const JOB_HARNESS: OptionShape<JobHarnessOptions> = {
  clock: MANUAL_CLOCK,
  restore: recordOf(objectWith<HarnessSnapshot>('a snapshot of a harness')),
}

const GRAPH: OptionKind<StreamGraph> = objectWith(
  'the graph of a job, such as await buildJob(definition, {})',
)

/** Longest wait for asynchronous functions at the end, ms. */
const ASYNC_END_MS = 60_000

/**
 * Runs a job in a test, in one subtask and step by step: events take the place of what its sources read, and results are
 * kept in place of what its sinks write. Neither sources nor sinks are opened. The watermark follows the strategies of
 * the sources after each record.
 */
export class JobHarness {
  private readonly operators: HarnessGraph
  private readonly sources: readonly HarnessNode[]
  private readonly sinks: readonly HarnessNode[]
  private events = 0

  /** Opens the operators of a job. Throws INVALID_ARGUMENT for a job with an operator that asks a model. */
  static async open(graph: StreamGraph, options: JobHarnessOptions = {}): Promise<JobHarness> {
    checkArgument('JobHarness.open', 'graph', GRAPH, graph)
    checkOptions('JobHarness.open', JOB_HARNESS, options)
    const { clock = new ManualClock(), restore } = options
    const nodes = graph.nodes.map(inTest)
    return new JobHarness(graph, await HarnessGraph.open({ ...graph, nodes }, { clock, restore }))
  }

  private constructor({ nodes }: StreamGraph, operators: HarnessGraph) {
    const of = (isWanted: (node: StreamNode) => boolean): HarnessNode[] => {
      const ids = new Set(nodes.filter(isWanted).map(({ id }) => id))
      return operators.nodes.filter(({ id }) => ids.has(id))
    }
    this.operators = operators
    this.sources = of(({ body }) => body.kind === 'source')
    this.sinks = of(({ isSink }) => isSink)
  }

  /** The wall clock of the job, ms. */
  get nowMs(): number {
    return this.operators.clock.nowMs()
  }

  /**
   * Lets an event happen, then lets promises settle. Throws INVALID_ARGUMENT for what is no event, for a source that the
   * job does not have, and for a clock that goes back; OPERATOR_FAILED, with the event and the operator, when a function
   * of the job throws.
   */
  async feed(event: TimedEvent): Promise<void> {
    this.events += 1
    requireTimedEvent(event, this.place)
    const happen = this.actionOf(event)
    await this.run(this.place, async () => {
      happen()
      if (this.operators.isAsynchronous) await this.operators.settle()
    })
  }

  /** Reads the state of the operators by its descriptors. */
  get states(): HarnessStates {
    return this.operators.states
  }

  /** The results that reached each sink, by its uid, oldest first. */
  results(): ReadonlyMap<string, readonly HarnessRecord<unknown>[]> {
    return new Map(this.sinks.map(({ uid, results }) => [uid, [...results]]))
  }

  /** Takes a checkpoint: a snapshot of all state, then the word that it is complete. */
  async checkpoint(id: number): Promise<StreamHarnessSnapshot> {
    checkArgument('jobHarness.checkpoint', 'id', count, id)
    const snapshot = await this.operators.snapshot(id)
    for (const { harness } of this.operators.nodes) await harness?.completeCheckpoint(id)
    return snapshot
  }

  /** Ends all sources, and waits for asynchronous functions. Throws OPERATOR_FAILED, also for those that take a minute. */
  async endInput(): Promise<void> {
    await this.run('the end of input', async () => {
      for (const source of this.sources) source.raiseWatermark(MAX_TIMESTAMP)
      await this.settleAll()
      this.operators.end()
    })
  }

  /** Closes the operators and their state. */
  async close(): Promise<void> {
    await this.operators.close()
  }

  private get place(): string {
    return `event ${this.events}`
  }

  /** What an event does; it is checked, and nothing has happened. */
  private actionOf(event: TimedEvent): () => void {
    if ('clock' in event) {
      const ms = event.clock - this.nowMs
      if (ms < 0) this.refuse(`sets the clock back to ${event.clock}`)
      return () => this.operators.advanceTime(ms)
    }
    if ('watermark' in event) {
      const { watermark, source } = event
      const sources = source === undefined ? this.sources : [this.sourceOf(source)]
      return () => {
        for (const node of sources) node.raiseWatermark(watermark)
      }
    }
    const { value, timestamp = NO_TIMESTAMP } = event
    const source = this.sourceOf(event.source)
    // A function may change its record, and the event may be fed again.
    return () => source.feed(deepCopy(value), timestamp)
  }

  private async run(place: string, action: () => Promise<void>): Promise<void> {
    try {
      await action()
    } catch (cause) {
      const operator = culpritOf(cause)?.operator
      const who = operator === undefined ? '' : `operator "${operator}" threw: `
      throw new WeirError('OPERATOR_FAILED', `at ${place} ${who}${messageOf(cause)}`, { cause })
    }
  }

  private async settleAll(): Promise<void> {
    const untilMs = systemClock.monotonicMs() + ASYNC_END_MS
    for (;;) {
      await this.operators.settle()
      const waiting = this.operators.nodes.find((node) => !node.hasEnded)
      if (waiting === undefined) return
      if (systemClock.monotonicMs() < untilMs) continue
      throw new WeirError(
        'ILLEGAL_STATE',
        `operator "${waiting.name}" still waits for asynchronous functions after a minute`,
      )
    }
  }

  private sourceOf(source: string | undefined): HarnessNode {
    const { sources } = this
    if (source === undefined && sources.length === 1) return sources[0]!
    const found = sources.filter(({ uid, name }) => uid === source || name === source)
    if (found.length === 1) return found[0]!
    const names = sources.map(({ uid }) => uid)
    const has = `the job has ${names.map((uid) => `"${uid}"`).join(', ')}`
    if (source === undefined) this.refuse(`names no source, and ${has}`)
    const nearest = nearestWord(source, names)
    const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
    if (found.length > 1)
      this.refuse(`names "${source}", and several sources: name the uid; ${has}`)
    this.refuse(`names the source "${source}", but ${has}${hint}`)
  }

  private refuse(problem: string): never {
    throw new WeirError('INVALID_ARGUMENT', `${this.place} ${problem}`)
  }
}

/** A node of the job as it is in a test: what reads or writes the world outside is an operator that passes records on. */
function inTest(node: StreamNode): StreamNode {
  if (node.model !== undefined) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `operator "${node.name}" asks the model "${node.model}", which a JobHarness does not run: put a function in its place for the test`,
    )
  }
  const { body, isSink, isStore = false } = node
  if (body.kind === 'source') {
    const { watermarks } = body
    const create = () => new TimestampsAndWatermarksOperator(watermarks)
    return { ...node, inputs: 1, body: { kind: 'operator', create } }
  }
  if (!isSink || isStore) return node
  return { ...node, body: { kind: 'operator', create: () => new MapOperator((value) => value) } }
}
