import { EventEmitter } from 'node:events'
import { getHeapStatistics } from 'node:v8'
import { systemClock } from '../../../../src/core/clock.ts'
import type { StreamGraph } from '../../../../src/dataflow/stream-graph.ts'
import type { CheckpointStorage } from '../../../../src/runtime/checkpoint/storage/checkpoint-storage.ts'
import { SharedAgents } from '../../../../src/runtime/slot/pool/agents.ts'
import type {
  SharedThreadCommand,
  SharedThreadData,
  SharedThreadReport,
} from '../../../../src/runtime/slot/pool/messages.ts'
import type { SharedWorker } from '../../../../src/runtime/slot/pool/worker.ts'

/** A worker without a thread that only collects what it is sent. */
export class SilentWorker extends EventEmitter implements SharedWorker {
  readonly name: string
  readonly data: SharedThreadData
  readonly received: SharedThreadCommand[] = []
  isTerminated = false

  constructor(name: string, data: SharedThreadData) {
    super()
    this.name = name
    this.data = data
  }

  postMessage(message: SharedThreadCommand): void {
    this.received.push(message)
  }

  /** The thread has posted this. */
  says(report: SharedThreadReport): void {
    this.emit('message', report)
  }

  terminate(): Promise<number> {
    this.isTerminated = true
    return Promise.resolve(1)
  }

  startCpuProfile(): Promise<never> {
    return Promise.reject(new Error('there is no thread'))
  }

  getHeapStatistics(): Promise<ReturnType<typeof getHeapStatistics>> {
    return Promise.resolve(getHeapStatistics())
  }
}

/** A worker that runs its agents in the calling thread; a job's graph is the one of its URL. */
export class LocalWorker extends SilentWorker {
  readonly warnings: string[] = []
  readonly agents: SharedAgents

  constructor(
    name: string,
    data: SharedThreadData,
    graphs: ReadonlyMap<string, StreamGraph>,
    storage: CheckpointStorage,
  ) {
    super(name, data)
    this.agents = new SharedAgents({
      clock: systemClock,
      openStorage: () => storage,
      buildGraph: ({ url }) => Promise.resolve(graphs.get(url)!),
      stateMemoryBytes: data.stateMemoryBytes,
      post: (report) => {
        setImmediate(() => {
          if (!this.isTerminated) this.says(report)
        })
      },
      warn: (sentence) => this.warnings.push(sentence),
    })
  }

  override postMessage(message: SharedThreadCommand): void {
    super.postMessage(message)
    setImmediate(() => this.agents.handle(message))
  }

  override async terminate(): Promise<number> {
    if (this.isTerminated) return 1
    await super.terminate()
    for (const message of this.received) {
      if (message.kind === 'add') this.agents.handle({ kind: 'remove', agent: message.agent })
    }
    setImmediate(() => this.emit('exit', 1))
    return 1
  }
}
