import type { Collector, FunctionContext, ProcessContext } from '../process/function.ts'
import type { RichFunction } from '../process/function-life.ts'
import type { TimeWindow } from './assigner.ts'
import type { NamespacedStateAccess } from './namespaced-state.ts'

/** State of window functions: of a window of the key, and of the key in all windows. */
export interface WindowStateAccess {
  /**
   * State of the current key and window. The function declares it in `open` and drops it in `clear`. Throws
   * UNSUPPORTED on sessions, whose windows merge.
   */
  windowState(): NamespacedStateAccess
  /** State of the current key, shared by its windows. The function declares it in `open`. */
  globalState(): NamespacedStateAccess
}

/** Context of `open` of a window function. */
export interface WindowFunctionContext extends FunctionContext, WindowStateAccess {}

/** Context of a window that fires. */
export interface WindowContext extends ProcessContext, WindowStateAccess {
  readonly window: TimeWindow
}

/** A function that makes results from a window's records, or from their one folded result. */
export interface ProcessWindowFunction<K, IN, OUT> extends RichFunction<WindowFunctionContext> {
  process(key: K, context: WindowContext, elements: readonly IN[], out: Collector<OUT>): void
  /** Drops the window's state, which `windowState()` gave. Called when the window is cleared. */
  clear?(context: WindowContext): void
}
