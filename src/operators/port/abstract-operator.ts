import type { OperatorContext, StreamOperator } from './operator.ts'

/** A base of operators, whose methods do nothing. An operator overrides those that it needs. */
export abstract class AbstractOperator implements StreamOperator {
  protected context!: OperatorContext

  open(context: OperatorContext): void | Promise<void> {
    this.context = context
  }

  abstract processElement(input: number, value: unknown, timestamp: number): void

  processWatermark(_watermark: number): void {}

  onProcessingTime(_timestampMs: number): void {}

  prepareSnapshot(_checkpointId: number): void | Promise<void> {}

  checkpointCompleted(_checkpointId: number): void | Promise<void> {}

  handleEvent(_event: unknown): void {}

  endInput(_input: number): void {}

  close(): void | Promise<void> {}
}
