import { WeirError } from '../../core/errors.ts'
import type { Serializer } from '../../core/serializer.ts'
import { LinkedProducer } from '../../inference/engine/linked-producer.ts'
import type { ModelId } from '../../inference/port/model.ts'
import type { InferAnswer } from '../../inference/port/request.ts'
import type { Tensor } from '../../inference/port/tensor.ts'
import { exponentialBackoffRetry } from '../async/retry-strategy.ts'
import { AsyncWaitOperator, type AsyncWaitOptions } from '../async/wait-operator.ts'
import type { OperatorContext } from '../port/operator.ts'
import { InferFunction, type InferFunctionOptions, passes, SideResult } from './function.ts'
import type { LinkEvent, LinkRequest } from './link-event.ts'

/** Options of the operator of `DataStream.infer`. */
export interface InferOperatorOptions<IN, OUT> extends InferFunctionOptions<IN, OUT> {
  readonly mode: AsyncWaitOptions<IN, OUT>['mode']
  readonly capacity: number
  /** Encodes the records in flight in a checkpoint. */
  readonly serializer: Serializer<unknown>
}

/** A request that may pass is made again after 5 ms, then after longer times, until the record's deadline. */
const AGAIN = exponentialBackoffRetry<unknown>({
  maxAttempts: Number.MAX_SAFE_INTEGER,
  initialDelayMs: 5,
  maxDelayMs: 200,
  ifError: passes,
})

/**
 * The operator of `DataStream.infer`: writes each record into the queue of a model in shared memory, and emits
 * what its workers answer. Its coordinator on the main thread says where the queues are, and which version is
 * live.
 */
export class InferOperator<IN, OUT> extends AsyncWaitOperator<IN, unknown> {
  private readonly model: string
  private readonly link: ModelLink

  constructor(options: InferOperatorOptions<IN, OUT>) {
    const { mode, capacity, deadlineMs, serializer } = options
    const link = new ModelLink()
    const userFunction = new InferFunction(options, (inputs, ms) => link.infer(inputs, ms))
    const retryStrategy = AGAIN
    super({ userFunction, mode, capacity, timeoutMs: deadlineMs, retryStrategy, serializer })
    this.model = options.model
    this.link = link
  }

  override async open(context: OperatorContext): Promise<void> {
    context.sendEvent({ kind: 'link', model: this.model } satisfies LinkRequest)
    await super.open(context)
  }

  override handleEvent(event: unknown): void {
    this.link.handle(event as LinkEvent)
  }

  override async close(): Promise<void> {
    try {
      await super.close()
    } finally {
      this.link[Symbol.dispose]()
    }
  }

  protected override emit(result: unknown, timestamp: number): void {
    if (result instanceof SideResult) {
      this.context.output.collectSide(result.tag, result.value, timestamp)
    } else super.emit(result, timestamp)
  }
}

/** A subtask's way to the version of a model that is live now: it writes into the queue of that version. */
class ModelLink implements Disposable {
  private readonly producer = new LinkedProducer()
  private readonly known = Promise.withResolvers<void>()
  private route: ModelId | WeirError | undefined

  /** Takes the next event of the coordinator. */
  handle(event: LinkEvent): void {
    if (event.kind === 'engine') {
      this.producer.handle(event.message)
      return
    }
    this.route = event.kind === 'route' ? event.id : new WeirError(event.code, event.message)
    this.known.resolve()
  }

  /** Asks the model. Waits for the first event of the coordinator. Rejects as `InferenceProducer.infer`. */
  async infer(inputs: readonly Tensor[], deadlineMs: number): Promise<InferAnswer> {
    if (this.route === undefined) await this.known.promise
    const { route } = this
    if (route instanceof WeirError) throw route
    return await this.producer.infer({ model: route!, inputs, deadlineMs })
  }

  [Symbol.dispose](): void {
    this.producer[Symbol.dispose]()
  }
}
