import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { BUILT_MODULES_FLAG } from '../../test/run/setup/built-modules.ts'
import type { MemorySample, Sample } from './samples.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts')
const SAMPLER = join(import.meta.dirname, 'thread-sampler.ts')
const START_LIMIT_MS = 120_000

/** Options of a learning job in its own process. */
export interface LearningJobOptions {
  /** Data directory, with log, registry and checkpoints. */
  readonly data: string
  readonly topic: string
  readonly observations: string
  /** File of what the process prints. */
  readonly logFile: string
}

/** `weir learn als` in its own process, which reports the memory of all its threads. */
export class LearningJob implements AsyncDisposable {
  readonly port: number
  private readonly child: ChildProcess
  private readonly data: string
  private memory: MemorySample | undefined

  private constructor(child: ChildProcess, data: string, port: number) {
    this.child = child
    this.data = data
    this.port = port
    child.on('message', (sample: MemorySample) => {
      this.memory = sample
    })
  }

  /** Starts the command. Resolves when it serves and learns a version. */
  static async start({
    data,
    topic,
    observations,
    logFile,
  }: LearningJobOptions): Promise<LearningJob> {
    const log = openSync(logFile, 'a')
    const flags = ['--data-dir', data, '--topic', topic, '--observations', observations]
    const child = fork(MAIN, ['learn', 'als', ...flags, '--port', '0', '--json'], {
      execArgv: ['--import', SAMPLER, BUILT_MODULES_FLAG],
      stdio: ['ignore', 'pipe', log, 'ipc'],
      // Ctrl-C reaches only the campaign.
      detached: true,
    })
    closeSync(log)
    const port = await portOf(child, logFile)
    return new LearningJob(child, data, port)
  }

  /** Whether the process runs. */
  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  /** The current sample; undefined before the threads have reported. */
  sample(): Sample | undefined {
    const { memory, data } = this
    const { pid } = this.child
    if (memory === undefined || pid === undefined || !this.isRunning) return undefined
    const [logFiles, logBytes] = filesIn(join(data, 'log'))
    const [registryFiles, registryBytes] = filesIn(join(data, 'registry'))
    const [checkpointFiles, checkpointBytes] = filesIn(join(data, 'checkpoints'))
    return {
      ...memory,
      resident: residentOf(pid),
      descriptors: descriptorsOf(pid),
      ...{ logFiles, logBytes, registryFiles, registryBytes, checkpointFiles, checkpointBytes },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.isRunning) return
    const ended = once(this.child, 'exit')
    const limit = setTimeout(() => this.child.kill('SIGKILL'), 30_000)
    this.child.kill('SIGTERM')
    await ended
    clearTimeout(limit)
  }
}

/** The query port that the command reports as JSON, once it learns. */
async function portOf(child: ChildProcess, logFile: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  let text = ''
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-10_000)
    const port = /"event":"started","port":(\d+)/.exec(text)?.[1]
    if (port !== undefined && text.includes('"event":"learning"')) resolve(Number(port))
  })
  child.once('exit', (code) => reject(new Error(`learn als ended with ${code}; see ${logFile}`)))
  const limit = setTimeout(() => {
    reject(new Error(`learn als does not serve after ${START_LIMIT_MS} ms; see ${logFile}`))
  }, START_LIMIT_MS)
  try {
    return await promise
  } finally {
    clearTimeout(limit)
  }
}

/** Resident memory of a process, bytes; 0 where the system has no `/proc`. */
function residentOf(pid: number): number {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return Number(kilobytes ?? 0) * 1024
  } catch {
    return 0
  }
}

/** Open descriptors of a process; 0 where the system has no `/proc`. */
function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return 0
  }
}

/** Number and bytes of the files below a folder. Files come and go meanwhile. */
function filesIn(folder: string): readonly [files: number, bytes: number] {
  let files = 0
  let bytes = 0
  for (const name of namesIn(folder)) {
    try {
      const stats = statSync(join(folder, name))
      if (!stats.isFile()) continue
      files += 1
      bytes += stats.size
    } catch {
      // It was removed between the two calls.
    }
  }
  return [files, bytes]
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
  } catch {
    return []
  }
}
