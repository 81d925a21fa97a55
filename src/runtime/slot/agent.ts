import type { Clock } from '../../core/clock.ts'
import type { OutageListener } from '../../core/lifetime/outage.ts'
import { noticeFrom } from '../../core/lifetime/wait.ts'
import type { StreamGraph } from '../../dataflow/stream-graph.ts'

import type { SlotMemory } from '../../state/slot-memory.ts'
import type { CheckpointStorage } from '../checkpoint/storage/checkpoint-storage.ts'
import { stateDirectoryOf } from '../configuration/state-directory.ts'
import { failureReport } from '../protocol/failure-report.ts'
import type { SlotCommand, SlotDeployment, SlotReport } from '../protocol/slot-messages.ts'
import { SlotQueries } from './queries.ts'
import { SlotRuntime } from './runtime.ts'

/** Options of a slot agent, from the thread that it runs in. */
export interface SlotAgentOptions {
  readonly clock: Clock
  /** Builds the job's graph, the same in every slot. */
  readonly buildGraph: () => StreamGraph | Promise<StreamGraph>
  readonly openStorage: (
    url: string,
    onOutage: OutageListener,
  ) => CheckpointStorage | Promise<CheckpointStorage>
  readonly report: (report: SlotReport) => void
  /**
   * The memory for keyed state of a thread that several agents share; its heap is then not among the metrics of each.
   * @default the thread has this agent alone
   */
  readonly sharedMemory?: SlotMemory | undefined
}

/**
 * The part of a slot that lasts as long as the slot: runs one attempt after the other and answers pings
 * and queries.
 */
export class SlotAgent {
  private readonly options: SlotAgentOptions
  private readonly queries: SlotQueries
  private runtime: SlotRuntime | undefined
  /** Last attempt that was deployed, with the commands that came before its runtime was there. */
  private deploying: { readonly attempt: number; readonly commands: SlotCommand[] } | undefined
  private storage: CheckpointStorage | undefined
  private isEnded = false

  constructor(options: SlotAgentOptions) {
    this.options = options
    this.queries = new SlotQueries(
      options.clock,
      () => this.runtime?.backends(),
      () => this.answerSoon(),
    )
  }

  /** Executes a command; a command of another attempt than the present one is ignored. */
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

  /**
   * An error that no call handled fails the attempt that runs; false where none runs. With the subtask that has begun the
   * code, only an attempt that has this subtask.
   */
  failStray(error: unknown, of?: object): boolean {
    return this.runtime?.failStray(error, of) === true
  }

  /**
   * Ends for good in a thread that goes on: closes what runs, unless it is being closed already, and its storage. No
   * attempt is deployed any more.
   */
  async end(): Promise<void> {
    this.isEnded = true
    this.queries.detach()
    await this.runtime?.close()
    await this.storage?.close()
  }

  /** Ends without closing anything, as a killed thread would. */
  abandon(): void {
    this.runtime?.abandon()
    this.queries.detach()
  }

  private forward(command: SlotCommand): void {
    const { runtime, deploying } = this
    if (runtime?.attempt === command.attempt) runtime.handle(command)
    else if (command.kind === 'close') {
      this.options.report({ kind: 'closed', attempt: command.attempt, accumulators: [] })
    } else if (deploying?.attempt === command.attempt) deploying.commands.push(command)
  }

  /**
   * An attempt that runs answers queries between two slices; without an attempt they are answered at
   * once.
   */
  private answerSoon(): void {
    if (this.runtime === undefined) this.queries.answer(Number.POSITIVE_INFINITY)
    else this.runtime.wake()
  }

  private async deploy(deployment: SlotDeployment): Promise<void> {
    const { attempt, configuration, storageUrl } = deployment
    const deploying = { attempt, commands: [] as SlotCommand[] }
    this.deploying = deploying
    try {
      await this.runtime?.close()
      if (storageUrl !== undefined) {
        this.storage ??= await this.options.openStorage(storageUrl, (notice) =>
          this.runtime?.warn(noticeFrom('checkpoints', notice, { slot: deployment.slot })),
        )
      }
      const graph = await this.options.buildGraph()
      if (this.isEnded) return await this.end()
      this.runtime = new SlotRuntime({
        deployment,
        graph,
        clock: this.options.clock,
        storage: storageUrl === undefined ? undefined : this.storage,
        stateDirectory: stateDirectoryOf(configuration),
        sharedMemory: this.options.sharedMemory,
        queries: this.queries,
        report: this.options.report,
      })
      // A faster slot may have opened tables already: without them this one would miss rows.
      for (const command of deploying.commands) this.runtime.handle(command)
      await this.runtime.deploy()
    } catch (error) {
      const task = `slot ${deployment.slot}`
      this.options.report(failureReport(error, { attempt, task, operator: undefined }))
    }
  }
}
