import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Answer,
  atLeast,
  type QueryOptions,
  type ReadPosition,
  WeirClient,
} from '../../src/client/index.ts'
import { until } from '../run/until.ts'
import { freePorts } from '../services/free-port.ts'
import { type CommandProcess, type CommandResult, weir } from '../system/cli/command-process.ts'
import type { Installation } from './installation.ts'

/** Rows of a version by key. */
export type Rows = ReadonlyMap<string, Float32Array>

/** What rows are read of. */
export interface RowsOf {
  readonly state: string
  readonly keys: readonly string[]
  /** Name of the model. */
  readonly model: string
}

/** A job that a user started: in the foreground, or under a JobManager that has only this one. */
export class Service {
  readonly port: string
  /** Flags of a command that asks the job. */
  readonly toAsk: readonly string[]
  readonly client: WeirClient
  private readonly process: CommandProcess
  private readonly rest: string
  private readonly at: Installation

  private constructor(
    at: Installation,
    place: { process: CommandProcess; port: string; rest: string; client: WeirClient },
  ) {
    this.at = at
    this.process = place.process
    this.port = place.port
    this.toAsk = ['--port', place.port, ...(at.encryption?.of('query') ?? [])]
    this.rest = place.rest
    this.client = place.client
  }

  /** Starts a command that serves, and waits until it does: a version is live, and is learned on if it learns. */
  static async start(at: Installation, ...command: string[]): Promise<Service> {
    const [port, rest] = (await freePorts(2)).map(String) as [string, string]
    const own = ['--port', port, '-D', `rest.port=${rest}`, ...(at.encryption?.ofRest ?? [])]
    const flags = ['--json', ...own, ...serverFlags(at)]
    const process = weir([...command, ...flags, ...at.place], { cwd: at.folder })
    return await Service.of(at, { process, port, rest }, async () => {
      await process.printed(/"event":"live"/)
      if (command[0] === 'learn') await process.printed(/"event":"learning"/)
      await process.printed(/"event":"rest"/)
    })
  }

  /** The same with a JobManager, to which the command is submitted. */
  static async submit(at: Installation, ...command: string[]): Promise<Service> {
    const [port, rest] = (await freePorts(2)).map(String) as [string, string]
    const flags = ['--json', '-D', `rest.port=${rest}`, ...serverFlags(at)]
    const process = weir(['jobmanager', ...flags, ...at.managerPlace], { cwd: at.folder })
    return await Service.of(at, { process, port, rest }, async () => {
      await process.printed(/"event":"started"/)
      const toManager = ['-d', '-m', `127.0.0.1:${rest}`, ...managerFlags(at)]
      const flags = ['--json', '--port', port, ...toManager, ...at.topicFlags]
      const said = await at.ask(...command, ...flags)
      const { jobId } = JSON.parse(said) as { readonly jobId: string }
      const log = at.file(join('data', 'jobmanager', 'logs', `${jobId}.log`))
      const wanted = command[0] === 'learn' ? /: learning on version/ : / is live /
      await until(`job ${jobId} is ready`, () => {
        if (process.hasEnded) throw new Error('the JobManager has ended')
        return existsSync(log) && wanted.test(readFileSync(log, 'utf8'))
      })
    })
  }

  /** A service once it is `ready`; else its process ends. */
  private static async of(
    at: Installation,
    { process, port, rest }: { process: CommandProcess; port: string; rest: string },
    ready: () => Promise<void>,
  ): Promise<Service> {
    try {
      await ready()
      const tls = at.encryption?.ofClient
      const encrypted = tls === undefined ? {} : { tls }
      const deadlineMs = 60_000
      const client = await WeirClient.connect({ port: Number(port), deadlineMs, ...encrypted })
      return new Service(at, { process, port, rest: `127.0.0.1:${rest}`, client })
    } catch (error) {
      await process[Symbol.asyncDispose]()
      throw error
    }
  }

  get hasEnded(): boolean {
    return this.process.hasEnded
  }

  /** Waits until the job learns on a version that was just made live; `times`: how often it has since it began. */
  async learnsOn(version: number, times = 1): Promise<void> {
    const once = `"event":"learning","version":${version}[,}]`
    await this.process.printed(new RegExp(Array(times).fill(once).join('[\\s\\S]*')))
  }

  /** Waits until answers are of a version that was just made live; `times` as above. */
  async serves(version: number, times = 1): Promise<void> {
    const once = `"event":"live","version":${version},`
    await this.process.printed(new RegExp(Array(times).fill(once).join('[\\s\\S]*')))
  }

  /**
   * Rows of a version, read one by one, with all deltas that their topic has now; keys without a row are left out.
   * `version`: one that is not live and learns nothing now. @default the live one
   */
  async rows({ state, keys, model }: RowsOf, version?: number): Promise<Rows> {
    if (version !== undefined) return await this.read(state, keys, { version })
    for (const position of await this.deltaEnds(model)) {
      const applied = await this.client.rows(state, keys, { consistency: atLeast(position) })
      applied.forEach(rowOf)
    }
    return await this.read(state, keys, {})
  }

  private async read(state: string, keys: readonly string[], options: QueryOptions): Promise<Rows> {
    const answers = await Promise.all(
      keys.map(async (key) => {
        const [answer] = await this.client.rows(state, [key], options)
        return [key, rowOf(answer!)] as const
      }),
    )
    return new Map(answers.filter((one): one is [string, Float32Array] => one[1] !== undefined))
  }

  /** The last delta of each partition; none where the job does not learn. */
  private async deltaEnds(model: string): Promise<readonly ReadPosition[]> {
    const source = this.client.routing.sources.find(({ uid }) => uid === 'deltas-topic')?.number
    if (source === undefined) return []
    const ends = new Map<number, ReadPosition>()
    for (const { partition, offset } of await this.at.records(`${model}-deltas`)) {
      ends.set(partition, { source, partition, offset })
    }
    return [...ends.values()]
  }

  /** Ends the job as Ctrl-C does. Throws when it does not end well. */
  async stop(): Promise<void> {
    await this.client.close()
    this.process.signal('SIGINT')
    wellEnded(await this.process.ended)
  }

  /** Ends the process at once, as a power failure does; nothing if it has ended. */
  async kill(): Promise<void> {
    await this.client.close()
    await this.process[Symbol.asyncDispose]()
  }

  /** Ends the job with `weir stop` and perhaps more flags; returns the URL of its savepoint. */
  async stopWithSavepoint(...flags: string[]): Promise<string> {
    await this.client.close()
    const said = await this.askManager('stop', await this.jobId(), ...flags)
    wellEnded(await this.process.ended)
    return /Path: (\S+)/.exec(said)![1]!
  }

  /** Goes on with so many slots, with `weir rescale`: only under a JobManager. */
  async rescale(slots: number): Promise<void> {
    const id = await this.jobId()
    await this.askManager('rescale', id, '--parallelism', String(slots))
    const { vertices } = JSON.parse(await this.askManager('info', id, '--json')) as {
      readonly vertices: readonly { readonly parallelism: number }[]
    }
    const now = Math.max(...vertices.map(({ parallelism }) => parallelism))
    if (now !== slots) throw new Error(`the job has ${now} slots, not ${slots}`)
  }

  private async jobId(): Promise<string> {
    const job = JSON.parse(await this.askManager('list', '--json')) as { readonly jid: string }
    return job.jid
  }

  private askManager(...words: readonly string[]): Promise<string> {
    return this.at.ask(...words, '-m', this.rest, ...managerFlags(this.at))
  }
}

const serverFlags = ({ encryption }: Installation): readonly string[] => encryption?.ofServer ?? []
const managerFlags = ({ encryption }: Installation): readonly string[] =>
  encryption?.of('jobmanager') ?? []

/** The row of an answer; undefined where the key has none. Throws every other error. */
function rowOf(answer: Answer<Float32Array>): Float32Array | undefined {
  if (answer.ok) return answer.value
  if (answer.error.code !== 'UNKNOWN_KEY') throw answer.error
  return undefined
}

function wellEnded({ code, signal, stderr }: CommandResult): void {
  if (code !== 0) throw new Error(`the service ended with ${code ?? signal}: ${stderr}`)
}
