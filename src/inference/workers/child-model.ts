import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ErrorCode, isWeirError, WeirError } from '../../core/errors.ts'
import { siblingModule } from '../../core/sibling-module.ts'
import type { DevicePlacement } from '../port/device.ts'
import type { LoadedModel } from '../port/runner.ts'
import type { ModelSignature } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import { encodeFrame, type Frame, FrameReader } from './frame.ts'
import { type EndableModel, LimitedModel } from './limited-model.ts'
import type { WorkerStart } from './messages.ts'
import { residentBytesOf } from './process-memory.ts'

/** Head of a frame from the child. */
export type ChildHead =
  | {
      readonly kind: 'loaded'
      readonly signature: ModelSignature
      readonly placement: DevicePlacement | undefined
    }
  | { readonly kind: 'measured'; readonly bytes: number }
  | { readonly kind: 'outputs' }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }

/** Head of a frame to the child. */
export type ParentHead =
  | { readonly kind: 'load'; readonly start: WorkerStart }
  /** Load, run `items` zeros, and say how much memory that took. */
  | { readonly kind: 'measure'; readonly start: WorkerStart; readonly items: number }
  | { readonly kind: 'run'; readonly items: number }

/** What a worker hears of the child process of its model. */
export interface ChildListener {
  /** A process was started. */
  readonly onStarted: (pid: number) => void
  /** It was ended because of its memory, and another one takes its place. */
  readonly onExceeded: () => void
}

/**
 * Loads a model in a child process of this worker. When the child ends, `run` rejects with WORKER_LOST; the
 * worker then ends, too, and is replaced as a whole. A child above the limit of `start` is replaced alone. Throws
 * as the runner.
 */
export async function openChildModel(
  start: WorkerStart,
  { onStarted, onExceeded }: ChildListener,
): Promise<LoadedModel> {
  const { memoryLimitBytes: limitBytes } = start
  const startOne = (): Promise<ChildModel> => startChild(start, onStarted)
  if (limitBytes !== undefined) {
    const bytesOf = residentBytesOf
    return await LimitedModel.open({ limitBytes, start: startOne, bytesOf, onExceeded })
  }
  const model = await startOne()
  try {
    await model.open()
    return model
  } catch (error) {
    // The open child would keep the thread of this worker alive.
    await model.close()
    throw error
  }
}

/** Memory that a model takes in a process of its own with one run of `items` zeros, bytes. Throws as the runner. */
export async function measureMemory(start: WorkerStart, items: number): Promise<number> {
  const model = await startChild(start, () => {})
  try {
    return await model.measure(items)
  } finally {
    await model.close()
  }
}

async function startChild(
  start: WorkerStart,
  onStarted: (pid: number) => void,
): Promise<ChildModel> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-worker-'))
  const path = join(folder, 'batches')
  const server = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(path, resolve)
    })
    const module = fileURLToPath(siblingModule('./child', import.meta.url))
    const child = spawn(process.execPath, [module, path, String(process.pid)], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    if (child.pid !== undefined) onStarted(child.pid)
    const socket = await connection(server, child)
    return new ChildModel(start, child, socket)
  } finally {
    server.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function connection(server: Server, child: ChildProcess): Promise<Socket> {
  return new Promise((resolve, reject) => {
    server.once('connection', resolve)
    child.once('error', reject)
    child.once('exit', (code) => reject(lost(code)))
  })
}

class ChildModel implements EndableModel {
  signature: ModelSignature = { inputs: [], outputs: [] }
  placement: DevicePlacement | undefined
  private readonly start: WorkerStart
  private readonly child: ChildProcess
  private readonly socket: Socket
  private waiting:
    | { resolve: (frame: Frame<ChildHead>) => void; reject: (error: unknown) => void }
    | undefined
  private ended: WeirError | undefined

  constructor(start: WorkerStart, child: ChildProcess, socket: Socket) {
    this.start = start
    this.child = child
    this.socket = socket
    const reader = new FrameReader<ChildHead>((frame) => this.settle(frame))
    socket.on('data', (chunk) => reader.push(chunk))
    socket.on('error', () => {})
    child.once('exit', (code, signal) => {
      this.settleWith(lost(signal ?? code))
    })
  }

  get pid(): number {
    return this.child.pid!
  }

  async open(): Promise<void> {
    const { head } = await this.exchange({ kind: 'load', start: this.start }, []).catch((error) => {
      throw this.isCrash(error) ? crashed(error) : error
    })
    if (head.kind !== 'loaded') {
      throw new WeirError('PROTOCOL_ERROR', `the child answered a load with "${head.kind}"`)
    }
    this.signature = head.signature
    this.placement = head.placement
  }

  async measure(items: number): Promise<number> {
    const { head } = await this.exchange({ kind: 'measure', start: this.start, items }, [])
    if (head.kind === 'measured') return head.bytes
    throw new WeirError('PROTOCOL_ERROR', `the child answered a measurement with "${head.kind}"`)
  }

  async run(inputs: readonly Tensor[], items: number): Promise<readonly Tensor[]> {
    return (await this.exchange({ kind: 'run', items }, inputs)).tensors
  }

  end(error: WeirError): void {
    this.settleWith(error)
    void this.close()
  }

  async close(): Promise<void> {
    this.socket.destroy()
    this.child.kill('SIGKILL')
  }

  /** Whether the process ended by itself: a load that does so does it again. Only others send SIGKILL. */
  private isCrash(error: unknown): error is WeirError {
    return isWeirError(error, 'WORKER_LOST') && this.child.signalCode !== 'SIGKILL'
  }

  private exchange(head: ParentHead, tensors: readonly Tensor[]): Promise<Frame<ChildHead>> {
    return new Promise((resolve, reject) => {
      if (this.ended !== undefined) return reject(this.ended)
      this.waiting = { resolve, reject }
      this.socket.write(encodeFrame(head, tensors))
    })
  }

  /** From now on each exchange rejects with the first error. */
  private settleWith(error: WeirError): void {
    this.ended ??= error
    this.waiting?.reject(this.ended)
  }

  private settle(frame: Frame<ChildHead>): void {
    const { waiting } = this
    this.waiting = undefined
    const { head } = frame
    if (head.kind === 'failed') waiting?.reject(new WeirError(head.code, head.message))
    else waiting?.resolve(frame)
  }
}

const crashed = ({ message }: WeirError): WeirError =>
  new WeirError('MODEL_FAILED', `${message} while it loaded the model`)

const lost = (how: string | number | null): WeirError =>
  new WeirError('WORKER_LOST', `the process of the worker ended with ${how}`)
