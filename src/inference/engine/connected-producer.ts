import type { MessagePort } from 'node:worker_threads'
import type { InferenceProducer } from '../port/engine.ts'
import type { ModelId } from '../port/model.ts'
import { type SharedModel, ThreadProducer } from './thread-producer.ts'

/** Message of the engine to a connected thread. */
export type ProducerMessage =
  | { readonly kind: 'welcome'; readonly producer: number; readonly models: readonly SharedModel[] }
  | { readonly kind: 'add'; readonly model: SharedModel }
  | { readonly kind: 'retire'; readonly id: ModelId }

/** Time for the requests of a model that was unloaded, ms. */
const RETIRE_MS = 1000

/** Producer of a thread other than the engine's. */
export interface ConnectedProducer extends InferenceProducer, Disposable {}

/**
 * Opens a producer on a port of `InferenceEngine.connect`. Resolves when it has the models that were loaded
 * at the call of `connect`. Disposing it gives up its requests.
 */
export function openInferenceProducer(port: MessagePort): Promise<ConnectedProducer> {
  return new Promise((resolve) => {
    let producer: ThreadProducer | undefined
    port.on('message', (message: ProducerMessage) => {
      if (message.kind === 'welcome') {
        producer = new ThreadProducer(message.producer)
        for (const model of message.models) producer.add(model)
        resolve(withDispose(producer, port))
      } else if (message.kind === 'add') producer?.add(message.model)
      else retire(producer, message.id)
    })
    port.unref()
  })
}

function retire(producer: ThreadProducer | undefined, id: ModelId): void {
  const model = producer?.retire(id)
  if (model === undefined) return
  const goals = 2 * model.served.deployment.sloMs
  setTimeout(() => model.close(), RETIRE_MS + goals).unref()
}

function withDispose(producer: ThreadProducer, port: MessagePort): ConnectedProducer {
  return {
    infer: (request) => producer.infer(request),
    models: () => producer.models(),
    model: (id) => producer.model(id),
    [Symbol.dispose]() {
      producer.close()
      port.close()
    },
  }
}
