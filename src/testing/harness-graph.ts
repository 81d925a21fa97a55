import type { StreamGraph } from '../dataflow/stream-graph.ts'
import { HarnessNode } from './harness-node.ts'
import type { HarnessSnapshot } from './harness-snapshot.ts'
import { HarnessStates } from './harness-states.ts'
import type { ManualClock } from './manual-clock.ts'

/** All state of a stream, by the uids of its operators. */
export type StreamHarnessSnapshot = Readonly<Record<string, HarnessSnapshot>>

/** What the operators of a graph start with. */
export interface HarnessGraphOptions {
  readonly clock: ManualClock
  readonly restore: StreamHarnessSnapshot | undefined
}

/** The operators of a graph in a test, in one subtask each and connected. */
export class HarnessGraph {
  readonly clock: ManualClock
  /** In topological order. */
  readonly nodes: readonly HarnessNode[]
  /** The state of all operators. */
  readonly states: HarnessStates

  /** Opens the operators of the nodes, in topological order, with what a snapshot has for their uids. */
  static async open(
    graph: StreamGraph,
    { clock, restore }: HarnessGraphOptions,
  ): Promise<HarnessGraph> {
    const nodes: HarnessNode[] = []
    for (const node of graph.nodes) {
      nodes.push(await HarnessNode.open(node, graph, { clock, restore: restore?.[node.uid] }))
    }
    for (const node of nodes) node.connect(nodes, graph)
    return new HarnessGraph(clock, nodes)
  }

  private constructor(clock: ManualClock, nodes: readonly HarnessNode[]) {
    this.clock = clock
    this.nodes = nodes
    this.states = new HarnessStates(nodes.flatMap(({ harness }) => harness?.holder ?? []))
  }

  /** Whether there are asynchronous functions. */
  get isAsynchronous(): boolean {
    return this.nodes.some((node) => node.isAsynchronous)
  }

  /** Advances the wall clock; due processing-time timers fire. */
  advanceTime(ms: number): void {
    this.clock.advance(ms)
    for (const node of this.nodes) node.forward()
  }

  /** Lets promises settle, and emits the results of asynchronous functions that are there. */
  async settle(): Promise<void> {
    for (const node of this.nodes) await node.settle()
  }

  /** Ends all operators, whose inputs are at the last watermark. */
  end(): void {
    for (const node of this.nodes) node.end()
  }

  /** Takes a snapshot of all state. */
  async snapshot(checkpointId: number): Promise<StreamHarnessSnapshot> {
    const snapshots: Record<string, HarnessSnapshot> = {}
    for (const { harness, uid } of this.nodes) {
      if (harness !== undefined) snapshots[uid] = await harness.snapshot(checkpointId)
    }
    return snapshots
  }

  /** Closes the operators and their state. */
  async close(): Promise<void> {
    for (const { harness } of this.nodes) await harness?.close()
  }
}
