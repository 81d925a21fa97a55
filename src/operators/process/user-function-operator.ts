import { AbstractOperator } from '../port/abstract-operator.ts'
import type { RichFunction } from './function-life.ts'
import { ListStates } from './list-states.ts'

/** The base of operators that run a function of the user: its state without keys, open, snapshots and close. */
export abstract class UserFunctionOperator<F extends RichFunction<never>> extends AbstractOperator {
  protected readonly userFunction: F
  private listStates: ListStates | undefined

  constructor(userFunction: F) {
    super()
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
