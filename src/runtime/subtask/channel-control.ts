import type { FrequentKeyReader } from '../channel/frequent-key-reader.ts'
import type { InputChannel } from '../channel/input.ts'
import { LoadedSources } from '../channel/loaded-sources.ts'
import type { ControlMessage } from '../channel/message.ts'
import type { OvertakenChannel, OvertakenRecords } from '../channel/overtaken-records.ts'
import type { ProgressCombiner } from '../channel/progress-combiner.ts'
import { WatermarkCombiner } from '../channel/watermark-combiner.ts'
import {
  type AlignmentStep,
  onAborted,
  onBarrier,
  onCancelMarker,
  onOvertaking,
} from '../checkpoint/protocol/barrier-alignment.ts'
import { reportLoaded } from '../source/loads.ts'
import type { OperatorTask } from './operator-task.ts'
import { Overtaking } from './overtaking.ts'
import type { Subtask } from './subtask.ts'

/** Role of an input channel in its subtask. */
export interface ChannelRole extends OvertakenChannel {
  /** Records carry a key that selects keyed state. */
  readonly keyed: boolean
  /** Reads the keys, where the sender remembers frequent ones. */
  readonly keys: FrequentKeyReader | undefined
  /** Whether the other channels wait until this one has brought what its sources had at the start. */
  readonly loadsFirst: boolean
  /** Numbers of the sources whose records it carries; none in a job without tables. */
  readonly sources: readonly number[]
  /** Number of the edge for progress. */
  readonly progressEdge: number
  /** Number of the sender on that edge. */
  readonly sender: number
}

/** Options of the control of a subtask's channels. */
export interface ChannelControlOptions {
  /** The first operator of the chain. */
  readonly task: OperatorTask
  readonly roles: readonly ChannelRole[]
  readonly progress: ProgressCombiner
  /** Whether barriers of unaligned checkpoints overtake the records of the channels. */
  readonly overtaking: boolean
}

/**
 * Processes the control messages of a subtask's channels: combines watermarks and progress, aligns
 * barriers and detects the end of the inputs.
 */
export class ChannelControl {
  private readonly subtask: Subtask
  private readonly task: OperatorTask
  private readonly roles: readonly ChannelRole[]
  private readonly progress: ProgressCombiner
  private readonly watermarks: WatermarkCombiner
  private readonly overtaking: Overtaking | undefined
  private readonly loadedSources: LoadedSources

  constructor(subtask: Subtask, { task, roles, progress, overtaking }: ChannelControlOptions) {
    this.subtask = subtask
    this.task = task
    this.roles = roles
    this.progress = progress
    this.watermarks = new WatermarkCombiner(roles.length)
    this.loadedSources = new LoadedSources(roles.map(({ sources }) => sources))
    // A table has no time of its own: it holds no window back.
    for (const [index, { loadsFirst }] of roles.entries()) {
      if (loadsFirst) this.watermarks.setIdle(index, true)
    }
    if (!overtaking) return
    this.overtaking = new Overtaking({
      subtask,
      channels: roles,
      overtake: (barrier, alignmentMs) =>
        this.apply(onOvertaking(subtask.alignment, { barrier, alignmentMs })),
    })
  }

  /** Whether all channels that come first have brought what their sources had at the start. */
  get isLoaded(): boolean {
    return this.roles.every(
      ({ loadsFirst }, index) => !loadsFirst || this.loadedSources.isLoaded(index),
    )
  }

  /** Processes a message that came on a channel. */
  process(role: ChannelRole, message: ControlMessage): void {
    const { subtask, watermarks } = this
    const { channel } = role
    subtask.clearPosition()
    switch (message.kind) {
      case 'watermark':
        if (role.loadsFirst) return
        if (watermarks.advance(channel.index, message.timestamp)) this.forwardWatermark()
        return
      case 'idle':
        if (role.loadsFirst) return
        if (watermarks.setIdle(channel.index, message.idle)) this.forwardWatermark()
        this.task.setIdle(watermarks.idle)
        return
      case 'progress':
        this.forwardProgress(role, message)
        return
      case 'loaded':
        if (this.loadedSources.loaded(channel.index, message.source)) {
          reportLoaded(subtask, message.source)
        }
        return
      case 'barrier': {
        const { barrier } = message
        const nowMs = subtask.clock.monotonicMs()
        this.apply(onBarrier(subtask.alignment, { channel: channel.index, barrier, nowMs }))
        return
      }
      case 'cancel':
        this.apply(onCancelMarker(subtask.alignment, message.checkpointId))
        return
      case 'end':
        this.endChannel(channel)
        return
    }
  }

  /** The coordinator aborted a checkpoint. */
  aborted(checkpointId: number): void {
    this.overtaking?.ended(checkpointId, 'it was aborted')
    this.apply(onAborted(this.subtask.alignment, checkpointId))
  }

  /** The records overtaken by the barrier of a checkpoint; undefined when the subtask was aligned. */
  overtaken(checkpointId: number): OvertakenRecords | undefined {
    return this.overtaking?.capture(checkpointId)
  }

  private forwardWatermark(): void {
    this.task.advanceWatermark(this.watermarks.watermark)
  }

  private forwardProgress(
    role: ChannelRole,
    message: Extract<ControlMessage, { kind: 'progress' }>,
  ): void {
    const all = this.progress.report(role.progressEdge, role.sender, message.report)
    if (all !== undefined) this.subtask.reportProgress(all)
  }

  private endChannel(channel: InputChannel): void {
    channel.ended = true
    for (const source of this.loadedSources.ended(channel.index)) {
      reportLoaded(this.subtask, source)
    }
    const sameInput = this.roles.filter((role) => role.channel.input === channel.input)
    if (!sameInput.every((role) => role.channel.ended)) return
    this.task.operator.endInput(channel.input)
    if (this.roles.every((role) => role.channel.ended)) this.subtask.end()
  }

  private apply(step: AlignmentStep): void {
    const { subtask, roles } = this
    subtask.alignment = step.state
    for (const action of step.actions) {
      switch (action.kind) {
        case 'block':
          roles[action.channel]!.channel.blocked = true
          break
        case 'unblock':
          for (const index of action.channels) roles[index]!.channel.blocked = false
          subtask.host.wake()
          break
        case 'snapshot':
          subtask.host.snapshot(subtask, action.barrier, action.alignmentMs)
          break
        case 'abort':
          this.abort(action.checkpointId, action.reason)
          break
      }
    }
  }

  private abort(checkpointId: number, reason: string): void {
    const { subtask } = this
    subtask.control((channel) => ({ kind: 'cancel', channel, checkpointId }))
    if (reason !== 'coordinator') subtask.host.declined(subtask, checkpointId, reason)
  }
}
