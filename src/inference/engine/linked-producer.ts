import { WeirError } from '../../core/errors.ts'
import type { InferenceProducer } from '../port/engine.ts'
import type { ModelId } from '../port/model.ts'
import type { ProducerMessage } from '../port/producer-message.ts'
import type { InferAnswer, InferRequest } from '../port/request.ts'
import type { ServedModel } from '../port/served-model.ts'
import { ThreadProducer } from './thread-producer.ts'

/** Time for the requests of a model that was unloaded, ms. */
const RETIRE_MS = 1000

/** Producer that gets to know its models by the messages of `InferenceEngine.link`. */
export class LinkedProducer implements InferenceProducer, Disposable {
  private producer: ThreadProducer | undefined
  private isClosed = false

  /** Takes the next message of the engine. Its number may be another thread's when it comes after the close. */
  handle(message: ProducerMessage): void {
    if (this.isClosed) return
    if (message.kind === 'welcome') {
      this.producer = new ThreadProducer(message.producer)
      for (const model of message.models) this.producer.add(model)
    } else if (message.kind === 'add') this.producer?.add(message.model)
    else this.retire(message.id)
  }

  infer(request: InferRequest): Promise<InferAnswer> {
    if (this.producer !== undefined) return this.producer.infer(request)
    const sentence = 'this thread is not linked to the models yet; ask again'
    return Promise.reject(new WeirError('MODEL_NOT_LOADED', sentence))
  }

  models(): readonly ServedModel[] {
    return this.producer?.models() ?? []
  }

  model(id: ModelId): ServedModel | undefined {
    return this.producer?.model(id)
  }

  [Symbol.dispose](): void {
    this.isClosed = true
    this.producer?.close()
  }

  private retire(id: ModelId): void {
    const model = this.producer?.retire(id)
    if (model === undefined) return
    const goals = 2 * model.served.deployment.sloMs
    setTimeout(() => model.close(), RETIRE_MS + goals).unref()
  }
}
