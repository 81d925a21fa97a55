import type { FunctionContext } from '../process/function.ts'
import type { RichFunction } from '../process/function-life.ts'

/**
 * A function that asks something outside for each record, such as a database or a service, without holding up the
 * records after it. It has no keyed state and no timers: what it gets is the record.
 * Its lists (`initializeState`) are stored beside the records in flight, for which a restored job calls it again.
 */
export interface AsyncFunction<IN, OUT> extends RichFunction<FunctionContext> {
  /**
   * Resolves to the results of a record: none, one or several. A rejection fails the job, unless the retry strategy
   * takes it. After a restart the function is called again for records whose results were not emitted.
   */
  asyncInvoke(value: IN): Promise<readonly OUT[]>
  /** Results of a record whose time is over. Without this method, the job fails with DEADLINE_EXCEEDED. */
  timeout?(value: IN): readonly OUT[]
}
