import { type ChildProcess, fork } from 'node:child_process'
import { ERROR_CODES, type ErrorCode, WeirError } from '../../core/errors.ts'
import { siblingModule } from '../../core/sibling-module.ts'
import type { TrainerAnswer, TrainerRequest } from './messages.ts'

/** Types of the answers, by the kind of the request. */
interface AnswerOf {
  readonly train: Extract<TrainerAnswer, { kind: 'trained' }>
  readonly replay: Extract<TrainerAnswer, { kind: 'replayed' }>
  readonly write: Extract<TrainerAnswer, { kind: 'written' }>
}

interface Waiting {
  readonly resolve: (answer: TrainerAnswer) => void
  readonly reject: (error: unknown) => void
}

/** Answers training requests: a separate process, or in tests the same process. */
export interface TrainingProcess extends AsyncDisposable {
  /** The answer to a request. Rejects with the error of the training, or OPERATOR_FAILED if the process has ended. */
  ask<K extends keyof AnswerOf>(request: TrainerRequest & { kind: K }): Promise<AnswerOf[K]>
}

const MODULE = siblingModule('./child', import.meta.url)

/**
 * A separate process that trains, so that its memory and its failures do not affect serving. It takes
 * one request at a time.
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
    this.child.on('exit', (code, signal) => this.ended(signal ?? `exit code ${code}`))
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
    this.end ??= new WeirError('OPERATOR_FAILED', `the training process has ended: ${why}`)
    this.waiting?.reject(this.end)
    this.waiting = undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const gone = new Promise<void>((resolve) => this.child.once('exit', () => resolve()))
    this.end ??= new WeirError('ILLEGAL_STATE', 'the training process was stopped')
    this.child.kill('SIGKILL')
    await gone
  }
}
