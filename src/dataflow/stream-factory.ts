import type { DataStream } from './data-stream.ts'
import type { GraphDraft, NodeDraft, StreamOrigin } from './graph-draft.ts'
import type { NodeSpec } from './node-spec.ts'
import type { StartedJob } from './stream-graph.ts'

/** Starts the whole graph. */
type StartJob = (jobName: string | undefined) => StartedJob

type CreateStream = <T>(factory: StreamFactory, origins: readonly StreamOrigin[]) => DataStream<T>

/**
 * The maker of the streams of one graph. Every stream has it and makes its successors with it, so that keyed,
 * windowed and connected streams can return a `DataStream` without importing its class. The types of the stream
 * classes still refer to each other, so biome.json allows a circle of type-only imports in these files.
 */
export class StreamFactory {
  readonly draft: GraphDraft
  /** Starts the job of the whole graph. Throws ILLEGAL_STATE without an executor that can. */
  readonly start: StartJob
  private readonly create: CreateStream

  constructor(draft: GraphDraft, create: CreateStream, start: StartJob) {
    this.draft = draft
    this.create = create
    this.start = start
  }

  /** Adds a node to the graph. Returns the stream of its main output. */
  add<T>(spec: NodeSpec, inputs: readonly (readonly StreamOrigin[])[]): DataStream<T> {
    return this.outputOf(this.draft.addNode(spec, inputs))
  }

  /** The stream of the main output of a node. */
  outputOf<T>(node: NodeDraft): DataStream<T> {
    return this.stream([{ node, tag: undefined, partitioning: undefined }])
  }

  /** The stream of some outputs. */
  stream<T>(origins: readonly StreamOrigin[]): DataStream<T> {
    return this.create<T>(this, origins)
  }
}
