import { type ChildProcess, fork } from 'node:child_process'
import { WeirClient } from '../../src/client/weir-client.ts'
import { WeirError } from '../../src/core/errors.ts'
import { ALS_MODEL } from '../../src/models/topic/als-serving-function.ts'
import type { Ask } from '../load/generator.ts'
import type { KeySchedule } from '../load/key-schedule.ts'
import type {
  ServedModelCall,
  ServedModelCalls,
  ServedModelEvent,
  ServedModelPlan,
  ServedModelReply,
} from './model-messages.ts'
import { MODEL_TOPIC, type PublishedModel } from './published-model.ts'

/** Options of serving a published model. */
export interface ServingSetup {
  /** Configuration by Flink's keys. */
  readonly configuration: Readonly<Record<string, string>>
  /** @default 2 */
  readonly slots?: number
  /** @default 1 */
  readonly queryThreads?: number
}

/** Time after which a process that has not ended is killed. */
const ENDING_MS = 10_000

type Waiting = PromiseWithResolvers<unknown>

/** The `als-serving` job in a separate process, and a client of it in this one. */
export class ServedModel implements AsyncDisposable {
  /** When the job was RUNNING, monotonic ms of the serving process. */
  readonly runningAtMs: Promise<number>
  /** When the version went live, on the same clock. */
  readonly liveAtMs: Promise<number>
  private readonly child: ChildProcess
  private readonly running = Promise.withResolvers<number>()
  private readonly live = Promise.withResolvers<number>()
  private readonly listening = Promise.withResolvers<number>()
  private readonly waiting = new Map<number, Waiting>()
  private readonly killAtExit = (): void => this.kill()
  private readonly clients: WeirClient[] = []
  private nextId = 1

  private constructor(child: ChildProcess) {
    this.child = child
    this.runningAtMs = this.running.promise
    this.liveAtMs = this.live.promise
    for (const promise of [this.running, this.live, this.listening]) promise.promise.catch(() => {})
    child.on('message', (message: ServedModelEvent | ServedModelReply) => this.onMessage(message))
    child.on('exit', () => this.fail('the serving process ended'))
    process.prependListener('exit', this.killAtExit)
  }

  /** Starts the process. Resolves when it answers queries, which is before the model is loaded. */
  static async start(model: PublishedModel, setup: ServingSetup): Promise<ServedModel> {
    const plan: ServedModelPlan = {
      data: model.data,
      topic: MODEL_TOPIC,
      dimension: model.shape.factors,
      slots: setup.slots ?? 2,
      queryThreads: setup.queryThreads ?? 1,
      configuration: setup.configuration,
    }
    const module = new URL('./model-process.ts', import.meta.url)
    const served = new ServedModel(
      fork(module, [JSON.stringify(plan)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
    )
    await served.listening.promise
    return served
  }

  /** Query port of the job. */
  get port(): Promise<number> {
    return this.listening.promise
  }

  /** Process id of the server. */
  get pid(): number {
    return this.child.pid!
  }

  /** A connected client of the served model. `close` closes it. */
  async client(): Promise<WeirClient> {
    if (this.clients.length === 0) {
      this.clients.push(await WeirClient.connect({ port: await this.listening.promise }))
    }
    return this.clients[0]!
  }

  /** Predictions of a schedule's pairs. */
  async predictor(schedule: KeySchedule): Promise<Ask> {
    const client = await this.client()
    const { users, items } = schedule
    return () => {
      const at = schedule.advance()
      return client.predict(ALS_MODEL, users[at]!, items[at]!)
    }
  }

  /** Calls the serving process. Throws ILLEGAL_STATE with its error. */
  call<C extends ServedModelCall>(call: C): Promise<ServedModelCalls[C]> {
    const id = this.nextId++
    const waiting: Waiting = Promise.withResolvers()
    this.waiting.set(id, waiting)
    this.child.send({ id, call })
    return waiting.promise as Promise<ServedModelCalls[C]>
  }

  /** Sum of a metric over the subtasks of the operator that holds the rows. */
  async metric(name: string): Promise<number> {
    const metrics = await this.call('metrics')
    const pattern = new RegExp(`^als-model\\.\\d+\\.${name}$`)
    const of = Object.entries(metrics).filter(([key]) => pattern.test(key))
    return of.reduce((sum, [, value]) => sum + value, 0)
  }

  /** Runs `work` while the serving process is stopped, so that a rival has the machine to itself. */
  async whilePaused<T>(work: () => Promise<T>): Promise<T> {
    this.child.kill('SIGSTOP')
    try {
      return await work()
    } finally {
      this.child.kill('SIGCONT')
    }
  }

  /**
   * Ends the process without a last checkpoint, because its files are deleted with the benchmark's folder.
   * It is asked to exit and not killed, so that a profiler can write its file.
   */
  async close(): Promise<void> {
    for (const client of this.clients) await client.close()
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const exited = new Promise((resolve) => this.child.once('exit', resolve))
    this.child.disconnect()
    const timer = setTimeout(() => this.kill(), ENDING_MS)
    await exited
    clearTimeout(timer)
    process.off('exit', this.killAtExit)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  private kill(): void {
    this.child.kill('SIGKILL')
  }

  private onMessage(message: ServedModelEvent | ServedModelReply): void {
    if (message.kind === 'listening') this.listening.resolve(message.port)
    else if (message.kind === 'running') this.running.resolve(message.atMs)
    else if (message.kind === 'live') this.live.resolve(message.atMs)
    else if (message.kind === 'failed') this.fail(message.message)
    else {
      const waiting = this.waiting.get(message.id)
      this.waiting.delete(message.id)
      if (message.error === undefined) waiting?.resolve(message.value)
      else waiting?.reject(new WeirError('ILLEGAL_STATE', message.error))
    }
  }

  private fail(reason: string): void {
    const error = new WeirError('ILLEGAL_STATE', reason)
    for (const { reject } of [this.running, this.live, this.listening]) reject(error)
    for (const { reject } of this.waiting.values()) reject(error)
    this.waiting.clear()
  }
}
