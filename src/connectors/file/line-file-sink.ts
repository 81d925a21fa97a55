import { createWriteStream, type WriteStream } from 'node:fs'
import * as fsp from 'node:fs/promises'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { messageOf, WeirError } from '../../core/errors.ts'
import type {
  DeliveryGuarantee,
  Sink,
  SinkWriter,
  SinkWriterContext,
} from '../../operators/sink.ts'

/** Where a `LineFileSink` writes. */
export interface LineFileSinkOptions<T> {
  /** Folder of the finished files, `part-<subtask>-<number>.txt`. It belongs to one sink. */
  readonly directory: string
  readonly format: (value: T) => string
  /** Default `exactly-once`: a file appears, by rename, when its checkpoint is committed. */
  readonly guarantee?: DeliveryGuarantee
}

/** Writes one line per record into files that appear whole. */
export class LineFileSink<T> implements Sink<T> {
  readonly guarantee: DeliveryGuarantee
  private readonly options: LineFileSinkOptions<T>

  constructor(options: LineFileSinkOptions<T>) {
    this.options = options
    this.guarantee = options.guarantee ?? 'exactly-once'
  }

  createWriter(): SinkWriter<T> {
    return new LineFileWriter(this.options, this.guarantee === 'exactly-once')
  }
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const NAME = /^(\.pending-)?part-(\d+)-(\d+)\.txt$/

const pendingName = (name: string): string => `.pending-${name}`

/** A committable is the final name of a file, UTF-8; its pending name follows from it. */
class LineFileWriter<T> implements SinkWriter<T> {
  private readonly options: LineFileSinkOptions<T>
  private readonly exactlyOnce: boolean
  private context: SinkWriterContext | undefined
  private firstNumber = 1
  private nextNumber = 1
  private stream: WriteStream | undefined
  private name = ''
  private full = false
  private failure: unknown
  private leftoversRemoved = false

  constructor(options: LineFileSinkOptions<T>, exactlyOnce: boolean) {
    this.options = options
    this.exactlyOnce = exactlyOnce
  }

  async open(context: SinkWriterContext, restored: readonly Uint8Array[]): Promise<void> {
    this.context = context
    await fsp.mkdir(this.options.directory, { recursive: true })
    await this.commit(restored)
    const mine = (await this.files()).filter((file) => file.subtask === context.subtask)
    this.firstNumber = Math.max(0, ...mine.map((file) => file.number)) + 1
    this.nextNumber = this.firstNumber
  }

  private async files(): Promise<
    { name: string; pending: boolean; subtask: number; number: number }[]
  > {
    const names = await fsp.readdir(this.options.directory)
    return names.flatMap((name) => {
      const match = NAME.exec(name)
      if (match === null) return []
      const pending = match[1] !== undefined
      return [{ name, pending, subtask: Number(match[2]), number: Number(match[3]) }]
    })
  }

  write(value: T, _timestamp: number): void {
    if (this.failure !== undefined) throw this.failure
    this.stream ??= this.begin()
    if (!this.stream.write(`${this.options.format(value)}\n`)) this.full = true
  }

  private begin(): WriteStream {
    this.name = `part-${this.context!.subtask}-${this.nextNumber++}.txt`
    const path = join(this.options.directory, pendingName(this.name))
    const stream = createWriteStream(path, { flush: true })
    stream.on('drain', () => {
      this.full = false
    })
    stream.on('error', (cause) => {
      this.failure = new WeirError('CONNECTOR_FAILED', messageOf(cause), { cause })
    })
    return stream
  }

  ready(): boolean {
    return !this.full || this.failure !== undefined
  }

  whenReady(): Promise<void> {
    if (this.ready()) return Promise.resolve()
    return new Promise((resolve) => {
      this.stream!.once('drain', resolve)
      this.stream!.once('error', () => resolve())
    })
  }

  async prepareCommit(_checkpointId: number): Promise<readonly Uint8Array[]> {
    // Synchronous up to here: what is written from now on goes to the next file.
    const stream = this.stream
    const name = this.name
    this.stream = undefined
    this.full = false
    if (stream !== undefined) {
      stream.end()
      await finished(stream)
    }
    if (this.failure !== undefined) throw this.failure
    await this.removeLeftovers()
    if (stream === undefined) return []
    const committable = encoder.encode(name)
    if (this.exactlyOnce) return [committable]
    await this.commit([committable])
    return []
  }

  /**
   * Removes files that earlier attempts left pending, at the first barrier: by then every subtask
   * has opened and committed what was restored to it.
   */
  private async removeLeftovers(): Promise<void> {
    if (this.leftoversRemoved) return
    this.leftoversRemoved = true
    const { subtask, parallelism } = this.context!
    for (const file of await this.files()) {
      const mine = file.subtask === subtask && file.number < this.firstNumber
      const orphan = file.subtask >= parallelism && file.subtask % parallelism === subtask
      if (file.pending && (mine || orphan)) {
        await fsp.rm(join(this.options.directory, file.name), { force: true })
      }
    }
  }

  async commit(committables: readonly Uint8Array[]): Promise<void> {
    for (const committable of committables) await this.publish(decoder.decode(committable))
  }

  private async publish(name: string): Promise<void> {
    const target = join(this.options.directory, name)
    try {
      await fsp.rename(join(this.options.directory, pendingName(name)), target)
    } catch (cause) {
      const done = await fsp.access(target).then(
        () => true,
        () => false,
      )
      if (!done) {
        throw new WeirError('INVALID_TRANSACTION', `${target} is neither pending nor there`, {
          cause,
        })
      }
    }
  }

  async close(): Promise<void> {
    const stream = this.stream
    this.stream = undefined
    if (stream === undefined) return
    stream.end()
    await finished(stream).catch(() => undefined)
  }
}
