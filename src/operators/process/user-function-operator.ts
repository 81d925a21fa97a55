import { objectWith } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { AbstractOperator } from '../port/abstract-operator.ts'
import type { RichFunction } from './function-life.ts'
import { ListStates } from './list-states.ts'

const FUNCTION = objectWith('an object with the methods of a function')

/** The base of operators that run a function of the user: its state without keys, open, snapshots and close. */
export abstract class UserFunctionOperator<F extends RichFunction<never>> extends AbstractOperator {
  protected readonly userFunction: F
  private listStates: ListStates | undefined

  constructor(userFunction: F) {
    super()
    checkArgument(`new ${new.target.name}`, 'userFunction', FUNCTION, userFunction)
    this.userFunction = userFunction
  }

  override prepareSnapshot(checkpointId: number): void | Promise<void> {
    const saved = this.userFunction.snapshotState?.({ checkpointId })
    if (saved instanceof Promise) return saved.then(() => this.listStates?.save())
    this.listStates?.save()
  }

  override close(): void | Promise<void> {
    return this.userFunction.close?.()
  }

  /** Restores the function's lists, then opens it. */
  protected openFunction(
    functionContext: Parameters<NonNullable<F['open']>>[0],
  ): void | Promise<void> {
    const { userFunction } = this
    const open = () => userFunction.open?.(functionContext as never)
    if (userFunction.initializeState === undefined) return open()
    this.listStates = new ListStates(this.context.operatorState)
    const initialized = userFunction.initializeState(this.listStates)
    return initialized instanceof Promise ? initialized.then(open) : open()
  }
}
