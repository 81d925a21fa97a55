import { type ChildProcess, fork } from 'node:child_process'
import { ERROR_CODES, type ErrorCode, WeirError } from '../core/errors.ts'
import type { TrainerAnswer, TrainerRequest } from './retrain-messages.ts'

/** Answers by the request's kind. */
interface AnswerOf {
  readonly train: Extract<TrainerAnswer, { kind: 'trained' }>
  readonly replay: Extract<TrainerAnswer, { kind: 'replayed' }>
  readonly write: Extract<TrainerAnswer, { kind: 'written' }>
}

interface Waiting {
  readonly resolve: (answer: TrainerAnswer) => void
  readonly reject: (error: unknown) => void
}

/** Something that answers training requests: a process of its own, or in tests this one. */
export interface TrainingProcess extends AsyncDisposable {
  /** Rejects with what went wrong there; OPERATOR_FAILED when the process ended. */
  ask<K extends keyof AnswerOf>(request: TrainerRequest & { kind: K }): Promise<AnswerOf[K]>
}

const ENDING = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
const MODULE = new URL(`./retrain-child.${ENDING}`, import.meta.url)

/**
 * A process that trains: its memory and its failures are its own, and what serves goes on. One request
 * at a time.
 */
export class RetrainProcess implements TrainingProcess {
  private readonly child: ChildProcess
  private readonly onProgress: (done: number, total: number) => void
  private waiting: Waiting | undefined
  private end: WeirError | undefined

  constructor(onProgress: (done: number, total: number) => void = () => {}) {
    this.onProgress = onProgress
    this.child = fork(MODULE, [], { serialization: 'advanced', execArgv: [] })
    this.child.on('message', (answer: TrainerAnswer) => this.receive(answer))
    this.child.on('error', (error) => this.ended(error.message))
    this.child.on('exit', (code, signal) => this.ended(`it ended with ${signal ?? `code ${code}`}`))
  }

  ask<K extends keyof AnswerOf>(request: TrainerRequest & { kind: K }): Promise<AnswerOf[K]> {
    if (this.end !== undefined) return Promise.reject(this.end)
    return new Promise<TrainerAnswer>((resolve, reject) => {
      this.waiting = { resolve, reject }
      this.child.send(request)
    }) as Promise<AnswerOf[K]>
  }

  private receive(answer: TrainerAnswer): void {
    if (answer.kind === 'progress') {
      this.onProgress(answer.done, answer.total)
      return
    }
    const { waiting } = this
    this.waiting = undefined
    if (answer.kind !== 'failed') {
      waiting?.resolve(answer)
      return
    }
    const code = Object.hasOwn(ERROR_CODES, answer.code) ? answer.code : 'OPERATOR_FAILED'
    waiting?.reject(new WeirError(code as ErrorCode, answer.message))
  }

  private ended(why: string): void {
    this.end ??= new WeirError('OPERATOR_FAILED', `the training process is gone: ${why}`)
    this.waiting?.reject(this.end)
    this.waiting = undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const gone = new Promise<void>((resolve) => this.child.once('exit', () => resolve()))
    this.end ??= new WeirError('ILLEGAL_STATE', 'the training process was ended')
    this.child.kill('SIGKILL')
    await gone
  }
}
