import { WeirError } from '../../core/errors.ts'
import { isPlainKeySerializer } from '../../core/formats/plain-key-serializer.ts'
import { keyGroupRangeOf } from '../../core/key-group.ts'
import type { MetricGroup } from '../../core/metrics.ts'
import { seededRandom } from '../../core/random.ts'
import { copierOf } from '../../core/serializer.ts'
import { MIN_TIMESTAMP } from '../../core/time.ts'
import type { StreamEdge, StreamNode } from '../../dataflow/stream-graph.ts'
import type { Output } from '../../operators/port/operator.ts'
import { keepKeyFormat } from '../../operators/port/stored-keys.ts'
import { restoredWatermark } from '../../operators/port/stored-watermark.ts'
import { FrequentKeyReader } from '../channel/frequent-key-reader.ts'
import { decodeInFlight } from '../channel/in-flight-format.ts'
import { InputChannel } from '../channel/input.ts'
import { OutputChannel, type SendMessage } from '../channel/output.ts'
import { ProgressCombiner, type ProgressEdge } from '../channel/progress-combiner.ts'
import { droppedRecords, lostEdge, restoreInFlight } from '../channel/restore-in-flight.ts'
import { newAlignment } from '../checkpoint/protocol/barrier-alignment.ts'
import type { NetworkConfiguration } from '../configuration/configuration.ts'
import { rateGauge } from '../pacing/work-meter.ts'
import type { ChannelRole } from './channel-control.ts'
import type { CheckpointedState } from './checkpointed-state.ts'
import { FoldingOutput } from './folding-output.ts'
import type { SubtaskInput } from './input.ts'
import { InputProcessor, type ReturnCredit } from './input-processor.ts'
import { channelId, isKeyed, type PlannedChain, type PlannedEdge, taskName } from './job-plan.ts'
import type { OperatorStateMemory } from './operator-state-memory.ts'
import { OperatorTask } from './operator-task.ts'
import { OwnKeysOutput } from './own-keys-output.ts'
import {
  BroadcastOutput,
  CopyingOutput,
  DirectOutput,
  HashOutput,
  ManyTargets,
  RebalanceOutput,
  type RecordOutput,
  SelectedOutput,
  SingleOutput,
  SingleTarget,
} from './record-output.ts'
import { SourceInput } from './source-input.ts'
import { Subtask, type SubtaskHost } from './subtask.ts'
import { valueReaderOf } from './value-appender.ts'

/** The slot as the subtasks that it builds see it. */
export interface SubtaskSite {
  readonly slot: number
  readonly network: NetworkConfiguration
  readonly autoWatermarkIntervalMs: number
  readonly restoredCheckpoint: number
  readonly metrics: MetricGroup
  readonly host: SubtaskHost
  /** Opens the keyed state of an operator subtask. */
  openKeyedState(
    node: StreamNode,
    subtask: number,
    metrics: MetricGroup,
  ): Promise<CheckpointedState>
  operatorState(node: StreamNode, subtask: number): OperatorStateMemory
  /** Whether checkpoints may be unaligned. */
  readonly unaligned: boolean
  /** Whether the program changes no object that it has passed on. */
  readonly reusesObjects: boolean
  /** Whether the checkpoint has all these sources, which are given by number. */
  restoresSources(sources: readonly number[]): boolean
  /** Whether state that no operator takes is dropped. */
  readonly allowNonRestoredState: boolean
  /** Records on their way to an operator in the restored checkpoint, see `in-flight-format.ts`. */
  recordsInFlight(node: StreamNode): readonly Uint8Array[]
  /** Sends to the subtask of this number, in any slot. */
  sender(toSubtask: number): SendMessage
  /** Returns a credit to the subtask of this number, in any slot. */
  creditReturn(fromSubtask: number): ReturnCredit
  /** Adds channels to the slot's exchange. */
  addOutput(channel: OutputChannel): void
  addInput(channel: InputChannel): void
}

/** A subtask and, in the order of its operators, the output that each of them emits into. */
export interface BuiltSubtask {
  readonly subtask: Subtask
  readonly outputs: readonly Output[]
}

/** Builds one subtask of a chain; nothing is opened but keyed state. */
export async function buildSubtask(
  planned: PlannedChain,
  index: number,
  site: SubtaskSite,
): Promise<BuiltSubtask> {
  return await new SubtaskBuilder(planned, index, site).build()
}

class SubtaskBuilder {
  private readonly planned: PlannedChain
  private readonly site: SubtaskSite
  private readonly subtask: Subtask
  /** Operators by the id of their node. */
  private readonly tasks = new Map<number, OperatorTask>()
  private readonly outputs = new Map<StreamEdge, RecordOutput>()

  constructor(planned: PlannedChain, index: number, site: SubtaskSite) {
    const { chain } = planned
    const metrics = site.metrics.group(`${chain.head.uid}.${index}`)
    this.planned = planned
    this.site = site
    this.subtask = new Subtask({ name: taskName(chain, index), index, metrics, host: site.host })
  }

  async build(): Promise<BuiltSubtask> {
    const { planned, subtask, tasks } = this
    for (const node of planned.chain.members) {
      const task = await this.buildTask(node)
      tasks.set(node.id, task)
      subtask.addOperator(task)
    }
    const [first] = subtask.operators
    for (const { from, to } of planned.chain.innerEdges) {
      tasks.get(from)!.children.push(tasks.get(to)!)
    }
    for (const edge of planned.outputs) this.buildChannels(edge)
    const outputs = subtask.operators.map((task) => this.outputOf(task))
    subtask.input = this.buildInput(first!)
    this.refuseLostRecords()
    return { subtask, outputs }
  }

  private async buildTask(node: StreamNode): Promise<OperatorTask> {
    const { planned, subtask, site } = this
    const { chain } = planned
    const metrics = node === chain.head ? subtask.metrics : subtask.metrics.group(node.uid)
    const keyedState = isKeyed(node, chain.inEdges)
      ? await site.openKeyedState(node, subtask.index, metrics)
      : undefined
    this.addRates(metrics)
    const operatorState = site.operatorState(node, subtask.index)
    if (keyedState !== undefined) keepKeyFormat(node.uid, operatorState, keyedState.keys?.id)
    const operator = node.body.kind === 'operator' ? node.body.create() : this.sourceOf(node.body)
    // A source that is not restored may bring earlier records: time begins again.
    const knowsTime = keyedState !== undefined && site.restoresSources(planned.sources)
    const place = { ...node, subtask: subtask.index, operatorState }
    const restored = knowsTime ? restoredWatermark(place).watermark : MIN_TIMESTAMP
    const parts = { node, operator, keyedState, operatorState, metrics }
    return new OperatorTask({ ...parts, restoredWatermark: restored })
  }

  private sourceOf(body: Extract<StreamNode['body'], { kind: 'source' }>): SourceInput {
    const { autoWatermarkIntervalMs } = this.site
    return new SourceInput(this.subtask, {
      source: body.source,
      watermarks: body.watermarks,
      autoWatermarkIntervalMs,
      plan: this.planned,
    })
  }

  /** Adds rates per second to the counters of an operator. */
  private addRates(metrics: MetricGroup): void {
    const nowMs = (): number => this.site.host.clock.monotonicMs()
    for (const name of ['numRecordsIn', 'numRecordsOut']) {
      const counter = metrics.counter(name)
      metrics.gauge(
        `${name}PerSecond`,
        rateGauge(nowMs, () => counter.value),
      )
    }
  }

  /** Makes the channels of an outgoing edge. */
  private buildChannels(out: PlannedEdge): void {
    const { subtask, site, tasks } = this
    const targets = out.pointwise ? [subtask.index] : numbersBelow(out.to.parallelism)
    const channels = targets.map((target) => {
      const channel = new OutputChannel({
        id: channelId(out, subtask.index, target),
        owner: subtask,
        send: site.sender(target),
        isLocal: target === site.slot,
        overtakes: out.overtakes,
        keepsRecords: target === site.slot && this.keepsRecords(out),
        ...site.network,
      })
      site.addOutput(channel)
      return channel
    })
    subtask.channels.push(...channels)
    tasks.get(out.edge.from)!.channels.push(...channels)
    this.outputs.set(out.edge, this.partitionedOutput(out, channels))
  }

  private partitionedOutput(out: PlannedEdge, channels: readonly OutputChannel[]): RecordOutput {
    const { subtask, site } = this
    const { partitioning, serializer } = out.edge
    if (partitioning.kind === 'hash') {
      const receiver = out.to.head
      const { maxParallelism, parallelism } = receiver
      if (!partitioning.inPlace) {
        const keepsKeys = this.keepsKeys(out)
        const output = new HashOutput({
          partitioning,
          serializer,
          maxParallelism,
          channels,
          receiver,
          keepsKeys,
        })
        return this.folding(out, output, channels)
      }
      const range = keyGroupRangeOf(subtask.index, parallelism, maxParallelism)
      const channel = channels[0]!
      return new OwnKeysOutput({
        partitioning,
        serializer,
        maxParallelism,
        receiver,
        range,
        channel,
      })
    }
    if (partitioning.kind === 'broadcast') return new BroadcastOutput(serializer, channels)
    // Also for one receiver: what the function returns is checked alike at every parallelism.
    if (partitioning.kind === 'custom') {
      return new SelectedOutput({ serializer, channels, select: partitioning.partition })
    }
    if (channels.length === 1 || partitioning.kind === 'global') {
      return new SingleOutput(serializer, channels[0]!)
    }
    if (partitioning.kind === 'shuffle') {
      const random = seededRandom(subtask.index)
      const select = (_: unknown, receivers: number): number => random.below(receivers)
      return new SelectedOutput({ serializer, channels, select })
    }
    const turnBytes = site.network.batchBytes
    const receivers =
      partitioning.kind === 'rescale'
        ? shareOf(channels, subtask.index, out.from.parallelism)
        : channels
    const first = subtask.index
    const output = new RebalanceOutput({ serializer, channels: receivers, first, turnBytes })
    subtask.rebalances.push(output)
    return output
  }

  /**
   * Whether the records of an edge to the own slot are not encoded: their values can be copied, and no barrier overtakes
   * them. A broadcast value is encoded once for all receivers.
   */
  private keepsRecords({ edge, overtakes }: PlannedEdge): boolean {
    if (edge.partitioning.kind === 'broadcast' || copierOf(edge.serializer) === undefined)
      return false
    return !(this.site.unaligned && overtakes)
  }

  /**
   * Whether the receivers of an edge keep frequent keys. Records that a barrier overtakes are read out of their order, and
   * keys of other serializers may be equal without having equal bytes.
   */
  private keepsKeys({ edge, overtakes }: PlannedEdge): boolean {
    const { partitioning } = edge
    if (partitioning.kind !== 'hash' || partitioning.inPlace) return false
    if (this.site.unaligned && overtakes) return false
    return isPlainKeySerializer(partitioning.keySerializer)
  }

  /** The output with a fold in front of it, where the edge has one. */
  private folding(
    { edge, to }: PlannedEdge,
    output: HashOutput,
    channels: readonly OutputChannel[],
  ): RecordOutput {
    const { partitioning } = edge
    if (partitioning.kind !== 'hash' || partitioning.fold === undefined) return output
    const fold = partitioning.fold.create(this.site.reusesObjects)
    const { keySelector } = partitioning
    const folding = new FoldingOutput({ keySelector, fold, output, receiver: to.head })
    for (const channel of channels) channel.beforeSending = (message) => folding.flush(message)
    return folding
  }

  /**
   * The output of an operator; side outputs by their tag. Channels, which copy or encode a record, come before direct
   * calls, and only the last direct call gets the record itself.
   */
  private outputOf(task: OperatorTask): Output {
    const mains: RecordOutput[] = []
    const sides = new Map<string, RecordOutput[]>()
    const add = (edge: StreamEdge, output: RecordOutput): void => {
      const tag = edge.sideOutputTag
      if (tag === undefined) mains.push(output)
      else sides.set(tag, [...(sides.get(tag) ?? []), output])
    }
    for (const [edge, output] of this.outputs) if (edge.from === task.node.id) add(edge, output)
    const direct = this.planned.chain.innerEdges.filter(({ from }) => from === task.node.id)
    for (const edge of direct) {
      const output = new DirectOutput(this.tasks.get(edge.to)!)
      const last = direct.findLast(({ sideOutputTag }) => sideOutputTag === edge.sideOutputTag)
      const shares = edge === last || this.site.reusesObjects
      add(edge, shares ? output : new CopyingOutput(output, edge.serializer))
    }
    const recordsOut = task.metrics.counter('numRecordsOut')
    return mains.length === 1
      ? new SingleTarget(mains[0]!, recordsOut, sides)
      : new ManyTargets(mains, recordsOut, sides)
  }

  private buildInput(task: OperatorTask): SubtaskInput {
    if (task.operator instanceof SourceInput) {
      task.operator.task = task
      return task.operator
    }
    const { planned, subtask, site } = this
    const roles: ChannelRole[] = []
    const progressEdges: ProgressEdge[] = []
    const returns = new Map<number, ReturnCredit>()
    for (const input of planned.inputs) {
      const progressEdge = progressEdges.length
      const senders = input.pointwise ? [subtask.index] : numbersBelow(input.from.parallelism)
      const { sources } = input
      progressEdges.push({ single: input.singleCarrier, senders: senders.length, sources })
      for (const [sender, from] of senders.entries()) {
        const id = channelId(input, from, subtask.index)
        const channel = new InputChannel(id, roles.length, input.edge.input)
        site.addInput(channel)
        returns.set(id, site.creditReturn(from))
        const { serializer, partitioning } = input.edge
        const keyed = partitioning.kind === 'hash'
        // A broadcast value is encoded once for all receivers.
        const isPlain = from === site.slot || partitioning.kind === 'broadcast'
        const values = valueReaderOf(serializer, isPlain)
        const { maxParallelism } = planned.chain.head
        const isOwn = from === site.slot && this.keepsRecords(input)
        const readsKeys = !isOwn && this.keepsKeys(input)
        const keys = readsKeys ? new FrequentKeyReader(maxParallelism) : undefined
        const edge = input.name
        const loadsFirst = input.edge.loadsFirst === true
        const loads = planned.reportsLoads ? sources : []
        const carried = { edge, sources: loads, progressEdge, sender }
        roles.push({ channel, values, serializer, keyed, keys, loadsFirst, ...carried })
      }
    }
    this.restoreInFlight(roles)
    if (roles.length === 0) {
      throw new WeirError('INVALID_GRAPH', `${planned.chain.head.name} has no input`)
    }
    subtask.alignment = newAlignment(roles.length, site.restoredCheckpoint)
    return new InputProcessor(subtask, {
      task,
      roles,
      progress: new ProgressCombiner(progressEdges),
      overtaking: site.unaligned && planned.inputs.every(({ overtakes }) => overtakes),
      returnCredit: (channel, space) => returns.get(channel)!(channel, space),
    })
  }

  /** Puts records in flight that were restored in front of the input. */
  private restoreInFlight(roles: readonly ChannelRole[]): void {
    const { planned, subtask, site } = this
    const { head } = planned.chain
    const entries = site.recordsInFlight(head)
    if (entries.length === 0) return
    const edges = planned.inputs.flatMap(({ name, edge }) => {
      const role = roles.find((candidate) => candidate.edge === name)
      return role === undefined ? [] : [{ name, edge, channel: role.channel }]
    })
    const { parallelism, maxParallelism } = head
    const { batchBytes } = site.network
    restoreInFlight(entries, edges, {
      index: subtask.index,
      parallelism,
      maxParallelism,
      batchBytes,
      dropLost: site.allowNonRestoredState ? (warning) => site.host.warn(warning) : undefined,
    })
  }

  /** Refuses records in flight to operators that get their records by direct calls now, or drops them. */
  private refuseLostRecords(): void {
    const { planned, site } = this
    for (const node of planned.chain.members) {
      const takes = node === planned.chain.head && node.body.kind !== 'source'
      const entries = takes ? [] : site.recordsInFlight(node)
      if (entries.length === 0) continue
      const edge = `an input of ${node.uid}`
      if (!site.allowNonRestoredState) throw lostEdge(edge)
      site.host.warn(droppedRecords(edge, entries.map(decodeInFlight)))
    }
  }
}

function numbersBelow(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i)
}

/** The receivers to which a sender goes in turn: each sender has some of its own, or shares one. */
function shareOf<T>(receivers: readonly T[], sender: number, senders: number): readonly T[] {
  const first = Math.floor((sender * receivers.length) / senders)
  const next = Math.floor(((sender + 1) * receivers.length) / senders)
  return receivers.slice(first, Math.max(first + 1, next))
}
