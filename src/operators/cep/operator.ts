import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import type { Counter } from '../../core/metrics.ts'
import { int53Serializer, type Serializer } from '../../core/serializer.ts'
import { listState, mapState, valueState } from '../../state/port/descriptors.ts'
import type { LiveListState, MapState, ValueState } from '../../state/port/handles.ts'
import type { KeyedState } from '../../state/port/keyed-state.ts'
import type { Timer } from '../../state/port/timer-queue.ts'
import { isEventTime, timestampOfResults, withoutEventTime } from '../port/event-time.ts'
import type { FiringOperator } from '../port/firing.ts'
import type { OperatorContext } from '../port/operator.ts'
import type { OutputTag } from '../port/output-tag.ts'
import { refuseResult } from '../port/refuse-result.ts'
import { KeyedOperatorContext } from '../process/context.ts'
import { Timers, type TimerTarget } from '../process/timers.ts'
import { TimestampedCollector } from '../process/timestamped-collector.ts'
import { UserFunctionOperator } from '../process/user-function-operator.ts'
import type { Automaton } from './automaton.ts'
import type { MatchReceiver } from './complete-matches.ts'
import type { PatternProcessFunction } from './function.ts'
import { Matcher, type MatcherOptions } from './matcher.ts'
import { eventsOf, matchesSerializer } from './matches-serializer.ts'
import { type KeyMatches, type MatchNode, recordsByStage } from './partial-match.ts'
import type { RecordsByStage } from './term.ts'

/** The namespace of matches; that of records that wait is their time. */
const OF_MATCHES = new Uint8Array(0)

/** Options of the operator of a pattern. */
export interface PatternOperatorOptions<K, T, OUT> extends MatcherOptions {
  readonly automaton: Automaton<T>
  readonly userFunction: PatternProcessFunction<K, RecordsByStage<T>, OUT>
  readonly keySerializer: Serializer<K>
  /** Encodes the records in state. */
  readonly serializer: Serializer<T>
  /** Where late records go. @default they are counted and dropped */
  readonly lateDataTag: OutputTag<T> | undefined
  /** Where partial matches go whose time is over. */
  readonly timedOutTag: Pick<OutputTag<unknown>, 'id'> | undefined
}

/**
 * The operator of a pattern. Records wait in state until the watermark has reached their time, and reach the matcher in the
 * order of their times, those of the same time in the order in which they came. One that is not later than the watermark is
 * late (Flink's `CepOperator`).
 */
export class PatternOperator<K, T, OUT>
  extends UserFunctionOperator<PatternProcessFunction<K, RecordsByStage<T>, OUT>>
  implements TimerTarget, FiringOperator, MatchReceiver<T>
{
  private readonly options: PatternOperatorOptions<K, T, OUT>
  private readonly matcher: Matcher<T>
  private keyedState!: KeyedState
  private timers!: Timers
  private functionContext!: KeyedOperatorContext<K>
  private collector!: TimestampedCollector
  /** The records of a time that the watermark has not reached. */
  private waiting!: LiveListState<T>
  /** The records that matches refer to, by their ids. */
  private events!: MapState<number, T>
  private matches!: ValueState<KeyMatches<T>>
  private late!: Counter
  private droppedMatches!: Counter
  private hasWarned = false
  private readonly namespace = new ByteWriter(8)

  constructor(options: PatternOperatorOptions<K, T, OUT>) {
    super(options.userFunction)
    this.options = options
    this.matcher = new Matcher(options.automaton, options, this)
  }

  override open(context: OperatorContext): void | Promise<void> {
    this.context = context
    const { automaton, keySerializer, serializer } = this.options
    this.functionContext = new KeyedOperatorContext(context, keySerializer)
    this.collector = new TimestampedCollector(context.output)
    this.keyedState = context.keyedState!
    this.timers = new Timers(context, this, { eventTime: true, ofFunctions: false })
    this.waiting = this.keyedState.liveList(listState<T>('pattern-waiting', { serializer }))
    this.events = this.keyedState.map(
      mapState<number, T>('pattern-events', { keySerializer: int53Serializer, serializer }),
    )
    const matches = matchesSerializer(automaton, (id) => this.eventOf(id))
    this.matches = this.keyedState.value(valueState('pattern-matches', { serializer: matches }))
    this.late = context.metrics.counter('numLateRecordsDropped')
    this.droppedMatches = context.metrics.counter('numPartialMatchesDropped')
    return this.openFunction(this.functionContext)
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    if (!isEventTime(timestamp) || timestamp <= this.timers.currentWatermark) {
      this.dropLate(value, timestamp)
      return
    }
    this.namespace.reset()
    this.namespace.int53(timestamp)
    this.keyedState.setCurrentNamespace(this.namespace.toBytes())
    if (this.waiting.append(value as T)) this.timers.registerEventTimeTimer(timestamp)
  }

  override processWatermark(watermark: number): void {
    this.timers.advanceWatermark(watermark)
  }

  get firingAt(): number | undefined {
    return this.timers.firingAt
  }

  fireDue(most: number): number {
    return this.timers.fireDue(most)
  }

  onEventTimer({ timestamp, namespace }: Timer): void {
    const records = namespace.length === 0 ? [] : this.waiting.take()
    this.keyedState.setCurrentNamespace(OF_MATCHES)
    const matches = this.matches.value() ?? emptyMatches<T>()
    const { partial, complete, timer, stored } = matches
    if (timer !== undefined && timer <= timestamp) matches.timer = undefined
    this.matcher.advanceTime(matches, timestamp)
    // Where keys of several subtasks meet after a restore, the watermark is behind what some of them have seen.
    const isPast = (stored.at(-1)?.time ?? timestamp) > timestamp
    for (const record of records) {
      if (isPast) this.dropLate(record, timestamp)
      else this.matcher.advance(matches, record, timestamp)
    }
    this.setTimer(matches)
    const isChanged =
      matches.partial !== partial || matches.complete !== complete || matches.timer !== timer
    if (isChanged) this.save(matches)
  }

  onProcessingTimer(): void {}

  matched(last: MatchNode<T>, time: number): void {
    const { automaton } = this.options
    const match = recordsByStage(last, automaton.stages)
    this.begin(time)
    const { functionContext, collector } = this
    const result: unknown = this.userFunction.processMatch(match, functionContext, collector)
    if (result !== undefined) refuseResult(result, 'processMatch')
  }

  timedOut(last: MatchNode<T>, time: number): void {
    const { timedOutTag, automaton } = this.options
    const { processTimedOutMatch } = this.userFunction
    if (processTimedOutMatch === undefined && timedOutTag === undefined) return
    const match = recordsByStage(last, automaton.stages)
    this.begin(time)
    const result: unknown = this.userFunction.processTimedOutMatch?.(match, this.functionContext)
    if (result !== undefined) refuseResult(result, 'processTimedOutMatch')
    if (timedOutTag !== undefined) {
      this.context.output.collectSide(timedOutTag.id, match, this.functionContext.timestamp)
    }
  }

  dropped(count: number): void {
    this.droppedMatches.increment(count)
  }

  private begin(time: number): void {
    const timestamp = timestampOfResults(time)
    this.functionContext.begin(timestamp)
    this.collector.timestamp = timestamp
  }

  /** Sets the timer that the matches lack, if they lack one. */
  private setTimer(matches: KeyMatches<T>): void {
    const first = this.matcher.firstTimeout(matches)
    if (first === undefined || (matches.timer !== undefined && matches.timer <= first)) return
    this.timers.registerEventTimeTimer(first)
    matches.timer = first
  }

  /** Writes the matches, the records that they refer to from now on, and none that they no longer refer to. */
  private save(matches: KeyMatches<T>): void {
    const before = new Set(matches.stored)
    matches.stored = eventsOf(matches)
    for (const event of matches.stored) {
      if (!before.delete(event)) this.events.put(event.id, event.value)
    }
    for (const { id } of before) this.events.remove(id)
    if (matches.partial.length === 0 && matches.complete.length === 0) this.matches.clear()
    else this.matches.update(matches)
  }

  private eventOf(id: number): T {
    const event = this.events.get(id)
    if (event !== undefined) return event
    throw new WeirError(
      'MALFORMED_DATA',
      `operator "${this.context.name}" has lost the record ${id} of a partial match`,
      { details: { operator: this.context.uid } },
    )
  }

  private dropLate(value: unknown, timestamp: number): void {
    if (!isEventTime(timestamp) && !this.hasWarned) {
      this.hasWarned = true
      const { name, uid: operatorUid } = this.context
      const receiver = `the pattern operator "${name}"`
      this.context.warn?.(withoutEventTime({ timestamp, receiver, operatorUid }))
    }
    const { lateDataTag } = this.options
    if (lateDataTag === undefined) this.late.increment()
    else this.context.output.collectSide(lateDataTag.id, value, timestamp)
  }
}

function emptyMatches<T>(): KeyMatches<T> {
  return { partial: [], complete: [], nextId: 0, timer: undefined, stored: [] }
}
