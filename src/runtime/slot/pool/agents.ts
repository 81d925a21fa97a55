import type { Clock } from '../../../core/clock.ts'
import { messageOf } from '../../../core/errors.ts'
import type { JobModule } from '../../../dataflow/job/module.ts'
import type { StreamGraph } from '../../../dataflow/stream-graph.ts'
import { SlotMemory } from '../../../state/slot-memory.ts'
import { asyncCaller, asyncOrigin } from '../../subtask/operator-failure.ts'
import { SlotAgent, type SlotAgentOptions } from '../agent.ts'
import type { SharedThreadCommand, SharedThreadReport } from './messages.ts'

/** Options of the agents of a thread. */
export interface SharedAgentsOptions extends Pick<SlotAgentOptions, 'openStorage'> {
  readonly clock: Clock
  readonly buildGraph: (job: JobModule) => Promise<StreamGraph>
  /** Bytes of keyed state that all agents together hold in memory. */
  readonly stateMemoryBytes: number
  readonly post: (report: SharedThreadReport) => void
  /** Called with the sentence of an error that fails no attempt. */
  readonly warn: (sentence: string) => void
}

/**
 * Longest time, ms, that an agent closes what it holds. What hangs for longer is left alone: the other agents of the
 * thread go on, and it keeps what it holds until the thread ends.
 */
const END_TIMEOUT_MS = 5_000

/**
 * The agents of a slot thread that several executions share. Each runs in turns of its own: the event loop gives each
 * busy one a slice after the other (`SlotLoop`).
 */
export class SharedAgents {
  private readonly options: SharedAgentsOptions
  private readonly memory: SlotMemory
  private readonly agents = new Map<number, SlotAgent>()

  constructor(options: SharedAgentsOptions) {
    this.options = options
    this.memory = new SlotMemory(options.stateMemoryBytes, { sharesEvenly: true })
  }

  /** Executes a message of the main thread; a command for an agent that is not there is ignored. */
  handle(message: SharedThreadCommand): void {
    const { kind } = message
    if (kind === 'command') this.agents.get(message.agent)?.handle(message.command)
    else if (kind === 'add')
      this.agents.set(message.agent, this.agentOf(message.agent, message.job))
    else if (kind === 'remove') void this.remove(message.agent)
    else this.options.post({ kind: 'answer' })
  }

  /**
   * An error that no call handled. It fails the attempt whose operator has begun the asynchronous code. Where that is
   * not known it fails every attempt of the thread: each may have lost something. One of an attempt that is over is a
   * warning, because nothing that runs has begun it. False where no attempt runs, and no warning says it.
   */
  failStray(error: unknown): boolean {
    const origin = asyncOrigin.getStore()
    // Each one fails, and not only the first.
    const failed = [...this.agents.values()].map((agent) => agent.failStray(error, origin))
    if (failed.includes(true)) return true
    if (origin === undefined) return false
    const { task = '', operator = '' } = asyncCaller()
    this.options.warn(
      `operator ${operator}, task ${task}, whose attempt is over, left an error that nothing handled: ${messageOf(error)}; wait for each promise in close()`,
    )
    return true
  }

  private agentOf(agent: number, job: JobModule): SlotAgent {
    const { clock, openStorage, buildGraph, post } = this.options
    return new SlotAgent({
      clock,
      openStorage,
      buildGraph: () => buildGraph(job),
      report: (report) => post({ kind: 'report', agent, report }),
      sharedMemory: this.memory,
    })
  }

  private async remove(agent: number): Promise<void> {
    const removed = this.agents.get(agent)
    this.agents.delete(agent)
    if (removed !== undefined) await this.endOf(removed)
    this.options.post({ kind: 'removed', agent })
  }

  /** Resolves when an agent has ended, or does not within the time for it. */
  private endOf(agent: SlotAgent): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.options.clock.after(END_TIMEOUT_MS, resolve)
      const done = (): void => {
        cancel()
        resolve()
      }
      agent.end().then(done, (error: unknown) => {
        this.options.warn(`a slot that is over could not be closed: ${messageOf(error)}`)
        done()
      })
    })
  }
}
