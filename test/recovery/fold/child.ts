import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'

/** Id of the fold job. */
export const FOLD_JOB_ID = '0123456789abcdef0123456789abcdef'

/** Options of a process of the fold job. */
export interface FoldChildOptions {
  readonly backend: string
  readonly parallelism: number
  readonly bounded: boolean
  /** Time that the fold takes for a record. */
  readonly slowMs?: number
  /** Configuration beside that of all tests. */
  readonly configuration?: Readonly<Record<string, string>>
}

/** A process that runs the fold job, with its input, output and checkpoints in one folder. */
export class FoldChild {
  private readonly child: ChildProcess
  private readonly running: Promise<void>
  readonly exited: Promise<number | null>

  constructor(root: string, options: FoldChildOptions) {
    const { backend, parallelism, bounded, slowMs = 0, configuration } = options
    const settings = {
      job: { input: join(root, 'in'), output: join(root, 'out'), bounded, slowMs },
      jobId: FOLD_JOB_ID,
      configuration: {
        'state.backend.type': backend,
        'state.backend.memory.budget': '96 kb',
        'parallelism.default': String(parallelism),
        'pipeline.max-parallelism': '64',
        'execution.checkpointing.interval': '60 ms',
        'execution.checkpointing.dir': join(root, 'checkpoints'),
        'state.backend.directory': join(root, 'state'),
        'restart-strategy.type': 'fixed-delay',
        'restart-strategy.fixed-delay.attempts': '100',
        'restart-strategy.fixed-delay.delay': '10 ms',
        ...configuration,
      },
    }
    this.child = fork(new URL('./process.ts', import.meta.url), [JSON.stringify(settings)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.running = new Promise((resolve) => {
      this.child.on('message', (status) => {
        if (status === 'RUNNING') resolve()
      })
    })
    this.exited = new Promise((resolve) => this.child.on('exit', (code) => resolve(code)))
  }

  async untilRunning(): Promise<void> {
    await Promise.race([
      this.running,
      this.exited.then((code) => Promise.reject(new Error(`the job process ended with ${code}`))),
    ])
  }

  killSlot(slot: number): void {
    this.child.send({ killSlot: slot })
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.exited
  }
}
