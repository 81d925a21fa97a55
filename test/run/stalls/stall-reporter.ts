import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { pause } from '../pause.ts'
import { ofFiles, processesOfRun, RUN_VARIABLE, type RunProcess } from './run-processes.ts'
import { decideStall, type Running, STALL_LIMITS, type StallLimits } from './stall.ts'

/** Name of the variable with the folder in which the workers of a run note their test files. */
export const FILES_VARIABLE = 'TEST_WORKER_FILES'

const ROOT = resolve(import.meta.dirname, '../../..')
/** Time between two looks, ms. */
const LOOK_MS = 5_000
/** How often a run goes on without the processes that stood still. */
const MOST_STALLS = 3
/** Time over which the processor time of processes is measured, ms. */
const MEASURE_MS = 2_000

/**
 * Says what a run waits for when no test has ended for minutes. When no limit of a test can end the wait, it prints
 * the processes of its files and kills them; these files fail, and the others go on.
 */
export class StallReporter implements Reporter {
  /** What did stand still, one line each. */
  readonly stalls: string[] = []
  private readonly limits: StallLimits
  private readonly running = new Map<string, Running>()
  private readonly folder = mkdtempSync(join(tmpdir(), 'weir-test-workers-'))
  private readonly run = `${process.pid}-${Date.now()}`
  private looking: NodeJS.Timeout | undefined
  private lastEndMs = 0
  private saidMs = 0

  constructor(limits: StallLimits = STALL_LIMITS) {
    this.limits = limits
    process.env[RUN_VARIABLE] = this.run
    process.env[FILES_VARIABLE] = this.folder
    process.once('exit', () => rmSync(this.folder, { recursive: true, force: true }))
  }

  onTestRunStart(): void {
    this.lastEndMs = performance.now()
    this.looking = setInterval(() => void this.look(), LOOK_MS)
    this.looking.unref()
  }

  onTestRunEnd(): void {
    clearInterval(this.looking)
  }

  onTestModuleQueued({ id, moduleId }: TestModule): void {
    this.begin(id, `${relative(ROOT, moduleId)}: its start, its modules or its place`)
  }

  onTestModuleStart({ id, moduleId }: TestModule): void {
    this.begin(id, `${relative(ROOT, moduleId)}: between its tests`)
  }

  onTestModuleEnd({ id }: TestModule): void {
    this.end(id)
  }

  onTestCaseReady({ id, fullName, module, options }: TestCase): void {
    this.begin(id, `${relative(ROOT, module.moduleId)} > ${fullName}`, options.timeout)
  }

  onTestCaseResult({ id }: TestCase): void {
    this.end(id)
  }

  onHookEnd(): void {
    this.lastEndMs = performance.now()
  }

  private begin(id: string, name: string, limitMs?: number): void {
    this.running.set(id, { name, sinceMs: performance.now(), limitMs })
  }

  private end(id: string): void {
    this.running.delete(id)
    this.lastEndMs = performance.now()
  }

  /** Looks whether the run stands still; this happens by itself while one runs. */
  async look(): Promise<void> {
    const { lastEndMs, saidMs } = this
    const running = [...this.running.values()]
    const nowMs = performance.now()
    const decision = decideStall({ nowMs, lastEndMs, saidMs, running }, this.limits)
    if (decision === 'nothing') return
    const quiet = `No test has ended for ${seconds(nowMs - lastEndMs)} s`
    const names = running.map(({ name, sinceMs }) => `${name} (${seconds(nowMs - sinceMs)} s)`)
    print([`${quiet}; waiting for:`, ...names])
    this.saidMs = nowMs
    if (decision === 'say') return
    // Processes have time until the next end of a test is missed.
    this.lastEndMs = nowMs
    this.stalls.push(`${quiet}: ${names.join(', ') || 'no test ran'}`)
    process.exitCode = 1
    await this.kill()
    if (this.stalls.length < MOST_STALLS) return
    print([`This run has stood still ${MOST_STALLS} times, and ends`])
    process.exit()
  }

  private async kill(): Promise<void> {
    const before = new Map(this.processes().map(({ pid, cpuMs }) => [pid, cpuMs]))
    await pause(MEASURE_MS, 'processor time is measured over time')
    const all = this.processes()
    const lines = all.map((one) => textOf(one, one.cpuMs - (before.get(one.pid) ?? one.cpuMs)))
    print(['Processes of this run, which are killed:', ...lines])
    for (const { pid } of all) kill(pid)
  }

  private processes(): readonly RunProcess[] {
    return ofFiles(processesOfRun(this.run, this.folder))
  }
}

/** A line about a process that took `cpuMs` of processor time in {@link MEASURE_MS}. */
function textOf({ pid, parent, state, command, file, pipes }: RunProcess, cpuMs: number): string {
  const share = ((100 * cpuMs) / MEASURE_MS).toFixed(0)
  const runs = file === undefined ? command.slice(0, 200) : relative(ROOT, file)
  return `${pid} (parent ${parent}, state ${state}, ${share} % of a core, ${pipes.join(' ')}) ${runs}`
}

const seconds = (ms: number): string => (ms / 1000).toFixed(0)

function print(lines: readonly string[]): void {
  process.stdout.write(`\n${lines.join('\n  ')}\n`)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}
