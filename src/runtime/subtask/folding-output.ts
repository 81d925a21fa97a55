import type { StreamNode } from '../../dataflow/stream-graph.ts'
import type { EdgeFold } from '../../operators/port/edge-fold.ts'
import type { ControlMessage } from '../channel/message.ts'
import { blame, blameKeySelector } from './operator-failure.ts'
import type { HashOutput, RecordOutput } from './record-output.ts'

/** Options of a folding output. */
export interface FoldingOutputOptions {
  readonly keySelector: (value: unknown) => unknown
  readonly fold: EdgeFold
  readonly output: HashOutput
  /** The receiver, whose function folds. */
  readonly receiver: StreamNode
}

/**
 * Output to the owners of keys that folds records first. What waits is sent before each control message and each
 * flush of a channel: the channels call `flush`.
 */
export class FoldingOutput implements RecordOutput {
  private readonly keySelector: (value: unknown) => unknown
  private readonly fold: EdgeFold
  private readonly output: HashOutput
  private readonly receiver: StreamNode

  constructor({ keySelector, fold, output, receiver }: FoldingOutputOptions) {
    this.keySelector = keySelector
    this.fold = fold
    this.output = output
    this.receiver = receiver
  }

  collect(value: unknown, timestamp: number): void {
    let key: unknown
    try {
      key = this.keySelector(value)
    } catch (error) {
      throw blameKeySelector(error, this.receiver)
    }
    if (this.takes(key, value, timestamp)) return
    this.flush()
    this.output.send(key, value, timestamp)
  }

  /** Sends the parts that wait, in front of a control message or of nothing. */
  flush(message?: ControlMessage): void {
    if (this.fold.size > 0) this.fold.drain(this.send)
    if (message?.kind === 'watermark') this.afterWatermark(message.timestamp)
    else if (message?.kind === 'idle' && message.idle) this.fold.afterIdle()
  }

  private afterWatermark(watermark: number): void {
    try {
      this.fold.afterWatermark(watermark)
    } catch (error) {
      throw blame(error, this.receiver)
    }
  }

  private takes(key: unknown, value: unknown, timestamp: number): boolean {
    try {
      return this.fold.add(key, value, timestamp)
    } catch (error) {
      throw blame(error, this.receiver)
    }
  }

  private readonly send = (key: unknown, part: unknown, timestamp: number): void => {
    this.output.send(key, part, timestamp)
  }
}
