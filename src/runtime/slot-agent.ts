import type { CheckpointStorage } from '../checkpoint/checkpoint-storage.ts'
import type { Clock } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { StreamGraph } from '../dataflow/stream-graph.ts'
import type { SlotCommand, SlotDeployment, SlotReport } from './slot-protocol.ts'
import { SlotQueries } from './slot-queries.ts'
import { SlotRuntime } from './slot-runtime.ts'
import { stateDirectoryOf } from './state-directory.ts'

/** What a slot agent needs from the thread that it lives in. */
export interface SlotAgentOptions {
  readonly clock: Clock
  /** Builds the job's graph, the same in every slot. */
  readonly buildGraph: () => StreamGraph | Promise<StreamGraph>
  readonly openStorage: (url: string) => CheckpointStorage | Promise<CheckpointStorage>
  readonly report: (report: SlotReport) => void
}

/** Lives as long as its slot: runs one attempt after the other and answers pings and queries. */
export class SlotAgent {
  private readonly options: SlotAgentOptions
  private readonly queries: SlotQueries
  private runtime: SlotRuntime | undefined
  private storage: CheckpointStorage | undefined

  constructor(options: SlotAgentOptions) {
    this.options = options
    this.queries = new SlotQueries(
      () => this.runtime?.backends(),
      () => this.answerSoon(),
    )
  }

  /** Obeys a command; one of another attempt than the present one is ignored. */
  handle(command: SlotCommand): void {
    switch (command.kind) {
      case 'deploy':
        void this.deploy(command.deployment)
        return
      case 'ping':
        this.options.report({ kind: 'pong', attempt: command.attempt })
        return
      case 'attach-query':
        this.queries.attach(command.port)
        return
      default:
        this.forward(command)
    }
  }

  /** Ends without closing anything, as a killed thread would. */
  abandon(): void {
    this.runtime?.abandon()
    this.queries.detach()
  }

  private forward(command: SlotCommand): void {
    const { runtime } = this
    if (runtime?.attempt === command.attempt) runtime.handle(command)
    else if (command.kind === 'close') {
      this.options.report({ kind: 'closed', attempt: command.attempt })
    }
  }

  /** A running attempt answers between two slices; without one there is nobody to wait for. */
  private answerSoon(): void {
    if (this.runtime === undefined) this.queries.answerAll()
    else this.runtime.wake()
  }

  private async deploy(deployment: SlotDeployment): Promise<void> {
    const { attempt, configuration, storageUrl } = deployment
    try {
      await this.runtime?.close()
      if (storageUrl !== undefined) this.storage ??= await this.options.openStorage(storageUrl)
      const graph = await this.options.buildGraph()
      this.runtime = new SlotRuntime({
        deployment,
        graph,
        clock: this.options.clock,
        storage: storageUrl === undefined ? undefined : this.storage,
        stateDirectory: stateDirectoryOf(configuration),
        queries: this.queries,
        report: this.options.report,
      })
      await this.runtime.deploy()
    } catch (error) {
      const stack = error instanceof Error ? error.stack : undefined
      this.options.report({
        kind: 'failed',
        attempt,
        task: `slot ${deployment.slot}`,
        operator: undefined,
        code: 'OPERATOR_FAILED',
        message: messageOf(error),
        stack,
      })
    }
  }
}
