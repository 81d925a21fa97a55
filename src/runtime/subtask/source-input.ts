import type { Cancel } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { noticeFrom } from '../../core/lifetime/wait.ts'
import type { Counter } from '../../core/metrics.ts'
import { MAX_TIMESTAMP } from '../../core/time.ts'
import type { WatermarkStrategy } from '../../dataflow/watermark-strategy.ts'
import { AbstractOperator } from '../../operators/port/abstract-operator.ts'
import type { ChainSource, OperatorContext } from '../../operators/port/operator.ts'
import type { SourceOutput, SourceReader, SourceSplit } from '../../operators/port/source.ts'
import { NO_VERSION } from '../../state/catalog/progress-board.ts'
import { StepSize } from '../pacing/step-size.ts'
import { type AllowedWatermark, SourceAlignment } from '../source/alignment.ts'
import { SourceLoad, type SourceLoadOptions } from '../source/loads.ts'
import { SourceProgress } from '../source/progress.ts'
import { SILENT_AFTER_MS, tellsSilence } from '../source/silence.ts'
import { SplitAssignment } from '../source/split-assignment.ts'
import { decodeSplit, encodeSplit, SPLITS } from '../source/split-state.ts'
import { SourceWatermarks } from '../source/watermarks.ts'
import type { SubtaskInput } from './input.ts'
import type { OperatorTask } from './operator-task.ts'
import type { Subtask } from './subtask.ts'

/** Time between two looks for partitions that hold the watermark back, ms. */
const SILENCE_EVERY_MS = 5_000
const NONE_HELD: ReadonlySet<number> = new Set()

/** Options of a source input. */
export interface SourceInputOptions extends SourceLoadOptions {
  readonly watermarks: WatermarkStrategy<unknown>
  readonly autoWatermarkIntervalMs: number
}

/**
 * Input of a subtask from a source reader: owns the splits and their offsets, makes watermarks by
 * partition and reports how far the source was read. For the chain it is an operator without input.
 * The file is long because its turns, barriers and reports share the state of one reader.
 */
export class SourceInput
  extends AbstractOperator
  implements SubtaskInput, SourceOutput<unknown>, ChainSource
{
  readonly seekable: ChainSource = this
  /** The source's place in the chain; set when the chain is built. */
  task!: OperatorTask
  private reader: SourceReader<unknown>
  private readonly subtask: Subtask
  private readonly options: SourceInputOptions
  /** Number of the source in the job. */
  private readonly number: number
  private readonly watermarks: SourceWatermarks
  /** Undefined when the source waits for no other one. */
  private readonly alignment: SourceAlignment | undefined
  private readonly readProgress: SourceProgress
  private readonly load: SourceLoad
  private splits!: SplitAssignment
  /** Positions to which `seek` moves the reader, until it is there. */
  private sought: readonly SourceSplit[] | undefined
  private readonly stepSize = new StepSize()
  private recordsIn!: Counter
  /** Records of the present poll. */
  private polled = 0
  private waiting = false
  private started = false
  private paused = false
  private draining = false
  private lastTimestamp = -1
  private lastWatermarkMs = 0
  private lastTickMs = 0
  /** When to look for silent partitions again; never for a source that none can hold back. */
  private nextSilenceMs = Number.POSITIVE_INFINITY
  /** What was reported of them last, as text. */
  private lastSilence = ''
  private cancelDiscovery: Cancel | undefined

  constructor(subtask: Subtask, options: SourceInputOptions) {
    super()
    this.subtask = subtask
    this.options = options
    this.load = new SourceLoad(subtask, options)
    this.reader = options.source.createReader()
    this.watermarks = new SourceWatermarks(options.watermarks)
    const { alignment } = options.watermarks
    this.alignment =
      alignment &&
      new SourceAlignment(alignment, options.source.boundedness, (report) =>
        this.context.sendEvent(report),
      )
    const [source] = options.plan.sources as readonly [number]
    this.number = source
    // All records of the subtask come from this source; the input of another chain sets it by run.
    subtask.currentPosition.source = source
    this.readProgress = new SourceProgress((partition, { nextOffset, asOfMs, version }) => {
      subtask.host.partitionRead(source, partition, nextOffset)
      subtask.reportProgress({ source, partition, nextOffset, asOfMs, version })
    }, this.reader.reportEnds !== undefined)
  }

  override async open(context: OperatorContext): Promise<void> {
    await super.open(context)
    this.recordsIn = context.metrics.counter('numRecordsIn')
    if (this.alignment !== undefined) {
      context.metrics.gauge('watermarkAlignmentDrift', () => this.excess(context.clock.nowMs()))
    }
    this.load.begin()
    await this.openReader()
    const { source } = this.options
    const partitions = await source.discover(this.warn)
    this.splits = new SplitAssignment(source, context.subtask, context.parallelism)
    const stored = context.operatorState.restored(SPLITS)
    await this.addSplits(this.splits.restore(stored.map(decodeSplit)))
    await this.addSplits(this.splits.discover(partitions))
  }

  async start(): Promise<void> {
    this.started = true
    this.lastTickMs = this.subtask.clock.nowMs()
    const { source, watermarks } = this.options
    if (tellsSilence(source, watermarks)) this.nextSilenceMs = 0
    this.scheduleDiscovery()
  }

  positions(): readonly SourceSplit[] {
    return this.sought ?? this.reader.snapshot()
  }

  isRestored(partition: number): boolean {
    return this.splits.isRestored(partition)
  }

  appliesTo(version: number | undefined): void {
    this.readProgress.appliesTo(version ?? NO_VERSION, this.positions())
  }

  seek(splits: readonly SourceSplit[]): void {
    const offsets = new Map(splits.map(({ partition, nextOffset }) => [partition, nextOffset]))
    this.sought = this.positions().map((split) => ({
      ...split,
      nextOffset: offsets.get(split.partition) ?? split.nextOffset,
    }))
    this.subtask.calls
      .suspendWhile(() => this.goToSought())
      .catch((error: unknown) => this.subtask.fail(error))
  }

  /** Opens a new reader at the sought positions, because the old one has fetched other records ahead. */
  private async goToSought(): Promise<void> {
    const { sought } = this
    if (sought === undefined) return
    await this.reader.close()
    this.reader = this.options.source.createReader()
    await this.openReader()
    await this.reader.addSplits(sought)
    this.waiting = false
    // If `seek` was called again meanwhile, the next call goes there.
    if (this.sought === sought) this.sought = undefined
  }

  private readonly warn = (warning: WeirError): void => {
    const { uid, subtask } = this.context
    this.context.warn?.(noticeFrom(`source ${uid}`, warning, { operator: uid, subtask }))
  }

  private async openReader(): Promise<void> {
    const { subtask, parallelism, clock, metrics } = this.context
    await this.reader.open({ subtask, parallelism, clock, metrics, warn: this.warn })
    this.alignment?.readerOpened()
  }

  /** Delivers no records until `resume`; barriers still pass. */
  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
  }

  /** Ends as if all input had ended here. */
  drain(): void {
    this.draining = true
  }

  step(untilMs: number): boolean {
    if (!this.started || this.paused || this.subtask.ended) return false
    if (this.draining) {
      this.endSource()
      return true
    }
    if (this.waiting || !this.load.mayRead) return false
    const { subtask } = this
    let worked = false
    do {
      if (this.isAhead(subtask.clock.nowMs()) || !this.pollOnce()) return worked
      worked = true
    } while (!subtask.ended && subtask.canProcess() && subtask.clock.monotonicMs() < untilMs)
    return worked
  }

  tick(nowMs: number, outOfInput: boolean): void {
    if (!this.started || this.subtask.ended) return
    // That it waits for others makes no partition idle.
    const held = this.alignment?.held ?? NONE_HELD
    const isHeld = !this.load.mayRead || this.isAhead(nowMs)
    this.watermarks.excuse(Math.max(0, nowMs - this.lastTickMs), isHeld ? undefined : held)
    this.lastTickMs = nowMs
    const idle = outOfInput && this.waiting
    const watermarkAtMs = this.lastWatermarkMs + this.options.autoWatermarkIntervalMs
    if (idle || nowMs >= watermarkAtMs) {
      this.watermarks.periodic()
      this.emitWatermark(nowMs)
    }
    if (this.alignment !== undefined) this.align(this.alignment, nowMs)
    if (nowMs >= this.nextSilenceMs) this.reportSilence(nowMs)
    this.reportProgress(idle)
  }

  override handleEvent(event: unknown): void {
    if (this.load.handleEvent(event) || this.alignment === undefined) return
    this.alignment.allow(event as AllowedWatermark)
    this.alignment.holdBack(this.reader, this.watermarks)
  }

  /** Reports which partitions hold the watermark back, if that has changed. */
  private reportSilence(nowMs: number): void {
    // All subtasks look at the same time, so that one notice has what they all report.
    this.nextSilenceMs = nowMs + SILENCE_EVERY_MS - (nowMs % SILENCE_EVERY_MS)
    const silence = this.watermarks.silence(nowMs, SILENT_AFTER_MS)
    const text = `${silence.silentPartitions.join()} ${silence.hasActive}`
    if (text === this.lastSilence) return
    this.lastSilence = text
    this.context.sendEvent(silence)
  }

  /** Takes part in watermark alignment. */
  private align(alignment: SourceAlignment, nowMs: number): void {
    const watermark = this.watermarks.watermark(nowMs)
    alignment.report(nowMs, watermark, this.watermarks.idle(nowMs))
    alignment.holdBack(this.reader, this.watermarks)
  }

  /** Whether the source waits for others of its group. */
  private isAhead(nowMs: number): boolean {
    return this.alignment !== undefined && this.excess(nowMs) > 0
  }

  private excess(nowMs: number): number {
    return this.alignment?.excessOf(this.watermarks.watermark(nowMs)) ?? 0
  }

  private reportProgress(idle: boolean): void {
    const nowMs = this.subtask.clock.monotonicMs()
    const { readProgress, reader } = this
    // A source that waits looks at its end now: that nothing was found earlier says nothing of now.
    if (idle && this.sought === undefined && readProgress.isDue(nowMs, true)) {
      reader.reportEnds?.(this)
    }
    readProgress.tick(nowMs, idle)
    this.load.check(readProgress)
  }

  nextTickMs(nowMs: number): number | undefined {
    if (!this.started || this.subtask.ended) return undefined
    const reportIn = this.readProgress.nextReportInMs(this.subtask.clock.monotonicMs())
    const earliest = Math.min(
      this.watermarks.nextIdleCheckMs(nowMs) ?? Number.POSITIVE_INFINITY,
      this.alignment?.nextReportMs(nowMs) ?? Number.POSITIVE_INFINITY,
      reportIn === undefined ? Number.POSITIVE_INFINITY : nowMs + reportIn,
    )
    return earliest === Number.POSITIVE_INFINITY ? undefined : earliest
  }

  override processElement(): void {
    throw new WeirError('ILLEGAL_STATE', 'a source has no input')
  }

  override prepareSnapshot(): void | Promise<void> {
    const splits = this.positions().map(encodeSplit)
    this.context.operatorState.update(SPLITS, 'union', splits)
    return this.reader.settled?.()
  }

  override checkpointCompleted(checkpointId: number): void {
    this.reader.checkpointCompleted(checkpointId)
  }

  override async close(): Promise<void> {
    this.cancelDiscovery?.()
    await this.reader.close()
  }

  collect(value: unknown, timestamp: number, partition: number, offset: number): void {
    const position = this.subtask.currentPosition
    position.partition = partition
    position.offset = offset
    const eventTime = this.watermarks.timestampOf(value, timestamp, partition)
    this.lastTimestamp = eventTime
    this.polled += 1
    this.context.output.collect(value, eventTime)
    if (this.watermarks.isGenerated) this.afterRecord(value, eventTime)
  }

  private afterRecord(value: unknown, eventTime: number): void {
    if (!this.watermarks.afterRecord(value, eventTime)) return
    this.emitWatermark(this.subtask.clock.nowMs())
  }

  progress(partition: number, nextOffset: number, asOfMs?: number): void {
    const { clock } = this.subtask
    const nowMs = clock.nowMs()
    const newestMs = this.lastTimestamp >= 0 ? this.lastTimestamp : nowMs
    // The wall clock has whole milliseconds: since the reader's time, up to one more may have passed.
    const ageMs = Math.max(0, nowMs - (asOfMs ?? newestMs)) + (asOfMs === undefined ? 0 : 1)
    const seenMs = Math.max(0, clock.monotonicMs() - ageMs)
    this.readProgress.update(partition, nextOffset, seenMs, asOfMs !== undefined)
  }

  private pollOnce(): boolean {
    const { clock } = this.subtask
    const startMs = clock.monotonicMs()
    const emittedBefore = this.subtask.recordsEmitted
    this.polled = 0
    const result = this.reader.poll(this, this.stepSize.records)
    const elapsedMs = clock.monotonicMs() - startMs
    const emitted = this.subtask.recordsEmitted - emittedBefore
    this.recordsIn.value += this.polled
    this.stepSize.observe(this.polled, elapsedMs, Math.max(emitted, this.polled))
    // An operator may still work on a record.
    if (result === 'ended') this.subtask.calls.whenFree(() => this.endSource())
    else if (result === 'idle') this.waitForInput()
    return result !== 'idle' || this.polled > 0
  }

  private waitForInput(): void {
    this.waiting = true
    const { reader } = this
    const goOn = (): void => {
      this.waiting = false
      this.subtask.host.wake()
    }
    reader.available().then(goOn, (error) => {
      if (reader === this.reader) this.subtask.fail(error)
    })
  }

  private endSource(): void {
    const { clock } = this.subtask
    this.alignment?.ended()
    this.load.report()
    this.readProgress.ended(this.draining ? clock.monotonicMs() : Number.POSITIVE_INFINITY)
    this.subtask.clearPosition()
    this.task.setIdle(false)
    this.task.advanceWatermark(MAX_TIMESTAMP)
    this.subtask.end()
  }

  private emitWatermark(nowMs: number): void {
    this.lastWatermarkMs = nowMs
    if (!this.watermarks.enabled) return
    this.subtask.clearPosition()
    const watermark = this.watermarks.watermark(nowMs)
    const idle = this.watermarks.idle(nowMs)
    if (!idle) this.task.setIdle(false)
    this.task.advanceWatermark(watermark)
    if (idle) this.task.setIdle(true)
  }

  private scheduleDiscovery(): void {
    const { discoveryIntervalMs } = this.options.source
    if (discoveryIntervalMs === undefined) return
    this.cancelDiscovery = this.subtask.clock.after(discoveryIntervalMs, () => {
      this.discover().then(
        () => this.scheduleDiscovery(),
        (error) => this.subtask.fail(error),
      )
    })
  }

  private async discover(): Promise<void> {
    const found = await this.options.source.discover(this.warn)
    await this.subtask.calls.suspendWhile(() => this.addSplits(this.splits.discover(found)))
  }

  private async addSplits(splits: readonly SourceSplit[]): Promise<void> {
    if (splits.length === 0) return
    const nowMs = this.subtask.clock.nowMs()
    for (const { partition, nextOffset } of splits) {
      this.watermarks.addPartition(partition, nowMs)
      this.subtask.host.partitionRead(this.number, partition, Math.max(nextOffset, 0))
    }
    this.readProgress.found(splits)
    await this.reader.addSplits(splits)
  }
}
