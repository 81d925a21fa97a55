import type { Clock } from '../../../core/clock.ts'
import { WeirError } from '../../../core/errors.ts'
import type { AskedModel } from '../../../jobs/asked-models.ts'
import { type JobStatusListener, JobStatusMachine } from '../../../runtime/job/status.ts'
import type { JobControl } from '../port/job-control.ts'
import type { JobData } from '../port/job-data.ts'
import type { JobSnapshot } from '../port/job-snapshot.ts'
import { ModelsData } from './models-data.ts'
import { processSnapshot } from './process-snapshot.ts'

/** Time in which the answer to a cancellation leaves, ms: the process has nothing else to end first. */
const ANSWER_MS = 100

/** Options of `ModelsControl`. */
export interface ModelsControlOptions {
  /** 32 hexadecimal digits. */
  readonly id: string
  readonly name: string
  /** The models as they are now. */
  readonly list: () => readonly AskedModel[]
  readonly configuration: Readonly<Record<string, string>>
  readonly queryPort: number
  readonly clock: Clock
}

/** A process that serves models of any kind, as the REST interface sees it: a job without operators. */
export class ModelsControl implements JobControl {
  readonly data: JobData
  /** Resolves a moment after someone cancels it. */
  readonly canceled: Promise<void>
  private readonly options: ModelsControlOptions
  private readonly status = new JobStatusMachine()
  private readonly cancelling = Promise.withResolvers<void>()

  /** The models are being served already. */
  constructor(options: ModelsControlOptions) {
    this.options = options
    this.data = new ModelsData(options.list)
    this.canceled = this.cancelling.promise
    this.moveTo('INITIALIZING')
    this.moveTo('RUNNING')
  }

  get id(): string {
    return this.options.id
  }

  onStatus(listener: JobStatusListener): void {
    this.status.onChange(listener)
  }

  async snapshot(): Promise<JobSnapshot> {
    const { id, name, configuration, queryPort, clock } = this.options
    return {
      id,
      name,
      status: this.status.status,
      timestamps: { ...this.status.timestamps },
      nowMs: clock.nowMs(),
      attempt: 1,
      parallelism: 1,
      vertices: [],
      slots: [],
      metrics: {},
      failures: [],
      checkpoints: undefined,
      configuration,
      restartStrategy: 'workers are replaced, the process is not restarted',
      process: processSnapshot(queryPort),
    }
  }

  async cancel(): Promise<void> {
    if (this.status.status !== 'RUNNING') return
    this.moveTo('CANCELLING')
    this.options.clock.after(ANSWER_MS, this.cancelling.resolve)
  }

  /** Notes that the process ends: on someone's request, or because it stops. */
  end(): void {
    this.moveTo(this.status.status === 'CANCELLING' ? 'CANCELED' : 'SUSPENDED')
  }

  checkpoint(): Promise<never> {
    return refuse('takes no checkpoints: its models are in the folder')
  }

  savepoint(): Promise<never> {
    return refuse('takes no savepoints: its models are in the folder')
  }

  stop(): Promise<never> {
    return refuse('takes no savepoints: cancel it')
  }

  keyGroupRecords(): Promise<never> {
    return refuse('has no operators')
  }

  profile(): Promise<never> {
    return refuse('has no slots')
  }

  private moveTo(to: 'INITIALIZING' | 'RUNNING' | 'CANCELLING' | 'CANCELED' | 'SUSPENDED'): void {
    this.status.moveTo(to, { attempt: 1, atMs: this.options.clock.nowMs() })
  }
}

function refuse(what: string): Promise<never> {
  const sentence = `a process that serves models of any kind ${what}`
  return Promise.reject(new WeirError('UNSUPPORTED', sentence))
}
