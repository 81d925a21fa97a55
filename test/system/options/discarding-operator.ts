import { AbstractOperator } from '../../../src/operators/port/abstract-operator.ts'

/** An operator that drops its records. */
export class DiscardingOperator extends AbstractOperator {
  override processElement(): void {}
}
