import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WeirClient } from '../../src/client/index.ts'
import { sleep, systemClock } from '../../src/core/clock.ts'
import { messageOf } from '../../src/core/errors.ts'
import { type Random, seededRandom } from '../../src/core/random.ts'
import { freePorts } from '../../test/services/free-port.ts'
import { type CommandProcess, weir } from '../../test/system/cli/command-process.ts'
import { exchange } from './connection.ts'
import { GATEWAY_REQUESTS, restRequests, SMUGGLING } from './http-requests.ts'
import { mutated } from './mutations.ts'
import { HELLO, QUERY_FRAMES } from './query-frames.ts'

/** Options of the campaign. */
export interface FuzzOptions {
  readonly seed: number
  /** Duration, all ports at the same time. */
  readonly minutes: number
  readonly say: (line: string) => void
}

/** Figures of one port. */
export interface PortFigures {
  readonly cases: number
  /** Good requests between the cases, all answered. */
  readonly good: number
  /** MiB of resident memory of the process after a collection, after a fifth of the time and at the end. */
  readonly residentMiB: { readonly early: number; readonly end: number }
}

/** Result of the campaign. */
export interface FuzzReport {
  readonly campaign: 'fuzz'
  readonly seed: number
  readonly minutes: number
  readonly ports: Readonly<Record<string, PortFigures>>
  readonly violations: readonly string[]
}

/** Connections to one port at the same time. */
const AT_ONCE = 4
/** Longest time of one case. */
const CASE_MS = 400
/** Time in which a good request must be answered. */
const GOOD_MS = 20_000
const GOOD_EVERY_MS = 1000
/** Part of the time after which caches are filled. */
const WARM_UP = 0.2
/** Growth of memory after the warm-up that caches, the allocator and the topic of observations explain. */
const MAX_GROWTH_MIB = 48
/** Time in which a process collects its garbage and gives the memory back. */
const COLLECTION_MS = 2000
/**
 * Processes whose garbage can be collected. The young generation of a main thread is bounded as that of threads: it
 * would grow to 128 MiB.
 */
const FUZZED_ENVIRONMENT = {
  NODE_OPTIONS: `--expose-gc --max-semi-space-size=16 --import=${new URL('collect.ts', import.meta.url).href}`,
}
/** Violations that are reported; the campaign then ends. */
const MAX_VIOLATIONS = 20

/** One port that is attacked. */
interface Target {
  readonly name: string
  readonly port: number
  readonly pid: number
  /** The bytes of a case, in the parts in which they are sent. */
  readonly next: (random: Random) => readonly Uint8Array[]
  /** What is wrong with an answer; undefined for nothing. */
  readonly judge: (answer: Buffer, isSmuggling: boolean) => string | undefined
  /** Rejects when a good request is not answered well. */
  readonly good: () => Promise<void>
}

/**
 * Sends mutated valid requests to the query port, the gateway and the JobManager. A violation is a process that
 * ends, an answer that says that the server failed (500, ILLEGAL_STATE), a request whose end two parsers could
 * see in different places and that is answered with success, a good request that fails, and memory that grows.
 */
export async function runFuzz({ seed, minutes, say }: FuzzOptions): Promise<FuzzReport> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-fuzz-'))
  try {
    await using processes = new FuzzedProcesses(folder)
    const targets = await processes.start()
    const violations: string[] = []
    const report = (text: string): void => {
      if (violations.length >= MAX_VIOLATIONS) return
      violations.push(text)
      say(text)
    }
    const startMs = systemClock.monotonicMs()
    const time: FuzzTime = {
      durationMs: minutes * 60_000,
      isOver: () =>
        systemClock.monotonicMs() - startMs >= minutes * 60_000 ||
        violations.length >= MAX_VIOLATIONS ||
        processes.ended().length > 0,
    }
    const figures = await Promise.all(
      targets.map((target, n) => new PortFuzz(target, seed + n, report).run(time)),
    )
    violations.push(...processes.ended())
    const ports = Object.fromEntries(targets.map(({ name }, n) => [name, figures[n]!]))
    return { campaign: 'fuzz', seed, minutes, ports, violations }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The time of a campaign. */
interface FuzzTime {
  readonly durationMs: number
  /** Whether the time is over, or there is nothing left to find. */
  readonly isOver: () => boolean
}

/** The cases of one port. */
class PortFuzz {
  private readonly target: Target
  private readonly seed: number
  private readonly report: (text: string) => void
  private cases = 0
  private good = 0

  constructor(target: Target, seed: number, report: (text: string) => void) {
    this.target = target
    this.seed = seed
    this.report = (text) => report(`${target.name}: ${text}`)
  }

  async run(time: FuzzTime): Promise<PortFigures> {
    const { pid } = this.target
    let early = 0
    const warm = sleep(systemClock, time.durationMs * WARM_UP).then(async () => {
      early = await collectedMiB(pid)
    })
    const senders = Array.from({ length: AT_ONCE }, (_, n) => this.send(this.seed * 100 + n, time))
    await Promise.all([warm, ...senders, this.keepAsking(time)])
    const end = await collectedMiB(pid)
    if (end - early > MAX_GROWTH_MIB) this.report(`memory grew from ${early} to ${end} MiB`)
    return { cases: this.cases, good: this.good, residentMiB: { early, end } }
  }

  private async send(seed: number, time: FuzzTime): Promise<void> {
    const random = seededRandom(seed)
    while (!time.isOver()) {
      const parts = this.target.next(random)
      this.cases++
      try {
        const { answer } = await exchange(this.target.port, parts, CASE_MS)
        const wrong = this.target.judge(answer, SMUGGLING.includes(parts[0] as Buffer))
        if (wrong !== undefined) this.report(`${wrong}; request ${textOf(parts)}`)
      } catch (error) {
        this.report(`no connection: ${messageOf(error)}`)
        await sleep(systemClock, 200)
      }
    }
  }

  private async keepAsking(time: FuzzTime): Promise<void> {
    do {
      try {
        await Promise.race([
          this.target.good(),
          sleep(systemClock, GOOD_MS).then(() => Promise.reject(new Error('no answer in time'))),
        ])
        this.good++
      } catch (error) {
        this.report(`a good request failed: ${messageOf(error)}`)
      }
      await sleep(systemClock, GOOD_EVERY_MS)
    } while (!time.isOver())
  }
}

/** A JobManager with a job that serves a model, and a gateway in front of it. */
class FuzzedProcesses implements AsyncDisposable {
  private readonly folder: string
  private readonly processes: { readonly name: string; readonly process: CommandProcess }[] = []
  private readonly gone: string[] = []
  private isEnding = false
  private client: WeirClient | undefined

  constructor(folder: string) {
    this.folder = folder
  }

  async start(): Promise<readonly Target[]> {
    const [restPort, queryPort, gatewayPort] = (await freePorts(3)) as [number, number, number]
    await this.done('generate', 'als-model', '--users', '100', '--items', '50')
    await this.done('topic', 'create', 'observations')
    const manager = this.open('jobmanager', ['jobmanager', '-D', `rest.port=${restPort}`])
    await manager.printed(/REST interface on/)
    const submitted = await weir([
      ...['run', 'als-serving', '-d', '-m', `127.0.0.1:${restPort}`],
      ...['--port', String(queryPort)],
    ]).ended
    const jobId = /JobID ([0-9a-f]{32})/.exec(submitted.stdout)?.[1]
    if (jobId === undefined) throw new Error(`the job was not submitted: ${submitted.stderr}`)
    this.client = await this.connected(queryPort)
    const gateway = this.open('gateway', [
      ...['gateway', '--listen', `127.0.0.1:${gatewayPort}`, '--port', String(queryPort)],
      ...['--observations', 'observations', '--log-level', 'silent'],
    ])
    await gateway.printed(/try it at/)
    const rest = `http://127.0.0.1:${restPort}`
    const managers = (await (await fetch(`${rest}/taskmanagers`)).json()) as {
      readonly taskmanagers: readonly { readonly path: string }[]
    }
    const jobPid = Number(/(\d+)/.exec(managers.taskmanagers[0]?.path.split('#').at(-1) ?? '')?.[1])
    return [
      this.queryTarget(queryPort, Number.isFinite(jobPid) && jobPid > 0 ? jobPid : manager.pid),
      httpTarget('gateway', gatewayPort, gateway.pid, GATEWAY_REQUESTS, '/v1/predict/1/2'),
      httpTarget('jobmanager', restPort, manager.pid, restRequests(jobId), `/jobs/${jobId}/status`),
    ]
  }

  /** Processes that have ended. */
  ended(): readonly string[] {
    return this.gone
  }

  private queryTarget(port: number, pid: number): Target {
    return {
      name: 'query',
      port,
      pid,
      next: (random) => {
        const frames = Array.from({ length: 1 + random.below(3) }, () =>
          mutated(QUERY_FRAMES[random.below(QUERY_FRAMES.length)]!, random),
        )
        return random.below(8) === 0 ? frames : [HELLO, ...frames]
      },
      judge: (answer) =>
        answer.includes('ILLEGAL_STATE') ? 'the server failed unexpectedly' : undefined,
      good: async () => {
        const { score } = await this.client!.predict('ALS_MODEL', '1-U', '2-I')
        if (!Number.isFinite(score)) throw new Error(`the score is ${score}`)
      },
    }
  }

  private async connected(port: number): Promise<WeirClient> {
    for (let tries = 0; ; tries++) {
      try {
        const client = await WeirClient.connect({ port })
        try {
          await client.predict('ALS_MODEL', '1-U', '2-I')
          return client
        } catch (error) {
          await client.close()
          throw error
        }
      } catch (error) {
        if (tries >= 300) throw error
        await sleep(systemClock, 200)
      }
    }
  }

  private open(name: string, args: readonly string[]): CommandProcess {
    const process = weir([...args, '--data-dir', this.folder], { env: FUZZED_ENVIRONMENT })
    this.processes.unshift({ name, process })
    void process.ended.then(({ code, signal, stderr }) => {
      if (this.isEnding) return
      this.gone.push(`the process of ${name} ended with ${code ?? signal}: ${stderr.slice(-2000)}`)
    })
    return process
  }

  private async done(...args: readonly string[]): Promise<void> {
    const { code, stderr } = await weir([...args, '--data-dir', this.folder]).ended
    if (code !== 0) throw new Error(`weir ${args.join(' ')}: ${stderr}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isEnding = true
    await this.client?.close()
    for (const { process } of this.processes) {
      // The JobManager ends its job, which is not in its process group.
      if (!process.hasEnded) process.signal('SIGTERM')
      await Promise.race([process.ended, sleep(systemClock, 60_000)])
      await process[Symbol.asyncDispose]()
    }
  }
}

function httpTarget(
  name: string,
  port: number,
  pid: number,
  requests: readonly Buffer[],
  goodPath: string,
): Target {
  const next = (random: Random): readonly Uint8Array[] => {
    const kind = random.below(10)
    if (kind === 0) return [SMUGGLING[random.below(SMUGGLING.length)]!]
    const bytes = mutated(requests[random.below(requests.length)]!, random)
    if (kind > 2) return [bytes]
    const cut = random.below(bytes.length + 1)
    return [bytes.subarray(0, cut), bytes.subarray(cut)]
  }
  return {
    name,
    port,
    pid,
    next,
    judge: judgeHttp,
    good: async () => {
      const answer = await fetch(`http://127.0.0.1:${port}${goodPath}`)
      const body = await answer.text()
      if (answer.status !== 200) throw new Error(`${answer.status} ${body.slice(0, 300)}`)
      JSON.parse(body)
    },
  }
}

function judgeHttp(answer: Buffer, isSmuggling: boolean): string | undefined {
  const text = answer.toString('latin1')
  if (/^HTTP\/1\.1 500/m.test(text)) return `the server failed: ${text.slice(0, 600)}`
  if (/root:.*:0:0:/.test(text)) return 'a file of the system was served'
  if (isSmuggling && !/^HTTP\/1\.1 4\d\d/.test(text) && text !== '') {
    return `a request with two ends was not refused: ${text.slice(0, 300)}`
  }
  if (isSmuggling && text.split('HTTP/1.1 ').length > 2) {
    return `a smuggled request was answered: ${text.slice(0, 600)}`
  }
  return undefined
}

/** Resident memory of a process after a collection; 0 for one that has ended. */
async function collectedMiB(pid: number): Promise<number> {
  try {
    process.kill(pid, 'SIGUSR2')
  } catch {
    // It has ended, which is a violation already.
  }
  await sleep(systemClock, COLLECTION_MS)
  return residentMiB(pid)
}

/** Resident memory of a process; 0 for one that has ended. */
function residentMiB(pid: number): number {
  const file = `/proc/${pid}/status`
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(text)?.[1] ?? 0) / 1024)
}

/** A request for a report, short. */
function textOf(parts: readonly Uint8Array[]): string {
  const bytes = Buffer.concat(parts)
  return `${bytes.length} bytes, base64 ${bytes.subarray(0, 1500).toString('base64')}`
}
