import { WeirError } from '../../core/errors.ts'
import { LinkedProducer } from '../../inference/engine/linked-producer.ts'
import type { ModelId } from '../../inference/port/model.ts'
import type { InferAnswer } from '../../inference/port/request.ts'
import type { Tensor } from '../../inference/port/tensor.ts'
import type { LinkEvent } from './link-event.ts'

/** A subtask's way to the version of a model that is live now: it writes into the queue of that version. */
export class ModelLink implements Disposable {
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
