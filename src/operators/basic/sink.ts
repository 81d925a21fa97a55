import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import { noticeFrom } from '../../core/lifetime/wait.ts'
import type { Deadline } from '../../core/moment.ts'
import { AbstractOperator } from '../port/abstract-operator.ts'
import type { OperatorContext } from '../port/operator.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import type { Sink, SinkWriter } from '../port/sink.ts'

const COMMITTABLES = 'committables'

/**
 * The operator that writes a stream to a sink. At a barrier the writer prepares its writes, and the operator
 * stores their committables. When a checkpoint is durable, the operator commits all that was prepared up to it.
 */
export class SinkOperator<T> extends AbstractOperator {
  private readonly writer: SinkWriter<T>
  private readonly jobName: string
  /** Committables that are prepared but not committed, by checkpoint, oldest first. */
  private readonly pending = new Map<number, readonly Uint8Array[]>()

  constructor(sink: Sink<T>, jobName: string) {
    super()
    this.writer = sink.createWriter()
    this.jobName = jobName
  }

  override async open(context: OperatorContext): Promise<void> {
    this.context = context
    const restored = context.operatorState.restored(COMMITTABLES).map(decodePayload)
    await this.writer.open(
      {
        jobName: this.jobName,
        operatorUid: context.uid,
        subtask: context.subtask,
        parallelism: context.parallelism,
        attempt: context.attempt,
        clock: context.clock,
        metrics: context.metrics,
        warn: (notice) => {
          const { uid, subtask } = context
          context.warn?.(noticeFrom(`operator ${uid}`, notice, { operator: uid, subtask }))
        },
        onLostTransaction: context.acceptsLostTransactions === true ? this.lost() : undefined,
      },
      restored,
    )
  }

  /** Counts and reports each lost transaction. */
  private lost(): (loss: WeirError) => void {
    const { context } = this
    const counter = context.metrics.counter('numLostTransactions')
    return (loss) => {
      counter.increment()
      const message = `operator ${context.uid} continues without a lost transaction, as --accept-lost-transactions allows: ${loss.message}`
      context.warn?.(new WeirError(loss.code, message, { cause: loss }))
    }
  }

  /** False while the writer is full; the subtask then reads no more input. */
  ready(): boolean {
    return this.writer.ready()
  }

  whenReady(): Promise<void> {
    return this.writer.whenReady()
  }

  async written(): Promise<void> {
    await this.writer.written?.()
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const result: unknown = this.writer.write(value as T, timestamp)
    if (result !== undefined) refusePromise(result, 'write of the sink')
  }

  override async prepareSnapshot(checkpointId: number): Promise<void> {
    const committables = await this.writer.prepareCommit(checkpointId)
    if (committables.length > 0) this.pending.set(checkpointId, committables)
    this.store()
  }

  commitBy(): Deadline | undefined {
    return this.writer.commitBy?.()
  }

  override async checkpointCompleted(checkpointId: number): Promise<void> {
    const due = [...this.pending.keys()].filter((id) => id <= checkpointId)
    if (due.length === 0) return
    await this.writer.commit(due.flatMap((id) => this.pending.get(id)!))
    for (const id of due) this.pending.delete(id)
    this.store()
  }

  override close(): Promise<void> {
    return this.writer.close()
  }

  private store(): void {
    const entries = [...this.pending].flatMap(([id, committables]) =>
      committables.map((payload) => encodeCommittable(id, payload)),
    )
    this.context.operatorState.update(COMMITTABLES, 'split', entries)
  }
}

/*
 * One committable as operator state `committables`, version 1:
 *
 *   | 01 | checkpoint id: int64 little-endian | the sink's bytes ... |
 */
const COMMITTABLE_VERSION = 1

function encodeCommittable(checkpointId: number, payload: Uint8Array): Uint8Array {
  const writer = new ByteWriter(9 + payload.length)
  writer.uint8(COMMITTABLE_VERSION)
  writer.int53(checkpointId)
  writer.raw(payload)
  return writer.toBytes()
}

function decodePayload(entry: Uint8Array): Uint8Array {
  const reader = new ByteReader(entry)
  const version = reader.uint8()
  if (version !== COMMITTABLE_VERSION) {
    throw new WeirError(
      'UNSUPPORTED_VERSION',
      `a committable of a sink has version ${version}, this build reads ${COMMITTABLE_VERSION}`,
    )
  }
  reader.int53()
  return reader.raw(reader.remaining).slice()
}
