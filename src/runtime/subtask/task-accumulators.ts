import { messageOf, WeirError } from '../../core/errors.ts'
import { typeConflict } from '../../operators/accumulators/merge.ts'
import { createAccumulator } from '../../operators/accumulators/registry.ts'
import type {
  Accumulator,
  AccumulatorAccess,
  AccumulatorPart,
} from '../../operators/port/accumulator.ts'

/** The accumulators of one subtask, which its operators share. */
export class TaskAccumulators implements AccumulatorAccess {
  private readonly typesOfSlot: Map<string, string>
  private readonly accumulators = new Map<string, Accumulator>()

  /** `typesOfSlot`: the types of all accumulators of the slot by name. */
  constructor(typesOfSlot: Map<string, string> = new Map()) {
    this.typesOfSlot = typesOfSlot
  }

  addAccumulator<A extends Accumulator>(name: string, accumulator: A): A {
    const { type } = accumulator
    const known = this.typesOfSlot.get(name) ?? type
    if (known !== type) throw typeConflict(name, known, type)
    if (this.accumulators.has(name)) throw alreadyThere(name)
    // The main thread must be able to merge it.
    createAccumulator(type)
    this.typesOfSlot.set(name, type)
    this.accumulators.set(name, accumulator)
    return accumulator
  }

  getAccumulator<A extends Accumulator>(name: string): A | undefined {
    return this.accumulators.get(name) as A | undefined
  }

  /** What they hold, as plain data that does not change. */
  parts(task: { readonly uid: string; readonly subtask: number }): AccumulatorPart[] {
    return Array.from(this.accumulators, ([name, accumulator]) => ({
      ...task,
      name,
      type: accumulator.type,
      ...stateOf(name, accumulator),
    }))
  }
}

/** The state of an accumulator. Code of the user that throws costs this accumulator, not the job. */
function stateOf(
  name: string,
  accumulator: Accumulator,
): Pick<AccumulatorPart, 'state' | 'failure'> {
  try {
    return { state: structuredClone(accumulator.state()) }
  } catch (error) {
    return { state: undefined, failure: `state() of accumulator "${name}": ${messageOf(error)}` }
  }
}

function alreadyThere(name: string): WeirError {
  return new WeirError(
    'STATE_CONFLICT',
    `a function of this task added accumulator "${name}" already: getAccumulator("${name}") gives it`,
  )
}
