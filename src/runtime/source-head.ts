import type { Cancel } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import type { Counter } from '../core/metrics.ts'
import { MAX_TIMESTAMP } from '../core/time.ts'
import type { WatermarkStrategy } from '../dataflow/watermark-strategy.ts'
import { AbstractOperator } from '../operators/abstract-operator.ts'
import type { ChainSource, OperatorContext } from '../operators/operator.ts'
import type { Source, SourceOutput, SourceReader, SourceSplit } from '../operators/source.ts'
import type { OperatorTask } from './operator-task.ts'
import type { PartitionProgress } from './progress-combiner.ts'
import { decodeSplit, encodeSplit, SPLITS } from './source-split-state.ts'
import { SourceWatermarks } from './source-watermarks.ts'
import { StepSize } from './step-size.ts'
import type { Subtask } from './subtask.ts'
import type { SubtaskHead } from './subtask-head.ts'

/** Time between two progress reports of a busy source. */
const PROGRESS_INTERVAL_MS = 5
/** Time between two reports of a source that waits, so that readers see how fresh the state is. */
const IDLE_REPORT_INTERVAL_MS = 50

/** How a source head runs. */
export interface SourceHeadOptions {
  readonly autoWatermarkIntervalMs: number
  /** Whether it reports progress: the job's first source does. */
  readonly reportsProgress: boolean
}

/**
 * Feeds a subtask from a source reader: owns the splits and their offsets, makes watermarks by
 * partition and tells how far the source was read. To the chain it is an operator without input.
 */
export class SourceHead
  extends AbstractOperator
  implements SubtaskHead, SourceOutput<unknown>, ChainSource
{
  readonly seekable: ChainSource = this
  /** The source's place in the chain; set when the chain is built. */
  task!: OperatorTask
  private readonly source: Source<unknown>
  private reader: SourceReader<unknown>
  private readonly subtask: Subtask
  private readonly options: SourceHeadOptions
  private readonly watermarks: SourceWatermarks
  private readonly progressByPartition = new Map<number, PartitionProgress>()
  private readonly dirty = new Set<number>()
  /** Partitions whose reader tells itself when it saw their end. */
  private readonly selfReporting = new Set<number>()
  private readonly known = new Set<number>()
  private readonly restored = new Set<number>()
  /** Where the reader is to go on, while it is on its way there. */
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
  private lastReportMs = 0
  private lastWatermarkMs = 0
  private cancelDiscovery: Cancel | undefined

  constructor(
    source: Source<unknown>,
    strategy: WatermarkStrategy<unknown>,
    subtask: Subtask,
    options: SourceHeadOptions,
  ) {
    super()
    this.source = source
    this.reader = source.createReader()
    this.subtask = subtask
    this.options = options
    this.watermarks = new SourceWatermarks(strategy)
  }

  override async open(context: OperatorContext): Promise<void> {
    await super.open(context)
    this.recordsIn = context.metrics.counter('numRecordsIn')
    await this.openReader()
    const partitions = await this.source.discover()
    const restored = context.operatorState
      .restored(SPLITS)
      .map(decodeSplit)
      .filter((split) => this.owns(split.partition))
    for (const { partition } of restored) this.restored.add(partition)
    await this.addSplits(restored)
    await this.addFresh(partitions)
  }

  async start(): Promise<void> {
    this.started = true
    this.noteRestored()
    this.scheduleDiscovery()
  }

  positions(): readonly SourceSplit[] {
    return this.sought ?? this.reader.snapshot()
  }

  isRestored(partition: number): boolean {
    return this.restored.has(partition)
  }

  seek(splits: readonly SourceSplit[]): void {
    const places = new Map(splits.map(({ partition, nextOffset }) => [partition, nextOffset]))
    this.sought = this.positions().map((split) => ({
      ...split,
      nextOffset: places.get(split.partition) ?? split.nextOffset,
    }))
    this.subtask
      .suspendWhile(() => this.goToSought())
      .catch((error: unknown) => this.subtask.fail(error))
  }

  /** A reader of its own begins there: what the old one has fetched is of no use. */
  private async goToSought(): Promise<void> {
    const { sought } = this
    if (sought === undefined) return
    await this.reader.close()
    this.reader = this.source.createReader()
    await this.openReader()
    await this.reader.addSplits(sought)
    this.waiting = false
    // Sought again meanwhile: the call that follows goes there.
    if (this.sought === sought) this.sought = undefined
  }

  private async openReader(): Promise<void> {
    const { subtask, parallelism, clock, metrics } = this.context
    await this.reader.open({ subtask, parallelism, clock, metrics })
  }

  /** Delivers nothing more until `resume`; barriers still go through. */
  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
  }

  /** Ends as if the input had ended here. */
  drain(): void {
    this.draining = true
  }

  step(untilMs: number): boolean {
    if (!this.started || this.paused || this.subtask.ended) return false
    if (this.draining) {
      this.endSource()
      return true
    }
    if (this.waiting) return false
    const { subtask } = this
    let worked = false
    do {
      if (!this.pollOnce()) return worked
      worked = true
    } while (!subtask.ended && subtask.canProcess() && subtask.clock.monotonicMs() < untilMs)
    return worked
  }

  tick(nowMs: number, outOfInput: boolean): void {
    if (!this.started || this.subtask.ended) return
    const idle = outOfInput && this.waiting
    if (idle || nowMs - this.lastWatermarkMs >= this.options.autoWatermarkIntervalMs) {
      this.lastWatermarkMs = nowMs
      this.emitWatermark(nowMs)
    }
    const interval = idle && this.dirty.size === 0 ? IDLE_REPORT_INTERVAL_MS : PROGRESS_INTERVAL_MS
    if ((idle && this.dirty.size > 0) || nowMs - this.lastReportMs >= interval) {
      this.lastReportMs = nowMs
      this.emitProgress(nowMs, idle)
    }
  }

  nextTickMs(nowMs: number): number | undefined {
    if (!this.started || this.subtask.ended) return undefined
    const idleAt = this.watermarks.nextIdleCheckMs(nowMs)
    if (!this.options.reportsProgress || this.progressByPartition.size === 0) return idleAt
    const reportAt = this.lastReportMs + IDLE_REPORT_INTERVAL_MS
    return idleAt === undefined ? reportAt : Math.min(idleAt, reportAt)
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
  }

  progress(partition: number, nextOffset: number, asOfMs?: number): void {
    if (!this.options.reportsProgress) return
    if (asOfMs !== undefined) this.selfReporting.add(partition)
    const fallback = this.lastTimestamp >= 0 ? this.lastTimestamp : this.subtask.clock.nowMs()
    const asOf = Math.min(asOfMs ?? fallback, this.subtask.clock.nowMs())
    const known = this.progressByPartition.get(partition)
    if (known === undefined) this.progressByPartition.set(partition, { nextOffset, asOfMs: asOf })
    else {
      known.nextOffset = nextOffset
      known.asOfMs = Math.max(known.asOfMs, asOf)
    }
    this.dirty.add(partition)
  }

  private pollOnce(): boolean {
    const { subtask } = this
    const startMs = subtask.clock.monotonicMs()
    const emittedBefore = subtask.recordsEmitted
    this.polled = 0
    const result = this.reader.poll(this, this.stepSize.records)
    const elapsedMs = subtask.clock.monotonicMs() - startMs
    const emitted = subtask.recordsEmitted - emittedBefore
    this.recordsIn.value += this.polled
    this.stepSize.observe(this.polled, elapsedMs, Math.max(emitted, this.polled))
    if (result === 'ended') this.endSource()
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
    this.emitProgress(this.subtask.clock.nowMs(), true)
    this.subtask.clearPosition()
    this.task.setIdle(false)
    this.task.advanceWatermark(MAX_TIMESTAMP)
    this.subtask.end()
  }

  private emitWatermark(nowMs: number): void {
    if (!this.watermarks.enabled) return
    this.subtask.clearPosition()
    const watermark = this.watermarks.watermark(nowMs)
    const idle = this.watermarks.idle(nowMs)
    if (!idle) this.task.setIdle(false)
    this.task.advanceWatermark(watermark)
    if (idle) this.task.setIdle(true)
  }

  /** `atEnd`: nothing more was there to read, so that the state is as fresh as the source. */
  private emitProgress(nowMs: number, atEnd: boolean): void {
    if (!this.options.reportsProgress) return
    for (const [partition, progress] of this.progressByPartition) {
      const fresh = atEnd && !this.selfReporting.has(partition)
      if (fresh) progress.asOfMs = nowMs
      if (!fresh && !this.dirty.has(partition)) continue
      this.subtask.reportProgress(partition, progress.nextOffset, progress.asOfMs)
    }
    this.dirty.clear()
  }

  private scheduleDiscovery(): void {
    const { discoveryIntervalMs } = this.source
    if (discoveryIntervalMs === undefined) return
    this.cancelDiscovery = this.subtask.clock.after(discoveryIntervalMs, () => {
      this.discover().then(
        () => this.scheduleDiscovery(),
        (error) => this.subtask.fail(error),
      )
    })
  }

  private async discover(): Promise<void> {
    const found = await this.source.discover()
    await this.subtask.suspendWhile(() => this.addFresh(found))
  }

  private async addFresh(partitions: readonly number[]): Promise<void> {
    const fresh = partitions.filter((p) => this.owns(p) && !this.known.has(p))
    await this.addSplits(fresh.map((partition) => ({ partition, nextOffset: -1 })))
  }

  private async addSplits(splits: readonly SourceSplit[]): Promise<void> {
    if (splits.length === 0) return
    const nowMs = this.subtask.clock.nowMs()
    for (const { partition } of splits) {
      this.known.add(partition)
      this.watermarks.addPartition(partition, nowMs)
    }
    await this.reader.addSplits(splits)
  }

  /** What was restored counts as applied, also before anything new is read. */
  private noteRestored(): void {
    if (!this.options.reportsProgress) return
    for (const { partition, nextOffset } of this.reader.snapshot()) {
      if (nextOffset < 0 || this.progressByPartition.has(partition)) continue
      this.progressByPartition.set(partition, { nextOffset, asOfMs: 0 })
      this.dirty.add(partition)
    }
  }

  private owns(partition: number): boolean {
    const { parallelism, subtask } = this.context
    const owner = this.source.subtaskOf?.(partition, parallelism) ?? partition % parallelism
    return owner === subtask
  }
}
