import { deepCopy } from '../core/formats/deep-copy.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../core/time.ts'
import type { StreamEdge, StreamGraph, StreamNode } from '../dataflow/stream-graph.ts'
import type { OutputTag } from '../operators/port/output-tag.ts'
import { blame } from '../runtime/subtask/operator-failure.ts'
import type { HarnessKeys } from './harness-options.ts'
import type { HarnessSnapshot } from './harness-snapshot.ts'
import type { ManualClock } from './manual-clock.ts'
import { type HarnessRecord, OperatorHarness } from './operator-harness.ts'

/** An edge to the next operator. */
interface Link {
  readonly to: HarnessNode
  readonly edge: StreamEdge
  /** Records of the side output that were passed on. */
  passed: number
}

/** One operator of a stream in a test: its harness, and the operators to which its results go. */
export class HarnessNode {
  readonly id: number
  readonly uid: string
  readonly name: string
  /** Undefined for an input of the stream. */
  readonly harness: OperatorHarness | undefined
  /** What came out, for the reader of the last operator. */
  readonly results: HarnessRecord<unknown>[] = []
  readonly emittedWatermarks: number[] = []
  private readonly node: StreamNode
  private readonly links: Link[] = []
  /** By the id of the edge's sender and its input, the watermark. */
  private readonly watermarks = new Map<StreamEdge, number>()

  /** Opens the operator. */
  static async open(
    node: StreamNode,
    graph: StreamGraph,
    options: { readonly clock: ManualClock; readonly restore: HarnessSnapshot | undefined },
  ): Promise<HarnessNode> {
    if (node.body.kind === 'source') return new HarnessNode(node, undefined)
    const keys = keysOf(graph.edges.filter(({ to }) => to === node.id))
    const harness = await OperatorHarness.open({
      operator: node.body.create(),
      name: node.uid,
      clock: options.clock,
      ...(keys === undefined ? {} : { keys }),
      ...(node.onError === undefined ? {} : { onError: node.onError }),
      ...(options.restore === undefined ? {} : { restore: [options.restore] }),
    })
    return new HarnessNode(node, harness)
  }

  private constructor(node: StreamNode, harness: OperatorHarness | undefined) {
    this.id = node.id
    this.uid = node.uid
    this.name = node.name
    this.node = node
    this.harness = harness
  }

  get isInput(): boolean {
    return this.harness === undefined
  }

  /** Finds the operators that get the results of this one. */
  connect(nodes: readonly HarnessNode[], graph: StreamGraph): void {
    for (const edge of graph.edges) {
      if (edge.from !== this.id) continue
      const to = nodes.find(({ id }) => id === edge.to)
      if (to === undefined) continue
      this.links.push({ to, edge, passed: 0 })
      // A table holds no watermark back, as in a job.
      to.watermarks.set(edge, edge.loadsFirst === true ? MAX_TIMESTAMP : MIN_TIMESTAMP)
    }
  }

  sideOutput<T>(tag: OutputTag<T>): HarnessRecord<T>[] {
    return this.harness?.sideOutput(tag) ?? []
  }

  /** Whether its results come later than their records. */
  get isAsynchronous(): boolean {
    return this.harness?.isAsynchronous === true
  }

  /** Whether all its input has come out: the last watermark has. */
  get hasEnded(): boolean {
    return this.emittedWatermarks.at(-1) === MAX_TIMESTAMP
  }

  /** Gives an input of the stream a record. */
  feed(value: unknown, timestamp: number): void {
    if (this.harness === undefined) {
      this.emit(value, timestamp)
      return
    }
    this.call((harness) => harness.process(value, timestamp))
    this.forward()
  }

  /** Sends a record to the next operators; what one of several changes, the others do not see. */
  private emit(value: unknown, timestamp: number): void {
    const { links } = this
    this.results.push({ value, timestamp })
    for (const [i, { to, edge }] of links.entries()) {
      if (edge.sideOutputTag !== undefined) continue
      to.process(edge, i === links.length - 1 ? value : deepCopy(value), timestamp)
    }
  }

  /** Sends a watermark to the next operators. */
  emitWatermark(timestamp: number): void {
    this.emittedWatermarks.push(timestamp)
    for (const { to, edge } of this.links) to.advance(edge, timestamp)
  }

  /** Sends a watermark that is above all before. */
  raiseWatermark(timestamp: number): void {
    if (timestamp > (this.emittedWatermarks.at(-1) ?? MIN_TIMESTAMP)) this.emitWatermark(timestamp)
  }

  /** Passes on what the operator has emitted since the last call: records first, as they come before watermarks. */
  forward(): void {
    const { harness } = this
    if (harness === undefined) return
    for (const link of this.links) this.passSide(link, harness)
    for (const { value, timestamp } of harness.outputs.splice(0)) this.emit(value, timestamp)
    for (const timestamp of harness.watermarks.splice(0)) this.raiseWatermark(timestamp)
  }

  async settle(): Promise<void> {
    await this.harness?.settle()
    this.forward()
  }

  /** Ends the inputs of the operator, whose watermark is at its end. */
  end(): void {
    this.harness?.endInput(this.node.inputs)
    this.forward()
  }

  private process({ input }: StreamEdge, value: unknown, timestamp: number): void {
    // A store emits nothing: its results are what reaches it.
    if (this.node.isStore === true) this.results.push({ value, timestamp })
    this.call((harness) => harness.process(value, timestamp, { input }))
    this.forward()
  }

  /** Calls the operator; if it throws, records that it was this operator. */
  private call(call: (harness: OperatorHarness) => void): void {
    try {
      call(this.harness!)
    } catch (error) {
      throw blame(error, this.node)
    }
  }

  /** The watermark of the operator is the smallest one of its edges. */
  private advance(edge: StreamEdge, timestamp: number): void {
    if (timestamp <= this.watermarks.get(edge)!) return
    this.watermarks.set(edge, timestamp)
    this.call((harness) => harness.watermark(Math.min(...this.watermarks.values())))
    this.forward()
  }

  private passSide(link: Link, harness: OperatorHarness): void {
    const { edge, to } = link
    if (edge.sideOutputTag === undefined) return
    const records = harness.sideOutput({ id: edge.sideOutputTag } as OutputTag<unknown>)
    for (const { value, timestamp } of records.slice(link.passed)) {
      link.passed += 1
      to.process(edge, value, timestamp)
    }
  }
}

/** The keys of an operator's inputs; undefined when none is keyed. */
function keysOf(edges: readonly StreamEdge[]): HarnessKeys | undefined {
  const selectors: ((value: never) => unknown)[] = []
  let serializer: HarnessKeys['serializer'] | undefined
  for (const { input, partitioning } of edges) {
    if (partitioning.kind !== 'hash') continue
    selectors[input] = partitioning.keySelector as (value: never) => unknown
    serializer = partitioning.keySerializer
  }
  return serializer === undefined ? undefined : { selectors, serializer }
}
