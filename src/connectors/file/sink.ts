import { isWeirError, WeirError } from '../../core/errors.ts'
import { aFunction, name, required } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { refuseAsync } from '../../operators/port/refuse-promise.ts'
import {
  type DeliveryGuarantee,
  GUARANTEE,
  type Sink,
  type SinkWriter,
  type SinkWriterContext,
} from '../../operators/port/sink.ts'
import type { LineFileOutput, LineFolder } from './line-folder.ts'
import { openLineFolder } from './open-folder.ts'

/** Options of a `LineFileSink`. */
export interface LineFileSinkOptions<T> {
  /**
   * Folder of the finished files, `part-<subtask>-<number>.txt`: a path or an `hdfs://` URL. Only one
   * sink may use it.
   */
  readonly directory: string
  readonly format: (value: T) => string
  /** Default `exactly-once`: a file gets its name when its checkpoint is committed. */
  readonly guarantee?: DeliveryGuarantee
}

const LINE_FILE_SINK: OptionShape<LineFileSinkOptions<unknown>> = {
  directory: required(name),
  format: required(aFunction()),
  guarantee: GUARANTEE,
}

/** Writes one line per record, into files that get their names when they are complete. */
export class LineFileSink<T> implements Sink<T> {
  readonly guarantee: DeliveryGuarantee
  private readonly options: LineFileSinkOptions<T>

  /** Throws UNSUPPORTED for an async `format`. */
  constructor(options: LineFileSinkOptions<T>) {
    checkOptions('new LineFileSink', LINE_FILE_SINK, options)
    refuseAsync(options.format, 'format of a LineFileSink')
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
  private readonly folder: LineFolder
  private output: LineFileOutput | undefined
  private name = ''
  private leftoversRemoved = false
  /** Files of checkpoints that have not completed. */
  private readonly prepared = new Set<string>()

  constructor(options: LineFileSinkOptions<T>, exactlyOnce: boolean) {
    this.options = options
    this.exactlyOnce = exactlyOnce
    this.folder = openLineFolder(options.directory)
  }

  async open(context: SinkWriterContext, restored: readonly Uint8Array[]): Promise<void> {
    this.context = context
    await this.folder.make()
    for (const committable of restored) await this.commitRestored(committable)
    const mine = (await this.files()).filter((file) => file.subtask === context.subtask)
    this.firstNumber = Math.max(0, ...mine.map((file) => file.number)) + 1
    this.nextNumber = this.firstNumber
  }

  private async files(): Promise<
    { name: string; pending: boolean; subtask: number; number: number }[]
  > {
    const names = await this.folder.names()
    return names.flatMap((name) => {
      const match = NAME.exec(name)
      if (match === null) return []
      const pending = match[1] !== undefined
      return [{ name, pending, subtask: Number(match[2]), number: Number(match[3]) }]
    })
  }

  write(value: T, _timestamp: number): void {
    this.output ??= this.begin()
    this.output.write(`${this.options.format(value)}\n`)
  }

  private begin(): LineFileOutput {
    this.name = `part-${this.context!.subtask}-${this.nextNumber++}.txt`
    return this.folder.begin(pendingName(this.name))
  }

  ready(): boolean {
    return this.output?.ready() ?? true
  }

  whenReady(): Promise<void> {
    return this.output?.whenReady() ?? Promise.resolve()
  }

  async prepareCommit(_checkpointId: number): Promise<readonly Uint8Array[]> {
    // Synchronous up to here: later records go to the next file.
    const { output, name } = this
    this.output = undefined
    await output?.finish()
    await this.removeLeftovers()
    await this.requirePrepared()
    if (output === undefined) return []
    const committable = encoder.encode(name)
    if (this.exactlyOnce) {
      this.prepared.add(name)
      return [committable]
    }
    await this.commit([committable])
    return []
  }

  /**
   * Removes the pending files of earlier attempts, at the first barrier: by then every subtask has
   * committed its restored files.
   */
  private async removeLeftovers(): Promise<void> {
    if (this.leftoversRemoved) return
    this.leftoversRemoved = true
    const { subtask, parallelism } = this.context!
    for (const file of await this.files()) {
      const mine = file.subtask === subtask && file.number < this.firstNumber
      const orphan = file.subtask >= parallelism && file.subtask % parallelism === subtask
      if (file.pending && (mine || orphan)) {
        await this.folder.remove(file.name)
      }
    }
  }

  async commit(committables: readonly Uint8Array[]): Promise<void> {
    for (const committable of committables) {
      const name = decoder.decode(committable)
      await this.publish(name)
      this.prepared.delete(name)
    }
  }

  /** A checkpoint must not count when a file of an earlier one that has not completed was removed. */
  private async requirePrepared(): Promise<void> {
    for (const name of this.prepared) {
      if (await this.folder.exists(pendingName(name))) continue
      if (await this.folder.exists(name)) continue
      const message = `${pendingName(name)} in ${this.folder.place}, which a checkpoint has prepared, was removed: the checkpoint does not count, and the job writes the records again from the one before`
      throw new WeirError('TRANSACTION_ABORTED', message)
    }
  }

  /** A file that is gone is an error unless the job accepts the loss. */
  private async commitRestored(committable: Uint8Array): Promise<void> {
    const { onLostTransaction } = this.context!
    try {
      await this.publish(decoder.decode(committable))
    } catch (error) {
      if (onLostTransaction === undefined || !isWeirError(error, 'INVALID_TRANSACTION')) throw error
      onLostTransaction(error)
    }
  }

  private async publish(name: string): Promise<void> {
    if (await this.folder.rename(pendingName(name), name)) return
    if (await this.folder.exists(name)) return
    const message = `${name} in ${this.folder.place} is neither pending nor finished`
    throw new WeirError('INVALID_TRANSACTION', message)
  }

  async close(): Promise<void> {
    await this.output?.abandon()
    this.output = undefined
    await this.folder.close()
  }
}
