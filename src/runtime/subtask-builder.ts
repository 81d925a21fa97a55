import { newAlignment } from '../checkpoint/protocol/barrier-alignment.ts'
import { WeirError } from '../core/errors.ts'
import { keyGroupRangeOf } from '../core/key-group.ts'
import type { MetricGroup } from '../core/metrics.ts'
import type { StreamEdge, StreamNode } from '../dataflow/stream-graph.ts'
import type { Output } from '../operators/operator.ts'
import { ChannelHead, type ChannelRole, type ReturnCredit } from './channel-head.ts'
import type { NetworkConfiguration } from './configuration.ts'
import { InputChannel } from './input-channel.ts'
import { channelId, isKeyed, type PlannedChain, type PlannedEdge, taskName } from './job-plan.ts'
import type { KeyedStateCell } from './keyed-state-cell.ts'
import type { OperatorStateMemory } from './operator-state-memory.ts'
import { OperatorTask } from './operator-task.ts'
import { OutputChannel, type SendMessage } from './output-channel.ts'
import { OwnKeysOutput } from './own-keys-output.ts'
import { ProgressCombiner } from './progress-combiner.ts'
import {
  BroadcastOutput,
  DirectOutput,
  HashOutput,
  ManyTargets,
  RebalanceOutput,
  type RecordOutput,
  SingleOutput,
  SingleTarget,
} from './record-output.ts'
import { SourceHead } from './source-head.ts'
import { Subtask, type SubtaskHost } from './subtask.ts'
import { rateGauge } from './work-meter.ts'

/** What the slot gives its subtasks. */
export interface SubtaskSite {
  readonly slot: number
  readonly network: NetworkConfiguration
  readonly autoWatermarkIntervalMs: number
  readonly restoredCheckpoint: number
  readonly metrics: MetricGroup
  readonly host: SubtaskHost
  /** Opens the keyed state of an operator subtask. */
  openCell(node: StreamNode, subtask: number, metrics: MetricGroup): Promise<KeyedStateCell>
  operatorState(node: StreamNode, subtask: number): OperatorStateMemory
  /** Sends to the subtask of this number, in whatever slot it is. */
  sender(toSubtask: number): SendMessage
  /** Returns a credit to the subtask of this number. */
  creditReturn(fromSubtask: number): ReturnCredit
  /** Makes channels known to the slot's exchange. */
  addOutput(channel: OutputChannel): void
  addInput(channel: InputChannel): void
}

/** A subtask and, in the order of its operators, what each of them emits into. */
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
  const { chain } = planned
  const metrics = site.metrics.group(`${chain.head.uid}.${index}`)
  const subtask = new Subtask(taskName(chain, index), index, metrics, site.host)
  const tasks = new Map<number, OperatorTask>()
  for (const node of chain.members) {
    const task = await buildTask(planned, node, subtask, site)
    tasks.set(node.id, task)
    subtask.addOperator(task)
  }
  for (const edge of chain.innerEdges) tasks.get(edge.from)!.children.push(tasks.get(edge.to)!)
  const byEdge = buildChannels(planned, tasks, subtask, site)
  const outputs = subtask.operators.map((task) => buildOutput(planned, task, tasks, byEdge))
  if (chain.head.body.kind === 'source') (subtask.head as SourceHead).task = subtask.operators[0]!
  else subtask.head = buildChannelHead(planned, subtask, site)
  return { subtask, outputs }
}

async function buildTask(
  planned: PlannedChain,
  node: StreamNode,
  subtask: Subtask,
  site: SubtaskSite,
): Promise<OperatorTask> {
  const metrics = node === planned.chain.head ? subtask.metrics : subtask.metrics.group(node.uid)
  const cell = isKeyed(node, planned.chain.inEdges)
    ? await site.openCell(node, subtask.index, metrics)
    : undefined
  addRates(metrics, site)
  const state = site.operatorState(node, subtask.index)
  if (node.body.kind === 'operator') {
    return new OperatorTask(node, node.body.create(), cell, state, metrics)
  }
  const head = new SourceHead(node.body.source, node.body.watermarks, subtask, {
    autoWatermarkIntervalMs: site.autoWatermarkIntervalMs,
    reportsProgress: planned.behindFirstSource,
  })
  subtask.head = head
  return new OperatorTask(node, head, cell, state, metrics)
}

/** Rates per second beside the counters of an operator. */
function addRates(metrics: MetricGroup, site: SubtaskSite): void {
  const nowMs = (): number => site.host.clock.monotonicMs()
  for (const name of ['numRecordsIn', 'numRecordsOut']) {
    const counter = metrics.counter(name)
    metrics.gauge(
      `${name}PerSecond`,
      rateGauge(nowMs, () => counter.value),
    )
  }
}

/** Makes the channels of every outgoing edge. */
function buildChannels(
  planned: PlannedChain,
  tasks: ReadonlyMap<number, OperatorTask>,
  subtask: Subtask,
  site: SubtaskSite,
): Map<StreamEdge, RecordOutput> {
  const byEdge = new Map<StreamEdge, RecordOutput>()
  for (const out of planned.outputs) {
    const channels = targetsOf(out, subtask.index).map((target) => {
      const id = channelId(out, subtask.index, target)
      const channel = new OutputChannel(id, subtask, site.sender(target), site.network)
      site.addOutput(channel)
      return channel
    })
    subtask.channels.push(...channels)
    tasks.get(out.edge.from)!.channels.push(...channels)
    byEdge.set(out.edge, partitionedOutput(out, channels, subtask, site))
  }
  return byEdge
}

function targetsOf(out: PlannedEdge, from: number): number[] {
  if (out.pointwise) return [from]
  return Array.from({ length: out.to.parallelism }, (_, target) => target)
}

function partitionedOutput(
  out: PlannedEdge,
  channels: readonly OutputChannel[],
  subtask: Subtask,
  site: SubtaskSite,
): RecordOutput {
  const { partitioning, serializer } = out.edge
  if (partitioning.kind === 'hash') {
    const { keySelector, keySerializer, inPlace } = partitioning
    const { maxParallelism, parallelism } = out.to.head
    if (inPlace) {
      const range = keyGroupRangeOf(subtask.index, parallelism, maxParallelism)
      return new OwnKeysOutput(partitioning, serializer, maxParallelism, range, channels[0]!)
    }
    return new HashOutput(keySelector, keySerializer, serializer, maxParallelism, channels)
  }
  if (channels.length === 1) return new SingleOutput(serializer, channels[0]!)
  if (partitioning.kind === 'broadcast') return new BroadcastOutput(serializer, channels)
  const { batchBytes } = site.network
  const output = new RebalanceOutput(serializer, channels, subtask.index, batchBytes)
  subtask.rebalances.push(output)
  return output
}

/** What an operator emits into: direct calls first, then channels, side outputs by their tag. */
function buildOutput(
  planned: PlannedChain,
  task: OperatorTask,
  tasks: ReadonlyMap<number, OperatorTask>,
  byEdge: ReadonlyMap<StreamEdge, RecordOutput>,
): Output {
  const mains: RecordOutput[] = []
  const sides = new Map<string, RecordOutput[]>()
  const add = (edge: StreamEdge, output: RecordOutput): void => {
    const tag = edge.sideOutputTag
    if (tag === undefined) mains.push(output)
    else sides.set(tag, [...(sides.get(tag) ?? []), output])
  }
  for (const edge of planned.chain.innerEdges) {
    if (edge.from !== task.node.id) continue
    const child = tasks.get(edge.to)!
    add(edge, new DirectOutput(child))
  }
  for (const [edge, output] of byEdge) if (edge.from === task.node.id) add(edge, output)
  const recordsOut = task.metrics.counter('numRecordsOut')
  return mains.length === 1
    ? new SingleTarget(mains[0]!, recordsOut, sides)
    : new ManyTargets(mains, recordsOut, sides)
}

function buildChannelHead(planned: PlannedChain, subtask: Subtask, site: SubtaskSite): ChannelHead {
  const roles: ChannelRole[] = []
  const progressEdges: { readonly single: boolean; readonly senders: number }[] = []
  const returns = new Map<number, ReturnCredit>()
  for (const input of planned.inputs) {
    const counts = isBehindSource(input, planned)
    const progressEdge = counts ? progressEdges.length : -1
    const senders = input.pointwise ? [subtask.index] : numbersBelow(input.from.parallelism)
    if (counts) progressEdges.push({ single: input.singleCarrier, senders: senders.length })
    for (const [sender, from] of senders.entries()) {
      const id = channelId(input, from, subtask.index)
      const channel = new InputChannel(id, roles.length, input.edge.input)
      site.addInput(channel)
      returns.set(id, site.creditReturn(from))
      const keyed = input.edge.partitioning.kind === 'hash'
      roles.push({ channel, serializer: input.edge.serializer, keyed, progressEdge, sender })
    }
  }
  if (roles.length === 0) {
    throw new WeirError('INVALID_GRAPH', `${planned.chain.head.name} has no input`)
  }
  subtask.alignment = newAlignment(roles.length, site.restoredCheckpoint)
  return new ChannelHead(
    subtask,
    subtask.operators[0]!,
    roles,
    new ProgressCombiner(progressEdges),
    (channel, buffer) => returns.get(channel)!(channel, buffer),
  )
}

function isBehindSource(input: PlannedEdge, planned: PlannedChain): boolean {
  return planned.behindFirstSource && input.behindFirstSource
}

function numbersBelow(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i)
}
