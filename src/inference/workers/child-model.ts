import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ErrorCode, WeirError } from '../../core/errors.ts'
import { siblingModule } from '../../core/sibling-module.ts'
import type { LoadedModel } from '../port/runner.ts'
import type { ModelSignature } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import { encodeFrame, type Frame, FrameReader } from './frame.ts'
import type { WorkerStart } from './messages.ts'

/** Head of a frame from the child. */
export type ChildHead =
  | { readonly kind: 'loaded'; readonly signature: ModelSignature }
  | { readonly kind: 'measured'; readonly bytes: number }
  | { readonly kind: 'outputs' }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }

/** Head of a frame to the child. */
export type ParentHead =
  | { readonly kind: 'load'; readonly start: WorkerStart }
  /** Load, run `items` zeros, and say how much memory that took. */
  | { readonly kind: 'measure'; readonly start: WorkerStart; readonly items: number }
  | { readonly kind: 'run'; readonly items: number }

/**
 * Loads a model in a child process of this worker. When the child ends, `run` rejects with WORKER_LOST; the
 * worker then ends, too, and is replaced as a whole. Throws as the runner.
 */
export async function openChildModel(
  start: WorkerStart,
  onStarted: (pid: number) => void,
): Promise<LoadedModel> {
  const model = await startChild(onStarted)
  try {
    model.signature = await model.load(start)
    return model
  } catch (error) {
    // The open child would keep the thread of this worker alive.
    await model.close()
    throw error
  }
}

/** Memory that a model takes in a process of its own with one run of `items` zeros, bytes. Throws as the runner. */
export async function measureMemory(start: WorkerStart, items: number): Promise<number> {
  const model = await startChild(() => {})
  try {
    return await model.measure(start, items)
  } finally {
    await model.close()
  }
}

async function startChild(onStarted: (pid: number) => void): Promise<ChildModel> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-worker-'))
  const path = join(folder, 'batches')
  const server = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(path, resolve)
    })
    const module = fileURLToPath(siblingModule('./child', import.meta.url))
    const child = spawn(process.execPath, [module, path], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    if (child.pid !== undefined) onStarted(child.pid)
    const socket = await connection(server, child)
    return new ChildModel(child, socket)
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

class ChildModel implements LoadedModel {
  signature: ModelSignature = { inputs: [], outputs: [] }
  private readonly child: ChildProcess
  private readonly socket: Socket
  private waiting:
    | { resolve: (frame: Frame<ChildHead>) => void; reject: (error: unknown) => void }
    | undefined
  private end: WeirError | undefined

  constructor(child: ChildProcess, socket: Socket) {
    this.child = child
    this.socket = socket
    const reader = new FrameReader<ChildHead>((frame) => this.settle(frame))
    socket.on('data', (chunk) => reader.push(chunk))
    socket.on('error', () => {})
    child.once('exit', (code, signal) => {
      this.end = lost(signal ?? code)
      this.waiting?.reject(this.end)
    })
  }

  async load(start: WorkerStart): Promise<ModelSignature> {
    const { head } = await this.exchange({ kind: 'load', start }, [])
    if (head.kind === 'loaded') return head.signature
    throw new WeirError('PROTOCOL_ERROR', `the child answered a load with "${head.kind}"`)
  }

  async measure(start: WorkerStart, items: number): Promise<number> {
    const { head } = await this.exchange({ kind: 'measure', start, items }, [])
    if (head.kind === 'measured') return head.bytes
    throw new WeirError('PROTOCOL_ERROR', `the child answered a measurement with "${head.kind}"`)
  }

  async run(inputs: readonly Tensor[], items: number): Promise<readonly Tensor[]> {
    return (await this.exchange({ kind: 'run', items }, inputs)).tensors
  }

  async close(): Promise<void> {
    this.socket.destroy()
    this.child.kill('SIGKILL')
  }

  private exchange(head: ParentHead, tensors: readonly Tensor[]): Promise<Frame<ChildHead>> {
    return new Promise((resolve, reject) => {
      if (this.end !== undefined) return reject(this.end)
      this.waiting = { resolve, reject }
      this.socket.write(encodeFrame(head, tensors))
    })
  }

  private settle(frame: Frame<ChildHead>): void {
    const { waiting } = this
    this.waiting = undefined
    const { head } = frame
    if (head.kind === 'failed') waiting?.reject(new WeirError(head.code, head.message))
    else waiting?.resolve(frame)
  }
}

const lost = (how: string | number | null): WeirError =>
  new WeirError('WORKER_LOST', `the process of the worker ended with ${how}`)
