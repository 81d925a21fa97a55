import type { MessagePort } from 'node:worker_threads'
import { asWeirError, WeirError } from '../../core/errors.ts'
import type { LoadedModel } from '../port/runner.ts'
import type { TensorSpec } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import type { PartsOrder, PartsReply } from './messages.ts'

/** What a worker answers in parts with. */
export interface WorkerPartsOptions {
  readonly parts: NonNullable<LoadedModel['parts']>
  readonly outputs: readonly TensorSpec[]
  /** Most bytes of one part. */
  readonly outputBytes: number
}

interface Stream {
  readonly iterator: AsyncIterator<readonly Tensor[]>
  readonly controller: AbortController
}

/**
 * Answers in parts in the thread of a worker, beside the queue: each part is made when the other side wants it, so that
 * a model is never ahead of a slow client.
 */
export class WorkerParts {
  private readonly port: MessagePort
  private readonly options: WorkerPartsOptions
  private readonly streams = new Map<number, Stream>()
  private onEnded: (() => void) | undefined

  constructor(port: MessagePort, options: WorkerPartsOptions) {
    this.port = port
    this.options = options
    port.on('message', (order: PartsOrder) => this.heard(order))
    port.once('close', () => {
      for (const stream of this.streams.keys()) this.leave(stream)
    })
  }

  /** Takes no further stream; resolves when those that run have ended. */
  async ended(): Promise<void> {
    this.reply({ kind: 'leaving' })
    if (this.streams.size > 0) {
      await new Promise<void>((resolve) => {
        this.onEnded = resolve
      })
    }
    this.port.close()
  }

  private heard(order: PartsOrder): void {
    const { stream } = order
    if (order.kind === 'ask') this.ask(stream, order.inputs)
    else if (order.kind === 'more') void this.more(stream)
    else this.leave(stream)
  }

  private ask(number: number, inputs: readonly Tensor[]): void {
    const controller = new AbortController()
    try {
      const iterator = this.options.parts(inputs, controller.signal)[Symbol.asyncIterator]()
      this.streams.set(number, { iterator, controller })
    } catch (error) {
      this.failed(number, error)
    }
  }

  private async more(number: number): Promise<void> {
    const stream = this.streams.get(number)
    if (stream === undefined) return
    try {
      const { done, value } = await stream.iterator.next()
      if (done === true) {
        this.reply({ kind: 'end', stream: number })
        this.forget(number)
      } else if (!stream.controller.signal.aborted) {
        const outputs = checkedPart(value, this.options)
        const bytes = outputs.map(({ data }) => data.buffer as ArrayBuffer)
        this.port.postMessage({ kind: 'part', stream: number, outputs } satisfies PartsReply, bytes)
      }
    } catch (error) {
      this.failed(number, error)
      // Of a part that does not fit: the model has not ended yet.
      stream.controller.abort(error)
      await stream.iterator.return?.().catch(() => {})
    }
  }

  private leave(number: number): void {
    this.reply({ kind: 'noted', stream: number })
    const stream = this.streams.get(number)
    const left = (): void => {
      this.reply({ kind: 'left', stream: number })
      this.forget(number)
    }
    stream?.controller.abort(new WeirError('UNAVAILABLE', 'no client reads the answer any more'))
    const returned = stream?.iterator.return?.() ?? Promise.resolve()
    void returned.then(left, left)
  }

  private failed(number: number, error: unknown): void {
    const { code, message } = asWeirError(error, 'MODEL_FAILED')
    this.reply({ kind: 'failed', stream: number, code, message })
    this.forget(number)
  }

  private forget(number: number): void {
    this.streams.delete(number)
    if (this.streams.size === 0) this.onEnded?.()
  }

  private reply(reply: PartsReply): void {
    this.port.postMessage(reply)
  }
}

/** A part as the signature has it, in bytes of its own. Throws MODEL_FAILED, FRAME_TOO_LARGE. */
function checkedPart(
  part: unknown,
  { outputs: specs, outputBytes }: WorkerPartsOptions,
): readonly Tensor[] {
  if (!Array.isArray(part) || part.length !== specs.length) {
    const given = Array.isArray(part) ? `${part.length} outputs` : typeof part
    throw new WeirError(
      'MODEL_FAILED',
      `a part of the model is ${given}; its signature has ${specs.length} outputs`,
    )
  }
  let bytes = 0
  const tensors = specs.map(({ name, datatype }, i) => {
    const tensor = part[i] as Partial<Tensor> | null
    const fits =
      tensor?.name === name &&
      tensor.datatype === datatype &&
      tensor.data instanceof Uint8Array &&
      Array.isArray(tensor.shape)
    if (!fits) {
      const message = `output ${i} of a part is not "${name}" of ${datatype} with shape and data`
      throw new WeirError('MODEL_FAILED', message)
    }
    bytes += tensor.data!.length
    return { name, datatype, shape: tensor.shape!, data: new Uint8Array(tensor.data!) }
  })
  if (bytes <= outputBytes) return tensors
  throw new WeirError(
    'FRAME_TOO_LARGE',
    `a part has ${bytes} bytes, and may have ${outputBytes}; raise output-bytes of its settings`,
  )
}
