import { WeirError } from '../../core/errors.ts'
import type { Serializer } from '../../core/serializer.ts'
import type { OperatorContext } from '../port/operator.ts'
import { KeyedOperatorContext, requireKeyedState } from '../process/context.ts'
import type { TimeWindow } from './assigner.ts'
import type { WindowContext } from './function.ts'
import type { WindowNamespaces } from './namespace.ts'
import { NamespacedState, type NamespacedStateAccess } from './namespaced-state.ts'

/** The context object of window functions, reused for all calls. */
export class ReusedWindowContext<K> extends KeyedOperatorContext<K> implements WindowContext {
  window: TimeWindow = { start: 0, end: 0 }
  /** Whether the function has state of its own, so that its calls may leave another namespace selected. */
  usesState = false
  private readonly merging: boolean
  private readonly ofWindow: NamespacedState
  private readonly ofKey: NamespacedState

  /** `merging`: whether windows of a key become one. */
  constructor(operator: OperatorContext, keySerializer: Serializer<K>, merging: boolean) {
    super(operator, keySerializer)
    this.merging = merging
    const keyedState = requireKeyedState(operator)
    this.ofWindow = new NamespacedState(keyedState, 'window/')
    this.ofKey = new NamespacedState(keyedState, 'global/')
  }

  /** Sets the window of the next call. */
  selectWindow(window: TimeWindow, namespaces: WindowNamespaces): void {
    this.window = window
    if (this.usesState) this.ofWindow.namespace = namespaces.of(window.start, window.end)
  }

  windowState(): NamespacedStateAccess {
    if (this.merging) this.refuseWindowState()
    this.usesState = true
    return this.ofWindow
  }

  globalState(): NamespacedStateAccess {
    this.usesState = true
    return this.ofKey
  }

  private refuseWindowState(): never {
    throw new WeirError(
      'UNSUPPORTED',
      `the window function of "${this.operatorName}" uses windowState(), but sessions merge: use globalState(), or windows of fixed size`,
      { details: { operator: this.operatorUid } },
    )
  }
}
