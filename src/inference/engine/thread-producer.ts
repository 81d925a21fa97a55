import { type Clock, systemClock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { DeadlineWheel } from '../../wire/deadline-wheel.ts'
import type { InferenceProducer } from '../port/engine.ts'
import { type ModelId, modelKey } from '../port/model.ts'
import type { SharedModel } from '../port/producer-message.ts'
import type { InferAnswer, InferRequest } from '../port/request.ts'
import type { ServedModel } from '../port/served-model.ts'
import { QueueMemory } from '../queue/memory.ts'
import { ModelProducer } from './model-producer.ts'

/** Ticks of the deadlines, ms: the shortest timer of Node. */
const TICK_MS = 1

/** The models that one thread may ask, by the number of its row in every queue. */
export class ThreadProducer implements InferenceProducer {
  private readonly producer: number
  private readonly byId = new Map<string, ModelProducer>()
  private readonly context: { readonly clock: Clock; readonly wheel: DeadlineWheel }

  constructor(producer: number, clock: Clock = systemClock) {
    this.producer = producer
    this.context = { clock, wheel: new DeadlineWheel(clock, TICK_MS) }
  }

  infer(request: InferRequest): Promise<InferAnswer> {
    const model = this.byId.get(modelKey(request.model))
    return model === undefined ? Promise.reject(unknownModel(request.model)) : model.infer(request)
  }

  models(): readonly ServedModel[] {
    return Array.from(this.byId.values(), ({ served }) => served)
  }

  model(id: ModelId): ServedModel | undefined {
    return this.byId.get(modelKey(id))?.served
  }

  /** Lets this thread ask a model. */
  add({ served, buffer, maxItems }: SharedModel): void {
    const options = { memory: new QueueMemory(buffer), producer: this.producer, maxItems }
    this.byId.set(modelKey(served.id), new ModelProducer(served, options, this.context))
  }

  /** Refuses further requests of a model; returns the producer, whose requests still end. */
  retire(id: ModelId): ModelProducer | undefined {
    const producer = this.byId.get(modelKey(id))
    this.byId.delete(modelKey(id))
    return producer
  }

  /** Gives up all requests. */
  close(): void {
    for (const producer of this.byId.values()) producer.close()
    this.byId.clear()
    this.context.wheel.close()
  }
}

/** The error of a model that is not loaded. */
export function unknownModel({ name, version }: ModelId): WeirError {
  return new WeirError(
    'UNKNOWN_MODEL',
    `no model "${name}" of version ${version} is served here; load it first`,
  )
}
