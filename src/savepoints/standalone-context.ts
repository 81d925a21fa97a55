import { type Clock, systemClock } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import { MetricGroup } from '../core/metrics.ts'
import { NO_POSITION, type SourcePosition } from '../core/position.ts'
import { MIN_TIMESTAMP } from '../core/time.ts'
import type { Accumulator } from '../operators/port/accumulator.ts'
import type { OperatorContext, Output } from '../operators/port/operator.ts'
import { OperatorStateMemory } from '../runtime/subtask/operator-state-memory.ts'
import { TaskAccumulators } from '../runtime/subtask/task-accumulators.ts'
import { StateCatalog } from '../state/catalog/state-catalog.ts'
import type { KeyedState } from '../state/port/keyed-state.ts'

/** An operator of a savepoint that runs alone. */
export interface StandaloneOperator {
  readonly uid: string
  readonly maxParallelism: number
  readonly keyedState: KeyedState | undefined
}

/** The context of an operator whose state a program writes, outside a job: it has no output, and time stands still. */
export class StandaloneContext implements OperatorContext {
  readonly uid: string
  readonly name: string
  readonly subtask = 0
  readonly parallelism = 1
  readonly attempt = 1
  readonly maxParallelism: number
  readonly keyedState: KeyedState | undefined
  readonly operatorState = new OperatorStateMemory()
  readonly clock: Clock = systemClock
  readonly metrics = new MetricGroup()
  readonly rowTables = new StateCatalog()
  /** What a function emits is dropped. */
  readonly output: Output = { collect() {}, collectSide() {} }
  private readonly accumulators = new TaskAccumulators()

  constructor({ uid, maxParallelism, keyedState }: StandaloneOperator) {
    this.uid = uid
    this.name = uid
    this.maxParallelism = maxParallelism
    this.keyedState = keyedState
  }

  addAccumulator<A extends Accumulator>(name: string, accumulator: A): A {
    return this.accumulators.addAccumulator(name, accumulator)
  }

  getAccumulator<A extends Accumulator>(name: string): A | undefined {
    return this.accumulators.getAccumulator(name)
  }

  position(): SourcePosition {
    return NO_POSITION
  }

  currentWatermark(): number {
    return MIN_TIMESTAMP
  }

  /** Timers that are registered fire in the job that restores them. */
  scheduleProcessingTime(): void {}

  wake(): void {}

  resumeAt(): void {}

  sendEvent(): void {}

  suspend(): void {
    throw new WeirError('ILLEGAL_STATE', `outside a job, ${this.name} cannot wait`)
  }

  /** Another slot's rows: there is none. */
  storedRows(): Promise<never> {
    return Promise.reject(new WeirError('ILLEGAL_STATE', 'outside a job there are no other slots'))
  }
}
